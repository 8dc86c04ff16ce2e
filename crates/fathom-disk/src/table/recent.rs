//! Which keys did this thread offer to its table a moment ago?
//!
//! States of a sorted layer have neighbours in common, so of what they lead to a fifth to a half was offered less than a few thousand
//! offers ago. A cache of the latest keys, one to a place, small enough for the nearest processor cache, takes them out at a
//! tenth of what the table would take to find them. There is no branch on what it finds: every key is written behind those that
//! stay, and stays if the place held another.
//!
//! Exact: what is dropped is equal to a key that was let through before. Memory: at most [`RECENT_BYTES`].

use super::addressing::Addressing;
use crate::budget::{Budget, BudgetError, ChargedVec};

/// The most bytes of one cache.
pub const RECENT_BYTES: usize = 32 << 10;
const OWNER: &str = "recent keys";

/// A cache of the keys that were let through last. Keys go in as they are and come out addressed.
#[derive(Debug)]
pub struct RecentKeys {
    addressing: Addressing,
    /// Places of `entry_words` words: the number that chose the place, and what else tells the key.
    entries: ChargedVec<u64>,
    entry_words: usize,
    /// Places, less one: a power of two, less one.
    mask: usize,
}

impl RecentKeys {
    /// An empty cache of at most `bytes` bytes, and at least one place.
    pub fn new(addressing: Addressing, bytes: usize, budget: &Budget) -> Result<RecentKeys, BudgetError> {
        let entry_words = addressing.words() + usize::from(!addressing.is_whole());
        let places = 1 << (bytes.min(RECENT_BYTES) / (8 * entry_words)).checked_ilog2().unwrap_or(0);
        let mut entries = ChargedVec::with_capacity(budget, OWNER, places * entry_words)?;
        for place in 0..places as u64 {
            // A number that would choose another place. (Where there is only one, it is not used.)
            entries.push(!place)?;
            entries.resize(entries.len() + entry_words - 1, 0)?;
        }
        Ok(RecentKeys { addressing, entries, entry_words, mask: places - 1 })
    }

    /// Appends to `kept`, addressed, the keys that are not in the cache, and puts them there.
    pub fn keep_others(&mut self, keys: &[u64], kept: &mut Vec<u64>) {
        let start = kept.len();
        kept.resize(start + keys.len(), 0);
        let words = if self.mask == 0 {
            keep_all(self.addressing, keys, &mut kept[start..])
        } else {
            match (self.addressing.words(), self.addressing.is_whole()) {
                (1, true) => keep_narrow(self.addressing, &mut self.entries, keys, &mut kept[start..]),
                (2, true) => keep_pairs(self.addressing, &mut self.entries, keys, &mut kept[start..]),
                _ => self.keep_wide(keys, &mut kept[start..]),
            }
        };
        kept.truncate(start + words);
    }

    /// Any width, and keys that are cut.
    fn keep_wide(&mut self, keys: &[u64], kept: &mut [u64]) -> usize {
        let words = self.addressing.words();
        let mut count = 0;
        for key in keys.chunks_exact(words) {
            let out = &mut kept[count..count + words];
            self.addressing.address(key, out);
            let scatter = self.addressing.scatter(out);
            let entry =
                &mut self.entries[(scatter as usize & self.mask) * self.entry_words..][..self.entry_words];
            let (number, rest) = entry.split_first_mut().expect("an entry has a number");
            let told_by = if self.addressing.is_whole() { &out[1..] } else { &*out };
            if *number != scatter || *rest != *told_by {
                *number = scatter;
                rest.copy_from_slice(told_by);
                count += words;
            }
        }
        count
    }
}

/// No cache at all.
fn keep_all(addressing: Addressing, keys: &[u64], kept: &mut [u64]) -> usize {
    let words = addressing.words();
    for (key, out) in keys.chunks_exact(words).zip(kept.chunks_exact_mut(words)) {
        addressing.address(key, out);
    }
    keys.len()
}

/// One mixed word is the whole key.
fn keep_narrow(addressing: Addressing, entries: &mut [u64], keys: &[u64], kept: &mut [u64]) -> usize {
    let mask = entries.len() - 1;
    let mut count = 0;
    for key in keys {
        let out = &mut kept[count..count + 1];
        addressing.address(std::slice::from_ref(key), out);
        let entry = &mut entries[out[0] as usize & mask];
        count += usize::from(*entry != out[0]);
        *entry = out[0];
    }
    count
}

/// A mixed word and one of the rest.
fn keep_pairs(addressing: Addressing, entries: &mut [u64], keys: &[u64], kept: &mut [u64]) -> usize {
    let (entries, _) = entries.as_chunks_mut::<2>();
    let mask = entries.len() - 1;
    let mut count = 0;
    for key in keys.chunks_exact(2) {
        let out = &mut kept[count..count + 2];
        addressing.address(key, out);
        let entry = &mut entries[out[0] as usize & mask];
        count += 2 * usize::from((entry[0] ^ out[0]) | (entry[1] ^ out[1]) != 0);
        *entry = [out[0], out[1]];
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_dropped_was_let_through_before() {
        let mut seed = 11u64;
        for (bits, whole) in [
            (1, true),
            (5, true),
            (12, true),
            (48, true),
            (64, true),
            (70, true),
            (140, true),
            (90, false),
            (200, false),
        ] {
            for bytes in [0, 64, 1000, 1 << 20] {
                let addressing = Addressing::new(bits, whole, 0);
                let mut recent = RecentKeys::new(addressing, bytes, &Budget::unlimited()).unwrap();
                let words = addressing.words();
                let (mut offered, mut through) = (BTreeSet::new(), BTreeSet::new());
                let mut dropped = 0;
                for round in 0..200 {
                    let mut batch = Vec::new();
                    for _ in 0..round % 40 {
                        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        let mut key = vec![0; words];
                        key[words - 1] = (seed >> 33) % (1 << bits.min(7));
                        key[0] |= ((seed >> 20) & 1) << ((bits - 1) % 64);
                        offered.insert(key.clone());
                        batch.extend(key);
                    }
                    let mut kept = vec![7; 3];
                    recent.keep_others(&batch, &mut kept);
                    assert_eq!(kept[..3], [7; 3]);
                    dropped += (batch.len() - (kept.len() - 3)) / words;
                    for addressed in kept[3..].chunks(words) {
                        let mut key = vec![0; words];
                        addressing.key(addressed, &mut key);
                        through.insert(key);
                    }
                    assert_eq!(offered, through, "{bits} bits, {bytes} bytes, round {round}");
                }
                assert_eq!(dropped == 0, recent.mask == 0, "{bits} bits, {bytes} bytes");
            }
        }
    }
}
