//! What has a finished search left on its volume?
//!
//! The layers that states were found in; and sorted runs, disjoint, which are all states, unless the search was in RAM. The engine that made them is gone, with its filter, window and buffers: all memory is free for what
//! comes next.
//!
//! Memory: names. While layers or states are visited, that of reading them.

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::manifest::RunDirectory;
use fathom_disk::run::{Run, Scan, Tag};
use fathom_disk::set::{KeyStream, Merge};
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::shape::Shape;

use super::closed_set::{Reached, sort_layers};
use super::cursor::Cursor;
use super::layer_store::LayerCursor;
use crate::error::SearchError;
use crate::stores::key_width;
use crate::task::Observer;

/// The states and layers of a search that has come to its end.
#[derive(Debug)]
pub struct Finished {
    /// Holds the lock.
    directory: RunDirectory,
    cursor: Cursor,
    width: KeyWidth,
    tag: Tag,
    budget: Budget,
}

/// Keys handed out at once.
const CHUNK_KEYS: usize = 512;

impl Finished {
    /// What is committed on a volume, whether that is a finished search or not. None if nothing is.
    pub fn open(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        tag: Tag,
    ) -> Result<Option<Finished>, SearchError> {
        Finished::of(volume, budget, key_width(shape)?, tag)
    }

    pub(crate) fn of(
        volume: &Volume,
        budget: &Budget,
        width: KeyWidth,
        tag: Tag,
    ) -> Result<Option<Finished>, SearchError> {
        let directory = RunDirectory::open_within(volume, tag, budget)?;
        let Some(manifest) = directory.committed() else { return Ok(None) };
        let cursor = Cursor::parse(&manifest.cursor)?;
        Ok(Some(Finished { directory, cursor, width, tag, budget: budget.clone() }))
    }

    /// The volume that the files are on.
    pub fn volume(&self) -> &Volume {
        self.directory.volume()
    }

    /// The boundary of the layer loop that was committed last.
    pub fn boundary(&self) -> &[u8] {
        &self.cursor.boundary
    }

    fn runs(&self) -> Result<Vec<Run>, DiskError> {
        let files = self.directory.committed().map_or(&[][..], |manifest| &manifest.files);
        let names = files.iter().filter(|file| !file.grows).map(|file| &file.name);
        names.map(|name| Run::open(self.volume(), &self.budget, name, self.width, self.tag)).collect()
    }
}

impl Reached for Finished {
    fn layer_count(&self) -> u64 {
        self.cursor.layers
    }

    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<(), SearchError> {
        let store = self.cursor.open_layers(self.volume(), &self.budget)?;
        let mut cursor = LayerCursor::new(self.width, &self.budget)?;
        cursor.open(&store, layer)?;
        while let Some(records) = cursor.next_keys(&store)? {
            visit(records);
        }
        Ok(())
    }

    fn visit_sorted(
        &self,
        volume: &Volume,
        budget: &Budget,
        observer: &dyn Observer,
        bytes: usize,
        visit: &mut dyn FnMut(&[u64]) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let (runs, words) = (self.runs()?, self.width.words());
        if runs.is_empty() {
            // A search in RAM has left its layers alone.
            return sort_layers(self, self.width, (volume, budget), observer, bytes, visit);
        }
        let share = bytes / (runs.len() + 1);
        let scans = runs.iter().map(|run| Scan::new(run, budget, share)).collect::<Result<Vec<_>, _>>()?;
        let mut merged = Merge::new(budget, words, scans, CHUNK_KEYS.min(share / (words * 8)).max(1))?;
        while merged.advance()? {
            visit(merged.keys())?;
        }
        Ok(())
    }
}
