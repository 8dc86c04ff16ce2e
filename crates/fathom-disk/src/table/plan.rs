//! Where should wide keys be cut, so that their pieces repeat?
//!
//! The wider a piece, the more distinct ones there are: of the pieces left of a cut there are more the further right it is, and of those right of it fewer. Where both are
//! about equally many, the larger of the two is smallest. That place is looked for in a sample of the keys, and once more within each half that still has many distinct
//! pieces. In the middle of the record it is not: in models the variables that change most lie together (in leader_election.4, of 867 bits, left of bit 105; cut there,
//! there are 0.08 distinct halves per state, cut in the middle 0.92).

use crate::budget::{Budget, BudgetError, ChargedVec};
use crate::hash::hash_key;

/// How pieces of one width are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// As they are.
    Whole,
    /// By their halves.
    Cut(Box<Cuts>),
}

/// Where a piece is cut, and how its halves are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cuts {
    pub(super) right_bits: u32,
    pub(super) left: Plan,
    pub(super) right: Plan,
}

/// Keys to plan by: of `bits` bits, right-aligned in words.
pub(super) struct Sample<'a> {
    pub(super) bits: u32,
    pub(super) keys: &'a [u64],
}

const OWNER: &str = "table sample";
/// A half is cut if there is more than one distinct one for so many keys: whole, a few words of each would then take a byte per key and more.
const HALVES_PART: usize = 32;
/// A piece of a half is cut only if nearly all keys differ in it: each level costs a look-up of every key.
const PIECES_PART: usize = 2;
/// Levels of cuts, at most.
const LEVELS_MAX: u32 = 4;

impl Cuts {
    /// The root and the halves cut in the middle, for who knows nothing of the keys.
    pub(super) fn in_the_middle(bits: u32) -> Cuts {
        let half = |bits: u32| {
            if bits <= 64 {
                Plan::Whole
            } else {
                Plan::Cut(Box::new(Cuts { right_bits: bits / 2, left: Plan::Whole, right: Plan::Whole }))
            }
        };
        Cuts { right_bits: bits / 2, left: half(bits - bits / 2), right: half(bits / 2) }
    }

    /// Cuts that pieces of the sample repeat with.
    pub(super) fn of(sample: &Sample<'_>, budget: &Budget) -> Result<Cuts, BudgetError> {
        let mut counter = Counter::new(sample, budget)?;
        Ok(counter.cuts(0, sample.bits, LEVELS_MAX))
    }

    /// Distinct halves of the sample on the side where there are more. In a sample hardly anything repeats on both sides of a good cut, and with more keys both get ever fewer for
    /// each of them; on one side of a bad one all are distinct however many there are. So their sum would tell the wrong way round.
    pub(super) fn most_halves(&self, sample: &Sample<'_>, budget: &Budget) -> Result<usize, BudgetError> {
        let mut counter = Counter::new(sample, budget)?;
        let right = counter.distinct(0, self.right_bits);
        Ok(right.max(counter.distinct(self.right_bits, sample.bits)))
    }
}

/// Counts distinct pieces of a sample.
struct Counter<'a> {
    sample: &'a Sample<'a>,
    words: usize,
    /// Hashes that were met, by their leading bits; 0 where there is none. Twice as many places as keys.
    places: ChargedVec<u64>,
}

impl<'a> Counter<'a> {
    fn new(sample: &'a Sample<'a>, budget: &Budget) -> Result<Counter<'a>, BudgetError> {
        let words = sample.bits.div_ceil(64) as usize;
        let places = (2 * sample.keys.len() / words).next_power_of_two().max(2);
        let mut counter =
            Counter { sample, words, places: ChargedVec::with_capacity(budget, OWNER, places)? };
        counter.places.resize(places, 0)?;
        Ok(counter)
    }

    /// Cuts of the bits from `low` up to `high`, counted from the least significant.
    fn cuts(&mut self, low: u32, high: u32, levels: u32) -> Cuts {
        let (mut least, mut most) = (low + 1, high - 1);
        while least < most {
            let middle = (least + most).div_ceil(2);
            // Right halves are the fewer, the lower they end.
            if self.distinct(low, middle) <= self.distinct(middle, high) {
                least = middle
            } else {
                most = middle - 1
            }
        }
        Cuts {
            right_bits: least - low,
            left: self.plan(least, high, levels - 1),
            right: self.plan(low, least, levels - 1),
        }
    }

    fn plan(&mut self, low: u32, high: u32, levels: u32) -> Plan {
        let keys = self.sample.keys.len() / self.words;
        let part = if levels == LEVELS_MAX - 1 { HALVES_PART } else { PIECES_PART };
        if high - low <= 64 || levels == 0 || self.distinct(low, high) <= keys / part {
            Plan::Whole
        } else {
            Plan::Cut(Box::new(self.cuts(low, high, levels)))
        }
    }

    /// How many distinct pieces there are between two bits. (Two may have the same hash: it is a plan that depends on it.)
    fn distinct(&mut self, low: u32, high: u32) -> usize {
        self.places.fill(0);
        let shift = 64 - self.places.len().ilog2();
        let mut piece = [0u64; 1 << 10];
        let mut count = 0;
        for key in self.sample.keys.chunks_exact(self.words) {
            let hash = hash_key(between(key, low, high, &mut piece)).max(1);
            let mut place = (hash >> shift) as usize;
            while self.places[place] != 0 && self.places[place] != hash {
                place = (place + 1) & (self.places.len() - 1);
            }
            count += usize::from(self.places[place] == 0);
            self.places[place] = hash;
        }
        count
    }
}

/// The words of a key that have its bits from `low` up to `high`, the others cleared.
fn between<'a>(key: &[u64], low: u32, high: u32, piece: &'a mut [u64]) -> &'a [u64] {
    let (first, end) = (key.len() - high.div_ceil(64) as usize, key.len() - (low / 64) as usize);
    let piece = &mut piece[..end - first];
    piece.copy_from_slice(&key[first..end]);
    piece[end - first - 1] &= u64::MAX << (low % 64);
    if high % 64 != 0 {
        piece[0] &= (1 << (high % 64)) - 1;
    }
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_cut_where_halves_repeat() {
        // Two counters of 8 bits, at bits 200 to 207 and 20 to 27 of 300: cut anywhere between them there are 256 halves on both sides.
        let keys: Vec<u64> =
            (0..1u64 << 16).flat_map(|number| [0, (number >> 8) << 8, 0, 0, (number & 0xff) << 20]).collect();
        let sample = Sample { bits: 300, keys: &keys };
        let budget = Budget::unlimited();
        let cuts = Cuts::of(&sample, &budget).unwrap();
        assert!((28..=200).contains(&cuts.right_bits), "{cuts:?}");
        assert_eq!(cuts.most_halves(&sample, &budget).unwrap(), 256);
        assert_eq!((&cuts.left, &cuts.right), (&Plan::Whole, &Plan::Whole));
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_sample_of_any_size_and_width_gives_a_plan() {
        for bits in [2u32, 64, 65, 129, 300, 2000] {
            for count in [0usize, 1, 2, 100] {
                let words = bits.div_ceil(64) as usize;
                let mut keys = vec![0u64; count * words];
                for (index, key) in keys.chunks_mut(words).enumerate() {
                    key[words - 1] = index as u64 & ((1 << bits.min(63)) - 1);
                }
                let cuts = Cuts::of(&Sample { bits, keys: &keys }, &Budget::unlimited()).unwrap();
                assert!(0 < cuts.right_bits && cuts.right_bits < bits, "{bits} bits, {count} keys: {cuts:?}");
            }
        }
    }
}
