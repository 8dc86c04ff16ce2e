//! How is a boundary made to last, and what does the last commit say?
//!
//! Files: the runs of the known states, each with shard and level in its note, or the one run of a closed set at rest, with what it took before; and the log of layers, which may grow until the
//! next commit. Beside them stands the [`Cursor`]. All engines that keep runs and layers commit the same way, so one can go on with what another began.

use std::time::{Duration, Instant};

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::manifest::{Manifest, Named, RunDirectory};
use fathom_disk::run::{Run, Tag};
use fathom_disk::sabotage::is_chosen;
use fathom_disk::storage::Volume;

use super::at_rest::AtRest;
use super::clock::Clock;
use super::cursor::Cursor;
use super::layer_store::LayerStore;
use crate::bytes::Reader;
use crate::error::SearchError;

/// What the note of a closed set at rest begins with, in place of shard and level.
const AT_REST: u64 = u64::MAX;
/// Room that is set aside, in blocks of the layer log.
const BALLAST_BLOCKS: u64 = 4;
/// Levels grow with the logarithm of what is known: more make no sense.
const LEVELS_MAX: usize = 64;

/// What commits, and when.
#[derive(Debug)]
pub(crate) struct Commits {
    directory: RunDirectory,
    clock: Clock,
}

/// What a commit says.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) cursor: Cursor,
    pub(crate) runs: Vec<CommittedRun>,
    /// The one run of a closed set at rest, and what the set took before.
    pub(crate) at_rest: Option<(String, u64)>,
}

/// A run of the known states.
#[derive(Debug)]
pub(crate) struct CommittedRun {
    pub(crate) name: String,
    pub(crate) shard: usize,
    pub(crate) level: usize,
}

impl Commits {
    /// Takes the lock of a volume whose files are marked like that. Commits are due so often, at most.
    pub(crate) fn open(
        volume: &Volume,
        budget: &Budget,
        tag: Tag,
        every: Duration,
    ) -> Result<Commits, SearchError> {
        Ok(Commits { directory: RunDirectory::open_within(volume, tag, budget)?, clock: Clock::new(every) })
    }

    /// What the last commit says beside its files; none if there was none.
    pub(crate) fn cursor(&self) -> Result<Option<Cursor>, SearchError> {
        self.manifest().map(|manifest| Cursor::parse(&manifest.cursor)).transpose()
    }

    /// What the last commit of a search by layers says; none if there was none.
    pub(crate) fn committed(&self) -> Result<Option<Committed>, SearchError> {
        self.directory.committed().map(Committed::of).transpose()
    }

    /// The volume that the files are on.
    pub(crate) fn volume(&self) -> &Volume {
        self.directory.volume()
    }

    /// The manifest of the last commit.
    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.directory.committed()
    }

    /// The number of the last commit; 0 if there was none.
    pub(crate) fn sequence(&self) -> u64 {
        self.manifest().map_or(0, |manifest| manifest.sequence)
    }

    /// Sets room aside that is given up when the device is full, so that the last manifest fits.
    pub(crate) fn set_ballast(&self, log_block_bytes: usize) -> Result<(), DiskError> {
        self.directory.set_ballast(BALLAST_BLOCKS * log_block_bytes as u64)
    }

    /// Whether it is time for the next commit.
    pub(crate) fn is_due(&self) -> bool {
        self.clock.is_due()
    }

    /// Removes files that nobody needs any more, those that the last commit names aside: they go with the next one.
    pub(crate) fn remove_retired(&self, names: &[String]) -> Result<(), DiskError> {
        for name in names.iter().filter(|name| !self.names(name)) {
            self.directory.volume().remove(name)?;
        }
        Ok(())
    }

    fn names(&self, name: &str) -> bool {
        self.manifest().is_some_and(|manifest| manifest.names(name))
    }

    /// What a commit is to say of a run of the known states, which lasts from now on.
    pub(crate) fn name_run(&self, shard: usize, level: usize, run: &Run) -> Result<Named, DiskError> {
        let name = run.name().to_owned();
        self.make_last(run)?;
        let mut note = (shard as u32).to_le_bytes().to_vec();
        note.extend_from_slice(&(level as u32).to_le_bytes());
        Ok(Named { name, grows: false, note })
    }

    /// Makes a run last, unless the last commit names it.
    pub(crate) fn make_last(&self, run: &Run) -> Result<(), DiskError> {
        match self.names(run.name()) || is_chosen("run-sync") {
            true => Ok(()),
            false => run.sync(),
        }
    }

    /// What a commit is to say of a closed set at rest.
    pub(crate) fn name_at_rest(AtRest { run, live_bytes }: &AtRest) -> Named {
        let mut note = AT_REST.to_le_bytes().to_vec();
        note.extend_from_slice(&live_bytes.to_le_bytes());
        Named { name: run.name().to_owned(), grows: false, note }
    }

    /// Makes a boundary last: the layers, and so many shards of known states in these files; 0 if these are in RAM. It was `began` when the first file was written for it.
    pub(crate) fn commit(
        &mut self,
        began: Instant,
        known: (usize, Vec<Named>),
        store: &mut LayerStore,
        boundary: &[u8],
    ) -> Result<(), SearchError> {
        self.commit_log(began, known, store, (None, None), boundary)
    }

    /// The same for a search whose stages are no layers: its files, and what its engine says of itself.
    pub(crate) fn commit_stages(
        &mut self,
        began: Instant,
        (stages, files): (Vec<u8>, Vec<Named>),
        store: &mut LayerStore,
        boundary: &[u8],
    ) -> Result<(), SearchError> {
        self.commit_log(began, (0, files), store, (Some(stages), None), boundary)
    }

    /// The same for a search by layers that may visit a state twice.
    pub(crate) fn commit_visits(
        &mut self,
        began: Instant,
        (own, files): (Vec<u8>, Vec<Named>),
        store: &mut LayerStore,
        boundary: &[u8],
    ) -> Result<(), SearchError> {
        self.commit_log(began, (0, files), store, (None, Some(own)), boundary)
    }

    fn commit_log(
        &mut self,
        began: Instant,
        (shards, mut files): (usize, Vec<Named>),
        store: &mut LayerStore,
        (stages, visits): (Option<Vec<u8>>, Option<Vec<u8>>),
        boundary: &[u8],
    ) -> Result<(), SearchError> {
        let mark = store.mark()?;
        let log = |name: &str| Named { name: name.to_owned(), grows: true, note: Vec::new() };
        files.extend(store.file_names().map(log));
        let cursor = Cursor {
            shards,
            log_block_bytes: store.block_bytes(),
            mark,
            first: store.first(),
            layers: store.layer_count(),
            log_name: store.name().to_owned(),
            stages,
            visits,
            boundary: boundary.to_vec(),
        };
        self.directory.commit(&cursor.to_bytes(), &files)?;
        self.clock.committed(began.elapsed());
        Ok(())
    }
}

impl Committed {
    fn of(manifest: &Manifest) -> Result<Committed, SearchError> {
        let cursor = Cursor::parse(&manifest.cursor)?;
        if cursor.stages.is_some() {
            return Err(SearchError::NoLayers);
        }
        if cursor.visits.is_some() {
            return Err(SearchError::Visits);
        }
        let (mut runs, mut at_rest) = (Vec::new(), None);
        for file in manifest.files.iter().filter(|file| !file.grows) {
            let name = file.name.clone();
            match live_bytes_of(&file.note) {
                Some(live_bytes) => at_rest = Some((name, live_bytes)),
                None => runs.push(CommittedRun::of(name, &file.note, cursor.shards)?),
            }
        }
        Ok(Committed { cursor, runs, at_rest })
    }
}

impl CommittedRun {
    fn of(name: String, note: &[u8], shards: usize) -> Result<CommittedRun, SearchError> {
        let note: [u8; 8] = note.try_into().map_err(|_| SearchError::Boundary)?;
        let [shard, level] = [&note[..4], &note[4..]]
            .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize);
        let makes_sense = shard < shards && level < LEVELS_MAX;
        makes_sense.then_some(CommittedRun { name, shard, level }).ok_or(SearchError::Boundary)
    }
}

/// What a closed set at rest took before, if this is the note of one.
pub(crate) fn live_bytes_of(note: &[u8]) -> Option<u64> {
    let mut note = Reader(note);
    (note.u64()? == AT_REST).then(|| note.u64())?
}
