//! Contract of the layer loop: every policy finds what the judge finds, on every system, at every size of its buffers.

mod contract;

use contract::{TUNINGS, check_against_judge};
use fathom_disk::budget::Budget;
use fathom_exec::interpreter::Interpreter;
use fathom_model::checked::Checked;
use fathom_model::shape::Shape;
use fathom_model::system::TransitionSystem;
use fathom_model::values::PossibleValues;
use fathom_search::engines::positions::PositionTable;
use fathom_search::engines::ram::RamTable;
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::random_graph;
use oracle::program::random_program;
use oracle::random::Random;

const AMPLE: usize = 1 << 30;

fn ram(shape: &Shape, budget: &Budget, threads: usize) -> RamTable {
    RamTable::new(shape, budget, threads).expect("the budget suffices")
}

fn positions(shape: &Shape, budget: &Budget, threads: usize) -> PositionTable {
    PositionTable::new(shape, budget, threads).expect("the budget suffices")
}

fn ram_closing_together(shape: &Shape, budget: &Budget, threads: usize) -> RamTable {
    ram(shape, budget, threads).closing_together_from(0)
}

/// Every policy, at one and two threads, with tiny buffers and real ones.
fn check_every_policy(system: &dyn TransitionSystem, judge: &Explored) {
    for threads in [1, 2] {
        for tuning in TUNINGS {
            check_against_judge(system, judge, &ram, AMPLE, threads, tuning());
            check_against_judge(system, judge, &ram_closing_together, AMPLE, threads, tuning());
            check_against_judge(system, judge, &positions, AMPLE, threads, tuning());
        }
    }
}

#[test]
fn random_graphs_are_explored_as_the_judge_explores_them() {
    for seed in 0..400 {
        let graph = random_graph(&mut Random::new(seed), 400);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let outcome = std::panic::catch_unwind(|| check_every_policy(&Checked(graph), &judge));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn random_programs_are_explored_as_the_judge_explores_them() {
    let mut compared = 0;
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let size = 1 + random.below(4);
        let program = random_program(&mut random, size);
        let system = Interpreter::new(program.clone(), &PossibleValues::of(&program));
        let Ok(judge) = explore(&system, Limits { states: 2_000, transitions: 20_000 }) else { continue };
        let outcome = std::panic::catch_unwind(|| check_every_policy(&system, &judge));
        assert!(outcome.is_ok(), "seed {seed}\n{program}");
        compared += 1;
    }
    assert!(compared > 200, "{compared} programs are few");
}
