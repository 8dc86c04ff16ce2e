//! Every model in `models/` is what it says about itself: counts, verdicts and shortest lengths, for every engine, interpreted and compiled, with one
//! and two threads, and the same traces; and the judge agrees.
//!
//! The largest models are run once, without the judge; `FATHOM_LONG=1` runs everything on them, too.

mod expectations;

use std::path::Path;

use expectations::{Expectations, Expected};
use fathom_check::answers::check::{Answer, Checked, Stop, Verdict, check};
use fathom_check::answers::possibility;
use fathom_check::model::assemble::{Model, ModelOptions};
use fathom_check::monitor::Clock;
use fathom_check::questions::plan::{Plan, Questions};
use fathom_check::questions::property::{DeadlockKind, PropertyKind};
use fathom_check::resources::Resources;
use fathom_model::expression::Overflow;
use fathom_search::engines::engine::Chosen;
use fathom_search::engines::{layered, partition, positions, ram};
use oracle::bfs::{Explored, Limits, explore};

/// Models with more states are run once.
const SMALL: u64 = 200_000;

#[test]
fn every_model_is_what_it_says() {
    let long = std::env::var_os("FATHOM_LONG").is_some();
    for path in expectations::models() {
        let expected = expectations::read(&path);
        let options = ModelOptions {
            overflow: if expected.wrap { Overflow::Wrap } else { Overflow::Fault },
            ..ModelOptions::default()
        };
        let model = Model::read(&path, &options).unwrap_or_else(|error| panic!("{error}"));
        eprintln!("{} ({} states)", path.display(), expected.states);
        if expected.states > SMALL && !long {
            compare(&path, &model, &expected, &Chosen::plain(&ram::ENGINE), true, 2);
            continue;
        }
        judge(&path, &model, &expected);
        let mut traces = Vec::new();
        for (engine, jit) in [
            (&Chosen::plain(&ram::ENGINE), false),
            (&Chosen::plain(&ram::ENGINE), true),
            (&Chosen::plain(&positions::ENGINE), false),
        ] {
            for threads in [1, 2] {
                let checked = compare(&path, &model, &expected, engine, jit, threads);
                traces.push(checked.answers.into_iter().map(|answer| answer.trace).collect::<Vec<_>>());
            }
        }
        assert!(traces.windows(2).all(|pair| pair[0] == pair[1]), "{}: traces differ", path.display());
    }
}

/// A model with a state that has thousands of steps.
const MANY_STEPS: &str = "fan.dve";

/// Models with more states are not searched with every window.
const WINDOWED: u64 = 20_000;

#[test]
fn every_model_is_what_it_says_whatever_layers_it_is_compared_with() {
    let engine = &layered::ENGINE;
    let windows = ["layers=0", "layers=1", "layers=2", "layers=5", "layers=auto"];
    for (number, path) in expectations::models().into_iter().enumerate() {
        let expected = expectations::read(&path);
        if expected.states > WINDOWED {
            continue;
        }
        let options = ModelOptions {
            overflow: if expected.wrap { Overflow::Wrap } else { Overflow::Fault },
            ..ModelOptions::default()
        };
        let model = Model::read(&path, &options).unwrap_or_else(|error| panic!("{error}"));
        let plain = compare(&path, &model, &expected, &Chosen::plain(&ram::ENGINE), true, 1);
        for (turn, window) in windows.into_iter().enumerate() {
            let turn = number + turn;
            let others = ["drop=no", "drop=yes"][turn % 2];
            let image = ["ram-image=on", "ram-image=off"][turn / 2 % 2];
            let chosen = Chosen::with(engine, [window, others, image]).expect("these are its options");
            // The steps of a state must fit besides.
            let least = if path.ends_with(MANY_STEPS) { 2 << 20 } else { 256 << 10 };
            let data_budget = Some([least, 4 << 20][turn % 2]);
            let threads = 1 + turn % 2;
            let resources = Resources { threads, data_budget, ..Resources::of_this_machine() };
            let checked = compare_within(&path, &model, &expected, &chosen, &resources);
            let trace = |checked: &Checked| -> Vec<_> {
                checked.answers.iter().map(|answer| answer.trace.clone()).collect()
            };
            assert_eq!(trace(&checked), trace(&plain), "{} {window}: traces differ", path.display());
            let counts = &checked.exploration.counts;
            assert!(counts.visits * 2 <= expected.states * 5, "{} {window}: {counts:?}", path.display());
            assert_eq!(counts.checksum, plain.exploration.counts.checksum, "{} {window}", path.display());
        }
    }
}

#[test]
fn every_model_is_what_it_says_partition_by_partition() {
    for (number, path) in expectations::models().into_iter().enumerate() {
        let expected = expectations::read(&path);
        if expected.states > WINDOWED {
            continue;
        }
        let options = ModelOptions {
            overflow: if expected.wrap { Overflow::Wrap } else { Overflow::Fault },
            ..ModelOptions::default()
        };
        let model = Model::read(&path, &options).unwrap_or_else(|error| panic!("{error}"));
        let plain = compare(&path, &model, &expected, &Chosen::plain(&ram::ENGINE), true, 1);
        for (turn, by) in ["by=hash", "by=bits", "by=auto"].into_iter().enumerate() {
            let chosen = Chosen::with(&partition::ENGINE, [by]).expect("this is its option");
            // The steps of a state must fit besides.
            let least = if path.ends_with(MANY_STEPS) { 2 << 20 } else { 64 << 10 };
            let data_budget = Some([least, 256 << 10, 4 << 20][(number + turn) % 3].max(least));
            let threads = 1 + (number + turn) % 2;
            let resources = Resources { threads, data_budget, ..Resources::of_this_machine() };
            let checked = compare_within(&path, &model, &expected, &chosen, &resources);
            let counts = &checked.exploration.counts;
            assert_eq!(counts.visits, expected.states, "{} {by}: {counts:?}", path.display());
            assert_eq!(counts.checksum, plain.exploration.counts.checksum, "{} {by}", path.display());
        }
    }
}

/// Checks a model with one engine and compares everything with what it says.
fn compare(
    path: &Path,
    model: &Model,
    expected: &Expectations,
    engine: &Chosen,
    jit: bool,
    threads: usize,
) -> Checked {
    let resources = Resources { threads, jit, ..Resources::of_this_machine() };
    compare_within(path, model, expected, engine, &resources)
}

/// The same, with these resources.
fn compare_within(
    path: &Path,
    model: &Model,
    expected: &Expectations,
    engine: &Chosen,
    resources: &Resources,
) -> Checked {
    let plan = plan(model, expected);
    let (threads, jit) = (resources.threads, resources.jit);
    let checked = check(model, &plan, engine, Stop::Never, resources, &Clock::new(None), None)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let possible =
        plan.possibilities.iter().map(|it| possibility::check(model, it, resources, &Clock::new(None)));
    let possible: Vec<Answer> = possible
        .flat_map(|it| it.unwrap_or_else(|error| panic!("{}: {error}", path.display())).answers)
        .collect();
    let counts = &checked.exploration.counts;
    let context =
        format!("{} with {}, {threads} threads, compiled: {jit}", path.display(), engine.engine.name);
    assert_eq!(counts.states, Some(expected.states), "states of {context}");
    assert_eq!(counts.edges, expected.transitions, "transitions of {context}");
    let has_layers = engine.engine.layers;
    match has_layers {
        true => assert_eq!(counts.layers.len() as u64 - 1, expected.depth, "depth of {context}"),
        false => assert!(counts.layers.is_empty(), "depth of {context}"),
    }
    assert_eq!(counts.deadlocks, Some(expected.deadlocks), "deadlocks of {context}");
    assert_eq!(counts.faults, expected.faults, "faults of {context}");
    for property in &expected.properties {
        let answers = if property.kind == "liveness" { &possible } else { &checked.answers };
        let (found, length) = answer_to(property, answers);
        let violated = matches!(property.verdict.as_str(), "violated" | "reachable");
        assert_eq!(found, violated, "{} of {context}", property.name);
        match has_layers || property.kind == "liveness" {
            true => assert_eq!(length, property.length, "length of {} of {context}", property.name),
            // Any run, and none is shorter than the shortest.
            false => assert!(
                length.is_some() == property.length.is_some() && length >= property.length,
                "length of {} of {context}: {length:?}",
                property.name
            ),
        }
    }
    checked
}

/// All questions a model answers about itself, in one plan.
fn plan(model: &Model, expected: &Expectations) -> Plan {
    let of_kind = |kind: &'static str| expected.properties.iter().filter(move |it| it.kind == kind);
    let texts = |kind| of_kind(kind).map(|it| it.expression.clone()).collect();
    let asserts = model.program().labels.iter().map(|label| label.name.clone()).collect();
    let questions = Questions {
        invariants: texts("invariant"),
        goals: texts("reach"),
        stated: asserts,
        deadlock: of_kind("deadlock").next().map(|_| DeadlockKind::Stuck),
        ..Questions::default()
    };
    Plan::new(model, &questions).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether a property was violated (or reached), and the length of the trace.
fn answer_to(property: &Expected, answers: &[Answer]) -> (bool, Option<usize>) {
    let prefix = format!("assert {}", property.expression);
    let matching = answers.iter().filter(|answer| match (property.kind.as_str(), answer.property.kind) {
        ("invariant", PropertyKind::Invariant) | ("reach", PropertyKind::Reach) => {
            answer.property.name == property.expression
        }
        ("assert", PropertyKind::Assertion) => answer.property.name.starts_with(&prefix),
        ("stated", PropertyKind::Assertion | PropertyKind::Cover { .. }) => {
            answer.property.name == property.expression
        }
        ("liveness", PropertyKind::Possible) => answer.property.name == property.expression,
        ("deadlock", PropertyKind::Deadlock) | ("fault", PropertyKind::Fault) => true,
        _ => false,
    });
    let matching: Vec<&Answer> = matching.collect();
    assert!(!matching.is_empty(), "{} was asked", property.name);
    let found = matching.iter().filter(|answer| answer.verdict != Verdict::Holds);
    let lengths: Vec<usize> = found
        .map(|answer| answer.trace.as_ref().expect("a violation has a trace").length() as usize)
        .collect();
    (!lengths.is_empty(), lengths.into_iter().min())
}

/// The judge finds what the model says, and the depth at which it first meets each goal.
fn judge(path: &Path, model: &Model, expected: &Expectations) {
    let plan = plan(model, expected);
    let system = model.interpreter(plan.labels.clone());
    let explored = explore(&system, Limits::states(usize::MAX)).expect("the limits are wide");
    assert_eq!(explored.states.len() as u64, expected.states, "{}", path.display());
    assert_eq!(explored.transitions() as u64, expected.transitions, "{}", path.display());
    assert_eq!(explored.depth().map(|depth| depth as u64), Some(expected.depth), "{}", path.display());
    assert_eq!(explored.deadlocks() as u64, expected.deadlocks, "{}", path.display());
    assert_eq!(explored.faults() as u64, expected.faults, "{}", path.display());
    for property in expected.properties.iter().filter(|it| matches!(&*it.kind, "invariant" | "reach")) {
        let label = plan.labels.iter().position(|label| label.name == property.expression);
        let first = first_with(&explored, label.expect("it was asked"), property.kind == "reach");
        assert_eq!(first, property.length, "{} of {}", property.name, path.display());
    }
}

fn first_with(explored: &Explored, label: usize, value: bool) -> Option<usize> {
    explored.first_label(label, value).map(|state| explored.states[state].layer)
}
