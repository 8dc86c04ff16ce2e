//! A sweep on disk finds what the judge finds: whatever the measure, the queue and the budget, killed and taken up again.

mod contract;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use contract::{TUNINGS, actions_of, conditions, expected_finding, widest};
use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::hash::hash_key;
use fathom_disk::storage::{Fault, FaultyStorage, Volume};
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_search::engines::sweep::{self, Options, Queue, Sweep};
use fathom_search::error::SearchError;
use fathom_search::proof::audit::{Audit, AuditError};
use fathom_search::task::{Ending, Observer, Outcome, Settings, Task, Tuning, Unobserved};
use fathom_search::traces::path::Room;
use fathom_search::traces::trace::path_through_stages;
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::{Form, random_graph};
use oracle::graph::Graph;
use oracle::random::Random;

/// The value of a state.
type Value<'a> = Box<dyn Fn(&[u64]) -> u64 + Sync + 'a>;

/// Everything in one bucket; by depth, which only steps back decrease; by component, which nothing decreases on trees; and any, from two values to many.
fn measures(judge: &Explored) -> Vec<Value<'_>> {
    let depth = |record: &[u64]| judge.path_to(judge.number_of(record).expect("it is reached")).len() as u64;
    vec![
        Box::new(|_: &[u64]| 7),
        Box::new(depth),
        Box::new(|record: &[u64]| hash_key(record) % 2),
        Box::new(|record: &[u64]| hash_key(record) % 13),
        Box::new(|record: &[u64]| u64::MAX - hash_key(record)),
    ]
}

/// How a search is made.
#[derive(Clone, Copy, Debug)]
struct Way {
    threads: usize,
    tuning: fn() -> Tuning,
    bytes: usize,
    queue: Queue,
    keep: bool,
}

fn settings(system: &dyn TransitionSystem, way: Way) -> Settings {
    Settings {
        threads: way.threads,
        conditions: conditions(system.shape()),
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: true,
        tuning: (way.tuning)(),
    }
}

/// Notes what is expanded.
#[derive(Default)]
struct Notes(Mutex<Vec<Vec<u64>>>);

impl Observer for Notes {
    fn expanded(&self, _stage: u64, sources: Records<'_>) {
        self.0.lock().expect("no thread panics").extend(sources.iter().map(<[u64]>::to_vec));
    }
}

/// A budget with room for the steps of one state beside it.
fn budget(system: &dyn TransitionSystem, judge: &Explored, way: Way) -> Budget {
    let columns = Columns { labels: true, actions: true, ..Columns::NONE };
    let shape = system.shape();
    let steps = way.threads * Steps::bytes_for(shape, columns, 3 * widest(judge));
    // Keys have the value beside the record, and a few dozen of them are held.
    Budget::new(way.bytes.max(256 * (shape.words() + 1) * 8) + steps)
}

fn search<'m>(
    system: &dyn TransitionSystem,
    judge: &Explored,
    measure: fathom_search::engines::engine::Measure<'m>,
    way: Way,
    observer: &dyn Observer,
    (volume, commit_every): (&Volume, Duration),
) -> Result<(Sweep<'m>, Outcome, Budget), SearchError> {
    let budget = budget(system, judge, way);
    let columns = Columns { labels: true, actions: true, ..Columns::NONE };
    let steps = way.threads * Steps::bytes_for(system.shape(), columns, 3 * widest(judge));
    let steps = budget.charge("steps of one state", steps)?;
    let options =
        Options { tag: [3; 16], commit_every, keep: way.keep, queue: way.queue, ..Options::unlasting() };
    let settings = settings(system, way);
    let opened = Sweep::open(volume, &budget, system.shape(), way.threads, measure, options)?;
    drop(steps);
    let (mut policy, boundary) = opened;
    let task = Task { system, budget: &budget, settings: &settings, observer };
    let outcome = match boundary {
        Some(boundary) => fathom_search::bodies::stages::go_on(task, &mut policy, &boundary)?,
        None => fathom_search::bodies::stages::run(task, &mut policy)?,
    };
    if outcome.ending == Ending::Complete {
        policy.put_to_rest(&outcome.boundary)?;
    }
    Ok((policy, outcome, budget))
}

fn compare(system: &dyn TransitionSystem, judge: &Explored, way: Way, outcome: &Outcome) {
    assert_eq!(outcome.ending, Ending::Complete, "{way:?}: {:?}", outcome.refusal);
    assert!(!outcome.layered);
    if way.keep {
        assert!(outcome.exact, "what is kept is not visited twice");
    }
    if outcome.exact {
        assert_eq!(outcome.states(), Some(judge.states.len() as u64), "{way:?}");
        assert_eq!(outcome.expanded, judge.states.len() as u64, "{way:?}");
        assert_eq!(outcome.checksum, judge.checksum());
        assert_eq!(outcome.transitions as usize, judge.transitions());
        assert_eq!(outcome.deadlocks as usize, judge.deadlocks());
        assert_eq!(outcome.faults as usize, judge.faults());
    }
    for (condition, finding) in conditions(system.shape()).into_iter().zip(outcome.findings.firsts()) {
        assert_eq!(finding.is_some(), expected_finding(condition, judge).is_some(), "{way:?} {condition:?}");
    }
}

/// The stages lead back from every finding, and the path is one.
fn check_paths(system: &dyn TransitionSystem, judge: &Explored, policy: Sweep<'_>, outcome: &Outcome) {
    let stages = policy.into_stages();
    let budget = Budget::new(8 << 20);
    for finding in outcome.findings.firsts().flatten() {
        let Some(record) = &finding.record else { continue };
        let visit = |stage, visit: &mut dyn FnMut(Records<'_>)| stages.visit_layer(stage, visit);
        let room = Room::in_memory(&budget);
        let path = path_through_stages(system, &visit, &room, &Unobserved, (finding.layer, record));
        let path = path.expect("the budget suffices").expect("stages are kept");
        let records = path.records().expect("memory does not fail");
        assert_eq!(records.last(), Some(record));
        let numbers: Vec<usize> =
            records.iter().map(|record| judge.number_of(record).expect("it is reached")).collect();
        assert_eq!(judge.states[numbers[0]].layer, 0, "a path begins with an initial state");
        let actions = actions_of(&path);
        for (pair, action) in numbers.windows(2).zip(&actions[1..]) {
            let step = |step: &&oracle::bfs::Step| step.target == pair[1] && step.action == *action;
            assert!(judge.states[pair[0]].steps.iter().any(|taken| step(&taken)), "a path has steps");
        }
    }
}

fn check(graph: &Graph, judge: &Explored, value: &Value<'_>, way: Way) -> bool {
    let measure = |records: Records<'_>, values: &mut Vec<u64>| values.extend(records.iter().map(value));
    let (volume, notes) = (Volume::in_memory(64), Notes::default());
    let found = search(graph, judge, &measure, way, &notes, (&volume, Duration::MAX));
    let (policy, outcome, budget) = found.unwrap_or_else(|error| panic!("{way:?}: {error}"));
    let refusal = &outcome.refusal;
    assert_eq!(outcome.ending, Ending::Complete, "{way:?}: {refusal:?} {:#?}", budget.owners());
    compare(graph, judge, way, &outcome);
    let visited = notes.0.into_inner().expect("no thread panics");
    assert_eq!(outcome.expanded, visited.len() as u64);
    let distinct: BTreeSet<&[u64]> = visited.iter().map(Vec::as_slice).collect();
    assert_eq!(distinct.len(), judge.states.len(), "{way:?}: every state is visited");
    let sweeps = policy.figures().sweeps;
    if way.keep {
        assert_eq!(visited.len(), distinct.len(), "and none twice");
        check_paths(graph, judge, policy, &outcome);
    }
    sweeps > 1
}

#[test]
fn a_sweep_on_disk_finds_what_the_judge_finds() {
    let mut random = Random::new(73);
    let (mut with_regress, mut without) = (0, 0);
    for number in 0..30 {
        let graph = random_graph(&mut random, [60, 200][number % 2]);
        let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
        for value in &measures(&judge) {
            for (case, bytes) in [4 << 10, 64 << 10, 2 << 20].into_iter().enumerate() {
                for queue in [Queue::Radix, Queue::Array] {
                    for keep in [true, false] {
                        let threads = 1 + (number + case) % 2;
                        let way = Way { threads, tuning: TUNINGS[number % 2], bytes, queue, keep };
                        match check(&graph, &judge, value, way) {
                            true => with_regress += 1,
                            false => without += 1,
                        }
                    }
                }
            }
        }
    }
    assert!(with_regress > 200 && without > 200, "{with_regress} with regress, {without} without");
}

#[test]
fn a_bucket_larger_than_memory_is_expanded_whole() {
    let mut random = Random::new(74);
    for bytes in [6 << 10, 24 << 10, 96 << 10] {
        let successors = Form::Sparse.successors(4000, &mut random);
        let graph = Graph::new(&successors, &[0]);
        let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
        for value in [0, 2].map(|number| measures(&judge).swap_remove(number)) {
            for (threads, keep) in [(1, true), (2, false), (2, true)] {
                let way = Way { threads, tuning: TUNINGS[1], bytes, queue: Queue::Radix, keep };
                check(&graph, &judge, &value, way);
            }
        }
    }
}

/// Which system is searched, and how.
struct Subject<'a> {
    graph: &'a Graph,
    judge: &'a Explored,
    value: &'a Value<'a>,
    keep: bool,
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
            |records: Records<'_>, values: &mut Vec<u64>| values.extend(records.iter().map(self.value));
        let way = Way {
            threads: 1 + random.below(2),
            tuning: TUNINGS[0],
            bytes: if self.least { 6 << 10 } else { [48 << 10, 64 << 10, 512 << 10][random.below(3)] },
            queue: [Queue::Radix, Queue::Array][random.below(2)],
            keep: self.keep,
        };
        let every = [Duration::ZERO, Duration::from_secs(100)][random.below(2)];
        let volume = Volume::new(storage.clone());
        let (_, outcome, _) = search(self.graph, self.judge, &measure, way, observer, (&volume, every))?;
        Ok(outcome)
    }

    fn compare(&self, outcome: &Outcome) {
        let way = Way { threads: 1, tuning: TUNINGS[0], bytes: 0, queue: Queue::Radix, keep: self.keep };
        compare(self.graph, self.judge, way, outcome);
    }

    /// What is on disk in the end proves what the judge knows.
    fn audit(&self, storage: &FaultyStorage) {
        let (volume, scratch) = (Volume::new(storage.clone()), Volume::in_memory(64));
        let (volume, scratch, budget) = (&volume, &scratch, &Budget::new(1 << 20));
        let way = Way { threads: 1, tuning: TUNINGS[0], bytes: 0, queue: Queue::Radix, keep: true };
        let settings = &settings(self.graph, way);
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
                    if self.keep {
                        self.audit(&storage.after_crash(seed));
                    }
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
    let graph = random_graph(&mut Random::new(seed), states);
    let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
    let measures = measures(&judge);
    work(Subject {
        graph: &graph,
        judge: &judge,
        value: &measures[seed as usize % measures.len()],
        keep: !seed.is_multiple_of(4),
        least: seed.is_multiple_of(3),
    });
}

#[test]
fn a_sweep_that_loses_power_is_taken_up_and_finds_the_same() {
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
fn a_sweep_that_is_stopped_again_and_again_finds_the_same() {
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
fn what_was_begun_with_another_measure_is_not_taken_up() {
    let successors: Vec<Vec<usize>> = (0..200).map(|n| vec![(n + 1) % 200]).collect();
    let graph = Graph::new(&successors, &[0]);
    let volume = Volume::in_memory(4096);
    let open = |text: &str| {
        let options = Options { measure_text: text.to_owned(), ..Options::unlasting() };
        let measure: fathom_search::engines::engine::Measure<'_> =
            &|records, values| values.resize(values.len() + records.len(), 0);
        let way = Way { threads: 1, tuning: TUNINGS[1], bytes: 0, queue: Queue::Radix, keep: true };
        let patience = Impatient(20.into());
        let (system, budget) = (&graph as &dyn TransitionSystem, Budget::new(1 << 20));
        let settings = settings(system, way);
        let task = Task { system, budget: &budget, settings: &settings, observer: &patience };
        sweep::run(task, measure, (&volume, true), options).map(|(_, outcome)| outcome.ending)
    };
    assert!(matches!(open("x"), Ok(Ending::Stopped)));
    assert!(matches!(open("y"), Err(SearchError::Boundary)));
    assert!(open("x").is_ok());
}
