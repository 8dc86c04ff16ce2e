//! How does a model written in Rust become a system that can be searched?
//!
//! A [`RustModel`] says where to start and which steps leave a state; what there is to speak of was declared with a [`SystemBuilder`]. [`RustSystem`] is both together: it fills buffers, remembers who
//! can move, evaluates labels, and finds the words for traces.

use super::builder::{Action, DeclaredAction, Predicate, SystemBuilder};
use super::state::{Made, NextState, State};
use crate::record::Records;
use crate::shape::Shape;
use crate::span::Span;
use crate::steps::{Fault, Full, Labels, Marks, ProcessSet, Steps};
use crate::system::{Description, Query, TransitionSystem};

/// A step relation over states whose fields were declared with a [`SystemBuilder`].
///
/// A model must always answer alike: the same state, the same steps in the same order.
pub trait RustModel: Sync {
    /// Makes the initial states, each from one whose fields have their least or first values.
    fn initial(&self, starts: &mut Starts<'_>);

    /// Makes the steps that leave a state.
    fn steps(&self, state: State<'_>, steps: &mut StepsFrom<'_>);
}

/// Where initial states go.
#[derive(Debug)]
pub struct Starts<'a> {
    out: &'a mut Steps,
    blank: &'a [u64],
    count: u32,
    room: Result<(), Full>,
}

/// Where the steps from a state go.
#[derive(Debug)]
pub struct StepsFrom<'a> {
    out: &'a mut Steps,
    source: &'a [u64],
    actions: &'a [DeclaredAction],
    /// Who can move, as far as it is known.
    enabled: ProcessSet,
    room: Result<(), Full>,
}

/// A model and what was declared for it: a system.
pub struct RustSystem<M> {
    name: String,
    model: M,
    shape: Shape,
    actions: Vec<DeclaredAction>,
    labels: Vec<Predicate>,
}

impl Starts<'_> {
    /// An initial state: what `make` makes of one whose fields have their least or first values.
    pub fn start(&mut self, make: impl FnOnce(&mut NextState<'_>)) {
        let (number, movers) = (self.count, ProcessSet::default());
        self.count += 1;
        self.room = self.room.and_then(|()| push(self.out, self.blank, number, movers, make).map(drop));
    }
}

impl StepsFrom<'_> {
    /// A step: what `make` makes of the state that it leaves.
    #[inline]
    pub fn step(&mut self, action: Action, make: impl FnOnce(&mut NextState<'_>)) {
        let movers = self.actions[action.0 as usize].movers;
        match self.room.and_then(|()| push(self.out, self.source, action.0, movers, make)) {
            Ok(Made::Nothing) => {}
            Ok(_) => self.enabled.0 |= movers.0,
            Err(full) => self.room = Err(full),
        }
    }
}

/// Adds a step to what `make` makes of a record, or the fault that it met.
#[inline]
fn push(
    out: &mut Steps,
    from: &[u64],
    action: u32,
    movers: ProcessSet,
    make: impl FnOnce(&mut NextState<'_>),
) -> Result<Made, Full> {
    out.push(from, action, movers, Marks::default())?;
    let mut next = NextState::new(out.target_mut(out.step_count() - 1));
    make(&mut next);
    let made = next.made();
    if made != Made::State {
        out.take_back_step();
    }
    if let Made::Fault(kind) = made {
        out.push_fault(Fault { action, kind, span: Span::default() })?;
    }
    Ok(made)
}

impl SystemBuilder {
    /// The system whose steps a model makes.
    pub fn system<M: RustModel>(self, model: M) -> RustSystem<M> {
        let shape = self.shape();
        let SystemBuilder { name, actions, labels, .. } = self;
        RustSystem { name, model, shape, actions, labels }
    }
}

impl<M: RustModel> RustSystem<M> {
    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// A state of the system, to be read with the model's fields.
    pub fn state<'a>(&self, record: &'a [u64]) -> State<'a> {
        debug_assert_eq!(record.len(), self.shape.words(), "records have the shape's width");
        State(record)
    }

    fn labels_of(&self, state: State<'_>) -> Labels {
        let holds = self.labels.iter().enumerate().map(|(bit, holds)| u64::from(holds(state)) << bit);
        Labels(holds.fold(0, |labels, label| labels | label))
    }

    fn push_steps(&self, record: &[u64], out: &mut Steps) -> Result<(), Full> {
        let labels = if out.columns().labels { self.labels_of(State(record)) } else { Labels::default() };
        let (actions, enabled) = (&self.actions[..], ProcessSet::default());
        let mut steps = StepsFrom { out, source: record, actions, enabled, room: Ok(()) };
        self.model.steps(State(record), &mut steps);
        let StepsFrom { enabled, room, .. } = steps;
        room.and_then(|()| out.finish_source(labels, enabled))
    }

    /// Names and values of all fields, in the order in which they were declared.
    fn values(&self, record: &[u64]) -> Vec<(String, String)> {
        let declared = self.shape.components.iter().rev();
        let values = declared.flat_map(|part| {
            (0..part.elements()).map(|index| (part.element_name(index), part.text(record, index)))
        });
        values.collect()
    }
}

impl<M: RustModel> TransitionSystem for RustSystem<M> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn initial(&self, out: &mut Steps) {
        out.clear();
        let blank = vec![0; self.shape.words()];
        let mut starts = Starts { out, blank: &blank, count: 0, room: Ok(()) };
        self.model.initial(&mut starts);
        let room = starts.room;
        if room.and_then(|()| out.finish_source(Labels::default(), ProcessSet::default())).is_err() {
            out.abandon_source();
        }
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        out.clear();
        for record in sources.iter() {
            if self.push_steps(record, out).is_err() {
                out.abandon_source();
                break;
            }
        }
        out.source_count()
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        for (record, labels) in records.iter().zip(out) {
            *labels = self.labels_of(State(record));
        }
    }

    fn describe(&self, what: Query<'_>) -> Description {
        let name = |action: u32| self.actions[action as usize].name.clone();
        let (title, values) = match what {
            Query::Record(record) => (self.name.clone(), self.values(record)),
            Query::Step { action, .. } => (name(action), Vec::new()),
            Query::Start(number) => (format!("start {number}"), Vec::new()),
            Query::Fault { fault, .. } => {
                (format!("{}: {}", name(fault.action), fault.kind.text()), Vec::new())
            }
            Query::Label { record, label } => {
                let holds = self.labels[label](State(record));
                let name = &self.shape.labels[label];
                (name.clone(), vec![(name.clone(), holds.to_string())])
            }
        };
        Description { title, values, ..Description::default() }
    }
}
