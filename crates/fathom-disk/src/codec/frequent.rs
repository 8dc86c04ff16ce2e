//! Which gaps of a block are so frequent that a short name for them pays?
//!
//! Every distinct gap of one word has a number, from 1 on, in order of appearance; 0 stands for all longer ones. Numbers come from an open-addressed table, once per key; what a codec says about
//! a gap after that, it says about its number. Memory: about 20 bytes per key of the block.

use super::gaps;
use crate::key::KeyWidth;

/// The number of all gaps that are longer than one word.
pub(super) const LONG: u16 = 0;
/// Numbers fit so many bits; what is above them says what a name saves.
const NUMBER_BITS: u32 = 15;
/// The most that a name can be said to save; two that save more are equals.
const SAVED_MAX: i64 = (1 << (32 - NUMBER_BITS)) - 1;

/// Gaps of a block with their counts; reused from block to block.
#[derive(Debug)]
pub(super) struct FrequentGaps {
    /// By number: the gap, and how often it comes or, later, what a codec writes for it.
    gaps: Vec<u64>,
    counts: Vec<u16>,
    /// How many numbers are given, that of long gaps among them.
    distinct: usize,
    /// By place in the block: the number of the gap.
    numbers: Vec<u16>,
    /// Per slot: 0 if free, else a number.
    slots: Vec<u16>,
    /// Gaps worth a name: how far what they save is from the most, and below that their number.
    worth: Vec<u32>,
}

impl FrequentGaps {
    /// Bytes taken by a table for blocks of `keys_max` keys.
    pub(super) fn bytes(keys_max: usize) -> usize {
        (keys_max + 1) * (8 + 2) + keys_max * 2 + slots(keys_max) * 2 + keys_max / 2 * 4
    }

    pub(super) fn new(keys_max: usize) -> Self {
        // A block has one gap less than keys.
        assert!(keys_max <= 1 << NUMBER_BITS, "numbers fit their bits");
        Self {
            gaps: vec![0; keys_max + 1],
            counts: vec![0; keys_max + 1],
            distinct: 1,
            numbers: Vec::with_capacity(keys_max),
            slots: vec![0; slots(keys_max)],
            worth: Vec::with_capacity(keys_max / 2),
        }
    }

    /// Numbers and counts the gaps of a block, in place of those of the last one.
    pub(super) fn count(&mut self, width: KeyWidth, keys: &[u64]) {
        self.slots.fill(0);
        self.counts.fill(0);
        self.numbers.clear();
        self.distinct = 1;
        match width.words() {
            1 => self.count_all(gaps::gaps_one(keys)),
            2 => self.count_all(gaps::gaps_two(keys)),
            _ => self.count_all(gaps::gaps_many(width, keys)),
        }
    }

    #[inline(always)]
    fn count_all(&mut self, all: impl Iterator<Item = Option<u64>>) {
        let Self { gaps, counts, distinct, numbers, slots, .. } = self;
        numbers.extend(all.map(|gap| {
            let number = gap.map_or(LONG, |gap| number_of(gap, gaps, distinct, slots));
            counts[usize::from(number)] += 1;
            number
        }));
    }

    /// By place in the block: the number of the gap.
    pub(super) fn numbers(&self) -> &[u16] {
        &self.numbers
    }

    /// The gap of that number.
    pub(super) fn gap(&self, number: u16) -> u64 {
        self.gaps[usize::from(number)]
    }

    /// What is written for the gap of that number.
    pub(super) fn code(&self, number: u16) -> u8 {
        self.counts[usize::from(number)] as u8
    }

    /// Says what is written for long gaps, and for each other one that has no name. From here on nothing is counted.
    pub(super) fn set_codes(&mut self, long: u8, code: impl Fn(u64) -> u8) {
        for (coded, &gap) in self.counts.iter_mut().zip(&self.gaps[..self.distinct]) {
            *coded = u16::from(code(gap));
        }
        self.set_code(LONG, long);
    }

    /// Says what is written for the gap of that number.
    pub(super) fn set_code(&mut self, number: u16, code: u8) {
        self.counts[usize::from(number)] = u16::from(code);
    }

    /// Numbers of the at most `most` gaps that save most, where naming one saves `saved(gap)` bytes each time and costs
    /// `cost(gap)` once; best first, and of equals the one that came first.
    pub(super) fn choose(
        &mut self,
        most: usize,
        saved: impl Fn(u64) -> i64,
        cost: impl Fn(u64) -> i64,
    ) -> impl Iterator<Item = u16> {
        let Self { gaps, counts, distinct, worth, .. } = self;
        worth.clear();
        for number in 1..*distinct {
            let saves = i64::from(counts[number]) * saved(gaps[number]) - cost(gaps[number]);
            if counts[number] > 1 && saves > 0 {
                worth.push(((SAVED_MAX - saves.min(SAVED_MAX)) as u32) << NUMBER_BITS | number as u32);
            }
        }
        if worth.len() > most {
            worth.select_nth_unstable(most);
            worth.truncate(most);
        }
        worth.sort_unstable();
        worth.iter().map(|entry| (entry & ((1 << NUMBER_BITS) - 1)) as u16)
    }
}

/// The number of a gap, which is given now if it has none. There is always a free slot: twice as many as keys.
#[inline(always)]
fn number_of(gap: u64, gaps: &mut [u64], distinct: &mut usize, slots: &mut [u16]) -> u16 {
    let mask = slots.len() - 1;
    let mut slot = (gap.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & mask;
    loop {
        let number = slots[slot];
        if number == 0 {
            slots[slot] = *distinct as u16;
            gaps[*distinct] = gap;
            *distinct += 1;
            return slots[slot];
        }
        if gaps[usize::from(number)] == gap {
            return number;
        }
        slot = (slot + 1) & mask;
    }
}

fn slots(keys_max: usize) -> usize {
    (keys_max * 2).next_power_of_two().max(2)
}
