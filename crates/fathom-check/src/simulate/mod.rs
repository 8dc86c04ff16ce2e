//! Where can a model go from here? A run that is made step by step, forwards and back.
//!
//! What is taken back stays ahead until another step is taken: a user goes back and forward along one run. A saved run lies ahead in the same way; that of a lasso goes round its cycle for as long as the user goes on.

mod from_here;

use std::convert::Infallible;

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};
use fathom_exec::interpreter::Interpreter;
use fathom_model::program::{LABELS_MAX, Label, LabelKind};
use fathom_model::record::Records;
use fathom_model::span::Span;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};
use fathom_search::error::SearchError;
use fathom_search::task::watch::Condition;
use fathom_search::traces::path::{PathBuilder, Room};

use crate::answers::coverage::Coverage;
use crate::model::assemble::{Model, ModelError};
use crate::questions::plan::Plan;
use crate::questions::property::PropertyKind;
use crate::trace::value::Value;
use crate::trace::{self, SavedTrace, Trace, TraceStep};

pub use from_here::{SeekError, Sought};

/// A run that is made step by step.
#[derive(Debug)]
pub struct Simulation<'m> {
    model: &'m Model,
    plan: &'m Plan,
    system: Interpreter,
    start: u32,
    /// Records one behind the other, and the action of each step: those that were made, and those ahead.
    records: ChargedVec<u64>,
    actions: ChargedVec<u32>,
    /// How many steps of these were made.
    at: usize,
    /// Where the steps of a cycle begin and end, if the run ends in one.
    cycle: Option<(usize, usize)>,
    /// The steps of the state.
    steps: Steps,
    /// What a walk stops at, in the words of the user; labels behind those of the plan.
    breakpoints: Vec<Label>,
    /// Actions that were taken at any time, one bit each.
    taken: Vec<u64>,
}

/// Something that can be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A step.
    Step(TraceStep),
    /// A step that faults: it cannot be taken.
    Fault(TraceStep, String),
}

/// What a property is in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyNow {
    /// What it is called.
    pub name: String,
    /// What it says.
    pub kind: PropertyKind,
    /// Whether what it speaks of is true here: an expression, a deadlock, a fault. None if that cannot be evaluated, or is about runs.
    pub now: Option<bool>,
    /// Whether it is violated here.
    pub violated: bool,
}

/// Where along a saved run, or one that was taken back, a user is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Steps that were made.
    pub steps: usize,
    /// Steps that are ahead; of a cycle, those of one round.
    pub ahead: usize,
    /// The steps of the cycle that the run goes round in, if it has one, and how many rounds are complete.
    pub cycle: Option<(usize, usize)>,
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
    /// There is no room for more breakpoints.
    #[error("there are too many breakpoints and properties: {LABELS_MAX} at most")]
    Breakpoints,
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
        let (breakpoints, taken) = (Vec::new(), vec![0]);
        let (at, cycle) = (0, None);
        let mut simulation =
            Simulation { model, plan, system, start, records, actions, at, cycle, steps, breakpoints, taken };
        simulation.expand();
        Ok(simulation)
    }

    /// Begins anew at the initial state that has these values; false if there is none, and then nothing changes.
    pub fn begin_at(&mut self, state: &Value) -> Result<bool, SimulationError> {
        let mut steps = self.steps.clone();
        initial_all(&self.system, &mut steps, &mut |_| Ok::<_, Infallible>(())).expect(READY);
        let wanted = state.plain();
        let value = |step: &usize| trace::state_value(self.model, &self.system, steps.target(*step)).plain();
        let Some(step) = (0..steps.step_count()).find(|step| value(step) == wanted) else { return Ok(false) };
        self.actions.clear();
        self.records.clear();
        self.records.extend(steps.target(step))?;
        (self.start, self.at, self.cycle) = (steps.action(step), 0, None);
        self.expand();
        Ok(true)
    }

    /// How many steps were made.
    pub fn length(&self) -> usize {
        self.at
    }

    /// Where along the run that is there the user is.
    pub fn position(&self) -> Position {
        let cycle = self.cycle.map(|(start, end)| {
            let length = end - start;
            (length, self.at.saturating_sub(start) / length)
        });
        let ahead = match cycle {
            Some((length, _)) => (self.actions.len() - self.at).max(length),
            None => self.actions.len() - self.at,
        };
        Position { steps: self.at, ahead, cycle }
    }

    fn words(&self) -> usize {
        self.system.shape().words()
    }

    fn record_at(&self, state: usize) -> &[u64] {
        &self.records[state * self.words()..][..self.words()]
    }

    /// The state.
    pub fn record(&self) -> &[u64] {
        self.record_at(self.at)
    }

    /// The values of the state.
    pub fn state(&self) -> Value {
        trace::state_value(self.model, &self.system, self.record())
    }

    /// The values of the state before, if there is one.
    pub fn earlier(&self) -> Option<Value> {
        let earlier = self.at.checked_sub(1)?;
        Some(trace::state_value(self.model, &self.system, self.record_at(earlier)))
    }

    /// The step that led here, if there is one.
    pub fn last_step(&self) -> Option<TraceStep> {
        let before = self.at.checked_sub(1)?;
        let (source, action) = (self.record_at(before), self.actions[before]);
        Some(trace::step(&self.system, Some(self.model.source()), source, action))
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

    /// The number among the choices of the step that lies ahead, if one does.
    pub fn next_ahead(&self) -> Option<usize> {
        let (action, target) = self.ahead()?;
        (0..self.steps.step_count())
            .find(|step| self.steps.action(*step) == action && self.steps.target(*step) == target)
    }

    /// The action and the target of the step that lies ahead: one that was made before, or the next of a cycle.
    fn ahead(&self) -> Option<(u32, &[u64])> {
        let step = match self.cycle {
            _ if self.at < self.actions.len() => self.at,
            Some((start, end)) => start + (self.at - start) % (end - start),
            None => return None,
        };
        Some((self.actions[step], self.record_at(step + 1)))
    }

    /// What each property is in the state.
    pub fn properties(&self) -> Vec<PropertyNow> {
        let labels = self.steps.labels(0);
        let holds = |label: usize| (!labels.faulted()).then(|| labels.holds(label));
        let properties = self.plan.properties.iter().zip(&self.plan.conditions);
        properties
            .map(|(property, condition): (_, &Condition)| {
                let met = condition.met(self.record(), &self.steps, 0);
                let now = match (property.kind, condition) {
                    (PropertyKind::Expected { label } | PropertyKind::Cover { label }, _) => holds(label),
                    (_, Condition::Label { label, .. }) => holds(*label),
                    (_, Condition::Never) => None,
                    _ => Some(met),
                };
                PropertyNow { name: property.name.clone(), kind: property.kind, now, violated: met }
            })
            .collect()
    }

    /// The names of the properties that the state violates.
    pub fn violated(&self) -> Vec<String> {
        let is_violated = |it: &PropertyNow| it.violated && it.kind != PropertyKind::Fault;
        self.properties().into_iter().filter(is_violated).map(|it| it.name).collect()
    }

    /// Stops walks where an expression is true, from now on.
    ///
    /// # Errors
    /// If the model does not understand it.
    pub fn break_at(&mut self, text: &str) -> Result<(), ModelError> {
        let expression = self.model.expression("breakpoint", text)?;
        self.breakpoints.push(goal(text, expression));
        self.relabel();
        Ok(())
    }

    /// Whether there is room for one more breakpoint.
    pub fn has_room(&self) -> Result<(), SimulationError> {
        let used = self.plan.labels.len() + self.breakpoints.len();
        if used < LABELS_MAX { Ok(()) } else { Err(SimulationError::Breakpoints) }
    }

    /// Forgets a breakpoint, by its number; false if there is none.
    pub fn clear_break(&mut self, number: usize) -> bool {
        if number >= self.breakpoints.len() {
            return false;
        }
        self.breakpoints.remove(number);
        self.relabel();
        true
    }

    /// The breakpoints, and whether each is true here.
    pub fn breakpoints(&self) -> Vec<(&str, bool)> {
        let labels = self.steps.labels(0);
        let first = self.plan.labels.len();
        let is_true = |number: usize| !labels.faulted() && labels.holds(first + number);
        self.breakpoints.iter().enumerate().map(|(number, it)| (&*it.name, is_true(number))).collect()
    }

    /// Whether a walk stops here: at a breakpoint, or at a violation.
    pub fn stops_here(&self) -> bool {
        self.breakpoints().iter().any(|(_, is_true)| *is_true)
            || self.properties().iter().any(|it| it.violated)
    }

    fn relabel(&mut self) {
        let labels = self.plan.labels.iter().chain(&self.breakpoints).cloned().collect();
        self.system = self.model.interpreter(labels);
        self.expand();
    }

    /// What was taken so far, at any time.
    pub fn coverage(&self) -> Option<Coverage> {
        let mut taken = self.taken.clone();
        taken.resize(self.model.program().actions.len().div_ceil(64).max(taken.len()), 0);
        Coverage::of(self.model.program(), &taken)
    }

    /// Takes a step, by its number among the choices. False if there is no such step. What lay ahead is forgotten if it is another one.
    pub fn take(&mut self, number: usize) -> Result<bool, SimulationError> {
        if number >= self.steps.step_count() {
            return Ok(false);
        }
        if self.next_ahead() != Some(number) {
            self.forget_ahead();
        }
        let (action, target) = (self.steps.action(number), self.steps.target(number).to_vec());
        self.arrive(action, &target)?;
        self.expand();
        Ok(true)
    }

    /// Makes a step, which is written down unless it lies ahead.
    fn arrive(&mut self, action: u32, target: &[u64]) -> Result<(), SimulationError> {
        if self.at == self.actions.len() {
            if self.actions.len() == self.actions.capacity() {
                let more = self.actions.len().max(64);
                self.records.reserve((more + 1) * self.words())?;
                self.actions.reserve(more)?;
            }
            self.records.extend(target)?;
            self.actions.push(action)?;
        }
        self.at += 1;
        let (word, bit) = (action as usize / 64, action % 64);
        if word >= self.taken.len() {
            self.taken.resize(word + 1, 0);
        }
        self.taken[word] |= 1 << bit;
        Ok(())
    }

    fn forget_ahead(&mut self) {
        self.actions.truncate(self.at);
        self.records.truncate((self.at + 1) * self.words());
        self.cycle = None;
    }

    /// Takes back so many steps, or as many as there are; says how many. They lie ahead from now on.
    pub fn back(&mut self, count: usize) -> usize {
        let count = count.min(self.at);
        self.at -= count;
        self.expand();
        count
    }

    /// Goes along what lies ahead, so many steps or up to a breakpoint; says how many. A cycle has no end.
    pub fn forward(&mut self, count: usize) -> Result<usize, SimulationError> {
        for made in 0..count {
            let Some((action, target)) = self.ahead() else { return Ok(made) };
            let target = target.to_vec();
            self.arrive(action, &target)?;
            self.expand();
            if self.breakpoints().iter().any(|(_, is_true)| *is_true) {
                return Ok(made + 1);
            }
        }
        Ok(count)
    }

    /// Loads a saved run, from the beginning, and goes along it for at most so many steps. The rest of it lies ahead.
    pub fn follow(&mut self, saved: &SavedTrace, count: usize) -> Result<(), SimulationError> {
        if !saved.stem.first().map_or(Ok(true), |first| self.begin_at(&first.state))? {
            return Err(SimulationError::Foreign(0));
        }
        let states = saved.stem.iter().skip(1).chain(&saved.cycle);
        for (number, state) in (1..).zip(states) {
            let action = state.step.as_ref().map(|step| step.action);
            let step = (0..self.steps.step_count()).find(|step| Some(self.steps.action(*step)) == action);
            let taken = step.map_or(Ok(false), |step| self.take(step))?;
            let stays = !taken && self.step_count() == 0 && number >= saved.stem.len();
            if stays && self.state().plain() == state.state.plain() {
                // A run that cannot go on stays for ever where it is: there is no step to take.
                break;
            }
            if !taken || self.state().plain() != state.state.plain() {
                return Err(SimulationError::Foreign(number));
            }
        }
        let stem = saved.stem.len().saturating_sub(1);
        self.cycle =
            Some((stem, self.actions.len())).filter(|(start, end)| start < end && !saved.cycle.is_empty());
        self.back(self.at.saturating_sub(count));
        Ok(())
    }

    /// The run so far; what is too long for memory goes to that room.
    pub fn trace(&self, room: &Room) -> Result<Trace, SearchError> {
        let mut path = PathBuilder::new(room, self.words())?;
        let leading = std::iter::once(&self.start).chain(&self.actions[..self.at]);
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
        let sources = Records::new(&self.records[self.at * words..][..words], words);
        let grow = &mut |_| Ok::<_, Infallible>(());
        expand_some(&self.system, sources, &mut self.steps, grow).expect(READY);
    }
}

/// A label that the user asks about.
fn goal(text: &str, expression: fathom_model::expression::Expression) -> Label {
    Label { name: text.trim().to_owned(), kind: LabelKind::Goal, expression, span: Span::default() }
}
