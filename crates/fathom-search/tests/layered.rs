//! A search that compares with recent layers finds what the judge finds: whatever the window, the image and the budget, with layers dropped, killed and taken up again. And it ends.

mod contract;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use contract::{TUNINGS, actions_of, compare_counts, conditions, expected_finding, widest};
use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::storage::{Fault, FaultyStorage, Volume};
use fathom_exec::interpreter::Interpreter;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_model::values::PossibleValues;
use fathom_search::engines::layered::{self, Length, Options, RecentLayers, Sizes};
use fathom_search::engines::retrace;
use fathom_search::error::SearchError;
use fathom_search::proof::audit::{Audit, AuditError};
use fathom_search::task::{Duplicates, Ending, Observer, Outcome, Settings, Task, Tuning, Unobserved};
use fathom_search::traces::path::Room;
use fathom_search::traces::trace::path_to;
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::{Form, random_graph};
use oracle::graph::Graph;
use oracle::program::random_program;
use oracle::random::Random;

/// Windows that miss much, that miss little, and one that misses nothing.
const LENGTHS: [Length; 6] = [
    Length::Layers(0),
    Length::Layers(1),
    Length::Layers(2),
    Length::Layers(5),
    Length::Auto,
    Length::Layers(u64::MAX),
];

/// Sizes in place of those that suit the budget.
type Choice = Option<fn(Sizes) -> Sizes>;

/// Sizes that suit the budget, and images of few states.
const SIZES: [Choice; 5] = [
    None,
    Some(|sizes| Sizes { image_entries: 1, ..sizes }),
    Some(|sizes| Sizes { image_entries: 2, ..sizes }),
    Some(|sizes| Sizes { image_entries: 7, ..sizes }),
    Some(|sizes| Sizes { image_entries: 40, ..sizes }),
];

/// The same with shards that are closed by several threads, where there is memory for them.
fn sharded(sizes: Sizes) -> Sizes {
    Sizes { shards: 4, closers: 2, shared_keys_min: 0, image_entries: 20, ..sizes }
}

/// How a search is made.
#[derive(Clone, Copy, Debug)]
struct Way {
    threads: usize,
    tuning: fn() -> Tuning,
    bytes: usize,
    length: Length,
    drops: bool,
    image: bool,
    count: bool,
    sizes: Choice,
}

const PLAIN: Way = Way {
    threads: 1,
    tuning: TUNINGS[0],
    bytes: 1 << 20,
    length: Length::Auto,
    drops: false,
    image: true,
    count: true,
    sizes: None,
};

fn settings(system: &dyn TransitionSystem, way: Way, stop_at_first: bool) -> Settings {
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
    fn expanded(&self, _layer: u64, sources: Records<'_>) {
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
    (way, stop_at_first): (Way, bool),
    observer: &dyn Observer,
    (volume, commit_every): (&Volume, Duration),
) -> Result<(RecentLayers, Outcome, Budget), SearchError> {
    let shape = system.shape();
    let columns = Columns { labels: true, actions: true, ..Columns::NONE };
    // A budget is for what an engine keeps; the steps of one state must fit besides. Buffers double.
    let steps = way.threads * Steps::bytes_for(shape, columns, 3 * widest(judge));
    // Keys have the layer beside the record when they are counted, and a few dozen of them are held.
    let budget = Budget::new(way.bytes.max(256 * (shape.words() + 1) * 8) + steps);
    let options = Options {
        tag: [4; 16],
        commit_every,
        length: way.length,
        drops: way.drops,
        image: way.image,
        count: way.count,
        keep_layers: !way.drops,
        sizes: way.sizes,
        ..Options::unlasting()
    };
    let settings = settings(system, way, stop_at_first);
    let steps = budget.charge("steps of one state", steps)?;
    let (mut policy, boundary) = RecentLayers::open(volume, &budget, shape, way.threads, options)?;
    drop(steps);
    let task = Task { system, budget: &budget, settings: &settings, observer };
    let outcome = match boundary {
        Some(boundary) => fathom_search::bodies::stages::go_on(task, &mut policy, &boundary)?,
        None => fathom_search::bodies::stages::run(task, &mut policy)?,
    };
    let outcome = policy.finish(task, outcome, true)?;
    Ok((policy, outcome, budget))
}

/// What is true of every search that came to its end.
fn compare(system: &dyn TransitionSystem, judge: &Explored, way: Way, outcome: &Outcome) {
    assert_eq!(outcome.ending, Ending::Complete, "{way:?}: {:?}", outcome.refusal);
    assert!(outcome.layered);
    let states = judge.states.len() as u64;
    assert!(outcome.visits * 2 <= states * 5, "{way:?}: {} visits of {states} states", outcome.visits);
    if way.count {
        assert!(outcome.exact, "{way:?}: states are counted");
    }
    if outcome.exact {
        compare_counts(outcome, judge);
    }
    if way.length == Length::Layers(u64::MAX) {
        assert_eq!(outcome.visits, states, "{way:?}: compared with all layers, no state is visited twice");
    }
    for (condition, finding) in conditions(system.shape()).into_iter().zip(outcome.findings.firsts()) {
        let expected = expected_finding(condition, judge).map(|(finding, _)| finding);
        assert_eq!(finding, expected.as_ref(), "{way:?} {condition:?}");
    }
}

/// The path to every finding is the judge's, from the layers or without them.
fn check_paths(
    (system, judge): (&dyn TransitionSystem, &Explored),
    way: Way,
    (policy, outcome): (RecentLayers, &Outcome),
) {
    let budget = Budget::new(1 << 20);
    for condition in conditions(system.shape()) {
        let Some((finding, Some(state))) = expected_finding(condition, judge) else { continue };
        let record = finding.record.as_deref().expect("it is at a state");
        let (room, at) = (Room::in_memory(&budget), (finding.layer, record));
        let path = match policy.keeps_all_layers() {
            true => path_to(system, &policy, &room, &Unobserved, at).expect("memory suffices"),
            false => {
                let mut volume = || Ok(Volume::in_memory(64));
                let layers = &outcome.layers;
                let path = retrace::path_to(system, &room, &Unobserved, way.threads, layers, &mut volume, at);
                Some(path.expect("memory suffices"))
            }
        };
        let path = path.expect("layers are kept");
        let expected = judge.path_to(state);
        assert_eq!(path.records().expect("memory does not fail"), judge.records_along(&expected), "{way:?}");
        assert_eq!(actions_of(&path), judge.actions_along(&expected), "{way:?}");
    }
}

/// What was seen over many searches, so that a suite in which nothing happens is noticed.
#[derive(Default)]
struct Happened {
    revisits: usize,
    exactly: usize,
    dropped: usize,
}

fn check(system: &dyn TransitionSystem, judge: &Explored, way: Way, happened: &mut Happened) {
    let (volume, notes) = (Volume::in_memory(64), Notes::default());
    let found = search((system, judge), (way, false), &notes, (&volume, Duration::MAX));
    let (policy, outcome, budget) = found.unwrap_or_else(|error| panic!("{way:?}: {error}"));
    assert_eq!(outcome.ending, Ending::Complete, "{way:?}: {:?} {:#?}", outcome.refusal, budget.owners());
    compare(system, judge, way, &outcome);
    let visited = notes.0.into_inner().expect("no thread panics");
    assert_eq!(outcome.visits, visited.len() as u64, "{way:?}");
    let distinct: BTreeSet<&[u64]> = visited.iter().map(Vec::as_slice).collect();
    assert_eq!(distinct.len(), judge.states.len(), "{way:?}: every state is visited");
    if let Duplicates { in_ram: Some(in_ram), delayed: Some(delayed), missed: Some(missed) } =
        outcome.duplicates
    {
        assert_eq!(missed, (visited.len() - distinct.len()) as u64, "{way:?}");
        let led =
            judge.starts.len() as u64 + visited.iter().map(|record| steps_of(judge, record)).sum::<u64>();
        assert_eq!(in_ram + delayed + missed, led - distinct.len() as u64, "{way:?}");
    }
    happened.revisits += usize::from(visited.len() > distinct.len());
    happened.exactly += usize::from(visited.len() == distinct.len());
    happened.dropped += usize::from(!policy.keeps_all_layers());
    check_paths((system, judge), way, (policy, &outcome));
}

fn steps_of(judge: &Explored, record: &[u64]) -> u64 {
    judge.states[judge.number_of(record).expect("it is reached")].steps.len() as u64
}

/// Something that is looked for is found in its layer, and nothing behind it is expanded.
fn check_first(system: &dyn TransitionSystem, judge: &Explored, way: Way) {
    let volume = Volume::in_memory(64);
    let found = search((system, judge), (way, true), &Unobserved, (&volume, Duration::MAX));
    let (_, outcome, _) = found.unwrap_or_else(|error| panic!("{way:?}: {error}"));
    let expected = conditions(system.shape()).into_iter().map(|condition| expected_finding(condition, judge));
    let first = expected.flatten().map(|(finding, _)| finding.layer).min();
    match first.filter(|_| !judge.layers.is_empty()) {
        Some(layer) => {
            assert_eq!(outcome.ending, Ending::Found, "{way:?}");
            let found = outcome.findings.firsts().flatten().map(|finding| finding.layer);
            assert_eq!(found.min(), Some(layer), "{way:?}");
        }
        None => assert_eq!(outcome.ending, Ending::Complete, "{way:?}"),
    }
}

/// Ways that go well together with the number of a trial: every window, and of all else something.
fn ways(number: usize) -> impl Iterator<Item = Way> {
    LENGTHS.into_iter().enumerate().flat_map(move |(turn, length)| {
        [4 << 10, 64 << 10, 2 << 20].into_iter().enumerate().map(move |(case, bytes)| {
            let mixed = number + 3 * turn + case;
            let several = bytes > 4 << 10 && mixed.is_multiple_of(4);
            Way {
                threads: 1 + (number + case) % 2,
                tuning: TUNINGS[number % 2],
                bytes,
                length,
                drops: length != Length::Layers(u64::MAX) && mixed % 3 == 1,
                image: mixed % 5 != 2,
                count: mixed % 6 != 1,
                sizes: if several { Some(sharded) } else { SIZES[mixed % SIZES.len()] },
            }
        })
    })
}

#[test]
fn random_graphs_are_explored_as_the_judge_explores_them() {
    let mut random = Random::new(83);
    let mut happened = Happened::default();
    for number in 0..60 {
        let graph = random_graph(&mut random, [30, 90, 500][number % 3]);
        let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
        for way in ways(number) {
            check(&graph, &judge, way, &mut happened);
            check_first(&graph, &judge, way);
        }
    }
    let Happened { revisits, exactly, dropped } = happened;
    println!("{revisits} with revisits, {exactly} without, {dropped} without layers");
    assert!(revisits > 100 && exactly > 100 && dropped > 20, "{revisits} {exactly} {dropped}");
}

#[test]
fn shapes_that_are_hard_are_explored_as_the_judge_explores_them() {
    let mut random = Random::new(84);
    let mut happened = Happened::default();
    for (number, form) in Form::ALL.into_iter().enumerate() {
        for (size, nodes) in [(0, 40), (1, 700)] {
            let graph = Graph::new(&form.successors(nodes, &mut random), &[0]);
            let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
            for way in ways(number + size) {
                check(&graph, &judge, way, &mut happened);
            }
        }
    }
    assert!(happened.revisits > 20, "{} with revisits", happened.revisits);
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
        for way in ways(seed as usize).step_by(2) {
            check(&system, &judge, way, &mut Happened::default());
        }
        compared += 1;
    }
    assert!(compared > 20, "{compared} programs are few");
}

#[test]
fn a_window_that_follows_back_edges_misses_few() {
    // Back edges of 30 layers: from each state of a grid to the one 30 rows above it.
    let (rows, columns) = (120, 10);
    let node = |row: usize, column: usize| row * columns + column;
    let successors: Vec<Vec<usize>> = (0..rows * columns)
        .map(|number| {
            let (row, column) = (number / columns, number % columns);
            let down = (row + 1 < rows).then(|| node(row + 1, column));
            let across = Some(node(row, (column + 1) % columns));
            down.into_iter().chain(across).chain(row.checked_sub(30).map(|row| node(row, column))).collect()
        })
        .collect();
    let graph = Graph::new(&successors, &[0]);
    let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
    let visits = |length| {
        let sizes: Choice = Some(|sizes| Sizes { image_entries: 20, ..sizes });
        let way = Way { bytes: 256 << 10, length, sizes, ..PLAIN };
        let volume = Volume::in_memory(64);
        let (policy, outcome, _) =
            search((&graph, &judge), (way, false), &Unobserved, (&volume, Duration::MAX)).expect("it ends");
        compare(&graph, &judge, way, &outcome);
        (policy.window().0, outcome.visits)
    };
    let (window, followed) = visits(Length::Auto);
    let (_, short) = visits(Length::Layers(2));
    println!("auto: {window} layers, {followed} visits; 2 layers: {short} visits");
    assert!((31..=70).contains(&window), "{window} layers");
    assert!(followed < short, "{followed} visits with {window} layers, {short} with 2");
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
        let way = Way { threads: 1 + random.below(2), ..self.way };
        let every = [Duration::ZERO, Duration::from_secs(100)][random.below(2)];
        let volume = Volume::new(storage.clone());
        let (_, outcome, _) = search((self.graph, self.judge), (way, false), observer, (&volume, every))?;
        Ok(outcome)
    }

    /// What is on disk in the end proves what the judge knows.
    fn audit(&self, storage: &FaultyStorage) {
        let (volume, scratch) = (Volume::new(storage.clone()), Volume::in_memory(64));
        let (volume, scratch, budget) = (&volume, &scratch, &Budget::new(1 << 20));
        let settings = &settings(self.graph, self.way, false);
        let (system, tag, observer): (&dyn TransitionSystem, _, _) = (self.graph, [4; 16], &Unobserved);
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
                    compare(self.graph, self.judge, self.way, &outcome);
                    if outcome.exact && (self.way.count || !self.way.drops) {
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
    let number = seed as usize;
    let way = Way {
        bytes: [6 << 10, 64 << 10, 512 << 10][number % 3],
        length: LENGTHS[number % 5],
        drops: number % 4 == 1,
        image: number % 5 != 2,
        count: number % 7 != 3,
        sizes: SIZES[number % SIZES.len()],
        ..PLAIN
    };
    work(Subject { graph: &graph, judge: &judge, way });
}

#[test]
fn a_search_that_loses_power_is_taken_up_and_finds_the_same() {
    let long = std::env::var_os("FATHOM_LONG").is_some();
    let (seeds, every) = if long { (60, 1) } else { (20, 13) };
    let mut crashes = 0;
    for seed in 0..seeds {
        subject(seed, 40, |subject| {
            let storage = FaultyStorage::new(64, seed);
            let outcome = subject.search(&storage, &mut Random::new(seed), &Unobserved);
            compare(subject.graph, subject.judge, subject.way, &outcome.expect("nothing strikes"));
            for first in (0..storage.operations().min(4000)).step_by(every) {
                crashes += subject.crash(first, seed);
            }
        });
    }
    println!("{crashes} power losses");
    assert!(crashes > 300, "{crashes} power losses are few");
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
                // A count that is stopped leaves the verdict, and is made again.
                if outcome.ending == Ending::Complete && (outcome.exact || !subject.way.count) {
                    return compare(subject.graph, subject.judge, subject.way, &outcome);
                }
                assert!(
                    matches!(outcome.ending, Ending::Stopped | Ending::Complete),
                    "seed {seed}: {:?}",
                    outcome.refusal
                );
            }
            panic!("seed {seed}: it never ends");
        });
    }
}

#[test]
fn at_the_end_of_the_disk_layers_are_dropped_and_the_search_goes_on() {
    // A long and narrow grid: a few layers take next to nothing of what all do.
    let successors: Vec<Vec<usize>> =
        (0..6000).map(|node| vec![(node + 3) % 6000, node / 3 * 3 + (node + 1) % 3]).collect();
    let graph = Graph::new(&successors, &[0]);
    let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
    let settings = Settings { conditions: Vec::new(), ..settings(&graph, PLAIN, false) };
    let budget = Budget::new(1 << 20);
    let search = |limit| {
        let volume = Volume::in_memory(64);
        let options = Options {
            disk_limit: Some(limit),
            length: Length::Layers(3),
            commit_every: Duration::ZERO,
            sizes: Some(|sizes| Sizes { image_entries: 10, ..sizes }),
            ..Options::unlasting()
        };
        layered::run(Task::new(&graph, &budget, &settings), (&volume, true), options)
    };
    let (policy, outcome) = search(1 << 40).expect("there is room");
    assert!(outcome.exact && policy.keeps_all_layers());
    // How much disk a search takes depends on how often it commits, and so on the clock: less and less room, until it does not suffice for all layers.
    let mut limit = policy.disk_use().peak;
    let (policy, outcome) = loop {
        limit /= 2;
        let (policy, outcome) = search(limit).expect("there is room for some layers");
        assert_eq!(outcome.ending, Ending::Complete);
        if !policy.keeps_all_layers() {
            break (policy, outcome);
        }
    };
    assert!(policy.disk_use().peak <= 2 * limit, "{:?} within {limit}", policy.disk_use());
    assert!(outcome.visits >= judge.states.len() as u64 && outcome.states().is_none());
    let refused = search(16).map(|(_, outcome)| outcome.ending);
    assert!(matches!(refused, Err(SearchError::DiskLimit { .. })), "{refused:?}");
}
