//! Can a violation be found without looking everywhere? Checks that miss states: with a few bits per state, and by random walks.
//!
//! What they find is a run like any other, replayed before it is told. What they do not find is unknown.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use fathom_disk::hash::hash_pair;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Fault, Labels, Steps};
use fathom_model::system::TransitionSystem;
use fathom_search::depth_first::{self, Found};
use fathom_search::engines::bitstate::{Bitstate, FILL_GOOD};
use fathom_search::layer_loop::{Ending, Progress};
use fathom_search::trace::Path;
use fathom_search::watch::Condition;

use crate::assemble::{self, Model};
use crate::check::{Answer, Checked, CheckedSystem, Stop, Verdict, is_vacuous, proven, verdict_on};
use crate::coverage::Coverage;
use crate::execution::Execution;
use crate::observer::Watcher;
use crate::property::{Plan, PropertyKind};
use crate::run::{Counts, Exploration, Limit, RunError, Usage};
use crate::settings::Resources;

/// How many steps a random walk has, unless it is told otherwise.
pub const WALK_STEPS: u64 = 1_000;

/// Answers the questions of a plan depth-first, with three bits per state in most of the memory. One thread.
pub fn check_bitstate(
    model: &Model,
    plan: &Plan,
    stop: Stop,
    resources: &Resources,
    watcher: &Watcher,
) -> Result<Checked, RunError> {
    let began = Instant::now();
    let system = CheckedSystem::new(model, plan, Execution::wanted(resources, watcher));
    let budget = assemble::data_budget(resources)?;
    // The rest is for the run that is told.
    let (bits_bytes, stack_bytes) = (budget.limit() / 8 * 5, budget.limit() / 4);
    let mut bits = Bitstate::new(&budget, bits_bytes)?;
    let settings = depth_first::Settings {
        conditions: system.conditions.clone(),
        stop_at_first: stop == Stop::First,
        max_depth: resources.max_depth,
        stack_bytes,
    };
    let outcome = depth_first::run(system.system(), &mut bits, &budget, &settings, watcher)?;
    let elapsed = began.elapsed();
    watcher.finish().map_err(RunError::Records)?;
    let mut answers = Vec::new();
    for (number, found) in outcome.found.iter().enumerate() {
        answers.push(answer(model, plan, number, found.as_ref(), outcome.labels_seen)?);
    }
    let limit = match outcome.ending {
        Ending::Found => Limit::Violation,
        Ending::Stopped => watcher.reason(),
        Ending::Budget => Limit::Ram,
        _ => Limit::Lossy,
    };
    if bits.fill() > FILL_GOOD {
        watcher.meter().say("most bits are set, so how much was missed cannot be estimated: give more --ram");
    }
    let usage = Usage { threads: 1, ..Usage::of(resources, &budget, elapsed) };
    let counts = Counts {
        states_estimate: (limit == Limit::Lossy && outcome.cut == 0 && bits.fill() <= FILL_GOOD)
            .then(|| bits.estimate(outcome.transitions)),
        known: outcome.visits,
        visits: outcome.visits,
        edges: outcome.transitions,
        deadlocks: Some(outcome.deadlocks).filter(|_| plan.constraint.is_none()),
        faults: outcome.faults + outcome.label_faults,
        ..Counts::default()
    };
    let exploration = Exploration {
        engine: "bitstate",
        store: None,
        automaton: None,
        limit: Some(limit),
        counts,
        record_bits: system.system().shape().width_bits,
        coverage: Coverage::of(model.program(), &outcome.actions_taken),
        usage,
        disk: None,
        cost: None,
        passes: None,
        early: None,
    };
    Ok(Checked::new(answers, exploration, stop))
}

/// Walks through a model at random, `walks` times, on all threads, until a question of the plan is answered with a violation. The walk that is told
/// is the same for every number of threads, unless time or a signal ends the hunt.
pub fn random_walks(
    model: &Model,
    plan: &Plan,
    walks: u64,
    seed: u64,
    resources: &Resources,
    watcher: &Watcher,
) -> Result<Checked, RunError> {
    let began = Instant::now();
    let system = CheckedSystem::new(model, plan, Execution::wanted(resources, watcher));
    let hunt = Hunt {
        system: system.system(),
        conditions: &system.conditions,
        walks,
        seed,
        steps_max: resources.max_depth.unwrap_or(WALK_STEPS),
        next: AtomicU64::new(0),
        expanded: AtomicU64::new(0),
        edges: AtomicU64::new(0),
        caught: Mutex::new(None),
        seen: Mutex::new(Labels::default()),
    };
    std::thread::scope(|scope| {
        for _ in 1..resources.threads {
            // Those that cannot be started leave their walks to the others.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || hunt.work(watcher));
        }
        hunt.work(watcher);
    });
    let elapsed = began.elapsed();
    watcher.finish().map_err(RunError::Records)?;
    let caught = hunt.caught.into_inner().expect("no thread panics while it reports");
    let seen = hunt.seen.into_inner().expect("no thread panics while it reports");
    let limit = match &caught {
        Some(_) => Limit::Violation,
        None if watcher.was_stopped() => watcher.reason(),
        None => Limit::Lossy,
    };
    let mut answers = Vec::new();
    for number in 0..plan.properties.len() {
        let found = caught.as_ref().filter(|caught| caught.condition == number).map(|caught| &caught.found);
        answers.push(answer(model, plan, number, found, seen)?);
    }
    let expanded = hunt.expanded.into_inner();
    let counts = Counts { visits: expanded, edges: hunt.edges.into_inner(), ..Counts::default() };
    let budget = assemble::data_budget(resources)?;
    let exploration = Exploration {
        engine: "random walks",
        store: None,
        automaton: None,
        limit: Some(limit),
        counts,
        record_bits: system.system().shape().width_bits,
        coverage: None,
        usage: Usage::of(resources, &budget, elapsed),
        disk: None,
        cost: None,
        passes: None,
        early: None,
    };
    Ok(Checked::new(answers, exploration, Stop::First))
}

/// What all threads of a hunt share.
struct Hunt<'a> {
    system: &'a dyn TransitionSystem,
    conditions: &'a [Condition],
    walks: u64,
    seed: u64,
    steps_max: u64,
    next: AtomicU64,
    expanded: AtomicU64,
    edges: AtomicU64,
    /// What the least walk has found.
    caught: Mutex<Option<Caught>>,
    seen: Mutex<Labels>,
}

/// A violation on a walk.
struct Caught {
    walk: u64,
    condition: usize,
    found: Found,
}

impl Hunt<'_> {
    /// Walks until there are no more walks, a lesser walk has found something, or it is time to stop.
    fn work(&self, watcher: &Watcher) {
        let columns = Columns { labels: true, actions: true, ..Columns::NONE };
        let mut steps = Steps::new(self.system.shape(), columns, 256);
        let mut seen = Labels::default();
        loop {
            let walk = self.next.fetch_add(1, Ordering::Relaxed);
            let done = self.lock().as_ref().is_some_and(|caught| caught.walk < walk);
            if walk >= self.walks || done || watcher.must_stop() {
                break;
            }
            if let Some((condition, found)) = self.walk(walk, &mut steps, &mut seen, watcher) {
                let mut caught = self.lock();
                if caught.as_ref().is_none_or(|caught| walk < caught.walk) {
                    *caught = Some(Caught { walk, condition, found });
                }
            }
            let expanded = self.expanded.load(Ordering::Relaxed);
            let transitions = self.edges.load(Ordering::Relaxed);
            watcher.meter().note(Progress {
                layer: walk + 1,
                expanded,
                states: expanded,
                transitions,
                ..Progress::default()
            });
        }
        self.seen.lock().expect("no thread panics while it reports").0 |= seen.0;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Caught>> {
        self.caught.lock().expect("no thread panics while it reports")
    }

    /// One walk; tells the first condition that was met.
    fn walk(
        &self,
        number: u64,
        steps: &mut Steps,
        seen: &mut Labels,
        watcher: &Watcher,
    ) -> Option<(usize, Found)> {
        let mut dice = Dice(hash_pair(self.seed, number));
        self.system.initial(steps);
        while steps.source_count() == 0 {
            steps.grow();
            self.system.initial(steps);
        }
        if let Some(fault) = steps.faults().first().copied() {
            let condition = self.conditions.iter().position(|it| *it == Condition::Fault);
            if let Some(condition) = condition {
                return Some((condition, Found { path: None, fault: Some(fault) }));
            }
        }
        let first = dice.below(steps.step_count())?;
        let mut path = Path {
            start: steps.action(first),
            records: vec![steps.target(first).to_vec()],
            actions: Vec::new(),
        };
        loop {
            let record = path.records.last().expect("a path has a state").clone();
            while self.system.expand(Records::new(&record, record.len()), steps) == 0 {
                steps.grow();
            }
            self.expanded.fetch_add(1, Ordering::Relaxed);
            self.edges.fetch_add(steps.step_count() as u64, Ordering::Relaxed);
            seen.0 |= steps.labels(0).0;
            if let Some(condition) = self.conditions.iter().position(|it| it.met(&record, steps, 0)) {
                let fault: Option<Fault> = steps.faults().first().copied();
                return Some((condition, Found { path: Some(path), fault }));
            }
            if path.actions.len() as u64 >= self.steps_max || watcher.must_stop() {
                return None;
            }
            let step = dice.below(steps.step_count())?;
            path.actions.push(steps.action(step));
            path.records.push(steps.target(step).to_vec());
        }
    }
}

/// What a hunt says about one property: violated, or unknown.
fn answer(
    model: &Model,
    plan: &Plan,
    number: usize,
    found: Option<&Found>,
    seen: Labels,
) -> Result<Answer, RunError> {
    let property = plan.properties[number].clone();
    let trace = found
        .map(|found| proven(model, plan, number, found.path.as_ref(), found.fault, false))
        .transpose()?;
    let verdict: Verdict = verdict_on(property.kind, trace.is_some(), false);
    debug_assert!(verdict != Verdict::Fault || property.kind == PropertyKind::Fault, "faults are faults");
    Ok(Answer { verdict, vacuous: is_vacuous(&property, seen), property, trace, search: None })
}

/// Numbers drawn from a seed.
struct Dice(u64);

impl Dice {
    /// A number below a bound; none if that is 0.
    fn below(&mut self, bound: usize) -> Option<usize> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = fathom_disk::hash::hash_word(self.0);
        (bound > 0).then(|| ((u128::from(word) * bound as u128) >> 64) as usize)
    }
}
