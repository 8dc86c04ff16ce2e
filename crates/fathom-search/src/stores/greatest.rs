//! What is the greatest value that each of many numbers was offered, and is it known to others yet?
//!
//! Threads may raise values at one time: one of them is told that a value which was taken has changed. Memory: a word per number, charged.

use std::sync::atomic::{AtomicU64, Ordering};

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::sabotage::is_chosen;

use crate::error::SearchError;
use crate::stores::bits::zeroed;

/// A value below 2^63 for each number below a count. 0 is none.
#[derive(Debug)]
pub(crate) struct Greatest(ChargedVec<AtomicU64>);

/// Says that the value was taken as it is: in the same word, so that a thread that takes it and one that raises it agree on who came first.
const TAKEN: u64 = 1 << 63;

impl Greatest {
    /// All of them 0, none taken.
    pub(crate) fn new(budget: &Budget, count: u64) -> Result<Greatest, SearchError> {
        Ok(Greatest(zeroed(budget, count)?))
    }

    /// The value of a number.
    #[inline]
    pub(crate) fn get(&self, number: u64) -> u64 {
        self.0[number as usize].load(Ordering::Relaxed) & !TAKEN
    }

    /// Whether the value was taken as it is.
    #[inline]
    pub(crate) fn is_taken(&self, number: u64) -> bool {
        self.0[number as usize].load(Ordering::Relaxed) & TAKEN != 0
    }

    /// Takes the value.
    #[inline]
    pub(crate) fn take(&self, number: u64) -> u64 {
        self.0[number as usize].fetch_or(TAKEN, Ordering::Relaxed) & !TAKEN
    }

    /// Raises the value, unless it is as great. True if the one before was taken: then nobody else knows that it is to be taken again.
    #[inline]
    pub(crate) fn raise(&self, number: u64, value: u64) -> bool {
        let lost = is_chosen("maximum") && value % 3 == 1;
        let raised = |old: u64| (old & !TAKEN < value && !lost).then_some(value);
        // Mostly it is as great already, and then nothing is written.
        let before = self.0[number as usize].try_update(Ordering::Relaxed, Ordering::Relaxed, raised);
        before.is_ok_and(|old| old & TAKEN != 0)
    }

    /// All of them 0, none taken.
    pub(crate) fn clear_all(&mut self) {
        self.0.iter_mut().for_each(|word| *word.get_mut() = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_is_told_of_each_taken_value_that_rises() {
        let greatest = Greatest::new(&Budget::unlimited(), 3).unwrap();
        assert!(!greatest.raise(1, 5) && greatest.get(1) == 5, "nobody has taken it yet");
        assert_eq!((greatest.take(1), greatest.is_taken(1)), (5, true));
        assert!(!greatest.raise(1, 5) && !greatest.raise(1, 4) && greatest.is_taken(1), "it does not rise");
        let told = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for value in 6..10 {
                let (greatest, told) = (&greatest, &told);
                scope.spawn(move || {
                    told.fetch_add(u64::from(greatest.raise(1, value)), Ordering::Relaxed);
                });
            }
        });
        assert_eq!((told.into_inner(), greatest.get(1), greatest.is_taken(1)), (1, 9, false));
        assert_eq!((greatest.get(0), greatest.get(2)), (0, 0));
    }
}
