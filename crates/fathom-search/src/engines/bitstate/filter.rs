//! Which bits of one filter are a state's, and how likely is it that a new state finds all of them set?
//!
//! A filter is an array of lines, as wide as those of the processor's cache. A state has one bit, or two, in each of three words of its line; the last word of a line counts how many bits of the others are set.

use fathom_disk::budget::{Budget, BudgetError, Charge};
use fathom_disk::intrinsics::prefetch;

/// A Bloom filter whose keys have all their bits in one line.
#[derive(Debug)]
pub(super) struct Filter {
    /// The lines, from `start` on.
    words: Vec<u64>,
    start: usize,
    lines: usize,
    density: Density,
    inserted: u64,
    /// How many states it is to hold.
    room: u64,
    /// The probability that all bits of a state are set, and what a line counts for in it.
    probability: f64,
    line_part: f64,
    charge: Charge,
}

/// How many bits a state has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Density {
    /// Six.
    Pairs,
    /// Three.
    Single,
}

/// Where the bits of a state are, whatever the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Decides on the line.
    pub(super) line: u64,
    /// Twenty bits for each word decide on the word and on the bits.
    pub(super) bits: u64,
}

/// Bits of a filter for each state that it holds before there is another. One in 20,000 new states is missed when it is left, and of all states one in 14,000 (peterson.4); with half as many bits, one in 700.
const STATE_BITS: usize = 32;
const LINE_WORDS: usize = 8;
const LINE_BYTES: usize = LINE_WORDS * 8;
/// The words of a line that states have bits in. The one behind them counts.
const WORDS: usize = LINE_WORDS - 1;

type Line = [u64; LINE_WORDS];

impl Filter {
    /// An empty filter of about so many bytes, at least one line.
    pub(super) fn new(budget: &Budget, bytes: usize, density: Density) -> Result<Filter, BudgetError> {
        let lines = (bytes / LINE_BYTES).saturating_sub(1).max(1);
        // One line more than is used, since the allocation begins anywhere in a line.
        let words = (lines + 1) * LINE_WORDS;
        let charge = budget.charge("bits", words * 8)?;
        // Fresh zeroes come from the system untouched: what is never set is never resident.
        let words = vec![0; words];
        let start = words.as_ptr().align_offset(LINE_BYTES).min(LINE_WORDS);
        let room = (lines * LINE_BYTES * 8 / STATE_BITS) as u64;
        let line_part = 1.0 / lines as f64;
        Ok(Filter { words, start, lines, density, inserted: 0, room, probability: 0.0, line_part, charge })
    }

    /// Bytes of memory.
    pub(super) fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// Whether it holds what it is to hold.
    pub(super) fn is_full(&self) -> bool {
        self.inserted >= self.room
    }

    /// From now on it is never full.
    pub(super) fn hold_all(&mut self) {
        self.room = u64::MAX;
    }

    /// The probability that a state that was not inserted finds all its bits set.
    pub(super) fn probability(&self) -> f64 {
        self.probability
    }

    /// Whether all bits of a state are set.
    #[inline]
    pub(super) fn has(&self, places: Places) -> bool {
        let line: &Line =
            self.words[self.first_word(places)..].first_chunk().expect("a place is the first word of a line");
        let absent = |word: usize| {
            let (place, mask) = self.density.mask(places, word);
            mask & !line[place]
        };
        absent(0) | absent(1) | absent(2) == 0
    }

    /// Sets the bits of a state; false if all were set before, and it is not counted.
    #[inline]
    pub(super) fn insert(&mut self, places: Places) -> bool {
        let first = self.first_word(places);
        let line: &mut Line =
            self.words[first..].first_chunk_mut().expect("a place is the first word of a line");
        let before = line[WORDS];
        for word in 0..3 {
            let (place, mask) = self.density.mask(places, word);
            line[WORDS] += u64::from((mask & !line[place]).count_ones());
            line[place] |= mask;
        }
        let after = line[WORDS];
        self.probability +=
            self.line_part * (self.density.probability(after) - self.density.probability(before));
        self.inserted += u64::from(after > before);
        after > before
    }

    /// Asks for the line of a state.
    #[inline]
    pub(super) fn prefetch(&self, places: Places) {
        prefetch(&self.words, self.first_word(places));
    }

    #[inline]
    fn first_word(&self, places: Places) -> usize {
        let line = (u128::from(places.line) * self.lines as u128) >> 64;
        self.start + line as usize * LINE_WORDS
    }
}

impl Density {
    /// A word of a line, and the bits of a state in it.
    #[inline]
    fn mask(self, places: Places, word: usize) -> (usize, u64) {
        let bits = places.bits >> (20 * word);
        let second = match self {
            Density::Pairs => 1 << (bits >> 6 & 63),
            Density::Single => 0,
        };
        let place = ((bits >> 12 & 255) as usize * WORDS) >> 8;
        (place, 1 << (bits & 63) | second)
    }

    /// The probability that all bits of a state are set in a line where so many are.
    fn probability(self, set: u64) -> f64 {
        let part = set as f64 / (WORDS * 64) as f64;
        let cube = part * part * part;
        match self {
            Density::Pairs => cube * cube,
            Density::Single => cube,
        }
    }
}
