//! How is a system given to an engine that expands all states, and what is left of its search?

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::storage::{IoCounts, Volume};
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;
use fathom_search::bodies::stages;
use fathom_search::engines::engine::{self, Answer, Ask, Chosen, FilePlace, Run};
use fathom_search::engines::{auto, ram, retrace, tier};
use fathom_search::error::SearchError;
use fathom_search::files::disk_use::DiskUse;
use fathom_search::files::journal::StoredLayers;
use fathom_search::task::watch::Condition;
use fathom_search::task::{self, Observer, Outcome, Settings};
use fathom_search::traces::path::{Path as RunPath, Room};
use fathom_search::traces::trace;

use crate::engines::figures::{CostFigures, DiskFigures, IoFigures};
use crate::folder::disk_settings::DiskSettings;
use crate::folder::home::Home;
use crate::folder::scratch::{PARENT, Scratch};
use crate::limit::Limit;
use crate::model::subject::{NamedMeasure, Subject};
use crate::questions::plan::Plan;
use crate::questions::property::PropertyKind;

/// The states that a search has kept.
#[derive(Debug)]
pub enum Kept {
    /// By the engine.
    ByEngine(engine::Kept),
    /// What was committed by a run that could not go on.
    Committed(Option<Box<StoredLayers>>),
}

/// What came of a search.
#[derive(Debug)]
pub struct Searched {
    /// The engine that searched; of several, the one that ended it.
    pub engine: &'static str,
    /// The states, for paths.
    pub kept: Kept,
    /// Where files go that last as long as the search for a path; none for memory.
    pub scratch: Option<PathBuf>,
    /// What was found out. If `gave_up`, up to the last commit.
    pub outcome: Outcome,
    /// Why the machine could not go on, if that is why it ended.
    pub gave_up: Option<Limit>,
    /// What files took, and the operations on them, if there are files.
    pub disk: Option<(DiskFigures, Vec<IoFigures>)>,
    /// Where the time went.
    pub cost: Option<CostFigures>,
    /// The measure of progress that states were searched in the order of, if they were.
    pub measure: Option<String>,
    /// What the engine tells of itself in numbers, each by its name.
    pub figures: Vec<(&'static str, u64)>,
}

/// What is searched, with what, and where its files are.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// What is asked of the engine.
    pub search: task::Task<'a>,
    /// Where runs that can last live.
    pub home: Option<&'a Home>,
    /// Whether files without a home are in a folder that goes with them, not in memory.
    pub in_scratch: bool,
    /// How far a state has come, if the engine wants to know.
    pub measure: Option<&'a NamedMeasure<'a>>,
}

impl<'a> Task<'a> {
    /// With files in memory, and nothing else to say.
    pub fn new(
        system: &'a dyn TransitionSystem,
        budget: &'a Budget,
        settings: &'a Settings,
        observer: &'a dyn Observer,
    ) -> Task<'a> {
        let search = task::Task { system, budget, settings, observer };
        Task { search, home: None, in_scratch: false, measure: None }
    }
}

/// What an engine is told of how far the states of a subject are from what a plan looks for, if it asks for that.
pub(crate) fn distance<'s>(
    chosen: &Chosen,
    subject: &'s dyn Subject,
    plan: &Plan,
) -> Option<NamedMeasure<'s>> {
    let asks = chosen.engine.options.iter().any(|option| option.key == "heuristic");
    if !asks || chosen.option("heuristic") == Some("none") {
        return None;
    }
    let goals = plan.conditions.iter().zip(&plan.properties);
    let goals = goals.filter_map(|(condition, property)| match (condition, property.kind) {
        (_, PropertyKind::Expected { label } | PropertyKind::Cover { label }) => Some((label, true)),
        (Condition::Label { label, value }, _) => Some((*label, *value)),
        _ => None,
    });
    let goals: Vec<_> =
        goals.filter_map(|(label, value)| Some((&plan.labels.get(label)?.expression, value))).collect();
    let values = if goals.is_empty() { None } else { subject.distance(&goals) };
    values.map(|values| NamedMeasure { values, name: "distance".to_owned(), identity: 0, origin: None })
}

/// Searches a system with an engine that expands all states.
pub fn search(chosen: &Chosen, task: &Task<'_>) -> Result<Searched, SearchError> {
    let (Run::States(run) | Run::Chooses { states: run, .. }) = chosen.engine.run else {
        unreachable!("the engine {} does not expand all states", chosen.engine.name)
    };
    let Task { search, home, measure, .. } = *task;
    let passing = OnceLock::new();
    let volume = || match home {
        Some(home) => home.volume().cloned().map_err(|error| SearchError::Place(Box::new(error))),
        None => match passing.get() {
            Some(volume) => Ok(Volume::clone(volume)),
            None => passing_volume(task).map(|volume| passing.get_or_init(|| volume).clone()),
        },
    };
    let disk = home.map_or_else(DiskSettings::default, |home| home.settings().clone());
    let place = FilePlace {
        volume: &volume,
        tag: home.map_or([0; 16], Home::tag),
        lasts: disk.lasts(),
        limit: disk.limit,
        commit_every: disk.commit_every,
        keep_layers: disk.keep_layers,
        count: disk.count,
    };
    let measure = measure.map(|measure| engine::NamedMeasure {
        values: &*measure.values,
        name: &measure.name,
        identity: measure.identity,
    });
    match run(&Ask { task: search, place: &place, chosen, measure }) {
        Ok(Answer { engine, outcome, kept, used, closing, measure, figures }) => {
            let counts = volume_counts(used, &volume)?;
            Ok(Searched {
                engine,
                kept: Kept::ByEngine(kept),
                scratch: scratch_parent(home),
                gave_up: None,
                disk: counts.map(|(used, counts)| disk_figures(used, &counts, &outcome)),
                cost: CostFigures::of(&outcome, closing),
                measure,
                figures,
                outcome,
            })
        }
        Err(error) => gave_up(chosen, task, error, &volume()?, &place),
    }
}

/// Files that are gone with the search.
fn passing_volume(task: &Task<'_>) -> Result<Volume, SearchError> {
    if !task.in_scratch {
        return Ok(Volume::in_memory(4096));
    }
    let made = Scratch::under(Path::new(PARENT)).and_then(Scratch::into_volume);
    made.map_err(|error| SearchError::Place(Box::new(error)))
}

/// What is known where a search had to give up for want of room: what was committed. Any other error is one.
fn gave_up(
    chosen: &Chosen,
    task: &Task<'_>,
    error: SearchError,
    volume: &Volume,
    place: &FilePlace<'_>,
) -> Result<Searched, SearchError> {
    let Task { search, home, .. } = *task;
    let Some(limit) = room_used_up(&error) else { return Err(error) };
    let (layers, boundary) = StoredLayers::open(volume, search.budget, search.system.shape(), place.tag)
        .map_err(|_| error)?
        .unzip();
    let outcome = stages::at_boundary(search, boundary.as_deref())?;
    let exact = !layers.as_ref().is_some_and(StoredLayers::may_repeat);
    let outcome = Outcome { exact, ..outcome };
    let used = layers.as_ref().map_or_else(DiskUse::default, StoredLayers::disk_use);
    Ok(Searched {
        engine: match chosen.engine.run {
            // What it has chosen shows in the files.
            Run::Chooses { .. } if used.closed_set > 0 => tier::ENGINE.name,
            Run::Chooses { .. } => ram::ENGINE.name,
            _ => chosen.engine.name,
        },
        gave_up: Some(limit),
        disk: Some(disk_figures(used, &volume.counts(), &outcome)),
        cost: None,
        measure: None,
        figures: Vec::new(),
        kept: Kept::Committed(layers.map(Box::new)),
        scratch: scratch_parent(home),
        outcome,
    })
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
    /// What an engine that generates states has kept.
    pub(crate) fn generated(self) -> auto::Kept {
        let Kept::ByEngine(engine::Kept::Layers(layers)) = self else {
            unreachable!("the layers of a generation are kept")
        };
        let layers: Box<dyn Any> = layers;
        match layers.downcast() {
            Ok(kept) => *kept,
            Err(layers) => auto::Kept::Tier(
                layers.downcast().expect("states are generated in RAM and then on disk, or on disk"),
            ),
        }
    }

    /// Visits the states of a layer, in any order; false if they are not kept.
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        match self {
            Kept::ByEngine(engine::Kept::Layers(layers) | engine::Kept::Stages(layers)) => {
                layers.visit_layer(layer, visit)
            }
            Kept::Committed(Some(layers)) => layers.visit_layer(layer, visit),
            Kept::Committed(None) | Kept::ByEngine(engine::Kept::Dropped | engine::Kept::NoLayers) => {
                Ok(false)
            }
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
}

impl Searched {
    /// The least shortest path to a state that was found in a layer.
    pub fn path_to(
        &self,
        system: &dyn TransitionSystem,
        room: &Room,
        observer: &dyn Observer,
        threads: usize,
        (layer, record): (u64, &[u64]),
    ) -> Result<RunPath, SearchError> {
        let visit = |layer, visit: &mut dyn FnMut(Records<'_>)| self.kept.visit_layer(layer, visit);
        let path_back = match &self.kept {
            Kept::ByEngine(engine::Kept::Stages(_)) => trace::path_through_stages,
            _ => trace::path_through,
        };
        if let Some(path) = path_back(system, &visit, room, observer, (layer, record))? {
            return Ok(path);
        }
        // Files of a search that had some in memory are there again; others are not, whoever searched.
        let parent = match &self.kept {
            Kept::ByEngine(engine::Kept::Dropped) => self.scratch.clone(),
            _ => Some(self.scratch.clone().unwrap_or_else(|| PathBuf::from(PARENT))),
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
        match &self.kept {
            Kept::ByEngine(engine::Kept::NoLayers | engine::Kept::Stages(_)) => {
                retrace::path_from_nothing(system, room, observer, threads, &volume()?, record)
            }
            _ => {
                let layers = &self.outcome.layers;
                retrace::path_to(system, room, observer, threads, layers, &mut volume, (layer, record))
            }
        }
    }
}
