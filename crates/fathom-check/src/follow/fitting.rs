//! Which states fit a log so far?

use std::collections::BTreeSet;

use fathom_disk::budget::{Budget, Charge};
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{Description, Query, TransitionSystem, expand_some, initial_all};
use fathom_search::error::SearchError;
use fathom_search::task::{Phase, Progress};

use super::Near;
use super::observation::{Difference, Observation};
use crate::monitor::Monitor;
use crate::trace::TraceStep;

/// A state.
type Record = Box<[u64]>;

/// How many possibilities are told of a line that does not fit.
const NEAR_MAX: usize = 3;
/// What a state takes in a set beside its own bytes: the pointer, the allocator's part, its part of a node.
const OVERHEAD_BYTES: usize = 64;

/// The states that fit a log so far.
pub(super) struct Fitting<'a> {
    system: &'a dyn TransitionSystem,
    budget: &'a Budget,
    steps: Steps,
    charge: Charge,
    states: StateSet,
    /// Those that fit before the last line, once no state fits any more.
    before: Option<StateSet>,
    /// How many lines have been explained, and how many states were expanded.
    told: Progress,
}

/// A set of states whose memory is charged before it is taken.
struct StateSet {
    records: BTreeSet<Record>,
    charge: Charge,
    record_bytes: usize,
    /// How many records the charge is for.
    room: usize,
}

/// A possibility, in records.
#[derive(Debug)]
pub(super) struct NearRecord {
    steps: u64,
    step: Option<(Record, u32)>,
    other_step: bool,
    differences: Vec<Difference>,
}

impl StateSet {
    fn new(system: &dyn TransitionSystem, budget: &Budget) -> Result<StateSet, SearchError> {
        let record_bytes = system.shape().words() * 8 + OVERHEAD_BYTES;
        Ok(StateSet { records: BTreeSet::new(), charge: budget.charge("follow", 0)?, record_bytes, room: 0 })
    }

    /// Adds a state; true if it is new.
    fn insert(&mut self, record: &[u64]) -> Result<bool, SearchError> {
        if self.records.contains(record) {
            return Ok(false);
        }
        if self.records.len() == self.room {
            let room = (self.room * 2).max(16);
            self.charge.resize(room * self.record_bytes)?;
            self.room = room;
        }
        Ok(self.records.insert(record.into()))
    }
}

impl<'a> Fitting<'a> {
    /// The initial states.
    pub(super) fn begin(system: &'a dyn TransitionSystem, budget: &'a Budget) -> Result<Self, SearchError> {
        let columns = Columns { actions: true, ..Columns::NONE };
        let capacity = (budget.free() / 8 / Steps::bytes_for(system.shape(), columns, 1)).clamp(1, 256);
        let mut charge = budget.charge("expansion", Steps::bytes_for(system.shape(), columns, capacity))?;
        let mut steps = Steps::new(system.shape(), columns, capacity);
        initial_all(system, &mut steps, &mut |bytes| charge.resize(bytes))?;
        let mut states = StateSet::new(system, budget)?;
        for step in 0..steps.step_count() {
            states.insert(steps.target(step))?;
        }
        Ok(Fitting {
            system,
            budget,
            steps,
            charge,
            states,
            before: None,
            told: Progress { phase: Phase::Lines, ..Progress::default() },
        })
    }

    /// How many states fit.
    pub(super) fn len(&self) -> usize {
        self.states.records.len()
    }

    /// Whether none fits.
    pub(super) fn is_empty(&self) -> bool {
        self.states.records.is_empty()
    }

    /// The least of them.
    pub(super) fn first(&self) -> Option<&[u64]> {
        self.states.records.first().map(|record| &**record)
    }

    /// The least of those that fit before the line that none fits.
    pub(super) fn before(&self) -> Option<&[u64]> {
        self.before.as_ref()?.records.first().map(|record| &**record)
    }

    /// Goes to the states that fit the next line, too; tells what comes nearest, which is of interest if none does.
    pub(super) fn advance(
        &mut self,
        observation: &Observation,
        steps_max: u64,
        monitor: &dyn Monitor,
    ) -> Result<Vec<NearRecord>, SearchError> {
        let mut line =
            Line { observation, fitting: StateSet::new(self.system, self.budget)?, nearest: Vec::new() };
        let mut seen = StateSet::new(self.system, self.budget)?;
        let mut level = StateSet::new(self.system, self.budget)?;
        for record in &self.states.records {
            seen.insert(record)?;
            level.insert(record)?;
        }
        for steps in 0..=steps_max {
            let mut next = StateSet::new(self.system, self.budget)?;
            for record in &level.records {
                if monitor.stop() {
                    return Err(SearchError::Stopped);
                }
                if observation.action.is_none() {
                    line.look_at(self.system, record, steps, None)?;
                }
                if steps == steps_max {
                    continue;
                }
                self.expand(record, monitor)?;
                for step in 0..self.steps.step_count() {
                    let target = self.steps.target(step);
                    if observation.action.is_some() {
                        line.look_at(
                            self.system,
                            target,
                            steps + 1,
                            Some((record, self.steps.action(step))),
                        )?;
                    }
                    if seen.insert(target)? {
                        next.insert(target)?;
                    }
                }
            }
            level = next;
        }
        self.told.layer += 1;
        let earlier = std::mem::replace(&mut self.states, line.fitting);
        self.before = self.is_empty().then_some(earlier);
        Ok(line.nearest)
    }

    fn expand(&mut self, record: &[u64], monitor: &dyn Monitor) -> Result<(), SearchError> {
        let Fitting { system, steps, charge, told, .. } = self;
        let source = Records::new(record, record.len());
        expand_some(*system, source, steps, &mut |bytes| charge.resize(bytes))?;
        told.expanded += 1;
        told.states += 1;
        told.transitions += steps.step_count() as u64;
        monitor.progress(*told);
        Ok(())
    }
}

/// What is known of a line.
struct Line<'a> {
    observation: &'a Observation,
    fitting: StateSet,
    nearest: Vec<NearRecord>,
}

impl Line<'_> {
    /// Looks at a state, and at the step that leads there.
    fn look_at(
        &mut self,
        system: &dyn TransitionSystem,
        record: &[u64],
        steps: u64,
        step: Option<(&[u64], u32)>,
    ) -> Result<(), SearchError> {
        let named =
            |(source, action)| self.observation.names(&system.describe(Query::Step { source, action }));
        let other_step = !step.is_none_or(named);
        let state: Description = system.describe(Query::Record(record));
        let differences = self.observation.differences(&state);
        if !other_step && differences.is_empty() {
            self.fitting.insert(record)?;
        } else if self.fitting.records.is_empty() {
            let step = step.map(|(source, action)| (source.into(), action));
            self.note(NearRecord { steps, step, other_step, differences });
        }
        Ok(())
    }

    /// Keeps the nearest few; of equally near ones those that were met first.
    fn note(&mut self, near: NearRecord) {
        let distance = |near: &NearRecord| near.differences.len() + usize::from(near.other_step);
        let is_same = |other: &NearRecord| {
            let action = |near: &NearRecord| near.step.as_ref().map(|(_, action)| *action);
            (action(other), &other.differences) == (action(&near), &near.differences)
        };
        if self.nearest.iter().any(is_same) {
            return;
        }
        let place = self.nearest.partition_point(|other| distance(other) <= distance(&near));
        if place < NEAR_MAX {
            self.nearest.insert(place, near);
            self.nearest.truncate(NEAR_MAX);
        }
    }
}

impl NearRecord {
    /// In words.
    pub(super) fn told(self, step: &dyn Fn(&[u64], u32) -> TraceStep) -> Near {
        let NearRecord { steps, step: taken, other_step, differences } = self;
        Near { steps, step: taken.map(|(source, action)| step(&source, action)), other_step, differences }
    }
}
