//! Which steps does one look at who has not searched a system?
//!
//! Those along random walks from the initial states, each twice as long as the one before, so that both what is near and what is far is seen. Of each state on the way, all steps are kept.

use fathom_disk::budget::{Budget, Charge, ChargedVec};
use fathom_disk::table::Table;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use super::choose::Edges;
use crate::error::SearchError;
use crate::task::Observer;

/// Some steps of a system, and the states they start from.
pub struct Sample {
    words: usize,
    /// Sources and targets, in turns.
    pairs: ChargedVec<u64>,
    /// Sources, each once, in the order in which they were met.
    states: ChargedVec<u64>,
}

/// Steps of the first walk.
const WALK_STEPS: u64 = 64;
/// Walks in a row that show no state that was not met: then there is no use in more.
const IDLE_WALKS: u32 = 64;

impl Sample {
    /// Walks until there are `most` steps, or memory for no more.
    ///
    /// # Errors
    /// [`SearchError::Stopped`] if the observer says so.
    pub fn of(
        system: &dyn TransitionSystem,
        budget: &Budget,
        observer: &dyn Observer,
        most: usize,
    ) -> Result<Sample, SearchError> {
        let shape = system.shape();
        let words = shape.words();
        // A quarter for the steps: states, and what chooses from them, take as much again.
        let most = most.min(budget.free() / 4 / (words * 16)).max(1);
        let mut sample = Sample {
            words,
            pairs: ChargedVec::with_capacity(budget, "sample", most * 2 * words)?,
            states: ChargedVec::with_capacity(budget, "sample", 0)?,
        };
        let mut walker = Walker::new(system, budget)?;
        let mut met = Table::new(shape.width_bits, budget)?;
        let (mut length, mut idle) = (WALK_STEPS, 0);
        while !sample.is_full() && idle < IDLE_WALKS {
            let known = sample.states.len();
            if !walker.begin()? {
                break;
            }
            for _ in 0..length {
                if observer.stop() {
                    return Err(SearchError::Stopped);
                }
                if sample.is_full() || !walker.step(&mut sample, &mut met)? {
                    break;
                }
            }
            length = length.saturating_mul(2);
            idle = if sample.states.len() == known { idle + 1 } else { 0 };
        }
        Ok(sample)
    }

    /// How many steps there are.
    pub fn steps(&self) -> usize {
        self.pairs.len() / (2 * self.words)
    }

    /// Their sources, each once.
    pub fn states(&self) -> Records<'_> {
        Records::new(&self.states, self.words)
    }

    fn is_full(&self) -> bool {
        self.pairs.len() == self.pairs.capacity()
    }

    /// Adds the steps of a state.
    fn add(&mut self, source: &[u64], steps: &Steps, met: &mut Table) -> Result<(), SearchError> {
        let mut new = Vec::new();
        // Where the table is full, states are taken for known: steps are what matters.
        if met.insert_batch(source, &mut new).is_ok() && !new.is_empty() {
            let _ = self.states.extend(source);
        }
        for target in steps.targets().iter() {
            if self.is_full() {
                break;
            }
            self.pairs.extend(source)?;
            self.pairs.extend(target)?;
        }
        Ok(())
    }
}

impl Edges for Sample {
    fn visit(&self, visit: &mut dyn FnMut(&[u64], &[u64])) -> Result<(), SearchError> {
        for pair in self.pairs.chunks_exact(2 * self.words) {
            let (source, target) = pair.split_at(self.words);
            visit(source, target);
        }
        Ok(())
    }
}

/// Somebody who walks at random.
struct Walker<'a> {
    system: &'a dyn TransitionSystem,
    steps: Steps,
    charge: Charge,
    at: Vec<u64>,
    random: u64,
}

impl<'a> Walker<'a> {
    fn new(system: &'a dyn TransitionSystem, budget: &Budget) -> Result<Walker<'a>, SearchError> {
        let shape = system.shape();
        let bytes = Steps::bytes_for(shape, Columns::NONE, 1);
        let charge = budget.charge("sample", bytes)?;
        let steps = Steps::new(shape, Columns::NONE, 1);
        Ok(Walker { system, steps, charge, at: Vec::new(), random: 0x5eed })
    }

    fn below(&mut self, count: usize) -> usize {
        self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((u128::from(self.random) * count as u128) >> 64) as usize
    }

    /// Goes to an initial state; false if there is none.
    fn begin(&mut self) -> Result<bool, SearchError> {
        let Walker { system, steps, charge, .. } = self;
        initial_all(*system, steps, &mut |bytes| charge.resize(bytes))?;
        self.go()
    }

    /// Expands the state it is at, and goes on; false if it cannot.
    fn step(&mut self, sample: &mut Sample, met: &mut Table) -> Result<bool, SearchError> {
        let Walker { system, steps, charge, at, .. } = self;
        let source = Records::new(at, at.len());
        expand_some(*system, source, steps, &mut |bytes| charge.resize(bytes))?;
        sample.add(at, steps, met)?;
        self.go()
    }

    fn go(&mut self) -> Result<bool, SearchError> {
        let count = self.steps.step_count();
        if count == 0 {
            return Ok(false);
        }
        let step = self.below(count);
        self.at.clear();
        self.at.extend_from_slice(self.steps.target(step));
        Ok(true)
    }
}
