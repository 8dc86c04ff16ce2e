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
//! So the entered states are always a run of the system. Memory: 8 bytes per word of a record and 8 more per entry, charged. It is all taken at once if there is a limit, else
//! it grows as the budget allows. With a volume behind it, the lower half of what is in memory goes there when that is full, and comes back when the rest is gone: one
//! record written and one read per push and pop at most, in blocks.

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};
use fathom_disk::hash::hash_key;
use fathom_disk::log::Stack;
use fathom_disk::storage::Volume;
use fathom_model::steps::Steps;

use crate::error::SearchError;

/// The stack.
pub(crate) struct PathStack {
    words: usize,
    records: ChargedVec<u64>,
    entries: ChargedVec<Entry>,
    entries_max: Option<usize>,
    below: Option<Below>,
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

/// Where a stack goes on on a volume.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spill<'a> {
    pub(crate) volume: &'a Volume,
    /// What the files are called.
    pub(crate) name: &'a str,
    /// Memory of the stack, all together.
    pub(crate) bytes: usize,
}

/// Is told of a state and the action that leads to it.
pub(crate) type VisitEntered<'v> = dyn FnMut(&[u64], u32) -> Result<(), SearchError> + 'v;

/// What of the stack is on a volume.
struct Below {
    stack: Stack,
    volume: Volume,
    name: String,
    block_bytes: usize,
    budget: Budget,
    /// A record, and its entry in a word behind it.
    wide: Vec<u64>,
}

/// The most bytes of a block of the stack on a volume.
const BLOCK_BYTES_MAX: usize = 1 << 16;
/// The bit of an entry on a volume that says that it is entered, and the one that says that it is accepting.
const ENTERED: u64 = 1 << 32;
const ACCEPTING: u64 = 1 << 33;

impl PathStack {
    /// An empty stack that takes its memory now and never more.
    pub(crate) fn limited(budget: &Budget, words: usize, bytes: usize) -> Result<PathStack, BudgetError> {
        let entries_max = bytes / (words * 8 + size_of::<Entry>());
        Ok(PathStack {
            words,
            records: ChargedVec::with_capacity(budget, "stack", entries_max * words)?,
            entries: ChargedVec::with_capacity(budget, "stack", entries_max)?,
            entries_max: Some(entries_max),
            below: None,
            entered: 0,
        })
    }

    /// An empty stack that grows.
    pub(crate) fn growing(budget: &Budget, words: usize) -> Result<PathStack, BudgetError> {
        Ok(PathStack { entries_max: None, ..PathStack::limited(budget, words, 0)? })
    }

    /// An empty stack that goes on on a volume.
    pub(crate) fn spilling(
        budget: &Budget,
        words: usize,
        spill: Spill<'_>,
    ) -> Result<PathStack, SearchError> {
        let entry_bytes = words * 8 + size_of::<Entry>();
        // Four blocks: two of the stack below, and two while it is read through.
        let block_bytes = (spill.bytes / 8).clamp(entry_bytes, BLOCK_BYTES_MAX);
        let here = spill.bytes.saturating_sub(4 * block_bytes).max(2 * entry_bytes);
        let (volume, name) = (spill.volume.clone(), spill.name.to_owned());
        let stack = Stack::new(&volume, &name, words + 1, block_bytes, budget)?;
        let below =
            Below { stack, volume, name, block_bytes, budget: budget.clone(), wide: vec![0; words + 1] };
        Ok(PathStack { below: Some(below), ..PathStack::limited(budget, words, here)? })
    }

    /// How many states there are, entered or not.
    pub(crate) fn len(&self) -> u64 {
        self.entries.len() as u64 + self.below.as_ref().map_or(0, |below| below.stack.len())
    }

    /// How many of them are entered: the states of the path.
    pub(crate) fn entered(&self) -> u64 {
        self.entered
    }

    /// Whether so many more would fit.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.below.is_some() || self.entries_max.is_none_or(|most| self.entries.len() + more <= most)
    }

    /// The entry on top.
    pub(crate) fn top(&self) -> Option<Entry> {
        self.entries.last().copied()
    }

    /// An entry of a stack that is in memory.
    pub(crate) fn entry(&self, place: usize) -> Entry {
        self.entries[place]
    }

    /// The record of an entry of a stack that is in memory.
    fn record(&self, place: usize) -> &[u64] {
        &self.records[place * self.words..][..self.words]
    }

    /// The record on top of a stack that is not empty.
    pub(crate) fn top_record(&self) -> &[u64] {
        self.record(self.entries.len() - 1)
    }

    /// Adds a state that is not entered.
    pub(crate) fn push(&mut self, record: &[u64], action: u32) -> Result<(), SearchError> {
        if self.entries.len() == self.entries.capacity() {
            if self.below.is_some() {
                self.lower()?;
            } else {
                let more = self.entries.len().max(64);
                self.records.reserve(more * self.words)?;
                self.entries.reserve(more)?;
            }
        }
        self.records.extend(record)?;
        Ok(self.entries.push(Entry { action, entered: false, accepting: false })?)
    }

    /// Adds the steps that `wanted` is true of, the first on top.
    pub(crate) fn push_steps(
        &mut self,
        steps: &Steps,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<(), SearchError> {
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
    pub(crate) fn pop(&mut self) -> Result<(), SearchError> {
        if let Some(entry) = self.entries.pop() {
            self.entered -= u64::from(entry.entered);
            self.records.truncate(self.entries.len() * self.words);
        }
        if self.entries.is_empty() { self.raise() } else { Ok(()) }
    }

    /// Takes everything away.
    pub(crate) fn clear(&mut self) -> Result<(), SearchError> {
        while !self.entries.is_empty() {
            self.entries.clear();
            self.records.clear();
            self.raise()?;
        }
        self.entered = 0;
        Ok(())
    }

    /// How many entered states are before a place, of a stack that is in memory.
    pub(crate) fn entered_before(&self, place: usize) -> usize {
        self.entries[..place].iter().filter(|entry| entry.entered).count()
    }

    /// Visits the entered states in order, and the action that leads to each.
    pub(crate) fn each_entered(&mut self, visit: &mut VisitEntered<'_>) -> Result<(), SearchError> {
        if let Some(below) = &mut self.below {
            below.each(&mut |record, entry| {
                if entry.entered { visit(record, entry.action) } else { Ok(()) }
            })?;
        }
        for place in (0..self.entries.len()).filter(|place| self.entries[*place].entered) {
            visit(self.record(place), self.entries[place].action)?;
        }
        Ok(())
    }

    /// Puts the lower half of what is in memory on the volume.
    fn lower(&mut self) -> Result<(), SearchError> {
        let Some(below) = &mut self.below else { return Ok(()) };
        let half = (self.entries.len() / 2).max(1);
        for (record, entry) in self.records.chunks_exact(self.words).zip(self.entries.iter()).take(half) {
            below.push(record, *entry)?;
        }
        let kept = self.entries.len() - half;
        self.records.copy_within(half * self.words.., 0);
        self.records.truncate(kept * self.words);
        self.entries.copy_within(half.., 0);
        self.entries.truncate(kept);
        Ok(())
    }

    /// Brings what is on top on the volume back to memory, which is empty.
    fn raise(&mut self) -> Result<(), SearchError> {
        let Some(below) = &mut self.below else { return Ok(()) };
        let half = (self.entries.capacity() / 2).max(1);
        while self.entries.len() < half
            && let Some(entry) = below.pop()?
        {
            self.records.extend(&below.wide[..self.words])?;
            self.entries.push(entry)?;
        }
        // They came from the top down.
        self.entries.reverse();
        reverse_records(&mut self.records, self.words);
        Ok(())
    }
}

impl Below {
    fn push(&mut self, record: &[u64], entry: Entry) -> Result<(), SearchError> {
        let (word, rest) = self.wide.split_last_mut().expect("an entry has a word");
        rest.copy_from_slice(record);
        let flag = |set: bool, bit: u64| if set { bit } else { 0 };
        *word = u64::from(entry.action) | flag(entry.entered, ENTERED) | flag(entry.accepting, ACCEPTING);
        Ok(self.stack.push(&self.wide)?)
    }

    /// Takes the top away; its record is the first words of `wide`.
    fn pop(&mut self) -> Result<Option<Entry>, SearchError> {
        Ok(self.stack.pop(&mut self.wide)?.then(|| entry_of(&self.wide)))
    }

    /// Visits everything from the bottom up: all of it moves to another stack and back.
    fn each(&mut self, visit: &mut Visit<'_>) -> Result<(), SearchError> {
        let name = format!("{}-aside", self.name);
        let mut aside = Stack::new(&self.volume, &name, self.wide.len(), self.block_bytes, &self.budget)?;
        while self.stack.pop(&mut self.wide)? {
            aside.push(&self.wide)?;
        }
        while aside.pop(&mut self.wide)? {
            visit(&self.wide[..self.wide.len() - 1], entry_of(&self.wide))?;
            self.stack.push(&self.wide)?;
        }
        Ok(aside.remove()?)
    }
}

/// Takes the record of an entry, and the entry.
type Visit<'a> = dyn FnMut(&[u64], Entry) -> Result<(), SearchError> + 'a;

fn entry_of(wide: &[u64]) -> Entry {
    let word = wide.last().copied().expect("an entry has a word");
    Entry { action: word as u32, entered: word & ENTERED != 0, accepting: word & ACCEPTING != 0 }
}

/// The last record first.
fn reverse_records(records: &mut [u64], words: usize) {
    records.reverse();
    records.chunks_exact_mut(words).for_each(<[u64]>::reverse);
}

/// Finds entered states by their record, of a stack that is in memory. States are taken out in the reverse order of their coming, so a slot that is emptied
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
            // In the order of their coming; the new one is added below.
            let before = (0..stack.entries.len()).filter(|place| stack.entries[*place].entered);
            before.take(self.held).for_each(|place| self.put(stack, place));
        }
        self.put(stack, stack.entries.len() - 1);
        self.held += 1;
        Ok(())
    }

    /// Takes out the state on top of the stack, which is the one that was added last.
    pub(crate) fn remove(&mut self, stack: &PathStack) {
        let slot = self.search(stack, stack.top_record());
        debug_assert_eq!(self.slots[slot] as usize, stack.entries.len(), "the last to come goes first");
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes, enters and pops at random, beside a plain vector.
    #[test]
    fn a_stack_on_a_volume_is_a_stack() {
        for seed in 0..300u64 {
            let (budget, volume) = (Budget::unlimited(), Volume::in_memory(64));
            let (words, bytes) = (1 + seed as usize % 3, 64 << (seed % 6));
            let mut stack =
                PathStack::spilling(&budget, words, Spill { volume: &volume, name: "path", bytes }).unwrap();
            let mut plain: Vec<(Vec<u64>, u32, bool, bool)> = Vec::new();
            let mut state = seed;
            for action in 0..600u32 {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                let rises = (action / 100) % 2 == 0;
                match (state >> 60, plain.last()) {
                    (0..=2, Some(_)) if rises => pop(&mut stack, &mut plain),
                    (0..=11, Some(_)) if !rises => pop(&mut stack, &mut plain),
                    (13.., Some((.., false, _))) => {
                        let accepting = state >> 40 & 1 == 1;
                        stack.enter(accepting);
                        let top = plain.last_mut().unwrap();
                        (top.2, top.3) = (true, accepting);
                    }
                    _ => {
                        let record: Vec<u64> = (0..words as u64).map(|word| state ^ word).collect();
                        stack.push(&record, action).unwrap();
                        plain.push((record, action, false, false));
                    }
                }
                let top = stack
                    .top()
                    .map(|top| (stack.top_record().to_vec(), top.action, top.entered, top.accepting));
                assert_eq!(top.as_ref(), plain.last(), "seed {seed}, operation {action}");
                assert_eq!(stack.len(), plain.len() as u64, "seed {seed}");
            }
            let entered = plain.iter().filter(|entry| entry.2).map(|entry| (entry.0.clone(), entry.1));
            let path: Vec<(Vec<u64>, u32)> = entered.collect();
            assert_eq!(entered_states(&mut stack), path, "seed {seed}");
            assert_eq!(entered_states(&mut stack), path, "seed {seed}: it is still there");
            assert_eq!(stack.entered(), path.len() as u64, "seed {seed}");
            stack.clear().unwrap();
            assert!(stack.top().is_none() && stack.len() == 0, "seed {seed}");
        }
    }

    fn entered_states(stack: &mut PathStack) -> Vec<(Vec<u64>, u32)> {
        let mut path = Vec::new();
        let visit = &mut |record: &[u64], action: u32| {
            path.push((record.to_vec(), action));
            Ok(())
        };
        stack.each_entered(visit).unwrap();
        path
    }

    fn pop(stack: &mut PathStack, plain: &mut Vec<(Vec<u64>, u32, bool, bool)>) {
        stack.pop().unwrap();
        plain.pop();
    }
}
