//! What is known of states, in memory or behind it: one structure, one file.

pub mod bits;
pub(crate) mod counters;
pub mod disk_set;
pub mod exact;
pub(crate) mod greatest;
pub mod hash_sorted;
pub(crate) mod layers;
pub(crate) mod recent;
pub mod visited;

use std::any::Any;

use fathom_disk::key::KeyWidth;
use fathom_model::record::Records;
use fathom_model::shape::Shape;

use crate::error::SearchError;

/// What has kept the states of a breadth-first search, layer by layer.
pub trait Layered: Any {
    /// Visits the states of a layer, in any order. False if they are not kept.
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError>;
}

/// The width of records as keys.
pub(crate) fn key_width(shape: &Shape) -> Result<KeyWidth, SearchError> {
    KeyWidth::new(shape.width_bits).ok_or(SearchError::TooWide { bits: shape.width_bits })
}
