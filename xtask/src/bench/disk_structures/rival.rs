//! What does `ptr_hash`, the fastest published perfect hash in Rust, cost beside ours? Only with `--features rivals`.
//!
//! It sorts with several threads, so both sides are charged the processor time of the whole process. RAM is the rise of the largest resident
//! set over what the keys take, in a process of its own for each: within one process the allocator keeps its pages.

use std::process::Command;

use anyhow::Context;
use clap::ValueEnum;
use fathom_disk::budget::Budget;
use fathom_disk::perfect_hash::{PerfectHash, PerfectHashBuilder};
use fathom_disk::storage::Volume;
use ptr_hash::{PtrHash, PtrHashParams, Sharding, bucket_fn, hash};

use super::{BATCH, scattered_keys};

/// Several parts (so that shards work), and a hash that may be stored.
type Rival = PtrHash<u64, bucket_fn::Linear, Vec<u32>, hash::Xxh3Int, Vec<u8>, false, true>;

/// Who builds a function.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Contestant {
    /// Ours.
    Ours,
    /// `ptr_hash` in one shard.
    Rival,
    /// `ptr_hash` in eight shards on disk.
    RivalOnDisk,
}

/// What one function costs: processor ns per key, bits per key.
struct Cost {
    build: f64,
    single: f64,
    batch: f64,
    bits: f64,
}

/// Prints both side by side for `count` keys of 50 bits.
pub(super) fn measure(count: usize) -> anyhow::Result<()> {
    println!(
        "### Perfect hash beside ptr_hash 2.1.3, {count} keys of 50 bits: ns of the process per key, median of five\n"
    );
    println!("| | build | RAM to build, bytes per key | query, random | query, prefetched | bits per key |");
    println!("|---|---|---|---|---|---|");
    let keys = scattered_keys(count, 50);
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    print("ours, shards of 65,536 keys, from sorted keys", count, Contestant::Ours, || ours(&keys, &sorted))?;
    print("ptr_hash, one shard", count, Contestant::Rival, || rival(&keys, unsharded()))?;
    print("ptr_hash, eight shards on disk", count, Contestant::RivalOnDisk, || rival(&keys, on_disk(count)))?;
    println!();
    Ok(())
}

/// Builds one function and prints by how many bytes a key the resident set rose; run in a process of its own.
pub(crate) fn print_peak(contestant: Contestant, count: usize) -> anyhow::Result<()> {
    let mut keys = scattered_keys(count, 50);
    if let Contestant::Ours = contestant {
        keys.sort_unstable();
    }
    // Forgets the largest resident set so far.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let before = status("VmRSS:")?;
    match contestant {
        Contestant::Ours => drop(build_ours(&keys)?),
        Contestant::Rival => drop(Rival::new(&keys, unsharded())),
        Contestant::RivalOnDisk => drop(Rival::new(&keys, on_disk(count))),
    }
    println!("{}", (status("VmHWM:")? - before) / count as f64);
    Ok(())
}

/// A line of this process's status, in bytes.
fn status(name: &str) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).context("no such line")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1024.0)
}

fn unsharded() -> PtrHashParams<bucket_fn::Linear> {
    PtrHashParams::default_fast()
}

fn on_disk(count: usize) -> PtrHashParams<bucket_fn::Linear> {
    PtrHashParams {
        sharding: Sharding::Disk,
        keys_per_shard: count.div_ceil(8),
        ..PtrHashParams::default_fast()
    }
}

/// The median of five, and the RAM that a process of its own takes.
fn print(
    name: &str,
    count: usize,
    contestant: Contestant,
    work: impl FnMut() -> anyhow::Result<Cost>,
) -> anyhow::Result<()> {
    let Cost { build, single, batch, bits } = repeat(work)?;
    let value = contestant.to_possible_value().context("every contestant has a name")?;
    let child = Command::new(std::env::current_exe()?)
        .args(["bench", "perfect-hash-peak", value.get_name(), &count.to_string()])
        .output()?;
    let peak: f64 = String::from_utf8(child.stdout)?.trim().parse().context("the peak of a process")?;
    println!("| {name} | {build:.1} | {peak:.1} | {single:.1} | {batch:.1} | {bits:.3} |");
    Ok(())
}

/// The median of five, figure by figure.
fn repeat(mut work: impl FnMut() -> anyhow::Result<Cost>) -> anyhow::Result<Cost> {
    let costs: Vec<Cost> = (0..5).map(|_| work()).collect::<anyhow::Result<_>>()?;
    let median = |figure: fn(&Cost) -> f64| {
        let mut figures: Vec<f64> = costs.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[figures.len() / 2]
    };
    Ok(Cost {
        build: median(|cost| cost.build),
        single: median(|cost| cost.single),
        batch: median(|cost| cost.batch),
        bits: median(|cost| cost.bits),
    })
}

fn build_ours(sorted: &[u64]) -> anyhow::Result<Volume> {
    let volume = Volume::in_memory(4096);
    let mut builder = PerfectHashBuilder::new(&volume, "phf", 1, 1 << 16, &Budget::unlimited())?;
    for &key in sorted {
        builder.push(&[key])?;
    }
    builder.finish()?;
    Ok(volume)
}

fn ours(keys: &[u64], sorted: &[u64]) -> anyhow::Result<Cost> {
    let start = process_nanos();
    let volume = build_ours(sorted)?;
    let build = per_key(start, keys);
    let function = PerfectHash::open(&volume, "phf", 1, &Budget::unlimited())?;
    let start = process_nanos();
    let sum = keys.iter().map(|&key| function.index(&[key])).fold(0, u64::wrapping_add);
    let single = per_key(start, keys);
    check(sum, keys)?;
    let mut numbers = Vec::with_capacity(BATCH);
    let mut sum = 0u64;
    let start = process_nanos();
    for batch in keys.chunks(BATCH) {
        numbers.clear();
        function.index_batch(batch, &mut numbers);
        sum = numbers.iter().fold(sum, |sum, &number| sum.wrapping_add(number));
    }
    let batch = per_key(start, keys);
    check(sum, keys)?;
    Ok(Cost { build, single, batch, bits: function.bytes() as f64 * 8.0 / keys.len() as f64 })
}

fn rival(keys: &[u64], params: PtrHashParams<bucket_fn::Linear>) -> anyhow::Result<Cost> {
    let start = process_nanos();
    let function = Rival::new(keys, params);
    let build = per_key(start, keys);
    let start = process_nanos();
    let sum = keys.iter().map(|key| function.index(key) as u64).fold(0, u64::wrapping_add);
    let single = per_key(start, keys);
    check(sum, keys)?;
    let start = process_nanos();
    let sum = function.index_stream::<32, _>(keys).map(|index| index as u64).fold(0, u64::wrapping_add);
    let batch = per_key(start, keys);
    check(sum, keys)?;
    let (pilots, remap) = function.bits_per_element();
    Ok(Cost { build, single, batch, bits: pilots + remap })
}

/// Numbers 0 to n - 1, each once, have this sum; what else has it would be a wonder.
fn check(sum: u64, keys: &[u64]) -> anyhow::Result<()> {
    let count = keys.len() as u64;
    anyhow::ensure!(sum == count * (count - 1) / 2, "the numbers of {count} keys do not add up");
    Ok(())
}

fn per_key(start: u64, keys: &[u64]) -> f64 {
    (process_nanos() - start) as f64 / keys.len() as f64
}

/// What all threads of this process have used of the processors so far.
fn process_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
