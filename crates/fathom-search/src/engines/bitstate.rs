//! Policy of searches that go deep first: a few bits per state, and no record.
//!
//! G. J. Holzmann, "An improved protocol reachability analysis technique", Software: Practice and Experience 18(2), 1988, and
//! "An analysis of bitstate hashing", Formal Methods in System Design 13, 1998. A state is thought to be known if all its bits are set, so some states are
//! missed: the search finds violations, and proves nothing.
//!
//! **Memory** follows the states: filters one after the other, each four times as large as the one before (P. S. Almeida et al., "Scalable Bloom filters",
//! Information Processing Letters 101, 2007). A state's bits are in the filter that was the newest when it was met, all of them in one cache line (F. Putze et al., "Cache-, hash- and
//! space-efficient Bloom filters", WEA 2007). Filters that are followed by another hold a state for each 32 bits and have six bits per state; the last one holds
//! everything that is still to come, with three bits per state, which is best when it becomes far too small.
//!
//! **Batches.** States come many at a time (`bodies::dive`), and are looked up together: the lines of all in the newest filter are asked for, then looked at; those that are not there are asked for in the next one. So a search
//! waits for memory once for many states, and what is known, which is mostly in the newest filter, costs one line.
//!
//! **Estimate.** A new state is missed with the probability `p` that one of the filters has all its bits. Each filter knows its part of that: the mean over its lines of `f^6` or `f^3`, where
//! `f` of the bits of a line are set. So between two insertions `p / (1 - p)`
//! states are missed on average, and the sum of that over all insertions tells how many of the states that the search met were missed. What
//! lies behind missed states alone was never met: with `d` steps leading to a state on average, that is a fraction `(1 - c)^d` of all,
//! where `c` is the fraction of states that were visited. The estimate is good to a tenth while `p` is less than [`MISSED_GOOD`]; beyond that
//! it is too high.

mod filter;

use fathom_disk::budget::Budget;
use fathom_disk::hash::{hash_key, hash_word};
use fathom_model::record::Records;

use self::filter::{Density, Filter, Places};
use super::engine::{AskRuns, Body, Engine, Files, Run, Threads};
use super::ndfs;
use crate::error::SearchError;
use crate::liveness::on_the_fly::Outcome;
use crate::stores::visited::{Colour, Insertion, PerColour, StoreFigures, Visited};

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "bitstate",
    help: "Deep first with a few bits per state: quick, misses states, never proves that something holds",
    search: "deep first, misses states",
    memory: "4 bytes; 3 bits when memory is full",
    io: "none",
    certificate: "none: proves nothing",
    origin: "Holzmann 1988, 1998: a quick hunt for violations",
    threads: Threads::One,
    files: Files::None,
    resumes: false,
    revisits: false,
    body: Body::DepthFirst,
    layers: false,
    stores: &[],
    options: &[],
    run: Run::Lossy(on_the_fly),
};

/// Looks for accepting runs as the registry asks.
fn on_the_fly(ask: &AskRuns<'_>) -> Result<Outcome, SearchError> {
    let budget = ask.room.budget();
    // The rest is for the stacks, and for the run that is told.
    let bits = || Bitstate::new(budget, budget.limit() / 4);
    let mut visited = PerColour([bits()?, bits()?]);
    ndfs::run(ask.system, &mut visited, ask.room, &ndfs::Settings::of(ask), ask.observer)
}

/// The policy.
#[derive(Debug)]
pub struct Bitstate {
    /// The newest last; at least one.
    filters: Vec<Filter>,
    budget: Budget,
    /// The most bytes of all filters together.
    bytes_max: usize,
    /// The probability that none of the filters before the newest has all bits of a new state.
    clear_before: f64,
    inserted: u64,
    /// How many states were missed, on average.
    missed: f64,
    /// A record that no filter had a moment ago: a depth-first search enters the first new state of a batch next, and needs not ask again.
    absent: Option<Places>,
}

/// The probability that a new state is missed up to which the estimate is good.
pub const MISSED_GOOD: f64 = 0.34;
/// Bytes of the first filter, if there is memory for more: it lies in the cache, and what is not touched of it is not resident.
const FIRST_BYTES: usize = 2 << 20;
/// How many times as large as the newest filter the next one is. Twice as large: half of the lookups of a new state go to filters outside of the cache for nothing; eight times: most memory is empty.
const GROWTH: usize = 4;

impl Bitstate {
    /// Takes up to so many bytes for bits (at least a cache line), as they are needed.
    pub fn new(budget: &Budget, bytes: usize) -> Result<Bitstate, SearchError> {
        let mut bits = Bitstate {
            filters: Vec::new(),
            budget: budget.clone(),
            bytes_max: bytes,
            clear_before: 1.0,
            inserted: 0,
            missed: 0.0,
            absent: None,
        };
        let (size, density) = bits.next_size(0, 0).unwrap_or((bytes, Density::Single));
        bits.filters.push(Filter::new(budget, size, density)?);
        Ok(bits)
    }

    /// How many states there are, about, if a search has inserted these and made so many steps from them.
    pub fn estimate(&self, transitions: u64) -> u64 {
        if self.inserted == 0 {
            return 0;
        }
        let inserted = self.inserted as f64;
        let kept = inserted / (inserted + self.missed);
        let degree = transitions as f64 / inserted;
        (inserted / visited_fraction(kept, degree)).round() as u64
    }

    /// The probability that a state that is new now is thought to be known.
    pub fn probability_missed(&self) -> f64 {
        1.0 - self.clear_before * (1.0 - self.newest().probability())
    }

    fn newest(&self) -> &Filter {
        self.filters.last().expect("there is a filter")
    }

    /// The bytes of the next filter and how dense it is, where so many are held and the newest has so many; none if the newest is the last.
    fn next_size(&self, held: usize, newest: usize) -> Option<(usize, Density)> {
        let wanted = newest.saturating_mul(GROWTH).max(FIRST_BYTES);
        let rest = self.bytes_max.saturating_sub(held);
        if rest / 2 >= wanted {
            // There would be room for another as large.
            Some((wanted, Density::Pairs))
        } else {
            (rest > newest).then_some((rest, Density::Single))
        }
    }

    /// Adds a filter if the newest holds what it is to hold and there is memory.
    fn grow(&mut self) {
        let held = self.filters.iter().map(Filter::bytes).sum();
        let newest = self.newest();
        let next = self.next_size(held, newest.bytes());
        let filter = next.and_then(|(size, density)| Filter::new(&self.budget, size, density).ok());
        match filter {
            Some(filter) => {
                self.clear_before *= 1.0 - newest.probability();
                self.filters.push(filter);
            }
            // It holds the rest, too.
            None => self.filters.last_mut().expect("there is a filter").hold_all(),
        }
    }

    /// Some records as candidates, whose numbers begin there. Their lines in the newest filter, which has most states, are asked for.
    fn candidates<'c>(
        &self,
        records: Records<'_>,
        first: u32,
        candidates: &'c mut [Candidate; TOGETHER],
    ) -> &'c mut [Candidate] {
        let newest = self.newest();
        for ((number, record), candidate) in (first..).zip(records.iter()).zip(candidates.iter_mut()) {
            *candidate = Candidate { number, places: places(record) };
            newest.prefetch(candidate.places);
        }
        &mut candidates[..records.len()]
    }

    /// Keeps the candidates that no filter has, first and in order; says how many they are. What one filter does not have is asked for in the next, all of it before the first is looked at.
    fn keep_absent(&self, candidates: &mut [Candidate]) -> usize {
        let mut left = candidates.len();
        for (number, filter) in self.filters.iter().enumerate().rev() {
            let mut kept = 0;
            for place in 0..left {
                let candidate = candidates[place];
                candidates[kept] = candidate;
                kept += usize::from(!filter.has(candidate.places));
            }
            left = kept;
            if let Some(next) = number.checked_sub(1).map(|next| &self.filters[next]) {
                candidates[..left].iter().for_each(|candidate| next.prefetch(candidate.places));
            }
        }
        left
    }

    /// Sets the bits of a state that no filter had a moment ago. True if one was clear.
    fn insert_absent(&mut self, places: Places) -> bool {
        let probability = self.probability_missed();
        let new = self.filters.last_mut().expect("there is a filter").insert(places);
        if new {
            self.inserted += 1;
            self.missed += probability / (1.0 - probability);
        }
        new
    }

    /// Inserts a few records whose numbers begin there, and appends the numbers of the new ones. The newest filter may take a few more than it is to hold: no filter is added before all are in.
    fn insert_some(&mut self, records: Records<'_>, first: u32, new: &mut Vec<u32>) {
        let mut candidates = [Candidate::default(); TOGETHER];
        let candidates = self.candidates(records, first, &mut candidates);
        let known_absent =
            self.absent.take().is_some_and(|absent| matches!(candidates, [only] if only.places == absent));
        let left = if known_absent { 1 } else { self.keep_absent(candidates) };
        for candidate in &candidates[..left] {
            if self.insert_absent(candidate.places) {
                new.push(candidate.number);
            }
        }
        if self.newest().is_full() {
            self.grow();
        }
    }
}

/// A record that may be new.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    number: u32,
    places: Places,
}

/// So many records are looked up together at most.
const TOGETHER: usize = 64;

/// Some records at a time, each time with the number of the first.
fn few_at_a_time(records: Records<'_>) -> impl Iterator<Item = (u32, Records<'_>)> {
    (0..records.len()).step_by(TOGETHER).map(move |first| {
        let rest = records.skip(first);
        (first as u32, rest.take(rest.len().min(TOGETHER)))
    })
}

/// Where the bits of a record are.
#[inline]
fn places(record: &[u64]) -> Places {
    let line = hash_key(record);
    Places { line, bits: hash_word(line ^ 0x5851_f42d_4c95_7f2d) }
}

impl Visited for Bitstate {
    fn insert_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        new: &mut Vec<u32>,
    ) -> Result<Insertion, SearchError> {
        few_at_a_time(records).for_each(|(first, some)| self.insert_some(some, first, new));
        Ok(Insertion::All)
    }

    fn contains_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        present: &mut Vec<u32>,
    ) -> Result<(), SearchError> {
        self.absent = None;
        for (first, some) in few_at_a_time(records) {
            let mut candidates = [Candidate::default(); TOGETHER];
            let candidates = self.candidates(some, first, &mut candidates);
            let left = self.keep_absent(candidates);
            let mut absent = candidates[..left].iter().peekable();
            self.absent = self.absent.or(absent.peek().map(|candidate| candidate.places));
            let all = first..first + some.len() as u32;
            present.extend(all.filter(|number| absent.next_if(|absent| absent.number == *number).is_none()));
        }
        Ok(())
    }

    fn prepare(&self, _colour: Colour, records: Records<'_>) {
        for places in records.iter().map(places) {
            self.filters.iter().rev().take(PREFETCHED).for_each(|filter| filter.prefetch(places));
        }
    }

    fn figures(&self) -> StoreFigures {
        let memory = self.filters.iter().map(|filter| filter.bytes() as u64).sum();
        StoreFigures { records: self.inserted, memory, files: 0, lossy: true }
    }
}

/// Of how many filters the lines are asked for of records that will be looked up in a moment: smaller ones are in the cache.
const PREFETCHED: usize = 3;

/// The fraction `c` of states that were visited: met by a step from a visited state, and then kept.
fn visited_fraction(kept: f64, degree: f64) -> f64 {
    let mut fraction = kept;
    for _ in 0..200 {
        fraction = kept * (1.0 - (1.0 - fraction).powf(degree.max(1.0)));
        // Below this the model says nothing.
        fraction = fraction.max(kept * 1e-3);
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts so many records, all different, twice in each batch; gives how many were new.
    fn insert_all(bits: &mut Bitstate, records: u64) -> u64 {
        let mut kept = 0;
        for first in (0..records).step_by(100) {
            let some =
                (first..records.min(first + 100)).flat_map(|record| [record, record ^ 7, record, record ^ 7]);
            let (words, mut new) = (some.collect::<Vec<u64>>(), Vec::new());
            let inserted = bits.insert_batch(Colour::FIRST, Records::new(&words, 2), &mut new);
            assert_eq!(inserted.expect("it never fails"), Insertion::All);
            assert!(new.iter().all(|number| number % 2 == 0), "the second of two is known");
            kept += new.len() as u64;
        }
        kept
    }

    #[test]
    fn memory_follows_the_states_and_nothing_is_forgotten() {
        let budget = Budget::new(96 << 20);
        let mut bits = Bitstate::new(&budget, 96 << 20).expect("there is memory");
        assert!(bits.figures().memory <= 2 << 20, "{}", bits.figures().memory);
        let records = 3_000_000;
        let kept = insert_all(&mut bits, records);
        assert!(bits.filters.len() >= 3, "{}", bits.filters.len());
        assert!(bits.figures().memory <= 48 << 20 && budget.used() as u64 == bits.figures().memory);
        assert_eq!(insert_all(&mut bits, records), 0, "none is new any more");
        // What was missed is near what is estimated: the bits of a state are not quite independent.
        let missed = (records - kept) as f64;
        assert!(missed < records as f64 / 2_000.0, "{missed}");
        assert!(bits.missed > missed / 3.0 && bits.missed < missed * 3.0 + 10.0, "{missed}, {}", bits.missed);
    }

    #[test]
    fn the_last_filter_takes_what_comes() {
        let budget = Budget::new(6 << 20);
        let mut bits = Bitstate::new(&budget, 5 << 20).expect("there is memory");
        let records = 4_000_000;
        let kept = insert_all(&mut bits, records);
        assert!(bits.filters.len() == 2 && budget.peak() <= 5 << 20);
        let estimate = kept as f64 + bits.missed;
        assert!((estimate / records as f64 - 1.0).abs() < 0.1, "{kept} kept, {} missed", bits.missed);
        // Less than a line, and memory that others hold.
        assert!(Bitstate::new(&Budget::new(128), 1).is_ok() && Bitstate::new(&Budget::new(64), 1).is_err());
        let taken = budget.charge("other", budget.free()).expect("it is free");
        let mut bits = Bitstate::new(&Budget::new(3 << 20), 64 << 20).expect("a filter fits");
        assert!(insert_all(&mut bits, 1_000_000) > 900_000, "it goes on with what it has");
        drop(taken);
    }
}
