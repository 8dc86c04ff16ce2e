//! How large is each part of the engine's memory?
//!
//! `sharing.rs` says how these sizes follow from the data budget.

use fathom_disk::key::KeyWidth;

use crate::files::candidates::CandidateSizes;

/// How large layers are beside the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breadth {
    /// The candidates of a layer fit in memory a few times over or nearly so.
    Narrow,
    /// They do not, nor do the runs.
    Wide,
}

/// How many candidates were met before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// So many that a window of recent keys pays.
    Many,
    /// Nearly all are new: its memory is worth more elsewhere.
    Few,
}

/// Sizes of the parts. They change speed, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Whether memory is so short that everything is let go of as soon as it can be.
    pub tight: bool,
    /// Parts of the state space that are closed on their own.
    pub shards: usize,
    /// Threads that close shards at one time.
    pub closers: usize,
    /// The filters of a shard at most.
    pub filter_bytes: usize,
    /// Where runs are gone through, a filter is asked first if they have more than so many keys per candidate.
    pub filter_ratio: u64,
    /// Bits per key of such a filter, at least and at most; one of no bits denies nothing.
    pub filter_bits: (u64, u64),
    /// A filter of all runs, and a trie of them, are worth building when so many keys per key were decoded for nothing.
    pub wasted_decodes_per_key: (u64, u64),
    /// A trie of runs that are gone through is worth making when that has cost so many nanoseconds per key more than asking it would have.
    pub sweep_excess_ns_per_key: u64,
    /// Keys in the window at most, 0 for none.
    pub window_keys: usize,
    /// The table of small layers of a shard at most, 0 for none.
    pub table_bytes: usize,
    /// Candidates that a thread holds for a shard.
    pub candidate_keys: usize,
    /// Candidates of a thread and a shard that are coded in memory before any go to disk, in bytes.
    pub coded_bytes: usize,
    /// Memory for writing candidates to disk, per thread.
    pub spill_bytes: usize,
    /// Memory for closing a shard, in all about.
    pub close_bytes: usize,
    /// Of it: what looks keys up.
    pub probe_bytes: usize,
    /// Of it: the keys that are looked at in one go.
    pub piece_bytes: usize,
    /// Of it: what reads candidates that went to disk.
    pub scan_bytes: usize,
    /// Of it: what goes through the runs.
    pub sweep_bytes: usize,
    /// Of it: what writes a run.
    pub write_bytes: usize,
    /// Keys in a block of a run that is gone through, at most.
    pub block_keys: usize,
    /// Runs of a shard that stay in memory, as they are on disk, and the filters.
    pub run_bytes: usize,
    /// What must stay free beside the ways through the runs, for writing.
    pub reserve_bytes: usize,
    /// What must stay free beside everything that can be done without: see `needs.rs`.
    pub kept_free: usize,
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
    /// Pieces of candidates of a thread and a shard that are read at once.
    pub candidate_pieces_max: usize,
    /// The same of those that are coded in memory.
    pub coded_pieces_max: usize,
}

impl Shares {
    /// Memory for reading runs that are merged: what reads candidates and runs while a layer is closed is free then.
    pub(super) fn merge_bytes(&self) -> usize {
        self.scan_bytes + self.sweep_bytes
    }

    /// Bytes of candidates that all threads together can hold.
    pub(super) fn candidate_bytes(&self, threads: usize, width: KeyWidth) -> u64 {
        (self.candidate_keys * self.shards * threads * width.words() * 8) as u64
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
            coded_bytes: part(self.coded_bytes),
            run_bytes: part(self.run_bytes),
            fence_bytes: part(self.fence_bytes),
            runs_max: part(self.runs_max).max(2),
            ..self
        }
    }

    /// What of it candidates have.
    pub(super) fn candidates(&self) -> CandidateSizes {
        CandidateSizes {
            shards: self.shards,
            keys: self.candidate_keys,
            coded_bytes: self.coded_bytes,
            spill_bytes: self.spill_bytes,
            pieces_max: self.candidate_pieces_max,
            coded_pieces_max: self.coded_pieces_max,
        }
    }
}
