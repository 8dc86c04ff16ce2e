//! Priority queues against `BTreeSet`: the least item each time, each item once.

use crate::random::{Random, all_sequences};
use fathom_disk::budget::Budget;
use fathom_disk::priority_queue::{ArrayHeap, PriorityQueue, RadixHeap};
use fathom_disk::storage::{FaultyStorage, FileStorage, Volume};
use std::collections::BTreeSet;

type Model = BTreeSet<(u64, Vec<u64>)>;

fn queues(
    volume: &Volume,
    words: usize,
    bytes: usize,
    budget: &Budget,
) -> Vec<(&'static str, Box<dyn PriorityQueue>)> {
    let array = ArrayHeap::new(volume, "array", words, 64, bytes, budget).unwrap();
    let narrow = RadixHeap::new(volume, "narrow", words, 64, bytes, 1, budget).unwrap();
    let wide = RadixHeap::new(volume, "wide", words, 64, bytes, 8, budget).unwrap();
    vec![("array", Box::new(array)), ("radix 1", Box::new(narrow)), ("radix 8", Box::new(wide))]
}

fn assert_pops(queue: &mut dyn PriorityQueue, model: &mut Model, words: usize, context: &str) -> Option<u64> {
    let mut record = vec![0; words];
    let popped = queue.pop(&mut record).unwrap().map(|priority| (priority, record));
    assert_eq!(popped, model.pop_first(), "{context}");
    popped.map(|(priority, _)| priority)
}

#[test]
fn all_short_histories() {
    // 0 pops; the others push one of four items, never below what was popped last.
    for history in all_sequences(5, 6) {
        let volume = Volume::in_memory(64);
        for (name, mut queue) in queues(&volume, 1, 0, &Budget::new(16 << 10)) {
            let mut model = Model::new();
            let mut now = 0;
            for &operation in &history {
                if operation == 0 {
                    now = assert_pops(&mut *queue, &mut model, 1, &format!("{name}, {history:?}"))
                        .unwrap_or(now);
                } else {
                    let (priority, value) = (now + (operation - 1) / 2 * 300, (operation - 1) % 2);
                    queue.push(priority, &[value]).unwrap();
                    model.insert((priority, vec![value]));
                }
            }
            while !model.is_empty() {
                assert_pops(&mut *queue, &mut model, 1, &format!("{name}, {history:?}, draining"));
            }
            assert!(queue.is_empty(), "{name}, {history:?}");
        }
    }
}

#[test]
fn long_histories_on_every_storage() {
    let directory = tempfile::tempdir().unwrap();
    let file = Volume::new(FileStorage::auto(directory.path()).unwrap());
    let volumes = [
        ("memory", Volume::in_memory(64)),
        ("faulty", Volume::new(FaultyStorage::new(64, 3))),
        ("file", file),
    ];
    for (storage, volume) in volumes {
        for (words, bytes, span) in [(1, 0, 3), (2, 1024, 1000), (3, 4096, 1 << 40), (1, 200_000, 100_000)] {
            let budget = Budget::new(512 << 10);
            for (name, mut queue) in queues(&volume, words, bytes, &budget) {
                let steps = if storage == "file" { 2000 } else { 12_000 };
                let mut random = Random::new(words as u64 + span);
                let mut model = Model::new();
                let mut now = 0;
                let context = format!("{storage}, {name}, {words} words, {bytes} bytes, span {span}");
                for step in 0..steps {
                    if random.below(100) < if step / 1500 % 2 == 0 { 70 } else { 30 } {
                        let priority = now + random.below(span);
                        let record = vec![random.below(50); words];
                        queue.push(priority, &record).unwrap();
                        model.insert((priority, record));
                    } else {
                        now = assert_pops(&mut *queue, &mut model, words, &context).unwrap_or(now);
                    }
                }
                while !model.is_empty() {
                    assert_pops(&mut *queue, &mut model, words, &context);
                }
                assert!(queue.is_empty(), "{context}");
                drop(queue);
                assert!(volume.list().unwrap().is_empty(), "{context}: files are left");
            }
            assert_eq!(budget.used(), 0);
        }
    }
}

#[test]
fn an_array_heap_takes_priorities_that_go_back() {
    for bytes in [0, 500, 5000] {
        let volume = Volume::in_memory(64);
        let mut queue = ArrayHeap::new(&volume, "array", 1, 64, bytes, &Budget::new(256 << 10)).unwrap();
        let mut random = Random::new(bytes as u64);
        let mut model = Model::new();
        for _ in 0..20_000 {
            if random.below(5) < 3 {
                let (priority, value) = (random.below(5000), random.below(3));
                queue.push(priority, &[value]).unwrap();
                model.insert((priority, vec![value]));
            } else {
                assert_pops(&mut queue, &mut model, 1, &format!("{bytes} bytes"));
            }
        }
    }
}

#[test]
fn a_queue_works_within_4_kib() {
    let budget = Budget::new(4096);
    let volume = Volume::in_memory(64);
    let mut queue = ArrayHeap::new(&volume, "array", 1, 64, 1024, &budget).unwrap();
    let mut model = Model::new();
    let mut random = Random::new(1);
    for _ in 0..1000 {
        let priority = random.below(1 << 30);
        queue.push(priority, &[7]).unwrap();
        model.insert((priority, vec![7]));
    }
    while !model.is_empty() {
        assert_pops(&mut queue, &mut model, 1, "4 KiB");
    }
    assert!(budget.peak() <= 4096);
}
