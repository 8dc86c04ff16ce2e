//! How do threads expand states?

pub(crate) mod barrier;
pub(crate) mod buffers;
pub(crate) mod by_number;
pub(crate) mod tally;
pub(crate) mod workers;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock that a panic elsewhere does not poison: after one, nothing behind it counts any more.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
