//! How is an accepting run of a system a state of another?
//!
//! A state of [`Looped`] is a state of the system and, once a loop has been begun, the accepting state that it began at:
//!
//! ```text
//! (u, -) -> (u', -)            a step of the system
//! (u, -) -> (u', u)            the same step as the first of a loop, if u is accepting
//! (u, r) -> (u', r)            a step of the system, in the loop
//! (r, r)                       the loop is closed
//! ```
//! A loop begins *with* a step: were it begun without one, every accepting state would close it at once. Where the loop began lies in the high bits, so that states of one loop are neighbours. The one label says that the
//! loop is closed. The system's faults are faults of states without a loop, each of which there is once.
//!
//! Memory: for each thread that expands at a time, one buffer as large as the one it is given; the shape says so.

use std::sync::{Mutex, PoisonError};

use fathom_disk::sabotage::is_chosen;
use fathom_model::record::{RecordBuffer, Records, read_bits, words_for, write_bits};
use fathom_model::shape::Shape;
use fathom_model::steps::{Columns, Full, Labels, Marks, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};

/// A system whose states remember where a loop began.
#[derive(Debug)]
pub struct Looped<S> {
    system: S,
    shape: Shape,
    bits: u32,
    scratch: Mutex<Vec<Scratch>>,
}

/// What one call works with.
#[derive(Debug)]
struct Scratch {
    sources: RecordBuffer,
    steps: Steps,
    /// A state of the system, where its loop began, and both as one.
    at: Vec<u64>,
    from: Vec<u64>,
    wide: Vec<u64>,
}

impl<S: TransitionSystem> Looped<S> {
    /// The loops of a system with one acceptance set, of states: all steps of an accepting state carry mark 0, and no others do.
    pub fn new(system: S) -> Looped<S> {
        let inner = system.shape();
        debug_assert_eq!(inner.mark_count, 1, "acceptance is of states");
        let shape = Shape {
            width_bits: 2 * inner.width_bits + 1,
            components: Vec::new(),
            labels: vec!["closed".into()],
            mark_count: 0,
            inner_buffers: inner.inner_buffers + 1,
            ..inner.clone()
        };
        let bits = inner.width_bits;
        Looped { system, shape, bits, scratch: Mutex::default() }
    }

    /// The state of the system.
    pub fn state(&self, wide: &[u64]) -> Vec<u64> {
        let mut state = vec![0; words_for(self.bits)];
        copy_bits(wide, 0, &mut state, 0, self.bits);
        state
    }

    /// Whether a loop has been begun.
    pub fn is_in_loop(&self, wide: &[u64]) -> bool {
        read_bits(wide, 2 * self.bits, 1) == 1
    }

    /// Writes the state of the system, and where its loop began; says whether it has.
    pub(super) fn split(&self, wide: &[u64], at: &mut [u64], from: &mut [u64]) -> bool {
        copy_bits(wide, 0, at, 0, self.bits);
        copy_bits(wide, self.bits, from, 0, self.bits);
        self.is_in_loop(wide)
    }

    fn join(&self, at: &[u64], from: Option<&[u64]>, wide: &mut [u64]) {
        wide.fill(0);
        copy_bits(at, 0, wide, 0, self.bits);
        if let Some(from) = from {
            copy_bits(from, 0, wide, self.bits, self.bits);
            write_bits(wide, 2 * self.bits, 1, 1);
        }
    }

    fn take_scratch(&self, columns: Columns, capacity: usize) -> Scratch {
        {
            let mut held = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = |it: &Scratch| it.steps.columns() == columns && it.steps.capacity() == capacity;
            if let Some(place) = held.iter().position(fits) {
                return held.swap_remove(place);
            }
            // Whoever held buffers of those sizes has none any more, or a larger one.
            held.clear();
        }
        let words = words_for(self.bits);
        Scratch {
            sources: RecordBuffer::new(words),
            steps: Steps::new(self.system.shape(), columns, capacity),
            at: vec![0; words],
            from: vec![0; words],
            wide: vec![0; self.shape.words()],
        }
    }

    fn give_back(&self, scratch: Scratch) {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
    }

    /// Pushes the steps of a source that the system has expanded.
    fn push(
        &self,
        source: &[u64],
        number: usize,
        scratch: &mut Scratch,
        out: &mut Steps,
    ) -> Result<(), Full> {
        let Scratch { steps, at, from, wide, .. } = scratch;
        let looped = self.split(source, at, from);
        let action = |step: usize| if steps.columns().actions { steps.action(step) } else { 0 };
        let mut push = |step: usize, from: Option<&[u64]>| {
            self.join(steps.target(step), from, wide);
            out.push(wide, action(step), Default::default(), Marks::default())
        };
        for step in steps.steps_of(number) {
            push(step, looped.then_some(&**from))?;
            // The defect begins loops anywhere.
            if !looped && (steps.marks(step).0 & 1 == 1 || is_chosen("loop-start")) {
                push(step, Some(at))?;
            }
        }
        let mut labels = Labels(u64::from(looped && at == from));
        if !looped {
            steps.faults_of(number).iter().try_for_each(|fault| out.push_fault(*fault))?;
            if steps.labels(number).faulted() {
                labels = Labels::FAULT;
            }
        }
        out.finish_source(labels, Default::default())
    }
}

/// Copies bits that lie so far above the low ends.
fn copy_bits(from: &[u64], low: u32, to: &mut [u64], to_low: u32, bits: u32) {
    for place in (0..bits).step_by(64) {
        let width = (bits - place).min(64);
        write_bits(to, to_low + place, width, read_bits(from, low + place, width));
    }
}

impl<S: TransitionSystem> TransitionSystem for Looped<S> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn initial(&self, out: &mut Steps) {
        out.clear();
        let columns = Columns { actions: out.columns().actions, ..Columns::NONE };
        let mut scratch = self.take_scratch(columns, out.capacity());
        let Scratch { steps, wide, .. } = &mut scratch;
        self.system.initial(steps);
        if steps.is_interrupted() {
            out.interrupt();
        }
        let mut push = || {
            for step in 0..steps.step_count() {
                self.join(steps.target(step), None, wide);
                let action = if columns.actions { steps.action(step) } else { 0 };
                out.push(wide, action, Default::default(), Marks::default())?;
            }
            steps.faults().iter().try_for_each(|fault| out.push_fault(*fault))?;
            out.finish_source(Labels::default(), Default::default())
        };
        if steps.source_count() == 0 || push().is_err() {
            out.abandon_source();
        }
        self.give_back(scratch);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        out.clear();
        let columns = Columns { labels: true, actions: out.columns().actions, marks: true, ..Columns::NONE };
        let mut scratch = self.take_scratch(columns, out.capacity());
        let Scratch { sources: inner, steps, at, .. } = &mut scratch;
        inner.clear();
        for wide in sources.iter() {
            copy_bits(wide, 0, at, 0, self.bits);
            inner.push(at);
        }
        let finished = self.system.expand(inner.view(), steps);
        if steps.is_interrupted() {
            out.interrupt();
        }
        let mut done = 0;
        for source in sources.iter().take(finished) {
            if self.push(source, done, &mut scratch, out).is_err() {
                out.abandon_source();
                break;
            }
            done += 1;
        }
        self.give_back(scratch);
        done
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        let words = words_for(self.bits);
        let (mut at, mut from) = (vec![0; words], vec![0; words]);
        for (wide, labels) in records.iter().zip(&mut *out) {
            let looped = self.split(wide, &mut at, &mut from);
            *labels = Labels(u64::from(looped && at == from));
        }
    }

    fn describe(&self, what: Query<'_>) -> Description {
        match what {
            Query::Record(record) => self.system.describe(Query::Record(&self.state(record))),
            Query::Step { source, action } => {
                self.system.describe(Query::Step { source: &self.state(source), action })
            }
            Query::Start(start) => self.system.describe(Query::Start(start)),
            Query::Fault { source, fault } => {
                self.system.describe(Query::Fault { source: &self.state(source), fault })
            }
            Query::Label { record, label } => {
                self.system.describe(Query::Label { record: &self.state(record), label })
            }
        }
    }
}
