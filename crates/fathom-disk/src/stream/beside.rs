//! Does a stream have this key? It is asked for ascending ones, and goes forward beside them.

use super::KeyStream;
use crate::error::DiskError;
use crate::key;

/// A stream that is asked for keys.
#[derive(Debug)]
pub struct Beside<S> {
    stream: S,
    /// Place in its chunk, in words.
    place: usize,
    exhausted: bool,
}

impl<S: KeyStream> Beside<S> {
    /// Before the first key.
    pub fn new(stream: S) -> Self {
        Self { stream, place: 0, exhausted: false }
    }

    /// Goes on to the first key that is not less; says whether it is this one.
    pub fn reaches(&mut self, key: &[u64]) -> Result<bool, DiskError> {
        while !self.exhausted {
            let Some(other) = self.stream.keys().get(self.place..self.place + key.len()) else {
                self.exhausted = !self.stream.advance()?;
                self.place = 0;
                continue;
            };
            match key::compare(other, key) {
                std::cmp::Ordering::Less => self.place += key.len(),
                order => return Ok(order.is_eq()),
            }
        }
        Ok(false)
    }

    /// The value of the key that was reached, for a stream with values.
    pub fn value(&self) -> u64 {
        self.stream.values()[self.place / self.stream.words()]
    }
}
