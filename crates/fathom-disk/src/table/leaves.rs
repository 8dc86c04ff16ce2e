//! Which small number stands for this half of a key?
//!
//! A dictionary that only grows: equal halves get equal numbers, numbers count from zero and never change. It is small
//! (on recorded models 0.1 to 4 % of the states), so it is built for speed: an open-addressed index of number and hash
//! bits, and records in chunks that double, so that no record ever moves.
//!
//! Threads that share one look for halves and add new ones at the same time ([`Leaves::find`], [`Leaves::intern_beside`]); only making room for more takes it alone, once
//! for some hundreds of halves. Invariants: a record is written before the entry of the index that names it, and neither changes afterwards; the index always has free entries.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::budget::{Budget, BudgetError, Charge};
use crate::hash::hash_key;
use crate::intrinsics::prefetch;

const LEAVES_OWNER: &str = "table leaves";
const FIRST_CHUNK_LOG: u32 = 4;
const FIRST_INDEX: usize = 16;
/// Records that room is made for at once, at most, or this part of those that are there: memory that nobody has written yet is not there yet.
const ROOM_RECORDS: usize = 1024;
const ROOM_PART: usize = 32;
/// Numbers are 32 bits wide in the index, and the last one marks a free entry.
const LEAVES_MAX: u32 = u32::MAX - 1;
const FREE: u64 = u64::MAX;

/// Dictionary of records of `words` words.
#[derive(Debug)]
pub(super) struct Leaves {
    words: usize,
    added: Added,
    /// How many there may be before more room is made.
    room: u32,
    /// Chunk `i` has room for `2^(FIRST_CHUNK_LOG + i)` records.
    chunks: Vec<Vec<AtomicU64>>,
    /// Number in the low half, low half of the hash in the high half; the place comes from the hash's leading bits.
    index: Vec<AtomicU64>,
    charge: Charge,
}

/// What changes with every record that is added. What describes the dictionary is read for every look-up, so the two share no cache line, nor a pair of lines that are
/// fetched together.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Added {
    /// How many there are.
    len: AtomicU32,
    /// Held by who adds one.
    alone: Mutex<()>,
}

impl Leaves {
    pub(super) fn new(words: usize, budget: &Budget) -> Result<Leaves, BudgetError> {
        let charge = budget.charge(LEAVES_OWNER, FIRST_INDEX * 8)?;
        Ok(Leaves {
            words,
            added: Added::default(),
            room: 0,
            chunks: Vec::new(),
            index: free_entries(FIRST_INDEX),
            charge,
        })
    }

    /// How many there are: more than any number that was found before asking.
    pub(super) fn len(&self) -> u32 {
        self.added.len.load(Ordering::Relaxed)
    }

    pub(super) fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// The hash that `find` and `intern` take.
    #[inline(always)]
    pub(super) fn hash(record: &[u64]) -> u64 {
        hash_key(record)
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch(&self.index, self.slot(hash));
    }

    /// Asks for the record that the first entry met by this hash stands for. What [`Leaves::prefetch`] asked for should be there.
    #[inline(always)]
    pub(super) fn prefetch_record(&self, hash: u64) {
        let entry = self.index[self.slot(hash)].load(Ordering::Relaxed);
        let (chunk, place) = chunk_of(entry as u32);
        if let Some(chunk) = self.chunks.get(chunk) {
            prefetch(chunk, place * self.words);
        }
    }

    /// Writes the record with this number to `record`.
    pub(super) fn read(&self, number: u32, record: &mut [u64]) {
        for (word, stored) in record.iter_mut().zip(self.stored(number)) {
            *word = stored.load(Ordering::Relaxed);
        }
    }

    /// The number of a record, if it has one.
    #[inline(always)]
    pub(super) fn find(&self, record: &[u64], hash: u64) -> Option<u32> {
        self.probe(record, hash).ok()
    }

    /// The number of a record, the next free one if it had none.
    #[inline(always)]
    pub(super) fn intern(&mut self, record: &[u64], hash: u64) -> Result<u32, BudgetError> {
        loop {
            match self.intern_beside(record, hash) {
                Some(number) => return Ok(number),
                None => self.make_room()?,
            }
        }
    }

    /// [`Leaves::intern`] beside other threads; none if [room must be made](Leaves::make_room) for it first.
    #[inline(always)]
    pub(super) fn intern_beside(&self, record: &[u64], hash: u64) -> Option<u32> {
        match self.probe(record, hash) {
            Ok(number) => Some(number),
            Err(_) => self.add(record, hash),
        }
    }

    /// Makes room for at least one more record, unless there is some.
    #[cold]
    pub(super) fn make_room(&mut self) -> Result<(), BudgetError> {
        let len = self.len();
        if len < self.room {
            return Ok(());
        }
        assert!(len < LEAVES_MAX, "a dictionary has fewer than 2^32 - 2 halves of keys");
        if (len as usize + 1) * 3 > self.index.len() * 2 {
            self.double_index()?;
        }
        let (chunk, place) = chunk_of(len);
        let places = 1 << (FIRST_CHUNK_LOG as usize + chunk);
        if chunk == self.chunks.len() {
            self.charge.resize(self.charge.bytes() + places * self.words * 8)?;
            self.chunks.push(Vec::with_capacity(places * self.words));
        }
        let places = places.min(place + ROOM_RECORDS.max(len as usize / ROOM_PART));
        self.chunks[chunk].resize_with(places * self.words, AtomicU64::default);
        let added = (places - place).min(self.index.len() * 2 / 3 - len as usize);
        self.room = len + (added as u32).min(LEAVES_MAX - len);
        Ok(())
    }

    #[inline(always)]
    fn slot(&self, hash: u64) -> usize {
        (hash >> (64 - self.index.len().ilog2())) as usize
    }

    #[inline(always)]
    fn stored(&self, number: u32) -> &[AtomicU64] {
        let (chunk, place) = chunk_of(number);
        &self.chunks[chunk][place * self.words..(place + 1) * self.words]
    }

    /// The number of a record, or the free slot where its search ended.
    #[inline(always)]
    fn probe(&self, record: &[u64], hash: u64) -> Result<u32, usize> {
        let mut slot = self.slot(hash);
        loop {
            // Who sees an entry sees the record that it names.
            let entry = self.index[slot].load(Ordering::Acquire);
            if entry == FREE {
                return Err(slot);
            }
            if (entry ^ (hash << 32)) >> 32 == 0 && equal(self.stored(entry as u32), record) {
                return Ok(entry as u32);
            }
            slot = (slot + 1) & (self.index.len() - 1);
        }
    }

    /// Adds a record unless another thread just did; none if there is no room.
    #[cold]
    fn add(&self, record: &[u64], hash: u64) -> Option<u32> {
        let _alone = self.added.alone.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = match self.probe(record, hash) {
            Ok(number) => return Some(number),
            Err(slot) => slot,
        };
        let number = self.len();
        if number == self.room {
            return None;
        }
        for (stored, word) in self.stored(number).iter().zip(record) {
            stored.store(*word, Ordering::Relaxed);
        }
        self.added.len.store(number + 1, Ordering::Relaxed);
        self.index[slot].store(hash << 32 | u64::from(number), Ordering::Release);
        Some(number)
    }

    fn double_index(&mut self) -> Result<(), BudgetError> {
        let held = self.charge.bytes();
        let entries = 2 * self.index.len();
        self.charge.resize(held + 8 * entries)?;
        let old = std::mem::replace(&mut self.index, free_entries(entries));
        let mut record = vec![0; self.words];
        for number in 0..self.len() {
            self.read(number, &mut record);
            let hash = Leaves::hash(&record);
            let mut slot = self.slot(hash);
            while *self.index[slot].get_mut() != FREE {
                slot = (slot + 1) & (entries - 1);
            }
            *self.index[slot].get_mut() = hash << 32 | u64::from(number);
        }
        self.charge.resize(held + 8 * entries - 8 * old.len())
    }
}

fn free_entries(count: usize) -> Vec<AtomicU64> {
    (0..count).map(|_| AtomicU64::new(FREE)).collect()
}

/// Whether a stored record is equal to one of the same width.
#[inline(always)]
fn equal(stored: &[AtomicU64], record: &[u64]) -> bool {
    stored.iter().zip(record).all(|(stored, word)| stored.load(Ordering::Relaxed) == *word)
}

/// The chunk of a number and its place there.
#[inline(always)]
fn chunk_of(number: u32) -> (usize, usize) {
    let shifted = u64::from(number) + (1 << FIRST_CHUNK_LOG);
    let log = shifted.ilog2();
    ((log - FIRST_CHUNK_LOG) as usize, (shifted - (1 << log)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::RwLock;

    fn record(words: usize, value: u64) -> Vec<u64> {
        (0..words as u64).map(|word| value / (word + 1)).collect()
    }

    #[test]
    fn equal_records_have_equal_numbers_and_keep_them() {
        for words in 1..=3 {
            let mut leaves = Leaves::new(words, &Budget::unlimited()).unwrap();
            let mut numbers = BTreeMap::new();
            let mut seed = 3u64;
            for _ in 0..20_000 {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let record = record(words, (seed >> 33) % 5000);
                let next = numbers.len() as u32;
                let expected = *numbers.entry(record.clone()).or_insert(next);
                let hash = Leaves::hash(&record);
                assert_eq!(leaves.find(&record, hash), (expected < next).then_some(expected));
                assert_eq!(leaves.intern(&record, hash).unwrap(), expected);
            }
            assert_eq!(leaves.len() as usize, numbers.len());
            for (record, number) in &numbers {
                let mut read = vec![0; words];
                leaves.read(*number, &mut read);
                assert_eq!(read, *record);
            }
        }
    }

    #[test]
    fn threads_agree_on_numbers() {
        for round in 0..20 {
            let leaves = RwLock::new(Leaves::new(1 + round % 2, &Budget::unlimited()).unwrap());
            let number = |record: &[u64]| {
                loop {
                    let number = leaves.read().unwrap().intern_beside(record, Leaves::hash(record));
                    match number {
                        Some(number) => return number,
                        None => leaves.write().unwrap().make_room().unwrap(),
                    }
                }
            };
            let seen: Vec<Vec<u32>> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..3)
                    .map(|_| {
                        scope.spawn(|| (0..4000).map(|value| number(&record(1 + round % 2, value))).collect())
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let mut numbers = seen[0].clone();
            assert!(seen.iter().all(|seen| *seen == numbers), "round {round}");
            numbers.sort_unstable();
            assert!(numbers.iter().zip(0..).all(|(number, expected)| *number == expected), "round {round}");
        }
    }
}
