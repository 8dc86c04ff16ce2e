//! Can a model always still reach what it should? Murphi's `liveness`: from every reachable state, some run leads to a state where it holds.
//!
//! A state from which none does is shown by a shortest path to it. The path is replayed on a fresh interpreter, which then looks for the goal in
//! what can be reached from there, as far as [`JUDGED_STATES_MAX`] states go.

use fathom_search::engines::auto;
use fathom_search::engines::engine::Chosen;
use std::collections::HashSet;
use std::path::Path as FilePath;
use std::time::Instant;

use fathom_disk::budget::Budget;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Labels};
use fathom_model::system::TransitionSystem;
use fathom_search::error::SearchError;
use fathom_search::files::closed_set::Reached;
use fathom_search::liveness::possible;
use fathom_search::task::{self, Observer, Tuning};
use fathom_search::traces::one_state::OneState;
use fathom_search::traces::path::{Path, Room};
use fathom_search::traces::trace::path_through;

use crate::answers::check::{Answer, Checked, Judge, Stop, Verdict, told};
use crate::answers::exploration::{Counts, DiskUsage, Exploration, Usage, limit_of};
use crate::engines::layer_engine;
use crate::engines::states::States;
use crate::error::RunError;
use crate::folder::scratch::{PARENT, Scratch};
use crate::limit::Limit;
use crate::model::assemble::Model;
use crate::model::execution::Execution;
use crate::monitor::Monitor;
use crate::questions::plan::Plan;
use crate::questions::property::Possibility;
use crate::resources::Resources;
use crate::trace::Trace;

/// How many states the judge looks at for a goal that cannot be reached.
pub const JUDGED_STATES_MAX: usize = 20_000;

/// What a state that the judge looks at takes beside its records.
const STATE_BYTES: usize = 128;

/// Answers one question in a search of its own: all states, in RAM and from where memory ends on disk, then waves back from where the goal is true.
pub fn check(
    model: &Model,
    possibility: &Possibility,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<Checked, RunError> {
    let began = Instant::now();
    let system = model.system(std::slice::from_ref(&possibility.goal), Execution::wanted(resources, monitor));
    let budget = resources.data_budget()?;
    let settings = settings(resources);
    let task = layer_engine::Task::new(&system, &budget, &settings, monitor);
    let generated = layer_engine::search(
        &Chosen::plain(&auto::ENGINE),
        &layer_engine::Task { in_scratch: true, ..task },
    )?;
    let layer_engine::Searched { engine, kept, outcome, gave_up, disk, .. } = generated;
    let mut limit = gave_up.or_else(|| limit_of(outcome.ending, monitor));
    let mut counts = Counts::of(&outcome);
    let mut trapped = None;
    if limit.is_none() {
        let kept = kept.generated();
        let layers = (outcome.layers.len() as u64, outcome.boundary);
        let mut states = States::new(&system, kept, layers, &budget, monitor)?;
        match states.ask(&|reached| asked(&system, reached, &budget, monitor)) {
            Ok(answer) => {
                limit = answer.stopped.then(|| monitor.reason());
                counts.visits += answer.visits;
                counts.edges += answer.edges;
                trapped = answer.trapped.map(|trapped| (states, trapped));
            }
            Err(RunError::Search(SearchError::Budget(_) | SearchError::LeastBudget { .. })) => {
                limit = Some(Limit::Ram);
            }
            Err(other) => return Err(other),
        }
    }
    let elapsed = began.elapsed();
    monitor.finish().map_err(RunError::Records)?;
    let found = trapped.is_some();
    let trace = trapped.map(|(mut states, (layer, record))| {
        let (room, observer) = (layer_engine::room(&budget, None), monitor.tracing());
        let path = states.ask(&|reached| path_to(&system, reached, &room, &*observer, (layer, &record)))?;
        trap(model, possibility, path, &room, &*observer)
    });
    let (trace, untraced) = told(trace, monitor)?;
    let verdict = match (found, limit) {
        (true, _) => Verdict::Violated,
        (false, None) => Verdict::Holds,
        (false, Some(_)) => Verdict::Unknown,
    };
    let usage = Usage::of(resources, &budget, elapsed);
    let exploration = Exploration {
        limit,
        disk: disk.map(DiskUsage::of),
        ..Exploration::new(engine, counts, system.shape().width_bits, usage)
    };
    let search = Some(Box::new(exploration.clone()));
    let property = possibility.property.clone();
    let answers =
        vec![Answer { property, verdict, trace, more: Vec::new(), untraced, vacuous: false, search }];
    Ok(Checked::new(answers, exploration, Stop::First))
}

/// Whether the goal can still be reached from all states, whose order and numbers are in files that go away.
fn asked(
    system: &dyn TransitionSystem,
    reached: &dyn Reached,
    budget: &Budget,
    monitor: &dyn Monitor,
) -> Result<possible::Outcome, RunError> {
    let scratch = Scratch::under(FilePath::new(PARENT)).map_err(RunError::Scratch)?;
    let volume = scratch.volume().map_err(RunError::Scratch)?;
    Ok(possible::run(system, 0, reached, &volume, budget, monitor)?)
}

/// The least shortest path to a state of a layer.
fn path_to(
    system: &dyn TransitionSystem,
    reached: &dyn Reached,
    room: &Room,
    observer: &dyn Observer,
    state: (u64, &[u64]),
) -> Result<Path, RunError> {
    let visit =
        |layer: u64, visit: &mut dyn FnMut(Records<'_>)| reached.visit_layer(layer, visit).map(|()| true);
    Ok(path_through(system, &visit, room, observer, state)?.expect("all layers are kept"))
}

/// All states are generated, whatever they are like.
fn settings(resources: &Resources) -> task::Settings {
    task::Settings {
        threads: resources.threads,
        conditions: Vec::new(),
        stop_at_first: false,
        findings_max: 1,
        max_depth: resources.max_depth,
        coverage: false,
        tuning: Tuning::default(),
    }
}

/// The run to a state from where the goal cannot be reached, if the reference agrees.
fn trap(
    model: &Model,
    possibility: &Possibility,
    path: Path,
    room: &Room,
    observer: &dyn Observer,
) -> Result<Trace, RunError> {
    let plan = Plan::of_possibility(possibility);
    let judge = Judge { subject: model, plan: &plan, number: 0, room, observer };
    let path = judge.real_path(path)?;
    let last = path.last_record()?.expect("a path has a state");
    never_reached(model, possibility, &last, room.budget(), observer)?;
    judge.judged(Some(path), None, true)
}

/// Looks for the goal in what can really be reached from a state; finding it is an error of fathom.
fn never_reached(
    model: &Model,
    possibility: &Possibility,
    last: &[u64],
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<(), RunError> {
    // Each is known, and may wait: two records, with what vectors and the set take for themselves.
    let each = last.len() * 16 + STATE_BYTES;
    let states_max = (budget.free() / 4 / each).clamp(1, JUDGED_STATES_MAX);
    let _charge = budget.charge("trace", states_max * each).map_err(SearchError::from)?;
    let system = model.interpreter(vec![possibility.goal.clone()]);
    let columns = Columns { labels: true, ..Columns::NONE };
    let mut state = OneState::new(&system, columns, budget, "trace")?;
    let mut known: HashSet<Vec<u64>> = HashSet::from([last.to_vec()]);
    let mut waiting = vec![last.to_vec()];
    while let Some(record) = waiting.pop() {
        if observer.stop() {
            return Err(SearchError::Stopped.into());
        }
        let steps = state.expand(&record)?;
        let labels: Labels = steps.labels(0);
        if !labels.faulted() && labels.holds(0) {
            let refusal = "the goal can be reached from its last state".to_owned();
            return Err(RunError::Replay { property: possibility.property.name.clone(), refusal });
        }
        for target in steps.targets().iter() {
            if known.len() < states_max && known.insert(target.to_vec()) {
                waiting.push(target.to_vec());
            }
        }
    }
    Ok(())
}
