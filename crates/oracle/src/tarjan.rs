//! Which states lie on common cycles, and is one of the cycles accepting?
//!
//! Tarjan's algorithm (Depth-first search and linear graph algorithms, 1972) with its recursion written out as a stack, on the explicit
//! graph. Acceptance is generalised and on steps: a cycle is accepting if its steps together carry every mark; such a
//! cycle exists iff the steps inside one component do.

use fathom_model::steps::Marks;

use crate::bfs::{Explored, StateNumber, Step};

/// The strongly connected components of a graph.
#[derive(Clone, Debug)]
pub struct Components {
    /// The component of each state. Components are numbered in reverse topological order: steps between components go to smaller numbers.
    pub component_of: Vec<usize>,
    /// How many components there are.
    pub count: usize,
}

/// The components of the reachable graph.
pub fn components(explored: &Explored) -> Components {
    let successors: Vec<Vec<StateNumber>> =
        explored.states.iter().map(|state| state.steps.iter().map(|step| step.target).collect()).collect();
    components_of(&successors)
}

/// The components of a graph given by its successor lists.
pub fn components_of(successors: &[Vec<usize>]) -> Components {
    let mut search = Search {
        successors,
        order: vec![None; successors.len()],
        low: vec![0; successors.len()],
        visited: 0,
        open: Vec::new(),
        component_of: vec![None; successors.len()],
        count: 0,
    };
    for root in 0..successors.len() {
        if search.order[root].is_none() {
            search.visit(root);
        }
    }
    let component_of =
        search.component_of.into_iter().map(|it| it.expect("every state was closed")).collect();
    Components { component_of, count: search.count }
}

/// A component with a cycle on which every one of `mark_count` marks occurs; without marks, any cycle. None if there is none.
pub fn accepting_component(explored: &Explored, mark_count: u32) -> Option<usize> {
    let steps: Vec<Vec<Step>> = explored.states.iter().map(|state| state.steps.clone()).collect();
    accepting_component_of(&steps, mark_count)
}

/// The same for a graph given by its steps.
pub fn accepting_component_of(steps: &[Vec<Step>], mark_count: u32) -> Option<usize> {
    let successors: Vec<Vec<usize>> =
        steps.iter().map(|steps| steps.iter().map(|step| step.target).collect()).collect();
    let components = components_of(&successors);
    let wanted = if mark_count >= 64 { u64::MAX } else { (1 << mark_count) - 1 };
    // None where no step stays inside: a single state without a loop has no cycle.
    let mut carried: Vec<Option<Marks>> = vec![None; components.count];
    for (source, steps) in steps.iter().enumerate() {
        let component = components.component_of[source];
        for step in steps.iter().filter(|step| components.component_of[step.target] == component) {
            carried[component].get_or_insert_default().0 |= step.marks.0;
        }
    }
    carried.iter().position(|marks| marks.is_some_and(|marks| marks.0 & wanted == wanted))
}

struct Search<'a> {
    successors: &'a [Vec<usize>],
    /// When a state was first visited.
    order: Vec<Option<usize>>,
    /// The earliest visited open state known to be reachable from it.
    low: Vec<usize>,
    visited: usize,
    /// Visited states whose component is not yet closed, in visiting order.
    open: Vec<usize>,
    component_of: Vec<Option<usize>>,
    count: usize,
}

impl Search<'_> {
    fn visit(&mut self, root: usize) {
        // The path from the root: each state and how many of its successors have been looked at.
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((state, looked)) = path.last_mut() {
            let state = *state;
            let Some(&target) = self.successors[state].get(*looked) else {
                self.leave(state);
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    self.low[parent] = self.low[parent].min(self.low[state]);
                }
                continue;
            };
            *looked += 1;
            match self.order[target] {
                None => {
                    self.enter(target);
                    path.push((target, 0));
                }
                Some(order) if self.component_of[target].is_none() => {
                    self.low[state] = self.low[state].min(order);
                }
                Some(_) => {}
            }
        }
    }

    fn enter(&mut self, state: usize) {
        self.order[state] = Some(self.visited);
        self.low[state] = self.visited;
        self.visited += 1;
        self.open.push(state);
    }

    /// Closes the component of a state that reaches no earlier open one.
    fn leave(&mut self, state: usize) {
        if Some(self.low[state]) != self.order[state] {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.component_of[member] = Some(self.count);
            if member == state {
                break;
            }
        }
        self.count += 1;
    }
}
