//! Which records were inserted, when all of them fit in memory?

use fathom_disk::budget::Budget;
use fathom_disk::table::Table;
use fathom_model::record::Records;

use super::visited::{Colour, Insertion, StoreFigures, Visited};
use crate::error::SearchError;

/// Every record, exactly, in RAM.
#[derive(Debug)]
pub struct ExactSet(Table);

impl ExactSet {
    /// An empty set of records of so many bits.
    ///
    /// # Errors
    /// If the least table does not fit.
    pub fn new(bits: u32, budget: &Budget) -> Result<ExactSet, SearchError> {
        Ok(ExactSet(Table::new(bits, budget)?))
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Visited for ExactSet {
    fn insert_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        new: &mut Vec<u32>,
    ) -> Result<Insertion, SearchError> {
        Ok(match self.0.insert_batch(records.words(), new) {
            Ok(()) => Insertion::All,
            Err(full) => Insertion::Full { taken: full.done, reason: full.reason },
        })
    }

    fn contains_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        present: &mut Vec<u32>,
    ) -> Result<(), SearchError> {
        self.0.contains_batch(records.words(), present);
        Ok(())
    }

    fn figures(&self) -> StoreFigures {
        StoreFigures {
            records: self.0.len() as u64,
            memory: self.0.bytes() as u64,
            ..StoreFigures::default()
        }
    }
}
