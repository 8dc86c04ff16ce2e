//! Nested depth-first search with tables sorted by hash and both paths in one section: the judge's verdict, whatever the shares, the hash and the budget.

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_ltl::degeneralised::Degeneralised;
use fathom_model::acceptance::MarksAlone;
use fathom_model::checked::Checked;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_search::engines::engine::{AskRuns, Chosen};
use fathom_search::engines::ioemc::{self, Costs, Parameters};
use fathom_search::task::{Ending, Unobserved};
use fathom_search::traces::lasso::Lasso;
use fathom_search::traces::path::Room;
use oracle::bfs::{Explored, Limits, explore};
use oracle::random::Random;

use crate::engines::{product, projected};
use crate::formulas::judged;
use crate::suite::{automata, drawn, rounds, violates};

/// Searches within so many bytes per word, and room for the steps of one state.
fn searched(
    system: &dyn TransitionSystem,
    (explored, judge): (&Explored, &Explored),
    parameters: Parameters,
    bytes: usize,
) -> (Option<Lasso>, Costs) {
    // The automaton may drop steps that the system has made.
    let states = explored.states.iter().chain(&judge.states);
    let widest = states.map(|state| state.steps.len() + state.faults.len()).max();
    let columns = Columns { labels: true, actions: true, marks: true, ..Columns::NONE };
    let starts = explored.starts.len() + explored.start_faults.len();
    // Both searches hold the steps of a state, in the part of memory that tables and paths leave.
    let steps = 6 * Steps::bytes_for(system.shape(), columns, 3 * widest.unwrap_or(1).max(starts));
    let budget = Budget::new(bytes * (system.shape().words() + 1) + steps);
    let (volume, room) = (Volume::in_memory(64), Room::in_memory(&budget));
    let (outcome, costs) = ioemc::run(
        &AskRuns {
            system,
            acceptance: &MarksAlone,
            stop_at_fault: false,
            max_depth: None,
            chosen: &Chosen::plain(&ioemc::ENGINE),
            volume: Some(&volume),
            stack: None,
            room: &room,
            observer: &Unobserved,
            threads: 1,
            bounds: None,
        },
        parameters,
    )
    .unwrap_or_else(|error| panic!("{bytes} bytes, {parameters:?}: {error}"));
    assert_ne!(outcome.ending, Ending::Budget, "{bytes} bytes, {parameters:?}: {:#?}", budget.owners());
    (outcome.lasso, costs)
}

#[test]
fn tables_and_paths_on_disk_find_what_the_judge_finds() {
    let (mut violated, mut held, mut merges, mut spills) = (0, 0, 0, 0);
    for seed in 0..rounds(900) {
        let mut random = Random::new(seed ^ 0x10e3c);
        let (graph, formula) = drawn(&mut random, if seed % 3 == 0 { 300 } else { 30 });
        let judge = explore(&graph, Limits::states(100_000)).expect("the graph is small");
        let Some(expected) = judged(&judge, &formula) else { continue };
        let [buchi, generalised] = automata(&formula, &graph);
        let product = product(&graph, if seed % 2 == 0 { &buchi } else { &generalised }, &[]);
        let counted = Checked(Degeneralised::new(&product));
        let explored = explore(&counted, Limits::states(100_000)).expect("the product is small");
        for (place, bytes) in [4 << 10, 16 << 10, 64 << 10, 4 << 20].into_iter().enumerate() {
            let draw = (seed as usize + place) % 4;
            let parameters = Parameters {
                rho1: [0.02, 0.2, 0.5, 0.9][draw],
                rho2: [None, Some(0.5), Some(0.75), Some(0.95)][(seed as usize / 4 + place) % 4],
                hash_bits: [1, 2, 12, 64][(seed as usize / 2 + place) % 4],
                tables: [0.5, 0.25, 0.75, 0.5][draw],
            };
            let (found, costs) = searched(&counted, (&explored, &judge), parameters, bytes);
            assert_eq!(found.is_some(), expected, "seed {seed}, {bytes} bytes, {parameters:?}");
            if let Some(lasso) = found {
                let run = projected(&lasso, &graph, |record| product.parts(&counted.0.part(record)).0);
                assert_eq!(violates(&graph, &formula, &run, product.stutter()), Ok(()), "seed {seed}");
            }
            merges += costs.tables.iter().map(|table| table.merges).sum::<u64>();
            spills += costs.paths.spills;
            for table in costs.tables {
                // A file has a part of a block at its end, so has each of two.
                assert!(table.merged_blocks <= table.bound_blocks + 2 * table.merges, "{table:?}");
            }
        }
        violated += u64::from(expected);
        held += u64::from(!expected);
    }
    eprintln!("{violated} violated, {held} hold; {merges} merges, {spills} spills");
    assert!(violated > 150 && held > 150, "the mix is fair");
    assert!(merges > 1000 && spills > 100, "{merges} merges, {spills} spills");
}
