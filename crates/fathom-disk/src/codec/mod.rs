//! How does a block of ascending keys become few bytes, and back?
//!
//! [`gap`] is the fast one, [`token`] and [`columns`] prepare keys for a general compressor; [`choice`] tries them on the
//! data. An [`Encoder`] and a [`Decoder`] hold the room that this takes, charged to the budget.
//!
//! Decoding never panics, whatever the bytes; it says [`Malformed`] where they cannot be a block of that many keys. Checksums
//! are the frame's business.

mod changes;
pub mod choice;
pub mod columns;
mod frequent;
pub mod gap;
mod gaps;
pub mod group_size;
pub mod groups;
pub mod token;
pub(crate) mod values;

use std::ops::Range;

use zstd::zstd_safe::{CCtx, CParameter, DCtx};

use crate::budget::{Budget, BudgetError, Charge};
use crate::key::KeyWidth;

use frequent::FrequentGaps;
use groups::Groups;
use token::Names;

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
    zstd: Option<Context<CCtx<'static>>>,
    charge: Charge,
    /// What of the charge is for the context.
    context_charged: usize,
    /// The logarithm of the keys in a group of the next block.
    group_log: u32,
    /// Keys in a group of the last one.
    group_keys: usize,
}

/// Decodes blocks; holds the room for it, which grows with what it meets.
#[derive(Debug)]
pub struct Decoder {
    width: KeyWidth,
    raw: Vec<u8>,
    /// The names of gaps of the block that was opened last, once one was.
    names: Option<Box<Names>>,
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

    /// Is it token code, which can be decoded in parts?
    pub fn is_token(self) -> bool {
        matches!(self, Self::TokenLz4 | Self::TokenZstd)
    }

    fn uses_zstd(self) -> bool {
        matches!(self, Self::GapZstd | Self::ColumnsZstd | Self::TokenZstd)
    }
}

impl Encoder {
    /// An encoder for blocks of at most `keys_max` keys. Takes about 20 bytes per key; with the first compressing codec the
    /// uncompressed block comes on top, with the first zstd its context (about 150 KiB).
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
            zstd: None,
            charge,
            context_charged: 0,
            group_log: group_size::LOG_FIRST,
            group_keys: 0,
        })
    }

    /// Bytes that an encoder takes for blocks of `keys_max` keys in those codecs.
    pub fn bytes(width: KeyWidth, keys_max: usize, codecs: &[Codec]) -> usize {
        let raw = payload_bytes_max(width, keys_max);
        let compresses = codecs.iter().any(|codec| codec.compresses());
        let zstd = codecs.iter().any(|codec| codec.uses_zstd());
        FrequentGaps::bytes(keys_max)
            + if compresses { raw } else { 0 }
            + if zstd { ZSTD_COMPRESS_BYTES } else { 0 }
    }

    /// Takes the room that `codec` needs, so that encoding with it cannot fail later.
    pub fn prepare(&mut self, codec: Codec) -> Result<(), BudgetError> {
        if codec.compresses() && self.raw.capacity() == 0 {
            let raw = payload_bytes_max(self.width, self.keys_max);
            self.charge.resize(self.charge.bytes() + raw)?;
            self.raw.reserve_exact(raw);
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

    /// Appends the payload of `keys` (ascending, 1 to `keys_max` of them) to `out`, which has to have room for [`packed_bytes_max`] bytes so as not to grow. The codec must be prepared.
    pub fn encode(&mut self, codec: Codec, keys: &[u64], out: &mut Vec<u8>) {
        debug_assert!(!keys.is_empty() && keys.len() / self.width.words() <= self.keys_max);
        let count = keys.len() / self.width.words();
        // Whoever reads what is compressed hard reads all of it.
        let group_log = if codec == Codec::TokenLz4 { self.group_log } else { group_size::LOG_WHOLE };
        self.group_keys = count.min(1 << group_log);
        let Self { width, frequent, raw, zstd, charge, context_charged, .. } = self;
        raw.clear();
        match codec {
            Codec::Gap => return gap::encode(*width, keys, frequent, out),
            Codec::GapZstd => gap::encode_plain(*width, keys, raw),
            Codec::ColumnsLz4 | Codec::ColumnsZstd => columns::encode(*width, keys, raw),
            Codec::TokenLz4 | Codec::TokenZstd => token::encode(*width, keys, frequent, group_log, raw),
        }
        if !matches!(codec, Codec::ColumnsLz4 | Codec::ColumnsZstd) {
            out.extend_from_slice(&(raw.len() as u32).to_le_bytes());
        }
        let start = out.len();
        out.resize(start + compressed_bytes_max(raw.len()), 0);
        let packed = &mut out[start..];
        let length = if codec.uses_zstd() {
            let context = zstd.as_mut().expect("the codec is prepared");
            let length = context.0.compress2(packed, raw).expect("the output has room for the worst case");
            give_back_spare(charge, context_charged, context.0.sizeof());
            length
        } else {
            lz4_flex::block::compress_into(raw, packed).expect("the output has room for the worst case")
        };
        out.truncate(start + length);
        if codec == Codec::TokenLz4 {
            self.group_log = group_size::suiting_log(self.width, count, length);
        }
    }

    /// Keys that are decoded at once of the last block, at least: those of a group, or all.
    pub fn group_keys(&self) -> usize {
        self.group_keys
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
        Ok(Self { width, raw: Vec::new(), names: None, zstd: None, charge: budget.charge(owner, 0)? })
    }

    /// Takes the room for compressed blocks of `raw_bytes` uncompressed (and for zstd, its context of 96 KiB).
    pub fn prepare(&mut self, codec: Codec, raw_bytes: usize) -> Result<(), BudgetError> {
        if codec.compresses() && self.raw.len() < raw_bytes {
            let held = self.raw.len();
            self.charge.resize(self.charge.bytes() + raw_bytes)?;
            self.raw = vec![0; raw_bytes];
            self.charge.resize(self.charge.bytes() - held)?;
        }
        if codec.is_token() && self.names.is_none() {
            self.charge.resize(self.charge.bytes() + size_of::<Names>())?;
            self.names = Some(Box::new([0; _]));
        }
        if codec.uses_zstd() && self.zstd.is_none() {
            self.charge.resize(self.charge.bytes() + ZSTD_DECOMPRESS_BYTES)?;
            self.zstd = Some(Context(DCtx::create()));
        }
        Ok(())
    }

    /// Decodes `payload` into `keys`, which has exactly the words of its keys. The codec must be prepared for the block's uncompressed size.
    pub fn decode(&mut self, codec: Codec, payload: &[u8], keys: &mut [u64]) -> Result<(), Malformed> {
        if keys.is_empty() || !keys.len().is_multiple_of(self.width.words()) {
            return Err(Malformed);
        }
        if codec == Codec::Gap {
            return gap::decode(self.width, payload, keys);
        }
        let count = keys.len() / self.width.words();
        match codec {
            Codec::TokenLz4 | Codec::TokenZstd => {
                let groups = self.open(codec, payload, count)?;
                self.decode_groups(&groups, 0..groups.count(), keys)
            }
            Codec::GapZstd => gap::decode(self.width, self.unpack(codec, payload, count)?, keys),
            _ => columns::decode(self.width, self.unpack(codec, payload, count)?, keys),
        }
    }

    /// Opens `payload`, token code of so many keys, to be decoded in parts. The codec must be prepared for the block's uncompressed size.
    pub fn open(&mut self, codec: Codec, payload: &[u8], keys: usize) -> Result<Groups, Malformed> {
        let (width, mut names) = (self.width, self.names.take().ok_or(Malformed)?);
        let groups =
            self.unpack(codec, payload, keys).and_then(|raw| Groups::parse(width, raw, keys, &mut names));
        self.names = Some(names);
        groups
    }

    /// The first key of a group of the block that was opened last.
    pub fn first_of(&self, groups: &Groups, group: usize, key: &mut [u64]) {
        groups.first(&self.raw, group, key);
    }

    /// Decodes groups of the block that was opened last into exactly the keys that they have.
    pub fn decode_groups(
        &self,
        groups: &Groups,
        which: Range<usize>,
        keys: &mut [u64],
    ) -> Result<(), Malformed> {
        groups.decode(self.opened()?, which, keys)
    }

    /// Decodes the second words of a group of keys of two words whose first words are all the same.
    pub fn decode_low(&self, groups: &Groups, group: usize, low: &mut [u64]) -> Result<(), Malformed> {
        groups.decode_low(self.opened()?, group, low)
    }

    /// Marks which of a few ascending keys of one or two words, none less than the first of the group, are in it; says how many of its keys were passed. `low` as for [`Decoder::decode_low`].
    pub fn seek(
        &self,
        groups: &Groups,
        (group, low): (usize, bool),
        keys: &[u64],
        found: &mut [bool],
    ) -> Result<usize, Malformed> {
        groups.seek(self.opened()?, (group, low), keys, found)
    }

    /// Names and bytes of the block that was opened last.
    fn opened(&self) -> Result<(&Names, &[u8]), Malformed> {
        Ok((self.names.as_ref().ok_or(Malformed)?, &self.raw))
    }

    /// What was compressed.
    fn unpack(&mut self, codec: Codec, payload: &[u8], keys: usize) -> Result<&[u8], Malformed> {
        let Self { width, raw, zstd, .. } = self;
        let (length, packed) = match codec {
            Codec::ColumnsLz4 | Codec::ColumnsZstd => (keys * width.bytes(), payload),
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
        if written == length { Ok(raw) } else { Err(Malformed) }
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

/// What an encoder needs room for to append a payload of `keys` keys, in any codec.
pub fn packed_bytes_max(width: KeyWidth, keys: usize) -> usize {
    4 + compressed_bytes_max(payload_bytes_max(width, keys))
}

/// No compressor makes more of so many bytes.
fn compressed_bytes_max(bytes: usize) -> usize {
    zstd::zstd_safe::compress_bound(bytes).max(lz4_flex::block::get_maximum_output_size(bytes))
}
