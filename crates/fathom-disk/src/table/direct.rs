//! How does a set of keys spread over regions that grow one at a time?
//!
//! Keys are mixed (`mix.rs`); the leading bits of the mixed key name a region, the next ones a bucket, and only what is
//! left is stored. Regions grow alone, by a half or a third, so the memory held while growing exceeds the memory in use
//! by no more than one region.
//!
//! Invariant: `charge` covers the regions' bytes and the list of regions.

use super::layout::Widths;
use super::region::{Outcome, Region};
use super::{TABLE_OWNER, TableFull};
use crate::budget::{Budget, BudgetError, Charge};
use crate::mix::Mix;

/// Keys whose buckets are asked for before the first of them is looked at.
const BATCH: usize = 64;
/// Bytes of budget for which it pays to have one more region.
const BYTES_PER_REGION: usize = 64 * 1024;
const REGION_BITS_MAX: u32 = 6;
/// A region's product of value and multiplier must fit a word.
const VALUE_BITS_MAX: u32 = 62;

/// Set of keys stored whole, minus the bits that their address tells.
#[derive(Debug)]
pub(super) struct DirectTable {
    mix: Mix,
    words: usize,
    widths: Widths,
    /// Mixed leading bits that are the same for all keys of this table: how many, and what they are.
    prefix_bits: u32,
    prefix: u64,
    regions: Vec<Region>,
    len: usize,
    charge: Charge,
}

/// The leading mixed bits that are equal in all keys of one part of a sharded table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prefix {
    pub(super) bits: u32,
    pub(super) value: u64,
}

impl DirectTable {
    /// An empty table for keys of `bits` bits whose mixed form starts with `prefix`; `share` is the part of the budget that
    /// it may expect to fill.
    pub(super) fn new(
        bits: u32,
        prefix: Prefix,
        share: usize,
        budget: &Budget,
    ) -> Result<DirectTable, BudgetError> {
        let leading_bits = bits.min(64);
        let wanted = (share / BYTES_PER_REGION).checked_ilog2().unwrap_or(0).min(REGION_BITS_MAX);
        let at_least = (leading_bits - prefix.bits).saturating_sub(VALUE_BITS_MAX);
        let region_bits = wanted.min(leading_bits - prefix.bits - 1).max(at_least);
        let rest_bits = bits - leading_bits;
        let widths = Widths {
            value_bits: leading_bits - prefix.bits - region_bits,
            partial_bits: rest_bits % 64,
            whole_words: (rest_bits / 64) as usize,
        };
        let count = 1 << region_bits;
        let charge = budget.charge(TABLE_OWNER, count * size_of::<Region>())?;
        let regions = (0..count).map(|_| Region::empty(widths)).collect();
        let words = bits.div_ceil(64) as usize;
        let (prefix_bits, prefix) = (prefix.bits, prefix.value);
        Ok(DirectTable { mix: Mix::new(bits), words, widths, prefix_bits, prefix, regions, len: 0, charge })
    }

    pub(super) fn bits(&self) -> u32 {
        self.mix.bits()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    pub(super) fn insert_batch(&mut self, keys: &[u64], new: &mut Vec<u32>) -> Result<(), TableFull> {
        let mut done = 0;
        let mut mixed = [0u64; BATCH];
        let mut rest = vec![0; self.words - 1];
        for chunk in keys.chunks(BATCH * self.words) {
            self.fetch(chunk, &mut mixed, &mut rest);
            for (key, &mixed) in chunk.chunks_exact(self.words).zip(&mixed) {
                match self.insert_mixed(mixed, key) {
                    Ok(true) => new.push(done),
                    Ok(false) => {}
                    Err(reason) => return Err(TableFull { done: done as usize, reason }),
                }
                done += 1;
            }
        }
        Ok(())
    }

    pub(super) fn contains_batch(&self, keys: &[u64], present: &mut Vec<u32>) {
        let mut done = 0;
        let mut mixed = [0u64; BATCH];
        let mut rest = vec![0; self.words - 1];
        for chunk in keys.chunks(BATCH * self.words) {
            self.fetch(chunk, &mut mixed, &mut rest);
            for (key, &mixed) in chunk.chunks_exact(self.words).zip(&mixed) {
                let (region, value) = self.address(mixed);
                let (partial, rest) = self.rest_of(key);
                if self.regions[region].contains(value, partial, rest) {
                    present.push(done);
                }
                done += 1;
            }
        }
    }

    /// Calls `visit` with every key, region by region.
    pub(super) fn for_each(&self, mut visit: impl FnMut(&[u64])) {
        for index in 0..self.regions.len() {
            self.for_each_in_region(index, &mut visit);
        }
    }

    fn for_each_in_region(&self, index: usize, visit: &mut impl FnMut(&[u64])) {
        let leading_bits = self.bits().min(64);
        let above = self.prefix.unbounded_shl(leading_bits - self.prefix_bits)
            | (index as u64).unbounded_shl(self.widths.value_bits);
        let mut key = vec![0; self.words];
        let mut rest = vec![0; self.words - 1];
        self.regions[index].for_each(|value, partial, whole| {
            let mixed = above | value;
            if rest.is_empty() {
                key[0] = self.mix.unmix_word(mixed);
            } else {
                self.read_rest(partial, whole, &mut rest);
                self.mix.unmix_join(mixed, &rest, &mut key);
            }
            visit(&key);
        });
    }

    /// Mixes a batch and asks for its buckets.
    #[inline(always)]
    fn fetch(&self, chunk: &[u64], mixed: &mut [u64; BATCH], rest: &mut [u64]) {
        for (key, mixed) in chunk.chunks_exact(self.words).zip(mixed) {
            *mixed = match *key {
                [only] => self.mix.mix_word(only),
                _ => self.mix.mix_split(key, rest),
            };
            let (region, value) = self.address(*mixed);
            self.regions[region].prefetch(value);
        }
    }

    #[inline(always)]
    fn address(&self, mixed: u64) -> (usize, u64) {
        let region = mixed.unbounded_shr(self.widths.value_bits) as usize & (self.regions.len() - 1);
        (region, mixed & ((1 << self.widths.value_bits) - 1))
    }

    /// The bits of a key behind its leading 64: the partial word, and the whole words.
    #[inline(always)]
    fn rest_of<'a>(&self, key: &'a [u64]) -> (u64, &'a [u64]) {
        if self.words == 1 {
            (0, &[])
        } else if self.widths.partial_bits == 0 {
            (0, &key[1..])
        } else {
            (key[1] & ((1 << self.widths.partial_bits) - 1), &key[2..])
        }
    }

    /// Inverse of [`DirectTable::rest_of`].
    fn read_rest(&self, partial: u64, whole: &[u8], rest: &mut [u64]) {
        let (words, _) = whole.as_chunks::<8>();
        let first_whole = rest.len() - words.len();
        if first_whole > 0 {
            rest[0] = partial;
        }
        for (word, bytes) in rest[first_whole..].iter_mut().zip(words) {
            *word = u64::from_le_bytes(*bytes);
        }
    }

    #[inline(always)]
    fn insert_mixed(&mut self, mixed: u64, key: &[u64]) -> Result<bool, BudgetError> {
        let (region, value) = self.address(mixed);
        let (partial, rest) = self.rest_of(key);
        loop {
            match self.regions[region].insert(value, partial, rest) {
                Outcome::Present => return Ok(false),
                Outcome::Inserted => {
                    self.len += 1;
                    return Ok(true);
                }
                Outcome::Full => self.grow(region)?,
            }
        }
    }

    /// Moves a region to the next layout that takes all its values.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, index: usize) -> Result<(), BudgetError> {
        let region = &self.regions[index];
        let mut layout = region.next_layout().expect("a region where every value has a bucket is never full");
        loop {
            let before = self.charge.bytes();
            let (taken, meanwhile) = Region::bytes_for(&layout);
            self.charge.resize(before + taken + meanwhile)?;
            if let Some(grown) = region.grown(layout) {
                let held = before + taken - region.bytes();
                self.regions[index] = grown;
                return self.charge.resize(held);
            }
            self.charge.resize(before)?;
            layout = layout.larger().expect("a layout where every value has a bucket takes them all");
        }
    }
}
