//! Policy of stages: the states first through which the shortest way to a goal may lead, on disk.
//!
//! S. Edelkamp, S. Jabbar, S. Schrödl, "External A*" (KI 2004). A stage is a *bucket*: what is new among states that are as many steps from the start (g) and, by a lower bound, as many from the goal (h).
//!
//! ```text
//! pop the bucket of the least g + h from the queue; of its states, those that are in no bucket before it are a stage
//! expand them:  a step to a state of bound h' leads to the bucket of g + 1 and h'
//! ```
//! Every state is expanded once, whatever the bound: counts and checksum are those of any other engine, and so is a verdict. Where the bound is *consistent* (no step decreases it by more than one), g + h never
//! decreases, so a state comes out of the queue for the first time in the bucket of its depth, and a goal, whose bound is 0, at the end of a shortest path. A bucket of a smaller sum than the one before, which only
//! a bound that is not consistent makes, is taken for one of the same.
//!
//! Among buckets of the same sum those come first that are nearest to the goal (`ties=near`), and a goal ends the search before others of that sum are expanded; or those nearest to the start (`ties=far`): then no bucket is ever popped twice.
//!
//! Memory: that of the queue, of the set of known states and of a window, all from the budget, and 8 bytes per diagonal of buckets. I/O: what the queue moves, the stages once, look-ups among known states.

mod commit;
mod depths;
mod sizes;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fathom_disk::budget::{Budget, Charge, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::priority_queue::{ArrayHeap, ArrayHeapConfig, PriorityQueue, RadixHeap};
use fathom_disk::run::Tag;
use fathom_disk::sabotage::is_chosen;
use fathom_disk::storage::Volume;
use fathom_disk::window::Window;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::engine::{
    Answer, Ask, Body, Engine, EngineOption, FilePlace, Files, Kept, Measure, OptionValue, Run, Threads,
};
use crate::bodies::stages::{self, CheckpointReason, ClosedStage, OldestDuplicate, StagePolicy};
use crate::error::SearchError;
use crate::files::at_rest::AtRest;
use crate::files::commits::Commits;
use crate::files::disk_use::{DiskMeter, DiskUse};
use crate::files::frontier::Frontier;
use crate::files::journal::StoredLayers;
use crate::files::layer_store::{BlockEncoder, LayerStore};
use crate::files::lock;
use crate::files::place::Place;
use crate::stores::disk_set::DiskSet;
use crate::stores::visited::{Insertion, Visited};
use crate::stores::{Layered, key_width};
use crate::task::{Duplicates, Ending, Outcome, Task};

use depths::Depths;

pub use sizes::Sizes;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "astar",
    help: "Directed (A*), on disk, exact: states that may be on a shortest path to the goal come first",
    search: "by distance to the goal, exact",
    memory: "what --ram leaves, for any number",
    io: "each state a few times, and look-ups of known states",
    certificate: "closed set (fathom audit)",
    origin: "Edelkamp, Jabbar, Schrödl 2004: external A*, for --reach and invariants; --resume",
    threads: Threads::Many,
    files: Files::Always,
    resumes: true,
    revisits: false,
    body: Body::Stages,
    layers: false,
    stores: &[],
    options: &[
        EngineOption {
            key: "heuristic",
            value: OptionValue::OneOf(&["control", "none"]),
            required: false,
            help: "the lower bound on the distance to a goal: from the control flow of the model (control), or 0 (none)",
        },
        EngineOption {
            key: "ties",
            value: OptionValue::OneOf(&["near", "far"]),
            required: false,
            help: "among states with equal bounds, those nearest to the goal first (near), or those farthest from it (far; always with --dir)",
        },
    ],
    run: Run::States(search),
};

fn search(ask: &Ask<'_>) -> Result<Answer, SearchError> {
    let FilePlace { volume, tag, lasts, limit, commit_every, .. } = *ask.place;
    // Without a bound every goal may be at hand: that is breadth-first, and as right.
    let nothing: Measure<'_> = &|records, values| values.resize(values.len() + records.len(), 0);
    let bound = ask.measure.map_or(nothing, |measure| measure.values);
    // A queue that takes priorities in any order has one more file for each time that it was committed and taken up: only a search that does not last has it.
    let far = lasts || ask.chosen.option("ties") == Some("far");
    let ties = if far { Ties::Far } else { Ties::Near };
    let options = Options { tag, commit_every, disk_limit: limit, ties, sizes: None };
    let (policy, outcome) = run(ask.task, bound, (&volume()?, lasts), options)?;
    let used = Some(policy.disk_use());
    let outcome = policy.with_depths(outcome);
    Ok(Answer {
        engine: ENGINE.name,
        outcome,
        kept: Kept::Layers(Box::new(policy.into_layers())),
        used,
        closing: None,
        measure: None,
        figures: Vec::new(),
    })
}

/// What a caller may choose.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Model, property and options that change meaning.
    pub tag: Tag,
    /// How long to wait between commits, at least.
    pub commit_every: Duration,
    /// Bytes that files may take, if there is a limit.
    pub disk_limit: Option<u64>,
    /// Which of two buckets of the same sum comes first.
    pub ties: Ties,
    /// Sizes of the parts, in place of those that suit the budget.
    pub sizes: Option<fn(Sizes) -> Sizes>,
}

impl Options {
    /// For a search that nobody goes on with.
    pub fn unlasting() -> Options {
        let tag = Tag::default();
        Options { tag, commit_every: Duration::MAX, disk_limit: None, ties: Ties::Near, sizes: None }
    }
}

/// Which of two buckets of the same sum comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The one nearer to the goal.
    Near,
    /// The one nearer to the start.
    Far,
}

/// The policy.
pub struct Astar<'m> {
    /// How many steps a goal is away, at least.
    bound: Measure<'m>,
    ties: Ties,
    place: Place,
    commits: Commits,
    sizes: Sizes,
    /// The bucket whose states are expanded; none before the first.
    at: Option<Bucket>,
    waiting: Mutex<Waiting>,
    /// All states of all stages.
    known: DiskSet,
    /// Recent candidates, each behind the number of its bucket: the same state may wait in several.
    window: Window,
    frontier: Mutex<Frontier>,
    encoder: BlockEncoder,
    depths: Depths,
    /// Of a piece of a bucket: which are new, and these.
    new: Vec<u32>,
    fresh: ChargedVec<u64>,
    _charge: Charge,
    /// Candidates that were left out because they were met a moment ago.
    recent: u64,
    at_rest: Option<AtRest>,
    disk_meter: DiskMeter,
}

/// States that are as far from the start, and by the bound as far from the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    /// Steps from the start.
    depth: u32,
    /// These, and the bound.
    sum: u32,
}

/// What waits for its turn.
#[derive(Debug)]
struct Waiting {
    queue: Box<dyn PriorityQueue>,
    /// What its files are called.
    queue_name: String,
}

/// What one thread has for itself.
#[derive(Debug)]
pub struct Offered {
    bounds: Vec<u64>,
    /// Candidates, each behind the number of its bucket.
    numbered: Vec<u64>,
    missed: Vec<u32>,
    /// Those that wait.
    buckets: Vec<u64>,
    records: Vec<u64>,
    recent: u64,
    _charge: Charge,
}

impl Bucket {
    /// Where states of that bound are that are one step further.
    fn next(at: Option<Bucket>, bound: u64) -> Bucket {
        // With the defect a step counts for two.
        let step = if is_chosen("depth") { 2 } else { 1 };
        let depth = at.map_or(0, |at| at.depth.saturating_add(step));
        let sum = u64::from(depth).saturating_add(bound).min(u32::MAX.into()) as u32;
        Bucket { depth, sum: sum.max(at.map_or(0, |at| at.sum)) }
    }

    /// Its number in the order in which buckets are popped.
    fn number(self, ties: Ties) -> u64 {
        let tie = if ties == Ties::Near { u32::MAX - self.depth } else { self.depth };
        u64::from(self.sum) << 32 | u64::from(tie)
    }

    fn of_number(number: u64, ties: Ties) -> Bucket {
        let tie = number as u32;
        let depth = if ties == Ties::Near { u32::MAX - tie } else { tie };
        Bucket { depth, sum: (number >> 32) as u32 }
    }
}

/// Searches from the initial states, or goes on with what is committed in the volume. The closed set of a search that `lasts` is put to rest when it is complete.
pub fn run<'m>(
    task: Task<'_>,
    bound: Measure<'m>,
    (volume, lasts): (&Volume, bool),
    options: Options,
) -> Result<(Astar<'m>, Outcome), SearchError> {
    let (mut policy, boundary) =
        Astar::open(volume, task.budget, task.system.shape(), task.settings.threads, bound, options)?;
    let outcome = match boundary {
        Some(boundary) => stages::go_on(task, &mut policy, &boundary)?,
        None => stages::run(task, &mut policy)?,
    };
    if lasts && outcome.ending == Ending::Complete {
        policy.put_to_rest(&outcome.boundary)?;
    }
    Ok((policy, outcome))
}

impl<'m> Astar<'m> {
    /// Takes up what is committed in the volume, or begins with nothing. With what was committed comes the boundary to go on from.
    pub fn open(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        threads: usize,
        bound: Measure<'m>,
        options: Options,
    ) -> Result<(Astar<'m>, Option<Vec<u8>>), SearchError> {
        let width = key_width(shape)?;
        let commits = Commits::open(volume, budget, options.tag, options.commit_every)?;
        let place = Place::new(volume, budget, width, options.tag, commits.sequence());
        // The rest is left to the body.
        let sizes = Sizes::of(budget.free() / 8 * 7, threads.max(1), width);
        let sizes = options.sizes.map_or(sizes, |choose| choose(sizes));
        commits.set_ballast(sizes.log_block_bytes)?;
        if let Some(cursor) = commits.cursor()? {
            return commit::take_up((place, commits, sizes), shape, bound, options, cursor);
        }
        let name = place.fresh_name("stages");
        let store = LayerStore::new(volume, &name, sizes.log_block_bytes, budget)?;
        let queue_name = place.fresh_name("queue");
        let queue = make_queue(options.ties, &place, &sizes, &queue_name, None)?;
        let waiting = Waiting { queue, queue_name };
        Ok((Astar::assemble((place, commits, sizes), shape, bound, options, store, waiting)?, None))
    }

    fn assemble(
        (place, commits, sizes): (Place, Commits, Sizes),
        shape: &Shape,
        bound: Measure<'m>,
        options: Options,
        store: LayerStore,
        waiting: Waiting,
    ) -> Result<Astar<'m>, SearchError> {
        let (words, budget) = (place.width.words(), &place.budget);
        let bits = (words as u32 + 1) * 64;
        let numbered = KeyWidth::new(bits).ok_or(SearchError::TooWide { bits })?;
        let mut known =
            DiskSet::new(shape, &place.volume, &place.fresh_name("known"), sizes.known_bytes, budget)?;
        // A queue that sorts or merges takes as much again for a while, and so does one that is taken up.
        known.leave_free(2 * sizes.queue_bytes);
        Ok(Astar {
            bound,
            ties: options.ties,
            at: None,
            waiting: Mutex::new(waiting),
            frontier: Mutex::new(Frontier::new(&place, store)?),
            encoder: BlockEncoder::new(budget, place.width, sizes.log_block_keys)?,
            depths: Depths::new(budget)?,
            new: Vec::with_capacity(sizes.piece_keys),
            fresh: ChargedVec::with_capacity(budget, "stages", sizes.piece_keys * words)?,
            _charge: budget.charge("stages", sizes.piece_keys * 4)?,
            window: Window::new(numbered.bits(), sizes.window_keys, budget)?,
            known,
            recent: 0,
            at_rest: None,
            disk_meter: DiskMeter::new(options.disk_limit),
            place,
            commits,
            sizes,
        })
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
        let closed_set = self.known.figures().files + self.waiting().queue.disk_bytes();
        self.disk_meter.with(closed_set, None, layers)
    }

    /// The same outcome, with the depths of what was found in place of its stages.
    pub fn with_depths(&self, mut outcome: Outcome) -> Outcome {
        for finding in outcome.findings.all_mut() {
            finding.layer = self.depths.of(finding.layer);
        }
        outcome
    }

    /// The states of a search that is over, by how many steps they are from the start.
    pub fn into_layers(self) -> ByDepth {
        let Frontier { store, .. } = self.frontier.into_inner().unwrap_or_else(PoisonError::into_inner);
        let stages = StoredLayers::of_search(self.commits, self.place, store);
        ByDepth { stages, depths: self.depths }
    }

    /// Pops buckets until one has states that are new, and says how many; 0 if there is nothing more.
    fn advance(&mut self) -> Result<u64, SearchError> {
        let mut states = 0;
        while states == 0 {
            let Astar { place, sizes, known, frontier, encoder, new, fresh, waiting, .. } = self;
            let mut stage = Stage { place, sizes, known, frontier, encoder, new, fresh, states: 0 };
            let popped = lock(waiting).queue.pop(&mut |_, records| stage.take(records))?;
            states = stage.states;
            let Some(number) = popped else { return Ok(0) };
            self.at = Some(Bucket::of_number(number, self.ties));
        }
        self.frontier().close(states)?;
        self.depths.push(self.at.map_or(0, |at| at.depth))?;
        Ok(states)
    }

    fn remove_retired(&mut self) -> Result<(), SearchError> {
        let mut names = self.frontier().store.retired();
        names.extend(self.waiting().queue.retired());
        Ok(self.commits.remove_retired(&names)?)
    }
}

/// The stage that is being made.
struct Stage<'a> {
    place: &'a Place,
    sizes: &'a Sizes,
    known: &'a mut DiskSet,
    frontier: &'a Mutex<Frontier>,
    encoder: &'a mut BlockEncoder,
    new: &'a mut Vec<u32>,
    fresh: &'a mut ChargedVec<u64>,
    states: u64,
}

impl Stage<'_> {
    /// Takes ascending candidates, piece by piece.
    fn take(&mut self, records: &[u64]) -> Result<(), DiskError> {
        let Stage { place, sizes, known, frontier, encoder, new, fresh, states } = self;
        let words = place.width.words();
        for piece in records.chunks(sizes.piece_keys * words) {
            new.clear();
            if let Insertion::Full { reason, .. } = known.insert_all(Records::new(piece, words), new)? {
                return Err(reason.into());
            }
            fresh.clear();
            for index in &**new {
                fresh.extend(&piece[*index as usize * words..][..words])?;
            }
            *states += new.len() as u64;
            encoder.encode(fresh, |keys, payload| lock(frontier).store.append(keys, payload))?;
        }
        Ok(())
    }
}

/// A queue for that order, or the one that a mark tells of.
fn make_queue(
    ties: Ties,
    place: &Place,
    sizes: &Sizes,
    name: &str,
    mark: Option<&[u8]>,
) -> Result<Box<dyn PriorityQueue>, DiskError> {
    let (volume, budget, words, bytes) =
        (&place.volume, &place.budget, place.width.words(), sizes.queue_bytes);
    let config = ArrayHeapConfig::within(bytes, words);
    // Nearest to the goal first, a bucket may be behind the one that is popped: only the array heap takes it back.
    Ok(match (ties, mark) {
        (Ties::Far, None) => Box::new(RadixHeap::new(volume, name, words, bytes, budget)?),
        (Ties::Far, Some(mark)) => Box::new(RadixHeap::resume(volume, name, words, bytes, mark, budget)?),
        (Ties::Near, None) => Box::new(ArrayHeap::new(volume, name, words, config, budget)?),
        (Ties::Near, Some(mark)) => Box::new(ArrayHeap::resume(volume, name, words, config, mark, budget)?),
    })
}

impl StagePolicy for Astar<'_> {
    type Worker = Offered;

    fn worker(&self) -> Result<Offered, SearchError> {
        let (measured, words) = (self.sizes.measured, self.place.width.words());
        let room = |items: usize| Vec::with_capacity(items);
        // Two lists of records, three of numbers, one of places.
        let bytes = measured * (2 * words * 8 + 3 * 8 + 4);
        Ok(Offered {
            bounds: room(measured),
            numbered: room(measured * (words + 1)),
            missed: Vec::with_capacity(measured),
            buckets: room(measured),
            records: room(measured * words),
            recent: 0,
            _charge: self.place.budget.charge("candidates", bytes)?,
        })
    }

    fn offer(&self, worker: &mut Offered, candidates: Records<'_>) -> Result<(), SearchError> {
        let words = self.place.width.words();
        let Offered { bounds, numbered, missed, buckets, records, recent, .. } = worker;
        for piece in candidates.words().chunks(self.sizes.measured * words) {
            [&mut *bounds, numbered, buckets, records].into_iter().for_each(|list| list.clear());
            missed.clear();
            (self.bound)(Records::new(piece, words), bounds);
            for (record, &bound) in piece.chunks_exact(words).zip(&*bounds) {
                numbered.push(Bucket::next(self.at, bound).number(self.ties));
                numbered.extend_from_slice(record);
            }
            self.window.meet_batch(numbered, missed);
            *recent += (bounds.len() - missed.len()) as u64;
            for index in &*missed {
                let key = &numbered[*index as usize * (words + 1)..][..words + 1];
                buckets.push(key[0]);
                records.extend_from_slice(&key[1..]);
            }
            if !buckets.is_empty() {
                self.waiting().queue.push(buckets, records)?;
            }
        }
        Ok(())
    }

    fn flush(&self, _: &mut Offered) -> Result<(), SearchError> {
        Ok(())
    }

    fn prepare_close(&mut self, _: &mut [&mut Offered]) -> Result<bool, SearchError> {
        Ok(false)
    }

    fn close_share(&self, _: &mut Offered) -> Result<(), SearchError> {
        Ok(())
    }

    fn close_stage(&mut self, workers: &mut [&mut Offered]) -> Result<ClosedStage, SearchError> {
        self.recent += workers.iter_mut().map(|worker| std::mem::take(&mut worker.recent)).sum::<u64>();
        let states = self.advance()?;
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

    fn duplicates(&self) -> Duplicates {
        Duplicates { in_ram: Some(self.recent), ..Duplicates::default() }
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

/// The states of a search, by how many steps they are from the start: a shortest path leads back through them.
#[derive(Debug)]
pub struct ByDepth {
    stages: StoredLayers,
    depths: Depths,
}

impl Layered for ByDepth {
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        for stage in self.depths.stages_of(layer) {
            self.stages.visit_layer(stage, visit)?;
        }
        Ok(true)
    }
}
