//! What can go wrong on the machine's side? Nothing here is the model's fault or ours.

use crate::budget::BudgetError;
use crate::storage::{File, StorageError};

/// A failure of the device, of memory, or of what was found on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiskError {
    /// The device failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The data budget is too small.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// What is on disk is not what was written.
    #[error("{file} is damaged at byte {offset}: {what}; remove the run directory and start over")]
    Corrupt {
        /// The file's name.
        file: String,
        /// Where in the file.
        offset: u64,
        /// What does not fit.
        what: &'static str,
    },
    /// What is on disk is whole, but of another kind than asked for.
    #[error("{file}: {what}")]
    Mismatch {
        /// The file's name.
        file: String,
        /// What differs, and what to do.
        what: String,
    },
}

impl DiskError {
    /// Damage in `file` at `offset`.
    pub fn corrupt(file: &File, offset: u64, what: &'static str) -> Self {
        Self::Corrupt { file: file.name().to_owned(), offset, what }
    }

    /// True if the device is full.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_full())
    }
}
