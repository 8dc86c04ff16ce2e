//! Which keys are certainly not in a set?
//!
//! A filter answers "maybe" or "no", and its "no" is always right. Filters work on hashes of keys (`hash.rs`).
//!
//! * [`Bloom`]: insertable, blocks of 512 bits, so that a query reads one cache line; [`BloomChain`] grows.
//! * [`FuseSegments`]: a binary fuse filter of 8 bits for a set that no longer changes, in segments, since building one
//!   takes 20 bytes a key.
//!
//! Format on disk: `docs/src/format-structures.md`. A filter is a cache of what runs hold: it can always be rebuilt, and is
//! only reloaded when its checksum is right.

mod bloom;
mod fuse;
mod segments;
mod stored;

use crate::sabotage::is_chosen;
pub use bloom::{Bloom, BloomChain};
pub use fuse::Fuse;
pub use segments::{FuseSegments, FuseSegmentsBuilder};

/// Deliberately wrong where that was [chosen](is_chosen): one key in a thousand is forgotten.
#[inline(always)]
fn is_forgotten(hash: u64) -> bool {
    is_chosen("filter") && hash % 1000 == 7
}
