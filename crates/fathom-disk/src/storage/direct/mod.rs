//! What does direct I/O need that safe Rust cannot say? Aligned memory, and a ring whose entries point into buffers.
#![allow(unsafe_code)] // std has no aligned allocation, and a submission entry is a raw pointer; each block has its reason.

pub mod aligned;
pub(super) mod ring;
