//! What memory does each part of the engine have?

use fathom_disk::key::KeyWidth;
use fathom_disk::run::{RunConfig, Tag};
use fathom_disk::sketch::SAMPLE_MIN;

use crate::files::candidates::CandidateSizes;

/// Sizes of the parts. They change speed, and how many states are visited twice, never verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Parts of the state space that are closed on their own: the paper's buckets.
    pub shards: usize,
    /// Shards that are closed at one time.
    pub closers: usize,
    /// The image of recent layers.
    pub image_bytes: usize,
    /// States that the image holds at most.
    pub image_entries: usize,
    /// Candidates that a thread holds for a shard.
    pub candidate_keys: usize,
    /// Memory for writing candidates to disk, per thread.
    pub spill_bytes: usize,
    /// Pieces of candidates of a thread and a shard that are read at once.
    pub pieces_max: usize,
    /// Memory for reading candidates that went to disk.
    pub scan_bytes: usize,
    /// Memory for reading layers, beside a block of each run.
    pub read_bytes: usize,
    /// Memory for writing a run.
    pub write_bytes: usize,
    /// Candidates that are compared at a time.
    pub piece_keys: usize,
    /// Keys of the sample of a shard.
    pub sample_keys: usize,
    /// Groups of neighbouring layers in the window of a shard at most.
    pub groups_max: usize,
    /// Runs of a group at most.
    pub group_runs_max: usize,
    /// Runs of the layers before the window at most. They are seldom read, so they are merged as seldom as may be: with two, layers of nine_puzzle in 4 MiB were written anew some thirty times each.
    pub before_runs_max: usize,
    /// Runs of one level that are merged into one of the next.
    pub fan: usize,
    /// Bytes in a block of the layer log.
    pub log_block_bytes: usize,
    /// Keys in a coded block of a layer.
    pub log_block_keys: usize,
    /// Layers are closed by several threads if there are so many candidates.
    pub shared_keys_min: u64,
}

/// Below this, memory is so short that blocks are a few keys.
const SHORT_BYTES: usize = 256 << 10;
/// The same where records are wide: so many must fit.
const SHORT_RECORDS: usize = 4096;
/// No part is larger but the image: beyond this, more memory makes nothing faster.
const SHARE_BYTES_MAX: usize = 64 << 20;
/// With so many keys the number of distinct states is known to 3 % (one standard error).
const SAMPLE_KEYS: usize = 1 << 10;
/// About 0.1 ms of work, and threads meet within some microseconds: a guess, not measured on its own.
const SHARED_KEYS_MIN: u64 = 1 << 12;

impl Sizes {
    /// What suits so many bytes for so many threads.
    pub(super) fn of(bytes: usize, threads: usize, width: KeyWidth) -> Sizes {
        let key = width.words() * 8;
        if bytes < SHORT_BYTES.max(SHORT_RECORDS * key) * threads {
            return Sizes::short(bytes, threads, width);
        }
        let shards = if threads > 1 { (2 * threads).next_power_of_two() } else { 1 };
        let shards = shards.min(1 << width.bits().div_ceil(2).min(10));
        let closers = threads.min(shards);
        let part = |part: usize| (bytes / part).min(SHARE_BYTES_MAX);
        let (read_bytes, write_bytes) = (part(8) / closers, part(16) / closers);
        let reading = RunConfig::within(width, Tag::default(), write_bytes).reading_bytes();
        // All runs of a shard may be read side by side: those of each group, and those before the window.
        let runs = (read_bytes / reading).clamp(6, 48);
        Sizes {
            shards,
            closers,
            image_bytes: bytes / 4,
            image_entries: usize::MAX,
            candidate_keys: (part(8) / threads / shards / (key + 4)).max(2),
            spill_bytes: part(32) / threads,
            pieces_max: 8,
            scan_bytes: part(16) / closers,
            read_bytes,
            write_bytes,
            piece_keys: (part(64) / closers / key).clamp(1, 4096),
            sample_keys: (part(64) / 24 / shards).clamp(SAMPLE_MIN, SAMPLE_KEYS),
            groups_max: runs / 3,
            group_runs_max: 2,
            before_runs_max: runs / 3,
            fan: 4,
            log_block_bytes: part(256).clamp(512, 32 << 10).next_power_of_two(),
            log_block_keys: (part(64) / key).clamp(1, 256),
            shared_keys_min: SHARED_KEYS_MIN,
        }
    }

    fn short(bytes: usize, threads: usize, width: KeyWidth) -> Sizes {
        let key = width.words() * 8;
        let part = |part: usize| bytes / part;
        let root = RunConfig::within(width, Tag::default(), part(16)).open_bytes();
        let runs = (bytes / 8192).min(bytes / 16 / root);
        Sizes {
            shards: 1,
            closers: 1,
            image_bytes: part(8),
            image_entries: usize::MAX,
            candidate_keys: (part(16) / threads / (key + 4)).max(2),
            spill_bytes: part(16) / threads,
            pieces_max: if threads > 1 { 2 } else { 4 },
            scan_bytes: part(32),
            read_bytes: part(16),
            write_bytes: part(16),
            piece_keys: (part(64) / key).clamp(1, 64),
            sample_keys: (part(8) / 24).clamp(SAMPLE_MIN, SAMPLE_KEYS),
            groups_max: 2 + runs,
            group_runs_max: 1,
            before_runs_max: 1 + runs,
            fan: 2,
            log_block_bytes: part(128).clamp(64, 512),
            log_block_keys: (part(64) / key).clamp(1, 64),
            shared_keys_min: SHARED_KEYS_MIN,
        }
    }

    /// What candidates have of it.
    pub(super) fn candidates(&self) -> CandidateSizes {
        CandidateSizes {
            shards: self.shards,
            keys: self.candidate_keys,
            coded_bytes: 0,
            spill_bytes: self.spill_bytes,
            pieces_max: self.pieces_max,
            coded_pieces_max: 0,
        }
    }

    /// The same memory for another number of shards: that of the search that is taken up.
    pub(super) fn with_shards(self, shards: usize) -> Sizes {
        Sizes {
            shards,
            closers: self.closers.min(shards),
            candidate_keys: (self.candidate_keys * self.shards / shards).max(2),
            ..self
        }
    }
}
