//! What is known of states, in memory or behind it: one structure, one file.

pub mod bits;
pub(crate) mod counters;
pub mod disk_set;
pub(crate) mod layers;
