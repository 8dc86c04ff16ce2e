//! How do threads make one sorted, coded layer of what each of them found?
//!
//! Each has put what it found in order. The merged keys are cut into ranges of about equal size, a few for each thread, and who has nothing to do takes the next
//! range, merges and codes it, to where it stays. Where the blocks of all ranges are, in order, is the layer.
//!
//! Memory: 16 bytes for each block of the layer, charged; what was found changes hands without being copied.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};

use crate::error::SearchError;
use crate::stores::layers::{BLOCK_KEYS, LayerEncoder, Layers, Place};

/// A layer that is being closed; between layers, room for the next.
#[derive(Debug)]
pub(super) struct Closing {
    words: usize,
    budget: Budget,
    /// What each thread found: ascending, none found twice.
    found: Vec<ChargedVec<u64>>,
    /// For each of `found`: where each range begins, and behind the last one its end, in words.
    bounds: Vec<Vec<usize>>,
    /// Where the blocks of each range are; only so many are in use as there are ranges.
    parts: Vec<Mutex<ChargedVec<Place>>>,
    ranges: usize,
    /// The next range that nobody has taken.
    next: AtomicUsize,
}

const OWNER: &str = "next layer";

impl Closing {
    /// Room for layers of keys of so many words.
    pub(super) fn new(words: usize, budget: &Budget) -> Closing {
        Closing {
            words,
            budget: budget.clone(),
            found: Vec::new(),
            bounds: Vec::new(),
            parts: Vec::new(),
            ranges: 0,
            next: AtomicUsize::new(0),
        }
    }

    /// Takes what threads have found, to be coded in so many ranges; leaves each what it had before the last layer.
    pub(super) fn begin<'a>(
        &mut self,
        found: impl Iterator<Item = &'a mut ChargedVec<u64>>,
        ranges: usize,
    ) -> Result<(), BudgetError> {
        for (index, found) in found.enumerate() {
            if index == self.found.len() {
                self.found.push(ChargedVec::with_capacity(&self.budget, OWNER, 0)?);
            }
            std::mem::swap(&mut self.found[index], found);
        }
        let nothing = self.found.iter().all(|keys| keys.is_empty());
        self.ranges = if nothing { 0 } else { ranges };
        while self.parts.len() < ranges {
            self.parts.push(Mutex::new(ChargedVec::with_capacity(&self.budget, OWNER, 0)?));
        }
        self.bounds = bounds(self.words, &self.found, self.ranges);
        self.next.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Codes ranges until none is left, with what one writer to `layers` has; `block` is room to merge in.
    pub(super) fn encode_ranges(
        &self,
        layers: &Layers,
        writer: usize,
        encoder: &mut LayerEncoder,
        block: &mut Vec<u64>,
    ) -> Result<(), SearchError> {
        loop {
            let range = self.next.fetch_add(1, Ordering::Relaxed);
            if range >= self.ranges {
                return Ok(());
            }
            let keys = self.found.iter().zip(&self.bounds);
            let keys = keys.map(|(keys, bounds)| &keys[bounds[range]..bounds[range + 1]]);
            let keys = keys.filter(|keys| !keys.is_empty()).collect();
            let mut part = self.parts[range].lock().unwrap_or_else(PoisonError::into_inner);
            let encode = |records: &[u64]| layers.encode(writer, encoder, records, &mut part);
            merge_and_encode(self.words, keys, block, encode)?;
        }
    }

    /// Calls `keep` with where the blocks of each range are, in order, and forgets them.
    pub(super) fn take_parts(
        &mut self,
        keep: impl FnOnce(&mut dyn Iterator<Item = &[Place]>) -> Result<(), BudgetError>,
    ) -> Result<(), BudgetError> {
        let mut parts: Vec<&mut ChargedVec<Place>> = self.parts[..self.ranges]
            .iter_mut()
            .map(|part| part.get_mut().unwrap_or_else(PoisonError::into_inner))
            .collect();
        keep(&mut parts.iter().map(|part| &***part))?;
        parts.iter_mut().for_each(|part| part.clear());
        Ok(())
    }

    /// What each thread had found, to be given back.
    pub(super) fn found(&mut self) -> impl Iterator<Item = &mut ChargedVec<u64>> {
        self.found.iter_mut()
    }
}

/// For each list of sorted keys: where each of so many ranges of about equal size begins, in words. The ranges are cut at keys of the longest list.
fn bounds(words: usize, found: &[ChargedVec<u64>], ranges: usize) -> Vec<Vec<usize>> {
    let longest = found.iter().max_by_key(|keys| keys.len()).map_or(&[][..], |keys| keys);
    let count = longest.len() / words;
    let cuts: Vec<&[u64]> =
        (1..ranges).map(|range| &longest[count * range / ranges * words..][..words]).collect();
    found
        .iter()
        .map(|keys| {
            let inner = cuts.iter().map(|cut| position(words, keys, cut));
            std::iter::once(0).chain(inner).chain([keys.len()]).collect()
        })
        .collect()
}

/// Where the first key is that is not less than `cut`, in words.
fn position(words: usize, keys: &[u64], cut: &[u64]) -> usize {
    let (mut low, mut high) = (0, keys.len() / words);
    while low < high {
        let middle = (low + high) / 2;
        if keys[middle * words..][..words] < *cut { low = middle + 1 } else { high = middle }
    }
    low * words
}

/// Merges sorted, disjoint lists, none of them empty, and codes them, a block at a time.
fn merge_and_encode(
    words: usize,
    mut lists: Vec<&[u64]>,
    block: &mut Vec<u64>,
    mut encode: impl FnMut(&[u64]) -> Result<(), BudgetError>,
) -> Result<(), SearchError> {
    let room = block.capacity().min(BLOCK_KEYS * words) / words * words;
    block.clear();
    loop {
        if let [only] = &*lists {
            // What is left of the last block goes first.
            let (head, tail) = only.split_at(only.len().min((room - block.len() % room) % room));
            block.extend_from_slice(head);
            encode(block)?;
            block.clear();
            return Ok(encode(tail)?);
        }
        if lists.is_empty() {
            return Ok(());
        }
        merge_some(words, &mut lists, room - block.len(), block);
        lists.retain(|list| !list.is_empty());
        if block.len() == room {
            encode(block)?;
            block.clear();
        }
    }
}

/// Moves the least keys, up to so many words of them, to the end of `out`, until some list is empty.
fn merge_some(words: usize, lists: &mut [&[u64]], most: usize, out: &mut Vec<u64>) {
    match (lists, words) {
        ([left, right], 1) => merge_two::<1>(left, right, most, out),
        ([left, right], 2) => merge_two::<2>(left, right, most, out),
        (lists, _) => merge_many(words, lists, most, out),
    }
}

/// [`merge_some`] for the lists of two threads and keys of one or two words. Which list has the lesser key cannot be foreseen, so nothing branches on it.
fn merge_two<const WORDS: usize>(left: &mut &[u64], right: &mut &[u64], most: usize, out: &mut Vec<u64>) {
    let number = |key: &[u64; WORDS]| key.iter().fold(0u128, |number, word| number << 64 | u128::from(*word));
    let ((lefts, _), (rights, _)) = (left.as_chunks::<WORDS>(), right.as_chunks::<WORDS>());
    let (mut from_left, mut from_right) = (0, 0);
    let begin = out.len();
    out.resize(begin + most, 0);
    for merged in out[begin..].as_chunks_mut::<WORDS>().0 {
        let (Some(left), Some(right)) = (lefts.get(from_left), rights.get(from_right)) else { break };
        let lesser = number(left) < number(right);
        *merged = if lesser { *left } else { *right };
        from_left += usize::from(lesser);
        from_right += usize::from(!lesser);
    }
    out.truncate(begin + (from_left + from_right) * WORDS);
    (*left, *right) = (&left[from_left * WORDS..], &right[from_right * WORDS..]);
}

/// [`merge_some`] for any number of lists and any width.
fn merge_many(words: usize, lists: &mut [&[u64]], most: usize, out: &mut Vec<u64>) {
    let mut moved = 0;
    while moved < most && lists.iter().all(|list| !list.is_empty()) {
        let least = (0..lists.len()).min_by_key(|list| &lists[*list][..words]).expect("there are lists");
        let (key, rest) = lists[least].split_at(words);
        out.extend_from_slice(key);
        lists[least] = rest;
        moved += words;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::layers::LayerDecoder;
    use fathom_disk::key::KeyWidth;

    /// Deals ascending keys out to lists, closes them, and reads the layer back.
    fn close_and_read(bits: u32, keys: &[u64], lists: usize, ranges: usize, seed: &mut u64) -> Vec<u64> {
        let budget = Budget::unlimited();
        let width = KeyWidth::new(bits).unwrap();
        let words = width.words();
        let mut found: Vec<ChargedVec<u64>> =
            (0..lists).map(|_| ChargedVec::with_capacity(&budget, OWNER, 0).unwrap()).collect();
        for key in keys.chunks(words) {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            found[(*seed >> 40) as usize % lists].extend(key).unwrap();
        }
        let mut closing = Closing::new(words, &budget);
        let mut layers = Layers::new(&budget, width, lists).unwrap();
        closing.begin(found.iter_mut(), ranges).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..lists {
                let (layers, closing, budget) = (&layers, &closing, &budget);
                scope.spawn(move || {
                    let mut encoder = LayerEncoder::new(budget, width).unwrap();
                    // What is left of other work in the room must not matter.
                    let mut block = Vec::with_capacity(300 * words);
                    block.resize(7, 7);
                    closing.encode_ranges(layers, writer, &mut encoder, &mut block).unwrap();
                });
            }
        });
        closing.take_parts(|parts| layers.push(parts)).unwrap();
        let mut read = Vec::new();
        let mut decoder = LayerDecoder::new(&budget, width).unwrap();
        layers.visit(0, &mut decoder, &mut |records| read.extend_from_slice(records.words()));
        read
    }

    #[test]
    fn what_was_found_is_the_layer_in_order() {
        let mut seed = 5;
        for bits in [40, 64, 90, 128, 150] {
            let words = KeyWidth::new(bits).unwrap().words();
            for count in [0, 1, 2, 7, 255, 256, 257, 3000] {
                let keys: Vec<u64> = (0..count as u64)
                    .flat_map(|number| {
                        let mut key = vec![0; words];
                        key[words - 1] = number * 3;
                        key
                    })
                    .collect();
                for lists in 1..=4 {
                    for ranges in [1, 2, 5, 8] {
                        let read = close_and_read(bits, &keys, lists, ranges, &mut seed);
                        assert_eq!(read, keys, "{bits} bits, {count} keys, {lists} lists, {ranges} ranges");
                    }
                }
            }
        }
    }
}
