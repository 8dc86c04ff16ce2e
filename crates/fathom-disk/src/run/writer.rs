//! How does a run come into being? Keys in, ascending; blocks, pages and a footer out, each byte written once, in order.
//!
//! Memory: one block of keys, its gaps and counts, one frame (two with several codecs), one write buffer, and one page of fences
//! per level; all charged. I/O: sequential writes of the buffer's size.

use super::fence::{FenceLevel, Place, page_bytes_max};
use super::frame::{self, FRAME_HEADER_BYTES};
use super::{
    FENCES_PER_PAGE_MAX, Footer, HEADER_CHECKED, KEYS_PER_BLOCK_MAX, Run, RunConfig, header_bytes, u64_at,
};
use crate::budget::{Budget, Charge, ChargedVec};
use crate::codec::choice::Choice;
use crate::codec::{self, Codec, Encoder, packed_bytes_max, payload_bytes_max};
use crate::error::DiskError;
use crate::key;
use crate::sabotage::is_chosen;
use crate::storage::{AlignedBuffer, File, Volume};

/// Builds one run. Dropped before [`RunWriter::finish`], it leaves a file that no commit names.
#[derive(Debug)]
pub struct RunWriter {
    output: Output,
    config: RunConfig,
    budget: Budget,
    encoder: Encoder,
    choice: Choice,
    block: ChargedVec<u64>,
    /// The values of its keys, if there are values.
    values: ChargedVec<u64>,
    ends: ChargedVec<u64>,
    frame: Vec<u8>,
    rival: Vec<u8>,
    _frames: Charge,
    levels: Vec<FenceLevel>,
    footer: Footer,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Number of keys.
    pub keys: u64,
    /// Bytes in the file.
    pub bytes: u64,
}

/// The file and what is gathered for it.
#[derive(Debug)]
struct Output {
    file: File,
    buffer: AlignedBuffer,
    filled: usize,
    flushed: u64,
    /// All of the file, as long as there is room.
    held: Option<AlignedBuffer>,
}

impl RunWriter {
    /// Starts the run `name`, which must not exist.
    pub fn new(volume: &Volume, budget: &Budget, name: &str, config: &RunConfig) -> Result<Self, DiskError> {
        assert!((1..=KEYS_PER_BLOCK_MAX).contains(&config.keys_per_block), "keys per block are in range");
        assert!((2..=FENCES_PER_PAGE_MAX).contains(&config.fences_per_page), "fences per page are in range");
        let (width, words) = (config.width, config.width.words());
        let mut encoder = Encoder::new(budget, "run encoder", width, config.keys_per_block)?;
        for &codec in config.codecs {
            encoder.prepare(codec)?;
        }
        let (frames, frame_bytes) = frame_bytes(config);
        let charge = budget.charge("run frame", frame_bytes * frames)?;
        let buffer =
            AlignedBuffer::new(budget, "run write buffer", config.buffer_bytes.max(HEADER_BYTES_LEAST))?;
        let block = ChargedVec::with_capacity(budget, "run block", config.keys_per_block * words)?;
        let values = config.values.map_or(0, |_| config.keys_per_block);
        let values = ChargedVec::with_capacity(budget, "run block", values)?;
        let mut ends = ChargedVec::with_capacity(budget, "run block", words * 2)?;
        ends.resize(words * 2, 0)?;
        let header = header_bytes(config);
        let file = volume.create(name, config.kind)?;
        let hold = |bytes| AlignedBuffer::new(&budget.leaving(config.hold_leaves), OWNER_HELD, bytes).ok();
        let held = Some(config.hold_bytes).filter(|&bytes| bytes > 0).and_then(hold);
        let mut output = Output { file, buffer, filled: 0, flushed: 0, held };
        output.append(&header)?;
        Ok(Self {
            output,
            config: config.clone(),
            budget: budget.clone(),
            encoder,
            choice: Choice::new(config.codecs),
            block,
            values,
            ends,
            frame: Vec::with_capacity(frame_bytes),
            rival: Vec::with_capacity(if frames > 1 { frame_bytes } else { 0 }),
            _frames: charge,
            levels: Vec::new(),
            footer: Footer { header_checksum: u64_at(&header, HEADER_CHECKED), ..Footer::default() },
        })
    }

    /// Bytes that a writer takes, but for pages of fences.
    pub fn bytes(config: &RunConfig) -> usize {
        let RunConfig { width, keys_per_block, codecs, buffer_bytes, .. } = *config;
        let (frames, frame_bytes) = frame_bytes(config);
        let block = keys_per_block * width.words() * 8 + config.values.map_or(0, |_| keys_per_block * 8);
        Encoder::bytes(width, keys_per_block, codecs) + frames * frame_bytes + buffer_bytes + block
    }

    /// Bytes that it takes with pages of fences: a page for each level, of which few runs have more than four.
    pub fn bytes_with_fences(config: &RunConfig) -> usize {
        const LEVELS: usize = 4;
        Self::bytes(config) + LEVELS * config.fences_per_page * super::fence_bytes(config.width)
    }

    /// Adds keys, strictly ascending and greater than all before; panics at the end of the block if they are not.
    pub fn push(&mut self, keys: &[u64]) -> Result<(), DiskError> {
        self.push_with(keys, &[])
    }

    /// The same with a value for each key, for a run with values.
    pub fn push_with(&mut self, mut keys: &[u64], mut values: &[u64]) -> Result<(), DiskError> {
        let words = self.config.width.words();
        let expected = self.config.values.map_or(0, |_| keys.len() / words);
        assert_eq!(values.len(), expected, "each key has a value, or none has");
        let room_max = self.config.keys_per_block * words;
        while !keys.is_empty() {
            let (now, later) = keys.split_at(keys.len().min(room_max - self.block.len()));
            let (values_now, values_later) = values.split_at(values.len().min(now.len() / words));
            self.block.extend(now)?;
            self.values.extend(values_now)?;
            (keys, values) = (later, values_later);
            if self.block.len() == room_max {
                self.write_block()?;
            }
        }
        Ok(())
    }

    /// Keys so far.
    pub fn count(&self) -> u64 {
        self.footer.keys + (self.block.len() / self.config.width.words()) as u64
    }

    /// Writes what is left, the root and the footer. With `sync`, the content lasts when this returns; the name does
    /// after [`Volume::sync_directory`].
    pub fn finish(mut self, sync: bool) -> Result<Written, DiskError> {
        let written = self.end()?;
        self.output.file.forget_in_memory()?;
        if sync && !is_chosen("fsync-1") {
            self.output.file.sync()?;
        }
        Ok(written)
    }

    /// The same, and opens the run, which may be in memory alone until it is [synced](Run::sync) or forgotten there.
    pub fn finish_run(mut self, sync: bool) -> Result<Run, DiskError> {
        self.end()?;
        if sync && !is_chosen("fsync-1") {
            self.output.file.sync()?;
        }
        let RunWriter { output, config, budget, .. } = self;
        Run::of(output.file, &budget, (config.width, config.values), config.tag)
    }

    fn end(&mut self) -> Result<Written, DiskError> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        self.write_root()?;
        let words = self.config.width.words();
        let footer = self.footer.to_bytes(&self.ends[..words], &self.ends[words..]);
        self.output.append(&footer)?;
        let bytes = self.output.finish(&self.budget.leaving(self.config.hold_leaves))?;
        Ok(Written { keys: self.footer.keys, bytes })
    }

    fn write_block(&mut self) -> Result<(), DiskError> {
        let words = self.config.width.words();
        let count = self.block.len() / words;
        self.check_order();
        let codec = self.encode_block();
        frame::seal(&mut self.frame, self.output.offset(), 0, codec as u8, count);
        if self.footer.keys == 0 {
            self.ends[..words].copy_from_slice(&self.block[..words]);
        }
        let last = self.block.len() - words;
        self.ends[words..].copy_from_slice(&self.block[last..]);
        self.footer.keys += count as u64;
        self.footer.blocks += 1;
        self.footer.raw_bytes_max = self.footer.raw_bytes_max.max(self.encoder.raw_bytes() as u32);
        let place = self.write_frame()?;
        self.add_fence(0, place)?;
        self.block.clear();
        self.values.clear();
        Ok(())
    }

    /// Encodes the block into `frame` with the codec that suits it.
    fn encode_block(&mut self) -> Codec {
        if let Some(codec) = self.choice.next_block() {
            begin_block(&self.config, &self.values, &mut self.frame);
            self.encoder.encode(codec, &self.block, &mut self.frame);
            self.note_group();
            return codec;
        }
        let candidates = self.config.codecs;
        let mut best = None;
        let mut raw_bytes_max = 0;
        for &codec in candidates {
            begin_block(&self.config, &self.values, &mut self.rival);
            self.encoder.encode(codec, &self.block, &mut self.rival);
            self.note_group();
            raw_bytes_max = raw_bytes_max.max(self.encoder.raw_bytes());
            self.choice.tried(codec, self.rival.len());
            if best.is_none() || self.rival.len() < self.frame.len() {
                std::mem::swap(&mut self.frame, &mut self.rival);
                best = Some(codec);
            }
        }
        self.footer.raw_bytes_max = self.footer.raw_bytes_max.max(raw_bytes_max as u32);
        best.expect("there is a candidate")
    }

    /// Notes how much of the block just coded is decoded at once.
    fn note_group(&mut self) {
        let keys = self.encoder.group_keys() as u32;
        self.footer.group_keys_max = self.footer.group_keys_max.max(keys);
    }

    /// Keys that do not ascend would be lost silently later: this is our own fault, and cheap to see here.
    fn check_order(&self) {
        let words = self.config.width.words();
        let after_last =
            self.footer.keys == 0 || key::compare(&self.ends[words..], &self.block[..words]).is_lt();
        let ascending = match words {
            1 => self.block.windows(2).all(|pair| pair[0] < pair[1]),
            2 => {
                let pairs = self.block.as_chunks::<2>().0;
                pairs.windows(2).all(|two| key::wide(&two[0]) < key::wide(&two[1]))
            }
            _ => self.block.windows(words * 2).step_by(words).all(|pair| pair[..words] < pair[words..]),
        };
        assert!(after_last && ascending, "keys of a run ascend");
        debug_assert!(self.block.chunks_exact(words).all(|key| self.config.width.fits(key)));
    }

    /// Writes the frame that is ready; says where.
    fn write_frame(&mut self) -> Result<Place, DiskError> {
        let place = Place { offset: self.output.offset(), bytes: self.frame.len() as u32 };
        self.footer.frame_bytes_max = self.footer.frame_bytes_max.max(place.bytes);
        self.output.append(&self.frame)?;
        Ok(place)
    }

    /// Lists the frame just written (whose first key is that of the block, or of the page just cleared) one level up.
    fn add_fence(&mut self, level: usize, place: Place) -> Result<(), DiskError> {
        let words = self.config.width.words();
        if self.levels.len() == level {
            self.levels.push(FenceLevel::new(&self.budget, words, self.config.fences_per_page)?);
        }
        let (below, above) = self.levels.split_at_mut(level);
        let first = match below.last() {
            None => &self.block[..words],
            Some(page) => &page.keys[..words],
        };
        above[0].add(first, place)?;
        if let Some(page) = below.last_mut() {
            page.clear();
        }
        if self.levels[level].places.len() == self.config.fences_per_page {
            self.write_page(level)?;
        }
        Ok(())
    }

    /// Writes the page gathered at `level` and lists it above.
    fn write_page(&mut self, level: usize) -> Result<(), DiskError> {
        let place = self.write_page_frame(level)?;
        self.add_fence(level + 1, place)
    }

    fn write_page_frame(&mut self, level: usize) -> Result<Place, DiskError> {
        frame::begin(&mut self.frame);
        let page = &self.levels[level];
        page.append_places(&mut self.frame);
        codec::gap::encode_plain(self.config.width, &page.keys, &mut self.frame);
        let count = page.places.len();
        frame::seal(&mut self.frame, self.output.offset(), level as u8 + 1, Codec::Gap as u8, count);
        self.write_frame()
    }

    /// Writes every page that is not full, from below; the last one is the root.
    fn write_root(&mut self) -> Result<(), DiskError> {
        let mut level = 0;
        while level < self.levels.len() {
            if !self.levels[level].places.is_empty() {
                let topmost = level + 1 == self.levels.len();
                let place = self.write_page_frame(level)?;
                if topmost {
                    self.footer.root_offset = place.offset;
                    self.footer.root_bytes = place.bytes;
                    self.footer.root_level = level as u32 + 1;
                    break;
                }
                self.add_fence(level + 1, place)?;
            }
            level += 1;
        }
        Ok(())
    }
}

/// Begins the frame of a block, with its values if there are values.
fn begin_block(config: &RunConfig, values: &[u64], frame: &mut Vec<u8>) {
    frame::begin(frame);
    if let Some(width) = config.values {
        codec::values::encode(width, values, frame);
    }
}

/// How many frames are held, and the bytes of each.
fn frame_bytes(config: &RunConfig) -> (usize, usize) {
    let compresses = config.codecs.iter().any(|codec| codec.compresses());
    let bytes_max = if compresses { packed_bytes_max } else { payload_bytes_max };
    let values = config.values.map_or(0, |width| codec::values::bytes_max(width, config.keys_per_block));
    let payload = (values + bytes_max(config.width, config.keys_per_block))
        .max(page_bytes_max(config.width, config.fences_per_page));
    (config.codecs.len().min(2), FRAME_HEADER_BYTES + payload + 64)
}

/// The write buffer holds at least this much.
const HEADER_BYTES_LEAST: usize = 64;
const OWNER_HELD: &str = "runs in memory";

impl Output {
    fn offset(&self) -> u64 {
        self.flushed + self.filled as u64
    }

    fn append(&mut self, mut bytes: &[u8]) -> Result<(), DiskError> {
        if let Some(held) = &mut self.held {
            if let Some(room) = held.get_mut(self.filled..self.filled + bytes.len()) {
                room.copy_from_slice(bytes);
                self.filled += bytes.len();
                return Ok(());
            }
            self.hold_no_longer()?;
        }
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(self.buffer.len() - self.filled));
            self.buffer[self.filled..self.filled + now.len()].copy_from_slice(now);
            self.filled += now.len();
            bytes = later;
            if self.filled == self.buffer.len() {
                self.file.write(self.flushed, &self.buffer)?;
                self.flushed += self.filled as u64;
                self.filled = 0;
            }
        }
        Ok(())
    }

    /// There is more than memory was asked for: it goes to the device after all.
    fn hold_no_longer(&mut self) -> Result<(), DiskError> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let filled = std::mem::take(&mut self.filled);
        let whole = filled - filled % self.file.volume().block_bytes();
        if whole > 0 {
            self.file.write(0, &held[..whole])?;
        }
        self.flushed = whole as u64;
        self.append(&held[whole..filled])
    }

    /// Writes the rest, in whole blocks if the buffer has room, and cuts the file to its true length; or hands the file what was held.
    fn finish(&mut self, budget: &Budget) -> Result<u64, DiskError> {
        let bytes = self.offset();
        if let Some(held) = &self.held {
            if let Ok(mut content) = AlignedBuffer::new(budget, OWNER_HELD, self.filled) {
                content.copy_from_slice(&held[..self.filled]);
                self.held = None;
                self.file.hold(content);
                return Ok(bytes);
            }
            self.hold_no_longer()?;
        }
        if self.filled > 0 {
            let block = self.file.volume().block_bytes();
            let padded = self.filled.next_multiple_of(block);
            let length = if padded <= self.buffer.len() { padded } else { self.filled };
            self.buffer[self.filled..length].fill(0);
            self.file.write(self.flushed, &self.buffer[..length])?;
            if length > self.filled {
                self.file.resize(bytes)?;
            }
        }
        Ok(bytes)
    }
}
