//! How many of something are there, for each of many numbers, when there are mostly few?
//!
//! Four bits each; a count above 14 moves to a map. Memory: half a byte per number, and about 48 bytes per count in the map, all charged.

use std::collections::HashMap;

use fathom_disk::budget::{Budget, Charge, ChargedVec};

use crate::error::SearchError;

/// A count for each number below a bound.
#[derive(Debug)]
pub(crate) struct Counters {
    /// Two counts a byte; [`LARGE`] says that the count is in the map.
    small: ChargedVec<u8>,
    large: HashMap<u64, u32>,
    charge: Charge,
}

const LARGE: u8 = 15;
/// What an entry of the map is taken to cost.
const ENTRY_BYTES: usize = 48;
/// The map is charged for so many entries at a time.
const ENTRIES_STEP: usize = 256;

impl Counters {
    /// All of them 0.
    pub(crate) fn new(budget: &Budget, count: u64) -> Result<Counters, SearchError> {
        let bytes = count.div_ceil(2) as usize;
        let mut small = ChargedVec::with_capacity(budget, "counters", bytes)?;
        small.resize(bytes, 0)?;
        Ok(Counters { small, large: HashMap::new(), charge: budget.charge("counters", 0)? })
    }

    /// Whether a count is 0.
    #[inline]
    pub(crate) fn is_zero(&self, number: u64) -> bool {
        self.nibble(number) == 0
    }

    /// Adds one.
    #[inline]
    pub(crate) fn increase(&mut self, number: u64) -> Result<(), SearchError> {
        match self.nibble(number) {
            LARGE => {
                *self.large.entry(number).or_insert(u32::from(LARGE)) += 1;
                Ok(())
            }
            count if count + 1 == LARGE => {
                self.put(number, LARGE);
                self.large.insert(number, u32::from(LARGE));
                if self.large.len() * ENTRY_BYTES > self.charge.bytes() {
                    self.charge.resize((self.large.len() * 2).max(ENTRIES_STEP) * ENTRY_BYTES)?;
                }
                Ok(())
            }
            count => {
                self.put(number, count + 1);
                Ok(())
            }
        }
    }

    /// Takes one away from a count that is not 0; true if nothing is left.
    #[inline]
    pub(crate) fn decrease(&mut self, number: u64) -> bool {
        match self.nibble(number) {
            0 => panic!("a count that is taken from is not 0"),
            LARGE => {
                let count = self.large.get_mut(&number).expect("large counts are in the map");
                *count -= 1;
                if *count < u32::from(LARGE) {
                    self.large.remove(&number);
                    self.put(number, LARGE - 1);
                }
                false
            }
            count => {
                self.put(number, count - 1);
                count == 1
            }
        }
    }

    fn nibble(&self, number: u64) -> u8 {
        self.small[(number / 2) as usize] >> (number % 2 * 4) & 15
    }

    fn put(&mut self, number: u64, count: u8) {
        let byte = &mut self.small[(number / 2) as usize];
        let shift = number % 2 * 4;
        *byte = *byte & !(15 << shift) | count << shift;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_up_and_down_past_every_limit() {
        let budget = Budget::unlimited();
        let mut counters = Counters::new(&budget, 7).unwrap();
        for (number, most) in [(0u64, 1), (1, 13), (2, 14), (3, 15), (4, 16), (5, 400), (6, 0)] {
            for _ in 0..most {
                counters.increase(number).unwrap();
            }
            assert_eq!(counters.is_zero(number), most == 0);
        }
        for (number, most) in [(0u64, 1), (1, 13), (2, 14), (3, 15), (4, 16), (5, 400)] {
            for left in (0..most).rev() {
                assert!(!counters.is_zero(number));
                assert_eq!(counters.decrease(number), left == 0, "{number} of {most}, {left} left");
            }
        }
        assert!((0..7).all(|number| counters.is_zero(number)));
        assert!(counters.large.is_empty());
    }
}
