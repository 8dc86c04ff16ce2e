//! What do direct I/O and a promise of memory need that safe Rust cannot say? Aligned memory, a ring whose entries point into buffers, a word to the allocator.
#![allow(unsafe_code)] // std has no aligned allocation, and a submission entry is a raw pointer; each block has its reason.

pub mod aligned;
pub mod heap;
pub(super) mod ring;
