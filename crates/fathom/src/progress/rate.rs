//! How quickly does a search go, and does it become slower?
//!
//! Two averages that forget: of the last seconds, which is told, and of the last minutes, which estimates go by and which the first is compared with.

use std::time::Instant;

/// States per second.
#[derive(Debug)]
pub(super) struct Rate {
    began: Instant,
    before: u64,
    last: (Instant, u64),
    short: Average,
    long: Average,
}

/// An average in which what is older than `memory` seconds counts for less and less.
#[derive(Debug)]
struct Average {
    memory: f64,
    sum: f64,
    weight: f64,
}

/// Layers are expanded and closed in turns, which take seconds each.
const SHORT_SECONDS: f64 = 10.0;
const LONG_SECONDS: f64 = 120.0;
/// Before this nothing is said about becoming slower.
const TREND_AFTER_SECONDS: f64 = 30.0;

impl Rate {
    pub(super) fn new(began: Instant) -> Rate {
        let average = |memory| Average { memory, sum: 0.0, weight: 0.0 };
        Rate {
            began,
            before: 0,
            last: (began, 0),
            short: average(SHORT_SECONDS),
            long: average(LONG_SECONDS),
        }
    }

    /// So many states were expanded by others.
    pub(super) fn begin_at(&mut self, visits: u64) {
        (self.before, self.last.1) = (visits, visits);
    }

    /// So many states are expanded by now.
    pub(super) fn take(&mut self, now: Instant, visits: u64) {
        let (then, before) = self.last;
        let seconds = (now - then).as_secs_f64();
        if seconds > 0.0 {
            // A search that begins again, on disk, goes back a little.
            let rate = visits.saturating_sub(before) as f64 / seconds;
            self.short.take(seconds, rate);
            self.long.take(seconds, rate);
            self.last = (now, visits);
        }
    }

    /// States per second now.
    pub(super) fn now(&self) -> f64 {
        self.short.value()
    }

    /// States per second in the last minutes.
    pub(super) fn lately(&self) -> f64 {
        self.long.value()
    }

    /// States per second since this process began to search.
    pub(super) fn in_all(&self) -> f64 {
        let (now, visits) = self.last;
        visits.saturating_sub(self.before) as f64 / (now - self.began).as_secs_f64().max(1e-3)
    }

    /// By what part the rate is greater now than in the last minutes; none if that is too early to say.
    pub(super) fn trend(&self) -> Option<f64> {
        let lately = self.lately();
        let old = (self.last.0 - self.began).as_secs_f64() >= TREND_AFTER_SECONDS;
        (old && lately > 0.0).then(|| self.now() / lately - 1.0)
    }
}

impl Average {
    fn take(&mut self, seconds: f64, value: f64) {
        let kept = (-seconds / self.memory).exp();
        self.sum = self.sum * kept + value * (1.0 - kept);
        self.weight = self.weight * kept + 1.0 - kept;
    }

    fn value(&self) -> f64 {
        if self.weight > 0.0 { self.sum / self.weight } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_steady_search_has_its_rate_at_once_and_no_trend() {
        let began = Instant::now();
        let mut rate = Rate::new(began);
        rate.begin_at(1_000);
        for second in 1..=60 {
            rate.take(began + Duration::from_secs(second), 1_000 + 500 * second);
            assert!((rate.now() - 500.0).abs() < 1e-6 && (rate.in_all() - 500.0).abs() < 1e-6);
        }
        assert!(rate.trend().is_some_and(|trend| trend.abs() < 1e-6));
    }

    #[test]
    fn one_that_becomes_slower_is_seen_to() {
        let began = Instant::now();
        let (mut rate, mut visits) = (Rate::new(began), 0);
        for second in 1..=300 {
            visits += if second <= 270 { 1_000 } else { 100 };
            rate.take(began + Duration::from_secs(second), visits);
        }
        assert!((100.0..200.0).contains(&rate.now()), "{}", rate.now());
        assert!(rate.trend().is_some_and(|trend| trend < -0.5));
        // One that begins again is not infinitely quick, nor slow for ever.
        rate.take(began + Duration::from_secs(301), 10);
        assert!(rate.now() < 200.0);
    }
}
