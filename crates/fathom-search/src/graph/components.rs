//! How large are the strongly connected components of a graph? A measure that no step decreases has each of them in one bucket, so the largest is the least that such a measure can hope for.
//!
//! Tarjan's algorithm over states by number, without recursion: all records ascend in memory, a state's number is its place, and its steps are made when it is entered. Memory: the records, 8 bytes per state, and the
//! path with what its states lead to; all charged.

use std::collections::BTreeMap;

use fathom_disk::budget::{Budget, Charge, ChargedVec};
use fathom_disk::set::sort_unique;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some};

use super::all_edges::AllEdges;
use crate::error::SearchError;
use crate::task::Observer;

/// How many components there are of each size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    /// States in all.
    pub states: u64,
    /// Components by size.
    pub sizes: BTreeMap<u64, u64>,
    /// States with a step to themselves.
    pub loops: u64,
}

impl Components {
    /// The states of the largest one.
    pub fn largest(&self) -> u64 {
        self.sizes.keys().next_back().copied().unwrap_or(0)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.sizes.values().sum()
    }
}

/// Not entered yet.
const NEW: u32 = 0;
/// Its component is complete.
const DONE: u32 = u32::MAX;

/// The components of a system all of whose states were searched.
///
/// # Errors
/// A refusal of memory if the records do not fit beside it; [`SearchError::Stopped`] if the observer says so.
pub fn components(
    system: &dyn TransitionSystem,
    all: &AllEdges<'_>,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<Components, SearchError> {
    let words = system.shape().words();
    let states = usize::try_from(all.count()).unwrap_or(usize::MAX);
    let mut records = ChargedVec::with_capacity(budget, "components", states.saturating_mul(words))?;
    let mut refused = Ok(());
    all.visit_states(&mut |some| {
        if refused.is_ok() {
            refused = records.extend(some.words());
        }
    })?;
    refused?;
    sort_unique(budget, words, &mut records)?;
    let mut search = Tarjan::new(system, budget, &records)?;
    for root in 0..states {
        if search.order[root] == NEW {
            search.from(root as u32, observer)?;
        }
    }
    Ok(search.found)
}

struct Tarjan<'a> {
    system: &'a dyn TransitionSystem,
    words: usize,
    records: &'a [u64],
    /// When each state was entered.
    order: ChargedVec<u32>,
    /// The states whose components are not complete.
    open: ChargedVec<u32>,
    /// The path, and what its states lead to and was not looked at.
    path: ChargedVec<Entered>,
    targets: ChargedVec<u32>,
    entered: u32,
    steps: Steps,
    charge: Charge,
    found: Components,
}

/// A state on the path.
#[derive(Clone, Copy, Debug, Default)]
struct Entered {
    state: u32,
    /// The earliest that it is known to lead back to.
    least: u32,
    /// Where its targets begin, and where its component does.
    targets: u32,
    open: u32,
}

impl<'a> Tarjan<'a> {
    fn new(
        system: &'a dyn TransitionSystem,
        budget: &Budget,
        records: &'a [u64],
    ) -> Result<Tarjan<'a>, SearchError> {
        let shape = system.shape();
        let words = shape.words();
        let states = records.len() / words;
        let mut order = ChargedVec::with_capacity(budget, "components", states)?;
        order.resize(states, NEW)?;
        Ok(Tarjan {
            system,
            words,
            records,
            order,
            open: ChargedVec::with_capacity(budget, "components", 0)?,
            path: ChargedVec::with_capacity(budget, "components", 0)?,
            targets: ChargedVec::with_capacity(budget, "components", 0)?,
            entered: 0,
            charge: budget.charge("components", Steps::bytes_for(shape, Columns::NONE, 1))?,
            steps: Steps::new(shape, Columns::NONE, 1),
            found: Components { states: states as u64, ..Components::default() },
        })
    }

    /// All components that a state leads to and that are not complete.
    fn from(&mut self, root: u32, observer: &dyn Observer) -> Result<(), SearchError> {
        self.enter(root)?;
        while let Some(&top) = self.path.last() {
            if self.targets.len() > top.targets as usize {
                let target = self.targets.pop().expect("there is one");
                match self.order[target as usize] {
                    NEW => {
                        if self.entered.is_multiple_of(4096) && observer.stop() {
                            return Err(SearchError::Stopped);
                        }
                        self.enter(target)?;
                    }
                    DONE => {}
                    earlier => self.lower(earlier),
                }
                continue;
            }
            self.leave(top);
        }
        Ok(())
    }

    fn lower(&mut self, least: u32) {
        let top = self.path.last_mut().expect("the path is not empty");
        top.least = top.least.min(least);
    }

    fn enter(&mut self, state: u32) -> Result<(), SearchError> {
        let Tarjan { system, words, records, steps, charge, targets, .. } = self;
        let (words, from) = (*words, targets.len() as u32);
        let record = &records[state as usize * words..][..words];
        expand_some(*system, Records::new(record, words), steps, &mut |bytes| charge.resize(bytes))?;
        let mut loops = false;
        for target in steps.targets().iter() {
            let number = number_of(records, words, target);
            loops |= number == state;
            targets.push(number)?;
        }
        self.entered += 1;
        self.order[state as usize] = self.entered;
        let open = self.open.len() as u32;
        self.open.push(state)?;
        self.found.loops += u64::from(loops);
        self.path.push(Entered { state, least: self.entered, targets: from, open })?;
        Ok(())
    }

    fn leave(&mut self, top: Entered) {
        self.path.pop();
        if top.least == self.order[top.state as usize] {
            let size = self.open.len() - top.open as usize;
            for place in top.open as usize..self.open.len() {
                let state = self.open[place];
                self.order[state as usize] = DONE;
            }
            self.open.truncate(top.open as usize);
            *self.found.sizes.entry(size as u64).or_default() += 1;
        }
        if !self.path.is_empty() {
            self.lower(top.least);
        }
    }
}

/// The place of a record that is among ascending ones.
fn number_of(records: &[u64], words: usize, record: &[u64]) -> u32 {
    let (mut low, mut high) = (0, records.len() / words);
    while low < high {
        let middle = low + (high - low) / 2;
        match records[middle * words..][..words] < *record {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low as u32
}
