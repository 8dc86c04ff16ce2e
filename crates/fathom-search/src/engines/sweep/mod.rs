//! Policy of stages: states in the order of a measure of progress, and on disk all but those of one value.
//!
//! S. Evangelista, L. M. Kristensen, "Combining the sweep-line method with the use of an external-memory priority queue" (SPIN 2012), corrected. A stage is what is new of one value of the measure:
//!
//! ```text
//! sweep   pop a bucket, the least value first:  expand its states; a step to the same value is a candidate for the next stage of the bucket,
//!                                               one to a greater value goes to the queue, one to a smaller value is a regress: it is sorted aside
//! again   from what was sorted aside and is not known from earlier sweeps, until there is nothing
//! ```
//! Where stages are *kept* (`keep=yes`), a sweep that steps back makes all its states known to the sweeps that follow: each state is expanded once, whatever the measure, counts and checksum are those
//! of any other engine, and the stages prove it and lead back to where a state came from. Where they are not, only persistent states are known: the paper's algorithm, which forgets, and visits
//! some states again.
//!
//! Invariants, at every boundary: every state that was offered is in a stage, in the queue, among what was sorted aside, or was found to be one of these; the stages of the bucket are in the log.
//! A recent candidate is one of those, in this sweep or in another, so a window may leave it out without measuring where it belongs.
//!
//! Memory: that of the queue, a table of the bucket, a window, buffers: all from the budget, for any number of states, of buckets and of states in a bucket. I/O: what the queue moves, the stages once,
//! and where a measure regresses, look-ups in what earlier sweeps know.

mod bucket;
mod commit;
mod earlier;
mod sizes;
mod sweeps;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fathom_disk::budget::{Budget, Charge, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::priority_queue::{ArrayHeap, ArrayHeapConfig, PriorityQueue, RadixHeap};
use fathom_disk::run::{Run, Tag};
use fathom_disk::set::{KeyStream, Sorter};
use fathom_disk::storage::Volume;
use fathom_disk::window::Window;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::engine::{
    Answer, Ask, Body, Engine, EngineOption, FilePlace, Files, Kept, Measure, OptionValue, Run as Runs,
    Threads,
};
use crate::bodies::stages::{self, CheckpointReason, ClosedStage, OldestDuplicate, StagePolicy};
use crate::error::SearchError;
use crate::files::at_rest::AtRest;
use crate::files::candidates::{self, Candidates};
use crate::files::commits::Commits;
use crate::files::disk_use::{DiskMeter, DiskUse};
use crate::files::frontier::Frontier;
use crate::files::journal::StoredLayers;
use crate::files::layer_store::{BlockEncoder, LayerStore};
use crate::files::lock;
use crate::files::place::Place;
use crate::stores::key_width;
use crate::task::{Duplicates, Ending, Outcome, ProgressFigures, Task};

use bucket::Bucket;
use earlier::Earlier;

pub use sizes::Sizes;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "sweep",
    help: "In the order of a measure of progress, on disk, exact: only states of one value are in memory",
    search: "by progress, exact",
    memory: "what --ram leaves, for any number",
    io: "each state a few times; more with each step back",
    certificate: "closed set (fathom audit), with keep=yes",
    origin: "Evangelista, Kristensen 2012: sweep-line with an external queue, corrected; -E measure=EXPRESSION; --resume",
    threads: Threads::Many,
    files: Files::Always,
    resumes: true,
    revisits: true,
    body: Body::Stages,
    layers: false,
    stores: &[],
    options: &[
        EngineOption {
            key: "measure",
            value: OptionValue::Expression,
            required: true,
            help: "how far a state has come: any expressions will do, ones that seldom decrease are good",
        },
        EngineOption {
            key: "keep",
            value: OptionValue::OneOf(&["yes", "no"]),
            required: false,
            help: "whether states behind the line stay on disk, so that none is visited twice (yes)",
        },
        EngineOption {
            key: "queue",
            value: OptionValue::OneOf(&["radix", "array"]),
            required: false,
            help: "what waits by digits of its progress (radix), or in sorted files as in the paper",
        },
    ],
    run: Runs::States(search),
};

fn search(ask: &Ask<'_>) -> Result<Answer, SearchError> {
    let FilePlace { volume, tag, lasts, limit, commit_every, .. } = *ask.place;
    // Without a measure there is one bucket, which is as right.
    let measure = ask.measure.unwrap_or(&|records, values| values.resize(values.len() + records.len(), 0));
    let options = Options {
        tag,
        commit_every,
        disk_limit: limit,
        keep: ask.chosen.option("keep") != Some("no"),
        queue: if ask.chosen.option("queue") == Some("array") { Queue::Array } else { Queue::Radix },
        measure_text: ask.chosen.expression().unwrap_or_default().to_owned(),
        sizes: None,
    };
    let place = (&volume()?, lasts);
    let (policy, outcome) = run(ask.task, measure, place, options)?;
    let used = Some(policy.disk_use());
    let kept = if policy.keep { Kept::Stages(Box::new(policy.into_stages())) } else { Kept::NoLayers };
    Ok(Answer { engine: ENGINE.name, outcome, kept, used, closing: None })
}

/// What a caller may choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// Model, property and options that change meaning.
    pub tag: Tag,
    /// How long to wait between commits, at least.
    pub commit_every: Duration,
    /// Bytes that files may take, if there is a limit.
    pub disk_limit: Option<u64>,
    /// Whether stages stay when they were expanded.
    pub keep: bool,
    /// What waits, and how.
    pub queue: Queue,
    /// The text of the measure: what was begun with one is not taken up with another.
    pub measure_text: String,
    /// Sizes of the parts, in place of those that suit the budget.
    pub sizes: Option<fn(Sizes) -> Sizes>,
}

impl Options {
    /// For a search that nobody goes on with.
    pub fn unlasting() -> Options {
        Options {
            tag: Tag::default(),
            commit_every: Duration::MAX,
            disk_limit: None,
            keep: true,
            queue: Queue::Radix,
            measure_text: String::new(),
            sizes: None,
        }
    }
}

/// Which queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// By digits of values.
    Radix,
    /// Sorted files.
    Array,
}

/// The policy.
pub struct Sweep<'m> {
    measure: Measure<'m>,
    measure_text: String,
    keep: bool,
    queue_kind: Queue,
    place: Place,
    commits: Commits,
    sizes: Sizes,
    /// The width of keys of value and record.
    valued: KeyWidth,
    /// The value whose states are expanded; none before the first.
    at: Option<u64>,
    waiting: Mutex<Waiting>,
    bucket: Bucket,
    earlier: Earlier,
    /// The roots of this sweep, where only persistent states are known.
    roots: Option<Run>,
    window: Window,
    frontier: Mutex<Frontier>,
    encoder: BlockEncoder,
    /// What a piece of candidates has that is new.
    fresh: ChargedVec<u64>,
    /// The first stage of this sweep, and that of this bucket.
    sweep_from: u64,
    bucket_from: u64,
    figures: ProgressFigures,
    /// Candidates that were left out because they were met a moment ago.
    recent: u64,
    /// States of the bucket so far.
    bucket_states: u64,
    at_rest: Option<AtRest>,
    disk_meter: DiskMeter,
}

/// What waits for its turn.
#[derive(Debug)]
struct Waiting {
    queue: Box<dyn PriorityQueue>,
    /// What its files are called.
    queue_name: String,
    /// Values and records of steps back; the initial states are the first.
    regress: Sorter,
}

/// What one thread has for itself.
#[derive(Debug)]
pub struct Offered {
    here: Candidates,
    values: Vec<u64>,
    /// Candidates by where they belong, of what is measured at a time.
    same: Vec<u64>,
    ahead: Vec<u64>,
    ahead_values: Vec<u64>,
    back: Vec<u64>,
    back_values: Vec<u64>,
    missed: Vec<u32>,
    figures: ProgressFigures,
    recent: u64,
    _charge: Charge,
}

/// Searches from the initial states, or goes on with what is committed in the volume. The closed set of a search that `lasts` and keeps its stages is put to rest when it is complete.
pub fn run<'m>(
    task: Task<'_>,
    measure: Measure<'m>,
    (volume, lasts): (&Volume, bool),
    options: Options,
) -> Result<(Sweep<'m>, Outcome), SearchError> {
    let (mut policy, boundary) =
        Sweep::open(volume, task.budget, task.system.shape(), task.settings.threads, measure, options)?;
    let outcome = match boundary {
        Some(boundary) => stages::go_on(task, &mut policy, &boundary)?,
        None => stages::run(task, &mut policy)?,
    };
    if lasts && outcome.ending == Ending::Complete {
        policy.put_to_rest(&outcome.boundary)?;
    }
    Ok((policy, outcome))
}

impl<'m> Sweep<'m> {
    /// Takes up what is committed in the volume, or begins with nothing. With what was committed comes the boundary to go on from.
    pub fn open(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        threads: usize,
        measure: Measure<'m>,
        options: Options,
    ) -> Result<(Sweep<'m>, Option<Vec<u8>>), SearchError> {
        let width = key_width(shape)?;
        let commits = Commits::open(volume, budget, options.tag, options.commit_every)?;
        let place = Place::new(volume, budget, width, options.tag, commits.sequence());
        // The rest is left to the body.
        let sizes = Sizes::of(budget.free() / 8 * 7, threads.max(1), width);
        let sizes = options.sizes.map_or(sizes, |choose| choose(sizes));
        commits.set_ballast(sizes.log_block_bytes)?;
        if let Some(cursor) = commits.cursor()? {
            return commit::take_up((place, commits, sizes), measure, options, cursor);
        }
        let name = place.fresh_name("stages");
        let store = LayerStore::new(volume, &name, sizes.log_block_bytes, budget)?;
        let queue_name = place.fresh_name("queue");
        let queue = (make_queue(options.queue, &place, &sizes, &queue_name, None)?, queue_name);
        Ok((Sweep::assemble((place, commits, sizes), measure, options, store, queue)?, None))
    }

    fn assemble(
        (place, commits, sizes): (Place, Commits, Sizes),
        measure: Measure<'m>,
        options: Options,
        store: LayerStore,
        (queue, queue_name): (Box<dyn PriorityQueue>, String),
    ) -> Result<Sweep<'m>, SearchError> {
        let bits = (place.width.words() as u32 + 1) * 64;
        let valued = KeyWidth::new(bits).ok_or(SearchError::TooWide { bits })?;
        let regress = sweeps::regress_sorter(&place, &sizes, valued)?;
        let words = place.width.words();
        Ok(Sweep {
            measure,
            measure_text: options.measure_text,
            keep: options.keep,
            queue_kind: options.queue,
            valued,
            at: None,
            waiting: Mutex::new(Waiting { queue, queue_name, regress }),
            bucket: Bucket::new(&place, &sizes)?,
            earlier: Earlier::new(&place, &sizes, valued)?,
            roots: None,
            window: place.window(sizes.window_keys)?,
            frontier: Mutex::new(Frontier::new(&place, store)?),
            encoder: BlockEncoder::new(&place.budget, place.width, sizes.log_block_keys)?,
            fresh: ChargedVec::with_capacity(&place.budget, "bucket", sizes.piece_keys * words)?,
            sweep_from: 0,
            bucket_from: 0,
            figures: ProgressFigures::default(),
            recent: 0,
            bucket_states: 0,
            at_rest: None,
            disk_meter: DiskMeter::new(options.disk_limit),
            place,
            commits,
            sizes,
        })
    }

    /// What was seen of the measure so far.
    pub fn figures(&self) -> ProgressFigures {
        self.figures
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    fn frontier(&self) -> MutexGuard<'_, Frontier> {
        lock(&self.frontier)
    }

    /// What files hold and have held.
    pub fn disk_use(&self) -> DiskUse {
        let layers = self.frontier().store.disk_bytes();
        if let Some(AtRest { run, live_bytes }) = &self.at_rest {
            return self.disk_meter.with(*live_bytes, Some(run.bytes()), layers);
        }
        let known: u64 = self.earlier.runs.runs().map(|(_, run)| run.bytes()).sum();
        let closed_set = known + self.bucket.disk_bytes() + self.waiting().queue.disk_bytes();
        self.disk_meter.with(closed_set, None, layers)
    }

    /// The stages of a search that is over, which lead back to where a state came from.
    pub fn into_stages(self) -> StoredLayers {
        let Frontier { store, .. } = self.frontier.into_inner().unwrap_or_else(PoisonError::into_inner);
        StoredLayers::of_search(self.commits, self.place, store)
    }

    /// Whether no stage was dropped.
    pub fn keeps_stages(&self) -> bool {
        self.keep && self.frontier().store.first() == 0
    }

    /// Goes on to what is expanded next, and says how many states that is; 0 if there is nothing more.
    fn advance(&mut self, workers: &mut [&mut Offered]) -> Result<u64, SearchError> {
        let mut states = self.close_same(workers)?;
        while states == 0 {
            self.end_bucket();
            let swept = self.waiting().queue.is_empty();
            if swept && !self.begin_sweep()? {
                return Ok(0);
            }
            states = self.enter_bucket()?;
        }
        self.bucket_states += states;
        Ok(states)
    }

    /// Makes a stage of the candidates that have the value of those that were expanded; says how many are new.
    fn close_same(&mut self, workers: &mut [&mut Offered]) -> Result<u64, SearchError> {
        let mut parts: Vec<&mut Candidates> = workers.iter_mut().map(|worker| &mut worker.here).collect();
        let mut work = candidates::take_by_shard(&mut parts);
        let Sweep { place, sizes, bucket, earlier, at, frontier, encoder, fresh, .. } = self;
        let mut stage = Stage { place, sizes, bucket, earlier, at: *at, frontier, encoder, fresh, states: 0 };
        let outcome = work.iter_mut().try_for_each(|collected| {
            candidates::with_stream(place, collected, sizes.scan_bytes, |stream| {
                while stream.advance()? {
                    stage.take(stream.keys())?;
                }
                Ok(())
            })
        });
        candidates::give_back(&mut parts, work.into_iter());
        outcome?;
        Ok(stage.end()?)
    }

    /// Pops the next bucket and makes a stage of what is new in it; says how many states that is.
    fn enter_bucket(&mut self) -> Result<u64, SearchError> {
        self.bucket.enter(&self.place)?;
        let stages = self.frontier().store.layer_count();
        self.bucket_from = stages;
        if !self.keep {
            self.frontier().store.drop_before(stages);
        }
        let Sweep { place, sizes, bucket, earlier, at, frontier, encoder, fresh, waiting, .. } = self;
        let mut stage =
            Stage { place, sizes, bucket, earlier, at: None, frontier, encoder, fresh, states: 0 };
        let waiting = &mut *lock(waiting);
        *at = waiting.queue.pop(&mut |value, records| {
            stage.at = Some(value);
            stage.take(records)
        })?;
        Ok(stage.end()?)
    }

    fn end_bucket(&mut self) {
        self.figures.buckets += u64::from(self.bucket_states > 0);
        self.figures.largest_bucket = self.figures.largest_bucket.max(self.bucket_states);
        self.bucket_states = 0;
    }

    fn remove_retired(&mut self) -> Result<(), SearchError> {
        let mut names = self.frontier().store.retired();
        names.extend(self.waiting().queue.retired());
        names.extend(self.earlier.runs.retired());
        Ok(self.commits.remove_retired(&names)?)
    }
}

/// The stage that is being made.
struct Stage<'a> {
    place: &'a Place,
    sizes: &'a Sizes,
    bucket: &'a mut Bucket,
    earlier: &'a mut Earlier,
    at: Option<u64>,
    frontier: &'a Mutex<Frontier>,
    encoder: &'a mut BlockEncoder,
    fresh: &'a mut ChargedVec<u64>,
    states: u64,
}

impl Stage<'_> {
    /// Takes ascending candidates, piece by piece.
    fn take(&mut self, records: &[u64]) -> Result<(), DiskError> {
        let Stage { place, sizes, bucket, earlier, at, frontier, encoder, fresh, states } = self;
        let words = place.width.words();
        for piece in records.chunks(sizes.piece_keys * words) {
            bucket.sift(place, sizes, piece, fresh)?;
            if let Some(at) = *at {
                earlier.retain_unknown_of(place, sizes, at, fresh)?;
            }
            *states += (fresh.len() / words) as u64;
            encoder.encode(fresh, |keys, payload| lock(frontier).store.append(keys, payload))?;
        }
        Ok(())
    }

    /// Closes it; says how many states it has.
    fn end(self) -> Result<u64, DiskError> {
        self.bucket.end_stage(self.place, self.sizes)?;
        lock(self.frontier).close(self.states)?;
        Ok(self.states)
    }
}

/// A queue of that kind, or the one that a mark tells of.
fn make_queue(
    kind: Queue,
    place: &Place,
    sizes: &Sizes,
    name: &str,
    mark: Option<&[u8]>,
) -> Result<Box<dyn PriorityQueue>, DiskError> {
    let (volume, budget, words, bytes) =
        (&place.volume, &place.budget, place.width.words(), sizes.queue_bytes);
    let config = ArrayHeapConfig::within(bytes, words);
    Ok(match (kind, mark) {
        (Queue::Radix, None) => Box::new(RadixHeap::new(volume, name, words, bytes, budget)?),
        (Queue::Radix, Some(mark)) => Box::new(RadixHeap::resume(volume, name, words, bytes, mark, budget)?),
        (Queue::Array, None) => Box::new(ArrayHeap::new(volume, name, words, config, budget)?),
        (Queue::Array, Some(mark)) => Box::new(ArrayHeap::resume(volume, name, words, config, mark, budget)?),
    })
}

impl Offered {
    /// Puts measured candidates where they belong.
    fn sort_out(&mut self, at: Option<u64>, words: usize, candidates: &[u64]) {
        let Offered { values, same, ahead, ahead_values, back, back_values, figures, .. } = self;
        [&mut *same, ahead, ahead_values, back, back_values].into_iter().for_each(|list| list.clear());
        for (record, &value) in candidates.chunks_exact(words).zip(&*values) {
            match at {
                Some(at) if value == at => same.extend_from_slice(record),
                Some(at) if value > at => {
                    ahead.extend_from_slice(record);
                    ahead_values.push(value);
                }
                _ => {
                    back.extend_from_slice(record);
                    back_values.push(value);
                }
            }
        }
        if at.is_some() {
            figures.stationary += (same.len() / words) as u64;
            figures.forward += ahead_values.len() as u64;
            figures.regress += back_values.len() as u64;
        }
    }

    /// Keeps those of some candidates with values that the window has not met.
    fn retain_unmet(
        window: &Window,
        words: usize,
        (records, values): (&mut Vec<u64>, &mut Vec<u64>),
        missed: &mut Vec<u32>,
    ) -> u64 {
        missed.clear();
        window.meet_batch(records, missed);
        let met = values.len() - missed.len();
        if met > 0 {
            for (kept, &index) in missed.iter().enumerate() {
                let index = index as usize;
                records.copy_within(index * words..(index + 1) * words, kept * words);
                values[kept] = values[index];
            }
            records.truncate(missed.len() * words);
            values.truncate(missed.len());
        }
        met as u64
    }
}

impl StagePolicy for Sweep<'_> {
    type Worker = Offered;

    fn worker(&self) -> Result<Offered, SearchError> {
        let (measured, words) = (self.sizes.measured, self.place.width.words());
        let room = |items: usize| Vec::with_capacity(items);
        // Three lists of records, three of values, one of places.
        let bytes = measured * (3 * words * 8 + 3 * 8 + 4);
        Ok(Offered {
            here: Candidates::new(&self.place, self.sizes.candidates())?,
            values: room(measured),
            same: room(measured * words),
            ahead: room(measured * words),
            ahead_values: room(measured),
            back: room(measured * words),
            back_values: room(measured),
            missed: Vec::with_capacity(measured),
            figures: ProgressFigures::default(),
            recent: 0,
            _charge: self.place.budget.charge("candidates", bytes)?,
        })
    }

    fn offer(&self, worker: &mut Offered, candidates: Records<'_>) -> Result<(), SearchError> {
        let words = self.place.width.words();
        for piece in candidates.words().chunks(self.sizes.measured * words) {
            worker.values.clear();
            (self.measure)(Records::new(piece, words), &mut worker.values);
            worker.sort_out(self.at, words, piece);
            let Offered { here, same, ahead, ahead_values, back, back_values, missed, recent, .. } = worker;
            here.offer(&self.place, &self.window, Records::new(same, words))?;
            for list in [(&mut *ahead, &mut *ahead_values), (&mut *back, &mut *back_values)] {
                *recent += Offered::retain_unmet(&self.window, words, list, missed);
            }
            if ahead.is_empty() && back.is_empty() {
                continue;
            }
            let Waiting { queue, regress, .. } = &mut *self.waiting();
            queue.push(ahead_values, ahead)?;
            for (value, record) in back_values.iter().zip(back.chunks_exact(words)) {
                regress.push(std::slice::from_ref(value))?;
                regress.push(record)?;
            }
        }
        Ok(())
    }

    fn flush(&self, worker: &mut Offered) -> Result<(), SearchError> {
        Ok(worker.here.settle(&self.place)?)
    }

    fn prepare_close(&mut self, _: &mut [&mut Offered]) -> Result<bool, SearchError> {
        Ok(false)
    }

    fn close_share(&self, _: &mut Offered) -> Result<(), SearchError> {
        Ok(())
    }

    fn close_stage(&mut self, workers: &mut [&mut Offered]) -> Result<ClosedStage, SearchError> {
        for worker in workers.iter_mut() {
            let seen = std::mem::take(&mut worker.figures);
            self.figures.forward += seen.forward;
            self.figures.stationary += seen.stationary;
            self.figures.regress += seen.regress;
            self.recent += std::mem::take(&mut worker.recent);
        }
        let states = self.advance(workers)?;
        self.remove_retired()?;
        let DiskUse { closed_set, layers, .. } = self.disk_use();
        self.disk_meter.note(closed_set + layers);
        Ok(ClosedStage { states, oldest_duplicate: OldestDuplicate::Unknown })
    }

    fn next_batch(
        &self,
        _: &mut Offered,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        Ok(self.frontier().next_batch(records, batch)?)
    }

    fn revisits(&self) -> bool {
        !self.keep && self.figures.sweeps > 1
    }

    fn duplicates(&self) -> Duplicates {
        Duplicates { in_ram: Some(self.recent), ..Duplicates::default() }
    }

    fn progress(&self) -> Option<ProgressFigures> {
        let largest_bucket = self.figures.largest_bucket.max(self.bucket_states);
        Some(ProgressFigures { largest_bucket, ..self.figures })
    }

    fn has_layers(&self) -> bool {
        false
    }

    fn checkpoint(
        &mut self,
        boundary: &dyn Fn() -> Vec<u8>,
        reason: CheckpointReason,
    ) -> Result<(), SearchError> {
        let limit = self.disk_meter.above_limit().filter(|_| reason == CheckpointReason::Passing);
        if self.at_rest.is_some() {
            // It was over when it was taken up.
            return Ok(());
        }
        if reason != CheckpointReason::Passing || limit.is_some() || self.commits.is_due() {
            self.commit(&boundary())?;
        }
        limit.map_or(Ok(()), Err)
    }
}
