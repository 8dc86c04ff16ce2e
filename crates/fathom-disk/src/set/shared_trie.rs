//! Which keys are in a set whose equal parts are kept once?
//!
//! State sets are made of products: below many different beginnings of keys the same endings follow. A [`SharedTrie`] is a trie over the bytes of keys, most significant first, in
//! which equal subtrees are one node, so such a set takes a small part of a byte per key, and is asked without decoding anything. Not all sets are made so: whoever builds one says what it may
//! take, and goes without if that is exceeded.
//!
//! Nodes never change; a set that grows leaves nodes behind that nothing refers to any more. Made anew it is smaller.
//!
//! Memory: nodes, and five to six bytes per node to find equal ones until it is [finished](SharedTrie::finish); 1.3 KiB per level. For keys of one and two words; a level has 16 MiB at most.

mod level;

use super::KeyStream;
use crate::budget::{Budget, BudgetError, ChargedVec};
use crate::error::DiskError;
use crate::key::{self, KeyWidth};
use crate::sabotage::is_chosen;
use level::{Level, OpenNode};

/// A set of keys that only grows.
#[derive(Debug)]
pub struct SharedTrie {
    width: KeyWidth,
    levels: Vec<Level>,
    root: Option<u32>,
    /// A node of each level while it is made.
    open: ChargedVec<OpenNode>,
}

const OWNER: &str = "shared trie";

impl SharedTrie {
    /// An empty set; none if keys are wider than two words.
    pub fn new(width: KeyWidth, budget: &Budget) -> Result<Option<SharedTrie>, BudgetError> {
        if width.words() > 2 {
            return Ok(None);
        }
        let depth = width.bytes();
        let levels =
            (0..depth).map(|level| Level::new(budget, level + 1 == depth)).collect::<Result<_, _>>()?;
        let mut open = ChargedVec::with_capacity(budget, OWNER, depth)?;
        open.resize(depth, OpenNode::EMPTY)?;
        Ok(Some(SharedTrie { width, levels, root: None, open }))
    }

    /// The set of an ascending stream, without nodes left behind; none if keys are wider than two words or the budget does not suffice.
    pub fn build(
        width: KeyWidth,
        budget: &Budget,
        keys: &mut dyn KeyStream,
    ) -> Result<Option<SharedTrie>, DiskError> {
        let Ok(Some(mut trie)) = SharedTrie::new(width, budget) else { return Ok(None) };
        let mut before: Option<u128> = None;
        while keys.advance()? {
            for key in told(width.words(), keys.keys()).chunks_exact(width.words()) {
                let key = if key.len() == 1 { u128::from(key[0]) } else { key::wide(key) };
                if let Some(before) = before
                    && trie.close_below(trie.first_unlike(key, before), before).is_err()
                {
                    return Ok(None);
                }
                let bottom = trie.levels.len() - 1;
                trie.open[bottom].push(key as u8, 0);
                before = Some(key);
            }
        }
        if let Some(last) = before {
            let finished = trie.close_below(0, last).and_then(|()| trie.close(0));
            let Ok(root) = finished else { return Ok(None) };
            trie.root = Some(root);
        }
        Ok(Some(trie))
    }

    /// Bytes of its nodes, and of what finds equal ones.
    pub fn bytes(&self) -> usize {
        let open = self.open.capacity() * size_of::<OpenNode>();
        open + self.levels.iter().map(Level::bytes).sum::<usize>()
    }

    /// Forgets what finds equal nodes, until keys are added again.
    pub fn finish(&mut self) -> Result<(), BudgetError> {
        self.levels.iter_mut().try_for_each(Level::forget_places)
    }

    /// Adds strictly ascending keys. After a refusal the set is what it was.
    pub fn insert(&mut self, keys: &[u64]) -> Result<(), BudgetError> {
        let keys = told(self.width.words(), keys);
        if !keys.is_empty() {
            self.root = Some(self.grow(0, self.root, keys)?);
        }
        Ok(())
    }

    /// Sets `found[i]` for each of the ascending `keys` that is in the set; the others stay as they are.
    pub fn mark(&self, keys: &[u64], found: &mut [bool]) {
        let Some(root) = self.root else { return };
        match self.width.words() {
            1 => self.mark_numbers(root, keys.iter().map(|&key| u128::from(key)), found),
            _ => self.mark_numbers(root, keys.chunks_exact(2).map(key::wide), found),
        }
    }

    fn mark_numbers(&self, root: u32, keys: impl Iterator<Item = u128>, found: &mut [bool]) {
        let depth = self.levels.len();
        // The way to the key before: the node of each level, as far as it went.
        let mut way = [root; 16];
        let (mut known, mut before) = (0, 0);
        for (key, found) in keys.zip(found) {
            let mut level = known.min(self.first_unlike(key, before));
            before = key;
            *found |= loop {
                let node = self.levels[level].node(way[level]);
                let digit = (key >> (8 * (depth - 1 - level))) as u8;
                let Some(index) = node.index_of(digit) else { break false };
                if level + 1 == depth {
                    break true;
                }
                level += 1;
                way[level] = node.below(index);
            };
            known = level;
        }
    }

    /// The first level at which two keys have other digits; the number of levels if they are equal.
    #[inline(always)]
    fn first_unlike(&self, left: u128, right: u128) -> usize {
        let bits = 128 - (left ^ right).leading_zeros() as usize;
        self.levels.len().saturating_sub(bits.div_ceil(8))
    }

    /// Closes the open nodes below a level, which lie on the way to that key.
    fn close_below(&mut self, level: usize, key: u128) -> Result<(), BudgetError> {
        for lower in (level + 1..self.levels.len()).rev() {
            let place = self.close(lower)?;
            let digit = (key >> (8 * (self.levels.len() - lower))) as u8;
            self.open[lower - 1].push(digit, place);
        }
        Ok(())
    }

    /// Keeps the open node of a level, which is empty again.
    fn close(&mut self, level: usize) -> Result<u32, BudgetError> {
        let place = self.levels[level].keep(&self.open[level])?;
        self.open[level].clear();
        Ok(place)
    }

    /// The node with what the node has, if there is one, and the keys, which have the same digits above this level.
    fn grow(&mut self, level: usize, node: Option<u32>, mut keys: &[u64]) -> Result<u32, BudgetError> {
        let words = self.width.words();
        self.open[level].clear();
        if let Some(place) = node {
            self.levels[level].node(place).open(&mut self.open[level]);
        }
        let index = self.levels.len() - 1 - level;
        while !keys.is_empty() {
            let digit = key::byte(&keys[..words], index);
            let alike = self.alike(keys, index, digit);
            let below = match index {
                0 => 0,
                _ => self.grow(level + 1, self.open[level].get(digit), &keys[..alike])?,
            };
            self.open[level].set(digit, below);
            keys = &keys[alike..];
        }
        self.close(level)
    }

    /// How many words of the ascending keys have that digit, as the first of them has: those after them are greater.
    fn alike(&self, keys: &[u64], index: usize, digit: u8) -> usize {
        let words = self.width.words();
        let has_digit = |place: usize| key::byte(&keys[place * words..(place + 1) * words], index) == digit;
        let all = keys.len() / words;
        let mut stride = 1;
        while stride < all && has_digit(stride) {
            stride *= 2;
        }
        let (mut low, mut high) = (stride / 2 + 1, stride.min(all));
        while low < high {
            let middle = (low + high) / 2;
            if has_digit(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low * words
    }
}

/// Deliberately wrong where that was [chosen](is_chosen): the last of many keys is forgotten.
fn told(words: usize, keys: &[u64]) -> &[u64] {
    let forgotten = if is_chosen("trie") && keys.len() > words { words } else { 0 };
    &keys[..keys.len() - forgotten]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::SliceStream;
    use super::*;

    /// Any bits, by a generator that shares nothing with what is tested.
    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    fn words_of(key: u128, words: usize) -> Vec<u64> {
        if words == 1 { vec![key as u64] } else { key::narrow(key).to_vec() }
    }

    /// Inserts the keys in batches and compares answers for them, their neighbours and others with a set of the standard library.
    fn compare(bits: u32, mut key_of: impl FnMut(u64) -> u128, seed: u64) {
        let width = KeyWidth::new(bits).expect("a width");
        let budget = Budget::unlimited();
        let mut trie = SharedTrie::new(width, &budget).expect("memory").expect("narrow keys");
        let (mut known, mut state) = (BTreeSet::new(), seed);
        let mask = u128::MAX >> (128 - bits);
        for batch in 0..12u64 {
            let keys: BTreeSet<u128> = (0..1 << batch).map(|_| key_of(random(&mut state)) & mask).collect();
            let flat: Vec<u64> = keys.iter().flat_map(|&key| words_of(key, width.words())).collect();
            trie.insert(&flat).expect("memory");
            known.extend(&keys);
            let near =
                |&key: &u128| [key.wrapping_sub(1) & mask, key, (key + 1) & mask, key ^ (mask / 3 + 1)];
            let asked: BTreeSet<u128> = known.iter().flat_map(near).chain([0, mask]).collect();
            let flat: Vec<u64> = asked.iter().flat_map(|&key| words_of(key, width.words())).collect();
            let mut found = vec![false; asked.len()];
            trie.mark(&flat, &mut found);
            for (key, found) in asked.iter().zip(found) {
                assert_eq!(
                    found,
                    known.contains(key),
                    "{bits} bits, seed {seed}, batch {batch}, key {key:x}"
                );
            }
        }
        let flat: Vec<u64> = known.iter().flat_map(|&key| words_of(key, width.words())).collect();
        let mut stream = SliceStream::new(width.words(), &flat);
        let built = SharedTrie::build(width, &budget, &mut stream).expect("memory").expect("it fits");
        assert!(built.bytes() <= trie.bytes(), "nothing is left behind");
        let asked: BTreeSet<u128> = known.iter().flat_map(|&key| [key, key ^ 1, key ^ mask]).collect();
        let flat: Vec<u64> = asked.iter().flat_map(|&key| words_of(key, width.words())).collect();
        let mut found = vec![false; asked.len()];
        built.mark(&flat, &mut found);
        for (key, found) in asked.iter().zip(found) {
            assert_eq!(found, known.contains(key), "built, {bits} bits, seed {seed}, key {key:x}");
        }
        drop((trie, built));
        assert_eq!(budget.used(), 0, "all memory is given back");
    }

    #[test]
    fn answers_are_those_of_a_set() {
        for bits in [1, 3, 8, 9, 16, 29, 33, 63, 64, 65, 88, 127, 128] {
            for seed in [3, 1 << 40 | 7] {
                let spread = |word: u64| u128::from(word) << 64 | u128::from(word.rotate_left(21) ^ 0x5555);
                compare(bits, spread, seed);
                // Products: few beginnings, few endings.
                compare(
                    bits,
                    |word| (u128::from(word % 61) << (bits / 2)) | (u128::from(word >> 32) % 300),
                    seed,
                );
                // All of a range.
                let mut next = 0u128;
                compare(
                    bits,
                    |_| {
                        next += 1;
                        next
                    },
                    seed,
                );
            }
        }
    }

    #[test]
    fn equal_parts_take_memory_once() {
        let width = KeyWidth::new(48).expect("a width");
        let mut trie = SharedTrie::new(width, &Budget::unlimited()).expect("memory").expect("narrow keys");
        let keys: Vec<u64> =
            (0..20_000u64).flat_map(|front| (0..50u64).map(move |end| (front << 16) | (end * 7))).collect();
        trie.insert(&keys).expect("memory");
        assert!(trie.bytes() < keys.len() / 20, "{} bytes for {} keys", trie.bytes(), keys.len());
    }

    #[test]
    fn a_refusal_leaves_the_set_as_it_was() {
        let width = KeyWidth::new(64).expect("a width");
        let budget = Budget::new(64 << 10);
        let mut trie = SharedTrie::new(width, &budget).expect("memory").expect("narrow keys");
        let first: Vec<u64> = (0..100).map(|key| key * 0x1_0000_0001).collect();
        trie.insert(&first).expect("there is room for a hundred");
        let many: Vec<u64> = (0..100_000).map(|key| key * 0x0123_4567_89ab).collect();
        assert!(trie.insert(&many).is_err(), "there is no room for all");
        let mut found = vec![false; first.len()];
        trie.mark(&first, &mut found);
        assert!(found.iter().all(|&found| found));
        let mut found = vec![false; many.len()];
        trie.mark(&many, &mut found);
        assert_eq!(found.iter().filter(|&&found| found).count(), 1, "zero was among the first");
    }
}
