//! What does a search leave on a volume, and how is it found again?

pub(crate) mod candidates;
pub(crate) mod clock;
pub mod closed_set;
pub(crate) mod cursor;
pub(crate) mod layer_store;
pub(crate) mod place;
pub mod successor_graph;
