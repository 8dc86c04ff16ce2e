//! Which frame can hold a key? Pages of first keys, in levels, each page after the frames it lists.
//!
//! [`FenceLevel`] gathers entries while a run is written, [`FencePage`] is a decoded page, [`ResidentFences`] the pages
//! kept in memory as they lie on disk (about 6 bytes per block of 256 keys).

use super::{Run, frame};
use crate::budget::{Budget, BudgetError, ChargedVec};
use crate::codec::{Codec, Decoder, Malformed};
use crate::error::DiskError;
use crate::key::{self, KeyWidth};

/// Where a frame lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) bytes: u32,
}

/// Entries of one page under construction: first keys and places of frames one level below.
#[derive(Debug)]
pub(super) struct FenceLevel {
    pub(super) keys: ChargedVec<u64>,
    pub(super) places: ChargedVec<Place>,
}

/// A decoded page; the room is reused.
#[derive(Debug)]
pub(super) struct FencePage {
    pub(super) keys: ChargedVec<u64>,
    pub(super) places: ChargedVec<Place>,
}

/// Pages below the root, as they lie on disk.
#[derive(Debug)]
pub(super) struct ResidentFences {
    /// Offset in the file and start in `bytes`, by rising offset.
    index: ChargedVec<(u64, u32)>,
    bytes: ChargedVec<u8>,
}

impl FenceLevel {
    pub(super) fn new(budget: &Budget, words: usize, entries: usize) -> Result<Self, BudgetError> {
        Ok(Self {
            keys: ChargedVec::with_capacity(budget, "fences being written", entries * words)?,
            places: ChargedVec::with_capacity(budget, "fences being written", entries)?,
        })
    }

    /// Adds an entry; there must be room.
    pub(super) fn add(&mut self, key: &[u64], place: Place) -> Result<(), BudgetError> {
        self.keys.extend(key)?;
        self.places.push(place)
    }

    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.places.clear();
    }

    /// Appends the part of a page before its keys.
    pub(super) fn append_places(&self, out: &mut Vec<u8>) {
        let mut end = self.places[0].offset;
        out.extend_from_slice(&end.to_le_bytes());
        for place in &*self.places {
            append_number(place.offset - end, out);
            append_number(u64::from(place.bytes), out);
            end = place.offset + u64::from(place.bytes);
        }
    }
}

/// No page of `entries` entries has a longer payload than this.
pub(super) fn page_bytes_max(width: KeyWidth, entries: usize) -> usize {
    8 + entries * (10 + 5) + crate::codec::gap::bytes_max(width, entries)
}

impl FencePage {
    pub(super) fn new(budget: &Budget) -> Result<Self, BudgetError> {
        Ok(Self {
            keys: ChargedVec::with_capacity(budget, "fence page", 0)?,
            places: ChargedVec::with_capacity(budget, "fence page", 0)?,
        })
    }

    /// Takes the room for so many entries.
    pub(super) fn reserve(&mut self, words: usize, entries: usize) -> Result<(), BudgetError> {
        self.keys.reserve(entries * words)?;
        self.places.reserve(entries)
    }

    /// The entry that can hold `key`, not before `from`: the last whose first key is not greater. Few entries are passed over from call to call.
    pub(super) fn entry_of(&self, key: &[u64], from: usize) -> usize {
        let words = key.len();
        let first = |entry: usize| &self.keys[entry * words..(entry + 1) * words];
        let mut entry = from;
        for stride in [16, 1] {
            while entry + stride < self.places.len() && key::compare(first(entry + stride), key).is_le() {
                entry += stride;
            }
        }
        entry
    }

    /// Decodes the page in `bytes`, which lie at `offset` of the run.
    pub(super) fn decode(
        &mut self,
        run: &Run,
        decoder: &mut Decoder,
        offset: u64,
        bytes: &[u8],
    ) -> Result<u8, DiskError> {
        let page = frame::check(&run.file, offset, bytes)?;
        let corrupt = |_: Malformed| DiskError::corrupt(&run.file, offset, "a page of fences makes no sense");
        if page.level == 0 {
            return Err(corrupt(Malformed));
        }
        self.places.clear();
        self.places.reserve(page.count)?;
        let (start, mut rest) = page.payload.split_first_chunk::<8>().ok_or(Malformed).map_err(corrupt)?;
        let mut end = u64::from_le_bytes(*start);
        for _ in 0..page.count {
            let (skip, after) = split_number(rest).map_err(corrupt)?;
            let (length, after) = split_number(after).map_err(corrupt)?;
            let bytes = u32::try_from(length).map_err(|_| corrupt(Malformed))?;
            let place = Place { offset: end.wrapping_add(skip), bytes };
            end = place.offset.wrapping_add(length);
            self.places.push(place)?;
            rest = after;
        }
        self.keys.clear();
        self.keys.resize(page.count * run.width.words(), 0)?;
        decoder.decode(Codec::Gap, rest, &mut self.keys).map_err(corrupt)?;
        Ok(page.level)
    }
}

impl ResidentFences {
    /// Reads pages level by level from the root down until all are held or the budget says no.
    pub(super) fn load(run: &Run, budget: &Budget) -> Result<Self, DiskError> {
        let mut resident = Self {
            index: ChargedVec::with_capacity(budget, "fences", 0)?,
            bytes: ChargedVec::with_capacity(budget, "fences", 0)?,
        };
        if run.footer.root_level > 1 {
            match resident.load_below_root(run, budget) {
                Ok(()) | Err(DiskError::Budget(_)) => {}
                Err(error) => return Err(error),
            }
        }
        resident.index.sort_unstable();
        Ok(resident)
    }

    pub(super) fn pages(&self) -> usize {
        self.index.len()
    }

    /// The page at `offset`, if it is held.
    pub(super) fn page(&self, offset: u64) -> Option<&[u8]> {
        let found = self.index.binary_search_by_key(&offset, |entry| entry.0).ok()?;
        let rest = &self.bytes[self.index[found].1 as usize..];
        rest.get(..frame::length(rest))
    }

    fn load_below_root(&mut self, run: &Run, budget: &Budget) -> Result<(), DiskError> {
        let mut decoder = Decoder::new(budget, "fences", run.width)?;
        let mut page = FencePage::new(budget)?;
        page.decode(run, &mut decoder, run.footer.root_offset, &run.root)?;
        let mut queue = ChargedVec::with_capacity(budget, "fences", page.places.len())?;
        queue.extend(&page.places)?;
        let mut level = run.footer.root_level - 1;
        while level > 0 {
            let mut below = ChargedVec::with_capacity(budget, "fences", 0)?;
            for place in queue.iter().copied() {
                let start = self.bytes.len();
                self.bytes.reserve((place.bytes as usize).max(start / 2))?;
                self.bytes.resize(start + place.bytes as usize, 0)?;
                if let Err(error) = run.file.read_exact(place.offset, &mut self.bytes[start..]) {
                    self.bytes.truncate(start);
                    return Err(error.into());
                }
                page.decode(run, &mut decoder, place.offset, &self.bytes[start..])?;
                self.index.push((place.offset, start as u32))?;
                if level > 1 {
                    below.extend(&page.places)?;
                }
            }
            queue = below;
            level -= 1;
        }
        Ok(())
    }
}

fn append_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn split_number(bytes: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let mut number = 0u64;
    for (index, &byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * index).min(63);
        if byte < 0x80 {
            return Ok((number, &bytes[index + 1..]));
        }
    }
    Err(Malformed)
}
