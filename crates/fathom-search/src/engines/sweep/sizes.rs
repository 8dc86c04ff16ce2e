//! What memory does each part of the engine have?

use fathom_disk::key::KeyWidth;

use crate::files::candidates::CandidateSizes;

/// Sizes of the parts. They change speed, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The queue.
    pub queue_bytes: usize,
    /// The table of the states of a bucket.
    pub table_bytes: usize,
    /// States that a bucket of several values should not have more than.
    pub joined_keys: usize,
    /// Keys in the window of recent candidates.
    pub window_keys: usize,
    /// Candidates that a thread measures at a time.
    pub measured: usize,
    /// Candidates for the current bucket that a thread holds.
    pub candidate_keys: usize,
    /// Memory for writing candidates to disk, per thread.
    pub spill_bytes: usize,
    /// Memory for reading candidates that went to disk.
    pub scan_bytes: usize,
    /// Memory for sorting what steps back.
    pub regress_bytes: usize,
    /// Memory for sorting what is put on disk: a full table, the states of a sweep.
    pub sort_bytes: usize,
    /// Memory for looking keys up in runs.
    pub probe_bytes: usize,
    /// Keys that are looked up at a time.
    pub piece_keys: usize,
    /// Memory for writing a run.
    pub write_bytes: usize,
    /// Runs of one level that are merged into one of the next.
    pub fan: usize,
    /// Runs of a set at most.
    pub runs_max: usize,
    /// Bytes in a block of the log of stages.
    pub log_block_bytes: usize,
    /// Keys in a coded block of the log.
    pub log_block_keys: usize,
    /// Spans of values that steps go back across, where they are noted.
    pub spans: usize,
}

/// Below this, memory is so short that blocks are a few keys.
const SHORT_BYTES: usize = 256 << 10;
/// No part is larger but the table.
const SHARE_BYTES_MAX: usize = 64 << 20;

/// With so many states a stage costs little beside them; more would only make buckets larger.
const JOINED_KEYS_MAX: usize = 4096;

impl Sizes {
    /// What suits so many bytes for so many threads.
    pub(super) fn of(bytes: usize, threads: usize, width: KeyWidth) -> Sizes {
        let key = width.words() * 8;
        let short = bytes < SHORT_BYTES.max(4096 * key);
        // What is taken at once is touched at once: beyond this, more memory makes nothing faster.
        let part = |part: usize| (bytes / part).min(SHARE_BYTES_MAX);
        Sizes {
            queue_bytes: part(if short { 6 } else { 4 }),
            // The table grows as it is filled.
            table_bytes: bytes / if short { 16 } else { 4 },
            joined_keys: if short { 1 } else { (part(32) / key).clamp(1, JOINED_KEYS_MAX) },
            window_keys: if short { 0 } else { part(8) / key },
            measured: (part(256) / threads / (key + 8)).clamp(1, 512),
            candidate_keys: (part(32) / threads / (key + 4)).max(2),
            spill_bytes: part(if short { 16 } else { 64 }) / threads,
            scan_bytes: part(32),
            regress_bytes: part(16),
            sort_bytes: part(16),
            probe_bytes: part(32),
            piece_keys: (part(128) / (2 * key + 16)).clamp(1, 1024),
            write_bytes: part(32),
            fan: if short { 2 } else { 4 },
            runs_max: if short { 3 } else { 16 },
            log_block_bytes: if short { part(128).clamp(64, 512) } else { part(256).clamp(512, 32 << 10) },
            log_block_keys: (part(64) / key).clamp(1, 256),
            spans: (part(256) / 16).clamp(1, 4096),
        }
    }

    /// What of it candidates have.
    pub(super) fn candidates(&self) -> CandidateSizes {
        CandidateSizes {
            shards: 1,
            keys: self.candidate_keys,
            coded_bytes: 0,
            spill_bytes: self.spill_bytes,
            pieces_max: 4,
            coded_pieces_max: 0,
        }
    }
}
