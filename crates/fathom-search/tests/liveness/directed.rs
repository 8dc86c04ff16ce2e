//! Liveness to safety: the judge's verdict, and a lasso as short as any whose loop begins at an accepting state.

use std::collections::VecDeque;

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_ltl::degeneralised::Degeneralised;
use fathom_model::checked::Checked;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_search::engines::engine::Bounds;
use fathom_search::engines::l2s::{self, Looped, Settings};
use fathom_search::task::{Ending, Unobserved};
use fathom_search::traces::lasso::Lasso;
use fathom_search::traces::path::Room;
use oracle::bfs::{Explored, Limits, explore};
use oracle::random::Random;

use crate::engines::{product, projected};
use crate::formulas::judged;
use crate::suite::{automata, drawn, rounds, violates};

/// The steps from each state to each: none where there is no way. A way has a step at least.
fn all_distances(explored: &Explored) -> Vec<Vec<Option<u64>>> {
    let from = |state: usize| {
        let mut steps = vec![None; explored.states.len()];
        let mut open = VecDeque::from([(state, 0)]);
        while let Some((at, length)) = open.pop_front() {
            for step in &explored.states[at].steps {
                if steps[step.target].is_none() {
                    steps[step.target] = Some(length + 1);
                    open.push_back((step.target, length + 1));
                }
            }
        }
        steps
    };
    (0..explored.states.len()).map(from).collect()
}

fn is_accepting(explored: &Explored, state: usize) -> bool {
    explored.states[state].steps.first().is_some_and(|step| step.marks.0 & 1 == 1)
}

/// The length of the shortest lasso whose loop begins at an accepting state.
fn shortest(explored: &Explored, distances: &[Vec<Option<u64>>]) -> Option<u64> {
    let of = |state: usize| Some(explored.states[state].layer as u64 + distances[state][state]?);
    (0..explored.states.len()).filter(|state| is_accepting(explored, *state)).filter_map(of).min()
}

/// Searches within so many bytes per word, and room for the steps of one state.
fn searched(
    system: &dyn TransitionSystem,
    explored: &Explored,
    bounds: &Bounds<'_>,
    (bytes, threads): (usize, usize),
) -> Option<Lasso> {
    let widest = explored.states.iter().map(|state| state.steps.len() + state.faults.len()).max();
    let columns = Columns { labels: true, actions: true, ..Columns::NONE };
    let looped = Looped::new(system);
    let shape = looped.shape();
    let starts = explored.starts.len() + explored.start_faults.len();
    let steps = threads * Steps::bytes_for(shape, columns, 6 * widest.unwrap_or(1).max(starts));
    let budget = Budget::new(bytes.max(256 * (shape.words() + 1) * 8) + steps);
    let (volume, room) = (Volume::in_memory(64), Room::in_memory(&Budget::unlimited()));
    let settings = Settings { threads, stop_at_fault: false };
    let outcome = l2s::run(system, bounds, (&volume, &budget, &room), settings, &Unobserved)
        .unwrap_or_else(|error| panic!("{bytes} bytes, {threads} threads: {error}"));
    assert_ne!(outcome.ending, Ending::Budget, "{bytes} bytes, {threads} threads: {:#?}", budget.owners());
    assert_eq!(outcome.ending == Ending::Found, outcome.lasso.is_some());
    outcome.lasso
}

#[test]
fn the_shortest_lassos_are_found_and_no_others() {
    let (mut violated, mut held) = (0, 0);
    for seed in 0..rounds(1_500) {
        let mut random = Random::new(seed ^ 0x1250);
        let (graph, formula) = drawn(&mut random, 16);
        let judge = explore(&graph, Limits::states(100_000)).expect("the graph is small");
        let Some(expected) = judged(&judge, &formula) else { continue };
        let [buchi, generalised] = automata(&formula, &graph);
        let automaton = if seed % 2 == 0 { &buchi } else { &generalised };
        let product = product(&graph, automaton, &[]);
        let counted = Checked(Degeneralised::new(&product));
        let explored = explore(&counted, Limits::states(100_000)).expect("the product is small");
        let distances = all_distances(&explored);
        let shortest = shortest(&explored, &distances);
        assert_eq!(shortest.is_some(), expected, "seed {seed}: judges agree");
        let number = |record: &[u64]| explored.number_of(record).expect("it is reached");
        let between = |from: &[u64], to: &[u64]| {
            if from == to { 0 } else { distances[number(from)][number(to)].unwrap_or(1 << 30) }
        };
        let to_accepting = |from: &[u64]| {
            let targets = (0..explored.states.len()).filter(|state| is_accepting(&explored, *state));
            let steps = |to: usize| {
                if number(from) == to { 0 } else { distances[number(from)][to].unwrap_or(1 << 30) }
            };
            targets.map(steps).min().unwrap_or(1 << 30)
        };
        let half = |from: &[u64], to: &[u64]| between(from, to).div_ceil(2);
        let exact = Bounds { to_accepting: &to_accepting, between: &between };
        let weaker = Bounds { to_accepting: &to_accepting, between: &half };
        for (place, bounds) in [Bounds::NONE, exact, weaker].iter().enumerate() {
            let bytes = [4 << 10, 64 << 10, 4 << 20][(seed as usize / 2 + place) % 3];
            let threads = 1 + (seed as usize + place) % 2;
            let found = searched(&counted, &explored, bounds, (bytes, threads));
            assert_eq!(found.as_ref().map(|lasso| lasso.path.len()), shortest, "seed {seed}, {bytes} bytes");
            if let Some(lasso) = found {
                let run = projected(&lasso, &graph, |record| product.parts(&counted.0.part(record)).0);
                assert_eq!(violates(&graph, &formula, &run, product.stutter()), Ok(()), "seed {seed}");
            }
        }
        violated += u64::from(expected);
        held += u64::from(!expected);
    }
    eprintln!("{violated} violated, {held} hold");
    assert!(violated > 300 && held > 300, "the mix is fair");
}
