//! Published goals: fathom and the judge agree on whether they can be reached and how far away they are, and every trace was replayed. The goals are not
//! part of the project: without `../shared/beem` beside it this test says that it is skipped.
//!
//! Instances of up to 60,000 states; `FATHOM_LONG=1` goes on to 3 million.

use std::path::{Path, PathBuf};

use fathom_check::answers::check::{Stop, check};
use fathom_check::model::assemble::{Model, ModelOptions};
use fathom_check::monitor::Clock;
use fathom_check::questions::plan::{Plan, Questions};
use fathom_check::questions::property::Faults;
use fathom_check::resources::Resources;
use fathom_model::expression::Overflow;
use fathom_search::engines::engine::{Chosen, Engine};
use fathom_search::engines::{astar, ram};
use oracle::bfs::{Limits, explore};
use oracle::skip::skipped;

/// Instances whose published figures are of values that wrap around.
const WRAPPING: [&str; 4] = ["anderson.1", "anderson.3", "anderson.5", "anderson.7"];

#[test]
fn published_goals_are_as_far_away_as_the_judge_finds_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/beem");
    if !folder.exists() {
        let test = "published_goals_are_as_far_away_as_the_judge_finds_them";
        return skipped(test, "../shared/beem is not there");
    }
    let long = std::env::var_os("FATHOM_LONG").is_some();
    let states_max = if long { 3_000_000 } else { 60_000 };
    let (mut compared, mut reachable) = (0, 0);
    for (goal, instance) in goals(&folder, states_max) {
        let found = compare(&folder, &goal, &instance);
        eprintln!("{}: {found:?}", goal.display());
        compared += 1;
        reachable += usize::from(found.is_some());
    }
    eprintln!("{compared} goals, {reachable} of them reachable");
    assert!(compared >= if long { 100 } else { 30 }, "{compared}");
}

/// The files of goals whose instance has at most so many states, and the instances.
fn goals(folder: &Path, states_max: u64) -> Vec<(PathBuf, String)> {
    let table = std::fs::read_to_string(folder.join("reference.tsv")).expect("the table of figures is there");
    let small = |instance: &str| {
        let line = table.lines().find(|line| line.split('\t').next() == Some(instance));
        let states = line.and_then(|line| line.split('\t').nth(1)?.parse::<u64>().ok());
        states.is_some_and(|states| states <= states_max)
    };
    let files = folder.join("reach").read_dir().expect("there are goals");
    let mut goals: Vec<(PathBuf, String)> = files
        .map(|entry| entry.expect("the folder is readable").path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            let instance = name.split(".prop").next()?.to_owned();
            small(&instance).then_some((path, instance))
        })
        .collect();
    goals.sort();
    goals
}

/// How far away a goal is, by fathom and by the judge.
fn compare(folder: &Path, goal: &Path, instance: &str) -> Option<usize> {
    let overflow = if WRAPPING.contains(&instance) { Overflow::Wrap } else { Overflow::Fault };
    let options = ModelOptions { overflow, ..ModelOptions::default() };
    let path = folder.join("models").join(format!("{instance}.dve"));
    let model = Model::read(&path, &options).unwrap_or_else(|error| panic!("{error}"));
    let text = std::fs::read_to_string(goal).expect("a goal is text");
    let goals = vec![text.trim().to_owned()];
    let questions = Questions { goals, only: true, faults: Faults::Report, ..Questions::default() };
    let plan = Plan::new(&model, &questions).unwrap_or_else(|error| panic!("{}: {error}", goal.display()));
    let resources = Resources { threads: 2, ..Resources::of_this_machine() };
    let found = |engine: &'static Engine| {
        let chosen = Chosen::plain(engine);
        let checked = check(&model, &plan, &chosen, Stop::First, &resources, &Clock::new(None), None)
            .unwrap_or_else(|error| panic!("{}: {error}", goal.display()));
        let trace = checked.answers[0].trace.as_ref();
        (trace.map(|trace| trace.length() as usize), checked.exploration.counts.visits)
    };
    let (directed, directed_visits) = found(&astar::ENGINE);
    let (found, visits) = found(&ram::ENGINE);
    assert_eq!(found, directed, "{}: a directed search finds a way as short", goal.display());
    eprintln!("{}: {directed_visits} visits of {visits}", goal.display());
    let system = model.interpreter(plan.labels.clone());
    let judge = explore(&system, Limits::states(usize::MAX)).expect("the limits are wide");
    let expected = judge.first_label(0, true).map(|state| judge.states[state].layer);
    assert_eq!(found, expected, "{}", goal.display());
    found
}
