//! Where can a model go from here? A run that is made step by step, forwards and back.

use std::convert::Infallible;

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};
use fathom_exec::interpreter::Interpreter;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};
use fathom_search::error::SearchError;
use fathom_search::task::watch::Condition;
use fathom_search::traces::path::{PathBuilder, Room};

use crate::model::assemble::Model;
use crate::questions::plan::Plan;
use crate::questions::property::PropertyKind;
use crate::trace::value::Value;
use crate::trace::{self, SavedTrace, Trace, TraceStep};

/// A run that is made step by step.
#[derive(Debug)]
pub struct Simulation<'m> {
    model: &'m Model,
    plan: &'m Plan,
    system: Interpreter,
    start: u32,
    /// Records one behind the other, and the action of each step.
    records: ChargedVec<u64>,
    actions: ChargedVec<u32>,
    /// The steps of the last state.
    steps: Steps,
}

/// Something that can be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A step.
    Step(TraceStep),
    /// A step that faults: it cannot be taken.
    Fault(TraceStep, String),
}

/// A run cannot be made or followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The model has no initial state.
    #[error("the model has no initial state: {0}")]
    NoState(String),
    /// A saved run is not one of this model.
    #[error(
        "step {0} of the trace does not exist here: the trace belongs to another model, or the model was changed"
    )]
    Foreign(usize),
    /// There is no memory for more steps.
    #[error("the run is too long for the memory: {0}")]
    Memory(#[from] BudgetError),
}

const READY: &str = "there is room, and nobody asks it to stop";

impl<'m> Simulation<'m> {
    /// A run at the first initial state, which may take so much memory.
    pub fn new(model: &'m Model, plan: &'m Plan, budget: &Budget) -> Result<Simulation<'m>, SimulationError> {
        let system = model.interpreter(plan.labels.clone());
        let columns = Columns { labels: true, actions: true, ..Columns::NONE };
        let mut steps = Steps::new(system.shape(), columns, 256);
        initial_all(&system, &mut steps, &mut |_| Ok::<_, Infallible>(())).expect(READY);
        if steps.step_count() == 0 {
            let why = steps.faults().first().map_or("it has no start", |fault| fault.kind.text());
            return Err(SimulationError::NoState(why.to_owned()));
        }
        let mut records = ChargedVec::with_capacity(budget, "trace", 0)?;
        records.extend(steps.target(0))?;
        let actions = ChargedVec::with_capacity(budget, "trace", 0)?;
        let start = steps.action(0);
        let mut simulation = Simulation { model, plan, system, start, records, actions, steps };
        simulation.expand();
        Ok(simulation)
    }

    /// How many steps were made.
    pub fn length(&self) -> usize {
        self.actions.len()
    }

    fn words(&self) -> usize {
        self.system.shape().words()
    }

    /// The state.
    pub fn record(&self) -> &[u64] {
        &self.records[self.length() * self.words()..]
    }

    /// The values of the state.
    pub fn state(&self) -> Value {
        trace::state_value(self.model, &self.system, self.record())
    }

    /// The values of the state before, if there is one.
    pub fn earlier(&self) -> Option<Value> {
        let earlier = self.length().checked_sub(1)?;
        let record = &self.records[earlier * self.words()..][..self.words()];
        Some(trace::state_value(self.model, &self.system, record))
    }

    /// How many steps can be taken.
    pub fn step_count(&self) -> usize {
        self.steps.step_count()
    }

    /// What can be done next: the steps in the system's order, then what faults.
    pub fn choices(&self) -> Vec<Choice> {
        let words = |action| trace::step(&self.system, Some(self.model.source()), self.record(), action);
        let steps = (0..self.steps.step_count()).map(|step| Choice::Step(words(self.steps.action(step))));
        let faults = self
            .steps
            .faults()
            .iter()
            .map(|fault| Choice::Fault(words(fault.action), fault.kind.text().to_owned()));
        steps.chain(faults).collect()
    }

    /// The names of the properties that the state violates.
    pub fn violated(&self) -> Vec<String> {
        let properties = self.plan.properties.iter().zip(&self.plan.conditions);
        properties
            .filter(|(property, _)| property.kind != PropertyKind::Fault)
            .filter(|(_, condition): &(_, &Condition)| condition.met(self.record(), &self.steps, 0))
            .map(|(property, _)| property.name.clone())
            .collect()
    }

    /// Takes a step, by its number among the choices. False if there is no such step.
    pub fn take(&mut self, number: usize) -> Result<bool, SimulationError> {
        if number >= self.steps.step_count() {
            return Ok(false);
        }
        if self.actions.len() == self.actions.capacity() {
            let more = self.actions.len().max(64);
            self.records.reserve((more + 1) * self.words())?;
            self.actions.reserve(more)?;
        }
        self.records.extend(self.steps.target(number))?;
        self.actions.push(self.steps.action(number))?;
        self.expand();
        Ok(true)
    }

    /// Takes back so many steps, or as many as there are; says how many.
    pub fn back(&mut self, count: usize) -> usize {
        let count = count.min(self.length());
        let left = self.length() - count;
        self.actions.truncate(left);
        self.records.truncate((left + 1) * self.words());
        self.expand();
        count
    }

    /// Goes along a saved run, from the beginning, for at most so many steps.
    pub fn follow(&mut self, saved: &SavedTrace, count: usize) -> Result<(), SimulationError> {
        self.back(usize::MAX);
        for (number, state) in saved.stem.iter().enumerate().skip(1).take(count) {
            let action = state.step.as_ref().map(|step| step.action);
            let step = (0..self.steps.step_count()).find(|step| Some(self.steps.action(*step)) == action);
            let taken = step.map_or(Ok(false), |step| self.take(step))?;
            if !taken || self.state().plain() != state.state.plain() {
                return Err(SimulationError::Foreign(number));
            }
        }
        Ok(())
    }

    /// The run so far; what is too long for memory goes to that room.
    pub fn trace(&self, room: &Room) -> Result<Trace, SearchError> {
        let mut path = PathBuilder::new(room, self.words())?;
        let leading = std::iter::once(&self.start).chain(&*self.actions);
        for (record, action) in self.records.chunks_exact(self.words()).zip(leading) {
            path.arrive(record, *action)?;
        }
        Trace::of(&self.system, Some(self.model.source()), Some(path.finish(self.start)?), None, false)
    }

    /// The model.
    pub fn model(&self) -> &'m Model {
        self.model
    }

    fn expand(&mut self) {
        let words = self.system.shape().words();
        let sources = Records::new(&self.records[self.actions.len() * words..], words);
        let grow = &mut |_| Ok::<_, Infallible>(());
        expand_some(&self.system, sources, &mut self.steps, grow).expect(READY);
    }
}
