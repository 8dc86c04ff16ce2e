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

/// Keys that stay, one behind the other.
struct Sieve<'a> {
    kept: &'a mut [u64],
    at: usize,
}

impl Sieve<'_> {
    /// Writes a key, addressed, behind those that stay, where it stays only if it is to: nobody can foresee that, so there is no branch on it.
    #[inline(always)]
    fn put(&mut self, addressed: &[u64], stays: bool) {
        self.kept[self.at..self.at + addressed.len()].copy_from_slice(addressed);
        self.at += addressed.len() * usize::from(stays);
    }
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

    /// Gives the keys that are not in the cache, addressed, and puts them there. `room` is where they are written; it becomes as long as the longest list of keys, and
    /// what else is in it is of no matter.
    pub fn keep_others<'a>(&mut self, keys: &[u64], room: &'a mut Vec<u64>) -> &'a [u64] {
        if room.len() < keys.len() {
            room.resize(keys.len(), 0);
        }
        let mut sieve = Sieve { kept: room, at: 0 };
        self.sift(keys, &mut sieve);
        let end = sieve.at;
        &room[..end]
    }

    /// Puts every key into the sieve, addressed. It stays there if it was not in the cache, and is in the cache now.
    fn sift(&mut self, keys: &[u64], sieve: &mut Sieve<'_>) {
        if self.mask == 0 {
            return sift_none(self.addressing, keys, sieve);
        }
        match (self.addressing.words(), self.addressing.is_whole()) {
            (1, true) => sift_narrow(self.addressing, &mut self.entries, keys, sieve),
            (2, true) => sift_pairs(self.addressing, &mut self.entries, keys, sieve),
            (2, false) => sift_cut_pairs(self.addressing, &mut self.entries, self.mask, keys, sieve),
            _ => self.sift_wide(keys, sieve),
        }
    }

    /// Any width, and keys that are cut.
    fn sift_wide(&mut self, keys: &[u64], sieve: &mut Sieve<'_>) {
        let words = self.addressing.words();
        let mut addressed = vec![0; words];
        for key in keys.chunks_exact(words) {
            self.addressing.address(key, &mut addressed);
            let scatter = self.addressing.scatter(&addressed);
            let entry =
                &mut self.entries[(scatter as usize & self.mask) * self.entry_words..][..self.entry_words];
            let (number, rest) = entry.split_first_mut().expect("an entry has a number");
            let told_by = if self.addressing.is_whole() { &addressed[1..] } else { &*addressed };
            let stays = *number != scatter || *rest != *told_by;
            if stays {
                *number = scatter;
                rest.copy_from_slice(told_by);
            }
            sieve.put(&addressed, stays);
        }
    }
}

/// No cache at all.
fn sift_none(addressing: Addressing, keys: &[u64], sieve: &mut Sieve<'_>) {
    let words = addressing.words();
    let mut addressed = vec![0; words];
    for key in keys.chunks_exact(words) {
        addressing.address(key, &mut addressed);
        sieve.put(&addressed, true);
    }
}

/// One mixed word is the whole key.
#[inline(always)]
fn sift_narrow(addressing: Addressing, entries: &mut [u64], keys: &[u64], sieve: &mut Sieve<'_>) {
    let mask = entries.len() - 1;
    for key in keys {
        let mut addressed = [0];
        addressing.address(std::slice::from_ref(key), &mut addressed);
        let entry = &mut entries[addressed[0] as usize & mask];
        let stays = *entry != addressed[0];
        *entry = addressed[0];
        sieve.put(&addressed, stays);
    }
}

/// A mixed word and one of the rest.
#[inline(always)]
fn sift_pairs(addressing: Addressing, entries: &mut [u64], keys: &[u64], sieve: &mut Sieve<'_>) {
    let (entries, _) = entries.as_chunks_mut::<2>();
    let mask = entries.len() - 1;
    for key in keys.chunks_exact(2) {
        let mut addressed = [0; 2];
        addressing.address(key, &mut addressed);
        let entry = &mut entries[addressed[0] as usize & mask];
        let stays = (entry[0] ^ addressed[0]) | (entry[1] ^ addressed[1]) != 0;
        *entry = addressed;
        sieve.put(&addressed, stays);
    }
}

/// Keys of two words as they are.
#[inline(always)]
fn sift_cut_pairs(
    addressing: Addressing,
    entries: &mut [u64],
    mask: usize,
    keys: &[u64],
    sieve: &mut Sieve<'_>,
) {
    let (entries, _) = entries.as_chunks_mut::<3>();
    let entries = &mut entries[..=mask];
    for key in keys.as_chunks::<2>().0 {
        let scatter = addressing.scatter(key);
        let entry = &mut entries[scatter as usize & mask];
        let stays = (entry[0] ^ scatter) | (entry[1] ^ key[0]) | (entry[2] ^ key[1]) != 0;
        *entry = [scatter, key[0], key[1]];
        sieve.put(key, stays);
    }
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
                    let mut room = vec![7; 30];
                    let kept = recent.keep_others(&batch, &mut room);
                    dropped += (batch.len() - kept.len()) / words;
                    for addressed in kept.chunks(words) {
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
