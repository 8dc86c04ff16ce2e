//! Which small number stands for this half of a key?
//!
//! A dictionary that only grows: equal halves get equal numbers, numbers count from zero and never change. It is small
//! (on recorded models 0.1 to 4 % of the states), so it is built for speed: an open-addressed index of number and hash
//! bits, and records in chunks that double, so that no record ever moves.

use crate::budget::{Budget, BudgetError, Charge};
use crate::hash::hash_key;
use crate::intrinsics::prefetch;

const LEAVES_OWNER: &str = "table leaves";
const FIRST_CHUNK_LOG: u32 = 4;
const FIRST_INDEX: usize = 16;
/// Numbers are 32 bits wide in the index, and the last one marks a free entry.
const LEAVES_MAX: u32 = u32::MAX - 1;
const FREE: u64 = u64::MAX;

/// Dictionary of records of `words` words.
#[derive(Debug)]
pub(super) struct Leaves {
    words: usize,
    len: u32,
    /// Chunk `i` has room for `2^(FIRST_CHUNK_LOG + i)` records.
    chunks: Vec<Vec<u64>>,
    /// Number in the low half, low half of the hash in the high half; the place comes from the hash's leading bits.
    index: Vec<u64>,
    charge: Charge,
}

impl Leaves {
    pub(super) fn new(words: usize, budget: &Budget) -> Result<Leaves, BudgetError> {
        let charge = budget.charge(LEAVES_OWNER, FIRST_INDEX * 8)?;
        Ok(Leaves { words, len: 0, chunks: Vec::new(), index: vec![FREE; FIRST_INDEX], charge })
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// The hash that `find` and `intern` take.
    #[inline(always)]
    pub(super) fn hash(record: &[u64]) -> u64 {
        hash_key(record)
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch(&self.index, self.slot(hash));
    }

    /// Asks for the record that the first entry met by this hash stands for. What [`Leaves::prefetch`] asked for should be there.
    #[inline(always)]
    pub(super) fn prefetch_record(&self, hash: u64) {
        let entry = self.index[self.slot(hash)];
        let (chunk, place) = chunk_of(entry as u32);
        if let Some(chunk) = self.chunks.get(chunk) {
            prefetch(chunk, place * self.words);
        }
    }

    /// The record with this number.
    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> &[u64] {
        let (chunk, place) = chunk_of(number);
        &self.chunks[chunk][place * self.words..(place + 1) * self.words]
    }

    /// The number of a record, if it has one.
    #[inline(always)]
    pub(super) fn find(&self, record: &[u64], hash: u64) -> Option<u32> {
        self.probe(record, hash).ok()
    }

    /// The number of a record, the next free one if it had none.
    #[inline(always)]
    pub(super) fn intern(&mut self, record: &[u64], hash: u64) -> Result<u32, BudgetError> {
        match self.probe(record, hash) {
            Ok(number) => Ok(number),
            Err(slot) => self.add(record, hash, slot),
        }
    }

    #[inline(always)]
    fn slot(&self, hash: u64) -> usize {
        (hash >> (64 - self.index.len().ilog2())) as usize
    }

    /// The number of a record, or the free slot where its search ended.
    #[inline(always)]
    fn probe(&self, record: &[u64], hash: u64) -> Result<u32, usize> {
        let mut slot = self.slot(hash);
        loop {
            let entry = self.index[slot];
            if entry == FREE {
                return Err(slot);
            }
            if (entry ^ (hash << 32)) >> 32 == 0 && equal(self.get(entry as u32), record) {
                return Ok(entry as u32);
            }
            slot = (slot + 1) & (self.index.len() - 1);
        }
    }

    #[cold]
    fn add(&mut self, record: &[u64], hash: u64, mut slot: usize) -> Result<u32, BudgetError> {
        assert!(self.len < LEAVES_MAX, "a dictionary has fewer than 2^32 - 2 halves of keys");
        if (self.len as usize + 1) * 3 > self.index.len() * 2 {
            self.double_index()?;
            slot = self.probe(record, hash).expect_err("a record that was absent stays absent");
        }
        let (chunk, place) = chunk_of(self.len);
        if chunk == self.chunks.len() {
            let words = self.words << (FIRST_CHUNK_LOG as usize + chunk);
            self.charge.resize(self.charge.bytes() + words * 8)?;
            self.chunks.push(Vec::with_capacity(words));
        }
        debug_assert_eq!(self.chunks[chunk].len(), place * self.words);
        self.chunks[chunk].extend_from_slice(record);
        self.index[slot] = hash << 32 | u64::from(self.len);
        self.len += 1;
        Ok(self.len - 1)
    }

    fn double_index(&mut self) -> Result<(), BudgetError> {
        let held = self.charge.bytes();
        let entries = 2 * self.index.len();
        self.charge.resize(held + 8 * entries)?;
        let old = std::mem::replace(&mut self.index, vec![FREE; entries]);
        for number in 0..self.len {
            let hash = Leaves::hash(self.get(number));
            let mut slot = self.slot(hash);
            while self.index[slot] != FREE {
                slot = (slot + 1) & (entries - 1);
            }
            self.index[slot] = hash << 32 | u64::from(number);
        }
        self.charge.resize(held + 8 * entries - 8 * old.len())
    }
}

/// Whether two records of one width are equal: most have one word, for which a call of the library's comparison is long.
#[inline(always)]
fn equal(left: &[u64], right: &[u64]) -> bool {
    match (left, right) {
        ([left], [right]) => left == right,
        _ => left == right,
    }
}

/// The chunk of a number and its place there.
#[inline(always)]
fn chunk_of(number: u32) -> (usize, usize) {
    let shifted = u64::from(number) + (1 << FIRST_CHUNK_LOG);
    let log = shifted.ilog2();
    ((log - FIRST_CHUNK_LOG) as usize, (shifted - (1 << log)) as usize)
}
