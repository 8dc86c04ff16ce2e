//! How do keys of many words share what they have in common?
//!
//! A key is cut in two, and its halves again where they are many, each piece is numbered once (`dictionary.rs`), and the pair of the halves' numbers is a narrow key
//! (`pairs.rs`). Where to cut is planned by the keys that are there (`plan.rs`) when there are [`DUE_FIRST`] of them, and the table is rebuilt. Each time there are
//! [`DUE_FACTOR`] times as many it is looked at again, and rebuilt if a sample says that halves would be far fewer.
//!
//! Tables of one set number the pieces together, all at once: a table takes the dictionaries for itself only to make room in them.

use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::TableFull;
use super::cut::{Cut, cut_key, join};
use super::dictionary::{BATCH, Dictionary, Room, pair};
use super::pairs::NumberPairs;
use super::patience::patiently;
use super::plan::{Cuts, Sample};
use crate::budget::{Budget, BudgetError, ChargedVec};

/// Keys whose halves are numbered before the first pair is put: taking the dictionaries costs a cache line that all threads write.
const GROUP: usize = 8 * BATCH;
/// Keys for which the first plan is made: a rebuild of so few takes milliseconds.
const DUE_FIRST: usize = 1 << 14;
/// Growth after which a plan is looked at again: the first states of a search are not like the last ones.
const DUE_FACTOR: usize = 8;
/// Keys that a plan is made by, at most.
const SAMPLE_KEYS: usize = 1 << 15;

/// Set of keys stored as pairs of numbered halves.
#[derive(Debug)]
pub(super) struct TreeTable {
    bits: u32,
    words: usize,
    halves: SharedHalves,
    pairs: NumberPairs,
    /// How many keys there are.
    len: usize,
    share: usize,
    budget: Budget,
}

/// The numbers of halves, of one table or of several.
#[derive(Clone, Debug)]
pub(super) struct SharedHalves(Arc<RwLock<Halves>>);

#[derive(Debug)]
struct Halves {
    cuts: Cuts,
    cut: Cut,
    left: Dictionary,
    right: Dictionary,
}

/// When to look again where keys are cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due(usize);

impl Default for Due {
    fn default() -> Due {
        Due(DUE_FIRST)
    }
}

impl SharedHalves {
    /// Nothing numbered yet, for keys of `bits` bits of which nothing is known.
    pub(super) fn new(bits: u32, budget: &Budget) -> Result<SharedHalves, BudgetError> {
        SharedHalves::planned(bits, Cuts::in_the_middle(bits), budget)
    }

    fn planned(bits: u32, cuts: Cuts, budget: &Budget) -> Result<SharedHalves, BudgetError> {
        let halves = Halves {
            cut: Cut::new(bits, cuts.right_bits),
            left: Dictionary::new(bits - cuts.right_bits, &cuts.left, budget)?,
            right: Dictionary::new(cuts.right_bits, &cuts.right, budget)?,
            cuts,
        };
        Ok(SharedHalves(Arc::new(RwLock::new(halves))))
    }

    // A dictionary is whole after every call that can panic half-way only by an assertion of our own.

    fn read(&self) -> RwLockReadGuard<'_, Halves> {
        patiently(|| self.0.try_read(), || self.0.read())
    }

    fn write(&self) -> RwLockWriteGuard<'_, Halves> {
        patiently(|| self.0.try_write(), || self.0.write())
    }
}

impl TreeTable {
    /// An empty table that numbers halves of keys of `bits` bits in `halves`.
    pub(super) fn new(
        bits: u32,
        halves: SharedHalves,
        share: usize,
        budget: &Budget,
    ) -> Result<TreeTable, BudgetError> {
        Ok(TreeTable {
            bits,
            words: bits.div_ceil(64) as usize,
            halves,
            pairs: NumberPairs::new(share, budget)?,
            len: 0,
            share,
            budget: budget.clone(),
        })
    }

    /// [`NumberPairs::grow_ahead`].
    pub(super) fn grow_ahead(&mut self) -> bool {
        self.pairs.grow_ahead()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes charged to the budget, the numbers of halves included.
    pub(super) fn bytes(&self) -> usize {
        let halves = self.halves.read();
        halves.left.bytes() + halves.right.bytes() + self.pairs.bytes()
    }

    pub(super) fn insert_batch(&mut self, keys: &[u64], new: &mut Vec<u32>) -> Result<(), TableFull> {
        let mut batch = Batch::new(&self.halves.read(), self.words);
        let mut pairs = [0u64; GROUP];
        let mut done = 0usize;
        for group in keys.chunks(GROUP * self.words) {
            let pairs = &mut pairs[..group.len() / self.words];
            let counts =
                self.number_halves(group, &mut batch, pairs).map_err(|reason| TableFull { done, reason })?;
            let before = new.len();
            let outcome = self.pairs.insert(pairs, counts, done, new);
            self.len += new.len() - before;
            outcome?;
            done += pairs.len();
        }
        Ok(())
    }

    pub(super) fn contains_batch(&self, keys: &[u64], present: &mut Vec<u32>) {
        let halves = self.halves.read();
        let (mut left, mut right) = (vec![0; halves.cut.left_words], vec![0; halves.cut.right_words]);
        for (index, key) in keys.chunks_exact(self.words).enumerate() {
            cut_key(key, halves.cut, &mut left, &mut right);
            let (left, right) = (halves.left.find(&left), halves.right.find(&right));
            if let (Some(left), Some(right)) = (left, right)
                && self.pairs.contains(left, right)
            {
                present.push(index as u32);
            }
        }
    }

    pub(super) fn for_each(&self, visit: impl FnMut(&[u64])) {
        self.for_every(1, visit);
    }

    /// Calls `visit` with one key of every `step`, the first one of them.
    fn for_every(&self, step: usize, mut visit: impl FnMut(&[u64])) {
        let halves = self.halves.read();
        let mut key = vec![0; self.words];
        let (mut left, mut right) = (vec![0; halves.cut.left_words], vec![0; halves.cut.right_words]);
        let mut number = 0;
        self.pairs.for_each(|left_number, right_number| {
            number += 1;
            if (number - 1) % step != 0 {
                return;
            }
            halves.left.read(left_number, &mut left);
            halves.right.read(right_number, &mut right);
            join(&mut key, halves.cut, &left, &right);
            visit(&key);
        });
    }

    /// Numbers the halves of a group: the left one of each key in the high half of its word, the right one in the low half. Says how many left and right ones have numbers by
    /// then.
    fn number_halves(
        &self,
        group: &[u64],
        batch: &mut Batch,
        pairs: &mut [u64],
    ) -> Result<[u32; 2], BudgetError> {
        let mut halves = self.halves.read();
        for (chunk, pairs) in group.chunks(BATCH * self.words).zip(pairs.chunks_mut(BATCH)) {
            while !batch.number(&halves, chunk, pairs) {
                drop(halves);
                self.halves.write().make_room()?;
                halves = self.halves.read();
            }
        }
        Ok([halves.left.len(), halves.right.len()])
    }

    /// The same keys, with halves numbered in `halves`.
    fn moved_to(&self, halves: SharedHalves) -> Result<TreeTable, BudgetError> {
        let mut moved = TreeTable::new(self.bits, halves, self.share, &self.budget)?;
        let (mut waiting, mut new) = (Vec::with_capacity(BATCH * self.words), Vec::new());
        let mut outcome = Ok(());
        self.for_each(|key| {
            if outcome.is_ok() {
                waiting.extend_from_slice(key);
                if waiting.len() == BATCH * self.words {
                    outcome = moved.insert_batch(&waiting, &mut new);
                    waiting.clear();
                    new.clear();
                }
            }
        });
        outcome.and_then(|()| moved.insert_batch(&waiting, &mut new)).map_err(|full| full.reason)?;
        Ok(moved)
    }
}

impl Halves {
    #[cold]
    fn make_room(&mut self) -> Result<(), BudgetError> {
        self.left.make_room()?;
        self.right.make_room()
    }
}

impl Due {
    /// Looks whether all keys of tables that number halves together would better be cut elsewhere, if there are by now so many more of them, and does so. Where there is no
    /// memory for both, everything stays as it is.
    pub(super) fn recut(&mut self, tables: &mut [&mut TreeTable]) {
        let keys = tables.iter().map(|table| table.len()).sum::<usize>();
        if keys >= self.0 {
            let is_first = self.0 == DUE_FIRST;
            self.0 = keys * DUE_FACTOR;
            if let Ok(Some(moved)) = recut(tables, keys, is_first) {
                for (table, moved) in tables.iter_mut().zip(moved) {
                    **table = moved;
                }
            }
        }
    }
}

/// The same tables, cut as a sample says; none if that is not worth it.
fn recut(
    tables: &[&mut TreeTable],
    keys: usize,
    is_first: bool,
) -> Result<Option<Vec<TreeTable>>, BudgetError> {
    let Some(TreeTable { bits, words, budget, halves, .. }) = tables.first().map(|table| &**table) else {
        return Ok(None);
    };
    let sample = sample(tables, keys, *words, budget)?;
    let sample = Sample { bits: *bits, keys: &sample };
    let planned = Cuts::of(&sample, budget)?;
    let (before, after) =
        (halves.read().cuts.most_halves(&sample, budget)?, planned.most_halves(&sample, budget)?);
    if !is_first && after * 4 >= before * 3 {
        return Ok(None);
    }
    let halves = SharedHalves::planned(*bits, planned, budget)?;
    let moved = tables.iter().map(|table| table.moved_to(halves.clone()));
    moved.collect::<Result<Vec<_>, _>>().map(Some)
}

/// Every so-manieth key of the tables, which come in no particular order.
fn sample(
    tables: &[&mut TreeTable],
    keys: usize,
    words: usize,
    budget: &Budget,
) -> Result<ChargedVec<u64>, BudgetError> {
    let step = keys.div_ceil(SAMPLE_KEYS).max(1);
    let mut sample = ChargedVec::with_capacity(budget, "table sample", (keys / step + tables.len()) * words)?;
    let mut outcome = Ok(());
    for table in tables {
        table.for_every(step, |key| {
            if outcome.is_ok() {
                outcome = sample.extend(key);
            }
        });
    }
    outcome.map(|()| sample)
}

/// Room for a batch of keys, cut.
struct Batch {
    words: usize,
    lefts: Vec<u64>,
    rights: Vec<u64>,
    left: Room,
    right: Room,
    numbers: [[u32; BATCH]; 2],
}

impl Batch {
    fn new(halves: &Halves, words: usize) -> Batch {
        Batch {
            words,
            lefts: vec![0; BATCH * halves.cut.left_words],
            rights: vec![0; BATCH * halves.cut.right_words],
            left: halves.left.room(halves.cut.left_words),
            right: halves.right.room(halves.cut.right_words),
            numbers: [[0; BATCH]; 2],
        }
    }

    /// Numbers the halves of a batch. False if there must be room for more first.
    fn number(&mut self, halves: &Halves, keys: &[u64], pairs: &mut [u64]) -> bool {
        let (count, cut) = (pairs.len(), halves.cut);
        let lefts = &mut self.lefts[..count * cut.left_words];
        let rights = &mut self.rights[..count * cut.right_words];
        let both = lefts.chunks_exact_mut(cut.left_words).zip(rights.chunks_exact_mut(cut.right_words));
        for (key, (left, right)) in keys.chunks_exact(self.words).zip(both) {
            cut_key(key, cut, left, right);
        }
        let [left_numbers, right_numbers] = &mut self.numbers;
        let numbered = halves.left.number(lefts, &mut self.left, &mut left_numbers[..count])
            && halves.right.number(rights, &mut self.right, &mut right_numbers[..count]);
        for (both, (left, right)) in pairs.iter_mut().zip(left_numbers.iter().zip(&*right_numbers)) {
            *both = pair(*left, *right);
        }
        numbered
    }
}
