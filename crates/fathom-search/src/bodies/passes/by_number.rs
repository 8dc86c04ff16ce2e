//! Where do values wait that are in RAM, by the numbers of states?
//!
//! At first every state has a turn: the set is scanned. One whose value changes before its turn brings it along; one whose value changes later waits in a queue on the volume. A state waits once, however often its value changes
//! meanwhile.
//!
//! Memory: what the join takes; a block of the scan, or of the queue.

use std::sync::{Mutex, PoisonError};

use fathom_disk::log::Queue;
use fathom_disk::run::Scan;
use fathom_disk::set::KeyStream;
use fathom_model::record::{RecordBuffer, Records};

use super::values::{Join, Values};
use crate::error::SearchError;
use crate::expansion::by_number::{Expander, Sending};
use crate::expansion::lock;
use crate::files::closed_set::ClosedSet;
use crate::stores::bits::Bits;

/// Values in RAM, of states of a closed set that are left.
pub(crate) struct ByNumber<'p, 'a, J> {
    set: &'a ClosedSet<'a>,
    left: &'p Bits,
    join: &'p J,
    queue: Mutex<Queue>,
    turns: Mutex<Turns<'a>>,
}

/// Who has a turn.
enum Turns<'a> {
    /// Everybody, when it is settled.
    All,
    /// Everybody from here on.
    Scanned(Box<Scan<'a>>),
    /// So many of the queue.
    Queued(u64),
}

/// Records of a queue that are handed out at a time, at most.
const BATCH: usize = 512;

impl<'p, 'a, J: Join> ByNumber<'p, 'a, J> {
    /// Every state that is left has a turn.
    pub(super) fn of_all(set: &'a ClosedSet<'a>, left: &'p Bits, join: &'p J, queue: Queue) -> Self {
        ByNumber { set, left, join, queue: Mutex::new(queue), turns: Mutex::new(Turns::All) }
    }

    /// The states of a queue have a turn.
    pub(super) fn of_queued(set: &'a ClosedSet<'a>, left: &'p Bits, join: &'p J, queue: Queue) -> Self {
        ByNumber { set, left, join, queue: Mutex::new(queue), turns: Mutex::new(Turns::Queued(0)) }
    }

    /// The queue, whoever is still in it.
    pub(super) fn into_queue(self) -> Queue {
        self.queue.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next block of the scan, or some of the queue.
    fn next(&self, states: &mut RecordBuffer) -> Result<From, SearchError> {
        let mut turns = lock(&self.turns);
        match &mut *turns {
            Turns::Scanned(scan) => {
                if scan.advance()? {
                    states.append(Records::new(scan.keys(), scan.words()));
                }
                Ok(From::Scan)
            }
            Turns::Queued(left) => {
                let most = self.set.block_keys_max().clamp(1, BATCH);
                let mut queue = lock(&self.queue);
                let mut record = vec![0; states.view().words_per_record()];
                while *left > 0 && states.len() < most && queue.pop(&mut record)? {
                    states.push(&record);
                    *left -= 1;
                }
                Ok(From::Queue)
            }
            Turns::All => unreachable!("it is settled before turns begin"),
        }
    }
}

/// Where states come from.
enum From {
    Scan,
    Queue,
}

impl<'a, J: Join> Values for ByNumber<'_, 'a, J> {
    type Set = ClosedSet<'a>;
    type Turn = J::Turn;
    type Value = J::Value;

    fn settle(&self) -> Result<u64, SearchError> {
        let mut turns = lock(&self.turns);
        if let Turns::All = *turns {
            *turns = Turns::Scanned(Box::new(self.set.stream()?));
            return Ok(self.set.len());
        }
        let waiting = lock(&self.queue).len();
        *turns = Turns::Queued(waiting);
        Ok(waiting)
    }

    fn next_changed(
        &self,
        expander: &mut Expander<'_, ClosedSet<'a>>,
        states: &mut RecordBuffer,
        turns: &mut Vec<J::Turn>,
    ) -> Result<bool, SearchError> {
        states.clear();
        turns.clear();
        let from = self.next(states)?;
        if states.is_empty() {
            return Ok(false);
        }
        match (from, J::LATER_TURN) {
            (From::Scan, _) => {
                expander.keep(states, |number| self.left.get(number));
                turns.extend(expander.kept().iter().map(|number| self.join.turn(*number)));
            }
            (From::Queue, Some(turn)) => turns.resize(states.len(), turn),
            (From::Queue, None) => {
                let numbers = expander.numbers_of(states.view());
                turns.extend(numbers.iter().map(|number| self.join.turn(*number)));
            }
        }
        Ok(true)
    }

    #[inline]
    fn counts(&self, state: u64) -> bool {
        self.left.get(state)
    }

    #[inline]
    fn offer(&self, state: u64, value: J::Value) -> Result<Option<()>, SearchError> {
        Ok(self.join.join(state, value)?.then_some(()))
    }

    /// States whose turns were over have another.
    fn take_sent(&self, states: Sending<'_, ()>) -> Result<(), SearchError> {
        let mut queue = lock(&self.queue);
        for (state, ()) in states {
            queue.push(state)?;
        }
        Ok(())
    }
}
