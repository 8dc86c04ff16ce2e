//! Where do sorted pieces wait to be merged, when each is read once and soon?
//!
//! A run is made to be kept and asked: header, fences, footer, a name of its own. A piece of a sort is none of that: [`Pieces`] are parts of one scratch file, one
//! behind the other, in gap-coded frames with checksums; where each begins is in memory. Nothing of it outlives the process.
//!
//! Memory: 24 bytes per piece; a [`PieceWriter`] holds a block, its frame and two buffers, a [`PieceScan`] its read buffer and a block. I/O: each key is written once, in
//! pieces of the buffer's size, aside; and read once per scan.

use super::forward::Forward;
use super::frame::{self, FRAME_HEADER_BYTES};
use crate::budget::{Budget, Charge, ChargedVec};
use crate::codec::{Codec, Decoder, gap, payload_bytes_max};
use crate::error::DiskError;
use crate::key::KeyWidth;
use crate::storage::{AlignedBuffer, File, FileKind, Pending, Volume};
use crate::stream::{KeyStream, Merge};

/// Sorted pieces in a scratch file.
#[derive(Debug)]
pub struct Pieces {
    volume: Volume,
    format: PieceFormat,
    file: Option<File>,
    pieces: ChargedVec<Piece>,
    end: u64,
}

/// How frames are made.
#[derive(Clone, Copy, Debug)]
pub struct PieceFormat {
    width: KeyWidth,
    block_keys: usize,
}

/// A sorted set of keys in the file.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    keys: u64,
}

/// Writes pieces; one thread has one, for all its files.
#[derive(Debug)]
pub struct PieceWriter {
    format: PieceFormat,
    block: ChargedVec<u64>,
    frame: Vec<u8>,
    _frame: Charge,
    /// What gathers bytes now, and the other buffer, if it is not being written.
    buffer: Option<AlignedBuffer>,
    spare: Option<AlignedBuffer>,
    pending: Option<Pending>,
    filled: usize,
}

/// A piece as a stream.
#[derive(Debug)]
pub struct PieceScan<'a> {
    file: &'a File,
    format: PieceFormat,
    bytes: Forward,
    decoder: Decoder,
    /// What is left of it.
    piece: Piece,
    keys: ChargedVec<u64>,
}

/// Keys in a frame, at most.
const BLOCK_KEYS_MAX: usize = 256;
/// Two pieces are alike if one is not so many times as large as the other.
const LIKENESS: u64 = 3;

impl PieceWriter {
    /// A writer within about `bytes` of memory, from which `format` was made.
    pub fn new(budget: &Budget, format: PieceFormat, bytes: usize) -> Result<PieceWriter, DiskError> {
        let PieceFormat { width, block_keys } = format;
        let frame_bytes = format.frame_bytes_max();
        let buffer_bytes = (bytes / 3).max(64);
        let buffer_bytes = if buffer_bytes >= 4096 { buffer_bytes & !4095 } else { buffer_bytes };
        let buffer = || AlignedBuffer::new(budget, "candidates being written", buffer_bytes);
        Ok(PieceWriter {
            format,
            block: ChargedVec::with_capacity(budget, "candidates being written", block_keys * width.words())?,
            _frame: budget.charge("candidates being written", frame_bytes)?,
            frame: Vec::with_capacity(frame_bytes),
            buffer: Some(buffer()?),
            spare: Some(buffer()?),
            pending: None,
            filled: 0,
        })
    }

    /// Writes what a stream has as a piece that begins at `end`, which moves on.
    fn write(&mut self, stream: &mut dyn KeyStream, file: &File, end: &mut u64) -> Result<Piece, DiskError> {
        let start = *end;
        self.filled = 0;
        self.block.clear();
        let room_max = self.format.block_keys * self.format.width.words();
        let (mut offset, mut keys) = (start, 0);
        while stream.advance()? {
            let mut rest = stream.keys();
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rest.len().min(room_max - self.block.len()));
                self.block.extend(now)?;
                rest = later;
                if self.block.len() == room_max {
                    keys += self.write_block(file, &mut offset, end)?;
                }
            }
        }
        if !self.block.is_empty() {
            keys += self.write_block(file, &mut offset, end)?;
        }
        self.finish(file, end)?;
        Ok(Piece { start, end: offset, keys })
    }

    /// Makes a frame of the block, at `offset`, which moves on; says how many keys it has.
    fn write_block(&mut self, file: &File, offset: &mut u64, flushed: &mut u64) -> Result<u64, DiskError> {
        let count = self.block.len() / self.format.width.words();
        frame::begin(&mut self.frame);
        gap::encode_plain(self.format.width, &self.block, &mut self.frame);
        frame::seal(&mut self.frame, *offset, 0, Codec::Gap as u8, count);
        *offset += self.frame.len() as u64;
        self.block.clear();
        let frame = std::mem::take(&mut self.frame);
        let outcome = self.append(file, flushed, &frame);
        self.frame = frame;
        outcome.map(|()| count as u64)
    }

    /// Waits for what is being written.
    pub fn settle(&mut self) -> Result<(), DiskError> {
        if let Some(pending) = self.pending.take() {
            let (buffer, outcome) = pending.wait();
            self.spare = Some(buffer);
            outcome?;
        }
        Ok(())
    }

    fn append(&mut self, file: &File, flushed: &mut u64, frame: &[u8]) -> Result<(), DiskError> {
        let mut rest = frame;
        while !rest.is_empty() {
            let buffer = self.buffer.as_mut().expect("a buffer is at hand between calls");
            let (now, later) = rest.split_at(rest.len().min(buffer.len() - self.filled));
            buffer[self.filled..self.filled + now.len()].copy_from_slice(now);
            self.filled += now.len();
            rest = later;
            if self.filled == buffer.len() {
                self.flush(file, flushed, self.filled)?;
            }
        }
        Ok(())
    }

    /// Has the first `length` bytes of the buffer written, and goes on with the other one.
    fn flush(&mut self, file: &File, flushed: &mut u64, length: usize) -> Result<(), DiskError> {
        self.settle()?;
        let full = self.buffer.take().expect("a buffer is at hand between calls");
        self.pending = Some(file.write_aside(*flushed, full, length));
        self.buffer = self.spare.take();
        *flushed += length as u64;
        self.filled = 0;
        Ok(())
    }

    /// Writes what is left of a piece, in whole blocks of the device if the buffer is in such.
    fn finish(&mut self, file: &File, flushed: &mut u64) -> Result<(), DiskError> {
        let buffer = self.buffer.as_mut().expect("a buffer is at hand between calls");
        let block = file.volume().block_bytes();
        let padded = self.filled.next_multiple_of(block);
        let length = if padded <= buffer.len() { padded } else { self.filled };
        buffer[self.filled..length].fill(0);
        if length > 0 {
            self.flush(file, flushed, length)?;
        }
        Ok(())
    }
}

impl Pieces {
    /// No pieces; the file comes with the first one.
    pub fn new(volume: &Volume, budget: &Budget, format: PieceFormat) -> Result<Pieces, DiskError> {
        let pieces = ChargedVec::with_capacity(budget, "candidates", 0)?;
        Ok(Pieces { volume: volume.clone(), format, file: None, pieces, end: 0 })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Keys in all of them, repeats counted.
    pub fn count(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.keys).sum()
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// Adds what the stream has. The file, should this be its first piece, is called what `name` says. [`PieceWriter::settle`] comes before the piece is read.
    pub fn add(
        &mut self,
        writer: &mut PieceWriter,
        stream: &mut dyn KeyStream,
        kind: FileKind,
        name: impl FnOnce() -> String,
    ) -> Result<(), DiskError> {
        if self.file.is_none() {
            self.file = Some(self.volume.create(&name(), kind)?);
        }
        let file = self.file.as_ref().expect("it was just created");
        let piece = writer.write(stream, file, &mut self.end)?;
        Ok(self.pieces.push(piece)?)
    }

    /// Whether the last two pieces are so much alike in size that merging them pays: if they always are merged then, a key is written as often as the logarithm of the number of pieces, where no more than two can be
    /// read at a time.
    pub fn last_two_are_alike(&self) -> bool {
        matches!(self.pieces[..], [.., before, last] if before.keys < LIKENESS * last.keys)
    }

    /// Merges the last two pieces into one, reading within `bytes` of memory.
    pub fn merge_last_two(
        &mut self,
        writer: &mut PieceWriter,
        budget: &Budget,
        bytes: usize,
    ) -> Result<(), DiskError> {
        self.merge_from(self.pieces.len() - 2, writer, budget, bytes)
    }

    /// Merges about half of the pieces (all of two or three), the smallest, into one, reading within `bytes` of memory. There are at least two.
    pub fn merge_half(
        &mut self,
        writer: &mut PieceWriter,
        budget: &Budget,
        bytes: usize,
    ) -> Result<(), DiskError> {
        self.pieces.sort_unstable_by_key(|piece| std::cmp::Reverse(piece.keys));
        let kept = if self.pieces.len() < 4 { 0 } else { self.pieces.len() / 2 };
        self.merge_from(kept, writer, budget, bytes)
    }

    /// Makes one of all pieces but the first so many.
    fn merge_from(
        &mut self,
        kept: usize,
        writer: &mut PieceWriter,
        budget: &Budget,
        bytes: usize,
    ) -> Result<(), DiskError> {
        writer.settle()?;
        let Pieces { file, pieces, end, format, .. } = self;
        let file = file.as_ref().expect("there are pieces");
        let merged = {
            let words = format.width.words();
            let share = bytes / (pieces.len() - kept + 1);
            let scans = pieces[kept..]
                .iter()
                .map(|piece| PieceScan::new(file, *piece, *format, budget, share))
                .collect::<Result<Vec<_>, _>>()?;
            let chunk = (share / (words * 8)).clamp(1, 1024);
            writer.write(&mut Merge::new(budget, words, scans, chunk)?, file, end)?
        };
        pieces.truncate(kept);
        Ok(pieces.push(merged)?)
    }

    /// A stream of each, each with a buffer of about `bytes`.
    pub fn scans<'a>(
        &'a self,
        budget: &'a Budget,
        bytes: usize,
    ) -> impl Iterator<Item = Result<PieceScan<'a>, DiskError>> {
        let (file, format) = (self.file.as_ref(), self.format);
        self.pieces
            .iter()
            .map(move |piece| PieceScan::new(file.expect("there are pieces"), *piece, format, budget, bytes))
    }

    /// Forgets them all, and removes the file.
    pub fn clear(&mut self) -> Result<(), DiskError> {
        self.pieces.clear();
        self.end = 0;
        match self.file.take() {
            Some(file) => Ok(self.volume.remove(file.name())?),
            None => Ok(()),
        }
    }
}

impl<'a> PieceScan<'a> {
    fn new(
        file: &'a File,
        piece: Piece,
        format: PieceFormat,
        budget: &Budget,
        bytes: usize,
    ) -> Result<Self, DiskError> {
        let keys_max = format.block_keys.min(usize::try_from(piece.keys).unwrap_or(usize::MAX));
        let owner = "candidates being read";
        Ok(PieceScan {
            file,
            format,
            bytes: Forward::new(file, piece.end, format.frame_bytes_max(), budget, owner, bytes)?,
            decoder: Decoder::new(budget, owner, format.width)?,
            piece,
            keys: ChargedVec::with_capacity(budget, owner, keys_max * format.width.words())?,
        })
    }

    fn next_frame(&mut self) -> Result<(), DiskError> {
        let offset = self.piece.start;
        let nonsense = || DiskError::corrupt(self.file, offset, "a block makes no sense");
        let length = frame::length(self.bytes.fetch(self.file, offset, FRAME_HEADER_BYTES)?);
        if length > self.format.frame_bytes_max() || offset + length as u64 > self.piece.end {
            return Err(nonsense());
        }
        let block = frame::check(self.file, offset, self.bytes.fetch(self.file, offset, length)?)?;
        let keys = block.count as u64;
        if block.count > self.format.block_keys || keys > self.piece.keys {
            return Err(nonsense());
        }
        let words = self.format.width.words();
        self.keys.resize(block.count * words, 0)?;
        self.decoder.decode(Codec::Gap, block.payload, &mut self.keys).map_err(|_| nonsense())?;
        self.piece.start += length as u64;
        self.piece.keys -= keys;
        Ok(())
    }
}

impl KeyStream for PieceScan<'_> {
    fn words(&self) -> usize {
        self.format.width.words()
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        if self.piece.start < self.piece.end {
            self.next_frame()?;
            return Ok(true);
        }
        self.keys.clear();
        if self.piece.keys > 0 {
            return Err(DiskError::corrupt(self.file, self.piece.end, "keys are missing"));
        }
        Ok(false)
    }

    fn keys(&self) -> &[u64] {
        &self.keys
    }
}

impl PieceFormat {
    /// What suits writing within about `bytes` of memory.
    pub fn within(width: KeyWidth, bytes: usize) -> PieceFormat {
        PieceFormat { width, block_keys: (bytes / 8 / (width.words() * 8)).clamp(1, BLOCK_KEYS_MAX) }
    }

    /// What a writer takes within about `bytes`.
    pub fn writer_bytes(self, bytes: usize) -> usize {
        self.block_bytes() + self.frame_bytes_max() + 2 * (bytes / 3).max(64)
    }

    /// What reading so many pieces at once takes, with about `bytes` for their buffers.
    pub fn scan_bytes(self, pieces: usize, bytes: usize) -> usize {
        let share = bytes / (pieces + 1);
        // A merge has a key of each, and what it gives out.
        pieces * (share.max(self.frame_bytes_max()) + self.block_bytes() + 2 * self.width.words() * 8)
            + share.max(self.width.words() * 8)
    }

    fn block_bytes(self) -> usize {
        self.block_keys * self.width.words() * 8
    }

    fn frame_bytes_max(self) -> usize {
        FRAME_HEADER_BYTES + payload_bytes_max(self.width, self.block_keys)
    }
}
