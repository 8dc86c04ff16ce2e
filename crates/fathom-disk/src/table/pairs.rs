//! Which pairs of small numbers have been seen?
//!
//! A pair is one narrow key of a direct table. The numbers' widths start at 18 bits and grow by 2 when a dictionary outgrows them; then the table is rebuilt, which happens
//! at most seven times for each number.

use super::TableFull;
use super::direct::{DirectTable, Prefix};
use crate::budget::{Budget, BudgetError};

/// Few enough for small tables to stay small, and enough for most tables never to be rebuilt.
const NUMBER_BITS_MIN: u32 = 18;
const NUMBER_BITS_STEP: u32 = 2;
/// Pairs that are moved at once: one by one, each would wait for memory.
const BATCH: usize = 64;

/// Set of pairs of a left and a right number.
#[derive(Debug)]
pub(super) struct NumberPairs {
    /// Bits of a left and of a right number in `table`.
    number_bits: [u32; 2],
    table: DirectTable,
    share: usize,
    budget: Budget,
}

impl NumberPairs {
    /// None yet; `share` is the part of the budget that they may expect to fill.
    pub(super) fn new(share: usize, budget: &Budget) -> Result<NumberPairs, BudgetError> {
        Ok(NumberPairs {
            number_bits: [NUMBER_BITS_MIN; 2],
            table: DirectTable::new(2 * NUMBER_BITS_MIN, Prefix::default(), share, budget)?,
            share,
            budget: budget.clone(),
        })
    }

    /// [`DirectTable::grow_ahead`].
    pub(super) fn grow_ahead(&mut self) -> bool {
        self.table.grow_ahead()
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// Inserts pairs, the left number of each in the high half of its word and the right one in the low half, all below `counts`. Pushes onto `new` which are, counted from
    /// `first`; what was done before the budget refused is counted from there, too.
    pub(super) fn insert(
        &mut self,
        pairs: &mut [u64],
        counts: [u32; 2],
        first: usize,
        new: &mut Vec<u32>,
    ) -> Result<(), TableFull> {
        if self.outgrown(counts) {
            self.widen_for(counts).map_err(|reason| TableFull { done: first, reason })?;
        }
        for pair in &mut *pairs {
            *pair = self.pair((*pair >> 32) as u32, *pair as u32);
        }
        let first_new = new.len();
        let outcome = self.table.insert_batch(pairs, new);
        for index in &mut new[first_new..] {
            *index += first as u32;
        }
        outcome.map_err(|full| TableFull { done: first + full.done, reason: full.reason })
    }

    /// Whether a pair was inserted.
    pub(super) fn contains(&self, left: u32, right: u32) -> bool {
        let fits = |number: u32, bits: u32| u64::from(number) < 1 << bits;
        let [left_bits, right_bits] = self.number_bits;
        let mut present = Vec::new();
        if fits(left, left_bits) && fits(right, right_bits) {
            self.table.contains_batch(&[self.pair(left, right)], &mut present);
        }
        !present.is_empty()
    }

    /// Calls `visit` with both numbers of every pair, in no particular order.
    pub(super) fn for_each(&self, mut visit: impl FnMut(u32, u32)) {
        let [_, right_bits] = self.number_bits;
        self.table.for_each(|pair| {
            visit((pair[0] >> right_bits) as u32, (pair[0] & ((1 << right_bits) - 1)) as u32)
        });
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

    /// Rebuilds the table for wider numbers. The whole new table must fit beside the old one before anything is moved.
    fn widen(&mut self, steps: [u32; 2]) -> Result<(), BudgetError> {
        let [old_left, old_right] = self.number_bits;
        let number_bits = [old_left + steps[0], old_right + steps[1]];
        let mut wider =
            DirectTable::new(number_bits[0] + number_bits[1], Prefix::default(), self.share, &self.budget)?;
        wider.reserve(self.table.len())?;
        let mut mover = Mover { wider: &mut wider, waiting: Vec::with_capacity(BATCH), new: Vec::new() };
        let mut outcome = Ok(());
        self.table.for_each(|pair| {
            let (left, right) = (pair[0] >> old_right, pair[0] & ((1 << old_right) - 1));
            if outcome.is_ok() {
                outcome = mover.push(left << number_bits[1] | right);
            }
        });
        outcome?;
        mover.flush()?;
        self.table = wider;
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
