//! Which steps does a program take? The reference answer: walks the program's trees over unpacked values.
//!
//! Memory: one vector of values per call, whatever the number of records. Time: every action of every process's current location is evaluated
//! for every source.

mod asynchronous;
mod describe;
mod evaluate;
mod execute;
mod explain;
#[cfg(feature = "jit")]
pub(crate) mod one_by_one;
mod synchronous;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use fathom_model::expression::{Expression, ExpressionKind, FaultKind};
use fathom_model::layout::{Layout, Possible};
use fathom_model::program::{Action, Command, Composition, Program, Role, Statement};
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::span::Span;
use fathom_model::steps::{Full, Labels, Marks, ProcessSet, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};
use fathom_model::verify;

use crate::stop::StopFlag;
use evaluate::evaluate;
use execute::Halt;

pub use evaluate::Trouble;

/// A program with the layout of its records: a transition system.
#[derive(Clone, Debug)]
pub struct Interpreter {
    program: Program,
    layout: Layout,
    shape: Shape,
    /// Where the values of each variable begin among the unpacked values.
    bases: Vec<usize>,
    /// By process and location: the actions that the process owns there, in program order.
    owned: Vec<Vec<Vec<u32>>>,
    /// The actions without movers, in program order.
    free: Vec<u32>,
    /// By action: whether all its movers are at committed locations.
    committed: Vec<bool>,
    /// Whether any location is committed.
    commits: bool,
    /// By action of a synchronous program: its position among the actions of its process.
    positions: Vec<u32>,
    /// By process of a synchronous program: how many actions it has.
    counts: Vec<u32>,
    /// The words of the model's own failures, by where they stand.
    messages: HashMap<(Span, FaultKind), String>,
    /// Who may ask it to stop in the middle of a step.
    stop: StopFlag,
}

impl Interpreter {
    /// Makes a system of a well-formed program, its records laid out by what values are possible.
    ///
    /// # Panics
    /// If the program is not well formed: the front-end that made it is wrong.
    pub fn new(program: Program, possible: &dyn Possible) -> Interpreter {
        let problems = verify::problems(&program);
        assert!(problems.is_empty(), "malformed program: {}", problems.join("; "));
        let layout = Layout::new(&program, possible);
        let shape = layout.shape(&program);
        let mut bases = Vec::with_capacity(program.variables.len());
        let mut next = 0;
        for variable in &program.variables {
            bases.push(next);
            next += variable.elements() as usize;
        }
        let committed = program.actions.iter().map(|action| program.is_committed(action)).collect();
        let commits = program
            .processes
            .iter()
            .flat_map(|process| &process.locations)
            .any(|location| location.committed);
        let mut system = Interpreter {
            owned: program
                .processes
                .iter()
                .map(|process| vec![Vec::new(); process.locations.len()])
                .collect(),
            free: Vec::new(),
            positions: Vec::with_capacity(program.actions.len()),
            messages: messages(&program),
            counts: vec![0; program.processes.len()],
            program,
            layout,
            shape,
            bases,
            committed,
            commits,
            stop: StopFlag::never(),
        };
        system.index_actions();
        system
    }

    /// The same system, which ends its steps before they are done while the flag is up.
    #[must_use]
    pub fn until(mut self, stop: StopFlag) -> Interpreter {
        self.stop = stop;
        self
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Where its variables lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The value of an expression in a state; none if its evaluation faults.
    pub fn value_in(&self, record: &[u64], expression: &Expression) -> Option<i64> {
        let mut values = Vec::new();
        self.unpack(record, &mut values);
        self.evaluate(expression, &mut values).ok()
    }

    fn index_actions(&mut self) {
        for (number, action) in self.program.actions.iter().enumerate() {
            let position = match action.movers.first() {
                Some(mover) => {
                    let process = mover.process.index();
                    self.owned[process][mover.from as usize].push(number as u32);
                    self.counts[process] += 1;
                    self.counts[process] - 1
                }
                None => {
                    self.free.push(number as u32);
                    0
                }
            };
            self.positions.push(position);
        }
    }

    /// The values of a record, one per element, in declaration order; temporaries have any.
    fn unpack(&self, record: &[u64], values: &mut Vec<i64>) {
        values.clear();
        for (field, variable) in self.layout.fields.iter().zip(&self.program.variables) {
            if variable.role == Role::Temporary {
                values.extend(&variable.initial);
            } else {
                values.extend((0..field.elements).map(|index| field.read(record, index)));
            }
        }
    }

    /// Gives a command its arguments.
    fn bind(&self, command: &Command, arguments: &[i64], values: &mut [i64]) {
        for (parameter, argument) in command.parameters.iter().zip(arguments) {
            values[self.bases[parameter.index()]] = *argument;
        }
    }

    /// The value of an action's guard, 1 if it has none. Its arguments are bound afterwards.
    fn guard(&self, action: &Action, values: &mut [i64]) -> Result<i64, Halt> {
        self.bind(&action.command, &action.arguments, values);
        action.command.guard.as_ref().map_or(Ok(1), |guard| evaluate(self, values, guard))
    }

    /// The value of an expression that stands alone; no trouble if it was interrupted.
    fn evaluate(&self, expression: &Expression, values: &mut [i64]) -> Result<i64, Option<Trouble>> {
        evaluate(self, values, expression).map_err(|halt| match halt {
            Halt::Fault(trouble) => Some(trouble),
            Halt::Interrupted => None,
            Halt::Discard | Halt::Leave(_) => unreachable!("verified: labels neither assume nor leave"),
        })
    }

    /// Where a process is.
    fn location(&self, values: &[i64], process: usize) -> u32 {
        values[self.bases[self.program.processes[process].variable.index()]] as u32
    }

    fn labels(&self, values: &mut [i64]) -> Labels {
        let mut labels = Labels::default();
        for (bit, label) in self.program.labels.iter().enumerate() {
            match self.evaluate(&label.expression, values) {
                Ok(value) => labels.0 |= u64::from(value != 0) << bit,
                Err(Some(_)) => labels.0 |= Labels::FAULT.0,
                Err(None) => return Labels::INTERRUPTED,
            }
        }
        labels
    }

    fn expand_one(&self, source: &[u64], scratch: &mut Scratch, out: &mut Steps) -> Result<(), Unfinished> {
        self.unpack(source, &mut scratch.values);
        let labels = if out.columns().labels { self.labels(&mut scratch.values) } else { Labels::default() };
        if labels.interrupted() || self.stop.is_up() {
            return Err(Unfinished::Interrupted);
        }
        let enabled = match self.program.composition {
            Composition::Asynchronous => asynchronous::expand(self, source, scratch, out)?,
            Composition::Synchronous => synchronous::expand(self, source, scratch, out)?,
        };
        Ok(out.finish_source(labels, enabled)?)
    }

    fn start_all(&self, out: &mut Steps) -> Result<(), Unfinished> {
        let mut base = vec![0; self.layout.words()];
        let mut scratch = Scratch::default();
        for (variable, field) in self.program.variables.iter().zip(&self.layout.fields) {
            scratch.values.extend(&variable.initial);
            if variable.role == Role::Temporary {
                continue;
            }
            // An initial value that every start overwrites may have no code.
            for (index, value) in
                (0..).zip(&variable.initial).filter(|(_, value)| field.domain.contains(**value))
            {
                field.write(&mut base, index, *value);
            }
        }
        for (number, start) in self.program.starts.iter().enumerate() {
            if self.stop.is_up() {
                return Err(Unfinished::Interrupted);
            }
            self.bind(&start.command, &start.arguments, &mut scratch.values);
            match execute::run(self, &start.command.body, &base, &mut scratch) {
                Ok(()) => {
                    out.push(&scratch.target, number as u32, ProcessSet::default(), Marks::default())?;
                }
                Err(Halt::Fault(trouble)) => out.push_fault(trouble.fault(number as u32))?,
                Err(Halt::Discard) => {}
                Err(Halt::Interrupted) => return Err(Unfinished::Interrupted),
                Err(Halt::Leave(_)) => unreachable!("verified: blocks that are left are there"),
            }
        }
        Ok(out.finish_source(Labels::default(), ProcessSet::default())?)
    }
}

/// Why a source is not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfinished {
    /// There is no room.
    Full,
    /// Somebody asked for it.
    Interrupted,
}

impl From<Full> for Unfinished {
    fn from(Full: Full) -> Unfinished {
        Unfinished::Full
    }
}

impl Unfinished {
    /// Takes back what the source has added.
    fn leave(self, out: &mut Steps) {
        out.abandon_source();
        if self == Unfinished::Interrupted {
            out.interrupt();
        }
    }
}

/// The messages of all failures a program can report, by where they stand. Each command is looked at once.
fn messages(program: &Program) -> HashMap<(Span, FaultKind), String> {
    let mut messages = HashMap::new();
    let mut seen = HashSet::new();
    let actions = program.actions.iter().map(|action| &action.command);
    for command in actions.chain(program.starts.iter().map(|start| &start.command)) {
        if seen.insert(Arc::as_ptr(command)) {
            command.guard.iter().for_each(|guard| messages_in(guard, &mut messages));
            messages_of(&command.body, &mut messages);
        }
    }
    program.labels.iter().for_each(|label| messages_in(&label.expression, &mut messages));
    messages
}

fn messages_of(body: &[Statement], messages: &mut HashMap<(Span, FaultKind), String>) {
    Statement::for_each(body, &mut |statement| {
        if let Statement::Fail { kind, message: Some(message), span } = statement {
            messages.insert((*span, *kind), message.clone());
        }
        statement.for_each_expression(&mut |expression| messages_in(expression, messages));
    });
}

fn messages_in(expression: &Expression, messages: &mut HashMap<(Span, FaultKind), String>) {
    if let ExpressionKind::Compute(computation) = &expression.kind {
        messages_of(&computation.body, messages);
        return messages_in(&computation.value, messages);
    }
    expression.for_each_operand(&mut |operand| messages_in(operand, messages));
}

/// What one call works with.
#[derive(Default)]
struct Scratch {
    /// The values of the source; a body changes them and they are put back.
    values: Vec<i64>,
    /// What a body changed: place and old value.
    undo: Vec<(usize, i64)>,
    /// What a parallel assignment will store.
    pending: Vec<execute::Store>,
    /// The record a body led to.
    target: Vec<u64>,
}

impl TransitionSystem for Interpreter {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn initial(&self, out: &mut Steps) {
        out.clear();
        if let Err(reason) = self.start_all(out) {
            reason.leave(out);
        }
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        out.clear();
        let mut scratch = Scratch::default();
        for (finished, source) in sources.iter().enumerate() {
            if let Err(reason) = self.expand_one(source, &mut scratch, out) {
                reason.leave(out);
                return finished;
            }
        }
        sources.len()
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        let mut values = Vec::new();
        for (record, labels) in records.iter().zip(out) {
            self.unpack(record, &mut values);
            *labels = self.labels(&mut values);
        }
    }

    fn describe(&self, what: Query<'_>) -> Description {
        describe::describe(self, what)
    }
}
