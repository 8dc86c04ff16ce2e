//! When does memory change hands between the parts of the engine?
//!
//! While layers are narrow, runs stay in memory as far as they can. Once the candidates of a layer go to disk in many pieces, and the runs do not fit anyway, their memory goes to the
//! candidates; when layers have been narrow again for a while it comes back. Only at boundaries, where no candidate waits.

use fathom_disk::budget::Budget;
use fathom_disk::key::KeyWidth;

use super::candidates::Candidates;
use super::shares::{Breadth, Shares, TINY_BYTES};
use super::{Options, Tier, lock};
use crate::error::SearchError;

/// What the parts have together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allotment {
    bytes: usize,
    threads: usize,
    breadth: Breadth,
    /// Layers in a row that were narrow.
    calm: u32,
}

/// What the body needs for a thread, at most.
const BODY_BYTES_MAX: usize = 256 << 10;
/// Layers are wide from so many times the candidates on that threads hold in narrow ones.
const WIDE_FROM: u64 = 6;
/// So many narrow layers in a row are taken for a sign that those to come are narrow too.
const CALM_LAYERS: u32 = 8;

impl Allotment {
    /// What the budget has free, some of it left to the body.
    pub(super) fn of(budget: &Budget, threads: usize) -> Allotment {
        let (free, threads) = (budget.free(), threads.max(1));
        let bytes = free - (free / 8).min(BODY_BYTES_MAX * threads);
        Allotment { bytes, threads, breadth: Breadth::Narrow, calm: 0 }
    }

    /// How it is shared out.
    pub(super) fn shares(&self, options: &Options, width: KeyWidth) -> Shares {
        let shares = Shares::of(self.bytes, self.threads, width, self.breadth);
        options.shares.map_or(shares, |choose| choose(shares))
    }

    /// What suits, after a layer of so many bytes of candidates, runs of `closed` bytes.
    fn suiting(self, options: &Options, width: KeyWidth, collected: u64, closed: u64) -> Allotment {
        let narrow = Allotment { breadth: Breadth::Narrow, ..self }.shares(options, width);
        let held = narrow.candidate_bytes(self.threads, width);
        let calm = if collected <= held { self.calm.saturating_add(1) } else { 0 };
        let overflows = collected > held * WIDE_FROM && closed > (narrow.run_bytes * narrow.shards) as u64;
        let breadth = match self.breadth {
            Breadth::Narrow if overflows => Breadth::Wide,
            Breadth::Wide if calm >= CALM_LAYERS => Breadth::Narrow,
            breadth => breadth,
        };
        Allotment { breadth, calm, ..self }
    }
}

impl Tier {
    /// Shares the memory out anew if the layer that was closed, of so many bytes of candidates, asks for it.
    pub(super) fn adjust(
        &mut self,
        workers: &mut [&mut Candidates],
        collected: u64,
    ) -> Result<(), SearchError> {
        if self.allotment.bytes < TINY_BYTES {
            return Ok(());
        }
        let closed = self.shards.iter().map(|shard| lock(shard).disk_bytes()).sum();
        let before = self.allotment.breadth;
        self.allotment = self.allotment.suiting(&self.options, self.place.width, collected, closed);
        if self.allotment.breadth == before {
            return Ok(());
        }
        let shares = self.allotment.shares(&self.options, self.place.width);
        let shares = Shares { log_block_bytes: self.shares.log_block_bytes, ..shares };
        self.shares = shares.with_shards(self.shares.shards);
        self.closing.tools.clear();
        workers.iter_mut().try_for_each(|worker| worker.give_back(&self.place))?;
        self.shards.iter().try_for_each(|shard| lock(shard).give_back(&self.place))?;
        workers.iter_mut().try_for_each(|worker| worker.reshare(&self.place, &self.shares))?;
        Ok(self.shards.iter().try_for_each(|shard| lock(shard).reshare(&self.place, &self.shares))?)
    }
}
