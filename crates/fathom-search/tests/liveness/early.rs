//! Signs of accepting runs while states are generated: what they tell is one, and they do tell.

use fathom_disk::budget::Budget;
use fathom_ltl::strength::{Strength, profile, saturated};
use fathom_model::system::TransitionSystem;
use fathom_search::liveness::early::{Early, Sign};
use fathom_search::traces::lasso::Lasso;
use fathom_search::traces::path::Room;
use oracle::bfs::{Explored, Limits, explore};
use oracle::random::Random;

use crate::engines::{generated, product};
use crate::formulas::judged;
use crate::suite::{automata, drawn, rounds};

/// Whether states follow each other in a product, come back, and meet the only mark on the way round.
fn is_accepting(explored: &Explored, lasso: &Lasso) -> bool {
    let place = |record: &[u64]| explored.states.iter().position(|state| state.record == record);
    let mut met = false;
    let (records, actions) = (lasso.path.records(), lasso.path.actions());
    let (records, actions) = (records.expect("memory does not fail"), actions.expect("memory does not fail"));
    let cycle_start = lasso.cycle_start as usize;
    for (at, record) in records.iter().enumerate() {
        let next = records.get(at + 1).unwrap_or(&records[cycle_start]);
        let (Some(source), Some(target)) = (place(record), place(next)) else { return false };
        let action = actions[at];
        let step = explored.states[source].steps.iter().find(|it| it.target == target && it.action == action);
        let Some(step) = step else { return false };
        met |= at >= cycle_start && step.marks.0 & 1 == 1;
    }
    met && cycle_start < records.len()
}

#[test]
fn signs_tell_of_accepting_runs_and_of_nothing_else() {
    let (mut terminal, mut carried, mut untold, mut held) = (0, 0, 0, 0);
    for seed in 0..rounds(3_000) {
        let mut random = Random::new(seed ^ 0x0ea7_1e57);
        let (graph, formula) = drawn(&mut random, 30);
        let [buchi, _] = automata(&formula, &graph);
        let Some(profile) = profile(&buchi) else { continue };
        let product = product(&graph, &saturated(&buchi, &profile), &[]);
        if product.shape().mark_count != 1 {
            continue;
        }
        let explored = explore(&graph, Limits::states(100_000)).expect("the graph is small");
        let Some(expected) = judged(&explored, &formula) else { continue };
        let budget = Budget::new(8 << 20);
        let room = Room::in_memory(&budget);
        let early = Early::new(&product, &product, 64 << 10, &room).expect("it fits");
        generated(&early, &budget, 1 + seed as usize % 2);
        let Some((sign, lasso)) = early.found() else {
            untold += u64::from(expected);
            held += u64::from(!expected);
            let decided = expected && profile.strength == Strength::Terminal;
            let faults = graph.nodes.iter().any(|node| !node.faults.is_empty() || node.labels.faulted());
            assert!(!decided || faults, "seed {seed}: a terminal state was reached");
            continue;
        };
        assert!(expected, "seed {seed}: the formula holds, and {sign:?} told of a violation");
        let whole = explore(&product, Limits::states(100_000)).expect("the product is small");
        assert!(is_accepting(&whole, lasso), "seed {seed}, {sign:?}: {lasso:?}");
        match sign {
            Sign::Terminal => terminal += 1,
            Sign::Carried => carried += 1,
        }
    }
    eprintln!("{terminal} terminal, {carried} carried; {untold} violated without a sign; {held} hold");
    assert!(terminal > 100 && carried > 100 && held > 400, "the mix is fair");
}
