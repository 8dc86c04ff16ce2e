//! How are states of the path found by their records?
//!
//! By a table of places beside a stack in memory. States are taken out in the reverse order of their coming, so a slot that is emptied never cuts another state off. Memory: at most 16 bytes per state of
//! the longest path, and the stack.

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};
use fathom_disk::hash::hash_key;

use super::in_memory::InMemory;
use super::{Entry, OnPath, PathStack, VisitEntered};
use crate::error::SearchError;

/// The stack.
pub(crate) struct Indexed {
    stack: InMemory,
    /// A place on the stack, plus one; 0 if free. A power of two of them.
    slots: ChargedVec<u32>,
}

/// Slots at first.
const SLOTS_MIN: usize = 64;

impl Indexed {
    /// An empty stack that grows.
    pub(crate) fn new(budget: &Budget, words: usize) -> Result<Indexed, BudgetError> {
        let stack = InMemory::growing(budget, words)?;
        let mut slots = ChargedVec::with_capacity(budget, "path", SLOTS_MIN)?;
        slots.resize(SLOTS_MIN, 0)?;
        Ok(Indexed { stack, slots })
    }

    /// Makes room for one state more than are entered.
    fn make_room(&mut self) -> Result<(), BudgetError> {
        if (self.stack.entered() as usize + 1) * 2 <= self.slots.len() {
            return Ok(());
        }
        let more = self.slots.len();
        self.slots.reserve(more)?;
        self.slots.resize(more * 2, 0)?;
        self.slots.fill(0);
        // In the order of their coming.
        for place in 0..self.stack.places() {
            if self.stack.entry(place).entered {
                self.put(place);
            }
        }
        Ok(())
    }

    fn put(&mut self, place: usize) {
        let slot = self.slot(self.stack.record(place));
        // Half of the slots hold as many places as a stack can have in any memory there is.
        self.slots[slot] = u32::try_from(place + 1).expect("a stack has less than 2^32 entries");
    }

    /// The slot of a record, or the free one where it would be.
    fn slot(&self, record: &[u64]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash_key(record) as usize & mask;
        while self.slots[slot] != 0 && self.stack.record(self.slots[slot] as usize - 1) != record {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

impl PathStack for Indexed {
    fn len(&self) -> u64 {
        self.stack.len()
    }

    fn entered(&self) -> u64 {
        self.stack.entered()
    }

    fn top(&self) -> Option<Entry> {
        self.stack.top()
    }

    fn top_record(&self) -> &[u64] {
        self.stack.top_record()
    }

    fn push(&mut self, record: &[u64], action: u32) -> Result<(), SearchError> {
        self.stack.push(record, action)
    }

    fn enter(&mut self, accepting: bool) -> Result<(), SearchError> {
        self.make_room()?;
        self.stack.enter(accepting)?;
        self.put(self.stack.places() - 1);
        Ok(())
    }

    fn pop(&mut self) -> Result<(), SearchError> {
        if self.stack.top().is_some_and(|top| top.entered) {
            let slot = self.slot(self.stack.top_record());
            debug_assert_eq!(self.slots[slot] as usize, self.stack.places(), "the last to come goes first");
            self.slots[slot] = 0;
        }
        self.stack.pop()
    }

    fn clear(&mut self) -> Result<(), SearchError> {
        self.slots.fill(0);
        self.stack.clear()
    }

    fn each_entered(&mut self, visit: &mut VisitEntered<'_>) -> Result<(), SearchError> {
        self.stack.each_entered(visit)
    }

    fn is_indexed(&self) -> bool {
        true
    }

    fn find(&self, record: &[u64]) -> Option<OnPath> {
        let place = (self.slots[self.slot(record)] as usize).checked_sub(1)?;
        Some(OnPath { place, accepting: self.stack.entry(place).accepting })
    }

    fn depth_of(&self, state: OnPath) -> u64 {
        (0..state.place).filter(|place| self.stack.entry(*place).entered).count() as u64
    }
}
