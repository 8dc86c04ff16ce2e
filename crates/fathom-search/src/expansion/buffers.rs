//! What does one thread need to expand states in batches?

use fathom_disk::budget::Charge;
use fathom_model::record::RecordBuffer;
use fathom_model::steps::{Columns, Steps};

use super::is_much;
use super::tally::Tally;
use crate::error::SearchError;
use crate::task::{Task, Tuning};

/// What a thread needs to expand batches. No two threads' share a cache line, nor a pair of lines that are fetched together: each counts
/// here for every state.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Buffers {
    pub(crate) batch: RecordBuffer,
    /// The most records of a batch.
    pub(crate) batch_records: usize,
    pub(crate) steps: Steps,
    /// Room for steps at first: a state that has more makes it grow.
    capacity: usize,
    pub(crate) charge: Charge,
    pub(crate) tally: Tally,
}

impl Buffers {
    pub(crate) fn new(task: Task<'_>, threads: usize) -> Result<Buffers, SearchError> {
        let Task { system, budget, settings, .. } = task;
        let shape = system.shape();
        let labels = settings.conditions.iter().any(|condition| condition.reads_labels());
        let columns = Columns { labels, actions: settings.coverage, ..Columns::NONE };
        let Tuning { batch_records_max, steps_per_source, .. } = settings.tuning;
        let share = budget.free() / (16 * threads);
        let step = Steps::bytes_for(shape, columns, 1);
        let each = shape.words() * 8 + steps_per_source * step;
        let batch_records = (share / each).clamp(1, batch_records_max);
        let capacity = (batch_records * steps_per_source).min((share / step).max(1));
        let bytes = batch_records * shape.words() * 8 + Steps::bytes_for(shape, columns, capacity);
        let charge = budget.charge("expansion", bytes)?;
        let steps = Steps::new(shape, columns, capacity);
        let batch = RecordBuffer::with_capacity(shape.words(), batch_records);
        Ok(Buffers { batch, batch_records, steps, capacity, charge, tally: Tally::new(system, settings) })
    }

    /// Gives back what steps have grown to, if that is much: closing a layer has no use for them, and for the memory it has.
    pub(crate) fn give_back(&mut self, task: Task<'_>) -> Result<(), SearchError> {
        let Buffers { steps, capacity, charge, .. } = self;
        if steps.capacity() > *capacity && is_much(charge.bytes(), task.budget) {
            let held = charge.bytes() - steps.bytes();
            *steps = Steps::new(task.system.shape(), steps.columns(), *capacity);
            charge.resize(held + steps.bytes())?;
        }
        Ok(())
    }
}
