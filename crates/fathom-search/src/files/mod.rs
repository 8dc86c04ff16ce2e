//! What does a search leave on a volume, and how is it found again?

pub(crate) mod at_rest;
pub(crate) mod candidates;
pub(crate) mod clock;
pub mod closed_set;
pub(crate) mod closing;
pub mod closing_cost;
pub(crate) mod commits;
pub(crate) mod cursor;
pub mod disk_use;
pub mod finished;
pub(crate) mod frontier;
pub mod journal;
pub(crate) mod layer_store;
pub(crate) mod place;
pub(crate) mod search_files;
pub mod successor_graph;
pub(crate) mod value_runs;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock that a panic elsewhere does not poison: what it guards is consistent between calls, or the search has failed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
