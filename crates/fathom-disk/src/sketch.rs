//! How many distinct keys were there, about, and how often did they come again? In fixed memory.
//!
//! A bottom-k sample: of all keys offered, those with the k least hashes, each with the stage at which it came last and how often it came. A key whose hash is among the k least of all
//! was among the k least at every time since it came first, so what is said of it is exact: the sample is one of distinct keys with their whole history. From it follow the number of distinct
//! keys, (k − 1) / (the k-th least hash, as a fraction of all), with a standard error of 1/√(k − 2), and the share of keys that came again. With fewer than k distinct keys all are there.
//!
//! Samples of parts of a stream are merged into that of the whole. Memory: 24 bytes per key of the sample, charged once. An offer costs a comparison for all but about k in N keys.
//! Bytes for a manifest: `docs/src/format-structures.md`.

use crate::budget::{Budget, BudgetError, ChargedVec};

/// A sample of distinct keys, by their hashes.
#[derive(Debug)]
pub struct Sketch {
    capacity: usize,
    /// By rising hash.
    sample: ChargedVec<Sampled>,
}

/// A key of the sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Its hash.
    pub hash: u64,
    /// The stage at which it was offered last: a layer, a pass.
    pub stage: u64,
    /// How often it was offered.
    pub offers: u64,
}

const OWNER: &str = "sketch";
/// The fewest keys of a sample: with them an estimate is off by a quarter at times.
pub const SAMPLE_MIN: usize = 16;
const WORD_BYTES: usize = 8;
const ENTRY_BYTES: usize = 3 * WORD_BYTES;

impl Sketch {
    /// An empty sketch with a sample of at most `keys` keys ([`SAMPLE_MIN`] at least). With 1024 keys, 24 KiB, the standard error is 3 %.
    pub fn new(keys: usize, budget: &Budget) -> Result<Self, BudgetError> {
        let capacity = keys.max(SAMPLE_MIN);
        Ok(Self { capacity, sample: ChargedVec::with_capacity(budget, OWNER, capacity)? })
    }

    /// Takes note that the key with this hash ([`hash_key`](crate::hash::hash_key)) came at a stage. If the key is in the sample and was offered before, says at which stage that was last: of all keys
    /// that come again, those whose hashes are small are noticed, whatever their stage.
    #[inline]
    pub fn offer(&mut self, hash: u64, stage: u64) -> Option<u64> {
        match self.sample.last() {
            Some(greatest) if self.is_full() && hash > greatest.hash => None,
            _ => self.note(Sampled { hash, stage, offers: 1 }),
        }
    }

    /// Adds what another sketch of the same size has seen: the result is that of one sketch that has seen both. Stages of the same key are told apart by their number, and the later one stays.
    pub fn merge(&mut self, other: &Sketch) {
        assert_eq!(self.capacity, other.capacity, "only sketches of one size are merged");
        for &sampled in other.sample.iter() {
            if !self.is_full() || self.sample.last().is_some_and(|last| sampled.hash <= last.hash) {
                self.note(sampled);
            }
        }
    }

    /// How many distinct keys were offered, about.
    pub fn distinct(&self) -> f64 {
        match self.sample.last() {
            Some(greatest) if self.is_full() => {
                (self.capacity - 1) as f64 / ((greatest.hash as f64 + 1.0) / 2f64.powi(64))
            }
            _ => self.sample.len() as f64,
        }
    }

    /// How often keys were offered that had been offered before, about: of all offers those that were not the first of their key.
    pub fn repeats(&self) -> f64 {
        let repeats: u64 = self.sample.iter().map(|sampled| sampled.offers - 1).sum();
        self.distinct() * repeats as f64 / self.sample.len().max(1) as f64
    }

    /// The keys of the sample, by rising hash.
    pub fn sample(&self) -> &[Sampled] {
        &self.sample
    }

    /// Whether the sample is as large as it gets, so that the number of keys is an estimate.
    pub fn is_full(&self) -> bool {
        self.sample.len() == self.capacity
    }

    /// Bytes charged.
    pub fn bytes(&self) -> usize {
        self.sample.capacity() * size_of::<Sampled>()
    }

    /// What a manifest keeps of it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = [self.capacity as u64, self.sample.len() as u64];
        let entries = self.sample.iter().flat_map(|sampled| [sampled.hash, sampled.stage, sampled.offers]);
        head.into_iter().chain(entries).flat_map(u64::to_le_bytes).collect()
    }

    /// The sketch of which these are the bytes; none if they are not those of one of at most `keys` keys.
    pub fn from_bytes(bytes: &[u8], keys: usize, budget: &Budget) -> Result<Option<Self>, BudgetError> {
        let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
        let Some(([capacity, count], entries)) = words.split_first_chunk::<2>() else { return Ok(None) };
        let [capacity, count] = [capacity, count].map(|word| u64::from_le_bytes(*word) as usize);
        let fits = (SAMPLE_MIN..=keys.max(SAMPLE_MIN)).contains(&capacity) && count <= capacity;
        if !fits || !rest.is_empty() || entries.len() * WORD_BYTES != count * ENTRY_BYTES {
            return Ok(None);
        }
        let mut sketch = Self::new(capacity, budget)?;
        for entry in entries.as_chunks::<3>().0 {
            let [hash, stage, offers] = entry.map(u64::from_le_bytes);
            if offers == 0 || sketch.sample.last().is_some_and(|last| last.hash >= hash) {
                return Ok(None);
            }
            sketch.sample.push(Sampled { hash, stage, offers })?;
        }
        Ok(Some(sketch))
    }

    /// Puts a key into the sample, out of which the greatest falls if it is full; says when it came last if it is there.
    fn note(&mut self, sampled: Sampled) -> Option<u64> {
        match self.sample.binary_search_by_key(&sampled.hash, |there| there.hash) {
            Ok(place) => {
                let there = &mut self.sample[place];
                let before = there.stage;
                there.stage = before.max(sampled.stage);
                there.offers = there.offers.saturating_add(sampled.offers);
                Some(before)
            }
            Err(place) => {
                if self.is_full() {
                    self.sample.pop();
                }
                // There is room: all of it was taken at the beginning.
                let _ = self.sample.push_within(sampled);
                self.sample[place..].rotate_right(1);
                None
            }
        }
    }
}
