//! What is reachable within a bound? Breadth-first from some states until a state is found, nothing is left, or there are so many.
//!
//! Everything is held: as many records as the bound says, twice. It goes on in portions, so that whoever asks can show how far it is, or stop asking.

use std::collections::HashSet;
use std::convert::Infallible;

use fathom_model::record::{Checksum, Records};
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some};

/// A search within a bound.
#[derive(Debug)]
pub struct Nearby {
    words: usize,
    bound: usize,
    /// All states, in the order in which they were found.
    records: Vec<u64>,
    known: HashSet<Box<[u64]>>,
    /// By state: the one that it was found from, and by which action; of a first state itself.
    parents: Vec<(u32, u32)>,
    /// How many states are expanded.
    expanded: usize,
    /// Where the layer ends that is expanded, and its number.
    layer_end: usize,
    depth: usize,
    transitions: u64,
    deadlocks: u64,
    faults: u64,
    end: Option<End>,
}

/// What is looked for: a label of the system, and the value that it is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Which label.
    pub label: usize,
    /// True or false.
    pub value: bool,
}

/// Why a search is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The state of that number is like that.
    Found(usize),
    /// The goal has no value in the state of that number.
    Faulted(usize),
    /// No state is like that, and these are all.
    All,
    /// No state is like that, of as many as the bound allows.
    Bound,
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// How many states there are.
    pub states: usize,
    /// How many of them are expanded.
    pub expanded: usize,
    /// How many steps the expanded ones have.
    pub transitions: u64,
    /// How many of the expanded ones have no step and no fault.
    pub deadlocks: u64,
    /// How many steps fault.
    pub faults: u64,
    /// How many steps the farthest expanded state is away.
    pub depth: usize,
}

impl Nearby {
    /// A search from these states that finds at most so many.
    pub fn new(starts: Records<'_>, bound: usize) -> Nearby {
        let mut nearby = Nearby {
            words: starts.words_per_record(),
            bound,
            records: Vec::new(),
            known: HashSet::new(),
            parents: Vec::new(),
            expanded: 0,
            layer_end: 0,
            depth: 0,
            transitions: 0,
            deadlocks: 0,
            faults: 0,
            end: None,
        };
        for start in starts.iter() {
            nearby.arrive(start, None);
        }
        nearby.layer_end = nearby.parents.len();
        nearby
    }

    /// Adds a state if it is new and there is room; a first state has no parent. False if there is no room.
    fn arrive(&mut self, record: &[u64], parent: Option<(u32, u32)>) -> bool {
        if self.known.contains(record) {
            return true;
        }
        if self.parents.len() >= self.bound {
            return false;
        }
        let number = self.parents.len() as u32;
        self.known.insert(record.into());
        self.records.extend(record);
        self.parents.push(parent.unwrap_or((number, 0)));
        true
    }

    /// Expands up to so many more states, and says why the search is over if it is.
    pub fn advance(
        &mut self,
        system: &dyn TransitionSystem,
        goal: Option<Goal>,
        count: usize,
    ) -> Option<End> {
        let columns = Columns { labels: true, actions: true, ..Columns::NONE };
        let mut steps = Steps::new(system.shape(), columns, 256);
        for _ in 0..count {
            if self.end.is_some() {
                break;
            }
            self.end = self.expand_next(system, goal, &mut steps);
        }
        self.end
    }

    fn expand_next(
        &mut self,
        system: &dyn TransitionSystem,
        goal: Option<Goal>,
        steps: &mut Steps,
    ) -> Option<End> {
        let number = self.expanded;
        if number == self.parents.len() {
            return Some(End::All);
        }
        if number == self.layer_end {
            self.layer_end = self.parents.len();
            self.depth += 1;
        }
        let source = self.record(number).to_vec();
        expand_some(system, Records::new(&source, self.words), steps, &mut |_| Ok::<_, Infallible>(()))
            .expect("there is room, and nobody asks it to stop");
        self.expanded += 1;
        self.transitions += steps.step_count() as u64;
        self.faults += steps.faults().len() as u64;
        self.deadlocks += u64::from(steps.step_count() == 0 && steps.faults().is_empty());
        let labels = steps.labels(0);
        if let Some(goal) = goal {
            if labels.faulted() {
                return Some(End::Faulted(number));
            }
            if labels.holds(goal.label) == goal.value {
                return Some(End::Found(number));
            }
        }
        let mut room = true;
        for step in 0..steps.step_count() {
            room &= self.arrive(steps.target(step), Some((number as u32, steps.action(step))));
        }
        // Those that are there are looked at before the bound ends the search.
        (!room).then(|| self.look_at_rest(system, goal))
    }

    /// Looks for the goal in the states that are not expanded.
    fn look_at_rest(&self, system: &dyn TransitionSystem, goal: Option<Goal>) -> End {
        let Some(goal) = goal else { return End::Bound };
        let rest = Records::new(&self.records, self.words).skip(self.expanded);
        let mut labels = vec![Default::default(); rest.len()];
        system.label(rest, &mut labels);
        for (place, labels) in labels.into_iter().enumerate() {
            let number = self.expanded + place;
            if labels.faulted() {
                return End::Faulted(number);
            }
            if labels.holds(goal.label) == goal.value {
                return End::Found(number);
            }
        }
        End::Bound
    }

    /// A state.
    pub fn record(&self, number: usize) -> &[u64] {
        &self.records[number * self.words..][..self.words]
    }

    /// The state that a way to another begins with, and the actions of the way.
    pub fn way(&self, to: usize) -> (usize, Vec<u32>) {
        let (mut at, mut actions) = (to, Vec::new());
        loop {
            let (parent, action) = self.parents[at];
            if parent as usize == at {
                actions.reverse();
                return (at, actions);
            }
            actions.push(action);
            at = parent as usize;
        }
    }

    /// How far it is.
    pub fn figures(&self) -> Figures {
        let Nearby { expanded, transitions, deadlocks, faults, depth, .. } = *self;
        Figures { states: self.parents.len(), expanded, transitions, deadlocks, faults, depth }
    }

    /// A sum over all states that does not depend on their order, as reports of searches have it.
    pub fn checksum(&self) -> Checksum {
        let mut sum = Checksum::default();
        Records::new(&self.records, self.words).iter().for_each(|record| sum.add(record));
        sum
    }
}
