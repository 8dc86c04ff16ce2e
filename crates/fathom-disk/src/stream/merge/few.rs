//! Which key comes next, of a few streams of numbers?
//!
//! The least of all heads; and every stream whose head it is moves on. So a key that several streams have comes once, without a look back, and the only branches are those at
//! the ends of chunks.

use super::Number;
use crate::error::DiskError;
use crate::stream::KeyStream;

/// With more streams than this a tree is as fast (measured; with four it takes twice the time).
pub(super) const FEW_MAX: usize = 8;

/// Where a merge of few streams stands.
#[derive(Debug)]
pub(super) struct Few {
    /// The streams that are not finished: the first `count`.
    active: [Active; FEW_MAX],
    count: usize,
}

/// A stream and the number of its head in its chunk.
#[derive(Clone, Copy, Debug, Default)]
struct Active {
    stream: usize,
    place: usize,
}

impl Few {
    /// All of `count` streams before their beginning.
    pub(super) fn new(count: usize) -> Few {
        let mut active = [Active::default(); FEW_MAX];
        for (stream, active) in active[..count].iter_mut().enumerate() {
            active.stream = stream;
        }
        Few { active, count }
    }

    /// Whether all streams were seen to end.
    pub(super) fn is_finished(&self) -> bool {
        self.count == 0
    }

    /// Puts the next keys at the front of `output`; says how many words they have, 0 at the end.
    pub(super) fn fill<N: Number, S: KeyStream>(
        &mut self,
        streams: &mut [S],
        output: &mut [u64],
    ) -> Result<usize, DiskError> {
        let mut written = 0;
        while written < output.len() {
            self.refill::<N, S>(streams)?;
            let room = &mut output[written..];
            written += match self.count {
                0 => break,
                1 => self.copy::<N, S>(streams, room),
                2 => self.merge::<N, S, 2>(streams, room),
                3 => self.merge::<N, S, 3>(streams, room),
                4 => self.merge::<N, S, 4>(streams, room),
                5 => self.merge::<N, S, 5>(streams, room),
                6 => self.merge::<N, S, 6>(streams, room),
                7 => self.merge::<N, S, 7>(streams, room),
                _ => self.merge::<N, S, FEW_MAX>(streams, room),
            };
        }
        Ok(written)
    }

    /// Has every stream that is at the end of its chunk go on to the next, and forgets those that have none.
    fn refill<N: Number, S: KeyStream>(&mut self, streams: &mut [S]) -> Result<(), DiskError> {
        let mut index = 0;
        while index < self.count {
            let Active { stream, place } = self.active[index];
            let source = &mut streams[stream];
            if place * N::WORDS >= source.keys().len() {
                self.active[index].place = 0;
                if !source.advance()? {
                    self.count -= 1;
                    self.active[index] = self.active[self.count];
                    continue;
                }
            }
            index += 1;
        }
        Ok(())
    }

    /// Of one stream, what its chunk has and fits.
    fn copy<N: Number, S: KeyStream>(&mut self, streams: &[S], output: &mut [u64]) -> usize {
        let Active { stream, place } = &mut self.active[0];
        let rest = &streams[*stream].keys()[*place * N::WORDS..];
        let words = rest.len().min(output.len());
        output[..words].copy_from_slice(&rest[..words]);
        *place += words / N::WORDS;
        words
    }

    /// Merges until a chunk ends or the output is full; says how many words were written.
    fn merge<N: Number, S: KeyStream, const COUNT: usize>(
        &mut self,
        streams: &[S],
        output: &mut [u64],
    ) -> usize {
        let mut active = [Active::default(); COUNT];
        active.copy_from_slice(&self.active[..COUNT]);
        let chunks = active.map(|active| streams[active.stream].keys());
        let mut places = active.map(|active| active.place);
        let written = merge_chunks::<N, COUNT>(&chunks, &mut places, output);
        for (active, place) in self.active.iter_mut().zip(places) {
            active.place = place;
        }
        written
    }
}

/// Merges chunks from these places on, until one of them ends or the output is full. Nothing here depends on which chunk has the least key but sums.
#[inline(always)]
fn merge_chunks<N: Number, const COUNT: usize>(
    chunks: &[&[u64]; COUNT],
    places: &mut [usize; COUNT],
    output: &mut [u64],
) -> usize {
    let mut next = *places;
    let mut written = 0;
    for room in output.chunks_exact_mut(N::WORDS) {
        let mut heads = [N::GREATEST; COUNT];
        let mut ended = false;
        for index in 0..COUNT {
            match N::get(chunks[index], next[index]) {
                Some(head) => heads[index] = head,
                None => ended = true,
            }
        }
        if ended {
            break;
        }
        let least = least(&heads);
        least.store(room);
        written += N::WORDS;
        for index in 0..COUNT {
            next[index] += usize::from(heads[index] == least);
        }
    }
    *places = next;
    written
}

/// The least of them, compared in pairs: a chain of comparisons would be waited for.
#[inline(always)]
fn least<N: Number, const COUNT: usize>(heads: &[N; COUNT]) -> N {
    let mut least = *heads;
    let mut count = COUNT;
    while count > 1 {
        let half = count.div_ceil(2);
        for index in 0..count / 2 {
            least[index] = least[index].min(least[index + half]);
        }
        count = half;
    }
    least[0]
}
