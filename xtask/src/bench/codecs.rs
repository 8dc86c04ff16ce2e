//! How many bytes does a state take, and how many nanoseconds, codec by codec, on real state sets?

use fathom_disk::budget::Budget;
use fathom_disk::codec::{Codec, Decoder, Encoder};
use fathom_disk::key::KeyWidth;
use fathom_disk::run::{RunConfig, RunWriter};
use fathom_disk::set::sort_unique;
use fathom_disk::storage::Volume;

use super::records::RecordSet;
use super::time;

/// What is compared: codec, keys per block.
pub(crate) const VARIANTS: [(Codec, usize); 10] = [
    (Codec::Gap, 256),
    (Codec::GapZstd, 1024),
    (Codec::GapZstd, 8192),
    (Codec::ColumnsLz4, 8192),
    (Codec::ColumnsZstd, 8192),
    (Codec::TokenLz4, 1024),
    (Codec::TokenLz4, 8192),
    (Codec::TokenZstd, 1024),
    (Codec::TokenZstd, 8192),
    (Codec::TokenZstd, 32_768),
];

/// What one variant gave on one model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) bytes_whole: f64,
    pub(crate) bytes_eighths: f64,
    pub(crate) encode_nanos: f64,
    pub(crate) decode_nanos: f64,
}

/// Measures all variants on a set, whole and in eighths of the order found.
pub(crate) fn measure(set: &RecordSet) -> anyhow::Result<Vec<Measured>> {
    let width = KeyWidth::new(set.bits).ok_or_else(|| anyhow::anyhow!("records of {} bits", set.bits))?;
    let whole = sorted(set.words, &set.records)?;
    let eighth = (set.records.len() / set.words).div_ceil(8) * set.words;
    let eighths = set
        .records
        .chunks(eighth.max(1))
        .map(|part| sorted(set.words, part))
        .collect::<Result<Vec<_>, _>>()?;
    VARIANTS.iter().map(|&(codec, keys)| measure_variant(codec, keys, width, &whole, &eighths)).collect()
}

/// Bytes per state of the runs that the product would write, everything included: live in eighths, and at rest whole.
pub(crate) fn run_bytes(set: &RecordSet) -> anyhow::Result<(f64, f64)> {
    let width = KeyWidth::new(set.bits).ok_or_else(|| anyhow::anyhow!("records of {} bits", set.bits))?;
    let states = (set.records.len() / set.words) as f64;
    let eighth = (set.records.len() / set.words).div_ceil(8) * set.words;
    let mut live = 0;
    for part in set.records.chunks(eighth.max(1)) {
        live += write(&RunConfig::live(width, [0; 16]), &sorted(set.words, part)?)?;
    }
    let rest = write(&RunConfig::at_rest(width, [0; 16]), &sorted(set.words, &set.records)?)?;
    Ok((live as f64 / states, rest as f64 / states))
}

fn write(config: &RunConfig, keys: &[u64]) -> anyhow::Result<u64> {
    let volume = Volume::in_memory(4096);
    let mut writer = RunWriter::new(&volume, &Budget::unlimited(), "run", config)?;
    writer.push(keys)?;
    Ok(writer.finish(false)?.bytes)
}

fn sorted(words: usize, records: &[u64]) -> anyhow::Result<Vec<u64>> {
    let mut keys = records.to_vec();
    let kept = sort_unique(&Budget::unlimited(), words, &mut keys)?;
    keys.truncate(kept);
    Ok(keys)
}

/// Blocks of one encoded set: payloads one after the other, and where each ends.
struct Encoded {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

fn measure_variant(
    codec: Codec,
    keys_per_block: usize,
    width: KeyWidth,
    whole: &[u64],
    eighths: &[Vec<u64>],
) -> anyhow::Result<Measured> {
    let budget = Budget::unlimited();
    let words = width.words();
    // A block of wide records is cut to 256 KiB, as the configuration at rest does.
    let keys_per_block =
        keys_per_block.min((1 << 18) / (words * 8) * if keys_per_block > 8192 { 4 } else { 1 });
    let mut encoder = Encoder::new(&budget, "bench", width, keys_per_block)?;
    encoder.prepare(codec)?;
    // Two million keys are enough for time; bytes are of all.
    let sample = &whole[..whole.len().min(2_000_000 * words)];
    let sample_keys = (sample.len() / words) as u64;
    let mut encoded = Encoded { bytes: Vec::new(), ends: Vec::new() };
    let encode =
        time(sample_keys, || encoded = encode_all(&mut encoder, codec, sample, keys_per_block * words));
    let mut decoder = Decoder::new(&budget, "bench", width)?;
    decoder.prepare(codec, fathom_disk::codec::payload_bytes_max(width, keys_per_block))?;
    let mut block = vec![0; keys_per_block * words];
    let decode = time(sample_keys, || decode_all(&mut decoder, codec, &encoded, sample.len(), &mut block));
    let whole_bytes = encoded_bytes(&mut encoder, codec, whole, keys_per_block * words);
    let eighths_bytes: usize =
        eighths.iter().map(|keys| encoded_bytes(&mut encoder, codec, keys, keys_per_block * words)).sum();
    let states = (whole.len() / words) as f64;
    Ok(Measured {
        bytes_whole: whole_bytes as f64 / states,
        bytes_eighths: eighths_bytes as f64 / states,
        encode_nanos: encode.median,
        decode_nanos: decode.median,
    })
}

/// Bytes of all blocks with their frame headers of ten bytes.
fn encoded_bytes(encoder: &mut Encoder, codec: Codec, keys: &[u64], block_words: usize) -> usize {
    let encoded = encode_all(encoder, codec, keys, block_words);
    encoded.bytes.len() + encoded.ends.len() * 10
}

fn encode_all(encoder: &mut Encoder, codec: Codec, keys: &[u64], block_words: usize) -> Encoded {
    let mut encoded = Encoded { bytes: Vec::with_capacity(keys.len() * 2), ends: Vec::new() };
    for block in keys.chunks(block_words) {
        encoder.encode(codec, block, &mut encoded.bytes);
        encoded.ends.push(encoded.bytes.len());
    }
    encoded
}

fn decode_all(decoder: &mut Decoder, codec: Codec, encoded: &Encoded, words: usize, block: &mut [u64]) {
    let (mut start, mut left, mut sum) = (0, words, 0u64);
    for &end in &encoded.ends {
        let count = left.min(block.len());
        let decoded = decoder.decode(codec, &encoded.bytes[start..end], &mut block[..count]);
        assert!(decoded.is_ok(), "what was encoded decodes");
        sum = sum.wrapping_add(block[count - 1]);
        start = end;
        left -= count;
    }
    std::hint::black_box(sum);
}
