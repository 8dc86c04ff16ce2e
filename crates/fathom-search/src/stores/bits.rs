//! What is known of each of many numbers, in a bit or two?
//!
//! Several threads may set bits at one time: each is told whether it was the first. Passes end before what others have set is relied on, so only the order of accesses to one
//! word matters.
//!
//! Memory: one or two bits per number, charged, and rounded up to words.

use std::sync::atomic::{AtomicU64, Ordering};

use fathom_disk::budget::{Budget, ChargedVec};

use crate::error::SearchError;

/// A bit for each number below a count.
#[derive(Debug)]
pub struct Bits(ChargedVec<AtomicU64>);

/// Whether a number was scanned, and whether it was reached: both in one word, so that two threads that set one each agree on who came first.
#[derive(Debug)]
pub(crate) struct Progress(ChargedVec<AtomicU64>);

/// Numbers in a word of [`Progress`].
const PAIRS: u64 = 32;
const SCANNED: u64 = 1;
const REACHED: u64 = 2;
/// The bits that say that a number was reached, of all in a word.
const ALL_REACHED: u64 = 0xaaaa_aaaa_aaaa_aaaa;

impl Bits {
    /// All of them clear, or all set.
    pub fn new(budget: &Budget, count: u64, set: bool) -> Result<Bits, SearchError> {
        let words = zeroed(budget, count.div_ceil(64))?;
        let mut bits = Bits(words);
        if set {
            bits.0.iter_mut().for_each(|word| *word.get_mut() = u64::MAX);
            if let Some(last) = bits.0.last_mut().filter(|_| !count.is_multiple_of(64)) {
                *last.get_mut() = (1 << (count % 64)) - 1;
            }
        }
        Ok(bits)
    }

    /// Whether a bit is set.
    #[inline]
    pub fn get(&self, number: u64) -> bool {
        self.0[(number / 64) as usize].load(Ordering::Relaxed) >> (number % 64) & 1 == 1
    }

    /// Sets a bit; true if it was clear.
    #[inline]
    pub fn set(&self, number: u64) -> bool {
        // Mostly it is set already, and a look costs less than a change.
        !self.get(number) && {
            let bit = 1 << (number % 64);
            self.0[(number / 64) as usize].fetch_or(bit, Ordering::Relaxed) & bit == 0
        }
    }

    /// Clears a bit; true if it was set.
    #[inline]
    pub fn clear(&self, number: u64) -> bool {
        let bit = 1 << (number % 64);
        self.0[(number / 64) as usize].fetch_and(!bit, Ordering::Relaxed) & bit != 0
    }

    /// Clears all bits.
    pub fn clear_all(&mut self) {
        self.0.iter_mut().for_each(|word| *word.get_mut() = 0);
    }

    /// How many are set.
    pub fn count(&self) -> u64 {
        self.words().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Clears what is set in another.
    pub fn subtract(&mut self, other: &Bits) {
        self.0.iter_mut().zip(other.words()).for_each(|(word, other)| *word.get_mut() &= !other);
    }

    /// Sets what is set in another, and nothing else.
    pub fn copy_from(&mut self, other: &Bits) {
        self.0.iter_mut().zip(other.words()).for_each(|(word, other)| *word.get_mut() = other);
    }

    /// The bits, 64 to a word, the first in the lowest bit.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|word| word.load(Ordering::Relaxed))
    }

    /// Sets all bits as the words say, which are as many as there are; false if they are not.
    pub(crate) fn fill(
        &mut self,
        words: &mut dyn FnMut() -> Result<Option<u64>, SearchError>,
    ) -> Result<bool, SearchError> {
        for word in self.0.iter_mut() {
            let Some(next) = words()? else { return Ok(false) };
            *word.get_mut() = next;
        }
        Ok(words()?.is_none())
    }

    /// Clears what was not reached.
    pub(crate) fn keep_reached(&mut self, progress: &Progress) {
        let reached = |half: u64| {
            // Every second bit, moved together.
            let mut bits = (half & ALL_REACHED) >> 1;
            for (shift, mask) in [
                (1, 0x3333_3333_3333_3333),
                (2, 0x0f0f_0f0f_0f0f_0f0f),
                (4, 0x00ff_00ff_00ff_00ff),
                (8, 0x0000_ffff_0000_ffff),
                (16, 0x0000_0000_ffff_ffff),
            ] {
                bits = (bits | bits >> shift) & mask;
            }
            bits
        };
        let mut halves = progress.0.iter().map(|word| reached(word.load(Ordering::Relaxed)));
        for word in self.0.iter_mut() {
            let (low, high) = (halves.next().unwrap_or(0), halves.next().unwrap_or(0));
            *word.get_mut() &= low | high << 32;
        }
    }
}

impl Progress {
    /// Nothing scanned, nothing reached.
    pub(crate) fn new(budget: &Budget, count: u64) -> Result<Progress, SearchError> {
        Ok(Progress(zeroed(budget, count.div_ceil(PAIRS))?))
    }

    /// Notes that a number was scanned; says whether it had been reached before.
    #[inline]
    pub(crate) fn scan(&self, number: u64) -> bool {
        self.note(number, SCANNED) & REACHED != 0
    }

    /// Notes that a number was reached, and is to be scanned again if it was scanned before: true in that case, and then nobody else will find it. Nothing changes where it was reached before.
    #[inline]
    pub(crate) fn reach(&self, number: u64) -> bool {
        if self.is_reached(number) {
            return false;
        }
        let shift = number % PAIRS * 2;
        let anew = |word: u64| {
            (word >> shift & REACHED == 0).then_some((word | REACHED << shift) & !(SCANNED << shift))
        };
        let word = &self.0[(number / PAIRS) as usize];
        word.try_update(Ordering::Relaxed, Ordering::Relaxed, anew)
            .is_ok_and(|word| word >> shift & SCANNED != 0)
    }

    #[inline]
    pub(crate) fn is_scanned(&self, number: u64) -> bool {
        self.0[(number / PAIRS) as usize].load(Ordering::Relaxed) >> (number % PAIRS * 2) & SCANNED != 0
    }

    #[inline]
    pub(crate) fn is_reached(&self, number: u64) -> bool {
        let word = self.0[(number / PAIRS) as usize].load(Ordering::Relaxed);
        word >> (number % PAIRS * 2) & REACHED != 0
    }

    /// Sets a bit of a number and gives what both were before.
    #[inline]
    fn note(&self, number: u64, bit: u64) -> u64 {
        let shift = number % PAIRS * 2;
        self.0[(number / PAIRS) as usize].fetch_or(bit << shift, Ordering::Relaxed) >> shift & 3
    }
}

/// So many words, all 0.
pub(crate) fn zeroed(budget: &Budget, words: u64) -> Result<ChargedVec<AtomicU64>, SearchError> {
    let mut bits = ChargedVec::with_capacity(budget, "bits", words as usize)?;
    for _ in 0..words {
        bits.push(AtomicU64::new(0))?;
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_and_subtracted() {
        let budget = Budget::unlimited();
        for count in [0u64, 1, 63, 64, 65, 200] {
            let mut all = Bits::new(&budget, count, true).unwrap();
            assert_eq!(all.count(), count);
            let some = Bits::new(&budget, count, false).unwrap();
            for number in (0..count).step_by(3) {
                assert!(some.set(number) && !some.set(number));
            }
            assert_eq!(some.count(), count.div_ceil(3));
            all.subtract(&some);
            assert!((0..count).all(|number| all.get(number) != number.is_multiple_of(3)));
            assert!(count == 0 || some.clear(0) && !some.clear(0));
        }
    }

    #[test]
    fn what_was_reached_is_kept() {
        let budget = Budget::unlimited();
        for count in [1u64, 31, 32, 33, 64, 65, 200] {
            let progress = Progress::new(&budget, count).unwrap();
            for number in 0..count {
                match number % 4 {
                    0 => assert!(!progress.scan(number) && progress.reach(number) && !progress.reach(number)),
                    1 => assert!(!progress.reach(number) && progress.scan(number)),
                    2 => assert!(!progress.scan(number)),
                    _ => {}
                }
            }
            let mut bits = Bits::new(&budget, count, true).unwrap();
            bits.keep_reached(&progress);
            assert!((0..count).all(|number| bits.get(number) == (number % 4 < 2)), "{count}");
        }
    }
}
