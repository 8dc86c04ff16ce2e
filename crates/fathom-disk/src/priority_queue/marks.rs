//! How does a queue say how it stands, in bytes?

use crate::error::DiskError;

/// Numbers and names that are written one behind the other.
#[derive(Debug, Default)]
pub(super) struct MarkWriter(pub(super) Vec<u8>);

/// What is left of a mark that is being taken apart.
#[derive(Debug)]
pub(super) struct MarkReader<'a>(pub(super) &'a [u8]);

impl MarkWriter {
    pub(super) fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }
}

impl MarkReader<'_> {
    pub(super) fn number(&mut self) -> Result<u64, DiskError> {
        let (number, rest) = self.0.split_first_chunk::<8>().ok_or_else(nonsense)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*number))
    }

    /// A number that is an index or a count in memory, below a bound.
    pub(super) fn below(&mut self, bound: usize) -> Result<usize, DiskError> {
        usize::try_from(self.number()?).ok().filter(|number| *number < bound).ok_or_else(nonsense)
    }
}

pub(super) fn nonsense() -> DiskError {
    DiskError::Mismatch { file: "priority queue".to_owned(), what: "its mark makes no sense".to_owned() }
}
