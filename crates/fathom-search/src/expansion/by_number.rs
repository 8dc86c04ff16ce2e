//! Where do the steps of states of a closed set lead, by number?
//!
//! Memory of one: a buffer of steps, the numbers of their targets, and room for those that are sent on; two batches of records. All charged.

use fathom_disk::budget::{Budget, Charge};
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some};

use crate::error::SearchError;
use crate::files::closed_set::ClosedSet;

/// Expands states of a closed set and gives the numbers of what their steps lead to. For one thread.
pub(crate) struct Expander<'a> {
    pub(crate) system: &'a dyn TransitionSystem,
    pub(crate) set: &'a ClosedSet<'a>,
    /// Which steps count: all, or those that carry all marks.
    only_marked: bool,
    all_marks: u64,
    steps: Steps,
    charge: Charge,
    numbers: Vec<u64>,
    /// Places of steps whose targets are sent on.
    sent: Vec<u32>,
    batch: Option<RecordBuffer>,
    spare: RecordBuffer,
    /// Numbers of states that were kept.
    kept: Vec<u64>,
    pub(crate) visits: u64,
    pub(crate) edges: u64,
}

/// A step of a source, by its place.
pub(crate) struct Taken<'a> {
    pub(crate) steps: &'a Steps,
    pub(crate) step: usize,
    /// The number of its target.
    pub(crate) number: u64,
}

/// Room for steps at first, at most.
const STEPS: usize = 4096;
/// What is held beside a step: its number, and its place.
const BESIDE_BYTES: usize = 12;

impl<'a> Expander<'a> {
    /// One of so many that share a budget.
    pub(crate) fn new(
        system: &'a dyn TransitionSystem,
        set: &'a ClosedSet<'a>,
        only_marked: bool,
        threads: usize,
        budget: &Budget,
    ) -> Result<Expander<'a>, SearchError> {
        let (shape, words) = (system.shape(), system.shape().words());
        let columns = Columns { marks: true, actions: true, ..Columns::NONE };
        let each = Steps::bytes_for(shape, columns, 1) + BESIDE_BYTES;
        let capacity = (budget.free() / 16 / threads / each).clamp(1, STEPS);
        // Two batches of records, as large as a block of the set, and the numbers of one.
        let records = set.block_keys_max().max(1);
        let batches = records * (2 * words * 8 + 8);
        Ok(Expander {
            system,
            set,
            only_marked,
            all_marks: if shape.mark_count >= 64 { u64::MAX } else { (1 << shape.mark_count) - 1 },
            charge: budget.charge("expansion", each * capacity + batches)?,
            steps: Steps::new(shape, columns, capacity),
            numbers: Vec::new(),
            sent: Vec::new(),
            batch: Some(RecordBuffer::with_capacity(words, records)),
            spare: RecordBuffer::with_capacity(words, records),
            kept: Vec::with_capacity(records),
            visits: 0,
            edges: 0,
        })
    }

    /// Expands sources and visits every step that counts and stays in the set, with the place of its source.
    pub(crate) fn each(
        &mut self,
        sources: Records<'_>,
        mut visit: impl FnMut(usize, Taken<'_>) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let visit = |source, taken: Taken<'_>| visit(source, taken).map(|()| false);
        self.each_then_send(sources, |_| Ok(()), visit)
    }

    /// The same, and targets that `visit` is true of are sent on, some at a time.
    pub(crate) fn each_then_send(
        &mut self,
        sources: Records<'_>,
        send: impl Fn(&mut dyn Iterator<Item = &[u64]>) -> Result<(), SearchError>,
        mut visit: impl FnMut(usize, Taken<'_>) -> Result<bool, SearchError>,
    ) -> Result<(), SearchError> {
        let mut done = 0;
        while done < sources.len() {
            let finished = self.expand(sources.skip(done))?;
            self.sent.clear();
            for source in 0..finished {
                for step in self.steps.steps_of(source) {
                    if self.counts(step) {
                        let (steps, number) = (&self.steps, self.numbers[step]);
                        if visit(done + source, Taken { steps, step, number })? {
                            self.sent.push(step as u32);
                        }
                    }
                }
            }
            if !self.sent.is_empty() {
                send(&mut self.sent.iter().map(|step| self.steps.target(*step as usize)))?;
            }
            done += finished;
        }
        Ok(())
    }

    /// Whether a step stays in the set, and is one of those that count.
    #[inline]
    fn counts(&self, step: usize) -> bool {
        (!self.only_marked || self.steps.marks(step).0 & self.all_marks == self.all_marks)
            && self.set.has(self.steps.target(step))
    }

    /// Expands some of the sources, at least one, and numbers the targets.
    fn expand(&mut self, sources: Records<'_>) -> Result<usize, SearchError> {
        let Expander { steps, charge, .. } = self;
        let step = steps.bytes() / steps.capacity();
        let all = |bytes: usize| bytes + bytes / step * BESIDE_BYTES;
        let held = charge.bytes() - all(steps.bytes());
        let finished =
            expand_some(self.system, sources, steps, &mut |bytes| charge.resize(held + all(bytes)))?;
        self.visits += finished as u64;
        self.edges += self.steps.step_count() as u64;
        self.numbers.clear();
        self.set.numbers(self.steps.targets(), &mut self.numbers);
        Ok(finished)
    }

    /// Keeps those among some states whose numbers are wanted; these are [`Expander::kept`].
    pub(crate) fn keep(&mut self, states: &mut RecordBuffer, wanted: impl Fn(u64) -> bool) {
        self.numbers.clear();
        self.set.numbers(states.view(), &mut self.numbers);
        self.spare.clear();
        self.kept.clear();
        for (record, number) in states.view().iter().zip(&self.numbers) {
            if wanted(*number) {
                self.spare.push(record);
                self.kept.push(*number);
            }
        }
        std::mem::swap(states, &mut self.spare);
    }

    /// The numbers of the states that were kept last.
    pub(crate) fn kept(&self) -> &[u64] {
        &self.kept
    }

    /// The same, to be given back by another call.
    pub(crate) fn swap_kept(&mut self, numbers: &mut Vec<u64>) {
        std::mem::swap(&mut self.kept, numbers);
    }

    /// The numbers of some states.
    pub(crate) fn numbers_of(&mut self, states: Records<'_>) -> &[u64] {
        self.numbers.clear();
        self.set.numbers(states, &mut self.numbers);
        &self.numbers
    }

    /// A buffer for records: to be returned.
    pub(crate) fn take_batch(&mut self) -> RecordBuffer {
        self.batch.take().unwrap_or_else(|| RecordBuffer::new(self.system.shape().words()))
    }

    /// Takes back what [`Expander::take_batch`] gave.
    pub(crate) fn return_batch(&mut self, batch: RecordBuffer) {
        self.batch = Some(batch);
    }
}
