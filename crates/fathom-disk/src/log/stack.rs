//! A stack of records, most of it on disk.
//!
//! Two blocks in RAM: pushing onto two full ones writes the older, popping from none reads one. A block moves at most once per
//! block's worth of operations whatever their order, so an operation costs at most `2 / records_per_block` block moves.
//!
//! Blocks are linked downwards by their numbers. Those that a mark covers are never overwritten, the others are reused as
//! the stack shrinks; space under a mark is not reclaimed before the stack is dropped.

use super::Mark;
use super::blocks::{Block, BlockFile};
use crate::budget::Budget;
use crate::error::DiskError;
use crate::storage::{FileKind, Role, Volume};

const KIND: FileKind = FileKind::new("stack", Role::Stack);
const NONE: u64 = u64::MAX;

/// Stack of records of fixed width. RAM: two blocks. I/O: see the module.
#[derive(Debug)]
pub struct Stack {
    file: BlockFile,
    /// The older records in RAM; empty only if `upper` holds all there are.
    lower: Block,
    upper: Block,
    /// The topmost block on disk, and how many records are on disk.
    top: u64,
    on_disk: u64,
    /// The next block number to write, and the first that no mark covers.
    next: u64,
    uncovered: u64,
}

impl Stack {
    /// An empty stack in the file `name`, for records of `words` words, in blocks of about `block_bytes`.
    pub fn new(
        volume: &Volume,
        name: &str,
        words: usize,
        block_bytes: usize,
        budget: &Budget,
    ) -> Result<Stack, DiskError> {
        let file = BlockFile::new(volume, name, KIND, words, block_bytes);
        let (lower, upper) = (file.block(budget)?, file.block(budget)?);
        Ok(Stack { file, lower, upper, top: NONE, on_disk: 0, next: 0, uncovered: 0 })
    }

    /// The stack as it stood at a mark.
    pub fn resume(
        volume: &Volume,
        name: &str,
        words: usize,
        block_bytes: usize,
        mark: Mark,
        budget: &Budget,
    ) -> Result<Stack, DiskError> {
        let mut stack = Stack::new(volume, name, words, block_bytes, budget)?;
        let [top, on_disk, next, ..] = mark.0;
        stack.file.resume(next)?;
        (stack.top, stack.on_disk, stack.next, stack.uncovered) = (top, on_disk, next, next);
        Ok(stack)
    }

    /// Records on the stack.
    pub fn len(&self) -> u64 {
        self.on_disk + (self.lower.len() + self.upper.len()) as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Pushes a record.
    pub fn push(&mut self, record: &[u64]) -> Result<(), DiskError> {
        if self.upper.is_full() {
            if self.lower.len() > 0 {
                self.file.write(self.next, self.top, &mut self.lower)?;
                self.on_disk += self.lower.len() as u64;
                self.top = self.next;
                self.next += 1;
                self.lower.clear();
            }
            std::mem::swap(&mut self.lower, &mut self.upper);
        }
        self.upper.push(record);
        Ok(())
    }

    /// Pops the latest record into `record`; false if the stack is empty.
    pub fn pop(&mut self, record: &mut [u64]) -> Result<bool, DiskError> {
        if self.upper.pop(record) {
            return Ok(true);
        }
        if self.lower.len() > 0 {
            std::mem::swap(&mut self.lower, &mut self.upper);
        } else if self.top != NONE {
            let below = self.file.read(self.top, &mut self.upper)?;
            self.on_disk -= self.upper.len() as u64;
            // Live blocks that no mark covers lie above all that one does, in the order of their numbers.
            self.next = if self.top >= self.uncovered { self.top } else { self.uncovered };
            self.top = below;
        }
        Ok(self.upper.pop(record))
    }

    /// Writes what is in RAM behind the live blocks, syncs, and says how the stack stands. At most two blocks and a sync.
    pub fn mark(&mut self) -> Result<Mark, DiskError> {
        let (mut top, mut next, mut on_disk) = (self.top, self.next, self.on_disk);
        for block in [&mut self.lower, &mut self.upper] {
            if block.len() > 0 {
                self.file.write(next, top, block)?;
                on_disk += block.len() as u64;
                top = next;
                next += 1;
            }
        }
        self.file.sync()?;
        // From here on the blocks in RAM are on disk too; they are read back from there when the stack comes down to them.
        (self.top, self.next, self.on_disk, self.uncovered) = (top, next, on_disk, next);
        self.lower.clear();
        self.upper.clear();
        Ok(Mark([top, on_disk, next, 0, 0, 0]))
    }

    /// Removes the file.
    pub fn remove(mut self) -> Result<(), DiskError> {
        self.file.remove()
    }
}
