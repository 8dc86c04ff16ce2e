//! What was reached, once in sorted order, and every state a number?
//!
//! A breadth-first search keeps layers, each sorted. Passes over everything want one order: the layers are sorted into one run on a volume, and a perfect
//! hash over it gives each state a number below their count, so that what is known of states lies in plain arrays.
//!
//! Memory: while sorting and hashing, a quarter of what the budget has free; then the perfect hash, about 3 bits per state, and the buffer of a scan. I/O: each record is
//! written and read once or twice, in order; a scan reads the run once.

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::key::KeyWidth;
use fathom_disk::perfect_hash::{PerfectHash, PerfectHashBuilder};
use fathom_disk::run::{Run, RunConfig, RunWriter, Scan, Tag};
use fathom_disk::set::{KeyStream, Sorter};
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::shape::Shape;

use crate::error::SearchError;
use crate::layer_loop::LayerPolicy;

/// All reached states, in order, numbered.
#[derive(Debug)]
pub struct ClosedSet {
    run: Run,
    numbers: PerfectHash,
    words: usize,
    budget: Budget,
}

/// Names of the files.
const RUN: &str = "closed.run";
const NUMBERS: &str = "closed.numbers";
/// The most memory that one part of the work gets.
const WORK_BYTES_MAX: usize = 64 << 20;
/// The most memory that a scan gets.
const SCAN_BYTES_MAX: usize = 1 << 20;

impl ClosedSet {
    /// Sorts and numbers the states of the first so many layers. None if the policy has not kept them. The volume must be empty of files of that kind.
    pub fn of_layers<P: LayerPolicy>(
        policy: &P,
        layers: u64,
        shape: &Shape,
        volume: &Volume,
        budget: &Budget,
    ) -> Result<Option<ClosedSet>, SearchError> {
        let width = KeyWidth::new(shape.width_bits).ok_or(SearchError::TooWide { bits: shape.width_bits })?;
        let bytes = (budget.free() / 4).min(WORK_BYTES_MAX);
        let mut sorter = Sorter::new(volume, budget, "closed-part", width, Tag::default(), bytes)?;
        for layer in 0..layers {
            let mut failure = None;
            let kept = policy.visit_layer(layer, &mut |records| {
                if failure.is_none() {
                    failure = sorter.push(records.words()).err();
                }
            })?;
            if let Some(error) = failure {
                return Err(error.into());
            }
            if !kept {
                return Ok(None);
            }
        }
        let sorted = sorter.finish()?;
        let config = RunConfig::within(width, Tag::default(), bytes / 4);
        let mut writer = RunWriter::new(volume, budget, RUN, &config)?;
        let mut stream = sorted.stream()?;
        while stream.advance()? {
            writer.push(stream.keys())?;
        }
        drop(stream);
        writer.finish(false)?;
        sorted.remove()?;
        let run = Run::open(volume, budget, RUN, width, Tag::default())?;
        let numbers = numbered(&run, volume, budget, bytes)?;
        Ok(Some(ClosedSet { run, numbers, words: width.words(), budget: budget.clone() }))
    }

    /// How many states there are.
    pub fn len(&self) -> u64 {
        self.run.count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the perfect hash in RAM.
    pub fn number_bytes(&self) -> usize {
        self.numbers.bytes()
    }

    /// Bytes of the states on the volume.
    pub fn stored_bytes(&self) -> Result<u64, SearchError> {
        Ok(self.run.bytes())
    }

    /// Appends the numbers of states, all of which are in the set.
    pub fn numbers(&self, records: Records<'_>, numbers: &mut Vec<u64>) {
        self.numbers.index_batch(records.words(), numbers);
    }

    /// Visits all states in order, some at a time.
    pub fn scan(
        &self,
        visit: &mut dyn FnMut(Records<'_>) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let mut scan = Scan::new(&self.run, &self.budget, (self.budget.free() / 16).min(SCAN_BYTES_MAX))?;
        while scan.advance()? {
            visit(Records::new(scan.keys(), self.words))?;
        }
        Ok(())
    }
}

/// A perfect hash over a run.
fn numbered(run: &Run, volume: &Volume, budget: &Budget, bytes: usize) -> Result<PerfectHash, SearchError> {
    let words = run.width().words();
    let each = PerfectHashBuilder::keys_per_shard_within(bytes, words);
    let mut builder = PerfectHashBuilder::new(volume, NUMBERS, words, each, budget)?;
    let mut scan = Scan::new(run, budget, bytes.min(SCAN_BYTES_MAX))?;
    while scan.advance()? {
        for key in scan.keys().chunks_exact(words) {
            builder.push(key)?;
        }
    }
    builder.finish()?;
    Ok(PerfectHash::open(volume, NUMBERS, words, budget)?)
}

/// A bit for each number below a count. Memory: one bit each.
#[derive(Debug)]
pub struct Bits(ChargedVec<u64>);

impl Bits {
    /// All of them clear, or all set.
    pub fn new(budget: &Budget, count: u64, set: bool) -> Result<Bits, SearchError> {
        let words = count.div_ceil(64) as usize;
        let mut bits = ChargedVec::with_capacity(budget, "bits", words)?;
        bits.resize(words, if set { u64::MAX } else { 0 })?;
        if let Some(last) = bits.last_mut().filter(|_| set && !count.is_multiple_of(64)) {
            *last = (1 << (count % 64)) - 1;
        }
        Ok(Bits(bits))
    }

    /// Whether a bit is set.
    #[inline]
    pub fn get(&self, number: u64) -> bool {
        self.0[(number / 64) as usize] >> (number % 64) & 1 == 1
    }

    /// Sets a bit; true if it was clear.
    #[inline]
    pub fn set(&mut self, number: u64) -> bool {
        let (word, bit) = (&mut self.0[(number / 64) as usize], 1 << (number % 64));
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Clears a bit.
    #[inline]
    pub fn clear(&mut self, number: u64) {
        self.0[(number / 64) as usize] &= !(1 << (number % 64));
    }

    /// Clears all bits.
    pub fn clear_all(&mut self) {
        self.0.fill(0);
    }

    /// How many are set.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Clears what is not set in another.
    pub fn intersect(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&*other.0).for_each(|(word, other)| *word &= other);
    }

    /// Clears what is set in another.
    pub fn subtract(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&*other.0).for_each(|(word, other)| *word &= !other);
    }

    /// Sets what is set in another, and nothing else.
    pub fn copy_from(&mut self, other: &Bits) {
        self.0.copy_from_slice(&other.0);
    }
}
