//! Stack, queue and layer log against `Vec` and `VecDeque`: every short sequence of operations, long random ones, marks and
//! resumption on every storage. (Power loss has a suite of its own.)

use crate::random::{Random, all_sequences};
use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::log::{LayerLog, Mark, Queue, Stack};
use fathom_disk::storage::{FaultyStorage, FileStorage, Volume};
use std::collections::VecDeque;

/// All storages; the directory lives as long as the volume's file.
fn volumes() -> Vec<(&'static str, Volume, Option<tempfile::TempDir>)> {
    let directory = tempfile::tempdir().unwrap();
    let file = Volume::new(FileStorage::auto(directory.path()).unwrap());
    vec![
        ("memory", Volume::in_memory(64), None),
        ("faulty, without a fault", Volume::new(FaultyStorage::new(64, 1)), None),
        ("file", file, Some(directory)),
    ]
}

fn record(words: usize, value: u64) -> Vec<u64> {
    (0..words as u64).map(|i| value.wrapping_mul(i + 1) ^ i << 40).collect()
}

/// What a stack and a queue have in common, for one suite.
trait Sequence: Sized {
    fn new(volume: &Volume, words: usize, block_bytes: usize, budget: &Budget) -> Self;
    fn resume(
        volume: &Volume,
        words: usize,
        block_bytes: usize,
        mark: Mark,
        budget: &Budget,
    ) -> Result<Self, DiskError>;
    fn push(&mut self, record: &[u64]) -> Result<(), DiskError>;
    fn pop(&mut self, record: &mut [u64]) -> Result<bool, DiskError>;
    fn mark(&mut self) -> Result<Mark, DiskError>;
    fn len(&self) -> u64;
    fn pop_model(model: &mut VecDeque<u64>) -> Option<u64>;
}

macro_rules! sequence {
    ($type:ty, $name:literal, $pop:ident) => {
        impl Sequence for $type {
            fn new(volume: &Volume, words: usize, block_bytes: usize, budget: &Budget) -> Self {
                <$type>::new(volume, $name, words, block_bytes, budget).unwrap()
            }
            fn resume(
                volume: &Volume,
                words: usize,
                block: usize,
                mark: Mark,
                budget: &Budget,
            ) -> Result<Self, DiskError> {
                <$type>::resume(volume, $name, words, block, mark, budget)
            }
            fn push(&mut self, record: &[u64]) -> Result<(), DiskError> {
                self.push(record)
            }
            fn pop(&mut self, record: &mut [u64]) -> Result<bool, DiskError> {
                self.pop(record)
            }
            fn mark(&mut self) -> Result<Mark, DiskError> {
                self.mark()
            }
            fn len(&self) -> u64 {
                self.len()
            }
            fn pop_model(model: &mut VecDeque<u64>) -> Option<u64> {
                model.$pop()
            }
        }
    };
}
sequence!(Stack, "stack", pop_back);
sequence!(Queue, "queue", pop_front);

fn assert_pops<S: Sequence>(sequence: &mut S, words: usize, expected: Option<u64>, context: &str) {
    let mut popped = vec![0; words];
    assert_eq!(sequence.pop(&mut popped).unwrap(), expected.is_some(), "{context}");
    if let Some(value) = expected {
        assert_eq!(popped, record(words, value), "{context}");
    }
}

fn all_short_histories<S: Sequence>() {
    // 0 pushes, 1 pops, 2 marks and resumes from the mark.
    for history in all_sequences(3, 7) {
        let volume = Volume::in_memory(64);
        let budget = Budget::new(4096);
        // One record to a block: every second operation moves one.
        let mut sequence = S::new(&volume, 5, 64, &budget);
        let mut model = VecDeque::new();
        for (step, &operation) in history.iter().enumerate() {
            match operation {
                0 => {
                    sequence.push(&record(5, step as u64)).unwrap();
                    model.push_back(step as u64);
                }
                1 => assert_pops(&mut sequence, 5, S::pop_model(&mut model), &format!("{history:?}")),
                _ => {
                    let mark = sequence.mark().unwrap();
                    drop(sequence);
                    sequence = S::resume(&volume, 5, 64, mark, &budget).unwrap();
                }
            }
            assert_eq!(sequence.len(), model.len() as u64, "{history:?}");
        }
        while !model.is_empty() {
            assert_pops(&mut sequence, 5, S::pop_model(&mut model), &format!("{history:?}, draining"));
        }
    }
}

fn long_histories<S: Sequence>() {
    for (name, volume, _directory) in volumes() {
        for (words, block_bytes) in [(1, 64), (3, 64), (2, 200), (40, 64), (1, 4096)] {
            let budget = Budget::new(if block_bytes > 64 || words > 5 { 16 << 10 } else { 4 << 10 });
            let mut random = Random::new(words as u64 + block_bytes as u64);
            let mut sequence = S::new(&volume, words, block_bytes, &budget);
            let mut model = VecDeque::new();
            let context = format!("{name}, {words} words, blocks of {block_bytes}");
            for step in 0..4000u64 {
                match random.below(100) {
                    0 => {
                        let mark = sequence.mark().unwrap();
                        drop(sequence);
                        sequence = S::resume(&volume, words, block_bytes, mark, &budget).unwrap();
                    }
                    // Long runs of pushes, then of pops.
                    dice if dice < if step / 500 % 2 == 0 { 70 } else { 35 } => {
                        sequence.push(&record(words, step)).unwrap();
                        model.push_back(step);
                    }
                    _ => assert_pops(&mut sequence, words, S::pop_model(&mut model), &context),
                }
            }
            drop(sequence);
            assert_eq!(budget.used(), 0, "{context}");
            for file in volume.list().unwrap() {
                volume.remove(&file).unwrap();
            }
        }
    }
}

#[test]
fn all_short_histories_of_a_stack() {
    all_short_histories::<Stack>();
}

#[test]
fn all_short_histories_of_a_queue() {
    all_short_histories::<Queue>();
}

#[test]
fn long_histories_of_a_stack() {
    long_histories::<Stack>();
}

#[test]
fn long_histories_of_a_queue() {
    long_histories::<Queue>();
}

#[test]
fn every_flipped_bit_of_a_block_is_noticed() {
    let volume = Volume::in_memory(64);
    let budget = Budget::new(4096);
    let mut stack = Stack::new(&volume, "stack", 2, 64, &budget).unwrap();
    (0..3).for_each(|value| stack.push(&record(2, value)).unwrap());
    let mark = stack.mark().unwrap();
    let file = volume
        .open("stack", fathom_disk::storage::FileKind::new("test", fathom_disk::storage::Role::Bulk))
        .unwrap();
    for bit in 0..8 * file.size().unwrap() {
        let mut byte = [0];
        file.read_exact(bit / 8, &mut byte).unwrap();
        file.write(bit / 8, &[byte[0] ^ (1 << (bit % 8))]).unwrap();
        let mut resumed = Stack::resume(&volume, "stack", 2, 64, mark, &budget).unwrap();
        let read_all = (0..3).try_for_each(|_| resumed.pop(&mut [0; 2]).map(drop));
        assert!(read_all.is_err(), "bit {bit} was not noticed");
        file.write(bit / 8, &byte).unwrap();
    }
}

fn layers_of(log: &LayerLog, words: usize, budget: &Budget) -> Vec<Vec<Vec<u64>>> {
    let read = |layer| {
        let mut records = Vec::new();
        log.read_layer(layer, budget, |record| {
            assert_eq!(record.len(), words);
            records.push(record.to_vec());
            Ok(())
        })
        .unwrap();
        records
    };
    (0..log.layer_count()).map(read).collect()
}

/// The words of all layers of records of three words, read up to seven records at a time.
fn layers_by_sevens(log: &LayerLog, budget: &Budget) -> Vec<Vec<u64>> {
    let mut reader = log.reader(budget).unwrap();
    let mut layers = Vec::new();
    for layer in 0..log.layer_count() {
        reader.open(log, layer).unwrap();
        let (mut words, mut some) = (Vec::new(), [0; 21]);
        loop {
            let count = reader.next_some(log, &mut some).unwrap();
            words.extend_from_slice(&some[..count * 3]);
            if count == 0 {
                break;
            }
        }
        layers.push(words);
    }
    layers
}

#[test]
fn layers_come_back_as_they_were_closed() {
    // Every list of up to five layers of zero to three records, with a mark and a resumption after each layer or none.
    for sizes in all_sequences(4, 5) {
        for marks in [false, true] {
            let volume = Volume::in_memory(64);
            let budget = Budget::new(4096);
            let mut log = LayerLog::new(&volume, "layers", 2, 64, &budget).unwrap();
            let mut model = Vec::new();
            for (layer, &size) in sizes.iter().enumerate() {
                let records: Vec<Vec<u64>> = (0..size).map(|i| record(2, layer as u64 * 10 + i)).collect();
                records.iter().for_each(|record| log.append(record).unwrap());
                assert_eq!(log.close_layer().unwrap(), layer as u64);
                model.push(records);
                if marks {
                    let mark = log.mark().unwrap();
                    drop(log);
                    log = LayerLog::resume(&volume, "layers", 2, 64, mark, &budget).unwrap();
                }
            }
            assert_eq!(layers_of(&log, 2, &budget), model, "{sizes:?}, marks: {marks}");
            assert!(log.read_layer(sizes.len() as u64, &budget, |_| Ok(())).is_err());
        }
    }
}

#[test]
fn many_layers_on_every_storage() {
    for (name, volume, _directory) in volumes() {
        let budget = Budget::new(16 << 10);
        let mut random = Random::new(5);
        let mut log = LayerLog::new(&volume, "layers", 3, 256, &budget).unwrap();
        let mut model = Vec::new();
        for layer in 0..300u64 {
            let records: Vec<Vec<u64>> = (0..random.below(40)).map(|i| record(3, layer * 100 + i)).collect();
            if layer % 2 == 0 {
                records.iter().for_each(|record| log.append(record).unwrap());
            } else {
                log.append(&records.concat()).unwrap();
            }
            log.close_layer().unwrap();
            model.push(records);
            if layer % 37 == 0 {
                let mark = log.mark().unwrap();
                log = LayerLog::resume(&volume, "layers", 3, 256, mark, &budget).unwrap();
            }
        }
        assert_eq!(layers_of(&log, 3, &budget), model, "{name}");
        assert_eq!(
            layers_by_sevens(&log, &budget),
            model.iter().map(|layer| layer.concat()).collect::<Vec<_>>()
        );
        log.remove().unwrap();
        assert!(volume.list().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn a_log_whose_block_could_not_be_written_says_so_again_and_takes_it_up_when_there_is_room() {
    let storage = FaultyStorage::new(64, 1);
    let budget = Budget::unlimited();
    let mut log = LayerLog::new(&Volume::new(storage.clone()), "layers", 1, 64, &budget).unwrap();
    storage.set_capacity(0);
    let mut refused = 0;
    for key in 0..20 {
        refused += u32::from(log.append(&[key]).is_err());
    }
    assert!(refused > 10, "{refused} of 20 appends were refused");
    storage.set_capacity(1 << 20);
    log.append(&[99]).unwrap();
}
