//! Policy of the layer loop: states live on disk in sorted runs; memory holds a filter, a window of recent keys, and buffers.
//!
//! External breadth-first search with delayed duplicate detection (Munagala and Ranade 1999; Korf 2004), with what log-structured stores know: disjoint
//! runs in tiers, fences that name the blocks worth reading, and for small layers a filter without false negatives. State sets compress so well that most of the closed set
//! stays in memory, as it is on disk.
//!
//! ```text
//! offer   candidates --> met a moment ago? (window) --> buffer of its shard --> sorted, at times on disk
//! close   per shard: merged candidates --> known? (table; runs, gone through or asked behind a filter) --> new ones: layer log, and run or table
//!         runs of one size are merged, four to one
//! ```
//! Invariants, at every boundary: the layers in the log are exactly those of breadth-first search; a state of any layer is in the table of its shard or in exactly one of
//! its runs; the filter of a shard, if there is one, has every key of its runs; the window has only states that are known or wait as candidates.
//!
//! Memory: the data budget, shared out by [`Shares`]; any works from 4 KiB on, or 256 records where those are more. Disk: 1 to 2.5 bytes per state each for runs and layers.

mod allotment;
mod candidates;
mod closing;
mod commit;
mod cost;
mod finished;
mod from_layers;
mod journal;
mod known;
pub(in crate::engines) mod layer_store;
mod needs;
pub(in crate::engines) mod place;
mod rest;
mod shares;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::manifest::RunDirectory;
use fathom_disk::run::Tag;
use fathom_disk::storage::Volume;
use fathom_disk::storage::direct::heap::give_large_blocks_back;
use fathom_disk::window::Window;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use crate::bodies::stages::{CheckpointReason, ClosedStage, OldestDuplicate, StagePolicy};
use crate::error::SearchError;
use crate::files::clock::Clock;
use crate::stores::Layered;

pub use candidates::Candidates;
pub use cost::Cost;
pub use finished::Finished;
pub use journal::StoredLayers;
pub(in crate::engines) use journal::{Journal, Opened};
pub use shares::{Breadth, Repeats, Shares, TINY_BYTES};

use allotment::Allotment;
use closing::Closing;
use known::Known;
use layer_store::{LayerCursor, LayerStore};
use place::Place;
use rest::AtRest;

/// The policy.
#[derive(Debug)]
pub struct Tier {
    place: Place,
    directory: RunDirectory,
    allotment: Allotment,
    shares: Shares,
    options: Options,
    window: Window,
    shards: Vec<Mutex<Known>>,
    /// The closed set of a search that is over.
    at_rest: Option<AtRest>,
    layers: Mutex<Layers>,
    closing: Closing,
    clock: Clock,
    cost: Cost,
    /// What files took when the last layer was closed.
    disk_used: u64,
    disk_peak: u64,
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

/// What files hold and have held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// Bytes of the runs: the closed set, as the search has it.
    pub closed_set: u64,
    /// Bytes of the closed set at rest, once it is.
    pub at_rest: Option<u64>,
    /// Bytes of the layer log.
    pub layers: u64,
    /// The most that all files took at the end of a layer.
    pub peak: u64,
}

/// The layers, and how far the current one is handed out.
#[derive(Debug)]
struct Layers {
    store: LayerStore,
    cursor: LayerCursor,
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
        let width = KeyWidth::new(shape.width_bits).ok_or(SearchError::TooWide { bits: shape.width_bits })?;
        let directory = RunDirectory::open(volume, options.tag)?;
        let sequence = directory.committed().map_or(0, |manifest| manifest.sequence);
        let mut place = Place::new(volume, budget, width, options.tag, sequence);
        let allotment = Allotment::of(budget, threads);
        let shares = allotment.shares(&options, width);
        let (least, free) = (needs::least_bytes(width), budget.free());
        if free < least {
            return Err(SearchError::LeastBudget { bits: shape.width_bits, least, free });
        }
        place.share(&shares, allotment.body_bytes());
        commit::set_ballast(&directory, &shares)?;
        match directory.committed().cloned() {
            Some(manifest) => commit::take_up(place, directory, (allotment, shares), options, &manifest),
            None => {
                let name = place.fresh_name("layers");
                let store = LayerStore::new(volume, &name, shares.log_block_bytes, budget)?;
                let shards = (0..shares.shards)
                    .map(|_| Known::new(&place, &shares))
                    .collect::<Result<Vec<_>, DiskError>>()?;
                Ok((Tier::assemble(place, directory, (allotment, shares), options, store, shards)?, None))
            }
        }
    }

    fn assemble(
        place: Place,
        directory: RunDirectory,
        (allotment, shares): (Allotment, Shares),
        options: Options,
        mut store: LayerStore,
        shards: Vec<Known>,
    ) -> Result<Tier, SearchError> {
        give_large_blocks_back();
        store.drop_before(options.keep_from);
        let cursor = LayerCursor::new(place.width, &place.budget)?;
        let window = place.window(shares.window_keys.min(WINDOW_KEYS_MIN))?;
        Ok(Tier {
            window,
            shards: shards.into_iter().map(Mutex::new).collect(),
            at_rest: None,
            layers: Mutex::new(Layers { store, cursor }),
            closing: Closing::default(),
            clock: Clock::new(options.commit_every),
            cost: Cost::default(),
            disk_used: 0,
            disk_peak: 0,
            place,
            directory,
            allotment,
            shares,
            options,
        })
    }

    /// Where the time of closing went.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// How the memory is shared out.
    pub fn shares(&self) -> Shares {
        self.shares
    }

    /// The volume that the files are on.
    pub fn volume(&self) -> &Volume {
        &self.place.volume
    }

    /// What files hold and have held.
    pub fn disk_use(&self) -> DiskUse {
        let layers = self.layers().store.disk_bytes();
        if let Some(AtRest { run, live_bytes }) = &self.at_rest {
            let at_rest = run.bytes();
            let peak = self.disk_peak.max(at_rest + layers);
            return DiskUse { closed_set: *live_bytes, at_rest: Some(at_rest), layers, peak };
        }
        let closed_set = self.shards.iter().map(|shard| lock(shard).disk_bytes()).sum();
        DiskUse { closed_set, at_rest: None, layers, peak: self.disk_peak.max(closed_set + layers) }
    }

    fn layers(&self) -> MutexGuard<'_, Layers> {
        lock(&self.layers)
    }

    /// Removes runs that were merged away and layers that were dropped, those that a commit names aside: they go with the next one.
    fn remove_retired(&mut self) -> Result<(), SearchError> {
        let mut names = self.layers().store.retired();
        self.shards.iter().for_each(|shard| names.extend(lock(shard).retired()));
        let committed =
            |name: &String| self.directory.committed().is_some_and(|manifest| manifest.names(name));
        for name in names.iter().filter(|name| !committed(name)) {
            self.place.volume.remove(name).map_err(DiskError::from)?;
        }
        Ok(())
    }

    /// Whether no layer was dropped.
    pub fn keeps_all_layers(&self) -> bool {
        self.layers().store.first() == 0
    }

    fn grow_window(&mut self) -> Result<(), SearchError> {
        let known: u64 = self.shards.iter().map(|shard| lock(shard).count()).sum();
        let (held, most) = (self.window.capacity(), self.shares.window_keys);
        if held < most / 2 && known / 4 > held as u64 {
            let bits = self.place.width.bits();
            // The old one goes first: there may not be room for both.
            self.window = Window::new(bits, 0, &self.place.budget)?;
            self.window = self.place.window((held * 4).min(most))?;
        }
        Ok(())
    }

    /// Notes how much the files take.
    fn measure_disk(&mut self, candidates: u64) {
        let DiskUse { closed_set, layers, .. } = self.disk_use();
        self.disk_used = closed_set + layers + candidates;
        self.disk_peak = self.disk_peak.max(self.disk_used);
    }

    /// Whether files take too much: asked at a boundary, so that nothing is lost.
    fn above_limit(&self) -> Option<SearchError> {
        let (used, limit) = (self.disk_used, self.options.disk_limit?);
        (used > limit).then_some(SearchError::DiskLimit { used, limit })
    }
}

impl StagePolicy for Tier {
    type Worker = Candidates;

    fn worker(&self) -> Result<Candidates, SearchError> {
        Ok(Candidates::new(&self.place, &self.shares)?)
    }

    fn offer(&self, worker: &mut Candidates, candidates: Records<'_>) -> Result<(), SearchError> {
        Ok(worker.offer(&self.place, &self.window, candidates)?)
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
        if self.shares.tight {
            self.closing.tools.clear();
        }
        if states > 0 {
            let Layers { store, cursor } = &mut *self.layers();
            assert_eq!(store.close()?, states, "the layer has what was found new");
            cursor.open(store, store.layer_count() - 1)?;
        }
        self.remove_retired()?;
        self.measure_disk(self.closing.spilled);
        self.grow_window()?;
        self.adjust(workers, states)?;
        Ok(ClosedStage { states, oldest_duplicate: OldestDuplicate::Unknown })
    }

    fn next_batch(
        &self,
        _worker: &mut Candidates,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        batch.clear();
        let Layers { store, cursor } = &mut *self.layers();
        Ok(cursor.take(store, records, batch)?)
    }

    fn checkpoint(
        &mut self,
        boundary: &dyn Fn() -> Vec<u8>,
        reason: CheckpointReason,
    ) -> Result<(), SearchError> {
        let limit = self.above_limit().filter(|_| reason == CheckpointReason::Passing);
        if self.at_rest.is_some() {
            // It was over when it was taken up.
            return Ok(());
        }
        if reason != CheckpointReason::Passing || limit.is_some() || self.clock.is_due() {
            self.commit(&boundary())?;
        }
        limit.map_or(Ok(()), Err)
    }
}

impl Layered for Tier {
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        Ok(self.layers().store.visit(layer, &self.place, visit)?)
    }
}

/// A lock that a panic elsewhere does not poison: what it guards is consistent between calls, or the search has failed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
