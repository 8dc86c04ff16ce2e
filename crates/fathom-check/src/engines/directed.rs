//! How is the shortest accepting run looked for, directed by automaton and processes?

use std::collections::VecDeque;
use std::path::Path as FilePath;

use fathom_ltl::automaton::{Automaton, StateId};
use fathom_ltl::product::Product;
use fathom_model::system::TransitionSystem;
use fathom_model::tag::Tag;
use fathom_search::engines::engine::Store;
use fathom_search::engines::l2s::{self, Bounds, Settings};
use fathom_search::error::SearchError;

use crate::engines::figures::Layers;
use crate::engines::layer_engine::room_used_up;
use crate::engines::liveness_task::{Searched, Task};
use crate::error::RunError;
use crate::folder::scratch::{PARENT, Scratch};
use crate::model::distance::NEVER;
use crate::model::system::System;

/// Searches a product, or the same with its marks counted.
pub(crate) fn search(
    product: &Product<System<'_>>,
    system: &dyn TransitionSystem,
    task: &Task<'_>,
) -> Result<Searched, RunError> {
    let scratch = Scratch::under(FilePath::new(PARENT)).map_err(RunError::Scratch)?;
    let volume = scratch.volume().map_err(RunError::Scratch)?;
    let edges = Edges::of(product.automaton());
    let (bits, words) = (product.shape().width_bits, product.shape().words());
    let counted = system.shape().width_bits > bits || product.shape().mark_count != 1;
    let counter = Tag::new(bits, system.shape().width_bits - bits);
    let parts = |record: &[u64]| {
        let mut part = vec![0; words];
        counter.split(record, &mut part);
        product.parts(&part)
    };
    // Where marks are counted, accepting states are not those of the automaton.
    let to_accepting = |record: &[u64]| if counted { 0 } else { edges.to_accepting(parts(record).1) };
    let between = |from: &[u64], to: &[u64]| {
        let ((from, from_state), (to, to_state)) = (parts(from), parts(to));
        let moves = task.moves.map_or(0, |moves| moves.between(&from, &to));
        moves.max(edges.between(from_state, to_state))
    };
    let bounds = Bounds { to_accepting: &to_accepting, between: &between };
    let settings = Settings { threads: task.resources.threads, stop_at_fault: task.stop_at_fault };
    let outcome = match l2s::run(system, &bounds, (&volume, task.budget, task.room), settings, task.observer)
    {
        Ok(outcome) => outcome,
        Err(error) => return without_room(task, error),
    };
    Ok(Searched {
        ending: outcome.ending,
        states: outcome.states,
        transitions: outcome.transitions,
        visits: outcome.states,
        edges: outcome.transitions,
        faults: outcome.faults + outcome.label_faults,
        lasso: outcome.lasso,
        fault: outcome.fault,
        ..nothing(task)
    })
}

/// Before anything was found out.
fn nothing(task: &Task<'_>) -> Searched {
    Searched {
        engine: task.engine,
        ending: fathom_search::task::Ending::Stopped,
        states: 0,
        transitions: 0,
        visits: 0,
        edges: 0,
        faults: 0,
        layers: Layers::default(),
        lasso: None,
        untraced: None,
        fault: None,
        fault_untraced: None,
        threads: task.resources.threads,
        store: Store::Tier.name(),
        gave_up: None,
        disk: None,
        certified: false,
        passes: None,
        early: None,
        checksum: None,
    }
}

/// What is known of a search that had to end, since there was no more room for its files: nothing.
fn without_room(task: &Task<'_>, error: SearchError) -> Result<Searched, RunError> {
    let limit = room_used_up(&error).ok_or(error)?;
    Ok(Searched { gave_up: Some(limit), ..nothing(task) })
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
