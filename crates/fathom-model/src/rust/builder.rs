//! What is a system written in Rust made of, and what is everything called?
//!
//! The fields of its states, its processes and actions, and its labels are declared one after the other; each declaration gives a small handle by which the model speaks of the thing. Names are for
//! reports and formulas. The field declared first has the lowest bits, so that a handle knows its place at once; otherwise fields lie as close as the variables of a program do.

use std::fmt::{self, Debug, Formatter};
use std::ops::RangeInclusive;

use super::field::{Array, Choice, Field, Value};
use super::state::State;
use crate::domain::Domain;
use crate::shape::{Component, ComponentKind, Shape};
use crate::steps::{LABELS_MAX, ProcessSet};

/// Something that moves: what fairness is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Process(u32);

/// A kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Action(pub(super) u32);

/// What is declared so far.
///
/// ```
/// use fathom_model::rust::SystemBuilder;
///
/// let mut system = SystemBuilder::new("counter");
/// let count = system.range("count", 0u32..=9);
/// let count_up = system.action("count up");
/// system.label("full", move |state| state.get(count) == 9);
/// let shape = system.shape();
/// assert_eq!((shape.width_bits, shape.action_count), (4, 1));
/// ```
pub struct SystemBuilder {
    pub(super) name: String,
    shape: Shape,
    pub(super) actions: Vec<DeclaredAction>,
    pub(super) labels: Vec<Predicate>,
}

/// Whether a label is true of a state.
pub(super) type Predicate = Box<dyn Fn(State<'_>) -> bool + Send + Sync>;

/// An action: what it is called, and who moves.
#[derive(Clone, Debug)]
pub(super) struct DeclaredAction {
    pub(super) name: String,
    pub(super) movers: ProcessSet,
}

impl SystemBuilder {
    /// A system of that name, of which nothing is declared yet.
    pub fn new(name: impl Into<String>) -> SystemBuilder {
        let (shape, actions, labels) = (Shape::default(), Vec::new(), Vec::new());
        SystemBuilder { name: name.into(), shape, actions, labels }
    }

    /// A field for an integer from a range. It takes no more bits than the values need; a new state has the least of them.
    ///
    /// # Panics
    /// If the range is empty, or beyond 64 bits with a sign.
    pub fn range<T: Value>(&mut self, name: impl Into<String>, values: RangeInclusive<T>) -> Field<T> {
        self.field(name.into(), ComponentKind::Variable, domain(&values), None)
    }

    /// So many integers from a range.
    ///
    /// # Panics
    /// As [`SystemBuilder::range`], and if there is no element.
    pub fn ranges<T: Value>(
        &mut self,
        name: impl Into<String>,
        length: usize,
        values: RangeInclusive<T>,
    ) -> Array<T> {
        self.array(name.into(), ComponentKind::Variable, domain(&values), length)
    }

    /// A field for one of a few values with names; `bool` is such a choice. A new state has the first of them.
    pub fn choice<T: Choice>(&mut self, name: impl Into<String>) -> Field<T> {
        let (kind, domain) = named::<T>();
        self.field(name.into(), kind, domain, None)
    }

    /// So many choices.
    ///
    /// # Panics
    /// If there is no element.
    pub fn choices<T: Choice>(&mut self, name: impl Into<String>, length: usize) -> Array<T> {
        let (kind, domain) = named::<T>();
        self.array(name.into(), kind, domain, length)
    }

    /// Something that moves. Only the first 64 can be treated fairly.
    pub fn process(&mut self, name: impl Into<String>) -> Process {
        self.shape.processes.push(name.into());
        Process(self.shape.processes.len() as u32 - 1)
    }

    /// A kind of step in which no process moves.
    pub fn action(&mut self, name: impl Into<String>) -> Action {
        self.declare(name.into(), ProcessSet::default())
    }

    /// A kind of step that a process makes. Reports call it `process: name`.
    pub fn action_of(&mut self, process: Process, name: &str) -> Action {
        let mut movers = ProcessSet::default();
        movers.insert(process.0);
        self.declare(format!("{}: {name}", self.shape.processes[process.0 as usize]), movers)
    }

    /// A property of states: an invariant, a goal, an atom of a formula, whatever a search is asked.
    ///
    /// # Panics
    /// If there are 63 labels already.
    pub fn label(
        &mut self,
        name: impl Into<String>,
        holds: impl Fn(State<'_>) -> bool + Send + Sync + 'static,
    ) {
        assert!(self.labels.len() < LABELS_MAX, "a state has at most {LABELS_MAX} labels");
        self.shape.labels.push(name.into());
        self.labels.push(Box::new(holds));
    }

    /// The form of the records, for whoever implements [`TransitionSystem`](crate::system::TransitionSystem) without the help of a [`RustModel`](super::RustModel).
    pub fn shape(&self) -> Shape {
        let mut shape = self.shape.clone();
        shape.width_bits = shape.width_bits.max(1);
        shape.action_count = self.actions.len() as u32;
        // The parts of a record are listed from the highest bits down.
        shape.components.reverse();
        shape
    }

    fn declare(&mut self, name: String, movers: ProcessSet) -> Action {
        self.actions.push(DeclaredAction { name, movers });
        Action(self.actions.len() as u32 - 1)
    }

    fn array<T: Value>(
        &mut self,
        name: String,
        kind: ComponentKind,
        domain: Domain,
        length: usize,
    ) -> Array<T> {
        assert!(length > 0, "an array has an element");
        let length = u32::try_from(length).expect("an array is shorter than 2^32");
        Array::new(self.field(name, kind, domain, Some(length)), length)
    }

    /// The place of the only element, or the first, which has the highest bits.
    fn field<T: Value>(
        &mut self,
        name: String,
        kind: ComponentKind,
        domain: Domain,
        length: Option<u32>,
    ) -> Field<T> {
        let element_bits = domain.bits();
        let others = element_bits * (length.unwrap_or(1) - 1);
        let low = self.shape.width_bits + others;
        self.shape.width_bits = low + element_bits;
        let component = Component { name, kind, domain, undefined: None, element_bits, length, low };
        self.shape.components.push(component);
        Field::new(domain, low)
    }
}

impl Debug for SystemBuilder {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SystemBuilder")
            .field("name", &self.name)
            .field("shape", &self.shape())
            .finish()
    }
}

fn domain<T: Value>(values: &RangeInclusive<T>) -> Domain {
    let number = |value: &T| value.number().expect("the ends of a range are numbers of 64 bits with a sign");
    Domain::new(number(values.start()), number(values.end()))
}

fn named<T: Choice>() -> (ComponentKind, Domain) {
    let names: Vec<String> = T::ALL.iter().map(|(_, name)| (*name).to_owned()).collect();
    let domain = Domain::new(0, names.len() as i64 - 1);
    (ComponentKind::Named(names), domain)
}
