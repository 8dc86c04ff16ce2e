//! Policy of the layer loop: candidates are compared with the recent layers, in memory and then on disk, and with all only when that is called for.
//!
//! P. Lamborn, E. A. Hansen, "Layered duplicate detection in external-memory model checking" (SPIN 2008), corrected: a layer of which a part left the memory is read from disk, no window makes a search endless, and
//! the window may follow from the back edges that were seen.
//!
//! ```text
//! offer   candidates --> image of recent layers --not there--> by shard: buffer --> sorted pieces
//! close   per shard: pieces, merged --> minus the layers of the window that are not complete in the image --> the run of the next layer, and the log
//! count   all layers, sorted by state and layer --> a state of several layers is one of the first of them
//! ```
//! Invariants, at every boundary: every layer of the log has all states of its depth, and else only states of smaller depth; every state of a layer was expanded, or is in the last one; layers from the first that is kept
//! on are in the runs. So the first layer in which something is found is the right one, and so is the least path to it.
//!
//! Memory: the image takes a quarter of what the budget leaves, the rest is buffers. I/O: candidates are written and read at most once or twice, and each layer is read as often as the window has layers; more when states are
//! visited twice.

mod commit;
mod count;
mod image;
mod lookback;
mod shard;
mod sizes;

use std::sync::Mutex;
use std::time::Duration;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::run::Tag;
use fathom_disk::sketch::Sketch;
use fathom_disk::storage::{Phase, Volume};
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::engine::{
    Answer, Ask, Body, Engine, EngineOption, FilePlace, Files, Kept, OptionValue, Run, Threads,
};
use crate::bodies::stages::{self, CheckpointReason, ClosedStage, OldestDuplicate, StagePolicy};
use crate::error::SearchError;
use crate::files::candidates::{self, Candidates, Collected};
use crate::files::closing::Closing;
use crate::files::commits::Commits;
use crate::files::disk_use::DiskUse;
use crate::files::layer_store::LayerStore;
use crate::files::lock;
use crate::files::place::Place;
use crate::files::search_files::SearchFiles;
use crate::stores::{Layered, key_width};
use crate::task::{Duplicates, Ending, Outcome, Task};

use image::Image;
use lookback::{Compared, Lookback, Seen};
use shard::{Shard, Tools};

pub use lookback::Length;
pub use sizes::Sizes;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "layered",
    help: "Breadth-first, on disk, comparing new states with recent layers only: some may be visited twice",
    search: "breadth-first; may visit states twice",
    memory: "what --ram leaves, for any number",
    io: "recent layers once per layer",
    certificate: "closed set (fathom audit), unless layers are dropped",
    origin: "Lamborn, Hansen 2008: layered duplicate detection, corrected; -E layers=N; --resume",
    threads: Threads::Many,
    files: Files::Always,
    resumes: true,
    revisits: true,
    body: Body::Stages,
    layers: true,
    stores: &[],
    options: &[
        EngineOption {
            key: "layers",
            value: OptionValue::Count("N|auto"),
            required: false,
            help: "layers on disk that new states are compared with (auto: as far back as steps were seen to lead)",
        },
        EngineOption {
            key: "drop",
            value: OptionValue::OneOf(&["yes", "no"]),
            required: false,
            help: "whether older layers are deleted; at --disk-limit they are in any case (no)",
        },
        EngineOption {
            key: "ram-image",
            value: OptionValue::OneOf(&["on", "off"]),
            required: false,
            help: "whether new states are compared with recent layers in memory first (on)",
        },
    ],
    run: Run::States(search),
};

fn search(ask: &Ask<'_>) -> Result<Answer, SearchError> {
    let FilePlace { volume, tag, lasts, limit, commit_every, keep_layers, count } = *ask.place;
    let options = Options {
        tag,
        commit_every,
        disk_limit: limit,
        length: ask.chosen.number("layers").map_or(Length::Auto, Length::Layers),
        drops: ask.chosen.option("drop") == Some("yes"),
        image: ask.chosen.option("ram-image") != Some("off"),
        keep_layers,
        count,
        sizes: None,
    };
    let (policy, outcome) = run(ask.task, (&volume()?, lasts), options)?;
    let used = Some(policy.disk_use());
    // Searching again needs the memory that this one has.
    let kept = if policy.keeps_all_layers() { Kept::Layers(Box::new(policy)) } else { Kept::Dropped };
    Ok(Answer { engine: ENGINE.name, outcome, kept, used, closing: None, measure: None, figures: Vec::new() })
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
    /// Layers on disk that candidates are compared with.
    pub length: Length,
    /// Whether layers before the window are dropped.
    pub drops: bool,
    /// Whether there is an image of recent layers in memory.
    pub image: bool,
    /// Whether layers stay for paths.
    pub keep_layers: bool,
    /// Whether states are counted at the end, if some may have been visited twice.
    pub count: bool,
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
            length: Length::Auto,
            drops: false,
            image: true,
            keep_layers: true,
            count: true,
            sizes: None,
        }
    }

    /// Layers before this one leave the log once they were expanded.
    fn keep_from(&self) -> u64 {
        let kept = self.count || self.keep_layers && !self.drops;
        if kept { 0 } else { u64::MAX }
    }
}

/// The policy.
#[derive(Debug)]
pub struct RecentLayers {
    files: SearchFiles,
    sizes: Sizes,
    options: Options,
    image: Image,
    shards: Vec<Mutex<Shard>>,
    closing: Closing<Work, Tools>,
    /// What the layer that is being closed is compared with.
    compared: Compared,
    lookback: Lookback,
    /// Candidates for closed layers that were known.
    in_ram: u64,
    delayed: u64,
    /// Visits of states that had been visited before, once they are counted.
    counted: Option<u64>,
}

/// What there is to do for a shard, and what was seen.
#[derive(Debug)]
struct Work {
    collected: Vec<Collected>,
    seen: Seen,
}

/// Searches breadth-first from the initial states, or goes on with what is committed in the volume. States of a complete search are counted, if that is asked for, and its closed set put to rest, if it `lasts`.
pub fn run(
    task: Task<'_>,
    (volume, lasts): (&Volume, bool),
    options: Options,
) -> Result<(RecentLayers, Outcome), SearchError> {
    let (mut policy, boundary) =
        RecentLayers::open(volume, task.budget, task.system.shape(), task.settings.threads, options)?;
    let outcome = match boundary {
        Some(boundary) => stages::go_on(task, &mut policy, &boundary)?,
        None => stages::run(task, &mut policy)?,
    };
    let outcome = policy.finish(task, outcome, lasts)?;
    Ok((policy, outcome))
}

impl RecentLayers {
    /// Takes up what is committed in the volume, or begins with nothing. With what was committed comes the boundary to go on from.
    pub fn open(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        threads: usize,
        options: Options,
    ) -> Result<(RecentLayers, Option<Vec<u8>>), SearchError> {
        let width = key_width(shape)?;
        let commits = Commits::open(volume, budget, options.tag, options.commit_every)?;
        let place = Place::new(volume, budget, width, options.tag, commits.sequence());
        // The rest is left to the body.
        let sizes = Sizes::of(budget.free() / 8 * 7, threads.max(1), width);
        let sizes = options.sizes.map_or(sizes, |choose| choose(sizes));
        commits.set_ballast(sizes.log_block_bytes)?;
        if let Some(cursor) = commits.cursor()? {
            return commit::take_up((place, commits, sizes), threads, options, cursor);
        }
        let name = place.fresh_name("layers");
        let store = LayerStore::new(volume, &name, sizes.log_block_bytes, budget)?;
        let lookback = Lookback::new(options.length, options.drops);
        let policy =
            RecentLayers::assemble((place, commits, sizes), threads, options, store, (lookback, Vec::new()))?;
        Ok((policy, None))
    }

    fn assemble(
        (place, commits, sizes): (Place, Commits, Sizes),
        threads: usize,
        options: Options,
        store: LayerStore,
        (lookback, samples): (Lookback, Vec<Sketch>),
    ) -> Result<RecentLayers, SearchError> {
        let keep_from = if store.first() > 0 { u64::MAX } else { options.keep_from() };
        let mut samples = samples.into_iter();
        let shards = (0..sizes.shards)
            .map(|_| Ok(Mutex::new(Shard::new(&place, &sizes, samples.next())?)))
            .collect::<Result<_, DiskError>>()?;
        let image_bytes = if options.image { sizes.image_bytes } else { 0 };
        let words = place.width.words();
        let mut image = Image::new(words, (image_bytes, sizes.image_entries), threads, &place.budget)?;
        image.begin_layer(lookback.layers);
        image.begin_after(lookback.layers);
        Ok(RecentLayers {
            files: SearchFiles::new(place, commits, store, (keep_from, options.disk_limit))?,
            image,
            shards,
            closing: Closing::default(),
            compared: lookback.compared(0, 0.0, 0),
            lookback,
            in_ram: 0,
            delayed: 0,
            counted: None,
            sizes,
            options,
        })
    }

    /// What files hold and have held.
    pub fn disk_use(&self) -> DiskUse {
        self.files.disk_use(&self.shards)
    }

    /// Whether no layer was dropped from the log.
    pub fn keeps_all_layers(&self) -> bool {
        self.files.keep_all_layers()
    }

    /// Whether all layers are in runs.
    fn keeps_all_states(&self) -> bool {
        self.lookback.kept_from == 0
    }

    /// Layers that candidates were compared with in the end, beside those in memory, and how many times with all.
    pub fn window(&self) -> (u64, u64) {
        (self.lookback.window(), self.lookback.full_checks)
    }

    /// How many distinct states were visited, at least: an estimate, less its standard error.
    fn distinct(&self) -> f64 {
        let about = |sample: &Sketch| {
            let error =
                if sample.is_full() { 1.0 / ((sample.sample().len() - 2) as f64).sqrt() } else { 0.0 };
            sample.distinct() * (1.0 - error)
        };
        self.shards.iter().map(|shard| about(&lock(shard).sample)).sum()
    }

    /// Closes a shard: its part of the next layer.
    fn close_shard(&self, number: usize, work: &mut Work, tools: &mut Tools) -> Result<u64, SearchError> {
        let _phase = Phase::enter("close");
        let (place, sizes) = (&self.files.place, &self.sizes);
        let mut shard = lock(&self.shards[number]);
        let compared = self.compared;
        work.seen = candidates::with_stream(place, &mut work.collected, sizes.scan_bytes, |stream| {
            shard.close(place, sizes, (compared, tools), stream, &mut |keys, payload| {
                self.files.frontier().store.append(keys, payload)
            })
        })?;
        Ok(work.seen.states)
    }

    /// Drops what is before the window, and forgets it in the log, too: there is no room for more. False if it is dropped already, or must stay.
    fn make_room(&mut self) -> Result<bool, SearchError> {
        if !self.lookback.begin_to_drop() {
            return Ok(false);
        }
        self.files.frontier().store.drop_before(u64::MAX);
        self.move_on()?;
        Ok(true)
    }

    /// Moves the window on to the layers before the one that is found next.
    fn move_on(&mut self) -> Result<(), SearchError> {
        let (from, drops) = self.lookback.moves_on();
        for shard in &self.shards {
            lock(shard).settle(&self.files.place, &self.sizes, from, drops)?;
        }
        if drops {
            self.lookback.kept_from = self.lookback.kept_from.max(from);
        }
        Ok(())
    }
}

impl StagePolicy for RecentLayers {
    type Worker = Candidates;

    fn worker(&self) -> Result<Candidates, SearchError> {
        Ok(Candidates::new(&self.files.place, self.sizes.candidates())?)
    }

    fn offer(&self, worker: &mut Candidates, candidates: Records<'_>) -> Result<(), SearchError> {
        Ok(worker.offer(&self.files.place, &self.image, candidates)?)
    }

    fn flush(&self, worker: &mut Candidates) -> Result<(), SearchError> {
        Ok(worker.settle(&self.files.place)?)
    }

    fn prepare_close(&mut self, workers: &mut [&mut Candidates]) -> Result<bool, SearchError> {
        let words = self.files.place.width.words();
        let offered: u64 = workers.iter().map(|worker| worker.offered()).sum();
        let parts = workers.iter().flat_map(|worker| worker.shards());
        let collected: u64 = parts.map(|part| part.count(words)).sum();
        (self.in_ram, self.delayed) = (self.in_ram + offered - collected, self.delayed + collected);
        self.compared = self.lookback.compared(collected, self.distinct(), self.image.complete_from());
        self.closing.equip(self.sizes.closers, || Tools::new(&self.files.place, &self.sizes))?;
        let work = candidates::take_by_shard(workers);
        self.closing.begin(work.into_iter().map(|collected| Work { collected, seen: Seen::default() }));
        Ok(self.closing.tools().len() > 1 && collected >= self.sizes.shared_keys_min)
    }

    fn close_share(&self, _worker: &mut Candidates) -> Result<(), SearchError> {
        self.closing.share(|number, work, tools| self.close_shard(number, work, tools))
    }

    fn close_stage(&mut self, workers: &mut [&mut Candidates]) -> Result<ClosedStage, SearchError> {
        let (work, states) = self.closing.end();
        let mut seen = Seen::default();
        candidates::give_back(
            workers,
            work.map(|work| {
                seen = seen.and(work.seen);
                work.collected
            }),
        );
        self.delayed -= states;
        self.lookback.closed(self.compared, seen, self.distinct());
        self.image.begin_layer(self.lookback.layers);
        self.move_on()?;
        self.files.close(states, &self.shards, 0)?;
        Ok(ClosedStage { states, oldest_duplicate: OldestDuplicate::Unknown })
    }

    fn next_batch(
        &self,
        _worker: &mut Candidates,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        self.files.next_batch(records, batch)
    }

    fn revisits(&self) -> bool {
        self.lookback.revisits && self.counted.is_none()
    }

    fn duplicates(&self) -> Duplicates {
        let missed = if self.lookback.revisits { self.counted } else { Some(0) };
        Duplicates { in_ram: Some(self.in_ram), delayed: Some(self.delayed), missed }
    }

    fn checkpoint(
        &mut self,
        boundary: &dyn Fn() -> Vec<u8>,
        reason: CheckpointReason,
    ) -> Result<(), SearchError> {
        let due = self.files.due(reason == CheckpointReason::Passing);
        let made_room = due.over_limit.is_some() && self.make_room()?;
        if due.commit {
            self.commit(&boundary())?;
        }
        // What was dropped is gone when the next layer is closed.
        due.over_limit.filter(|_| !made_room).map_or(Ok(()), Err)
    }
}

impl Layered for RecentLayers {
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        self.files.visit_layer(layer, visit)
    }
}

/// Whether a search ended that has nothing more to expand.
fn is_complete(outcome: &Outcome) -> bool {
    outcome.ending == Ending::Complete
}
