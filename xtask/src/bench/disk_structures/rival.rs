//! What does `ptr_hash`, the fastest published perfect hash in Rust, cost beside ours? Only with `--features rivals`.
//!
//! It sorts with several threads, so both sides are charged the processor time of the whole process. RAM is the rise
//! of the resident set above what was there before, keys excluded, as Linux counts it.

use fathom_disk::budget::Budget;
use fathom_disk::perfect_hash::{PerfectHash, PerfectHashBuilder};
use fathom_disk::storage::Volume;
use ptr_hash::{PtrHash, PtrHashParams, Sharding, bucket_fn, hash};

use super::{BATCH, scattered_keys};

/// Several parts (so that shards work), and a hash that may be stored.
type Rival = PtrHash<u64, bucket_fn::Linear, Vec<u32>, hash::Xxh3Int, Vec<u8>, false, true>;

/// What one function costs: processor ns per key, bytes per key, bits per key.
struct Cost {
    build: f64,
    ram: f64,
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
    print("ours, shards of 65,536 keys, from sorted keys", &repeat(|| ours(&keys, &sorted))?);
    let unsharded = PtrHashParams::default_fast();
    print("ptr_hash, one shard", &repeat(|| rival(&keys, unsharded))?);
    let on_disk = PtrHashParams {
        sharding: Sharding::Disk,
        keys_per_shard: count.div_ceil(8),
        ..PtrHashParams::default_fast()
    };
    print("ptr_hash, eight shards on disk", &repeat(|| rival(&keys, on_disk))?);
    println!();
    Ok(())
}

fn print(name: &str, cost: &Cost) {
    let Cost { build, ram, single, batch, bits } = cost;
    println!("| {name} | {build:.1} | {ram:.2} | {single:.1} | {batch:.1} | {bits:.3} |");
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
        ram: median(|cost| cost.ram),
        single: median(|cost| cost.single),
        batch: median(|cost| cost.batch),
        bits: median(|cost| cost.bits),
    })
}

fn ours(keys: &[u64], sorted: &[u64]) -> anyhow::Result<Cost> {
    let volume = Volume::in_memory(4096);
    let before = resident("VmRSS")?;
    reset_peak()?;
    let start = process_nanos();
    let mut builder = PerfectHashBuilder::new(&volume, "phf", 1, 1 << 16, &Budget::unlimited())?;
    for &key in sorted {
        builder.push(&[key])?;
    }
    builder.finish()?;
    let build = per_key(start, keys);
    let ram = resident("VmHWM")?.saturating_sub(before) as f64 / keys.len() as f64;
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
    Ok(Cost { build, ram, single, batch, bits: function.bytes() as f64 * 8.0 / keys.len() as f64 })
}

fn rival(keys: &[u64], params: PtrHashParams<bucket_fn::Linear>) -> anyhow::Result<Cost> {
    let before = resident("VmRSS")?;
    reset_peak()?;
    let start = process_nanos();
    let function = Rival::new(keys, params);
    let build = per_key(start, keys);
    let ram = resident("VmHWM")?.saturating_sub(before) as f64 / keys.len() as f64;
    let start = process_nanos();
    let sum = keys.iter().map(|key| function.index(key) as u64).fold(0, u64::wrapping_add);
    let single = per_key(start, keys);
    check(sum, keys)?;
    let start = process_nanos();
    let sum = function.index_stream::<32, _>(keys).map(|index| index as u64).fold(0, u64::wrapping_add);
    let batch = per_key(start, keys);
    check(sum, keys)?;
    let (pilots, remap) = function.bits_per_element();
    Ok(Cost { build, ram, single, batch, bits: pilots + remap })
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

/// A field of `/proc/self/status` in bytes.
fn resident(field: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(field));
    let kibibytes = line.and_then(|line| line.split_whitespace().nth(1));
    Ok(kibibytes.unwrap_or("0").parse::<u64>()? * 1024)
}

/// Makes Linux forget the peak of the resident set.
fn reset_peak() -> anyhow::Result<()> {
    Ok(std::fs::write("/proc/self/clear_refs", "5")?)
}
