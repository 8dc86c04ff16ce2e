//! Which keys were met a moment ago?
//!
//! A [`Window`] is a cache of recent keys in fixed memory, shared by threads. A hit is always true: whole keys are compared,
//! never hashes. A miss means nothing. Keys live in sets of up to eight, most recently met first; the last falls out.
//!
//! * Keys of one word: one atomic word per entry, no lock. Two threads in one set at the same moment may lose or double an
//!   entry, which costs a later miss; an entry is always a key that some thread put there. Zero marks a free entry, so the
//!   key zero always misses.
//! * Wider keys: stripes of sets behind a lock each.
//!
//! Memory: `capacity * words * 8` bytes, plus one byte a set for wide keys, charged once; none if the capacity is 0.

use crate::budget::{Budget, BudgetError, Charge};
use crate::hash::{hash_key, hash_word};
use crate::intrinsics::prefetch;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

const WINDOW_OWNER: &str = "window";
/// Entries of a set: one cache line of one-word keys.
const WAYS: usize = 8;
const STRIPES: usize = 64;
const BATCH: usize = 64;

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
    /// Set `s` is in stripe `s % stripes`.
    Wide(Vec<Mutex<Stripe>>),
}

#[derive(Debug)]
struct Stripe {
    keys: Vec<u64>,
    /// Entries used, of each set.
    used: Vec<u8>,
}

impl Window {
    /// A window for keys of `bits` bits that holds at most `capacity` of them: 0 and 1 are legal.
    pub fn new(bits: u32, capacity: usize, budget: &Budget) -> Result<Window, BudgetError> {
        let words = bits.div_ceil(64) as usize;
        let ways = capacity.min(WAYS);
        let sets = capacity.checked_div(ways).unwrap_or(0);
        let bytes = sets * ways * words * 8 + if words > 1 { sets } else { 0 };
        let charge = budget.charge(WINDOW_OWNER, bytes)?;
        let store = if words == 1 {
            Store::Narrow((0..sets * ways).map(|_| AtomicU64::new(0)).collect())
        } else {
            let stripes = STRIPES.min(sets);
            let sets_of = |stripe: usize| (sets - stripe).div_ceil(stripes);
            let stripe = |stripe| {
                let sets = sets_of(stripe);
                Mutex::new(Stripe { keys: vec![0; sets * ways * words], used: vec![0; sets] })
            };
            Store::Wide((0..stripes).map(stripe).collect())
        };
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
                if let Store::Narrow(entries) = &self.store {
                    prefetch(entries, *set * self.ways);
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
            Store::Narrow(entries) => entries.iter().for_each(|entry| entry.store(0, Ordering::Relaxed)),
            Store::Wide(stripes) => {
                stripes
                    .iter()
                    .for_each(|stripe| stripe.lock().unwrap_or_else(PoisonError::into_inner).used.fill(0));
            }
        }
    }

    #[inline(always)]
    fn set_of(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.sets as u128) >> 64) as usize
    }

    #[inline(always)]
    fn meet_in(&self, set: usize, key: &[u64]) -> bool {
        match &self.store {
            Store::Narrow(entries) => meet_narrow(&entries[set * self.ways..(set + 1) * self.ways], key[0]),
            Store::Wide(stripes) => {
                let mut stripe = stripes[set % stripes.len()].lock().unwrap_or_else(PoisonError::into_inner);
                stripe.meet(set / stripes.len(), self.ways, key)
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
    let moved = at.map_or(set.len(), |at| at + 1);
    let mut carried = key;
    for entry in &set[..moved] {
        let found = entry.load(Ordering::Relaxed);
        entry.store(carried, Ordering::Relaxed);
        carried = found;
    }
    at.is_some() && key != 0
}

impl Stripe {
    fn meet(&mut self, set: usize, ways: usize, key: &[u64]) -> bool {
        let words = key.len();
        let keys = &mut self.keys[set * ways * words..(set + 1) * ways * words];
        let used = usize::from(self.used[set]);
        let at = keys.chunks_exact(words).take(used).position(|entry| entry == key);
        let moved = at.unwrap_or(used.min(ways - 1));
        keys.copy_within(..moved * words, words);
        keys[..words].copy_from_slice(key);
        if at.is_none() && used < ways {
            self.used[set] += 1;
        }
        at.is_some()
    }
}
