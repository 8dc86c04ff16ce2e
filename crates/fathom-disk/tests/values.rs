//! Do keys with values come back from runs, sorts, merges and look-ups as from a plain map, in 4 KiB as in plenty, and is every change to their bytes noticed?

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

mod support;

use std::collections::BTreeMap;

use fathom_disk::budget::Budget;
use fathom_disk::codec::Codec;
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::sweep::Sweep;
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig, RunWriter, Scan, Tag};
use fathom_disk::set::{KeyStream, Matched, Merge, SliceStream, Sorter, write_all};
use fathom_disk::storage::{Fault, FaultyStorage, FileKind, Volume};
use fathom_disk::value::{Join, ValueWidth, Values};
use support::{Dice, random_set, volumes};

const TAG: Tag = *b"a tag of 16 byte";
const JOINS: [Join; 5] = [Join::Sum, Join::Max, Join::Min, Join::Or, Join::SumAndBit];

/// The judge.
type Map = BTreeMap<Vec<u64>, u64>;

/// What two values should become, in plain words.
fn plain_join(join: Join, bits: u32, left: u64, right: u64) -> u64 {
    let greatest = (1u128 << bits) - 1;
    match join {
        Join::Sum => (u128::from(left) + u128::from(right)).min(greatest) as u64,
        Join::Max if left > right => left,
        Join::Max => right,
        Join::Min if left < right => left,
        Join::Min => right,
        Join::Or => left | right,
        Join::SumAndBit => {
            let count = (u128::from(left / 2) + u128::from(right / 2)).min(greatest / 2) as u64;
            2 * count + u64::from(left % 2 == 1 || right % 2 == 1)
        }
    }
}

fn add(map: &mut Map, join: Join, bits: u32, key: &[u64], value: u64) {
    let joined = map.get(key).map_or(value, |&there| plain_join(join, bits, there, value));
    map.insert(key.to_vec(), joined);
}

fn width(bits: u32) -> KeyWidth {
    KeyWidth::new(bits).unwrap()
}

fn values(bits: u32, join: Join) -> Values {
    Values { width: ValueWidth::new(bits).unwrap(), join }
}

fn keys_of(map: &Map) -> Vec<u64> {
    map.keys().flatten().copied().collect()
}

fn values_of(map: &Map) -> Vec<u64> {
    map.values().copied().collect()
}

/// A value of at most so many bits, its high bits often zero.
fn random_value(dice: &mut Dice, bits: u32) -> u64 {
    let live = 1 + dice.below(u64::from(bits)) as u32;
    dice.next() >> (64 - live)
}

fn random_map(dice: &mut Dice, bits: u32, value_bits: u32, count: usize) -> Map {
    let keys = random_set(dice, bits, count);
    keys.into_iter().map(|key| (key, random_value(dice, value_bits))).collect()
}

/// A stream to its end, as a map; its chunks must ascend.
fn drain(stream: &mut impl KeyStream) -> Result<Map, DiskError> {
    let mut map = Map::new();
    while stream.advance()? {
        let keys = stream.keys().chunks(stream.words());
        assert_eq!(keys.len(), stream.values().len());
        for (key, &value) in keys.zip(stream.values()) {
            assert!(map.last_key_value().is_none_or(|(last, _)| &last[..] < key), "keys ascend");
            map.insert(key.to_vec(), value);
        }
    }
    assert!(stream.keys().is_empty() && stream.values().is_empty());
    assert!(!stream.advance()?, "the end stays the end");
    Ok(map)
}

fn write(volume: &Volume, budget: &Budget, config: &RunConfig, map: &Map) -> Result<(), DiskError> {
    let mut writer = RunWriter::new(volume, budget, "run", config)?;
    let words = config.width.words();
    // In pieces that have nothing to do with blocks.
    for (keys, values) in keys_of(map).chunks(words * 7).zip(values_of(map).chunks(7)) {
        writer.push_with(keys, values)?;
    }
    writer.finish(true).map(drop)
}

fn open(volume: &Volume, budget: &Budget, bits: u32, value_bits: u32) -> Result<Run, DiskError> {
    let widths = (width(bits), ValueWidth::new(value_bits).unwrap());
    Run::open_with_values(volume, budget, "run", widths, TAG)
}

fn read(volume: &Volume, budget: &Budget, bits: u32, value_bits: u32) -> Result<Map, DiskError> {
    let run = open(volume, budget, bits, value_bits)?;
    drain(&mut Scan::new(&run, budget, 64)?)
}

#[test]
fn every_merge_of_up_to_three_small_streams_joins_as_the_judge_does() {
    let budget = Budget::new(4096);
    // Each of three keys is absent or has one of two values.
    let maps: Vec<Vec<(u64, u64)>> = (0..27u32)
        .map(|code| {
            let digits = [code % 3, code / 3 % 3, code / 9];
            (0..3)
                .zip(digits)
                .filter(|(_, digit)| *digit > 0)
                .map(|(key, digit)| (key, digit.into()))
                .collect()
        })
        .collect();
    let flats: Vec<(Vec<u64>, Vec<u64>)> = maps.iter().map(|map| map.iter().copied().unzip()).collect();
    for join in JOINS {
        for (first, second, third) in triples(maps.len()) {
            let mut model = Map::new();
            for &(key, value) in [first, second, third].iter().flat_map(|&index| &maps[index]) {
                add(&mut model, join, 2, &[key], value);
            }
            for chunk in [1, 2] {
                let streams = [first, second, third].map(|index| {
                    let (keys, values) = &flats[index];
                    SliceStream::with_values(1, keys, values)
                });
                let mut merge = Merge::joining(&budget, 1, streams.to_vec(), chunk, values(2, join)).unwrap();
                assert_eq!(drain(&mut merge).unwrap(), model, "{join:?}: {first} {second} {third}");
            }
        }
    }
    assert_eq!(budget.used(), 0);
}

fn triples(count: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..count * count * count).map(move |code| (code % count, code / count % count, code / count / count))
}

#[test]
fn runs_give_their_values_back_on_every_storage_width_and_budget() {
    let directory = tempfile::tempdir().unwrap();
    for (number, (kind, volume)) in volumes(directory.path()).into_iter().enumerate() {
        for round in 0..60 {
            let mut dice = Dice::new(number as u64 * 1000 + round);
            let bits = 1 + dice.below(200) as u32;
            let value_bits = 1 + dice.below(64) as u32;
            let count = [0, 1, 2, 40, 700][dice.below(5) as usize];
            let map = random_map(&mut dice, bits, value_bits, count);
            let about = format!("{kind}, round {round}: {bits} and {value_bits} bits, {count} keys");
            let budget = Budget::new(4096);
            let tiny =
                RunConfig::tiny(width(bits), TAG, 64).with_values(ValueWidth::new(value_bits).unwrap());
            write(&volume, &budget, &tiny, &map).unwrap();
            assert_eq!(read(&volume, &budget, bits, value_bits).unwrap(), map, "{about}");
            check_look_up(&volume, &budget, &map, (bits, value_bits), &about);
            assert_eq!(budget.used(), 0, "{about}");
            volume.remove("run").unwrap();
        }
    }
}

/// Beside ascending keys, in pieces of any size, a sweep gives the values of those that are there, whatever the codec.
#[test]
fn a_sweep_gives_the_values_of_the_keys_that_are_there() {
    let volume = Volume::in_memory(512);
    for round in 0..120 {
        let mut dice = Dice::new(0x5eeb + round);
        let bits = [7, 60, 64, 65, 100, 128, 150][dice.below(7) as usize];
        let value_bits = 1 + dice.below(64) as u32;
        let count = [0, 1, 40, 900, 4000][dice.below(5) as usize];
        let map = random_map(&mut dice, bits, value_bits, count);
        let values = ValueWidth::new(value_bits).unwrap();
        let configs = [RunConfig::tiny(width(bits), TAG, 64), RunConfig::live(width(bits), TAG)];
        for config in configs.map(|config| config.with_values(values)) {
            let budget = Budget::unlimited();
            write(&volume, &budget, &config, &map).unwrap();
            let run = open(&volume, &budget, bits, value_bits).unwrap();
            let mut sought: Vec<Vec<u64>> = map.keys().cloned().collect();
            sought.extend(random_set(&mut dice, bits, 100));
            sought.sort();
            sought.dedup();
            sought.retain(|_| dice.below(3) > 0);
            let mut sweep = Sweep::with_values(&run, &budget, 64).unwrap();
            while !sought.is_empty() {
                let later = sought.split_off(sought.len().min(1 + dice.below(300) as usize));
                let mut found = vec![None; sought.len()];
                sweep.look_up(&sought.concat(), &mut found).unwrap();
                let expected: Vec<Option<u64>> = sought.iter().map(|key| map.get(key).copied()).collect();
                assert_eq!(found, expected, "round {round}: {bits} and {value_bits} bits");
                sought = later;
            }
            drop(sweep);
            volume.remove("run").unwrap();
        }
    }
}

/// Whoever asks a run with values which keys are there is not troubled by them.
fn check_look_up(volume: &Volume, budget: &Budget, map: &Map, (bits, value_bits): (u32, u32), about: &str) {
    let run = open(volume, budget, bits, value_bits).unwrap();
    let mut prober = Prober::new(budget, width(bits), ProbeConfig::within(1024)).unwrap();
    let mut sought = map.clone();
    for key in map.keys() {
        let mut near = key.clone();
        *near.last_mut().unwrap() ^= 1;
        sought.entry(near).or_insert(0);
    }
    let mut found = vec![false; sought.len()];
    prober.look_up(&[&run], &keys_of(&sought), &mut found).unwrap();
    for (key, found) in sought.keys().zip(found) {
        assert_eq!(found, map.contains_key(key), "{about}: key {key:x?}");
    }
}

#[test]
fn every_codec_and_size_of_block_keeps_values_beside_their_keys() {
    let (volume, budget) = (Volume::in_memory(512), Budget::unlimited());
    for (round, codec) in Codec::ALL.into_iter().enumerate() {
        let mut dice = Dice::new(round as u64);
        for (bits, value_bits) in [(30, 5), (64, 64), (100, 1), (190, 40)] {
            // Blocks of 8192 keys in token code are decoded in parts.
            for (keys_per_block, count) in [(1, 200), (100, 3000), (8192, 5000)] {
                let map = random_map(&mut dice, bits, value_bits, count);
                let codecs = vec![codec].leak();
                let config = RunConfig { keys_per_block, codecs, ..RunConfig::live(width(bits), TAG) };
                let config = config.with_values(ValueWidth::new(value_bits).unwrap());
                write(&volume, &budget, &config, &map).unwrap();
                let about = format!("{codec:?}, {bits} and {value_bits} bits, blocks of {keys_per_block}");
                assert_eq!(read(&volume, &budget, bits, value_bits).unwrap(), map, "{about}");
                check_look_up(&volume, &budget, &map, (bits, value_bits), &about);
                volume.remove("run").unwrap();
            }
        }
    }
}

#[test]
fn sorts_spill_merge_in_passes_and_join_as_the_judge_does() {
    let directory = tempfile::tempdir().unwrap();
    for (number, (kind, volume)) in volumes(directory.path()).into_iter().enumerate() {
        for round in 0..40 {
            let mut dice = Dice::new(number as u64 * 100 + round);
            let bits = 1 + dice.below(200) as u32;
            let value_bits = 1 + dice.below(64) as u32;
            let join = JOINS[dice.below(4) as usize];
            let bytes = [4096, 4096, 8192, 64 << 10][dice.below(4) as usize] * bits.div_ceil(128) as usize;
            let about =
                format!("{kind}, round {round}: {bits} and {value_bits} bits, {join:?}, {bytes} bytes");
            let budget = Budget::new(bytes);
            let kinds = (width(bits), values(value_bits, join));
            let mut sorter = Sorter::joining(&volume, &budget, "sort", kinds, TAG, bytes).unwrap();
            let mut model = Map::new();
            // The same keys come again and again: within a buffer, and across runs.
            let common = random_set(&mut dice, bits, 60);
            for _ in 0..dice.below(40) {
                let mut keys = random_set(&mut dice, bits, 30);
                keys.extend(common.iter().filter(|_| dice.below(3) == 0).cloned());
                let pairs: Vec<(Vec<u64>, u64)> =
                    keys.into_iter().map(|key| (key, random_value(&mut dice, value_bits))).collect();
                let flat: Vec<u64> = pairs.iter().rev().flat_map(|(key, _)| key.clone()).collect();
                let values: Vec<u64> = pairs.iter().rev().map(|&(_, value)| value).collect();
                sorter.push_with(&flat, &values).unwrap();
                for (key, value) in &pairs {
                    add(&mut model, join, value_bits, key, *value);
                }
            }
            let sorted = sorter.finish().unwrap();
            for _ in 0..2 {
                assert_eq!(drain(&mut sorted.stream().unwrap()).unwrap(), model, "{about}");
            }
            sorted.remove().unwrap();
            assert_eq!((budget.used(), volume.list().unwrap().len()), (0, 0), "{about}");
        }
    }
}

#[test]
fn a_sort_with_values_is_taken_up_with_the_runs_that_were_kept() {
    for seed in 0..60 {
        let (mut dice, volume, budget) = (Dice::new(seed), Volume::in_memory(64), Budget::new(8192));
        let join = JOINS[dice.below(4) as usize];
        let kinds = (width(12), values(16, join));
        let begin = || Sorter::joining(&volume, &budget, "sort", kinds, TAG, 4096).unwrap();
        let mut model = Map::new();
        let mut kept: Vec<String> = Vec::new();
        for _ in 0..1 + dice.below(6) {
            let mut sorter = begin().resume(kept.clone());
            let map = random_map(&mut dice, 12, 16, 300);
            sorter.push_with(&keys_of(&map), &values_of(&map)).unwrap();
            kept = sorter.keep().unwrap().to_vec();
            map.iter().for_each(|(key, &value)| add(&mut model, join, 16, key, value));
            // What comes after is lost with its files.
            let lost = random_map(&mut dice, 12, 16, 300);
            sorter.push_with(&keys_of(&lost), &values_of(&lost)).unwrap();
            drop(sorter);
            for name in volume.list().unwrap().iter().filter(|name| !kept.contains(name)) {
                volume.remove(name).unwrap();
            }
        }
        let sorted = begin().resume(kept).finish().unwrap();
        assert_eq!(drain(&mut sorted.stream().unwrap()).unwrap(), model, "seed {seed}");
    }
}

#[test]
fn a_look_up_beside_gives_each_key_its_value_and_keeps_its_own() {
    for seed in 0..200 {
        let (mut dice, volume, budget) = (Dice::new(seed), Volume::in_memory(64), Budget::new(32 << 10));
        let bits = 1 + dice.below(150) as u32;
        let old = random_map(&mut dice, bits, 20, 300);
        let mut sent = random_map(&mut dice, bits, 9, 100);
        for key in old.keys().filter(|_| dice.below(3) == 0) {
            sent.insert(key.clone(), random_value(&mut Dice::new(seed), 9));
        }
        let config = RunConfig::tiny(width(bits), TAG, 256).with_values(ValueWidth::new(20).unwrap());
        write(&volume, &budget, &config, &old).unwrap();
        let run = open(&volume, &budget, bits, 20).unwrap();
        let (keys, values) = (keys_of(&sent), values_of(&sent));
        let other = SliceStream::with_values(width(bits).words(), &keys, &values);
        let scan = Scan::new(&run, &budget, 256).unwrap();
        let mut matched = Matched::new(&budget, scan, other).unwrap();
        let mut there = Vec::new();
        while matched.advance().unwrap() {
            let keys = matched.keys().chunks(matched.words());
            let both = matched.values().iter().zip(matched.found());
            there.extend(keys.zip(both).map(|(key, (&value, &found))| (key.to_vec(), value, found)));
        }
        let expected: Vec<_> =
            old.iter().map(|(key, &value)| (key.clone(), value, sent.get(key).copied())).collect();
        assert_eq!(there, expected, "seed {seed}");
    }
}

#[test]
fn every_flipped_bit_is_noticed_with_a_typed_error() {
    for (bits, value_bits, codec) in [(20, 3, Codec::Gap), (70, 64, Codec::Gap), (20, 9, Codec::TokenLz4)] {
        let (volume, budget) = (Volume::in_memory(64), Budget::unlimited());
        let map = random_map(&mut Dice::new(4), bits, value_bits, 60);
        let codecs = vec![codec].leak();
        let config = RunConfig { codecs, ..RunConfig::tiny(width(bits), TAG, 64) };
        write(&volume, &budget, &config.with_values(ValueWidth::new(value_bits).unwrap()), &map).unwrap();
        let file = volume.open("run", FileKind::RUN).unwrap();
        for bit in 0..file.size().unwrap() * 8 {
            let mut byte = [0];
            file.read_exact(bit / 8, &mut byte).unwrap();
            file.write(bit / 8, &[byte[0] ^ 1 << (bit % 8)]).unwrap();
            let outcome = read(&volume, &budget, bits, value_bits);
            let typed = matches!(outcome, Err(DiskError::Corrupt { .. } | DiskError::Mismatch { .. }));
            assert!(typed, "bit {bit}: {outcome:?}");
            file.write(bit / 8, &byte).unwrap();
        }
        assert_eq!(read(&volume, &budget, bits, value_bits).unwrap(), map);
    }
}

#[test]
fn runs_with_values_and_runs_without_are_not_taken_for_each_other() {
    let (volume, budget) = (Volume::in_memory(64), Budget::unlimited());
    let map = random_map(&mut Dice::new(1), 20, 7, 50);
    let config = RunConfig::tiny(width(20), TAG, 64);
    write(&volume, &budget, &config.clone().with_values(ValueWidth::new(7).unwrap()), &map).unwrap();
    let error = Run::open(&volume, &budget, "run", width(20), TAG).unwrap_err();
    assert!(error.to_string().contains("values of 7 bits beside the keys, expected 0"), "{error}");
    let error = open(&volume, &budget, 20, 8).unwrap_err();
    assert!(error.to_string().contains("values of 7 bits beside the keys, expected 8"), "{error}");
    volume.remove("run").unwrap();
    let mut writer = RunWriter::new(&volume, &budget, "run", &config).unwrap();
    write_all(&mut SliceStream::new(1, &keys_of(&map)), &mut writer).unwrap();
    writer.finish(true).unwrap();
    let error = open(&volume, &budget, 20, 7).unwrap_err();
    assert!(error.to_string().contains("values of 0 bits beside the keys, expected 7"), "{error}");
}

#[test]
fn a_fault_at_any_operation_is_an_error_or_harmless() {
    let map = random_map(&mut Dice::new(9), 40, 12, 300);
    let kinds = (width(40), values(12, Join::Sum));
    for fault in [Fault::Fail, Fault::Short, Fault::Tear, Fault::Full, Fault::Flip] {
        for operation in 0.. {
            let storage = FaultyStorage::new(64, operation);
            let (volume, budget) = (Volume::new(storage.clone()), Budget::new(4096));
            storage.strike(operation, fault);
            let sort = || -> Result<Map, DiskError> {
                let mut sorter = Sorter::joining(&volume, &budget, "sort", kinds, TAG, 4096)?;
                sorter.push_with(&keys_of(&map), &values_of(&map))?;
                let sorted = sorter.finish()?;
                drain(&mut sorted.stream()?)
            };
            match sort() {
                Ok(there) => assert_eq!(there, map, "{fault:?} at operation {operation}"),
                Err(_) => assert!(storage.struck()),
            }
            assert_eq!(budget.used(), 0, "{fault:?} at operation {operation}");
            if !storage.struck() {
                break;
            }
        }
    }
}
