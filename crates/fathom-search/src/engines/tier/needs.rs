//! What memory can a search on disk not do without, and is there as much?
//!
//! Some parts hold the same all the time: buffers of candidates, the tools that close shards, the log, the roots of runs. Others come and go: what writes candidates while a layer is
//! expanded, what reads them, writes a run and merges runs while it is closed. For these, as much is kept free as they take at most: everything else (runs in memory, filters,
//! tries, tables, the window, ways through runs) is a luxury, and is refused what it would take of that. All follows from the width of records and the [`Shares`]; nothing is measured.

use fathom_disk::codec::gap;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::pieces::PieceFormat;
use fathom_disk::run::{RunConfig, RunWriter};

use super::run_shapes::run_configs;
use super::shares::Shares;

/// Bytes of what there must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// What is held all the time.
    pub(super) held: usize,
    /// What all threads take at most to write candidates.
    pub(super) spilling: usize,
    /// What one thread takes at most to close a shard.
    pub(super) closing: usize,
    /// Of it: what writes a run.
    pub(super) writing: usize,
}

/// Small things that come and go: heads of merges, ends of pieces, footers.
const SUNDRIES: usize = 4 << 10;
/// Blocks of the log that are held: two being written, two being read, in each of two logs.
const LOG_BLOCKS: usize = 8;
/// Few of many runs have a root that is full.
const ROOTS_FULL: usize = 4;

impl Needs {
    /// What a search with such shares needs.
    pub(super) fn of(shares: &Shares, threads: usize, width: KeyWidth) -> Needs {
        let key = width.words() * 8;
        let format = PieceFormat::within(width, shares.spill_bytes);
        let pieces = shares.candidate_pieces_max;
        let sort_order = if width.words() > 2 { shares.candidate_keys * 4 } else { 0 };
        let configs = run_configs(width, Default::default(), shares);
        let most = |bytes: fn(&RunConfig) -> usize| configs.iter().map(bytes).max().unwrap_or(0);
        let (writing, reading) = (most(RunWriter::bytes_with_fences), most(RunConfig::reading_bytes));
        let coded =
            if shares.coded_bytes > 0 { threads * shares.coded_pieces_max * CODED_KEYS * key } else { 0 };
        let streaming = format.scan_bytes(threads * pieces, shares.scan_bytes) + sort_order + coded;
        let merging = shares.merge_bytes() + 2 * reading + key;
        Needs {
            held: shares.held_bytes(threads, width)
                + shares.shards * shares.runs_max * root_bytes(width, shares),
            spilling: threads
                * (format.writer_bytes(shares.spill_bytes)
                    + format.scan_bytes(pieces / 2 + 2, shares.spill_bytes)
                    + sort_order
                    + SUNDRIES),
            closing: reading + writing + streaming.max(merging) + SUNDRIES,
            writing,
        }
    }

    /// What luxuries leave free: enough for what comes and goes.
    pub(super) fn kept_free(&self, closers: usize) -> usize {
        self.spilling.max(self.closing * closers)
    }

    /// What ways through runs leave free while a shard is closed, where so many are closed at a time: its own candidates are being read already.
    pub(super) fn kept_free_closing(&self, closers: usize) -> usize {
        self.writing + SUNDRIES + self.closing * (closers - 1)
    }

    /// What there must be in all.
    pub(super) fn total(&self, closers: usize) -> usize {
        self.held + self.kept_free(closers)
    }
}

/// What the root of a run takes, by and large.
pub(super) fn root_bytes(width: KeyWidth, shares: &Shares) -> usize {
    let configs = run_configs(width, Default::default(), shares);
    configs.iter().map(RunConfig::open_bytes).max().unwrap_or(0) / ROOTS_FULL
}

/// Keys that a piece in memory is read in.
const CODED_KEYS: usize = 256;

impl Shares {
    /// What buffers of candidates, tools and the log hold.
    fn held_bytes(&self, threads: usize, width: KeyWidth) -> usize {
        let key = width.words() * 8;
        let block = gap::bytes_max(width, self.log_block_keys);
        let each = self.candidate_keys * key + (self.candidate_pieces_max + 1) * 48;
        let candidates = threads * (self.shards * each + PIECE_KEYS * (key + 4));
        let tools = self.closers * (self.probe_bytes.max(512) + self.piece_bytes.max(2 * key + 6) + block);
        // A block of the layer, as it is coded and as it is handed out; buffers are moved when they grow.
        let log = LOG_BLOCKS * self.log_block_bytes + 2 * (self.log_block_keys * key + block);
        candidates + tools + log
    }
}

/// Candidates that are looked at in one go.
const PIECE_KEYS: usize = 256;
