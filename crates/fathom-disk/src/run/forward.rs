//! How are the bytes of a file read forward, the next piece while this one is used?
//!
//! A [`Forward`] holds a piece of a file. On a device that takes its time, and with memory for two pieces, the next one is read aside meanwhile; what a frame
//! has at the end of one piece is put before the next, so no byte is read twice.
//!
//! Memory: what it is given, or room for one frame if that is more. I/O: each byte once, forward, but for what a caller goes back or far ahead for.

use crate::budget::Budget;
use crate::error::DiskError;
use crate::storage::{AlignedBuffer, File, Pending};

/// A way forward through a part of a file.
#[derive(Debug)]
pub(super) struct Forward {
    current: AlignedBuffer,
    /// Offset in the file of the first byte held, and where in the buffer it is.
    start: u64,
    head: usize,
    filled: usize,
    next: Next,
    /// Room before each piece for the end of the one before; 0 without a second buffer.
    headroom: usize,
    /// Alignment of reads: the device's, or 1 if the buffer is too small for that.
    alignment: usize,
    /// Where the bytes end that are wanted.
    end: u64,
}

/// The second buffer.
#[derive(Debug)]
enum Next {
    None,
    Idle(AlignedBuffer),
    /// Being filled from this offset on.
    Reading(u64, Pending),
}

impl Forward {
    /// For the bytes of `file` up to `end`, in frames of at most `frame_bytes_max`, within `bytes` of memory.
    pub(super) fn new(
        file: &File,
        end: u64,
        frame_bytes_max: usize,
        budget: &Budget,
        owner: &'static str,
        bytes: usize,
    ) -> Result<Forward, DiskError> {
        let block = file.volume().block_bytes();
        let headroom = frame_bytes_max.next_multiple_of(block);
        let half = bytes / 2 - (bytes / 2) % block;
        let whole = usize::try_from(end).unwrap_or(usize::MAX).next_multiple_of(block);
        let buffer = |bytes| AlignedBuffer::new(budget, owner, bytes);
        let forward = |current, next, headroom, alignment| Forward {
            current,
            start: 0,
            head: headroom,
            filled: 0,
            next,
            headroom,
            alignment,
            end,
        };
        if file.volume().delays()
            && !file.is_kept_in_memory()
            && half >= 2 * headroom + block
            && whole > half - headroom
        {
            return Ok(forward(buffer(half)?, Next::Idle(buffer(half)?), headroom, block));
        }
        let least = (frame_bytes_max + 2 * block).next_multiple_of(block).min(whole);
        let (alignment, bytes) = if bytes >= least {
            (block, (bytes - bytes % block).min(whole))
        } else {
            (1, bytes.max(frame_bytes_max))
        };
        Ok(forward(buffer(bytes)?, Next::None, 0, alignment))
    }

    /// Whether these bytes are held.
    pub(super) fn holds(&self, offset: u64, bytes: usize) -> bool {
        let end = offset.checked_add(bytes as u64);
        offset >= self.start && end.is_some_and(|end| end <= self.start + self.filled as u64)
    }

    /// These bytes, a frame or less; with what follows them as far as memory reaches.
    pub(super) fn fetch(&mut self, file: &File, offset: u64, bytes: usize) -> Result<&[u8], DiskError> {
        if !self.holds(offset, bytes) {
            // Who has just skipped some will skip more: reading ahead is for those who do not.
            let in_order = offset <= self.start + self.filled as u64;
            if !self.turn_to_next(offset, bytes)? {
                self.read_from(file, offset)?;
            }
            if in_order {
                self.begin_next(file);
            }
            if !self.holds(offset, bytes) {
                return Err(DiskError::corrupt(file, offset, "the file ends inside a block"));
            }
        }
        let from = self.head + (offset - self.start) as usize;
        Ok(&self.current[from..from + bytes])
    }

    /// Makes the piece that is being read the current one, if it has what is sought, or the rest of it; says whether it did.
    fn turn_to_next(&mut self, offset: u64, bytes: usize) -> Result<bool, DiskError> {
        let Next::Reading(start, pending) = std::mem::replace(&mut self.next, Next::None) else {
            return Ok(false);
        };
        let (mut buffer, outcome) = pending.wait();
        let read = outcome?;
        let tail = start.saturating_sub(offset.max(self.start)) as usize;
        let held_end = self.start + self.filled as u64;
        let suits = offset >= self.start
            && start == held_end
            && tail <= self.headroom
            && offset + bytes as u64 <= start + read as u64;
        if !suits {
            self.next = Next::Idle(buffer);
            return Ok(false);
        }
        let from = self.head + self.filled - tail;
        buffer[self.headroom - tail..self.headroom].copy_from_slice(&self.current[from..from + tail]);
        let before = std::mem::replace(&mut self.current, buffer);
        self.next = Next::Idle(before);
        (self.start, self.head, self.filled) = (start - tail as u64, self.headroom - tail, tail + read);
        Ok(true)
    }

    /// Reads on from `offset`, keeping what is held of it if there is one buffer.
    fn read_from(&mut self, file: &File, offset: u64) -> Result<(), DiskError> {
        let start = offset - offset % self.alignment as u64;
        let held_end = self.start + self.filled as u64;
        let kept = if start >= self.start && start < held_end && self.headroom == 0 {
            let kept = (held_end - start) as usize;
            kept - kept % self.alignment
        } else {
            0
        };
        if kept > 0 {
            let from = (start - self.start) as usize;
            self.current.copy_within(from..from + kept, 0);
        }
        (self.start, self.head, self.filled) = (start, self.headroom, 0);
        let read = file.read(start + kept as u64, &mut self.current[self.headroom + kept..])?;
        self.filled = kept + read;
        Ok(())
    }

    /// Has the piece after the current one read, if there is a buffer for it and the file goes on.
    fn begin_next(&mut self, file: &File) {
        let start = self.start + self.filled as u64;
        if start >= self.end || !start.is_multiple_of(self.alignment as u64) {
            return;
        }
        match std::mem::replace(&mut self.next, Next::None) {
            Next::Idle(buffer) => {
                self.next = Next::Reading(start, file.read_aside(start, buffer, self.headroom));
            }
            other => self.next = other,
        }
    }
}
