//! Which value does each key of one stream have in another?
//!
//! The merge join: both streams go forward side by side. What is made of the two values is the caller's: the new value of a state from its old one and what was sent to it, say.
//!
//! Memory: 16 bytes per key of a chunk, charged. I/O: that of the streams, each read once at most.

use super::KeyStream;
use super::beside::Beside;
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;

/// The keys of one stream, with their values if it has values, and those they have in another.
#[derive(Debug)]
pub struct Matched<A, B> {
    from: A,
    other: Beside<B>,
    found: ChargedVec<Option<u64>>,
}

impl<A: KeyStream, B: KeyStream> Matched<A, B> {
    /// Looks the keys of `from` up in `other`, a stream with values; both have keys of the same width.
    pub fn new(budget: &Budget, from: A, other: B) -> Result<Self, DiskError> {
        let found = ChargedVec::with_capacity(budget, "values found", 0)?;
        Ok(Self { from, other: Beside::new(other), found })
    }

    /// For each key of the current chunk its value in the other stream, if it is there.
    pub fn found(&self) -> &[Option<u64>] {
        &self.found
    }
}

impl<A: KeyStream, B: KeyStream> KeyStream for Matched<A, B> {
    fn words(&self) -> usize {
        self.from.words()
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        let more = self.from.advance()?;
        let (words, keys) = (self.from.words(), self.from.keys());
        self.found.clear();
        self.found.reserve(keys.len() / words)?;
        for key in keys.chunks_exact(words) {
            let value = self.other.reaches(key)?.then(|| self.other.value());
            self.found.push(value)?;
        }
        Ok(more)
    }

    fn keys(&self) -> &[u64] {
        self.from.keys()
    }

    fn values(&self) -> &[u64] {
        self.from.values()
    }
}
