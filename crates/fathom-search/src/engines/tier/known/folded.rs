//! Do all runs of a shard fit in memory as one trie whose equal parts are kept once?
//!
//! Then a key is looked up in a fraction of a microsecond, without a read. It pays where layers are tiny beside what is known, and new states come to the trie many layers at a time.
//! Where it does not fit, it is tried again once there are twice as many states: larger sets are more regular.

use fathom_disk::budget::{Budget, Charge};
use fathom_disk::error::DiskError;
use fathom_disk::set::{KeyStream, SharedTrie};

use super::super::place::Place;

const OWNER: &str = "shared trie";

/// The trie, if there is one.
#[derive(Debug, Default)]
pub(super) struct Folded {
    held: Option<Held>,
    /// With so many keys it did not fit in so many bytes.
    refused: Option<(u64, usize)>,
}

/// A trie, and the memory that it has to itself: so nothing else waits for it while it grows.
#[derive(Debug)]
struct Held {
    trie: SharedTrie,
    charge: Charge,
    /// What of the room that it may have one day is not its yet.
    withheld: Option<Charge>,
    keys: u64,
    /// Bytes it took when it was made.
    bytes_at_first: usize,
}

impl Folded {
    pub(super) fn is_there(&self) -> bool {
        self.held.is_some()
    }

    /// Gives the memory back.
    pub(super) fn let_go(&mut self) {
        self.held = None;
    }

    /// Gives the memory back, and is not made again soon: that costs more than what it was for.
    pub(super) fn give_up(&mut self) {
        if let Some(held) = self.held.take() {
            self.refused = Some((held.keys, held.charge.bytes()));
        }
    }

    /// Whether so many keys may fit in so many bytes.
    pub(super) fn is_promising(&self, keys: u64, room: usize) -> bool {
        room > 0 && self.refused.is_none_or(|(count, bytes)| keys / 2 >= count || room / 2 >= bytes)
    }

    /// Makes a trie of an ascending stream of so many keys; says whether `within` bytes sufficed. It may [grow](Folded::grow) to `room` bytes.
    pub(super) fn fold(
        &mut self,
        place: &Place,
        keys: &mut dyn KeyStream,
        count: u64,
        (within, room): (usize, usize),
    ) -> Result<bool, DiskError> {
        self.held = None;
        self.refused = Some((count, within));
        let own = Budget::new(room);
        let withheld = own.charge(OWNER, room.saturating_sub(within))?;
        let Ok(charge) = place.budget.charge(OWNER, within) else { return Ok(false) };
        let Some(trie) = SharedTrie::build(place.width, &own, keys)? else { return Ok(false) };
        self.refused = None;
        let bytes_at_first = trie.bytes();
        self.held = Some(Held { trie, charge, withheld: Some(withheld), keys: count, bytes_at_first });
        Ok(true)
    }

    /// Lets the trie have all of its room, if there is as much memory.
    pub(super) fn grow(&mut self, room: usize) {
        if let Some(held) = &mut self.held
            && held.charge.resize(room).is_ok()
        {
            held.withheld = None;
        }
    }

    /// Adds ascending keys to the trie, if there is one; lets go of it if there is no room.
    pub(super) fn insert(&mut self, words: usize, keys: &[u64]) {
        let Some(held) = &mut self.held else { return };
        held.keys += (keys.len() / words) as u64;
        if held.trie.insert(keys).is_err() {
            // What grew by nodes that nothing refers to any more is worth making anew.
            let room = held.charge.bytes();
            self.refused = (held.bytes_at_first > room / 4).then_some((held.keys, room));
            self.held = None;
        }
    }

    /// Marks the ascending keys that the trie has.
    pub(super) fn mark(&self, keys: &[u64], found: &mut [bool]) {
        if let Some(held) = &self.held {
            held.trie.mark(keys, found);
        }
    }
}
