//! Which candidates does a thread hold back, and for which shard of the table?
//!
//! A shard is locked once for a few hundred candidates. Where another thread has it, the candidates wait and the thread goes on: there is
//! room for as many again, and only who has used that up waits for the lock. So threads hardly ever wait for one another, and
//! are not put to sleep and woken for a lock that is held for some microseconds.

use fathom_disk::budget::{Budget, BudgetError, Charge};
use fathom_disk::table::{Addressing, Sieve};

/// Candidates by shard, addressed.
#[derive(Debug)]
pub(super) struct Routes {
    words: usize,
    /// Candidates that pay for a lock, and as many as come between two looks at what has come together.
    piece: usize,
    /// Shard after shard, room for [`ROOM_PIECES`] pieces each.
    keys: Vec<u64>,
    /// Candidates in each. Inline, so that no other thread's memory lies on the same cache line.
    counts: [u32; SHARDS_MAX],
    _charge: Charge,
}

/// The most shards.
pub(super) const SHARDS_MAX: usize = 16;
/// Pieces that a shard has room for.
const ROOM_PIECES: usize = 4;

/// What a shard's candidates ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fullness {
    /// Nothing.
    Room,
    /// To be inserted if that is possible at once.
    Enough,
    /// To be inserted before the next piece comes.
    Full,
}

impl Routes {
    /// Bytes of candidates of `words` words in `shards` shards, for each candidate in a piece.
    pub(super) fn bytes_per_piece(shards: usize, words: usize) -> usize {
        ROOM_PIECES * shards * words * 8
    }

    /// Room for candidates of `words` words in each of `shards` shards that come in pieces of up to `piece`.
    pub(super) fn new(
        budget: &Budget,
        shards: usize,
        words: usize,
        piece: usize,
    ) -> Result<Routes, BudgetError> {
        assert!(shards <= SHARDS_MAX, "no more shards than there are counts");
        let bytes = piece * Routes::bytes_per_piece(shards, words);
        let _charge = budget.charge("candidates", bytes)?;
        Ok(Routes { words, piece, keys: vec![0; bytes / 8], counts: [0; SHARDS_MAX], _charge })
    }

    /// Writes a candidate behind those of its shard, where it stays only if it is to.
    #[inline(always)]
    pub(super) fn put(&mut self, shard: usize, key: &[u64], stays: bool) {
        let count = &mut self.counts[shard];
        let at = (ROOM_PIECES * shard * self.piece + *count as usize) * self.words;
        match key {
            [only] => self.keys[at] = *only,
            _ => self.keys[at..at + self.words].copy_from_slice(key),
        }
        *count += u32::from(stays);
    }

    /// The candidates of a shard.
    pub(super) fn of(&self, shard: usize) -> &[u64] {
        let begin = ROOM_PIECES * shard * self.piece * self.words;
        &self.keys[begin..][..self.counts[shard] as usize * self.words]
    }

    /// Forgets the candidates of a shard.
    pub(super) fn clear(&mut self, shard: usize) {
        self.counts[shard] = 0;
    }

    /// What the candidates of a shard ask for, between two pieces.
    #[inline(always)]
    pub(super) fn fullness(&self, shard: usize) -> Fullness {
        let count = self.counts[shard] as usize;
        if count < self.piece {
            Fullness::Room
        } else if count < (ROOM_PIECES - 1) * self.piece {
            Fullness::Enough
        } else {
            Fullness::Full
        }
    }
}

/// Routes of keys addressed in this way, as what recent candidates are sifted into.
pub(super) struct Sorting<'a>(pub(super) Addressing, pub(super) &'a mut Routes);

impl Sieve for Sorting<'_> {
    #[inline(always)]
    fn put(&mut self, addressed: &[u64], stays: bool) {
        let Sorting(addressing, routes) = self;
        routes.put(addressing.shard(addressed), addressed, stays);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stayed_is_there_until_it_is_cleared() {
        let mut seed = 9u64;
        for (shards, words, piece) in [(1, 1, 1), (2, 1, 3), (16, 2, 8), (5, 4, 64)] {
            let mut routes = Routes::new(&Budget::unlimited(), shards, words, piece).unwrap();
            let mut expected = vec![Vec::new(); shards];
            let mut number = 0u64;
            for _ in 0..50 {
                for _ in 0..piece {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let (shard, stays) = ((seed >> 40) as usize % shards, seed >> 63 == 0);
                    let key: Vec<u64> = (0..words as u64).map(|word| number * 8 + word).collect();
                    number += 1;
                    routes.put(shard, &key, stays);
                    if stays {
                        expected[shard].extend(key);
                    }
                }
                for (shard, expected) in expected.iter_mut().enumerate() {
                    assert_eq!(routes.of(shard), *expected);
                    let fullness = routes.fullness(shard);
                    assert_eq!(fullness == Fullness::Room, expected.len() < piece * words);
                    assert_eq!(
                        fullness == Fullness::Full,
                        expected.len() + piece * words > ROOM_PIECES * piece * words - 1
                    );
                    if fullness == Fullness::Full {
                        routes.clear(shard);
                        expected.clear();
                    }
                }
            }
        }
    }
}
