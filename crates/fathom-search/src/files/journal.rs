//! How does a search last whose known states are in RAM?
//!
//! Its closed layers are coded as the layer log codes them, so they are copied block by block. A commit names the log alone; whoever takes it up makes the known
//! states of the layers: in RAM again if they fit there, else as runs (`from_layers`).
//!
//! Memory: two blocks of the log, and two more while layers are read. I/O: every layer is written once.

use std::time::{Duration, Instant};

use fathom_disk::budget::Budget;
use fathom_disk::run::Tag;
use fathom_disk::sabotage::is_chosen;
use fathom_disk::storage::{Phase, Volume};
use fathom_model::record::Records;
use fathom_model::shape::Shape;

use super::commits::{Commits, live_bytes_of};
use super::cursor::Cursor;
use super::disk_use::DiskUse;
use super::layer_store::{LayerCursor, LayerStore};
use super::place::Place;
use crate::error::SearchError;
use crate::stores::layers::Layers;
use crate::stores::{Layered, key_width};

/// The layers of a search, on disk, and nothing else of it.
#[derive(Debug)]
pub(crate) struct Journal {
    stored: StoredLayers,
}

/// A journal, and the boundary of the commit that it was taken up from.
pub(crate) type Opened = (Journal, Option<Vec<u8>>);

/// How a journal is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalOptions {
    /// What files are marked with.
    pub(crate) tag: Tag,
    /// How long to wait between commits, at least.
    pub(crate) commit_every: Duration,
    /// Bytes in a block of the layer log.
    pub(crate) log_block_bytes: usize,
}

/// The layers that a commit names, to be looked at.
#[derive(Debug)]
pub struct StoredLayers {
    commits: Commits,
    place: Place,
    store: LayerStore,
    may_repeat: bool,
}

impl Journal {
    /// Takes up what is committed in the volume, with its boundary, or begins with nothing. None if the known states are on disk, too: then an
    /// engine that has them there takes them up.
    pub(crate) fn open(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        options: JournalOptions,
    ) -> Result<Option<Opened>, SearchError> {
        let commits = Commits::open(volume, budget, options.tag, options.commit_every)?;
        if let Some(committed) = commits.committed()? {
            if committed.cursor.shards > 0 {
                return Ok(None);
            }
            let (stored, boundary) = StoredLayers::of(commits, committed.cursor, budget, shape)?;
            return Ok(Some((Journal { stored }, Some(boundary))));
        }
        let place = Place::new(volume, budget, key_width(shape)?, options.tag, 0);
        let log_block_bytes = options.log_block_bytes;
        commits.set_ballast(log_block_bytes)?;
        let store = LayerStore::new(volume, &place.fresh_name("layers"), log_block_bytes, budget)?;
        Ok(Some((Journal { stored: StoredLayers { commits, place, store, may_repeat: false } }, None)))
    }

    /// Whether it is time for the next commit.
    pub(crate) fn is_due(&self) -> bool {
        self.stored.commits.is_due()
    }

    /// Makes a boundary of a search in RAM last.
    pub(crate) fn commit(&mut self, layers: &Layers, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("commit");
        let began = Instant::now();
        self.append(layers)?;
        let StoredLayers { commits, store, .. } = &mut self.stored;
        commits.commit(began, (0, Vec::new()), store, boundary)
    }

    /// Copies the layers that are not there yet.
    fn append(&mut self, layers: &Layers) -> Result<(), SearchError> {
        let store = &mut self.stored.store;
        let lost = usize::from(is_chosen("journal"));
        for layer in store.layer_count() as usize..layers.count().saturating_sub(lost) {
            let blocks = layers.blocks(layer);
            if blocks == 0 {
                // Behind the last layer: the search is complete.
                break;
            }
            let mut outcome = Ok(());
            layers.for_each_block(layer, &mut |keys, payload| {
                if outcome.is_ok() {
                    outcome = store.append(keys, payload);
                }
            });
            outcome?;
            store.close()?;
        }
        Ok(())
    }

    /// The layers there are.
    pub(crate) fn layers(&self) -> &StoredLayers {
        &self.stored
    }

    /// What files hold.
    pub(crate) fn disk_use(&self) -> DiskUse {
        self.stored.disk_use()
    }
}

impl StoredLayers {
    /// The layers of the last commit, and the boundary it stands for. None if nothing is committed.
    pub fn open(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        tag: Tag,
    ) -> Result<Option<(StoredLayers, Vec<u8>)>, SearchError> {
        let commits = Commits::open(volume, budget, tag, Duration::MAX)?;
        let Some(cursor) = commits.cursor()? else { return Ok(None) };
        if cursor.stages.is_some() {
            return Err(SearchError::NoLayers);
        }
        StoredLayers::of(commits, cursor, budget, shape).map(Some)
    }

    /// Whether a state may be in several of them.
    pub fn may_repeat(&self) -> bool {
        self.may_repeat
    }

    /// The log of a search that is over.
    pub(crate) fn of_search(commits: Commits, place: Place, store: LayerStore) -> StoredLayers {
        StoredLayers { commits, place, store, may_repeat: false }
    }

    fn of(
        commits: Commits,
        cursor: Cursor,
        budget: &Budget,
        shape: &Shape,
    ) -> Result<(StoredLayers, Vec<u8>), SearchError> {
        let Some(manifest) = commits.manifest() else { return Err(SearchError::Boundary) };
        let place = Place::new(commits.volume(), budget, key_width(shape)?, manifest.tag, manifest.sequence);
        let store = cursor.open_layers(&place.volume, budget)?;
        let may_repeat = cursor.visits.is_some();
        Ok((StoredLayers { commits, place, store, may_repeat }, cursor.boundary))
    }

    /// Visits the states of all layers in order, and after each layer nothing.
    pub(crate) fn visit_all(
        &self,
        visit: &mut dyn FnMut(Option<Records<'_>>) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let mut cursor = LayerCursor::new(self.place.width, &self.place.budget)?;
        for layer in 0..self.store.layer_count() {
            cursor.open(&self.store, layer)?;
            while let Some(records) = cursor.next_keys(&self.store)? {
                visit(Some(records))?;
            }
            visit(None)?;
        }
        Ok(())
    }

    /// Visits the states of a layer in order. False if it was dropped.
    pub fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        Ok(self.store.visit(layer, &self.place, visit)?)
    }

    /// What files hold.
    pub fn disk_use(&self) -> DiskUse {
        let runs = self.commits.manifest().into_iter().flat_map(|manifest| &manifest.files);
        let (mut closed_set, mut at_rest) = (0, None);
        for file in runs.filter(|file| !file.grows) {
            let live_bytes = live_bytes_of(&file.note);
            at_rest = at_rest.or(live_bytes.map(|_| file.bytes));
            closed_set += live_bytes.unwrap_or(file.bytes);
        }
        let layers = self.store.disk_bytes();
        DiskUse { closed_set, at_rest, layers, peak: closed_set + layers }
    }
}

impl Layered for StoredLayers {
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        StoredLayers::visit_layer(self, layer, visit)
    }
}
