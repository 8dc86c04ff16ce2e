//! Where do sorted pieces wait to be merged that fit in memory once they are coded?
//!
//! [`CodedPieces`] are gap-coded blocks, one behind the other: a tenth of what their keys take. What does not fit there goes to disk, as [`Pieces`](crate::run::pieces::Pieces) do.
//!
//! ```text
//! block   keys : u16 | bytes : u16 | gap code of at most 256 keys
//! ```
//!
//! Memory: what they were given, once there is a piece; a scan holds a block of keys.

use super::KeyStream;
use crate::budget::{Budget, BudgetError, Charge, ChargedVec};
use crate::codec::{Codec, Decoder, gap, payload_bytes_max};
use crate::error::DiskError;
use crate::key::KeyWidth;

/// Sorted pieces in memory.
#[derive(Debug)]
pub struct CodedPieces {
    width: KeyWidth,
    block_keys: usize,
    limit: usize,
    bytes: Vec<u8>,
    charge: Charge,
    /// Where each ends.
    ends: ChargedVec<usize>,
    keys: u64,
}

/// A piece as a stream.
#[derive(Debug)]
pub struct CodedScan<'a> {
    rest: &'a [u8],
    words: usize,
    decoder: Decoder,
    keys: ChargedVec<u64>,
}

const OWNER: &str = "candidates in memory";
const BLOCK_KEYS_MAX: usize = 256;
/// How many keys, and how many bytes.
const HEAD_BYTES: usize = 4;

impl CodedPieces {
    /// None, that may take `limit` bytes.
    pub fn new(width: KeyWidth, budget: &Budget, limit: usize) -> Result<CodedPieces, BudgetError> {
        // How long a block is, is a number of two bytes: one of the widest keys fits.
        let fits = |keys: &usize| payload_bytes_max(width, *keys) <= usize::from(u16::MAX);
        let block_keys = [BLOCK_KEYS_MAX, 16].into_iter().find(fits).unwrap_or(1);
        Ok(CodedPieces {
            width,
            block_keys,
            limit,
            bytes: Vec::new(),
            charge: budget.charge(OWNER, 0)?,
            ends: ChargedVec::with_capacity(budget, OWNER, 0)?,
            keys: 0,
        })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys == 0
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Keys in all of them, repeats counted.
    pub fn count(&self) -> u64 {
        self.keys
    }

    /// Adds ascending keys as a piece; says whether there was room.
    pub fn add(&mut self, keys: &[u64]) -> bool {
        let start = self.bytes.len();
        let fits = self.limit > 0 && self.take_memory() && self.ends.reserve(1).is_ok() && self.encode(keys);
        if fits {
            let pushed = self.ends.push_within(self.bytes.len());
            assert!(pushed.is_ok(), "there is room for one more");
            self.keys += (keys.len() / self.width.words()) as u64;
        } else {
            self.bytes.truncate(start);
        }
        fits
    }

    /// A stream of each.
    pub fn scans<'a>(&'a self, budget: &'a Budget) -> impl Iterator<Item = Result<CodedScan<'a>, DiskError>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let block = self.block_keys * self.width.words();
        starts.zip(&*self.ends).map(move |(start, &end)| {
            Ok(CodedScan {
                rest: &self.bytes[start..end],
                words: self.width.words(),
                decoder: Decoder::new(budget, OWNER, self.width)?,
                keys: ChargedVec::with_capacity(budget, OWNER, block)?,
            })
        })
    }

    /// Forgets them all, and gives the memory back.
    pub fn clear(&mut self) -> Result<(), BudgetError> {
        self.bytes = Vec::new();
        self.ends.clear();
        self.keys = 0;
        self.charge.resize(0)
    }

    fn take_memory(&mut self) -> bool {
        if self.bytes.capacity() == 0 && self.charge.resize(self.limit).is_ok() {
            self.bytes.reserve_exact(self.limit);
        }
        self.bytes.capacity() > 0
    }

    fn encode(&mut self, keys: &[u64]) -> bool {
        let block_max = HEAD_BYTES + payload_bytes_max(self.width, self.block_keys);
        for block in keys.chunks(self.block_keys * self.width.words()) {
            if self.bytes.len() + block_max > self.limit {
                return false;
            }
            let head = self.bytes.len();
            self.bytes.extend_from_slice(&[0; HEAD_BYTES]);
            gap::encode_plain(self.width, block, &mut self.bytes);
            let count = (block.len() / self.width.words()) as u16;
            let length = (self.bytes.len() - head - HEAD_BYTES) as u16;
            self.bytes[head..head + 2].copy_from_slice(&count.to_le_bytes());
            self.bytes[head + 2..head + HEAD_BYTES].copy_from_slice(&length.to_le_bytes());
        }
        true
    }
}

impl KeyStream for CodedScan<'_> {
    fn words(&self) -> usize {
        self.words
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        let Some((&[count_low, count_high, low, high], rest)) = self.rest.split_first_chunk() else {
            self.keys.clear();
            return Ok(false);
        };
        let (block, rest) = rest.split_at(usize::from(u16::from_le_bytes([low, high])));
        let count = usize::from(u16::from_le_bytes([count_low, count_high]));
        self.keys.resize(count * self.words, 0)?;
        let decoded = self.decoder.decode(Codec::Gap, block, &mut self.keys);
        assert!(decoded.is_ok(), "what was encoded here is decoded");
        self.rest = rest;
        Ok(true)
    }

    fn keys(&self) -> &[u64] {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All keys of a stream.
    fn all(stream: &mut dyn KeyStream) -> Vec<u64> {
        let mut keys = Vec::new();
        while stream.advance().expect("memory does not fail") {
            keys.extend_from_slice(stream.keys());
        }
        keys
    }

    #[test]
    fn pieces_come_back_as_they_were() {
        for bits in [5, 64, 88, 200, 3000, 65_535] {
            let width = KeyWidth::new(bits).expect("a width");
            let budget = Budget::unlimited();
            let mut pieces = CodedPieces::new(width, &budget, 16 << 20).expect("memory");
            let words = width.words();
            let piece = |keys: u64, stride: u64| -> Vec<u64> {
                (0..keys)
                    .flat_map(|key| {
                        let mut all = vec![0; words];
                        all[words - 1] = key * stride;
                        all
                    })
                    .collect()
            };
            let expected = if bits == 5 {
                vec![piece(30, 1), piece(1, 1)]
            } else {
                vec![piece(700, 12_345), piece(1, 7), piece(256, 1)]
            };
            for keys in &expected {
                assert!(pieces.add(keys), "{bits} bits");
            }
            let found: Vec<Vec<u64>> =
                pieces.scans(&budget).map(|scan| all(&mut scan.expect("memory"))).collect();
            assert_eq!(found, expected, "{bits} bits");
            pieces.clear().expect("giving back succeeds");
            assert!(pieces.is_empty());
        }
    }

    #[test]
    fn what_does_not_fit_leaves_the_others_as_they_were() {
        let width = KeyWidth::new(60).expect("a width");
        let budget = Budget::new(30_000);
        let mut pieces = CodedPieces::new(width, &budget, 20_000).expect("memory");
        let small: Vec<u64> = (0..1000).map(|key| key * 3).collect();
        let large: Vec<u64> = (0..9000).map(|key| key * 0x0123_4567_89ab).collect();
        assert!(pieces.add(&small));
        assert!(!pieces.add(&large), "there is no room");
        assert_eq!((pieces.len(), pieces.count()), (1, 1000));
        let found: Vec<Vec<u64>> =
            pieces.scans(&budget).map(|scan| all(&mut scan.expect("memory"))).collect();
        assert_eq!(found, [small]);
        pieces.clear().expect("giving back succeeds");
        drop(pieces);
        assert_eq!(budget.used(), 0);
        let mut refused = CodedPieces::new(width, &Budget::new(100), 20_000).expect("memory");
        assert!(!refused.add(&[1, 2, 3]), "the budget does not suffice");
    }
}
