//! How many of something are there, for each of many numbers, when there are mostly few?
//!
//! Four bits each; what a count has above 15 is in a map. Threads may count up at one time, or down at one time. Memory: half a byte per number, and about 48 bytes per count in
//! the map, all charged.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_disk::budget::{Budget, Charge, ChargedVec};

use crate::error::SearchError;
use crate::stores::bits::zeroed;

/// A count for each number below a bound.
#[derive(Debug)]
pub(crate) struct Counters {
    /// Sixteen counts a word; [`LARGE`] says that there may be more in the map.
    small: ChargedVec<AtomicU64>,
    large: Mutex<Large>,
}

/// What counts have above [`LARGE`].
#[derive(Debug)]
struct Large {
    beyond: HashMap<u64, u32>,
    charge: Charge,
}

const LARGE: u64 = 15;
const COUNTS: u64 = 16;
/// What an entry of the map is taken to cost.
const ENTRY_BYTES: usize = 48;
/// The map is charged for so many entries at a time.
const ENTRIES_STEP: usize = 16;

impl Counters {
    /// All of them 0.
    pub(crate) fn new(budget: &Budget, count: u64) -> Result<Counters, SearchError> {
        let large = Large { beyond: HashMap::new(), charge: budget.charge("counters", 0)? };
        Ok(Counters { small: zeroed(budget, count.div_ceil(COUNTS))?, large: Mutex::new(large) })
    }

    /// Whether a count is 0.
    #[inline]
    pub(crate) fn is_zero(&self, number: u64) -> bool {
        let word = self.small[(number / COUNTS) as usize].load(Ordering::Relaxed);
        word >> (number % COUNTS * 4) & LARGE == 0
    }

    /// Adds one.
    #[inline]
    pub(crate) fn increase(&self, number: u64) -> Result<(), SearchError> {
        let changed = self.change(number, |count| (count < LARGE).then_some(count + 1));
        if changed.is_none() { self.large().add(number) } else { Ok(()) }
    }

    /// Takes one away from a count that is not 0; true if nothing is left.
    #[inline]
    pub(crate) fn decrease(&self, number: u64) -> bool {
        let changed = self.change(number, |count| (count < LARGE).then(|| count - 1));
        match changed {
            Some(count) => count == 1,
            None => {
                let mut large = self.large();
                if !large.take(number) {
                    // Under the lock, so that no other thread does the same meanwhile.
                    self.change(number, |count| Some(count - 1));
                }
                false
            }
        }
    }

    fn large(&self) -> MutexGuard<'_, Large> {
        self.large.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a count; gives what it was, or none if it stays.
    #[inline]
    fn change(&self, number: u64, change: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let shift = number % COUNTS * 4;
        let of = |word: u64| word >> shift & LARGE;
        let word = &self.small[(number / COUNTS) as usize];
        let changed = |old: u64| {
            let count = of(old);
            change(count).map(|new| old & !(LARGE << shift) | new << shift)
        };
        word.try_update(Ordering::Relaxed, Ordering::Relaxed, changed).ok().map(of)
    }
}

impl Large {
    fn add(&mut self, number: u64) -> Result<(), SearchError> {
        if (self.beyond.len() + 1) * ENTRY_BYTES > self.charge.bytes() {
            self.charge.resize((self.beyond.len() * 2).max(ENTRIES_STEP) * ENTRY_BYTES)?;
        }
        *self.beyond.entry(number).or_insert(0) += 1;
        Ok(())
    }

    /// Takes one away; false if there is none.
    fn take(&mut self, number: u64) -> bool {
        let Some(count) = self.beyond.get_mut(&number) else { return false };
        *count -= 1;
        if *count == 0 {
            self.beyond.remove(&number);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: [u64; 19] = [1, 13, 14, 15, 16, 400, 0, 17, 2, 3, 4, 5, 6, 7, 8, 9, 10, 31, 15];

    #[test]
    fn counts_go_up_and_down_past_every_limit() {
        let counters = Counters::new(&Budget::unlimited(), MOST.len() as u64).unwrap();
        for (number, most) in (0..).zip(MOST) {
            (0..most).for_each(|_| counters.increase(number).unwrap());
            assert_eq!(counters.is_zero(number), most == 0);
        }
        for (number, most) in (0..).zip(MOST) {
            for left in (0..most).rev() {
                assert!(!counters.is_zero(number));
                assert_eq!(counters.decrease(number), left == 0, "{number} of {most}, {left} left");
            }
        }
        assert!((0..MOST.len() as u64).all(|number| counters.is_zero(number)));
        assert!(counters.large().beyond.is_empty());
    }

    #[test]
    fn threads_count_together() {
        let counters = Counters::new(&Budget::unlimited(), 40).unwrap();
        let times = |number: u64| 1 + number * 7 % 60;
        let in_threads = |each: &(dyn Fn(u64) + Sync)| {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..40).for_each(|number| (0..times(number)).for_each(|_| each(number))));
                }
            });
        };
        in_threads(&|number| counters.increase(number).unwrap());
        let emptied = AtomicU64::new(0);
        in_threads(&|number| {
            emptied.fetch_add(u64::from(counters.decrease(number)), Ordering::Relaxed);
        });
        assert_eq!(emptied.into_inner(), 40, "each is emptied by one");
        assert!((0..40).all(|number| counters.is_zero(number)));
    }
}
