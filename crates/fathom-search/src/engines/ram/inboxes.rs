//! How do candidates get to the thread that owns their part of the table?
//!
//! Every shard has an owner. Other threads leave candidates for it in its inbox, and the owner inserts them when it comes by: so a bucket of the table lives in the caches of one
//! processor, and what passes between processors is lists of keys that are read from front to back. Where the inbox is full or the owner is away (it has nothing to do in
//! this layer, or is done with it) whoever has candidates inserts them itself: nobody ever waits for an owner.
//!
//! Invariant: a thread that goes away empties its inboxes after it said so, and who leaves something looks under the inbox's lock whether the owner is there. So between layers all
//! inboxes are empty. Memory: [`Inboxes::bytes_per_piece`], charged.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_disk::budget::{Budget, BudgetError, Charge};

/// Inboxes of all shards.
#[derive(Debug)]
pub(super) struct Inboxes {
    inboxes: Vec<Inbox>,
    /// For each thread, whether it is away.
    away: Vec<Away>,
    /// Words that an inbox has room for.
    room: usize,
    _charge: Charge,
}

/// What waits for a shard. No two share a cache line, nor a pair of lines that are fetched together.
#[derive(Debug)]
#[repr(align(128))]
struct Inbox {
    keys: Mutex<Vec<u64>>,
    /// Words in there a moment ago.
    waiting: AtomicUsize,
}

#[derive(Debug)]
#[repr(align(128))]
struct Away(AtomicBool);

/// Pieces of candidates that an inbox has room for: what comes while its owner makes a part of the table larger.
const ROOM_PIECES: usize = 16;

impl Inboxes {
    /// Bytes of the inboxes of `shards` shards, and of one more for each owner, for each candidate of `words` words in a piece.
    pub(super) fn bytes_per_piece(shards: usize, words: usize) -> usize {
        ROOM_PIECES * (shards + 1) * words * 8
    }

    /// Inboxes for so many shards, owned by so many threads, all of them away; candidates of `words` words come in pieces of up to `piece`.
    pub(super) fn new(
        budget: &Budget,
        shards: usize,
        threads: usize,
        words: usize,
        piece: usize,
    ) -> Result<Inboxes, BudgetError> {
        let room = ROOM_PIECES * piece * words;
        let inbox = |_| Inbox { keys: Mutex::new(Vec::with_capacity(room)), waiting: AtomicUsize::new(0) };
        Ok(Inboxes {
            _charge: budget.charge("candidates", shards * room * 8)?,
            inboxes: (0..shards).map(inbox).collect(),
            away: (0..threads).map(|_| Away(AtomicBool::new(true))).collect(),
            room,
        })
    }

    /// Words that the list has room for which [`Inboxes::collect`] fills.
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// The thread that owns a shard.
    pub(super) fn owner(&self, shard: usize) -> usize {
        shard * self.away.len() / self.inboxes.len()
    }

    /// A thread is there to empty its inboxes.
    pub(super) fn come(&self, thread: usize) {
        self.away[thread].0.store(false, Ordering::Release);
    }

    /// A thread leaves nothing in its inboxes after this but what it [collects](Inboxes::collect) next, all of them once more.
    pub(super) fn leave(&self, thread: usize) {
        self.away[thread].0.store(true, Ordering::Release);
    }

    /// Whether any thread is there, as far as is known now.
    pub(super) fn is_anybody_here(&self) -> bool {
        self.away.iter().any(|away| !away.0.load(Ordering::Relaxed))
    }

    /// Leaves candidates for the owner of their shard. False if it is away or there is no room: then they are still the caller's.
    pub(super) fn post(&self, shard: usize, candidates: &[u64]) -> bool {
        let mut keys = self.open(shard);
        let is_away = self.away[self.owner(shard)].0.load(Ordering::Acquire);
        if is_away || keys.len() + candidates.len() > self.room {
            return false;
        }
        keys.extend_from_slice(candidates);
        self.inboxes[shard].waiting.store(keys.len(), Ordering::Relaxed);
        true
    }

    /// Whether something waits for a shard, as far as is known without looking into the inbox.
    #[inline(always)]
    pub(super) fn waits(&self, shard: usize) -> bool {
        self.inboxes[shard].waiting.load(Ordering::Relaxed) > 0
    }

    /// Exchanges what waits for a shard for an empty list with as much room.
    pub(super) fn collect(&self, shard: usize, list: &mut Vec<u64>) {
        list.clear();
        let mut keys = self.open(shard);
        std::mem::swap(&mut *keys, list);
        self.inboxes[shard].waiting.store(0, Ordering::Relaxed);
    }

    fn open(&self, shard: usize) -> MutexGuard<'_, Vec<u64>> {
        self.inboxes[shard].keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_takes_what_there_is_room_for_while_its_owner_is_there() {
        let inboxes = Inboxes::new(&Budget::unlimited(), 3, 2, 1, 2).unwrap();
        assert_eq!((0..3).map(|shard| inboxes.owner(shard)).collect::<Vec<_>>(), [0, 0, 1]);
        assert!(!inboxes.post(2, &[1]), "its owner is away");
        inboxes.come(1);
        assert!(!inboxes.waits(2) && inboxes.post(2, &[1, 2]) && inboxes.waits(2));
        assert!(!inboxes.post(0, &[1]), "that of another one is");
        assert!(
            !inboxes.post(2, &vec![7; inboxes.room() - 1]) && inboxes.post(2, &vec![7; inboxes.room() - 2])
        );
        let mut list = vec![9; 4];
        inboxes.collect(2, &mut list);
        assert_eq!((&list[..2], list.len(), inboxes.waits(2)), (&[1, 2][..], inboxes.room(), false));
        assert!(inboxes.is_anybody_here());
        inboxes.leave(1);
        assert!(!inboxes.is_anybody_here() && !inboxes.post(2, &[1]));
        inboxes.collect(2, &mut list);
        assert!(list.is_empty());
    }

    #[test]
    fn nothing_is_lost_whenever_the_owner_leaves() {
        for round in 0..300 {
            let inboxes = Inboxes::new(&Budget::unlimited(), 1, 1, 1, 4).unwrap();
            inboxes.come(0);
            let (kept, collected) = std::thread::scope(|scope| {
                let poster = scope.spawn(|| (0..200).filter(|key| !inboxes.post(0, &[*key])).count());
                let (mut list, mut collected) = (Vec::new(), 0);
                for _ in 0..round % 40 {
                    inboxes.collect(0, &mut list);
                    collected += list.len();
                }
                inboxes.leave(0);
                inboxes.collect(0, &mut list);
                (poster.join().unwrap(), collected + list.len())
            });
            assert_eq!(kept + collected, 200, "round {round}");
        }
    }
}
