//! Priority queues against `BTreeMap`: the least bucket each time, sorted, each record once.

use std::collections::{BTreeMap, BTreeSet};

use crate::random::{Random, all_sequences};
use fathom_disk::budget::Budget;
use fathom_disk::priority_queue::{ArrayHeap, ArrayHeapConfig, PriorityQueue, RadixHeap};
use fathom_disk::storage::{FaultyStorage, FileStorage, Volume};

type Model = BTreeMap<u64, BTreeSet<Vec<u64>>>;
type Named = (&'static str, Box<dyn PriorityQueue>);

fn queues(volume: &Volume, words: usize, bytes: usize, budget: &Budget) -> Vec<Named> {
    let config = ArrayHeapConfig::within(bytes, words);
    let array = ArrayHeap::new(volume, "array", words, config, budget).unwrap();
    let tiny = ArrayHeapConfig { heap_items: 4, spilled_items: 3, block_items: 2, fan: 2, files_max: 5 };
    let tiny = ArrayHeap::new(volume, "tiny", words, tiny, budget).unwrap();
    let narrow = RadixHeap::with_digits(volume, "narrow", words, bytes, 1, budget).unwrap();
    let wide = RadixHeap::with_digits(volume, "wide", words, bytes, 8, budget).unwrap();
    let fitting = RadixHeap::new(volume, "fitting", words, bytes, budget).unwrap();
    vec![
        ("array", Box::new(array)),
        ("tiny array", Box::new(tiny)),
        ("radix 1", Box::new(narrow)),
        ("radix 8", Box::new(wide)),
        ("radix", Box::new(fitting)),
    ]
}

fn remove_retired(queue: &mut dyn PriorityQueue, volume: &Volume) {
    for name in queue.retired() {
        volume.remove(&name).unwrap();
    }
}

fn assert_pops(queue: &mut dyn PriorityQueue, model: &mut Model, words: usize, context: &str) -> Option<u64> {
    let mut records = Vec::new();
    let popped = queue
        .pop(&mut |_, some| {
            records.extend(some.chunks_exact(words).map(<[u64]>::to_vec));
            Ok(())
        })
        .unwrap();
    let expected = model.pop_first();
    assert_eq!(popped, expected.as_ref().map(|(priority, _)| *priority), "{context}");
    let expected: Vec<Vec<u64>> = expected.map_or(Vec::new(), |(_, records)| records.into_iter().collect());
    assert_eq!(records, expected, "{context}");
    popped
}

#[test]
fn all_short_histories() {
    // 0 pops; the others push one of four items, never below what was popped last.
    for history in all_sequences(5, 6) {
        let volume = Volume::in_memory(64);
        for (name, mut queue) in queues(&volume, 1, 0, &Budget::new(64 << 10)) {
            let mut model = Model::new();
            let mut now = 0;
            for &operation in &history {
                if operation == 0 {
                    let context = format!("{name}, {history:?}");
                    now = assert_pops(&mut *queue, &mut model, 1, &context).unwrap_or(now);
                } else {
                    let (priority, value) = (now + (operation - 1) / 2 * 300, (operation - 1) % 2);
                    queue.push(&[priority], &[value]).unwrap();
                    model.entry(priority).or_default().insert(vec![value]);
                }
            }
            while !model.is_empty() {
                assert_pops(&mut *queue, &mut model, 1, &format!("{name}, {history:?}, draining"));
            }
            assert!(queue.is_empty(), "{name}, {history:?}");
        }
    }
}

/// Pushes batches and pops buckets at random; now and then the queue is marked, and every third time taken up again as it was.
fn long_history(
    (volume, budget): (&Volume, &Budget),
    (name, mut queue): Named,
    (words, bytes, span): (usize, usize, u64),
    steps: usize,
    context: &str,
) {
    let mut random = Random::new(words as u64 + span);
    let mut model = Model::new();
    let mut now = 0;
    for step in 0..steps {
        if random.below(100) < if step / 150 % 2 == 0 { 70 } else { 30 } {
            let count = 1 + random.below(30) as usize;
            let priorities: Vec<u64> = (0..count).map(|_| now + random.below(span)).collect();
            let mut records = Vec::new();
            for priority in &priorities {
                let record = vec![random.below(50); words];
                records.extend_from_slice(&record);
                model.entry(*priority).or_default().insert(record);
            }
            queue.push(&priorities, &records).unwrap();
        } else {
            now = assert_pops(&mut *queue, &mut model, words, context).unwrap_or(now);
        }
        remove_retired(&mut *queue, volume);
        if step % 200 == 199 {
            let mark = queue.mark().unwrap();
            remove_retired(&mut *queue, volume);
            let files = queue.file_names();
            if step % 600 == 599 {
                drop(queue);
                queue = resumed(volume, name, words, bytes, &mark, budget);
                assert_eq!(queue.file_names(), files, "{context}");
            }
        }
    }
    while !model.is_empty() {
        assert_pops(&mut *queue, &mut model, words, context);
    }
    assert!(queue.is_empty(), "{context}");
    let left: BTreeSet<String> = queue.file_names().into_iter().chain(queue.retired()).collect();
    drop(queue);
    for name in volume.list().unwrap() {
        assert!(left.contains(&name), "{context}: {name} is left");
        volume.remove(&name).unwrap();
    }
}

fn resumed(
    volume: &Volume,
    name: &str,
    words: usize,
    bytes: usize,
    mark: &[u8],
    budget: &Budget,
) -> Box<dyn PriorityQueue> {
    let config = ArrayHeapConfig::within(bytes, words);
    let array = |name| ArrayHeap::resume(volume, name, words, config, mark, budget).unwrap();
    let radix = |name| RadixHeap::resume(volume, name, words, bytes, mark, budget).unwrap();
    match name {
        "array" => Box::new(array("array")),
        "tiny array" => Box::new(array("tiny")),
        "radix 1" => Box::new(radix("narrow")),
        "radix 8" => Box::new(radix("wide")),
        _ => Box::new(radix("fitting")),
    }
}

#[test]
fn long_histories_on_every_storage_with_marks() {
    let directory = tempfile::tempdir().unwrap();
    let file = Volume::new(FileStorage::auto(directory.path()).unwrap());
    let volumes = [
        ("memory", Volume::in_memory(64)),
        ("faulty", Volume::new(FaultyStorage::new(64, 3))),
        ("file", file),
    ];
    for (storage, volume) in volumes {
        for shape in [(1, 0, 3), (2, 1024, 1000), (3, 4096, 1 << 40), (1, 200_000, 100_000)] {
            let budget = Budget::new(1 << 20);
            let steps = if storage == "file" { 700 } else { 3000 };
            for named in queues(&volume, shape.0, shape.1, &budget) {
                let context = format!("{storage}, {}, {shape:?}", named.0);
                long_history((&volume, &budget), named, shape, steps, &context);
            }
            assert_eq!(budget.used(), 0);
        }
    }
}

#[test]
fn an_array_heap_takes_priorities_that_go_back() {
    for bytes in [0, 500, 5000] {
        let (volume, budget) = (Volume::in_memory(64), Budget::new(256 << 10));
        let config = ArrayHeapConfig::within(bytes, 1);
        let mut queue = ArrayHeap::new(&volume, "array", 1, config, &budget).unwrap();
        let mut random = Random::new(bytes as u64);
        let mut model = Model::new();
        for _ in 0..20_000 {
            if random.below(5) < 3 {
                let (priority, value) = (random.below(5000), random.below(3));
                queue.push(&[priority], &[value]).unwrap();
                model.entry(priority).or_default().insert(vec![value]);
            } else {
                assert_pops(&mut queue, &mut model, 1, &format!("{bytes} bytes"));
            }
        }
    }
}

#[test]
fn queues_work_within_1_kib_of_4() {
    for number in 0..2 {
        let budget = Budget::new(4096);
        let volume = Volume::in_memory(64);
        let mut queue: Box<dyn PriorityQueue> = match number {
            0 => Box::new(
                ArrayHeap::new(&volume, "array", 1, ArrayHeapConfig::within(1024, 1), &budget).unwrap(),
            ),
            _ => Box::new(RadixHeap::new(&volume, "radix", 1, 1024, &budget).unwrap()),
        };
        let mut model = Model::new();
        let mut random = Random::new(1);
        for _ in 0..1000 {
            let priority = random.below(1 << 30);
            queue.push(&[priority], &[7]).unwrap();
            model.entry(priority).or_default().insert(vec![7]);
        }
        while !model.is_empty() {
            assert_pops(&mut *queue, &mut model, 1, "4 KiB");
        }
        assert!(budget.peak() <= 4096);
    }
}

#[test]
fn a_bucket_may_be_larger_than_memory() {
    for number in 0..2 {
        let budget = Budget::new(24 << 10);
        let volume = Volume::in_memory(512);
        let mut queue: Box<dyn PriorityQueue> = match number {
            0 => Box::new(
                ArrayHeap::new(&volume, "array", 2, ArrayHeapConfig::within(8 << 10, 2), &budget).unwrap(),
            ),
            _ => Box::new(RadixHeap::new(&volume, "radix", 2, 8 << 10, &budget).unwrap()),
        };
        let mut model = Model::new();
        let mut random = Random::new(5);
        for _ in 0..200 {
            let records: Vec<u64> = (0..100).flat_map(|_| [random.below(7), random.below(2000)]).collect();
            queue.push(&[9; 100], &records).unwrap();
            model.entry(9).or_default().extend(records.chunks_exact(2).map(<[u64]>::to_vec));
        }
        assert_pops(&mut *queue, &mut model, 2, "large bucket");
        assert!(queue.is_empty());
    }
}

#[test]
fn records_move_as_often_as_the_bounds_say() {
    let (items, bytes) = (200_000_u64, 64 << 10);
    let mut random = Random::new(11);
    let pushes: Vec<(u64, u64)> = (0..items).map(|value| (random.below(1 << 16), value)).collect();
    let volume = Volume::in_memory(4096);
    let budget = Budget::new(1 << 20);
    let config = ArrayHeapConfig { files_max: usize::MAX, fan: 8, ..ArrayHeapConfig::within(bytes, 1) };
    let mut array = ArrayHeap::new(&volume, "array", 1, config, &budget).unwrap();
    let mut radix = RadixHeap::with_digits(&volume, "radix", 1, bytes, 4, &budget).unwrap();
    // Once to level 0, and once more for each level above it.
    let files = items.div_ceil(config.spilled_items as u64);
    let levels = u64::from(files.ilog(config.fan as u64)) + 1;
    let queues: [(&mut dyn PriorityQueue, u64); 2] = [(&mut array, levels), (&mut radix, 4)];
    for (queue, bound) in queues {
        for some in pushes.chunks(64) {
            let (priorities, records): (Vec<u64>, Vec<u64>) = some.iter().copied().unzip();
            queue.push(&priorities, &records).unwrap();
        }
        let mut popped = 0;
        while queue
            .pop(&mut |_, records| {
                popped += records.len() as u64;
                Ok(())
            })
            .unwrap()
            .is_some()
        {}
        assert_eq!(popped, items);
        let moves = queue.moves();
        assert!(
            moves > items / 2 && moves <= items * bound,
            "{moves} moves of {items}, at most {bound} each"
        );
    }
}
