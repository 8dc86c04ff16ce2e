//! Directed search visits every state once whatever its bound; with a consistent one its paths are as short as the judge's; killed and taken up again it finds the same.

mod contract;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use contract::{TUNINGS, conditions, expected_finding, widest};
use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::hash::hash_key;
use fathom_disk::storage::{Fault, FaultyStorage, Volume};
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_search::bodies::stages;
use fathom_search::engines::astar::{Astar, Options, Ties};
use fathom_search::engines::engine::Measure;
use fathom_search::error::SearchError;
use fathom_search::proof::audit::{Audit, AuditError};
use fathom_search::task::watch::Condition;
use fathom_search::task::{Ending, Observer, Outcome, Settings, Task, Tuning, Unobserved};
use fathom_search::traces::path::Room;
use fathom_search::traces::trace::path_to;
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::{Form, random_graph};
use oracle::graph::Graph;
use oracle::random::Random;

/// How far a goal is from a state, at least.
type Bound<'a> = Box<dyn Fn(&[u64]) -> u64 + Sync + 'a>;

/// How a search is made.
#[derive(Clone, Copy, Debug)]
struct Way {
    threads: usize,
    tuning: fn() -> Tuning,
    bytes: usize,
    ties: Ties,
    stop_at_first: bool,
}

/// The steps from each state to the nearest one that meets a condition, or far more; by going over all steps until nothing changes.
fn distances(judge: &Explored, condition: Condition) -> Vec<u64> {
    let meets = |state: &oracle::bfs::State| match condition {
        Condition::Label { label, value } => !state.labels.faulted() && state.labels.holds(label) == value,
        other => unreachable!("{other:?} is no goal"),
    };
    let mut distances: Vec<u64> =
        judge.states.iter().map(|state| if meets(state) { 0 } else { 1 << 30 }).collect();
    loop {
        let mut changed = false;
        for (number, state) in judge.states.iter().enumerate() {
            let nearest = state.steps.iter().map(|step| distances[step.target] + 1).min();
            if let Some(nearest) = nearest.filter(|nearest| *nearest < distances[number]) {
                distances[number] = nearest;
                changed = true;
            }
        }
        if !changed {
            return distances;
        }
    }
}

/// Bounds that are consistent, from none to exact, and last one that is not even a bound.
fn bounds<'a>(judge: &'a Explored, distances: &'a [u64]) -> Vec<Bound<'a>> {
    let exact = move |record: &[u64]| distances[judge.number_of(record).expect("it is reached")];
    vec![
        Box::new(|_: &[u64]| 0),
        Box::new(exact),
        Box::new(move |record: &[u64]| exact(record).min(3)),
        Box::new(move |record: &[u64]| exact(record).div_ceil(2)),
        Box::new(|record: &[u64]| hash_key(record) % 13),
    ]
}

/// Those of them that are consistent.
const CONSISTENT: usize = 4;

fn settings(way: Way, conditions: Vec<Condition>) -> Settings {
    Settings {
        threads: way.threads,
        conditions,
        stop_at_first: way.stop_at_first,
        findings_max: 1,
        max_depth: None,
        coverage: true,
        tuning: (way.tuning)(),
    }
}

fn search<'m>(
    system: &dyn TransitionSystem,
    judge: &Explored,
    bound: Measure<'m>,
    (way, conditions): (Way, Vec<Condition>),
    observer: &dyn Observer,
    (volume, commit_every): (&Volume, Duration),
) -> Result<(Astar<'m>, Outcome, Budget), SearchError> {
    let columns = Columns { labels: true, actions: true, ..Columns::NONE };
    let shape = system.shape();
    // The steps of one state must fit besides, whatever it is; keys have the number of a bucket beside the record.
    let steps = way.threads * Steps::bytes_for(shape, columns, 3 * widest(judge));
    let budget = Budget::new(way.bytes.max(256 * (shape.words() + 1) * 8) + steps);
    let steps = budget.charge("steps of one state", steps)?;
    let options = Options { tag: [3; 16], commit_every, ties: way.ties, ..Options::unlasting() };
    let opened = Astar::open(volume, &budget, shape, way.threads, bound, options)?;
    drop(steps);
    let (mut policy, boundary) = opened;
    let settings = settings(way, conditions);
    let task = Task { system, budget: &budget, settings: &settings, observer };
    let outcome = match boundary {
        Some(boundary) => stages::go_on(task, &mut policy, &boundary)?,
        None => stages::run(task, &mut policy)?,
    };
    if outcome.ending == Ending::Complete {
        policy.put_to_rest(&outcome.boundary)?;
    }
    let outcome = policy.with_depths(outcome);
    Ok((policy, outcome, budget))
}

fn compare(judge: &Explored, conditions: &[Condition], way: Way, outcome: &Outcome) {
    assert_eq!(outcome.ending, Ending::Complete, "{way:?}: {:?}", outcome.refusal);
    assert!(outcome.exact && !outcome.layered);
    assert_eq!(outcome.states(), Some(judge.states.len() as u64), "{way:?}");
    assert_eq!(outcome.expanded, judge.states.len() as u64, "{way:?}");
    assert_eq!(outcome.checksum, judge.checksum(), "{way:?}");
    assert_eq!(outcome.transitions as usize, judge.transitions());
    assert_eq!(outcome.deadlocks as usize, judge.deadlocks());
    assert_eq!(outcome.faults as usize, judge.faults());
    for (condition, finding) in conditions.iter().zip(outcome.findings.firsts()) {
        assert_eq!(finding.is_some(), expected_finding(*condition, judge).is_some(), "{way:?} {condition:?}");
    }
}

/// The path that leads back from a goal is one, and as short as any.
fn check_path(
    graph: &Graph,
    judge: &Explored,
    goal: Condition,
    policy: Astar<'_>,
    outcome: &Outcome,
) -> bool {
    let Some(finding) = outcome.findings.of(0).first() else { return false };
    let nearest =
        expected_finding(goal, judge).and_then(|(_, state)| state).expect("the judge finds it, too");
    let shortest = judge.states[nearest].layer as u64;
    assert_eq!(finding.layer, shortest, "what is found first is nearest");
    let record = finding.record.as_ref().expect("a goal is a state");
    let (layers, budget) = (policy.into_layers(), Budget::new(8 << 20));
    let path = path_to(graph, &layers, &Room::in_memory(&budget), &Unobserved, (finding.layer, record));
    let path = path.expect("the budget suffices").expect("stages are kept");
    let records = path.records().expect("memory does not fail");
    assert_eq!((records.len() as u64, records.last()), (shortest + 1, Some(record)));
    let numbers: Vec<usize> =
        records.iter().map(|record| judge.number_of(record).expect("it is reached")).collect();
    assert_eq!(judge.states[numbers[0]].layer, 0, "a path begins with an initial state");
    for pair in numbers.windows(2) {
        assert!(judge.states[pair[0]].steps.iter().any(|step| step.target == pair[1]), "a path has steps");
    }
    true
}

fn goal_of(graph: &Graph, random: &mut Random) -> Option<Condition> {
    let labels = graph.shape().labels.len();
    (labels > 0).then(|| Condition::Label { label: random.below(labels), value: random.below(4) > 0 })
}

#[test]
fn every_state_is_expanded_once_and_what_is_found_first_is_nearest() {
    let mut random = Random::new(91);
    let (mut found, mut spared) = (0, 0);
    for number in 0..40 {
        let graph = random_graph(&mut random, [60, 200][number % 2]);
        let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
        let Some(goal) = goal_of(&graph, &mut random) else { continue };
        let distances = distances(&judge, goal);
        for (kind, bound) in bounds(&judge, &distances).iter().enumerate() {
            let measure =
                |records: Records<'_>, values: &mut Vec<u64>| values.extend(records.iter().map(bound));
            for (case, bytes) in [4 << 10, 64 << 10, 2 << 20].into_iter().enumerate() {
                for (ties, stop_at_first) in
                    [Ties::Near, Ties::Far].into_iter().flat_map(|ties| [(ties, false), (ties, true)])
                {
                    let threads = 1 + (number + case) % 2;
                    let way = Way { threads, tuning: TUNINGS[number % 2], bytes, ties, stop_at_first };
                    let mut asked = vec![goal];
                    if !stop_at_first {
                        asked.extend(conditions(graph.shape()));
                    }
                    let volume = Volume::in_memory(64);
                    let place = (&volume, Duration::MAX);
                    let searched = search(&graph, &judge, &measure, (way, asked.clone()), &Unobserved, place);
                    let (policy, outcome, budget) =
                        searched.unwrap_or_else(|error| panic!("{way:?}: {error}"));
                    assert_ne!(
                        outcome.ending,
                        Ending::Budget,
                        "{way:?}: {:?} {:#?}",
                        outcome.refusal,
                        budget.owners()
                    );
                    if outcome.ending == Ending::Complete {
                        compare(&judge, &asked, way, &outcome);
                    }
                    spared += u64::from(outcome.ending == Ending::Found);
                    if kind < CONSISTENT {
                        found += u64::from(check_path(&graph, &judge, goal, policy, &outcome));
                    }
                }
            }
        }
    }
    assert!(found > 500 && spared > 200, "{found} goals, {spared} searches that ended there");
}

#[test]
fn an_exact_bound_expands_little_beside_the_way() {
    // A tree of 2^12 leaves, and one of them is the goal.
    let nodes = (1 << 13) - 1;
    let successors: Vec<Vec<usize>> =
        (0..nodes).map(|n| [2 * n + 1, 2 * n + 2].into_iter().filter(|n| *n < nodes).collect()).collect();
    let mut graph = Graph::new(&successors, &[0]);
    oracle::forms::decorate(&mut graph, &mut Random::new(5));
    let judge = explore(&graph, Limits::states(100_000)).expect("it is small");
    let deepest = judge.states.len() - 1;
    let goal_record = judge.records_along(&[deepest]).remove(0);
    let goal_node = judge.number_of(&goal_record).expect("it is reached");
    let way_there = judge.path_to(goal_node);
    // On the way the distance is known; beside it, it is more than any.
    let bound = |record: &[u64]| {
        let number = judge.number_of(record).expect("it is reached");
        let place = way_there.iter().position(|state| *state == number);
        place.map_or(100, |place| (way_there.len() - 1 - place) as u64)
    };
    let measure = |records: Records<'_>, values: &mut Vec<u64>| values.extend(records.iter().map(bound));
    let way = Way { threads: 1, tuning: TUNINGS[1], bytes: 1 << 20, ties: Ties::Near, stop_at_first: false };
    struct Until<'a>(&'a [u64], AtomicU64);
    impl Observer for Until<'_> {
        fn stop(&self) -> bool {
            self.1.load(Relaxed) > 0
        }
        fn expanded(&self, _stage: u64, sources: Records<'_>) {
            self.1.fetch_add(u64::from(sources.iter().any(|record| record == self.0)), Relaxed);
        }
    }
    let until = Until(&goal_record, AtomicU64::new(0));
    let volume = Volume::in_memory(4096);
    let place = (&volume, Duration::MAX);
    let (_, outcome, _) =
        search(&graph, &judge, &measure, (way, Vec::new()), &until, place).expect("memory suffices");
    assert_eq!(outcome.expanded as usize, way_there.len(), "only the way is expanded");
}

/// Which system is searched, and how.
struct Subject<'a> {
    graph: &'a Graph,
    judge: &'a Explored,
    bound: &'a Bound<'a>,
    ties: Ties,
    least: bool,
}

impl Subject<'_> {
    fn search(
        &self,
        storage: &FaultyStorage,
        random: &mut Random,
        observer: &dyn Observer,
    ) -> Result<Outcome, SearchError> {
        let measure =
            |records: Records<'_>, values: &mut Vec<u64>| values.extend(records.iter().map(self.bound));
        let way = Way {
            threads: 1 + random.below(2),
            tuning: TUNINGS[0],
            bytes: if self.least { 6 << 10 } else { [48 << 10, 64 << 10, 512 << 10][random.below(3)] },
            ties: self.ties,
            stop_at_first: false,
        };
        let every = [Duration::ZERO, Duration::from_secs(100)][random.below(2)];
        let volume = Volume::new(storage.clone());
        let asked = (way, conditions(self.graph.shape()));
        let (_, outcome, budget) =
            search(self.graph, self.judge, &measure, asked, observer, (&volume, every))?;
        assert_ne!(outcome.ending, Ending::Budget, "{:?} {:#?}", outcome.refusal, budget.owners());
        Ok(outcome)
    }

    fn compare(&self, outcome: &Outcome) {
        let way = Way { threads: 1, tuning: TUNINGS[0], bytes: 0, ties: self.ties, stop_at_first: false };
        compare(self.judge, &conditions(self.graph.shape()), way, outcome);
    }

    /// What is on disk in the end proves what the judge knows.
    fn audit(&self, storage: &FaultyStorage) {
        let (volume, scratch) = (Volume::new(storage.clone()), Volume::in_memory(64));
        let (volume, scratch, budget) = (&volume, &scratch, &Budget::new(1 << 20));
        let way = Way { threads: 1, tuning: TUNINGS[0], bytes: 0, ties: self.ties, stop_at_first: false };
        let settings = &settings(way, conditions(self.graph.shape()));
        let (system, tag, observer): (&dyn TransitionSystem, _, _) = (self.graph, [3; 16], &Unobserved);
        match (Audit { system, settings, volume, tag, scratch, budget, observer }.run()) {
            Ok(audited) => assert_eq!(audited.checksum, self.judge.checksum()),
            Err(AuditError::Violated) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Loses power at operation `first`, and then now and then while going on, until the search ends; says how often.
    fn crash(&self, first: u64, seed: u64) -> u64 {
        let mut random = Random::new(seed ^ first << 20);
        let mut storage = FaultyStorage::new(64, seed);
        let mut strike = first;
        for crashes in 0.. {
            storage.strike(strike, Fault::Crash);
            match self.search(&storage, &mut random, &Unobserved) {
                Ok(outcome) => {
                    self.compare(&outcome);
                    self.audit(&storage.after_crash(seed));
                    return crashes;
                }
                Err(SearchError::Disk(DiskError::Storage(_))) if storage.struck() => {}
                Err(error) => panic!("operation {strike} after {crashes} crashes: {error}"),
            }
            storage = storage.after_crash(random.below(1 << 30) as u64);
            // Rarer and rarer, so that it ends.
            strike = random.below(200 << crashes.min(20)) as u64;
        }
        unreachable!("a search that is not struck ends")
    }
}

fn subject(seed: u64, states: usize, work: impl FnOnce(Subject<'_>)) {
    let mut random = Random::new(seed);
    let graph = random_graph(&mut random, states);
    let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
    let goal = goal_of(&graph, &mut random).unwrap_or(Condition::Label { label: 0, value: true });
    let distances = match graph.shape().labels.is_empty() {
        true => vec![0; judge.states.len()],
        false => distances(&judge, goal),
    };
    let bounds = bounds(&judge, &distances);
    work(Subject {
        graph: &graph,
        judge: &judge,
        bound: &bounds[seed as usize % bounds.len()],
        // What lasts is searched so: see the engine.
        ties: Ties::Far,
        least: seed.is_multiple_of(3),
    });
}

#[test]
fn a_search_that_loses_power_is_taken_up_and_finds_the_same() {
    let long = std::env::var_os("FATHOM_LONG").is_some();
    let (seeds, every) = if long { (60, 1) } else { (20, 17) };
    let mut crashes = 0;
    for seed in 0..seeds {
        subject(seed, 40, |subject| {
            let storage = FaultyStorage::new(64, seed);
            let outcome = subject.search(&storage, &mut Random::new(seed), &Unobserved);
            subject.compare(&outcome.expect("nothing strikes"));
            for first in (0..storage.operations().min(4000)).step_by(every) {
                crashes += subject.crash(first, seed);
            }
        });
    }
    println!("{crashes} power losses");
    assert!(crashes > 400, "{crashes} power losses are few");
}

/// Stops a search after some batches.
struct Impatient(AtomicU64);

impl Observer for Impatient {
    fn stop(&self) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn a_search_that_is_stopped_again_and_again_finds_the_same() {
    for seed in 0..40 {
        subject(seed, 100, |subject| {
            let mut random = Random::new(seed);
            let storage = FaultyStorage::new(64, seed);
            for round in 0..10_000u64 {
                let patience = Impatient((random.below(20) as u64 + round / 4).into());
                let outcome =
                    subject.search(&storage, &mut random, &patience).expect("the machine does not fail");
                if outcome.ending == Ending::Complete {
                    return subject.compare(&outcome);
                }
                assert_eq!(outcome.ending, Ending::Stopped, "seed {seed}: {:?}", outcome.refusal);
            }
            panic!("seed {seed}: it never ends");
        });
    }
}

#[test]
fn known_states_that_do_not_fit_in_memory_are_on_disk() {
    let mut random = Random::new(74);
    for bytes in [6 << 10, 24 << 10, 96 << 10] {
        let graph = Graph::new(&Form::Sparse.successors(4000, &mut random), &[0]);
        let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
        for (threads, ties) in [(1, Ties::Near), (2, Ties::Far), (2, Ties::Near)] {
            let way = Way { threads, tuning: TUNINGS[1], bytes, ties, stop_at_first: false };
            let measure = |records: Records<'_>, values: &mut Vec<u64>| {
                values.extend(records.iter().map(|record| hash_key(record) % 3));
            };
            let (volume, asked) = (Volume::in_memory(64), conditions(graph.shape()));
            let place = (&volume, Duration::MAX);
            let searched = search(&graph, &judge, &measure, (way, asked.clone()), &Unobserved, place);
            compare(&judge, &asked, way, &searched.unwrap_or_else(|error| panic!("{way:?}: {error}")).1);
        }
    }
}
