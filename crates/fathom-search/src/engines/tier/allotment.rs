//! When does memory change hands between the parts of the engine?
//!
//! While layers are narrow, runs stay in memory as far as they can. Once the candidates of a layer go to disk in many pieces, and the runs do not fit anyway, their memory goes to the
//! candidates; when layers have been narrow again for a while it comes back. A window of recent keys is there as long as candidates repeat. All this changes only at boundaries, where no candidate waits.

use fathom_disk::budget::Budget;
use fathom_disk::key::KeyWidth;
use fathom_disk::window::Window;

use super::closing::Offered;
use super::shares::{Breadth, Repeats, Shares};
use super::{Options, Tier, WINDOW_KEYS_MIN};
use crate::error::SearchError;
use crate::files::candidates::Candidates;
use crate::files::lock;
use crate::files::place::Place;
use crate::files::search_files::InRuns;

/// What the parts have together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allotment {
    bytes: usize,
    /// What is left to the body.
    body_bytes: usize,
    threads: usize,
    breadth: Breadth,
    /// Layers in a row that were narrow.
    calm: u32,
    repeats: Repeats,
    /// Layers in a row whose repeats were not as few or as many as that.
    unlike: u32,
}

/// What there is to know about a layer that was closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerSize {
    /// Bytes of candidates.
    pub(super) collected: u64,
    /// Candidates before any were set aside.
    pub(super) offered: u64,
    /// States that were new.
    pub(super) states: u64,
    /// Bytes of all runs.
    pub(super) closed: u64,
}

/// What the body needs for a thread, at most. A guess: an eighth of small budgets.
const BODY_BYTES_MAX: usize = 256 << 10;
/// Layers are wide from so many times the candidates on that threads hold in narrow ones. With shares for wide layers from there on, and real blocks, lamport.7 took 40 CPU s in 4 MiB in place of 176,
/// iprotocol.5 70 in place of 165. Other points were not tried.
const WIDE_FROM: u64 = 6;
/// So many narrow layers in a row are taken for a sign that those to come are narrow too. A guess.
const CALM_LAYERS: u32 = 8;
/// Smaller layers say nothing about repeats. A guess.
const OFFERED_LEAST: u64 = 1024;

impl Allotment {
    /// What the budget has free, some of it left to the body.
    pub(super) fn of(budget: &Budget, threads: usize) -> Allotment {
        let (free, threads) = (budget.free(), threads.max(1));
        let body_bytes = (free / 8).min(BODY_BYTES_MAX * threads);
        let bytes = free - body_bytes;
        Allotment {
            bytes,
            body_bytes,
            threads,
            breadth: Breadth::Narrow,
            calm: 0,
            repeats: Repeats::Many,
            unlike: 0,
        }
    }

    /// Has what can be done without leave free what the body takes, and closing a layer.
    pub(super) fn leave_free(&self, place: &mut Place, shares: &Shares) {
        let bytes = if shares.tight { 0 } else { shares.kept_free + self.body_bytes };
        place.leave_free(bytes, shares.tight);
    }

    /// How it is shared out.
    pub(super) fn shares(&self, options: &Options, width: KeyWidth) -> Shares {
        let shares = Shares::of(self.bytes, self.threads, width, (self.breadth, self.repeats));
        options.shares.map_or(shares, |choose| choose(shares))
    }

    /// What suits, after such a layer.
    fn suiting(self, options: &Options, width: KeyWidth, layer: LayerSize) -> Allotment {
        let narrow = Allotment { breadth: Breadth::Narrow, ..self }.shares(options, width);
        let held = narrow.candidate_bytes(self.threads, width);
        let LayerSize { collected, closed, .. } = layer;
        let calm = if collected <= held { self.calm.saturating_add(1) } else { 0 };
        let overflows = collected > held * WIDE_FROM && closed > (narrow.run_bytes * narrow.shards) as u64;
        let breadth = match self.breadth {
            Breadth::Narrow if overflows => Breadth::Wide,
            Breadth::Wide if calm >= CALM_LAYERS => Breadth::Narrow,
            breadth => breadth,
        };
        Allotment { breadth, calm, ..self }.with_repeats(layer)
    }

    /// The same, as repeats of such a layer ask for it.
    fn with_repeats(self, LayerSize { offered, states, .. }: LayerSize) -> Allotment {
        let unlike = match self.repeats {
            _ if offered < OFFERED_LEAST => return self,
            Repeats::Many => states * 3 > offered * 2,
            Repeats::Few => states * 2 < offered,
        };
        match (if unlike { self.unlike + 1 } else { 0 }, self.repeats) {
            (CALM_LAYERS.., Repeats::Many) => Allotment { repeats: Repeats::Few, unlike: 0, ..self },
            (CALM_LAYERS.., Repeats::Few) => Allotment { repeats: Repeats::Many, unlike: 0, ..self },
            (unlike, _) => Allotment { unlike, ..self },
        }
    }
}

impl Tier {
    /// Shares the memory out anew if the layer that was closed, of so many new states, asks for it.
    pub(super) fn adjust(&mut self, workers: &mut [&mut Candidates], states: u64) -> Result<(), SearchError> {
        let Offered { collected_bytes: collected, candidates: offered, .. } = self.offered;
        if self.shares.tight {
            return Ok(());
        }
        let closed = self.shards.iter().map(|shard| lock(shard).disk_bytes()).sum();
        let before = (self.allotment.breadth, self.allotment.repeats);
        let layer = LayerSize { collected, offered, states, closed };
        self.allotment = self.allotment.suiting(&self.options, self.files.place.width, layer);
        if (self.allotment.breadth, self.allotment.repeats) == before {
            return Ok(());
        }
        let shares = self.allotment.shares(&self.options, self.files.place.width);
        let shares = Shares { log_block_bytes: self.shares.log_block_bytes, ..shares };
        self.shares = shares.with_shards(self.shares.shards);
        self.closing.put_tools_away();
        workers.iter_mut().try_for_each(|worker| worker.give_back(&self.files.place))?;
        let window_keys = self.window.capacity().min(self.shares.window_keys);
        self.window = Window::new(self.files.place.width.bits(), 0, &self.files.place.budget)?;
        self.shards.iter().try_for_each(|shard| lock(shard).give_back(&self.files.place))?;
        self.allotment.leave_free(&mut self.files.place, &self.shares);
        let sizes = self.shares.candidates();
        workers.iter_mut().try_for_each(|worker| worker.reshare(&self.files.place, sizes))?;
        let window_keys = window_keys.max(self.shares.window_keys.min(WINDOW_KEYS_MIN));
        self.window = self.files.place.window(window_keys)?;
        Ok(self.shards.iter().try_for_each(|shard| lock(shard).reshare(&self.files.place, &self.shares))?)
    }
}
