//! Policy of stages: states in the order of a measure of progress, and only those of one value in memory at a time.
//!
//! S. Christensen, L. M. Kristensen, T. Mailund, "A sweep-line method for state space exploration", TACAS 2001; persistent states as in L. M. Kristensen, T. Mailund, "A generalised sweep-line
//! method for safety properties", FME 2002. A stage is what is new of one value of the measure:
//!
//! ```text
//! sweep   value by value, the least first:  expand its states; a step to the same value is new in this bucket or known there,
//!                                           one to a greater value waits in its bucket, one to a smaller value is a regress: a persistent state
//! again   from the persistent states that are new, until a sweep finds none
//! ```
//! When the last state of a value was expanded, the value is forgotten. Persistent states are not: each is expanded as a root once, and never again. So what a sweep finds is complete, whatever the measure;
//! a good one has few regress steps and small buckets. Without regress each state is expanded once; with it some are expanded in several sweeps, and how many different ones there are is not known.
//!
//! Memory: the states of one value, what waits, and the persistent states. Threads expand together and offer one at a time. No layers, so no depths; a path takes a search of its own.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_disk::budget::{Budget, Charge};
use fathom_disk::table::Table;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::engine::{
    Answer, Ask, Body, Engine, EngineOption, Files, Kept, Measure, OptionValue, Run, Threads,
};
use crate::bodies::stages::{self, ClosedStage, OldestDuplicate, StagePolicy};
use crate::error::SearchError;
use crate::task::{Duplicates, ProgressFigures};

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "sweep-ram",
    help: "In order of a progress measure, in memory, exact: states behind the sweep-line are forgotten",
    search: "by progress, exact",
    memory: "a few bytes, of the states at the line",
    io: "none",
    certificate: "none",
    origin: "Christensen, Kristensen, Mailund 2001: the sweep-line; -E measure=EXPRESSION",
    threads: Threads::Many,
    files: Files::None,
    resumes: false,
    revisits: true,
    body: Body::Stages,
    layers: false,
    stores: &[],
    options: &[EngineOption {
        key: "measure",
        value: OptionValue::Expression,
        required: true,
        help: "the progress measure: any expression is sound, one that seldom decreases is good",
    }],
    run: Run::States(search),
};

fn search(ask: &Ask<'_>) -> Result<Answer, SearchError> {
    // Without a measure there is one bucket, which is as right and never forgets.
    let measure = ask.measure.map_or(ONE_BUCKET, |measure| measure.values);
    let mut policy = SweepLine::new(ask.task.system.shape(), ask.task.budget, measure)?;
    let outcome = stages::run(ask.task, &mut policy)?;
    let measure = ask.measure.map(|measure| measure.name.to_owned());
    Ok(Answer { measure, ..Answer::in_memory(&ENGINE, outcome, Kept::NoLayers) })
}

/// All states have come as far.
pub(super) const ONE_BUCKET: Measure<'static> =
    &|records, values| values.resize(values.len() + records.len(), 0);

/// The policy.
pub struct SweepLine<'m> {
    measure: Measure<'m>,
    line: Mutex<Line>,
}

/// What threads share.
struct Line {
    budget: Budget,
    bits: u32,
    words: usize,
    /// The value whose states are expanded; none before the first.
    at: Option<u64>,
    /// States of that value.
    here: Table,
    /// Those of them that are expanded in this stage, and those that will be in the next.
    stage: RecordBuffer,
    handed_out: usize,
    fresh: RecordBuffer,
    /// What waits in this sweep, by value; repeated, known or not.
    waiting: Buckets,
    /// All persistent states; the initial ones are among them.
    persistent: Table,
    /// The roots of sweeps that are over.
    expanded_roots: Table,
    /// The roots of this sweep, and those of the next.
    roots: RecordBuffer,
    next_roots: Buckets,
    /// What was seen of the measure.
    figures: ProgressFigures,
    /// Candidates that were found to be known.
    duplicates: u64,
    /// Of `stage`, `fresh` and `roots`.
    charge: Charge,
}

/// Records by value.
struct Buckets {
    words: usize,
    records: BTreeMap<u64, RecordBuffer>,
    /// How many there are, of all values.
    count: u64,
    charge: Charge,
}

/// Candidates that are measured at a time: however many steps a state has, their values take no more room.
const MEASURED_MAX: usize = 512;
/// Memory of a bucket beside its records: the node of the map and what a vector takes beyond its content.
const BUCKET_BYTES: usize = 128;

impl<'m> SweepLine<'m> {
    /// Nothing known yet.
    pub fn new(shape: &Shape, budget: &Budget, measure: Measure<'m>) -> Result<SweepLine<'m>, SearchError> {
        let (bits, words) = (shape.width_bits, shape.words());
        let line = Line {
            budget: budget.clone(),
            bits,
            words,
            at: None,
            here: Table::new(bits, budget)?,
            stage: RecordBuffer::new(words),
            handed_out: 0,
            fresh: RecordBuffer::new(words),
            waiting: Buckets::new(words, budget)?,
            persistent: Table::new(bits, budget)?,
            expanded_roots: Table::new(bits, budget)?,
            roots: RecordBuffer::new(words),
            next_roots: Buckets::new(words, budget)?,
            figures: ProgressFigures::default(),
            duplicates: 0,
            charge: budget.charge("sweep-line", 0)?,
        };
        Ok(SweepLine { measure, line: Mutex::new(line) })
    }

    /// How many sweeps there were.
    pub fn sweeps(&self) -> u64 {
        self.line().figures.sweeps
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        // What a panicking thread leaves counts no more.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StagePolicy for SweepLine<'_> {
    /// Values of what is offered.
    type Worker = Vec<u64>;

    fn worker(&self) -> Result<Vec<u64>, SearchError> {
        Ok(Vec::new())
    }

    fn offer(&self, values: &mut Vec<u64>, candidates: Records<'_>) -> Result<(), SearchError> {
        let mut rest = candidates;
        while !rest.is_empty() {
            let some = rest.take(rest.len().min(MEASURED_MAX));
            rest = rest.skip(some.len());
            values.clear();
            (self.measure)(some, values);
            let mut line = self.line();
            some.iter().zip(&*values).try_for_each(|(record, value)| line.take(record, *value))?;
        }
        Ok(())
    }

    fn flush(&self, _: &mut Vec<u64>) -> Result<(), SearchError> {
        Ok(())
    }

    fn prepare_close(&mut self, _: &mut [&mut Vec<u64>]) -> Result<bool, SearchError> {
        Ok(false)
    }

    fn close_share(&self, _: &mut Vec<u64>) -> Result<(), SearchError> {
        Ok(())
    }

    fn close_stage(&mut self, _: &mut [&mut Vec<u64>]) -> Result<ClosedStage, SearchError> {
        let states = self.line().advance()?;
        Ok(ClosedStage { states, oldest_duplicate: OldestDuplicate::Unknown })
    }

    fn next_batch(
        &self,
        _: &mut Vec<u64>,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        let mut line = self.line();
        batch.clear();
        let some = line.stage.view().skip(line.handed_out);
        let some = some.take(some.len().min(records));
        batch.append(some);
        line.handed_out += some.len();
        Ok(())
    }

    fn revisits(&self) -> bool {
        self.line().figures.sweeps > 1
    }

    fn duplicates(&self) -> Duplicates {
        Duplicates { in_ram: Some(self.line().duplicates), ..Duplicates::default() }
    }

    fn progress(&self) -> Option<ProgressFigures> {
        Some(self.line().figures)
    }

    fn has_layers(&self) -> bool {
        false
    }
}

impl Line {
    /// Takes a candidate.
    fn take(&mut self, record: &[u64], value: u64) -> Result<(), SearchError> {
        let order = self.at.map_or(Ordering::Less, |at| value.cmp(&at));
        let ProgressFigures { forward, stationary, regress, .. } = &mut self.figures;
        match order {
            Ordering::Greater => *forward += 1,
            Ordering::Equal => *stationary += 1,
            Ordering::Less => *regress += u64::from(self.at.is_some()),
        }
        match order {
            Ordering::Greater => return self.waiting.push(value, record),
            // A regress; and the initial states are the roots of the first sweep.
            Ordering::Less if insert(&mut self.persistent, record)? => {
                return self.next_roots.push(value, record);
            }
            Ordering::Equal if self.is_new_here(record)? => self.fresh.push(record),
            Ordering::Less | Ordering::Equal => self.duplicates += 1,
        }
        Ok(())
    }

    /// Notes a state of the value that is being expanded; false if it was known.
    fn is_new_here(&mut self, record: &[u64]) -> Result<bool, SearchError> {
        if contains(&mut self.expanded_roots, record) || !insert(&mut self.here, record)? {
            return Ok(false);
        }
        // It is about to be kept for this stage or the next.
        self.charge.resize(self.charge.bytes() + buffered(1, self.words))?;
        Ok(true)
    }

    /// Goes on to what is expanded next, and says how many states that is; 0 if there is nothing more.
    fn advance(&mut self) -> Result<u64, SearchError> {
        self.clear_stage()?;
        std::mem::swap(&mut self.stage, &mut self.fresh);
        while self.stage.is_empty() {
            match self.waiting.pop_first() {
                Some((value, records)) => {
                    self.enter(value, &records)?;
                    self.waiting.release(&records)?;
                }
                None if self.next_roots.is_empty() => {
                    self.end_bucket();
                    return Ok(0);
                }
                None => self.begin_sweep()?,
            }
        }
        Ok(self.stage.len() as u64)
    }

    /// Enters a value with what waited for it, and forgets the one before.
    fn enter(&mut self, value: u64, waited: &RecordBuffer) -> Result<(), SearchError> {
        self.end_bucket();
        self.at = Some(value);
        self.here = Table::new(self.bits, &self.budget)?;
        for record in waited.view().iter() {
            match self.is_new_here(record)? {
                true => self.stage.push(record),
                false => self.duplicates += 1,
            }
        }
        Ok(())
    }

    /// Notes how many states of the value were expanded.
    fn end_bucket(&mut self) {
        let states = self.here.len() as u64;
        self.figures.buckets += u64::from(states > 0);
        let ProgressFigures { largest_bucket, in_memory, in_memory_but_waiting, .. } = &mut self.figures;
        *largest_bucket = states.max(*largest_bucket);
        let but_waiting = states + self.persistent.len() as u64;
        *in_memory_but_waiting = but_waiting.max(*in_memory_but_waiting);
        *in_memory = (but_waiting + self.waiting.count).max(*in_memory);
    }

    /// The roots of the sweep that is over are never expanded again; the next one starts from those that it found.
    fn begin_sweep(&mut self) -> Result<(), SearchError> {
        for record in self.roots.view().iter() {
            insert(&mut self.expanded_roots, record)?;
        }
        let words = self.roots.view().words_per_record();
        self.charge.resize(self.charge.bytes() - buffered(self.roots.len(), words))?;
        self.roots = RecordBuffer::new(words);
        std::mem::swap(&mut self.waiting, &mut self.next_roots);
        for records in self.waiting.records.values() {
            self.charge.resize(self.charge.bytes() + buffered(records.len(), words))?;
            self.roots.append(records.view());
        }
        self.figures.sweeps += 1;
        Ok(())
    }

    fn clear_stage(&mut self) -> Result<(), SearchError> {
        self.charge.resize(self.charge.bytes() - buffered(self.stage.len(), self.words))?;
        self.stage = RecordBuffer::new(self.words);
        self.handed_out = 0;
        Ok(())
    }
}

impl Buckets {
    fn new(words: usize, budget: &Budget) -> Result<Buckets, SearchError> {
        Ok(Buckets {
            words,
            records: BTreeMap::new(),
            count: 0,
            charge: budget.charge("sweep-line queue", 0)?,
        })
    }

    fn push(&mut self, value: u64, record: &[u64]) -> Result<(), SearchError> {
        let bucket = if self.records.contains_key(&value) { 0 } else { BUCKET_BYTES };
        self.charge.resize(self.charge.bytes() + bucket + buffered(1, self.words))?;
        self.records.entry(value).or_insert_with(|| RecordBuffer::new(self.words)).push(record);
        self.count += 1;
        Ok(())
    }

    /// Takes the bucket of the least value out; its memory is given back by [`Buckets::release`].
    fn pop_first(&mut self) -> Option<(u64, RecordBuffer)> {
        self.records.pop_first()
    }

    /// Gives the memory of a bucket back that was taken out.
    fn release(&mut self, bucket: &RecordBuffer) -> Result<(), SearchError> {
        let bytes = BUCKET_BYTES + buffered(bucket.len(), self.words);
        self.count -= bucket.len() as u64;
        Ok(self.charge.resize(self.charge.bytes() - bytes)?)
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

/// Bytes of so many records in a buffer that grows: it has room for as many again.
fn buffered(records: usize, words: usize) -> usize {
    2 * records * words * 8
}

/// Inserts a record; true if it was not there.
fn insert(table: &mut Table, record: &[u64]) -> Result<bool, SearchError> {
    let mut new = Vec::new();
    table.insert_batch(record, &mut new).map_err(|full| full.reason)?;
    Ok(!new.is_empty())
}

fn contains(table: &mut Table, record: &[u64]) -> bool {
    let mut present = Vec::new();
    table.contains_batch(record, &mut present);
    !present.is_empty()
}
