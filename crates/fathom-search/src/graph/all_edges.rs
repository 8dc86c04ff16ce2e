//! Which steps does a system have? All of them: the states are searched in memory, and expanded again whenever steps are looked at.

use std::cell::RefCell;

use fathom_disk::budget::{Budget, Charge, ChargedVec};
use fathom_disk::hash::hash_key;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some};

use crate::bodies::stages;
use crate::engines::ram::RamTable;
use crate::error::SearchError;
use crate::progress::choose::Edges;
use crate::stores::Layered;
use crate::task::{Ending, Observer, Settings, Task, Tuning};

/// All steps of a system whose states fit in memory.
pub struct AllEdges<'a> {
    system: &'a dyn TransitionSystem,
    table: RamTable,
    layers: u64,
    count: u64,
    /// Some of the states.
    states: ChargedVec<u64>,
    room: RefCell<(Steps, Charge)>,
}

/// States that buckets are estimated from.
const STATES_MAX: u64 = 100_000;

impl<'a> AllEdges<'a> {
    /// Searches the system.
    ///
    /// # Errors
    /// A refusal of memory if the states do not fit; [`SearchError::Stopped`] if the observer says so.
    pub fn of(
        system: &'a dyn TransitionSystem,
        budget: &Budget,
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<AllEdges<'a>, SearchError> {
        let shape = system.shape();
        let settings = Settings {
            threads,
            conditions: Vec::new(),
            stop_at_first: false,
            findings_max: 1,
            max_depth: None,
            coverage: false,
            tuning: Tuning::default(),
        };
        let mut table = RamTable::new(shape, budget, threads)?;
        let quiet = Quiet(observer);
        let outcome = stages::run(Task::new(system, budget, &settings).watched_by(&quiet), &mut table)?;
        if let Some(refusal) = outcome.refusal {
            return Err(refusal.into());
        }
        if outcome.ending != Ending::Complete {
            return Err(SearchError::Stopped);
        }
        table.forget_table()?;
        let (layers, count) = (outcome.layers.len() as u64, outcome.layers.sum());
        drop(outcome);
        let mut states = ChargedVec::with_capacity(budget, "sample", 0)?;
        let part = count.div_ceil(STATES_MAX).max(1);
        let mut refused = Ok(());
        for layer in 0..layers {
            table.visit_layer(layer, &mut |records| {
                for record in records.iter().filter(|record| hash_key(record).is_multiple_of(part)) {
                    if refused.is_ok() {
                        refused = states.extend(record);
                    }
                }
            })?;
        }
        refused?;
        let charge = budget.charge("sample", Steps::bytes_for(shape, Columns::NONE, 1))?;
        let room = RefCell::new((Steps::new(shape, Columns::NONE, 1), charge));
        Ok(AllEdges { system, table, layers, count, states, room })
    }

    /// Some of the states.
    pub fn states(&self) -> Records<'_> {
        Records::new(&self.states, self.system.shape().words())
    }

    /// How many states there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Calls `visit` with all states.
    pub fn visit_states(&self, visit: &mut dyn FnMut(Records<'_>)) -> Result<(), SearchError> {
        (0..self.layers).try_for_each(|layer| self.table.visit_layer(layer, visit).map(|_| ()))
    }
}

impl Edges for AllEdges<'_> {
    fn visit(&self, visit: &mut dyn FnMut(&[u64], &[u64])) -> Result<(), SearchError> {
        let (steps, charge) = &mut *self.room.borrow_mut();
        let mut failure = None;
        self.visit_states(&mut |records| {
            let mut rest = records;
            while !rest.is_empty() && failure.is_none() {
                match expand_some(self.system, rest, steps, &mut |bytes| charge.resize(bytes)) {
                    Ok(finished) => {
                        for (source, record) in rest.take(finished).iter().enumerate() {
                            for step in steps.steps_of(source) {
                                visit(record, steps.target(step));
                            }
                        }
                        rest = rest.skip(finished);
                    }
                    Err(error) => failure = Some(SearchError::from(error)),
                }
            }
        })?;
        failure.map_or(Ok(()), Err)
    }
}

/// Ends a search that nobody wants to hear of.
struct Quiet<'a>(&'a dyn Observer);

impl Observer for Quiet<'_> {
    fn stop(&self) -> bool {
        self.0.stop()
    }
}
