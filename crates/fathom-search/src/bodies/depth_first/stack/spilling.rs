//! How is a path of any length kept in little memory? With its top in memory, and the rest on a volume.
//!
//! The lower half of what is in memory goes there when that is full, and comes back when the rest is gone: one record written and one read per push and pop at most, in blocks.

use fathom_disk::budget::Budget;
use fathom_disk::log::Stack;
use fathom_disk::storage::Volume;

use super::in_memory::InMemory;
use super::{Entry, PathStack, VisitEntered};
use crate::error::SearchError;

/// The stack.
pub(crate) struct Spilling {
    top: InMemory,
    below: Below,
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

/// What of the stack is on a volume.
pub(super) struct Below {
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

impl Spilling {
    /// An empty stack that goes on on a volume.
    pub(crate) fn new(budget: &Budget, words: usize, spill: Spill<'_>) -> Result<Spilling, SearchError> {
        let entry_bytes = words * 8 + size_of::<Entry>();
        // Four blocks: two of the stack below, and two while it is read through.
        let block_bytes = Below::block_bytes(spill.bytes, entry_bytes);
        let here = spill.bytes.saturating_sub(4 * block_bytes).max(2 * entry_bytes);
        let below = Below::new(budget, words, spill, block_bytes)?;
        Ok(Spilling { below, top: InMemory::limited(budget, words, here)? })
    }

    /// Puts the lower half of what is in memory on the volume.
    fn lower(&mut self) -> Result<(), SearchError> {
        let half = (self.top.places() / 2).max(1);
        for place in 0..half {
            self.below.push(self.top.record(place), self.top.entry(place))?;
        }
        self.top.drop_lowest(half);
        Ok(())
    }

    /// Brings what is on top on the volume back to memory, which is empty.
    fn raise(&mut self) -> Result<(), SearchError> {
        let half = (self.top.capacity() / 2).max(1);
        while self.top.places() < half
            && let Some(entry) = self.below.pop()?
        {
            let (_, record) = self.below.wide.split_last().expect("an entry has a word");
            self.top.put(record, entry)?;
        }
        // They came from the top down.
        self.top.reverse();
        Ok(())
    }
}

impl PathStack for Spilling {
    fn len(&self) -> u64 {
        self.top.len() + self.below.stack.len()
    }

    fn entered(&self) -> u64 {
        self.top.entered()
    }

    fn top(&self) -> Option<Entry> {
        self.top.top()
    }

    fn top_record(&self) -> &[u64] {
        self.top.top_record()
    }

    fn push(&mut self, record: &[u64], action: u32) -> Result<(), SearchError> {
        if self.top.is_full() {
            self.lower()?;
        }
        self.top.push(record, action)
    }

    fn enter(&mut self, accepting: bool) -> Result<(), SearchError> {
        self.top.enter(accepting)
    }

    fn pop(&mut self) -> Result<(), SearchError> {
        self.top.pop()?;
        if self.top.places() == 0 { self.raise() } else { Ok(()) }
    }

    fn clear(&mut self) -> Result<(), SearchError> {
        while self.top.places() > 0 {
            self.top.forget();
            self.raise()?;
        }
        self.top.clear()
    }

    fn each_entered(&mut self, visit: &mut VisitEntered<'_>) -> Result<(), SearchError> {
        self.below.each(&mut |record, entry| {
            if entry.entered { visit(record, entry.action) } else { Ok(()) }
        })?;
        self.top.each_entered(visit)
    }
}

impl Below {
    /// The size of blocks of a stack of so many bytes.
    pub(super) fn block_bytes(bytes: usize, entry_bytes: usize) -> usize {
        (bytes / 8).clamp(entry_bytes, BLOCK_BYTES_MAX)
    }

    pub(super) fn new(
        budget: &Budget,
        words: usize,
        spill: Spill<'_>,
        block_bytes: usize,
    ) -> Result<Below, SearchError> {
        let (volume, name) = (spill.volume.clone(), spill.name.to_owned());
        let stack = Stack::new(&volume, &name, words + 1, block_bytes, budget)?;
        Ok(Below { stack, volume, name, block_bytes, budget: budget.clone(), wide: vec![0; words + 1] })
    }

    pub(super) fn len(&self) -> u64 {
        self.stack.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// The record that was popped last.
    pub(super) fn record(&self) -> &[u64] {
        &self.wide[..self.wide.len() - 1]
    }

    pub(super) fn push(&mut self, record: &[u64], entry: Entry) -> Result<(), SearchError> {
        let (word, rest) = self.wide.split_last_mut().expect("an entry has a word");
        rest.copy_from_slice(record);
        let flag = |set: bool, bit: u64| if set { bit } else { 0 };
        *word = u64::from(entry.action) | flag(entry.entered, ENTERED) | flag(entry.accepting, ACCEPTING);
        Ok(self.stack.push(&self.wide)?)
    }

    /// Takes the top away; its record is the first words of `wide`.
    pub(super) fn pop(&mut self) -> Result<Option<Entry>, SearchError> {
        Ok(self.stack.pop(&mut self.wide)?.then(|| entry_of(&self.wide)))
    }

    /// Visits everything from the bottom up: all of it moves to another stack and back.
    pub(super) fn each(&mut self, visit: &mut Visit<'_>) -> Result<(), SearchError> {
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
pub(super) type Visit<'a> = dyn FnMut(&[u64], Entry) -> Result<(), SearchError> + 'a;

fn entry_of(wide: &[u64]) -> Entry {
    let word = wide.last().copied().expect("an entry has a word");
    Entry { action: word as u32, entered: word & ENTERED != 0, accepting: word & ACCEPTING != 0 }
}
