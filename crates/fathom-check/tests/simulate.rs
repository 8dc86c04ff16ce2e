//! A run made by hand: back and forward, along saved traces, round cycles, to breakpoints, and the shortest way from here.

use std::collections::{HashSet, VecDeque};
use std::path::Path;

use fathom_check::model::assemble::{Model, ModelOptions};
use fathom_check::monitor::Clock;
use fathom_check::questions::plan::{Plan, Questions};
use fathom_check::simulate::{Simulation, Sought};
use fathom_disk::budget::Budget;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some};

fn model(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
    Model::read(&path, &ModelOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn plan(model: &Model) -> Plan {
    Plan::new(model, &Questions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Takes so many steps as a seed says.
fn walk(simulation: &mut Simulation<'_>, steps: usize, seed: u64) {
    for step in 0..steps as u64 {
        let count = simulation.step_count().max(1);
        let number = fathom_disk::hash::hash_word(seed * 1000 + step) as usize % count;
        let _ = simulation.take(number).expect("there is memory");
    }
}

#[test]
fn what_is_taken_back_lies_ahead_until_another_step_is_taken() {
    let (model, budget) = (model("bakery.dve"), Budget::new(1 << 20));
    let plan = plan(&model);
    let mut simulation = Simulation::new(&model, &plan, &budget).expect("it begins");
    walk(&mut simulation, 30, 1);
    let (end, length) = (simulation.state(), simulation.length());
    assert_eq!(simulation.back(7), 7);
    assert_eq!(simulation.position().ahead, 7);
    let next = simulation.next_ahead().expect("it lies ahead");
    assert!(simulation.take(next).expect("there is memory"));
    assert_eq!(simulation.position().ahead, 6);
    assert_eq!(simulation.forward(100), Ok(6));
    assert_eq!((simulation.state(), simulation.length()), (end, length));
    assert_eq!(simulation.forward(1), Ok(0));
    simulation.back(5);
    let next = simulation.next_ahead().expect("it lies ahead");
    let other = (0..simulation.step_count()).find(|number| *number != next).expect("another can be taken");
    assert!(simulation.take(other).expect("there is memory"));
    assert_eq!(simulation.position().ahead, 0);
    assert_eq!(simulation.back(usize::MAX), length - 4);
    assert_eq!(simulation.earlier(), None);
}

#[test]
fn a_breakpoint_stops_what_goes_forward() {
    let (model, budget) = (model("broken_lock.dve"), Budget::new(1 << 20));
    let plan = plan(&model);
    let mut simulation = Simulation::new(&model, &plan, &budget).expect("it begins");
    walk(&mut simulation, 40, 5);
    simulation.back(usize::MAX);
    simulation.break_at("taken == 1").unwrap_or_else(|error| panic!("{error}"));
    assert!(simulation.break_at("takn == 1").is_err());
    assert_eq!(simulation.breakpoints(), [("taken == 1", false)]);
    let made = simulation.forward(40).expect("there is memory");
    assert!(made < 40 && simulation.stops_here());
    assert_eq!(simulation.breakpoints(), [("taken == 1", true)]);
    assert!(!simulation.clear_break(1) && simulation.clear_break(0));
    assert_eq!(simulation.forward(40), Ok(40 - made));
}

#[test]
fn the_way_to_a_state_is_a_shortest_one() {
    let goals = [
        ("peterson.dve", "P_0.critical"),
        ("broken_lock.dve", "P_0.critical and P_1.critical"),
        ("bakery.dve", "P_2.critical"),
        ("philosophers.dve", "0 == 1"),
        ("towers.m", "false"),
    ];
    for (name, goal) in goals {
        let (model, budget) = (model(name), Budget::new(64 << 20));
        let plan = plan(&model);
        for seed in 0..4 {
            let mut simulation =
                Simulation::new(&model, &plan, &budget).unwrap_or_else(|error| panic!("{error}"));
            walk(&mut simulation, 3 * seed as usize, seed);
            let before = simulation.length();
            let expected = distance(&model, simulation.record(), goal);
            let threads = 1 + seed as usize % 2;
            let sought = simulation.seek(goal, threads, &budget, &Clock::new(None));
            let sought = sought.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(sought, expected, "{name}, seed {seed}");
            let made = if let Sought::Reached(steps) = sought { steps } else { 0 };
            assert_eq!(simulation.length(), before + made);
        }
    }
}

/// How far the nearest state is where a goal is true, by a search that shares nothing with the one that is judged.
fn distance(model: &Model, from: &[u64], goal: &str) -> Sought {
    let questions = Questions { goals: vec![goal.to_owned()], only: true, ..Questions::default() };
    let plan = Plan::new(model, &questions).unwrap_or_else(|error| panic!("{error}"));
    let label = plan.labels.len() - 1;
    let system = model.interpreter(plan.labels.clone());
    let mut steps = Steps::new(system.shape(), Columns { labels: true, ..Columns::NONE }, 256);
    let mut seen = HashSet::from([from.to_vec()]);
    let mut waiting = VecDeque::from([(from.to_vec(), 0)]);
    while let Some((record, far)) = waiting.pop_front() {
        let source = Records::new(&record, record.len());
        expand_some(&system, source, &mut steps, &mut |_| Ok::<_, ()>(())).expect("there is memory");
        if steps.labels(0).holds(label) {
            return if far == 0 { Sought::Here } else { Sought::Reached(far) };
        }
        for step in 0..steps.step_count() {
            if seen.insert(steps.target(step).to_vec()) {
                waiting.push_back((steps.target(step).to_vec(), far + 1));
            }
        }
    }
    Sought::Nowhere
}
