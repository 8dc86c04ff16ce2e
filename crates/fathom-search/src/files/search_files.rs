//! What are the files of a search that keeps the known states in runs and the layers in a log, and how do they last?
//!
//! What every engine of this kind has beside its own way of telling new states from known ones: where it is, the layer that is handed out, what it takes, and when and how a boundary is committed.

use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use fathom_disk::error::DiskError;
use fathom_disk::manifest::{CommittedFile, Named};
use fathom_disk::run::Run;
use fathom_model::record::{RecordBuffer, Records};

use super::at_rest::AtRest;
use super::commits::Commits;
use super::disk_use::{DiskMeter, DiskUse};
use super::frontier::Frontier;
use super::layer_store::LayerStore;
use super::lock;
use super::place::Place;
use crate::error::SearchError;

/// The files, and what is known of them.
#[derive(Debug)]
pub(crate) struct SearchFiles {
    pub(crate) place: Place,
    commits: Commits,
    frontier: Mutex<Frontier>,
    /// The closed set of a search that is over.
    at_rest: Option<AtRest>,
    disk_meter: DiskMeter,
}

/// A part of the known states, in runs.
pub(crate) trait InRuns {
    /// Its runs that the next commit is to name, with their levels.
    fn lasting_runs(&self) -> impl Iterator<Item = (usize, &Run)>;

    /// Names of runs that were merged away since the last call.
    fn retired(&mut self) -> Vec<String>;

    /// Bytes of all its runs.
    fn disk_bytes(&self) -> u64;
}

/// What a boundary asks for.
pub(crate) struct Due {
    /// Whether it is to be committed.
    pub(crate) commit: bool,
    /// Why the search ends there, if the files take too much.
    pub(crate) over_limit: Option<SearchError>,
}

impl SearchFiles {
    /// Those of a search with these layers. Layers before `keep_from` are dropped once they were expanded; files may take so many bytes, if there is a limit.
    pub(crate) fn new(
        place: Place,
        commits: Commits,
        mut store: LayerStore,
        (keep_from, disk_limit): (u64, Option<u64>),
    ) -> Result<SearchFiles, DiskError> {
        store.drop_before(keep_from);
        let frontier = Mutex::new(Frontier::new(&place, store)?);
        Ok(SearchFiles { place, commits, frontier, at_rest: None, disk_meter: DiskMeter::new(disk_limit) })
    }

    /// The layers, and how far the last one is handed out.
    pub(crate) fn frontier(&self) -> MutexGuard<'_, Frontier> {
        lock(&self.frontier)
    }

    /// Whether the closed set is at rest: then no layer can be closed any more.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.at_rest.is_some()
    }

    /// Takes up a closed set that was committed at rest: its run, and what the set took before.
    pub(crate) fn take_up_at_rest(&mut self, (name, live_bytes): (String, u64)) -> Result<(), DiskError> {
        self.at_rest = Some(AtRest { run: self.place.open_run(&name)?, live_bytes });
        Ok(())
    }

    /// From now on the closed set, which took so much, is this run.
    pub(crate) fn rest(&mut self, run: Run, live_bytes: u64, peak: u64) {
        self.disk_meter.note_peak(peak + run.bytes());
        self.at_rest = Some(AtRest { run, live_bytes });
    }

    /// Whether no layer was dropped.
    pub(crate) fn keep_all_layers(&self) -> bool {
        self.frontier().store.first() == 0
    }

    /// What files hold and have held.
    pub(crate) fn disk_use(&self, shards: &[Mutex<impl InRuns>]) -> DiskUse {
        let layers = self.frontier().store.disk_bytes();
        if let Some(AtRest { run, live_bytes }) = &self.at_rest {
            return self.disk_meter.with(*live_bytes, Some(run.bytes()), layers);
        }
        let closed_set = shards.iter().map(|shard| lock(shard).disk_bytes()).sum();
        self.disk_meter.with(closed_set, None, layers)
    }

    /// Closes the layer being written, of so many states, and removes what nobody needs any more. Files of candidates take so much beside.
    pub(crate) fn close(
        &mut self,
        states: u64,
        shards: &[Mutex<impl InRuns>],
        beside: u64,
    ) -> Result<(), SearchError> {
        self.frontier().close(states)?;
        self.remove_retired(shards)?;
        let DiskUse { closed_set, layers, .. } = self.disk_use(shards);
        self.disk_meter.note(closed_set + layers + beside);
        Ok(())
    }

    /// Hands out states of the last layer: up to so many, none at its end.
    pub(crate) fn next_batch(&self, records: usize, batch: &mut RecordBuffer) -> Result<(), SearchError> {
        Ok(self.frontier().next_batch(records, batch)?)
    }

    /// Visits the states of a layer; false if they were dropped.
    pub(crate) fn visit_layer(
        &self,
        layer: u64,
        visit: &mut dyn FnMut(Records<'_>),
    ) -> Result<bool, SearchError> {
        Ok(self.frontier().store.visit(layer, &self.place, visit)?)
    }

    /// What a boundary asks for: of a search that goes on from there at once, or ends.
    pub(crate) fn due(&self, goes_on: bool) -> Due {
        let over_limit = self.disk_meter.above_limit().filter(|_| goes_on);
        if self.is_at_rest() {
            // It was over when it was taken up.
            return Due { commit: false, over_limit: None };
        }
        Due { commit: !goes_on || over_limit.is_some() || self.commits.is_due(), over_limit }
    }

    /// Makes everything up to the last closed layer last: the runs of all shards, or the closed set at rest, and the layers. It was `began` when the first file was written for it.
    pub(crate) fn commit(
        &mut self,
        began: Instant,
        shards: &[Mutex<impl InRuns>],
        boundary: &[u8],
    ) -> Result<(), SearchError> {
        self.remove_retired(shards)?;
        let mut files = Vec::new();
        match &self.at_rest {
            Some(at_rest) => files.push(Commits::name_at_rest(at_rest)),
            None => {
                for (number, shard) in shards.iter().enumerate() {
                    for (level, run) in lock(shard).lasting_runs() {
                        files.push(self.commits.name_run(number, level, run)?);
                    }
                }
            }
        }
        let store = &mut lock(&self.frontier).store;
        self.commits.commit(began, (shards.len(), files), store, boundary)
    }

    /// The same for a search that may visit a state twice, with these files and what its engine says of itself, unless the closed set is at rest.
    pub(crate) fn commit_visits(
        &mut self,
        began: Instant,
        shards: &[Mutex<impl InRuns>],
        (own, files): (Vec<u8>, Vec<Named>),
        boundary: &[u8],
    ) -> Result<(), SearchError> {
        self.remove_retired(shards)?;
        let files = self.at_rest.as_ref().map_or(files, |at_rest| vec![Commits::name_at_rest(at_rest)]);
        let store = &mut lock(&self.frontier).store;
        self.commits.commit_visits(began, (own, files), store, boundary)
    }

    /// What a commit is to say of a run, which lasts from now on.
    pub(crate) fn name_run(&self, run: &Run, note: Vec<u8>) -> Result<Named, SearchError> {
        self.commits.make_last(run)?;
        Ok(Named { name: run.name().to_owned(), grows: false, note })
    }

    /// The files that the last commit names.
    pub(crate) fn committed_files(&self) -> Vec<CommittedFile> {
        self.commits.manifest().map_or(Vec::new(), |manifest| manifest.files.clone())
    }

    /// Removes runs that were merged away and layers that were dropped.
    fn remove_retired(&self, shards: &[Mutex<impl InRuns>]) -> Result<(), SearchError> {
        let mut names = self.frontier().store.retired();
        shards.iter().for_each(|shard| names.extend(lock(shard).retired()));
        Ok(self.commits.remove_retired(&names)?)
    }
}
