//! Which keys were met a moment ago?
//!
//! A [`Window`] is a cache of recent keys in fixed memory, shared by threads. A hit is always true: whole keys are compared,
//! never hashes. A miss means nothing. Keys live in sets of up to eight, most recently met first; the last falls out.
//!
//! * Keys of one word: one atomic word per entry, no lock. Two threads in one set at the same moment may lose or double an
//!   entry, which costs a later miss; an entry is always a key that some thread put there. Zero marks a free entry, so the
//!   key zero always misses.
//! * Wider keys: a word before each set says how many entries are used and whether a thread is in it. Who finds another one there does not wait: that
//!   is a miss, too.
//!
//! Memory: `capacity * words * 8` bytes, plus one word a set for wide keys, charged once; none if the capacity is 0.

use crate::budget::{Budget, BudgetError, Charge};
use crate::hash::{for_caches, hash_key, hash_word};
use crate::intrinsics::prefetch;
use std::sync::atomic::{AtomicU64, Ordering};

const WINDOW_OWNER: &str = "window";
/// Entries of a set: one cache line of one-word keys.
const WAYS: usize = 8;
/// Entries of a set of wider keys: with the word before them, two cache lines of two-word keys and a bit less.
const WIDE_WAYS: usize = 7;
const BATCH: usize = 64;
/// Words in a cache line.
const LINE_WORDS: usize = 8;

/// Cache of recently met keys. Every method takes `&self`; threads share it.
#[derive(Debug)]
pub struct Window {
    words: usize,
    ways: usize,
    sets: usize,
    store: Store,
    _charge: Charge,
}

#[derive(Debug)]
enum Store {
    /// Set `s` is entries `s * ways ..`.
    Narrow(Vec<AtomicU64>),
    /// Set `s` is the words `s * (1 + ways * words) ..`: a header, the keys.
    Wide(Vec<AtomicU64>),
}

/// The bit of a set's header that says that a thread is in it; the bits above count the entries used.
const TAKEN: u64 = 1;

impl Window {
    /// A window for keys of `bits` bits that holds at most `capacity` of them: 0 and 1 are legal.
    pub fn new(bits: u32, capacity: usize, budget: &Budget) -> Result<Window, BudgetError> {
        let words = bits.div_ceil(64) as usize;
        let ways = capacity.min(if words == 1 { WAYS } else { WIDE_WAYS });
        let sets = capacity.checked_div(ways).unwrap_or(0);
        let set_words = ways * words + usize::from(words > 1);
        let charge = budget.charge(WINDOW_OWNER, sets * set_words * 8)?;
        let entries = (0..sets * set_words).map(|_| AtomicU64::new(0)).collect();
        let store = if words == 1 { Store::Narrow(entries) } else { Store::Wide(entries) };
        Ok(Window { words, ways, sets, store, _charge: charge })
    }

    /// How many keys it holds at most.
    pub fn capacity(&self) -> usize {
        self.sets * self.ways
    }

    /// Says whether a key was met recently, and remembers it.
    #[inline]
    pub fn meet(&self, key: &[u64]) -> bool {
        if self.sets == 0 {
            return false;
        }
        let set = self.set_of(hash_key(key));
        self.meet_in(set, key)
    }

    /// Meets a batch of keys in order and pushes onto `missed` the index of each that was not met recently.
    pub fn meet_batch(&self, keys: &[u64], missed: &mut Vec<u32>) {
        let count = keys.len() / self.words;
        if self.sets == 0 {
            missed.extend(0..count as u32);
            return;
        }
        let mut sets = [0usize; BATCH];
        let mut done = 0;
        for chunk in keys.chunks(BATCH * self.words) {
            for (key, set) in chunk.chunks_exact(self.words).zip(&mut sets) {
                *set = self.set_of(if let [only] = *key { hash_word(only) } else { hash_key(key) });
                match &self.store {
                    Store::Narrow(entries) => prefetch(entries, *set * self.ways),
                    Store::Wide(words) => {
                        let start = *set * (1 + self.ways * self.words);
                        prefetch(words, start);
                        prefetch(words, start + LINE_WORDS);
                    }
                }
            }
            for (key, &set) in chunk.chunks_exact(self.words).zip(&sets) {
                if !self.meet_in(set, key) {
                    missed.push(done);
                }
                done += 1;
            }
        }
    }

    /// Forgets everything: after an expansion was abandoned its candidates must not count as met.
    pub fn clear(&self) {
        match &self.store {
            Store::Narrow(words) | Store::Wide(words) => {
                words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            }
        }
    }

    #[inline(always)]
    fn set_of(&self, hash: u64) -> usize {
        ((u128::from(for_caches(hash)) * self.sets as u128) >> 64) as usize
    }

    #[inline(always)]
    fn meet_in(&self, set: usize, key: &[u64]) -> bool {
        match &self.store {
            Store::Narrow(entries) => meet_narrow(&entries[set * self.ways..(set + 1) * self.ways], key[0]),
            Store::Wide(words) => {
                let length = 1 + self.ways * self.words;
                meet_wide(&words[set * length..(set + 1) * length], key)
            }
        }
    }
}

/// Looks for a key and moves it to the front. Entries before it move back by one.
///
/// It looks first and moves then: a key that this call has put in front may be carried further back by another thread, and finding it there
/// would count as having met it, though nobody has.
#[inline(always)]
fn meet_narrow(set: &[AtomicU64], key: u64) -> bool {
    let at = set.iter().position(|entry| entry.load(Ordering::Relaxed) == key);
    if at == Some(0) {
        // Nothing moves, and a line that is only read stays in the caches of all threads.
        return key != 0;
    }
    let moved = at.map_or(set.len(), |at| at + 1);
    let mut carried = key;
    for entry in &set[..moved] {
        let found = entry.load(Ordering::Relaxed);
        entry.store(carried, Ordering::Relaxed);
        carried = found;
    }
    at.is_some() && key != 0
}

/// The same for keys of several words, which are read and moved by one thread at a time.
#[inline]
fn meet_wide(set: &[AtomicU64], key: &[u64]) -> bool {
    let (header, entries) = set.split_first().expect("a set has a header");
    let state = header.load(Ordering::Relaxed);
    let free = state & TAKEN == 0;
    if !free || header.compare_exchange(state, state | TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return false;
    }
    let words = key.len();
    let used = (state / 2) as usize;
    let ways = entries.len() / words;
    let is_key = |entry: &[AtomicU64]| {
        entry.iter().zip(key).all(|(word, &wanted)| word.load(Ordering::Relaxed) == wanted)
    };
    let at = entries.chunks_exact(words).take(used).position(is_key);
    let moved = at.unwrap_or(used.min(ways - 1));
    for place in (0..moved * words).rev() {
        entries[place + words].store(entries[place].load(Ordering::Relaxed), Ordering::Relaxed);
    }
    for (word, &value) in entries.iter().zip(key) {
        word.store(value, Ordering::Relaxed);
    }
    let used = used.max(moved + 1) as u64;
    header.store(used * 2, Ordering::Release);
    at.is_some()
}
