//! Which key comes next, of many streams or of long keys?
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

use super::Number;
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::stream::KeyStream;

/// Where a merge of many streams stands.
#[derive(Debug)]
pub(super) struct Tree {
    words: usize,
    /// The current key of each stream.
    heads: ChargedVec<u64>,
    /// Place of the head in the stream's chunk, in words; `FINISHED` after the last.
    places: ChargedVec<usize>,
    /// `losers[0]` is the winner; node `i` has children `2i` and `2i + 1`; leaves are streams.
    losers: ChargedVec<u32>,
    last: ChargedVec<u64>,
    any: bool,
}

const FINISHED: usize = usize::MAX;

impl Tree {
    /// All streams at their first keys.
    pub(super) fn new<S: KeyStream>(
        budget: &Budget,
        words: usize,
        streams: &mut [S],
    ) -> Result<Tree, DiskError> {
        let count = streams.len();
        let mut tree = Tree {
            words,
            heads: ChargedVec::with_capacity(budget, "merge heads", count * words)?,
            places: ChargedVec::with_capacity(budget, "merge heads", count)?,
            losers: ChargedVec::with_capacity(budget, "merge heads", count.max(1))?,
            last: ChargedVec::with_capacity(budget, "merge heads", words)?,
            any: false,
        };
        tree.heads.resize(count * words, 0)?;
        tree.places.resize(count, FINISHED)?;
        tree.losers.resize(count.max(1), 0)?;
        tree.last.resize(words, 0)?;
        for (stream, source) in streams.iter_mut().enumerate() {
            tree.places[stream] = 0;
            tree.load(source, stream, 0)?;
            if tree.places[stream] == FINISHED {
                tree.heads[stream * words..(stream + 1) * words].fill(u64::MAX);
            }
        }
        if count > 0 {
            tree.losers[0] = tree.play(1);
        }
        Ok(tree)
    }

    /// Words per key.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Whether all streams have ended.
    pub(super) fn is_finished(&self) -> bool {
        self.places.is_empty() || self.places[self.losers[0] as usize] == FINISHED
    }

    /// Plays the matches below `node`; returns the winner.
    fn play(&mut self, node: usize) -> u32 {
        let count = self.places.len();
        if node >= count {
            return (node - count) as u32;
        }
        let (left, right) = (self.play(node * 2), self.play(node * 2 + 1));
        let left_wins = less(&self.heads, &self.places, self.words, left as usize, right as usize);
        self.losers[node] = if left_wins { right } else { left };
        if left_wins { left } else { right }
    }

    /// Puts the key at `place` of the stream's chunk into its head, going on to the next chunk if need be.
    fn load(&mut self, source: &mut impl KeyStream, stream: usize, place: usize) -> Result<(), DiskError> {
        let words = self.words;
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

    /// Puts the next keys at the front of `output`; says how many words they have, 0 at the end. Keys of one and two words, as plain numbers, without a branch that depends
    /// on them. A finished stream has the greatest number for a head.
    pub(super) fn fill_numbers<N: Number, S: KeyStream>(
        &mut self,
        streams: &mut [S],
        output: &mut [u64],
    ) -> Result<usize, DiskError> {
        let words = N::WORDS;
        let mut written = 0;
        while written < output.len() {
            let winner = self.losers[0] as usize;
            let key = N::load(&self.heads[winner * words..]);
            if key == N::GREATEST && !self.end_at_greatest::<N>() {
                break;
            }
            key.store(&mut output[written..]);
            written += words * usize::from(!self.any || N::load(&self.last) != key);
            self.any = true;
            key.store(&mut self.last);
            if key == N::GREATEST {
                break;
            }
            let place = self.places[winner] + words;
            match streams[winner].keys().get(place..place + words) {
                Some(next) => {
                    self.heads[winner * words..(winner + 1) * words].copy_from_slice(next);
                    self.places[winner] = place;
                }
                None => self.load_next::<N>(&mut streams[winner], winner)?,
            }
            self.losers[0] = replay_numbers::<N>(&mut self.losers, &self.heads, winner, streams.len());
        }
        Ok(written)
    }

    /// Goes on to the next chunk of a stream.
    fn load_next<N: Number>(&mut self, source: &mut impl KeyStream, stream: usize) -> Result<(), DiskError> {
        self.load(source, stream, usize::MAX)?;
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

    /// The same for keys of any length. `took` is told the stream of every key that is taken, its place in the chunk in words, and whether it is new or equal to the one before; a call ends
    /// with a key only when nothing equal to it is left.
    pub(super) fn fill_many<S: KeyStream>(
        &mut self,
        streams: &mut [S],
        output: &mut [u64],
        mut took: impl FnMut(&S, usize, bool),
    ) -> Result<usize, DiskError> {
        let words = self.words;
        let mut written = 0;
        while !self.is_finished() {
            let winner = self.losers[0] as usize;
            let place = self.places[winner];
            let key = &self.heads[winner * words..(winner + 1) * words];
            let new = !self.any || *self.last != *key;
            if new && written == output.len() {
                break;
            }
            took(&streams[winner], place, new);
            if new {
                self.any = true;
                self.last.copy_from_slice(key);
                output[written..written + words].copy_from_slice(key);
                written += words;
            }
            self.load(&mut streams[winner], winner, place + words)?;
            self.losers[0] = replay(&mut self.losers, winner, streams.len(), |left, right| {
                less(&self.heads, &self.places, words, left, right)
            });
        }
        Ok(written)
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

/// Plays the matches on the path of `winner`, whose head has changed; returns the new winner: the lesser number wins.
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

/// The same for keys of any length.
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
