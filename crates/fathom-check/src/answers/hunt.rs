//! Can a violation be found without looking everywhere? Checks that miss states: with a few bits per state, and by random walks.
//!
//! What they find is a run like any other, replayed before it is told. What they do not find is unknown.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fathom_disk::budget::{Budget, Charge};
use fathom_disk::hash::hash_pair;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Fault, Labels, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};
use fathom_search::bodies::depth_first::Found;
use fathom_search::bodies::dive;

use fathom_search::engines::bitstate::{self, Bitstate, MISSED_GOOD};
use fathom_search::error::SearchError;
use fathom_search::task::watch::Condition;
use fathom_search::task::{Ending, Observer, Phase, Progress};
use fathom_search::traces::path::{Path, PathBuilder, Room};
use fathom_search::traces::shorten;

use crate::answers::check::{
    Answer, Checked, CheckedSystem, Judge, Stop, Verdict, is_vacuous, told, verdict_on,
};
use crate::answers::coverage::Coverage;
use crate::answers::exploration::{Counts, Exploration, Usage, WalkFigures};
use crate::engines::layer_engine;
use crate::error::RunError;
use crate::limit::Limit;
use crate::model::execution::Execution;
use crate::model::subject::Subject;
use crate::monitor::Monitor;
use crate::questions::plan::Plan;
use crate::questions::property::PropertyKind;
use crate::resources::Resources;

/// How many steps a random walk has, unless it is told otherwise.
pub const WALK_STEPS: u64 = 1_000;

/// Answers the questions of a plan depth-first, with a few bits per state. One thread.
pub fn check_bitstate(
    subject: &dyn Subject,
    plan: &Plan,
    stop: Stop,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<Checked, RunError> {
    let began = Instant::now();
    let system = CheckedSystem::new(subject, plan, Execution::wanted(resources, monitor));
    let budget = resources.data_budget()?;
    // The stack takes twice its bytes while it grows. The rest is for the run that is told.
    let (bits_bytes, stack_bytes) = (budget.limit() / 2, budget.limit() / 16 * 3);
    let mut bits = Bitstate::new(&budget, bits_bytes)?;
    let settings = dive::Settings {
        conditions: system.conditions.clone(),
        stop_at_first: stop == Stop::First,
        max_depth: resources.max_depth,
        stack_bytes,
    };
    let room = layer_engine::room(&budget, None);
    let outcome = dive::run(system.system(), &mut bits, &room, &settings, monitor)?;
    let elapsed = began.elapsed();
    monitor.finish().map_err(RunError::Records)?;
    let teller = Teller { subject, plan, room: &room, monitor };
    let mut answers = Vec::new();
    for (number, found) in outcome.found.into_iter().enumerate() {
        answers.push(teller.answer(number, found.map(Ok), outcome.labels_seen)?);
    }
    let limit = match outcome.ending {
        Ending::Found => Limit::Violation,
        Ending::Stopped => monitor.reason(),
        Ending::Budget => Limit::Ram,
        _ => Limit::Lossy,
    };
    let estimable = bits.probability_missed() <= MISSED_GOOD;
    if !estimable {
        monitor.say("most bits are set, so how many states were missed cannot be estimated: raise --ram");
    }
    let usage = Usage { threads: 1, ..Usage::of(resources, &budget, elapsed) };
    let counts = Counts {
        states_estimate: (limit == Limit::Lossy && outcome.cut == 0 && estimable)
            .then(|| bits.estimate(outcome.transitions)),
        known: outcome.visits,
        visits: outcome.visits,
        edges: outcome.transitions,
        deadlocks: Some(outcome.deadlocks).filter(|_| plan.constraint.is_none()),
        faults: outcome.faults + outcome.label_faults,
        ..Counts::default()
    };
    let record_bits = system.system().shape().width_bits;
    let exploration = Exploration {
        limit: Some(limit),
        coverage: subject.program().and_then(|program| Coverage::of(program, &outcome.actions_taken)),
        ..Exploration::new(bitstate::ENGINE.name, counts, record_bits, usage)
    };
    Ok(Checked::new(answers, exploration, stop))
}

/// Walks through a model at random, `walks` times, on all threads, until a question of the plan is answered with a violation. The walk that is told
/// is the same for every number of threads, unless time or a signal ends the hunt.
pub fn random_walks(
    subject: &dyn Subject,
    plan: &Plan,
    walks: u64,
    seed: u64,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<Checked, RunError> {
    let began = Instant::now();
    let system = CheckedSystem::new(subject, plan, Execution::wanted(resources, monitor));
    let budget = resources.data_budget()?;
    let steps_max = resources.max_depth.unwrap_or(WALK_STEPS);
    let hunt = Hunt::new(&system, &budget, (walks, steps_max), seed);
    std::thread::scope(|scope| {
        for _ in 1..resources.threads {
            // Those that cannot be started leave their walks to the others.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || hunt.work(monitor));
        }
        hunt.work(monitor);
    });
    let elapsed = began.elapsed();
    monitor.finish().map_err(RunError::Records)?;
    let caught = *lock(&hunt.caught);
    let limit = match &caught {
        Some(_) => Limit::Violation,
        None if monitor.stopped_by().is_some() => monitor.reason(),
        None if lock(&hunt.refusal).is_some() => Limit::Ram,
        None => Limit::Lossy,
    };
    let room = layer_engine::room(&budget, None);
    let teller = Teller { subject, plan, room: &room, monitor };
    let seen = *lock(&hunt.seen);
    let mut answers = Vec::new();
    for number in 0..plan.properties.len() {
        let found = caught.filter(|caught| caught.condition == number);
        let found = found.map(|caught| hunt.found(caught, &room, &*monitor.tracing()));
        answers.push(teller.answer(number, found, seen)?);
    }
    let walks = hunt.figures(caught);
    let (visits, edges) = (hunt.expanded.into_inner(), hunt.edges.into_inner());
    let counts = Counts { visits, edges, walks: Some(walks), ..Counts::default() };
    let (usage, record_bits) = (Usage::of(resources, &budget, elapsed), system.system().shape().width_bits);
    let exploration =
        Exploration { limit: Some(limit), ..Exploration::new("random walks", counts, record_bits, usage) };
    Ok(Checked::new(answers, exploration, Stop::First))
}

/// What all threads of a hunt share.
struct Hunt<'a> {
    system: &'a dyn TransitionSystem,
    conditions: &'a [Condition],
    budget: &'a Budget,
    walks: u64,
    seed: u64,
    steps_max: u64,
    next: AtomicU64,
    expanded: AtomicU64,
    edges: AtomicU64,
    /// Walks by how they ended: all, in a state without a step, at the greatest length.
    made: AtomicU64,
    ended: AtomicU64,
    cut: AtomicU64,
    /// What the least walk has found.
    caught: Mutex<Option<Caught>>,
    seen: Mutex<Labels>,
    /// Why a thread could not go on.
    refusal: Mutex<Option<SearchError>>,
}

/// A violation on a walk. How it came there is found by walking once more: the same seed takes the same steps.
#[derive(Clone, Copy)]
struct Caught {
    walk: u64,
    condition: usize,
    fault: Option<Fault>,
    /// How many states the walk has; none if a start faults.
    states: u64,
}

/// Room for steps, and for the state that a walk is at.
struct Desk {
    steps: Steps,
    charge: Charge,
    record: Vec<u64>,
}

impl Desk {
    fn new(system: &dyn TransitionSystem, budget: &Budget) -> Result<Desk, SearchError> {
        let columns = Columns { labels: true, actions: true, ..Columns::NONE };
        let capacity = (budget.free() / 8 / Steps::bytes_for(system.shape(), columns, 1)).clamp(1, 256);
        let charge = budget.charge("expansion", Steps::bytes_for(system.shape(), columns, capacity))?;
        Ok(Desk { steps: Steps::new(system.shape(), columns, capacity), charge, record: Vec::new() })
    }

    fn initial(&mut self, system: &dyn TransitionSystem) -> Result<(), SearchError> {
        let Desk { steps, charge, .. } = self;
        Ok(initial_all(system, steps, &mut |bytes| charge.resize(bytes))?)
    }

    /// Goes where a step leads.
    fn go(&mut self, step: usize) {
        self.record.clear();
        self.record.extend_from_slice(self.steps.target(step));
    }

    fn expand(&mut self, system: &dyn TransitionSystem) -> Result<(), SearchError> {
        let Desk { steps, charge, record } = self;
        let source = Records::new(record, record.len());
        expand_some(system, source, steps, &mut |bytes| charge.resize(bytes))?;
        Ok(())
    }
}

impl<'a> Hunt<'a> {
    /// So many walks, each of so many steps at most, that begin now.
    fn new(
        system: &'a CheckedSystem<'_>,
        budget: &'a Budget,
        (walks, steps_max): (u64, u64),
        seed: u64,
    ) -> Hunt<'a> {
        Hunt {
            system: system.system(),
            conditions: &system.conditions,
            budget,
            walks,
            seed,
            steps_max,
            next: AtomicU64::new(0),
            expanded: AtomicU64::new(0),
            edges: AtomicU64::new(0),
            made: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            cut: AtomicU64::new(0),
            caught: Mutex::new(None),
            seen: Mutex::new(Labels::default()),
            refusal: Mutex::new(None),
        }
    }

    /// How the walks ended, and the one that has caught something.
    fn figures(&self, caught: Option<Caught>) -> WalkFigures {
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        WalkFigures {
            wanted: self.walks,
            made: count(&self.made),
            ended: count(&self.ended),
            cut: count(&self.cut),
            steps_max: self.steps_max,
            found_after: caught.map(|caught| caught.states.saturating_sub(1)),
        }
    }

    /// Walks until there are no more walks, a lesser walk has found something, or it is time to stop.
    fn work(&self, monitor: &dyn Monitor) {
        let mut seen = Labels::default();
        match self.walk_on(&mut seen, monitor) {
            // In the middle of a step: it is noted why.
            Err(SearchError::Stopped) => _ = monitor.stop(),
            Err(error) => _ = lock(&self.refusal).get_or_insert(error),
            Ok(()) => {}
        }
        lock(&self.seen).0 |= seen.0;
    }

    fn walk_on(&self, seen: &mut Labels, monitor: &dyn Monitor) -> Result<(), SearchError> {
        let mut desk = Desk::new(self.system, self.budget)?;
        loop {
            let walk = self.next.fetch_add(1, Ordering::Relaxed);
            let done = lock(&self.caught).as_ref().is_some_and(|caught| caught.walk < walk);
            if walk >= self.walks || done || monitor.stop() {
                return Ok(());
            }
            let found = self.walk(walk, &mut desk, seen, monitor)?;
            if let Some(found) = found {
                self.made.fetch_add(1, Ordering::Relaxed);
                let mut caught = lock(&self.caught);
                if caught.as_ref().is_none_or(|caught| walk < caught.walk) {
                    *caught = Some(found);
                }
            }
            let expanded = self.expanded.load(Ordering::Relaxed);
            let transitions = self.edges.load(Ordering::Relaxed);
            monitor.progress(Progress {
                phase: Phase::Walks,
                layer: walk + 1,
                frontier: self.walks,
                expanded,
                states: expanded,
                transitions,
                ..Progress::default()
            });
        }
    }

    /// One walk; tells the first condition that was met.
    fn walk(
        &self,
        walk: u64,
        desk: &mut Desk,
        seen: &mut Labels,
        monitor: &dyn Monitor,
    ) -> Result<Option<Caught>, SearchError> {
        let mut dice = Dice(hash_pair(self.seed, walk));
        desk.initial(self.system)?;
        if let Some(fault) = desk.steps.faults().first().copied() {
            let condition = self.conditions.iter().position(|it| *it == Condition::Fault);
            if let Some(condition) = condition {
                return Ok(Some(Caught { walk, condition, fault: Some(fault), states: 0 }));
            }
        }
        let Some(first) = dice.below(desk.steps.step_count()) else { return Ok(None) };
        desk.go(first);
        for states in 1.. {
            desk.expand(self.system)?;
            let steps = &desk.steps;
            self.expanded.fetch_add(1, Ordering::Relaxed);
            self.edges.fetch_add(steps.step_count() as u64, Ordering::Relaxed);
            seen.0 |= steps.labels(0).0;
            if let Some(condition) = self.conditions.iter().position(|it| it.met(&desk.record, steps, 0)) {
                let fault = steps.faults().first().copied();
                return Ok(Some(Caught { walk, condition, fault, states }));
            }
            if monitor.stop() {
                return Ok(None);
            }
            if states > self.steps_max {
                self.note_end(&self.cut);
                return Ok(None);
            }
            let Some(step) = dice.below(steps.step_count()) else {
                self.note_end(&self.ended);
                return Ok(None);
            };
            desk.go(step);
        }
        Ok(None)
    }

    /// Counts a walk that came to its end in this way.
    fn note_end(&self, way: &AtomicU64) {
        self.made.fetch_add(1, Ordering::Relaxed);
        way.fetch_add(1, Ordering::Relaxed);
    }

    /// Walks once more to what was caught, and writes the way down, or a shorter one that leads there.
    fn found(&self, caught: Caught, room: &Room, observer: &dyn Observer) -> Result<Found, SearchError> {
        if caught.states == 0 {
            return Ok(Found { path: None, fault: caught.fault });
        }
        let mut desk = Desk::new(self.system, self.budget)?;
        let mut dice = Dice(hash_pair(self.seed, caught.walk));
        let mut path = PathBuilder::new(room, self.system.shape().words())?;
        let mut start = None;
        desk.initial(self.system)?;
        while path.len() < caught.states {
            if path.len() % PATIENCE == 0 && observer.stop() {
                return Err(SearchError::Stopped);
            }
            let step = dice.below(desk.steps.step_count()).expect("the walk went on here");
            let action = desk.steps.action(step);
            start.get_or_insert(action);
            desk.go(step);
            path.arrive(&desk.record, action)?;
            desk.expand(self.system)?;
        }
        let path = path.finish(start.unwrap_or(0))?;
        match shorten::shortened_path(self.system, &path, observer)? {
            Some(shorter) => self.cut(&shorter, self.conditions[caught.condition], &mut desk, room),
            None => Ok(Found { path: Some(path), fault: caught.fault }),
        }
    }

    /// A path to the first state on it that meets a condition: a way that is shorter may come by others than the one it was made to.
    fn cut(
        &self,
        path: &Path,
        condition: Condition,
        desk: &mut Desk,
        room: &Room,
    ) -> Result<Found, SearchError> {
        let mut cut = PathBuilder::new(room, self.system.shape().words())?;
        let (mut reader, mut action) = (path.reader()?, path.start());
        for place in 0..path.len() {
            let state = reader.get(place)?;
            desk.record.clear();
            desk.record.extend_from_slice(state.record);
            cut.arrive(state.record, action)?;
            action = state.action;
            desk.expand(self.system)?;
            if condition.met(&desk.record, &desk.steps, 0) {
                break;
            }
        }
        let fault = desk.steps.faults().first().copied();
        Ok(Found { path: Some(cut.finish(path.start())?), fault })
    }
}

/// How many steps are walked again before the observer is asked again.
const PATIENCE: u64 = 256;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who says what a hunt has found out.
struct Teller<'a> {
    subject: &'a dyn Subject,
    plan: &'a Plan,
    room: &'a Room,
    monitor: &'a dyn Monitor,
}

impl Teller<'_> {
    /// What a hunt says about one property: violated, or unknown.
    fn answer(
        &self,
        number: usize,
        found: Option<Result<Found, SearchError>>,
        seen: Labels,
    ) -> Result<Answer, RunError> {
        let Teller { subject, plan, room, monitor } = *self;
        let property = plan.properties[number].clone();
        let observer = monitor.tracing();
        let violated = found.is_some();
        let judge = Judge { subject, plan, number, room, observer: &*observer };
        let trace = found.map(|found| {
            let Found { path, fault } = found?;
            judge.proven(path, fault, false)
        });
        let (trace, untraced) = told(trace, monitor)?;
        let verdict: Verdict = verdict_on(property.kind, violated, false, seen);
        debug_assert!(verdict != Verdict::Fault || property.kind == PropertyKind::Fault, "faults are faults");
        Ok(Answer {
            verdict,
            vacuous: is_vacuous(&property, seen),
            property,
            trace,
            more: Vec::new(),
            untraced,
            search: None,
        })
    }
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
