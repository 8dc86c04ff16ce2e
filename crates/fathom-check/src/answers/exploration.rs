//! What does a search find out, in numbers, whatever its engine?

use std::path::PathBuf;
use std::time::Duration;

use fathom_disk::budget::Budget;
use fathom_search::task::{Duplicates, Ending, Outcome, ProgressFigures};
use serde::Serialize;

use crate::answers::coverage::Coverage;
use crate::engines::figures::{CostFigures, DiskFigures, IoFigures, Layers, PassFigures, StructureFigures};
use crate::folder::status::StatusFile;
use crate::limit::Limit;
use crate::machine;
use crate::monitor::Monitor;
use crate::questions::liveness_property::LivenessProperty;
use crate::resources::Resources;

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
    /// The depth that no state was taken to be deeper than, if there were states behind it that nobody looked at.
    pub assumed_depth: Option<u64>,
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
    /// What the engine tells of itself in numbers, each by its name.
    pub figures: Vec<(&'static str, u64)>,
}

impl Exploration {
    /// By this engine, with these numbers of records of so many bits; nothing else is known of it.
    pub(crate) fn new(engine: &'static str, counts: Counts, record_bits: u32, usage: Usage) -> Exploration {
        Exploration {
            engine,
            store: None,
            automaton: None,
            limit: None,
            assumed_depth: None,
            counts,
            record_bits,
            coverage: None,
            usage,
            disk: None,
            cost: None,
            passes: None,
            early: None,
            figures: Vec::new(),
        }
    }
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
    /// Where word is left of what came of it, if the run stays.
    pub status: Option<StatusFile>,
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
    /// How many of them by an earlier process, from whose checkpoint the search was resumed.
    pub visits_before: u64,
    /// How candidates that were known already were noticed.
    pub duplicates: Duplicates,
    /// How many steps were generated.
    pub edges: u64,
    /// How many of them were from distinct states, if all were expanded.
    pub transitions: Option<u64>,
    /// The sizes of the layers of a breadth-first search.
    pub layers: Layers,
    /// What was seen of the measure of progress, if states were searched in its order.
    pub progress: Option<ProgressFigures>,
    /// What that measure is made of.
    pub measure: Option<String>,
    /// How many layers back a step leads, at most, plus one, if that is known.
    pub locality: Option<u64>,
    /// States with neither a step nor a fault. None if that was not counted.
    pub deadlocks: Option<u64>,
    /// Faulting steps and starts, and states where a property could not be evaluated.
    pub faults: u64,
    /// Over all states, if all were expanded.
    pub checksum: Option<String>,
    /// How random walks ended, if there were any.
    pub walks: Option<WalkFigures>,
}

/// How random walks ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WalkFigures {
    /// Walks that were asked for.
    pub wanted: u64,
    /// Walks that came to an end, of whatever kind.
    pub made: u64,
    /// Those that came to a state without a step.
    pub ended: u64,
    /// Those that were as long as a walk may be.
    pub cut: u64,
    /// How long a walk may be, in steps.
    pub steps_max: u64,
    /// How many steps the walk had that found something; what is shown may be shorter.
    pub found_after: Option<u64>,
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

impl DiskUsage {
    pub(crate) fn of((figures, io): (DiskFigures, Vec<IoFigures>)) -> DiskUsage {
        DiskUsage { figures, io, folder: None, resume: None, status: None, ranks: false }
    }
}

impl Counts {
    /// The numbers of a breadth-first search.
    pub(crate) fn of(outcome: &Outcome) -> Counts {
        // What was counted of visits says nothing of states if some were visited twice.
        let complete = outcome.ending == Ending::Complete && outcome.exact;
        let known = outcome.states().unwrap_or(0);
        Counts {
            walks: None,
            states: complete.then_some(known),
            states_estimate: None,
            known,
            visits: outcome.visits,
            visits_before: outcome.expanded_before,
            duplicates: outcome.duplicates,
            edges: outcome.transitions,
            layers: if outcome.layered { Layers::from(&outcome.layers) } else { Layers::default() },
            transitions: complete.then_some(outcome.transitions),
            progress: outcome.progress,
            measure: None,
            locality: outcome.locality.filter(|_| complete),
            deadlocks: outcome.exact.then_some(outcome.deadlocks),
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
pub(crate) fn limit_of(ending: Ending, monitor: &dyn Monitor) -> Option<Limit> {
    match ending {
        Ending::Complete => None,
        Ending::Found => Some(Limit::Violation),
        Ending::Depth => Some(Limit::Depth),
        Ending::Stopped => Some(monitor.reason()),
        Ending::Budget => Some(Limit::Ram),
        Ending::Policy(reason) => Some(Limit::Engine(reason)),
    }
}
