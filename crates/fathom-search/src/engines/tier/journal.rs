//! How does a search last whose known states are in RAM?
//!
//! Its closed layers are coded as the layer log codes them, so they are copied block by block. A commit names the log alone; whoever takes it up makes the known
//! states of the layers: in RAM again if they fit there, else as runs (`from_layers`).
//!
//! Memory: two blocks of the log, and two more while layers are read. I/O: every layer is written once.

use fathom_disk::budget::Budget;
use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::run::Tag;
use fathom_disk::sabotage::is_chosen;
use fathom_disk::storage::{Phase, Volume};
use fathom_model::record::Records;
use fathom_model::shape::Shape;

use super::allotment::Allotment;
use super::commit::{live_bytes_of, set_ballast};
use super::layer_store::{LayerCursor, LayerStore};
use super::place::Place;
use super::{DiskUse, Options};
use crate::bodies::stages::{CheckpointReason, StagePolicy, close_alone};
use crate::error::SearchError;
use crate::files::clock::Clock;
use crate::files::cursor::Cursor;
use crate::stores::key_width;
use crate::stores::layers::Layers;

/// The layers of a search, on disk, and nothing else of it.
#[derive(Debug)]
pub(in crate::engines) struct Journal {
    stored: StoredLayers,
    clock: Clock,
}

/// A journal, and the boundary of the commit that it was taken up from.
pub(in crate::engines) type Opened = (Journal, Option<Vec<u8>>);

/// The layers that a commit names, to be looked at.
#[derive(Debug)]
pub struct StoredLayers {
    directory: RunDirectory,
    place: Place,
    store: LayerStore,
}

impl Journal {
    /// Takes up what is committed in the volume, with its boundary, or begins with nothing. None if the known states are on disk, too: then it is
    /// [`super::Tier`] that takes them up.
    pub(in crate::engines) fn open(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        threads: usize,
        options: &Options,
    ) -> Result<Option<Opened>, SearchError> {
        let clock = Clock::new(options.commit_every);
        let directory = RunDirectory::open(volume, options.tag)?;
        if let Some(manifest) = directory.committed() {
            let cursor = Cursor::parse(&manifest.cursor)?;
            if cursor.shards > 0 {
                return Ok(None);
            }
            let (stored, boundary) = StoredLayers::of(directory, budget, shape, cursor)?;
            return Ok(Some((Journal { stored, clock }, Some(boundary))));
        }
        let place = Place::new(volume, budget, key_width(shape)?, options.tag, 0);
        let shares = Allotment::of(budget, threads).shares(options, place.width);
        set_ballast(&directory, &shares)?;
        let log_block_bytes = shares.log_block_bytes;
        let store = LayerStore::new(volume, &place.fresh_name("layers"), log_block_bytes, budget)?;
        let stored = StoredLayers { directory, place, store };
        Ok(Some((Journal { stored, clock }, None)))
    }

    /// Makes a boundary of a search in RAM last, if it is time for that.
    pub(in crate::engines) fn checkpoint(
        &mut self,
        layers: &Layers,
        boundary: &dyn Fn() -> Vec<u8>,
        reason: CheckpointReason,
    ) -> Result<(), SearchError> {
        if reason == CheckpointReason::Passing && !self.clock.is_due() {
            return Ok(());
        }
        self.commit(layers, boundary())
    }

    /// Makes a boundary of a search in RAM last.
    pub(in crate::engines) fn commit(
        &mut self,
        layers: &Layers,
        boundary: Vec<u8>,
    ) -> Result<(), SearchError> {
        let _phase = Phase::enter("commit");
        let began = std::time::Instant::now();
        self.append(layers)?;
        let StoredLayers { directory, store, .. } = &mut self.stored;
        let mark = store.mark()?;
        let name = |name: &str| Named { name: name.to_owned(), grows: true, note: Vec::new() };
        let files: Vec<Named> = store.file_names().map(name).collect();
        let cursor = Cursor {
            shards: 0,
            log_block_bytes: store.block_bytes(),
            mark,
            first: store.first(),
            layers: store.layer_count(),
            log_name: store.name().to_owned(),
            boundary,
        };
        directory.commit(&cursor.to_bytes(), &files)?;
        self.clock.committed(began.elapsed());
        Ok(())
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

    /// Makes the layers those of a policy that has none yet.
    pub(in crate::engines) fn restore<P: StagePolicy>(&self, policy: &mut P) -> Result<(), SearchError> {
        let StoredLayers { store, place, .. } = &self.stored;
        let mut worker = policy.worker()?;
        let mut cursor = LayerCursor::new(place.width, &place.budget)?;
        for layer in 0..store.layer_count() {
            cursor.open(store, layer)?;
            while let Some(records) = cursor.next_keys(store)? {
                policy.offer(&mut worker, records)?;
            }
            policy.flush(&mut worker)?;
            close_alone(policy, &mut worker)?;
        }
        Ok(())
    }

    /// What files hold.
    pub(in crate::engines) fn disk_use(&self) -> DiskUse {
        self.stored.disk_use()
    }
}

impl StoredLayers {
    /// The layers of the last commit of `tier` or `auto`, and the boundary it stands for. None if nothing is committed.
    pub fn open(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        tag: Tag,
    ) -> Result<Option<(StoredLayers, Vec<u8>)>, SearchError> {
        let directory = RunDirectory::open(volume, tag)?;
        let Some(manifest) = directory.committed() else { return Ok(None) };
        let cursor = Cursor::parse(&manifest.cursor)?;
        StoredLayers::of(directory, budget, shape, cursor).map(Some)
    }

    fn of(
        directory: RunDirectory,
        budget: &Budget,
        shape: &Shape,
        cursor: Cursor,
    ) -> Result<(StoredLayers, Vec<u8>), SearchError> {
        let (tag, sequence) =
            directory.committed().map_or((Tag::default(), 0), |manifest| (manifest.tag, manifest.sequence));
        let place = Place::new(directory.volume(), budget, key_width(shape)?, tag, sequence);
        let Cursor { log_block_bytes, mark, first, layers, log_name, boundary, .. } = cursor;
        let store = LayerStore::resume(&place.volume, &log_name, first, log_block_bytes, mark, budget)?;
        if store.layer_count() != layers {
            return Err(SearchError::Boundary);
        }
        Ok((StoredLayers { directory, place, store }, boundary))
    }

    /// Visits the states of a layer in order. False if it was dropped.
    pub fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        Ok(self.store.visit(layer, &self.place, visit)?)
    }

    /// What files hold.
    pub fn disk_use(&self) -> DiskUse {
        let runs = self.directory.committed().into_iter().flat_map(|manifest| &manifest.files);
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
