//! What is known of states, in memory or behind it: one structure, one file.

pub mod bits;
pub(crate) mod counters;
pub mod disk_set;
pub(crate) mod greatest;
pub(crate) mod layers;

use std::any::Any;

use fathom_disk::key::KeyWidth;
use fathom_model::record::Records;
use fathom_model::shape::Shape;

use crate::error::SearchError;

/// What was visited: it only grows.
pub trait Visited {
    /// Inserts a record. True if it was not there.
    fn insert(&mut self, record: &[u64]) -> Result<bool, SearchError>;

    /// Appends the places of those among some records that are there, ascending.
    fn contains_batch(&mut self, records: Records<'_>, present: &mut Vec<u32>) -> Result<(), SearchError>;
}

/// What has kept the states of a breadth-first search, layer by layer.
pub trait Layered: Any {
    /// Visits the states of a layer, in any order. False if they are not kept.
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError>;
}

/// The width of records as keys.
pub(crate) fn key_width(shape: &Shape) -> Result<KeyWidth, SearchError> {
    KeyWidth::new(shape.width_bits).ok_or(SearchError::TooWide { bits: shape.width_bits })
}
