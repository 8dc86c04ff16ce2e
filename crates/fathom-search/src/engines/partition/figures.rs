//! What was seen of partitions, and where did the time go?
//!
//! The parts of the time are those of the paper: reading partitions, putting their states into the table, checking candidates, writing what is new, making steps, and putting what leads elsewhere into queues and taking it from there.

use std::time::Duration;

use super::offered::Seen;
use crate::task::Cost;

/// What was counted by this process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) seen: Seen,
    /// Candidates within a partition that were left out because they were met a moment ago.
    pub(super) recent: u64,
    /// States of all stages.
    pub(super) states: u64,
    /// Whether an earlier process has begun the search.
    pub(super) taken_up: bool,
    pub(super) visits: Visits,
    pub(super) splits: u64,
    /// Visits of partitions that did not fit in the table.
    pub(super) looked_up: u64,
    pub(super) times: Times,
}

/// Where the time of this process went, the making of steps aside.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) read: Duration,
    pub(super) insert: Duration,
    pub(super) check: Duration,
    pub(super) write: Duration,
    pub(super) queue: Duration,
}

/// What was seen of partitions, by this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionFigures {
    /// Partitions there are.
    pub partitions: u64,
    /// How often one was visited, and so loaded.
    pub visits: u64,
    /// How often one that was visited did not fit in memory, and could not be split.
    pub looked_up: u64,
    /// How often one was split.
    pub splits: u64,
    /// Steps from one to another, and starts.
    pub crossed: u64,
    /// Steps and starts.
    pub offered: u64,
}

impl Tally {
    /// What is told of it, with so many partitions in the end.
    pub(super) fn figures(&self, partitions: usize) -> PartitionFigures {
        let Tally { seen, visits, splits, looked_up, .. } = *self;
        let Seen { offered, crossed, .. } = seen;
        let (partitions, visits) = (partitions as u64, visits.count);
        PartitionFigures { partitions, visits, looked_up, splits, crossed, offered }
    }

    /// The same in numbers with names, with the time by parts in microseconds, and visits by tenths of the states.
    pub(super) fn numbers(&self, partitions: usize, cost: Cost) -> Vec<(&'static str, u64)> {
        let PartitionFigures { partitions, visits, looked_up, splits, crossed, offered } =
            self.figures(partitions);
        let Times { read, insert, check, write, queue } = self.times;
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let mut numbers = vec![
            ("partitions", partitions),
            ("visits_of_partitions", visits),
            ("visits_on_disk", looked_up),
            ("splits", splits),
            ("steps_across", crossed),
            ("steps_within", offered - crossed),
            ("read_us", micros(read)),
            ("insert_us", micros(insert)),
            ("check_us", micros(check)),
            ("write_us", micros(write)),
            ("compute_us", micros(cost.expand + cost.watch)),
            ("queue_us", micros(queue)),
        ];
        numbers.extend(TENTHS.into_iter().zip(self.visits.tenths(self.states)));
        numbers
    }
}

/// What visits during each tenth of the states are called.
const TENTHS: [&str; 10] = [
    "visits_tenth_01",
    "visits_tenth_02",
    "visits_tenth_03",
    "visits_tenth_04",
    "visits_tenth_05",
    "visits_tenth_06",
    "visits_tenth_07",
    "visits_tenth_08",
    "visits_tenth_09",
    "visits_tenth_10",
];

/// Spans of states that visits are counted in: a few times as many as are told.
const SPANS: usize = 80;

/// How many visits there were, and when, by the number of states that were known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visits {
    pub(super) count: u64,
    /// States of a span. It doubles when there are more states than spans hold, so that memory stays the same.
    span: u64,
    spans: [u64; SPANS],
}

impl Default for Visits {
    fn default() -> Visits {
        Visits { count: 0, span: 1, spans: [0; SPANS] }
    }
}

impl Visits {
    /// A partition is visited when so many states are known.
    pub(super) fn note(&mut self, states: u64) {
        self.count += 1;
        while states / self.span >= SPANS as u64 {
            let halves = self.spans;
            self.span *= 2;
            self.spans = [0; SPANS];
            for (pair, span) in halves.chunks(2).zip(&mut self.spans) {
                *span = pair.iter().sum();
            }
        }
        self.spans[(states / self.span) as usize] += 1;
    }

    /// The visits during each tenth of so many states, about.
    fn tenths(&self, states: u64) -> [u64; 10] {
        let mut tenths = [0; 10];
        for (number, visits) in self.spans.iter().enumerate() {
            let begin = number as u64 * self.span;
            let tenth = u128::from(begin) * 10 / u128::from(states.max(1));
            tenths[(tenth as usize).min(9)] += visits;
        }
        tenths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_are_counted_by_tenths_of_the_states_however_many_there_are() {
        let mut visits = Visits::default();
        (0..10_000).for_each(|state| visits.note(state));
        assert_eq!(visits.count, 10_000);
        let tenths = visits.tenths(10_000);
        assert_eq!(tenths.iter().sum::<u64>(), 10_000);
        assert!(tenths.iter().all(|tenth| (800..1200).contains(tenth)), "{tenths:?}");
        (0..500).for_each(|_| visits.note(9_999));
        assert!(visits.tenths(10_000)[9] > 1200);
    }
}
