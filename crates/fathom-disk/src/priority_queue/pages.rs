//! Where are items on disk, when many lists share the files and each is read once?
//!
//! A page is a block that knows the page before it in its list. Pages are written one behind the other into segments, which are files; a segment whose pages were all read is retired.
//! Memory: a block to write and one to read, and a few words per segment, charged.

use std::collections::VecDeque;

use super::marks::{MarkReader, MarkWriter, nonsense};
use crate::budget::{Budget, Charge, ChargedVec};
use crate::error::DiskError;
use crate::log::blocks::{Block, BlockFile};
use crate::storage::{FileKind, Role, Volume};

const KIND: FileKind = FileKind::new("priority queue", Role::Bulk);
/// A segment has at least so many pages and so many bytes, so that there are few files.
const SEGMENT_PAGES_MIN: u64 = 256;
const SEGMENT_BYTES_MIN: u64 = 4 << 20;
/// What a segment takes in memory: its entry, its name, the handle of its file.
const SEGMENT_MEMORY: usize = 256;

/// Pages in segments.
#[derive(Debug)]
pub(super) struct Pages {
    volume: Volume,
    name: String,
    words: usize,
    block_bytes: usize,
    segment_pages: u64,
    /// Those that have pages which were not read, and the one that is written; in order.
    segments: VecDeque<Segment>,
    /// The number of the next page.
    next: u64,
    out: Block,
    page: Block,
    retired: Vec<String>,
    /// Whether a manifest may name files: then they are not removed with the queue.
    marked: bool,
    charge: Charge,
}

#[derive(Debug)]
struct Segment {
    number: u64,
    file: BlockFile,
    /// Pages that were written and not read.
    live: u64,
    dirty: bool,
}

impl Pages {
    /// No pages yet, for items of `words` words, in files called `name` and a number.
    pub(super) fn new(
        volume: &Volume,
        name: &str,
        words: usize,
        block_bytes: usize,
        budget: &Budget,
    ) -> Result<Pages, DiskError> {
        let file = BlockFile::new(volume, name, KIND, words, block_bytes);
        let segment_pages = (SEGMENT_BYTES_MIN / file.block_bytes()).max(SEGMENT_PAGES_MIN);
        Ok(Pages {
            volume: volume.clone(),
            name: name.to_owned(),
            words,
            block_bytes,
            segment_pages,
            segments: VecDeque::new(),
            next: 0,
            out: file.block(budget)?,
            page: file.block(budget)?,
            retired: Vec::new(),
            marked: false,
            charge: budget.charge("priority queue", 0)?,
        })
    }

    /// Items of a page.
    pub(super) fn page_items(&self) -> usize {
        self.out.capacity()
    }

    /// Bytes of a page.
    pub(super) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Writes some items, at most a page, as the last page of a list that went up to `before`; says up to where it goes now. 0 is the list without pages.
    pub(super) fn write(&mut self, items: &[u64], before: u64) -> Result<u64, DiskError> {
        let (page, number) = (self.next, self.next / self.segment_pages);
        if self.segments.back().is_none_or(|last| last.number != number) {
            self.begin_segment(number)?;
        }
        self.out.clear();
        self.out.push_all(items, items.len() / self.words);
        let segment = self.segments.back_mut().expect("it was begun");
        segment.file.write(page % self.segment_pages, before, &mut self.out)?;
        segment.live += 1;
        segment.dirty = true;
        self.next += 1;
        Ok(self.next)
    }

    fn begin_segment(&mut self, number: u64) -> Result<(), DiskError> {
        self.retire_read();
        self.charge.resize((self.segments.len() + 1) * SEGMENT_MEMORY)?;
        let file = self.file(number);
        self.segments.push_back(Segment { number, file, live: 0, dirty: false });
        Ok(())
    }

    fn file(&self, number: u64) -> BlockFile {
        let name = format!("{}.{number}", self.name);
        BlockFile::new(&self.volume, &name, KIND, self.words, self.block_bytes)
    }

    /// Reads the last page of a list, once, into `items`; says up to where the rest of the list goes.
    pub(super) fn read(&mut self, list: u64, items: &mut ChargedVec<u64>) -> Result<u64, DiskError> {
        let page = list - 1;
        let number = page / self.segment_pages;
        let at = self.segments.partition_point(|segment| segment.number < number);
        let segment =
            self.segments.get_mut(at).filter(|segment| segment.number == number).ok_or_else(nonsense)?;
        let before = segment.file.read(page % self.segment_pages, &mut self.page)?;
        segment.live = segment.live.checked_sub(1).ok_or_else(nonsense)?;
        items.clear();
        items.resize(self.page.len() * self.words, 0)?;
        self.page.get_all(0, self.page.len(), items);
        Ok(before)
    }

    /// Retires segments all of whose pages were read; the one that is written stays.
    fn retire_read(&mut self) {
        let written = self.next / self.segment_pages;
        let retired = &mut self.retired;
        self.segments.retain(|segment| {
            let stays = segment.live > 0 || segment.number == written;
            if !stays {
                retired.push(segment.file.name().to_owned());
            }
            stays
        });
    }

    /// Names of files that are not needed any more.
    pub(super) fn retired(&mut self) -> Vec<String> {
        self.retire_read();
        std::mem::take(&mut self.retired)
    }

    /// Makes all pages last, and says which segments there are.
    pub(super) fn mark(&mut self, mark: &mut MarkWriter) -> Result<(), DiskError> {
        self.retire_read();
        for segment in self.segments.iter_mut().filter(|segment| segment.dirty) {
            segment.file.sync()?;
            segment.dirty = false;
        }
        self.marked = true;
        mark.number(self.next);
        mark.number(self.segments.len() as u64);
        for segment in &self.segments {
            mark.number(segment.number);
            mark.number(segment.live);
        }
        Ok(())
    }

    /// Takes up what a mark says.
    pub(super) fn resume(&mut self, mark: &mut MarkReader<'_>) -> Result<(), DiskError> {
        self.next = mark.number()?;
        self.marked = true;
        for _ in 0..mark.number()? {
            let (number, live) = (mark.number()?, mark.number()?);
            self.begin_segment(number)?;
            let segment = self.segments.back_mut().expect("it was begun");
            // A segment that was begun and has no page yet is no file.
            segment.file.resume(self.next.saturating_sub(number * self.segment_pages))?;
            segment.live = live;
        }
        Ok(())
    }

    /// The files there are.
    pub(super) fn file_names(&self) -> Vec<String> {
        let begun = |segment: &&Segment| segment.number * self.segment_pages < self.next;
        self.segments.iter().filter(begun).map(|segment| segment.file.name().to_owned()).collect()
    }

    /// Bytes on disk.
    pub(super) fn disk_bytes(&self) -> u64 {
        let blocks =
            |segment: &Segment| (self.next - segment.number * self.segment_pages).min(self.segment_pages);
        self.segments.iter().map(|segment| blocks(segment) * segment.file.block_bytes()).sum()
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if !self.marked {
            // A file that cannot be removed now is swept when the directory is opened next.
            for name in std::mem::take(&mut self.retired) {
                let _ = self.volume.remove(&name);
            }
            for segment in &mut self.segments {
                let _ = segment.file.remove();
            }
        }
    }
}
