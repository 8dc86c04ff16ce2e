//! Which states of recent layers are in memory?
//!
//! Every candidate that was not met is put into a table, with the layer that it is offered for. When the table is full the shallowest layers go, and are not *complete* any more: a layer is complete if all its states are
//! in the table. That is never regained, since nothing is put back: so all layers from some number on are complete, and none before it. A candidate that is in the table was offered before, so it is never wrong to leave it
//! out; and one that is not there is in no complete layer, which therefore need not be read.
//!
//! Memory: a key and four bytes an entry, at most three quarters of them used. It grows as it is filled, up to its share.

use std::sync::Mutex;

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};
use fathom_disk::hash::{for_caches, hash_key};
use fathom_disk::sabotage::is_chosen;

use crate::files::candidates::Meets;
use crate::files::lock;

/// The states of recent layers, as far as there is room.
#[derive(Debug)]
pub(super) struct Image {
    words: usize,
    /// The layer that candidates are offered for.
    layer: u64,
    /// By hash; each behind a lock, and there are more of them than threads.
    parts: Vec<Mutex<Part>>,
}

/// A part of it: keys in the first free place from where their hash says.
#[derive(Debug)]
struct Part {
    words: usize,
    budget: Budget,
    keys: ChargedVec<u64>,
    /// The layer of each key, plus one; 0 where there is none.
    layers: ChargedVec<u32>,
    entries: usize,
    /// Places that it may grow to: a power of two, or none at all.
    places_max: usize,
    /// Entries that it may have, whatever its size.
    entries_max: usize,
    /// The first layer that is complete.
    complete_from: u64,
}

const OWNER: &str = "image of layers";
/// Places at first.
const PLACES_MIN: usize = 1 << 10;
/// Parts for each thread, if there are several threads: with so many, two seldom wait for each other.
const PARTS_PER_THREAD: usize = 16;
/// Of the entries of a full part, one in so many goes, at least: whatever goes, all places are gone through.
const PART_DROPPED: usize = 8;
/// Ranges of layers that are told apart in one go, when it is asked which layers must go.
const BINS: usize = 64;

impl Image {
    /// An empty image of at most so many bytes, and entries, for so many threads.
    pub(super) fn new(
        words: usize,
        (bytes, entries_max): (usize, usize),
        threads: usize,
        budget: &Budget,
    ) -> Result<Image, BudgetError> {
        let parts = if threads > 1 { (threads * PARTS_PER_THREAD).next_power_of_two() } else { 1 };
        // A part of two places or fewer would hold next to nothing.
        let place_bytes = words * 8 + 4;
        let parts = parts.min((bytes / place_bytes / 4).max(1)).min(entries_max.max(1));
        let part = |_| Part::new(words, bytes / parts, entries_max / parts, budget).map(Mutex::new);
        Ok(Image { words, layer: 0, parts: (0..parts).map(part).collect::<Result<_, _>>()? })
    }

    /// From now on candidates are for this layer.
    pub(super) fn begin_layer(&mut self, layer: u64) {
        self.layer = layer;
    }

    /// The first layer whose states are all here, with those of all that follow.
    pub(super) fn complete_from(&self) -> u64 {
        let from = self.parts.iter().map(|part| lock(part).complete_from).max().unwrap_or(u64::MAX);
        // Deliberately wrong where that was chosen: a layer of which a part is still here is taken for complete, as in the paper.
        if is_chosen("image") { from.saturating_sub(1) } else { from }
    }

    /// No layer up to the last closed one is here: of a search that is taken up.
    pub(super) fn begin_after(&mut self, layers: u64) {
        for part in &mut self.parts {
            let part = part.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
            part.complete_from = part.complete_from.max(layers);
        }
    }

    /// Gives its memory back: no candidates are offered any more.
    pub(super) fn forget(&mut self) {
        self.parts = Vec::new();
    }
}

impl Meets for Image {
    fn meet_batch(&self, keys: &[u64], missed: &mut Vec<u32>) {
        if let [part] = &self.parts[..] {
            let mut part = lock(part);
            let all = (0..).zip(keys.chunks_exact(self.words));
            missed.extend(
                all.filter(|(_, key)| !part.meet(key, hash_of(key), self.layer)).map(|(index, _)| index),
            );
            return;
        }
        for (index, key) in (0..).zip(keys.chunks_exact(self.words)) {
            let hash = hash_of(key);
            let part = ((u128::from(hash) * self.parts.len() as u128) >> 64) as usize;
            if !lock(&self.parts[part]).meet(key, hash, self.layer) {
                missed.push(index);
            }
        }
    }
}

#[inline]
fn hash_of(key: &[u64]) -> u64 {
    for_caches(hash_key(key))
}

impl Part {
    fn new(words: usize, bytes: usize, entries_max: usize, budget: &Budget) -> Result<Part, BudgetError> {
        let fit = bytes / (words * 8 + 4);
        let wanted = entries_max.saturating_mul(4).div_ceil(3).saturating_add(1);
        let places_max = if fit < 2 || entries_max == 0 { 0 } else { largest_power(fit.min(wanted.max(2))) };
        let mut part = Part {
            words,
            budget: budget.clone(),
            keys: ChargedVec::with_capacity(budget, OWNER, 0)?,
            layers: ChargedVec::with_capacity(budget, OWNER, 0)?,
            entries: 0,
            places_max,
            entries_max,
            complete_from: if places_max == 0 { u64::MAX } else { 0 },
        };
        if places_max > 0 {
            part.keys = ChargedVec::zeroed(budget, OWNER, places_max.min(PLACES_MIN) * words)?;
            part.layers = ChargedVec::zeroed(budget, OWNER, places_max.min(PLACES_MIN))?;
        }
        Ok(part)
    }

    /// Whether a key is here; if not, it is from now on, as one of a layer.
    #[inline]
    fn meet(&mut self, key: &[u64], hash: u64, layer: u64) -> bool {
        if self.places_max == 0 {
            return false;
        }
        let mut place = match self.find(key, hash) {
            Ok(()) => return true,
            Err(place) => place,
        };
        if self.entries == self.room() {
            self.make_room(layer);
            place = self.free_place(hash);
        }
        self.put(place, key, tag_of(layer));
        self.entries += 1;
        false
    }

    /// Looks for a key; where it belongs, if it is not here.
    #[inline]
    fn find(&self, key: &[u64], hash: u64) -> Result<(), usize> {
        let mask = self.layers.len() - 1;
        let mut place = hash as usize & mask;
        while self.layers[place] != 0 {
            if &self.keys[place * self.words..][..self.words] == key {
                return Ok(());
            }
            place = (place + 1) & mask;
        }
        Err(place)
    }

    fn free_place(&self, hash: u64) -> usize {
        let mask = self.layers.len() - 1;
        let mut place = hash as usize & mask;
        while self.layers[place] != 0 {
            place = (place + 1) & mask;
        }
        place
    }

    fn put(&mut self, place: usize, key: &[u64], tag: u32) {
        self.keys[place * self.words..][..self.words].copy_from_slice(key);
        self.layers[place] = tag;
    }

    /// Entries there is room for: a place stays free, or a search for what is not here would not end.
    fn room(&self) -> usize {
        (self.layers.len() / 4 * 3).max(1).min(self.entries_max)
    }

    /// Grows, or lets the shallowest layers go.
    fn make_room(&mut self, layer: u64) {
        if self.layers.len() < self.places_max && self.entries < self.entries_max {
            match self.grow() {
                Ok(()) => return,
                // There is no more memory: it stays as it is.
                Err(_) => self.places_max = self.layers.len(),
            }
        }
        self.drop_shallowest(layer);
    }

    fn grow(&mut self) -> Result<(), BudgetError> {
        let places = self.layers.len() * 2;
        let keys = ChargedVec::zeroed(&self.budget, OWNER, places * self.words)?;
        let layers = ChargedVec::zeroed(&self.budget, OWNER, places)?;
        let keys = std::mem::replace(&mut self.keys, keys);
        let layers = std::mem::replace(&mut self.layers, layers);
        for (key, &tag) in keys.chunks_exact(self.words).zip(&*layers).filter(|(_, tag)| **tag != 0) {
            let place = self.free_place(hash_of(key));
            self.put(place, key, tag);
        }
        Ok(())
    }

    /// Lets the shallowest layers go, as many as it takes to free a part of the entries; at most all up to the one that candidates are offered for.
    fn drop_shallowest(&mut self, layer: u64) {
        let last = self.shallowest((self.entries / PART_DROPPED).max(1));
        let free = self.layers.iter().position(|tag| *tag == 0).expect("a place is free");
        let mask = self.layers.len() - 1;
        for tag in self.layers.iter_mut().filter(|tag| **tag != 0 && **tag <= last) {
            *tag = 0;
            self.entries -= 1;
        }
        // From a place on that was free before: so no key is moved away from behind one that counts on it.
        for step in 1..self.layers.len() {
            let place = (free + step) & mask;
            let tag = std::mem::take(&mut self.layers[place]);
            if tag != 0 {
                let key = &self.keys[place * self.words..][..self.words];
                let to = self.free_place(hash_of(key));
                self.keys.copy_within(place * self.words..(place + 1) * self.words, to * self.words);
                self.layers[to] = tag;
            }
        }
        let complete = if last == u32::MAX { layer + 1 } else { u64::from(last) };
        self.complete_from = self.complete_from.max(complete);
    }

    /// The first layer, plus one, such that it and those before it have so many entries: there are as many.
    fn shallowest(&self, wanted: usize) -> u32 {
        let used = || self.layers.iter().filter(|tag| **tag != 0);
        let mut low = used().copied().min().unwrap_or(1);
        let mut high = used().copied().max().unwrap_or(1);
        let mut below = 0;
        while low < high {
            let width = (high - low) / BINS as u32 + 1;
            let mut bins = [0usize; BINS];
            for tag in used().filter(|tag| (low..=high).contains(tag)) {
                bins[((tag - low) / width) as usize] += 1;
            }
            let mut bin = 0;
            while below + bins[bin] < wanted {
                below += bins[bin];
                bin += 1;
            }
            low += bin as u32 * width;
            high = high.min(low.saturating_add(width - 1));
        }
        low
    }
}

/// A layer as entries have it: the few bits suffice for all but the last of four billion layers, which become one.
fn tag_of(layer: u64) -> u32 {
    u32::try_from(layer.saturating_add(1)).unwrap_or(u32::MAX)
}

/// The largest power of two that is not greater.
fn largest_power(number: usize) -> usize {
    1 << (usize::BITS - 1 - number.leading_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Offers layers of keys in turn, and asks a plain map what may be left out.
    fn check(words: usize, entries: usize, threads: usize) {
        let budget = Budget::new(1 << 20);
        let mut image = Image::new(words, (1 << 16, entries), threads, &budget).unwrap();
        let mut offered: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
        for layer in 0..60 {
            image.begin_layer(layer);
            for number in 0..(layer * 7 % 41) {
                let key: Vec<u64> =
                    (0..words as u64).map(|word| (layer * 5 + number * 3) % 97 + word).collect();
                let mut missed = Vec::new();
                image.meet_batch(&key, &mut missed);
                let before = offered.get(&key).copied();
                match (missed.is_empty(), before) {
                    (true, None) => panic!("a key is met that was never offered"),
                    (false, Some(there)) => {
                        assert!(there < image.complete_from(), "a complete layer has its states");
                    }
                    _ => {}
                }
                if !missed.is_empty() {
                    offered.insert(key, layer);
                }
            }
            assert!(image.complete_from() <= layer + 1 || entries == 0);
        }
        if entries == usize::MAX {
            assert_eq!(image.complete_from(), 0, "all fit");
        }
    }

    #[test]
    fn what_is_complete_has_all_states_of_its_layers() {
        for words in [1, 2, 5] {
            for entries in [0, 1, 2, 3, 7, 30, 60, usize::MAX] {
                for threads in [1, 2] {
                    check(words, entries, threads);
                }
            }
        }
    }
}
