//! Whoever asks a search for a run, a replay or an audit to stop is heard: at any question that it asks, it ends at once with nothing, or it had the whole answer already.

mod contract;

use std::sync::atomic::{AtomicU64, Ordering};

use contract::{conditions, expected_finding};
use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;
use fathom_search::bodies::stages::run;
use fathom_search::engines::engine::{
    Answer, Ask, Chosen, Engine, FilePlace, NamedMeasure, OptionValue, Run,
};
use fathom_search::engines::ram::RamTable;
use fathom_search::engines::registry::ENGINES;
use fathom_search::engines::tier::{Options, Plan, Tier};
use fathom_search::engines::{auto, retrace};
use fathom_search::error::SearchError;
use fathom_search::proof::audit::{Audit, AuditError};
use fathom_search::proof::replay::{Claim, Refusal, replay};
use fathom_search::task::watch::{Condition, Finding};
use fathom_search::task::{Ending, Observer, Settings, Task, Tuning, Unobserved};
use fathom_search::traces::path::{Path, Room};
use fathom_search::traces::trace::path_to;
use oracle::bfs::{Limits, explore};
use oracle::forms::{deep_and_narrow, random_graph};
use oracle::graph::Graph;
use oracle::random::Random;

/// Says that it is time to stop once it was asked so often, and then no more: who has heard it must remember.
struct Once {
    left: AtomicU64,
}

impl Observer for Once {
    fn stop(&self) -> bool {
        self.left.fetch_sub(1, Ordering::Relaxed) == 0
    }
}

fn after(questions: u64) -> Once {
    Once { left: AtomicU64::new(questions) }
}

/// Stops at every question in turn, until none is left to stop at; says how many there were.
fn stopped_everywhere<T: PartialEq + std::fmt::Debug>(
    whole: &T,
    search: &dyn Fn(&dyn Observer) -> Result<T, bool>,
) -> u64 {
    for questions in 0.. {
        match search(&after(questions)) {
            Ok(found) => {
                assert_eq!(&found, whole, "after {questions} questions");
                return questions;
            }
            Err(stopped) => assert!(stopped, "after {questions} questions: it is stopped, and nothing else"),
        }
    }
    unreachable!("it ends")
}

fn is_stopped<T>(result: Result<T, SearchError>) -> Result<T, bool> {
    result.map_err(|error| matches!(error, SearchError::Stopped))
}

fn settings(conditions: Vec<Condition>) -> Settings {
    Settings {
        threads: 1,
        conditions,
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: false,
        tuning: Tuning::default(),
    }
}

#[test]
fn searches_for_runs_and_replays_stop_at_any_question() {
    let (mut replayed, mut searched, mut searched_again) = (0, 0, 0);
    for seed in 0..60 {
        let graph = random_graph(&mut Random::new(seed), 60);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let list = conditions(&graph.shape);
        let asked = settings(list.clone());
        let budget = Budget::new(8 << 20);
        let mut table = RamTable::new(graph.shape(), &budget, 1).expect("the budget suffices");
        let outcome = run(Task::new(&graph, &budget, &asked), &mut table).expect("it does not fail");
        for condition in list {
            let found = expected_finding(condition, &judge);
            let Some((Finding { layer, record: Some(record), .. }, _)) = found else { continue };
            let (room, goal) = (Room::in_memory(&budget), (layer, &*record));
            let path = |observer: &dyn Observer| path_to(&graph, &table, &room, observer, goal);
            let whole: Path = path(&Unobserved).expect("it does not fail").expect("layers are kept");
            searched += stopped_everywhere(&Some(whole.clone()), &|observer| is_stopped(path(observer)));
            replayed += stopped_everywhere(&(), &|observer| {
                replay(&graph, &whole, None, Claim::Reachable, observer)
                    .map_err(|refusal| matches!(refusal, Refusal::Machine(SearchError::Stopped)))
            });
            searched_again += stopped_everywhere(&whole, &|observer| {
                let mut volumes = || Ok(Volume::in_memory(64));
                let sizes = &outcome.layers;
                is_stopped(retrace::path_to(&graph, &room, observer, 1, sizes, &mut volumes, goal))
            });
        }
    }
    assert!(
        replayed > 50 && searched > 100 && searched_again > 200,
        "{replayed} {searched} {searched_again}"
    );
}

/// Searches with an engine, in files that nothing is left of.
fn answer_of(
    engine: &'static Engine,
    graph: &Graph,
    budget: usize,
    observer: &dyn Observer,
) -> Result<Answer, SearchError> {
    let (Run::States(search) | Run::Chooses { states: search, .. }) = engine.run else {
        panic!("{} is for states", engine.name)
    };
    let volume = Volume::in_memory(4096);
    let place = FilePlace {
        volume: &|| Ok(volume.clone()),
        tag: [0; 16],
        lasts: false,
        limit: None,
        commit_every: std::time::Duration::MAX,
        keep_layers: true,
        count: true,
    };
    let values = |records: Records<'_>, values: &mut Vec<u64>| {
        values.extend(records.iter().map(|record| record[0] / 7));
    };
    let takes_one = engine.options.iter().any(|option| matches!(option.value, OptionValue::Expression));
    let measure = NamedMeasure { values: &values, name: "sevenths", identity: 0 };
    let (budget, asked) = (Budget::new(budget), settings(Vec::new()));
    let ask = Ask {
        task: Task::new(graph, &budget, &asked).watched_by(observer),
        place: &place,
        chosen: &Chosen::plain(engine),
        measure: takes_one.then_some(measure),
    };
    search(&ask)
}

/// Stops at more and more questions, until there is none left to stop at: each time the search says that it was stopped. Says at how many.
fn says_that_it_was_stopped(engine: &'static Engine, graph: &Graph, budget: usize) -> u64 {
    let whole = answer_of(engine, graph, budget, &Unobserved).expect("memory suffices");
    assert_eq!(whole.outcome.ending, Ending::Complete, "{}", engine.name);
    let (mut questions, mut stops) = (0, 0);
    loop {
        let told = format!("{} after {questions} questions", engine.name);
        let answer = answer_of(engine, graph, budget, &after(questions))
            .unwrap_or_else(|error| panic!("{told}: to be stopped is no failure: {error}"));
        if answer.outcome.ending == Ending::Complete {
            assert_eq!(answer.outcome.checksum, whole.outcome.checksum, "{told}");
            return stops;
        }
        assert_eq!(answer.outcome.ending, Ending::Stopped, "{told}");
        (questions, stops) = (questions + 1 + questions / 2, stops + 1);
    }
}

#[test]
fn a_search_that_is_stopped_says_so_and_does_not_fail() {
    for engine in ENGINES.into_iter().filter(|engine| engine.answers_states() && engine.is_exact()) {
        let stops = (0..10).map(|seed| {
            let graph = random_graph(&mut Random::new(seed), 400);
            [256 << 10, 8 << 20]
                .map(|budget| says_that_it_was_stopped(engine, &graph, budget))
                .iter()
                .sum::<u64>()
        });
        assert!(stops.sum::<u64>() > 20, "{}", engine.name);
    }
    // Memory is full, the search goes on by layers, is left, a measure is chosen, and it begins again.
    let stops = says_that_it_was_stopped(&auto::ENGINE, &deep_and_narrow(1600, 150), 512 << 10);
    assert!(stops > 10, "{stops}");
}

#[test]
fn an_audit_that_is_stopped_accepts_nothing() {
    let mut questions = 0;
    for seed in 100..130 {
        let graph = random_graph(&mut Random::new(seed), 200);
        let (volume, budget, asked) = (Volume::in_memory(64), Budget::new(8 << 20), settings(Vec::new()));
        let options = Options {
            tag: [3; 16],
            plan: Plan::LookUp,
            commit_every: std::time::Duration::ZERO,
            disk_limit: None,
            keep_from: 0,
            shares: None,
        };
        let (mut tier, _) =
            Tier::open(&volume, &budget, graph.shape(), 1, options).expect("it does not fail");
        let outcome = run(Task::new(&graph, &budget, &asked), &mut tier).expect("it does not fail");
        assert_eq!(outcome.ending, Ending::Complete);
        drop((tier, outcome));
        let audited = |observer: &dyn Observer| {
            let scratch = Volume::in_memory(64);
            let audit = Audit {
                system: &graph,
                settings: &asked,
                volume: &volume,
                tag: [3; 16],
                scratch: &scratch,
                budget: &budget,
                observer,
            };
            audit.run().map_err(|error| matches!(error, AuditError::Stopped))
        };
        let whole = audited(&Unobserved).expect("it is accepted");
        questions += stopped_everywhere(&whole, &audited);
    }
    assert!(questions > 60, "{questions}");
}
