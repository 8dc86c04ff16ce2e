//! Which engine searches breadth-first, and what is left of its search? The one place that gives a system to an engine of that kind.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::run::Tag;
use fathom_disk::storage::{IoCounts, Volume};
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;
use fathom_search::bodies::stages;
use fathom_search::engines::auto;
use fathom_search::engines::positions::PositionTable;
use fathom_search::engines::ram::RamTable;
use fathom_search::engines::retrace;
use fathom_search::engines::stern_dill::{self, SternDill};
use fathom_search::engines::tier::{self, Plan};
use fathom_search::error::SearchError;
use fathom_search::files::disk_use::DiskUse;
use fathom_search::files::journal::StoredLayers;
use fathom_search::stores::Layered;
use fathom_search::task::{self, Observer, Outcome};
use fathom_search::traces::path::{Path as RunPath, Room};
use fathom_search::traces::trace;

use crate::engines::figures::{CostFigures, DiskFigures, IoFigures};
use crate::folder::disk_settings::DiskSettings;
use crate::folder::home::Home;
use crate::folder::scratch::{PARENT, Scratch};
use crate::limit::Limit;

/// An engine that searches breadth-first, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerEngine {
    /// A compact table.
    Ram,
    /// A table that knows how far back steps lead, for three times the memory.
    Positions,
    /// `Ram` until memory ends, then `Tier` from there on.
    Auto(Plan),
    /// Sorted runs on disk.
    Tier(Plan),
    /// All states on disk, read for every layer.
    SternDill,
}

/// The states that a breadth-first search has kept, layer by layer.
#[derive(Debug)]
pub enum Kept {
    /// By `ram`.
    Ram(Box<RamTable>),
    /// By `positions`.
    Positions(PositionTable),
    /// By `auto` and `tier`.
    OnDisk(auto::Kept),
    /// By `stern-dill`.
    SternDill(Box<SternDill>),
    /// What was committed by a run that could not go on.
    Committed(Option<Box<StoredLayers>>),
    /// Not kept. Searches for a path go to a folder under this one, or to memory.
    Dropped(Option<PathBuf>),
}

/// What came of a breadth-first search.
#[derive(Debug)]
pub struct Searched {
    /// The engine that searched; of several, the one that ended it.
    pub engine: &'static str,
    /// The states, for paths.
    pub kept: Kept,
    /// What was found out. If `gave_up`, up to the last commit.
    pub outcome: Outcome,
    /// Why the machine could not go on, if that is why it ended.
    pub gave_up: Option<Limit>,
    /// What files took, and the operations on them, if there are files.
    pub disk: Option<(DiskFigures, Vec<IoFigures>)>,
    /// Where the time went.
    pub cost: Option<CostFigures>,
}

impl LayerEngine {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            LayerEngine::Ram => "ram",
            LayerEngine::Positions => "positions",
            LayerEngine::Auto(_) => "auto",
            LayerEngine::Tier(_) => "tier",
            LayerEngine::SternDill => "stern-dill",
        }
    }

    /// Whether its runs can last: be gone on with, and leave certificates.
    pub fn lasts(self) -> bool {
        self.is_on_disk() || matches!(self, LayerEngine::Auto(_))
    }

    /// Whether its states are on disk from the start.
    pub fn is_on_disk(self) -> bool {
        matches!(self, LayerEngine::Tier(_) | LayerEngine::SternDill)
    }

    /// Searches a system. Runs that can last live in `home`; without one their files live in memory and nothing lasts.
    pub fn search(
        self,
        system: &dyn TransitionSystem,
        budget: &Budget,
        settings: &task::Settings,
        observer: &dyn Observer,
        home: Option<&Home>,
    ) -> Result<Searched, SearchError> {
        let task = Task { system, budget, settings, observer };
        let (kept, outcome) = match self {
            LayerEngine::Ram => {
                let mut table = RamTable::new(system.shape(), budget, settings.threads)?;
                let outcome = stages::run(system, &mut table, budget, settings, observer)?;
                (Kept::Ram(Box::new(table)), outcome)
            }
            LayerEngine::Positions => {
                let mut table = PositionTable::new(system.shape(), budget, settings.threads)?;
                let outcome = stages::run(system, &mut table, budget, settings, observer)?;
                (Kept::Positions(table), outcome)
            }
            LayerEngine::Auto(plan) => return task.search_on_disk(auto::run, plan, home),
            LayerEngine::Tier(plan) => return task.search_on_disk(auto::run_on_disk, plan, home),
            LayerEngine::SternDill => return task.search_as_stern_and_dill(home),
        };
        let cost = CostFigures::of(&outcome, None);
        Ok(Searched { engine: self.name(), kept, outcome, gave_up: None, disk: None, cost })
    }
}

/// What is searched, and with what.
#[derive(Clone, Copy)]
struct Task<'a> {
    system: &'a dyn TransitionSystem,
    budget: &'a Budget,
    settings: &'a task::Settings,
    observer: &'a dyn Observer,
}

/// [`auto::run`] or [`auto::run_on_disk`].
type RunOnDisk = fn(
    &dyn TransitionSystem,
    &Budget,
    &task::Settings,
    &dyn Observer,
    &auto::Disk<'_>,
) -> Result<(auto::Kept, Outcome), SearchError>;

impl Task<'_> {
    /// Searches with the states on disk, at the latest when memory ends, from the beginning or from what is committed in `home`.
    fn search_on_disk(
        &self,
        run: RunOnDisk,
        plan: Plan,
        home: Option<&Home>,
    ) -> Result<Searched, SearchError> {
        let Task { system, budget, settings, observer } = *self;
        let memory = OnceLock::new();
        let volume = || match home {
            Some(home) => home.volume().cloned().map_err(|error| SearchError::Place(Box::new(error))),
            None => Ok(memory.get_or_init(|| Volume::in_memory(4096)).clone()),
        };
        let disk_settings = home.map_or_else(DiskSettings::default, |home| home.settings().clone());
        let DiskSettings { limit: disk_limit, commit_every, keep_layers, .. } = disk_settings;
        let tag = home.map_or([0; 16], Home::tag);
        let keep_from = if keep_layers { 0 } else { u64::MAX };
        let options = tier::Options { tag, plan, commit_every, disk_limit, keep_from, shares: None };
        let disk = auto::Disk { volume: &volume, lasts: disk_settings.lasts(), options };
        match run(system, budget, settings, observer, &disk) {
            Ok((kept, outcome)) => {
                let counts = volume_counts(kept.disk_use(), &volume)?;
                let (engine, closing) = match &kept {
                    auto::Kept::Ram(_) => ("ram", None),
                    auto::Kept::Tier(tier) => ("tier", Some(tier.cost())),
                };
                Ok(Searched {
                    engine,
                    gave_up: None,
                    disk: counts.map(|(used, counts)| disk_figures(used, &counts, &outcome)),
                    cost: CostFigures::of(&outcome, closing),
                    kept: match kept {
                        // Searching again needs the memory that this one has.
                        auto::Kept::Tier(tier) if !tier.keeps_all_layers() => {
                            Kept::Dropped(scratch_parent(home))
                        }
                        kept => Kept::OnDisk(kept),
                    },
                    outcome,
                })
            }
            Err(error) => self.gave_up(error, &volume()?, tag, None),
        }
    }

    /// Searches with the states on disk, all of which are read for every layer, from the beginning or from what is committed in `home`.
    fn search_as_stern_and_dill(&self, home: Option<&Home>) -> Result<Searched, SearchError> {
        let Task { system, budget, settings, observer } = *self;
        let engine = LayerEngine::SternDill.name();
        let volume = match home {
            Some(home) => home.volume().cloned().map_err(|error| SearchError::Place(Box::new(error)))?,
            None => Volume::in_memory(4096),
        };
        let disk_settings = home.map_or_else(DiskSettings::default, |home| home.settings().clone());
        let DiskSettings { limit: disk_limit, commit_every, keep_layers, .. } = disk_settings;
        let tag = home.map_or([0; 16], Home::tag);
        let keep_from = if keep_layers { 0 } else { u64::MAX };
        let options = stern_dill::Options { tag, commit_every, disk_limit, keep_from, sizes: None };
        let place = (&volume, disk_settings.lasts());
        let (policy, outcome) = match stern_dill::run(system, budget, settings, observer, place, options) {
            Ok(found) => found,
            Err(error) => return self.gave_up(error, &volume, tag, Some(engine)),
        };
        Ok(Searched {
            engine,
            gave_up: None,
            disk: Some(disk_figures(policy.disk_use(), &volume.counts(), &outcome)),
            cost: CostFigures::of(&outcome, None),
            kept: if policy.keeps_all_layers() {
                Kept::SternDill(Box::new(policy))
            } else {
                // Searching again needs the memory that this one has.
                Kept::Dropped(scratch_parent(home))
            },
            outcome,
        })
    }

    /// What is known where a search by an engine had to give up for want of room: what was committed. Any other error is one. Of `auto`, which names none, it shows in the files.
    fn gave_up(
        &self,
        error: SearchError,
        volume: &Volume,
        tag: Tag,
        engine: Option<&'static str>,
    ) -> Result<Searched, SearchError> {
        let Task { system, budget, settings, .. } = *self;
        let Some(limit) = room_used_up(&error) else { return Err(error) };
        let (layers, boundary) =
            StoredLayers::open(volume, budget, system.shape(), tag).map_err(|_| error)?.unzip();
        let outcome = stages::at_boundary(system, budget, settings, boundary.as_deref())?;
        let used = layers.as_ref().map_or_else(DiskUse::default, StoredLayers::disk_use);
        Ok(Searched {
            engine: engine.unwrap_or(if used.closed_set > 0 { "tier" } else { "ram" }),
            gave_up: Some(limit),
            disk: Some(disk_figures(used, &volume.counts(), &outcome)),
            cost: None,
            kept: Kept::Committed(layers.map(Box::new)),
            outcome,
        })
    }
}

/// What files take and the operations on them, if there are files.
fn volume_counts(
    used: Option<DiskUse>,
    volume: &dyn Fn() -> Result<Volume, SearchError>,
) -> Result<Option<(DiskUse, IoCounts)>, SearchError> {
    used.map(|used| Ok((used, volume()?.counts()))).transpose()
}

/// Where long runs that are told live: in a folder that goes with them.
pub fn room(budget: &Budget, home: Option<&Home>) -> Room {
    let parent = scratch_parent(home).unwrap_or_else(|| PathBuf::from(PARENT));
    let place = move || {
        let made = Scratch::under(&parent).and_then(Scratch::into_volume);
        made.map_err(|error| SearchError::Place(Box::new(error)))
    };
    Room::new(budget, Box::new(place))
}

/// Where files go that last as long as the search for a path; none for memory.
fn scratch_parent(home: Option<&Home>) -> Option<PathBuf> {
    let folder = home?.settings().folder.as_ref();
    Some(folder.cloned().unwrap_or_else(|| PathBuf::from(PARENT)))
}

fn disk_figures(used: DiskUse, counts: &IoCounts, outcome: &Outcome) -> (DiskFigures, Vec<IoFigures>) {
    (DiskFigures::of(used, counts, outcome.layers.sum()), IoFigures::of(counts))
}

/// Whether an error says that there is no more room for files.
pub(crate) fn room_used_up(error: &SearchError) -> Option<Limit> {
    match error {
        SearchError::DiskLimit { .. } => Some(Limit::Disk),
        SearchError::Disk(error) if DiskError::is_full(error) => Some(Limit::DiskFull),
        _ => None,
    }
}

impl Kept {
    /// Visits the states of a layer, in any order; false if they are not kept.
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        match self {
            Kept::Ram(table) => table.visit_layer(layer, visit),
            Kept::Positions(table) => table.visit_layer(layer, visit),
            Kept::OnDisk(auto::Kept::Ram(in_ram)) => in_ram.visit_layer(layer, visit),
            Kept::OnDisk(auto::Kept::Tier(tier)) => tier.visit_layer(layer, visit),
            Kept::SternDill(policy) => policy.visit_layer(layer, visit),
            Kept::Committed(Some(layers)) => layers.visit_layer(layer, visit),
            Kept::Committed(None) | Kept::Dropped(_) => Ok(false),
        }
    }

    /// In which of so many layers a state is; none if it is in none that is kept. Reads layers from the last one on.
    pub(crate) fn layer_of(&self, record: &[u64], layers: u64) -> Result<Option<u64>, SearchError> {
        for layer in (0..layers).rev() {
            let mut there = false;
            self.visit_layer(layer, &mut |records| there |= records.iter().any(|state| state == record))?;
            if there {
                return Ok(Some(layer));
            }
        }
        Ok(None)
    }

    /// How many states of so many layers something is true of; none if they are not kept. Reads all of them.
    pub(crate) fn count(
        &self,
        layers: u64,
        is: &(dyn Fn(&[u64]) -> bool + Sync),
    ) -> Result<Option<u64>, SearchError> {
        let mut count = 0;
        for layer in 0..layers {
            let mut add = |records: Records<'_>| count += records.iter().filter(|record| is(record)).count();
            if !self.visit_layer(layer, &mut add)? {
                return Ok(None);
            }
        }
        Ok(Some(count as u64))
    }

    /// The least shortest path to a state of a layer, of a search with that outcome.
    pub fn path_to(
        &self,
        system: &dyn TransitionSystem,
        room: &Room,
        observer: &dyn Observer,
        threads: usize,
        outcome: &Outcome,
        state: (u64, &[u64]),
    ) -> Result<RunPath, SearchError> {
        let path = match self {
            Kept::Ram(table) => trace::path_to(system, &**table, room, observer, state)?,
            Kept::Positions(table) => trace::path_to(system, table, room, observer, state)?,
            Kept::OnDisk(kept) => kept.path_to(system, room, observer, state)?,
            Kept::SternDill(policy) => trace::path_to(system, &**policy, room, observer, state)?,
            Kept::Committed(layers) => {
                let visit = |layer, visit: &mut dyn FnMut(Records<'_>)| match layers {
                    Some(layers) => layers.visit_layer(layer, visit),
                    None => Ok(false),
                };
                trace::path_through(system, &visit, room, observer, state)?
            }
            Kept::Dropped(_) => None,
        };
        if let Some(path) = path {
            return Ok(path);
        }
        let parent = match self {
            Kept::Dropped(parent) => parent.clone(),
            _ => Some(PathBuf::from(PARENT)),
        };
        let mut scratch = None;
        let mut volume = || {
            // The one before goes first: its search is over.
            drop(scratch.take());
            let Some(parent) = &parent else { return Ok(Volume::in_memory(4096)) };
            let place = |error: io::Error| SearchError::Place(Box::new(error));
            let made = scratch.insert(Scratch::under(parent).map_err(place)?);
            made.volume().map_err(place)
        };
        retrace::path_to(system, room, observer, threads, &outcome.layers, &mut volume, state)
    }
}
