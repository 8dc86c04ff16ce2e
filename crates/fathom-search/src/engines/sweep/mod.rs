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
mod line;
pub(crate) mod look;
mod offered;
mod sizes;
pub(crate) mod spans;
mod stage;
mod sweeps;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::priority_queue::{ArrayHeap, ArrayHeapConfig, PriorityQueue, RadixHeap};
use fathom_disk::run::{Run, Tag};
use fathom_disk::set::{KeyStream, Sorter};
use fathom_disk::storage::Volume;
use fathom_disk::window::Window;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;
use fathom_model::steps::Steps;

use super::engine::{
    Answer, Ask, Body, Engine, EngineOption, FilePlace, Files, Kept, Measure, OptionValue, Run as Runs,
    Threads,
};
use super::sweep_ram::ONE_BUCKET;
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
use line::{Line, Pace};
use look::{Look, Seen};
use offered::Offered;
use spans::Spans;
use stage::Stage;

pub use sizes::Sizes;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "sweep",
    help: "In order of a progress measure, on disk, exact: only states of one value are in memory",
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
            help: "the progress measure: any expressions are sound, ones that seldom decrease are good",
        },
        EngineOption {
            key: "keep",
            value: OptionValue::OneOf(&["yes", "no"]),
            required: false,
            help: "whether states behind the line stay on disk, so that none is visited twice (yes)",
        },
        EngineOption {
            key: "relaxed",
            value: OptionValue::Number,
            required: false,
            help: "states that are taken from the queue together though their progress differs (a part of memory; 1: none)",
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
    let measure = ask.measure.map_or(ONE_BUCKET, |measure| measure.values);
    let options = Options {
        tag,
        commit_every,
        disk_limit: limit,
        keep: ask.chosen.option("keep") != Some("no"),
        queue: if ask.chosen.option("queue") == Some("array") { Queue::Array } else { Queue::Radix },
        relaxed: ask.chosen.number("relaxed"),
        measure_text: ask
            .measure
            .map_or(String::new(), |measure| format!("{} {:x}", measure.name, measure.identity)),
        gives_up: false,
        sizes: None,
    };
    let place = (&volume()?, lasts);
    let (policy, outcome) = run(ask.task, measure, place, options)?;
    let used = Some(policy.disk_use());
    let measure = ask.measure.map(|measure| measure.name.to_owned());
    let kept = if policy.keep { Kept::Stages(Box::new(policy.into_stages())) } else { Kept::NoLayers };
    Ok(Answer { engine: ENGINE.name, outcome, kept, used, closing: None, measure, figures: Vec::new() })
}

/// Why a sweep that may give up does.
pub const TOO_DEAR: &str = "steps back make the sweep dear";
/// What is read before that is asked, and how much per state is too much: a search by layers on disk reads some hundred bytes per state where it suits.
const DEAR_BYTES_MIN: u64 = 256 << 20;
const DEAR_BYTES_PER_STATE: u64 = 1000;

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
    /// States that are taken from the queue together, if that is said.
    pub relaxed: Option<u64>,
    /// The text of the measure: what was begun with one is not taken up with another.
    pub measure_text: String,
    /// Whether it ends when looking up what earlier sweeps know has become dear.
    pub gives_up: bool,
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
            relaxed: None,
            measure_text: String::new(),
            gives_up: false,
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
    /// The values whose states are expanded; none before the first.
    at: Option<Line>,
    pace: Pace,
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
    /// What several values have that are expanded together.
    joined: ChargedVec<u64>,
    /// The first stage of this sweep, and that of this bucket.
    sweep_from: u64,
    bucket_from: u64,
    figures: ProgressFigures,
    /// Candidates that were left out because they were met a moment ago.
    recent: u64,
    /// States of the bucket so far, and those of them that came from the queue.
    bucket_states: u64,
    taken: u64,
    gives_up: bool,
    /// States of all stages that this process has closed, and bytes that were read before it began.
    states: u64,
    read_before: u64,
    at_rest: Option<AtRest>,
    disk_meter: DiskMeter,
    /// Who looks at buckets, across which values steps go back, and how many were made within this bucket.
    looked_at: Option<(&'m mut LookSync<'m>, Spans)>,
    within: u64,
}

/// Who looks at buckets, whatever thread closes them.
pub(crate) type LookSync<'l> = dyn Look + Send + Sync + 'l;

/// What waits for its turn.
#[derive(Debug)]
struct Waiting {
    queue: Box<dyn PriorityQueue>,
    /// What its files are called.
    queue_name: String,
    /// Values and records of steps back; the initial states are the first.
    regress: Sorter,
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
            pace: Pace::new(options.relaxed, sizes.joined_keys),
            waiting: Mutex::new(Waiting { queue, queue_name, regress }),
            bucket: Bucket::new(&place, &sizes)?,
            earlier: Earlier::new(&place, &sizes, valued)?,
            roots: None,
            window: place.window(sizes.window_keys)?,
            frontier: Mutex::new(Frontier::new(&place, store)?),
            encoder: BlockEncoder::new(&place.budget, place.width, sizes.log_block_keys)?,
            fresh: ChargedVec::with_capacity(&place.budget, "bucket", sizes.piece_keys * words)?,
            joined: ChargedVec::with_capacity(&place.budget, "bucket", sizes.joined_keys * words)?,
            sweep_from: 0,
            bucket_from: 0,
            figures: ProgressFigures::default(),
            recent: 0,
            bucket_states: 0,
            taken: 0,
            gives_up: options.gives_up,
            states: 0,
            read_before: place.volume.counts().read().bytes,
            at_rest: None,
            disk_meter: DiskMeter::new(options.disk_limit),
            looked_at: None,
            within: 0,
            place,
            commits,
            sizes,
        })
    }

    /// Has somebody look at every bucket.
    pub(crate) fn look_at_buckets(&mut self, look: &'m mut LookSync<'m>) -> Result<(), SearchError> {
        let spans = Spans::new(&self.place.budget, self.sizes.spans)?;
        self.looked_at = Some((look, spans));
        Ok(())
    }

    /// Across which values steps went back, where somebody looks at buckets.
    pub(crate) fn take_spans(&mut self) -> Option<Spans> {
        self.looked_at.take().map(|(_, spans)| spans)
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
            if !self.look()? {
                return Ok(0);
            }
            self.end_bucket();
            let swept = self.waiting().queue.is_empty();
            if swept && !self.begin_sweep()? {
                return Ok(0);
            }
            states = self.enter_bucket()?;
        }
        self.bucket_states += states;
        self.states += states;
        Ok(states)
    }

    /// Makes a stage of the candidates that are where those are that were expanded; says how many are new.
    fn close_same(&mut self, workers: &mut [&mut Offered]) -> Result<u64, SearchError> {
        let mut parts: Vec<&mut Candidates> = workers.iter_mut().map(|worker| &mut worker.here).collect();
        let mut work = candidates::take_by_shard(&mut parts);
        if let Some(line) = self.at.filter(|_| work.iter().flatten().any(|part| part.count(1) > 0)) {
            self.bucket.meet_earlier(&self.place, &self.sizes, &mut self.earlier, line)?;
        }
        let (mut stage, place, scan_bytes) = self.stage();
        let outcome = work.iter_mut().try_for_each(|collected| {
            candidates::with_stream(place, collected, scan_bytes, |stream| {
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

    /// The stage that is made next.
    fn stage(&mut self) -> (Stage<'_>, &Place, usize) {
        let Sweep { place, sizes, bucket, earlier, at, frontier, encoder, fresh, measure, .. } = self;
        let stage =
            Stage { place, sizes, measure, bucket, earlier, at: *at, frontier, encoder, fresh, states: 0 };
        (stage, place, sizes.scan_bytes)
    }

    /// Pops the next values and makes a stage of what is new of them; says how many states that is.
    fn enter_bucket(&mut self) -> Result<u64, SearchError> {
        self.bucket.enter(&self.place)?;
        let stages = self.frontier().store.layer_count();
        self.bucket_from = stages;
        if !self.keep {
            self.frontier().store.drop_before(stages);
        }
        let pace = self.pace;
        let Sweep { place, sizes, bucket, earlier, at, frontier, encoder, fresh, waiting, .. } = self;
        let (measure, joined) = (self.measure, &mut self.joined);
        let mut stage =
            Stage { place, sizes, measure, bucket, earlier, at: None, frontier, encoder, fresh, states: 0 };
        let queue = &mut lock(waiting).queue;
        // The value of a bucket that is taken as it comes, in several parts.
        let mut large = None;
        let mut popped = 0;
        while let Some(least) = queue.least()
            && popped < pace.enough()
            && stage.at.is_none_or(|line| least <= pace.reach(line.from))
        {
            queue.pop(&mut |value, records| {
                popped += (records.len() / place.width.words()) as u64;
                stage.at = Some(Line::with(stage.at, value));
                if joined.len() + records.len() > joined.capacity() {
                    stage.take_joined(joined)?;
                }
                if records.len() <= joined.capacity() {
                    return Ok(joined.extend(records)?);
                }
                if large.replace(value) != Some(value) {
                    stage.begin_again()?;
                }
                stage.take(records)
            })?;
        }
        stage.take_joined(joined)?;
        *at = stage.at;
        self.taken = stage.end()?;
        Ok(self.taken)
    }

    /// Has somebody look at the bucket; false if nothing more is to be searched.
    fn look(&mut self) -> Result<bool, SearchError> {
        let within = std::mem::take(&mut self.within);
        let Sweep { looked_at, at, frontier, place, bucket_from, bucket_states, .. } = self;
        let (Some((look, spans)), Some(line), true) = (looked_at, *at, *bucket_states > 0) else {
            return Ok(true);
        };
        let store = &lock(frontier).store;
        let stages = *bucket_from..store.layer_count();
        look.look(&Seen { within, line, stages, store, place }, spans)
    }

    fn end_bucket(&mut self) {
        self.figures.buckets += u64::from(self.bucket_states > 0);
        self.figures.largest_bucket = self.figures.largest_bucket.max(self.bucket_states);
        let in_memory = self.bucket_states + self.waiting().queue.in_memory();
        self.figures.in_memory = self.figures.in_memory.max(in_memory);
        self.figures.in_memory_but_waiting = self.figures.largest_bucket;
        self.pace.learn(self.taken, self.bucket_states);
        self.bucket_states = 0;
    }

    /// Takes candidates, a piece at a time; `look` is called when a piece was measured, with the number of its first one.
    fn offer_pieces(
        &self,
        worker: &mut Offered,
        candidates: Records<'_>,
        look: &mut dyn FnMut(&mut Offered, usize),
    ) -> Result<(), SearchError> {
        let words = self.place.width.words();
        for (number, piece) in candidates.words().chunks(self.sizes.measured * words).enumerate() {
            worker.values.clear();
            (self.measure)(Records::new(piece, words), &mut worker.values);
            look(worker, number * self.sizes.measured);
            worker.sort_out(self.at, words, piece);
            worker.hand_over(&self.place, &self.window, &self.waiting)?;
        }
        Ok(())
    }

    fn remove_retired(&mut self) -> Result<(), SearchError> {
        let mut names = self.frontier().store.retired();
        names.extend(self.waiting().queue.retired());
        names.extend(self.earlier.runs.retired());
        Ok(self.commits.remove_retired(&names)?)
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

impl StagePolicy for Sweep<'_> {
    type Worker = Offered;

    fn worker(&self) -> Result<Offered, SearchError> {
        let worker = Offered::new(&self.place, &self.sizes)?;
        match &self.looked_at {
            Some(_) => worker.noting_spans(&self.place, &self.sizes),
            None => Ok(worker),
        }
    }

    fn offer(&self, worker: &mut Offered, candidates: Records<'_>) -> Result<(), SearchError> {
        self.offer_pieces(worker, candidates, &mut |_, _| {})
    }

    fn offer_steps(
        &self,
        worker: &mut Offered,
        stage: Option<u64>,
        sources: Records<'_>,
        steps: &Steps,
    ) -> Result<(), SearchError> {
        let mut cursor = 0;
        self.offer_pieces(worker, steps.targets(), &mut |worker, first| {
            if stage.is_some() {
                worker.count(self.measure, (sources, steps), first, &mut cursor);
            }
        })
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
            self.within += std::mem::take(&mut worker.within);
            if let (Some((_, all)), Some(noted)) = (&mut self.looked_at, &mut worker.spans) {
                all.take(noted);
            }
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

    fn ends(&self) -> Option<&'static str> {
        if !self.gives_up || self.figures.sweeps < 2 {
            return None;
        }
        let read = self.place.volume.counts().read().bytes - self.read_before;
        let states = self.states.max(1);
        (read > DEAR_BYTES_MIN && read / states > DEAR_BYTES_PER_STATE).then_some(TOO_DEAR)
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
