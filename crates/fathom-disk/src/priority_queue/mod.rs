//! Which record has the least priority, when the records do not fit in RAM?
//!
//! One trait, two ways: [`ArrayHeap`] takes priorities in any order; [`RadixHeap`] only such that are not below the last one
//! taken, and moves each record at most once per digit, without comparisons. Both are sets: items that are equal in priority
//! and record while both are queued come out once. Items come in the order of (priority, record).
//!
//! Queues are working storage: their files are not in any manifest, and are swept after a crash.

mod array_heap;
mod heap;
mod radix_heap;

pub use array_heap::ArrayHeap;
pub use radix_heap::RadixHeap;

use crate::error::DiskError;

/// A set of records with priorities, least first.
pub trait PriorityQueue {
    /// Queues a record; one that is queued already may be dropped.
    fn push(&mut self, priority: u64, record: &[u64]) -> Result<(), DiskError>;
    /// Takes the least item: its priority, and its record into `record`. `None` if the queue is empty.
    fn pop(&mut self, record: &mut [u64]) -> Result<Option<u64>, DiskError>;
    /// Whether nothing is queued.
    fn is_empty(&self) -> bool;
}
