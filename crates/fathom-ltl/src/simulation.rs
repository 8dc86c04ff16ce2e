//! Which states can stand for others?
//!
//! Direct simulation: `q` simulates `p` when every step of `p` can be followed by `q` letter by letter, with no fewer
//! marks, to a state that simulates the target. States that simulate each other are joined, and an edge loses the letters
//! on which a sibling leads to a simulating state with no fewer marks. The same backwards, over the edges that enter a
//! state. Both keep the language.
//!
//! Cost: states² x edges of a state, repeated until stable; beyond [`PAIRS_STATES_MAX`] states only bisimilar ones are
//! joined.

use std::collections::HashMap;

use crate::graph::{Arc, Graph};
use crate::label::{self, Labels};
use crate::limits::{Budget, TranslateError};

/// Above this, simulation costs more than it saves.
const PAIRS_STATES_MAX: usize = 400;

/// Reduces the graph until nothing changes: trimming, marks, both quotients.
pub(crate) fn reduce(graph: &mut Graph, labels: &mut Labels, budget: &Budget) -> Result<(), TranslateError> {
    graph.trim(labels);
    loop {
        let before = (graph.arcs.len(), graph.arc_count(), graph.mark_count);
        graph.compress_marks(labels);
        join_bisimilar(graph, labels);
        if graph.arcs.len() <= PAIRS_STATES_MAX {
            join_simulating(graph, labels, budget)?;
            join_simulating_backwards(graph, labels, budget)?;
        }
        graph.trim(labels);
        budget.check_labels(labels)?;
        budget.check(graph.arcs.len(), graph.arc_count())?;
        if (graph.arcs.len(), graph.arc_count(), graph.mark_count) == before {
            return Ok(());
        }
    }
}

/// `relation[p][q]`: `q` simulates `p`.
type Relation = Vec<Vec<bool>>;

/// Joins states with equal steps into equal classes.
fn join_bisimilar(graph: &mut Graph, labels: &mut Labels) {
    let count = graph.arcs.len();
    let mut class = vec![0usize; count];
    let mut classes = 1;
    loop {
        let mut index: HashMap<(usize, Vec<Arc>), usize> = HashMap::new();
        let mut refined = Vec::with_capacity(count);
        for (state, arcs) in graph.arcs.iter().enumerate() {
            let moved = arcs.iter().map(|arc| Arc { target: class[arc.target], ..*arc }).collect();
            let signature = crate::graph::joined(moved, labels);
            let fresh = index.len();
            refined.push(*index.entry((class[state], signature)).or_insert(fresh));
        }
        let stable = index.len() == classes;
        classes = index.len();
        class = refined;
        if stable {
            break;
        }
    }
    if classes < count {
        let mut first = vec![usize::MAX; classes];
        for (state, &class) in class.iter().enumerate().rev() {
            first[class] = state;
        }
        let representative: Vec<usize> = class.iter().map(|&class| first[class]).collect();
        graph.quotient(&representative, labels);
    }
}

fn join_simulating(graph: &mut Graph, labels: &mut Labels, budget: &Budget) -> Result<(), TranslateError> {
    let start = colours_within(graph);
    let relation = simulation(&graph.arcs, start, labels, budget)?;
    if let Some(class) = mutual(&relation) {
        graph.quotient(&class, labels);
        return Ok(());
    }
    for arcs in &mut graph.arcs {
        *arcs = without_weaker(arcs, &relation, labels);
    }
    Ok(())
}

fn join_simulating_backwards(
    graph: &mut Graph,
    labels: &mut Labels,
    budget: &Budget,
) -> Result<(), TranslateError> {
    let mut entering: Vec<Vec<Arc>> = vec![Vec::new(); graph.arcs.len()];
    for (source, arcs) in graph.arcs.iter().enumerate() {
        for arc in arcs {
            entering[arc.target].push(Arc { target: source, ..*arc });
        }
    }
    let mut start = colours_within(graph);
    for (state, row) in start[graph.initial].iter_mut().enumerate() {
        *row &= state == graph.initial;
    }
    let relation = simulation(&entering, start, labels, budget)?;
    if let Some(class) = mutual(&relation) {
        graph.quotient(&class, labels);
    }
    Ok(())
}

/// Where marks belong to states, a state with more of them may stand for one with fewer.
fn colours_within(graph: &Graph) -> Relation {
    let colour = |arcs: &Vec<Arc>| arcs.iter().fold(0, |marks, arc| marks | arc.marks);
    let colours: Vec<u64> =
        graph.arcs.iter().map(|arcs| if graph.state_based { colour(arcs) } else { 0 }).collect();
    colours.iter().map(|p| colours.iter().map(|q| p & !q == 0).collect()).collect()
}

/// The greatest simulation inside `relation`.
fn simulation(
    arcs: &[Vec<Arc>],
    mut relation: Relation,
    labels: &mut Labels,
    budget: &Budget,
) -> Result<Relation, TranslateError> {
    let mut changed = true;
    while changed {
        changed = false;
        for p in 0..arcs.len() {
            for q in 0..arcs.len() {
                if p != q && relation[p][q] && !follows(&arcs[p], &arcs[q], &relation, labels) {
                    relation[p][q] = false;
                    changed = true;
                }
            }
            budget.check(0, 0)?;
        }
    }
    budget.check_labels(labels)?;
    Ok(relation)
}

/// Can every step of `leader` be followed?
fn follows(leader: &[Arc], follower: &[Arc], relation: &Relation, labels: &mut Labels) -> bool {
    leader.iter().all(|step| {
        let mut covered = label::NONE;
        for answer in follower {
            if step.marks & !answer.marks == 0 && relation[step.target][answer.target] {
                covered = labels.or(covered, answer.label);
            }
        }
        labels.implies(step.label, covered)
    })
}

/// The classes of states that simulate each other, or nothing if each is alone.
fn mutual(relation: &Relation) -> Option<Vec<usize>> {
    let same = |p: usize, q: usize| relation[p][q] && relation[q][p];
    let class: Vec<usize> = (0..relation.len()).map(|p| (0..p).find(|&q| same(p, q)).unwrap_or(p)).collect();
    class.iter().enumerate().any(|(state, &class)| state != class).then_some(class)
}

/// Takes from every edge the letters on which a sibling is at least as good. No two states simulate each other here,
/// so "as good" between different edges is an order.
fn without_weaker(arcs: &[Arc], relation: &Relation, labels: &mut Labels) -> Vec<Arc> {
    let mut kept = Vec::new();
    for arc in arcs {
        let mut label = arc.label;
        for better in arcs {
            let differs = (better.target, better.marks) != (arc.target, arc.marks);
            if differs && arc.marks & !better.marks == 0 && relation[arc.target][better.target] {
                label = labels.minus(label, better.label);
            }
        }
        if label != label::NONE {
            kept.push(Arc { label, ..*arc });
        }
    }
    kept
}
