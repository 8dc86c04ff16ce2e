//! Where can a model go from here? A run that is made step by step, forwards and back.

use fathom_exec::interpreter::Interpreter;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{Query, TransitionSystem, expand_some, initial_all};
use fathom_search::trace::Path;
use fathom_search::watch::Condition;

use crate::assemble::Model;
use crate::property::{Plan, PropertyKind};
use crate::trace::{self, Trace, TraceStep, Trouble};

/// A run that is made step by step.
#[derive(Debug)]
pub struct Simulation<'m> {
    model: &'m Model,
    plan: &'m Plan,
    system: Interpreter,
    path: Path,
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
}

impl<'m> Simulation<'m> {
    /// A run at the first initial state.
    pub fn new(model: &'m Model, plan: &'m Plan) -> Result<Simulation<'m>, SimulationError> {
        let system = model.interpreter(plan.labels.clone());
        let columns = Columns { labels: true, actions: true, ..Columns::NONE };
        let mut steps = Steps::new(system.shape(), columns, 256);
        let Ok(()) = initial_all(&system, &mut steps, &mut |_| Ok::<_, std::convert::Infallible>(()));
        if steps.step_count() == 0 {
            let why = steps.faults().first().map_or("it has no start", |fault| fault.kind.text());
            return Err(SimulationError::NoState(why.to_owned()));
        }
        let path =
            Path { start: steps.action(0), records: vec![steps.target(0).to_vec()], actions: Vec::new() };
        let mut simulation = Simulation { model, plan, system, path, steps };
        simulation.expand();
        Ok(simulation)
    }

    /// How many steps were made.
    pub fn length(&self) -> usize {
        self.path.actions.len()
    }

    /// The state.
    pub fn record(&self) -> &[u64] {
        self.path.records.last().expect("a run has a state")
    }

    /// The values of the state.
    pub fn values(&self) -> Vec<(String, String)> {
        self.system.describe(Query::Record(self.record())).values
    }

    /// What can be done next: the steps in the system's order, then what faults.
    pub fn choices(&self) -> Vec<Choice> {
        let words = |action| trace::step(&self.system, self.model.source(), self.record(), action);
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
    pub fn take(&mut self, number: usize) -> bool {
        if number >= self.steps.step_count() {
            return false;
        }
        self.path.actions.push(self.steps.action(number));
        self.path.records.push(self.steps.target(number).to_vec());
        self.expand();
        true
    }

    /// Takes back so many steps, or as many as there are; says how many.
    pub fn back(&mut self, count: usize) -> usize {
        let count = count.min(self.length());
        self.path.actions.truncate(self.path.actions.len() - count);
        self.path.records.truncate(self.path.records.len() - count);
        self.expand();
        count
    }

    /// Goes along a saved run, from the beginning, for at most so many steps.
    pub fn follow(&mut self, saved: &Trace, count: usize) -> Result<(), SimulationError> {
        self.back(usize::MAX);
        for (number, state) in saved.stem.iter().enumerate().skip(1).take(count) {
            let action = state.step.as_ref().map(|step| step.action);
            let step = (0..self.steps.step_count()).find(|step| Some(self.steps.action(*step)) == action);
            let taken = step.is_some_and(|step| self.take(step));
            if !taken || self.values() != state.state {
                return Err(SimulationError::Foreign(number));
            }
        }
        Ok(())
    }

    /// The run so far, in words.
    pub fn trace(&self) -> Trace {
        let trouble: Option<Trouble> = None;
        Trace::of(&self.system, self.model.source(), Some(&self.path), trouble, false)
    }

    fn expand(&mut self) {
        let record = self.path.records.last().expect("a run has a state");
        let sources = Records::new(record, record.len());
        let grow = &mut |_| Ok::<_, std::convert::Infallible>(());
        let Ok(_) = expand_some(&self.system, sources, &mut self.steps, grow);
    }
}
