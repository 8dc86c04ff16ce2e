//! What does a search leave on a volume, and how is it found again?

pub mod closed_set;
pub mod successor_graph;
