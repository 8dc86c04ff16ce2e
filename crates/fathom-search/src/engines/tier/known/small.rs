//! Which states came in layers too small to be worth a run?
//!
//! Their keys lie one behind the other, as they came, and are in a table that can be asked for them. When there is no room for another layer they become a run. Where the runs are
//! asked in memory, the table is told of a candidate when it is asked for it: so it also has keys of runs that were met again.
//!
//! Memory: what it was given; that of the keys at once.

use fathom_disk::budget::ChargedVec;
use fathom_disk::error::DiskError;
use fathom_disk::set::sort_unique;
use fathom_disk::table::Table;

use crate::files::place::Place;

/// The states of small layers since the last run was made of them.
#[derive(Debug)]
pub(super) struct SmallLayers {
    words: usize,
    keys: ChargedVec<u64>,
    /// Has all the keys, and between layers none that is not known.
    table: Table,
}

impl SmallLayers {
    /// None yet, within about `bytes`; `expected` is how many there were the last time.
    pub(super) fn new(place: &Place, bytes: usize, expected: usize) -> Result<SmallLayers, DiskError> {
        let words = place.width.words();
        // In the table a key takes about what it would in bytes.
        let room = bytes / (words * 8 + place.width.bytes() + 1);
        // Where a trie may grow, the table is asked in its place: there it is no luxury.
        let budget = if words > 2 { &place.spare } else { &place.budget };
        let keys = ChargedVec::with_capacity(budget, "small layers", room * words)?;
        let mut table = Table::whole(place.width.bits(), budget)?;
        // If there is room at once.
        let _ = table.reserve(expected);
        Ok(SmallLayers { words, keys, table })
    }

    /// How many keys it has.
    pub(super) fn count(&self) -> usize {
        self.keys.len() / self.words
    }

    /// Whether so many more fit.
    pub(super) fn has_room(&self, candidates: u64) -> bool {
        candidates <= ((self.keys.capacity() - self.keys.len()) / self.words) as u64
    }

    /// Bytes in use.
    pub(super) fn bytes(&self) -> usize {
        self.table.bytes() + self.keys.len() * 8
    }

    /// Sets `found[i]` for each of the candidates that it has. `indices` is used up.
    pub(super) fn mark(&self, candidates: &[u64], found: &mut [bool], indices: &mut Vec<u32>) {
        indices.clear();
        self.table.contains_batch(candidates, indices);
        indices.iter().for_each(|index| found[*index as usize] = true);
    }

    /// Leaves the numbers of those candidates in `indices` that it was not told of before. Those that are new are to be [pushed](SmallLayers::push).
    pub(super) fn tell(&mut self, candidates: &[u64], indices: &mut Vec<u32>) -> Result<(), DiskError> {
        indices.clear();
        Ok(self.table.insert_batch(candidates, indices).map_err(|full| full.reason)?)
    }

    /// Adds new keys, there is room for, that it was told of.
    pub(super) fn push(&mut self, fresh: &[u64]) -> Result<(), DiskError> {
        Ok(self.keys.extend(fresh)?)
    }

    /// The keys, ascending. Memory for the table is given back before they are sorted.
    pub(super) fn into_sorted(self, place: &Place) -> Result<ChargedVec<u64>, DiskError> {
        let SmallLayers { words, mut keys, table } = self;
        drop(table);
        let kept = sort_unique(&place.budget, words, &mut keys)?;
        assert_eq!(kept, keys.len(), "only new keys are added");
        Ok(keys)
    }
}
