//! Body: which states does a depth-first search reach?
//!
//! A state is entered when it comes to the top and [`Visited`] has not had it; the entered states are a run of the system
//! (see `path_stack`), so a finding has its path at once. What was visited is a policy, and insert-only; it may be exact or forget.
//!
//! Memory: the stack, charged at once. When it has no room for the successors of a state, or the path is at the depth limit, they are left out and
//! that is counted. A budget that is used up is an ending.

use fathom_disk::budget::Budget;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Fault, Labels, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use crate::error::SearchError;
use crate::layer_loop::{Ending, Observer, Progress};
use crate::path_stack::PathStack;
use crate::trace::Path;
use crate::watch::Condition;

/// What was visited: it only grows.
pub trait Visited {
    /// Inserts a record. True if it was not there.
    fn insert(&mut self, record: &[u64]) -> Result<bool, SearchError>;

    /// Whether a record is there.
    fn contains(&self, record: &[u64]) -> bool;

    /// Appends the places of those among some records that are there.
    fn contains_batch(&self, records: Records<'_>, present: &mut Vec<u32>) {
        present.extend(
            (0..).zip(records.iter()).filter(|(_, record)| self.contains(record)).map(|(place, _)| place),
        );
    }
}

/// What a search is asked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What to look for in every state.
    pub conditions: Vec<Condition>,
    /// Whether to end when a condition was met.
    pub stop_at_first: bool,
    /// The most steps of a path.
    pub max_depth: Option<u64>,
    /// The bytes of the stack.
    pub stack_bytes: usize,
}

/// What a search found out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended. [`Ending::Depth`] if successors were left out.
    pub ending: Ending,
    /// States entered and expanded.
    pub visits: u64,
    /// Steps from them; faulting ones are not counted.
    pub transitions: u64,
    /// States among them without a step and without a fault.
    pub deadlocks: u64,
    /// Faulting steps from them, and faulting starts.
    pub faults: u64,
    /// States among them whose labels faulted.
    pub label_faults: u64,
    /// Labels that were true in some of them.
    pub labels_seen: Labels,
    /// States whose successors were left out.
    pub cut: u64,
    /// The longest path.
    pub deepest: u64,
    /// One place per condition: how it was first met.
    pub found: Vec<Option<Found>>,
    /// Which actions were taken, one bit each.
    pub actions_taken: Vec<u64>,
}

/// A run to a state that meets a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The run. None for a fault in a start: there is no state.
    pub path: Option<Path>,
    /// The first fault of the last state.
    pub fault: Option<Fault>,
}

/// Room for steps at first.
const STEPS: usize = 64;
/// How many states are expanded before the observer is asked again.
const PATIENCE: u64 = 256;
/// Sets of taken actions larger than this are not kept.
const COVERAGE_ACTIONS_MAX: u32 = 1 << 24;

/// Searches depth-first from the initial states, in the system's order.
///
/// # Errors
/// If the stack and one buffer of steps cannot be charged.
pub fn run(
    system: &dyn TransitionSystem,
    visited: &mut dyn Visited,
    budget: &Budget,
    settings: &Settings,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let mut search = Search::new(system, budget, settings)?;
    let ending = match search.explore(visited, observer) {
        Err(SearchError::Budget(_)) => Ending::Budget,
        other => other?,
    };
    let cut = ending == Ending::Complete && search.outcome.cut > 0;
    Ok(Outcome { ending: if cut { Ending::Depth } else { ending }, ..search.outcome })
}

/// A search under way.
struct Search<'a> {
    system: &'a dyn TransitionSystem,
    budget: &'a Budget,
    settings: &'a Settings,
    stack: PathStack,
    steps: Steps,
    charge: fathom_disk::budget::Charge,
    outcome: Outcome,
}

impl<'a> Search<'a> {
    fn new(
        system: &'a dyn TransitionSystem,
        budget: &'a Budget,
        settings: &'a Settings,
    ) -> Result<Search<'a>, SearchError> {
        let shape = system.shape();
        let columns = Columns { labels: true, actions: true, ..Columns::NONE };
        let words = shape.words();
        let actions = if shape.action_count <= COVERAGE_ACTIONS_MAX { shape.action_count } else { 0 };
        let outcome = Outcome {
            ending: Ending::Complete,
            visits: 0,
            transitions: 0,
            deadlocks: 0,
            faults: 0,
            label_faults: 0,
            labels_seen: Labels::default(),
            cut: 0,
            deepest: 0,
            found: vec![None; settings.conditions.len()],
            actions_taken: vec![0; actions.div_ceil(64) as usize],
        };
        Ok(Search {
            system,
            budget,
            settings,
            stack: PathStack::limited(budget, words, settings.stack_bytes)?,
            charge: budget.charge("expansion", Steps::bytes_for(shape, columns, STEPS))?,
            steps: Steps::new(shape, columns, STEPS),
            outcome,
        })
    }

    fn explore(&mut self, visited: &mut dyn Visited, observer: &dyn Observer) -> Result<Ending, SearchError> {
        self.start()?;
        if self.settings.stop_at_first && self.outcome.found.iter().any(Option::is_some) {
            return Ok(Ending::Found);
        }
        while let Some(top) = self.stack.top() {
            if top.entered || !visited.insert(self.stack.top_record())? {
                self.stack.pop();
                continue;
            }
            if self.outcome.visits.is_multiple_of(PATIENCE) {
                if observer.stop() {
                    return Ok(Ending::Stopped);
                }
                observer.progress(self.progress());
            }
            self.enter()?;
            if self.settings.stop_at_first && self.outcome.found.iter().any(Option::is_some) {
                return Ok(Ending::Found);
            }
            self.push_successors(visited)?;
        }
        Ok(Ending::Complete)
    }

    /// Puts the initial states on the stack.
    fn start(&mut self) -> Result<(), SearchError> {
        let charge = &mut self.charge;
        initial_all(self.system, &mut self.steps, &mut |bytes| charge.resize(bytes))?;
        self.outcome.faults += self.steps.faults().len() as u64;
        if let Some(fault) = self.steps.faults().first().copied() {
            for (condition, found) in self.settings.conditions.iter().zip(&mut self.outcome.found) {
                if *condition == Condition::Fault {
                    *found = Some(Found { path: None, fault: Some(fault) });
                }
            }
        }
        Ok(self.stack.push_steps(&self.steps, |_| true)?)
    }

    /// Enters and expands the state on top, counts, and tests the conditions on it.
    fn enter(&mut self) -> Result<(), SearchError> {
        self.stack.enter(false);
        self.outcome.deepest = self.outcome.deepest.max(self.stack.entered() - 1);
        let record = self.stack.top_record().to_vec();
        let charge = &mut self.charge;
        let source = Records::new(&record, record.len());
        expand_some(self.system, source, &mut self.steps, &mut |bytes| charge.resize(bytes))?;
        self.count();
        for (number, condition) in self.settings.conditions.iter().enumerate() {
            if self.outcome.found[number].is_none() && condition.met(&record, &self.steps, 0) {
                let fault = self.steps.faults().first().copied();
                self.outcome.found[number] = Some(Found { path: Some(self.stack.path(self.budget)?), fault });
            }
        }
        Ok(())
    }

    fn count(&mut self) {
        let (steps, outcome) = (&self.steps, &mut self.outcome);
        outcome.visits += 1;
        outcome.transitions += steps.step_count() as u64;
        outcome.faults += steps.faults().len() as u64;
        outcome.deadlocks += u64::from(steps.step_count() == 0 && steps.faults().is_empty());
        let labels = steps.labels(0);
        outcome.label_faults += u64::from(labels.faulted());
        outcome.labels_seen.0 |= labels.0;
        if !outcome.actions_taken.is_empty() {
            for step in 0..steps.step_count() {
                let action = steps.action(step);
                outcome.actions_taken[action as usize / 64] |= 1 << (action % 64);
            }
        }
    }

    /// Puts the successors of the state that was entered last on the stack, the first on top.
    fn push_successors(&mut self, visited: &dyn Visited) -> Result<(), SearchError> {
        if self.steps.step_count() == 0 {
            return Ok(());
        }
        let deep = self.settings.max_depth.is_some_and(|depth| self.stack.entered() > depth);
        if deep || !self.stack.has_room(self.steps.step_count()) {
            self.outcome.cut += 1;
            return Ok(());
        }
        let targets = self.steps.targets();
        Ok(self.stack.push_steps(&self.steps, |step| !visited.contains(targets.get(step)))?)
    }

    fn progress(&self) -> Progress {
        Progress {
            layer: self.stack.entered(),
            frontier: self.stack.len() as u64,
            expanded: self.outcome.visits,
            states: self.outcome.visits,
            transitions: self.outcome.transitions,
            budget_used: self.budget.used() as u64,
        }
    }
}
