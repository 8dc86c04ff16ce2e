//! A search with one partition in memory at a time finds what the judge finds: whatever states are parted by, however small partitions are and whatever the budget, killed and taken up again. And no state is visited twice.

mod contract;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use contract::{TUNINGS, actions_of, compare_duplicates, conditions, expected_finding, widest};
use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::storage::{Fault, FaultyStorage, Volume};
use fathom_exec::interpreter::Interpreter;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_model::values::PossibleValues;
use fathom_search::engines::partition::{self, By, Options, Partition, PartitionFigures, Sizes};
use fathom_search::error::SearchError;
use fathom_search::progress::measure::{Measure, Order, Part};
use fathom_search::proof::audit::{Audit, AuditError};
use fathom_search::task::{Ending, Observer, Outcome, Settings, Task, Tuning, Unobserved};
use fathom_search::traces::path::Room;
use fathom_search::traces::trace::path_through_stages;
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::{Form, random_graph};
use oracle::graph::{Embedding, Graph};
use oracle::program::random_program;
use oracle::random::Random;

/// Sizes in place of those that suit the budget.
type Choice = Option<fn(Sizes) -> Sizes>;

/// Sizes that suit the budget, and tables of few states, with room for many partitions and for few.
const SIZES: [Choice; 7] = [
    None,
    Some(|sizes| Sizes { table_keys: 1, ..sizes }),
    Some(|sizes| Sizes { table_keys: 2, gathered_keys: 3, ..sizes }),
    Some(|sizes| Sizes { table_keys: 7, ..sizes }),
    Some(|sizes| Sizes { table_keys: 40, gathered_keys: 5, ..sizes }),
    Some(|sizes| Sizes { table_keys: 5, parts_max: 3, gathered_keys: 4, ..sizes }),
    Some(|sizes| Sizes { table_keys: 3, parts_max: 1, ..sizes }),
];

/// By a hash, by how many bits are set, by the lowest bits of a record, and by nothing: all values are equal then.
fn parted(number: usize, system: &dyn TransitionSystem) -> By {
    let bits = system.shape().width_bits.min(3);
    let mut lowest = Measure::default();
    lowest.push(Part::new("lowest".to_owned(), (0, bits), Order::Ascending(7)));
    match number % 4 {
        0 => By::Hash,
        1 => By::Bits,
        2 => By::Components(lowest),
        _ => By::Components(Measure::default()),
    }
}

/// How a search is made.
#[derive(Clone, Debug)]
struct Way {
    threads: usize,
    tuning: fn() -> Tuning,
    bytes: usize,
    by: By,
    keep: bool,
    sizes: Choice,
}

fn settings(system: &dyn TransitionSystem, way: &Way, stop_at_first: bool) -> Settings {
    Settings {
        threads: way.threads,
        conditions: conditions(system.shape()),
        stop_at_first,
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

/// Stops a search after some batches.
struct Impatient(AtomicU64);

impl Observer for Impatient {
    fn stop(&self) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

fn search(
    (system, judge): (&dyn TransitionSystem, &Explored),
    (way, stop_at_first): (&Way, bool),
    observer: &dyn Observer,
    (volume, commit_every): (&Volume, Duration),
) -> Result<(Partition, Outcome, Budget), SearchError> {
    let shape = system.shape();
    let columns = Columns { labels: true, actions: true, ..Columns::NONE };
    // A budget is for what an engine keeps; the steps of one state must fit besides. Buffers double.
    let steps = way.threads * Steps::bytes_for(shape, columns, 3 * widest(judge));
    // Keys have the value beside the record, and a few dozen of them are held.
    let budget = Budget::new(way.bytes.max(256 * (shape.words() + 1) * 8) + steps);
    let options = Options {
        tag: [5; 16],
        commit_every,
        keep: way.keep,
        by: Some(way.by.clone()),
        sizes: way.sizes,
        ..Options::unlasting()
    };
    let settings = settings(system, way, stop_at_first);
    let steps = budget.charge("steps of one state", steps)?;
    let (mut policy, boundary) = Partition::open(volume, &budget, shape, way.threads, options)?;
    drop(steps);
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

/// What is true of every search that came to its end.
fn compare(system: &dyn TransitionSystem, judge: &Explored, way: &Way, outcome: &Outcome) {
    assert_eq!(outcome.ending, Ending::Complete, "{way:?}: {:?}", outcome.refusal);
    assert!(!outcome.layered && outcome.exact, "depths are not known, states are");
    assert_eq!(outcome.states(), Some(judge.states.len() as u64), "{way:?}");
    assert_eq!((outcome.expanded, outcome.visits), (judge.states.len() as u64, outcome.expanded), "{way:?}");
    assert_eq!(outcome.checksum, judge.checksum(), "{way:?}");
    assert_eq!(outcome.transitions as usize, judge.transitions(), "{way:?}");
    assert_eq!(outcome.deadlocks as usize, judge.deadlocks(), "{way:?}");
    assert_eq!(outcome.faults as usize, judge.faults(), "{way:?}");
    for (condition, finding) in conditions(system.shape()).into_iter().zip(outcome.findings.firsts()) {
        assert_eq!(finding.is_some(), expected_finding(condition, judge).is_some(), "{way:?} {condition:?}");
    }
}

/// The stages lead back from every finding, and the path is one.
fn check_paths(
    (system, judge): (&dyn TransitionSystem, &Explored),
    way: &Way,
    (policy, outcome): (Partition, &Outcome),
) {
    let stages = policy.into_stages();
    let budget = Budget::new(8 << 20);
    for finding in outcome.findings.firsts().flatten() {
        let Some(record) = &finding.record else { continue };
        let visit = |stage, visit: &mut dyn FnMut(Records<'_>)| stages.visit_layer(stage, visit);
        let room = Room::in_memory(&budget);
        let path = path_through_stages(system, &visit, &room, &Unobserved, (finding.layer, record));
        let path = path.expect("the budget suffices").expect("stages are kept");
        let records = path.records().expect("memory does not fail");
        assert_eq!(records.last(), Some(record), "{way:?}");
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

/// What was seen over many searches, so that a suite in which nothing happens is noticed.
#[derive(Debug, Default)]
struct Happened {
    searches: usize,
    split: usize,
    /// More visits than partitions: some were visited again.
    returned: usize,
    most_partitions: u64,
    /// A partition did not fit in memory, and could not be split.
    looked_up: usize,
    dropped: usize,
}

impl Happened {
    fn note(&mut self, figures: PartitionFigures) {
        let PartitionFigures { partitions, visits, splits, looked_up, crossed, offered } = figures;
        assert!(crossed <= offered && splits + 1 == partitions, "{figures:?}");
        self.searches += 1;
        self.looked_up += usize::from(looked_up > 0);
        self.split += usize::from(splits > 0);
        self.returned += usize::from(visits > partitions);
        self.most_partitions = self.most_partitions.max(partitions);
    }
}

fn check(system: &dyn TransitionSystem, judge: &Explored, way: &Way, happened: &mut Happened) {
    let (volume, notes) = (Volume::in_memory(64), Notes::default());
    let found = search((system, judge), (way, false), &notes, (&volume, Duration::MAX));
    let (policy, outcome, budget) = found.unwrap_or_else(|error| panic!("{way:?}: {error}"));
    assert_eq!(outcome.ending, Ending::Complete, "{way:?}: {:?} {:#?}", outcome.refusal, budget.owners());
    compare(system, judge, way, &outcome);
    compare_duplicates(&outcome, judge);
    let visited = notes.0.into_inner().expect("no thread panics");
    let distinct: BTreeSet<&[u64]> = visited.iter().map(Vec::as_slice).collect();
    assert_eq!(distinct.len(), judge.states.len(), "{way:?}: every state is visited");
    assert_eq!(visited.len(), distinct.len(), "{way:?}: and none twice");
    happened.note(policy.figures());
    match policy.keeps_stages() {
        true => check_paths((system, judge), way, (policy, &outcome)),
        false => {
            assert!(!way.keep, "{way:?}: stages are kept");
            happened.dropped += 1;
        }
    }
}

/// Something that is looked for is found, and the search ends there.
fn check_first(system: &dyn TransitionSystem, judge: &Explored, way: &Way) {
    let volume = Volume::in_memory(64);
    let found = search((system, judge), (way, true), &Unobserved, (&volume, Duration::MAX));
    let (_, outcome, _) = found.unwrap_or_else(|error| panic!("{way:?}: {error}"));
    let is_there = |condition| expected_finding(condition, judge).is_some();
    let exists = conditions(system.shape()).into_iter().any(is_there) && !judge.layers.is_empty();
    let ending = if exists { Ending::Found } else { Ending::Complete };
    assert_eq!(outcome.ending, ending, "{way:?}");
}

/// Ways that go well together with the number of a trial: every cap and budget, and of all else something.
fn ways(number: usize, system: &dyn TransitionSystem) -> Vec<Way> {
    let all = SIZES.into_iter().enumerate().flat_map(|(turn, sizes)| {
        [4 << 10, 64 << 10, 2 << 20].into_iter().enumerate().map(move |(case, bytes)| {
            let mixed = number + turn + 2 * case;
            Way {
                threads: 1 + (number + turn + case) % 2,
                tuning: TUNINGS[number % 2],
                bytes,
                by: parted(mixed, system),
                keep: mixed % 5 != 4,
                sizes,
            }
        })
    });
    all.collect()
}

#[test]
fn random_graphs_are_explored_as_the_judge_explores_them() {
    let mut random = Random::new(93);
    let mut happened = Happened::default();
    for number in 0..48 {
        let graph = random_graph(&mut random, [30, 90, 500][number % 3]);
        let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
        for way in ways(number, &graph) {
            check(&graph, &judge, &way, &mut happened);
            check_first(&graph, &judge, &way);
        }
    }
    println!("{happened:?}");
    let Happened { searches, split, returned, most_partitions, looked_up, dropped } = happened;
    assert!(split > 250 && searches - split > 100 && returned > 200 && most_partitions > 100);
    assert!(looked_up > 100 && dropped > 30);
}

#[test]
fn shapes_that_are_hard_are_explored_as_the_judge_explores_them() {
    let mut random = Random::new(94);
    let mut happened = Happened::default();
    for (number, form) in Form::ALL.into_iter().enumerate() {
        for (size, nodes) in [(0, 40), (1, 700)] {
            let graph = Graph::new(&form.successors(nodes, &mut random), &[0]);
            let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
            for way in ways(number + size, &graph) {
                check(&graph, &judge, &way, &mut happened);
            }
        }
    }
    assert!(happened.split > 50, "{happened:?}");
}

#[test]
fn random_programs_are_explored_as_the_judge_explores_them() {
    let mut compared = 0;
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let size = 1 + random.below(4);
        let program = random_program(&mut random, size);
        let system = Interpreter::new(program.clone(), &PossibleValues::of(&program));
        let Ok(judge) = explore(&system, Limits { states: 1_000, transitions: 10_000 }) else { continue };
        for way in ways(seed as usize, &system).iter().step_by(2) {
            check(&system, &judge, way, &mut Happened::default());
        }
        compared += 1;
    }
    assert!(compared > 20, "{compared} programs are few");
}

#[test]
fn partitions_larger_than_memory_are_expanded_whole() {
    let mut random = Random::new(95);
    for (number, bytes) in [4 << 10, 6 << 10, 24 << 10, 96 << 10, 300 << 10].into_iter().enumerate() {
        let graph = Graph::new(&Form::Sparse.successors(4000, &mut random), &[0]);
        let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
        for (turn, threads) in [1, 2, 2].into_iter().enumerate() {
            let by = parted(number + turn, &graph);
            let way = Way { threads, tuning: TUNINGS[1], bytes, by, keep: turn != 1, sizes: None };
            check(&graph, &judge, &way, &mut Happened::default());
        }
    }
}

#[test]
fn wide_records_are_explored_within_the_least_memory() {
    for (number, width_bits) in [20, 64, 129, 300, 750, 2000].into_iter().enumerate() {
        let embedding = [Embedding::Scattered, Embedding::Low, Embedding::High][number % 3];
        let mut random = Random::new(96);
        let mut graph = Graph::new(&Form::Sparse.successors(600, &mut random), &[0]);
        graph.embed(width_bits, embedding, &mut random);
        let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
        let least = 256 * (graph.shape.words() + 1) * 8;
        for (turn, bytes) in [least, 3 * least, 20 * least, 100 * least].into_iter().enumerate() {
            let by = parted(number + turn, &graph);
            let way = Way { threads: 1 + turn % 2, tuning: TUNINGS[1], bytes, by, keep: true, sizes: None };
            check(&graph, &judge, &way, &mut Happened::default());
        }
    }
}

/// Which system is searched, and how.
struct Subject<'a> {
    graph: &'a Graph,
    judge: &'a Explored,
    way: Way,
}

impl Subject<'_> {
    fn search(
        &self,
        storage: &FaultyStorage,
        random: &mut Random,
        observer: &dyn Observer,
    ) -> Result<Outcome, SearchError> {
        let way = Way { threads: 1 + random.below(2), ..self.way.clone() };
        let every = [Duration::ZERO, Duration::from_secs(100)][random.below(2)];
        let volume = Volume::new(storage.clone());
        let (_, outcome, _) = search((self.graph, self.judge), (&way, false), observer, (&volume, every))?;
        Ok(outcome)
    }

    fn compare(&self, outcome: &Outcome) {
        compare(self.graph, self.judge, &self.way, outcome);
    }

    /// What is on disk in the end proves what the judge knows.
    fn audit(&self, storage: &FaultyStorage) {
        let (volume, scratch) = (Volume::new(storage.clone()), Volume::in_memory(64));
        let (volume, scratch, budget) = (&volume, &scratch, &Budget::new(1 << 20));
        let settings = &settings(self.graph, &self.way, false);
        let (system, tag, observer): (&dyn TransitionSystem, _, _) = (self.graph, [5; 16], &Unobserved);
        match (Audit { system, settings, volume, tag, scratch, budget, observer }.run()) {
            Ok(audited) => assert_eq!(audited.checksum, self.judge.checksum()),
            Err(AuditError::Violated) => {}
            Err(error) => panic!("{:?}: {error}", self.way),
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
                Err(error) => panic!("operation {strike} after {crashes} crashes: {error} {:?}", self.way),
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
    let number = seed as usize;
    let way = Way {
        threads: 1,
        tuning: TUNINGS[0],
        bytes: [6 << 10, 64 << 10, 512 << 10][number % 3],
        by: parted(number / 3, &graph),
        keep: number % 4 != 1,
        sizes: SIZES[number % SIZES.len()],
    };
    work(Subject { graph: &graph, judge: &judge, way });
}

#[test]
fn a_search_that_loses_power_is_taken_up_and_finds_the_same() {
    let long = std::env::var_os("FATHOM_LONG").is_some();
    let (seeds, every) = if long { (63, 1) } else { (21, 13) };
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
    assert!(crashes > 1000, "{crashes} power losses are few");
}

#[test]
fn a_search_that_is_stopped_again_and_again_finds_the_same() {
    for seed in 0..42 {
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
fn what_was_begun_by_something_else_is_not_taken_up() {
    let successors: Vec<Vec<usize>> = (0..200).map(|n| vec![(n + 1) % 200]).collect();
    let graph = Graph::new(&successors, &[0]);
    let volume = Volume::in_memory(4096);
    let open = |by: By| {
        let options = Options { by: Some(by.clone()), ..Options::unlasting() };
        let way = Way { threads: 1, tuning: TUNINGS[1], bytes: 0, by, keep: true, sizes: None };
        let patience = Impatient(20.into());
        let (system, budget) = (&graph as &dyn TransitionSystem, Budget::new(1 << 20));
        let settings = settings(system, &way, false);
        let task = Task { system, budget: &budget, settings: &settings, observer: &patience };
        partition::run(task, (&volume, true), options).map(|(_, outcome)| outcome.ending)
    };
    assert!(matches!(open(By::Bits), Ok(Ending::Stopped)));
    assert!(matches!(open(By::Hash), Err(SearchError::PartedBy { by }) if by == "bits"));
    assert!(open(By::Bits).is_ok());
}

#[test]
fn components_that_seldom_change_are_seldom_left() {
    // Sixteen rings of 64 states, each of which leads to the next ring once.
    let node = |ring: usize, place: usize| ring * 64 + place;
    let successors: Vec<Vec<usize>> = (0..16 * 64)
        .map(|number| {
            let (ring, place) = (number / 64, number % 64);
            let next = if place == 0 { vec![node((ring + 1) % 16, 0)] } else { Vec::new() };
            [next, vec![node(ring, (place + 1) % 64)]].concat()
        })
        .collect();
    let graph = Graph::new(&successors, &[0]);
    let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
    let crossed = |by: By| {
        let sizes: Choice = Some(|sizes| Sizes { table_keys: 100, ..sizes });
        let way = Way { threads: 1, tuning: TUNINGS[1], bytes: 1 << 20, by, keep: true, sizes };
        let volume = Volume::in_memory(64);
        let (policy, outcome, _) =
            search((&graph, &judge), (&way, false), &Unobserved, (&volume, Duration::MAX)).expect("it ends");
        compare(&graph, &judge, &way, &outcome);
        policy.figures()
    };
    let part = |name: &str, low, bits| {
        Part::new(name.to_owned(), (low, bits), Order::Ascending(u64::MAX >> (64 - bits)))
    };
    let mut ring = Measure::default();
    ring.push(part("ring", 6, 4));
    // Every other state of a ring.
    let mut parity = Measure::default();
    parity.push(part("parity", 0, 1));
    let (by_ring, by_parity) = (crossed(By::Components(ring)), crossed(By::Components(parity)));
    println!("by ring: {by_ring:?}; by parity: {by_parity:?}");
    assert!(by_ring.crossed * 4 < by_parity.crossed && by_ring.visits < by_parity.visits);
}

#[test]
fn what_seldom_changes_is_found_in_a_sample_of_steps_and_remembered() {
    for bytes in [16 << 10, 1 << 20] {
        for seed in 0..20 {
            let program = random_program(&mut Random::new(seed), 3);
            let system = Interpreter::new(program.clone(), &PossibleValues::of(&program));
            let Ok(judge) = explore(&system, Limits { states: 1_000, transitions: 10_000 }) else { continue };
            let volume = Volume::in_memory(4096);
            let way = Way { threads: 1, tuning: TUNINGS[1], bytes, by: By::Hash, keep: true, sizes: None };
            let settings = settings(&system, &way, false);
            let columns = Columns { labels: true, actions: true, ..Columns::NONE };
            let steps = Steps::bytes_for(system.shape(), columns, 3 * widest(&judge));
            let searched = |patience: u64, more: usize| {
                let budget = Budget::new((bytes + steps) * more);
                let patience = Impatient(patience.into());
                let task =
                    Task { system: &system, budget: &budget, settings: &settings, observer: &patience };
                let options = Options { by: None, commit_every: Duration::ZERO, ..Options::unlasting() };
                let (policy, outcome) =
                    partition::run(task, (&volume, true), options).expect("memory suffices");
                (policy.by().clone(), outcome)
            };
            // It is stopped somewhere, and goes on by the same with more memory.
            let (begun_by, begun) = searched(40 * seed, 1);
            let (by, outcome) = searched(u64::MAX, 2);
            compare(&system, &judge, &way, &outcome);
            assert!(begun.layers.is_empty() || begun_by == by, "{begun_by:?} {by:?}");
        }
    }
}
