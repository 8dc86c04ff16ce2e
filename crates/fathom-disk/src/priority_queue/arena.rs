//! Where are items in memory, when many lists share it and none has more than it needs?
//!
//! Chunks of equal size lie in one vector; a list of items is a chain of chunks. Memory: the chunks and a link each, charged once.

use crate::budget::{Budget, BudgetError, ChargedVec};

/// No chunk.
pub(super) const NONE: u32 = u32::MAX;

/// Chunks of items, some of them free.
#[derive(Debug)]
pub(super) struct Arena {
    words: ChargedVec<u64>,
    /// The chunk behind each one, in its chain or among the free ones.
    links: ChargedVec<u32>,
    free: u32,
    chunk_words: usize,
}

impl Arena {
    /// So many chunks of so many words.
    pub(super) fn new(chunks: usize, chunk_words: usize, budget: &Budget) -> Result<Arena, BudgetError> {
        let mut words = ChargedVec::with_capacity(budget, "priority queue", chunks * chunk_words)?;
        let mut links = ChargedVec::with_capacity(budget, "priority queue", chunks)?;
        words.resize(chunks * chunk_words, 0)?;
        links.resize(chunks, NONE)?;
        for (chunk, link) in links.iter_mut().enumerate().take(chunks - 1) {
            *link = chunk as u32 + 1;
        }
        Ok(Arena { words, links, free: 0, chunk_words })
    }

    /// Takes a free chunk for a chain that goes on with `behind`; none if all are taken.
    pub(super) fn take(&mut self, behind: u32) -> Option<u32> {
        let chunk = self.free;
        if chunk == NONE {
            return None;
        }
        self.free = self.links[chunk as usize];
        self.links[chunk as usize] = behind;
        Some(chunk)
    }

    /// Frees a chunk; says which is behind it.
    pub(super) fn release(&mut self, chunk: u32) -> u32 {
        let behind = std::mem::replace(&mut self.links[chunk as usize], self.free);
        self.free = chunk;
        behind
    }

    /// The words of a chunk.
    pub(super) fn chunk(&self, chunk: u32) -> &[u64] {
        &self.words[chunk as usize * self.chunk_words..][..self.chunk_words]
    }

    /// The same, to be written.
    #[inline(always)]
    pub(super) fn chunk_mut(&mut self, chunk: u32) -> &mut [u64] {
        &mut self.words[chunk as usize * self.chunk_words..][..self.chunk_words]
    }
}
