//! Which states are alike, and which of them stands for all?
//!
//! A permutation of a scalarset acts on the values of that type and on the indices of arrays over it, everywhere at once; one of the
//! slots of a multiset acts on the slots of that multiset alone. Undefined values stay. [`Symmetric`] puts in place of every record its
//! representative, a record that some permutation makes of it. Two states that are not alike are never made one; two that are alike are, unless
//! telling that took more permutations than [`TRIES_MAX`].
//!
//! | file | question |
//! |---|---|
//! | `orbits` | where do permutations act in a record, and what do they make of it? |
//! | `canonical` | which of the records that are alike stands for all? |
//! | `recent` | was the representative of this record found a moment ago? |

mod canonical;
mod orbits;
mod recent;

use std::sync::{Mutex, PoisonError};

pub use self::canonical::{Scratch, TRIES_MAX};
pub use self::orbits::{Orbits, Permutation};
use self::recent::Recent;
use crate::program::LABELS_MAX;
use crate::record::Records;
use crate::shape::Shape;
use crate::steps::{Columns, Labels, Steps};
use crate::system::{Description, Query, TransitionSystem};

/// Where the values of scalarsets and the slots of multisets stand in a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symmetry {
    /// The scalarsets that the state uses.
    pub scalarsets: Vec<Scalarset>,
    /// How many multisets the state holds; those of one array count as one.
    pub multisets: u32,
    /// Of each variable of the program's state, in order.
    pub variables: Vec<VariableSymmetry>,
    /// The scalarsets whose values the model tells apart, by number: nothing permutes them.
    pub told_apart: Vec<u32>,
}

impl Symmetry {
    /// Whether every state is alike to itself alone.
    pub fn is_trivial(&self) -> bool {
        self.multisets == 0 && self.scalarsets.iter().all(|scalarset| scalarset.size < 2)
    }
}

/// A type whose values are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalarset {
    /// The name of the type, if it has one.
    pub name: Option<String>,
    /// How many values it has.
    pub size: u32,
}

/// Where permutations act on a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableSymmetry {
    /// Of each index of the array, the outermost first and counted slowest. None for a scalar.
    pub dimensions: Vec<Vec<Stretch>>,
    /// Of its values, from the least value of its domain on.
    pub values: Vec<Stretch>,
}

/// Neighbouring indices or values that one permutation acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// How many.
    pub size: u32,
    /// What they are.
    pub kind: StretchKind,
}

/// What permutes indices or values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StretchKind {
    /// Nothing.
    Plain,
    /// A permutation of the scalarset of that number.
    Scalarset(u32),
    /// A permutation of the slots of the multiset of that number.
    Slots(u32),
}

/// A system in which states that are alike are one. Its steps lead to the representatives of their targets, so a path of it is not one of the
/// system inside.
///
/// A step to a state that is alike leads back to the source here and elsewhere there. Where that matters, [`Symmetric::excusing`] adds a label.
///
/// Memory: for each thread that expands at a time, the room of some thousand records.
#[derive(Debug)]
pub struct Symmetric<S> {
    inner: S,
    orbits: Orbits,
    /// With the label that excuses states, if there is one.
    shape: Shape,
    excuse: Option<Excuse>,
    scratch: Mutex<Vec<(Scratch, Recent)>>,
}

/// What excuses a state from being a deadlock.
#[derive(Clone, Copy, Debug)]
struct Excuse {
    /// The label that says so.
    label: usize,
    /// A label that is true in valid ends.
    end: Option<usize>,
}

/// Room for the steps of one source when labels are asked for, at first.
const STEPS: usize = 64;

impl<S: TransitionSystem> Symmetric<S> {
    /// Joins states that are alike. The labels of the system must be the same for states that are.
    pub fn new(inner: S, symmetry: &Symmetry) -> Symmetric<S> {
        let orbits = Orbits::new(inner.shape(), symmetry);
        let shape = inner.shape().clone();
        Symmetric { inner, orbits, shape, excuse: None, scratch: Mutex::default() }
    }

    /// With one more label, [`Symmetric::excuse`]: true where a step leads to another state, though that may be alike, and where the label
    /// `end` is true. Such a state does not stutter, whatever its steps look like here. There must be room for the label.
    #[must_use]
    pub fn excusing(mut self, end: Option<usize>) -> Symmetric<S> {
        let label = self.shape.labels.len();
        assert!(label < LABELS_MAX, "there is room for one more label");
        self.shape.labels.push("no deadlock".into());
        self.excuse = Some(Excuse { label, end });
        self
    }

    /// The label that excuses a state from being a deadlock, if there is one.
    pub fn excuse(&self) -> Option<usize> {
        self.excuse.map(|excuse| excuse.label)
    }

    /// The system inside.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// What is alike.
    pub fn orbits(&self) -> &Orbits {
        &self.orbits
    }

    fn canonicalise(&self, out: &mut Steps) {
        let held = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let (mut scratch, mut recent) =
            held.unwrap_or_else(|| (Scratch::default(), Recent::new(self.shape.words())));
        for step in 0..out.step_count() {
            recent.replace(out.target_mut(step), |record| {
                self.orbits.canonical(record, &mut scratch);
            });
        }
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push((scratch, recent));
    }
}

impl Excuse {
    fn added(self, labels: Labels, moves: bool) -> Labels {
        let end = !labels.faulted() && self.end.is_some_and(|end| labels.holds(end));
        Labels(labels.0 | u64::from(moves || end) << self.label)
    }
}

impl<S: TransitionSystem> TransitionSystem for Symmetric<S> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn initial(&self, out: &mut Steps) {
        self.inner.initial(out);
        self.canonicalise(out);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        let finished = self.inner.expand(sources, out);
        if let Some(excuse) = self.excuse.filter(|_| out.columns().labels) {
            for (source, record) in sources.take(finished).iter().enumerate() {
                let moves = out.steps_of(source).any(|step| out.target(step) != record);
                out.set_labels(source, excuse.added(out.labels(source), moves));
            }
        }
        self.canonicalise(out);
        finished
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.inner.label(records, out);
        let Some(excuse) = self.excuse else { return };
        let mut steps = Steps::new(self.inner.shape(), Columns::NONE, STEPS);
        for (record, labels) in records.iter().zip(out) {
            while self.inner.expand(Records::new(record, record.len()), &mut steps) == 0
                && !steps.is_interrupted()
            {
                steps.grow();
            }
            if steps.is_interrupted() || labels.interrupted() {
                *labels = Labels::INTERRUPTED;
                continue;
            }
            let moves = steps.targets().iter().any(|target| target != record);
            *labels = excuse.added(*labels, moves);
        }
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.inner.describe(what)
    }
}
