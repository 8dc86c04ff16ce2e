//! How is the data budget shared out among the parts of the engine?
//!
//! Measured on real models the shares are flat: half for runs that stay in memory and the filters, an eighth for the window, the rest for buffers. Where layers are
//! [wide](Breadth::Wide) beside the budget, runs in memory would be a small part of them all, and candidates would go to disk in crumbs: there they have that half, with what closes
//! layers. Below [`TINY_BYTES`], and where records are so wide that a layer could not be closed otherwise, there are no filters and no runs in memory, and blocks are a few keys: everything works,
//! nothing is fast.

use fathom_disk::key::KeyWidth;
use fathom_disk::run::{RunConfig, RunWriter, Tag};

use super::needs::{Needs, root_bytes};
use super::run_shapes::large_blocks;
use super::shares::{Breadth, Repeats, Shares};

/// All that layers may be like.
const SITUATIONS: [(Breadth, Repeats); 4] = [
    (Breadth::Narrow, Repeats::Many),
    (Breadth::Narrow, Repeats::Few),
    (Breadth::Wide, Repeats::Many),
    (Breadth::Wide, Repeats::Few),
];

/// Keys in blocks of runs that are gone through, best first. With 4096, 2048 and 1024 in place of 8192 rether.6 took 5.6, 6.0 and 5.5 CPU s in place of 5.9, lamport.6 5.1, 5.1 and 4.8 in place of 5.2 (at a
/// load of 10), but the closed set of 1024 is a fifth larger, so less of it stays in memory.
const BLOCK_KEYS: [usize; 3] = [8192, 4096, 2048];

/// Budgets below this are for tests and the curious. A guess: no search in so little was ever timed.
pub const TINY_BYTES: usize = 256 << 10;

/// What goes through runs on disk should have, for reads of a few dozen kilobytes. A guess; that larger ones gain little was seen: three of 14 s of waiting of szymanski.5.
const SWEEP_BYTES: usize = 192 << 10;
/// Budgets below this give part of what runs have in memory to what reads the others. A guess.
const SMALL_BYTES: usize = 12 << 20;
/// What writes candidates should have, for writes of a few dozen kilobytes. A guess.
const SPILL_BYTES: usize = 128 << 10;
/// Runs of a shard at most, and where layers are wide, and runs are gone through from disk: each needs a buffer and a block. Guesses: four to one, there are rarely more than a dozen.
const RUNS_MAX: usize = 64;
const WIDE_RUNS_MAX: usize = 12;
/// The part of memory for the roots of all runs, which are wide where records are; but a few runs there must be. Not measured: the suite of budgets shows that it suffices.
const ROOTS_PART: usize = 16;
const RUNS_MIN: usize = 4;

/// Keys per candidate up to which runs are gone through. That costs one to three nanoseconds a key; looking one up that no filter denies some hundreds. Half and twice of it were not tried.
const DENSE_RATIO: u64 = 512;
/// Keys per candidate from which a filter is asked first. Asking costs ten nanoseconds, going through the runs beside a candidate some dozens for each run where they are far apart. With 12 in place of 32,
/// and a larger share for the filter, rether.6 at 7.0 MB took 4.4 CPU s in place of 5.1, brp.6 at 35.7 MB 18.1 in place of 22.7.
const FILTER_RATIO: u64 = 12;
/// Bits per key of such a filter. With fewer it denies too little: 4 to 5 bits gained nothing for rether.6 at 6.8 MiB, where runs went to disk for them.
const FILTER_BITS: (u64, u64) = (2, 10);

/// Keys decoded in vain, per key, from which a filter and a trie are worth making. A filter costs as much as decoding a few keys for each in it, a trie about ten times that. With 16 for the trie, in place of
/// whenever a filter was due, brp.6 took 22.1 CPU s in place of 26.3, and resistance.1 3.1 in place of 2.9; 32 was not timed apart from other changes.
const WASTED_DECODES_PER_KEY: (u64, u64) = (4, 32);
/// Making a trie costs 30 to 80 nanoseconds a key (60 to 110 were seen for single large runs). rether.6 does not mind other points to fold at: flat from two to three folds of 3 to 5.5 million keys.
const SWEEP_EXCESS_NS_PER_KEY: u64 = 60;

impl Shares {
    /// Shares of `bytes` for so many threads. As many of them close shards at a time as there is memory for, whatever layers are like.
    pub fn of(bytes: usize, threads: usize, width: KeyWidth, situation: (Breadth, Repeats)) -> Shares {
        let fits = |closers: &usize| {
            let mut all = SITUATIONS.iter().map(|like| Shares::real(bytes, threads, *closers, width, *like));
            all.all(|shares| Needs::of(&shares, threads, width).total(shares.closers) <= bytes)
        };
        let closers = if bytes < TINY_BYTES { None } else { (1..=threads).rev().find(fits) };
        let Some(closers) = closers else { return Shares::tiny(bytes, threads, width) };
        let shares = Shares::real(bytes, threads, closers, width, situation);
        let kept_free = Needs::of(&shares, threads, width).kept_free(shares.closers);
        Shares { kept_free, ..shares }
    }

    fn real(
        bytes: usize,
        threads: usize,
        closers: usize,
        width: KeyWidth,
        (breadth, repeats): (Breadth, Repeats),
    ) -> Shares {
        let part = |thousandths: usize| bytes / 1000 * thousandths;
        let wide = breadth == Breadth::Wide;
        let choose = |narrow: usize, wide_part: usize| part(if wide { wide_part } else { narrow });
        // What a window has, or candidates, as they are and coded, and runs in its place.
        let (window, candidates, coded, more_runs) = match repeats {
            Repeats::Many => (130, [80, 310], 0, 0),
            Repeats::Few => (0, [65, 440], 50, if bytes < SMALL_BYTES { 155 } else { 95 }),
        };
        let shards = if threads > 1 { (2 * threads).next_power_of_two() } else { 1 };
        let shards = shards.min(1 << width.bits().div_ceil(2).min(10));
        let closers = closers.min(shards).max(1);
        let close_bytes = choose(130, 400) / closers;
        // A writer with blocks worth the name, where it costs little of the budget.
        let live_bytes = RunConfig::live_bytes(width).min(bytes / 24);
        let sweep_bytes =
            if wide { close_bytes / 4 } else { (close_bytes / 3).max(SWEEP_BYTES.min(bytes / 24)) };
        let write_bytes = (close_bytes / if wide { 5 } else { 6 }).max(live_bytes);
        let (block_keys, writer_bytes) =
            large_block(width, write_bytes, close_bytes / if wide { 4 } else { 2 });
        let log_block_keys = (close_bytes / 8 / (width.words() * 8)).clamp(1, 256);
        let shares = Shares {
            tight: false,
            shards,
            closers,
            filter_bytes: choose(400, 0) / shards,
            filter_ratio: FILTER_RATIO,
            filter_bits: FILTER_BITS,
            wasted_decodes_per_key: WASTED_DECODES_PER_KEY,
            sweep_excess_ns_per_key: SWEEP_EXCESS_NS_PER_KEY,
            window_keys: part(window) / (width.words() * 8),
            table_bytes: choose(50, 10) / shards,
            candidate_keys: (choose(candidates[0], candidates[1])
                / (threads * shards)
                / sorted_key_bytes(width))
            .max(16),
            coded_bytes: choose(coded, 0) / threads / shards,
            spill_bytes: (part(20) / threads).max(SPILL_BYTES.min(bytes / 48)),
            close_bytes,
            probe_bytes: close_bytes / if wide { 16 } else { 4 },
            piece_bytes: close_bytes / if wide { 16 } else { 4 },
            scan_bytes: close_bytes / if wide { 4 } else { 6 },
            sweep_bytes,
            write_bytes,
            block_keys,
            run_bytes: choose(if bytes < SMALL_BYTES { 460 } else { 540 } + more_runs, 50) / shards,
            reserve_bytes: (part(40) / closers).max(writer_bytes),
            kept_free: 0,
            dense_ratio: DENSE_RATIO,
            fence_bytes: part(20) / shards,
            log_block_bytes: (bytes / 256).clamp(512, 32 << 10).next_power_of_two(),
            log_block_keys,
            // Eight to one: brp.6 28.9 CPU s in place of 27.9, rether.6 no difference.
            fan: 4,
            runs_max: if wide { WIDE_RUNS_MAX } else { RUNS_MAX },
            candidate_pieces_max: (close_bytes / threads / (16 << 10)).clamp(8, 64),
            coded_pieces_max: (close_bytes / threads / 4 / (256 * width.words() * 8)).clamp(1, 64),
        };
        let roots = bytes / ROOTS_PART / shares.shards / root_bytes(width, &shares);
        let reserve_bytes =
            shares.reserve_bytes.max(Needs::of(&shares, threads, width).kept_free_closing(closers));
        Shares { reserve_bytes, runs_max: shares.runs_max.min(roots).max(RUNS_MIN), ..shares }
    }

    fn tiny(bytes: usize, threads: usize, width: KeyWidth) -> Shares {
        let write_bytes = bytes / 24;
        let root = RunConfig::within(width, Tag::default(), write_bytes).open_bytes();
        Shares {
            tight: true,
            shards: 1,
            closers: 1,
            filter_bytes: if bytes < 16 << 10 { 0 } else { bytes / 8 },
            filter_ratio: FILTER_RATIO,
            filter_bits: FILTER_BITS,
            wasted_decodes_per_key: WASTED_DECODES_PER_KEY,
            sweep_excess_ns_per_key: SWEEP_EXCESS_NS_PER_KEY,
            window_keys: (bytes / 64 / (width.words() * 8)).max(1),
            table_bytes: if bytes < 32 << 10 { 0 } else { bytes / 16 },
            candidate_keys: (bytes / 16 / threads / sorted_key_bytes(width)).max(2),
            coded_bytes: 0,
            // The steps of a state are held meanwhile, which are much where there is so little.
            spill_bytes: bytes / 16 / threads,
            close_bytes: bytes / 4,
            probe_bytes: bytes / 16,
            piece_bytes: bytes / 16,
            scan_bytes: bytes / 24,
            sweep_bytes: bytes / 12,
            write_bytes,
            block_keys: 1,
            run_bytes: 0,
            reserve_bytes: bytes / 2,
            kept_free: 0,
            dense_ratio: DENSE_RATIO,
            fence_bytes: 0,
            log_block_bytes: (bytes / 128).clamp(64, 512),
            log_block_keys: (bytes / 32 / (width.words() * 8)).clamp(1, 64),
            fan: 2,
            runs_max: (bytes / 2048).min(bytes / 8 / root).max(2),
            candidate_pieces_max: 1,
            coded_pieces_max: 1,
        }
    }
}

/// Keys in a block of a run that is gone through, as many as can be written within so many bytes, or 1 for no more than in any other run; and what writing takes.
fn large_block(width: KeyWidth, write_bytes: usize, bytes: usize) -> (usize, usize) {
    let config = RunConfig::within(width, Tag::default(), write_bytes);
    let needed = |keys: &usize| RunWriter::bytes(&large_blocks(&config, *keys));
    match BLOCK_KEYS.into_iter().find(|keys| needed(keys) <= bytes) {
        Some(keys) => (keys, needed(&keys).max(write_bytes)),
        None => (1, write_bytes),
    }
}

/// What a key costs in a buffer that is sorted: wide keys are sorted through an order of their own.
fn sorted_key_bytes(width: KeyWidth) -> usize {
    width.words() * 8 + if width.words() > 2 { 4 } else { 0 }
}
