//! The recency window: no false hit ever, and exactly the least recently met falls out.

use crate::random::{Random, all_sequences, words_of};
use fathom_disk::budget::Budget;
use fathom_disk::window::Window;
use std::collections::{HashSet, VecDeque};

const WIDTHS: [u32; 8] = [1, 7, 63, 64, 65, 128, 129, 1000];

/// With one set the window is a plain list of the last keys met.
#[test]
fn one_set_is_exactly_the_most_recent_keys() {
    for bits in [2, 66, 130] {
        for capacity in 0..=8 {
            for sequence in all_sequences(3, 6) {
                let window = Window::new(bits, capacity, &Budget::new(4096)).unwrap();
                let mut model: VecDeque<u64> = VecDeque::new();
                for &value in &sequence {
                    // Zero is the one key that narrow windows never hold.
                    let mut key = vec![0; words_of(bits)];
                    key[words_of(bits) - 1] = value + 1;
                    let expected = model.iter().position(|&other| other == value);
                    assert_eq!(
                        window.meet(&key),
                        expected.is_some(),
                        "{bits} bits, {capacity}, {sequence:?}"
                    );
                    expected.map(|at| model.remove(at));
                    model.push_front(value);
                    model.truncate(capacity);
                }
            }
        }
    }
}

#[test]
fn hits_are_true_and_soon_repeated_keys_hit() {
    for bits in WIDTHS {
        for capacity in [0, 1, 2, 8, 9, 100, 5000] {
            let window = Window::new(bits, capacity, &Budget::new(8 << 20)).unwrap();
            let words = words_of(bits);
            let mut random = Random::new(u64::from(bits) + capacity as u64);
            let mut met = HashSet::new();
            for _ in 0..50 {
                let batch: Vec<u64> = (0..100).flat_map(|_| random.key(bits, 12)).collect();
                let mut missed = Vec::new();
                window.meet_batch(&batch, &mut missed);
                for (i, key) in batch.chunks(words).enumerate() {
                    let known = !met.insert(key.to_vec());
                    let hit = !missed.contains(&(i as u32));
                    assert!(known || !hit, "{bits} bits, {capacity}: false hit of {key:x?}");
                }
            }
            let last = random.key(bits, 12);
            window.meet(&last);
            assert_eq!(
                window.meet(&last),
                capacity > 0 && (words > 1 || last != [0]),
                "{bits} bits, {capacity}"
            );
            window.clear();
            assert!(!window.meet(&last), "{bits} bits, {capacity}: a cleared window knows nothing");
        }
    }
}

#[test]
fn threads_never_see_a_key_that_nobody_met() {
    for bits in [40, 64, 100, 200] {
        let window = Window::new(bits, 64, &Budget::new(1 << 20)).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let window = &window;
                scope.spawn(move || {
                    // Each thread has keys of its own, told by their lowest bits: a hit must be one that it met itself.
                    let mut random = Random::new(thread);
                    let mut met = HashSet::new();
                    for _ in 0..50_000 {
                        let mut key = random.key(bits, 10);
                        let last = key.len() - 1;
                        key[last] = (key[last] & !3) | thread;
                        let hit = window.meet(&key);
                        let known = !met.insert(key.clone());
                        assert!(known || !hit, "{bits} bits, thread {thread}: false hit of {key:x?}");
                    }
                });
            }
        });
    }
}

#[test]
fn memory_is_charged_and_given_back() {
    for bits in WIDTHS {
        for capacity in [0, 1, 7, 100] {
            let budget = Budget::new(1 << 20);
            let window = Window::new(bits, capacity, &budget).unwrap();
            assert!(window.capacity() <= capacity);
            assert!(budget.used() >= window.capacity() * words_of(bits) * 8);
            drop(window);
            assert_eq!(budget.used(), 0);
        }
    }
}
