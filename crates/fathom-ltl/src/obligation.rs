//! Is there a small deterministic automaton whose components are all accepting or all rejecting?
//!
//! For obligation properties (boolean combinations of safety and guarantee) there is a least one. Subsets of states give
//! a deterministic graph; one loop per component says whether the component accepts, if such an automaton exists at all;
//! Löding's colours (2001) make the minimisation of finite automata applicable. Whether it does exist is then decided
//! exactly, by comparing the result with the automata of the formula and of its negation (as in Dax, Eisinger and
//! Klaedtke 2007).

use std::collections::{HashMap, VecDeque};

use crate::accepting_cycle::has_accepting_cycle;
use crate::automaton::mark_set;
use crate::graph::{Arc, Components, Graph, joined};
use crate::label::{self, Label, Labels};

/// Subsets beyond this are not worth the time: the result is only used when it is small.
const SUBSETS_MAX: usize = 512;

/// The least complete, deterministic, weak candidate for the language of `graph`; state-based, one mark. It accepts the
/// language if any automaton of this kind does: the caller must check.
pub(crate) fn candidate(graph: &Graph, labels: &mut Labels) -> Option<Graph> {
    let (mut subsets, sets) = subset_graph(graph, labels)?;
    let components = subsets.components();
    let colours = colours(graph, &subsets, &sets, &components, labels);
    for (state, arcs) in subsets.arcs.iter_mut().enumerate() {
        let accepting = colours[components.of[state]].is_multiple_of(2);
        for arc in arcs {
            arc.marks = u64::from(accepting);
        }
    }
    minimise(&mut subsets, labels);
    Some(subsets)
}

/// Is the language of `graph`, whose complement is that of `negation`, the one of the complete candidate?
pub(crate) fn agrees(candidate: &Graph, graph: &Graph, negation: &Graph, labels: &mut Labels) -> bool {
    let mut flipped = candidate.clone();
    for arc in flipped.arcs.iter_mut().flatten() {
        arc.marks ^= 1;
    }
    !meet(graph, &flipped, labels) && !meet(negation, candidate, labels)
}

/// Is there a word that both accept?
pub(crate) fn meet(x: &Graph, y: &Graph, labels: &mut Labels) -> bool {
    let width = y.arcs.len();
    let marks = mark_set(x.mark_count) | mark_set(y.mark_count) << x.mark_count;
    let start = x.initial * width + y.initial;
    has_accepting_cycle(x.arcs.len() * width, start, marks, |node, out| {
        for a in &x.arcs[node / width] {
            for b in &y.arcs[node % width] {
                if labels.and(a.label, b.label) != label::NONE {
                    out.push((a.target * width + b.target, a.marks | b.marks << x.mark_count));
                }
            }
        }
    })
}

/// The reachable subsets, the empty one included, and the deterministic graph over them.
fn subset_graph(graph: &Graph, labels: &mut Labels) -> Option<(Graph, Vec<Vec<usize>>)> {
    let mut sets = vec![vec![graph.initial]];
    let mut index = HashMap::from([(sets[0].clone(), 0usize)]);
    let mut arcs: Vec<Vec<Arc>> = Vec::new();
    while arcs.len() < sets.len() {
        let mut own = Vec::new();
        for (label, set) in regions(graph, &sets[arcs.len()], labels)? {
            let target = *index.entry(set.clone()).or_insert_with(|| {
                sets.push(set);
                sets.len() - 1
            });
            own.push(Arc { target, marks: 0, label });
        }
        if sets.len() > SUBSETS_MAX || labels.exhausted() {
            return None;
        }
        arcs.push(joined(own, labels));
    }
    Some((Graph { initial: 0, arcs, mark_count: 1, state_based: true }, sets))
}

/// The letters, by the set of states they lead to.
fn regions(graph: &Graph, set: &[usize], labels: &mut Labels) -> Option<Vec<(Label, Vec<usize>)>> {
    let mut regions: Vec<(Label, Vec<usize>)> = vec![(label::ALL, Vec::new())];
    for arc in set.iter().flat_map(|&state| &graph.arcs[state]) {
        let mut split = Vec::new();
        for (label, targets) in regions {
            let inside = labels.and(label, arc.label);
            let outside = labels.minus(label, arc.label);
            if inside != label::NONE {
                let mut with = targets.clone();
                if let Err(place) = with.binary_search(&arc.target) {
                    with.insert(place, arc.target);
                }
                split.push((inside, with));
            }
            if outside != label::NONE {
                split.push((outside, targets));
            }
        }
        regions = split;
        if regions.len() > SUBSETS_MAX {
            return None;
        }
    }
    Some(regions)
}

/// Even for components that accept. A component has the colour of its successors where that says the right thing, else
/// one less; one without cycles decides nothing and takes the least of its successors.
fn colours(
    graph: &Graph,
    subsets: &Graph,
    sets: &[Vec<usize>],
    components: &Components,
    labels: &mut Labels,
) -> Vec<usize> {
    let top = 2 * components.members.len();
    let mut colours: Vec<usize> = Vec::new();
    for component in 0..components.members.len() {
        let members = &components.members[component];
        let beyond = members
            .iter()
            .flat_map(|&state| &subsets.arcs[state])
            .filter(|arc| components.of[arc.target] != component)
            .map(|arc| colours[components.of[arc.target]])
            .min();
        let colour = if components.is_cyclic(subsets, component) {
            let start = members[0];
            let letters = loop_letters(subsets, components, start, labels);
            let odd = usize::from(!accepts_loop(graph, &sets[start], &letters, labels));
            match beyond {
                None => top + odd,
                Some(beyond) if beyond % 2 == odd => beyond,
                Some(beyond) => beyond - 1,
            }
        } else {
            beyond.unwrap_or(top + 1)
        };
        colours.push(colour);
    }
    colours
}

/// The labels of a shortest cycle through `start` inside its component.
fn loop_letters(subsets: &Graph, components: &Components, start: usize, labels: &mut Labels) -> Vec<Label> {
    let mut from: HashMap<usize, (usize, Label)> = HashMap::new();
    let mut work = VecDeque::from([start]);
    while let Some(state) = work.pop_front() {
        for arc in &subsets.arcs[state] {
            if components.of[arc.target] == components.of[start] && !from.contains_key(&arc.target) {
                from.insert(arc.target, (state, arc.label));
                work.push_back(arc.target);
            }
        }
        if from.contains_key(&start) {
            break;
        }
    }
    let mut letters = Vec::new();
    let mut state = start;
    while let Some(&(previous, label)) = from.get(&state) {
        letters.push(labels.one_letter(label));
        state = previous;
        if state == start {
            break;
        }
    }
    letters.reverse();
    letters
}

/// Does some state of the set accept the letters repeated forever?
fn accepts_loop(graph: &Graph, set: &[usize], letters: &[Label], labels: &mut Labels) -> bool {
    let length = letters.len();
    let start = graph.arcs.len() * length;
    has_accepting_cycle(start + 1, start, mark_set(graph.mark_count), |node, out| {
        if node == start {
            out.extend(set.iter().map(|&state| (state * length, 0)));
            return;
        }
        let (state, position) = (node / length, node % length);
        for arc in &graph.arcs[state] {
            if labels.and(arc.label, letters[position]) != label::NONE {
                out.push((arc.target * length + (position + 1) % length, arc.marks));
            }
        }
    })
}

/// Moore's algorithm: classes by acceptance, refined by the classes of successors.
fn minimise(graph: &mut Graph, labels: &mut Labels) {
    let count = graph.arcs.len();
    let accepting = |arcs: &Vec<Arc>| usize::from(arcs.iter().any(|arc| arc.marks == 1));
    let mut class: Vec<usize> = graph.arcs.iter().map(accepting).collect();
    let mut classes = 0;
    loop {
        let mut index: HashMap<(usize, Vec<Arc>), usize> = HashMap::new();
        let mut refined = Vec::with_capacity(count);
        for (state, arcs) in graph.arcs.iter().enumerate() {
            let moved = arcs.iter().map(|arc| Arc { target: class[arc.target], ..*arc }).collect();
            let signature = joined(moved, labels);
            let fresh = index.len();
            refined.push(*index.entry((class[state], signature)).or_insert(fresh));
        }
        class = refined;
        if index.len() == classes {
            break;
        }
        classes = index.len();
    }
    let first = |wanted: usize| class.iter().position(|&class| class == wanted).unwrap_or(0);
    let representative: Vec<usize> = class.iter().map(|&class| first(class)).collect();
    // One member speaks for its class: their steps lead to the same classes on the same letters.
    for (state, arcs) in graph.arcs.iter_mut().enumerate() {
        if representative[state] != state {
            arcs.clear();
        }
    }
    graph.quotient(&representative, labels);
}
