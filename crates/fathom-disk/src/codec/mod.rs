//! How does a block of ascending keys become few bytes, and back?
//!
//! [`gap`] is the fast one, [`token`] and [`columns`] prepare keys for a general compressor; [`choice`] tries them on the
//! data. An [`Encoder`] and a [`Decoder`] hold the room that this takes, charged to the budget.
//!
//! Decoding never panics, whatever the bytes; it says [`Malformed`] where they cannot be a block of that many keys. Checksums
//! are the frame's business.

pub mod choice;
pub mod columns;
mod frequent;
pub mod gap;
pub mod token;

use zstd::zstd_safe::{CCtx, CParameter, DCtx};

use crate::budget::{Budget, BudgetError, Charge};
use crate::key::KeyWidth;

use frequent::FrequentGaps;

/// The coding of one block; the numbers are those of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Codec {
    /// A nibble and the bytes of the gap.
    Gap = 0,
    /// The same, compressed.
    GapZstd = 1,
    /// Transposed bytes, compressed for speed.
    ColumnsLz4 = 2,
    /// Transposed bytes, compressed.
    ColumnsZstd = 3,
    /// One byte per gap, compressed for speed.
    TokenLz4 = 4,
    /// One byte per gap, compressed.
    TokenZstd = 5,
}

/// Bytes that are not a block of the keys they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Encodes blocks; holds the room for it.
#[derive(Debug)]
pub struct Encoder {
    width: KeyWidth,
    keys_max: usize,
    frequent: FrequentGaps,
    raw: Vec<u8>,
    packed: Vec<u8>,
    zstd: Option<Context<CCtx<'static>>>,
    charge: Charge,
    /// What of the charge is for the context.
    context_charged: usize,
}

/// Decodes blocks; holds the room for it, which grows with what it meets.
#[derive(Debug)]
pub struct Decoder {
    width: KeyWidth,
    raw: Vec<u8>,
    zstd: Option<Context<DCtx<'static>>>,
    charge: Charge,
}

/// A context of the compressor, which does not describe itself.
struct Context<T>(T);

impl<T> std::fmt::Debug for Context<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Context")
    }
}

/// What a compressing context may take for blocks of up to 256 KiB at level 1 (measured; less is charged once it is known).
const ZSTD_COMPRESS_BYTES: usize = 256 << 10;
/// What a decompressing context takes (measured).
const ZSTD_DECOMPRESS_BYTES: usize = 96 << 10;
/// Level of compression: the fastest; higher ones gained 10 to 15 % for several times the time.
const ZSTD_LEVEL: i32 = 1;

impl Codec {
    /// All codecs, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Gap, Self::GapZstd, Self::ColumnsLz4, Self::ColumnsZstd, Self::TokenLz4, Self::TokenZstd];

    /// The codec of that number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::GapZstd => "gap+zstd",
            Self::ColumnsLz4 => "columns+lz4",
            Self::ColumnsZstd => "columns+zstd",
            Self::TokenLz4 => "token+lz4",
            Self::TokenZstd => "token+zstd",
        }
    }

    /// Does it compress what it has coded?
    pub fn compresses(self) -> bool {
        self != Self::Gap
    }

    fn uses_zstd(self) -> bool {
        matches!(self, Self::GapZstd | Self::ColumnsZstd | Self::TokenZstd)
    }
}

impl Encoder {
    /// An encoder for blocks of at most `keys_max` keys. Takes about 20 bytes per key; with the first compressing codec the
    /// uncompressed and the compressed block come on top, with the first zstd its context (about 150 KiB).
    pub fn new(
        budget: &Budget,
        owner: &'static str,
        width: KeyWidth,
        keys_max: usize,
    ) -> Result<Self, BudgetError> {
        let charge = budget.charge(owner, FrequentGaps::bytes(keys_max))?;
        let frequent = FrequentGaps::new(keys_max);
        Ok(Self {
            width,
            keys_max,
            frequent,
            raw: Vec::new(),
            packed: Vec::new(),
            zstd: None,
            charge,
            context_charged: 0,
        })
    }

    /// Takes the room that `codec` needs, so that encoding with it cannot fail later.
    pub fn prepare(&mut self, codec: Codec) -> Result<(), BudgetError> {
        if codec.compresses() && self.raw.capacity() == 0 {
            let raw = payload_bytes_max(self.width, self.keys_max);
            let packed =
                zstd::zstd_safe::compress_bound(raw).max(lz4_flex::block::get_maximum_output_size(raw));
            self.charge.resize(self.charge.bytes() + raw + packed)?;
            self.raw.reserve_exact(raw);
            self.packed.resize(packed, 0);
        }
        if codec.uses_zstd() && self.zstd.is_none() {
            self.charge.resize(self.charge.bytes() + ZSTD_COMPRESS_BYTES)?;
            self.context_charged = ZSTD_COMPRESS_BYTES;
            let mut context = CCtx::create();
            // These cannot fail: both parameters are in range for every version of the library.
            let _ = context.set_parameter(CParameter::CompressionLevel(ZSTD_LEVEL));
            let _ = context.set_parameter(CParameter::ContentSizeFlag(false));
            self.zstd = Some(Context(context));
        }
        Ok(())
    }

    /// Appends the payload of `keys` (ascending, 1 to `keys_max` of them) to `out`. The codec must be prepared.
    pub fn encode(&mut self, codec: Codec, keys: &[u64], out: &mut Vec<u8>) {
        debug_assert!(!keys.is_empty() && keys.len() / self.width.words() <= self.keys_max);
        let Self { width, frequent, raw, packed, zstd, charge, context_charged, .. } = self;
        raw.clear();
        match codec {
            Codec::Gap => return gap::encode(*width, keys, frequent, out),
            Codec::GapZstd => gap::encode_plain(*width, keys, raw),
            Codec::ColumnsLz4 | Codec::ColumnsZstd => columns::encode(*width, keys, raw),
            Codec::TokenLz4 | Codec::TokenZstd => token::encode(*width, keys, frequent, raw),
        }
        let length = if codec.uses_zstd() {
            let context = zstd.as_mut().expect("the codec is prepared");
            let length =
                context.0.compress2(&mut packed[..], raw).expect("the output has room for the worst case");
            give_back_spare(charge, context_charged, context.0.sizeof());
            length
        } else {
            lz4_flex::block::compress_into(raw, packed).expect("the output has room for the worst case")
        };
        if !matches!(codec, Codec::ColumnsLz4 | Codec::ColumnsZstd) {
            out.extend_from_slice(&(raw.len() as u32).to_le_bytes());
        }
        out.extend_from_slice(&packed[..length]);
    }

    /// Bytes of the last block before compression (0 after [`Codec::Gap`]).
    pub fn raw_bytes(&self) -> usize {
        self.raw.len()
    }

    /// Bytes that the compressing context really takes, for the tests of the charge.
    pub fn context_bytes(&self) -> usize {
        self.zstd.as_ref().map_or(0, |context| context.0.sizeof())
    }
}

impl Decoder {
    /// A decoder for keys of `width`; takes nothing before it meets a compressed block.
    pub fn new(budget: &Budget, owner: &'static str, width: KeyWidth) -> Result<Self, BudgetError> {
        Ok(Self { width, raw: Vec::new(), zstd: None, charge: budget.charge(owner, 0)? })
    }

    /// Takes the room for compressed blocks of `raw_bytes` uncompressed (and for zstd, its context of 96 KiB).
    pub fn prepare(&mut self, codec: Codec, raw_bytes: usize) -> Result<(), BudgetError> {
        if codec.compresses() && self.raw.len() < raw_bytes {
            let held = self.raw.len();
            self.charge.resize(self.charge.bytes() + raw_bytes)?;
            self.raw = vec![0; raw_bytes];
            self.charge.resize(self.charge.bytes() - held)?;
        }
        if codec.uses_zstd() && self.zstd.is_none() {
            self.charge.resize(self.charge.bytes() + ZSTD_DECOMPRESS_BYTES)?;
            self.zstd = Some(Context(DCtx::create()));
        }
        Ok(())
    }

    /// Decodes `payload` into `keys`, which has exactly the words of its keys.  The codec must be prepared for the block's uncompressed size.
    pub fn decode(&mut self, codec: Codec, payload: &[u8], keys: &mut [u64]) -> Result<(), Malformed> {
        let Self { width, raw, zstd, .. } = self;
        if keys.is_empty() || !keys.len().is_multiple_of(width.words()) {
            return Err(Malformed);
        }
        let columns = matches!(codec, Codec::ColumnsLz4 | Codec::ColumnsZstd);
        let (length, packed) = match codec {
            Codec::Gap => return gap::decode(*width, payload, keys),
            _ if columns => (keys.len() / width.words() * width.bytes(), payload),
            _ => {
                let (length, packed) = payload.split_first_chunk::<4>().ok_or(Malformed)?;
                (u32::from_le_bytes(*length) as usize, packed)
            }
        };
        let raw = raw.get_mut(..length).ok_or(Malformed)?;
        let written = if codec.uses_zstd() {
            let context = zstd.as_mut().ok_or(Malformed)?;
            context.0.decompress(raw, packed).map_err(|_| Malformed)?
        } else {
            lz4_flex::block::decompress_into(packed, raw).map_err(|_| Malformed)?
        };
        if written != length {
            return Err(Malformed);
        }
        match codec {
            Codec::TokenLz4 | Codec::TokenZstd => token::decode(*width, raw, keys),
            Codec::GapZstd => gap::decode(*width, raw, keys),
            _ => columns::decode(*width, raw, keys),
        }
    }

    /// Bytes that the decompressing context really takes, for the tests of the charge.
    pub fn context_bytes(&self) -> usize {
        self.zstd.as_ref().map_or(0, |context| context.0.sizeof())
    }
}

/// Lowers the charge to what the context turned out to take.
fn give_back_spare(charge: &mut Charge, charged: &mut usize, taken: usize) {
    if taken < *charged {
        let lower = charge.bytes() - (*charged - taken);
        charge.resize(lower).expect("shrinking a charge is never refused");
        *charged = taken;
    }
}

/// No payload of `keys` keys is longer than this before compression, in any codec.
pub fn payload_bytes_max(width: KeyWidth, keys: usize) -> usize {
    gap::bytes_max(width, keys).max(token::bytes_max(width, keys)).max(keys * width.bytes())
}
