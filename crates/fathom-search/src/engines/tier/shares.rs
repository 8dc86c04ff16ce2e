//! How is the data budget shared out among the parts of the engine?
//!
//! Measured on real models the shares are flat: half for runs that stay in memory and the filter, an eighth for the window, the rest for buffers. Below [`TINY_BYTES`] there is no filter and no table of small layers, and blocks are a few keys: everything works, nothing is fast.

use fathom_disk::key::KeyWidth;

/// Sizes of the parts. They change speed, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Parts of the state space that are closed on their own.
    pub shards: usize,
    /// Threads that close shards at one time.
    pub closers: usize,
    /// The filter of a shard at most.
    pub filter_bytes: usize,
    /// Keys in the window at most, 0 for none.
    pub window_keys: usize,
    /// The table of small layers of a shard at most, 0 for none.
    pub table_bytes: usize,
    /// Candidates that a thread holds for a shard.
    pub candidate_keys: usize,
    /// Memory for writing candidates to disk, per thread.
    pub spill_bytes: usize,
    /// Memory for closing a shard.
    pub close_bytes: usize,
    /// Runs of a shard that stay in memory, as they are on disk, and the filter.
    pub run_bytes: usize,
    /// What must stay free beside the ways through the runs, for writing.
    pub reserve_bytes: usize,
    /// Runs are gone through if they have at most so many keys per candidate; else keys are looked up.
    pub dense_ratio: u64,
    /// Fences of its other runs that stay in memory.
    pub fence_bytes: usize,
    /// Bytes in a block of the layer log.
    pub log_block_bytes: usize,
    /// Keys in a coded block of a layer.
    pub log_block_keys: usize,
    /// Runs of one level that are merged into one of the next.
    pub fan: usize,
    /// Runs of a shard at most.
    pub runs_max: usize,
    /// Runs of candidates of a thread and a shard that are read at once.
    pub candidate_runs_max: usize,
}

/// Budgets below this are for tests and the curious.
pub const TINY_BYTES: usize = 256 << 10;

/// Going through a key costs about a nanosecond; looking one up that the filter does not deny some hundreds.
const DENSE_RATIO: u64 = 512;

impl Shares {
    /// Shares of `bytes` for so many threads.
    pub fn of(bytes: usize, threads: usize, width: KeyWidth) -> Shares {
        if bytes < TINY_BYTES {
            Shares::tiny(bytes, threads, width)
        } else {
            Shares::real(bytes, threads, width)
        }
    }

    /// The same memory for another number of shards: that of the run that is taken up.
    pub(super) fn with_shards(self, shards: usize) -> Shares {
        let part = |share: usize| share * self.shards / shards;
        Shares {
            shards,
            closers: self.closers.min(shards),
            filter_bytes: part(self.filter_bytes),
            table_bytes: part(self.table_bytes),
            candidate_keys: part(self.candidate_keys).max(2),
            run_bytes: part(self.run_bytes),
            fence_bytes: part(self.fence_bytes),
            runs_max: part(self.runs_max).max(2),
            ..self
        }
    }

    fn real(bytes: usize, threads: usize, width: KeyWidth) -> Shares {
        let part = |thousandths: usize| bytes / 1000 * thousandths;
        let shards = if threads > 1 { (2 * threads).next_power_of_two() } else { 1 };
        let shards = shards.min(1 << width.bits().div_ceil(2).min(10));
        let closers = threads.min(shards).max(1);
        Shares {
            shards,
            closers,
            filter_bytes: part(400) / shards,
            window_keys: part(130) / (width.words() * 8),
            table_bytes: part(50) / shards,
            candidate_keys: (part(80) / (threads * shards) / sorted_key_bytes(width)).max(16),
            spill_bytes: part(20) / threads,
            close_bytes: part(130) / closers,
            run_bytes: part(540) / shards,
            reserve_bytes: part(40) / closers,
            dense_ratio: DENSE_RATIO,
            fence_bytes: part(20) / shards,
            log_block_bytes: (bytes / 256).clamp(512, 32 << 10).next_power_of_two(),
            log_block_keys: 256,
            fan: 4,
            runs_max: 64,
            candidate_runs_max: (part(40) / closers / threads / (16 << 10)).clamp(8, 64),
        }
    }

    fn tiny(bytes: usize, threads: usize, width: KeyWidth) -> Shares {
        Shares {
            shards: 1,
            closers: 1,
            filter_bytes: if bytes < 16 << 10 { 0 } else { bytes / 8 },
            window_keys: (bytes / 64 / (width.words() * 8)).max(1),
            table_bytes: if bytes < 32 << 10 { 0 } else { bytes / 16 },
            candidate_keys: (bytes / 16 / threads / sorted_key_bytes(width)).max(2),
            spill_bytes: bytes / 8 / threads,
            close_bytes: bytes / 4,
            run_bytes: 0,
            reserve_bytes: bytes / 2,
            dense_ratio: DENSE_RATIO,
            fence_bytes: 0,
            log_block_bytes: (bytes / 128).clamp(64, 512),
            log_block_keys: (bytes / 32 / (width.words() * 8)).clamp(1, 64),
            fan: 2,
            runs_max: (bytes / 2048).max(2),
            candidate_runs_max: 1,
        }
    }
}

/// What a key costs in a buffer that is sorted: wide keys are sorted through an order of their own.
fn sorted_key_bytes(width: KeyWidth) -> usize {
    width.words() * 8 + if width.words() > 2 { 4 } else { 0 }
}
