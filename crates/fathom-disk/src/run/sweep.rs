//! Which keys of an ascending stream are in this run, when the stream touches most of it?
//!
//! A [`Sweep`] goes through a run once, forward, a block at a time, beside keys that ascend from call to call. It goes down the fences to the block that can
//! hold the next key, so what no key needs is neither read nor decoded. [`Prober`](super::Prober) is for few keys spread wide: it plans its reads
//! and waits for all of them at once; a sweep reads ahead in long pieces.
//!
//! Memory: the read buffer (none for a run that is kept in memory), a block of keys, a page of fences per level; all taken by [`Sweep::new`]. I/O: each byte at
//! most once, forward, and pages of fences.

use std::sync::RwLockReadGuard;

use super::allowed::Allowed;
use super::fence::{FencePage, Place};
use super::forward::Forward;
use super::probe::{at_most, below};
use super::{Run, frame};
use crate::budget::{Budget, ChargedVec};
use crate::codec::{Codec, Decoder};
use crate::error::DiskError;
use crate::key;

/// A way through a run, beside ascending keys.
#[derive(Debug)]
pub struct Sweep<'a> {
    run: &'a Run,
    decoder: Decoder,
    source: Source<'a>,
    /// Pages on the way to the block, from the root down.
    levels: Vec<Level>,
    block: ChargedVec<u64>,
    /// Bytes of a page that was read apart.
    page: ChargedVec<u8>,
}

/// Where the bytes of frames come from.
#[derive(Debug)]
enum Source<'a> {
    Memory(RwLockReadGuard<'a, Option<Box<ChargedVec<u8>>>>),
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
        let mut decoder = Decoder::new(budget, "sweep decoder", run.width)?;
        if run.footer.raw_bytes_max > 0 {
            decoder.prepare(Codec::TokenLz4, run.footer.raw_bytes_max as usize)?;
        }
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
            root.page.decode(run, &mut decoder, run.footer.root_offset, &run.root)?;
        }
        for level in levels.iter_mut().skip(1) {
            level.page.reserve(words, run.fences_per_page)?;
        }
        let block = ChargedVec::with_capacity(budget, "sweep", run.block_keys_max() * words)?;
        let page = ChargedVec::with_capacity(budget, "sweep", 0)?;
        Ok(Self { run, decoder, source, levels, block, page })
    }

    /// Sets `found[i]` for each of the strictly ascending `keys` that is in the run; the others stay as they are. The keys come after
    /// those of the call before.
    pub fn mark(&mut self, keys: &[u64], found: &mut [bool]) -> Result<(), DiskError> {
        let words = self.run.width.words();
        let (Some(first), Some(last)) = (self.run.first(), self.run.last()) else { return Ok(()) };
        let mut index = below(words, keys, first);
        let end = at_most(words, keys, last);
        let mut allowed = Allowed::new(self.run, keys);
        while let Some(next) = allowed.next(index, end) {
            index = next;
            self.seek(&keys[index * words..(index + 1) * words])?;
            let rest = &keys[index * words..end * words];
            let met = mark_in_block(words, &self.block, rest, &mut found[index..end]);
            // A key behind the last of its block is in no block.
            index += met.max(1);
        }
        Ok(())
    }

    /// Decodes the block that can hold the key, unless it is there. The key is not less than the first of the run, nor than that of the call before.
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
        let Self { run, decoder, source, levels, page, .. } = self;
        let child = &mut levels[parent + 1];
        let bytes = source.page(run, place, page)?;
        child.page.decode(run, decoder, place.offset, bytes)?;
        (child.entry, child.below) = (0, false);
        Ok(())
    }

    fn load_block(&mut self, place: Place) -> Result<(), DiskError> {
        let Self { run, decoder, source, block, .. } = self;
        let bytes = source.frame(run, place)?;
        let nonsense = || DiskError::corrupt(&run.file, place.offset, "a block makes no sense");
        let frame = frame::check(&run.file, place.offset, bytes)?;
        let codec = Codec::from_number(frame.codec)
            .filter(|_| frame.level == 0 && frame.count <= run.keys_per_block)
            .ok_or_else(nonsense)?;
        decoder.prepare(codec, run.footer.raw_bytes_max as usize)?;
        block.resize(frame.count * run.width.words(), 0)?;
        decoder.decode(codec, frame.payload, block).map_err(|_| nonsense())
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

/// Marks which of the ascending keys are in the block; says how many are not greater than its last.
fn mark_in_block(words: usize, block: &[u64], keys: &[u64], found: &mut [bool]) -> usize {
    let last = &block[block.len() - words..];
    // Many keys are mostly for many blocks: what is sought lies near the front.
    let count = match keys.get(NEAR * words..(NEAR + 1) * words) {
        Some(near) if key::compare(near, last).is_gt() => at_most(words, &keys[..NEAR * words], last),
        _ => at_most(words, keys, last),
    };
    let (keys, found) = (&keys[..count * words], &mut found[..count]);
    let block_keys = block.len() / words;
    match words {
        1 => mark_numbers(block_keys, |place| block[place], |index| keys[index], found),
        2 => mark_numbers(
            block_keys,
            |place| key::wide(&block[place * 2..place * 2 + 2]),
            |index| key::wide(&keys[index * 2..index * 2 + 2]),
            found,
        ),
        _ => mark_in_strides(
            block_keys,
            |place| &block[place * words..(place + 1) * words],
            |index| &keys[index * words..(index + 1) * words],
            found,
        ),
    }
    count
}

#[inline(always)]
fn mark_numbers<K: Ord + Copy>(
    block_keys: usize,
    block: impl Fn(usize) -> K,
    key: impl Fn(usize) -> K,
    found: &mut [bool],
) {
    if block_keys <= found.len() * CLOSE {
        mark_beside(block_keys, block, key, found);
    } else {
        mark_in_strides(block_keys, block, key, found);
    }
}

/// So many keys ahead is tried first.
const NEAR: usize = 256;
/// With no more than so many keys of the block per key sought, all are passed one by one.
const CLOSE: usize = 4;
/// Long and short strides of the search for the next key.
const STRIDES: [usize; 3] = [64, 8, 1];

/// Passes block and keys side by side, whoever is less going on: no branch depends on the keys. The last of the block is not less than any key.
#[inline(always)]
fn mark_beside<K: Ord + Copy>(
    block_keys: usize,
    block: impl Fn(usize) -> K,
    key: impl Fn(usize) -> K,
    found: &mut [bool],
) {
    let (mut place, mut index) = (0, 0);
    while place < block_keys && index < found.len() {
        let (known, sought) = (block(place), key(index));
        found[index] |= known == sought;
        place += usize::from(known < sought);
        index += usize::from(sought <= known);
    }
}

/// Goes forward through the block from key to key in strides: neighbours are near each other, so this is cheaper than halving what is left. The last of
/// the block is not less than any key.
#[inline(always)]
fn mark_in_strides<K: Ord>(
    block_keys: usize,
    block: impl Fn(usize) -> K,
    key: impl Fn(usize) -> K,
    found: &mut [bool],
) {
    let mut place = 0;
    for (index, found) in found.iter_mut().enumerate() {
        let sought = key(index);
        for stride in STRIDES {
            while place + stride < block_keys && block(place + stride - 1) < sought {
                place += stride;
            }
        }
        *found |= block(place) == sought;
    }
}
