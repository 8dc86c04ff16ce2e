//! Policy of the depth-first search: is there a cycle through an accepting state?
//!
//! The improved nested depth-first search of S. Schwoon and J. Esparza ("A note on on-the-fly verification algorithms", TACAS 2005). The first, *blue* search walks
//! everything; when it leaves an accepting state, a second, *red* search starts there and looks for a step to the path of the blue one. What the red searches have walked
//! is never walked by another. A step of the blue search to its own path closes a cycle at once if one of its ends is accepting.
//!
//! Colours are three sets that suit stores that only grow: visited and red are insert-only, and the path has an index of its own. So the
//! same search serves exact and lossy stores; a cycle is a cycle with all of them, but only with exact ones does the lack of one say anything.
//!
//! If all states of a cycle are accepting or none is, the red searches are not needed: the step of the blue search that closes a cycle tells.
//!
//! The system's acceptance is of states: all steps of an accepting state carry mark 0, and no others do.
//!
//! Memory: both sets, and per state on the path the entries of its unexplored successors. Time: every state is expanded at most twice.

use fathom_disk::budget::{Budget, Charge};
use fathom_disk::table::Table;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use crate::depth_first::{Found, Visited};
use crate::error::SearchError;
use crate::lasso::Lasso;
use crate::layer_loop::{Ending, Observer, Progress};
use crate::path_stack::{PathIndex, PathStack};

/// Every record, exactly, in RAM.
#[derive(Debug)]
pub struct ExactSet(Table);

/// What a search is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Whether to end at a fault.
    pub stop_at_fault: bool,
    /// The most steps of a path.
    pub max_depth: Option<u64>,
    /// Whether the states of every cycle are all accepting, or none is: then the blue search closes every accepting cycle itself, and no other is needed.
    pub weak: bool,
}

/// What a search found out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended. [`Ending::Depth`] if successors were left out.
    pub ending: Ending,
    /// States that the blue search entered.
    pub states: u64,
    /// Steps from them; faulting ones are not counted.
    pub transitions: u64,
    /// States expanded by both searches.
    pub visits: u64,
    /// Steps made by both.
    pub edges: u64,
    /// Faulting steps from the states of the blue search, and faulting starts.
    pub faults: u64,
    /// States of the blue search whose labels faulted.
    pub label_faults: u64,
    /// States whose successors were left out.
    pub cut: u64,
    /// The longest path.
    pub deepest: u64,
    /// A run that is accepting.
    pub lasso: Option<Lasso>,
    /// How a fault was first met.
    pub fault: Option<Found>,
}

/// Room for steps at first.
const STEPS: usize = 64;
/// How many states are expanded before the observer is asked again.
const PATIENCE: u64 = 256;

impl ExactSet {
    /// An empty set of records of so many bits.
    pub fn new(bits: u32, budget: &Budget) -> Result<ExactSet, SearchError> {
        Ok(ExactSet(Table::new(bits, budget)?))
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Visited for ExactSet {
    fn insert(&mut self, record: &[u64]) -> Result<bool, SearchError> {
        let mut new = Vec::new();
        self.0.insert_batch(record, &mut new).map_err(|full| full.reason)?;
        Ok(!new.is_empty())
    }

    fn contains(&self, record: &[u64]) -> bool {
        let mut present = Vec::new();
        self.0.contains_batch(record, &mut present);
        !present.is_empty()
    }

    fn contains_batch(&self, records: Records<'_>, present: &mut Vec<u32>) {
        self.0.contains_batch(records.words(), present);
    }
}

/// Searches a system with one acceptance set, of states, for an accepting run. What was visited and what is red are the caller's, and empty.
///
/// # Errors
/// If one buffer of steps cannot be charged. A budget that is used up later is an ending.
pub fn run(
    system: &dyn TransitionSystem,
    visited: &mut dyn Visited,
    red: &mut dyn Visited,
    budget: &Budget,
    settings: &Settings,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let mut search = Search::new(system, budget, settings, observer)?;
    let ending = match search.blue(visited, red) {
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
    observer: &'a dyn Observer,
    path: PathStack,
    on_path: PathIndex,
    red_path: PathStack,
    steps: Steps,
    charge: Charge,
    record: Vec<u64>,
    /// Places of steps to states that are known.
    known: Vec<u32>,
    outcome: Outcome,
}

impl<'a> Search<'a> {
    fn new(
        system: &'a dyn TransitionSystem,
        budget: &'a Budget,
        settings: &'a Settings,
        observer: &'a dyn Observer,
    ) -> Result<Search<'a>, SearchError> {
        let shape = system.shape();
        debug_assert_eq!(shape.mark_count, 1, "acceptance is of states");
        let columns = Columns { labels: true, actions: true, marks: true, ..Columns::NONE };
        let words = shape.words();
        Ok(Search {
            system,
            budget,
            settings,
            observer,
            path: PathStack::growing(budget, words)?,
            on_path: PathIndex::new(budget)?,
            red_path: PathStack::growing(budget, words)?,
            charge: budget.charge("expansion", Steps::bytes_for(shape, columns, STEPS))?,
            steps: Steps::new(shape, columns, STEPS),
            record: Vec::new(),
            known: Vec::new(),
            outcome: Outcome {
                ending: Ending::Complete,
                states: 0,
                transitions: 0,
                visits: 0,
                edges: 0,
                faults: 0,
                label_faults: 0,
                cut: 0,
                deepest: 0,
                lasso: None,
                fault: None,
            },
        })
    }

    fn blue(&mut self, visited: &mut dyn Visited, red: &mut dyn Visited) -> Result<Ending, SearchError> {
        if self.start()? {
            return Ok(Ending::Found);
        }
        while let Some(top) = self.path.top() {
            if top.entered {
                let ending = if top.accepting && !self.settings.weak { self.red(red)? } else { None };
                if let Some(ending) = ending {
                    return Ok(ending);
                }
                self.on_path.remove(&self.path);
                self.path.pop();
                continue;
            }
            if !visited.insert(self.path.top_record())? {
                self.path.pop();
                continue;
            }
            if self.impatient() {
                return Ok(Ending::Stopped);
            }
            if self.enter()? {
                return Ok(Ending::Found);
            }
            self.push_successors(visited)?;
        }
        Ok(Ending::Complete)
    }

    /// Puts the initial states on the stack; true if one faults and that is the end.
    fn start(&mut self) -> Result<bool, SearchError> {
        let charge = &mut self.charge;
        initial_all(self.system, &mut self.steps, &mut |bytes| charge.resize(bytes))?;
        self.outcome.faults += self.steps.faults().len() as u64;
        if let Some(fault) = self.steps.faults().first() {
            self.outcome.fault = Some(Found { path: None, fault: Some(*fault) });
            if self.settings.stop_at_fault {
                return Ok(true);
            }
        }
        self.path.push_steps(&self.steps, |_| true)?;
        Ok(false)
    }

    /// Enters the state on top of the blue stack; true if that ends the search.
    fn enter(&mut self) -> Result<bool, SearchError> {
        self.record.clear();
        self.record.extend_from_slice(self.path.top_record());
        self.expand()?;
        let accepting = self.steps.step_count() > 0 && self.steps.marks(0).0 & 1 == 1;
        self.path.enter(accepting);
        self.on_path.insert(&self.path)?;
        self.count();
        let faults = !self.steps.faults().is_empty() || self.steps.labels(0).faulted();
        if faults && self.outcome.fault.is_none() {
            let fault = self.steps.faults().first().copied();
            self.outcome.fault = Some(Found { path: Some(self.path.path(self.budget)?), fault });
            if self.settings.stop_at_fault {
                return Ok(true);
            }
        }
        for step in 0..self.steps.step_count() {
            if let Some(place) = self.on_path.find(&self.path, self.steps.target(step))
                && (accepting || self.path.entry(place).accepting)
            {
                self.outcome.lasso = Some(self.lasso(place, &[], self.steps.action(step))?);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn expand(&mut self) -> Result<(), SearchError> {
        let charge = &mut self.charge;
        let source = Records::new(&self.record, self.record.len());
        expand_some(self.system, source, &mut self.steps, &mut |bytes| charge.resize(bytes))?;
        self.outcome.visits += 1;
        self.outcome.edges += self.steps.step_count() as u64;
        Ok(())
    }

    /// Counts what the blue search has expanded.
    fn count(&mut self) {
        let (steps, outcome) = (&self.steps, &mut self.outcome);
        outcome.states += 1;
        outcome.transitions += steps.step_count() as u64;
        outcome.faults += steps.faults().len() as u64;
        outcome.label_faults += u64::from(steps.labels(0).faulted());
        outcome.deepest = outcome.deepest.max(self.path.entered() - 1);
    }

    fn push_successors(&mut self, visited: &dyn Visited) -> Result<(), SearchError> {
        if self.steps.step_count() == 0 {
            return Ok(());
        }
        if self.settings.max_depth.is_some_and(|depth| self.path.entered() > depth) {
            self.outcome.cut += 1;
            return Ok(());
        }
        push_unknown(&mut self.path, &self.steps, visited, &mut self.known)
    }

    /// Looks for a way from the accepting state on top of the blue stack to the path; says how the search ends if it does.
    fn red(&mut self, red: &mut dyn Visited) -> Result<Option<Ending>, SearchError> {
        self.red_path.clear();
        self.red_path.push(self.path.top_record(), 0)?;
        let mut seed = true;
        while let Some(top) = self.red_path.top() {
            // The seed is walked from even where a lossy store says that it is known.
            if top.entered || !red.insert(self.red_path.top_record())? && !seed {
                self.red_path.pop();
                continue;
            }
            seed = false;
            if self.impatient() {
                return Ok(Some(Ending::Stopped));
            }
            self.record.clear();
            self.record.extend_from_slice(self.red_path.top_record());
            self.expand()?;
            self.red_path.enter(false);
            for step in 0..self.steps.step_count() {
                if let Some(place) = self.on_path.find(&self.path, self.steps.target(step)) {
                    let way = self.red_path.path_places(0);
                    self.outcome.lasso = Some(self.lasso(place, &way[1..], self.steps.action(step))?);
                    return Ok(Some(Ending::Found));
                }
            }
            push_unknown(&mut self.red_path, &self.steps, red, &mut self.known)?;
        }
        Ok(None)
    }

    /// The path, a way of the red search behind it, and a last step to the state at a place of the path.
    fn lasso(&self, place: usize, way: &[usize], last: u32) -> Result<Lasso, SearchError> {
        let path = self.path.path_places(0);
        let states = path.len() + way.len();
        let _room = self.budget.charge("trace", states * (self.record.len() * 8 + 28))?;
        let cycle_start = path.partition_point(|earlier| *earlier < place);
        let entries =
            path.iter().map(|place| (self.path.record(*place), self.path.entry(*place).action)).chain(
                way.iter().map(|place| (self.red_path.record(*place), self.red_path.entry(*place).action)),
            );
        let (mut records, mut actions) = (Vec::with_capacity(states), Vec::with_capacity(states + 1));
        for (record, action) in entries {
            records.push(record.to_vec());
            actions.push(action);
        }
        actions.push(last);
        // The first one led to the initial state.
        let start = actions.remove(0);
        Ok(Lasso { start, records, actions, cycle_start })
    }

    /// Tells the observer now and then; true if it wants the search to stop.
    fn impatient(&self) -> bool {
        if !self.outcome.visits.is_multiple_of(PATIENCE) {
            return false;
        }
        self.observer.progress(Progress {
            layer: self.path.entered(),
            frontier: self.path.len() as u64,
            expanded: self.outcome.visits,
            states: self.outcome.states,
            transitions: self.outcome.edges,
            budget_used: self.budget.used() as u64,
        });
        self.observer.stop()
    }
}

/// Pushes the targets that a set does not have.
fn push_unknown(
    stack: &mut PathStack,
    steps: &Steps,
    set: &dyn Visited,
    known: &mut Vec<u32>,
) -> Result<(), SearchError> {
    known.clear();
    set.contains_batch(steps.targets(), known);
    Ok(stack.push_steps(steps, |step| known.binary_search(&(step as u32)).is_err())?)
}
