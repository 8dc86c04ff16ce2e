//! How does a key become uniform without losing anything?
//!
//! [`Mix`] is a bijection on keys of one width. Structures that take the leading bits of a key for an address (the
//! quotiented table) mix first and unmix when they give keys back.
//!
//! * Up to 64 bits the whole key is mixed: shift-xor by half the width, multiply by an odd number, twice, shift-xor.
//!   Each step is invertible within the width.
//! * Above 64 bits, with `A` the leading 64 bits and `B` the rest, the key becomes `(mix(A + H(B)), B)`: the leading 64
//!   bits are uniform, and `B`, which is kept, is what inverts them.

use crate::hash::hash_key;

const FIRST: u64 = 0xbf58_476d_1ce4_e5b9;
const SECOND: u64 = 0x94d0_49bb_1331_11eb;
const FIRST_INVERSE: u64 = odd_inverse(FIRST);
const SECOND_INVERSE: u64 = odd_inverse(SECOND);

/// A bijection on keys of `bits` bits, and its inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    bits: u32,
    /// Half the bits of the part that is mixed (the whole key, at most 64), rounded up: 1 to 32.
    shift: u32,
    mask: u64,
}

impl Mix {
    /// The bijection for keys of `bits` bits, 1 or more.
    pub fn new(bits: u32) -> Mix {
        assert!(bits > 0, "a key has at least one bit");
        let mixed_bits = bits.min(64);
        Mix { bits, shift: mixed_bits.div_ceil(2), mask: u64::MAX >> (64 - mixed_bits) }
    }

    /// Width of the keys.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Mixes a value of at most 64 bits: the key itself, or the leading part of a wide one.
    #[inline(always)]
    pub fn mix_word(self, word: u64) -> u64 {
        let mut x = word;
        x ^= x >> (self.shift & 63);
        x = x.wrapping_mul(FIRST) & self.mask;
        x ^= x >> (self.shift & 63);
        x = x.wrapping_mul(SECOND) & self.mask;
        x ^ (x >> (self.shift & 63))
    }

    /// Inverse of [`Mix::mix_word`].
    #[inline(always)]
    pub fn unmix_word(self, word: u64) -> u64 {
        let mut x = word;
        x ^= x >> (self.shift & 63);
        x = x.wrapping_mul(SECOND_INVERSE) & self.mask;
        x ^= x >> (self.shift & 63);
        x = x.wrapping_mul(FIRST_INVERSE) & self.mask;
        x ^ (x >> (self.shift & 63))
    }

    /// Mixes a key in place. Its words are those of the contract: most significant first, right-aligned.
    #[inline]
    pub fn mix(self, key: &mut [u64]) {
        if let [only] = key {
            *only = self.mix_word(*only);
            return;
        }
        let leading = self.split(key);
        let mixed = self.mix_word(leading.wrapping_add(hash_key(&key[1..])));
        self.join(key, mixed);
    }

    /// Inverse of [`Mix::mix`].
    #[inline]
    pub fn unmix(self, key: &mut [u64]) {
        if let [only] = key {
            *only = self.unmix_word(*only);
            return;
        }
        let leading = self.split(key);
        let original = self.unmix_word(leading).wrapping_sub(hash_key(&key[1..]));
        self.join(key, original);
    }

    /// The mixed leading 64 bits of a key of two or more words; `rest` receives the remaining `bits - 64` bits, right-aligned
    /// in one word less than the key has.
    #[inline(always)]
    pub fn mix_split(self, key: &[u64], rest: &mut [u64]) -> u64 {
        let leading_bits = self.top_bits();
        let leading = key[0].unbounded_shl(64 - leading_bits) | key[1].unbounded_shr(leading_bits);
        rest.copy_from_slice(&key[1..]);
        rest[0] &= low_mask(leading_bits);
        self.mix_word(leading.wrapping_add(hash_key(rest)))
    }

    /// Inverse of [`Mix::mix_split`].
    #[inline(always)]
    pub fn unmix_join(self, mixed: u64, rest: &[u64], key: &mut [u64]) {
        let original = self.unmix_word(mixed).wrapping_sub(hash_key(rest));
        key[1..].copy_from_slice(rest);
        key[0] = 0;
        self.join(key, original);
    }

    /// Bits of the key in its first word: 1 to 64.
    fn top_bits(self) -> u32 {
        (self.bits - 1) % 64 + 1
    }

    /// Takes the leading 64 bits out of a key, leaving zeros.
    fn split(self, key: &mut [u64]) -> u64 {
        let top = self.top_bits();
        let leading = key[0].unbounded_shl(64 - top) | key[1].unbounded_shr(top);
        key[0] = 0;
        key[1] &= low_mask(top);
        leading
    }

    /// Puts 64 leading bits where `split` found them.
    fn join(self, key: &mut [u64], leading: u64) {
        let top = self.top_bits();
        key[0] = leading.unbounded_shr(64 - top);
        key[1] |= leading.unbounded_shl(top);
    }
}

/// The `bits` lowest bits, 0 to 64.
const fn low_mask(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits) }
}

/// Inverse of an odd number modulo 2^64, hence modulo every smaller power of two: Newton's iteration doubles the right bits.
const fn odd_inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_bijection_for_all_keys_of_all_widths_up_to_16() {
        for bits in 1..=16u32 {
            let mix = Mix::new(bits);
            let mut hit = vec![false; 1 << bits];
            for key in 0..1u64 << bits {
                let mixed = mix.mix_word(key);
                assert!(mixed < 1 << bits, "{key} of {bits} bits left its width");
                assert!(!std::mem::replace(&mut hit[mixed as usize], true), "{key} of {bits} bits collides");
                assert_eq!(mix.unmix_word(mixed), key, "{bits} bits");
            }
        }
    }

    #[test]
    fn it_inverts_on_random_and_extreme_keys_of_all_widths() {
        let mut seed = 1u64;
        let mut next = move || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            seed ^ (seed >> 29)
        };
        for bits in (1..=330).chain([1000, 2047, 2048, 2049, 4000]) {
            let words = bits as usize / 64 + usize::from(bits % 64 != 0);
            let top = if bits % 64 == 0 { u64::MAX } else { (1 << (bits % 64)) - 1 };
            let mix = Mix::new(bits);
            for round in 0..40 {
                let mut key: Vec<u64> = match round {
                    0 => vec![0; words],
                    1 => vec![u64::MAX; words],
                    _ => (0..words).map(|_| next()).collect(),
                };
                key[0] &= top;
                let original = key.clone();
                mix.mix(&mut key);
                assert!(key[0] <= top, "{bits} bits, round {round}: left its width");
                if words > 1 {
                    let mut rest = vec![0; words - 1];
                    let leading = mix.mix_split(&original, &mut rest);
                    let mut back = vec![0; words];
                    mix.unmix_join(leading, &rest, &mut back);
                    assert_eq!(back, original, "{bits} bits, round {round}: split and join");
                }
                mix.unmix(&mut key);
                assert_eq!(key, original, "{bits} bits, round {round}");
            }
        }
    }

    #[test]
    fn leading_bits_of_counting_keys_are_even() {
        for (bits, shift) in [(40u32, 0), (40, 20), (64, 0), (64, 40), (100, 0), (130, 40)] {
            let words = bits.div_ceil(64) as usize;
            let mix = Mix::new(bits);
            let mut buckets = vec![0u32; 256];
            for i in 0..64 * 256u64 {
                let mut key = vec![0u64; words];
                key[words - 1] = i << shift;
                mix.mix(&mut key);
                let top = (bits - 1) % 64 + 1;
                let leading =
                    if top >= 8 { key[0] >> (top - 8) } else { key[0] << (8 - top) | key[1] >> (56 + top) };
                buckets[leading as usize] += 1;
            }
            let chi: f64 = buckets.iter().map(|&n| (f64::from(n) - 64.0).powi(2) / 64.0).sum();
            assert!(chi < 400.0, "{bits} bits << {shift}: chi square {chi} of 255");
        }
    }
}
