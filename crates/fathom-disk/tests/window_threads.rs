//! A key that threads meet at the same moment is missed by at least one of them: otherwise nobody would take it, and a state would be lost.

use std::collections::BTreeSet;
use std::sync::Barrier;

use fathom_disk::budget::Budget;
use fathom_disk::window::Window;

#[test]
fn of_threads_that_meet_a_key_at_least_one_misses_it_first() {
    let budget = Budget::new(1 << 16);
    for bits in [64, 128] {
        let words = bits as usize / 64;
        for round in 0..200u64 {
            // One set, so that threads are always in each other's way; keys of a round are met in no other.
            let window = Window::new(bits, 8, &budget).expect("there is room");
            let barrier = Barrier::new(2);
            let meet = |thread: u64| {
                barrier.wait();
                let mut missed = BTreeSet::new();
                for step in 0..2_000u64 {
                    // The threads meet the same keys, each a few steps apart from the other.
                    let number = 1 + (step ^ thread) + round * 4_096;
                    let key = [number; 2];
                    if !window.meet(&key[..words]) {
                        missed.insert(number);
                    }
                }
                missed
            };
            let (first, second) = std::thread::scope(|scope| {
                let other = scope.spawn(|| meet(1));
                (meet(0), other.join().expect("it does not panic"))
            });
            for number in (1..2_001).map(|number| number + round * 4_096) {
                let seen = first.contains(&number) || second.contains(&number);
                assert!(seen, "{bits} bits, round {round}: nobody missed {number}");
            }
        }
    }
}
