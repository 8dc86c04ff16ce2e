//! When is the next commit due?

use std::time::{Duration, Instant};

/// Commits take at most this part of the time.
const COMMIT_SHARE: u32 = 20;

/// When is the next commit due?
#[derive(Debug)]
pub(crate) struct Clock {
    every: Duration,
    last: Instant,
    /// What the last commit took.
    took: Duration,
}

impl Clock {
    pub(crate) fn new(every: Duration) -> Clock {
        Clock { every, last: Instant::now(), took: Duration::ZERO }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.last.elapsed() >= self.every.max(self.took * COMMIT_SHARE)
    }

    pub(crate) fn committed(&mut self, took: Duration) {
        (self.last, self.took) = (Instant::now(), took);
    }
}
