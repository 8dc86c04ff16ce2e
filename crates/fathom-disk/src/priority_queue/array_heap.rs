//! A priority queue of sorted files: the array heap of Brodal and Katajainen as S. Evangelista and L. M. Kristensen use it for the sweep-line
//! (2012), with the corrections it needs.
//!
//! New items go to a heap in memory that holds T of them. When it is full, it is sorted, and its B largest become a file of level 0; when a level has µ files, what is left of them is merged into
//! one file of the next level. Of each file K items are in memory. The least bucket is that of the heap and of every file's next items, merged.
//!
//! The invariant that matters: *of each file the least item not yet taken is in memory*. (That nothing on disk is less than anything in memory, as is sometimes printed, is neither true nor
//! needed.) A merge takes up each file where it stands, so items already read are not lost, and equal ones become one.
//!
//! Memory: T items, K for each file, two blocks, all charged; where `bytes` allow fewer files, levels are merged earlier. I/O: each item moves once per level, in blocks.

use std::cell::RefCell;

use super::heap::Heap;
use super::marks::{MarkReader, MarkWriter, nonsense};
use super::sorted_file::{Rest, SortedFile, SortedFiles};
use super::{PriorityQueue, Take};
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::log::blocks::Block;
use crate::set::sort_unique;
use crate::storage::Volume;
use crate::stream::{KeyStream, Merge, SliceStream};

/// The numbers of an array heap, in items. As it is by default, it is that of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayHeapConfig {
    /// Items in memory (T).
    pub heap_items: usize,
    /// Items that go to disk at a time, when these are too many (B).
    pub spilled_items: usize,
    /// Items of each file that are in memory (K).
    pub block_items: usize,
    /// Files of a level that are merged into one of the next (µ).
    pub fan: usize,
    /// Files at most, whatever the levels.
    pub files_max: usize,
}

impl Default for ArrayHeapConfig {
    fn default() -> Self {
        Self { heap_items: 20_000, spilled_items: 10_000, block_items: 1_000, fan: 10, files_max: usize::MAX }
    }
}

impl ArrayHeapConfig {
    /// The same as far as it fits into so many bytes for records of so many words.
    pub fn within(bytes: usize, words: usize) -> Self {
        let item = (words + 1) * 8;
        let default = Self::default();
        // A third for the heap, and what sorting it and popping from it takes; the rest for blocks.
        let heap_items = (bytes / 4 / (item + 4)).clamp(2, default.heap_items);
        let block_items = (bytes / 48 / item).clamp(1, default.block_items);
        // While files are merged, each has two blocks.
        let files_max = (bytes / 2 / (2 * block_items * item)).max(3);
        Self { heap_items, spilled_items: heap_items / 2, block_items, fan: default.fan, files_max }
    }
}

/// Priority queue for any order of priorities.
#[derive(Debug)]
pub struct ArrayHeap {
    files: SortedFiles,
    config: ArrayHeapConfig,
    heap: Heap,
    levels: Vec<Vec<SortedFile>>,
    files_made: u64,
    /// What is being written, and what is being read.
    block: Block,
    scratch: RefCell<Block>,
    /// Records of the heap that are part of the bucket that is given away.
    popped: ChargedVec<u64>,
    moves: u64,
    retired: Vec<String>,
    marked: bool,
}

impl ArrayHeap {
    /// An empty queue for records of `words` words, in files `name.0`, `name.1` and so on.
    pub fn new(
        volume: &Volume,
        name: &str,
        words: usize,
        config: ArrayHeapConfig,
        budget: &Budget,
    ) -> Result<ArrayHeap, DiskError> {
        let (width, budget) = (words + 1, budget.clone());
        let config = ArrayHeapConfig { fan: config.fan.max(2), files_max: config.files_max.max(2), ..config };
        // A block has a header and a checksum beside its items.
        let block_bytes = config.block_items.max(1) * width * 8 + 24;
        let files = SortedFiles { volume: volume.clone(), budget, name: name.to_owned(), width, block_bytes };
        Ok(ArrayHeap {
            heap: Heap::new(width, config.heap_items.max(2), &files.budget)?,
            levels: Vec::new(),
            files_made: 0,
            block: files.block()?,
            scratch: RefCell::new(files.block()?),
            popped: ChargedVec::with_capacity(&files.budget, "priority queue", 0)?,
            moves: 0,
            retired: Vec::new(),
            marked: false,
            files,
            config,
        })
    }

    /// The queue as it stood at a mark.
    pub fn resume(
        volume: &Volume,
        name: &str,
        words: usize,
        config: ArrayHeapConfig,
        mark: &[u8],
        budget: &Budget,
    ) -> Result<ArrayHeap, DiskError> {
        let mut mark = MarkReader(mark);
        // Blocks are as they were, whatever memory there is now.
        let block_items = mark.below(1 << 24)?;
        let config = ArrayHeapConfig { block_items, ..config };
        let mut queue = ArrayHeap::new(volume, name, words, config, budget)?;
        queue.marked = true;
        queue.files_made = mark.number()?;
        for _ in 0..mark.number()? {
            let level = mark.below(64)?;
            let file = queue.files.resume(&mut mark, queue.scratch.get_mut())?;
            queue.add_file(level, file);
        }
        if mark.0.is_empty() { Ok(queue) } else { Err(nonsense()) }
    }

    /// Sorts the heap, has all but the least so many items written, and merges levels that are full.
    fn spill(&mut self, keep: usize) -> Result<(), DiskError> {
        let width = self.files.width;
        let kept = sort_unique(&self.files.budget, width, self.heap.items_mut())? / width;
        self.heap.keep(kept);
        if kept <= keep {
            return Ok(());
        }
        let number = self.next_number();
        let mut writer = self.files.writer(number);
        writer.push(&self.heap.items_mut()[keep * width..], &mut self.block)?;
        let file = writer.finish(&self.files, &mut self.block)?;
        self.moves += (kept - keep) as u64;
        self.heap.keep(keep);
        self.add_file(0, file);
        let mut level = 0;
        while level < self.levels.len() {
            if self.levels[level].len() >= self.config.fan {
                self.merge(level)?;
            }
            level += 1;
        }
        while self.all_files().count() > self.config.files_max {
            self.merge_few()?;
        }
        Ok(())
    }

    /// Merges the lowest level that has two files, or else moves the lowest file to the level of the next one.
    fn merge_few(&mut self) -> Result<(), DiskError> {
        match self.levels.iter().position(|files| files.len() > 1) {
            Some(level) => self.merge(level),
            None => {
                let lowest = self.levels.iter().position(|files| !files.is_empty()).ok_or_else(nonsense)?;
                let file = self.levels[lowest].pop().ok_or_else(nonsense)?;
                let above = self.levels[lowest + 1..].iter().position(|files| !files.is_empty());
                self.add_file(lowest + 1 + above.unwrap_or(0), file);
                Ok(())
            }
        }
    }

    /// Merges what is left of all files of a level into one file of the next.
    fn merge(&mut self, level: usize) -> Result<(), DiskError> {
        let mut merged = std::mem::take(&mut self.levels[level]);
        let number = self.next_number();
        let mut writer = self.files.writer(number);
        let budget = &self.files.budget;
        let rests = merged.iter_mut().map(|file| Rest::new(file, &self.scratch, None, budget));
        let rests = rests.collect::<Result<Vec<_>, _>>()?;
        let mut all = Merge::new(budget, self.files.width, rests, self.config.block_items)?;
        while all.advance()? {
            self.moves += (all.keys().len() / self.files.width) as u64;
            writer.push(all.keys(), &mut self.block)?;
        }
        drop(all);
        let file = writer.finish(&self.files, &mut self.block)?;
        self.retired.extend(merged.iter().map(|file| file.name().to_owned()));
        if file.least().is_some() {
            self.add_file(level + 1, file);
        }
        Ok(())
    }

    fn next_number(&mut self) -> u64 {
        self.files_made += 1;
        self.files_made - 1
    }

    fn add_file(&mut self, level: usize, file: SortedFile) {
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, Vec::new);
        }
        self.levels[level].push(file);
    }

    fn all_files(&self) -> impl Iterator<Item = &SortedFile> {
        self.levels.iter().flatten()
    }
}

/// A part of a bucket.
enum Part<'a> {
    Memory(SliceStream<'a>),
    File(Box<Rest<'a>>),
}

impl KeyStream for Part<'_> {
    fn words(&self) -> usize {
        match self {
            Part::Memory(stream) => stream.words(),
            Part::File(stream) => stream.words(),
        }
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        match self {
            Part::Memory(stream) => stream.advance(),
            Part::File(stream) => stream.advance(),
        }
    }

    fn keys(&self) -> &[u64] {
        match self {
            Part::Memory(stream) => stream.keys(),
            Part::File(stream) => stream.keys(),
        }
    }
}

impl ArrayHeap {
    /// Moves the records of a priority out of the heap, ascending and each once.
    fn pop_heap(&mut self, priority: u64) -> Result<(), DiskError> {
        let words = self.files.width - 1;
        self.popped.clear();
        while let Some(item) = self.heap.least().filter(|item| item[0] == priority) {
            let (record, length) = (&item[1..], self.popped.len());
            if length == 0 || self.popped[length - words..] != *record {
                if length + words > self.popped.capacity() {
                    self.popped.reserve(length.max(words))?;
                }
                self.popped.extend(record)?;
            }
            self.heap.remove_least();
        }
        Ok(())
    }

    /// Gives away what was popped, merged with the records of the same priority in files.
    fn give_merged(&mut self, priority: u64, take: &mut Take<'_>) -> Result<(), DiskError> {
        let ArrayHeap { files, levels, scratch, popped, config, retired, .. } = self;
        let words = files.width - 1;
        let mut parts = vec![Part::Memory(SliceStream::new(words, popped))];
        for file in levels.iter_mut().flatten().filter(|file| file.least() == Some(priority)) {
            parts.push(Part::File(Box::new(Rest::new(file, scratch, Some(priority), &files.budget)?)));
        }
        let mut bucket = Merge::new(&files.budget, words, parts, config.block_items)?;
        while bucket.advance()? {
            take(priority, bucket.keys())?;
        }
        drop(bucket);
        for level in levels {
            level.retain(|file| {
                let stays = file.least().is_some();
                if !stays {
                    retired.push(file.name().to_owned());
                }
                stays
            });
        }
        Ok(())
    }
}

impl PriorityQueue for ArrayHeap {
    fn push(&mut self, priorities: &[u64], records: &[u64]) -> Result<(), DiskError> {
        let words = self.files.width - 1;
        assert_eq!(records.len(), priorities.len() * words, "a priority for each record");
        for (&priority, record) in priorities.iter().zip(records.chunks_exact(words)) {
            if self.heap.is_full() {
                let all = self.heap.len();
                self.spill(all - self.config.spilled_items.clamp(1, all))?;
            }
            self.heap.push(priority, record)?;
        }
        Ok(())
    }

    fn pop(&mut self, take: &mut Take<'_>) -> Result<Option<u64>, DiskError> {
        let on_disk = self.all_files().filter_map(SortedFile::least).min();
        let Some(priority) = self.least() else { return Ok(None) };
        self.pop_heap(priority)?;
        if on_disk == Some(priority) {
            self.give_merged(priority, take)?;
        } else {
            take(priority, &self.popped)?;
        }
        Ok(Some(priority))
    }

    fn least(&self) -> Option<u64> {
        let on_disk = self.all_files().filter_map(SortedFile::least).min();
        let in_memory = self.heap.least().map(|item| item[0]);
        [on_disk, in_memory].into_iter().flatten().min()
    }

    fn restart(&mut self) {}

    fn is_empty(&self) -> bool {
        self.heap.len() == 0 && self.levels.iter().all(Vec::is_empty)
    }

    fn in_memory(&self) -> u64 {
        (self.heap.len() + self.all_files().count() * self.config.block_items) as u64
    }

    fn moves(&self) -> u64 {
        self.moves
    }

    fn mark(&mut self) -> Result<Vec<u8>, DiskError> {
        self.spill(0)?;
        self.marked = true;
        let mut mark = MarkWriter::default();
        mark.number(self.config.block_items as u64);
        mark.number(self.files_made);
        mark.number(self.all_files().count() as u64);
        for (level, file) in self
            .levels
            .iter()
            .enumerate()
            .flat_map(|(level, files)| files.iter().map(move |file| (level, file)))
        {
            file.sync()?;
            mark.number(level as u64);
            file.mark(&mut mark);
        }
        Ok(mark.0)
    }

    fn file_names(&self) -> Vec<String> {
        self.all_files().map(|file| file.name().to_owned()).collect()
    }

    fn disk_bytes(&self) -> u64 {
        self.all_files().map(SortedFile::bytes).sum()
    }

    fn retired(&mut self) -> Vec<String> {
        std::mem::take(&mut self.retired)
    }
}

impl Drop for ArrayHeap {
    fn drop(&mut self) {
        if !self.marked {
            // A file that cannot be removed now is swept when the directory is opened next.
            for name in std::mem::take(&mut self.retired) {
                let _ = self.files.volume.remove(&name);
            }
            for file in self.levels.drain(..).flatten() {
                let _ = file.remove();
            }
        }
    }
}
