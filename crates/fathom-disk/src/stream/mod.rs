//! What are ascending keys, a chunk at a time, and what can be made of several such streams?
//!
//! Everything that reads or makes sorted keys speaks [`KeyStream`]: a run that is scanned, pieces, a set in memory. [`merge`] makes one stream of many, [`difference`] takes away what is known,
//! [`matched`] looks up values. A stream may have a [value](crate::value) beside each key.

pub mod beside;
pub mod difference;
pub mod matched;
pub mod merge;

use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;

pub use beside::Beside;
pub use difference::Difference;
pub use matched::Matched;
pub use merge::Merge;

/// Strictly ascending keys, a chunk at a time.
pub trait KeyStream {
    /// Words per key.
    fn words(&self) -> usize;
    /// Goes on to the next chunk; false at the end, and from then on.
    fn advance(&mut self) -> Result<bool, DiskError>;
    /// The current chunk: not empty after `advance` said true, empty before the first and after the last.
    fn keys(&self) -> &[u64];
    /// The values of the keys of the current chunk, one each, where the stream has values; else none.
    fn values(&self) -> &[u64] {
        &[]
    }
}

/// Keys in memory as a stream of one chunk.
#[derive(Clone, Copy, Debug)]
pub struct SliceStream<'a> {
    words: usize,
    keys: &'a [u64],
    values: &'a [u64],
    state: usize,
}

impl<'a> SliceStream<'a> {
    /// A stream of `keys`, which must ascend strictly.
    pub fn new(words: usize, keys: &'a [u64]) -> Self {
        Self { words, keys, values: &[], state: 0 }
    }

    /// The same with a value for each key.
    pub fn with_values(words: usize, keys: &'a [u64], values: &'a [u64]) -> Self {
        assert_eq!(keys.len(), values.len() * words, "one value per key");
        Self { words, keys, values, state: 0 }
    }
}

impl KeyStream for SliceStream<'_> {
    fn words(&self) -> usize {
        self.words
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        self.state += 1;
        Ok(self.state == 1 && !self.keys.is_empty())
    }

    fn keys(&self) -> &[u64] {
        if self.state == 1 { self.keys } else { &[] }
    }

    fn values(&self) -> &[u64] {
        if self.state == 1 { self.values } else { &[] }
    }
}

impl<S: KeyStream + ?Sized> KeyStream for Box<S> {
    fn words(&self) -> usize {
        (**self).words()
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        (**self).advance()
    }

    fn keys(&self) -> &[u64] {
        (**self).keys()
    }

    fn values(&self) -> &[u64] {
        (**self).values()
    }
}

impl<S: KeyStream + ?Sized> KeyStream for &mut S {
    fn words(&self) -> usize {
        (**self).words()
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        (**self).advance()
    }

    fn keys(&self) -> &[u64] {
        (**self).keys()
    }

    fn values(&self) -> &[u64] {
        (**self).values()
    }
}

/// Collects a whole stream in memory, charged to `owner`.
pub fn collect(
    stream: &mut impl KeyStream,
    budget: &Budget,
    owner: &'static str,
) -> Result<ChargedVec<u64>, DiskError> {
    let mut keys = ChargedVec::with_capacity(budget, owner, 0)?;
    while stream.advance()? {
        let chunk = stream.keys();
        if keys.len() + chunk.len() > keys.capacity() {
            keys.reserve(chunk.len().max(keys.len()))?;
        }
        keys.extend(chunk)?;
    }
    Ok(keys)
}
