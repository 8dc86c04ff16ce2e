//! How far is the layer that is expanded handed out, and where do its successors go?

use fathom_disk::error::DiskError;
use fathom_model::record::RecordBuffer;

use super::layer_store::{LayerCursor, LayerStore};
use super::place::Place;

/// The layers, and how far the last closed one is handed out.
#[derive(Debug)]
pub(crate) struct Frontier {
    pub(crate) store: LayerStore,
    cursor: LayerCursor,
}

impl Frontier {
    /// These layers; none is handed out yet.
    pub(crate) fn new(place: &Place, store: LayerStore) -> Result<Frontier, DiskError> {
        Ok(Frontier { cursor: LayerCursor::new(place.width, &place.budget)?, store })
    }

    /// Hands the last layer out, from its beginning.
    pub(crate) fn rewind(&mut self) -> Result<(), DiskError> {
        match self.store.layer_count().checked_sub(1) {
            Some(last) => self.cursor.open(&self.store, last),
            None => Ok(()),
        }
    }

    /// Closes the layer being written, of so many states, unless there are none: it is handed out next.
    pub(crate) fn close(&mut self, states: u64) -> Result<(), DiskError> {
        if states > 0 {
            assert_eq!(self.store.close()?, states, "the layer has what was found new");
            self.rewind()?;
        }
        Ok(())
    }

    /// Fills `batch` with up to so many states that were not handed out yet; empty at the end of the layer.
    pub(crate) fn next_batch(&mut self, records: usize, batch: &mut RecordBuffer) -> Result<(), DiskError> {
        batch.clear();
        self.cursor.take(&self.store, records, batch)
    }
}
