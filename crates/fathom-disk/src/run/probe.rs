//! Which of these keys are in these runs?
//!
//! Keys come sorted. Fences name the blocks that can hold them; blocks closer than `join_gap_bytes` are joined into
//! extents of at most `extent_bytes_max`, as many extents as fit the buffer are read in one batch, over all runs at once when few
//! keys are open, else run after run, so that a key found in one run is not sought in the next (runs of one set are
//! disjoint).
//!
//! Memory: the buffer, `tasks_max` tasks of 40 bytes, one page of fences, one block as it is coded, one group of its keys. I/O: at most one block per key and run,
//! plus the pages above it that are not in memory.

use super::Run;
use super::block::OpenBlock;
use super::bounds::{at_most, below};
use super::fence::{FencePage, Place};
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::key::KeyWidth;
use crate::storage::{AlignedBuffer, ReadRequest, StorageError};

/// How look-ups read.
#[derive(Clone, Copy, Debug)]
pub struct ProbeConfig {
    /// Room for the extents of one batch; with extents of 32 KiB this sets the depth.
    pub buffer_bytes: usize,
    /// Neighbours closer than this are read as one.
    pub join_gap_bytes: usize,
    /// No joined extent is longer.
    pub extent_bytes_max: usize,
    /// With fewer open keys than this, all runs are asked at once.
    pub few_keys: usize,
    /// Tasks in memory at most (a task is a frame and the keys sought in it).
    pub tasks_max: usize,
}

/// What look-ups cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbeCounts {
    /// Extents read.
    pub extents: u64,
    /// Blocks decoded.
    pub blocks: u64,
    /// Keys decoded.
    pub keys: u64,
    /// Fence pages decoded.
    pub pages: u64,
}

/// Looks keys up; holds the room for it.
#[derive(Debug)]
pub struct Prober {
    width: KeyWidth,
    config: ProbeConfig,
    budget: Budget,
    buffer: AlignedBuffer,
    stack: ChargedVec<Task>,
    batch: ChargedVec<Task>,
    page: FencePage,
    block: OpenBlock,
    counts: ProbeCounts,
}

/// A frame, and the range of keys sought in it.
#[derive(Clone, Copy, Debug)]
struct Task {
    offset: u64,
    bytes: u32,
    run: u32,
    level: u32,
    keys_from: u32,
    keys_to: u32,
    /// Where its bytes are in the buffer.
    place: u32,
}

/// A piece to be read: part of a file, part of the buffer.
#[derive(Clone, Copy, Debug)]
struct Piece {
    run: u32,
    offset: u64,
    end: u64,
    place: usize,
}

impl Default for ProbeConfig {
    fn default() -> Self {
        Self {
            buffer_bytes: 1 << 20,
            join_gap_bytes: 16 << 10,
            extent_bytes_max: 32 << 10,
            few_keys: 1000,
            tasks_max: 4096,
        }
    }
}

impl ProbeConfig {
    /// What suits look-ups within about `bytes` of memory.
    pub fn within(bytes: usize) -> Self {
        let tasks_max = (bytes / 4 / size_of::<Task>() / 2).clamp(2, 4096);
        let buffer_bytes = (bytes / 2).clamp(64, 1 << 20);
        Self { buffer_bytes, tasks_max, ..Self::default() }
    }
}

impl Prober {
    /// A prober for keys of `width`.
    pub fn new(budget: &Budget, width: KeyWidth, config: ProbeConfig) -> Result<Self, DiskError> {
        assert!(config.tasks_max > 0, "there is room for a task");
        Ok(Self {
            width,
            config,
            budget: budget.clone(),
            buffer: AlignedBuffer::new(budget, "probe buffer", config.buffer_bytes)?,
            stack: ChargedVec::with_capacity(budget, "probe tasks", config.tasks_max)?,
            batch: ChargedVec::with_capacity(budget, "probe tasks", config.tasks_max)?,
            page: FencePage::new(budget)?,
            block: OpenBlock::new(budget, "probe block", width)?,
            counts: ProbeCounts::default(),
        })
    }

    /// What it has cost so far.
    pub fn counts(&self) -> ProbeCounts {
        self.counts
    }

    /// Sets `found[i]` for each of the strictly ascending `keys` that is in one of the disjoint `runs`, newest first. Keys
    /// already marked as found are not sought.
    pub fn look_up(&mut self, runs: &[&Run], keys: &[u64], found: &mut [bool]) -> Result<(), DiskError> {
        assert_eq!(keys.len(), found.len() * self.width.words(), "one mark per key");
        let open = found.iter().filter(|&&found| !found).count();
        let together = if open < self.config.few_keys { self.config.tasks_max } else { 1 };
        for runs in runs.chunks(together) {
            let round = (self.config.tasks_max / runs.len()).max(1);
            let words = self.width.words();
            for (keys, found) in keys.chunks(round * words).zip(found.chunks_mut(round)) {
                self.look_up_round(runs, keys, found)?;
            }
        }
        Ok(())
    }

    fn look_up_round(&mut self, runs: &[&Run], keys: &[u64], found: &mut [bool]) -> Result<(), DiskError> {
        self.stack.clear();
        for (index, run) in runs.iter().enumerate() {
            let (from, to) = overlap(run, keys);
            if from < to {
                let footer = &run.footer;
                self.push_task(Task {
                    offset: footer.root_offset,
                    bytes: footer.root_bytes,
                    run: index as u32,
                    level: footer.root_level,
                    keys_from: from as u32,
                    keys_to: to as u32,
                    place: 0,
                })?;
            }
        }
        while !self.stack.is_empty() {
            self.take_resident(runs, keys, found)?;
            let frame_max = runs.iter().map(|run| run.frame_bytes_max()).max().unwrap_or(0);
            let pieces = self.take_batch(runs, frame_max)?;
            self.read(runs, &pieces)?;
            for index in 0..self.batch.len() {
                let task = self.batch[index];
                self.solve(runs, task, keys, found)?;
            }
        }
        Ok(())
    }

    fn push_task(&mut self, task: Task) -> Result<(), DiskError> {
        Ok(self.stack.push(task)?)
    }

    /// Solves the tasks on top of the stack whose pages are in memory; their children take their place.
    fn take_resident(&mut self, runs: &[&Run], keys: &[u64], found: &[bool]) -> Result<(), DiskError> {
        let mut index = 0;
        while index < self.stack.len() {
            let task = self.stack[index];
            let run = runs[task.run as usize];
            let page = if task.level == run.footer.root_level {
                Some(&*run.root)
            } else {
                run.resident
                    .as_ref()
                    .filter(|_| task.level > 0)
                    .and_then(|resident| resident.page(task.offset))
            };
            match page {
                None => index += 1,
                Some(page) => {
                    self.page.decode(run, &mut self.block.decoder, task.offset, page)?;
                    self.counts.pages += 1;
                    let last = self.stack.pop().expect("the stack holds the task");
                    if index < self.stack.len() {
                        self.stack[index] = last;
                    }
                    self.push_children(task, keys, found)?;
                }
            }
        }
        Ok(())
    }

    /// Moves as many tasks as the buffer can serve from the stack to the batch, in order of place; gives the pieces to read.
    fn take_batch(&mut self, runs: &[&Run], frame_max: usize) -> Result<Vec<Piece>, DiskError> {
        self.batch.clear();
        self.stack.sort_unstable_by_key(|task| std::cmp::Reverse((task.run, task.offset)));
        let block = runs.first().map_or(1, |run| run.file.volume().block_bytes());
        let aligned = self.buffer.len() >= (frame_max + 2 * block).next_multiple_of(block);
        let alignment = if aligned { block as u64 } else { 1 };
        if self.buffer.len() < frame_max {
            self.buffer = AlignedBuffer::new(&self.budget, "probe buffer", frame_max)?;
        }
        let mut pieces: Vec<Piece> = Vec::new();
        while let Some(&task) = self.stack.last() {
            let start = task.offset - task.offset % alignment;
            let end = (task.offset + u64::from(task.bytes)).next_multiple_of(alignment);
            let joined = pieces.last().filter(|piece| {
                piece.run == task.run
                    && start.saturating_sub(piece.end) < self.config.join_gap_bytes as u64
                    && end.max(piece.end) - piece.offset <= self.config.extent_bytes_max as u64
                    && piece.place + (end - piece.offset) as usize <= self.buffer.len()
            });
            let place = match joined.copied() {
                Some(piece) => {
                    let last = pieces.len() - 1;
                    pieces[last].end = end.max(piece.end);
                    piece.place + (task.offset - piece.offset) as usize
                }
                None => {
                    let place =
                        pieces.last().map_or(0, |piece| piece.place + (piece.end - piece.offset) as usize);
                    if place + (end - start) as usize > self.buffer.len() {
                        break;
                    }
                    pieces.push(Piece { run: task.run, offset: start, end, place });
                    place + (task.offset - start) as usize
                }
            };
            self.stack.pop();
            self.batch.push(Task { place: place as u32, ..task })?;
        }
        Ok(pieces)
    }

    /// Reads all pieces in one batch.
    fn read(&mut self, runs: &[&Run], pieces: &[Piece]) -> Result<(), DiskError> {
        let Some(first) = pieces.first() else { return Ok(()) };
        let volume = runs[first.run as usize].file.volume();
        let mut requests = Vec::with_capacity(pieces.len());
        let mut rest = &mut self.buffer[..];
        for piece in pieces {
            let (into, after) = rest.split_at_mut((piece.end - piece.offset) as usize);
            rest = after;
            requests.push(ReadRequest {
                file: &runs[piece.run as usize].file,
                offset: piece.offset,
                into,
                filled: 0,
            });
        }
        volume.read(&mut requests)?;
        self.counts.extents += pieces.len() as u64;
        for (request, piece) in requests.iter().zip(pieces) {
            let size = runs[piece.run as usize].bytes;
            let expected = size.saturating_sub(request.offset).min(request.into.len() as u64);
            if (request.filled as u64) < expected || expected == 0 {
                return Err(StorageError::short_read(request.file, request.offset).into());
            }
        }
        Ok(())
    }

    /// Looks into one frame that has been read.
    fn solve(
        &mut self,
        runs: &[&Run],
        task: Task,
        keys: &[u64],
        found: &mut [bool],
    ) -> Result<(), DiskError> {
        let run = runs[task.run as usize];
        let bytes = &self.buffer[task.place as usize..][..task.bytes as usize];
        if task.level > 0 {
            self.page.decode(run, &mut self.block.decoder, task.offset, bytes)?;
            self.counts.pages += 1;
            return self.push_children(task, keys, found);
        }
        self.block.open(run, Place { offset: task.offset, bytes: task.bytes }, bytes)?;
        let range = task.keys_from as usize..task.keys_to as usize;
        let words = self.width.words();
        self.block.mark(run, &keys[range.start * words..range.end * words], &mut found[range])?;
        self.counts.blocks += 1;
        self.counts.keys = self.block.keys_decoded;
        Ok(())
    }

    /// Pushes a task for each frame listed in the decoded page that can hold one of the task's open keys.
    fn push_children(&mut self, task: Task, keys: &[u64], found: &[bool]) -> Result<(), DiskError> {
        let words = self.width.words();
        let mut index = task.keys_from as usize;
        let mut entry = 0;
        while index < task.keys_to as usize {
            if found[index] {
                index += 1;
                continue;
            }
            let sought = &keys[index * words..(index + 1) * words];
            entry += at_most(words, &self.page.keys[entry * words..], sought).saturating_sub(1);
            let next = self.page.keys.get((entry + 1) * words..(entry + 2) * words);
            let from = index;
            let rest = &keys[from * words..task.keys_to as usize * words];
            index = from + next.map_or(rest.len() / words, |next| below(words, rest, next));
            let place = self.page.places[entry];
            let child = Task {
                offset: place.offset,
                bytes: place.bytes,
                level: task.level - 1,
                keys_from: from as u32,
                keys_to: index as u32,
                ..task
            };
            self.push_task(child)?;
        }
        Ok(())
    }
}

/// The range of keys that lie between the first and the last key of the run.
fn overlap(run: &Run, keys: &[u64]) -> (usize, usize) {
    let words = run.width.words();
    match (run.first(), run.last()) {
        (Some(first), Some(last)) => (below(words, keys, first), at_most(words, keys, last)),
        _ => (0, 0),
    }
}
