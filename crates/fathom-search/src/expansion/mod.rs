//! How do threads expand states?

pub(crate) mod barrier;
pub(crate) mod buffers;
pub(crate) mod by_number;
pub(crate) mod tally;
pub(crate) mod tarjan;
pub(crate) mod workers;

use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_disk::budget::{BUDGET_BYTES_MIN, Budget};
use fathom_model::shape::Shape;

/// Records for which the least memory of a search suffices.
const RECORDS_LEAST: usize = 256;

/// The least memory that a search of records of so many words is begun with: what one thread needs.
pub(crate) fn least_bytes(words: usize) -> usize {
    BUDGET_BYTES_MIN.max(RECORDS_LEAST * words * 8)
}

/// Whether steps that take so much are to be let go of while they are not needed: an eighth of all memory is much where a state has many steps and there is little.
pub(crate) fn is_much(bytes: usize, budget: &Budget) -> bool {
    bytes > budget.limit() / 8
}

/// As many threads as were asked for, or as there is memory for: each needs the steps of a state and buffers, however few there are of everything that the threads share.
pub(crate) fn threads_within(budget: &Budget, shape: &Shape, threads: usize) -> usize {
    (budget.free() / least_bytes(shape.words())).clamp(1, threads.max(1))
}

/// A lock that a panic elsewhere does not poison: after one, nothing behind it counts any more.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
