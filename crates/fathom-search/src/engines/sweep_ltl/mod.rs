//! Policy of stages: which accepting run goes round, as seen from a measure of progress?
//!
//! After S. Evangelista, L. M. Kristensen, "Hybrid on-the-fly LTL model checking with the sweep-line method" (Petri Nets 2012), with another way to go on where steps lead back. A step that does not decrease the measure leaves a
//! value or stays, so:
//!
//! ```text
//! sweep    states in the order of the measure, as `sweep` does, which stay on disk. When all states of a bucket were expanded, a cycle inside it is looked for: in memory, at once
//! spans    a step back, from a greater value to a smaller one, notes all values between them; so does a bucket that memory does not suffice for
//! passes   if there are spans: the fix-point over sorted files, among the states whose values lie in one
//! ```
//! If each span were one value, no step would decrease the measure: so every cycle has states of one value, or of one span. Where there are no steps back, nothing is looked at again, whatever the formula. (The paper carries
//! greatest accepting predecessors on the targets of steps back, sweep after sweep: a state is visited as often as such a value grows. The states are on disk anyway, so that lassos can be told.)
//!
//! Memory: as `sweep`, and half of it for buckets. I/O: as `sweep` for all states, and passes for those in spans.

mod inside;

use std::cell::RefCell;
use std::time::Duration;

use fathom_disk::budget::Budget;
use fathom_disk::key::KeyWidth;
use fathom_disk::sabotage::is_chosen;
use fathom_disk::storage::Volume;
use fathom_model::acceptance::Acceptance;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;

use super::engine::{AskRuns, Body, Engine, EngineOption, Files, Measure, OptionValue, Run, Threads};
use super::owcty;
use super::sweep::spans::Spans;
use super::sweep::{self, Sweep};
use super::sweep_ram::ONE_BUCKET;
use crate::bodies::depth_first::Found;
use crate::bodies::stages;
use crate::error::SearchError;
use crate::files::closed_set::{Reached, sort_layers};
use crate::files::journal::StoredLayers;
use crate::files::successor_graph::GraphUse;
use crate::liveness::on_the_fly::Outcome;
use crate::liveness::semi_external::{Search, with_stem};
use crate::stores::key_width;
use crate::task::watch::{Condition, Finding};
use crate::task::{self, Ending, Observer, Settings, Task, Tuning};
use crate::traces::path::{Path, Room};
use crate::traces::trace::path_through_stages;
use inside::Inside;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "sweep-ltl",
    help: "In order of a progress measure, cycles bucket by bucket, on disk, exact: for infinite runs",
    search: "by progress, on the fly, exact",
    memory: "what --ram leaves, for any number",
    io: "each state a few times; passes where steps go back",
    certificate: "none",
    origin: "Evangelista, Kristensen 2012: sweep-line for infinite runs, by other means; -E measure=EXPRESSION",
    threads: Threads::Many,
    files: Files::Always,
    resumes: false,
    revisits: true,
    body: Body::Stages,
    layers: false,
    stores: &[],
    options: &[EngineOption {
        key: "measure",
        value: OptionValue::Expression,
        required: false,
        help: "the progress measure: any expressions are sound, ones that never decrease are best (structural)",
    }],
    run: Run::Runs(run),
};

/// With less memory than this none is set aside for buckets: passes decide.
const SHORT_BYTES: usize = 128 << 10;

/// Searches a system with one mark at most for an accepting run.
///
/// # Errors
/// If the machine fails. A budget that is used up is an ending.
pub fn run(ask: &AskRuns<'_>) -> Result<Outcome, SearchError> {
    assert!(ask.system.shape().mark_count <= 1, "several marks are counted before");
    match swept(ask) {
        Err(error) if error.is_want_of_room() => Ok(Outcome::without_room(0, error)),
        outcome => outcome,
    }
}

fn swept(ask: &AskRuns<'_>) -> Result<Outcome, SearchError> {
    let AskRuns { system, acceptance, room, observer, threads, .. } = *ask;
    let volume = ask.volume.expect("an engine that always has files has a volume");
    let budget = room.budget();
    let measure = ask.measure.map_or(ONE_BUCKET, |measure| measure.values);
    let mut inside = Inside::new(system, acceptance, room, observer);
    // The policy sizes its parts by what is free.
    let aside = if budget.free() < SHORT_BYTES { 0 } else { budget.free() / 2 };
    let aside = budget.charge("buckets", aside)?;
    let (mut policy, _) =
        Sweep::open(volume, budget, system.shape(), threads, measure, sweep::Options::unlasting())?;
    drop(aside);
    policy.look_at_buckets(&mut inside)?;
    let settings = settings(threads, ask.stop_at_fault);
    let swept = stages::run(Task { system, budget, settings: &settings, observer }, &mut policy)?;
    let spans = policy.take_spans().expect("somebody looks at buckets");
    let used = policy.disk_use();
    let stages = Stages {
        width: key_width(system.shape())?,
        count: swept.layers.len() as u64,
        stored: policy.into_stages(),
    };
    let mut outcome = Outcome { disk: Some(used), ..outcome_of(&swept) };
    outcome.visits += inside.visits;
    outcome.edges += inside.edges;
    if let Some(finding) = swept.findings.of(0).first() {
        outcome.fault = Some(stages.fault(system, room, observer, finding)?);
    }
    if swept.ending != Ending::Complete {
        return Ok(outcome);
    }
    drop(swept);
    let cycle = inside.found.take();
    decide(ask, (volume, measure), (&stages, &spans), cycle, &mut outcome)?;
    Ok(outcome)
}

/// Tells the run of a cycle that was found in a bucket; else looks for one among the states in spans.
fn decide(
    ask: &AskRuns<'_>,
    (volume, measure): (&Volume, Measure<'_>),
    (stages, spans): (&Stages, &Spans),
    cycle: Option<Path>,
    outcome: &mut Outcome,
) -> Result<(), SearchError> {
    let in_spans = InSpans { known: ask.acceptance, measure, spans, words: ask.system.shape().words() };
    let search = Search {
        system: ask.system,
        acceptance: &in_spans,
        threads: ask.threads,
        volume,
        stack: None,
        room: ask.room,
        observer: ask.observer,
        commit_every: Duration::MAX,
        graph: GraphUse::Never,
        disk_room: u64::MAX,
    };
    let lasso = match cycle {
        Some(cycle) => with_stem(&search, stages, &cycle).map(Some),
        None if spans.is_empty() || is_chosen("spans") => return Ok(()),
        None => {
            outcome.told.push("steps go back: passes over the states that they go back across".to_owned());
            owcty::run(&search, stages).and_then(|passed| {
                outcome.visits += passed.visits;
                outcome.edges += passed.edges;
                match passed.stopped || passed.untraced {
                    true => Err(SearchError::Stopped),
                    false => Ok(passed.lasso),
                }
            })
        }
    };
    match lasso {
        Ok(Some(lasso)) => (outcome.ending, outcome.lasso) = (Ending::Found, Some(lasso)),
        Ok(None) => {}
        Err(SearchError::Stopped) => outcome.ending = Ending::Stopped,
        Err(SearchError::Budget(_)) => outcome.ending = Ending::Budget,
        Err(error) => return Err(error),
    }
    Ok(())
}

fn settings(threads: usize, stop_at_fault: bool) -> Settings {
    Settings {
        threads,
        conditions: stop_at_fault.then_some(Condition::Fault).into_iter().collect(),
        stop_at_first: stop_at_fault,
        findings_max: 1,
        max_depth: None,
        coverage: false,
        tuning: Tuning::default(),
    }
}

/// What a sweep came to, as a search on the fly tells it.
fn outcome_of(swept: &task::Outcome) -> Outcome {
    Outcome {
        ending: swept.ending,
        states: swept.layers.sum(),
        transitions: swept.transitions,
        visits: swept.expanded,
        edges: swept.transitions,
        faults: swept.faults,
        label_faults: swept.label_faults,
        cut: 0,
        deepest: 0,
        lasso: None,
        fault: None,
        no_room: None,
        told: Vec::new(),
        figures: Vec::new(),
        disk: None,
    }
}

/// What is known of accepting runs, of those among the states in spans.
struct InSpans<'a> {
    known: &'a dyn Acceptance,
    measure: Measure<'a>,
    spans: &'a Spans,
    words: usize,
}

impl Acceptance for InSpans<'_> {
    fn is_weak(&self) -> bool {
        self.known.is_weak()
    }

    fn is_of_states(&self) -> bool {
        self.known.is_of_states()
    }

    fn recurs(&self, record: &[u64]) -> bool {
        self.known.recurs(record) && self.spans.has(value_of(self.measure, self.words, record))
    }

    fn is_accepting(&self, record: &[u64]) -> bool {
        self.known.is_accepting(record)
    }
}

thread_local! {
    static VALUE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// How far one state has come.
fn value_of(measure: Measure<'_>, words: usize, record: &[u64]) -> u64 {
    VALUE.with_borrow_mut(|value| {
        value.clear();
        measure(Records::new(record, words), value);
        value[0]
    })
}

/// The stages of a sweep that is over, which are no layers.
struct Stages {
    stored: StoredLayers,
    count: u64,
    width: KeyWidth,
}

impl Stages {
    /// How a fault was met.
    fn fault(
        &self,
        system: &dyn TransitionSystem,
        room: &Room,
        observer: &dyn Observer,
        finding: &Finding,
    ) -> Result<Found, SearchError> {
        let path = |record: &Vec<u64>| self.path_to(system, room, observer, (finding.layer, record));
        Ok(Found { path: finding.record.as_ref().map(path).transpose()?, fault: finding.fault })
    }
}

impl Reached for Stages {
    fn layer_count(&self) -> u64 {
        self.count
    }

    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<(), SearchError> {
        let kept = self.stored.visit_layer(layer, visit)?;
        assert!(kept, "a sweep that keeps its stages has all of them");
        Ok(())
    }

    fn path_to(
        &self,
        system: &dyn TransitionSystem,
        room: &Room,
        observer: &dyn Observer,
        state: (u64, &[u64]),
    ) -> Result<Path, SearchError> {
        let visit = |stage: u64, visit: &mut dyn FnMut(Records<'_>)| self.stored.visit_layer(stage, visit);
        let path = path_through_stages(system, &visit, room, observer, state)?;
        Ok(path.expect("each state comes from one of an earlier stage"))
    }

    fn visit_sorted(
        &self,
        volume: &Volume,
        budget: &Budget,
        observer: &dyn Observer,
        bytes: usize,
        visit: &mut dyn FnMut(&[u64]) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        sort_layers(self, self.width, (volume, budget), observer, bytes, visit)
    }
}
