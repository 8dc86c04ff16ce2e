//! The exact table against `BTreeSet`: which keys are new, which are present, what iteration gives.

use crate::random::{Random, all_sequences, new_indexes, words_of};
use fathom_disk::budget::Budget;
use fathom_disk::table::{ShardedTable, Table};
use std::collections::BTreeSet;

type Build = fn(u32, &Budget) -> Table;

fn builds(bits: u32) -> Vec<(&'static str, Build)> {
    let mut all: Vec<(&'static str, Build)> = vec![
        ("new", |bits, budget| Table::new(bits, budget).unwrap()),
        ("whole", |bits, budget| Table::whole(bits, budget).unwrap()),
    ];
    if bits > 1 {
        all.push(("middle cut", |bits, budget| Table::cut(bits, bits / 2, budget).unwrap()));
        all.push(("low cut", |bits, budget| Table::cut(bits, 1, budget).unwrap()));
        all.push(("high cut", |bits, budget| Table::cut(bits, bits - 1, budget).unwrap()));
        all.push(("tree", |bits, budget| Table::tree(bits, budget).unwrap()));
    }
    all
}

fn keys_of(table: &Table) -> BTreeSet<Vec<u64>> {
    let mut keys = BTreeSet::new();
    table.for_each(|key| assert!(keys.insert(key.to_vec()), "iteration gave {key:x?} twice"));
    keys
}

fn insert(table: &mut Table, batch: &[u64]) -> Vec<u32> {
    let mut new = Vec::new();
    table.insert_batch(batch, &mut new).unwrap();
    new
}

fn present(table: &Table, batch: &[u64]) -> Vec<u32> {
    let mut indexes = Vec::new();
    table.contains_batch(batch, &mut indexes);
    indexes
}

#[test]
fn all_short_batches_of_tiny_keys() {
    for bits in 1..=3 {
        for (name, build) in builds(bits) {
            for sequence in all_sequences(1 << bits, 4) {
                for split in 0..=sequence.len() {
                    let mut table = build(bits, &Budget::new(16 << 10));
                    let mut model = BTreeSet::new();
                    for batch in [&sequence[..split], &sequence[split..]] {
                        let expected = new_indexes(&mut model, batch, 1);
                        assert_eq!(
                            insert(&mut table, batch),
                            expected,
                            "{name}, {bits} bits, {sequence:?} at {split}"
                        );
                    }
                    assert_eq!(keys_of(&table), model, "{name}, {bits} bits, {sequence:?}");
                }
            }
        }
    }
}

#[test]
fn every_key_of_every_narrow_width_fits() {
    for bits in 1..=17u32 {
        for (name, build) in builds(bits) {
            let budget = Budget::new(8 << 20);
            let mut table = build(bits, &budget);
            let keys: Vec<u64> = (0..1u64 << bits).collect();
            assert_eq!(insert(&mut table, &keys).len(), keys.len(), "{name}, {bits} bits");
            assert_eq!(insert(&mut table, &keys), [], "{name}, {bits} bits");
            assert_eq!(present(&table, &keys).len(), keys.len(), "{name}, {bits} bits");
            assert_eq!(keys_of(&table).len(), keys.len(), "{name}, {bits} bits");
            drop(table);
            assert_eq!(budget.used(), 0, "{name}, {bits} bits: memory was not given back");
        }
    }
}

#[test]
fn random_batches_of_all_widths() {
    for bits in (1..=200).chain([255, 256, 257, 1000, 1023, 1024, 1025, 3000]) {
        for (name, build) in builds(bits) {
            let seed = u64::from(bits) * 1000 + name.len() as u64;
            let mut random = Random::new(seed);
            let mut table = build(bits, &Budget::new(64 << 20));
            let mut model = BTreeSet::new();
            let words = words_of(bits);
            for round in 0..12 {
                let count = random.below(200);
                let spread = 4 + random.below(12) as u32;
                let batch: Vec<u64> = (0..count).flat_map(|_| random.key(bits, spread)).collect();
                let strangers: Vec<u64> = (0..50).flat_map(|_| random.key(bits, 20)).collect();
                let known =
                    |i: &u32| model.contains(&strangers[*i as usize * words..(*i as usize + 1) * words]);
                let expected: Vec<u32> = (0..50).filter(known).collect();
                let context = format!("{name}, {bits} bits, seed {seed}, round {round}");
                assert_eq!(present(&table, &strangers), expected, "{context}");
                assert_eq!(insert(&mut table, &batch), new_indexes(&mut model, &batch, words), "{context}");
                assert_eq!(table.len(), model.len(), "{context}");
            }
            assert_eq!(keys_of(&table), model, "{name}, {bits} bits, seed {seed}");
        }
    }
}

#[test]
fn a_full_table_says_what_was_done_and_keeps_it() {
    for bits in [20, 50, 64, 70, 100, 128, 300] {
        for (name, build) in builds(bits) {
            for budget_bytes in [4 << 10, 10 << 10, 100 << 10] {
                let budget = Budget::new(budget_bytes);
                let mut random = Random::new(u64::from(bits) + budget_bytes as u64);
                let mut table = build(bits, &budget);
                let mut model = BTreeSet::new();
                let words = words_of(bits);
                let full = loop {
                    let batch: Vec<u64> = (0..100).flat_map(|_| random.key(bits, 40)).collect();
                    let mut new = Vec::new();
                    match table.insert_batch(&batch, &mut new) {
                        Ok(()) => assert_eq!(new, new_indexes(&mut model, &batch, words)),
                        Err(full) => {
                            let done = &batch[..full.done * words];
                            assert_eq!(new, new_indexes(&mut model, done, words), "{name}, {bits} bits");
                            break full;
                        }
                    }
                    if model.len() as u64 >= 1 << bits.min(30) {
                        panic!("{name}, {bits} bits: never full");
                    }
                };
                assert!(full.to_string().contains("more bytes"), "{full}");
                assert!(budget.peak() <= budget_bytes);
                assert_eq!(keys_of(&table), model, "{name}, {bits} bits, {budget_bytes} bytes");
            }
        }
    }
}

#[test]
fn threads_insert_each_key_once() {
    for (bits, shard_bits) in [(1, 0), (1, 5), (10, 4), (50, 4), (64, 6), (72, 3), (100, 3), (200, 2)] {
        let budget = Budget::new(64 << 20);
        let table = ShardedTable::new(bits, shard_bits, &budget).unwrap();
        let words = words_of(bits);
        let per_thread: Vec<Vec<Vec<u64>>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4u64)
                .map(|thread| {
                    let table = &table;
                    scope.spawn(move || insert_all(table, bits, thread / 2))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut model = BTreeSet::new();
        for key in per_thread.iter().flatten() {
            assert!(model.insert(key.clone()), "{bits} bits: {key:x?} was new twice");
        }
        let mut expected = BTreeSet::new();
        for seed in 0..2 {
            let mut random = Random::new(seed);
            expected.extend((0..20_000).map(|_| random.key(bits, 14)));
        }
        assert_eq!(model, expected, "{bits} bits");
        assert_eq!(table.len(), model.len());
        assert_eq!(words_of(bits), words);
    }
}

/// Inserts a thread's keys by shard; gives the ones that were new.
fn insert_all(table: &ShardedTable, bits: u32, seed: u64) -> Vec<Vec<u64>> {
    let words = words_of(bits);
    let mut random = Random::new(seed);
    let mut by_shard = vec![Vec::new(); table.shard_count()];
    for _ in 0..20_000 {
        let key = random.key(bits, 14);
        let mut addressed = vec![0; words];
        table.addressing().address(&key, &mut addressed);
        by_shard[table.addressing().shard(&addressed)].extend(addressed);
    }
    let mut mine = Vec::new();
    for (shard, keys) in by_shard.iter().enumerate() {
        for batch in keys.chunks(500 * words) {
            let mut new = Vec::new();
            table.lock(shard).insert_addressed(batch, &mut new).unwrap();
            mine.extend(new.iter().map(|&i| {
                let mut key = vec![0; words];
                table.addressing().key(&batch[i as usize * words..][..words], &mut key);
                key
            }));
        }
    }
    mine
}

#[test]
fn growing_ahead_changes_nothing_but_the_room() {
    for bits in [1, 3, 8, 12, 24, 50, 64, 70, 90, 128, 200] {
        for (name, build) in builds(bits) {
            let mut random = Random::new(u64::from(bits));
            let budget = Budget::new(1 << 20);
            let mut table = build(bits, &budget);
            let mut model = BTreeSet::new();
            let (words, mut grown) = (words_of(bits), 0);
            for round in 0..300 {
                let batch: Vec<u64> = (0..20).flat_map(|_| random.key(bits, 40)).collect();
                let expected = new_indexes(&mut model, &batch, words);
                assert_eq!(insert(&mut table, &batch), expected, "{name}, {bits} bits, round {round}");
                while table.grow_ahead() {
                    grown += 1;
                }
            }
            assert_eq!(keys_of(&table), model, "{name}, {bits} bits");
            assert!(grown > 0 || bits <= 12, "{name}, {bits} bits: it never grew ahead");
        }
    }
    let budget = Budget::new(8 << 10);
    let mut table = Table::new(40, &budget).unwrap();
    let (mut random, mut kept) = (Random::new(1), 0);
    let mut new = Vec::new();
    while table.insert_batch(&random.key(40, 40), &mut new).is_ok() {
        while table.grow_ahead() {}
        kept = table.len();
    }
    assert!(kept > 0 && !table.grow_ahead(), "there is no memory for it");
    assert_eq!(keys_of(&table).len(), table.len());
}

#[test]
fn many_keys_with_repeats() {
    for bits in [24, 50, 64, 78, 120] {
        let mut random = Random::new(99);
        let mut table = Table::new(bits, &Budget::unlimited()).unwrap();
        let mut model = std::collections::HashSet::new();
        let words = words_of(bits);
        for _ in 0..600 {
            let batch: Vec<u64> = (0..1000).flat_map(|_| random.key(bits, 20)).collect();
            let keys = batch.chunks(words).enumerate();
            let expected: Vec<u32> =
                keys.filter_map(|(i, key)| model.insert(key.to_vec()).then_some(i as u32)).collect();
            assert_eq!(insert(&mut table, &batch), expected, "{bits} bits");
        }
        let mut count = 0;
        table.for_each(|key| {
            assert!(model.contains(key), "{bits} bits");
            count += 1;
        });
        assert_eq!(count, model.len(), "{bits} bits");
    }
}

/// Keys whose information lies at both ends of a wide record, so that another place to cut is worth a rebuild.
fn lopsided(random: &mut Random, bits: u32) -> Vec<u64> {
    let mut key = vec![0; words_of(bits)];
    let last = key.len() - 1;
    key[0] = random.below(700) as u64 & ((1 << (bits - 1) % 64) - 1);
    key[1] = (random.below(5) as u64) << 60;
    key[last] = random.below(60) as u64 * 77;
    key
}

#[test]
fn keys_that_are_cut_elsewhere_are_the_same_keys() {
    for bits in [150u32, 300, 777, 2000] {
        let words = words_of(bits);
        let budget = Budget::new(256 << 20);
        let mut random = Random::new(u64::from(bits));
        let mut table = Table::new(bits, &budget).unwrap();
        let mut model = BTreeSet::new();
        let mut was_rebuilt = false;
        for round in 0..60 {
            let batch: Vec<u64> = (0..2000).flat_map(|_| lopsided(&mut random, bits)).collect();
            let before = table.bytes();
            assert_eq!(insert(&mut table, &batch), new_indexes(&mut model, &batch, words), "{bits} bits");
            was_rebuilt |= table.bytes() < before;
            assert_eq!(table.len(), model.len(), "{bits} bits, round {round}");
        }
        assert!(was_rebuilt, "{bits} bits");
        assert_eq!(keys_of(&table), model, "{bits} bits");
        drop(table);
        assert_eq!(budget.used(), 0, "{bits} bits: memory was not given back");
    }
}

#[test]
fn shards_are_cut_elsewhere_together_while_threads_rest() {
    for (bits, shard_bits) in [(200u32, 0), (300, 1), (900, 3)] {
        let words = words_of(bits);
        let budget = Budget::new(256 << 20);
        let mut table = ShardedTable::new(bits, shard_bits, &budget).unwrap();
        let mut model = BTreeSet::new();
        for round in 0..30 {
            let batches: Vec<Vec<u64>> = (0..3)
                .map(|thread| {
                    let mut random = Random::new(round * 3 + thread);
                    (0..2000).flat_map(|_| lopsided(&mut random, bits)).collect()
                })
                .collect();
            let found: usize = std::thread::scope(|scope| {
                let insert_all = |batch: &Vec<u64>| insert_by_shard(&table, batch, words);
                let threads: Vec<_> =
                    batches.iter().map(|batch| scope.spawn(move || insert_all(batch))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            let before = model.len();
            model.extend(batches.iter().flat_map(|batch| batch.chunks(words).map(<[u64]>::to_vec)));
            assert_eq!(found, model.len() - before, "{bits} bits, round {round}");
            table.recut();
            assert_eq!(table.len(), model.len(), "{bits} bits, round {round}");
        }
        let mut keys = BTreeSet::new();
        for shard in 0..table.shard_count() {
            keys.extend(keys_of(&table.lock(shard)));
        }
        assert_eq!(keys, model, "{bits} bits");
    }
}

/// Inserts keys, shard by shard; says how many were new.
fn insert_by_shard(table: &ShardedTable, keys: &[u64], words: usize) -> usize {
    let addressing = table.addressing();
    let mut by_shard = vec![Vec::new(); table.shard_count()];
    for key in keys.chunks(words) {
        let mut addressed = vec![0; words];
        addressing.address(key, &mut addressed);
        by_shard[addressing.shard(&addressed)].extend(addressed);
    }
    let mut new = Vec::new();
    for (shard, keys) in by_shard.iter().enumerate() {
        table.lock(shard).insert_addressed(keys, &mut new).unwrap();
    }
    new.len()
}
