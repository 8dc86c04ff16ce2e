//! Seeded numbers and keys for the suites; nothing here is shared with the code under test.

use std::collections::BTreeSet;

/// A small generator (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        (u128::from(self.next()) * u128::from(bound)).wrapping_shr(64) as u64
    }

    /// A key of `bits` bits with about `spread` bits of variety, scattered over its width: real records are like that.
    pub(crate) fn key(&mut self, bits: u32, spread: u32) -> Vec<u64> {
        let words = words_of(bits);
        let mut key = vec![0u64; words];
        let variety = self.next() >> (64 - spread.clamp(1, 64));
        for i in 0..spread.min(bits) {
            let bit = (u64::from(i) * u64::from(bits) / u64::from(spread.min(bits))) as u32;
            if variety >> i & 1 == 1 {
                key[words - 1 - (bit / 64) as usize] |= 1 << (bit % 64);
            }
        }
        key
    }
}

pub(crate) fn words_of(bits: u32) -> usize {
    bits.div_ceil(64) as usize
}

/// All sequences over `0..values` of lengths up to `length_max`.
pub(crate) fn all_sequences(values: u64, length_max: usize) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    let mut last = vec![vec![]];
    for _ in 0..length_max {
        last = last
            .iter()
            .flat_map(|prefix: &Vec<u64>| (0..values).map(move |value| [&prefix[..], &[value]].concat()))
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Which indexes of a batch are new to a plain set: the judge of every insertion.
pub(crate) fn new_indexes(model: &mut BTreeSet<Vec<u64>>, batch: &[u64], words: usize) -> Vec<u32> {
    let keys = batch.chunks(words).enumerate();
    keys.filter_map(|(i, key)| model.insert(key.to_vec()).then_some(i as u32)).collect()
}
