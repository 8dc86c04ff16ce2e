//! Which states is a depth-first search in, and which come next?
//!
//! The stack holds, above each state that is being explored, its successors that are still to be looked at:
//!
//! ```text
//!   top   [ ] successor        not entered yet
//!         [ ] successor
//!         [x] state            entered: part of the path from the initial state
//!         [ ] successor
//!         [x] initial state
//! ```
//! So the entered states are always a run of the system. Memory: 8 bytes per word of a record and 8 more per entry, charged; it is all taken at once if there is
//! a limit, else it grows as the budget allows.

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};
use fathom_disk::hash::hash_key;
use fathom_model::steps::Steps;

use crate::error::SearchError;
use crate::trace::Path;

/// The stack.
pub(crate) struct PathStack {
    words: usize,
    records: ChargedVec<u64>,
    entries: ChargedVec<Entry>,
    entries_max: Option<usize>,
    entered: u64,
}

/// A state on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The action that leads here (of an initial state: the start).
    pub(crate) action: u32,
    pub(crate) entered: bool,
    /// Of an entered state: whether it is accepting.
    pub(crate) accepting: bool,
}

impl PathStack {
    /// An empty stack that takes its memory now and never more.
    pub(crate) fn limited(budget: &Budget, words: usize, bytes: usize) -> Result<PathStack, BudgetError> {
        let entries_max = bytes / (words * 8 + size_of::<Entry>());
        Ok(PathStack {
            words,
            records: ChargedVec::with_capacity(budget, "stack", entries_max * words)?,
            entries: ChargedVec::with_capacity(budget, "stack", entries_max)?,
            entries_max: Some(entries_max),
            entered: 0,
        })
    }

    /// An empty stack that grows.
    pub(crate) fn growing(budget: &Budget, words: usize) -> Result<PathStack, BudgetError> {
        Ok(PathStack { entries_max: None, ..PathStack::limited(budget, words, 0)? })
    }

    /// How many states there are, entered or not.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many of them are entered: the states of the path.
    pub(crate) fn entered(&self) -> u64 {
        self.entered
    }

    /// Whether so many more would fit.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.entries_max.is_none_or(|most| self.entries.len() + more <= most)
    }

    /// The entry on top.
    pub(crate) fn top(&self) -> Option<Entry> {
        self.entries.last().copied()
    }

    /// An entry.
    pub(crate) fn entry(&self, place: usize) -> Entry {
        self.entries[place]
    }

    /// The record of an entry.
    pub(crate) fn record(&self, place: usize) -> &[u64] {
        &self.records[place * self.words..][..self.words]
    }

    /// The record on top of a stack that is not empty.
    pub(crate) fn top_record(&self) -> &[u64] {
        self.record(self.entries.len() - 1)
    }

    /// Adds a state that is not entered.
    pub(crate) fn push(&mut self, record: &[u64], action: u32) -> Result<(), BudgetError> {
        if self.entries.len() == self.entries.capacity() {
            let more = self.entries.len().max(64);
            self.records.reserve(more * self.words)?;
            self.entries.reserve(more)?;
        }
        self.records.extend(record)?;
        self.entries.push(Entry { action, entered: false, accepting: false })
    }

    /// Adds the steps that `wanted` is true of, the first on top.
    pub(crate) fn push_steps(
        &mut self,
        steps: &Steps,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<(), BudgetError> {
        for step in (0..steps.step_count()).rev().filter(|step| wanted(*step)) {
            self.push(steps.target(step), steps.action(step))?;
        }
        Ok(())
    }

    /// Enters the state on top.
    pub(crate) fn enter(&mut self, accepting: bool) {
        let top = self.entries.len() - 1;
        self.entries[top] = Entry { entered: true, accepting, ..self.entries[top] };
        self.entered += 1;
    }

    /// Takes the state on top away.
    pub(crate) fn pop(&mut self) {
        if let Some(entry) = self.entries.pop() {
            self.entered -= u64::from(entry.entered);
            self.records.truncate(self.entries.len() * self.words);
        }
    }

    /// Takes everything away.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.records.clear();
        self.entered = 0;
    }

    /// The places of the entered states from `first` on, in order.
    pub(crate) fn path_places(&self, first: usize) -> Vec<usize> {
        (first..self.entries.len()).filter(|place| self.entries[*place].entered).collect()
    }

    /// The entered states, which are at least one.
    pub(crate) fn path(&self, budget: &Budget) -> Result<Path, SearchError> {
        // The run that is handed out is the caller's, and no longer than the stack; this says whether there is room for it.
        let _room = budget.charge("trace", self.entered as usize * (self.words * 8 + 28))?;
        let places = self.path_places(0);
        let actions: Vec<u32> = places.iter().map(|place| self.entries[*place].action).collect();
        Ok(Path {
            start: actions[0],
            records: places.iter().map(|place| self.record(*place).to_vec()).collect(),
            actions: actions[1..].to_vec(),
        })
    }
}

/// Finds entered states by their record. States are taken out in the reverse order of their coming, so a slot that is emptied
/// never cuts another state off. Memory: at most 16 bytes per state of the longest path.
pub(crate) struct PathIndex {
    /// A place on the stack, plus one; 0 if free. A power of two of them.
    slots: ChargedVec<u32>,
    held: usize,
}

impl PathIndex {
    pub(crate) fn new(budget: &Budget) -> Result<PathIndex, BudgetError> {
        let mut slots = ChargedVec::with_capacity(budget, "path", SLOTS_MIN)?;
        slots.resize(SLOTS_MIN, 0)?;
        Ok(PathIndex { slots, held: 0 })
    }

    /// Adds the state that was entered last; it is on top of the stack.
    pub(crate) fn insert(&mut self, stack: &PathStack) -> Result<(), BudgetError> {
        if (self.held + 1) * 2 > self.slots.len() {
            let more = self.slots.len();
            self.slots.reserve(more)?;
            self.slots.resize(more * 2, 0)?;
            self.slots.fill(0);
            let before = stack.path_places(0);
            // In the order of their coming; the new one is added below.
            before[..self.held].iter().for_each(|place| self.put(stack, *place));
        }
        self.put(stack, stack.len() - 1);
        self.held += 1;
        Ok(())
    }

    /// Takes out the state on top of the stack, which is the one that was added last.
    pub(crate) fn remove(&mut self, stack: &PathStack) {
        let slot = self.search(stack, stack.top_record());
        debug_assert_eq!(self.slots[slot] as usize, stack.len(), "the last to come goes first");
        self.slots[slot] = 0;
        self.held -= 1;
    }

    /// Where on the stack an entered state with that record is.
    pub(crate) fn find(&self, stack: &PathStack, record: &[u64]) -> Option<usize> {
        (self.slots[self.search(stack, record)] as usize).checked_sub(1)
    }

    fn put(&mut self, stack: &PathStack, place: usize) {
        let slot = self.search(stack, stack.record(place));
        // Half of the slots hold as many places as a stack can have in any memory there is.
        self.slots[slot] = u32::try_from(place + 1).expect("a stack has less than 2^32 entries");
    }

    /// The slot of a record, or the free one where it would be.
    fn search(&self, stack: &PathStack, record: &[u64]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash_key(record) as usize & mask;
        while self.slots[slot] != 0 && stack.record(self.slots[slot] as usize - 1) != record {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// Slots at first.
const SLOTS_MIN: usize = 64;
