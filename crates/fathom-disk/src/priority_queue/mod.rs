//! Which records have the least priority, when all of them do not fit in RAM?
//!
//! One trait, two ways: [`ArrayHeap`] takes priorities in any order and keeps what does not fit as sorted files; [`RadixHeap`] takes only priorities that are not below the last one taken, and
//! moves each record at most once per digit, without comparisons. Both take batches and give a whole *bucket* at a time: all records of the least priority, ascending, each once.
//!
//! All memory is charged. Files are written once and belong to the queue until it names them as [retired](PriorityQueue::retired). A [mark](PriorityQueue::mark) makes everything that waits last:
//! a manifest that keeps the mark and names the files lets the queue be taken up again.

mod arena;
mod array_heap;
mod heap;
mod marks;
mod pages;
mod radix_heap;
mod sorted_file;

pub use array_heap::{ArrayHeap, ArrayHeapConfig};
pub use radix_heap::RadixHeap;

use std::fmt::Debug;

use crate::error::DiskError;

/// Takes a priority and some ascending records of it, one behind the other.
pub type Take<'a> = dyn FnMut(u64, &[u64]) -> Result<(), DiskError> + 'a;

/// A set of records with priorities, least first.
pub trait PriorityQueue: Debug + Send {
    /// Queues records with a priority each; one that is queued already may be dropped.
    fn push(&mut self, priorities: &[u64], records: &[u64]) -> Result<(), DiskError>;

    /// Takes the bucket of the least priority: says which, and gives its records to `take`, ascending and each once. `None` if the queue is empty.
    fn pop(&mut self, take: &mut Take<'_>) -> Result<Option<u64>, DiskError>;

    /// The least priority; none if the queue is empty.
    fn least(&self) -> Option<u64>;

    /// Begins again: from now on priorities may be less than those that were taken. The queue is empty.
    fn restart(&mut self);

    /// Whether nothing is queued.
    fn is_empty(&self) -> bool;

    /// How many records are in memory.
    fn in_memory(&self) -> u64;

    /// How often a record was written to disk so far, over all records.
    fn moves(&self) -> u64;

    /// Writes what is in memory, syncs, and says in bytes how the queue stands.
    fn mark(&mut self) -> Result<Vec<u8>, DiskError>;

    /// The files that the last mark needs. They may grow.
    fn file_names(&self) -> Vec<String>;

    /// Bytes on disk.
    fn disk_bytes(&self) -> u64;

    /// Names of files that are not needed any more since the last call: to be removed, once no manifest names them.
    fn retired(&mut self) -> Vec<String>;
}
