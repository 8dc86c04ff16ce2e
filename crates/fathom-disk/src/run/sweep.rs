//! Which keys of an ascending stream are in this run, and with which values, when the stream touches most of it?
//!
//! A [`Sweep`] goes through a run once, forward, a block at a time, beside keys that ascend from call to call. It goes down the fences to the block that can
//! hold the next key, so what no key needs is neither read nor decoded. [`Prober`](super::Prober) is for few keys spread wide: it plans its reads
//! and waits for all of them at once; a sweep reads ahead in long pieces.
//!
//! Memory: the read buffer (none for a run that is kept in memory), a block as it is coded, a group of its keys, a page of fences per level; all taken by [`Sweep::new`]. I/O: each byte at
//! most once, forward, and pages of fences.

use std::ops::Range;
use std::sync::RwLockReadGuard;

use super::Run;
use super::block::{OpenBlock, below_near};
use super::bounds::{at_most, below};
use super::fence::{FencePage, Place};
use super::forward::Forward;
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::storage::AlignedBuffer;

/// A way through a run, beside ascending keys.
#[derive(Debug)]
pub struct Sweep<'a> {
    run: &'a Run,
    block: OpenBlock,
    source: Source<'a>,
    /// Pages on the way to the block, from the root down.
    levels: Vec<Level>,
    /// Bytes of a page that was read apart.
    page: ChargedVec<u8>,
}

/// Where the bytes of frames come from.
#[derive(Debug)]
enum Source<'a> {
    Memory(RwLockReadGuard<'a, Option<Box<AlignedBuffer>>>),
    File(Box<Forward>),
}

/// A page, and where in it the sweep is.
#[derive(Debug)]
struct Level {
    page: FencePage,
    entry: usize,
    /// Whether what the entry lists is the page or block below.
    below: bool,
}

impl<'a> Sweep<'a> {
    /// Starts before the first key of a run. The buffer has `buffer_bytes`, or room for one frame if that is more.
    pub fn new(run: &'a Run, budget: &Budget, buffer_bytes: usize) -> Result<Self, DiskError> {
        let words = run.width.words();
        let mut block = OpenBlock::new(budget, "sweep", run.width)?;
        block.reserve(run)?;
        let source = if run.is_kept_in_memory() {
            Source::Memory(run.file.kept())
        } else {
            let frame = run.frame_bytes_max();
            let forward = Forward::new(&run.file, run.bytes, frame, budget, "sweep buffer", buffer_bytes)?;
            Source::File(Box::new(forward))
        };
        let mut levels = Vec::with_capacity(run.footer.root_level as usize);
        for _ in 0..run.footer.root_level {
            levels.push(Level { page: FencePage::new(budget)?, entry: 0, below: false });
        }
        if let Some(root) = levels.first_mut() {
            root.page.decode(run, &mut block.decoder, run.footer.root_offset, &run.root)?;
        }
        for level in levels.iter_mut().skip(1) {
            level.page.reserve(words, run.fences_per_page)?;
        }
        let apart = if levels.len() > 1 && !run.is_kept_in_memory() { run.page_bytes_max() } else { 0 };
        let page = ChargedVec::with_capacity(budget, "sweep", apart)?;
        Ok(Self { run, block, source, levels, page })
    }

    /// The same through a run with values, which [`Sweep::look_up`] gives then.
    pub fn with_values(run: &'a Run, budget: &Budget, buffer_bytes: usize) -> Result<Self, DiskError> {
        let mut sweep = Self::new(run, budget, buffer_bytes)?;
        sweep.block.want_values(run, budget)?;
        Ok(sweep)
    }

    /// Sets `found[i]` for each of the strictly ascending `keys` that is in the run; the others stay as they are. The keys come after
    /// those of the call before.
    pub fn mark(&mut self, keys: &[u64], found: &mut [bool]) -> Result<(), DiskError> {
        self.each_block(keys, |run, block, keys, range| block.mark(run, keys, &mut found[range]))
    }

    /// Sets `found[i]` to the value of each of the strictly ascending `keys` that is in the run; the others stay as they are. The keys come after those of the call before.
    pub fn look_up(&mut self, keys: &[u64], found: &mut [Option<u64>]) -> Result<(), DiskError> {
        self.each_block(keys, |run, block, keys, range| block.look_up(run, keys, &mut found[range]))
    }

    /// Opens each block that may hold some of the keys, with those keys and their places.
    fn each_block(
        &mut self,
        keys: &[u64],
        mut visit: impl FnMut(&Run, &mut OpenBlock, &[u64], Range<usize>) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let words = self.run.width.words();
        let (Some(first), Some(last)) = (self.run.first(), self.run.last()) else { return Ok(()) };
        let mut index = below(words, keys, first);
        let end = at_most(words, keys, last);
        while index < end {
            self.seek(&keys[index * words..(index + 1) * words])?;
            let rest = &keys[index * words..end * words];
            let count = self.next_first().map_or(end - index, |next| below_near(words, rest, next));
            visit(self.run, &mut self.block, &rest[..count * words], index..index + count)?;
            index += count;
        }
        Ok(())
    }

    /// The first key of the next block, if there is one.
    fn next_first(&self) -> Option<&[u64]> {
        let words = self.run.width.words();
        let next = |level: &Level| (level.entry + 1) * words..(level.entry + 2) * words;
        self.levels.iter().rev().find_map(|level| level.page.keys.get(next(level)))
    }

    /// Opens the block that can hold the key, unless it is there. The key is not less than the first of the run, nor than that of the call before.
    fn seek(&mut self, key: &[u64]) -> Result<(), DiskError> {
        for depth in 0..self.levels.len() {
            let level = &mut self.levels[depth];
            let entry = level.page.entry_of(key, level.entry);
            if entry == level.entry && level.below {
                continue;
            }
            level.entry = entry;
            level.below = true;
            let place = level.page.places[entry];
            if depth + 1 < self.levels.len() {
                self.load_page(depth, place)?;
            } else {
                self.load_block(place)?;
            }
        }
        Ok(())
    }

    fn load_page(&mut self, parent: usize, place: Place) -> Result<(), DiskError> {
        let Self { run, block, source, levels, page } = self;
        let child = &mut levels[parent + 1];
        let bytes = source.page(run, place, page)?;
        child.page.decode(run, &mut block.decoder, place.offset, bytes)?;
        (child.entry, child.below) = (0, false);
        Ok(())
    }

    fn load_block(&mut self, place: Place) -> Result<(), DiskError> {
        let Self { run, block, source, .. } = self;
        block.open(run, place, source.frame(run, place)?)
    }
}

impl Source<'_> {
    /// The bytes of a frame.
    fn frame(&mut self, run: &Run, place: Place) -> Result<&[u8], DiskError> {
        let bytes = place.bytes as usize;
        match self {
            Source::Memory(content) => {
                let content = content.as_ref().map_or(&[][..], |content| &***content);
                usize::try_from(place.offset)
                    .ok()
                    .and_then(|start| content.get(start..start.checked_add(bytes)?))
                    .ok_or_else(|| {
                        DiskError::corrupt(&run.file, place.offset, "the file ends inside a block")
                    })
            }
            Source::File(forward) => forward.fetch(&run.file, place.offset, bytes),
        }
    }

    /// The bytes of a page. It lies behind the blocks that it lists, so it is mostly not in the piece that is held: then it is read apart, and the way forward goes on
    /// where it was.
    fn page<'b>(
        &'b mut self,
        run: &Run,
        place: Place,
        apart: &'b mut ChargedVec<u8>,
    ) -> Result<&'b [u8], DiskError> {
        match self {
            Source::File(forward) if !forward.holds(place.offset, place.bytes as usize) => {
                apart.resize(place.bytes as usize, 0)?;
                run.file.read_exact(place.offset, apart)?;
                Ok(apart)
            }
            _ => self.frame(run, place),
        }
    }
}

/// Keeps those of the keys that are not marked, in order; says how many words that are. The marks are cleared.
pub fn retain_unmarked(words: usize, keys: &mut [u64], marks: &mut [bool]) -> usize {
    let Some(first) = marks.iter().position(|&marked| marked) else { return marks.len() * words };
    let mut kept = first * words;
    for (index, &marked) in marks.iter().enumerate().skip(first) {
        match words {
            1 => keys[kept] = keys[index],
            2 => (keys[kept], keys[kept + 1]) = (keys[index * 2], keys[index * 2 + 1]),
            _ => keys.copy_within(index * words..(index + 1) * words, kept),
        }
        kept += words * usize::from(!marked);
    }
    marks.fill(false);
    kept
}
