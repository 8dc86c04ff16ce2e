//! Which infinite runs does a graph have?
//!
//! The judge of searches for accepting runs. A reader, which is an automaton given as a function, walks the explicit graph; whether it accepts a run is decided by
//! [`crate::tarjan`]. Whose automaton the reader is, is for the caller to choose: not that of what is judged.
//!
//! As everywhere, deadlocks stutter, a state that only faults has no run, and nothing is read where labels fault.

use std::collections::HashMap;

use fathom_model::steps::Marks;

use crate::bfs::{Explored, StateNumber, Step};
use crate::tarjan::accepting_component_of;

/// An automaton, as a function from state and letter to the states that it may go to, with the marks that it meets.
pub struct Reader<'a> {
    /// Where it begins.
    pub initial: usize,
    /// How many marks there are: all of them must be met for ever.
    pub mark_count: u32,
    /// What it does.
    pub step: &'a dyn Fn(usize, u64) -> Vec<(usize, u64)>,
}

/// Letters of a run, the second ones for ever.
pub type Word = (Vec<u64>, Vec<u64>);

/// Where a state of the graph can go, with the marks of the step: its steps, or itself if it is a deadlock; nowhere if its labels fault.
pub fn moves(explored: &Explored, state: StateNumber) -> Vec<(StateNumber, Marks)> {
    let it = &explored.states[state];
    if it.labels.faulted() {
        Vec::new()
    } else if it.is_deadlock() {
        vec![(state, Marks(u64::MAX))]
    } else {
        it.steps.iter().map(|step| (step.target, step.marks)).collect()
    }
}

/// Whether the reader accepts some run of the graph.
pub fn accepts_a_run(explored: &Explored, reader: &Reader<'_>) -> bool {
    let mut numbers: HashMap<(StateNumber, usize), usize> = HashMap::new();
    let mut nodes: Vec<(StateNumber, usize)> = Vec::new();
    let mut number = |node: (StateNumber, usize), nodes: &mut Vec<(StateNumber, usize)>| {
        *numbers.entry(node).or_insert_with(|| {
            nodes.push(node);
            nodes.len() - 1
        })
    };
    for (_, start) in &explored.starts {
        number((*start, reader.initial), &mut nodes);
    }
    let mut steps: Vec<Vec<Step>> = Vec::new();
    while steps.len() < nodes.len() {
        let (state, reading) = nodes[steps.len()];
        let mut own = Vec::new();
        for (target, _) in moves(explored, state) {
            for (next, marks) in (reader.step)(reading, explored.states[state].labels.0) {
                let target = number((target, next), &mut nodes);
                own.push(Step { target, action: 0, movers: Default::default(), marks: Marks(marks) });
            }
        }
        steps.push(own);
    }
    accepting_component_of(&steps, reader.mark_count).is_some()
}

/// Every run of the graph with at most `length` states until it repeats, as letters; `visit` says whether to go on.
pub fn for_each_lasso(explored: &Explored, length: usize, visit: &mut dyn FnMut(&Word) -> bool) {
    let mut starts: Vec<StateNumber> = explored.starts.iter().map(|(_, state)| *state).collect();
    starts.dedup();
    for start in starts {
        if !extend(explored, &mut vec![start], length, visit) {
            return;
        }
    }
}

fn extend(
    explored: &Explored,
    path: &mut Vec<StateNumber>,
    length: usize,
    visit: &mut dyn FnMut(&Word) -> bool,
) -> bool {
    let last = *path.last().expect("a path has a state");
    let mut targets: Vec<StateNumber> = moves(explored, last).iter().map(|(target, _)| *target).collect();
    targets.sort_unstable();
    targets.dedup();
    for target in targets {
        for start in (0..path.len()).filter(|place| path[*place] == target) {
            let letters: Vec<u64> = path.iter().map(|state| explored.states[*state].labels.0).collect();
            let (stem, cycle) = letters.split_at(start);
            if !visit(&(stem.to_vec(), cycle.to_vec())) {
                return false;
            }
        }
        if path.len() < length {
            path.push(target);
            let go_on = extend(explored, path, length, visit);
            path.pop();
            if !go_on {
                return false;
            }
        }
    }
    true
}
