//! Accepting runs as states: which is the shortest lasso whose loop begins at an accepting state?
//!
//! V. Schuppan, A. Biere, "Efficient reduction of finite state model checking to reachability analysis" (STTT 2004); searched as in S. Edelkamp, S. Jabbar, "Large-scale directed model checking LTL" (SPIN 2006). The system is
//! wrapped (`looped`), so that an accepting run is a path to a state whose loop is closed, and that is searched for by the buckets of a directed search. The bound: before a loop, the steps that the automaton
//! needs to an accepting state, and one; in a loop, the steps that automaton and processes need to where it began.
//!
//! The lasso is the shortest of the *first type*: its loop begins at its accepting state. There are as many states as accepting ones times all at worst: this is for short lassos, not for proofs.
//!
//! Memory and I/O: as those of the directed search, for records twice as wide.

mod looped;

use std::cell::RefCell;

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::record::{Records, words_for};
use fathom_model::system::TransitionSystem;

use super::astar;
use super::engine::{AskRuns, Body, Bounds, Engine, Files, Run, Threads};
use crate::bodies::depth_first::Found;
use crate::error::SearchError;
use crate::liveness::on_the_fly::Outcome;
use crate::task::watch::Condition;
use crate::task::{Observer, Settings as StageSettings, Task, Tuning};
use crate::traces::lasso::Lasso;
use crate::traces::path::{Path, PathBuilder, Room};
use crate::traces::trace;

pub use looped::Looped;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "l2s",
    help: "Liveness as safety, on disk, exact: the shortest lasso whose loop begins at an accepting state",
    search: "by distance to a closed loop, exact",
    memory: "what --ram leaves, for any number",
    io: "each pair of states a few times",
    certificate: "none",
    origin: "Schuppan, Biere 2004; Edelkamp, Jabbar 2006: liveness to safety, directed; for short lassos",
    threads: Threads::Many,
    files: Files::Always,
    resumes: false,
    revisits: false,
    body: Body::Stages,
    layers: false,
    stores: &[],
    options: &[],
    run: Run::Runs(on_the_fly),
};

/// What a search is asked.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many threads expand.
    pub threads: usize,
    /// Whether to end at a fault.
    pub stop_at_fault: bool,
}

/// Searches as the registry asks.
fn on_the_fly(ask: &AskRuns<'_>) -> Result<Outcome, SearchError> {
    let AskRuns { system, room, observer, threads, stop_at_fault, .. } = *ask;
    let volume = ask.volume.expect("an engine that always has files has a volume");
    let bounds = ask.bounds.unwrap_or(&Bounds::NONE);
    let settings = Settings { threads, stop_at_fault };
    match run(system, bounds, (volume, room.budget(), room), settings, observer) {
        Err(error) if error.is_want_of_room() => Ok(Outcome::without_room(0, error)),
        outcome => outcome,
    }
}

/// Searches a system with one acceptance set, of states, for an accepting run, with files on a volume.
///
/// # Errors
/// If the machine fails. A budget that is used up is an ending.
pub fn run(
    system: &dyn TransitionSystem,
    bounds: &Bounds<'_>,
    (volume, budget, room): (&Volume, &Budget, &Room),
    settings: Settings,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let looped = Looped::new(system);
    let mut conditions = vec![Condition::Label { label: 0, value: true }];
    conditions.extend(settings.stop_at_fault.then_some(Condition::Fault));
    let stages = StageSettings {
        threads: settings.threads,
        conditions,
        stop_at_first: true,
        findings_max: 1,
        max_depth: None,
        coverage: false,
        tuning: Tuning::default(),
    };
    let words = words_for(system.shape().width_bits);
    let bound = |records: Records<'_>, values: &mut Vec<u64>| {
        values.extend(records.iter().map(|wide| to_closed(&looped, bounds, words, wide)));
    };
    let task = Task { system: &looped, budget, settings: &stages, observer };
    let (policy, outcome) = astar::run(task, &bound, (volume, false), astar::Options::unlasting())?;
    let outcome = policy.with_depths(outcome);
    let disk = Some(policy.disk_use());
    let layers = policy.into_layers();
    let path_to = |finding: usize| {
        let Some(finding) = outcome.findings.of(finding).first() else { return Ok(None) };
        let Some(record) = &finding.record else { return Ok(None) };
        trace::path_to(&looped, &layers, room, observer, (finding.layer, record))
    };
    let lasso = path_to(0)?.map(|path| lasso_of(&looped, &path)).transpose()?;
    let part = |record: &[u64]| (looped.state(record), 0);
    let path = path_to(1)?.map(|path| path.project(words, part)).transpose()?;
    let fault = outcome.findings.of(1).first();
    let fault = fault.map(|finding| Found { path, fault: finding.fault });
    Ok(Outcome {
        ending: outcome.ending,
        states: outcome.expanded,
        transitions: outcome.transitions,
        visits: outcome.expanded,
        edges: outcome.transitions,
        faults: outcome.faults,
        label_faults: outcome.label_faults,
        cut: 0,
        deepest: 0,
        lasso,
        fault,
        no_room: None,
        told: Vec::new(),
        figures: Vec::new(),
        disk,
    })
}

thread_local! {
    /// A state, and where its loop began.
    static PARTS: RefCell<[Vec<u64>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// How many steps a state is away from one whose loop is closed, at least.
fn to_closed<S: TransitionSystem>(
    looped: &Looped<S>,
    bounds: &Bounds<'_>,
    words: usize,
    wide: &[u64],
) -> u64 {
    PARTS.with_borrow_mut(|[at, from]| {
        for part in [&mut *at, from] {
            // Those of another system may have been wider.
            part.clear();
            part.resize(words, 0);
        }
        match looped.split(wide, at, from) {
            true => (bounds.between)(at, from),
            // A loop has a step.
            false => (bounds.to_accepting)(at) + 1,
        }
    })
}

/// The lasso that a path to a closed loop is.
fn lasso_of<S: TransitionSystem>(looped: &Looped<S>, path: &Path) -> Result<Lasso, SearchError> {
    let mut builder = PathBuilder::new(path.room(), words_for((looped.shape().width_bits - 1) / 2))?;
    let mut reader = path.reader()?;
    let mut outside = 0;
    for place in 0..path.len() - 1 {
        let state = reader.get(place)?;
        outside += u64::from(!looped.is_in_loop(state.record));
        builder.push(&looped.state(state.record), state.action)?;
    }
    // The last state outside is the one that the loop began at.
    Ok(Lasso { path: builder.finish(path.start())?, cycle_start: outside - 1 })
}
