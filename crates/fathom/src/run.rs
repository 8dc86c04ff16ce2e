//! What does one exploration of a model find out?
//!
//! [`explore`] is what `fathom explore` does, without the printing: model in, [`Exploration`] out. Limits end it early with what is
//! known so far; only a machine that fails is an error.

use std::io;
use std::time::{Duration, Instant};

use fathom_disk::budget::Budget;
use fathom_model::system::TransitionSystem;
use fathom_search::error::SearchError;
use fathom_search::layer_loop::{Ending, Outcome, Settings, Tuning};

use crate::assemble::{self, Model};
use crate::coverage::Coverage;
use crate::machine;
use crate::observer::Watcher;
use crate::settings::Resources;

/// What an exploration found out.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// What the search says.
    pub outcome: Outcome,
    /// Why the search ended before it was complete, if it did.
    pub limit: Option<Limit>,
    /// How many bits a record has.
    pub record_bits: u32,
    /// What was never done or reached.
    pub coverage: Option<Coverage>,
    /// Where the time and memory went.
    pub usage: Usage,
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
    /// A property was violated, and that ends the search.
    Violation,
}

/// What a run has used.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
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
        "--ram {} is too little: this run needs {} before it holds a single state",
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
    /// The machine failed.
    #[error(transparent)]
    Search(#[from] SearchError),
}

impl Limit {
    /// The word for it in a report.
    pub fn word(self) -> &'static str {
        match self {
            Limit::Depth => "depth",
            Limit::Time => "time",
            Limit::Interrupt => "interrupt",
            Limit::Ram => "ram",
            Limit::Violation => "violation",
        }
    }
}

impl Exploration {
    /// How many states there are, if all were reached.
    pub fn states(&self) -> Option<u64> {
        self.limit.is_none().then(|| self.outcome.layers.iter().sum())
    }
}

/// Explores the whole reachable space of a model, up to the limits.
pub fn explore(model: &Model, resources: &Resources, watcher: &Watcher) -> Result<Exploration, RunError> {
    let system = model.interpreter(Vec::new());
    let settings = Settings {
        threads: resources.threads,
        conditions: Vec::new(),
        stop_at_first: false,
        max_depth: resources.max_depth,
        coverage: true,
        tuning: Tuning::default(),
    };
    let budget = assemble::data_budget(resources)?;
    let began = Instant::now();
    let (_, outcome) = assemble::explore_in_ram(&system, &budget, &settings, watcher)?;
    let elapsed = began.elapsed();
    watcher.finish().map_err(RunError::Records)?;
    Ok(Exploration {
        coverage: Coverage::of(system.program(), &outcome.actions_taken),
        record_bits: system.shape().width_bits,
        limit: limit_of(outcome.ending, watcher),
        outcome,
        usage: Usage::of(resources, &budget, elapsed),
    })
}

impl Usage {
    fn of(resources: &Resources, budget: &Budget, elapsed: Duration) -> Usage {
        Usage {
            threads: resources.threads,
            ram_budget: resources.ram,
            data_budget: budget.limit() as u64,
            data_peak: budget.peak() as u64,
            resident_peak: machine::resident_peak(),
            elapsed,
        }
    }
}

fn limit_of(ending: Ending, watcher: &Watcher) -> Option<Limit> {
    match ending {
        Ending::Complete => None,
        Ending::Found => Some(Limit::Violation),
        Ending::Depth => Some(Limit::Depth),
        Ending::Stopped => Some(watcher.reason()),
        Ending::Budget => Some(Limit::Ram),
    }
}
