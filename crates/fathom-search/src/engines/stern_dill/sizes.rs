//! What memory does each part of the engine have?

use fathom_disk::key::KeyWidth;
use fathom_disk::run::{RunConfig, RunWriter, Tag};

/// Sizes of the parts. They change speed, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Parts of the state space that are checked on their own.
    pub shards: usize,
    /// Shards that are checked at one time.
    pub checkers: usize,
    /// Keys that the table of a shard holds before they are checked.
    pub gathered_keys: usize,
    /// Keys that a thread holds for a shard before it hands them over.
    pub handed_keys: usize,
    /// Memory for reading what is known of a shard, beside a block of each run.
    pub read_bytes: usize,
    /// Memory for writing a run.
    pub write_bytes: usize,
    /// Runs of a shard at most: a block of each is held while they are read.
    pub runs_max: usize,
    /// Runs of one level that are merged into one of the next.
    pub fan: usize,
    /// Bytes in a block of the layer log.
    pub log_block_bytes: usize,
    /// Keys in a coded block of a layer.
    pub log_block_keys: usize,
    /// Layers are closed by several threads if so many keys are gone through for them.
    pub shared_keys_min: u64,
}

/// Below this, memory is so short that blocks are a few keys.
const SHORT_BYTES: usize = 256 << 10;
/// The same where records are wide: so many must fit. A guess that the suite of budgets confirms, with records of up to 2000 bits.
const SHORT_RECORDS: usize = 4096;
const RUNS_MAX: usize = 64;
const RUNS_MIN: usize = 4;
/// Going through a key takes a few nanoseconds (docs/results/tier.md), so this is about 0.1 ms of work, and threads meet within some microseconds: a guess, not measured on its own.
const SHARED_KEYS_MIN: u64 = 1 << 14;
/// Blocks of the log that are held: two being written, two being read, in each of two logs.
const LOG_BLOCKS: usize = 8;

impl Sizes {
    /// What suits so many bytes for so many threads: as many check shards at a time as there is memory for.
    pub(super) fn of(bytes: usize, threads: usize, width: KeyWidth) -> Sizes {
        let key = width.words() * 8;
        if bytes < SHORT_BYTES.max(SHORT_RECORDS * key) {
            return Sizes::short(bytes, width);
        }
        let all = (1..=threads.max(1)).rev().map(|checkers| Sizes::ample(bytes, threads, checkers, width));
        all.into_iter()
            .find(|sizes| sizes.needed_bytes(threads, width) <= bytes)
            .unwrap_or_else(|| Sizes::short(bytes, width))
    }

    /// The same memory for another number of shards: that of the search that is taken up.
    pub(super) fn with_shards(self, shards: usize) -> Sizes {
        let part = |share: usize| (share * self.shards / shards).max(2);
        Sizes {
            shards,
            checkers: self.checkers.min(shards),
            gathered_keys: part(self.gathered_keys),
            handed_keys: part(self.handed_keys),
            ..self
        }
    }

    fn ample(bytes: usize, threads: usize, checkers: usize, width: KeyWidth) -> Sizes {
        let key = width.words() * 8;
        let shards = if checkers > 1 { (2 * threads).next_power_of_two() } else { 1 };
        let shards = shards.min(1 << width.bits().div_ceil(2).min(10));
        let checkers = checkers.min(shards);
        let (read_bytes, write_bytes) = (bytes / 8 / checkers, bytes / 16 / checkers);
        let reading = RunConfig::within(width, Tag::default(), write_bytes).reading_bytes();
        Sizes {
            shards,
            checkers,
            // Wide keys are sorted through an order of their own.
            gathered_keys: (bytes / 2 / shards / (key + 4)).max(2),
            handed_keys: (bytes / 64 / threads / shards / key).clamp(1, 256),
            read_bytes,
            write_bytes,
            runs_max: (read_bytes / reading).clamp(RUNS_MIN, RUNS_MAX),
            fan: 4,
            log_block_bytes: (bytes / 256).clamp(512, 32 << 10).next_power_of_two(),
            log_block_keys: (bytes / 64 / key).clamp(1, 256),
            shared_keys_min: SHARED_KEYS_MIN,
        }
    }

    fn short(bytes: usize, width: KeyWidth) -> Sizes {
        let key = width.words() * 8;
        let check_bytes = bytes / 16;
        let root = RunConfig::within(width, Tag::default(), check_bytes).open_bytes();
        Sizes {
            shards: 1,
            checkers: 1,
            gathered_keys: (bytes / 8 / (key + 4)).max(2),
            handed_keys: 1,
            read_bytes: check_bytes,
            write_bytes: check_bytes,
            runs_max: (bytes / 2048).min(bytes / 8 / root).max(2),
            fan: 2,
            log_block_bytes: (bytes / 128).clamp(64, 512),
            log_block_keys: (bytes / 32 / key).clamp(1, 64),
            shared_keys_min: SHARED_KEYS_MIN,
        }
    }

    /// What all parts take at most together.
    fn needed_bytes(&self, threads: usize, width: KeyWidth) -> usize {
        let key = width.words() * 8;
        let config = RunConfig::within(width, Tag::default(), self.write_bytes);
        let gathered = self.shards * self.gathered_keys * (key + 4);
        let handed = threads * self.shards * self.handed_keys * key;
        let writing = RunWriter::bytes_with_fences(&config);
        let checking = self.read_bytes + self.runs_max * config.reading_bytes() + writing;
        let roots = self.shards * self.runs_max * config.open_bytes() / 4;
        let log = LOG_BLOCKS * self.log_block_bytes + 4 * self.log_block_keys * key;
        gathered + handed + self.checkers * checking + roots + log
    }
}
