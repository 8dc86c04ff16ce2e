//! What does a model say, whatever language it came from?
//!
//! A program is a set of guarded commands over typed variables. Locations of processes are variables like any other, so
//! an expression may read them; what is special about a process is that its actions are found by its location.
//!
//! **Asynchronous composition.** An action is enabled in a state iff every mover is at its `from` location, the commit rule
//! allows it (if any process is at a committed location, only actions all of whose movers are at committed
//! locations), and the guard is true. Each enabled action gives one step: its body is run from the top; if a statement
//! faults, the action gives a fault instead of a step. A fault in the guard is a fault of the action.
//!
//! **Synchronous composition.** Every action has one mover. A joint action chooses one enabled action of every process; it is
//! numbered in mixed radix: `((c0 * n1 + c1) * n2 + c2) ...`, where process p has np actions in the program and cp is the position
//! of the chosen one among them. All guards and right-hand sides read the old state; two writes to one scalar or
//! element are a [`FaultKind::DoubleWrite`](crate::expression::FaultKind). Guards are evaluated for all processes in order, then bodies in
//! order; a fault in the guard of one action is a fault of every joint action it is part of.
//!
//! **Temporaries** ([`Role::Temporary`]) are variables that belong to no state. Each is introduced by a [`Command`] as a parameter, by a
//! [`Statement::Block`] or an [`ExpressionKind::Compute`](crate::expression::ExpressionKind) as a local, or by a [`Statement::For`] as its counter,
//! and is in scope inside that alone. Calls of functions are written out where they stand: a program has no calls.
//!
//! **Undefined.** An [`optional`](Variable::optional) variable may have no value. Reading it then is a
//! [`FaultKind::Undefined`](crate::expression::FaultKind); only [`Statement::Copy`] and `IsUndefined` look at it without reading. Having
//! no value is part of the state. Where values are numbers (initial values, records) it is the number below the domain, `domain.low - 1`.
//!
//! **Order.** Asynchronous steps come by process, then by action: for each process in order, the actions whose *first* mover is that process
//! in program order; then actions without movers in program order. Synchronous ones by number.

use std::sync::Arc;

use crate::expression::{Domain, Expression, Overflow};
use crate::span::Span;
use crate::steps::ProcessSet;
use crate::structure::Structure;

pub use crate::expression::{Assignment, Place, ProcessId, Statement, VariableId};
pub use crate::steps::LABELS_MAX;

/// Guarded commands over typed variables.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The model's name, for reports.
    pub name: String,
    /// All variables in declaration order, which is the order of the record's bits; temporaries among them take none.
    pub variables: Vec<Variable>,
    /// The processes; none for rule-based models.
    pub processes: Vec<Process>,
    /// The names of the rules that actions come from; none for models of processes.
    pub rules: Vec<String>,
    /// The commands.
    pub actions: Vec<Action>,
    /// How the initial states come about: each start runs from the variables' initial values. No start, no state.
    pub starts: Vec<Start>,
    /// State predicates: what a search is asked to watch.
    pub labels: Vec<Label>,
    /// Whether processes move one at a time or all at once.
    pub composition: Composition,
    /// What happens to values that do not fit.
    pub overflow: Overflow,
    /// The model's own Büchi automaton, if it states one. It takes no part in the steps.
    pub property: Option<PropertyProcess>,
    /// What the model's language calls the parts of a state, if that is not the variables' names and numbers.
    pub words: Option<Arc<Words>>,
    /// How the model's text nests the values of a state; none if it is not known.
    pub structure: Option<Arc<Structure>>,
}

/// What the model's language calls the parts of a state; all by variable, temporaries left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The name of each element.
    pub places: Vec<Vec<String>>,
    /// The word for each value, from the least of the domain on; empty if they are numbers.
    pub values: Vec<Arc<[String]>>,
}

/// Whether processes move one at a time or all at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Composition {
    /// Interleaving.
    #[default]
    Asynchronous,
    /// Every process moves in every step.
    Synchronous,
}

/// A variable: a scalar or an array of one domain.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name a user reads, qualified by its process where it has one (`P.x`).
    pub name: String,
    /// What it is to the model.
    pub role: Role,
    /// The declared values.
    pub domain: Domain,
    /// How many elements, if it is an array (at least 1).
    pub length: Option<u32>,
    /// Whether an element may be undefined: then that is one more value, [`Variable::undefined`].
    pub optional: bool,
    /// One initial value per element (a scalar has one): of the domain, or undefined. A temporary has them whenever its scope is entered.
    pub initial: Vec<i64>,
    /// Where it is declared.
    pub span: Span,
}

/// What a variable is to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The location of a process: its domain is `0..=locations - 1`.
    Location(ProcessId),
    /// Data of one process.
    Local(ProcessId),
    /// Data of the whole system.
    Global,
    /// Contents or length of a channel's buffer.
    Buffer,
    /// No part of the state: what a command, a start or a label works with while it runs. Counters and parameters are scalars.
    Temporary,
}

/// A process: a name for a set of locations.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its name.
    pub name: String,
    /// Its locations; the codes of its location variable.
    pub locations: Vec<Location>,
    /// The variable that holds where it is.
    pub variable: VariableId,
    /// Where it is declared.
    pub span: Span,
}

/// A place in the text of a process.
#[derive(Clone, Debug)]
pub struct Location {
    /// Its name.
    pub name: String,
    /// Whether being there lets only committed processes move.
    pub committed: bool,
    /// Where it is declared.
    pub span: Span,
}

/// A guarded command.
#[derive(Clone, Debug)]
pub struct Action {
    /// What the command is called, if the language names it (a Murphi rule).
    pub name: Option<String>,
    /// The rule it is an instance of, by its place in [`Program::rules`]. It has no movers then.
    pub rule: Option<u32>,
    /// Which processes move, the one that owns the action first (sender before receiver).
    pub movers: Vec<Mover>,
    /// What is tested and done.
    pub command: Arc<Command>,
    /// The values of the command's parameters.
    pub arguments: Vec<i64>,
    /// The message that passes, for reports.
    pub exchange: Option<Exchange>,
    /// Where it stands; of a rendezvous, the sender's transition.
    pub span: Span,
}

/// What actions or starts test and do. The instances of one rule share one command and differ in their arguments: whoever does work for
/// each command does it once for all of them (they are the same [`Arc`]).
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Temporaries that hold the arguments, in the guard and in the body. Nothing assigns them.
    pub parameters: Vec<VariableId>,
    /// What must be true besides the locations; none is true. A start has none.
    pub guard: Option<Expression>,
    /// What is done, in order. Each mover's [`Statement::Move`] stands in it once, not inside another statement.
    pub body: Vec<Statement>,
    /// What was chosen out of multisets, for reports.
    pub chosen: Vec<Chosen>,
}

/// An element of a multiset that a command is about.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The name that stands for its slot.
    pub name: String,
    /// Where its parts are before the step, over the parameters, by the names of fields; one without a name is all of it.
    pub parts: Vec<(String, Place)>,
}

/// One process's part in an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mover {
    /// Who.
    pub process: ProcessId,
    /// Where it must be.
    pub from: u32,
    /// Where it will be.
    pub to: u32,
    /// Its transition in the source.
    pub span: Span,
}

/// What a rendezvous or a buffered send or receive carries, for reports.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The channel's name.
    pub channel: String,
    /// Who sends; none for a receive from a buffer.
    pub sender: Option<ProcessId>,
    /// Who receives; none for a send into a buffer.
    pub receiver: Option<ProcessId>,
    /// The values, over the old state.
    pub values: Vec<Expression>,
}

/// A way to begin.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// What it is called, if the language names it.
    pub name: Option<String>,
    /// What is done to the initial values.
    pub command: Arc<Command>,
    /// The values of the command's parameters.
    pub arguments: Vec<i64>,
    /// Where it stands.
    pub span: Span,
}

/// A predicate over states.
#[derive(Clone, Debug)]
pub struct Label {
    /// The name a user knows it by.
    pub name: String,
    /// Why it is there.
    pub kind: LabelKind,
    /// True if not zero.
    pub expression: Expression,
    /// Where it is stated.
    pub span: Span,
}

/// Why a label is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelKind {
    /// The model states that it always holds.
    Assertion,
    /// The user asks whether it always holds.
    Invariant,
    /// The user asks whether it is ever true.
    Goal,
    /// The model states that it is true of some reachable state.
    Cover,
    /// The model states that from every reachable state one is reachable where it is true.
    Liveness,
    /// An atom of a formula.
    Atom,
}

/// A Büchi automaton stated in the model: the runs that violate the property.
#[derive(Clone, Debug)]
pub struct PropertyProcess {
    /// Its name.
    pub name: String,
    /// Its states.
    pub locations: Vec<Location>,
    /// The initial one.
    pub initial: u32,
    /// Which are accepting.
    pub accepting: Vec<bool>,
    /// Its edges, in source order.
    pub edges: Vec<PropertyEdge>,
    /// Where it is declared.
    pub span: Span,
}

/// An edge of the model's Büchi automaton; its guard is read in the source state of the system's step.
#[derive(Clone, Debug)]
pub struct PropertyEdge {
    /// Where from.
    pub from: u32,
    /// Where to.
    pub to: u32,
    /// What must be true of the system's state; none is true.
    pub guard: Option<Expression>,
    /// Where it stands.
    pub span: Span,
}

impl Program {
    /// The variable of that number.
    pub fn variable(&self, id: VariableId) -> &Variable {
        &self.variables[id.index()]
    }

    /// The process of that number.
    pub fn process(&self, id: ProcessId) -> &Process {
        &self.processes[id.index()]
    }

    /// What steps are told apart by where fairness is concerned: the processes, or the rules of a model without processes.
    pub fn agents(&self) -> Vec<String> {
        match self.processes.is_empty() {
            true => self.rules.clone(),
            false => self.processes.iter().map(|process| process.name.clone()).collect(),
        }
    }

    /// The [agents](Program::agents) that an action moves.
    pub fn movers_of(&self, action: &Action) -> ProcessSet {
        let mut movers = ProcessSet::default();
        action.movers.iter().for_each(|mover| movers.insert(mover.process.0));
        if self.processes.is_empty() {
            action.rule.iter().for_each(|rule| movers.insert(*rule));
        }
        movers
    }

    /// Whether all movers of the action start from committed locations.
    pub fn is_committed(&self, action: &Action) -> bool {
        !action.movers.is_empty()
            && action
                .movers
                .iter()
                .all(|mover| self.process(mover.process).locations[mover.from as usize].committed)
    }

    /// Whether the program has no temporaries, nothing optional, and no statements but moves and assignments.
    pub fn is_plain(&self) -> bool {
        let commands = self.actions.iter().map(|action| &action.command);
        let mut commands = commands.chain(self.starts.iter().map(|start| &start.command));
        let plain = |it: &Statement| matches!(it, Statement::Move { .. } | Statement::Assign(_));
        self.variables.iter().all(|variable| variable.role != Role::Temporary && !variable.optional)
            && commands.all(|command| command.body.iter().all(plain))
    }

    /// How many actions a step may name: the actions, or the joint actions of a synchronous program. None if
    /// they do not fit 32 bits.
    pub fn action_count(&self) -> Option<u32> {
        match self.composition {
            Composition::Asynchronous => u32::try_from(self.actions.len()).ok(),
            Composition::Synchronous => {
                let count = |process: usize| {
                    self.actions.iter().filter(|action| action.movers[0].process.index() == process).count()
                };
                (0..self.processes.len()).try_fold(1u32, |product, process| {
                    product.checked_mul(u32::try_from(count(process)).ok()?)
                })
            }
        }
    }
}

impl Variable {
    /// How many values it holds.
    pub fn elements(&self) -> u32 {
        self.length.unwrap_or(1)
    }

    /// The number that stands for being undefined, if it may be.
    pub fn undefined(&self) -> Option<i64> {
        self.optional.then(|| self.domain.low.wrapping_sub(1))
    }

    /// All numbers that an element may hold: the domain, and the one that stands for being undefined.
    pub fn stored(&self) -> Domain {
        Domain { low: self.undefined().unwrap_or(self.domain.low), high: self.domain.high }
    }
}

impl Command {
    /// A command without parameters, for one action or start.
    pub fn new(guard: Option<Expression>, body: Vec<Statement>) -> Arc<Command> {
        Arc::new(Command { guard, body, ..Command::default() })
    }
}
