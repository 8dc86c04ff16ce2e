//! Do sorting, merging, subtracting and tiers agree with plain sets, on all storages, in 4 KiB as in plenty?

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

mod support;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::pieces::{PieceFormat, PieceWriter, Pieces};
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig, RunWriter, Tag};
use fathom_disk::set::{Difference, KeyStream, Merge, SliceStream, Sorter, Tiers, sort_unique, write_all};
use fathom_disk::storage::{Fault, FaultyStorage, FileKind, MemoryStorage, Role, Volume};
use support::{Dice, Model, flat, random_set, volumes};

const TAG: Tag = *b"a tag of 16 byte";

fn drain(stream: &mut impl KeyStream) -> Vec<u64> {
    let mut keys = Vec::new();
    while stream.advance().unwrap() {
        assert!(!stream.keys().is_empty());
        keys.extend_from_slice(stream.keys());
    }
    assert!(stream.keys().is_empty());
    keys
}

/// All sets of at most three of the numbers below five.
fn small_sets() -> Vec<Vec<u64>> {
    (0u32..32)
        .filter(|set| set.count_ones() <= 3)
        .map(|set| (0..5).filter(|key| set >> key & 1 == 1).collect())
        .collect()
}

#[test]
fn every_merge_of_up_to_three_streams_of_up_to_three_keys() {
    let sets = small_sets();
    let budget = Budget::new(4096);
    for words in [1, 2, 3] {
        let widen = |set: &Vec<u64>| -> Vec<u64> {
            set.iter().flat_map(|&key| (0..words).map(move |word| key * (word as u64 + 1))).collect()
        };
        let wide: Vec<Vec<u64>> = sets.iter().map(widen).collect();
        for first in &wide {
            for second in &wide {
                for third in &wide {
                    for chunk in [1, 2] {
                        let streams =
                            [first, second, third].map(|keys| SliceStream::new(words, keys)).to_vec();
                        let model: Model = [first, second, third]
                            .iter()
                            .flat_map(|keys| keys.chunks(words))
                            .map(Vec::from)
                            .collect();
                        let mut merge = Merge::new(&budget, words, streams, chunk).unwrap();
                        assert_eq!(drain(&mut merge), flat(&model), "{first:?} {second:?} {third:?}");
                    }
                }
                let (from, known) = (SliceStream::new(words, first), SliceStream::new(words, second));
                let known_set: Model = second.chunks(words).map(Vec::from).collect();
                let model: Model =
                    first.chunks(words).map(Vec::from).filter(|key| !known_set.contains(key)).collect();
                let mut difference = Difference::new(&budget, from, known).unwrap();
                assert_eq!(drain(&mut difference), flat(&model), "{first:?} without {second:?}");
            }
        }
    }
    assert_eq!(drain(&mut Merge::new(&budget, 1, Vec::<SliceStream<'_>>::new(), 1).unwrap()), []);
}

/// Keys in chunks of a given length.
struct Chunked<'a> {
    words: usize,
    chunks: std::slice::Chunks<'a, u64>,
    chunk: &'a [u64],
}

impl KeyStream for Chunked<'_> {
    fn words(&self) -> usize {
        self.words
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        self.chunk = self.chunks.next().unwrap_or(&[]);
        Ok(!self.chunk.is_empty())
    }

    fn keys(&self) -> &[u64] {
        self.chunk
    }
}

#[test]
fn merges_of_any_number_of_streams_in_chunks_agree_with_a_plain_set() {
    let budget = Budget::unlimited();
    for seed in 0..400 {
        let mut dice = Dice::new(seed);
        let bits = [5, 30, 64, 88, 128, 150][dice.below(6) as usize];
        let words = (bits as usize).div_ceil(64);
        let sets: Vec<Model> = (0..seed % 14)
            .map(|_| {
                let count = [0, 3, 200][dice.below(3) as usize];
                random_set(&mut dice, bits, count)
            })
            .collect();
        // Some keys are in several streams.
        let shared = random_set(&mut dice, bits, 20);
        let flats: Vec<Vec<u64>> = sets
            .iter()
            .map(|set| {
                let from_shared = shared.iter().filter(|_| dice.below(2) == 0).cloned();
                flat(&set.iter().cloned().chain(from_shared).collect())
            })
            .collect();
        let model: Model = flats.iter().flat_map(|keys| keys.chunks(words)).map(Vec::from).collect();
        let streams = flats
            .iter()
            .map(|keys| Chunked {
                words,
                chunks: keys.chunks((1 + dice.below(9) as usize) * words),
                chunk: &[],
            })
            .collect();
        let chunk = [1, 7, 1000][dice.below(3) as usize];
        let mut merge = Merge::new(&budget, words, streams, chunk).unwrap();
        assert_eq!(drain(&mut merge), flat(&model), "seed {seed}");
        assert!(!merge.advance().unwrap(), "the end stays the end");
    }
}

#[test]
fn sorting_in_a_buffer_agrees_with_a_plain_set() {
    let budget = Budget::unlimited();
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let bits = 1 + dice.below(300) as u32;
        let words = (bits as usize).div_ceil(64);
        let keys: Vec<Vec<u64>> = (0..dice.below(400)).map(|_| dice.key(bits)).collect();
        let doubled = [&keys[..], &keys[..keys.len() / 2]].concat();
        let mut flat_keys = doubled.concat();
        let kept = sort_unique(&budget, words, &mut flat_keys).unwrap();
        let model: Model = keys.into_iter().collect();
        assert_eq!(&flat_keys[..kept], flat(&model), "seed {seed}, {bits} bits");
    }
}

#[test]
fn a_sort_is_taken_up_with_the_runs_that_were_kept() {
    let width = KeyWidth::new(40).unwrap();
    for seed in 0..60 {
        let (mut dice, volume, budget) = (Dice::new(seed), Volume::in_memory(64), Budget::new(8192));
        let mut model = Model::new();
        let mut kept: Vec<String> = Vec::new();
        let begin = || Sorter::new(&volume, &budget, "sort", width, TAG, 4096).unwrap();
        for _ in 0..1 + dice.below(6) {
            let mut sorter = begin().resume(kept.clone());
            let set = random_set(&mut dice, 40, 300);
            sorter.push(&flat(&set)).unwrap();
            kept = sorter.keep().unwrap().to_vec();
            model.extend(set);
            // What comes after is lost with its files.
            sorter.push(&flat(&random_set(&mut dice, 40, 300))).unwrap();
            if dice.below(2) == 0 {
                sorter.finish().unwrap();
            }
            for name in volume.list().unwrap().iter().filter(|name| !kept.contains(name)) {
                volume.remove(name).unwrap();
            }
        }
        let sorted = begin().resume(kept.clone()).finish().unwrap();
        assert!(drain(&mut sorted.stream().unwrap()) == flat(&model), "seed {seed}");
        sorted.remove().unwrap();
        kept.sort();
        assert_eq!(volume.list().unwrap(), kept, "seed {seed}: those go when no manifest names them");
    }
}

#[test]
fn the_external_sorter_spills_merges_in_passes_and_agrees() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        for (bits, bytes) in
            [(20, 4096), (64, 4096), (100, 4096), (130, 6 << 10), (64, 64 << 10), (100, 1 << 20)]
        {
            let width = KeyWidth::new(bits).unwrap();
            let mut dice = Dice::new(u64::from(bits));
            let budget = Budget::new(bytes);
            let mut model = Model::new();
            let mut sorter = Sorter::new(&volume, &budget, "sort", width, TAG, bytes).unwrap();
            for _ in 0..40 {
                let set = random_set(&mut dice, bits, 100);
                sorter.push(&flat(&set)).unwrap();
                model.extend(set);
            }
            let sorted = sorter.finish().unwrap();
            let mut stream = sorted.stream().unwrap();
            assert!(drain(&mut stream) == flat(&model), "{kind}, {bits} bits in {bytes} bytes");
            drop(stream);
            sorted.remove().unwrap();
            assert_eq!(budget.used(), 0, "{kind}");
            assert!(volume.list().unwrap().is_empty(), "{kind}");
        }
    }
}

/// A layer loop in small: sort candidates, drop what is known, keep the rest as a new run.
fn grow_and_check(volume: &Volume, budget: &Budget, bits: u32, rounds: usize, seed: u64, about: &str) {
    let width = KeyWidth::new(bits).unwrap();
    let words = width.words();
    let share = budget.limit().min(64 << 10) / 4;
    let config = RunConfig::within(width, TAG, share);
    let mut dice = Dice::new(seed);
    let mut tiers = Tiers::default();
    let mut model = Model::new();
    for round in 0..rounds {
        let count = 1 + dice.below(60) as usize;
        let mut candidates = random_set(&mut dice, bits, count);
        candidates.extend(model.iter().filter(|_| dice.below(8) == 0).take(20).cloned().collect::<Vec<_>>());
        let keys = flat(&candidates);
        let mut found = vec![false; candidates.len()];
        {
            let mut prober = Prober::new(budget, width, ProbeConfig::within(share)).unwrap();
            tiers.look_up(&mut prober, &keys, &mut found).unwrap();
        }
        let name = format!("layer-{round}");
        let mut writer = RunWriter::new(volume, budget, &name, &config).unwrap();
        for ((key, words), found) in candidates.iter().zip(keys.chunks(words)).zip(found) {
            assert_eq!(found, model.contains(key), "{about}, round {round}");
            if !found {
                writer.push(words).unwrap();
            }
        }
        writer.finish(true).unwrap();
        model.extend(candidates);
        tiers.insert(0, Run::open(volume, budget, &name, width, TAG).unwrap());
        while let Some(level) = tiers.due() {
            let name = format!("merged-{level}-{round}");
            tiers.merge_level(volume, budget, level, &name, &config, share * 2, true).unwrap();
            for name in tiers.retired() {
                volume.remove(&name).unwrap();
            }
        }
    }
    assert_eq!(tiers.count(), model.len() as u64, "{about}");
    let mut scan = tiers.scan(budget, words, share).unwrap();
    assert!(drain(&mut scan) == flat(&model), "{about}");
}

#[test]
fn tiers_agree_with_a_plain_set_on_all_storages_and_budgets() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        for (bits, bytes) in
            [(9, 4096), (30, 4096), (64, 4096), (64, 64 << 10), (128, 16 << 10), (200, 1 << 20)]
        {
            let budget = Budget::new(bytes);
            let about = format!("{kind}, {bits} bits in {bytes} bytes");
            grow_and_check(&volume, &budget, bits, 30, u64::from(bits), &about);
            assert_eq!(budget.used(), 0, "{about}");
            for name in volume.list().unwrap() {
                volume.remove(&name).unwrap();
            }
        }
    }
}

#[test]
fn a_fault_at_any_operation_of_a_sort_is_an_error_or_harmless() {
    let width = KeyWidth::new(30).unwrap();
    let keys = flat(&random_set(&mut Dice::new(8), 30, 400));
    for fault in [Fault::Fail, Fault::Short, Fault::Tear, Fault::Full, Fault::Flip] {
        for operation in 0.. {
            let storage = FaultyStorage::new(64, operation);
            let volume = Volume::new(storage.clone());
            let budget = Budget::new(4096);
            storage.strike(operation, fault);
            let outcome = sort_all(&volume, &budget, width, &keys);
            match outcome {
                Ok(sorted) => assert_eq!(sorted, keys, "{fault:?} at operation {operation}"),
                Err(error) => assert!(storage.struck(), "{fault:?} at operation {operation}: {error}"),
            }
            assert_eq!(budget.used(), 0, "{fault:?} at operation {operation}");
            if !storage.struck() {
                break;
            }
        }
    }
}

fn sort_all(volume: &Volume, budget: &Budget, width: KeyWidth, keys: &[u64]) -> Result<Vec<u64>, DiskError> {
    let mut sorter = Sorter::new(volume, budget, "sort", width, TAG, 4096)?;
    // Backwards, so that every run spans a part of the whole.
    for key in keys.iter().rev() {
        sorter.push(&[*key])?;
    }
    let sorted = sorter.finish()?;
    let mut stream = sorted.stream()?;
    let mut output = Vec::new();
    while stream.advance()? {
        output.extend_from_slice(stream.keys());
    }
    Ok(output)
}

#[test]
fn a_million_keys_in_one_mebibyte() {
    let volume = Volume::in_memory(4096);
    let budget = Budget::new(1 << 20);
    let width = KeyWidth::new(60).unwrap();
    let mut dice = Dice::new(42);
    let mut keys = Vec::new();
    let mut sorter = Sorter::new(&volume, &budget, "sort", width, TAG, 900 << 10).unwrap();
    for _ in 0..1000 {
        let base = dice.next() >> 10;
        let some: Vec<u64> = (0..1000).map(|_| base + dice.below(100_000)).collect();
        sorter.push(&some).unwrap();
        keys.extend(some);
    }
    keys.sort_unstable();
    keys.dedup();
    let sorted = sorter.finish().unwrap();
    {
        let mut writer =
            RunWriter::new(&volume, &budget, "all", &RunConfig::within(width, TAG, 64 << 10)).unwrap();
        let mut stream = sorted.stream().unwrap();
        assert_eq!(write_all(&mut stream, &mut writer).unwrap(), keys.len() as u64);
        writer.finish(true).unwrap();
    }
    sorted.remove().unwrap();
    let run = Run::open(&volume, &budget, "all", width, TAG).unwrap();
    let mut prober = Prober::new(&budget, width, ProbeConfig::within(256 << 10)).unwrap();
    let mut found = vec![false; keys.len()];
    prober.look_up(&[&run], &keys, &mut found).unwrap();
    assert!(found.iter().all(|&found| found));
    let near: Vec<u64> =
        keys.iter().map(|key| key + 1).filter(|key| keys.binary_search(key).is_err()).collect();
    let mut found = vec![false; near.len()];
    prober.look_up(&[&run], &near, &mut found).unwrap();
    assert!(!found.iter().any(|&found| found));
}

/// A finished stream looks like one at the greatest key: the difference must be seen.
#[test]
fn the_greatest_key_is_merged_like_any_other() {
    let budget = Budget::unlimited();
    for words in 1..=3 {
        let key = |low: u64| {
            if low == 9 { vec![u64::MAX; words] } else { [vec![0; words - 1], vec![low]].concat() }
        };
        // Which of the keys 1, 2 and the greatest each of three streams has, and how far a chunk reaches.
        for code in 0..8 * 8 * 8 {
            let sets: Vec<Vec<u64>> = (0..3)
                .map(|stream| (0..3).filter(move |bit| code >> (3 * stream + bit) & 1 == 1))
                .map(|bits| bits.flat_map(|bit| key([1, 2, 9][bit])).collect())
                .collect();
            let expected: Vec<u64> = (0..3)
                .filter(|bit| (0..3).any(|stream| code >> (3 * stream + bit) & 1 == 1))
                .flat_map(|bit| key([1, 2, 9][bit]))
                .collect();
            // With empty streams beside them they are many, which are merged in another way.
            for (chunk, empty) in [(1, 0), (2, 0), (100, 0), (1, 8), (100, 8)] {
                let none = std::iter::repeat_n([].as_slice(), empty);
                let streams = sets.iter().map(Vec::as_slice).chain(none);
                let streams = streams.map(|keys| SliceStream::new(words, keys)).collect();
                let mut merge = Merge::new(&budget, words, streams, chunk).unwrap();
                assert_eq!(drain(&mut merge), expected, "{words} words, {sets:x?}, chunks of {chunk}");
                assert!(!merge.advance().unwrap(), "the end stays the end");
            }
        }
    }
}

const PIECES: FileKind = FileKind::new("pieces", Role::Bulk);

/// What pieces hold, merged.
fn merged(pieces: &Pieces, budget: &Budget, words: usize, bytes: usize) -> Result<Vec<u64>, DiskError> {
    let scans = pieces.scans(budget, bytes).collect::<Result<Vec<_>, _>>()?;
    let mut merge = Merge::new(budget, words, scans, 16)?;
    let mut keys = Vec::new();
    while merge.advance()? {
        keys.extend_from_slice(merge.keys());
    }
    Ok(keys)
}

#[test]
fn pieces_come_back_merged_on_every_storage_and_width() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        for (number, bits) in [5, 40, 64, 100, 128, 200].into_iter().enumerate() {
            let width = KeyWidth::new(bits).unwrap();
            let words = width.words();
            for bytes in [64, 1024, 30_000, 100_000] {
                let seed = (number * 1_000_000 + bytes) as u64;
                let mut dice = Dice::new(seed);
                let about = format!("{kind}, {bits} bits, {bytes} bytes, seed {seed}");
                let budget = Budget::unlimited();
                let format = PieceFormat::within(width, bytes);
                let mut writer = PieceWriter::new(&budget, format, bytes).unwrap();
                let mut pieces = Pieces::new(&volume, &budget, format).unwrap();
                for layer in 0..2 {
                    let mut all = Model::new();
                    let mut keys = 0;
                    for _ in 0..=dice.below(9) {
                        let count = [0, 1, 30, 3000][dice.below(4) as usize];
                        let set = random_set(&mut dice, bits, count);
                        keys += set.len() as u64;
                        let name = || format!("pieces-{seed}-{layer}");
                        pieces
                            .add(&mut writer, &mut SliceStream::new(words, &flat(&set)), PIECES, name)
                            .unwrap();
                        assert_eq!(pieces.count(), keys, "{about}");
                        all.extend(set);
                        if pieces.len() > 5 {
                            pieces.merge_half(&mut writer, &budget, bytes).unwrap();
                            assert!(pieces.len() <= 4, "{about}");
                            keys = pieces.count();
                        }
                    }
                    writer.settle().unwrap();
                    assert_eq!(merged(&pieces, &budget, words, bytes).unwrap(), flat(&all), "{about}");
                    pieces.clear().unwrap();
                    assert!(pieces.is_empty() && pieces.bytes() == 0);
                }
                drop(writer);
                drop(pieces);
                assert_eq!(budget.used(), 0, "{about}");
                assert!(!volume.list().unwrap().iter().any(|name| name.starts_with("pieces")), "{about}");
            }
        }
    }
}

#[test]
fn a_damaged_piece_and_a_failing_device_are_errors_and_give_everything_back() {
    let width = KeyWidth::new(40).unwrap();
    for (seed, slow) in [(1, false), (2, true)] {
        let mut dice = Dice::new(seed);
        let storage = if slow { MemoryStorage::slow(64) } else { MemoryStorage::new(64) };
        let volume = Volume::new(storage);
        let keys = flat(&random_set(&mut dice, 40, 2000));
        let budget = Budget::unlimited();
        let format = PieceFormat::within(width, 4096);
        let mut writer = PieceWriter::new(&budget, format, 4096).unwrap();
        let mut pieces = Pieces::new(&volume, &budget, format).unwrap();
        pieces.add(&mut writer, &mut SliceStream::new(1, &keys), PIECES, || "damaged".to_owned()).unwrap();
        writer.settle().unwrap();
        assert_eq!(merged(&pieces, &budget, 1, 2048).unwrap(), keys);
        let file = volume.open("damaged", PIECES).unwrap();
        let mut noticed = 0;
        for _ in 0..200 {
            let offset = dice.below(pieces.bytes());
            let mut byte = [0];
            file.read_exact(offset, &mut byte).unwrap();
            file.write(offset, &[byte[0] ^ (1 << dice.below(8))]).unwrap();
            match merged(&pieces, &budget, 1, 2048) {
                // What fills up the last block of the device is not checked: nobody reads it.
                Ok(read) => assert_eq!(read, keys),
                Err(error) => {
                    assert!(error.to_string().contains("damaged"), "{error}");
                    noticed += 1;
                }
            }
            file.write(offset, &byte).unwrap();
        }
        assert!(noticed > 190, "{noticed} of 200 were noticed");
        drop((writer, pieces));
        assert_eq!(budget.used(), 0);
    }
    for operation in 1..40 {
        let storage = FaultyStorage::new(64, operation);
        storage.strike(operation, Fault::Fail);
        let volume = Volume::new(storage);
        let keys = flat(&random_set(&mut Dice::new(operation), 40, 500));
        let budget = Budget::unlimited();
        let format = PieceFormat::within(width, 1024);
        let mut writer = PieceWriter::new(&budget, format, 1024).unwrap();
        let mut pieces = Pieces::new(&volume, &budget, format).unwrap();
        let mut stream = SliceStream::new(1, &keys);
        let outcome = pieces
            .add(&mut writer, &mut stream, PIECES, || "failing".to_owned())
            .and_then(|()| writer.settle())
            .and_then(|()| merged(&pieces, &budget, 1, 256));
        if let Ok(read) = outcome {
            assert_eq!(read, keys, "operation {operation}");
        }
        drop((writer, pieces));
        assert_eq!(budget.used(), 0, "operation {operation}");
    }
}
