//! Which values are expanded together, and how many states are taken from the queue for that?
//!
//! A bucket of a fine measure has a few states, and there may be millions of them. So values that are near each other are taken from the queue together, and are one bucket: a coarser
//! measure, and what is monotone stays so. Within it the sweep goes back and forth. That is as right as any measure; how near is near is learned, so that buckets stay small beside memory.

use std::cmp::Ordering;

/// Values from one to another, both among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Line {
    /// That line, up to a value that is not before it.
    pub(super) fn with(line: Option<Line>, value: u64) -> Line {
        line.map_or(Line { from: value, to: value }, |line| Line { to: value, ..line })
    }

    /// Where a value lies: before the line, on it, or behind it.
    #[inline]
    pub(super) fn side(self, value: u64) -> Ordering {
        match value {
            _ if value < self.from => Ordering::Less,
            _ if value > self.to => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}

/// Which values are taken together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    fixed: bool,
    /// States that a bucket should not have more than for being joined.
    most: u64,
    /// States from the queue that are enough.
    enough: u64,
    /// States of a bucket for each that was taken from the queue, the most of late.
    growth: f64,
    /// Low bits of values that are looked past: only those that differ in no others are one bucket.
    shift: u32,
}

/// What is left of the greatest growth when another bucket was less.
const FORGETTING: f64 = 0.9;

impl Pace {
    /// As many states as somebody says; or values that are near each other, such that buckets have about `most` states.
    pub(super) fn new(fixed: Option<u64>, most: usize) -> Pace {
        let enough = fixed.unwrap_or(1).max(1);
        Pace { fixed: fixed.is_some(), most: most as u64, enough, growth: 1.0, shift: 0 }
    }

    /// States from the queue that are enough.
    pub(super) fn enough(self) -> u64 {
        self.enough
    }

    /// The last value that is taken together with one. Values that are far from each other are not, however few states wait: all that lies between them would be one bucket.
    pub(super) fn reach(self, value: u64) -> u64 {
        if self.fixed { u64::MAX } else { value | ((1 << self.shift) - 1) }
    }

    /// Learns how many states a bucket came to have for those that were taken from the queue: what is found on the line is part of it.
    pub(super) fn learn(&mut self, taken: u64, states: u64) {
        if self.fixed || taken == 0 {
            return;
        }
        self.growth = (self.growth * FORGETTING).max(states as f64 / taken as f64);
        let bearable = (self.most as f64 / self.growth) as u64;
        self.enough = bearable.min(self.enough * 2).max(1);
        if states > self.most {
            self.shift = self.shift.saturating_sub(2);
        } else if states <= self.most / 4 {
            self.shift = (self.shift + 1).min(63);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_together_while_buckets_are_small() {
        let mut pace = Pace::new(None, 100);
        assert_eq!(pace.reach(8), 8);
        (0..3).for_each(|_| pace.learn(10, 10));
        assert_eq!((pace.reach(8), pace.enough()), (15, 8));
        pace.learn(10, 500);
        assert_eq!((pace.reach(8), pace.enough()), (9, 2));
        (0..100).for_each(|_| pace.learn(1, 1));
        assert_eq!((pace.reach(0), pace.enough()), (u64::MAX >> 1, 100));
        assert_eq!(Pace::new(Some(7), 100).reach(3), u64::MAX);
    }
}
