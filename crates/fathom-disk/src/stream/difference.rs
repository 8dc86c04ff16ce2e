//! Which keys of one stream are not in another?
//!
//! Memory: one chunk of output, charged. I/O: that of the streams, each read once at most.

use super::KeyStream;
use super::beside::Beside;
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;

/// The keys of `from` that are not in `known`.
#[derive(Debug)]
pub struct Difference<A, B> {
    from: A,
    known: Beside<B>,
    output: ChargedVec<u64>,
}

impl<A: KeyStream, B: KeyStream> Difference<A, B> {
    /// Subtracts `known` from `from`; both have keys of the same width.
    pub fn new(budget: &Budget, from: A, known: B) -> Result<Self, DiskError> {
        let output = ChargedVec::with_capacity(budget, "difference", 0)?;
        Ok(Self { from, known: Beside::new(known), output })
    }

    /// Copies the keys of the current chunk of `from` that are not known.
    fn filter(&mut self) -> Result<(), DiskError> {
        for key in self.from.keys().chunks_exact(self.from.words()) {
            if !self.known.reaches(key)? {
                self.output.extend(key)?;
            }
        }
        Ok(())
    }
}

impl<A: KeyStream, B: KeyStream> KeyStream for Difference<A, B> {
    fn words(&self) -> usize {
        self.from.words()
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        loop {
            self.output.clear();
            if !self.from.advance()? {
                return Ok(false);
            }
            self.output.reserve(self.from.keys().len())?;
            self.filter()?;
            if !self.output.is_empty() {
                return Ok(true);
            }
        }
    }

    fn keys(&self) -> &[u64] {
        &self.output
    }
}
