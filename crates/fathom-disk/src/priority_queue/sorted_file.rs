//! How is a sorted file of items read while it waits, a block of it in memory?

use std::cell::RefCell;

use super::marks::{MarkReader, MarkWriter};
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::log::blocks::{Block, BlockFile};
use crate::storage::{FileKind, Role, Volume};
use crate::stream::KeyStream;

const KIND: FileKind = FileKind::new("priority queue", Role::Bulk);

/// Ascending items, each a priority and a record, of which the first ones that were not taken are in memory.
#[derive(Debug)]
pub(super) struct SortedFile {
    file: BlockFile,
    number: u64,
    width: usize,
    blocks: u64,
    /// The block behind the one in memory.
    next: u64,
    items: ChargedVec<u64>,
    /// Words of it that were taken.
    taken: usize,
}

/// Writes a sorted file.
#[derive(Debug)]
pub(super) struct SortedFileWriter {
    file: BlockFile,
    number: u64,
    width: usize,
    blocks: u64,
}

/// Where sorted files are, and how large their blocks.
#[derive(Clone, Debug)]
pub(super) struct SortedFiles {
    pub(super) volume: Volume,
    pub(super) budget: Budget,
    pub(super) name: String,
    pub(super) width: usize,
    pub(super) block_bytes: usize,
}

impl SortedFiles {
    pub(super) fn file(&self, number: u64) -> BlockFile {
        let name = format!("{}.{number}", self.name);
        BlockFile::new(&self.volume, &name, KIND, self.width, self.block_bytes)
    }

    pub(super) fn block(&self) -> Result<Block, DiskError> {
        self.file(0).block(&self.budget)
    }

    pub(super) fn writer(&self, number: u64) -> SortedFileWriter {
        SortedFileWriter { file: self.file(number), number, width: self.width, blocks: 0 }
    }

    /// The file that a mark speaks of.
    pub(super) fn resume(
        &self,
        mark: &mut MarkReader<'_>,
        scratch: &mut Block,
    ) -> Result<SortedFile, DiskError> {
        let (number, blocks, next, taken) = (mark.number()?, mark.number()?, mark.number()?, mark.number()?);
        let mut file = self.file(number);
        file.resume(blocks)?;
        let mut resumed = SortedFile::new(file, number, self, blocks, scratch.capacity())?;
        resumed.next = next.saturating_sub(1);
        resumed.load(scratch)?;
        resumed.taken = usize::try_from(taken).unwrap_or(usize::MAX).min(resumed.items.len());
        Ok(resumed)
    }
}

impl SortedFileWriter {
    /// Adds ascending items through a block that holds what is not yet written.
    pub(super) fn push(&mut self, items: &[u64], block: &mut Block) -> Result<(), DiskError> {
        let mut rest = items;
        while !rest.is_empty() {
            let count = (block.capacity() - block.len()).min(rest.len() / self.width);
            let (now, later) = rest.split_at(count * self.width);
            block.push_all(now, count);
            rest = later;
            if block.is_full() {
                self.close_block(block)?;
            }
        }
        Ok(())
    }

    fn close_block(&mut self, block: &mut Block) -> Result<(), DiskError> {
        self.file.write(self.blocks, 0, block)?;
        self.blocks += 1;
        block.clear();
        Ok(())
    }

    /// The file, with its first block in memory.
    pub(super) fn finish(mut self, files: &SortedFiles, block: &mut Block) -> Result<SortedFile, DiskError> {
        if block.len() > 0 {
            self.close_block(block)?;
        }
        let mut file = SortedFile::new(self.file, self.number, files, self.blocks, block.capacity())?;
        file.load(block)?;
        block.clear();
        Ok(file)
    }
}

impl SortedFile {
    fn new(
        file: BlockFile,
        number: u64,
        files: &SortedFiles,
        blocks: u64,
        block_items: usize,
    ) -> Result<SortedFile, DiskError> {
        let width = files.width;
        let items = ChargedVec::with_capacity(&files.budget, "priority queue", block_items * width)?;
        Ok(SortedFile { file, number, width, blocks, next: 0, items, taken: 0 })
    }

    /// Reads the next block in place of the one in memory; none behind the last.
    fn load(&mut self, scratch: &mut Block) -> Result<(), DiskError> {
        self.items.clear();
        self.taken = 0;
        if self.next < self.blocks {
            self.file.read(self.next, scratch)?;
            self.items.resize(scratch.len() * self.width, 0)?;
            scratch.get_all(0, scratch.len(), &mut self.items);
            scratch.clear();
            self.next += 1;
        }
        Ok(())
    }

    /// The priority of its first item.
    pub(super) fn least(&self) -> Option<u64> {
        self.items.get(self.taken).copied()
    }

    pub(super) fn mark(&self, mark: &mut MarkWriter) {
        for number in [self.number, self.blocks, self.next, self.taken as u64] {
            mark.number(number);
        }
    }

    pub(super) fn sync(&self) -> Result<(), DiskError> {
        self.file.sync()
    }

    pub(super) fn name(&self) -> &str {
        self.file.name()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.blocks * self.file.block_bytes()
    }

    pub(super) fn remove(mut self) -> Result<(), DiskError> {
        self.file.remove()
    }
}

/// What is left of a file, all of it or the records of one priority.
pub(super) struct Rest<'a> {
    pub(super) file: &'a mut SortedFile,
    pub(super) scratch: &'a RefCell<Block>,
    /// If there is one, records alone are given, and only those.
    pub(super) priority: Option<u64>,
    /// The current chunk.
    pub(super) chunk: ChargedVec<u64>,
}

impl<'a> Rest<'a> {
    pub(super) fn new(
        file: &'a mut SortedFile,
        scratch: &'a RefCell<Block>,
        priority: Option<u64>,
        budget: &Budget,
    ) -> Result<Rest<'a>, DiskError> {
        let chunk = ChargedVec::with_capacity(budget, "priority queue", file.items.capacity())?;
        Ok(Rest { file, scratch, priority, chunk })
    }
}

impl KeyStream for Rest<'_> {
    fn words(&self) -> usize {
        self.file.width - usize::from(self.priority.is_some())
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        let Rest { file, scratch, priority, chunk } = self;
        chunk.clear();
        let width = file.width;
        for item in file.items[file.taken..].chunks_exact(width) {
            match priority {
                Some(priority) if item[0] != *priority => break,
                Some(_) => chunk.extend(&item[1..])?,
                None => chunk.extend(item)?,
            }
            file.taken += width;
        }
        if file.taken == file.items.len() {
            file.load(&mut scratch.borrow_mut())?;
        }
        Ok(!chunk.is_empty())
    }

    fn keys(&self) -> &[u64] {
        &self.chunk
    }
}
