//! Which engine looks for an accepting run, and how?
//!
//! Depth-first engines know accepting states: where a product has several marks (fairness), they get it with its marks counted. The fix-point takes marks as they
//! are. Semi-external engines generate the product first (`semi_external.rs`).

use std::path::Path as FilePath;
use std::sync::atomic::{AtomicU64, Ordering};

use fathom_disk::budget::Budget;
use fathom_ltl::automaton::Automaton;
use fathom_ltl::degeneralised::Degeneralised;
use fathom_ltl::product::Product;
use fathom_model::record::Checksum;
use fathom_model::system::TransitionSystem;
use fathom_search::closed_set::Recurs;
use fathom_search::depth_first::Found;
use fathom_search::disk_set::DiskSet;
use fathom_search::engines::bitstate::Bitstate;
use fathom_search::engines::ndfs::{self, ExactSet};
use fathom_search::error::SearchError;
use fathom_search::lasso::Lasso;
use fathom_search::layer_loop::{Ending, Observer, Progress};
use fathom_search::path::Room;

use crate::assemble::Model;
use crate::error::RunError;
use crate::execution::Execution;
use crate::figures::{DiskFigures, IoFigures, Layers, PassFigures};
use crate::home::Home;
use crate::layer_engine::{LayerEngine, room_used_up};
use crate::limit::Limit;
use crate::liveness_property::LivenessProperty;
use crate::monitor::Monitor;
use crate::resources::Resources;
use crate::scratch::{PARENT, Scratch};
use crate::system::System;
use crate::{semi_external, while_generating};

/// An engine that looks for accepting runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LivenessEngine {
    /// A short nested depth-first search; then all states, and by what fits in memory the fix-point or the double depth-first search.
    #[default]
    Auto,
    /// Nested depth-first search, exact, on the fly; in RAM or on disk.
    Ndfs,
    /// Fix-point over a perfect hash, exact.
    SemiOwcty,
    /// Double depth-first search over a perfect hash, exact.
    Ddfs,
    /// Nested depth-first search with three bits per state: it may miss.
    Bitstate,
}

/// What a search in a product found out.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The engine that decided.
    pub engine: LivenessEngine,
    /// Why it ended.
    pub ending: Ending,
    /// Distinct states of what was searched.
    pub states: u64,
    /// Steps from them.
    pub transitions: u64,
    /// States expanded in all.
    pub visits: u64,
    /// Steps made in all.
    pub edges: u64,
    /// Faulting steps and starts, and states whose labels faulted.
    pub faults: u64,
    /// The sizes of layers, if it was generated so.
    pub layers: Layers,
    /// An accepting run of the product.
    pub lasso: Option<Lasso>,
    /// What ended the search for an accepting run that there is, if none is told.
    pub untraced: Option<Limit>,
    /// How a fault was first met in the product.
    pub fault: Option<Found>,
    /// What ended the search for the way to a fault that there is, if none is told.
    pub fault_untraced: Option<Limit>,
    /// Threads that expanded states.
    pub threads: usize,
    /// Where states were stored.
    pub store: &'static str,
    /// Why the machine could not go on, if that is why it ended.
    pub gave_up: Option<Limit>,
    /// What files took, and the operations on them, if there are files.
    pub disk: Option<(DiskFigures, Vec<IoFigures>)>,
    /// Whether there are ranks that prove that there is no accepting run.
    pub certified: bool,
    /// What passes over all states came to, if there were any.
    pub passes: Option<PassFigures>,
    /// What told of an accepting run while states were generated, if that is how it was found.
    pub early: Option<&'static str>,
    /// Over all states, if they were expanded breadth-first.
    pub checksum: Option<Checksum>,
}

/// What is searched for, and where.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) engine: LivenessEngine,
    /// Whether the steps of every cycle all carry every mark, or none does.
    pub(crate) weak: bool,
    /// Which states an accepting run may come back to for ever.
    pub(crate) recurs: Recurs<'a>,
    pub(crate) stop_at_fault: bool,
    pub(crate) resources: &'a Resources,
    pub(crate) budget: &'a Budget,
    /// Where a run goes that is told.
    pub(crate) room: &'a Room,
    pub(crate) monitor: &'a dyn Monitor,
    /// Who is told of a search on the fly: the same, or one that ends it sooner.
    pub(crate) observer: &'a dyn Observer,
    /// How states are generated where all of them are at first.
    pub(crate) generation: LayerEngine,
    /// Where the path of a depth-first search goes when it is on disk, if the user said so.
    pub(crate) stack: Option<&'a FilePath>,
    /// Where they live on disk, when they do.
    pub(crate) home: Option<&'a Home>,
}

impl Searched {
    /// Whether there is an accepting run, told or not.
    pub(crate) fn is_violated(&self) -> bool {
        self.lasso.is_some() || self.untraced.is_some()
    }
}

impl LivenessEngine {
    /// Those that miss nothing.
    pub const EXACT: [LivenessEngine; 4] =
        [LivenessEngine::Auto, LivenessEngine::Ndfs, LivenessEngine::SemiOwcty, LivenessEngine::Ddfs];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            LivenessEngine::Auto => "auto",
            LivenessEngine::Ndfs => "ndfs",
            LivenessEngine::SemiOwcty => "semi-owcty",
            LivenessEngine::Ddfs => "ddfs",
            LivenessEngine::Bitstate => "bitstate",
        }
    }

    /// Whether its runs can last: be gone on with, and leave certificates.
    pub fn lasts(self) -> bool {
        matches!(self, LivenessEngine::Auto | LivenessEngine::SemiOwcty)
    }

    /// The automaton that suits it: with accepting states, or the smaller one with marks on edges where that makes no other difference.
    pub(crate) fn automaton(self, property: &LivenessProperty) -> &Automaton {
        match self {
            LivenessEngine::SemiOwcty if !property.is_weak() => &property.generalised,
            _ => &property.searched,
        }
    }
}

/// The product of a model and an automaton that reads the labels of a property.
pub(crate) fn product(
    model: &Model,
    property: &LivenessProperty,
    automaton: &Automaton,
    fair: &[u32],
    execution: Execution<'_>,
) -> Result<Product<System>, RunError> {
    let system = model.system(property.labels.clone(), execution);
    Ok(Product::new(system, automaton.clone(), property.names.clone(), fair)?)
}

/// Searches a product. Lasso and path are of the product.
pub(crate) fn search(product: &Product<System>, task: &Task<'_>) -> Result<Searched, RunError> {
    if task.engine == LivenessEngine::Auto {
        return by_itself(product, task);
    }
    let depth_first = task.engine != LivenessEngine::SemiOwcty;
    if !depth_first || product.shape().mark_count == 1 {
        return dispatch(product, task);
    }
    let counted = Degeneralised::new(product);
    let part = |record: &[u64]| (counted.part(record), 0);
    let recurs = |record: &[u64]| product.recurs(&counted.part(record));
    let mut searched = dispatch(&counted, &Task { recurs: &recurs, ..*task })?;
    let words = product.shape().words();
    searched.lasso = searched.lasso.map(|lasso| lasso.project(words, part)).transpose()?;
    if let Some(path) = searched.fault.as_mut().and_then(|found| found.path.as_mut()) {
        *path = path.project(words, part)?;
    }
    Ok(searched)
}

/// Looks a little way on the fly first: most violations are not far, and small products are done with. Then all states.
fn by_itself(product: &Product<System>, task: &Task<'_>) -> Result<Searched, RunError> {
    let hunt = Hunt { monitor: task.monitor, expanded: AtomicU64::new(0) };
    let lasts = task.home.is_some_and(|home| home.settings().lasts());
    let generation = LayerEngine::Ram;
    let hunting = Task { engine: LivenessEngine::Ndfs, generation, stack: None, observer: &hunt, ..*task };
    match search(product, &hunting) {
        Ok(found) => {
            let over = match found.ending {
                Ending::Found => true,
                Ending::Complete => !lasts,
                Ending::Stopped => task.monitor.stop(),
                Ending::Depth | Ending::Budget => false,
            };
            if over {
                return Ok(found);
            }
        }
        Err(RunError::Search(SearchError::Budget(_))) => {}
        Err(error) => return Err(error),
    }
    // With several marks only the fix-point takes the product as it is; without, what fits is known when all states are.
    let engine =
        if product.shape().mark_count > 1 { LivenessEngine::SemiOwcty } else { LivenessEngine::Auto };
    while_generating::search(product, &Task { engine, ..*task })
}

/// Watches a search that is to end soon.
struct Hunt<'a> {
    monitor: &'a dyn Monitor,
    expanded: AtomicU64,
}

/// States that are expanded on the fly before all of them are generated.
const HUNT_VISITS: u64 = 200_000;

impl Observer for Hunt<'_> {
    fn stop(&self) -> bool {
        self.expanded.load(Ordering::Relaxed) >= HUNT_VISITS || self.monitor.stop()
    }

    fn progress(&self, progress: Progress) {
        self.expanded.store(progress.expanded, Ordering::Relaxed);
    }
}

/// The part of memory for each of two paths on disk: one in so many.
const STACK_PART: usize = 16;

fn dispatch(system: &dyn TransitionSystem, task: &Task<'_>) -> Result<Searched, RunError> {
    match task.engine {
        LivenessEngine::Ndfs | LivenessEngine::Bitstate => nested(system, task),
        LivenessEngine::Auto | LivenessEngine::SemiOwcty | LivenessEngine::Ddfs => {
            semi_external::search(system, task)
        }
    }
}

/// A search on the fly that had to end, since there was no more room for its files, when it knew so many states.
fn without_room(task: &Task<'_>, states: u64, limit: Limit) -> Searched {
    Searched {
        engine: task.engine,
        ending: Ending::Stopped,
        states,
        transitions: 0,
        visits: states,
        edges: 0,
        faults: 0,
        layers: Layers::default(),
        lasso: None,
        untraced: None,
        fault: None,
        fault_untraced: None,
        threads: 1,
        store: "tier",
        gave_up: Some(limit),
        disk: None,
        certified: false,
        passes: None,
        early: None,
        checksum: None,
    }
}

/// On the fly, depth-first: with a few bits per state, with exact sets in RAM, or with exact sets on disk.
fn nested(system: &dyn TransitionSystem, task: &Task<'_>) -> Result<Searched, RunError> {
    let Task { budget, room, observer, .. } = *task;
    let on_disk = matches!(task.generation, LayerEngine::Tier(_)) && task.engine == LivenessEngine::Ndfs;
    let scratch = |folder: &FilePath| Scratch::under(folder).map_err(RunError::Scratch);
    // Of the sets, and of the path.
    let places =
        [on_disk.then(|| scratch(FilePath::new(PARENT))).transpose()?, task.stack.map(scratch).transpose()?];
    let volumes = places.each_ref().map(|place| place.as_ref().map(Scratch::volume).transpose());
    let [sets, stack] = volumes.map(|volume| volume.map_err(RunError::Scratch));
    let (sets, stack) = (sets?, stack?);
    let settings = ndfs::Settings {
        stop_at_fault: task.stop_at_fault,
        max_depth: task.resources.max_depth,
        weak: task.weak,
        stack: stack.as_ref().or(sets.as_ref()).map(|volume| (volume, budget.limit() / STACK_PART)),
    };
    let (shape, bits) = (system.shape(), system.shape().width_bits);
    let outcome = match (&sets, task.engine) {
        (Some(volume), _) => {
            // The rest is for filters, and for the steps of a state.
            let bytes = budget.limit() / 4;
            let mut visited = DiskSet::new(shape, volume, "visited", bytes, budget)?;
            let mut red = DiskSet::new(shape, volume, "red", bytes, budget)?;
            match ndfs::run(system, &mut visited, &mut red, room, &settings, observer) {
                Ok(outcome) => outcome,
                Err(error) => {
                    let limit = room_used_up(&error).ok_or(error)?;
                    return Ok(without_room(task, visited.len(), limit));
                }
            }
        }
        (None, LivenessEngine::Bitstate) => {
            // The rest is for the stacks, and for the run that is told.
            let bytes = budget.limit() / 4;
            let (mut visited, mut red) = (Bitstate::new(budget, bytes)?, Bitstate::new(budget, bytes)?);
            ndfs::run(system, &mut visited, &mut red, room, &settings, observer)?
        }
        (None, _) => {
            let (mut visited, mut red) = (ExactSet::new(bits, budget)?, ExactSet::new(bits, budget)?);
            ndfs::run(system, &mut visited, &mut red, room, &settings, observer)?
        }
    };
    Ok(Searched {
        engine: task.engine,
        ending: outcome.ending,
        states: outcome.states,
        transitions: outcome.transitions,
        visits: outcome.visits,
        edges: outcome.edges,
        faults: outcome.faults + outcome.label_faults,
        layers: Layers::default(),
        lasso: outcome.lasso,
        untraced: None,
        fault: outcome.fault,
        fault_untraced: None,
        threads: 1,
        store: if on_disk { "tier" } else { "ram" },
        gave_up: None,
        disk: None,
        certified: false,
        passes: None,
        early: None,
        checksum: None,
    })
}
