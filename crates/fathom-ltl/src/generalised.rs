//! How does the alternating automaton become a generalised Büchi automaton?
//!
//! A state is a set of obliged formulas. A mark belongs to every obligation (`a U b`, `G F x`); a step meets it when the
//! obligation is not among the next ones, or when its own move that ends it is contained in the step. All of this is
//! decided letter by letter: labels are split where marks differ, and a step loses the letters on which another one goes
//! to fewer obligations with no fewer marks. So the result is deterministic wherever that is free.

use std::collections::HashMap;

use crate::alternating::{Alternating, StateSet, members};
use crate::automaton::MARKS_MAX;
use crate::graph::{Arc, Graph};
use crate::label::{self, Label};
use crate::limits::{Budget, TranslateError};
use crate::normal_form::{Arena, FALSE, Id};

/// A step while labels are being split: the obligations it leaves unmet decide its marks in the end.
#[derive(Clone, Copy)]
struct Step {
    target: StateSet,
    unmet: StateSet,
    label: Label,
}

/// The generalised automaton of a formula. Its states and edges are bounded by the budget.
pub(crate) fn build(arena: &mut Arena, root: Id, budget: &Budget) -> Result<Graph, TranslateError> {
    if root == FALSE {
        return Ok(Graph::empty(0, false));
    }
    let mut alternating = Alternating::new(arena, budget);
    let initial = alternating.set(root)?;
    let mut states = vec![initial];
    let mut index = HashMap::from([(initial, 0usize)]);
    let mut steps: Vec<Vec<(usize, Step)>> = Vec::new();
    let mut edges = 0;
    let mut obligations = 0;
    while steps.len() < states.len() {
        let mut own = Vec::new();
        for step in steps_of(&mut alternating, states[steps.len()], budget)? {
            let target = *index.entry(step.target).or_insert_with(|| {
                states.push(step.target);
                states.len() - 1
            });
            obligations |= step.unmet;
            own.push((target, step));
        }
        edges += own.len();
        budget.check(states.len(), edges)?;
        steps.push(own);
    }
    let marks: Vec<usize> = members(obligations).collect();
    if marks.len() > MARKS_MAX as usize {
        return Err(TranslateError::Marks(MARKS_MAX));
    }
    let marks_of = |unmet: StateSet| {
        marks
            .iter()
            .enumerate()
            .fold(0u64, |set, (mark, state)| set | u64::from(unmet >> state & 1 == 0) << mark)
    };
    let arc =
        |&(target, step): &(usize, Step)| Arc { target, marks: marks_of(step.unmet), label: step.label };
    let arcs = steps.iter().map(|own| own.iter().map(arc).collect()).collect();
    Ok(Graph { initial: 0, arcs, mark_count: marks.len() as u32, state_based: false })
}

fn steps_of(
    alternating: &mut Alternating<'_>,
    state: StateSet,
    budget: &Budget,
) -> Result<Vec<Step>, TranslateError> {
    let moves = alternating.moves_of_set(state)?;
    let mut steps: Vec<Step> = Vec::new();
    for (target, label) in moves {
        let mut parts = vec![Step { target, unmet: 0, label }];
        for obligation in members(alternating.obligations(target)) {
            let met = alternating.met(obligation, target)?;
            let mut split = Vec::new();
            for part in parts {
                let yes = alternating.labels().and(part.label, met);
                let no = alternating.labels().minus(part.label, met);
                if yes != label::NONE {
                    split.push(Step { label: yes, ..part });
                }
                if no != label::NONE {
                    split.push(Step { label: no, unmet: part.unmet | 1 << obligation, ..part });
                }
            }
            parts = split;
            budget.check(0, steps.len() + parts.len())?;
        }
        steps.extend(parts);
    }
    budget.check_labels(alternating.labels())?;
    without_dominated(alternating, &steps, budget)
}

/// Fewer obligations and no fewer marks are better: the worse step leaves those letters to the better.
fn without_dominated(
    alternating: &mut Alternating<'_>,
    steps: &[Step],
    budget: &Budget,
) -> Result<Vec<Step>, TranslateError> {
    let mut kept = Vec::new();
    for step in steps {
        let mut label = step.label;
        for better in steps {
            let differs = (better.target, better.unmet) != (step.target, step.unmet);
            if differs && better.target & !step.target == 0 && better.unmet & !step.unmet == 0 {
                label = alternating.labels().minus(label, better.label);
            }
        }
        if label != label::NONE {
            kept.push(Step { label, ..*step });
        }
        budget.check(0, kept.len())?;
    }
    budget.check_labels(alternating.labels())?;
    Ok(kept)
}
