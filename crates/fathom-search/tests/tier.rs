//! Contract of the layer loop on disk: whatever the budget, the plan and the sizes of its parts, `tier` finds what the judge finds.
//!
//! Every system is explored in a few of all combinations, chosen by its seed, so that all systems together go through each many times.

mod contract;

use std::time::Duration;

use contract::{TUNINGS, check_against_judge};
use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_exec::interpreter::Interpreter;
use fathom_model::checked::Checked;
use fathom_model::shape::Shape;
use fathom_model::system::TransitionSystem;
use fathom_model::values::PossibleValues;
use fathom_search::engines::tier::{Options, Plan, Shares, Tier};
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::random_graph;
use oracle::program::random_program;
use oracle::random::Random;

/// The smallest data budgets, and one that suffices for everything.
const BUDGETS: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

type Choice = Option<fn(Shares) -> Shares>;

/// Sizes of the parts that are legal and make things hard.
const SHARES: [Choice; 6] = [
    None,
    Some(|shares| Shares { filter_bytes: 0, ..shares }),
    Some(|shares| Shares { window_keys: 0, ..shares }),
    Some(|shares| Shares { window_keys: 1, table_bytes: 0, ..shares }),
    Some(|shares| Shares { shards: 1, closers: 1, candidate_keys: 3, ..shares }),
    Some(|shares| Shares { log_block_keys: 1, fan: 2, ..shares }),
];

fn options(plan: Plan, shares: Choice) -> Options {
    Options { tag: [7; 16], plan, commit_every: Duration::ZERO, disk_limit: None, shares }
}

fn check(system: &dyn TransitionSystem, judge: &Explored, seed: u64) {
    let mut random = Random::new(seed);
    for budget_bytes in BUDGETS {
        let threads = 1 + random.below(2);
        let tuning = TUNINGS[random.below(2)]();
        let plan = if random.below(3) == 0 { Plan::Scan } else { Plan::LookUp };
        let shares = SHARES[random.below(SHARES.len())];
        let make = |shape: &Shape, budget: &Budget, threads: usize| {
            let volume = Volume::in_memory(64);
            let (tier, boundary) = Tier::open(&volume, budget, shape, threads, options(plan, shares))
                .expect("memory does not fail, and the budget suffices");
            assert!(boundary.is_none(), "nothing is committed yet");
            tier
        };
        check_against_judge(system, judge, &make, budget_bytes, threads, tuning);
    }
}

#[test]
fn random_graphs_are_explored_as_the_judge_explores_them() {
    for seed in 0..300 {
        let graph = random_graph(&mut Random::new(seed), 100);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let outcome = std::panic::catch_unwind(|| check(&Checked(graph), &judge, seed));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn random_programs_are_explored_as_the_judge_explores_them() {
    let mut compared = 0;
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let size = 1 + random.below(4);
        let program = random_program(&mut random, size);
        let system = Interpreter::new(program.clone(), &PossibleValues::of(&program));
        let Ok(judge) = explore(&system, Limits { states: 1_000, transitions: 10_000 }) else { continue };
        let outcome = std::panic::catch_unwind(|| check(&system, &judge, seed));
        assert!(outcome.is_ok(), "seed {seed}\n{program}");
        compared += 1;
    }
    assert!(compared > 130, "{compared} programs are few");
}
