//! A search that dives, with an exact set, finds what the judge finds; with a few bits per state it never tells of a run that is none, and its
//! estimate of what it missed is near the truth.

use std::collections::HashSet;

use fathom_disk::budget::Budget;
use fathom_model::checked::Checked;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;
use fathom_search::bodies::dive::{Outcome, Settings, run};
use fathom_search::engines::bitstate::{Bitstate, MISSED_GOOD};
use fathom_search::error::SearchError;
use fathom_search::proof::replay::{Claim, replay};
use fathom_search::stores::visited::{Colour, Insertion, StoreFigures, Visited};
use fathom_search::task::watch::Condition;
use fathom_search::task::{Ending, Unobserved};
use fathom_search::traces::path::Room;
use oracle::bfs::{Limits, State, explore};
use oracle::forms::{Form, formed_graph, random_graph};
use oracle::random::Random;

/// An exact set.
#[derive(Default)]
struct Exact(HashSet<Vec<u64>>);

impl Visited for Exact {
    fn insert_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        new: &mut Vec<u32>,
    ) -> Result<Insertion, SearchError> {
        let fresh = (0..).zip(records.iter()).filter(|(_, record)| self.0.insert(record.to_vec()));
        new.extend(fresh.map(|it| it.0));
        Ok(Insertion::All)
    }

    fn contains_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        present: &mut Vec<u32>,
    ) -> Result<(), SearchError> {
        present
            .extend((0..).zip(records.iter()).filter(|(_, record)| self.0.contains(*record)).map(|it| it.0));
        Ok(())
    }

    fn figures(&self) -> StoreFigures {
        StoreFigures { records: self.0.len() as u64, ..StoreFigures::default() }
    }
}

fn settings(conditions: Vec<Condition>, max_depth: Option<u64>) -> Settings {
    Settings { conditions, stop_at_first: false, max_depth, stack_bytes: 32 << 20 }
}

fn search(system: &dyn TransitionSystem, visited: &mut dyn Visited, settings: &Settings) -> Outcome {
    run(system, visited, &Room::in_memory(&Budget::unlimited()), settings, &Unobserved)
        .expect("the budget is unlimited")
}

/// What the judge says of a state.
type Judgement = Box<dyn Fn(&State) -> bool>;

/// All conditions that a system with so many labels has, with what the judge says of a state.
fn conditions(labels: usize) -> Vec<(Condition, Judgement)> {
    let mut list: Vec<(Condition, Judgement)> = vec![
        (Condition::Deadlock { stuttering: false, except: None }, Box::new(State::is_deadlock)),
        (Condition::Fault, Box::new(|state| !state.faults.is_empty() || state.labels.faulted())),
    ];
    for label in 0..labels {
        for value in [false, true] {
            let holds = move |state: &State| !state.labels.faulted() && state.labels.holds(label) == value;
            list.push((Condition::Label { label, value }, Box::new(holds)));
        }
    }
    list
}

#[test]
fn with_an_exact_set_it_finds_what_the_judge_finds() {
    for seed in 0..300 {
        eprintln!("seed {seed}");
        let graph = random_graph(&mut Random::new(seed), 200);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let list = conditions(graph.shape.labels.len());
        let system = Checked(graph);
        let asked = settings(list.iter().map(|(condition, _)| *condition).collect(), None);
        // Half of the time with room for the states and all steps of one, and so with small batches.
        let room = (judge.states.len() + judge.transitions() + 64) * (system.shape().words() * 8 + 20);
        let stack_bytes = if seed % 2 == 0 { room } else { asked.stack_bytes };
        let outcome = search(&system, &mut Exact::default(), &Settings { stack_bytes, ..asked });
        assert_eq!(outcome.ending, Ending::Complete);
        assert_eq!(outcome.visits as usize, judge.states.len());
        assert_eq!(outcome.transitions as usize, judge.transitions());
        assert_eq!(outcome.deadlocks as usize, judge.deadlocks());
        assert_eq!(outcome.faults as usize, judge.faults());
        assert_eq!(outcome.labels_seen.0, judge.states.iter().fold(0, |seen, it| seen | it.labels.0));
        for ((condition, holds), found) in list.iter().zip(&outcome.found) {
            let expected = judge.states.iter().any(holds)
                || *condition == Condition::Fault && !judge.start_faults.is_empty();
            assert_eq!(found.is_some(), expected, "{condition:?}");
            let Some(path) = found.as_ref().and_then(|found| found.path.as_ref()) else { continue };
            replay(&system, path, None, Claim::Reachable, &Unobserved).expect("it is a run");
            let last = judge
                .number_of(&path.last_record().expect("memory does not fail").expect("a path has a state"));
            assert!(holds(&judge.states[last.expect("a path leads to a reachable state")]), "{condition:?}");
        }
    }
}

#[test]
fn a_limited_depth_is_kept_and_told() {
    for seed in 300..400 {
        eprintln!("seed {seed}");
        let graph = random_graph(&mut Random::new(seed), 100);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        for depth in [0, 1, 3, 10] {
            let outcome = search(&graph, &mut Exact::default(), &settings(Vec::new(), Some(depth)));
            assert!(outcome.deepest <= depth);
            let complete = outcome.ending == Ending::Complete;
            assert!(!complete || outcome.visits as usize == judge.states.len());
            assert_eq!(complete, outcome.cut == 0);
        }
    }
}

#[test]
fn a_small_stack_ends_in_nothing_worse_than_missing_states() {
    for seed in 400..500 {
        eprintln!("seed {seed}");
        let graph = random_graph(&mut Random::new(seed), 100);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let asked = Settings { stack_bytes: 500, ..settings(Vec::new(), None) };
        let outcome = search(&graph, &mut Exact::default(), &asked);
        assert!(outcome.visits as usize <= judge.states.len());
        assert!(outcome.cut > 0 || outcome.visits as usize == judge.states.len());
    }
}

#[test]
fn bits_never_lie_about_a_run_and_estimate_what_they_miss() {
    let mut estimates = 0;
    for seed in 500..520 {
        let mut random = Random::new(seed);
        let form = *random.pick(&[Form::Random, Form::Torus, Form::DeBruijn]);
        let graph = formed_graph(&mut random, form, 20_000, 64);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        for bytes in [2_500, 5_000, 10_000, 20_000, 100_000] {
            let list = conditions(graph.shape.labels.len());
            let asked = settings(list.iter().map(|(condition, _)| *condition).collect(), None);
            let mut bits = Bitstate::new(&Budget::unlimited(), bytes).expect("the budget is unlimited");
            let outcome = search(&graph, &mut bits, &asked);
            for path in outcome.found.iter().flatten().filter_map(|found| found.path.as_ref()) {
                replay(&graph, path, None, Claim::Reachable, &Unobserved).expect("it is a run");
            }
            let truth = outcome.visits as f64 / judge.states.len().max(1) as f64;
            let estimate = outcome.visits as f64 / bits.estimate(outcome.transitions).max(1) as f64;
            let missed = bits.probability_missed();
            eprintln!(
                "seed {seed} {form:?}: {truth:.3} visited, {estimate:.3} estimated, {missed:.3} missed at the end"
            );
            if missed < MISSED_GOOD && outcome.visits > 1_000 {
                assert!((truth - estimate).abs() <= 0.1 * truth, "seed {seed}");
                estimates += 1;
            }
        }
    }
    assert!(estimates > 50, "{estimates}");
}
