//! Was the representative of this record found a moment ago?
//!
//! Different sources have the same targets, and soon after one another. A small table of fixed size, one record per place: what is looked up
//! there is right, what is not there is found anew.

use super::orbits::mixed;

/// How many records are remembered.
const PLACES: usize = 4_096;

/// Records and their representatives.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    words: usize,
    /// Of each place, a record and its representative.
    pairs: Vec<u64>,
    filled: Vec<bool>,
}

impl Recent {
    pub(super) fn new(words: usize) -> Recent {
        Recent { words, pairs: vec![0; PLACES * words * 2], filled: vec![false; PLACES] }
    }

    /// Puts the representative of a record in its place: a remembered one, or what `find` makes of it.
    pub(super) fn replace(&mut self, record: &mut [u64], find: impl FnOnce(&mut [u64])) {
        let hash = record.iter().fold(0, |hash, word| mixed(hash ^ word));
        let place = (hash >> 32) as usize % PLACES;
        let pair = &mut self.pairs[place * self.words * 2..][..self.words * 2];
        let (known, representative) = pair.split_at_mut(self.words);
        if self.filled[place] && known == record {
            record.copy_from_slice(representative);
            return;
        }
        self.filled[place] = true;
        known.copy_from_slice(record);
        find(record);
        representative.copy_from_slice(record);
    }
}
