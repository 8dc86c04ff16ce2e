//! A priority queue for searches that never go back: an external radix heap.
//!
//! Priorities are split into digits. An item waits in the list of the highest digit in which its priority differs from the current one, and of that digit's value. So a list of the lowest
//! position has one priority. When the current priority is used up, the first list of the lowest position comes next: one of the lowest position is a bucket, and is sorted and given away; any
//! other is taken apart, its least priority becomes the current one, and its items move to lower positions. An item moves at most once per digit, and is compared with those of its bucket alone.
//!
//! Lists are chains of chunks in memory; when there is no free chunk, the list with the most of them goes to disk, where it is a chain of pages. So what comes soon and what is small stays in memory.
//!
//! Memory: within the bytes given: five eighths for chunks, the rest for sorting, pages and the lists themselves. I/O: an item is written at most once per digit that differs.

use super::arena::{Arena, NONE};
use super::marks::{MarkReader, MarkWriter, nonsense};
use super::pages::Pages;
use super::{PriorityQueue, Take};
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::key::KeyWidth;
use crate::run::Tag;
use crate::set::{KeyStream, Sorter, sort_unique};
use crate::storage::Volume;

/// Monotone priority queue.
#[derive(Debug)]
pub struct RadixHeap {
    volume: Volume,
    budget: Budget,
    name: String,
    /// Words of an item: its priority and its record.
    width: usize,
    digit_bits: u32,
    current: u64,
    queued: u64,
    /// Items in chunks.
    in_memory: u64,
    arena: Arena,
    chunk_items: usize,
    pages: Pages,
    lists: Lists,
    /// Items on their way from a chunk or a page to others.
    moving: ChargedVec<u64>,
    /// Records of the bucket that is given away, as far as they fit.
    bucket: ChargedVec<u64>,
    bucket_words_max: usize,
    sort_bytes: usize,
    sorts: u64,
    moves: u64,
}

/// The lists that are not empty, by position and digit.
#[derive(Debug)]
struct Lists {
    /// Where each list is among `used`, plus one; 0 for one that is empty.
    places: ChargedVec<u16>,
    /// A bit for each list that is not empty.
    occupied: [u64; LISTS_MAX / 64],
    used: ChargedVec<List>,
}

/// Items that wait together.
#[derive(Clone, Copy, Debug)]
struct List {
    /// Its place in the order of lists.
    number: u16,
    /// The chunk that is filled, and how many items it has; those behind it are full.
    chunk: u32,
    filled: u32,
    chunks: u32,
    /// Up to where its pages go.
    pages: u64,
    count: u64,
    least: u64,
}

/// Lists there are with the longest digits, which have most.
const LISTS_MAX: usize = 8 << 8;
/// Digits by the memory there is: every list in use has a chunk of its own at best.
const DIGITS: [(usize, u32); 3] = [(1 << 20, 8), (64 << 10, 4), (0, 1)];
const PAGE_BYTES_MAX: usize = 32 << 10;
/// Chunks there are room for: a few for each list that is likely to be in use at a time.
const CHUNKS: usize = 2048;
const CHUNKS_MIN: usize = 2;

impl RadixHeap {
    /// An empty queue for records of `words` words within about `bytes`, in files called `name` and a number.
    pub fn new(
        volume: &Volume,
        name: &str,
        words: usize,
        bytes: usize,
        budget: &Budget,
    ) -> Result<RadixHeap, DiskError> {
        let digit_bits = DIGITS.iter().find(|(from, _)| bytes >= *from).map_or(1, |(_, bits)| *bits);
        RadixHeap::with_digits(volume, name, words, bytes, digit_bits, budget)
    }

    /// The same with digits of `digit_bits` bits, 1 to 8.
    pub fn with_digits(
        volume: &Volume,
        name: &str,
        words: usize,
        bytes: usize,
        digit_bits: u32,
        budget: &Budget,
    ) -> Result<RadixHeap, DiskError> {
        let page_bytes = (bytes / 2 / CHUNKS).clamp(64, PAGE_BYTES_MAX);
        RadixHeap::build(volume, name, words, bytes, (digit_bits.clamp(1, 8), page_bytes), budget)
    }

    fn build(
        volume: &Volume,
        name: &str,
        words: usize,
        bytes: usize,
        (digit_bits, page_bytes): (u32, usize),
        budget: &Budget,
    ) -> Result<RadixHeap, DiskError> {
        let width = words + 1;
        let pages = Pages::new(volume, &format!("{name}.pages"), width, page_bytes, budget)?;
        let chunk_items = pages.page_items();
        let chunks = (bytes / 8 * 5 / (chunk_items * width * 8 + 4)).max(CHUNKS_MIN);
        Ok(RadixHeap {
            volume: volume.clone(),
            budget: budget.clone(),
            name: name.to_owned(),
            width,
            digit_bits,
            current: 0,
            queued: 0,
            in_memory: 0,
            arena: Arena::new(chunks, chunk_items * width, budget)?,
            chunk_items,
            pages,
            lists: Lists::new(digit_bits, budget)?,
            moving: ChargedVec::with_capacity(budget, "priority queue", chunk_items * width)?,
            bucket: ChargedVec::with_capacity(budget, "priority queue", 0)?,
            bucket_words_max: (bytes / 8 / 8).max(words),
            sort_bytes: bytes / 8,
            sorts: 0,
            moves: 0,
        })
    }

    /// The queue as it stood at a mark.
    pub fn resume(
        volume: &Volume,
        name: &str,
        words: usize,
        bytes: usize,
        mark: &[u8],
        budget: &Budget,
    ) -> Result<RadixHeap, DiskError> {
        let mut mark = MarkReader(mark);
        // Pages are as they were, whatever memory there is now.
        let (digit_bits, page_bytes) = (mark.below(9)?.max(1) as u32, mark.below(PAGE_BYTES_MAX + 1)?);
        let mut queue = RadixHeap::build(volume, name, words, bytes, (digit_bits, page_bytes), budget)?;
        queue.current = mark.number()?;
        for _ in 0..mark.number()? {
            let number = mark.below(queue.lists.places.len())?;
            let list = queue.lists.open(number)?;
            (list.pages, list.count, list.least) = (mark.number()?, mark.number()?, mark.number()?);
            queue.queued += list.count;
        }
        queue.pages.resume(&mut mark)?;
        if mark.0.is_empty() { Ok(queue) } else { Err(nonsense()) }
    }

    /// Puts an item into its list, where `write` writes it.
    #[inline(always)]
    fn put(&mut self, priority: u64, write: impl FnOnce(&mut [u64])) -> Result<(), DiskError> {
        let place = self.lists.of(priority, self.current, self.digit_bits)?;
        let list = &self.lists.used[place];
        if list.chunk == NONE || list.filled as usize == self.chunk_items {
            self.add_chunk(place)?;
        }
        let list = &mut self.lists.used[place];
        list.least = list.least.min(priority);
        list.count += 1;
        self.in_memory += 1;
        let at = list.filled as usize * self.width;
        list.filled += 1;
        write(&mut self.arena.chunk_mut(list.chunk)[at..at + self.width]);
        Ok(())
    }

    /// Gives a list one more chunk to fill.
    #[cold]
    fn add_chunk(&mut self, place: usize) -> Result<(), DiskError> {
        let chunk = match self.arena.take(self.lists.used[place].chunk) {
            Some(chunk) => chunk,
            None => {
                self.spill_largest()?;
                self.arena.take(self.lists.used[place].chunk).ok_or_else(nonsense)?
            }
        };
        let list = &mut self.lists.used[place];
        (list.chunk, list.filled) = (chunk, 0);
        list.chunks += 1;
        Ok(())
    }

    /// Writes what the list with the most chunks has in memory.
    fn spill_largest(&mut self) -> Result<(), DiskError> {
        let lists = self.lists.used.iter().enumerate();
        let largest = lists.max_by_key(|(_, list)| (list.chunks, list.number)).map(|(place, _)| place);
        self.spill(largest.ok_or_else(nonsense)?)
    }

    fn spill(&mut self, place: usize) -> Result<(), DiskError> {
        let RadixHeap { arena, pages, lists, width, chunk_items, moves, in_memory, .. } = self;
        let list = &mut lists.used[place];
        while list.chunk != NONE {
            let items = list.filled as usize;
            list.pages = pages.write(&arena.chunk(list.chunk)[..items * *width], list.pages)?;
            list.chunk = arena.release(list.chunk);
            list.filled = *chunk_items as u32;
            *moves += items as u64;
            *in_memory -= items as u64;
        }
        (list.chunks, list.filled) = (0, 0);
        Ok(())
    }

    /// Moves the next items of a list that was taken out into `moving`; false if there are no more.
    fn take_some(&mut self, list: &mut List) -> Result<bool, DiskError> {
        if list.chunk != NONE {
            self.moving.clear();
            self.moving.extend(&self.arena.chunk(list.chunk)[..list.filled as usize * self.width])?;
            self.in_memory -= u64::from(list.filled);
            list.chunk = self.arena.release(list.chunk);
            list.filled = self.chunk_items as u32;
            return Ok(true);
        }
        if list.pages == 0 {
            return Ok(false);
        }
        list.pages = self.pages.read(list.pages, &mut self.moving)?;
        Ok(true)
    }

    /// Takes a list of a higher position apart.
    fn take_apart(&mut self, mut list: List) -> Result<(), DiskError> {
        self.current = list.least;
        while self.take_some(&mut list)? {
            let none = ChargedVec::with_capacity(&self.budget, "priority queue", 0)?;
            let moving = std::mem::replace(&mut self.moving, none);
            for item in moving.chunks_exact(self.width) {
                self.put(item[0], |place| copy(place, item))?;
            }
            self.moving = moving;
        }
        Ok(())
    }

    /// Gives the records of a bucket away, ascending.
    fn give(&mut self, mut list: List, take: &mut Take<'_>) -> Result<(), DiskError> {
        let words = self.width - 1;
        if list.count.saturating_mul(words as u64) > self.bucket_words_max as u64 {
            return self.give_large(list, take);
        }
        // What it held before is written over.
        self.bucket.resize(list.count as usize * words, 0)?;
        let mut filled = 0;
        while self.take_some(&mut list)? {
            let room = self.bucket[filled..].chunks_exact_mut(words);
            for (record, item) in room.zip(self.moving.chunks_exact(self.width)) {
                copy(record, &item[1..]);
            }
            filled += self.moving.len() / self.width * words;
        }
        let kept = sort_unique(&self.budget, words, &mut self.bucket)?;
        take(list.least, &self.bucket[..kept])
    }

    /// The same for one that does not fit.
    fn give_large(&mut self, mut list: List, take: &mut Take<'_>) -> Result<(), DiskError> {
        let words = self.width - 1;
        // What smaller buckets were sorted in goes first.
        self.bucket = ChargedVec::with_capacity(&self.budget, "priority queue", 0)?;
        let width = KeyWidth::new(words as u32 * 64).ok_or_else(nonsense)?;
        let name = format!("{}.sort-{}", self.name, self.sorts);
        self.sorts += 1;
        let mut sorter =
            Sorter::new(&self.volume, &self.budget, &name, width, Tag::default(), self.sort_bytes)?;
        while self.take_some(&mut list)? {
            for item in self.moving.chunks_exact(self.width) {
                sorter.push(&item[1..])?;
            }
        }
        let sorted = sorter.finish()?;
        let mut stream = sorted.stream()?;
        while stream.advance()? {
            take(list.least, stream.keys())?;
        }
        drop(stream);
        sorted.remove()
    }
}

/// Copies an item: most have a few words, for which a call would cost more than they do.
#[inline(always)]
fn copy(to: &mut [u64], from: &[u64]) {
    if let ([to, ends], [from, end]) = (&mut *to, from) {
        (*to, *ends) = (*from, *end);
    } else if let ([to, then, ends], [from, next, end]) = (&mut *to, from) {
        (*to, *then, *ends) = (*from, *next, *end);
    } else {
        to.copy_from_slice(from);
    }
}

impl PriorityQueue for RadixHeap {
    /// Queues records. A priority below the last one taken is a mistake of the caller.
    fn push(&mut self, priorities: &[u64], records: &[u64]) -> Result<(), DiskError> {
        assert_eq!(records.len(), priorities.len() * (self.width - 1), "a priority for each record");
        for (&priority, record) in priorities.iter().zip(records.chunks_exact(self.width - 1)) {
            assert!(
                priority >= self.current,
                "a radix heap goes forward: {priority} is below {}",
                self.current
            );
            self.put(priority, |place| {
                place[0] = priority;
                copy(&mut place[1..], record);
            })?;
        }
        self.queued += priorities.len() as u64;
        Ok(())
    }

    fn pop(&mut self, take: &mut Take<'_>) -> Result<Option<u64>, DiskError> {
        while let Some(list) = self.lists.take_first() {
            if u32::from(list.number) >> self.digit_bits > 0 {
                self.take_apart(list)?;
                continue;
            }
            self.current = list.least;
            self.queued -= list.count;
            self.give(list, take)?;
            return Ok(Some(self.current));
        }
        Ok(None)
    }

    fn least(&self) -> Option<u64> {
        // What is not in lists of the lowest position comes behind those that are.
        self.lists.first().map(|place| self.lists.used[place].least)
    }

    fn restart(&mut self) {
        assert!(self.is_empty(), "nothing waits");
        self.current = 0;
    }

    fn is_empty(&self) -> bool {
        self.queued == 0
    }

    fn in_memory(&self) -> u64 {
        self.in_memory
    }

    fn moves(&self) -> u64 {
        self.moves
    }

    fn mark(&mut self) -> Result<Vec<u8>, DiskError> {
        for place in 0..self.lists.used.len() {
            self.spill(place)?;
        }
        let mut mark = MarkWriter::default();
        mark.number(u64::from(self.digit_bits));
        mark.number(self.pages.block_bytes() as u64);
        mark.number(self.current);
        mark.number(self.lists.used.len() as u64);
        for list in &*self.lists.used {
            for number in [u64::from(list.number), list.pages, list.count, list.least] {
                mark.number(number);
            }
        }
        self.pages.mark(&mut mark)?;
        Ok(mark.0)
    }

    fn file_names(&self) -> Vec<String> {
        self.pages.file_names()
    }

    fn disk_bytes(&self) -> u64 {
        self.pages.disk_bytes()
    }

    fn retired(&mut self) -> Vec<String> {
        self.pages.retired()
    }
}

impl Lists {
    fn new(digit_bits: u32, budget: &Budget) -> Result<Lists, DiskError> {
        let all = (u64::BITS.div_ceil(digit_bits) as usize) << digit_bits;
        let mut places = ChargedVec::with_capacity(budget, "priority queue", all)?;
        places.resize(all, 0)?;
        let used = ChargedVec::with_capacity(budget, "priority queue", 0)?;
        Ok(Lists { places, occupied: [0; LISTS_MAX / 64], used })
    }

    /// Where the list is that a priority belongs to; it is begun if it is empty.
    #[inline(always)]
    fn of(&mut self, priority: u64, current: u64, digit_bits: u32) -> Result<usize, DiskError> {
        let position = (priority ^ current).checked_ilog2().unwrap_or(0) / digit_bits;
        let digit = (priority >> (position * digit_bits)) as usize & ((1 << digit_bits) - 1);
        let number = (position as usize) << digit_bits | digit;
        match self.places[number] {
            0 => {
                self.open(number)?;
                Ok(self.used.len() - 1)
            }
            place => Ok(place as usize - 1),
        }
    }

    /// Begins a list.
    fn open(&mut self, number: usize) -> Result<&mut List, DiskError> {
        if self.places[number] != 0 {
            return Err(nonsense());
        }
        let list = List {
            number: number as u16,
            chunk: NONE,
            filled: 0,
            chunks: 0,
            pages: 0,
            count: 0,
            least: u64::MAX,
        };
        self.used.push(list)?;
        self.places[number] = self.used.len() as u16;
        self.occupied[number / 64] |= 1 << (number % 64);
        Ok(self.used.last_mut().expect("it was just added"))
    }

    /// Where the first list of the lowest position is.
    fn first(&self) -> Option<usize> {
        let word = self.occupied.iter().position(|word| *word != 0)?;
        let number = word * 64 + self.occupied[word].trailing_zeros() as usize;
        Some(self.places[number] as usize - 1)
    }

    /// Takes the first list of the lowest position out.
    fn take_first(&mut self) -> Option<List> {
        let place = self.first()?;
        let list = self.used[place];
        let number = list.number as usize;
        self.places[number] = 0;
        self.occupied[number / 64] &= !(1 << (number % 64));
        let last = self.used.pop().expect("there is one");
        if place < self.used.len() {
            self.used[place] = last;
            self.places[last.number as usize] = place as u16 + 1;
        }
        Some(list)
    }
}
