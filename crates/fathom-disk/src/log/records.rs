//! Records in the order in which they came.
//!
//! A log is a file of blocks, all full but those that a mark or the end closed. The link of a block is the number of its
//! first record, so a record is found by its number in a binary search over blocks.

use super::Mark;
use super::blocks::{Block, BlockFile};
use crate::budget::Budget;
use crate::error::DiskError;
use crate::storage::{FileKind, Volume};

/// Append-only sequence of records. RAM: one block, and one for each reader. I/O: one block per block's worth of records.
#[derive(Debug)]
pub struct RecordLog {
    file: BlockFile,
    words: usize,
    tail: Block,
    /// Blocks and records on disk.
    blocks: u64,
    on_disk: u64,
}

/// A place between records of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Position {
    /// Block number; the one after the last is in RAM.
    pub block: u64,
    /// Record within the block.
    pub slot: u64,
}

/// Reads a log from a position on, while it may still grow. RAM: one block.
#[derive(Debug)]
pub struct LogReader {
    block: Block,
    /// The block that is in RAM, and the number of its first record.
    loaded: Option<(u64, u64)>,
    position: Position,
}

impl RecordLog {
    /// An empty log in the file `name`.
    pub fn new(
        volume: &Volume,
        name: &str,
        kind: FileKind,
        words: usize,
        block_bytes: usize,
        budget: &Budget,
    ) -> Result<RecordLog, DiskError> {
        let file = BlockFile::new(volume, name, kind, words, block_bytes);
        let tail = file.block(budget)?;
        Ok(RecordLog { file, words, tail, blocks: 0, on_disk: 0 })
    }

    /// The log as it stood at a mark.
    pub fn resume(
        volume: &Volume,
        name: &str,
        kind: FileKind,
        words: usize,
        block_bytes: usize,
        mark: Mark,
        budget: &Budget,
    ) -> Result<RecordLog, DiskError> {
        let mut log = RecordLog::new(volume, name, kind, words, block_bytes, budget)?;
        let [blocks, on_disk, ..] = mark.0;
        log.file.resume(blocks)?;
        (log.blocks, log.on_disk) = (blocks, on_disk);
        Ok(log)
    }

    /// Records appended.
    pub fn len(&self) -> u64 {
        self.on_disk + self.tail.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Words per record.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Records of a full block: all are full unless a mark was set.
    pub fn block_records(&self) -> usize {
        self.tail.capacity()
    }

    /// Where the next record will be.
    pub fn end(&self) -> Position {
        Position { block: self.blocks, slot: self.tail.len() as u64 }
    }

    /// Appends records, which lie one behind the other.
    pub fn append(&mut self, records: &[u64]) -> Result<(), DiskError> {
        let mut rest = records;
        while !rest.is_empty() {
            // A block that could not be written is still here: it goes first, or this fails as that did.
            if self.tail.is_full() {
                self.close_block()?;
            }
            let count = (self.tail.capacity() - self.tail.len()).min(rest.len() / self.words);
            let (now, later) = rest.split_at(count * self.words);
            self.tail.push_all(now, count);
            rest = later;
            if self.tail.is_full() {
                self.close_block()?;
            }
        }
        Ok(())
    }

    /// Writes what is in RAM, syncs, and says how the log stands. One block and a sync.
    pub fn mark(&mut self) -> Result<Mark, DiskError> {
        if self.tail.len() > 0 {
            self.close_block()?;
        }
        self.file.sync()?;
        Ok(Mark([self.blocks, self.on_disk, 0, 0, 0, 0]))
    }

    /// A reader that starts at `position`.
    pub fn reader(&self, position: Position, budget: &Budget) -> Result<LogReader, DiskError> {
        Ok(LogReader { block: self.file.block(budget)?, loaded: None, position })
    }

    /// The position of record number `index`, found with at most `log2(blocks)` block reads through `reader`.
    pub fn find(&self, index: u64, reader: &mut LogReader) -> Result<Position, DiskError> {
        if index >= self.on_disk {
            return Ok(Position { block: self.blocks, slot: index - self.on_disk });
        }
        if let Some((block, first)) = reader.loaded
            && (first..first + reader.block.len() as u64).contains(&index)
        {
            return Ok(Position { block, slot: index - first });
        }
        let (mut low, mut high) = (0, self.blocks);
        let mut first = 0;
        reader.loaded = None;
        while high - low > 1 {
            let middle = low.midpoint(high);
            let begins = self.file.read(middle, &mut reader.block)?;
            if begins <= index {
                (low, first) = (middle, begins);
            } else {
                high = middle;
            }
        }
        Ok(Position { block: low, slot: index - first })
    }

    /// The file's name, if there is one yet: it comes with the first block.
    pub fn file_name(&self) -> Option<&str> {
        (self.blocks > 0).then(|| self.file.name())
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.blocks * self.file.block_bytes()
    }

    /// Removes the file.
    pub fn remove(mut self) -> Result<(), DiskError> {
        self.file.remove()
    }

    fn close_block(&mut self) -> Result<(), DiskError> {
        self.file.write(self.blocks, self.on_disk, &mut self.tail)?;
        self.on_disk += self.tail.len() as u64;
        self.blocks += 1;
        self.tail.clear();
        Ok(())
    }
}

impl LogReader {
    /// Copies the next record of `log` into `record`; false at its present end.
    pub fn next(&mut self, log: &RecordLog, record: &mut [u64]) -> Result<bool, DiskError> {
        Ok(self.next_some(log, &mut record[..log.words])? == 1)
    }

    /// Copies the next records of `log` into `records`, as many as fit and its block has, and says how many; none at its present end.
    pub fn next_some(&mut self, log: &RecordLog, records: &mut [u64]) -> Result<usize, DiskError> {
        let fitting = records.len() / log.words;
        loop {
            let Position { block, slot } = self.position;
            let written = block < log.blocks;
            if written && self.loaded.is_none_or(|(loaded, _)| loaded != block) {
                self.loaded = None;
                let first = log.file.read(block, &mut self.block)?;
                self.loaded = Some((block, first));
            }
            let source = if written { &self.block } else { &log.tail };
            let there = source.len().saturating_sub(slot as usize).min(fitting);
            if there > 0 {
                source.get_all(slot as usize, there, records);
                self.position.slot += there as u64;
            }
            if there > 0 || !written || fitting == 0 {
                return Ok(there);
            }
            self.position = Position { block: block + 1, slot: 0 };
        }
    }

    /// Where the next record comes from.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Goes on from another position.
    pub fn seek(&mut self, position: Position) {
        self.position = position;
    }
}
