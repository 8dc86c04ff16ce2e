//! Do the infinite runs of a model do what they should?
//!
//! One property at a time, in its product with the model. A lasso that is found is a claim until a fresh interpreter has run it and the formula was evaluated on
//! it directly, without the automaton; one that does not pass is an error of fathom, never a verdict.

use std::time::Instant;

use fathom_disk::budget::Budget;
use fathom_ltl::degeneralised::Degeneralised;
use fathom_ltl::evaluate;
use fathom_ltl::product::{Product, ProductError};
use fathom_ltl::word::Lasso as Word;
use fathom_model::system::TransitionSystem;
use fathom_search::engines::bitstate::Bitstate;
use fathom_search::engines::ndfs::{self, ExactSet};
use fathom_search::error::SearchError;
use fathom_search::lasso::{self, Lasso, Seen};
use fathom_search::layer_loop::Ending;
use fathom_search::trace::Path;

use crate::assemble::{self, Model, System};
use crate::check::{Answer, Checked, Verdict};
use crate::liveness_property::LivenessProperty;
use crate::observer::Watcher;
use crate::property::{Faults, Plan, Property, PropertyKind};
use crate::run::{AutomatonFigures, Counts, Exploration, Limit, RunError, Usage, limit_of};
use crate::settings::Resources;
use crate::trace::{LassoWords, Trace};

/// An engine that looks for accepting runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LivenessEngine {
    /// Nested depth-first search in RAM, exact.
    #[default]
    Ndfs,
    /// The same with three bits per state: it may miss.
    Bitstate,
}

impl LivenessEngine {
    /// Those that miss nothing.
    pub const EXACT: [LivenessEngine; 1] = [LivenessEngine::Ndfs];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            LivenessEngine::Ndfs => "ndfs",
            LivenessEngine::Bitstate => "bitstate",
        }
    }
}

/// What is asked of a search beside the property.
#[derive(Clone, Debug)]
pub struct LivenessSettings {
    /// Which engine searches.
    pub engine: LivenessEngine,
    /// The processes that runs are fair to.
    pub fair: Vec<u32>,
    /// Whether a fault ends the search.
    pub faults: Faults,
}

/// Answers a question about infinite runs: two answers, one about the property and one about faults (unless these are only reported).
pub fn check(
    model: &Model,
    property: &LivenessProperty,
    settings: &LivenessSettings,
    resources: &Resources,
    watcher: &Watcher,
) -> Result<Checked, RunError> {
    let began = Instant::now();
    let product = product(model, property, &settings.fair, resources.jit)?;
    let budget = assemble::data_budget(resources)?;
    let outcome = search(&product, settings, resources, &budget, watcher)?;
    let elapsed = began.elapsed();
    watcher.finish().map_err(RunError::Records)?;
    let trace = match &outcome.lasso {
        Some(lasso) => Some(proven(model, property, settings, lasso, &product)?),
        None => None,
    };
    let limit = match (outcome.ending, settings.engine) {
        (Ending::Complete | Ending::Depth, LivenessEngine::Bitstate) => Some(Limit::Lossy),
        (ending, _) => limit_of(ending, watcher),
    };
    let exact = limit.is_none();
    let exploration = Exploration {
        engine: settings.engine.name(),
        store: Some("ram").filter(|_| settings.engine == LivenessEngine::Ndfs),
        automaton: Some(AutomatonFigures::of(property)),
        limit,
        counts: Counts {
            states: exact.then_some(outcome.states),
            transitions: exact.then_some(outcome.transitions),
            known: outcome.states,
            visits: outcome.visits,
            edges: outcome.edges,
            faults: outcome.faults + outcome.label_faults,
            ..Counts::default()
        },
        record_bits: product.shape().width_bits,
        // What the automaton drops is not what the model never does.
        coverage: None,
        usage: Usage { threads: 1, ..Usage::of(resources, &budget, elapsed) },
        disk: None,
        cost: None,
    };
    let verdict = match (&trace, exact) {
        (Some(_), _) => Verdict::Violated,
        (None, true) => Verdict::Holds,
        (None, false) => Verdict::Unknown,
    };
    let search = Some(Box::new(exploration.clone()));
    let mut answers =
        vec![Answer { property: property.property.clone(), verdict, trace, vacuous: false, search }];
    if settings.faults == Faults::Stop {
        answers.push(fault_answer(model, property, &outcome, exact, &product)?);
    }
    Ok(Checked { answers, exploration })
}

/// The product of a model and the automaton of a property, as `explore --product` counts it.
pub fn product(
    model: &Model,
    property: &LivenessProperty,
    fair: &[u32],
    jit: bool,
) -> Result<Product<System>, RunError> {
    let system = model.system(property.labels.clone(), jit);
    Ok(Product::new(system, property.automaton.clone(), property.names.clone(), fair)?)
}

impl From<ProductError> for RunError {
    fn from(error: ProductError) -> RunError {
        RunError::Product(error)
    }
}

/// Searches the product; with fairness, its marks counted. The lasso is one of the product.
fn search(
    product: &Product<System>,
    settings: &LivenessSettings,
    resources: &Resources,
    budget: &Budget,
    watcher: &Watcher,
) -> Result<ndfs::Outcome, RunError> {
    if product.shape().mark_count == 1 {
        return Ok(nested(product, settings, resources, budget, watcher)?);
    }
    let counted = Degeneralised::new(product);
    let mut outcome = nested(&counted, settings, resources, budget, watcher)?;
    let part = |record: &[u64]| counted.part(record);
    outcome.lasso = outcome.lasso.map(|lasso| lasso.project(part));
    if let Some(path) = outcome.fault.as_mut().and_then(|found| found.path.as_mut()) {
        path.records = path.records.iter().map(|record| part(record)).collect();
    }
    Ok(outcome)
}

fn nested(
    system: &dyn TransitionSystem,
    settings: &LivenessSettings,
    resources: &Resources,
    budget: &Budget,
    watcher: &Watcher,
) -> Result<ndfs::Outcome, SearchError> {
    let asked =
        ndfs::Settings { stop_at_fault: settings.faults == Faults::Stop, max_depth: resources.max_depth };
    let bits = system.shape().width_bits;
    match settings.engine {
        LivenessEngine::Ndfs => {
            let (mut visited, mut red) = (ExactSet::new(bits, budget)?, ExactSet::new(bits, budget)?);
            ndfs::run(system, &mut visited, &mut red, budget, &asked, watcher)
        }
        LivenessEngine::Bitstate => {
            // The rest is for the stacks, and for the run that is told.
            let bytes = budget.limit() / 4;
            let (mut visited, mut red) = (Bitstate::new(budget, bytes)?, Bitstate::new(budget, bytes)?);
            ndfs::run(system, &mut visited, &mut red, budget, &asked, watcher)
        }
    }
}

/// A lasso in words, if a fresh interpreter runs it, the formula does not hold of it, and it is fair.
fn proven(
    model: &Model,
    property: &LivenessProperty,
    settings: &LivenessSettings,
    lasso: &Lasso,
    product: &Product<System>,
) -> Result<Trace, RunError> {
    let judge = model.interpreter(property.labels.clone());
    let refuse = |refusal: String| RunError::Replay { property: property.property.name.clone(), refusal };
    let run = lasso.project(|record| product.parts(record).0);
    let stutter = product.stutter();
    let seen = lasso::replay(&judge, &run, Some(stutter)).map_err(|refusal| refuse(refusal.to_string()))?;
    let letters: Vec<u64> = seen.labels.iter().map(|labels| labels.0).collect();
    let (stem, cycle) = letters.split_at(run.cycle_start);
    let word = Word::new(stem, cycle).ok_or_else(|| refuse("its cycle is empty".into()))?;
    match &property.formula {
        Some(formula) if evaluate::holds(formula, &word) => {
            return Err(refuse("the formula holds of it".into()));
        }
        None if !property.automaton.accepts(&word) => {
            return Err(refuse("the property process does not accept it".into()));
        }
        _ => {}
    }
    if let Some(process) = settings.fair.iter().find(|process| !is_fair(&seen, run.cycle_start, **process)) {
        return Err(refuse(format!("it is not fair to process {process}")));
    }
    let states = lasso.records.iter().map(|record| product.state_name(product.parts(record).1)).collect();
    let labels: Vec<String> = property.labels.iter().map(|label| label.name.clone()).collect();
    let words = LassoWords { automaton: states, letters, labels };
    Ok(Trace::of_lasso(&judge, model.source(), &run, stutter, &words))
}

/// Whether a process moves, or cannot, at some state of the cycle.
fn is_fair(seen: &Seen, cycle_start: usize, process: u32) -> bool {
    (cycle_start..seen.labels.len())
        .any(|state| seen.movers[state].contains(process) || !seen.enabled[state].contains(process))
}

/// What came of the question whether the model faults.
fn fault_answer(
    model: &Model,
    property: &LivenessProperty,
    outcome: &ndfs::Outcome,
    exact: bool,
    product: &Product<System>,
) -> Result<Answer, RunError> {
    let plan = Plan::of_faults(property.labels.clone());
    let trace = match &outcome.fault {
        None => None,
        Some(found) => {
            let path = found.path.as_ref().map(|path| Path {
                records: path.records.iter().map(|record| product.parts(record).0).collect(),
                ..path.clone()
            });
            Some(crate::check::proven(model, &plan, 0, path.as_ref(), found.fault, false)?)
        }
    };
    let verdict = match (&trace, exact) {
        (Some(_), _) => Verdict::Fault,
        (None, true) => Verdict::Holds,
        (None, false) => Verdict::Unknown,
    };
    let property = Property { name: "fault".into(), kind: PropertyKind::Fault, span: None, antecedent: None };
    Ok(Answer { property, verdict, trace, vacuous: false, search: None })
}
