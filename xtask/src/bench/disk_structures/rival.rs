//! What does `ptr_hash`, the fastest published perfect hash in Rust, cost beside ours? Only with `--features rivals`.
//!
//! It sorts with several threads, so both sides are charged the processor time of the whole process. RAM is not measured: within one
//! process the allocator keeps its pages, and the resident set does not rise.

use fathom_disk::budget::Budget;
use fathom_disk::perfect_hash::{PerfectHash, PerfectHashBuilder};
use fathom_disk::storage::Volume;
use ptr_hash::{PtrHash, PtrHashParams, Sharding, bucket_fn, hash};

use super::{BATCH, scattered_keys};

/// Several parts (so that shards work), and a hash that may be stored.
type Rival = PtrHash<u64, bucket_fn::Linear, Vec<u32>, hash::Xxh3Int, Vec<u8>, false, true>;

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
    println!("| | build | query, random | query, prefetched | bits per key |");
    println!("|---|---|---|---|---|");
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
    let Cost { build, single, batch, bits } = cost;
    println!("| {name} | {build:.1} | {single:.1} | {batch:.1} | {bits:.3} |");
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

fn ours(keys: &[u64], sorted: &[u64]) -> anyhow::Result<Cost> {
    let volume = Volume::in_memory(4096);
    let start = process_nanos();
    let mut builder = PerfectHashBuilder::new(&volume, "phf", 1, 1 << 16, &Budget::unlimited())?;
    for &key in sorted {
        builder.push(&[key])?;
    }
    builder.finish()?;
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
