//! What are the keys of a run, in order, and their values?
//!
//! Memory: the read buffer, a part of a block of keys (all of it where it is not in groups), all values of a block where there are values, and for compressed runs the decoder's room; all charged. I/O: each byte once,
//! sequentially, in pieces of the buffer's size.

use super::fence::FencePage;
use super::forward::Forward;
use super::frame::{self, FRAME_HEADER_BYTES};
use super::{HEADER_BYTES, Run};
use crate::budget::{Budget, ChargedVec};
use crate::codec::groups::Groups;
use crate::codec::{self, Codec, Decoder, Malformed};
use crate::error::DiskError;
use crate::key;
use crate::stream::KeyStream;
use crate::value::ValueWidth;

/// Keys that are decoded at a time, where blocks have more.
pub(super) const SPAN_KEYS: usize = 1024;

/// Reads a run from its first key to its last, a block or a part of one at a time.
#[derive(Debug)]
pub struct Scan<'a> {
    run: &'a Run,
    decoder: Decoder,
    bytes: Forward,
    /// Where the next frame begins, and where the frames end.
    offset: u64,
    end: u64,
    /// The block that is decoded in parts, and its next group.
    block: Option<Block>,
    keys: ChargedVec<u64>,
    /// Aside, because most runs have none.
    values: Option<Box<BlockValues>>,
    seen: u64,
    /// Whether it began with the first block, so that all keys are seen.
    whole: bool,
    last: ChargedVec<u64>,
}

/// The values of a block, and how many of them are those of parts before the current one.
#[derive(Debug)]
struct BlockValues {
    width: ValueWidth,
    values: ChargedVec<u64>,
    before: usize,
}

/// A block in groups, some of them decoded.
#[derive(Debug)]
struct Block {
    groups: Groups,
    next: usize,
    offset: u64,
}

impl<'a> Scan<'a> {
    /// Starts before the first key. The buffer has `buffer_bytes`, or room for one frame if that is more.
    pub fn new(run: &'a Run, budget: &Budget, buffer_bytes: usize) -> Result<Self, DiskError> {
        let frame = run.frame_bytes_max().max(FRAME_HEADER_BYTES);
        let end = run.footer_offset();
        let words = run.width.words();
        let mut last = ChargedVec::with_capacity(budget, "scan", words)?;
        last.resize(words, 0)?;
        let values = run.values.map(|width| BlockValues::new(run, width, budget)).transpose()?;
        Ok(Self {
            run,
            decoder: Decoder::new(budget, "scan", run.width)?,
            bytes: Forward::new(&run.file, end, frame, budget, "scan buffer", buffer_bytes)?,
            offset: HEADER_BYTES as u64,
            end,
            block: None,
            keys: ChargedVec::with_capacity(budget, "scan", run.scan_keys_max() * words)?,
            values: values.map(Box::new),
            seen: 0,
            whole: true,
            last,
        })
    }

    /// Starts with the block that can hold a key: what comes before it in the block is there, too.
    pub fn from(run: &'a Run, budget: &Budget, buffer_bytes: usize, key: &[u64]) -> Result<Self, DiskError> {
        let mut scan = Self::new(run, budget, buffer_bytes)?;
        if run.first().is_none_or(|first| key::compare(key, first).is_le()) || run.footer.root_level == 0 {
            return Ok(scan);
        }
        let mut page = FencePage::new(budget)?;
        page.reserve(run.width.words(), run.fences_per_page)?;
        page.decode(run, &mut scan.decoder, run.footer.root_offset, &run.root)?;
        let mut bytes = ChargedVec::with_capacity(budget, "scan", 0)?;
        let mut place = page.places[page.entry_of(key, 0)];
        for _ in 1..run.footer.root_level {
            bytes.resize(place.bytes as usize, 0)?;
            run.file.read_exact(place.offset, &mut bytes)?;
            page.decode(run, &mut scan.decoder, place.offset, &bytes)?;
            place = page.places[page.entry_of(key, 0)];
        }
        (scan.offset, scan.whole) = (place.offset, false);
        Ok(scan)
    }

    /// Decodes the frame at `offset` if it is a block; says whether it is. Moves on in any case.
    fn next_frame(&mut self) -> Result<bool, DiskError> {
        let corrupt = |run: &Run, offset, what| DiskError::corrupt(&run.file, offset, what);
        let file = &self.run.file;
        let length = frame::length(self.bytes.fetch(file, self.offset, FRAME_HEADER_BYTES)?);
        if length > self.run.frame_bytes_max() || self.offset + length as u64 > self.end {
            return Err(corrupt(self.run, self.offset, "the length of a block does not fit"));
        }
        let block = frame::check(file, self.offset, self.bytes.fetch(file, self.offset, length)?)?;
        let offset = self.offset;
        self.offset += length as u64;
        if block.level > 0 {
            return Ok(false);
        }
        let nonsense = |_| corrupt(self.run, offset, "a block makes no sense");
        let codec = Codec::from_number(block.codec)
            .filter(|_| block.count <= self.run.keys_per_block)
            .ok_or(Malformed)
            .map_err(nonsense)?;
        let (values, payload) = self.run.split_values(block.payload, block.count).map_err(nonsense)?;
        if let Some(room) = &mut self.values {
            room.before = 0;
            room.values.resize(block.count, 0)?;
            codec::values::decode(room.width, values, &mut room.values).map_err(nonsense)?;
        }
        self.decoder.prepare(codec, self.run.footer.raw_bytes_max as usize)?;
        if codec.is_token() {
            let groups = self.decoder.open(codec, payload, block.count).map_err(nonsense)?;
            self.block = Some(Block { groups, next: 0, offset });
            return self.next_part();
        }
        self.keys.resize(block.count * self.run.width.words(), 0)?;
        self.decoder.decode(codec, payload, &mut self.keys).map_err(nonsense)?;
        self.check_block(offset)?;
        Ok(true)
    }

    /// Decodes the next groups of the block, if there are more; says whether there are.
    fn next_part(&mut self) -> Result<bool, DiskError> {
        let Some(block) = self.block.as_mut().filter(|block| block.next < block.groups.count()) else {
            return Ok(false);
        };
        let part = block.groups.span(block.next, SPAN_KEYS);
        if let Some(values) = &mut self.values {
            values.before = block.groups.keys_of(&(0..part.start));
        }
        block.next = part.end;
        let offset = block.offset;
        self.keys.resize(block.groups.keys_of(&part) * self.run.width.words(), 0)?;
        let decoded = self.decoder.decode_groups(&block.groups, part, &mut self.keys);
        decoded.map_err(|_| DiskError::corrupt(&self.run.file, offset, "a block makes no sense"))?;
        self.check_block(offset)?;
        Ok(true)
    }

    /// The door on the way in: blocks follow each other in order, and there are as many keys as the footer says.
    fn check_block(&mut self, offset: u64) -> Result<(), DiskError> {
        let words = self.run.width.words();
        let after = self.seen == 0 || key::compare(&self.last, &self.keys[..words]).is_lt();
        self.seen += (self.keys.len() / words) as u64;
        let last = self.keys.len() - words;
        self.last.copy_from_slice(&self.keys[last..]);
        if !after || self.seen > self.run.count() {
            return Err(DiskError::corrupt(&self.run.file, offset, "blocks are out of order"));
        }
        Ok(())
    }
}

impl BlockValues {
    fn new(run: &Run, width: ValueWidth, budget: &Budget) -> Result<Self, DiskError> {
        Ok(Self {
            width,
            values: ChargedVec::with_capacity(budget, "scan", run.block_keys_max())?,
            before: 0,
        })
    }
}

impl KeyStream for Scan<'_> {
    fn words(&self) -> usize {
        self.run.width.words()
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        if self.next_part()? {
            return Ok(true);
        }
        while self.offset < self.end {
            if self.next_frame()? {
                return Ok(true);
            }
        }
        self.keys.clear();
        if self.whole && self.seen != self.run.count() {
            return Err(DiskError::corrupt(&self.run.file, self.end, "keys are missing"));
        }
        Ok(false)
    }

    fn keys(&self) -> &[u64] {
        &self.keys
    }

    fn values(&self) -> &[u64] {
        let count = self.keys.len() / self.run.width.words();
        self.values.as_ref().map_or(&[], |values| &values.values[values.before..][..count])
    }
}
