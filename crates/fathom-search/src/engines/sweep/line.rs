//! Which values are expanded together, and how many states are taken from the queue for that?
//!
//! A bucket of a fine measure has a few states, and there may be millions of them. So values are taken from the queue one after another until they have some number of states, and are one bucket: a coarser
//! measure, and what is monotone stays so. Within it the sweep goes back and forth. That is as right as any measure; the number is such that the bucket stays small beside memory.

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

/// How many states are taken at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    wanted: u64,
    /// States that a bucket should not have more than for being joined.
    most: u64,
    /// States of a bucket for each that was taken from the queue, the most of late.
    growth: f64,
    fixed: bool,
}

/// What is left of the greatest growth when another bucket was less.
const FORGETTING: f64 = 0.9;

impl Pace {
    /// As many as somebody says, or such that buckets have about `most` states.
    pub(super) fn new(fixed: Option<u64>, most: usize) -> Pace {
        Pace { wanted: fixed.unwrap_or(1).max(1), most: most as u64, growth: 1.0, fixed: fixed.is_some() }
    }

    /// States that are enough.
    pub(super) fn wanted(self) -> usize {
        usize::try_from(self.wanted).unwrap_or(usize::MAX)
    }

    /// Learns how many states a bucket came to have for those that were taken from the queue: what is found on the line is part of it.
    pub(super) fn learn(&mut self, taken: u64, states: u64) {
        if self.fixed || taken == 0 {
            return;
        }
        self.growth = (self.growth * FORGETTING).max(states as f64 / taken as f64);
        let bearable = (self.most as f64 / self.growth) as u64;
        self.wanted = bearable.min(self.wanted * 2).max(1);
    }
}
