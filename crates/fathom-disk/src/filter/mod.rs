//! Which keys are certainly not in a set?
//!
//! A filter answers "maybe" or "no", and its "no" is always right. Filters work on hashes of keys (`hash.rs`).
//!
//! * [`Bloom`]: insertable, blocks of 512 bits, so that a query reads one cache line; [`BloomChain`] grows.
//! * [`FuseSegments`]: a binary fuse filter of 8 bits for a set that no longer changes, in segments, since building one
//!   takes 20 bytes a key.
//!
//! [`Filter`] is what all of them answer, [`Insertable`] what those take that grow with their set: who only asks, or only inserts, need not know which it is.
//!
//! Format on disk: `docs/src/format-structures.md`. A filter is a cache of what runs hold: it can always be rebuilt, and is
//! only reloaded when its checksum is right.

mod bloom;
mod fuse;
mod segments;
mod stored;

use crate::budget::BudgetError;
use crate::sabotage::is_chosen;
pub use bloom::{Bloom, BloomChain};
pub use fuse::Fuse;
pub use segments::{FuseSegments, FuseSegmentsBuilder};

/// Says which keys are certainly not in a set.
pub trait Filter {
    /// Whether the set may have the key; "no" is certain.
    fn may_contain_key(&self, key: &[u64]) -> bool;
    /// Pushes onto `maybe` the index of each of the keys, of `words` words each, that the set may have.
    fn query_batch(&self, keys: &[u64], words: usize, maybe: &mut Vec<u32>);
    /// Bytes charged.
    fn bytes(&self) -> usize;
}

/// A filter that takes keys at any time.
pub trait Insertable: Filter {
    /// Inserts keys of `words` words each. One that cannot grow any further says "maybe" more often; only one that has no memory at all refuses.
    fn insert_batch(&mut self, keys: &[u64], words: usize) -> Result<(), BudgetError>;
}

/// Deliberately wrong where that was [chosen](is_chosen): one key in a thousand is forgotten.
#[inline(always)]
fn is_forgotten(hash: u64) -> bool {
    is_chosen("filter") && hash % 1000 == 7
}
