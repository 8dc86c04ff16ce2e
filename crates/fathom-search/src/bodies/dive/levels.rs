//! Which states wait, which are being explored, and where did each come from?
//!
//! ```text
//!   top   [ waiting | batch ]   what was new among the successors of the batch below
//!         [ waiting | batch ]
//!         [ waiting | batch ]   initial states
//! ```
//! A level is what was new among the successors of one batch; its batch is its last states. When everything above a batch was explored, the batch goes, and the next states of the level
//! are the batch. Every state knows the state of the level below that it came from, which is still there: that is its path.
//!
//! Memory: 8 bytes per word of a record and 20 more for each state at most, charged as it grows.

use std::ops::Range;

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_model::record::Records;

use crate::error::SearchError;
use crate::traces::path::{Path, PathBuilder, Room};

/// The levels of a search. States have numbers, from the bottom up.
pub(super) struct Levels {
    words: usize,
    records: ChargedVec<u64>,
    origins: ChargedVec<Origin>,
    levels: ChargedVec<Level>,
    states_max: usize,
    batch_max: usize,
}

/// How a state was reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// From which state; an initial state from itself.
    pub(super) from: u32,
    /// By which action; an initial state by which start.
    pub(super) action: u32,
}

/// States up to the first of the next level.
#[derive(Clone, Copy, Debug)]
struct Level {
    first: u32,
    /// Where its batch begins.
    batch: u32,
    /// The first state of the batch that was not expanded.
    next: u32,
}

/// The most states of a batch: enough for memory to come while others are looked at, few enough to go deep.
const BATCH_MAX: usize = 128;
/// A batch is not a larger part of the states there is room for: what comes of it needs room, too.
const BATCH_PART: usize = 64;
/// Room for states at first.
const STATES: usize = 64;

impl Levels {
    /// No level yet; all of them will take up to so many bytes. While they grow, they hold what they had, too.
    pub(super) fn new(budget: &Budget, words: usize, bytes: usize) -> Result<Levels, SearchError> {
        let each = words * 8 + size_of::<Origin>() + size_of::<Level>();
        let states_max = (bytes / each).min(u32::MAX as usize);
        Ok(Levels {
            words,
            records: ChargedVec::with_capacity(budget, "stack", 0)?,
            origins: ChargedVec::with_capacity(budget, "stack", 0)?,
            levels: ChargedVec::with_capacity(budget, "stack", 0)?,
            states_max,
            batch_max: (states_max / BATCH_PART).clamp(1, BATCH_MAX),
        })
    }

    /// How many states there are.
    pub(super) fn states(&self) -> usize {
        self.origins.len()
    }

    /// For how many more there is room.
    pub(super) fn room(&self) -> usize {
        self.states_max.saturating_sub(self.states())
    }

    /// How many levels there are: one more than the steps to the states on top.
    pub(super) fn depth(&self) -> u64 {
        self.levels.len() as u64
    }

    /// The record of a state.
    pub(super) fn record(&self, state: usize) -> &[u64] {
        &self.records[state * self.words..][..self.words]
    }

    /// The records of some states.
    pub(super) fn records(&self, states: Range<usize>) -> Records<'_> {
        Records::new(&self.records[states.start * self.words..states.end * self.words], self.words)
    }

    /// The states to be expanded next, all of one level; none if all are explored.
    pub(super) fn next_batch(&mut self) -> Option<Range<usize>> {
        loop {
            let end = self.states();
            let level = self.levels.last_mut()?;
            if (level.next as usize) < end {
                return Some(level.next as usize..end);
            }
            // What is above the batch was explored.
            let (first, rest) = (level.first as usize, level.batch as usize);
            level.begin_batch(rest, self.batch_max);
            self.truncate(rest);
            if first == rest {
                self.levels.pop();
            }
        }
    }

    /// Notes that so many more states of the batch on top were expanded.
    pub(super) fn advance(&mut self, expanded: usize) {
        let level = self.levels.last_mut().expect("what was expanded is in a level");
        level.next += expanded as u32;
    }

    /// Adds a state above the top level, which becomes part of the next [level](Levels::close).
    pub(super) fn push(&mut self, record: &[u64], origin: Origin) -> Result<(), SearchError> {
        let states = self.states();
        if states == self.origins.capacity() {
            // A push beyond the most is its caller's affair.
            let more = states.max(STATES).min(self.room().max(1));
            self.records.reserve(more * self.words)?;
            self.origins.reserve(more)?;
        }
        self.records.extend(record)?;
        Ok(self.origins.push(origin)?)
    }

    /// Makes a level of the states from this one on, if there are any.
    pub(super) fn close(&mut self, first: usize) -> Result<(), SearchError> {
        let end = self.states();
        if first < end {
            let mut level = Level { first: first as u32, batch: 0, next: 0 };
            level.begin_batch(end, self.batch_max);
            self.levels.push(level)?;
        }
        Ok(())
    }

    /// The run to a state.
    pub(super) fn path_to(&self, state: usize, room: &Room) -> Result<Path, SearchError> {
        let mut builder = PathBuilder::new(room, self.words)?;
        let (mut state, mut leaves) = (state, 0);
        loop {
            builder.push(self.record(state), leaves)?;
            let Origin { from, action } = self.origins[state];
            if from as usize == state {
                return Ok(builder.finish_backwards(action));
            }
            (state, leaves) = (from as usize, action);
        }
    }

    fn truncate(&mut self, states: usize) {
        self.records.truncate(states * self.words);
        self.origins.truncate(states);
    }
}

impl Level {
    /// Makes the last of its states, which end there, its batch.
    fn begin_batch(&mut self, end: usize, batch_max: usize) {
        self.batch = self.first.max(end.saturating_sub(batch_max) as u32);
        self.next = self.batch;
    }
}
