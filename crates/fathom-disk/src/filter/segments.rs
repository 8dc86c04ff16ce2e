//! How does a fuse filter for a run of any length get built within a budget?
//!
//! The keys of a run come in order. As soon as a segment's worth of hashes is gathered, its filter is built and the
//! hashes are forgotten. A query finds its segment by the segments' first keys.

use super::{Filter, Fuse};
use crate::budget::{Budget, BudgetError, ChargedVec};
use crate::error::DiskError;
use crate::hash::hash_key;
use crate::storage::File;

const OWNER: &str = "fuse filter segments";
const BATCH: usize = 64;

/// Filter for the keys of a sorted run. Memory: 9 bits a key, and one key a segment.
#[derive(Debug)]
pub struct FuseSegments {
    words: usize,
    /// The first key of each segment, one after another.
    firsts: ChargedVec<u64>,
    segments: Vec<Fuse>,
}

/// Takes the keys of a run in order.
#[derive(Debug)]
pub struct FuseSegmentsBuilder {
    done: FuseSegments,
    hashes: Vec<u64>,
    keys_per_segment: usize,
    budget: Budget,
    _charge: crate::budget::Charge,
}

impl FuseSegmentsBuilder {
    /// A builder for keys of `words` words that may hold up to `build_bytes` while it builds a segment (64 keys at least).
    pub fn new(
        words: usize,
        build_bytes: usize,
        budget: &Budget,
    ) -> Result<FuseSegmentsBuilder, BudgetError> {
        // Building takes 9 + 14 * 1.3 bytes a key, and the hashes 8; small segments a little more.
        let keys_per_segment = (build_bytes / 36).max(64);
        let charge = budget.charge(OWNER, keys_per_segment * 8)?;
        let firsts = ChargedVec::with_capacity(budget, OWNER, 0)?;
        let done = FuseSegments { words, firsts, segments: Vec::new() };
        let hashes = Vec::with_capacity(keys_per_segment);
        Ok(FuseSegmentsBuilder { done, hashes, keys_per_segment, budget: budget.clone(), _charge: charge })
    }

    /// Takes the next key; keys must not decrease.
    pub fn push(&mut self, key: &[u64]) -> Result<(), BudgetError> {
        if self.hashes.is_empty() {
            self.done.firsts.extend(key)?;
        }
        self.hashes.push(hash_key(key));
        if self.hashes.len() == self.keys_per_segment { self.close_segment() } else { Ok(()) }
    }

    /// The filter of all keys taken.
    pub fn finish(mut self) -> Result<FuseSegments, BudgetError> {
        if !self.hashes.is_empty() {
            self.close_segment()?;
        }
        Ok(self.done)
    }

    fn close_segment(&mut self) -> Result<(), BudgetError> {
        self.done.segments.push(Fuse::build(&mut self.hashes, &self.budget)?);
        self.hashes.clear();
        Ok(())
    }
}

impl FuseSegments {
    /// Whether the run may hold a key; "no" is certain.
    pub fn may_contain(&self, key: &[u64]) -> bool {
        self.segment_of(key).is_some_and(|segment| self.segments[segment].may_contain(hash_key(key)))
    }

    /// Pushes onto `maybe` the index of each key that the run may hold.
    pub fn query_batch(&self, keys: &[u64], maybe: &mut Vec<u32>) {
        let mut places = [(None, 0u64); BATCH];
        let mut done = 0;
        for chunk in keys.chunks(BATCH * self.words) {
            for (key, place) in chunk.chunks_exact(self.words).zip(&mut places) {
                *place = (self.segment_of(key), hash_key(key));
                if let (Some(segment), hash) = *place {
                    self.segments[segment].prefetch(hash);
                }
            }
            for &(segment, hash) in &places[..chunk.len() / self.words] {
                if segment.is_some_and(|segment| self.segments[segment].may_contain(hash)) {
                    maybe.push(done);
                }
                done += 1;
            }
        }
    }

    /// How many segments there are.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// Bytes charged.
    pub fn bytes(&self) -> usize {
        self.firsts.capacity() * 8 + self.segments.iter().map(Fuse::bytes).sum::<usize>()
    }

    /// Writes all segments at `offset` of a file, each behind its first key, and gives the offset behind them.
    pub fn write(&self, file: &File, mut offset: u64) -> Result<u64, DiskError> {
        for (first, segment) in self.firsts.chunks_exact(self.words).zip(&self.segments) {
            let bytes: Vec<u8> = first.iter().flat_map(|word| word.to_le_bytes()).collect();
            file.write(offset, &bytes)?;
            let check = xxhash_rust::xxh3::xxh3_64(&bytes).to_le_bytes();
            file.write(offset + bytes.len() as u64, &check)?;
            offset = segment.write(file, offset + bytes.len() as u64 + 8)?;
        }
        Ok(offset)
    }

    /// Reads `segment_count` segments that were written at `offset`, for keys of `words` words.
    pub fn read(
        file: &File,
        mut offset: u64,
        segment_count: usize,
        words: usize,
        budget: &Budget,
    ) -> Result<FuseSegments, DiskError> {
        let mut firsts = ChargedVec::with_capacity(budget, OWNER, 0)?;
        let mut segments = Vec::new();
        let mut bytes = vec![0; words * 8 + 8];
        for _ in 0..segment_count {
            file.read_exact(offset, &mut bytes)?;
            let (first, check) = bytes.split_at(words * 8);
            if xxhash_rust::xxh3::xxh3_64(first).to_le_bytes() != check {
                return Err(DiskError::corrupt(
                    file,
                    offset,
                    "the checksum of a segment's first key is wrong",
                ));
            }
            for word in first.as_chunks::<8>().0 {
                firsts.push(u64::from_le_bytes(*word))?;
            }
            let (segment, after) = Fuse::read(file, offset + bytes.len() as u64, budget)?;
            segments.push(segment);
            offset = after;
        }
        Ok(FuseSegments { words, firsts, segments })
    }

    /// The last segment whose first key is at most `key`; `None` below all.
    fn segment_of(&self, key: &[u64]) -> Option<usize> {
        let mut low = 0;
        let mut high = self.segments.len();
        while low < high {
            let middle = low.midpoint(high);
            let first = &self.firsts[middle * self.words..(middle + 1) * self.words];
            if first <= key { low = middle + 1 } else { high = middle }
        }
        low.checked_sub(1)
    }
}

impl Filter for FuseSegments {
    fn may_contain_key(&self, key: &[u64]) -> bool {
        self.may_contain(key)
    }

    fn query_batch(&self, keys: &[u64], words: usize, maybe: &mut Vec<u32>) {
        debug_assert_eq!(words, self.words, "keys are as wide as those of the run");
        self.query_batch(keys, maybe);
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }
}
