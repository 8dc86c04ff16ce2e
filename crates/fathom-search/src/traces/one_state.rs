//! What are the steps of one state, in room that is charged however many they are?

use fathom_disk::budget::{Budget, Charge};
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use crate::error::SearchError;

/// A system, and room for the steps of one state.
pub struct OneState<'a> {
    system: &'a dyn TransitionSystem,
    steps: Steps,
    charge: Charge,
}

/// Room for steps at first, at most.
const STEPS: usize = 256;

impl<'a> OneState<'a> {
    /// Room for a few steps, charged in the name of `owner`.
    pub fn new(
        system: &'a dyn TransitionSystem,
        columns: Columns,
        budget: &Budget,
        owner: &'static str,
    ) -> Result<OneState<'a>, SearchError> {
        let each = Steps::bytes_for(system.shape(), columns, 1);
        let capacity = (budget.free() / 8 / each).clamp(1, STEPS);
        let charge = budget.charge(owner, Steps::bytes_for(system.shape(), columns, capacity))?;
        Ok(OneState { system, steps: Steps::new(system.shape(), columns, capacity), charge })
    }

    /// The steps of a state.
    ///
    /// # Errors
    /// If the budget has no room for them, or the system was asked to stop.
    pub fn expand(&mut self, record: &[u64]) -> Result<&Steps, SearchError> {
        let OneState { system, steps, charge } = self;
        let source = Records::new(record, record.len());
        expand_some(*system, source, steps, &mut |bytes| charge.resize(bytes))?;
        Ok(steps)
    }

    /// The initial states, as the steps of one.
    ///
    /// # Errors
    /// As [`OneState::expand`].
    pub fn initial(&mut self) -> Result<&Steps, SearchError> {
        let OneState { system, steps, charge } = self;
        initial_all(*system, steps, &mut |bytes| charge.resize(bytes))?;
        Ok(steps)
    }
}
