//! How are the bytes of a file read forward, the next piece while this one is used?
//!
//! A [`Forward`] holds a piece of a file. On a device that takes its time, and with memory for two pieces, the next one is read aside meanwhile; a frame that lies across
//! two pieces is put together in a place of its own, so no byte is read twice.
//!
//! Memory: what it is given, or room for one frame if that is more. I/O: each byte once, forward, but for what a caller goes back or far ahead for.

use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::storage::{AlignedBuffer, File, Pending};

/// A way forward through a part of a file.
#[derive(Debug)]
pub(super) struct Forward {
    current: AlignedBuffer,
    /// Offset in the file of its first byte, and how many it has.
    start: u64,
    filled: usize,
    next: Next,
    /// What lies across the end of the piece before the current one, a frame's length, and where it begins.
    across: ChargedVec<u8>,
    across_start: u64,
    frame_bytes_max: usize,
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
        let half = bytes.saturating_sub(frame_bytes_max) / 2;
        let half = half - half % block;
        let whole = usize::try_from(end).unwrap_or(usize::MAX).next_multiple_of(block);
        let buffer = |bytes| AlignedBuffer::new(budget, owner, bytes);
        let mut across = ChargedVec::with_capacity(budget, owner, 0)?;
        let ahead = file.volume().delays() && !file.is_kept_in_memory();
        let (current, next, alignment) =
            if ahead && half >= frame_bytes_max.max(block) + block && whole > half {
                across.reserve(frame_bytes_max)?;
                (buffer(half)?, Next::Idle(buffer(half)?), block)
            } else if bytes >= (frame_bytes_max + 2 * block).next_multiple_of(block).min(whole) {
                (buffer((bytes - bytes % block).min(whole))?, Next::None, block)
            } else {
                (buffer(bytes.max(frame_bytes_max))?, Next::None, 1)
            };
        let (start, filled, across_start) = (0, 0, 0);
        Ok(Forward { current, start, filled, next, across, across_start, frame_bytes_max, alignment, end })
    }

    /// Whether these bytes are held.
    pub(super) fn holds(&self, offset: u64, bytes: usize) -> bool {
        self.held(offset, bytes).is_some()
    }

    fn held(&self, offset: u64, bytes: usize) -> Option<&[u8]> {
        let within = |start: u64, held: &[u8]| {
            let from = usize::try_from(offset.checked_sub(start)?).ok()?;
            let to = from.checked_add(bytes)?;
            (to <= held.len()).then_some(from..to)
        };
        let current = &self.current[..self.filled];
        match within(self.start, current) {
            Some(part) => Some(&current[part]),
            None => within(self.across_start, &self.across).map(|part| &self.across[part]),
        }
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
        }
        self.held(offset, bytes)
            .ok_or_else(|| DiskError::corrupt(file, offset, "the file ends inside a block"))
    }

    /// Makes the piece that is being read the current one, if it has what is sought, or the rest of it; says whether it did.
    fn turn_to_next(&mut self, offset: u64, bytes: usize) -> Result<bool, DiskError> {
        let Next::Reading(start, pending) = std::mem::replace(&mut self.next, Next::None) else {
            return Ok(false);
        };
        let (buffer, outcome) = pending.wait();
        let read = outcome?;
        let held_end = self.start + self.filled as u64;
        let suits = offset >= self.start && start == held_end && offset + bytes as u64 <= start + read as u64;
        if !suits {
            self.next = Next::Idle(buffer);
            return Ok(false);
        }
        self.across.clear();
        if offset < start {
            let tail = &self.current[(offset - self.start) as usize..self.filled];
            let head = &buffer[..read.min(self.frame_bytes_max.saturating_sub(tail.len()))];
            self.across.extend(tail)?;
            self.across.extend(head)?;
            self.across_start = offset;
        }
        let before = std::mem::replace(&mut self.current, buffer);
        self.next = Next::Idle(before);
        (self.start, self.filled) = (start, read);
        Ok(true)
    }

    /// Reads on from `offset`, keeping what is held of it.
    fn read_from(&mut self, file: &File, offset: u64) -> Result<(), DiskError> {
        let start = offset - offset % self.alignment as u64;
        let held_end = self.start + self.filled as u64;
        let kept = if start >= self.start && start < held_end {
            let kept = (held_end - start) as usize;
            kept - kept % self.alignment
        } else {
            0
        };
        if kept > 0 {
            let from = (start - self.start) as usize;
            self.current.copy_within(from..from + kept, 0);
        }
        (self.start, self.filled) = (start, 0);
        self.across.clear();
        let read = file.read(start + kept as u64, &mut self.current[kept..])?;
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
                self.next = Next::Reading(start, file.read_aside(start, buffer));
            }
            other => self.next = other,
        }
    }
}
