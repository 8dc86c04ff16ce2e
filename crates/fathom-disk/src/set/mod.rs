//! How are sets of keys sorted, merged, subtracted and kept, when they are larger than memory?
//!
//! Everything speaks [`KeyStream`]. [`sort`] makes a set of a buffer, [`sorter`] of a stream, [`coded`] keeps what waits to be merged in little memory, [`tiers`] keeps a growing set as few
//! disjoint runs, [`shared_trie`] one that is made of equal parts in memory. Streams are merged and subtracted in [`crate::stream`].

pub mod coded;
mod paired;
pub mod shared_trie;
pub mod sort;
pub mod sorter;
pub mod tiers;

use crate::error::DiskError;
use crate::run::RunWriter;

pub use coded::{CodedPieces, CodedScan};
pub use shared_trie::SharedTrie;
pub use sort::{sort_unique, spill};
pub use sorter::{Sorted, Sorter};
pub use tiers::Tiers;

pub use crate::stream::{Beside, Difference, KeyStream, Matched, Merge, SliceStream, collect};

/// Writes a whole stream into a run, with its values if the run has values; returns how many keys.
pub fn write_all(stream: &mut impl KeyStream, writer: &mut RunWriter) -> Result<u64, DiskError> {
    let before = writer.count();
    while stream.advance()? {
        writer.push_with(stream.keys(), stream.values())?;
    }
    Ok(writer.count() - before)
}
