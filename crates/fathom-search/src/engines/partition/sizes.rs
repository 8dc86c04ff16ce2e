//! What memory does each part of the engine have?

use fathom_disk::key::KeyWidth;

use crate::files::candidates::CandidateSizes;

/// Sizes of the parts. They change speed, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Partitions at most.
    pub parts_max: usize,
    /// The table of the states of one partition.
    pub table_bytes: usize,
    /// States that the table holds at most.
    pub table_keys: usize,
    /// Keys that gather in memory before they wait on disk.
    pub gathered_keys: usize,
    /// Runs of what waits at most.
    pub pending_runs: usize,
    /// Keys in the window of recent candidates.
    pub window_keys: usize,
    /// Candidates that a thread looks at at a time.
    pub looked_at: usize,
    /// Candidates for the partition that is visited that a thread holds.
    pub candidate_keys: usize,
    /// Memory for writing candidates to disk, per thread.
    pub spill_bytes: usize,
    /// Memory for reading what went to disk.
    pub scan_bytes: usize,
    /// Keys that are read at a time.
    pub chunk_keys: usize,
    /// Memory for sorting the states of a visit.
    pub sort_bytes: usize,
    /// Memory for looking keys up in runs.
    pub probe_bytes: usize,
    /// Keys that are compared at a time.
    pub piece_keys: usize,
    /// Memory for writing a run.
    pub write_bytes: usize,
    /// Runs of one level that are merged into one of the next.
    pub fan: usize,
    /// Runs of known states at most.
    pub runs_max: usize,
    /// Bytes in a block of the log of stages.
    pub log_block_bytes: usize,
    /// Keys in a coded block of the log.
    pub log_block_keys: usize,
}

/// Below this, memory is so short that blocks are a few keys.
const SHORT_BYTES: usize = 256 << 10;
/// No part is larger but the table.
const SHARE_BYTES_MAX: usize = 64 << 20;
/// All partitions are looked at whenever one is chosen: more would take as long as visiting one.
const PARTS_MAX: usize = 1 << 16;

impl Sizes {
    /// What suits so many bytes for so many threads.
    pub(super) fn of(bytes: usize, threads: usize, width: KeyWidth) -> Sizes {
        let key = width.words() * 8;
        let short = bytes < SHORT_BYTES.max(4096 * key);
        // What is taken at once is touched at once: beyond this, more memory makes nothing faster.
        let part = |part: usize| (bytes / part).min(SHARE_BYTES_MAX);
        let piece_keys = (part(128) / (2 * key + 16)).clamp(2, 1024);
        Sizes {
            parts_max: (part(if short { 16 } else { 64 }) / (key + 24)).clamp(1, PARTS_MAX),
            // The table grows as it is filled.
            table_bytes: if short { bytes / 16 } else { bytes / 8 * 3 },
            table_keys: usize::MAX,
            gathered_keys: (part(16) / (key + 12)).max(2),
            pending_runs: if short { 2 } else { 12 },
            window_keys: if short { 0 } else { part(16) / key },
            looked_at: (part(256) / threads / (2 * key + 20)).clamp(1, 512),
            candidate_keys: (part(32) / threads / (key + 4)).max(2),
            spill_bytes: part(if short { 16 } else { 64 }) / threads,
            scan_bytes: part(32),
            chunk_keys: (part(128) / (key + 8)).clamp(1, 1024),
            sort_bytes: part(16),
            probe_bytes: part(32),
            piece_keys,
            write_bytes: part(32),
            fan: if short { 2 } else { 4 },
            runs_max: if short { 3 } else { 16 },
            log_block_bytes: if short { part(128).clamp(64, 512) } else { part(256).clamp(512, 32 << 10) },
            log_block_keys: (part(64) / key).clamp(1, 256),
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
