//! A priority queue of sorted files: the array heap of Brodal and Katajainen, with the corrections it needs.
//!
//! New items go to a heap in RAM. When it is full they are written as one sorted file of level 0; when a level has
//! `files_max` files, what is left of them is merged into one file of the next level. The least item is the least of the
//! heap's and of every file's next one.
//!
//! The invariant that matters: *of each file the least item not yet taken is in RAM*. (That nothing on disk is less than
//! anything in RAM, as is sometimes printed, is neither true nor needed.) A merge takes up each file where its reader
//! stands, so items already read into a buffer are not lost.

use super::PriorityQueue;
use super::heap::Heap;
use crate::budget::Budget;
use crate::error::DiskError;
use crate::log::{LogReader, Position, RecordLog};
use crate::storage::{FileKind, Role, Volume};

const KIND: FileKind = FileKind::new("priority queue", Role::Bulk);

/// Priority queue for any order of priorities. RAM: half of `bytes` for the heap, the rest for one block per file and one
/// for merging; if that is less than three blocks, three blocks. I/O: each item moves once per level, in blocks.
#[derive(Debug)]
pub struct ArrayHeap {
    volume: Volume,
    name: String,
    width: usize,
    block_bytes: usize,
    heap: Heap,
    levels: Vec<Vec<SortedFile>>,
    files_max: usize,
    files_made: u64,
    budget: Budget,
}

/// A sorted file and its least item not yet taken.
#[derive(Debug)]
struct SortedFile {
    log: RecordLog,
    reader: LogReader,
    next: Vec<u64>,
}

impl ArrayHeap {
    /// An empty queue for records of `words` words, in files `name.0`, `name.1` and so on, that may use about `bytes`.
    pub fn new(
        volume: &Volume,
        name: &str,
        words: usize,
        block_bytes: usize,
        bytes: usize,
        budget: &Budget,
    ) -> Result<ArrayHeap, DiskError> {
        let width = words + 1;
        let capacity = (bytes / 2 / (width * 8)).max(2);
        // A file holds a block for writing, empty later, and one for reading.
        let files_max = (bytes / 2 / (2 * block_bytes.max(24 + 8 * width)) / 2).clamp(2, 64);
        let heap = Heap::new(width, capacity, budget)?;
        let (volume, name, budget) = (volume.clone(), name.to_owned(), budget.clone());
        Ok(ArrayHeap {
            volume,
            name,
            width,
            block_bytes,
            heap,
            levels: Vec::new(),
            files_max,
            files_made: 0,
            budget,
        })
    }

    /// Writes the heap as a file of level 0, and merges levels that are full.
    fn spill(&mut self) -> Result<(), DiskError> {
        let mut log = self.new_log()?;
        let mut last: Vec<u64> = Vec::new();
        while let Some(least) = self.heap.least() {
            if last != least {
                log.append(least)?;
                last.clear();
                last.extend_from_slice(least);
            }
            self.heap.remove_least();
        }
        self.add_file(0, log)?;
        let mut level = 0;
        while self.levels[level].len() >= self.files_max {
            self.merge(level)?;
            level += 1;
        }
        Ok(())
    }

    /// Merges what is left of all files of a level into one file of the next.
    fn merge(&mut self, level: usize) -> Result<(), DiskError> {
        let mut files = std::mem::take(&mut self.levels[level]);
        let mut log = self.new_log()?;
        while let Some(least) = files.iter().map(|file| &file.next).min().cloned() {
            log.append(&least)?;
            advance_past(&mut files, &least)?;
        }
        self.add_file(level + 1, log)
    }

    fn new_log(&mut self) -> Result<RecordLog, DiskError> {
        let name = format!("{}.{}", self.name, self.files_made);
        self.files_made += 1;
        RecordLog::new(&self.volume, &name, KIND, self.width, self.block_bytes, &self.budget)
    }

    fn add_file(&mut self, level: usize, log: RecordLog) -> Result<(), DiskError> {
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, Vec::new);
        }
        let mut reader = log.reader(Position::default(), &self.budget)?;
        let mut next = vec![0; self.width];
        if reader.next(&log, &mut next)? {
            self.levels[level].push(SortedFile { log, reader, next });
        }
        Ok(())
    }
}

impl PriorityQueue for ArrayHeap {
    fn push(&mut self, priority: u64, record: &[u64]) -> Result<(), DiskError> {
        if self.heap.is_full() {
            self.spill()?;
        }
        let mut item = Vec::with_capacity(self.width);
        item.push(priority);
        item.extend_from_slice(record);
        Ok(self.heap.push(&item)?)
    }

    fn pop(&mut self, record: &mut [u64]) -> Result<Option<u64>, DiskError> {
        let on_disk = self.levels.iter().flatten().map(|file| &file.next[..]).min();
        let Some(least) = [self.heap.least(), on_disk].into_iter().flatten().min() else { return Ok(None) };
        let least = least.to_vec();
        while self.heap.least() == Some(&least[..]) {
            self.heap.remove_least();
        }
        for level in &mut self.levels {
            advance_past(level, &least)?;
        }
        record.copy_from_slice(&least[1..]);
        Ok(Some(least[0]))
    }

    fn is_empty(&self) -> bool {
        self.heap.len() == 0 && self.levels.iter().all(Vec::is_empty)
    }
}

impl Drop for ArrayHeap {
    fn drop(&mut self) {
        for file in self.levels.drain(..).flatten() {
            // A file that cannot be removed now is swept when the directory is opened next.
            let _ = file.log.remove();
        }
    }
}

/// Moves every file whose next item is `taken` one further; files that end are removed.
fn advance_past(files: &mut Vec<SortedFile>, taken: &[u64]) -> Result<(), DiskError> {
    let mut index = 0;
    while index < files.len() {
        let file = &mut files[index];
        let mut there = true;
        while there && file.next == taken {
            there = file.reader.next(&file.log, &mut file.next)?;
        }
        if there {
            index += 1;
        } else {
            files.swap_remove(index).log.remove()?;
        }
    }
    Ok(())
}
