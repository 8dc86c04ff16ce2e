//! Do the runs of a shard fit in memory as one trie whose equal parts are kept once?
//!
//! Then a key is looked up in a fraction of a microsecond, without a read. Where layers are tiny beside what is known, the trie *grows*: it has all runs, and new states come to it many layers
//! at a time. Elsewhere it is *finished*: it has the runs that there were when it was made, and is made anew once there are many others.
//! Where it does not fit, it is tried again once there are twice as many states: larger sets are more regular.

use fathom_disk::budget::{Budget, BudgetError, Charge};
use fathom_disk::error::DiskError;
use fathom_disk::set::{KeyStream, SharedTrie};

use crate::files::place::Place;

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
    /// What of the room that it may have one day is not its yet; nothing once it is finished.
    withheld: Option<Charge>,
    growing: bool,
    keys: u64,
    /// Bytes it took when it was made.
    bytes_at_first: usize,
}

/// What a trie may take, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// When it is made.
    pub(super) made: usize,
    /// While it is made.
    pub(super) making: usize,
    /// As it grows; none for one that does not.
    pub(super) growing: Option<usize>,
}

impl Folded {
    pub(super) fn is_there(&self) -> bool {
        self.held.is_some()
    }

    /// Whether there is one that has all runs, and is told of more.
    pub(super) fn is_growing(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.growing)
    }

    /// Bytes that are its own.
    pub(super) fn bytes(&self) -> usize {
        self.held.as_ref().map_or(0, |held| held.charge.bytes())
    }

    /// Gives the memory back.
    pub(super) fn let_go(&mut self) {
        self.held = None;
    }

    /// Whether so many keys may fit: not if they did not lately, or take much more by what they took before. One that grows leaves nodes behind.
    pub(super) fn is_promising(&self, keys: u64, Room { made: room, growing, .. }: Room) -> bool {
        let fits = |held: &Held| {
            let expected = held.bytes_at_first as u128 * u128::from(keys) / u128::from(held.keys.max(1));
            held.growing
                || if growing.is_some() {
                    expected <= room as u128 / 2
                } else {
                    expected * 3 / 4 <= room as u128
                }
        };
        room > 0
            && self.refused.is_none_or(|(count, bytes)| keys / 2 >= count || room / 5 * 4 >= bytes)
            && self.held.as_ref().is_none_or(fits)
    }

    /// Makes a trie of an ascending stream of so many keys; says whether there was room.
    pub(super) fn fold(
        &mut self,
        place: &Place,
        keys: &mut dyn KeyStream,
        count: u64,
        room: Room,
    ) -> Result<bool, DiskError> {
        self.held = None;
        let own = Budget::new(room.making.max(room.growing.unwrap_or(0)));
        let withheld = own.charge(OWNER, own.limit() - room.making)?;
        let Ok(charge) = place.spare.charge(OWNER, room.making) else { return Ok(false) };
        self.refused = Some((count, room.made));
        let Some(mut trie) = SharedTrie::build(place.width, &own, keys)? else { return Ok(false) };
        let growing = room.growing.is_some();
        if !growing {
            trie.finish()?;
        }
        let bytes_at_first = trie.bytes();
        if bytes_at_first > room.made {
            return Ok(false);
        }
        self.refused = None;
        let mut held = Held { trie, charge, withheld: Some(withheld), growing, keys: count, bytes_at_first };
        if !growing {
            held.charge.resize(bytes_at_first)?;
        }
        self.held = Some(held);
        Ok(true)
    }

    /// Lets the trie have all of its room, if there is as much memory.
    pub(super) fn grow(&mut self, room: usize) {
        if let Some(held) = self.held.as_mut().filter(|held| held.growing)
            && held.charge.resize(room).is_ok()
        {
            held.withheld = None;
        }
    }

    /// A trie that grew stays as it is from now on.
    pub(super) fn finish(&mut self) -> Result<(), BudgetError> {
        let Some(held) = self.held.as_mut().filter(|held| held.growing) else { return Ok(()) };
        held.trie.finish()?;
        held.withheld = None;
        held.growing = false;
        held.charge.resize(held.trie.bytes())
    }

    /// Adds ascending keys to the trie, if there is one that grows; says whether it has them. Lets go of it if there is no room.
    pub(super) fn insert(&mut self, words: usize, keys: &[u64]) -> bool {
        let Some(held) = self.held.as_mut().filter(|held| held.growing) else { return false };
        held.keys += (keys.len() / words) as u64;
        let fits = held.trie.insert(keys).is_ok();
        if !fits {
            // What grew by nodes that nothing refers to any more is worth making anew.
            let room = held.charge.bytes();
            self.refused = (held.bytes_at_first > room / 4).then_some((held.keys, room));
            self.held = None;
        }
        fits
    }

    /// Marks the ascending keys that the trie has.
    pub(super) fn mark(&self, keys: &[u64], found: &mut [bool]) {
        if let Some(held) = &self.held {
            held.trie.mark(keys, found);
        }
    }
}
