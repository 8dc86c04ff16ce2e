//! What does a search leave on a volume, and how is it found again?

pub(crate) mod clock;
pub mod closed_set;
pub(crate) mod cursor;
pub mod successor_graph;
