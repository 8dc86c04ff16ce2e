//! How is a key spelled so that it tells where in a table it lives?
//!
//! The *addressed* form of a key has as many words as the key, and gives it back:
//!
//! ```text
//! stored whole, W <= 64    mixed key
//! stored whole, W > 64     mixed leading 64 bits | the other W - 64 bits, right-aligned
//! cut in two               the key as it is
//! ```
//! Whoever hands keys to a table by way of buffers addresses them once, on the way in, and asks for the key again only where one
//! turned out to be new.

use crate::hash::{hash_key, hash_leading_half};
use crate::mix::Mix;

/// Turns keys of one width into their addressed form and back.
#[derive(Clone, Copy, Debug)]
pub struct Addressing {
    mix: Mix,
    whole: bool,
    shard_bits: u32,
}

impl Addressing {
    pub(super) fn new(bits: u32, whole: bool, shard_bits: u32) -> Addressing {
        Addressing { mix: Mix::new(bits), whole, shard_bits }
    }

    /// Words of a key.
    #[inline(always)]
    pub fn words(&self) -> usize {
        self.mix.bits().div_ceil(64) as usize
    }

    /// The addressed form of a key.
    #[inline(always)]
    pub fn address(&self, key: &[u64], addressed: &mut [u64]) {
        match (self.whole, key, addressed) {
            (true, [key], [addressed]) => *addressed = self.mix.mix_word(*key),
            (true, key, [mixed, rest @ ..]) => *mixed = self.mix.mix_split(key, rest),
            (_, key, addressed) => addressed.copy_from_slice(key),
        }
    }

    /// The key of an addressed form.
    #[inline(always)]
    pub fn key(&self, addressed: &[u64], key: &mut [u64]) {
        match (self.whole, addressed, key) {
            (true, [addressed], [key]) => *key = self.mix.unmix_word(*addressed),
            (true, [mixed, rest @ ..], key) => self.mix.unmix_join(*mixed, rest, key),
            (_, addressed, key) => key.copy_from_slice(addressed),
        }
    }

    /// The shard that an addressed key belongs to.
    #[inline(always)]
    pub fn shard(&self, addressed: &[u64]) -> usize {
        let bits = self.mix.bits();
        match (self.whole, addressed) {
            (true, [only]) => (only >> (bits - self.shard_bits)) as usize,
            (true, _) => addressed[0].unbounded_shr(64 - self.shard_bits) as usize,
            (false, _) => hash_leading_half(addressed, bits).unbounded_shr(64 - self.shard_bits) as usize,
        }
    }

    /// A number whose low bits are as good as random, equal for equal keys.
    #[inline(always)]
    pub(super) fn scatter(&self, addressed: &[u64]) -> u64 {
        if self.whole { addressed[0] } else { hash_key(addressed) }
    }

    /// Whether the addressed form starts with a mixed word.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }
}
