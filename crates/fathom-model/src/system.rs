//! The seam: what is a step relation?
//!
//! A search knows a model only as a [`TransitionSystem`]. Languages and wrappers (product, symmetry, checks) implement it; results
//! go where the caller said, a batch at a time, so `dyn` costs nothing and memory is bounded.

use crate::record::Records;
use crate::shape::Shape;
use crate::span::Span;
use crate::steps::{Fault, Labels, Steps};

/// A step relation over fixed-width records.
pub trait TransitionSystem: Sync {
    /// Width in bits; components (bit range, name, location of process p or variable); how many labels, actions, processes.
    fn shape(&self) -> &Shape;

    /// Clears `out` and fills it with the initial records as the steps of one source, whose actions are the numbers of the starts; a start
    /// that faults gives a fault. If `out` has no room for all of them the source stays unfinished: grow it and ask again.
    fn initial(&self, out: &mut Steps);

    /// Clears `out`, fills it with the steps of the first sources and says how many sources are finished: all of them, or fewer if `out` became full,
    /// or 0 if it has no room for the first one alone: grow it and ask again. The same record always gives the same steps
    /// in the same order: depth-first search resumes by index, replay and audit rely on it.
    ///
    /// A system that can be asked to stop in the middle of a step leaves the source it is at unfinished then, and says so: [`Steps::is_interrupted`].
    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize;

    /// Labels of many records at once: invariants, LTL atoms; one bit says that evaluating a label faulted. A system that is asked to stop gives
    /// [`Labels::INTERRUPTED`].
    fn label(&self, records: Records<'_>, out: &mut [Labels]);

    /// Cold: the words for a step, a fault, a record (names, source span, sender, receiver, channel, values).
    fn describe(&self, what: Query<'_>) -> Description;
}

/// What is borrowed is a system, too: wrappers may wrap what others hold.
impl<S: TransitionSystem + ?Sized> TransitionSystem for &S {
    fn shape(&self) -> &Shape {
        (**self).shape()
    }

    fn initial(&self, out: &mut Steps) {
        (**self).initial(out);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        (**self).expand(sources, out)
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        (**self).label(records, out);
    }

    fn describe(&self, what: Query<'_>) -> Description {
        (**self).describe(what)
    }
}

/// What is to be described.
#[derive(Clone, Copy, Debug)]
pub enum Query<'a> {
    /// A state: the values of its variables.
    Record(&'a [u64]),
    /// A step: who moved and how.
    Step {
        /// Where it starts.
        source: &'a [u64],
        /// Which action.
        action: u32,
    },
    /// A start, of an initial state or of a fault met there.
    Start(u32),
    /// A fault in a step.
    Fault {
        /// Where it starts.
        source: &'a [u64],
        /// What happened.
        fault: Fault,
    },
    /// A label on a state: what it is called, and if its evaluation faults there, how.
    Label {
        /// The state.
        record: &'a [u64],
        /// Which label.
        label: usize,
    },
}

/// The words for something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// One line: `P_0: wait -> q2`, `division by zero`, the name of a label.
    pub title: String,
    /// Where it stands in the source.
    pub span: Option<Span>,
    /// Who moves.
    pub moves: Vec<Move>,
    /// What passes.
    pub exchange: Option<Message>,
    /// Names and values: of a record, what a step has chosen out of multisets, or those that made it fault. Of a label, first its own name with its value, `true` or `false`, or with how it faults; then what decided that.
    pub values: Vec<(String, String)>,
    /// Of a fault, what was wrong about the value: `count` would become 4, outside 0..3.
    pub detail: Option<String>,
}

/// One process's part in a step, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Who.
    pub process: String,
    /// Where from.
    pub from: String,
    /// Where to.
    pub to: String,
    /// Its transition in the source.
    pub span: Span,
}

/// A message that passes in a step, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Over which channel.
    pub channel: String,
    /// From whom, unless it comes out of a buffer.
    pub sender: Option<String>,
    /// To whom, unless it goes into a buffer.
    pub receiver: Option<String>,
    /// What.
    pub values: Vec<String>,
}

/// Why there are no steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfilled<E> {
    /// There is no room for them.
    Room(E),
    /// The system was asked to stop before it had them.
    Interrupted,
}

/// Expands as [`TransitionSystem::expand`] does, but never returns 0 for want of room: grows `out` when even one source does not fit,
/// after `charge` has agreed to the new number of bytes.
pub fn expand_some<E>(
    system: &dyn TransitionSystem,
    sources: Records<'_>,
    out: &mut Steps,
    charge: &mut dyn FnMut(usize) -> Result<(), E>,
) -> Result<usize, Unfilled<E>> {
    loop {
        let finished = system.expand(sources, out);
        if finished > 0 || sources.is_empty() {
            return Ok(finished);
        }
        if out.is_interrupted() {
            return Err(Unfilled::Interrupted);
        }
        grow(out, charge)?;
    }
}

/// The initial records as [`TransitionSystem::initial`] gives them, in a buffer grown as far as needed.
pub fn initial_all<E>(
    system: &dyn TransitionSystem,
    out: &mut Steps,
    charge: &mut dyn FnMut(usize) -> Result<(), E>,
) -> Result<(), Unfilled<E>> {
    loop {
        system.initial(out);
        if out.source_count() == 1 {
            return Ok(());
        }
        if out.is_interrupted() {
            return Err(Unfilled::Interrupted);
        }
        grow(out, charge)?;
    }
}

fn grow<E>(out: &mut Steps, charge: &mut dyn FnMut(usize) -> Result<(), E>) -> Result<(), Unfilled<E>> {
    charge(out.grown_bytes()).map_err(Unfilled::Room)?;
    out.grow();
    Ok(())
}
