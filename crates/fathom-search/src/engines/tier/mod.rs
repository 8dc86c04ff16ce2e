//! Policy of the layer loop: states live on disk in sorted runs; memory holds a filter, a window of recent keys, and buffers.
//!
//! External breadth-first search with delayed duplicate detection (Munagala and Ranade 1999; Korf 2004), with what log-structured stores know: disjoint
//! runs in tiers, fences that name the blocks worth reading, and for small layers a filter without false negatives. State sets compress so well that most of the closed set
//! stays in memory, as it is on disk.
//!
//! ```text
//! offer   candidates --> met a reason ago? (window) --> buffer of its shard --> sorted, at times on disk
//! close   per shard: merged candidates --> known? (table; runs, gone through or asked behind a filter) --> new ones: layer log, and run or table
//!         runs of one size are merged, four to one
//! ```
//! Invariants, at every boundary: the layers in the log are exactly those of breadth-first search; a state of any layer is in the table of its shard or in exactly one of
//! its runs; the filter of a shard, if there is one, has every key of its runs; the window has only states that are known or wait as candidates.
//!
//! Memory: the data budget, shared out by [`Shares`]; any works from 4 KiB on, or 256 records where those are more. Disk: 1 to 2.5 bytes per state each for runs and layers.

mod allotment;
mod closing;
mod commit;
mod from_layers;
mod known;
mod needs;
mod rest;
mod run_shapes;
mod shares;
mod sharing;

use std::sync::Mutex;
use std::time::Duration;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::run::Tag;
use fathom_disk::storage::Volume;
use fathom_disk::storage::direct::heap::give_large_blocks_back;
use fathom_disk::window::Window;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::engine::{
    Answer, Ask, Body, Chosen, Engine, EngineOption, FilePlace, Files, Kept, OptionValue, Run, Threads,
};
use crate::bodies::stages::{self, CheckpointReason, ClosedStage, OldestDuplicate, StagePolicy};
use crate::error::SearchError;
use crate::expansion::{least_bytes, threads_within};
use crate::files::candidates::{Candidates, Collected};
use crate::files::closing::Closing;
use crate::files::closing_cost::ClosingCost;
use crate::files::commits::Commits;
use crate::files::disk_use::DiskUse;
use crate::files::finished::Finished;
use crate::files::layer_store::LayerStore;
use crate::files::lock;
use crate::files::place::Place;
use crate::files::search_files::SearchFiles;
use crate::stores::{Layered, key_width};
use crate::task::{Duplicates, Ending, Outcome, Settings, Task};

pub use shares::{Breadth, Repeats, Shares};
pub use sharing::TINY_BYTES;

use allotment::Allotment;
use closing::Offered;
use known::{Known, Tools};

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "tier",
    help: "Breadth-first, exact, with the states on disk",
    search: "breadth-first, exact",
    memory: "what --ram leaves, for any number",
    io: "sort(steps), few reads per layer",
    certificate: "closed set (fathom audit)",
    origin: "Munagala, Ranade 1999; Korf 2004: sorted runs on disk in tiers, a filter in memory; --resume",
    threads: Threads::Many,
    files: Files::Always,
    resumes: true,
    revisits: false,
    body: Body::Stages,
    layers: true,
    stores: &[],
    options: PLAN,
    run: Run::States(search),
};

fn search(ask: &Ask<'_>) -> Result<Answer, SearchError> {
    let (volume, lasts) = ((ask.place.volume)()?, ask.place.lasts);
    let options = options(ask);
    let (tier, outcome) = run(ask.task, (&volume, lasts), options)?;
    let (used, closing) = (Some(tier.disk_use()), Some(tier.cost()));
    // Searching again needs the memory that this one has.
    let kept = if tier.keeps_all_layers() { Kept::Layers(Box::new(tier)) } else { Kept::Dropped };
    Ok(Answer { engine: ENGINE.name, outcome, kept, used, closing, measure: None, figures: Vec::new() })
}

/// What was chosen for a search with the states on disk.
pub(super) fn options(ask: &Ask<'_>) -> Options {
    let FilePlace { tag, limit, commit_every, keep_layers, .. } = *ask.place;
    let keep_from = if keep_layers { 0 } else { u64::MAX };
    Options { tag, plan: plan(ask.chosen), commit_every, disk_limit: limit, keep_from, shares: None }
}

/// Searches breadth-first from the initial states, or goes on with what is committed in the volume, with no more threads than there is memory for. The closed set of a search that `lasts` is put to rest when it is complete.
pub fn run(
    task: Task<'_>,
    (volume, lasts): (&Volume, bool),
    options: Options,
) -> Result<(Tier, Outcome), SearchError> {
    let threads = threads_within(task.budget, task.system.shape(), task.settings.threads);
    let settings = Settings { threads, ..task.settings.clone() };
    let task = Task { settings: &settings, ..task };
    let (mut tier, boundary) = Tier::open(volume, task.budget, task.system.shape(), threads, options)?;
    let outcome = match boundary {
        Some(boundary) => stages::go_on(task, &mut tier, &boundary)?,
        None => stages::run(task, &mut tier)?,
    };
    if lasts && outcome.ending == Ending::Complete {
        tier.put_to_rest(&outcome.boundary)?;
    }
    Ok((tier, outcome))
}

/// How new states are compared with known ones.
pub(super) const PLAN: &[EngineOption] = &[EngineOption {
    key: "plan",
    value: OptionValue::OneOf(&["look-up", "scan"]),
    required: false,
    help: "how new states are compared with known ones: looked up, or everything known is read for every layer",
}];

/// The plan that was chosen.
fn plan(chosen: &Chosen) -> Plan {
    if chosen.option("plan") == Some("scan") { Plan::Scan } else { Plan::LookUp }
}

/// The policy.
#[derive(Debug)]
pub struct Tier {
    files: SearchFiles,
    allotment: Allotment,
    shares: Shares,
    options: Options,
    window: Window,
    shards: Vec<Mutex<Known>>,
    closing: Closing<Vec<Collected>, Tools>,
    /// The layer that was closed last.
    offered: Offered,
    cost: ClosingCost,
    /// Candidates for closed layers that were known.
    duplicates: Duplicates,
}

/// What a caller may choose.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Model, property and options that change meaning.
    pub tag: Tag,
    /// How candidates are compared with what is known.
    pub plan: Plan,
    /// How long to wait between commits, at least.
    pub commit_every: Duration,
    /// Bytes that files may take, if there is a limit.
    pub disk_limit: Option<u64>,
    /// Layers before this one are dropped once they were expanded; 0 keeps all.
    pub keep_from: u64,
    /// Sizes of the parts, in place of those that suit the budget.
    pub shares: Option<fn(Shares) -> Shares>,
}

impl Options {
    /// For a search that nobody goes on with.
    pub fn unlasting() -> Options {
        Options {
            tag: Tag::default(),
            plan: Plan::LookUp,
            commit_every: Duration::MAX,
            disk_limit: None,
            keep_from: 0,
            shares: None,
        }
    }
}

/// How candidates are compared with what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// What the filter does not deny is looked up.
    LookUp,
    /// Everything known is read, for every layer: the classic way.
    Scan,
}

/// The window grows with the states until it has its share.
const WINDOW_KEYS_MIN: usize = 1 << 16;

impl Tier {
    /// Takes up what is committed in the volume, or begins with nothing. With what was committed comes the boundary to go on from.
    pub fn open(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        threads: usize,
        options: Options,
    ) -> Result<(Tier, Option<Vec<u8>>), SearchError> {
        let width = key_width(shape)?;
        let commits = Commits::open(volume, budget, options.tag, options.commit_every)?;
        let mut place = Place::new(volume, budget, width, options.tag, commits.sequence());
        let allotment = Allotment::of(budget, threads);
        let shares = allotment.shares(&options, width);
        let (least, free) = (least_bytes(width.words()), budget.free());
        if free < least {
            return Err(SearchError::LeastBudget { bits: shape.width_bits, least, free });
        }
        allotment.leave_free(&mut place, &shares);
        commits.set_ballast(shares.log_block_bytes)?;
        match commits.committed()? {
            Some(committed) => commit::take_up(place, commits, (allotment, shares), options, committed),
            None => {
                let name = place.fresh_name("layers");
                let store = LayerStore::new(volume, &name, shares.log_block_bytes, budget)?;
                let shards = (0..shares.shards)
                    .map(|_| Known::new(&place, &shares))
                    .collect::<Result<Vec<_>, DiskError>>()?;
                Ok((Tier::assemble(place, commits, (allotment, shares), options, store, shards)?, None))
            }
        }
    }

    fn assemble(
        place: Place,
        commits: Commits,
        (allotment, shares): (Allotment, Shares),
        options: Options,
        store: LayerStore,
        shards: Vec<Known>,
    ) -> Result<Tier, SearchError> {
        give_large_blocks_back();
        let files = SearchFiles::new(place, commits, store, (options.keep_from, options.disk_limit))?;
        let window = files.place.window(shares.window_keys.min(WINDOW_KEYS_MIN))?;
        Ok(Tier {
            window,
            shards: shards.into_iter().map(Mutex::new).collect(),
            closing: Closing::default(),
            offered: Offered::default(),
            cost: ClosingCost::default(),
            duplicates: Duplicates::noticed(0, 0),
            files,
            allotment,
            shares,
            options,
        })
    }

    /// Bytes in a block of the layer log of a search with that budget.
    pub(in crate::engines) fn log_block_bytes(
        budget: &Budget,
        shape: &Shape,
        threads: usize,
        options: &Options,
    ) -> Result<usize, SearchError> {
        Ok(Allotment::of(budget, threads).shares(options, key_width(shape)?).log_block_bytes)
    }

    /// Where the time of closing went.
    pub fn cost(&self) -> ClosingCost {
        self.cost
    }

    /// How the memory is shared out.
    pub fn shares(&self) -> Shares {
        self.shares
    }

    /// The volume that the files are on.
    pub fn volume(&self) -> &Volume {
        &self.files.place.volume
    }

    /// What files hold and have held.
    pub fn disk_use(&self) -> DiskUse {
        self.files.disk_use(&self.shards)
    }

    /// Whether no layer was dropped.
    pub fn keeps_all_layers(&self) -> bool {
        self.files.keep_all_layers()
    }

    /// Gives up everything but what is committed, which is everything if the search was complete.
    pub fn into_finished(self) -> Result<Finished, SearchError> {
        let Place { volume, budget, width, tag, .. } = &self.files.place;
        let (volume, budget, width, tag) = (volume.clone(), budget.clone(), *width, *tag);
        // The lock is given back first.
        drop(self);
        Finished::of(&volume, &budget, width, tag)?.ok_or(SearchError::Boundary)
    }

    fn grow_window(&mut self) -> Result<(), SearchError> {
        let known: u64 = self.shards.iter().map(|shard| lock(shard).count()).sum();
        let (held, most) = (self.window.capacity(), self.shares.window_keys);
        if held < most / 2 && known / 4 > held as u64 {
            let bits = self.files.place.width.bits();
            // The old one goes first: there may not be room for both.
            self.window = Window::new(bits, 0, &self.files.place.budget)?;
            self.window = self.files.place.window((held * 4).min(most))?;
        }
        Ok(())
    }
}

impl StagePolicy for Tier {
    type Worker = Candidates;

    fn worker(&self) -> Result<Candidates, SearchError> {
        Ok(Candidates::new(&self.files.place, self.shares.candidates())?)
    }

    fn offer(&self, worker: &mut Candidates, candidates: Records<'_>) -> Result<(), SearchError> {
        Ok(worker.offer(&self.files.place, &self.window, candidates)?)
    }

    fn flush(&self, _worker: &mut Candidates) -> Result<(), SearchError> {
        Ok(())
    }

    fn prepare_close(&mut self, workers: &mut [&mut Candidates]) -> Result<bool, SearchError> {
        self.begin_closing(workers)
    }

    fn close_share(&self, _worker: &mut Candidates) -> Result<(), SearchError> {
        self.close_shards()
    }

    fn close_stage(&mut self, workers: &mut [&mut Candidates]) -> Result<ClosedStage, SearchError> {
        let states = self.end_closing(workers);
        let Offered { candidates, collected, .. } = self.offered;
        self.duplicates =
            self.duplicates.and(Duplicates::noticed(candidates - collected, collected - states));
        if self.shares.tight {
            self.closing.put_tools_away();
            let Tier { shards, files, cost, .. } = self;
            shards.iter().try_for_each(|shard| lock(shard).compact(&files.place, cost))?;
        }
        self.files.close(states, &self.shards, self.offered.spilled_bytes)?;
        self.grow_window()?;
        self.adjust(workers, states)?;
        Ok(ClosedStage { states, oldest_duplicate: OldestDuplicate::Unknown })
    }

    fn duplicates(&self) -> Duplicates {
        self.duplicates
    }

    fn next_batch(
        &self,
        _worker: &mut Candidates,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        self.files.next_batch(records, batch)
    }

    fn checkpoint(
        &mut self,
        boundary: &dyn Fn() -> Vec<u8>,
        reason: CheckpointReason,
    ) -> Result<(), SearchError> {
        let due = self.files.due(reason == CheckpointReason::Passing);
        if due.commit {
            self.commit(&boundary())?;
        }
        due.over_limit.map_or(Ok(()), Err)
    }
}

impl Layered for Tier {
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        self.files.visit_layer(layer, visit)
    }
}
