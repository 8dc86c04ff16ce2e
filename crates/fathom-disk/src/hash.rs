//! Which 64 bits stand for a key in windows, filters, shards and perfect hashes?
//!
//! The function is stable: the same key gives the same hash on every machine and in every build of one [`HASH_VERSION`],
//! so it may be written to disk next to that version.
//!
//! * One word: a bijection (two multiplications, three shifts), so distinct keys never share a hash.
//! * More words: each leading word is multiplied by a constant and its 128-bit product folded, then the last word goes
//!   through the bijection. Keys that differ in their last word alone therefore never share a hash either.

/// Version of everything in this file; a change of any output is a change of this number.
pub const HASH_VERSION: u32 = 1;

const FOLD: u64 = 0x9e37_79b9_7f4a_7c15;
const FIRST: u64 = 0xff51_afd7_ed55_8ccd;
const SECOND: u64 = 0xc4ce_b9fe_1a85_ec53;

/// Hash of a whole key, most significant word first.
#[inline(always)]
pub fn hash_key(key: &[u64]) -> u64 {
    match *key {
        [] => hash_word(0),
        [only] => hash_word(only),
        [high, low] => hash_pair(high, low),
        _ => hash_wide(key),
    }
}

/// Hash of a key of one word: a bijection on 64 bits.
#[inline(always)]
pub fn hash_word(word: u64) -> u64 {
    let mut x = word.wrapping_add(FOLD);
    x = (x ^ (x >> 32)).wrapping_mul(FIRST);
    x = (x ^ (x >> 29)).wrapping_mul(SECOND);
    x ^ (x >> 32)
}

/// Hash of a key of two words, equal to [`hash_key`] of the pair.
#[inline(always)]
pub fn hash_pair(high: u64, low: u64) -> u64 {
    hash_word(fold(high ^ SECOND) ^ low)
}

/// Hash of the leading half (rounded up) of a key of `bits` bits: neighbours in key order share it, so that sharding by
/// it keeps the gaps between sorted keys small.
#[inline]
pub fn hash_leading_half(key: &[u64], bits: u32) -> u64 {
    let dropped = bits / 2;
    let kept_words = key.len() - (dropped / 64) as usize;
    let kept_mask = u64::MAX << (dropped % 64);
    match key[..kept_words] {
        [] => hash_word(0),
        [only] => hash_word(only & kept_mask),
        [ref leading @ .., last] => hash_word(fold_all(leading) ^ (last & kept_mask)),
    }
}

/// A hash as windows, filters and shards use it. Nothing that is exact may depend on it: builds with the feature `constant-hash` have the same one for all keys
/// there, and searches must find the same.
#[inline(always)]
pub fn for_caches(hash: u64) -> u64 {
    if cfg!(feature = "constant-hash") { FIRST } else { hash }
}

fn hash_wide(key: &[u64]) -> u64 {
    let (last, leading) = key.split_last().expect("a wide key has more than two words");
    hash_word(fold_all(leading) ^ last)
}

#[inline(always)]
fn fold_all(leading: &[u64]) -> u64 {
    let mut state = SECOND;
    for &word in leading {
        state = fold(state ^ word);
    }
    state
}

/// The 128-bit product with a constant, its halves joined.
#[inline(always)]
pub(crate) fn fold(word: u64) -> u64 {
    let product = u128::from(word) * u128::from(FOLD);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_pinned_to_the_version() {
        assert_eq!(HASH_VERSION, 1);
        let seen = [
            hash_key(&[0]),
            hash_key(&[1]),
            hash_key(&[0, 1]),
            hash_key(&[1, 0]),
            hash_key(&[1, 2, 3]),
            hash_leading_half(&[0xdead_beef], 40),
            hash_leading_half(&[7, 0xdead_beef], 100),
        ];
        let pinned = [
            0xfd24034ea9930e12,
            0x6580896ce5cec7d3,
            0xbe4ce267531e243a,
            0x3f7a4603ed3ee8a0,
            0xa443bf98bec3f446,
            0xc648d641c8484dd4,
            0x4fabffc61e6a49e2,
        ];
        assert_eq!(seen, pinned, "{seen:#x?}");
    }

    #[test]
    fn every_input_bit_moves_half_of_the_output() {
        for words in 1..=4usize {
            for bit in 0..64 * words {
                let mut flips = 0;
                for seed in 0..256u64 {
                    let mut key: Vec<u64> = (0..words as u64).map(|i| seed * 77 + i).collect();
                    let before = hash_key(&key);
                    key[bit / 64] ^= 1 << (bit % 64);
                    flips += (before ^ hash_key(&key)).count_ones();
                }
                let mean = f64::from(flips) / 256.0;
                assert!((28.0..36.0).contains(&mean), "{words} words, bit {bit}: {mean} of 64 bits move");
            }
        }
    }

    #[test]
    fn counting_keys_fill_buckets_evenly() {
        for words in 1..=3usize {
            for shift in [0, 7, 40] {
                let mut buckets = vec![0u32; 1024];
                for i in 0..64 * 1024u64 {
                    let mut key = vec![0; words];
                    key[0] = i << shift;
                    buckets[(hash_key(&key) >> 54) as usize] += 1;
                }
                let chi: f64 = buckets.iter().map(|&n| (f64::from(n) - 64.0).powi(2) / 64.0).sum();
                assert!((800.0..1280.0).contains(&chi), "{words} words << {shift}: chi square {chi} of 1023");
            }
        }
    }

    #[test]
    fn the_leading_half_ignores_the_rest() {
        for bits in 1..=200u32 {
            let words = bits.div_ceil(64) as usize;
            for bit in 0..bits {
                let mut key = vec![0u64; words];
                let before = hash_leading_half(&key, bits);
                key[words - 1 - (bit / 64) as usize] |= 1 << (bit % 64);
                let changed = hash_leading_half(&key, bits) != before;
                assert_eq!(changed, bit >= bits / 2, "bit {bit} of {bits}");
            }
        }
    }
}
