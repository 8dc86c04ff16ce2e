//! What does one exploration of a model find out?
//!
//! [`explore`] is what `fathom explore` does, without the printing: model in, [`Exploration`] out. Limits end it early with what is
//! known so far; only a machine that fails is an error.

use fathom_disk::budget::Budget;
use fathom_search::engines::engine::Chosen;
use fathom_search::engines::{auto, positions};
use fathom_search::error::SearchError;
use std::time::Instant;

use fathom_model::system::TransitionSystem;
use fathom_search::task::{Ending, Settings, Tuning};

use crate::answers::coverage::Coverage;
use crate::answers::exploration::{AutomatonFigures, Counts, DiskUsage, Exploration, Usage, limit_of};
use crate::engines::layer_engine::{self, Searched};
use crate::engines::liveness_search;
use crate::engines::progress;
use crate::error::RunError;
use crate::folder::home::Home;
use crate::model::execution::Execution;
use crate::model::subject::Subject;
use crate::monitor::Monitor;
use crate::questions::liveness_property::LivenessProperty;
use crate::resources::Resources;

/// Explores the whole reachable space of a model, or of its product with the automaton of a property, up to the limits. `auto` begins with the engine that tells the locality, unless the run is to
/// last, and if that one's memory does not suffice, begins again with the one that needs least.
pub fn explore(
    subject: &dyn Subject,
    property: Option<&LivenessProperty>,
    engine: &Chosen,
    resources: &Resources,
    monitor: &dyn Monitor,
    home: Option<&Home>,
) -> Result<Exploration, RunError> {
    let execution = Execution::wanted(resources, monitor);
    let product;
    let plain;
    let system: &dyn TransitionSystem = match property {
        Some(property) => {
            product =
                liveness_search::product(subject, property, &property.automaton, (&[], false), execution)?;
            &product
        }
        None => {
            plain = subject.searched(&[], execution);
            &plain
        }
    };
    let settings = settings(resources);
    let began = Instant::now();
    let measure = match property {
        Some(_) => progress::measure_of_product(engine, system, resources, monitor)?,
        None => progress::measure(engine, subject, system, resources, monitor)?,
    };
    let search = |engine: &Chosen, budget: &Budget| {
        let task = layer_engine::Task::new(system, budget, &settings, monitor);
        layer_engine::search(engine, &layer_engine::Task { home, measure: measure.as_ref(), ..task })
    };
    let (searched, budget) = searched(engine, resources, monitor, home, &search)?;
    let elapsed = began.elapsed();
    monitor.finish().map_err(RunError::Records)?;
    let Searched { engine, outcome, gave_up, disk, cost, measure: swept_by, figures, .. } = searched;
    let mut counts = Counts::of(&outcome);
    counts.measure = progress::told(swept_by, measure.as_ref());
    if property.is_some() {
        // Where a product ends, the automaton has dropped the run.
        counts.deadlocks = None;
    }
    Ok(Exploration {
        engine,
        assumed_depth: None,
        store: None,
        automaton: property.map(AutomatonFigures::of),
        limit: gave_up.or_else(|| limit_of(outcome.ending, monitor)),
        // What the automaton drops is not what the model never does.
        coverage: subject
            .program()
            .filter(|_| property.is_none())
            .and_then(|program| Coverage::of(program, &outcome.actions_taken)),
        counts,
        record_bits: system.shape().width_bits,
        usage: Usage::of(resources, &budget, elapsed),
        disk: disk.map(DiskUsage::of),
        cost,
        passes: None,
        early: None,
        figures,
    })
}

/// Nothing is looked for.
fn settings(resources: &Resources) -> Settings {
    Settings {
        threads: resources.threads,
        conditions: Vec::new(),
        stop_at_first: false,
        findings_max: 1,
        max_depth: resources.max_depth,
        coverage: true,
        tuning: Tuning::default(),
    }
}

/// Searches with an engine. By itself the one that tells the locality comes first, as long as it fits.
fn searched(
    engine: &Chosen,
    resources: &Resources,
    monitor: &dyn Monitor,
    home: Option<&Home>,
    search: &dyn Fn(&Chosen, &Budget) -> Result<Searched, SearchError>,
) -> Result<(Searched, Budget), RunError> {
    let lasts = home.is_some_and(|home| home.settings().lasts());
    if engine.engine == &auto::ENGINE && !lasts {
        let budget = resources.data_budget()?;
        let searched = search(&Chosen::plain(&positions::ENGINE), &budget)?;
        if searched.outcome.ending != Ending::Budget {
            return Ok((searched, budget));
        }
        monitor.say("the memory does not suffice to tell the locality: beginning again without it");
        monitor.abandoned(0);
    }
    let budget = resources.data_budget()?;
    Ok((search(engine, &budget)?, budget))
}
