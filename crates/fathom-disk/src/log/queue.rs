//! A queue of records, most of it on disk.
//!
//! A log with a reader that follows it. The file is append-only: what was taken out is still there, so a mark made earlier
//! stays good; space is given back when the queue is removed.

use super::Mark;
use super::records::{LogReader, Position, RecordLog};
use crate::budget::Budget;
use crate::error::DiskError;
use crate::storage::{FileKind, Role, Volume};

const KIND: FileKind = FileKind::new("queue", Role::Bulk);

/// First in, first out. RAM: two blocks. I/O: each record is written and read once, in blocks.
#[derive(Debug)]
pub struct Queue {
    log: RecordLog,
    head: LogReader,
    taken: u64,
}

impl Queue {
    /// An empty queue in the file `name`.
    pub fn new(
        volume: &Volume,
        name: &str,
        words: usize,
        block_bytes: usize,
        budget: &Budget,
    ) -> Result<Queue, DiskError> {
        let log = RecordLog::new(volume, name, KIND, words, block_bytes, budget)?;
        let head = log.reader(Position::default(), budget)?;
        Ok(Queue { log, head, taken: 0 })
    }

    /// The queue as it stood at a mark.
    pub fn resume(
        volume: &Volume,
        name: &str,
        words: usize,
        block_bytes: usize,
        mark: Mark,
        budget: &Budget,
    ) -> Result<Queue, DiskError> {
        let log = RecordLog::resume(volume, name, KIND, words, block_bytes, mark, budget)?;
        let [_, _, block, slot, taken, _] = mark.0;
        let head = log.reader(Position { block, slot }, budget)?;
        Ok(Queue { log, head, taken })
    }

    /// Records in the queue.
    pub fn len(&self) -> u64 {
        self.log.len() - self.taken
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a record.
    pub fn push(&mut self, record: &[u64]) -> Result<(), DiskError> {
        self.log.append(record)
    }

    /// Takes the oldest record into `record`; false if there is none.
    pub fn pop(&mut self, record: &mut [u64]) -> Result<bool, DiskError> {
        let there = self.head.next(&self.log, record)?;
        self.taken += u64::from(there);
        Ok(there)
    }

    /// Writes what is in RAM, syncs, and says how the queue stands. One block and a sync.
    pub fn mark(&mut self) -> Result<Mark, DiskError> {
        let Mark([blocks, on_disk, ..]) = self.log.mark()?;
        let Position { block, slot } = self.head.position();
        Ok(Mark([blocks, on_disk, block, slot, self.taken, 0]))
    }

    /// Removes the file.
    pub fn remove(self) -> Result<(), DiskError> {
        self.log.remove()
    }
}
