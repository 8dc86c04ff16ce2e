//! Contract of the layer loop: every policy finds what the judge finds, on every system, at every size of its buffers.

mod contract;

use contract::{TUNINGS, check_against_judge};
use fathom_disk::budget::Budget;
use fathom_model::checked::Checked;
use fathom_model::shape::Shape;
use fathom_search::engines::ram::RamTable;
use oracle::bfs::{Limits, explore};
use oracle::forms::random_graph;
use oracle::random::Random;

const AMPLE: usize = 1 << 30;

fn ram(shape: &Shape, budget: &Budget, threads: usize) -> RamTable {
    RamTable::new(shape, budget, threads).expect("the budget suffices")
}

#[test]
fn ram_explores_random_graphs_as_the_judge_does() {
    for seed in 0..600 {
        eprintln!("seed {seed}");
        let graph = random_graph(&mut Random::new(seed), 400);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let system = Checked(graph);
        for threads in [1, 2] {
            for tuning in TUNINGS {
                check_against_judge(&system, &judge, &ram, AMPLE, threads, tuning());
            }
        }
    }
}
