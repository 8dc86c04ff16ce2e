//! Who looks at a bucket when all its states were expanded, before it is behind the line?

use std::ops::Range;

use fathom_model::record::Records;

use super::line::Line;
use super::spans::Spans;
use crate::error::SearchError;
use crate::files::layer_store::{LayerCursor, LayerStore};
use crate::files::place::Place;

/// Looks at buckets.
pub(crate) trait Look {
    /// Looks at one; false if nothing more is to be searched.
    fn look(&mut self, bucket: &Seen<'_>, spans: &mut Spans) -> Result<bool, SearchError>;
}

/// The states of a bucket.
pub(crate) struct Seen<'a> {
    /// Steps from them to states of the bucket.
    pub(crate) within: u64,
    pub(super) line: Line,
    pub(super) stages: Range<u64>,
    pub(super) store: &'a LayerStore,
    pub(super) place: &'a Place,
}

impl Seen<'_> {
    /// The least and the greatest value of its states.
    pub(crate) fn values(&self) -> (u64, u64) {
        (self.line.from, self.line.to)
    }

    /// Visits the states, some at a time.
    pub(crate) fn visit(
        &self,
        visit: &mut dyn FnMut(Records<'_>) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let mut cursor = LayerCursor::new(self.place.width, &self.place.budget)?;
        for stage in self.stages.clone() {
            cursor.open(self.store, stage)?;
            while let Some(records) = cursor.next_keys(self.store)? {
                visit(records)?;
            }
        }
        Ok(())
    }
}
