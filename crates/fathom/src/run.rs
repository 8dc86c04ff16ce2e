//! What does one exploration of a model find out?
//!
//! [`explore`] is what `fathom explore` does, without the printing: model in, [`Exploration`] out. Limits end it early with what is
//! known so far; only a machine that fails is an error.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_model::system::TransitionSystem;
use fathom_search::error::SearchError;
use fathom_search::task::{Ending, LayerSizes, Observer, Outcome, Settings, Tuning};

use crate::assemble::{self, Model};
use crate::coverage::Coverage;
use crate::execution::Execution;
use crate::figures::{CostFigures, DiskFigures, IoFigures, PassFigures, StructureFigures};
use crate::home::Home;
use crate::layer_engine::{LayerEngine, Searched};
use crate::liveness_property::LivenessProperty;
use crate::liveness_search;
use crate::machine;
use crate::observer::Watcher;
use crate::settings::Resources;

/// What a search found out, whatever its engine.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Which engine searched.
    pub engine: &'static str,
    /// Where it stored states, if it has a choice.
    pub store: Option<&'static str>,
    /// The automaton that the model was explored with: then all numbers are of the product.
    pub automaton: Option<AutomatonFigures>,
    /// Why the search ended before it was complete, if it did.
    pub limit: Option<Limit>,
    /// The numbers.
    pub counts: Counts,
    /// How many bits a record has.
    pub record_bits: u32,
    /// What was never done or reached.
    pub coverage: Option<Coverage>,
    /// Where the time and memory went.
    pub usage: Usage,
    /// Where the room on disk went, if the engine uses any.
    pub disk: Option<DiskUsage>,
    /// Where the time went, step by step, if the engine tells.
    pub cost: Option<CostFigures>,
    /// What passes over all states came to, if there were any.
    pub passes: Option<PassFigures>,
    /// What told of a violation while states were generated, if that is how it was found: `terminal`, `carried` or `hunt`.
    pub early: Option<&'static str>,
}

/// What files of a run are for, and what they took.
#[derive(Clone, Debug)]
pub struct DiskUsage {
    /// How much room they took.
    pub figures: DiskFigures,
    /// The operations on them, by class.
    pub io: Vec<IoFigures>,
    /// The directory that the run stays in, if it does.
    pub folder: Option<PathBuf>,
    /// The command that goes on with the run, if it has not ended.
    pub resume: Option<String>,
    /// Whether ranks are there that prove that no run is accepting.
    pub ranks: bool,
}

/// An automaton in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct AutomatonFigures {
    /// How many states it has.
    pub states: usize,
    /// How hard a search for a run that it accepts is: `terminal`, `weak`, `strong`, or `rejecting` if it accepts none.
    pub strength: Option<&'static str>,
}

impl AutomatonFigures {
    pub(crate) fn of(property: &LivenessProperty) -> AutomatonFigures {
        AutomatonFigures {
            states: property.automaton.states.len(),
            strength: property.strength.map(fathom_ltl::strength::Strength::name),
        }
    }
}

/// The numbers of a search.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// How many distinct states there are, if all were expanded, each once.
    pub states: Option<u64>,
    /// An estimate of it, where an engine makes one.
    pub states_estimate: Option<u64>,
    /// How many distinct states are known so far.
    pub known: u64,
    /// How many states were expanded.
    pub visits: u64,
    /// How many steps were generated.
    pub edges: u64,
    /// How many of them were from distinct states, if all were expanded.
    pub transitions: Option<u64>,
    /// The sizes of the layers of a breadth-first search.
    pub layers: Layers,
    /// How many layers back a step leads, at most, plus one, if that is known.
    pub locality: Option<u64>,
    /// States with neither a step nor a fault. None if that was not counted.
    pub deadlocks: Option<u64>,
    /// Faulting steps and starts, and states where a property could not be evaluated.
    pub faults: u64,
    /// Over all states, if all were expanded.
    pub checksum: Option<String>,
}

/// The sizes of layers, as the search has noted them: there may be millions.
#[derive(Clone, Debug, Default)]
pub struct Layers(Option<Arc<LayerSizes>>);

impl Layers {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |sizes| sizes.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sizes in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().flat_map(|sizes| sizes.iter())
    }
}

impl From<&Arc<LayerSizes>> for Layers {
    fn from(sizes: &Arc<LayerSizes>) -> Layers {
        Layers(Some(Arc::clone(sizes)))
    }
}

impl serde::Serialize for Layers {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Why a search ended before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// States deeper than the limit were not expanded.
    Depth,
    /// The time was up.
    Time,
    /// A signal asked for it.
    Interrupt,
    /// The memory was used up.
    Ram,
    /// Files may not take more room.
    Disk,
    /// The device is full.
    DiskFull,
    /// A property was violated, and that ends the search.
    Violation,
    /// The engine may have missed states.
    Lossy,
}

/// What a run has used.
#[derive(Clone, Debug)]
pub struct Usage {
    /// What each structure of the search held at most, where that is told.
    pub structures: Vec<StructureFigures>,
    /// How many threads expanded states.
    pub threads: usize,
    /// The memory the process was allowed.
    pub ram_budget: u64,
    /// The part of it for the structures of the search.
    pub data_budget: u64,
    /// The most of that which was taken.
    pub data_peak: u64,
    /// The most memory that was resident, if the system tells.
    pub resident_peak: Option<u64>,
    /// How long the search took.
    pub elapsed: Duration,
}

/// A run could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Less memory was given than a run needs to begin.
    #[error(
        "--ram {} is too little: this run needs {} before it holds a single state; give more, or leave --ram out",
        crate::report::text::bytes(*given), crate::report::text::bytes(*least)
    )]
    RamTooSmall {
        /// What was given.
        given: u64,
        /// The least that would do.
        least: u64,
    },
    /// The records could not be written.
    #[error("cannot write the records: {0}")]
    Records(io::Error),
    /// A counterexample did not pass the replay: fathom is wrong, not the model.
    #[error(
        "the counterexample to {property} is not a run of the model ({refusal}): this is an error in fathom, please report it"
    )]
    Replay {
        /// Which property.
        property: String,
        /// What is wrong with it.
        refusal: String,
    },
    /// A path of states that are alike has no run behind it: the model tells them apart.
    #[error(
        "{property} fails for states that are taken as alike, but in no run of the model: it tells values of a scalarset apart, by the order of a loop perhaps; `--symmetry off` checks it as it is"
    )]
    Asymmetric {
        /// Which property.
        property: String,
    },
    /// There is no place for files.
    #[error("cannot make a folder under .fathom in the working directory: {0}")]
    Scratch(io::Error),
    /// The model and the automaton do not go together.
    #[error(transparent)]
    Product(fathom_ltl::product::ProductError),
    /// The machine failed.
    #[error(transparent)]
    Search(#[from] SearchError),
}

impl RunError {
    /// Whether what is on disk cannot be gone on with.
    pub fn is_damage(&self) -> bool {
        use DiskError::{Corrupt, Mismatch};
        let RunError::Search(error) = self else { return false };
        matches!(
            error,
            SearchError::Disk(Corrupt { .. } | Mismatch { .. })
                | SearchError::Boundary
                | SearchError::Version { .. }
        )
    }

    /// Why a run that there is could not be told, if it is for want of time or room.
    pub(crate) fn untraced(&self, watcher: &Watcher) -> Option<Limit> {
        match self {
            RunError::Search(SearchError::Stopped) => Some(watcher.reason()),
            RunError::Search(SearchError::Budget(_)) => Some(Limit::Ram),
            RunError::Search(SearchError::Disk(error)) if error.is_full() => Some(Limit::DiskFull),
            _ => None,
        }
    }
}

impl Limit {
    /// The word for it in a report.
    pub fn word(self) -> &'static str {
        match self {
            Limit::Depth => "depth",
            Limit::Time => "time",
            Limit::Interrupt => "interrupt",
            Limit::Ram => "ram",
            Limit::Disk => "disk",
            Limit::DiskFull => "disk full",
            Limit::Violation => "violation",
            Limit::Lossy => "lossy",
        }
    }
}

/// Explores the whole reachable space of a model, or of its product with the automaton of a property, up to the limits. `auto` begins with the engine that tells the locality, unless the run is to
/// last, and if that one's memory does not suffice, begins again with the one that needs least.
pub fn explore(
    model: &Model,
    property: Option<&LivenessProperty>,
    engine: LayerEngine,
    resources: &Resources,
    watcher: &Watcher,
    home: Option<&Home>,
) -> Result<Exploration, RunError> {
    let execution = Execution::wanted(resources, watcher);
    let product;
    let plain;
    let system: &dyn TransitionSystem = match property {
        Some(property) => {
            product = liveness_search::product(model, property, &property.automaton, &[], execution)?;
            &product
        }
        None => {
            plain = model.system(Vec::new(), execution);
            &plain
        }
    };
    let settings = Settings {
        threads: resources.threads,
        conditions: Vec::new(),
        stop_at_first: false,
        max_depth: resources.max_depth,
        coverage: true,
        tuning: Tuning::default(),
    };
    let began = Instant::now();
    let lasts = home.is_some_and(|home| home.settings().lasts());
    let first = match engine {
        LayerEngine::Auto(_) if !lasts => LayerEngine::Positions,
        engine => engine,
    };
    let mut budget = assemble::data_budget(resources)?;
    let mut searched = first.search(system, &budget, &settings, watcher, home)?;
    if first != engine && searched.outcome.ending == Ending::Budget {
        watcher.meter().say("the memory does not suffice to tell the locality: beginning again without it");
        watcher.abandoned(0);
        drop(searched);
        budget = assemble::data_budget(resources)?;
        searched = engine.search(system, &budget, &settings, watcher, home)?;
    }
    let elapsed = began.elapsed();
    watcher.finish().map_err(RunError::Records)?;
    let Searched { engine, outcome, gave_up, disk, cost, .. } = searched;
    let mut counts = Counts::of(&outcome);
    if property.is_some() {
        // Where a product ends, the automaton has dropped the run.
        counts.deadlocks = None;
    }
    Ok(Exploration {
        engine,
        store: None,
        automaton: property.map(AutomatonFigures::of),
        limit: gave_up.or_else(|| limit_of(outcome.ending, watcher)),
        // What the automaton drops is not what the model never does.
        coverage: Coverage::of(model.program(), &outcome.actions_taken).filter(|_| property.is_none()),
        counts,
        record_bits: system.shape().width_bits,
        usage: Usage::of(resources, &budget, elapsed),
        disk: disk.map(DiskUsage::of),
        cost,
        passes: None,
        early: None,
    })
}

impl DiskUsage {
    pub(crate) fn of((figures, io): (DiskFigures, Vec<IoFigures>)) -> DiskUsage {
        DiskUsage { figures, io, folder: None, resume: None, ranks: false }
    }
}

impl Counts {
    /// The numbers of a breadth-first search.
    pub(crate) fn of(outcome: &Outcome) -> Counts {
        let complete = outcome.ending == Ending::Complete;
        let known = outcome.layers.sum();
        Counts {
            states: complete.then_some(known),
            states_estimate: None,
            known,
            visits: outcome.expanded,
            edges: outcome.transitions,
            layers: Layers::from(&outcome.layers),
            transitions: complete.then_some(outcome.transitions),
            locality: outcome.locality.filter(|_| complete),
            deadlocks: Some(outcome.deadlocks),
            faults: outcome.faults + outcome.label_faults,
            checksum: complete.then(|| outcome.checksum.to_string()),
        }
    }
}

impl Usage {
    pub(crate) fn of(resources: &Resources, budget: &Budget, elapsed: Duration) -> Usage {
        Usage {
            structures: Vec::new(),
            threads: resources.threads,
            ram_budget: resources.ram,
            data_budget: budget.limit() as u64,
            data_peak: budget.peak() as u64,
            resident_peak: machine::resident_peak(),
            elapsed,
        }
    }
}

/// Why a breadth-first search ended early.
pub(crate) fn limit_of(ending: Ending, watcher: &Watcher) -> Option<Limit> {
    match ending {
        Ending::Complete => None,
        Ending::Found => Some(Limit::Violation),
        Ending::Depth => Some(Limit::Depth),
        Ending::Stopped => Some(watcher.reason()),
        Ending::Budget => Some(Limit::Ram),
    }
}
