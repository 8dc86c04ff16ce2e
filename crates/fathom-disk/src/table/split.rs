//! How do keys of two or three words share what they have in common?
//!
//! A key is cut in two; each half is numbered by a dictionary (`leaves.rs`) and the pair of numbers is a narrow key in a
//! direct table (`pairs.rs`). Halves of real records repeat so much that the dictionaries are small, and a state costs what its pair
//! costs: 3 to 5 bytes. Records so wide that halves do not repeat are cut further, at places that are looked for (`tree.rs`).
//!
//! Tables of one set that are cut by a hash of the left half number left halves each for themselves, and right halves together ([`RightLeaves`]), all at once: a table takes
//! the dictionary for itself only to make room in it.

use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::TableFull;
use super::cut::{Cut, cut_key, join};
use super::leaves::Leaves;
use super::pairs::NumberPairs;
use super::patience::patiently;
use crate::budget::{Budget, BudgetError};

/// Keys whose halves are asked for before the first of them is looked at.
const BATCH: usize = 64;
/// Keys whose halves are numbered before the first pair is put. Taking the dictionary of right halves costs a cache line that all threads write, so it should be many; and
/// whoever wants to make room in it waits for all of them.
const GROUP: usize = 8 * BATCH;

/// Set of keys stored as pairs of numbered halves.
#[derive(Debug)]
pub(super) struct SplitTable {
    words: usize,
    cut: Cut,
    left: Leaves,
    right: RightLeaves,
    pairs: NumberPairs,
}

/// The dictionary of right halves, of one table or of several.
#[derive(Clone, Debug)]
pub(super) struct RightLeaves(Arc<RwLock<Leaves>>);

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
        let cut = Cut::new(bits, right_bits);
        Ok(SplitTable {
            words: bits.div_ceil(64) as usize,
            cut,
            left: Leaves::new(cut.left_words, budget)?,
            right,
            pairs: NumberPairs::new(share, budget)?,
        })
    }

    /// [`NumberPairs::grow_ahead`] of the pairs.
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
            self.pairs.insert(pairs, counts, done, new)?;
            done += pairs.len();
        }
        Ok(())
    }

    pub(super) fn contains_batch(&self, keys: &[u64], present: &mut Vec<u32>) {
        let mut halves = Halves::new(self.words, self.cut);
        let rights = self.right.read();
        for (chunk_index, chunk) in keys.chunks(BATCH * self.words).enumerate() {
            halves.fetch(&self.left, &rights, chunk);
            for i in 0..chunk.len() / self.words {
                let left = self.left.find(halves.left(i), halves.hashes[i][0]);
                let right = rights.find(halves.right(i), halves.hashes[i][1]);
                let (Some(left), Some(right)) = (left, right) else { continue };
                if self.pairs.contains(left, right) {
                    present.push((chunk_index * BATCH + i) as u32);
                }
            }
        }
    }

    pub(super) fn for_each(&self, mut visit: impl FnMut(&[u64])) {
        let mut key = vec![0; self.words];
        let rights = self.right.read();
        let (mut left, mut right) = (vec![0; self.cut.left_words], vec![0; self.cut.right_words]);
        self.pairs.for_each(|left_number, right_number| {
            self.left.read(left_number, &mut left);
            rights.read(right_number, &mut right);
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
