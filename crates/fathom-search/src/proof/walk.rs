//! How does an audit go over states on disk, making every step of each?

use fathom_disk::budget::{Budget, Charge};
use fathom_disk::set::KeyStream;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use super::error::AuditError;
use crate::error::SearchError;
use crate::task::{Observer, Phase, Progress};

/// Room for the steps of some states, and how far it is.
pub(super) struct Walk<'a> {
    system: &'a dyn TransitionSystem,
    budget: &'a Budget,
    observer: &'a dyn Observer,
    pub(super) steps: Steps,
    /// Steps, and what the caller keeps beside them.
    charge: Charge,
    /// States that were expanded.
    expanded: u64,
    /// Steps from them.
    pub(super) transitions: u64,
}

/// Takes a chunk of keys.
pub(super) type Each<'e, 'a> = dyn FnMut(&mut Walk<'a>, &[u64]) -> Result<(), AuditError> + 'e;

impl<'a> Walk<'a> {
    /// With steps of these columns, so many at first at most, and so many bytes for what the caller keeps beside them.
    pub(super) fn new(
        (system, columns): (&'a dyn TransitionSystem, Columns),
        steps_max: usize,
        beside: usize,
        budget: &'a Budget,
        observer: &'a dyn Observer,
    ) -> Result<Walk<'a>, AuditError> {
        let shape = system.shape();
        let room = (budget.free() / 16 / Steps::bytes_for(shape, columns, 1)).clamp(1, steps_max);
        let charge = budget.charge("audit", Steps::bytes_for(shape, columns, room) + beside);
        let charge = charge.map_err(SearchError::from)?;
        let steps = Steps::new(shape, columns, room);
        Ok(Walk { system, budget, observer, steps, charge, expanded: 0, transitions: 0 })
    }

    /// Makes the starts.
    pub(super) fn initial(&mut self) -> Result<(), AuditError> {
        let Walk { steps, charge, .. } = self;
        let beside = charge.bytes() - steps.bytes();
        let room = &mut |bytes| charge.resize(beside + bytes);
        Ok(initial_all(self.system, steps, room).map_err(SearchError::from)?)
    }

    /// Makes the steps of the first of some states, and says of how many.
    pub(super) fn expand(&mut self, sources: Records<'_>) -> Result<usize, AuditError> {
        let Walk { steps, charge, .. } = self;
        let beside = charge.bytes() - steps.bytes();
        let room = &mut |bytes| charge.resize(beside + bytes);
        let finished = expand_some(self.system, sources, steps, room).map_err(SearchError::from)?;
        self.expanded += finished as u64;
        self.transitions += self.steps.step_count() as u64;
        Ok(finished)
    }

    /// Hands the keys of a stream of so many states on, chunk by chunk, and tells the observer, who may stop it.
    pub(super) fn over(
        &mut self,
        states: u64,
        stream: &mut dyn KeyStream,
        each: &mut Each<'_, 'a>,
    ) -> Result<(), AuditError> {
        while stream.advance()? {
            if self.observer.stop() {
                return Err(AuditError::Stopped);
            }
            each(self, stream.keys())?;
            self.observer.progress(Progress {
                frontier: states,
                expanded: self.expanded,
                states,
                transitions: self.transitions,
                ..Progress::of(Phase::Audit, self.budget)
            });
        }
        Ok(())
    }
}
