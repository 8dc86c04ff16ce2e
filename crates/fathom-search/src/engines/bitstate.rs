//! Policy of the depth-first search: three bits per state, and no record.
//!
//! G. J. Holzmann, "An improved protocol reachability analysis technique", Software: Practice and Experience 18(2), 1988, and
//! "An analysis of bitstate hashing", Formal Methods in System Design 13, 1998. A state is thought to be known if all its bits are set, so some states are
//! missed: the search finds violations, and proves nothing.
//!
//! **Estimate.** When a fraction `f` of the bits is set, a new state is missed with probability `p = f^3`; so between two insertions `p / (1 - p)`
//! states are missed on average, and the sum of that over all insertions tells how many of the states that the search met were missed. What
//! lies behind missed states alone was never met: with `d` steps leading to a state on average, that is a fraction `(1 - c)^d` of all,
//! where `c` is the fraction of states that were visited. The estimate is good to a tenth while less than [`FILL_GOOD`] of the bits are set; beyond that
//! it is too high. Memory: the bits, charged at once.

use fathom_disk::budget::{Budget, Charge};
use fathom_disk::hash::{hash_key, hash_word};
use fathom_model::record::Records;

use super::engine::{AskRuns, Body, Engine, Files, Run, Threads};
use super::ndfs;
use crate::error::SearchError;
use crate::liveness::on_the_fly::Outcome;
use crate::stores::visited::{Colour, Insertion, PerColour, StoreFigures, Visited, insert_each};

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "bitstate",
    help: "Depth-first with three bits per state: quick, misses states, never proves that something holds",
    search: "depth-first, misses states",
    memory: "3 bits",
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
    bits: Vec<u64>,
    _charge: Charge,
    /// How many bits are set.
    set: u64,
    inserted: u64,
    /// How many states were missed, on average.
    missed: f64,
}

/// The part of the bits up to which the estimate is good.
pub const FILL_GOOD: f64 = 0.7;
/// Bits per state.
const BITS: u32 = 3;

impl Bitstate {
    /// Takes so many bytes for bits (at least 8).
    pub fn new(budget: &Budget, bytes: usize) -> Result<Bitstate, SearchError> {
        let words = (bytes / 8).max(1);
        let charge = budget.charge("bits", words * 8)?;
        // Fresh zeroes come from the system untouched: what is never set is never resident.
        Ok(Bitstate { bits: vec![0; words], _charge: charge, set: 0, inserted: 0, missed: 0.0 })
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

    /// The part of the bits that is set.
    pub fn fill(&self) -> f64 {
        self.set as f64 / (self.bits.len() as f64 * 64.0)
    }

    /// The bits of a record: which word, and which bit of it.
    fn places(&self, record: &[u64]) -> [(usize, u64); BITS as usize] {
        let first = hash_key(record);
        // Odd, so that the three places are spread whatever the number of bits.
        let step = hash_word(first ^ 0x5851_f42d_4c95_7f2d) | 1;
        let count = self.bits.len() as u128 * 64;
        std::array::from_fn(|number| {
            let hash = first.wrapping_add(step.wrapping_mul(number as u64));
            let place = ((u128::from(hash) * count) >> 64) as u64;
            ((place / 64) as usize, 1 << (place % 64))
        })
    }

    /// Sets the bits of a record. True if one was clear.
    fn insert(&mut self, record: &[u64]) -> bool {
        let probability = self.fill().powi(BITS as i32);
        let mut fresh = 0;
        for (word, bit) in self.places(record) {
            fresh += u64::from(self.bits[word] & bit == 0);
            self.bits[word] |= bit;
        }
        if fresh == 0 {
            return false;
        }
        self.set += fresh;
        self.inserted += 1;
        self.missed += probability / (1.0 - probability);
        true
    }
}

impl Visited for Bitstate {
    fn insert_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        new: &mut Vec<u32>,
    ) -> Result<Insertion, SearchError> {
        insert_each(records, new, |record| Ok(self.insert(record)))
    }

    fn contains_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        present: &mut Vec<u32>,
    ) -> Result<(), SearchError> {
        let is_set = |(word, bit): &(usize, u64)| self.bits[*word] & bit != 0;
        let there = |record: &[u64]| self.places(record).iter().all(is_set);
        present.extend((0..).zip(records.iter()).filter(|(_, record)| there(record)).map(|(place, _)| place));
        Ok(())
    }

    fn figures(&self) -> StoreFigures {
        StoreFigures { records: self.inserted, memory: self.bits.len() as u64 * 8, files: 0, lossy: true }
    }
}

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
