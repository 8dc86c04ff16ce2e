//! A sweep visits every state whatever its measure, finds what the judge finds, and says that it visited states twice when it did.

mod contract;

use std::collections::BTreeSet;
use std::sync::Mutex;

use contract::{TUNINGS, compare_counts, conditions, expected_finding, widest};
use fathom_disk::budget::{Budget, BudgetError};
use fathom_disk::hash::hash_key;
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, initial_all};
use fathom_search::bodies::stages::run;
use fathom_search::engines::engine::Measure;
use fathom_search::engines::retrace;
use fathom_search::engines::sweep_ram::SweepLine;
use fathom_search::task::{Ending, Observer, Outcome, Settings, Task, Tuning, Unobserved};
use fathom_search::traces::path::Room;
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::random_graph;
use oracle::random::Random;

/// Notes what is expanded.
#[derive(Default)]
struct Notes(Mutex<Vec<Vec<u64>>>);

impl Observer for Notes {
    fn expanded(&self, _stage: u64, sources: Records<'_>) {
        self.0.lock().expect("no thread panics").extend(sources.iter().map(<[u64]>::to_vec));
    }
}

/// The value of a state.
type Value<'a> = Box<dyn Fn(&[u64]) -> u64 + Sync + 'a>;

/// Everything in one bucket; by depth, which only steps back decrease; and any, from two values to many.
fn measures(judge: &Explored) -> Vec<Value<'_>> {
    let depth = |record: &[u64]| judge.path_to(judge.number_of(record).expect("it is reached")).len() as u64;
    vec![
        Box::new(|_: &[u64]| 0),
        Box::new(depth),
        Box::new(|record: &[u64]| hash_key(record) % 2),
        Box::new(|record: &[u64]| hash_key(record) % 13),
        Box::new(|record: &[u64]| u64::MAX - hash_key(record)),
    ]
}

fn swept(
    system: &dyn TransitionSystem,
    measure: Measure<'_>,
    (threads, tuning, bytes): (usize, Tuning, usize),
) -> (Outcome, u64, Vec<Vec<u64>>) {
    let settings = Settings {
        threads,
        conditions: conditions(system.shape()),
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: true,
        tuning,
    };
    let (budget, notes) = (Budget::new(bytes), Notes::default());
    let mut line = SweepLine::new(system.shape(), &budget, measure).expect("the budget suffices");
    let outcome = run(Task::new(system, &budget, &settings).watched_by(&notes), &mut line)
        .expect("the budget suffices");
    let sweeps = line.sweeps();
    drop(line);
    (outcome, sweeps, notes.0.into_inner().expect("no thread panics"))
}

/// How many initial states there are, repeated ones too.
fn starts(system: &dyn TransitionSystem) -> u64 {
    let mut steps = Steps::new(system.shape(), Columns::NONE, 64);
    initial_all(system, &mut steps, &mut |_| Ok::<(), BudgetError>(())).expect("nothing is refused");
    steps.targets().len() as u64
}

#[test]
fn a_sweep_finds_what_the_judge_finds() {
    let mut random = Random::new(71);
    let (mut with_regress, mut without) = (0, 0);
    for _ in 0..60 {
        let graph = random_graph(&mut random, 60);
        let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
        for (value, threads, tuning) in
            measures(&judge).iter().flat_map(|value| [(value, 1, TUNINGS[0]), (value, 2, TUNINGS[1])])
        {
            let measure =
                |records: Records<'_>, values: &mut Vec<u64>| values.extend(records.iter().map(value));
            let columns = Columns { labels: true, actions: true, ..Columns::NONE };
            let bytes = (256 << 10) + threads * Steps::bytes_for(graph.shape(), columns, 3 * widest(&judge));
            let (outcome, sweeps, visited) = swept(&graph, &measure, (threads, tuning(), bytes));
            assert_eq!(outcome.ending, Ending::Complete, "{:?}", outcome.refusal);
            let distinct: BTreeSet<&[u64]> = visited.iter().map(Vec::as_slice).collect();
            assert_eq!(distinct.len(), judge.states.len(), "every state is visited");
            assert_eq!(outcome.expanded, visited.len() as u64);
            assert_eq!(outcome.exact, sweeps <= 1);
            if outcome.exact {
                without += 1;
                assert_eq!(outcome.states(), Some(judge.states.len() as u64));
                assert_eq!(outcome.checksum, judge.checksum());
                assert_eq!(outcome.deadlocks, judge.deadlocks() as u64);
                let offered = outcome.transitions + starts(&graph);
                assert_eq!(outcome.duplicates.in_ram, Some(offered - judge.states.len() as u64));
            } else {
                with_regress += 1;
                assert_eq!(outcome.states(), None);
            }
            for (condition, finding) in conditions(graph.shape()).into_iter().zip(outcome.findings.firsts()) {
                assert_eq!(finding.is_some(), expected_finding(condition, &judge).is_some(), "{condition:?}");
            }
        }
    }
    assert!(with_regress > 50 && without > 50, "{with_regress} with regress, {without} without");
}

#[test]
fn by_depth_stages_without_regress_are_what_layers_are() {
    // A tree: no step leads back.
    let successors: Vec<Vec<usize>> =
        (0..200).map(|n| [2 * n + 1, 2 * n + 2].into_iter().filter(|n| *n < 200).collect()).collect();
    let graph = oracle::graph::Graph::new(&successors, &[0]);
    let judge = explore(&graph, Limits::states(1000)).expect("it is small");
    let depth = |records: Records<'_>, values: &mut Vec<u64>| {
        let depth = |record: &[u64]| judge.path_to(judge.number_of(record).unwrap()).len() as u64;
        values.extend(records.iter().map(depth));
    };
    let (outcome, sweeps, _) = swept(&graph, &depth, (2, Tuning::default(), 1 << 20));
    assert_eq!(sweeps, 1);
    assert!(!outcome.layered, "it says that stages are no layers, since it cannot know");
    compare_counts(&Outcome { locality: None, ..outcome }, &judge);
}

#[test]
fn a_path_is_found_to_what_no_layers_were_kept_of() {
    let mut random = Random::new(72);
    for _ in 0..20 {
        let graph = random_graph(&mut random, 60);
        let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
        for state in [0, judge.states.len() / 2, judge.states.len() - 1]
            .into_iter()
            .filter(|n| *n < judge.states.len())
        {
            let record = judge.records_along(&[state]).remove(0);
            let budget = Budget::new(8 << 20);
            let volume = Volume::in_memory(4096);
            let room = Room::in_memory(&budget);
            let path = retrace::path_from_nothing(&graph, &room, &Unobserved, 2, &volume, &record);
            let expected = judge.path_to(state);
            assert_eq!(path.unwrap().records().unwrap(), judge.records_along(&expected));
        }
    }
}
