//! Filters never forget: every key inserted is a "maybe", whatever the size; and "maybe" is rarely wrong when they fit.

use crate::random::{Random, words_of};
use fathom_disk::budget::Budget;
use fathom_disk::filter::{Bloom, BloomChain, Filter, Fuse, FuseSegments, FuseSegmentsBuilder, Insertable};
use fathom_disk::hash::hash_key;
use fathom_disk::storage::{FileKind, Role, Volume};
use std::collections::BTreeSet;

const KIND: FileKind = FileKind::new("filter", Role::Index);

/// The keys of the large tests: distinct, cheap, and not in order.
fn large_keys(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 13)
}

fn large_count() -> u64 {
    if std::env::var("FATHOM_LONG").is_ok() { 100_000_000 } else { 10_000_000 }
}

#[test]
fn a_bloom_filter_of_any_size_never_forgets() {
    for bits in [1, 20, 64, 65, 128, 300] {
        let words = words_of(bits);
        for blocks in [0, 1, 2, 7, 1000] {
            let mut random = Random::new(u64::from(bits) * 10_000 + blocks as u64);
            let mut bloom = Bloom::new(blocks, 1000, &Budget::new(1 << 20)).unwrap();
            let keys: Vec<u64> = (0..2000).flat_map(|_| random.key(bits, 30)).collect();
            bloom.insert_batch(&keys[..1000 * words], words);
            keys[1000 * words..].chunks(words).for_each(|key| bloom.insert(hash_key(key)));
            let mut maybe = Vec::new();
            bloom.query_batch(&keys, words, &mut maybe);
            assert_eq!(maybe, (0..2000).collect::<Vec<u32>>(), "{bits} bits, {blocks} blocks");
        }
    }
}

#[test]
fn a_growing_chain_never_forgets() {
    for limit in [200, 4096, 1 << 20] {
        let budget = Budget::new(limit);
        let mut chain = BloomChain::new(8, &budget);
        for (i, key) in large_keys(50_000).enumerate() {
            chain.insert(hash_key(&[key])).unwrap();
            assert!(chain.may_contain(hash_key(&[key])), "key {i} with {limit} bytes");
        }
        assert!(large_keys(50_000).all(|key| chain.may_contain(hash_key(&[key]))), "{limit} bytes");
        assert!(budget.peak() <= limit);
    }
    assert!(BloomChain::new(8, &Budget::new(10)).insert(1).is_err());
}

/// Whoever only asks does not see which filter it is.
fn check_contract(filter: &dyn Filter, keys: &[u64], words: usize, about: &str) {
    let mut maybe = vec![77];
    filter.query_batch(keys, words, &mut maybe);
    let count = (keys.len() / words) as u32;
    assert_eq!(maybe[1..], (0..count).collect::<Vec<u32>>(), "{about}: nothing is forgotten, in order");
    assert!(keys.chunks(words).all(|key| filter.may_contain_key(key)), "{about}");
    // One by one and in batches, strangers get the same answers.
    let strangers: Vec<u64> = keys.iter().map(|word| word ^ 0x5555).collect();
    maybe.clear();
    filter.query_batch(&strangers, words, &mut maybe);
    let alone: Vec<u32> = (0..count)
        .filter(|&index| filter.may_contain_key(&strangers[index as usize * words..][..words]))
        .collect();
    assert_eq!(maybe, alone, "{about}");
}

#[test]
fn every_filter_keeps_the_contract() {
    for (bits, count) in [(30, 1), (64, 200), (100, 3000), (200, 1000)] {
        let (words, budget) = (words_of(bits), Budget::new(1 << 20));
        let mut random = Random::new(u64::from(bits));
        let keys: BTreeSet<Vec<u64>> = (0..count).map(|_| random.key(bits, 30)).collect();
        let flat: Vec<u64> = keys.iter().flatten().copied().collect();
        let mut growing: [(&str, Box<dyn Insertable>); 3] = [
            ("no blocks", Box::new(Bloom::new(0, 10, &budget).unwrap())),
            ("Bloom", Box::new(Bloom::new(50, 1000, &budget).unwrap())),
            ("chain", Box::new(BloomChain::new(8, &budget))),
        ];
        for (about, filter) in &mut growing {
            filter.insert_batch(&flat, words).unwrap();
            check_contract(&**filter, &flat, words, about);
        }
        let mut builder = FuseSegmentsBuilder::new(words, 4096, &budget).unwrap();
        keys.iter().for_each(|key| builder.push(key).unwrap());
        let segments = builder.finish().unwrap();
        check_contract(&segments, &flat, words, "segments");
        let charged = growing.iter().map(|(_, filter)| filter.bytes()).sum::<usize>();
        assert_eq!(charged + Filter::bytes(&segments), budget.used());
    }
}

#[test]
fn every_small_fuse_filter_never_forgets() {
    for count in (0..200).chain([1000, 4095, 4096, 70_000]) {
        let mut hashes: Vec<u64> = large_keys(count).map(|key| hash_key(&[key])).collect();
        // Repeats are legal.
        hashes.extend_from_within(..hashes.len() / 3);
        let fuse = Fuse::build(&mut hashes, &Budget::new(8 << 20)).unwrap();
        assert!(large_keys(count).all(|key| fuse.may_contain(hash_key(&[key]))), "{count} keys");
    }
}

#[test]
fn segments_built_within_a_budget_never_forget() {
    for bits in [40, 64, 100, 200] {
        for build_bytes in [0, 4 << 10, 64 << 10] {
            let words = words_of(bits);
            let mut random = Random::new(u64::from(bits) + build_bytes as u64);
            let keys: BTreeSet<Vec<u64>> = (0..5000).map(|_| random.key(bits, 24)).collect();
            let budget = Budget::new(512 << 10);
            let mut builder = FuseSegmentsBuilder::new(words, build_bytes, &budget).unwrap();
            keys.iter().for_each(|key| builder.push(key).unwrap());
            let filter = builder.finish().unwrap();
            let flat: Vec<u64> = keys.iter().flatten().copied().collect();
            let mut maybe = Vec::new();
            filter.query_batch(&flat, &mut maybe);
            assert_eq!(maybe.len(), keys.len(), "{bits} bits, {build_bytes}");
            let strangers = (0..20_000).map(|_| random.key(bits, 40)).filter(|key| !keys.contains(key));
            let (mut wrong, mut asked) = (0, 0);
            for key in strangers {
                asked += 1;
                wrong += u32::from(filter.may_contain(&key));
            }
            assert!(wrong * 50 < asked, "{bits} bits, {build_bytes}: {wrong} of {asked} wrong");
            assert_reads_back(&filter, words, &keys);
        }
    }
}

fn assert_reads_back(filter: &FuseSegments, words: usize, keys: &BTreeSet<Vec<u64>>) {
    let volume = Volume::in_memory(64);
    let file = volume.create("fuse", KIND).unwrap();
    filter.write(&file, 0).unwrap();
    let budget = Budget::new(512 << 10);
    let read = FuseSegments::read(&file, 0, filter.segment_count(), words, &budget).unwrap();
    assert!(keys.iter().all(|key| read.may_contain(key)));
}

#[test]
fn wrong_maybes_are_as_rare_as_the_bits_allow() {
    for (bits_per_key, percent_max) in [(4, 25.0), (6, 10.0), (8, 4.0), (10, 2.0), (16, 0.4)] {
        let blocks = 100_000 * bits_per_key / 512;
        let mut bloom = Bloom::new(blocks, 100_000, &Budget::unlimited()).unwrap();
        large_keys(100_000).for_each(|key| bloom.insert(hash_key(&[key])));
        let wrong = (0..100_000u64).filter(|&i| bloom.may_contain(hash_key(&[i << 52 | i]))).count();
        let percent = wrong as f64 / 1000.0;
        assert!(percent < percent_max, "{bits_per_key} bits per key: {percent} %");
    }
}

#[test]
fn every_flipped_bit_of_a_stored_filter_is_noticed() {
    let budget = Budget::unlimited();
    let mut bloom = Bloom::new(2, 10, &budget).unwrap();
    (0..10).for_each(|key| bloom.insert(hash_key(&[key])));
    let mut hashes: Vec<u64> = (0..20).map(|key| hash_key(&[key])).collect();
    let fuse = Fuse::build(&mut hashes, &budget).unwrap();
    for which in ["bloom", "fuse"] {
        let volume = Volume::in_memory(64);
        let file = volume.create("filter", KIND).unwrap();
        let end = if which == "bloom" { bloom.write(&file, 3) } else { fuse.write(&file, 3) }.unwrap();
        let read = |file: &_| match which {
            "bloom" => Bloom::read(file, 3, &budget).map(|(_, after)| after),
            _ => Fuse::read(file, 3, &budget).map(|(_, after)| after),
        };
        assert_eq!(read(&file).unwrap(), end);
        for bit in 8 * 3..8 * end {
            let mut byte = [0];
            file.read_exact(bit / 8, &mut byte).unwrap();
            file.write(bit / 8, &[byte[0] ^ (1 << (bit % 8))]).unwrap();
            assert!(read(&file).is_err(), "{which}: bit {bit} was not noticed");
            file.write(bit / 8, &byte).unwrap();
        }
        file.resize(end - 1).unwrap();
        assert!(read(&file).is_err(), "{which}: a missing byte was not noticed");
    }
}

/// 10^7 keys, 10^8 with FATHOM_LONG=1: a Bloom filter of one bit in five keys to ten bits a key, a chain, and segments.
#[test]
fn many_keys_are_never_forgotten() {
    let count = large_count();
    let budget = Budget::unlimited();
    let mut blooms: Vec<Bloom> = [count / 2560, count * 10 / 512]
        .map(|blocks| Bloom::new(blocks as usize, count, &budget).unwrap())
        .into_iter()
        .collect();
    let mut chain = BloomChain::new(6, &budget);
    for key in large_keys(count) {
        let hash = hash_key(&[key]);
        blooms.iter_mut().for_each(|bloom| bloom.insert(hash));
        chain.insert(hash).unwrap();
    }
    let mut builder = FuseSegmentsBuilder::new(1, 16 << 20, &budget).unwrap();
    let mut sorted: Vec<u64> = large_keys(count).collect();
    sorted.sort_unstable();
    sorted.iter().for_each(|&key| builder.push(&[key]).unwrap());
    drop(sorted);
    let fuse = builder.finish().unwrap();
    for key in large_keys(count) {
        let hash = hash_key(&[key]);
        assert!(blooms.iter().all(|bloom| bloom.may_contain(hash)), "a Bloom filter forgot {key}");
        assert!(chain.may_contain(hash), "a chain forgot {key}");
        assert!(fuse.may_contain(&[key]), "a fuse filter forgot {key}");
    }
}
