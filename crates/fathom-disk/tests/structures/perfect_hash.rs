//! A perfect hash numbers every key of a set once, from 0 to N - 1: in RAM, in part, and on disk.

use crate::random::{Random, words_of};
use fathom_disk::budget::Budget;
use fathom_disk::perfect_hash::{CachedPerfectHash, PerfectHash, PerfectHashBuilder};
use fathom_disk::storage::{FaultyStorage, FileKind, FileStorage, Role, Volume};
use std::collections::BTreeSet;

fn build(volume: &Volume, keys: &BTreeSet<Vec<u64>>, words: usize, per_shard: usize, budget: &Budget) {
    let mut builder = PerfectHashBuilder::new(volume, "phf", words, per_shard, budget).unwrap();
    keys.iter().for_each(|key| builder.push(key).unwrap());
    assert_eq!(builder.finish().unwrap(), keys.len() as u64);
}

fn assert_perfect(numbers: &[u64], context: &str) {
    let mut seen = vec![false; numbers.len()];
    for &number in numbers {
        assert!(number < numbers.len() as u64, "{context}: {number} of {}", numbers.len());
        assert!(!std::mem::replace(&mut seen[number as usize], true), "{context}: {number} twice");
    }
}

fn check_all_ways(volume: &Volume, keys: &BTreeSet<Vec<u64>>, words: usize, context: &str) {
    let budget = Budget::new(4 << 20);
    let in_ram = PerfectHash::open(volume, "phf", words, &budget).unwrap();
    let numbers: Vec<u64> = keys.iter().map(|key| in_ram.index(key)).collect();
    assert_perfect(&numbers, context);
    let flat: Vec<u64> = keys.iter().flatten().copied().collect();
    let mut batch = Vec::new();
    in_ram.index_batch(&flat, &mut batch);
    assert_eq!(batch, numbers, "{context}");
    for slots in [0, 1, 3, 1000] {
        let mut cached = CachedPerfectHash::open(volume, "phf", words, slots, &budget).unwrap();
        let numbers_on_disk: Vec<u64> = keys.iter().map(|key| cached.index(key).unwrap()).collect();
        assert_eq!(numbers_on_disk, numbers, "{context}, {slots} slots");
        assert_eq!(cached.len(), keys.len() as u64);
    }
}

#[test]
fn every_small_set_is_numbered() {
    for count in 1..=80u64 {
        for per_shard in [1, 2, 7, 1000] {
            let keys = (0..count).map(|i| vec![i * i * 1000 + 1]).collect();
            let volume = Volume::in_memory(64);
            build(&volume, &keys, 1, per_shard, &Budget::new(128 << 10));
            check_all_ways(&volume, &keys, 1, &format!("{count} keys, shards of {per_shard}"));
        }
    }
    let volume = Volume::in_memory(64);
    build(&volume, &BTreeSet::new(), 1, 5, &Budget::new(4096));
    assert!(PerfectHash::open(&volume, "phf", 1, &Budget::new(4096)).unwrap().is_empty());
}

#[test]
fn keys_of_all_widths_on_every_storage() {
    for bits in [1, 8, 63, 64, 65, 127, 128, 129, 1000] {
        let directory = tempfile::tempdir().unwrap();
        let file = Volume::new(FileStorage::auto(directory.path()).unwrap());
        for volume in [Volume::in_memory(64), Volume::new(FaultyStorage::new(64, 1)), file] {
            let mut random = Random::new(u64::from(bits));
            let keys: BTreeSet<Vec<u64>> = (0..3000).map(|_| random.key(bits, 14)).collect();
            build(&volume, &keys, words_of(bits), 500, &Budget::new(256 << 10));
            check_all_ways(&volume, &keys, words_of(bits), &format!("{bits} bits, {}", volume.describe()));
        }
    }
}

#[test]
fn it_is_built_within_4_kib() {
    let budget = Budget::new(4096);
    let keys: BTreeSet<Vec<u64>> = (0..300u64).map(|i| vec![i * 977]).collect();
    let volume = Volume::in_memory(64);
    build(&volume, &keys, 1, PerfectHashBuilder::keys_per_shard_within(3000, 1), &budget);
    assert!(budget.peak() <= 4096 && budget.used() == 0);
    let mut cached = CachedPerfectHash::open(&volume, "phf", 1, 1, &budget).unwrap();
    let numbers: Vec<u64> = keys.iter().map(|key| cached.index(key).unwrap()).collect();
    assert_perfect(&numbers, "4 KiB");
}

#[test]
fn a_million_keys_take_less_than_three_bits_each() {
    let volume = Volume::in_memory(4096);
    let keys: BTreeSet<Vec<u64>> = (0..1_000_000u64).map(|i| vec![i / 1000, i % 1000 * 77]).collect();
    build(&volume, &keys, 2, 65_536, &Budget::new(16 << 20));
    let in_ram = PerfectHash::open(&volume, "phf", 2, &Budget::unlimited()).unwrap();
    let numbers: Vec<u64> = keys.iter().map(|key| in_ram.index(key)).collect();
    assert_perfect(&numbers, "a million keys");
    let bits = in_ram.bytes() as f64 * 8.0 / 1e6;
    assert!(bits < 3.0, "{bits} bits a key");
}

#[test]
fn every_flipped_bit_is_noticed() {
    let volume = Volume::in_memory(64);
    let keys: BTreeSet<Vec<u64>> = (0..40u64).map(|i| vec![i * 3]).collect();
    build(&volume, &keys, 1, 15, &Budget::new(8192));
    let file = volume.open("phf", FileKind::new("test", Role::Bulk)).unwrap();
    for bit in 0..8 * file.size().unwrap() {
        let mut byte = [0];
        file.read_exact(bit / 8, &mut byte).unwrap();
        file.write(bit / 8, &[byte[0] ^ (1 << (bit % 8))]).unwrap();
        assert!(
            PerfectHash::open(&volume, "phf", 1, &Budget::new(8192)).is_err(),
            "bit {bit} was not noticed"
        );
        file.write(bit / 8, &byte).unwrap();
    }
}
