//! Do the infinite runs of a model do what they should?
//!
//! One property at a time, in its product with the model. A lasso that is found is a claim until a fresh interpreter has run it and the formula was evaluated on
//! it directly, without the automaton; one that does not pass is an error of fathom, never a verdict.

use std::time::Instant;

use fathom_ltl::evaluate;
use fathom_ltl::product::Product;
use fathom_ltl::word::Lasso as Word;
use fathom_model::system::TransitionSystem;
use fathom_search::lasso::{self, Lasso, Seen};
use fathom_search::layer_loop::Ending;
use fathom_search::trace::Path;
use fathom_search::unfold::unfold_lasso;

use crate::assemble::{self, Model, System};
use crate::check::{Answer, Checked, Verdict, no_run};
use crate::liveness_property::LivenessProperty;
use crate::liveness_search::{self, Searched, Task};
use crate::observer::Watcher;
use crate::property::{Faults, Plan, Property, PropertyKind};
use crate::run::{AutomatonFigures, Counts, Exploration, Limit, RunError, Usage, limit_of};
use crate::settings::Resources;
use crate::trace::{LassoWords, Trace};

pub use crate::liveness_search::LivenessEngine;

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
    let fair = &settings.fair;
    let automaton = settings.engine.automaton(property);
    let product = liveness_search::product(model, property, automaton, fair, resources.jit)?;
    let budget = assemble::data_budget(resources)?;
    let task = Task {
        engine: settings.engine,
        weak: property.is_weak() && fair.is_empty(),
        stop_at_fault: settings.faults == Faults::Stop,
        resources,
        budget: &budget,
        watcher,
    };
    let outcome = liveness_search::search(&product, &task)?;
    let elapsed = began.elapsed();
    watcher.finish().map_err(RunError::Records)?;
    let trace = match &outcome.lasso {
        Some(lasso) => Some(proven(model, property, settings, lasso, &product)?),
        None => None,
    };
    let states_known = settings.engine != LivenessEngine::Bitstate
        && (outcome.ending == Ending::Complete || !outcome.layers.is_empty() && outcome.lasso.is_some());
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
            states: states_known.then_some(outcome.states),
            transitions: states_known.then_some(outcome.transitions),
            known: outcome.states,
            visits: outcome.visits,
            edges: outcome.edges,
            layers: outcome.layers.clone(),
            faults: outcome.faults,
            ..Counts::default()
        },
        record_bits: product.shape().width_bits,
        // What the automaton drops is not what the model never does.
        coverage: None,
        usage: Usage { threads: outcome.threads, ..Usage::of(resources, &budget, elapsed) },
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
    let (run, places) = match model.quotient(Vec::new()) {
        Some(quotient) => {
            unfold_lasso(&quotient, &run, Some(stutter)).ok_or_else(|| no_run(&property.property.name))?
        }
        None => {
            let places = (0..run.records.len()).collect();
            (run, places)
        }
    };
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
    let states =
        places.iter().map(|place| product.state_name(product.parts(&lasso.records[*place]).1)).collect();
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
    outcome: &Searched,
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
