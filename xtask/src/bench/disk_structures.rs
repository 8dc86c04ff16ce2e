//! What do table, window, filters and perfect hash cost per key, side by side with what std has?

#[cfg(feature = "rivals")]
pub(super) mod rival;

use std::collections::HashSet;

use fathom_disk::budget::Budget;
use fathom_disk::filter::{Bloom, FuseSegmentsBuilder};
use fathom_disk::hash::hash_key;
use fathom_disk::perfect_hash::{CachedPerfectHash, PerfectHash, PerfectHashBuilder};
use fathom_disk::storage::Volume;
use fathom_disk::table::Table;
use fathom_disk::window::Window;

use super::records::RecordSet;
use super::{Random, Timing, time};

/// Keys handed over at once, as an engine does.
const BATCH: usize = 1024;
const WIDTHS: [u32; 6] = [30, 50, 64, 72, 100, 120];

/// Prints the tables for `count` keys.
pub(crate) fn measure(count: usize) -> anyhow::Result<()> {
    tables(count)?;
    filters(count)?;
    perfect_hashes(count)?;
    #[cfg(feature = "rivals")]
    rival::measure(count)?;
    #[cfg(not(feature = "rivals"))]
    println!("Beside ptr_hash: not measured; it needs `--features rivals`.\n");
    Ok(())
}

/// Distinct keys in random order: eight fields spread over the width, as in records of real models.
fn scattered_keys(count: usize, bits: u32) -> Vec<u64> {
    let field_bits = (count.max(2) - 1).ilog2() / 8 + 1;
    let mut order: Vec<u64> = (0..count as u64).collect();
    let mut random = Random(7);
    for i in (1..count).rev() {
        order.swap(i, (random.next() % (i as u64 + 1)) as usize);
    }
    let words = bits.div_ceil(64) as usize;
    let mut keys = vec![0; count * words];
    for (key, number) in keys.chunks_exact_mut(words).zip(order) {
        for field in 0..8 {
            let value = number >> (field * field_bits) & ((1 << field_bits) - 1);
            let bit = field * (bits - field_bits) / 7;
            let at = words - 1 - (bit / 64) as usize;
            key[at] |= value << (bit % 64);
            if bit % 64 + field_bits > 64 && at > 0 {
                key[at - 1] |= value >> (64 - bit % 64);
            }
        }
    }
    keys
}

/// Prints what the recorded state sets of a folder cost in tables, in the order found and at their full size.
pub(crate) fn state_sets(folder: &std::path::Path) -> anyhow::Result<()> {
    println!("\n### Exact table on state sets, batches of {BATCH}: processor ns per key, bytes per key\n");
    table_head("model | states | ");
    for path in RecordSet::read_all(folder)? {
        let set = RecordSet::read(&path)?;
        let count = set.records.len() / set.words;
        table_row(&format!("{} | {count} | ", set.name), &set.records, set.bits)?;
    }
    println!();
    Ok(())
}

fn tables(count: usize) -> anyhow::Result<()> {
    println!("### Exact table, {count} keys, batches of {BATCH}: processor ns per key, bytes per key\n");
    table_head("");
    for bits in WIDTHS {
        table_row("", &scattered_keys(count, bits), bits)?;
    }
    println!();
    Ok(())
}

fn table_head(first: &str) {
    println!(
        "| {first}bits | insert new | insert known | bytes | peak | HashSet insert | known | its bytes | window of a tenth |"
    );
    println!("|{}---|---|---|---|---|---|---|---|---|", "---|".repeat(first.matches('|').count()));
}

fn table_row(first: &str, keys: &[u64], bits: u32) -> anyhow::Result<()> {
    let words = bits.div_ceil(64) as usize;
    let count = keys.len() / words;
    let budget = Budget::unlimited();
    let mut table = None;
    let mut new = Vec::with_capacity(BATCH);
    let fresh = time(count as u64, || {
        table = None;
        let mut filled = Table::new(bits, &budget).expect("an unlimited budget");
        insert_all(&mut filled, keys, words, &mut new);
        table = Some(filled);
    });
    let mut table = table.expect("the work was done");
    anyhow::ensure!(table.len() == count, "{bits} bits: {} of {count} keys", table.len());
    let known = time(count as u64, || insert_all(&mut table, keys, words, &mut new));
    let bytes = table.bytes() as f64 / count as f64;
    let peak = budget.peak() as f64 / count as f64;
    drop(table);
    let (std_fresh, std_known, std_bytes) = standard(keys, words);
    let window = window(keys, bits, count / 10)?;
    println!(
        "| {first}{bits} | {fresh} | {known} | {bytes:.2} | {peak:.2} | {std_fresh} | {std_known} | {std_bytes:.1} | {window} |"
    );
    Ok(())
}

fn insert_all(table: &mut Table, keys: &[u64], words: usize, new: &mut Vec<u32>) {
    for batch in keys.chunks(BATCH * words) {
        new.clear();
        table.insert_batch(batch, new).expect("an unlimited budget");
    }
}

/// The standard set with its own hasher: times for new and known keys, and an estimate of bytes per key.
fn standard(keys: &[u64], words: usize) -> (Timing, Timing, f64) {
    let count = keys.len() / words;
    match words {
        1 => standard_of(count, || keys.iter().copied()),
        2 => standard_of(count, || keys.as_chunks::<2>().0.iter().copied()),
        3 => standard_of(count, || keys.as_chunks::<3>().0.iter().copied()),
        // Only a reference is held: its bytes do not count the key.
        _ => standard_of(count, || keys.chunks_exact(words)),
    }
}

fn standard_of<K: std::hash::Hash + Eq, I: Iterator<Item = K>>(
    count: usize,
    keys: impl Fn() -> I,
) -> (Timing, Timing, f64) {
    let mut set = HashSet::new();
    let fresh = time(count as u64, || {
        set = HashSet::new();
        insert_each(&mut set, keys());
    });
    let known = time(count as u64, || insert_each(&mut set, keys()));
    let slots = (set.capacity() * 8 / 7).next_power_of_two();
    (fresh, known, (slots * (size_of::<K>() + 1)) as f64 / count as f64)
}

/// One at a time: `extend` would reserve room ahead, which a search cannot do.
fn insert_each<K: std::hash::Hash + Eq>(set: &mut HashSet<K>, keys: impl Iterator<Item = K>) {
    for key in keys {
        set.insert(key);
    }
}

fn window(keys: &[u64], bits: u32, capacity: usize) -> anyhow::Result<Timing> {
    let window = Window::new(bits, capacity, &Budget::unlimited())?;
    let words = bits.div_ceil(64) as usize;
    let mut missed = Vec::with_capacity(BATCH);
    Ok(time((keys.len() / words) as u64, || {
        for batch in keys.chunks(BATCH * words) {
            missed.clear();
            window.meet_batch(batch, &mut missed);
        }
    }))
}

fn filters(count: usize) -> anyhow::Result<()> {
    println!("### Filters, {count} keys of 50 bits: processor ns per key\n");
    println!("| filter | build | query present | query absent | bits per key | wrong maybes |");
    println!("|---|---|---|---|---|---|");
    let budget = Budget::unlimited();
    let keys = scattered_keys(count, 50);
    let strangers: Vec<u64> = keys.iter().map(|key| key ^ 1 << 49 ^ 0x5555).collect();
    let mut maybe = Vec::with_capacity(count);
    for bits_per_key in [6, 8, 10] {
        let blocks = count * bits_per_key / 512;
        let mut bloom = Bloom::new(blocks, count as u64, &budget)?;
        let build = time(count as u64, || bloom.insert_batch(&keys, 1));
        let mut query = |keys: &[u64]| {
            time(count as u64, || {
                maybe.clear();
                bloom.query_batch(keys, 1, &mut maybe);
            })
        };
        let (present, absent) = (query(&keys), query(&strangers));
        let bits = bloom.bytes() as f64 * 8.0 / count as f64;
        let wrong = maybe.len() as f64 / count as f64;
        println!("| Bloom | {build} | {present} | {absent} | {bits:.2} | {:.2} % |", wrong * 100.0);
    }
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    let mut fuse = None;
    let build = time(count as u64, || {
        let mut builder = FuseSegmentsBuilder::new(1, 64 << 20, &budget).expect("an unlimited budget");
        sorted.iter().for_each(|&key| builder.push(&[key]).expect("an unlimited budget"));
        fuse = Some(builder.finish().expect("an unlimited budget"));
    });
    let fuse = fuse.expect("the work was done");
    let mut query = |keys: &[u64]| {
        time(count as u64, || {
            maybe.clear();
            fuse.query_batch(keys, &mut maybe);
        })
    };
    let (present, absent) = (query(&keys), query(&strangers));
    let bits = fuse.bytes() as f64 * 8.0 / count as f64;
    let wrong = maybe.len() as f64 / count as f64;
    println!("| fuse, segments | {build} | {present} | {absent} | {bits:.2} | {:.2} % |\n", wrong * 100.0);
    Ok(())
}

fn perfect_hashes(count: usize) -> anyhow::Result<()> {
    println!("### Perfect hash, {count} keys: processor ns per key\n");
    println!(
        "| key bits | build | RAM to build, bytes per key of a shard | query, random | query, batch | on disk, sorted, 1 shard in RAM | bits per key |"
    );
    println!("|---|---|---|---|---|---|---|");
    for bits in [50, 120] {
        let words = (bits as usize).div_ceil(64);
        let keys = scattered_keys(count, bits);
        let mut sorted: Vec<&[u64]> = keys.chunks_exact(words).collect();
        sorted.sort_unstable();
        let volume = Volume::in_memory(4096);
        let budget = Budget::unlimited();
        let build = time(count as u64, || {
            let _ = volume.remove("phf");
            let mut builder =
                PerfectHashBuilder::new(&volume, "phf", words, 1 << 16, &budget).expect("a fresh name");
            sorted.iter().for_each(|key| builder.push(key).expect("storage in memory"));
            builder.finish().expect("storage in memory");
        });
        let ram = budget.peak() as f64 / 65_536.0;
        let function = PerfectHash::open(&volume, "phf", words, &Budget::unlimited())?;
        let mut sum = 0u64;
        let single = time(count as u64, || {
            sum = keys.chunks_exact(words).map(|key| function.index(key)).fold(0, u64::wrapping_add);
        });
        let expected = (count as u64 - 1) * count as u64 / 2;
        anyhow::ensure!(sum == expected, "the numbers of {count} keys do not add up");
        let mut numbers = Vec::with_capacity(BATCH);
        let batch = time(count as u64, || {
            for batch in keys.chunks(BATCH * words) {
                numbers.clear();
                function.index_batch(batch, &mut numbers);
            }
        });
        let mut cached = CachedPerfectHash::open(&volume, "phf", words, 1, &Budget::unlimited())?;
        let on_disk = time(count as u64, || sorted.iter().for_each(|key| drop(cached.index(key))));
        let size = function.bytes() as f64 * 8.0 / count as f64;
        println!("| {bits} | {build} | {ram:.0} | {single} | {batch} | {on_disk} | {size:.3} |");
    }
    println!("\nHashing alone: {} ns a key of one word.\n", hashing(count));
    Ok(())
}

fn hashing(count: usize) -> Timing {
    let mut sum = 0u64;
    let timing = time(count as u64, || sum = (0..count as u64).fold(sum, |sum, key| sum ^ hash_key(&[key])));
    std::hint::black_box(sum);
    timing
}
