//! How do keys with values lie in the buffer of a sort?
//!
//! As one number each, the value below the key: so they are sorted like keys, equal keys become neighbours, and a value that fits into the spare bits of its key takes no memory.

use super::sort::sort;
use crate::budget::{Budget, BudgetError, ChargedVec};
use crate::error::DiskError;
use crate::key::KeyWidth;
use crate::stream::KeyStream;
use crate::value::Values;

/// The form of the pairs of one kind of keys and values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pairs {
    key_words: usize,
    pair_words: usize,
    values: Values,
}

impl Pairs {
    pub(super) fn new(width: KeyWidth, values: Values) -> Self {
        let pair_words = (width.bits() + values.width.bits()).div_ceil(64) as usize;
        Self { key_words: width.words(), pair_words, values }
    }

    /// Words per pair.
    pub(super) fn pair_words(&self) -> usize {
        self.pair_words
    }

    /// What becomes of the values of equal keys.
    pub(super) fn values(&self) -> Values {
        self.values
    }

    /// Appends pairs, for which there is room.
    pub(super) fn append(
        &self,
        keys: &[u64],
        values: &[u64],
        out: &mut ChargedVec<u64>,
    ) -> Result<(), BudgetError> {
        for (key, &value) in keys.chunks_exact(self.key_words).zip(values) {
            debug_assert!(value <= self.values.width.greatest(), "values fit their width");
            let start = out.len();
            out.resize(start + self.pair_words, 0)?;
            self.pack(key, value, &mut out[start..]);
        }
        Ok(())
    }

    /// Sorts pairs and joins those of equal keys; returns how many words remain at the front.
    pub(super) fn sort_joined(&self, budget: &Budget, pairs: &mut [u64]) -> Result<usize, BudgetError> {
        sort(budget, self.pair_words, pairs)?;
        let words = self.pair_words;
        let mut kept = words.min(pairs.len());
        for next in (words..pairs.len()).step_by(words) {
            let (front, rest) = pairs.split_at_mut(next);
            let (last, pair) = (&mut front[kept - words..kept], &rest[..words]);
            if self.is_same_key(last, pair) {
                let joined = self.values.joined(self.value(last), self.value(pair));
                last[words - 1] = last[words - 1] & !self.values.width.greatest() | joined;
            } else {
                pairs.copy_within(next..next + words, kept);
                kept += words;
            }
        }
        Ok(kept)
    }

    fn pack(&self, key: &[u64], value: u64, pair: &mut [u64]) {
        let mut below = value;
        for (&word, out) in key.iter().rev().zip(pair.iter_mut().rev()) {
            let both = u128::from(word) << self.values.width.bits() | u128::from(below);
            *out = both as u64;
            below = (both >> 64) as u64;
        }
        if self.pair_words > self.key_words {
            pair[0] = below;
        }
    }

    fn unpack(&self, pair: &[u64], key: &mut [u64]) -> u64 {
        let more = self.pair_words - self.key_words;
        for (index, word) in key.iter_mut().enumerate() {
            let high = if index + more > 0 { pair[index + more - 1] } else { 0 };
            let both = u128::from(high) << 64 | u128::from(pair[index + more]);
            *word = (both >> self.values.width.bits()) as u64;
        }
        self.value(pair)
    }

    fn value(&self, pair: &[u64]) -> u64 {
        pair[self.pair_words - 1] & self.values.width.greatest()
    }

    fn is_same_key(&self, left: &[u64], right: &[u64]) -> bool {
        let last = self.pair_words - 1;
        left[..last] == right[..last] && (left[last] ^ right[last]) & !self.values.width.greatest() == 0
    }
}

/// Sorted pairs as a stream of keys with values.
#[derive(Debug)]
pub(super) struct PairStream<'a> {
    form: Pairs,
    rest: &'a [u64],
    keys: ChargedVec<u64>,
    values: ChargedVec<u64>,
    chunk_keys: usize,
}

impl<'a> PairStream<'a> {
    /// Gives `pairs`, which are sorted and joined, in chunks of at most `chunk_keys`.
    pub(super) fn new(
        budget: &Budget,
        form: Pairs,
        pairs: &'a [u64],
        chunk_keys: usize,
    ) -> Result<Self, BudgetError> {
        let keys = ChargedVec::with_capacity(budget, "sort output", chunk_keys * form.key_words)?;
        let values = ChargedVec::with_capacity(budget, "sort output", chunk_keys)?;
        Ok(Self { form, rest: pairs, keys, values, chunk_keys })
    }
}

impl KeyStream for PairStream<'_> {
    fn words(&self) -> usize {
        self.form.key_words
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        let Pairs { key_words, pair_words: words, .. } = self.form;
        let (now, later) = self.rest.split_at(self.rest.len().min(self.chunk_keys * words));
        self.rest = later;
        let count = now.len() / words;
        self.keys.resize(count * key_words, 0)?;
        self.values.resize(count, 0)?;
        let out = self.keys.chunks_exact_mut(key_words).zip(self.values.iter_mut());
        for (pair, (key, value)) in now.chunks_exact(words).zip(out) {
            *value = self.form.unpack(pair, key);
        }
        Ok(count > 0)
    }

    fn keys(&self) -> &[u64] {
        &self.keys
    }

    fn values(&self) -> &[u64] {
        &self.values
    }
}
