//! How do many marks on edges become accepting states?
//!
//! Per component, a counter of the marks met so far, in a fixed order; a step may skip several levels; at the last level
//! the state is accepting and counting starts over (Gastin and Oddoux 2001). Outside accepting components, and where no
//! mark decides anything, there is no counter. A component may be entered at any level, so only one closed part of its
//! levels is kept, the smallest found.

use std::collections::{BTreeMap, BTreeSet};

use crate::automaton::mark_set;
use crate::graph::{Arc, Components, Graph};
use crate::label::Labels;
use crate::limits::{Budget, TranslateError};

/// In which order marks are counted, and whether a state all of whose edges have a mark counts it on entry.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) order: Vec<u32>,
    pub(crate) early: bool,
}

impl Plan {
    /// Plans worth trying: all orders of few marks, some of many.
    pub(crate) fn candidates(mark_count: u32) -> Vec<Plan> {
        let base: Vec<u32> = (0..mark_count).collect();
        let mut orders = Vec::new();
        if mark_count <= 3 {
            permutations(&base, &mut Vec::new(), &mut orders);
        } else {
            orders.push(base.clone());
            orders.push(base.iter().rev().copied().collect());
        }
        let plan = |order: Vec<u32>| [true, false].map(|early| Plan { order: order.clone(), early });
        orders.into_iter().flat_map(plan).collect()
    }
}

fn permutations(rest: &[u32], chosen: &mut Vec<u32>, found: &mut Vec<Vec<u32>>) {
    if rest.is_empty() {
        found.push(chosen.clone());
    }
    for (index, &mark) in rest.iter().enumerate() {
        let mut others = rest.to_vec();
        others.remove(index);
        chosen.push(mark);
        permutations(&others, chosen, found);
        chosen.pop();
    }
}

/// The state-based Büchi automaton of a trimmed graph with compressed marks.
pub(crate) fn degeneralise(
    graph: &Graph,
    plan: &Plan,
    labels: &mut Labels,
    budget: &Budget,
) -> Result<Graph, TranslateError> {
    let components = graph.components();
    let early = counted_on_entry(graph, &components, plan);
    let mut nodes: Vec<(usize, u32, bool)> = Vec::new();
    let mut entry = vec![0u32; graph.arcs.len()];
    let mut place: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    let mut levels: Vec<Vec<u32>> = Vec::new();
    for component in 0..components.members.len() {
        let deciding = deciding(graph, &components, component, plan);
        let accepting = graph.is_accepting(&components, component);
        let closed = closed_levels(graph, &components, component, &deciding, &early, budget)?;
        for &(state, level) in &closed {
            entry[state] = level;
            place.insert((state, level), nodes.len());
            nodes.push((state, level, accepting && level == deciding.len() as u32));
        }
        levels.push(deciding);
        budget.check(nodes.len(), 0)?;
    }
    let mut arcs: Vec<Vec<Arc>> = Vec::new();
    for &(state, level, accepting) in &nodes {
        let component = components.of[state];
        let step = |arc: &Arc| {
            let next = if components.of[arc.target] == component {
                advance(level, arc.marks | early[arc.target], &levels[component])
            } else {
                entry[arc.target]
            };
            Arc { target: place[&(arc.target, next)], marks: u64::from(accepting), label: arc.label }
        };
        let own = graph.arcs[state].iter().map(step).collect();
        arcs.push(crate::graph::joined(own, labels));
    }
    let initial = place[&(graph.initial, entry[graph.initial])];
    Ok(Graph { initial, arcs, mark_count: 1, state_based: true })
}

/// The marks that are not on every edge of the component, in the order of the plan; none where it is not accepting.
fn deciding(graph: &Graph, components: &Components, component: usize, plan: &Plan) -> Vec<u32> {
    if !graph.is_accepting(components, component) {
        return Vec::new();
    }
    let mut common = mark_set(graph.mark_count);
    for &state in &components.members[component] {
        for arc in &graph.arcs[state] {
            if components.of[arc.target] == component {
                common &= arc.marks;
            }
        }
    }
    plan.order.iter().copied().filter(|mark| common >> mark & 1 == 0).collect()
}

/// Per state, the marks that a step into it counts already: whoever stays in the component meets them at the next step.
fn counted_on_entry(graph: &Graph, components: &Components, plan: &Plan) -> Vec<u64> {
    let common = |state: usize| {
        let component = components.of[state];
        let inside = graph.arcs[state].iter().filter(|next| components.of[next.target] == component);
        inside.fold(mark_set(graph.mark_count), |marks, next| marks & next.marks)
    };
    (0..graph.arcs.len()).map(|state| if plan.early { common(state) } else { 0 }).collect()
}

fn advance(level: u32, marks: u64, deciding: &[u32]) -> u32 {
    let mut level = if level as usize == deciding.len() { 0 } else { level as usize };
    while level < deciding.len() && marks >> deciding[level] & 1 == 1 {
        level += 1;
    }
    level as u32
}

/// States and levels of a part of the component that no step inside the component leaves: the smallest such part that
/// is met from some starting point. It visits every state of the component.
fn closed_levels(
    graph: &Graph,
    components: &Components,
    component: usize,
    deciding: &[u32],
    early: &[u64],
    budget: &Budget,
) -> Result<Vec<(usize, u32)>, TranslateError> {
    let members = &components.members[component];
    if deciding.is_empty() {
        return Ok(members.iter().map(|&state| (state, 0)).collect());
    }
    let mut best: Option<BTreeSet<(usize, u32)>> = None;
    for level in 0..=deciding.len() as u32 {
        let mut part = reachable(graph, components, (members[0], level), deciding, early);
        // What is reached from the deepest point, and reaches itself again, is closed: shrink until it is.
        loop {
            let mut smaller = None;
            for &node in &part {
                budget.check(part.len(), 0)?;
                let inner = reachable(graph, components, node, deciding, early);
                if inner.len() < part.len() {
                    smaller = Some(inner);
                    break;
                }
            }
            match smaller {
                Some(inner) => part = inner,
                None => break,
            }
        }
        if best.as_ref().is_none_or(|best| part.len() < best.len()) {
            best = Some(part);
        }
    }
    Ok(best.into_iter().flatten().collect())
}

fn reachable(
    graph: &Graph,
    components: &Components,
    start: (usize, u32),
    deciding: &[u32],
    early: &[u64],
) -> BTreeSet<(usize, u32)> {
    let component = components.of[start.0];
    let mut seen = BTreeSet::new();
    let mut work = vec![start];
    // The start itself counts only if it is met again.
    while let Some((state, level)) = work.pop() {
        for arc in &graph.arcs[state] {
            if components.of[arc.target] == component {
                let next = (arc.target, advance(level, arc.marks | early[arc.target], deciding));
                if seen.insert(next) {
                    work.push(next);
                }
            }
        }
    }
    seen
}
