//! Which engine looks for an accepting run, and how?
//!
//! Depth-first engines know accepting states: where a product has several marks (fairness), they get it with its marks counted. The fix-point takes marks as they
//! are. Semi-external engines generate the product first, breadth-first, and put it in order in a folder that goes away with them.

use std::path::Path as FilePath;

use fathom_disk::budget::Budget;
use fathom_ltl::automaton::Automaton;
use fathom_ltl::degeneralised::Degeneralised;
use fathom_ltl::product::{Product, ProductError};
use fathom_model::system::TransitionSystem;
use fathom_search::depth_first::Found;
use fathom_search::engines::bitstate::Bitstate;
use fathom_search::engines::ndfs::{self, ExactSet};
use fathom_search::engines::ram::RamTable;
use fathom_search::engines::{ddfs, semi_owcty};
use fathom_search::error::SearchError;
use fathom_search::lasso::Lasso;
use fathom_search::layer_loop::{self, Ending, Tuning};
use fathom_search::trace::path_to;
use fathom_search::watch::{Condition, Finding};

use crate::assemble::{Model, System};
use crate::liveness_property::LivenessProperty;
use crate::observer::Watcher;
use crate::run::RunError;
use crate::scratch::Scratch;
use crate::settings::Resources;

/// An engine that looks for accepting runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LivenessEngine {
    /// Nested depth-first search in RAM, exact, on the fly.
    #[default]
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
    pub layers: Vec<u64>,
    /// An accepting run of the product.
    pub lasso: Option<Lasso>,
    /// How a fault was first met in the product.
    pub fault: Option<Found>,
    /// Threads that expanded states.
    pub threads: usize,
}

/// What is searched for, and where.
pub(crate) struct Task<'a> {
    pub(crate) engine: LivenessEngine,
    /// Whether the steps of every cycle all carry every mark, or none does.
    pub(crate) weak: bool,
    pub(crate) stop_at_fault: bool,
    pub(crate) resources: &'a Resources,
    pub(crate) budget: &'a Budget,
    pub(crate) watcher: &'a Watcher,
}

/// Where folders for files that go away are made.
pub(crate) const SCRATCH: &str = ".fathom";

impl LivenessEngine {
    /// Those that miss nothing.
    pub const EXACT: [LivenessEngine; 3] =
        [LivenessEngine::Ndfs, LivenessEngine::SemiOwcty, LivenessEngine::Ddfs];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            LivenessEngine::Ndfs => "ndfs",
            LivenessEngine::SemiOwcty => "semi-owcty",
            LivenessEngine::Ddfs => "ddfs",
            LivenessEngine::Bitstate => "bitstate",
        }
    }

    /// The automaton that suits it: with accepting states, or the smaller one with marks on edges where that makes no other difference.
    pub(crate) fn automaton(self, property: &LivenessProperty) -> &Automaton {
        match self {
            LivenessEngine::SemiOwcty if !property.is_weak() => &property.generalised,
            _ => &property.searched,
        }
    }
}

impl From<ProductError> for RunError {
    fn from(error: ProductError) -> RunError {
        RunError::Product(error)
    }
}

/// The product of a model and an automaton that reads the labels of a property.
pub(crate) fn product(
    model: &Model,
    property: &LivenessProperty,
    automaton: &Automaton,
    fair: &[u32],
    jit: bool,
) -> Result<Product<System>, RunError> {
    let system = model.system(property.labels.clone(), jit);
    Ok(Product::new(system, automaton.clone(), property.names.clone(), fair)?)
}

/// Searches a product. Lasso and path are of the product.
pub(crate) fn search(product: &Product<System>, task: &Task<'_>) -> Result<Searched, RunError> {
    let depth_first = task.engine != LivenessEngine::SemiOwcty;
    if !depth_first || product.shape().mark_count == 1 {
        return dispatch(product, task);
    }
    let counted = Degeneralised::new(product);
    let mut searched = dispatch(&counted, task)?;
    let part = |record: &[u64]| counted.part(record);
    searched.lasso = searched.lasso.map(|lasso| lasso.project(part));
    if let Some(path) = searched.fault.as_mut().and_then(|found| found.path.as_mut()) {
        path.records = path.records.iter().map(|record| part(record)).collect();
    }
    Ok(searched)
}

fn dispatch(system: &dyn TransitionSystem, task: &Task<'_>) -> Result<Searched, RunError> {
    match task.engine {
        LivenessEngine::Ndfs | LivenessEngine::Bitstate => Ok(nested(system, task)?),
        LivenessEngine::SemiOwcty | LivenessEngine::Ddfs => semi_external(system, task),
    }
}

/// On the fly, depth-first.
fn nested(system: &dyn TransitionSystem, task: &Task<'_>) -> Result<Searched, SearchError> {
    let Task { budget, watcher, .. } = *task;
    let settings = ndfs::Settings {
        stop_at_fault: task.stop_at_fault,
        max_depth: task.resources.max_depth,
        weak: task.weak,
    };
    let bits = system.shape().width_bits;
    let outcome = if task.engine == LivenessEngine::Bitstate {
        // The rest is for the stacks, and for the run that is told.
        let bytes = budget.limit() / 4;
        let (mut visited, mut red) = (Bitstate::new(budget, bytes)?, Bitstate::new(budget, bytes)?);
        ndfs::run(system, &mut visited, &mut red, budget, &settings, watcher)?
    } else {
        let (mut visited, mut red) = (ExactSet::new(bits, budget)?, ExactSet::new(bits, budget)?);
        ndfs::run(system, &mut visited, &mut red, budget, &settings, watcher)?
    };
    Ok(Searched {
        ending: outcome.ending,
        states: outcome.states,
        transitions: outcome.transitions,
        visits: outcome.visits,
        edges: outcome.edges,
        faults: outcome.faults + outcome.label_faults,
        layers: Vec::new(),
        lasso: outcome.lasso,
        fault: outcome.fault,
        threads: 1,
    })
}

/// All states first, then what follows from them.
fn semi_external(system: &dyn TransitionSystem, task: &Task<'_>) -> Result<Searched, RunError> {
    let Task { budget, watcher, resources, .. } = *task;
    let settings = layer_loop::Settings {
        threads: resources.threads,
        conditions: vec![Condition::Fault],
        stop_at_first: task.stop_at_fault,
        max_depth: resources.max_depth,
        coverage: false,
        tuning: Tuning::default(),
    };
    let mut table = RamTable::new(system.shape(), budget, resources.threads)?;
    let generated = layer_loop::run(system, &mut table, budget, &settings, watcher)?;
    table.forget_table()?;
    let mut searched = Searched {
        ending: generated.ending,
        states: generated.layers.sum(),
        transitions: generated.transitions,
        visits: generated.expanded,
        edges: generated.transitions,
        faults: generated.faults + generated.label_faults,
        layers: generated.layers.iter().collect(),
        lasso: None,
        fault: None,
        threads: resources.threads,
    };
    if let Some(Some(finding)) = generated.findings.0.first() {
        searched.fault = Some(found(system, &table, budget, finding)?);
    }
    if generated.ending != Ending::Complete {
        return Ok(searched);
    }
    drop(generated);
    let scratch = Scratch::under(FilePath::new(SCRATCH)).map_err(RunError::Scratch)?;
    let volume = scratch.volume().map_err(RunError::Scratch)?;
    let layers = searched.layers.len() as u64;
    let outcome = match task.engine {
        LivenessEngine::Ddfs => ddfs::run(system, &table, layers, &volume, budget, watcher),
        _ => semi_owcty::run(system, &table, layers, task.weak, &volume, budget, watcher),
    };
    let outcome = match outcome {
        Err(SearchError::Budget(_)) => {
            searched.ending = Ending::Budget;
            return Ok(searched);
        }
        other => other?,
    };
    searched.ending = match (&outcome.lasso, outcome.stopped) {
        (Some(_), _) => Ending::Found,
        (None, true) => Ending::Stopped,
        (None, false) => Ending::Complete,
    };
    searched.visits += outcome.visits;
    searched.edges += outcome.edges;
    searched.lasso = outcome.lasso;
    Ok(searched)
}

/// The way to a fault.
fn found(
    system: &dyn TransitionSystem,
    table: &RamTable,
    budget: &Budget,
    finding: &Finding,
) -> Result<Found, SearchError> {
    let path = match &finding.record {
        Some(record) => path_to(system, table, budget, finding.layer, record)?,
        None => None,
    };
    Ok(Found { path, fault: finding.fault })
}
