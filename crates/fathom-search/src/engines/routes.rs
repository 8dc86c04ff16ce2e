//! Which candidates does a thread hold back, and for which shard of the table?
//!
//! A shard is locked once for a few hundred candidates. Where another thread has it, the candidates wait and the thread goes on: there is
//! room for as many again, and only who has used that up waits for the lock. So threads hardly ever wait for one another, and
//! are not put to sleep and woken for a lock that is held for some microseconds.

use fathom_disk::budget::{Budget, BudgetError, Charge};

/// Candidates by shard, addressed.
#[derive(Debug)]
pub(super) struct Routes {
    words: usize,
    /// Candidates that pay for a lock.
    enough: usize,
    /// Shard after shard, room for twice as many each.
    keys: Vec<u64>,
    /// Candidates in each. Inline, so that no other thread's memory lies on the same cache line.
    counts: [u32; SHARDS_MAX],
    _charge: Charge,
}

/// The most shards.
pub(super) const SHARDS_MAX: usize = 16;

/// What a shard's candidates ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fullness {
    /// Nothing.
    Room,
    /// To be inserted if that is possible at once.
    Enough,
    /// To be inserted before the next one comes.
    Full,
}

impl Routes {
    /// Room for twice `enough` candidates of `words` words in each of `shards` shards.
    pub(super) fn new(
        budget: &Budget,
        shards: usize,
        words: usize,
        enough: usize,
    ) -> Result<Routes, BudgetError> {
        assert!(shards <= SHARDS_MAX, "no more shards than there are counts");
        let room = 2 * shards * enough * words;
        let _charge = budget.charge("candidates", room * 8)?;
        Ok(Routes { words, enough, keys: vec![0; room], counts: [0; SHARDS_MAX], _charge })
    }

    /// Adds a candidate to a shard that is not full.
    #[inline(always)]
    pub(super) fn push(&mut self, shard: usize, key: &[u64]) -> Fullness {
        let count = self.counts[shard] as usize;
        let at = (2 * shard * self.enough + count) * self.words;
        match key {
            [only] => self.keys[at] = *only,
            _ => self.keys[at..at + self.words].copy_from_slice(key),
        }
        self.counts[shard] += 1;
        if count + 1 < self.enough { Fullness::Room } else { self.fullness(count + 1) }
    }

    /// The candidates of a shard.
    pub(super) fn of(&self, shard: usize) -> &[u64] {
        &self.keys[2 * shard * self.enough * self.words..][..self.counts[shard] as usize * self.words]
    }

    pub(super) fn clear(&mut self, shard: usize) {
        self.counts[shard] = 0;
    }

    fn fullness(&self, count: usize) -> Fullness {
        if count == 2 * self.enough {
            Fullness::Full
        } else if (count - self.enough).is_multiple_of(self.enough.div_ceil(4)) {
            Fullness::Enough
        } else {
            Fullness::Room
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_is_there_until_it_is_cleared() {
        for (shards, words, enough) in [(1, 1, 1), (2, 1, 3), (16, 2, 8), (5, 4, 64)] {
            let budget = Budget::unlimited();
            let mut routes = Routes::new(&budget, shards, words, enough).unwrap();
            for round in 0..3 {
                for shard in 0..shards {
                    let mut pushed = Vec::new();
                    let mut asked = Vec::new();
                    for number in 0..2 * enough {
                        let key: Vec<u64> =
                            (0..words).map(|word| (round * 1000 + number * 8 + word) as u64).collect();
                        asked.push(routes.push(shard, &key));
                        pushed.extend(key);
                        assert_eq!(routes.of(shard), pushed);
                    }
                    let enough_at = asked.iter().position(|fullness| *fullness != Fullness::Room);
                    assert_eq!(enough_at, Some(enough - 1));
                    assert_eq!(
                        asked.iter().position(|fullness| *fullness == Fullness::Full),
                        Some(2 * enough - 1)
                    );
                }
                (0..shards).for_each(|shard| routes.clear(shard));
                (0..shards).for_each(|shard| assert!(routes.of(shard).is_empty()));
            }
        }
    }
}
