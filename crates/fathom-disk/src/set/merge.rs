//! How do many sorted streams become one, each key once?
//!
//! A tree of losers (Knuth, volume 3, 5.4.1): every inner node remembers who lost there, so replacing the winner costs one
//! comparison per level on one path. Heads of all streams lie side by side in one array, most compared in cache.
//!
//! ```text
//!            winner
//!               |
//!           [ loser ]
//!          /         \
//!      [loser]     [loser]
//!       /   \       /   \
//!      0     1     2     3      streams; one that is finished loses against all
//! ```
//!
//! Memory: the output chunk, and per stream one key and a few words, charged. I/O: that of the streams, each read once.

use super::KeyStream;
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::key;

/// The union of sorted streams.
#[derive(Debug)]
pub struct Merge<S> {
    streams: Vec<S>,
    words: usize,
    /// The current key of each stream.
    heads: ChargedVec<u64>,
    /// Place of the head in the stream's chunk, in words; `FINISHED` after the last.
    places: ChargedVec<usize>,
    /// `losers[0]` is the winner; node `i` has children `2i` and `2i + 1`; leaves are streams.
    losers: ChargedVec<u32>,
    output: ChargedVec<u64>,
    chunk_words: usize,
    last: ChargedVec<u64>,
    any: bool,
}

const FINISHED: usize = usize::MAX;

impl<S: KeyStream> Merge<S> {
    /// Merges `streams`, giving chunks of at most `chunk_keys` keys.
    pub fn new(budget: &Budget, words: usize, streams: Vec<S>, chunk_keys: usize) -> Result<Self, DiskError> {
        let count = streams.len();
        let mut merge = Self {
            words,
            heads: ChargedVec::with_capacity(budget, "merge heads", count * words)?,
            places: ChargedVec::with_capacity(budget, "merge heads", count)?,
            losers: ChargedVec::with_capacity(budget, "merge heads", count.max(1))?,
            output: ChargedVec::with_capacity(budget, "merge output", chunk_keys.max(1) * words)?,
            chunk_words: chunk_keys.max(1) * words,
            last: ChargedVec::with_capacity(budget, "merge heads", words)?,
            any: false,
            streams,
        };
        merge.heads.resize(count * words, 0)?;
        merge.places.resize(count, FINISHED)?;
        merge.losers.resize(count.max(1), 0)?;
        merge.last.resize(words, 0)?;
        for stream in 0..count {
            merge.places[stream] = 0;
            merge.load(stream, 0)?;
            if merge.places[stream] == FINISHED {
                merge.heads[stream * words..(stream + 1) * words].fill(u64::MAX);
            }
        }
        if count > 0 {
            merge.losers[0] = merge.play(1);
        }
        Ok(merge)
    }

    /// The streams, when done.
    pub fn into_streams(self) -> Vec<S> {
        self.streams
    }

    /// Plays the matches below `node`; returns the winner.
    fn play(&mut self, node: usize) -> u32 {
        let count = self.streams.len();
        if node >= count {
            return (node - count) as u32;
        }
        let (left, right) = (self.play(node * 2), self.play(node * 2 + 1));
        let left_wins = self.less(left as usize, right as usize);
        self.losers[node] = if left_wins { right } else { left };
        if left_wins { left } else { right }
    }

    fn less(&self, left: usize, right: usize) -> bool {
        less(&self.heads, &self.places, self.words, left, right)
    }

    /// Puts the key at `place` of the stream's chunk into its head, going on to the next chunk if need be.
    fn load(&mut self, stream: usize, place: usize) -> Result<(), DiskError> {
        let (source, words) = (&mut self.streams[stream], self.words);
        let mut place = place;
        if place >= source.keys().len() {
            if !source.advance()? {
                self.places[stream] = FINISHED;
                return Ok(());
            }
            place = 0;
        }
        self.heads[stream * words..(stream + 1) * words]
            .copy_from_slice(&source.keys()[place..place + words]);
        self.places[stream] = place;
        Ok(())
    }

    /// Keys of one and two words: the loop most used, on plain numbers, without a branch that depends on them. A finished stream has the greatest
    /// number for a head.
    fn fill_numbers<N: Number>(&mut self) -> Result<(), DiskError> {
        let words = N::WORDS;
        self.output.resize(self.chunk_words, 0)?;
        let mut written = 0;
        while written < self.chunk_words {
            let winner = self.losers[0] as usize;
            let key = N::load(&self.heads[winner * words..]);
            if key == N::GREATEST && !self.end_at_greatest::<N>() {
                break;
            }
            key.store(&mut self.output[written..]);
            written += words * usize::from(!self.any || N::load(&self.last) != key);
            self.any = true;
            key.store(&mut self.last);
            if key == N::GREATEST {
                break;
            }
            let place = self.places[winner] + words;
            match self.streams[winner].keys().get(place..place + words) {
                Some(next) => {
                    self.heads[winner * words..(winner + 1) * words].copy_from_slice(next);
                    self.places[winner] = place;
                }
                None => self.load_next::<N>(winner)?,
            }
            let count = self.streams.len();
            self.losers[0] = replay_numbers::<N>(&mut self.losers, &self.heads, winner, count);
        }
        self.output.truncate(written);
        Ok(())
    }

    /// Goes on to the next chunk of a stream.
    fn load_next<N: Number>(&mut self, stream: usize) -> Result<(), DiskError> {
        self.load(stream, usize::MAX)?;
        if self.places[stream] == FINISHED {
            N::GREATEST.store(&mut self.heads[stream * N::WORDS..]);
        }
        Ok(())
    }

    /// Whether a stream that is not finished has the greatest number for a head: nothing comes after it, so all such streams end.
    fn end_at_greatest<N: Number>(&mut self) -> bool {
        let mut any = false;
        for (head, place) in self.heads.chunks_exact(N::WORDS).zip(self.places.iter_mut()) {
            if N::load(head) == N::GREATEST && *place != FINISHED {
                *place = FINISHED;
                any = true;
            }
        }
        any
    }

    fn fill_many(&mut self) -> Result<(), DiskError> {
        let words = self.words;
        while self.output.len() < self.chunk_words {
            let winner = self.losers[0] as usize;
            let place = self.places[winner];
            if place == FINISHED {
                break;
            }
            let key = &self.heads[winner * words..(winner + 1) * words];
            if !self.any || *self.last != *key {
                self.any = true;
                self.last.copy_from_slice(key);
                self.output.extend(key)?;
            }
            self.load(winner, place + words)?;
            self.losers[0] = replay(&mut self.losers, winner, self.streams.len(), |left, right| {
                less(&self.heads, &self.places, words, left, right)
            });
        }
        Ok(())
    }
}

impl<S: KeyStream> KeyStream for Merge<S> {
    fn words(&self) -> usize {
        self.words
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        self.output.clear();
        if self.streams.is_empty() {
            return Ok(false);
        }
        match self.words {
            1 => self.fill_numbers::<u64>()?,
            2 => self.fill_numbers::<u128>()?,
            _ => self.fill_many()?,
        }
        if cfg!(feature = "sabotage-merge-last-key") && self.places[self.losers[0] as usize] == FINISHED {
            let shorter = self.output.len().saturating_sub(self.words);
            self.output.truncate(shorter);
        }
        Ok(!self.output.is_empty())
    }

    fn keys(&self) -> &[u64] {
        &self.output
    }
}

/// Does the head of `left` come before that of `right`? Finished streams come last.
#[inline(always)]
fn less(heads: &[u64], places: &[usize], words: usize, left: usize, right: usize) -> bool {
    if places[left] == FINISHED || places[right] == FINISHED {
        return places[right] == FINISHED && places[left] != FINISHED;
    }
    match words {
        1 => heads[left] < heads[right],
        2 => (heads[left * 2], heads[left * 2 + 1]) < (heads[right * 2], heads[right * 2 + 1]),
        _ => heads[left * words..(left + 1) * words] < heads[right * words..(right + 1) * words],
    }
}

/// A key as a number.
trait Number: Copy + Ord {
    const WORDS: usize;
    const GREATEST: Self;
    /// The key at the front of `words`.
    fn load(words: &[u64]) -> Self;
    /// Puts it there.
    fn store(self, words: &mut [u64]);
}

impl Number for u64 {
    const WORDS: usize = 1;
    const GREATEST: u64 = u64::MAX;

    #[inline(always)]
    fn load(words: &[u64]) -> u64 {
        words[0]
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        words[0] = self;
    }
}

impl Number for u128 {
    const WORDS: usize = 2;
    const GREATEST: u128 = u128::MAX;

    #[inline(always)]
    fn load(words: &[u64]) -> u128 {
        key::wide(words)
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        words[..2].copy_from_slice(&key::narrow(self));
    }
}

/// The same for numbers: the lesser wins.
#[inline(always)]
fn replay_numbers<N: Number>(losers: &mut [u32], heads: &[u64], winner: usize, count: usize) -> u32 {
    let (mut winner, mut head) = (winner as u32, N::load(&heads[winner * N::WORDS..]));
    let mut node = (winner as usize + count) / 2;
    while node > 0 {
        let loser = losers[node];
        let other = N::load(&heads[loser as usize * N::WORDS..]);
        let swap = other < head;
        losers[node] = if swap { winner } else { loser };
        winner = if swap { loser } else { winner };
        head = if swap { other } else { head };
        node /= 2;
    }
    winner
}

/// Plays the matches on the path of `winner`, whose head has changed; returns the new winner.
#[inline(always)]
fn replay(losers: &mut [u32], winner: usize, count: usize, less: impl Fn(usize, usize) -> bool) -> u32 {
    let mut winner = winner as u32;
    let mut node = (winner as usize + count) / 2;
    while node > 0 {
        if less(losers[node] as usize, winner as usize) {
            std::mem::swap(&mut losers[node], &mut winner);
        }
        node /= 2;
    }
    winner
}
