//! How is the path of a depth-first search kept in memory?
//!
//! Memory: 8 bytes per word of a record and 8 more per entry, charged: all taken at once, or as it grows.

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};

use super::{Entry, PathStack, VisitEntered};
use crate::error::SearchError;

/// The stack.
pub(crate) struct InMemory {
    words: usize,
    records: ChargedVec<u64>,
    entries: ChargedVec<Entry>,
    entered: u64,
}

impl InMemory {
    /// An empty stack that takes its memory now; whoever pushes more onto it than fits makes it grow.
    pub(crate) fn limited(budget: &Budget, words: usize, bytes: usize) -> Result<InMemory, BudgetError> {
        let entries = bytes / (words * 8 + size_of::<Entry>());
        Ok(InMemory {
            words,
            records: ChargedVec::with_capacity(budget, "stack", entries * words)?,
            entries: ChargedVec::with_capacity(budget, "stack", entries)?,
            entered: 0,
        })
    }

    /// An empty stack that grows.
    pub(crate) fn growing(budget: &Budget, words: usize) -> Result<InMemory, BudgetError> {
        InMemory::limited(budget, words, 0)
    }

    /// Whether all that was taken holds something.
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() == self.entries.capacity()
    }

    /// How many states fit into what was taken.
    pub(super) fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// How many places there are, from the bottom up.
    pub(super) fn places(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn entry(&self, place: usize) -> Entry {
        self.entries[place]
    }

    pub(super) fn record(&self, place: usize) -> &[u64] {
        &self.records[place * self.words..][..self.words]
    }

    /// Adds a state as it is.
    pub(super) fn put(&mut self, record: &[u64], entry: Entry) -> Result<(), SearchError> {
        self.records.extend(record)?;
        Ok(self.entries.push(entry)?)
    }

    /// Takes so many states at the bottom away; they stay counted, if they are entered.
    pub(super) fn drop_lowest(&mut self, count: usize) {
        let kept = self.entries.len() - count;
        self.records.copy_within(count * self.words.., 0);
        self.records.truncate(kept * self.words);
        self.entries.copy_within(count.., 0);
        self.entries.truncate(kept);
    }

    /// Turns the order around.
    pub(super) fn reverse(&mut self) {
        self.entries.reverse();
        self.records.reverse();
        self.records.chunks_exact_mut(self.words).for_each(<[u64]>::reverse);
    }

    /// Takes what is in memory away, whatever is counted as entered.
    pub(super) fn forget(&mut self) {
        self.entries.clear();
        self.records.clear();
    }
}

impl PathStack for InMemory {
    fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    fn entered(&self) -> u64 {
        self.entered
    }

    fn top(&self) -> Option<Entry> {
        self.entries.last().copied()
    }

    fn top_record(&self) -> &[u64] {
        self.record(self.entries.len() - 1)
    }

    fn push(&mut self, record: &[u64], action: u32) -> Result<(), SearchError> {
        if self.is_full() {
            let more = self.entries.len().max(64);
            self.records.reserve(more * self.words)?;
            self.entries.reserve(more)?;
        }
        self.put(record, Entry { action, entered: false, accepting: false })
    }

    fn enter(&mut self, accepting: bool) -> Result<(), SearchError> {
        let top = self.entries.len() - 1;
        self.entries[top] = Entry { entered: true, accepting, ..self.entries[top] };
        self.entered += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<(), SearchError> {
        if let Some(entry) = self.entries.pop() {
            self.entered -= u64::from(entry.entered);
            self.records.truncate(self.entries.len() * self.words);
        }
        Ok(())
    }

    fn clear(&mut self) -> Result<(), SearchError> {
        self.forget();
        self.entered = 0;
        Ok(())
    }

    fn each_entered(&mut self, visit: &mut VisitEntered<'_>) -> Result<(), SearchError> {
        for place in (0..self.entries.len()).filter(|place| self.entries[*place].entered) {
            visit(self.record(place), self.entries[place].action)?;
        }
        Ok(())
    }
}
