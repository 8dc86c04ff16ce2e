//! How far is a state of a product from where a run may be accepting? By the edges of the automaton, and by the moves of processes.

use std::collections::VecDeque;

use fathom_ltl::automaton::{Automaton, StateId};
use fathom_ltl::product::Product;
use fathom_model::system::TransitionSystem;
use fathom_model::tag::Tag;
use fathom_search::engines::engine::Bounds;

use crate::engines::liveness_task::{Searched, Task};
use crate::error::RunError;
use crate::model::distance::NEVER;
use crate::model::system::System;

/// Searches a product, or the same with its marks counted, with what is known of distances in it.
pub(crate) fn with_bounds(
    product: &Product<System<'_>>,
    system: &dyn TransitionSystem,
    task: &Task<'_>,
    search: impl Fn(&dyn TransitionSystem, &Task<'_>) -> Result<Searched, RunError>,
) -> Result<Searched, RunError> {
    let edges = Edges::of(product.automaton());
    let (bits, words) = (product.shape().width_bits, product.shape().words());
    let counter = Tag::new(bits, system.shape().width_bits - bits);
    let parts = |record: &[u64]| {
        let mut part = vec![0; words];
        counter.split(record, &mut part);
        product.parts(&part)
    };
    // Where marks are counted, accepting states are not those of the automaton.
    let counted = product.shape().mark_count != 1;
    let to_accepting = |record: &[u64]| if counted { 0 } else { edges.to_accepting(parts(record).1) };
    let between = |from: &[u64], to: &[u64]| {
        let ((from, from_state), (to, to_state)) = (parts(from), parts(to));
        let moves = task.moves.map_or(0, |moves| moves.between(&from, &to));
        moves.max(edges.between(from_state, to_state))
    };
    let bounds = Bounds { to_accepting: &to_accepting, between: &between };
    search(system, &Task { bounds: Some(&bounds), ..*task })
}

/// How many edges lead from one state of an automaton to another, at least.
struct Edges {
    /// By target: from each state. None if there are too many.
    to: Option<Vec<Vec<u64>>>,
    /// From each state to an accepting one.
    to_accepting: Vec<u64>,
}

/// Automata of more states say nothing.
const STATES_MAX: usize = 1024;

impl Edges {
    fn of(automaton: &Automaton) -> Edges {
        let states = automaton.states.len();
        let mut before = vec![Vec::new(); states];
        for (from, edges) in automaton.states.iter().enumerate() {
            edges.iter().for_each(|edge| before[edge.target.index()].push(from));
        }
        let all = automaton.all_marks();
        let accepting = |state: &usize| {
            let edges = &automaton.states[*state];
            !edges.is_empty() && edges.iter().all(|edge| edge.marks == all)
        };
        let to_accepting = steps_to(&before, (0..states).filter(accepting));
        let to =
            (states <= STATES_MAX).then(|| (0..states).map(|state| steps_to(&before, [state])).collect());
        Edges { to, to_accepting }
    }

    fn to_accepting(&self, state: StateId) -> u64 {
        self.to_accepting[state.index()]
    }

    fn between(&self, from: StateId, to: StateId) -> u64 {
        self.to.as_ref().map_or(0, |steps| steps[to.index()][from.index()])
    }
}

/// The fewest steps from each node to one of some.
fn steps_to(before: &[Vec<usize>], targets: impl IntoIterator<Item = usize>) -> Vec<u64> {
    let mut steps = vec![NEVER; before.len()];
    let mut open: VecDeque<usize> = targets.into_iter().collect();
    open.iter().for_each(|target| steps[*target] = 0);
    while let Some(node) = open.pop_front() {
        for &earlier in &before[node] {
            if steps[earlier] == NEVER {
                steps[earlier] = steps[node] + 1;
                open.push_back(earlier);
            }
        }
    }
    steps
}
