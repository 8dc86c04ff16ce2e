//! How do wide keys share what they have in common?
//!
//! A key is cut in two; each half is numbered by a dictionary (`leaves.rs`) and the pair of numbers is a narrow key in a
//! direct table. Halves of real records repeat so much that the dictionaries are small, and a state costs what its pair
//! costs: 3 to 5 bytes. The numbers' widths start at 18 bits and grow by 2 when a dictionary outgrows them; then the
//! table of pairs is rebuilt, which happens at most seven times for each half.
//!
//! Tables of one set that are cut by a hash of the left half number left halves each for themselves, and right halves together ([`RightLeaves`]), all at once: a table takes
//! the dictionary for itself only to make room in it.

use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::TableFull;
use super::direct::{DirectTable, Prefix};
use super::leaves::Leaves;
use super::patience::patiently;
use crate::budget::{Budget, BudgetError};

/// Keys whose halves are asked for before the first of them is looked at.
const BATCH: usize = 64;
/// Keys whose halves are numbered before the first pair is put. Taking the dictionary of right halves costs a cache line that all threads write, so it should be many; and
/// whoever wants to make room in it waits for all of them.
const GROUP: usize = 8 * BATCH;
/// Few enough for small tables to stay small, and enough for most tables never to be rebuilt.
const NUMBER_BITS_MIN: u32 = 18;
const NUMBER_BITS_STEP: u32 = 2;

/// Set of keys stored as pairs of numbered halves.
#[derive(Debug)]
pub(super) struct SplitTable {
    words: usize,
    cut: Cut,
    left: Leaves,
    right: RightLeaves,
    /// Bits of a left and of a right number in `pairs`.
    number_bits: [u32; 2],
    pairs: DirectTable,
    share: usize,
    budget: Budget,
}

/// The dictionary of right halves, of one table or of several.
#[derive(Clone, Debug)]
pub(super) struct RightLeaves(Arc<RwLock<Leaves>>);

/// Where keys are cut: the right half is the lowest `right_bits` bits.
#[derive(Clone, Copy, Debug)]
struct Cut {
    right_bits: u32,
    left_words: usize,
    right_words: usize,
}

impl RightLeaves {
    /// Nothing numbered yet, for keys cut above their lowest `right_bits` bits.
    pub(super) fn new(right_bits: u32, budget: &Budget) -> Result<RightLeaves, BudgetError> {
        let leaves = Leaves::new(right_bits.div_ceil(64) as usize, budget)?;
        Ok(RightLeaves(Arc::new(RwLock::new(leaves))))
    }

    // A dictionary is whole after every call that can panic half-way only by an assertion of our own.

    fn read(&self) -> RwLockReadGuard<'_, Leaves> {
        patiently(|| self.0.try_read(), || self.0.read())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Leaves> {
        patiently(|| self.0.try_write(), || self.0.write())
    }
}

impl SplitTable {
    /// An empty table that numbers right halves in `right`; `right_bits` lies strictly between 0 and `bits`.
    pub(super) fn new(
        bits: u32,
        right_bits: u32,
        right: RightLeaves,
        share: usize,
        budget: &Budget,
    ) -> Result<SplitTable, BudgetError> {
        assert!(0 < right_bits && right_bits < bits, "both halves of a cut key have bits");
        let cut = Cut {
            right_bits,
            left_words: (bits - right_bits).div_ceil(64) as usize,
            right_words: right_bits.div_ceil(64) as usize,
        };
        let number_bits = [NUMBER_BITS_MIN; 2];
        Ok(SplitTable {
            words: bits.div_ceil(64) as usize,
            cut,
            left: Leaves::new(cut.left_words, budget)?,
            right,
            number_bits,
            pairs: DirectTable::new(2 * NUMBER_BITS_MIN, Prefix::default(), share, budget)?,
            share,
            budget: budget.clone(),
        })
    }

    /// [`DirectTable::grow_ahead`] of the pairs.
    pub(super) fn grow_ahead(&mut self) -> bool {
        self.pairs.grow_ahead()
    }

    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Bytes charged to the budget, right halves included.
    pub(super) fn bytes(&self) -> usize {
        self.left.bytes() + self.right.read().bytes() + self.pairs.bytes()
    }

    pub(super) fn insert_batch(&mut self, keys: &[u64], new: &mut Vec<u32>) -> Result<(), TableFull> {
        let mut halves = Halves::new(self.words, self.cut);
        let mut pairs = [0u64; GROUP];
        let mut done = 0usize;
        for group in keys.chunks(GROUP * self.words) {
            let pairs = &mut pairs[..group.len() / self.words];
            let refused = |reason| TableFull { done, reason };
            let counts = self.number_halves(group, &mut halves, pairs).map_err(refused)?;
            if self.outgrown(counts) {
                self.widen_for(counts).map_err(refused)?;
            }
            for pair in &mut *pairs {
                *pair = self.pair((*pair >> 32) as u32, *pair as u32);
            }
            let first_new = new.len();
            let outcome = self.pairs.insert_batch(pairs, new);
            for index in &mut new[first_new..] {
                *index += done as u32;
            }
            outcome.map_err(|full| TableFull { done: done + full.done, reason: full.reason })?;
            done += pairs.len();
        }
        Ok(())
    }

    pub(super) fn contains_batch(&self, keys: &[u64], present: &mut Vec<u32>) {
        let mut halves = Halves::new(self.words, self.cut);
        let mut one = Vec::with_capacity(1);
        let rights = self.right.read();
        for (chunk_index, chunk) in keys.chunks(BATCH * self.words).enumerate() {
            halves.fetch(&self.left, &rights, chunk);
            for i in 0..chunk.len() / self.words {
                let left = self.left.find(halves.left(i), halves.hashes[i][0]);
                let right = rights.find(halves.right(i), halves.hashes[i][1]);
                let (Some(left), Some(right)) = (left, right) else { continue };
                one.clear();
                self.pairs.contains_batch(&[self.pair(left, right)], &mut one);
                if !one.is_empty() {
                    present.push((chunk_index * BATCH + i) as u32);
                }
            }
        }
    }

    pub(super) fn for_each(&self, mut visit: impl FnMut(&[u64])) {
        let mut key = vec![0; self.words];
        let [_, right_bits] = self.number_bits;
        let rights = self.right.read();
        let (mut left, mut right) = (vec![0; self.cut.left_words], vec![0; self.cut.right_words]);
        self.pairs.for_each(|pair| {
            self.left.read((pair[0] >> right_bits) as u32, &mut left);
            rights.read((pair[0] & ((1 << right_bits) - 1)) as u32, &mut right);
            join(&mut key, self.cut, &left, &right);
            visit(&key);
        });
    }

    /// Numbers the halves of a group: the left one of each key in the high half of its word, the right one in the low half. Says how many left and right ones have numbers by
    /// then.
    fn number_halves(
        &mut self,
        group: &[u64],
        halves: &mut Halves,
        pairs: &mut [u64],
    ) -> Result<[u32; 2], BudgetError> {
        let SplitTable { left, right, words, .. } = self;
        let mut rights = right.read();
        for (chunk, pairs) in group.chunks(BATCH * *words).zip(pairs.chunks_mut(BATCH)) {
            while !halves.number(left, &rights, chunk, pairs)? {
                drop(rights);
                right.write().make_room()?;
                rights = right.read();
            }
        }
        Ok([left.len(), rights.len()])
    }

    /// Whether so many left and right halves have numbers that do not fit.
    fn outgrown(&self, counts: [u32; 2]) -> bool {
        (0..2).any(|half| too_wide(counts[half], self.number_bits[half]))
    }

    /// Widens numbers until those of so many halves fit.
    #[cold]
    fn widen_for(&mut self, counts: [u32; 2]) -> Result<(), BudgetError> {
        while self.outgrown(counts) {
            // A half that will soon outgrow its numbers is widened along, which spares rebuilding twice.
            let step = |half: usize| {
                if too_wide(counts[half], self.number_bits[half] - 1) { NUMBER_BITS_STEP } else { 0 }
            };
            self.widen([step(0), step(1)])?;
        }
        Ok(())
    }

    #[inline(always)]
    fn pair(&self, left: u32, right: u32) -> u64 {
        u64::from(left) << self.number_bits[1] | u64::from(right)
    }

    /// Rebuilds the table of pairs for wider numbers. The whole new table must fit beside the old one before anything is moved.
    fn widen(&mut self, steps: [u32; 2]) -> Result<(), BudgetError> {
        let [old_left, old_right] = self.number_bits;
        let number_bits = [old_left + steps[0], old_right + steps[1]];
        let mut wider =
            DirectTable::new(number_bits[0] + number_bits[1], Prefix::default(), self.share, &self.budget)?;
        wider.reserve(self.pairs.len())?;
        let mut mover = Mover { wider: &mut wider, waiting: Vec::with_capacity(BATCH), new: Vec::new() };
        let mut outcome = Ok(());
        self.pairs.for_each(|pair| {
            let (left, right) = (pair[0] >> old_right, pair[0] & ((1 << old_right) - 1));
            if outcome.is_ok() {
                outcome = mover.push(left << number_bits[1] | right);
            }
        });
        outcome?;
        mover.flush()?;
        self.pairs = wider;
        self.number_bits = number_bits;
        Ok(())
    }
}

/// Whether so many halves have numbers of more than so many bits.
fn too_wide(count: u32, bits: u32) -> bool {
    u64::from(count) > 1 << bits
}

/// Puts pairs into a table, a batch at a time: one by one, each would wait for memory.
struct Mover<'a> {
    wider: &'a mut DirectTable,
    waiting: Vec<u64>,
    new: Vec<u32>,
}

impl Mover<'_> {
    fn push(&mut self, pair: u64) -> Result<(), BudgetError> {
        self.waiting.push(pair);
        if self.waiting.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), BudgetError> {
        self.new.clear();
        self.wider.insert_batch(&self.waiting, &mut self.new).map_err(|full| full.reason)?;
        self.waiting.clear();
        Ok(())
    }
}

/// A batch of keys, cut.
struct Halves {
    words: usize,
    cut: Cut,
    lefts: Vec<u64>,
    rights: Vec<u64>,
    hashes: [[u64; 2]; BATCH],
}

impl Halves {
    fn new(words: usize, cut: Cut) -> Halves {
        let lefts = vec![0; BATCH * cut.left_words];
        let rights = vec![0; BATCH * cut.right_words];
        Halves { words, cut, lefts, rights, hashes: [[0; 2]; BATCH] }
    }

    /// Cuts a batch and asks for the dictionaries' entries.
    fn fetch(&mut self, lefts: &Leaves, rights: &Leaves, batch: &[u64]) {
        let mut count = 0;
        for key in batch.chunks_exact(self.words) {
            let (left, right) = self.set(count, key);
            lefts.prefetch(left);
            rights.prefetch(right);
            count += 1;
        }
        for [left, right] in &self.hashes[..count] {
            lefts.prefetch_record(*left);
            rights.prefetch_record(*right);
        }
    }

    /// Numbers the halves of a batch. False if there must be room for more right ones first.
    fn number(
        &mut self,
        lefts: &mut Leaves,
        rights: &Leaves,
        batch: &[u64],
        pairs: &mut [u64],
    ) -> Result<bool, BudgetError> {
        self.fetch(lefts, rights, batch);
        for (i, pair) in pairs.iter_mut().enumerate() {
            let left = lefts.intern(self.left(i), self.hashes[i][0])?;
            let Some(right) = rights.intern_beside(self.right(i), self.hashes[i][1]) else {
                return Ok(false);
            };
            *pair = u64::from(left) << 32 | u64::from(right);
        }
        Ok(true)
    }

    #[inline(always)]
    fn left(&self, i: usize) -> &[u64] {
        &self.lefts[i * self.cut.left_words..(i + 1) * self.cut.left_words]
    }

    #[inline(always)]
    fn right(&self, i: usize) -> &[u64] {
        &self.rights[i * self.cut.right_words..(i + 1) * self.cut.right_words]
    }

    /// Cuts a key and hashes its halves.
    #[inline(always)]
    fn set(&mut self, i: usize, key: &[u64]) -> (u64, u64) {
        let cut = self.cut;
        let left = &mut self.lefts[i * cut.left_words..(i + 1) * cut.left_words];
        let right = &mut self.rights[i * cut.right_words..(i + 1) * cut.right_words];
        cut_key(key, cut, left, right);
        let hashes = (Leaves::hash(left), Leaves::hash(right));
        self.hashes[i] = [hashes.0, hashes.1];
        hashes
    }
}

/// Copies the halves of a key.
#[inline(always)]
fn cut_key(key: &[u64], cut: Cut, left: &mut [u64], right: &mut [u64]) {
    right.copy_from_slice(&key[key.len() - cut.right_words..]);
    let shift = cut.right_bits % 64;
    if shift != 0 {
        right[0] &= (1 << shift) - 1;
    }
    let whole = (cut.right_bits / 64) as usize;
    let kept = &key[..key.len() - whole];
    // The left half, moved down: it may have one word less than what it was cut from.
    for (i, word) in left.iter_mut().rev().enumerate() {
        let at = kept.len() - 1 - i;
        let above = if at == 0 { 0 } else { kept[at - 1] };
        *word = if shift == 0 { kept[at] } else { kept[at] >> shift | above << (64 - shift) };
    }
}

/// Inverse of [`cut_key`].
fn join(key: &mut [u64], cut: Cut, left: &[u64], right: &[u64]) {
    key.fill(0);
    let words = key.len();
    key[words - cut.right_words..].copy_from_slice(right);
    let shift = cut.right_bits % 64;
    let whole = (cut.right_bits / 64) as usize;
    for (i, &word) in left.iter().rev().enumerate() {
        let at = words - 1 - whole - i;
        key[at] |= word << shift;
        if shift != 0 && at > 0 {
            key[at - 1] |= word >> (64 - shift);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_of_every_width_joins_again() {
        for bits in 2..=200u32 {
            let words = bits.div_ceil(64) as usize;
            let mut key: Vec<u64> =
                (0..words as u64).map(|i| (i + 1).wrapping_mul(0x9e3779b97f4a7c15)).collect();
            if bits % 64 != 0 {
                key[0] &= (1 << (bits % 64)) - 1;
            }
            for right_bits in 1..bits {
                let (left_words, right_words) = ((bits - right_bits).div_ceil(64), right_bits.div_ceil(64));
                let cut =
                    Cut { right_bits, left_words: left_words as usize, right_words: right_words as usize };
                let (mut left, mut right) = (vec![0; cut.left_words], vec![0; cut.right_words]);
                cut_key(&key, cut, &mut left, &mut right);
                let top = (bits - right_bits) % 64;
                assert!(top == 0 || left[0] < 1 << top, "{bits} cut at {right_bits}");
                let mut joined = vec![7; words];
                join(&mut joined, cut, &left, &right);
                assert_eq!(joined, key, "{bits} cut at {right_bits}");
            }
        }
    }
}
