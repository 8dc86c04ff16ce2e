//! How does a set of keys spread over regions that grow one at a time?
//!
//! Keys are mixed (`mix.rs`); the leading bits of the mixed key name a region, the next ones a bucket, and only what is
//! left is stored. Regions grow alone, by a half or a third, so the memory held while growing exceeds the memory in use
//! by no more than one region.
//!
//! Invariant: `charge` covers the regions' bytes and the list of regions.

use super::addressing::Addressing;
use super::layout::{Layout, Widths};
use super::region::{Outcome, Region};
use super::{TABLE_OWNER, TableFull};
use crate::budget::{Budget, BudgetError, Charge};

/// Keys whose buckets are asked for before the first of them is looked at.
const BATCH: usize = 64;
/// Bytes of budget for which it pays to have one more region.
const BYTES_PER_REGION: usize = 64 * 1024;
/// Regions of a table, in all its shards: so few that what describes them stays in the nearest cache.
const REGION_BITS_MAX: u32 = 6;
/// A region soon has to grow when it has room for less than this part of its values: few enough that hardly any memory is taken before its time.
const SOON: usize = 32;
/// A region's product of value and multiplier must fit a word.
const VALUE_BITS_MAX: u32 = 62;

/// Set of keys stored whole, minus the bits that their address tells.
#[derive(Debug)]
pub(super) struct DirectTable {
    bits: u32,
    addressing: Addressing,
    words: usize,
    widths: Widths,
    /// Mixed leading bits that are the same for all keys of this table: how many, and what they are.
    prefix_bits: u32,
    prefix: u64,
    regions: Vec<Region>,
    held: Held,
    charge: Charge,
}

/// How many values each region holds: apart from what describes a region, which threads that take turns with a table go on having in their caches. This changes with every key,
/// so it shares no cache line with anything else, nor a pair of lines that are fetched together.
#[derive(Debug)]
struct Held(Vec<HeldLine>);

/// As many counts as lie on a pair of cache lines.
#[derive(Clone, Debug, Default)]
#[repr(align(128))]
struct HeldLine([usize; Held::PER_LINE]);

impl Held {
    const PER_LINE: usize = 16;

    fn new(regions: usize) -> Held {
        Held(vec![HeldLine::default(); regions.div_ceil(Self::PER_LINE)])
    }

    fn bytes_for(regions: usize) -> usize {
        regions.div_ceil(Self::PER_LINE) * size_of::<HeldLine>()
    }

    fn sum(&self) -> usize {
        self.0.iter().flat_map(|line| line.0).sum()
    }

    fn of(&self, region: usize) -> usize {
        self.0[region / Self::PER_LINE].0[region % Self::PER_LINE]
    }

    #[inline(always)]
    fn of_mut(&mut self, region: usize) -> &mut usize {
        &mut self.0[region / Self::PER_LINE].0[region % Self::PER_LINE]
    }
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
        let wanted = (share / BYTES_PER_REGION)
            .checked_ilog2()
            .unwrap_or(0)
            .min(REGION_BITS_MAX.saturating_sub(prefix.bits));
        let at_least = (leading_bits - prefix.bits).saturating_sub(VALUE_BITS_MAX);
        let region_bits = wanted.min(leading_bits - prefix.bits - 1).max(at_least);
        let widths = Widths::new(leading_bits - prefix.bits - region_bits, bits - leading_bits);
        let count = 1 << region_bits;
        let charge = budget.charge(TABLE_OWNER, count * size_of::<Region>() + Held::bytes_for(count))?;
        let regions = (0..count).map(|_| Region::empty(widths)).collect();
        let words = bits.div_ceil(64) as usize;
        let addressing = Addressing::new(bits, true, prefix.bits);
        let (prefix_bits, prefix) = (prefix.bits, prefix.value);
        Ok(DirectTable {
            bits,
            addressing,
            words,
            widths,
            prefix_bits,
            prefix,
            regions,
            held: Held::new(count),
            charge,
        })
    }

    /// Makes room for so many keys at once, for who knows how many will come: growing would move most of them several times.
    pub(super) fn reserve(&mut self, keys: usize) -> Result<(), BudgetError> {
        let each = keys / self.regions.len();
        // Keys are spread evenly, but not exactly so.
        let wanted = each + 4 * each.isqrt();
        for index in 0..self.regions.len() {
            while self.regions[index].room() < wanted
                && let Some(layout) = self.regions[index].layout_for(wanted)
            {
                self.grow_to(index, layout)?;
            }
        }
        Ok(())
    }

    /// Makes a region larger that will soon have to be. False if there is none, or no memory for it now.
    pub(super) fn grow_ahead(&mut self) -> bool {
        let soon = |index: &usize| {
            let (room, region) = (self.regions[*index].room(), &self.regions[*index]);
            room > 0 && self.held.of(*index) + room / SOON >= room && region.next_layout().is_some()
        };
        (0..self.regions.len()).find(soon).is_some_and(|index| self.grow(index).is_ok())
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    pub(super) fn len(&self) -> usize {
        self.held.sum()
    }

    pub(super) fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// How its keys are addressed.
    pub(super) fn addressing(&self) -> Addressing {
        self.addressing
    }

    pub(super) fn insert_batch(&mut self, keys: &[u64], new: &mut Vec<u32>) -> Result<(), TableFull> {
        let mut addressed = Addressed::new(self.words);
        for (first, chunk) in keys.chunks(BATCH * self.words).enumerate().map(|(i, chunk)| (i * BATCH, chunk))
        {
            self.insert_chunk(addressed.of(self.addressing, chunk), first, new)?;
        }
        Ok(())
    }

    /// [`DirectTable::insert_batch`] for keys in their addressed form.
    pub(super) fn insert_addressed(&mut self, keys: &[u64], new: &mut Vec<u32>) -> Result<(), TableFull> {
        let count = keys.len() / self.words;
        // As many chunks as it takes, all alike: the keys of a short one would be looked at before their buckets are there.
        let each = count.div_ceil(count.div_ceil(BATCH).max(1)).max(1);
        for (number, chunk) in keys.chunks(each * self.words).enumerate() {
            self.insert_chunk(chunk, number * each, new)?;
        }
        Ok(())
    }

    pub(super) fn contains_batch(&self, keys: &[u64], present: &mut Vec<u32>) {
        let mut addressed = Addressed::new(self.words);
        for (first, chunk) in keys.chunks(BATCH * self.words).enumerate().map(|(i, chunk)| (i * BATCH, chunk))
        {
            let chunk = addressed.of(self.addressing, chunk);
            self.fetch(chunk);
            for (index, key) in chunk.chunks_exact(self.words).enumerate() {
                let (region, value) = self.address(key[0]);
                let (partial, rest) = self.rest_of(key);
                if self.regions[region].contains(value, partial, rest) {
                    present.push((first + index) as u32);
                }
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
        let mut addressed = vec![0; self.words];
        self.regions[index].for_each(|value, partial, whole| {
            let (mixed, rest) = addressed.split_first_mut().expect("a key has at least one word");
            *mixed = above | value;
            read_rest(partial, whole, rest);
            self.addressing.key(&addressed, &mut key);
            visit(&key);
        });
    }

    /// Inserts up to [`BATCH`] addressed keys, the first of which has this index in the batch of the caller.
    #[inline(always)]
    fn insert_chunk(&mut self, chunk: &[u64], first: usize, new: &mut Vec<u32>) -> Result<(), TableFull> {
        self.fetch(chunk);
        for (index, key) in chunk.chunks_exact(self.words).enumerate() {
            match self.insert_one(key) {
                Ok(true) => new.push((first + index) as u32),
                Ok(false) => {}
                Err(reason) => return Err(TableFull { done: first + index, reason }),
            }
        }
        Ok(())
    }

    /// Asks for the buckets of a chunk.
    #[inline(always)]
    fn fetch(&self, chunk: &[u64]) {
        for key in chunk.chunks_exact(self.words) {
            let (region, value) = self.address(key[0]);
            self.regions[region].prefetch(value);
        }
    }

    #[inline(always)]
    fn address(&self, mixed: u64) -> (usize, u64) {
        let region = mixed.unbounded_shr(self.widths.value_bits) as usize & (self.regions.len() - 1);
        (region, mixed & ((1 << self.widths.value_bits) - 1))
    }

    /// The bits of an addressed key behind its mixed word: the partial word, and the whole words.
    #[inline(always)]
    fn rest_of<'a>(&self, key: &'a [u64]) -> (u64, &'a [u64]) {
        match key {
            [_] => (0, &[]),
            [_, partial, whole @ ..] if self.widths.partial_bits > 0 => (*partial, whole),
            [_, whole @ ..] => (0, whole),
            [] => unreachable!("a key has at least one word"),
        }
    }

    #[inline(always)]
    fn insert_one(&mut self, key: &[u64]) -> Result<bool, BudgetError> {
        let (region, value) = self.address(key[0]);
        let (partial, rest) = self.rest_of(key);
        loop {
            match self.regions[region].insert(self.held.of_mut(region), value, partial, rest) {
                Outcome::Present => return Ok(false),
                Outcome::Inserted => return Ok(true),
                Outcome::Full => self.grow(region)?,
            }
        }
    }

    /// Moves a region to the next layout that takes all its values.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, index: usize) -> Result<(), BudgetError> {
        let layout = self.regions[index].next_layout();
        self.grow_to(index, layout.expect("a region where every value has a bucket is never full"))
    }

    /// Moves a region to this layout, or to the first larger one that takes all its values.
    fn grow_to(&mut self, index: usize, mut layout: Layout) -> Result<(), BudgetError> {
        let region = &self.regions[index];
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

/// Room for the addressed form of [`BATCH`] keys.
struct Addressed {
    words: usize,
    narrow: [u64; BATCH],
    wide: Vec<u64>,
}

impl Addressed {
    fn new(words: usize) -> Addressed {
        let wide = if words == 1 { Vec::new() } else { vec![0; BATCH * words] };
        Addressed { words, narrow: [0; BATCH], wide }
    }

    #[inline(always)]
    fn of(&mut self, addressing: Addressing, chunk: &[u64]) -> &[u64] {
        let all = if self.words == 1 { &mut self.narrow[..] } else { &mut self.wide };
        let used = &mut all[..chunk.len()];
        for (key, addressed) in chunk.chunks_exact(self.words).zip(used.chunks_exact_mut(self.words)) {
            addressing.address(key, addressed);
        }
        used
    }
}

/// Writes the partial word and the whole words of a rest behind one another.
fn read_rest(partial: u64, whole: &[u8], rest: &mut [u64]) {
    let (words, _) = whole.as_chunks::<8>();
    let first_whole = rest.len() - words.len();
    if first_whole > 0 {
        rest[0] = partial;
    }
    for (word, bytes) in rest[first_whole..].iter_mut().zip(words) {
        *word = u64::from_le_bytes(*bytes);
    }
}
