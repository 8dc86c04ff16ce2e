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
//! Memory: at most `capacity * words * 8` bytes, plus one word a set for wide keys, charged once; none if the capacity is 0.

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
/// Windows of fewer words are in the nearest cache, wherever they lie.
const ALIGNED_FROM_WORDS: usize = 4096;

/// Cache of recently met keys. Every method takes `&self`; threads share it.
#[derive(Debug)]
pub struct Window {
    words: usize,
    ways: usize,
    sets: usize,
    /// Set `s` is at `start + s * set_words`: its keys, before them a header if they are of several words, behind them at times a word that is not used.
    store: Vec<AtomicU64>,
    /// The first word that begins a cache line.
    start: usize,
    set_words: usize,
    _charge: Charge,
}

/// The bit of a set's header that says that a thread is in it; the bits above count the entries used.
const TAKEN: u64 = 1;

impl Window {
    /// A window for keys of `bits` bits that holds at most `capacity` of them: 0 and 1 are legal.
    pub fn new(bits: u32, capacity: usize, budget: &Budget) -> Result<Window, BudgetError> {
        let words = bits.div_ceil(64) as usize;
        let ways = capacity.min(if words == 1 { WAYS } else { WIDE_WAYS });
        let set_words = ways * words + usize::from(words > 1);
        let (mut sets, mut spare) = (capacity.checked_div(ways).unwrap_or(0), 0);
        let mut padded = set_words;
        if sets * set_words >= ALIGNED_FROM_WORDS {
            // Sets of one or two lines begin with one, within the same memory.
            spare = LINE_WORDS - 1;
            padded = if words <= 2 { set_words.next_multiple_of(LINE_WORDS) } else { set_words };
            sets = (sets * set_words - spare) / padded;
        }
        let all = sets * padded + spare;
        let charge = budget.charge(WINDOW_OWNER, all * 8)?;
        let store: Vec<AtomicU64> = (0..all).map(|_| AtomicU64::new(0)).collect();
        let start = store.as_ptr().align_offset(LINE_WORDS * 8).min(spare);
        Ok(Window { words, ways, sets, store, start, set_words: padded, _charge: charge })
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
                let start = self.start + *set * self.set_words;
                prefetch(&self.store, start);
                if self.words > 1 {
                    prefetch(&self.store, start + LINE_WORDS);
                }
            }
            // Whether a key was met is hard to guess: its index is noted anyway, and kept if it was not.
            let (mut indices, mut count) = ([0; BATCH], 0);
            for (key, &set) in chunk.chunks_exact(self.words).zip(&sets) {
                indices[count] = done;
                count += usize::from(!self.meet_in(set, key));
                done += 1;
            }
            missed.extend_from_slice(&indices[..count]);
        }
    }

    /// Forgets everything: after an expansion was abandoned its candidates must not count as met.
    pub fn clear(&self) {
        self.store.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    #[inline(always)]
    fn set_of(&self, hash: u64) -> usize {
        ((u128::from(for_caches(hash)) * self.sets as u128) >> 64) as usize
    }

    #[inline(always)]
    fn meet_in(&self, set: usize, key: &[u64]) -> bool {
        let set = &self.store[self.start + set * self.set_words..][..self.set_words];
        match *key {
            [only] => meet_narrow(set, only),
            _ => meet_wide(&set[..1 + self.ways * self.words], key),
        }
    }
}

/// Looks for a key and moves it to the front. Entries before it move back by one.
///
/// It looks first and moves then: a key that this call has put in front may be carried further back by another thread, and finding it there
/// would count as having met it, though nobody has.
#[inline(always)]
fn meet_narrow(set: &[AtomicU64], key: u64) -> bool {
    match set.first_chunk::<WAYS>() {
        Some(set) => meet_in_full(set, key),
        None => meet_in_small(set, key),
    }
}

/// Of a set of a whole line all entries are looked at and stored again, shifted or not: where a key is found is hard to guess.
#[inline(always)]
fn meet_in_full(set: &[AtomicU64; WAYS], key: u64) -> bool {
    let held: [u64; WAYS] = std::array::from_fn(|way| set[way].load(Ordering::Relaxed));
    let equal = (0..WAYS).fold(0, |equal, way| equal | u32::from(held[way] == key) << way);
    if equal & 1 == 1 {
        // Nothing moves, and a line that is only read stays in the caches of all threads.
        return key != 0;
    }
    let at = (equal | 1 << WAYS).trailing_zeros() as usize;
    set[0].store(key, Ordering::Relaxed);
    for way in 1..WAYS {
        let value = if way <= at { held[way - 1] } else { held[way] };
        set[way].store(value, Ordering::Relaxed);
    }
    equal != 0 && key != 0
}

fn meet_in_small(set: &[AtomicU64], key: u64) -> bool {
    let at = set.iter().position(|entry| entry.load(Ordering::Relaxed) == key);
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
#[inline(always)]
fn meet_wide(set: &[AtomicU64], key: &[u64]) -> bool {
    let (header, entries) = set.split_first().expect("a set has a header");
    let state = header.load(Ordering::Relaxed);
    let free = state & TAKEN == 0;
    if !free || header.compare_exchange(state, state | TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return false;
    }
    let used = (state / 2) as usize;
    let (found, used) = match (entries.first_chunk(), key.first_chunk()) {
        (Some(entries), Some(pair)) if key.len() == 2 => meet_pair(entries, used, *pair),
        _ => meet_entry(entries, used, key),
    };
    header.store(used as u64 * 2, Ordering::Release);
    found
}

/// Of a full set of two-word keys all entries are looked at and stored again, as of one of one-word keys. Says whether the key is found, and how many entries are used then.
#[inline(always)]
fn meet_pair(entries: &[AtomicU64; 2 * WIDE_WAYS], used: usize, key: [u64; 2]) -> (bool, usize) {
    let held: [[u64; 2]; WIDE_WAYS] =
        std::array::from_fn(|way| [0, 1].map(|word| entries[2 * way + word].load(Ordering::Relaxed)));
    let is_key = |way: usize| (held[way][0] ^ key[0]) | (held[way][1] ^ key[1]) == 0;
    let equal = (0..WIDE_WAYS).fold(0, |equal, way| equal | u32::from(is_key(way)) << way);
    let at = ((equal & ((1 << used) - 1)) | 1 << WIDE_WAYS).trailing_zeros() as usize;
    for way in 0..WIDE_WAYS {
        let before = if way == 0 { key } else { held[way - 1] };
        let value = if way <= at { before } else { held[way] };
        entries[2 * way].store(value[0], Ordering::Relaxed);
        entries[2 * way + 1].store(value[1], Ordering::Relaxed);
    }
    let found = at < WIDE_WAYS;
    (found, if found { used } else { (used + 1).min(WIDE_WAYS) })
}

fn meet_entry(entries: &[AtomicU64], used: usize, key: &[u64]) -> (bool, usize) {
    let words = key.len();
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
    (at.is_some(), used.max(moved + 1))
}
