//! Where do the steps of states lead, by what a set knows its states by?
//!
//! A [`ClosedSet`] knows them by number. A set in sorted files knows nothing but the records themselves: whether a target is there is found out when many are asked for at once.
//!
//! Memory of one: a buffer of steps, the numbers of their targets, and room for those that are sent on; two batches of records. All charged.

use fathom_disk::budget::{Budget, Charge};
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some};

use super::is_much;
use crate::error::SearchError;
use crate::files::closed_set::ClosedSet;

/// A set of states that steps lead to.
pub(crate) trait Targets {
    /// What it knows a state by, beside its record.
    type Number: Copy + Send;
    /// What is sent on with a state.
    type Sent: Copy + Send;

    /// Whether a state may be in the set: where it is false nobody looks for it.
    fn has(&self, record: &[u64]) -> bool;

    /// Appends what states are known by.
    fn numbers(&self, records: Records<'_>, numbers: &mut Vec<Self::Number>);

    /// The most states that are expanded at a time.
    fn block_keys_max(&self) -> usize;

    /// How many states there are.
    fn len(&self) -> u64;
}

impl Targets for ClosedSet<'_> {
    type Number = u64;
    type Sent = ();

    #[inline]
    fn has(&self, record: &[u64]) -> bool {
        ClosedSet::has(self, record)
    }

    fn numbers(&self, records: Records<'_>, numbers: &mut Vec<u64>) {
        ClosedSet::numbers(self, records, numbers);
    }

    fn block_keys_max(&self) -> usize {
        ClosedSet::block_keys_max(self)
    }

    fn len(&self) -> u64 {
        ClosedSet::len(self)
    }
}

/// Expands states of a set and gives the numbers of what their steps lead to. For one thread.
pub(crate) struct Expander<'a, S: Targets = ClosedSet<'a>> {
    pub(crate) system: &'a dyn TransitionSystem,
    pub(crate) set: &'a S,
    /// Which steps count: all, or those that carry all marks.
    only_marked: bool,
    all_marks: u64,
    steps: Steps,
    /// Room for steps at first.
    capacity: usize,
    charge: Charge,
    numbers: Vec<S::Number>,
    /// Places of steps whose targets are sent on, and what with them.
    sent: Vec<(u32, S::Sent)>,
    batch: Option<RecordBuffer>,
    spare: RecordBuffer,
    /// Numbers of states that were kept.
    kept: Vec<S::Number>,
    pub(crate) visits: u64,
    pub(crate) edges: u64,
}

/// Targets that are sent on, each with something.
pub(crate) type Sending<'s, T> = &'s mut dyn Iterator<Item = (&'s [u64], T)>;

/// A step of a source, by its place.
pub(crate) struct Taken<'a, N = u64> {
    pub(crate) steps: &'a Steps,
    pub(crate) step: usize,
    /// The number of its target.
    pub(crate) number: N,
}

/// Room for steps at first, at most.
const STEPS: usize = 4096;

impl<'a, S: Targets> Expander<'a, S> {
    /// What is held beside a step: its number, its place, and what is sent with it.
    const BESIDE_BYTES: usize = size_of::<S::Number>() + size_of::<(u32, S::Sent)>();

    /// One of so many that share a budget.
    pub(crate) fn new(
        system: &'a dyn TransitionSystem,
        set: &'a S,
        only_marked: bool,
        threads: usize,
        budget: &Budget,
    ) -> Result<Expander<'a, S>, SearchError> {
        let (shape, words) = (system.shape(), system.shape().words());
        let columns = Columns { marks: true, actions: true, ..Columns::NONE };
        let each = Steps::bytes_for(shape, columns, 1) + Self::BESIDE_BYTES;
        let capacity = (budget.free() / 16 / threads / each).clamp(1, STEPS);
        // Two batches of records, as large as a block of the set, and the numbers of one.
        let records = set.block_keys_max().max(1);
        let batches = records * (2 * words * 8 + size_of::<S::Number>());
        Ok(Expander {
            system,
            set,
            only_marked,
            all_marks: if shape.mark_count >= 64 { u64::MAX } else { (1 << shape.mark_count) - 1 },
            charge: budget.charge("expansion", each * capacity + batches)?,
            steps: Steps::new(shape, columns, capacity),
            capacity,
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
        mut visit: impl FnMut(usize, Taken<'_, S::Number>) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let visit = |source, taken: Taken<'_, S::Number>| visit(source, taken).map(|()| None);
        self.each_then_send(sources, |_| Ok(()), visit)
    }

    /// The same, and targets for which `visit` gives something are sent on with that, some at a time.
    pub(crate) fn each_then_send(
        &mut self,
        sources: Records<'_>,
        send: impl Fn(Sending<'_, S::Sent>) -> Result<(), SearchError>,
        mut visit: impl FnMut(usize, Taken<'_, S::Number>) -> Result<Option<S::Sent>, SearchError>,
    ) -> Result<(), SearchError> {
        let mut done = 0;
        while done < sources.len() {
            let finished = self.expand(sources.skip(done))?;
            self.sent.clear();
            for source in 0..finished {
                for step in self.steps.steps_of(source) {
                    if self.counts(step) {
                        let (steps, number) = (&self.steps, self.numbers[step]);
                        if let Some(sent) = visit(done + source, Taken { steps, step, number })? {
                            self.sent.push((step as u32, sent));
                        }
                    }
                }
            }
            if !self.sent.is_empty() {
                send(&mut self.sent.iter().map(|(step, sent)| (self.steps.target(*step as usize), *sent)))?;
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
        let all = |bytes: usize| bytes + bytes / step * Self::BESIDE_BYTES;
        let held = charge.bytes() - all(steps.bytes());
        let finished =
            expand_some(self.system, sources, steps, &mut |bytes| charge.resize(held + all(bytes)))?;
        self.visits += finished as u64;
        self.edges += self.steps.step_count() as u64;
        self.numbers.clear();
        self.set.numbers(self.steps.targets(), &mut self.numbers);
        Ok(finished)
    }

    /// Gives back what steps have grown to, if that is much, until states are expanded again.
    pub(crate) fn give_back(&mut self) -> Result<(), SearchError> {
        let (bytes, capacity) = (self.charge.bytes(), self.capacity);
        if self.steps.capacity() > capacity && is_much(bytes, self.charge.budget()) {
            let step = self.steps.bytes() / self.steps.capacity();
            let held = bytes - self.steps.bytes() - self.steps.bytes() / step * Self::BESIDE_BYTES;
            self.steps = Steps::new(self.system.shape(), self.steps.columns(), capacity);
            (self.numbers, self.sent) = (Vec::new(), Vec::new());
            let steps = self.steps.bytes();
            self.charge.resize(held + steps + steps / step * Self::BESIDE_BYTES)?;
        }
        Ok(())
    }

    /// Keeps those among some states whose numbers are wanted; these are [`Expander::kept`].
    pub(crate) fn keep(&mut self, states: &mut RecordBuffer, wanted: impl Fn(S::Number) -> bool) {
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
    pub(crate) fn kept(&self) -> &[S::Number] {
        &self.kept
    }

    /// The same, to be given back by another call.
    pub(crate) fn swap_kept(&mut self, numbers: &mut Vec<S::Number>) {
        std::mem::swap(&mut self.kept, numbers);
    }

    /// The numbers of some states.
    pub(crate) fn numbers_of(&mut self, states: Records<'_>) -> &[S::Number] {
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
