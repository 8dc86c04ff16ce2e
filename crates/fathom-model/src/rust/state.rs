//! What does a model see of a state, and how does it make another of it?

use super::field::{Field, Value};
use crate::fault::FaultKind;

/// A state, to be read.
#[derive(Clone, Copy, Debug)]
pub struct State<'a>(pub(super) &'a [u64]);

/// A state that is being made: at first the one that a step leaves, then what the model makes of it.
///
/// A value that its field was not declared for makes no state of the system: the step faults, which a search reports as a finding with the path that leads there.
#[derive(Debug)]
pub struct NextState<'a> {
    record: &'a mut [u64],
    made: Made,
}

/// What became of a state that was to be made. What is settled first stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// A state.
    State,
    /// There is no such step.
    Nothing,
    /// The step faults.
    Fault(FaultKind),
}

impl State<'_> {
    /// The value of a field.
    #[inline]
    pub fn get<T: Value>(self, field: Field<T>) -> T {
        field.read(self.0)
    }
}

impl<'a> NextState<'a> {
    pub(super) fn new(record: &'a mut [u64]) -> NextState<'a> {
        NextState { record, made: Made::State }
    }

    pub(super) fn made(&self) -> Made {
        self.made
    }

    /// The value that a field has by now.
    #[inline]
    pub fn get<T: Value>(&self, field: Field<T>) -> T {
        field.read(self.record)
    }

    /// The state as it is by now.
    pub fn state(&self) -> State<'_> {
        State(self.record)
    }

    /// Gives a field a value.
    #[inline]
    pub fn set<T: Value>(&mut self, field: Field<T>, value: T) {
        if !field.write(self.record, value) {
            self.settle(Made::Fault(FaultKind::Range));
        }
    }

    /// If the condition is false there is no such step, and nobody hears of it.
    #[inline]
    pub fn assume(&mut self, condition: bool) {
        if !condition {
            self.settle(Made::Nothing);
        }
    }

    /// If the condition is false the step faults: a search reports that it can happen.
    #[inline]
    pub fn assert(&mut self, condition: bool) {
        if !condition {
            self.settle(Made::Fault(FaultKind::Failure));
        }
    }

    fn settle(&mut self, made: Made) {
        if self.made == Made::State {
            self.made = made;
        }
    }
}
