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
//! **Order.** Asynchronous steps come by process, then by action: for each process in order, the actions whose *first* mover is that process
//! in program order; then actions without movers in program order. Synchronous ones by number.

use crate::expression::{Domain, Expression, Overflow};
use crate::span::Span;

/// The most labels a program may have: a word of bits, less one that says that evaluation faulted.
pub const LABELS_MAX: usize = 63;

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index_type! {
    /// A variable, by its place in [`Program::variables`].
    VariableId
}
index_type! {
    /// A process, by its place in [`Program::processes`].
    ProcessId
}

/// Guarded commands over typed variables.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The model's name, for reports.
    pub name: String,
    /// All variables in declaration order, which is the order of the record's bits.
    pub variables: Vec<Variable>,
    /// The processes; none for rule-based models.
    pub processes: Vec<Process>,
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
    /// One initial value per element (a scalar has one).
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
    /// Which processes move, the one that owns the action first (sender before receiver).
    pub movers: Vec<Mover>,
    /// What must be true besides the locations; none is true.
    pub guard: Option<Expression>,
    /// What is done, in order. Each mover's [`Statement::Move`] stands in it once.
    pub body: Vec<Statement>,
    /// The message that passes, for reports.
    pub exchange: Option<Exchange>,
    /// Where it stands; of a rendezvous, the sender's transition.
    pub span: Span,
}

/// One process's part in an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Something an action does.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A process goes to a location.
    Move {
        /// Who.
        process: ProcessId,
        /// Where to.
        to: u32,
    },
    /// Assignments in parallel: for each in order, index, value and range are evaluated and checked in the state before the
    /// statement; then all are stored from left to right, so the last write to a place wins.
    Assign(Vec<Assignment>),
}

/// One assignment.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Where to.
    pub place: Place,
    /// What.
    pub value: Expression,
    /// Where it stands.
    pub span: Span,
}

/// A scalar variable or an element.
#[derive(Clone, Debug)]
pub struct Place {
    /// The variable.
    pub variable: VariableId,
    /// The index, if the variable is an array.
    pub index: Option<Expression>,
    /// Where it stands.
    pub span: Span,
}

/// A way to begin.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// What it is called, if the language names it.
    pub name: Option<String>,
    /// What is done to the initial values.
    pub body: Vec<Statement>,
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

    /// Whether all movers of the action start from committed locations.
    pub fn is_committed(&self, action: &Action) -> bool {
        !action.movers.is_empty()
            && action
                .movers
                .iter()
                .all(|mover| self.process(mover.process).locations[mover.from as usize].committed)
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
}
