//! Stack, queue and layer log are used, marked, and struck at every operation; what survives is resumed from the last mark
//! that was reported, struck again, and so on. Each time it must hold what it held at that mark, exactly.

use std::collections::VecDeque;
use std::fmt::Debug;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::log::{LayerLog, Mark, Queue, Stack};
use fathom_disk::storage::{Fault, FaultyStorage, Volume};

use crate::support::{Dice, long};
use crate::survived;

const BLOCK: usize = 64;
const WORDS: usize = 2;
/// Steps after which a history ends; enough for every strike below to hit.
const STEPS: u64 = 120;

/// One of the structures, and the plain thing it must equal.
trait Subject: Sized {
    type Model: Clone + Default + PartialEq + Debug;
    fn create(volume: &Volume, budget: &Budget) -> Result<Self, DiskError>;
    fn resume(volume: &Volume, mark: Mark, budget: &Budget) -> Result<Self, DiskError>;
    /// Some use, told by the dice; `number` is never used twice. The model follows when it has succeeded.
    fn step(&mut self, model: &mut Self::Model, dice: &mut Dice, number: u64) -> Result<(), DiskError>;
    fn mark(&mut self) -> Result<Mark, DiskError>;
    /// All it holds, taken out where it cannot be read otherwise.
    fn contents(self, budget: &Budget) -> Result<Self::Model, DiskError>;
}

fn record(number: u64) -> [u64; WORDS] {
    [number, !number.wrapping_mul(0x9e37_79b9_7f4a_7c15)]
}

fn number_of(record: &[u64]) -> u64 {
    assert_eq!(record, self::record(record[0]));
    record[0]
}

impl Subject for Stack {
    type Model = Vec<u64>;
    fn create(volume: &Volume, budget: &Budget) -> Result<Self, DiskError> {
        Stack::new(volume, "stack", WORDS, BLOCK, budget)
    }
    fn resume(volume: &Volume, mark: Mark, budget: &Budget) -> Result<Self, DiskError> {
        Stack::resume(volume, "stack", WORDS, BLOCK, mark, budget)
    }
    fn step(&mut self, model: &mut Vec<u64>, dice: &mut Dice, number: u64) -> Result<(), DiskError> {
        if dice.below(100) < 60 {
            self.push(&record(number))?;
            model.push(number);
        } else {
            let mut popped = [0; WORDS];
            let was_there = self.pop(&mut popped)?;
            assert_eq!(was_there.then(|| number_of(&popped)), model.pop());
        }
        Ok(())
    }
    fn mark(&mut self) -> Result<Mark, DiskError> {
        self.mark()
    }
    fn contents(mut self, _: &Budget) -> Result<Vec<u64>, DiskError> {
        let (mut popped, mut all) = ([0; WORDS], VecDeque::new());
        while self.pop(&mut popped)? {
            all.push_front(number_of(&popped));
        }
        Ok(all.into())
    }
}

impl Subject for Queue {
    type Model = VecDeque<u64>;
    fn create(volume: &Volume, budget: &Budget) -> Result<Self, DiskError> {
        Queue::new(volume, "queue", WORDS, BLOCK, budget)
    }
    fn resume(volume: &Volume, mark: Mark, budget: &Budget) -> Result<Self, DiskError> {
        Queue::resume(volume, "queue", WORDS, BLOCK, mark, budget)
    }
    fn step(&mut self, model: &mut VecDeque<u64>, dice: &mut Dice, number: u64) -> Result<(), DiskError> {
        if dice.below(100) < 60 {
            self.push(&record(number))?;
            model.push_back(number);
        } else {
            let mut popped = [0; WORDS];
            let was_there = self.pop(&mut popped)?;
            assert_eq!(was_there.then(|| number_of(&popped)), model.pop_front());
        }
        Ok(())
    }
    fn mark(&mut self) -> Result<Mark, DiskError> {
        self.mark()
    }
    fn contents(mut self, _: &Budget) -> Result<VecDeque<u64>, DiskError> {
        let (mut popped, mut all) = ([0; WORDS], VecDeque::new());
        while self.pop(&mut popped)? {
            all.push_back(number_of(&popped));
        }
        Ok(all)
    }
}

impl Subject for LayerLog {
    type Model = Vec<Vec<u64>>;
    fn create(volume: &Volume, budget: &Budget) -> Result<Self, DiskError> {
        LayerLog::new(volume, "layers", WORDS, BLOCK, budget)
    }
    fn resume(volume: &Volume, mark: Mark, budget: &Budget) -> Result<Self, DiskError> {
        LayerLog::resume(volume, "layers", WORDS, BLOCK, mark, budget)
    }
    fn step(&mut self, model: &mut Vec<Vec<u64>>, dice: &mut Dice, number: u64) -> Result<(), DiskError> {
        let layer: Vec<u64> = (0..dice.below(6)).map(|i| number * 10 + i).collect();
        layer.iter().try_for_each(|&number| self.append(&record(number)))?;
        self.close_layer()?;
        model.push(layer);
        Ok(())
    }
    fn mark(&mut self) -> Result<Mark, DiskError> {
        self.mark()
    }
    fn contents(self, budget: &Budget) -> Result<Vec<Vec<u64>>, DiskError> {
        let read = |layer| {
            let mut numbers = Vec::new();
            self.read_layer(layer, budget, |record| {
                numbers.push(number_of(record));
                Ok(())
            })?;
            Ok(numbers)
        };
        (0..self.layer_count()).map(read).collect()
    }
}

/// The last mark that was reported, and what was held then.
type Marked<M> = Option<(Mark, M)>;

/// Goes on from the last mark to the end of the history.
fn go_on<S: Subject>(
    storage: &FaultyStorage,
    dice: &mut Dice,
    fresh: &mut u64,
    marked: &mut Marked<S::Model>,
) -> Result<(), DiskError> {
    let volume = Volume::new(storage.clone());
    let budget = Budget::new(4096);
    let (mut subject, mut model) = match marked {
        Some((mark, model)) => (S::resume(&volume, *mark, &budget)?, model.clone()),
        None => {
            for name in volume.list()? {
                volume.remove(&name)?;
            }
            (S::create(&volume, &budget)?, S::Model::default())
        }
    };
    for _ in 0..STEPS {
        *fresh += 1;
        subject.step(&mut model, dice, *fresh)?;
        if dice.below(8) == 0 {
            *marked = Some((subject.mark()?, model.clone()));
        }
    }
    Ok(())
}

/// Strikes at operation `first`, then up to three times while resuming and going on; counts the crashes.
fn crash_and_resume<S: Subject>(seed: u64, first: u64) -> u64 {
    let mut dice = Dice::new(seed << 20 ^ first);
    let mut storage = FaultyStorage::new(BLOCK, seed);
    let (mut fresh, mut marked, mut crashes) = (0, None, 0);
    let mut strike = first;
    while crashes < 4 {
        storage.strike(strike, Fault::Crash);
        let outcome = go_on::<S>(&storage, &mut dice, &mut fresh, &mut marked);
        if !storage.struck() {
            outcome.unwrap();
            break;
        }
        crashes += 1;
        storage = storage.after_crash(dice.next());
        let about = format!("history {seed}, first strike {first}, crash {crashes} at operation {strike}");
        if let Some((mark, expected)) = &marked {
            check::<S>(&storage.after_crash(0), *mark, expected, &about);
        }
        strike = dice.below(60);
    }
    crashes
}

fn check<S: Subject>(storage: &FaultyStorage, mark: Mark, expected: &S::Model, about: &str) {
    let budget = Budget::unlimited();
    let found = S::resume(&Volume::new(storage.clone()), mark, &budget)
        .and_then(|subject| subject.contents(&budget))
        .unwrap_or_else(|error| panic!("{about}: {error}"));
    assert_eq!(&found, expected, "{about}");
}

/// Every operation of some histories.
fn crash_everywhere<S: Subject>(subject: &str) {
    let mut crashes = 0;
    for seed in 0..if long() { 200 } else { 16 } {
        for first in 0.. {
            match crash_and_resume::<S>(seed, first) {
                0 => break,
                more => crashes += more,
            }
        }
    }
    survived(subject, crashes, 2_000);
}

#[test]
fn a_stack_is_as_it_was_at_its_mark() {
    crash_everywhere::<Stack>("stack");
}

#[test]
fn a_queue_is_as_it_was_at_its_mark() {
    crash_everywhere::<Queue>("queue");
}

#[test]
fn layers_are_as_they_were_at_their_mark() {
    crash_everywhere::<LayerLog>("layers");
}
