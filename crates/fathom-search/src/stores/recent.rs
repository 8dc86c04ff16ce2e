//! Which records came last, in memory, exactly?

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};
use fathom_disk::hash::hash_key;
use fathom_disk::set::sort_unique;

/// Some records, in memory, exactly. Memory: the records, and 8 bytes for each.
#[derive(Debug)]
pub(crate) struct Recent {
    words: usize,
    records: ChargedVec<u64>,
    /// The number of a record, plus one; 0 if free. A power of two of them, at most half of which are taken.
    slots: ChargedVec<u32>,
    capacity: usize,
}

impl Recent {
    /// What a record takes beside itself: two slots, and up to twice that since their number is a power of two.
    pub(crate) const SLOT_BYTES: usize = 16;

    pub(crate) fn new(words: usize, capacity: usize, budget: &Budget) -> Result<Recent, BudgetError> {
        let capacity = capacity.clamp(1, u32::MAX as usize / 4);
        let slots = ChargedVec::zeroed(budget, "recent", (2 * capacity).next_power_of_two())?;
        let records = ChargedVec::with_capacity(budget, "recent", capacity * words)?;
        Ok(Recent { words, records, slots, capacity })
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len() / self.words
    }

    /// What it holds, whether it is in use or not.
    pub(crate) fn bytes(&self) -> usize {
        self.records.capacity() * 8 + self.slots.capacity() * 4
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() == self.capacity
    }

    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.slots.zero();
    }

    /// Inserts a record that is not there.
    pub(crate) fn insert(&mut self, record: &[u64]) -> Result<(), BudgetError> {
        let slot = self.slot(record, hash_key(record));
        self.records.extend(record)?;
        self.slots[slot] = self.len() as u32;
        Ok(())
    }

    pub(crate) fn contains(&self, record: &[u64], hash: u64) -> bool {
        self.slots[self.slot(record, hash)] != 0
    }

    /// The slot of a record, or the free one where it would be.
    fn slot(&self, record: &[u64], hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        while self.slots[slot] != 0 && self.record(self.slots[slot] as usize - 1) != record {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// How many fit.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// All of them, in the order of their coming unless they were sorted.
    pub(crate) fn records(&self) -> &[u64] {
        &self.records
    }

    /// Forgets the first so many.
    pub(crate) fn drop_first(&mut self, count: usize) {
        let kept = self.len() - count;
        self.records.copy_within(count * self.words.., 0);
        self.records.truncate(kept * self.words);
        self.index();
    }

    pub(crate) fn record(&self, number: usize) -> &[u64] {
        &self.records[number * self.words..][..self.words]
    }

    /// Puts the records in order.
    pub(crate) fn sort(&mut self, budget: &Budget) -> Result<(), BudgetError> {
        let kept = sort_unique(budget, self.words, &mut self.records)?;
        debug_assert_eq!(kept, self.records.len(), "each is there once");
        self.index();
        Ok(())
    }

    /// Makes the slots anew.
    fn index(&mut self) {
        self.slots.zero();
        for number in 0..self.len() {
            let record = self.record(number);
            let slot = self.slot(record, hash_key(record));
            self.slots[slot] = number as u32 + 1;
        }
    }
}
