//! How fast are sorting, merging and inserting, against the standard library and an embedded store?

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use fathom_disk::budget::Budget;
use fathom_disk::key::{KeyWidth, narrow, wide};
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig, RunWriter};
use fathom_disk::set::{KeyStream, Merge, SliceStream, Tiers, sort_unique};
use fathom_disk::storage::{FileStorage, Volume};

use super::{Random, time};

/// Sorts `count` random keys of one and two words; ours and the standard library's.
pub(crate) fn sorting(count: usize) -> anyhow::Result<()> {
    println!(
        "\n### Sort and drop equal keys, ns per key\n\n| keys | ours | std sort_unstable + dedup |\n|---|---|---|"
    );
    let mut random = Random(1);
    let narrow_keys: Vec<u64> = (0..count).map(|_| random.next() >> 20).collect();
    let budget = Budget::unlimited();
    let ours = time(count as u64, || {
        let mut keys = narrow_keys.clone();
        let kept = sort_unique(&budget, 1, &mut keys);
        std::hint::black_box((keys, kept.is_ok()));
    });
    let std = time(count as u64, || {
        let mut keys = narrow_keys.clone();
        keys.sort_unstable();
        keys.dedup();
        std::hint::black_box(keys);
    });
    println!("| {count} of 64 bits | {ours} | {std} |");
    let wide_keys: Vec<u128> =
        (0..count).map(|_| u128::from(random.next()) << 40 | u128::from(random.next())).collect();
    let pairs: Vec<u64> = wide_keys.iter().flat_map(|&key| narrow(key)).collect();
    let ours = time(count as u64, || {
        let mut keys = pairs.clone();
        let kept = sort_unique(&budget, 2, &mut keys);
        std::hint::black_box((keys, kept.is_ok()));
    });
    let std = time(count as u64, || {
        let mut keys = wide_keys.clone();
        keys.sort_unstable();
        keys.dedup();
        std::hint::black_box(keys);
    });
    println!("| {count} of 128 bits | {ours} | {std} |");
    Ok(())
}

/// Merges eight streams; a loser tree against a binary heap.
pub(crate) fn merging(count: usize) -> anyhow::Result<()> {
    println!(
        "\n### Merge 8 streams, ns per key\n\n| keys | loser tree | binary heap of the standard library |\n|---|---|---|"
    );
    for words in [1, 2] {
        let mut random = Random(2);
        let streams: Vec<Vec<u64>> = (0..8)
            .map(|_| {
                let mut keys: Vec<u64> = (0..count / 8 * words).map(|_| random.next() >> 16).collect();
                let kept = sort_unique(&Budget::unlimited(), words, &mut keys)?;
                keys.truncate(kept);
                anyhow::Ok(keys)
            })
            .collect::<Result<_, _>>()?;
        let total: usize = streams.iter().map(|keys| keys.len() / words).sum();
        let mut failed = Ok(());
        let ours = time(total as u64, || {
            failed = merge_ours(words, &streams);
        });
        failed?;
        let heap = time(total as u64, || merge_heap(words, &streams));
        println!("| {total} of {} bits | {ours} | {heap} |", words * 64);
    }
    Ok(())
}

fn merge_ours(words: usize, streams: &[Vec<u64>]) -> anyhow::Result<()> {
    let budget = Budget::unlimited();
    let sources = streams.iter().map(|keys| SliceStream::new(words, keys)).collect();
    let mut merge = Merge::new(&budget, words, sources, 4096)?;
    let mut sum = 0u64;
    while merge.advance()? {
        sum = sum.wrapping_add(merge.keys()[0]);
    }
    std::hint::black_box(sum);
    Ok(())
}

fn merge_heap(words: usize, streams: &[Vec<u64>]) {
    let key = |stream: usize, place: usize| match words {
        1 => streams[stream].get(place).map(|&key| u128::from(key)),
        _ => streams[stream].get(place * 2..place * 2 + 2).map(wide),
    };
    let mut heap: BinaryHeap<Reverse<(u128, usize, usize)>> =
        (0..streams.len()).filter_map(|stream| Some(Reverse((key(stream, 0)?, stream, 0)))).collect();
    let mut output = Vec::new();
    while let Some(Reverse((least, stream, place))) = heap.pop() {
        if output.last() != Some(&least) {
            output.push(least);
        }
        if let Some(next) = key(stream, place + 1) {
            heap.push(Reverse((next, stream, place + 1)));
        }
    }
    std::hint::black_box(output);
}

/// Inserts a stream of 128-bit keys, a quarter of them repeats, in sorted batches; tiers of runs against redb.
pub(crate) fn insertion(folder: &Path, count: usize) -> anyhow::Result<()> {
    let mut random = Random(3);
    let mut keys: Vec<u128> = Vec::with_capacity(count);
    for index in 0..count {
        let key = if index > 0 && random.next().is_multiple_of(4) {
            keys[random.next() as usize % index]
        } else {
            u128::from(random.next()) << 64 | u128::from(random.next())
        };
        keys.push(key);
    }
    println!(
        "\n### Insert {count} random keys of 128 bits, a quarter repeats, in sorted batches of 250,000\n"
    );
    println!("| | new keys | ns per key | bytes per key on disk |\n|---|---|---|---|");
    let start = std::time::Instant::now();
    let (new, bytes) = insert_tiers(&folder.join("tiers"), &keys)?;
    println!("| tiers | {new} | {:.0} | {:.1} |", nanos_per(start, count), bytes as f64 / new as f64);
    let start = std::time::Instant::now();
    let (new, bytes) = insert_redb(&folder.join("redb"), &keys)?;
    println!(
        "| redb, no durability | {new} | {:.0} | {:.1} |",
        nanos_per(start, count),
        bytes as f64 / new as f64
    );
    Ok(())
}

const BATCH: usize = 250_000;

fn insert_tiers(folder: &Path, keys: &[u128]) -> anyhow::Result<(u64, u64)> {
    let volume = Volume::new(FileStorage::auto(folder)?);
    let budget = Budget::unlimited();
    let width = KeyWidth::new(128).expect("a width in range");
    let config = RunConfig::live(width, [0; 16]);
    let mut tiers = Tiers::default();
    let mut prober = Prober::new(&budget, width, ProbeConfig::default())?;
    for (number, batch) in keys.chunks(BATCH).enumerate() {
        let mut batch: Vec<u64> = batch.iter().flat_map(|&key| narrow(key)).collect();
        let kept = sort_unique(&budget, 2, &mut batch)?;
        batch.truncate(kept);
        let mut found = vec![false; kept / 2];
        tiers.look_up(&mut prober, &batch, &mut found)?;
        let name = format!("layer-{number}");
        let mut writer = RunWriter::new(&volume, &budget, &name, &config)?;
        for (key, found) in batch.chunks(2).zip(found) {
            if !found {
                writer.push(key)?;
            }
        }
        writer.finish(false)?;
        tiers.insert(0, Run::open(&volume, &budget, &name, width, [0; 16])?);
        while let Some(level) = tiers.due() {
            tiers.merge_level(
                &volume,
                &budget,
                level,
                &format!("merged-{level}-{number}"),
                &config,
                8 << 20,
                true,
            )?;
            for name in tiers.retired() {
                volume.remove(&name)?;
            }
        }
    }
    let bytes = tiers.runs().map(|(_, run)| run.bytes()).sum::<u64>();
    Ok((tiers.count(), bytes))
}

fn insert_redb(folder: &Path, keys: &[u128]) -> anyhow::Result<(u64, u64)> {
    use redb::ReadableTableMetadata;
    const TABLE: redb::TableDefinition<'_, u128, ()> = redb::TableDefinition::new("keys");
    std::fs::create_dir_all(folder)?;
    let path = folder.join("keys.redb");
    let database = redb::Builder::new().set_cache_size(256 << 20).create(&path)?;
    for batch in keys.chunks(BATCH) {
        let mut batch = batch.to_vec();
        batch.sort_unstable();
        let mut transaction = database.begin_write()?;
        transaction.set_durability(redb::Durability::None)?;
        {
            let mut table = transaction.open_table(TABLE)?;
            for key in batch {
                table.insert(key, ())?;
            }
        }
        transaction.commit()?;
    }
    let count = database.begin_write()?.open_table(TABLE)?.len()?;
    Ok((count, std::fs::metadata(&path)?.len()))
}

fn nanos_per(start: std::time::Instant, count: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / count as f64
}
