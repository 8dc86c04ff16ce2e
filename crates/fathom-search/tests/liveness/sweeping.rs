//! Accepting runs in the order of a measure of progress: the judge's verdict, whatever the measure, the budget and the number of threads.

use std::collections::HashMap;

use fathom_disk::budget::Budget;
use fathom_disk::hash::hash_key;
use fathom_disk::storage::Volume;
use fathom_ltl::degeneralised::Degeneralised;
use fathom_model::acceptance::Acceptance;
use fathom_model::checked::Checked;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;
use fathom_search::engines::engine::{AskRuns, Chosen, NamedMeasure};
use fathom_search::engines::sweep_ltl;
use fathom_search::liveness::on_the_fly::Outcome;
use fathom_search::task::{Ending, Unobserved};
use fathom_search::traces::path::Room;
use oracle::bfs::{Explored, Limits, explore};
use oracle::random::Random;
use oracle::tarjan::components;

use crate::engines::{LEAST, beside, product, projected};
use crate::formulas::judged;
use crate::suite::{automata, drawn, rounds, violates};

/// How far states have come.
type Values<'v> = dyn Fn(&[u64]) -> u64 + Sync + 'v;

fn searched(
    system: &dyn TransitionSystem,
    acceptance: &dyn Acceptance,
    measure: &Values<'_>,
    (bytes, threads): (usize, usize),
) -> Outcome {
    let budget = Budget::new(bytes * system.shape().words() + beside(system, threads));
    let (volume, room) = (Volume::in_memory(64), Room::in_memory(&budget));
    let values = |records: Records<'_>, values: &mut Vec<u64>| values.extend(records.iter().map(measure));
    let outcome = sweep_ltl::run(&AskRuns {
        system,
        acceptance,
        stop_at_fault: false,
        max_depth: None,
        chosen: &Chosen::plain(&sweep_ltl::ENGINE),
        volume: Some(&volume),
        stack: None,
        room: &room,
        observer: &Unobserved,
        threads,
        bounds: None,
        measure: Some(NamedMeasure { values: &values, name: "a test", identity: 0 }),
    });
    let outcome = outcome.unwrap_or_else(|error| panic!("{bytes} bytes: {error}: {:#?}", budget.owners()));
    let ending = if outcome.lasso.is_some() { Ending::Found } else { Ending::Complete };
    assert_eq!(outcome.ending, ending, "{bytes} bytes: {:#?}", budget.owners());
    assert!(budget.peak() <= budget.limit(), "the budget is kept");
    outcome
}

/// A measure that no step decreases: the components of the judge, in the order in which they lead to each other, some of them together.
fn monotone(explored: &Explored, each: u64) -> HashMap<Vec<u64>, u64> {
    let found = components(explored);
    let value = |state: usize| (found.count - found.component_of[state]) as u64 / each;
    explored.states.iter().enumerate().map(|(state, it)| (it.record.clone(), value(state))).collect()
}

#[test]
fn sweeps_find_accepting_runs_where_the_judge_does() {
    let (mut violated, mut held, mut passes, mut inside) = (0, 0, 0, 0);
    for seed in 0..rounds(400) {
        let mut random = Random::new(seed ^ 0x5eeb);
        let (graph, formula) = drawn(&mut random, if seed % 4 == 0 { 200 } else { 30 });
        let judge = explore(&graph, Limits::states(100_000)).expect("the graph is small");
        let Some(expected) = judged(&judge, &formula) else { continue };
        let [buchi, generalised] = automata(&formula, &graph);
        let product = product(&graph, if seed % 2 == 0 { &buchi } else { &generalised }, &[]);
        let counted = Checked(Degeneralised::new(&product));
        let explored = explore(&counted, Limits::states(100_000)).expect("the product is small");
        let orders = [1, 4].map(|each| monotone(&explored, each));
        let monotone = orders.each_ref().map(|order| move |record: &[u64]| order[record]);
        let spread = 1 + random.below(40) as u64;
        let any = |record: &[u64]| hash_key(record) % spread;
        let far = |record: &[u64]| hash_key(record);
        let measures: [(&str, &Values<'_>); 4] =
            [("fine", &monotone[0]), ("coarse", &monotone[1]), ("any", &any), ("far", &far)];
        for (place, (name, measure)) in measures.into_iter().enumerate() {
            for (turn, bytes) in [LEAST, 64 << 10, 8 << 20].into_iter().enumerate() {
                let threads = 1 + (seed as usize + place + turn) % 2;
                let found = searched(&counted, &counted.0, measure, (bytes, threads));
                let what = format!("seed {seed}, {name}, {bytes} bytes, {threads} threads");
                assert_eq!(found.lasso.is_some(), expected, "{what}");
                assert!(place > 1 || bytes < 1 << 20 || found.told.is_empty(), "{what}: {:?}", found.told);
                passes += u64::from(!found.told.is_empty());
                inside += u64::from(found.told.is_empty() && expected);
                if let Some(lasso) = &found.lasso {
                    let run = projected(lasso, &graph, |record| product.parts(&counted.0.part(record)).0);
                    assert_eq!(violates(&graph, &formula, &run, product.stutter()), Ok(()), "{what}");
                } else {
                    assert_eq!(found.states, explored.states.len() as u64, "{what}");
                    assert_eq!(found.transitions, explored.transitions() as u64, "{what}");
                }
            }
        }
        violated += u64::from(expected);
        held += u64::from(!expected);
    }
    eprintln!("{violated} violated, {held} hold; {inside} found inside a bucket, {passes} decided by passes");
    assert!(violated > 60 && held > 60 && passes > 200 && inside > 200, "the mix is fair");
}
