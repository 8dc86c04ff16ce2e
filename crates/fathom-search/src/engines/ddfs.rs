//! Policy of the depth-first search: a perfect hash and one bit per state.
//!
//! S. Edelkamp, P. Sanders, P. Šimeček, "Semi-external LTL model checking", CAV 2008: *double* depth-first search. When all states are known and numbered ([`crate::closed_set`]), a first search
//! writes accepting states down in the order in which it leaves them; then the bits are cleared, and from each of those states in that order a second search walks what no
//! second search has walked and looks for a step back to where it started. The seeds and their order are those of nested depth-first search (Courcoubetis, Vardi, Wolper,
//! Yannakakis 1992), and so is what is found; but one bit serves both searches.
//!
//! The system's acceptance is of states: all steps of an accepting state carry mark 0, and no others do. Memory: about 4 bits per state, and the path with its
//! unexplored successors. I/O: accepting states once. Every state is expanded twice at most.

use fathom_disk::budget::{Budget, Charge};
use fathom_disk::log::Queue;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use super::semi_owcty::{self, Outcome, with_stem};
use crate::bits::Bits;
use crate::closed_set::{ALL_RECUR, ClosedSet, Reached};
use crate::cycle::Cycle;
use crate::error::SearchError;
use crate::layer_loop::{Observer, Progress};
use crate::path_stack::PathStack;

/// Room for steps at first, at most.
const STEPS: usize = 64;
/// How many states are expanded before the observer is asked again.
const PATIENCE: u64 = 256;
/// Bytes of a block of the file of accepting states.
const BLOCK_BYTES: usize = 1 << 16;

/// Looks for a cycle through an accepting state among the states that a complete breadth-first search has reached. One thread.
///
/// # Errors
/// If memory or the volume do not suffice.
pub fn run(search: &semi_owcty::Search<'_>, reached: &dyn Reached) -> Result<Outcome, SearchError> {
    let semi_owcty::Search { system, volume, budget, observer, .. } = *search;
    let set = ClosedSet::new(reached, ALL_RECUR, system.shape(), volume, budget)?;
    let mut search = Search::new(system, &set, budget, observer)?;
    let block = (budget.free() / 64).clamp(256, BLOCK_BYTES);
    let mut accepting = Queue::new(volume, "accepting", system.shape().words(), block, budget)?;
    let mut cycle = None;
    let mut finished = search.first(&mut accepting)?;
    if finished {
        search.visited.clear_all();
        let mut seed = vec![0; system.shape().words()];
        while cycle.is_none() && finished && accepting.pop(&mut seed)? {
            (cycle, finished) = search.second(&seed)?;
        }
    }
    let mut outcome = Outcome {
        stopped: !finished,
        visits: search.visits,
        edges: search.edges,
        number_bytes: set.number_bytes() as u64,
        stored_bytes: set.stored_bytes(),
        ..Outcome::default()
    };
    if let Some(cycle) = cycle {
        outcome.left = cycle.records.len() as u64;
        drop((search, accepting));
        drop(set);
        outcome.lasso = Some(with_stem(system, reached, budget, cycle)?);
    }
    Ok(outcome)
}

struct Search<'a> {
    system: &'a dyn TransitionSystem,
    set: &'a ClosedSet<'a>,
    observer: &'a dyn Observer,
    visited: Bits,
    path: PathStack,
    steps: Steps,
    charge: Charge,
    record: Vec<u64>,
    numbers: Vec<u64>,
    visits: u64,
    edges: u64,
}

impl<'a> Search<'a> {
    fn new(
        system: &'a dyn TransitionSystem,
        set: &'a ClosedSet<'a>,
        budget: &Budget,
        observer: &'a dyn Observer,
    ) -> Result<Search<'a>, SearchError> {
        let (shape, words) = (system.shape(), system.shape().words());
        let columns = Columns { actions: true, marks: true, ..Columns::NONE };
        let capacity = (budget.free() / 16 / Steps::bytes_for(shape, columns, 1)).clamp(1, STEPS);
        Ok(Search {
            system,
            set,
            observer,
            visited: Bits::new(budget, set.len(), false)?,
            path: PathStack::growing(budget, words)?,
            charge: budget.charge("expansion", Steps::bytes_for(shape, columns, capacity))?,
            steps: Steps::new(shape, columns, capacity),
            record: Vec::new(),
            numbers: Vec::new(),
            visits: 0,
            edges: 0,
        })
    }

    /// Walks everything and writes accepting states down as it leaves them; false if the observer stopped it.
    fn first(&mut self, accepting: &mut Queue) -> Result<bool, SearchError> {
        let charge = &mut self.charge;
        initial_all(self.system, &mut self.steps, &mut |bytes| charge.resize(bytes))?;
        self.path.push_steps(&self.steps, |_| true)?;
        while let Some(top) = self.path.top() {
            if top.entered {
                if top.accepting {
                    accepting.push(self.path.top_record())?;
                }
                self.path.pop();
            } else if !self.is_new() {
                self.path.pop();
            } else {
                self.expand()?;
                let marked = self.steps.step_count() > 0 && self.steps.marks(0).0 & 1 == 1;
                self.path.enter(marked);
                self.push_new()?;
                if self.impatient() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Walks from a state what was not walked, until a step leads back to it: the cycle, and false if the observer stopped it.
    fn second(&mut self, seed: &[u64]) -> Result<(Option<Cycle>, bool), SearchError> {
        self.path.clear();
        self.path.push(seed, 0)?;
        let mut at_seed = true;
        while let Some(top) = self.path.top() {
            // The seed itself is walked from even if it was met before.
            if top.entered || !self.is_new() && !at_seed {
                self.path.pop();
                continue;
            }
            at_seed = false;
            self.expand()?;
            self.path.enter(false);
            let back = (0..self.steps.step_count()).find(|step| self.steps.target(*step) == seed);
            if let Some(step) = back {
                let places = self.path.path_places(0);
                let records = places.iter().map(|place| self.path.record(*place).to_vec()).collect();
                // The action of an entry leads to it.
                let mut actions: Vec<u32> =
                    places[1..].iter().map(|place| self.path.entry(*place).action).collect();
                actions.push(self.steps.action(step));
                return Ok((Some(Cycle { records, actions }), true));
            }
            self.push_new()?;
            if self.impatient() {
                return Ok((None, false));
            }
        }
        Ok((None, true))
    }

    /// Marks the state on top as visited; true if it was not.
    fn is_new(&mut self) -> bool {
        let record = self.path.top_record();
        self.numbers.clear();
        self.set.numbers(Records::new(record, record.len()), &mut self.numbers);
        self.visited.set(self.numbers[0])
    }

    fn expand(&mut self) -> Result<(), SearchError> {
        self.record.clear();
        self.record.extend_from_slice(self.path.top_record());
        let charge = &mut self.charge;
        let source = Records::new(&self.record, self.record.len());
        expand_some(self.system, source, &mut self.steps, &mut |bytes| charge.resize(bytes))?;
        self.visits += 1;
        self.edges += self.steps.step_count() as u64;
        Ok(())
    }

    fn push_new(&mut self) -> Result<(), SearchError> {
        self.numbers.clear();
        self.set.numbers(self.steps.targets(), &mut self.numbers);
        let (numbers, visited) = (&self.numbers, &self.visited);
        Ok(self.path.push_steps(&self.steps, |step| !visited.get(numbers[step]))?)
    }

    /// Tells the observer now and then; true if it wants the search to stop.
    fn impatient(&self) -> bool {
        if !self.visits.is_multiple_of(PATIENCE) {
            return false;
        }
        self.observer.progress(Progress {
            layer: self.path.entered(),
            frontier: self.path.len() as u64,
            expanded: self.visits,
            states: self.set.len(),
            transitions: self.edges,
            budget_used: 0,
        });
        self.observer.stop()
    }
}
