//! How far are greatest values carried in RAM, before what is known of states on disk is asked?
//!
//! What steps bring waits in a table ([`CandidateTable`]), the greatest value for each target. A target that is brought something greater has a turn at once, with that alone: what else is known of it, on disk, may be greater, and then
//! another turn follows when the table is merged with that. Values are joined by max, so turns that come too early do no harm, whatever their number. One merge is for as many levels as the table has room for; what it has no room for waits
//! in the sort, as it does where there is no table.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};
use fathom_disk::hash::hash_key;
use fathom_model::record::RecordBuffer;

use super::carried::{Carried, EXPANDED, Held, offered, value_of};
use crate::bodies::passes::by_file::{ByFile, Kept, Snapshot, Snapshots};
use crate::bodies::passes::values::Values;
use crate::error::SearchError;
use crate::expansion::by_number::{Expander, Sending, Targets};
use crate::expansion::lock;

/// Values in files, with a table before them, perhaps.
pub(super) struct Ahead<'a, 'f> {
    pub(super) files: ByFile<'a, Carried<'f>>,
    pub(super) table: Option<Mutex<CandidateTable>>,
    /// The greatest number that was brought to its own state; 0 for none.
    pub(super) found: &'f AtomicU64,
}

/// Targets that wait, each with the greatest value that was brought to it.
#[derive(Debug)]
pub(super) struct CandidateTable {
    words: usize,
    /// Entries: the value, 0 for none; the value that it was expanded with, twice, and 1 if it is queued; the key.
    slots: ChargedVec<u64>,
    count: usize,
    /// Places of entries that wait for their turn, in a ring.
    queue: ChargedVec<u32>,
    first: usize,
    queued: usize,
    used: usize,
}

/// Words of an entry beside its key.
const BESIDE_WORDS: usize = 2;
/// With fewer entries than this a table is not worth having.
const ENTRIES_MIN: usize = 64;
/// States that have a turn at a time.
const BATCH: usize = 512;

impl CandidateTable {
    /// A table of about so many bytes; none if that is too little.
    pub(super) fn within(
        budget: &Budget,
        words: usize,
        bytes: usize,
    ) -> Result<Option<CandidateTable>, BudgetError> {
        let each = (words + BESIDE_WORDS) * 8 + 4;
        let count = (bytes / each).clamp(1, 1 << 30);
        // The greatest power of two that is not beyond it.
        let count = (count / 2 + 1).next_power_of_two();
        if count < ENTRIES_MIN {
            return Ok(None);
        }
        let slots = ChargedVec::zeroed(budget, "candidates", count * (words + BESIDE_WORDS))?;
        let queue = ChargedVec::zeroed(budget, "candidates", count)?;
        Ok(Some(CandidateTable { words, slots, count, queue, first: 0, queued: 0, used: 0 }))
    }

    fn entry(&mut self, place: usize) -> &mut [u64] {
        let each = self.words + BESIDE_WORDS;
        &mut self.slots[place * each..][..each]
    }

    /// Brings a value to a state; false if there is no room for it.
    fn bring(&mut self, state: &[u64], value: u64) -> bool {
        let most = self.count / 4 * 3;
        let mut place = hash_key(state) as usize & (self.count - 1);
        loop {
            let (used, mask) = (self.used, self.count - 1);
            let entry = self.entry(place);
            if entry[0] == 0 {
                if used == most {
                    return false;
                }
                entry[BESIDE_WORDS..].copy_from_slice(state);
                self.used += 1;
                break;
            }
            if entry[BESIDE_WORDS..] == *state {
                if value <= entry[0] {
                    return true;
                }
                break;
            }
            place = (place + 1) & mask;
        }
        let entry = self.entry(place);
        entry[0] = value;
        if entry[1] & 1 == 0 {
            entry[1] |= 1;
            let at = (self.first + self.queued) & (self.count - 1);
            self.queue[at] = place as u32;
            self.queued += 1;
        }
        true
    }

    /// States that wait for their turn, and what they have in it.
    fn next(&mut self, most: usize, states: &mut RecordBuffer, turns: &mut Vec<Held>) {
        while states.len() < most && self.queued > 0 {
            let place = self.queue[self.first] as usize;
            self.first = (self.first + 1) & (self.count - 1);
            self.queued -= 1;
            let entry = self.entry(place);
            let value = entry[0];
            entry[1] = value << 1;
            states.push(&entry[BESIDE_WORDS..]);
            turns.push(Held { own: 0, value });
        }
    }

    /// The words of everything in it, one entry after the other, and some that are empty.
    fn entries(&self) -> std::slice::ChunksExact<'_, u64> {
        self.slots.chunks_exact(self.words + BESIDE_WORDS)
    }

    fn clear(&mut self) {
        self.slots.zero();
        (self.first, self.queued, self.used) = (0, 0, 0);
    }
}

/// An entry as it is offered, unless it is empty.
fn as_offer(entry: &[u64]) -> Option<(&[u64], u64)> {
    let expanded = if entry[1] >> 1 == entry[0] { EXPANDED } else { 0 };
    (entry[0] > 0).then_some((&entry[BESIDE_WORDS..], offered(entry[0]) | expanded))
}

impl Snapshots for Ahead<'_, '_> {
    fn snapshot(&self) -> Result<Option<Snapshot>, SearchError> {
        self.files.snapshot()
    }
}

impl<'a> Values for Ahead<'a, '_> {
    type Set = Kept<'a>;
    type Turn = Held;
    type Value = u64;

    fn settle(&self) -> Result<u64, SearchError> {
        if let Some(table) = &self.table {
            let table = &mut *lock(table);
            if table.used > 0 {
                self.files.take_sent(&mut table.entries().filter_map(as_offer))?;
                table.clear();
            }
        }
        let waiting = self.files.settle()?;
        // A state that carries itself is all that is looked for.
        Ok(if self.found.load(Ordering::Relaxed) > 0 { 0 } else { waiting })
    }

    fn next_changed(
        &self,
        expander: &mut Expander<'_, Kept<'a>>,
        states: &mut RecordBuffer,
        turns: &mut Vec<Held>,
    ) -> Result<bool, SearchError> {
        if let Some(table) = &self.table {
            states.clear();
            turns.clear();
            lock(table).next(expander.set.block_keys_max().clamp(1, BATCH), states, turns);
            if !states.is_empty() {
                return Ok(true);
            }
        }
        self.files.next_changed(expander, states, turns)
    }

    #[inline]
    fn counts(&self, (): ()) -> bool {
        true
    }

    #[inline]
    fn offer(&self, (): (), value: u64) -> Result<Option<u64>, SearchError> {
        Ok(Some(value))
    }

    fn take_sent(&self, states: Sending<'_, u64>) -> Result<(), SearchError> {
        let Some(table) = &self.table else { return self.files.take_sent(states) };
        let table = &mut *lock(table);
        let mut others = states.filter_map(|(state, value)| {
            let no_room = !table.bring(state, value_of(value));
            no_room.then_some((state, value))
        });
        self.files.take_sent(&mut others)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The greatest value of each state is kept, a state has a turn after each that is greater than those before, and one for which there is no room is refused.
    #[test]
    fn a_table_keeps_the_greatest_and_gives_turns() {
        let budget = Budget::new(1 << 16);
        let mut table = CandidateTable::within(&budget, 2, 4 << 10).unwrap().unwrap();
        let (mut map, mut refused) = (BTreeMap::new(), 0);
        let (mut states, mut turns) = (RecordBuffer::new(2), Vec::new());
        for turn in 0..3_000_u64 {
            let key = [0, turn * 7919 % 131];
            let value = 1 + (turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50);
            if table.bring(&key, value) {
                let greatest = map.entry(key[1]).or_insert(0);
                *greatest = value.max(*greatest);
            } else {
                refused += 1;
                assert!(!map.contains_key(&key[1]), "a state that is there has room");
            }
            if turn % 100 == 0 {
                states.clear();
                turns.clear();
                table.next(10, &mut states, &mut turns);
                for (state, held) in states.view().iter().zip(&turns) {
                    assert_eq!((held.own, held.value), (0, map[&state[1]]));
                }
            }
        }
        assert!(refused > 0 && map.len() == table.used);
        let kept: BTreeMap<u64, u64> =
            table.entries().filter_map(as_offer).map(|(key, value)| (key[1], value_of(value))).collect();
        assert_eq!(kept, map);
        table.clear();
        assert_eq!(table.entries().filter_map(as_offer).count(), 0);
    }
}
