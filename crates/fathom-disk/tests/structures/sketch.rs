//! A sketch counts exactly while it is not full, is off by as much as it says after that, and several are merged into what one would have been.

use crate::random::Random;
use fathom_disk::budget::Budget;
use fathom_disk::hash::hash_key;
use fathom_disk::sketch::{Sampled, Sketch};
use std::collections::BTreeMap;

/// What a sketch should know: of each key the last stage and the number of offers.
type History = BTreeMap<u64, (u64, u64)>;

fn offer(history: &mut History, hash: u64, stage: u64) -> Option<u64> {
    let before = history.get(&hash).copied();
    let offers = before.map_or(0, |(_, offers)| offers);
    history.insert(hash, (stage, offers + 1));
    before.map(|(stage, _)| stage)
}

/// The sample of a history: its least hashes.
fn sample(history: &History, keys: usize) -> Vec<Sampled> {
    let sampled = |(&hash, &(stage, offers)): (&u64, &(u64, u64))| Sampled { hash, stage, offers };
    history.iter().take(keys).map(sampled).collect()
}

#[test]
fn the_sample_is_that_of_all_that_was_seen() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let (keys, budget) = (16 + random.below(50) as usize, Budget::new(4096));
        let mut sketch = Sketch::new(keys, &budget).unwrap();
        let mut history = History::new();
        for step in 0..random.below(2000) {
            let (hash, stage) = (hash_key(&[random.below(300)]), step / 10);
            let least: Vec<u64> = history.keys().take(keys).copied().collect();
            let before = offer(&mut history, hash, stage);
            let noticed = if least.contains(&hash) { before } else { None };
            assert_eq!(sketch.offer(hash, stage), noticed, "seed {seed}, step {step}");
        }
        assert_eq!(sketch.sample(), sample(&history, keys), "seed {seed}");
        if history.len() < keys {
            assert_eq!(sketch.distinct(), history.len() as f64);
            let repeats: u64 = history.values().map(|(_, offers)| offers - 1).sum();
            assert!((sketch.repeats() - repeats as f64).abs() < 1e-6);
        }
        assert_eq!(budget.used(), sketch.bytes());
        assert_eq!(budget.peak(), keys * size_of::<Sampled>(), "all of it was taken at the beginning");
    }
}

#[test]
fn estimates_are_off_by_no_more_than_they_say() {
    for (keys, most) in [(64, 0.6), (1024, 0.16), (4096, 0.08)] {
        // The standard error is 12.7, 3.1 and 1.6 %: nothing here is five of it away.
        let mut squares = 0.0;
        let rounds = 20;
        for seed in 0..rounds {
            let mut sketch = Sketch::new(keys, &Budget::unlimited()).unwrap();
            let distinct = 50_000;
            for key in 0..distinct {
                let hash = hash_key(&[seed << 40 | key]);
                sketch.offer(hash, 0);
                // Every fourth comes again.
                if key % 4 == 0 {
                    sketch.offer(hash, 1);
                }
            }
            let error = sketch.distinct() / distinct as f64 - 1.0;
            assert!(error.abs() < most, "{keys} keys, seed {seed}: {}", sketch.distinct());
            let repeats = sketch.repeats() / (distinct / 4) as f64 - 1.0;
            assert!(repeats.abs() < 2.0 * most + 0.1, "{keys} keys, seed {seed}: {}", sketch.repeats());
            squares += error * error;
        }
        let deviation = (squares / rounds as f64).sqrt();
        assert!(deviation < 2.0 / (keys as f64).sqrt(), "{keys} keys: {deviation}");
    }
}

#[test]
fn merged_parts_are_the_whole() {
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let budget = Budget::unlimited();
        let mut whole = Sketch::new(40, &budget).unwrap();
        let mut parts: Vec<Sketch> = (0..4).map(|_| Sketch::new(40, &budget).unwrap()).collect();
        for step in 0..random.below(1500) {
            let hash = hash_key(&[random.below(200)]);
            whole.offer(hash, step);
            parts[random.below(4) as usize].offer(hash, step);
        }
        let mut merged = Sketch::new(40, &budget).unwrap();
        parts.iter().for_each(|part| merged.merge(part));
        assert_eq!(merged.sample(), whole.sample(), "seed {seed}");
        assert_eq!(merged.distinct(), whole.distinct());
    }
}

#[test]
fn a_sketch_comes_back_from_its_bytes_and_nonsense_does_not() {
    let mut random = Random::new(3);
    for count in [0, 5, 100, 5000] {
        let budget = Budget::unlimited();
        let mut sketch = Sketch::new(100, &budget).unwrap();
        for step in 0..count {
            sketch.offer(random.next(), step);
        }
        let bytes = sketch.to_bytes();
        let back = |bytes: &[u8]| Sketch::from_bytes(bytes, 100, &budget).unwrap();
        assert_eq!(back(&bytes).unwrap().sample(), sketch.sample());
        for length in 0..bytes.len() {
            assert!(back(&bytes[..length]).is_none(), "{count} keys, cut to {length}");
        }
        assert!(Sketch::from_bytes(&bytes, 99, &budget).unwrap().is_none(), "larger than expected");
        if count > 1 {
            let mut swapped = bytes.clone();
            swapped[16..24].copy_from_slice(&bytes[40..48]);
            assert!(back(&swapped).is_none(), "hashes rise");
        }
    }
}
