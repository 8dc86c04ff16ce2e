//! What of a shard's runs stays in memory, and when is a filter worth more?
//!
//! Runs and the filter share one pot. Runs go in first, the smallest before the others; a filter takes their place once look-ups that it would have spared have cost more than building it, and lets
//! go of it when layers were dense for a while.

use std::time::Instant;

use fathom_disk::error::DiskError;
use fathom_disk::filter::Bloom;
use fathom_disk::run::Scan;
use fathom_disk::set::KeyStream;

use super::super::place::Place;
use super::super::shares::Shares;
use super::{Known, Tools, run_configs};

/// A filter is worth building when so many keys per key in it were decoded for nothing.
const REGRET_PER_KEY: u64 = 4;
/// A filter that was not asked for so many layers is let go.
const FILTER_IDLE_LAYERS: u32 = 16;
/// Bits of filter per key, as long as there is room for more.
const FILTER_BITS: usize = 10;
/// By how much a filter grows.
const FILTER_GROWTH: usize = 4;
/// Bits per key that the number of probes of a full-grown filter suits.
const FILTER_BITS_LAST: u64 = 7;
/// Bits per key below which a filter denies too little.
const FILTER_BITS_LEAST: u64 = 3;
const FILTER_BYTES_MIN: usize = 16 << 10;

impl Known {
    /// Lets go of what memory it can; [`Known::reshare`] follows.
    pub(in super::super) fn give_back(&mut self, place: &Place) -> Result<(), DiskError> {
        self.filter = Bloom::new(0, 0, &place.budget)?;
        self.runs.runs().for_each(|(_, run)| run.forget_in_memory());
        Ok(())
    }

    /// Takes other shares.
    pub(in super::super) fn reshare(&mut self, place: &Place, shares: &Shares) -> Result<(), DiskError> {
        self.shares = *shares;
        [self.dense_config, self.sparse_config] = run_configs(place, shares);
        self.regret = 0;
        self.keep_in_memory(place)
    }

    /// Keeps runs in memory, the smallest first, as far as their share goes; of the others the fences, as far as that share goes.
    pub(super) fn keep_in_memory(&mut self, place: &Place) -> Result<(), DiskError> {
        self.keep_within(place, self.shares.run_bytes.saturating_sub(self.filter.bytes()))
    }

    fn keep_within(&mut self, place: &Place, mut room: usize) -> Result<(), DiskError> {
        let mut wanted = Vec::new();
        for (_, run) in self.runs.runs() {
            let bytes = usize::try_from(run.bytes()).unwrap_or(usize::MAX);
            if bytes > room {
                run.forget_in_memory();
            } else {
                room -= bytes;
                wanted.push(run);
            }
        }
        for run in wanted.into_iter().filter(|run| !run.is_kept_in_memory()) {
            run.keep_in_memory(&place.budget)?;
        }
        let mut room = self.shares.fence_bytes;
        self.runs.load_fences(&place.budget, |run| {
            let fences = run.blocks() as usize * (place.width.words() * 8 + 16);
            let wanted = !run.is_kept_in_memory() && fences <= room;
            if wanted {
                room -= fences;
            }
            wanted
        })
    }

    /// Makes the filter larger, from the keys of the runs, once look-ups that it should have spared have cost more than that; lets go of one that nobody asks.
    pub(super) fn tend_filter(&mut self, place: &Place, tools: &mut Tools) -> Result<(), DiskError> {
        if self.dense {
            self.idle += 1;
            if self.idle == FILTER_IDLE_LAYERS && self.filter.bytes() > 0 {
                self.filter = Bloom::new(0, 0, &place.budget)?;
                self.keep_in_memory(place)?;
            }
            return Ok(());
        }
        self.idle = 0;
        let keys = self.runs.count();
        if self.regret < keys * REGRET_PER_KEY {
            return Ok(());
        }
        self.regret = 0;
        let wanted = keys as usize * FILTER_BITS / 8 * FILTER_GROWTH;
        let bytes = wanted.max(FILTER_BYTES_MIN).min(self.filter_bytes_max());
        if bytes < self.filter.bytes() * 5 / 4 || bytes == 0 {
            return Ok(());
        }
        let began = Instant::now();
        self.rebuild_filter(place, bytes)?;
        tools.cost.filter += began.elapsed();
        Ok(())
    }

    /// What a filter may take: not what the runs take in memory, if both can be there.
    fn filter_bytes_max(&self) -> usize {
        let spare = (self.shares.run_bytes as u64).saturating_sub(self.disk_bytes());
        let enough = self.runs.count() * FILTER_BITS_LEAST / 8;
        let most = if spare >= enough { spare as usize } else { usize::MAX };
        self.shares.filter_bytes.min(most)
    }

    /// A filter of about `bytes` with every key of every run, in place of some of the runs in memory.
    fn rebuild_filter(&mut self, place: &Place, bytes: usize) -> Result<(), DiskError> {
        self.filter = Bloom::new(0, 0, &place.budget)?;
        self.keep_within(place, self.shares.run_bytes.saturating_sub(bytes))?;
        let blocks = (bytes / 64).saturating_sub(1);
        let expected = if bytes >= self.shares.filter_bytes {
            blocks as u64 * 512 / FILTER_BITS_LAST
        } else {
            self.runs.count() * FILTER_GROWTH as u64
        };
        let mut filter = Bloom::new(blocks, expected, &place.budget)?;
        let buffer = self.shares.scan_bytes;
        for (_, run) in self.runs.runs() {
            let mut scan = Scan::new(run, &place.budget, buffer)?;
            while scan.advance()? {
                filter.insert_batch(scan.keys(), place.width.words());
            }
        }
        self.filter = filter;
        Ok(())
    }

    /// Gives the memory of the filter and of kept runs back: nothing is looked up any more.
    pub(in super::super) fn forget_memory(&mut self, place: &Place) -> Result<(), DiskError> {
        self.filter = Bloom::new(0, 0, &place.budget)?;
        (self.shares.run_bytes, self.shares.fence_bytes) = (0, 0);
        self.runs.runs().for_each(|(_, run)| run.forget_in_memory());
        Ok(())
    }
}
