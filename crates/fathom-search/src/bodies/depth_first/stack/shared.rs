//! How do two paths share one section of memory, and what of them is on a volume?
//!
//! The dynamic path management of L. Wu et al. (IEEE TVLSI 2015), corrected: the first path grows from the one end of the section, the second from the other.
//!
//! ```text
//! section   [ first path -->            <-- second path ]
//! full:     the share rho2 of each, from its bottom, goes to its own stack on the volume
//! empty:    a path of which nothing is in memory gets the share rho2 of what is free back
//! ```
//! (As printed, what comes back may exceed what is free, and it is the first path that is said to be full, not the section.) A great share means few transfers of much, but what has just gone may have to come back at once: with
//! [`Share::Adapted`] it shrinks whenever that happens, and grows slowly as long as it does not.
//!
//! Memory: the section, and four blocks for each stack. I/O: a state moves once for each time that it goes or comes back.

use std::cell::RefCell;
use std::rc::Rc;

use fathom_disk::budget::{Budget, ChargedVec};

use super::spilling::{Below, Spill};
use super::{Entry, PathStack, VisitEntered};
use crate::error::SearchError;

/// What part of a path goes at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Share {
    /// Always this.
    Fixed(f64),
    /// As it turns out.
    Adapted,
}

/// What moved between section and volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectionFigures {
    /// Times that the section was full.
    pub spills: u64,
    /// Times that a path was empty in memory.
    pub refills: u64,
    /// States that moved, either way.
    pub moved: u64,
}

/// One of two paths.
pub(crate) struct Shared {
    section: Rc<RefCell<Section>>,
    which: usize,
    /// The state on top, as it is in the section.
    top: Option<Entry>,
    record: Vec<u64>,
    entered: u64,
}

/// The memory that both share.
pub(crate) struct Section {
    words: usize,
    records: ChargedVec<u64>,
    entries: ChargedVec<Entry>,
    /// How many of each path are here.
    here: [usize; 2],
    below: [Below; 2],
    share: f64,
    adapted: bool,
    /// Pushes and pops since something moved, and whether it went.
    quiet: usize,
    went: bool,
    figures: SectionFigures,
}

/// The most memory that both paths take: what is beyond it moves in pieces of megabytes, and more would be written at once for the shortest search.
const SECTION_BYTES_MAX: usize = 64 << 20;
/// Where an adapted share begins, and between what it stays.
const SHARE_AT_FIRST: f64 = 0.85;
const SHARE_LEAST: f64 = 0.25;
const SHARE_MOST: f64 = 0.95;

impl Section {
    /// Two empty paths in a section of so many bytes, stacks on the volume included.
    pub(crate) fn paths(
        budget: &Budget,
        words: usize,
        [first, second]: [Spill<'_>; 2],
        share: Share,
    ) -> Result<([Shared; 2], Rc<RefCell<Section>>), SearchError> {
        let bytes = first.bytes.min(SECTION_BYTES_MAX);
        let entry_bytes = words * 8 + size_of::<Entry>();
        let block_bytes = Below::block_bytes(bytes / 2, entry_bytes);
        let below = |spill| Below::new(budget, words, spill, block_bytes);
        let below = [below(first)?, below(second)?];
        let capacity = (bytes.saturating_sub(8 * block_bytes) / entry_bytes).max(4);
        let records = ChargedVec::zeroed(budget, "stack", capacity * words)?;
        let mut entries = ChargedVec::with_capacity(budget, "stack", capacity)?;
        entries.resize(capacity, Entry { action: 0, entered: false, accepting: false })?;
        let section = Section {
            words,
            records,
            entries,
            here: [0; 2],
            below,
            share: match share {
                Share::Fixed(share) => share,
                Share::Adapted => SHARE_AT_FIRST,
            },
            adapted: share == Share::Adapted,
            quiet: 0,
            went: false,
            figures: SectionFigures::default(),
        };
        let section = Rc::new(RefCell::new(section));
        let path = |which| Shared {
            section: Rc::clone(&section),
            which,
            top: None,
            record: vec![0; words],
            entered: 0,
        };
        Ok(([path(0), path(1)], section))
    }

    /// What moved so far.
    pub(crate) fn figures(&self) -> SectionFigures {
        self.figures
    }

    fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// Where a state of a path is: the first grows upwards, the second downwards.
    fn slot(&self, which: usize, place: usize) -> usize {
        if which == 0 { place } else { self.capacity() - 1 - place }
    }

    fn record(&self, slot: usize) -> &[u64] {
        &self.records[slot * self.words..][..self.words]
    }

    fn put(&mut self, slot: usize, record: &[u64], entry: Entry) {
        self.records[slot * self.words..][..self.words].copy_from_slice(record);
        self.entries[slot] = entry;
    }

    fn push(&mut self, which: usize, record: &[u64], entry: Entry) -> Result<(), SearchError> {
        self.quiet += 1;
        if self.here[0] + self.here[1] == self.capacity() {
            self.spill()?;
        }
        let slot = self.slot(which, self.here[which]);
        self.put(slot, record, entry);
        self.here[which] += 1;
        Ok(())
    }

    /// Takes the top of a path away, and brings back what is below if nothing else is here.
    fn pop(&mut self, which: usize) -> Result<(), SearchError> {
        self.quiet += 1;
        self.here[which] -= 1;
        if self.here[which] == 0 { self.refill(which) } else { Ok(()) }
    }

    /// Puts the share of both paths that lies at the bottom on the volume.
    fn spill(&mut self) -> Result<(), SearchError> {
        self.note(true);
        self.figures.spills += 1;
        let mut gone = 0;
        for which in [0, 1] {
            gone += self.lower(which, (self.here[which] as f64 * self.share) as usize)?;
        }
        if gone == 0 {
            let larger = usize::from(self.here[1] > self.here[0]);
            self.lower(larger, 1)?;
        }
        Ok(())
    }

    fn lower(&mut self, which: usize, count: usize) -> Result<usize, SearchError> {
        for place in 0..count {
            let slot = self.slot(which, place);
            let Section { words, records, entries, below, .. } = self;
            below[which].push(&records[slot * *words..][..*words], entries[slot])?;
        }
        for place in count..self.here[which] {
            let (from, to) = (self.slot(which, place), self.slot(which, place - count));
            self.records.copy_within(from * self.words..(from + 1) * self.words, to * self.words);
            self.entries[to] = self.entries[from];
        }
        self.here[which] -= count;
        self.figures.moved += count as u64;
        Ok(count)
    }

    /// Brings states of a path back of which none is here.
    fn refill(&mut self, which: usize) -> Result<(), SearchError> {
        if self.below[which].is_empty() {
            return Ok(());
        }
        self.note(false);
        self.figures.refills += 1;
        let free = self.capacity() - self.here[1 - which];
        let wanted = ((free as f64 * self.share) as usize).clamp(1, free.max(1));
        let wanted = wanted.min(usize::try_from(self.below[which].len()).unwrap_or(usize::MAX));
        // They come from the top down.
        for place in (0..wanted).rev() {
            let Some(entry) = self.below[which].pop()? else { break };
            let slot = self.slot(which, place);
            let record = self.below[which].record().to_vec();
            self.put(slot, &record, entry);
        }
        self.here[which] = wanted;
        self.figures.moved += wanted as u64;
        Ok(())
    }

    /// Something is about to move: if the other way than last time, and soon, the share was too great.
    fn note(&mut self, goes: bool) {
        if self.adapted {
            let turned = goes != self.went && self.quiet < self.capacity() / 4;
            let share = if turned { self.share - 0.1 } else { self.share + 0.01 };
            self.share = share.clamp(SHARE_LEAST, SHARE_MOST);
        }
        (self.quiet, self.went) = (0, goes);
    }
}

impl Shared {
    /// Takes a copy of what is on top.
    fn look(&mut self) {
        let section = self.section.borrow();
        self.top = section.here[self.which].checked_sub(1).map(|place| {
            let slot = section.slot(self.which, place);
            self.record.copy_from_slice(section.record(slot));
            section.entries[slot]
        });
    }
}

impl PathStack for Shared {
    fn len(&self) -> u64 {
        let section = self.section.borrow();
        section.here[self.which] as u64 + section.below[self.which].len()
    }

    fn entered(&self) -> u64 {
        self.entered
    }

    fn top(&self) -> Option<Entry> {
        self.top
    }

    fn top_record(&self) -> &[u64] {
        &self.record
    }

    fn push(&mut self, record: &[u64], action: u32) -> Result<(), SearchError> {
        let entry = Entry { action, entered: false, accepting: false };
        self.section.borrow_mut().push(self.which, record, entry)?;
        self.record.copy_from_slice(record);
        self.top = Some(entry);
        Ok(())
    }

    fn enter(&mut self, accepting: bool) -> Result<(), SearchError> {
        let mut section = self.section.borrow_mut();
        if section.here[self.which] == 0 {
            // The other path has pushed it out.
            section.refill(self.which)?;
        }
        let slot = section.slot(self.which, section.here[self.which] - 1);
        section.entries[slot] = Entry { entered: true, accepting, ..section.entries[slot] };
        self.top = Some(section.entries[slot]);
        self.entered += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<(), SearchError> {
        let Some(top) = self.top else { return Ok(()) };
        self.entered -= u64::from(top.entered);
        {
            let mut section = self.section.borrow_mut();
            if section.here[self.which] == 0 {
                section.refill(self.which)?;
            }
            section.pop(self.which)?;
        }
        self.look();
        Ok(())
    }

    fn clear(&mut self) -> Result<(), SearchError> {
        {
            let mut section = self.section.borrow_mut();
            section.here[self.which] = 0;
            while section.below[self.which].pop()?.is_some() {}
        }
        self.entered = 0;
        self.top = None;
        Ok(())
    }

    fn each_entered(&mut self, visit: &mut VisitEntered<'_>) -> Result<(), SearchError> {
        let mut section = self.section.borrow_mut();
        section.below[self.which].each(&mut |record, entry| {
            if entry.entered { visit(record, entry.action) } else { Ok(()) }
        })?;
        for place in 0..section.here[self.which] {
            let slot = section.slot(self.which, place);
            if section.entries[slot].entered {
                visit(section.record(slot), section.entries[slot].action)?;
            }
        }
        Ok(())
    }
}
