//! Which candidates does a thread hold back, and for which shard of the table?
//!
//! A shard is locked once for a few hundred candidates. Where another thread has it, the candidates wait and the thread goes on: there is
//! room for as many again, and only who has used that up waits for the lock. So threads hardly ever wait for one another, and
//! are not put to sleep and woken for a lock that is held for some microseconds.

use fathom_disk::budget::{Budget, BudgetError, Charge};
use fathom_disk::table::Addressing;

/// Candidates by shard, addressed.
#[derive(Debug)]
pub(super) struct Routes {
    words: usize,
    /// Candidates that pay for a lock, and as many as come between two looks at what has come together.
    piece: usize,
    /// Shard after shard, room for [`ROOM_PIECES`] pieces each.
    keys: Vec<u64>,
    /// Words from one shard's room to the next one's.
    stride: usize,
    /// Candidates in each. Inline, so that no other thread's memory lies on the same cache line.
    counts: [u32; SHARDS_MAX],
    _charge: Charge,
}

/// The most shards.
pub(super) const SHARDS_MAX: usize = 16;
/// Pieces that a shard has room for.
const ROOM_PIECES: usize = 4;
/// Words of a page. Places that are whole pages apart share a set of the nearest cache, which has eight lines, and shards fill alike: so large rooms
/// are this many words more than pages apart.
const PAGE_WORDS: usize = 512;
const SKEW_WORDS: usize = 40;

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
        let room = ROOM_PIECES * piece * words;
        let stride = room + if room < PAGE_WORDS { 0 } else { SKEW_WORDS };
        let _charge = budget.charge("candidates", shards * stride * 8)?;
        Ok(Routes { words, piece, keys: vec![0; shards * stride], stride, counts: [0; SHARDS_MAX], _charge })
    }

    /// Puts candidates, addressed, behind those of their shards: one piece of them, of which each shard has room for all.
    pub(super) fn put(&mut self, addressing: Addressing, candidates: &[u64]) {
        let Routes { keys, stride, counts, .. } = self;
        let is_two = keys.len() == 2 * *stride;
        match (addressing.words(), is_two) {
            (1, true) => put_in_two::<1>(addressing, candidates, keys, *stride, counts),
            (2, true) => put_in_two::<2>(addressing, candidates, keys, *stride, counts),
            (1, false) => put_narrow(addressing, candidates, keys, *stride, counts),
            _ => put_wide(addressing, candidates, keys, *stride, counts),
        }
    }

    /// The candidates of a shard.
    pub(super) fn of(&self, shard: usize) -> &[u64] {
        &self.keys[shard * self.stride..][..self.counts[shard] as usize * self.words]
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

/// [`Routes::put`] for two shards and keys of one or two words. Nobody can foresee whose a key is, so it is written behind those of both, and counts for one.
fn put_in_two<const WORDS: usize>(
    addressing: Addressing,
    candidates: &[u64],
    keys: &mut [u64],
    stride: usize,
    counts: &mut [u32; SHARDS_MAX],
) {
    let (lower, upper) = keys.split_at_mut(stride);
    let ((lower, _), (upper, _)) = (lower.as_chunks_mut::<WORDS>(), upper.as_chunks_mut::<WORDS>());
    let [mut lowers, mut uppers] = [counts[0], counts[1]];
    for key in candidates.as_chunks::<WORDS>().0 {
        let shard = addressing.shard(key) as u32;
        lower[lowers as usize] = *key;
        upper[uppers as usize] = *key;
        lowers += 1 - shard;
        uppers += shard;
    }
    [counts[0], counts[1]] = [lowers, uppers];
}

/// [`Routes::put`] for keys of one word.
fn put_narrow(
    addressing: Addressing,
    candidates: &[u64],
    keys: &mut [u64],
    stride: usize,
    counts: &mut [u32; SHARDS_MAX],
) {
    for key in candidates {
        let shard = addressing.shard(std::slice::from_ref(key)) % SHARDS_MAX;
        keys[shard * stride + counts[shard] as usize] = *key;
        counts[shard] += 1;
    }
}

/// [`Routes::put`] for keys of any width.
fn put_wide(
    addressing: Addressing,
    candidates: &[u64],
    keys: &mut [u64],
    stride: usize,
    counts: &mut [u32; SHARDS_MAX],
) {
    let words = addressing.words();
    for key in candidates.chunks_exact(words) {
        let shard = addressing.shard(key);
        let at = shard * stride + counts[shard] as usize * words;
        keys[at..at + words].copy_from_slice(key);
        counts[shard] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_disk::table::ShardedTable;

    #[test]
    fn candidates_are_with_their_shard_until_they_are_cleared() {
        let mut seed = 9u64;
        for (bits, shard_bits, piece) in [
            (5, 0, 1),
            (40, 1, 3),
            (64, 4, 200),
            (70, 4, 8),
            (75, 1, 9),
            (90, 1, 30),
            (90, 2, 70),
            (200, 3, 64),
        ] {
            let budget = Budget::unlimited();
            let table = ShardedTable::new(bits, shard_bits, &budget).unwrap();
            let (addressing, shards) = (table.addressing(), table.shard_count());
            let words = addressing.words();
            let mut routes = Routes::new(&budget, shards, words, piece).unwrap();
            let mut expected = vec![Vec::new(); shards];
            for _ in 0..50 {
                let mut candidates = Vec::new();
                for _ in 0..piece {
                    let key: Vec<u64> = (0..words)
                        .map(|word| {
                            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                            if word == 0 { seed >> (64 - (bits - 1) % 64 - 1) } else { seed }
                        })
                        .collect();
                    let mut addressed = vec![0; words];
                    addressing.address(&key, &mut addressed);
                    expected[addressing.shard(&addressed)].extend(&addressed);
                    candidates.extend(addressed);
                }
                routes.put(addressing, &candidates);
                for (shard, expected) in expected.iter_mut().enumerate() {
                    assert_eq!(routes.of(shard), *expected, "{bits} bits");
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
