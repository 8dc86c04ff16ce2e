//! How does a record carry a small number beside it, and a system with it?
//!
//! All tags ([`Tag`]) of one record are neighbours in the order of records, and fall into one shard; a batch in that order expands each record once, whatever the number of its tags.
//!
//! Memory of [`Tagged`]: for each thread that expands at a time, one buffer as large as the one it is given; its shape says so, and who holds the other charges for it.

use std::sync::{Mutex, PoisonError};

use fathom_model::expression::Domain;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::{Component, ComponentKind, Shape};
use fathom_model::steps::{Columns, Full, Labels, Marks, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};
use fathom_model::tag::Tag;

/// A system whose records carry tags. What a step does to the tag is the wrapper's business that holds it.
#[derive(Debug)]
pub(crate) struct Tagged<S> {
    pub(crate) system: S,
    /// Of the records with their tags; the wrapper sets its counts.
    pub(crate) shape: Shape,
    tag: Tag,
    scratch: Mutex<Vec<Scratch>>,
}

/// What one call works with.
#[derive(Debug)]
struct Scratch {
    /// The records without tags, each once where it stands several times in a row.
    sources: RecordBuffer,
    /// By source: its place among `sources`, and its tag.
    places: Vec<(u32, u32)>,
    steps: Steps,
    record: Vec<u64>,
    target: Vec<u64>,
}

/// A source that was expanded, with its tag.
pub(crate) struct Source<'a> {
    pub(crate) tag: u32,
    /// The steps it is among, and its place there.
    pub(crate) steps: &'a Steps,
    pub(crate) number: usize,
    record: &'a [u64],
    joined: Tag,
}

impl<S: TransitionSystem> Tagged<S> {
    /// Records of a system with tags below `count`, which are called `name`.
    pub(crate) fn new(system: S, name: &str, count: u32) -> Tagged<S> {
        let tag = Tag::new(system.shape().width_bits, tag_domain(count).bits());
        let shape = widen(tag, system.shape(), name, count);
        Tagged { system, shape, tag, scratch: Mutex::default() }
    }

    /// The record without its tag, and the tag.
    pub(crate) fn parts(&self, record: &[u64]) -> (Vec<u64>, u32) {
        let mut part = vec![0; self.system.shape().words()];
        let tag = self.tag.split(record, &mut part);
        (part, tag)
    }

    /// The tag of a record.
    #[inline]
    pub(crate) fn tag_of(&self, record: &[u64]) -> u32 {
        self.tag.of(record)
    }

    /// The initial records, all with one tag.
    pub(crate) fn initial(&self, tag: u32, out: &mut Steps) {
        out.clear();
        let columns = Columns { actions: out.columns().actions, ..Columns::NONE };
        let mut steps = Steps::new(self.system.shape(), columns, out.capacity());
        self.system.initial(&mut steps);
        if steps.is_interrupted() {
            out.interrupt();
        }
        if steps.source_count() == 0 || self.push_initial(tag, &steps, out).is_err() {
            out.abandon_source();
        }
    }

    fn push_initial(&self, tag: u32, steps: &Steps, out: &mut Steps) -> Result<(), Full> {
        let mut target = vec![0; self.tag.wide_words];
        for step in 0..steps.step_count() {
            self.tag.join(steps.target(step), tag, &mut target);
            let action = if steps.columns().actions { steps.action(step) } else { 0 };
            out.push(&target, action, Default::default(), Marks::default())?;
        }
        for fault in steps.faults() {
            out.push_fault(*fault)?;
        }
        out.finish_source(Labels::default(), Default::default())
    }

    /// Expands records with their tags: the system fills `columns` for each record, and `each` pushes the steps, with [`Source::push`], and ends the source.
    pub(crate) fn expand(
        &self,
        records: Records<'_>,
        columns: Columns,
        out: &mut Steps,
        each: impl Fn(&Source<'_>, &mut [u64], &mut Steps) -> Result<(), Full>,
    ) -> usize {
        out.clear();
        let mut scratch = self.take_scratch(columns, out.capacity());
        let Scratch { sources, places, steps, record, target } = &mut scratch;
        self.separate(records, sources, places, record);
        let finished = self.system.expand(sources.view(), steps);
        if steps.is_interrupted() {
            out.interrupt();
        }
        let mut done = 0;
        for &(place, tag) in &*places {
            let number = place as usize;
            if number >= finished {
                break;
            }
            let record = sources.view().get(number);
            let source = Source { tag, steps, number, record, joined: self.tag };
            if each(&source, target, out).is_err() {
                out.abandon_source();
                break;
            }
            done += 1;
        }
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        done
    }

    /// Takes records and tags apart.
    fn separate(
        &self,
        records: Records<'_>,
        sources: &mut RecordBuffer,
        places: &mut Vec<(u32, u32)>,
        record: &mut [u64],
    ) {
        sources.clear();
        places.clear();
        for wide in records.iter() {
            let tag = self.tag.split(wide, record);
            let count = sources.len();
            if count == 0 || sources.view().get(count - 1) != record {
                sources.push(record);
            }
            places.push((sources.len() as u32 - 1, tag));
        }
    }

    fn take_scratch(&self, columns: Columns, capacity: usize) -> Scratch {
        {
            let mut held = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = |scratch: &Scratch| {
                scratch.steps.columns() == columns && scratch.steps.capacity() == capacity
            };
            if let Some(place) = held.iter().position(fits) {
                return held.swap_remove(place);
            }
            // Whoever held buffers of those sizes has none any more, or a larger one.
            held.clear();
        }
        let shape = self.system.shape();
        Scratch {
            sources: RecordBuffer::new(shape.words()),
            places: Vec::new(),
            steps: Steps::new(shape, columns, capacity),
            record: vec![0; shape.words()],
            target: vec![0; self.tag.wide_words],
        }
    }

    pub(crate) fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        let mut parts = RecordBuffer::with_capacity(self.system.shape().words(), records.len());
        for record in records.iter() {
            parts.push(&self.parts(record).0);
        }
        self.system.label(parts.view(), out);
    }

    /// What the system says of the record without its tag.
    pub(crate) fn describe(&self, what: Query<'_>) -> Description {
        let part = |record: &[u64]| self.parts(record).0;
        match what {
            Query::Record(record) => self.system.describe(Query::Record(&part(record))),
            Query::Step { source, action } => {
                self.system.describe(Query::Step { source: &part(source), action })
            }
            Query::Start(start) => self.system.describe(Query::Start(start)),
            Query::Fault { source, fault } => {
                self.system.describe(Query::Fault { source: &part(source), fault })
            }
            Query::Label { record, label } => {
                self.system.describe(Query::Label { record: &part(record), label })
            }
        }
    }
}

impl Source<'_> {
    /// Pushes a step of the system with the tag it leads to.
    pub(crate) fn push(
        &self,
        step: usize,
        tag: u32,
        marks: Marks,
        target: &mut [u64],
        out: &mut Steps,
    ) -> Result<(), Full> {
        let (steps, columns) = (self.steps, self.steps.columns());
        self.joined.join(steps.target(step), tag, target);
        let action = if columns.actions { steps.action(step) } else { 0 };
        let movers = if columns.movers { steps.movers(step) } else { Default::default() };
        out.push(target, action, movers, marks)
    }

    /// Pushes a step that leaves the system where it is.
    pub(crate) fn push_stutter(
        &self,
        action: u32,
        tag: u32,
        marks: Marks,
        target: &mut [u64],
        out: &mut Steps,
    ) -> Result<(), Full> {
        self.joined.join(self.record, tag, target);
        out.push(target, action, Default::default(), marks)
    }

    /// Pushes the system's faults and ends the source.
    pub(crate) fn finish(&self, out: &mut Steps) -> Result<(), Full> {
        let columns = self.steps.columns();
        for fault in self.steps.faults_of(self.number) {
            out.push_fault(*fault)?;
        }
        let labels = if columns.labels { self.steps.labels(self.number) } else { Labels::default() };
        let enabled = if columns.enabled { self.steps.enabled(self.number) } else { Default::default() };
        out.finish_source(labels, enabled)
    }
}

/// The shape of records with their tags, which are called `name`.
fn widen(tag: Tag, shape: &Shape, name: &str, count: u32) -> Shape {
    let mut wide = shape.clone();
    wide.inner_buffers += 1;
    wide.width_bits += tag.bits;
    for component in &mut wide.components {
        component.low += tag.bits;
    }
    wide.components.push(Component {
        name: name.to_owned(),
        kind: ComponentKind::Variable,
        domain: tag_domain(count),
        undefined: None,
        element_bits: tag.bits,
        length: None,
        low: 0,
    });
    wide
}

fn tag_domain(count: u32) -> Domain {
    Domain::new(0, i64::from(count.max(1)) - 1)
}
