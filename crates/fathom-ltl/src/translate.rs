//! How does a formula become a small Büchi automaton?
//!
//! Formula, rewritten normal form, very weak alternating automaton, generalised automaton with marks on edges, Büchi
//! automaton with accepting states; reduced at each of the last two stages.

use crate::automaton::{Automaton, MARKS_MAX};
use crate::degeneralise::{self, Plan};
use crate::formula::Formula;
use crate::generalised;
use crate::graph::Graph;
use crate::label::{self, Labels};
use crate::limits::{Budget, Limits, TranslateError};
use crate::normal_form::Arena;
use crate::obligation;
use crate::simulation::reduce;

/// Both forms of the automaton of one formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// Marks on edges, as many as the formula needs: the smaller form.
    pub generalised: Automaton,
    /// Accepting states.
    pub buchi: Automaton,
}

/// The automata that accept exactly the words of which the formula holds. To search for violations of a property,
/// translate its negation.
///
/// # Errors
/// When a limit is met; memory stays within what the limits imply.
pub fn translate(formula: &Formula, limits: Limits) -> Result<Translation, TranslateError> {
    let budget = Budget::new(limits);
    let mut arena = Arena::new(Labels::new(limits.label_nodes_max).until(budget.deadline()));
    let root = arena.add(formula, true);
    budget.check_labels(&arena.labels)?;
    let mut graph = generalised::build(&mut arena, root, &budget)?;
    reduce(&mut graph, &mut arena.labels, &budget)?;
    let mut buchi = smallest_buchi(&graph, &mut arena.labels, &budget)?;
    if let Some(weak) = smaller_weak(formula, &mut arena, &graph, &buchi, &budget)? {
        let determined = !is_deterministic(&graph, &mut arena.labels);
        if (weak.arcs.len(), 0) < (graph.arcs.len(), usize::from(determined)) {
            graph = weak.clone();
            graph.state_based = false;
            reduce(&mut graph, &mut arena.labels, &budget)?;
        }
        buchi = weak;
    }
    let atom_count = (u64::BITS - formula.atoms().leading_zeros()) as usize;
    let generalised = graph.to_automaton(atom_count, &mut arena.labels);
    let buchi = buchi.to_automaton(atom_count, &mut arena.labels);
    budget.check_labels(&arena.labels)?;
    Ok(Translation { generalised, buchi })
}

/// The same for an automaton that came from elsewhere: reduced, and with accepting states.
///
/// # Errors
/// When a limit is met.
pub fn simplify(automaton: &Automaton, limits: Limits) -> Result<Translation, TranslateError> {
    let budget = Budget::new(limits);
    let mut labels = Labels::new(limits.label_nodes_max).until(budget.deadline());
    let mut graph = Graph::from_automaton(automaton, &mut labels);
    graph.state_based = false;
    budget.check_labels(&labels)?;
    reduce(&mut graph, &mut labels, &budget)?;
    let buchi = smallest_buchi(&graph, &mut labels, &budget)?;
    let generalised = graph.to_automaton(automaton.atom_count, &mut labels);
    let buchi = buchi.to_automaton(automaton.atom_count, &mut labels);
    budget.check_labels(&labels)?;
    Ok(Translation { generalised, buchi })
}

/// The least deterministic weak automaton, where there is one that is not larger than `buchi`.
fn smaller_weak(
    formula: &Formula,
    arena: &mut Arena,
    graph: &Graph,
    buchi: &Graph,
    budget: &Budget,
) -> Result<Option<Graph>, TranslateError> {
    let Some(complete) = obligation::candidate(graph, &mut arena.labels) else { return Ok(None) };
    let mut trimmed = complete.clone();
    trimmed.trim(&mut arena.labels);
    if trimmed.arcs.len() > buchi.arcs.len() || graph.mark_count >= MARKS_MAX {
        return Ok(None);
    }
    let negated = arena.add(formula, false);
    let mut negation = generalised::build(arena, negated, budget)?;
    negation.trim(&mut arena.labels);
    negation.compress_marks(&mut arena.labels);
    if negation.mark_count >= MARKS_MAX {
        return Ok(None);
    }
    let agrees = obligation::agrees(&complete, graph, &negation, &mut arena.labels);
    budget.check_labels(&arena.labels)?;
    Ok(agrees.then_some(trimmed))
}

/// Does every letter lead from every state to one state at most?
fn is_deterministic(graph: &Graph, labels: &mut Labels) -> bool {
    graph.arcs.iter().all(|arcs| {
        let mut seen = label::NONE;
        arcs.iter().all(|arc| {
            let apart = labels.and(seen, arc.label) == label::NONE;
            seen = labels.or(seen, arc.label);
            apart
        })
    })
}

/// Above this, one way to count marks is enough.
const TRIES_STATES_MAX: usize = 100;

fn smallest_buchi(graph: &Graph, labels: &mut Labels, budget: &Budget) -> Result<Graph, TranslateError> {
    let mut plans = Plan::candidates(graph.mark_count);
    if graph.arcs.len() > TRIES_STATES_MAX {
        plans.truncate(1);
    }
    let mut best: Option<Graph> = None;
    for plan in plans {
        let mut buchi = degeneralise::degeneralise(graph, &plan, labels, budget)?;
        reduce(&mut buchi, labels, budget)?;
        let size = |graph: &Graph| (graph.arcs.len(), graph.arc_count());
        if best.as_ref().is_none_or(|best| size(&buchi) < size(best)) {
            best = Some(buchi);
        }
    }
    Ok(best.unwrap_or_else(|| Graph::empty(1, true)))
}
