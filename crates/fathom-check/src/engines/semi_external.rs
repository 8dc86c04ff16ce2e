//! How is a product generated that may not fit in memory, and searched for an accepting run?
//!
//! ```text
//! all states   in RAM; on disk from where memory ends, or from the start if the run is to last
//! passes       over the states, in RAM or on disk; if memory does not suffice for both, the states go to disk
//! ```
//! What generated the states gives its memory back before the passes. Their files are in a folder of their own: of the home, where ranks stay as the proof that a property holds, or
//! one that goes away.

use fathom_search::engines::engine::{AskGenerated, Chosen, Engine, Run};
use std::io;
use std::path::Path as FilePath;

use fathom_disk::manifest::RunDirectory;
use fathom_model::system::TransitionSystem;
use fathom_search::bodies::depth_first::Found;
use fathom_search::engines::auto;
use fathom_search::engines::{ddfs, owcty, semi_owcty};
use fathom_search::error::SearchError;
use fathom_search::files::closed_set::Reached;
use fathom_search::files::successor_graph::GraphUse;
use fathom_search::liveness::semi_external::{Outcome as Passed, Search};
use fathom_search::proof::ranks;
use fathom_search::task::watch::{Condition, Finding};
use fathom_search::task::{self, Ending, Observer, Tuning};
use fathom_search::traces::lasso::Lasso;

use crate::engines::figures::{Layers, PassFigures};
use crate::engines::layer_engine;
use crate::engines::liveness_task::{Searched, Task};
use crate::engines::states::{NEVER, States};
use crate::error::RunError;
use crate::folder::home::{Home, HomeError};
use crate::folder::scratch::{PARENT, Scratch};
use crate::limit::Limit;

/// What a generation is asked: the conditions are part of what a certificate claims.
pub(crate) fn settings(threads: usize, stop_at_fault: bool, max_depth: Option<u64>) -> task::Settings {
    task::Settings {
        threads,
        conditions: stop_at_fault.then_some(Condition::Fault).into_iter().collect(),
        stop_at_first: stop_at_fault,
        findings_max: 1,
        max_depth,
        coverage: false,
        tuning: Tuning::default(),
    }
}

/// Generates all states of a system first, then finds out what follows from them.
pub(crate) fn search(system: &dyn TransitionSystem, task: &Task<'_>) -> Result<Searched, RunError> {
    let generated = generate(system, task.observer, task)?;
    decide(system, task, generated)
}

/// Generates all states of a system, unless the observer ends that.
pub(crate) fn generate(
    system: &dyn TransitionSystem,
    observer: &dyn Observer,
    task: &Task<'_>,
) -> Result<layer_engine::Searched, RunError> {
    let settings = settings(task.resources.threads, task.stop_at_fault, task.resources.max_depth);
    let generation = layer_engine::Task {
        home: task.home,
        ..layer_engine::Task::new(system, task.budget, &settings, observer)
    };
    Ok(layer_engine::search(task.generation, &generation)?)
}

/// What was found while states were generated.
pub(crate) fn found_early(
    task: &Task<'_>,
    generated: &layer_engine::Searched,
    sign: &'static str,
    lasso: Result<Lasso, Limit>,
) -> Searched {
    let searched = Searched::of(task, generated);
    let (lasso, untraced) = match lasso {
        Ok(lasso) => (Some(lasso), None),
        Err(limit) => (None, Some(limit)),
    };
    Searched { ending: Ending::Found, gave_up: None, early: Some(sign), lasso, untraced, ..searched }
}

/// Finds out what follows from all states.
pub(crate) fn decide(
    system: &dyn TransitionSystem,
    task: &Task<'_>,
    generated: layer_engine::Searched,
) -> Result<Searched, RunError> {
    let choice = Choice::of(system, task, &generated)?;
    let task = &Task { engine: &choice.engine, ..*task };
    let mut searched = Searched::of(task, &generated);
    if let Some(finding) = generated.outcome.findings.of(0).first() {
        match found(system, &generated, task, finding).map_err(RunError::from) {
            Ok(found) => searched.fault = Some(found),
            Err(error) => {
                let limit = error.untraced(task.monitor);
                searched.fault_untraced = Some(limit.ok_or(error)?);
            }
        }
    }
    let layer_engine::Searched { kept, outcome, gave_up, .. } = generated;
    if outcome.ending != Ending::Complete || gave_up.is_some() {
        return Ok(searched);
    }
    if let Some(said) = choice.said(task.engine.engine) {
        task.monitor.say(&said);
    }
    let boundary = outcome.boundary.clone();
    // In order, they take about as much again.
    let used = searched.disk.as_ref().map_or(0, |(disk, _)| disk.layers + 2 * disk.closed_set);
    drop(outcome);
    let kept = kept.generated();
    let layers = (searched.layers.len() as u64, boundary);
    let (engine, passed) = over_states(system, task, choice.is_own(), (kept, layers), used);
    searched.engine = engine;
    match passed {
        Err(RunError::Search(SearchError::Budget(_) | SearchError::LeastBudget { .. })) => {
            searched.ending = Ending::Budget;
        }
        Err(error) => {
            // What was committed stays: once there is room, passes go on from there.
            let Some(limit) = no_room(&error) else { return Err(error) };
            (searched.ending, searched.gave_up) = (Ending::Stopped, Some(limit));
        }
        Ok(passed) => {
            let unproven = passed.unranked && passed.left == 0 && !passed.stopped;
            if unproven && task.home.is_some_and(|home| home.settings().lasts()) {
                task.monitor.say(UNRANKED);
            }
            searched.take(passed, choice.said(engine), || task.monitor.reason());
        }
    }
    Ok(searched)
}

/// Why nothing proves that a formula holds that was to be proven.
const UNRANKED: &str =
    "it holds of strongly fair runs alone, and ranks do not extend to these: there is no certificate";

/// Whether an error says that there is no more room for files.
fn no_room(error: &RunError) -> Option<Limit> {
    match error {
        RunError::Search(error) => layer_engine::room_used_up(error),
        RunError::Scratch(error) if error.kind() == io::ErrorKind::StorageFull => Some(Limit::DiskFull),
        _ => None,
    }
}

/// Passes over all states; those on disk are in files that take `used` bytes when they are in order. With the engine that made them: if the choice was not the user's and its memory does not suffice after all, it is the one that
/// takes none.
fn over_states(
    system: &dyn TransitionSystem,
    task: &Task<'_>,
    own_choice: bool,
    (kept, layers): (auto::Kept, (u64, Vec<u8>)),
    used: u64,
) -> (&'static Engine, Result<Passed, RunError>) {
    let engine = task.engine.engine;
    let mut states = match States::new(system, kept, layers, task.budget, task.monitor) {
        Err(error) => return (engine, Err(error.into())),
        Ok(states) => states,
    };
    let used = if states.are_on_disk() { used } else { 0 };
    if let Some(limit) = task.home.and_then(|home| home.settings().limit).filter(|limit| used > *limit) {
        return (engine, Err(SearchError::DiskLimit { used, limit }.into()));
    }
    let passed = states.ask(&|reached| passes(system, task, reached, used));
    let out_of_memory = matches!(passed, Err(RunError::Search(SearchError::Budget(_))));
    if !own_choice || engine == &owcty::ENGINE || !out_of_memory {
        return (engine, passed);
    }
    task.monitor.say("the memory does not suffice for bits by number: passes over sorted files decide");
    let task = Task { engine: &Chosen::plain(&owcty::ENGINE), ..*task };
    (&owcty::ENGINE, states.ask(&|reached| passes(system, &task, reached, used)))
}

/// The engine for all states, and why that one.
struct Choice {
    engine: Chosen,
    /// The states that may recur and the memory, if it was chosen by these.
    why: Option<(u64, u64)>,
}

impl Choice {
    /// The engine that the user wants. Else the fix-point by number, unless its bits do not fit in memory: then a depth-first search, if its own do and nothing is to be proven; or the fix-point over files, which needs none.
    fn of(
        system: &dyn TransitionSystem,
        task: &Task<'_>,
        generated: &layer_engine::Searched,
    ) -> Result<Choice, RunError> {
        if !matches!(task.engine.engine.run, Run::Chooses { .. }) {
            return Ok(Choice { engine: task.engine.clone(), why: None });
        }
        let lasts = task.home.is_some_and(|home| home.settings().lasts());
        let memory = task.budget.limit() as u64;
        let fits = |states: u64, bits: u64| states.saturating_mul(bits) / 8 <= memory / 4 * 3;
        let layers = &generated.outcome.layers;
        if fits(layers.sum(), FIX_POINT_BITS) {
            let why = Some((layers.sum(), memory));
            return Ok(Choice { engine: Chosen::plain(&semi_owcty::ENGINE), why });
        }
        // Only states that may recur are numbered, unless all are to be proven something of; to count them takes a look at all.
        let numbered = if lasts && !task.acceptance.is_weak() {
            None
        } else {
            generated.kept.count(layers.len() as u64, &|record| task.acceptance.recurs(record))?
        };
        let numbered = numbered.unwrap_or(layers.sum());
        let engine = if fits(numbered, FIX_POINT_BITS) {
            &semi_owcty::ENGINE
        } else if fits(numbered, DEPTH_FIRST_BITS) && !lasts && system.shape().mark_count <= 1 {
            &ddfs::ENGINE
        } else {
            &owcty::ENGINE
        };
        Ok(Choice { engine: Chosen::plain(engine), why: Some((numbered, memory)) })
    }

    /// Whether the user did not choose.
    fn is_own(&self) -> bool {
        self.why.is_some()
    }

    /// Why an engine decides, if the user did not choose.
    fn said(&self, engine: &Engine) -> Option<String> {
        let (states, memory) = self.why?;
        let bits = |bits: u64, fit: &str| {
            format!("{bits} bits for each of {states} states {fit} in {memory} bytes of memory")
        };
        Some(if engine == &owcty::ENGINE {
            let bits_wanted = if self.engine.engine == engine { DEPTH_FIRST_BITS } else { FIX_POINT_BITS };
            format!("{}: passes over sorted files", bits(bits_wanted, "do not fit"))
        } else if engine == &ddfs::ENGINE {
            let misfit = bits(FIX_POINT_BITS, "do not fit");
            format!("{misfit}, {DEPTH_FIRST_BITS} do: depth-first by number")
        } else {
            format!("{}: passes by number", bits(FIX_POINT_BITS, "fit"))
        })
    }
}

/// Bits per state of the fix-point, and of a depth-first search over a perfect hash.
pub(crate) const FIX_POINT_BITS: u64 = 10;
pub(crate) const DEPTH_FIRST_BITS: u64 = 4;

/// Looks for an accepting run among all states, whose files take `used` bytes.
fn passes(
    system: &dyn TransitionSystem,
    task: &Task<'_>,
    reached: &dyn Reached,
    used: u64,
) -> Result<Passed, RunError> {
    let Task { room, monitor, resources, .. } = *task;
    let scratch;
    let lasting = task.home.filter(|home| home.settings().lasts());
    let place = |error: HomeError| SearchError::Place(Box::new(error));
    let volume = match lasting.and_then(Home::passes) {
        Some(volume) => volume.map_err(place)?,
        None => {
            scratch = Scratch::under(FilePath::new(PARENT)).map_err(RunError::Scratch)?;
            scratch.volume().map_err(RunError::Scratch)?
        }
    };
    let threads = resources.threads;
    let stack_scratch = task.stack.map(Scratch::under).transpose().map_err(RunError::Scratch)?;
    let stack_volume = stack_scratch.as_ref().map(Scratch::volume).transpose().map_err(RunError::Scratch)?;
    let stack = stack_volume.as_ref();
    let search = Search {
        system,
        acceptance: task.acceptance,
        threads,
        volume: &volume,
        stack,
        room,
        observer: monitor,
        graph: GraphUse::WhenItPays,
        disk_room: task
            .home
            .and_then(|home| home.settings().limit)
            .map_or(u64::MAX, |limit| limit.saturating_sub(used)),
        commit_every: task.home.map_or(NEVER, |home| home.settings().commit_every),
    };
    let Run::Generated { run, .. } = task.engine.engine.run else {
        unreachable!("the engine {} is not asked about all states", task.engine.engine.name)
    };
    let chosen = task.engine;
    let Some(home) = lasting else {
        return Ok(run(AskGenerated { search: &search, reached, chosen, lasting: None })?);
    };
    let directory = RunDirectory::open_within(&volume, home.tag(), search.room.budget());
    let mut directory = directory.map_err(SearchError::from)?;
    if ranks::are_there(&directory) {
        // A run that had come to its end is asked again.
        return Ok(Passed { classes: Some(0), ..Passed::default() });
    }
    let passed =
        run(AskGenerated { search: &search, reached, chosen, lasting: Some((&mut directory, home.tag())) })?;
    // What was needed for the passes goes; what is committed stays.
    drop(directory);
    RunDirectory::open(&volume, home.tag()).map_err(SearchError::from)?;
    Ok(passed)
}

/// The way to a fault.
fn found(
    system: &dyn TransitionSystem,
    generated: &layer_engine::Searched,
    task: &Task<'_>,
    finding: &Finding,
) -> Result<Found, SearchError> {
    let threads = task.resources.threads;
    let observer = task.monitor.tracing();
    let path = |record: &Vec<u64>| {
        generated.path_to(system, task.room, &*observer, threads, (finding.layer, record))
    };
    Ok(Found { path: finding.record.as_ref().map(path).transpose()?, fault: finding.fault })
}

impl Searched {
    /// What a generation found out.
    fn of(task: &Task<'_>, generated: &layer_engine::Searched) -> Searched {
        let layer_engine::Searched { engine, outcome, gave_up, disk, .. } = generated;
        Searched {
            engine: task.engine.engine,
            ending: outcome.ending,
            states: outcome.layers.sum(),
            transitions: outcome.transitions,
            visits: outcome.expanded,
            edges: outcome.transitions,
            faults: outcome.faults + outcome.label_faults,
            layers: Layers::from(&outcome.layers),
            lasso: None,
            untraced: None,
            fault: None,
            fault_untraced: None,
            threads: task.resources.threads,
            store: engine,
            gave_up: *gave_up,
            disk: disk.clone(),
            figures: Vec::new(),
            certified: false,
            passes: None,
            early: None,
            checksum: Some(outcome.checksum),
        }
    }

    /// Adds what passes found out.
    fn take(&mut self, passed: Passed, chosen: Option<String>, limit: impl Fn() -> Limit) {
        self.untraced = passed.untraced.then(limit);
        self.ending = match (passed.lasso.is_some() || passed.untraced, passed.stopped) {
            (true, _) => Ending::Found,
            (false, true) => Ending::Stopped,
            (false, false) => Ending::Complete,
        };
        self.visits += passed.visits;
        self.edges += passed.edges;
        self.certified = passed.classes.is_some();
        let Passed { rounds, graph_bytes: graph, taken_up, .. } = passed;
        self.passes = Some(PassFigures { rounds, graph, taken_up, chosen });
        self.lasso = passed.lasso;
    }
}
