//! What shape has an automaton while it is being built and reduced?
//!
//! As [`Automaton`], with labels instead of guards, and at most one edge per target and set of marks. The operations
//! here keep the language: they drop states no accepting run visits, and marks that decide nothing.

use std::collections::BTreeMap;

use crate::automaton::{Automaton, Edge, Placement, StateId, mark_set};
use crate::label::{self, Label, Labels};

/// An edge of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Arc {
    pub(crate) target: usize,
    pub(crate) marks: u64,
    pub(crate) label: Label,
}

/// An automaton under construction.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) initial: usize,
    pub(crate) arcs: Vec<Vec<Arc>>,
    pub(crate) mark_count: u32,
    /// Marks belong to states: all arcs of a state have the same.
    pub(crate) state_based: bool,
}

/// The strongly connected components; edges lead to the same or to lower numbers.
pub(crate) struct Components {
    pub(crate) of: Vec<usize>,
    pub(crate) members: Vec<Vec<usize>>,
}

impl Graph {
    /// The automaton of the empty language.
    pub(crate) fn empty(mark_count: u32, state_based: bool) -> Self {
        Graph { initial: 0, arcs: vec![Vec::new()], mark_count, state_based }
    }

    pub(crate) fn arc_count(&self) -> usize {
        self.arcs.iter().map(Vec::len).sum()
    }

    /// The edges of an automaton, whatever their guards say.
    pub(crate) fn skeleton(automaton: &Automaton) -> Self {
        let arc = |edge: &Edge| Arc { target: edge.target.index(), marks: edge.marks, label: label::ALL };
        Graph {
            initial: automaton.initial.index(),
            arcs: automaton.states.iter().map(|edges| edges.iter().map(arc).collect()).collect(),
            mark_count: automaton.mark_count,
            state_based: automaton.placement == Placement::State,
        }
    }

    pub(crate) fn from_automaton(automaton: &Automaton, labels: &mut Labels) -> Self {
        let arc = |edge: &Edge, labels: &mut Labels| Arc {
            target: edge.target.index(),
            marks: edge.marks,
            label: labels.of_guard(&edge.guard),
        };
        let mut graph = Graph {
            initial: automaton.initial.index(),
            arcs: Vec::new(),
            mark_count: automaton.mark_count,
            state_based: automaton.placement == Placement::State,
        };
        for edges in &automaton.states {
            let arcs = edges.iter().map(|edge| arc(edge, labels)).collect();
            graph.arcs.push(joined(arcs, labels));
        }
        graph
    }

    /// The finished form, states in breadth-first order from the initial one.
    pub(crate) fn to_automaton(&self, atom_count: usize, labels: &mut Labels) -> Automaton {
        let mut order = vec![self.initial];
        let mut place = vec![usize::MAX; self.arcs.len()];
        place[self.initial] = 0;
        let mut at = 0;
        while at < order.len() {
            for arc in &self.arcs[order[at]] {
                if place[arc.target] == usize::MAX {
                    place[arc.target] = order.len();
                    order.push(arc.target);
                }
            }
            at += 1;
        }
        let mut states = Vec::new();
        for &state in &order {
            let mut edges: Vec<Edge> = Vec::new();
            for arc in &self.arcs[state] {
                let target = StateId(place[arc.target] as u32);
                edges.push(Edge { guard: labels.guard(arc.label), target, marks: arc.marks });
            }
            edges.sort_unstable_by_key(|edge| (edge.target, edge.marks));
            states.push(edges);
        }
        let placement = if self.state_based { Placement::State } else { Placement::Transition };
        Automaton { atom_count, mark_count: self.mark_count, initial: StateId(0), states, placement }
    }

    /// By Tarjan's algorithm, from the initial state; states it does not reach are in no component (`usize::MAX`).
    pub(crate) fn components(&self) -> Components {
        let count = self.arcs.len();
        let mut search = Tarjan {
            number: vec![0; count],
            low: vec![0; count],
            stack: Vec::new(),
            found: Components { of: vec![usize::MAX; count], members: Vec::new() },
            counter: 0,
        };
        let mut work = vec![(self.initial, 0usize)];
        search.enter(self.initial);
        while let Some(&mut (state, ref mut at)) = work.last_mut() {
            if let Some(arc) = self.arcs[state].get(*at) {
                *at += 1;
                if search.number[arc.target] == 0 {
                    search.enter(arc.target);
                    work.push((arc.target, 0));
                } else if search.found.of[arc.target] == usize::MAX {
                    search.low[state] = search.low[state].min(search.number[arc.target]);
                }
                continue;
            }
            work.pop();
            if let Some(&(parent, _)) = work.last() {
                search.low[parent] = search.low[parent].min(search.low[state]);
            }
            search.leave(state);
        }
        search.found
    }

    /// Are all marks met inside this component?
    pub(crate) fn is_accepting(&self, components: &Components, component: usize) -> bool {
        let mut met = 0;
        let mut inside = false;
        for &state in &components.members[component] {
            for arc in &self.arcs[state] {
                if components.of[arc.target] == component {
                    inside = true;
                    met |= arc.marks;
                }
            }
        }
        inside && met == mark_set(self.mark_count)
    }

    /// Drops what no accepting run visits, and clears the marks of edges that none repeats; then joins edges.
    pub(crate) fn trim(&mut self, labels: &mut Labels) {
        let components = self.components();
        let count = components.members.len();
        let accepting: Vec<bool> =
            (0..count).map(|component| self.is_accepting(&components, component)).collect();
        let mut useful = accepting.clone();
        for component in 0..count {
            useful[component] |= components.members[component]
                .iter()
                .flat_map(|&state| &self.arcs[state])
                .any(|arc| useful[components.of[arc.target]]);
        }
        if !useful[components.of[self.initial]] {
            *self = Graph::empty(self.mark_count, self.state_based);
            return;
        }
        let state_based = self.state_based;
        let keep = |state: usize| components.of[state] != usize::MAX && useful[components.of[state]];
        for state in 0..self.arcs.len() {
            let component = components.of[state];
            if !keep(state) {
                self.arcs[state].clear();
                continue;
            }
            let lone = state_based && components.members[component].len() == 1;
            self.arcs[state].retain(|arc| keep(arc.target) && arc.label != label::NONE);
            let transient = lone && !self.arcs[state].iter().any(|arc| arc.target == state);
            for arc in &mut self.arcs[state] {
                let repeated =
                    accepting[component] && (state_based || components.of[arc.target] == component);
                if !repeated || transient {
                    arc.marks = 0;
                }
            }
        }
        for arcs in &mut self.arcs {
            *arcs = joined(std::mem::take(arcs), labels);
        }
        self.renumber(keep);
    }

    /// Keeps the states chosen, which must contain the initial one and all targets of kept edges.
    fn renumber(&mut self, keep: impl Fn(usize) -> bool) {
        let mut place = vec![usize::MAX; self.arcs.len()];
        let mut next = 0;
        for (state, place) in place.iter_mut().enumerate() {
            if keep(state) {
                *place = next;
                next += 1;
            }
        }
        let old = std::mem::take(&mut self.arcs);
        for (state, mut arcs) in old.into_iter().enumerate() {
            if place[state] != usize::MAX {
                for arc in &mut arcs {
                    arc.target = place[arc.target];
                }
                self.arcs.push(arcs);
            }
        }
        self.initial = place[self.initial];
    }

    /// Joins states: `class[state]` is the state that stands for it (and stands for itself).
    pub(crate) fn quotient(&mut self, class: &[usize], labels: &mut Labels) {
        let old = std::mem::take(&mut self.arcs);
        self.arcs = vec![Vec::new(); old.len()];
        for (state, arcs) in old.into_iter().enumerate() {
            let moved = arcs.into_iter().map(|arc| Arc { target: class[arc.target], ..arc });
            self.arcs[class[state]].extend(moved);
        }
        self.initial = class[self.initial];
        for arcs in &mut self.arcs {
            *arcs = joined(std::mem::take(arcs), labels);
        }
        self.renumber(|state| class[state] == state);
    }

    /// Per component, keeps only the marks that decide something there: one that is on every edge, or on every edge of
    /// another one, says nothing. The rest is renumbered, so that components share numbers.
    pub(crate) fn compress_marks(&mut self, labels: &mut Labels) {
        if self.state_based || self.mark_count == 0 {
            return;
        }
        let components = self.components();
        let count = components.members.len();
        let kept: Vec<Vec<u32>> =
            (0..count).map(|component| self.deciding_marks(&components, component)).collect();
        let accepting: Vec<bool> =
            (0..count).map(|component| self.is_accepting(&components, component)).collect();
        let mut widest = kept.iter().map(Vec::len).max().unwrap_or(0);
        // Without any mark, a component that is not accepting would become so.
        if widest == 0 && (0..count).any(|c| !accepting[c] && components.is_cyclic(self, c)) {
            widest = 1;
        }
        for component in 0..count {
            for &state in &components.members[component] {
                for arc in &mut self.arcs[state] {
                    let repeated = accepting[component] && components.of[arc.target] == component;
                    arc.marks = if repeated { renumbered(arc.marks, &kept[component], widest) } else { 0 };
                }
            }
        }
        self.mark_count = widest as u32;
        for arcs in &mut self.arcs {
            *arcs = joined(std::mem::take(arcs), labels);
        }
    }

    /// The marks of an accepting component that decide whether a run in it is accepting.
    fn deciding_marks(&self, components: &Components, component: usize) -> Vec<u32> {
        if !self.is_accepting(components, component) {
            return Vec::new();
        }
        let inside: Vec<u64> = components.members[component]
            .iter()
            .flat_map(|&state| &self.arcs[state])
            .filter(|arc| components.of[arc.target] == component)
            .map(|arc| arc.marks)
            .collect();
        let within = |a: u32, b: u32| inside.iter().all(|marks| marks >> a & 1 <= marks >> b & 1);
        let everywhere = |mark: u32| inside.iter().all(|marks| marks >> mark & 1 == 1);
        let mut kept: Vec<u32> = (0..self.mark_count).filter(|&mark| !everywhere(mark)).collect();
        let mut at = 0;
        while at < kept.len() {
            let mark = kept[at];
            if kept.iter().any(|&other| other != mark && within(other, mark)) {
                kept.remove(at);
            } else {
                at += 1;
            }
        }
        kept
    }
}

impl Components {
    /// Is there an edge inside the component?
    pub(crate) fn is_cyclic(&self, graph: &Graph, component: usize) -> bool {
        let mut arcs = self.members[component].iter().flat_map(|&state| &graph.arcs[state]);
        arcs.any(|arc| self.of[arc.target] == component)
    }
}

fn renumbered(marks: u64, kept: &[u32], widest: usize) -> u64 {
    let mut result = mark_set(widest as u32) & !mark_set(kept.len() as u32);
    for (new, &old) in kept.iter().enumerate() {
        result |= (marks >> old & 1) << new;
    }
    result
}

/// One edge per target and marks; letters that another edge to the same target reads with more marks are left to it.
pub(crate) fn joined(arcs: Vec<Arc>, labels: &mut Labels) -> Vec<Arc> {
    let mut by_key: BTreeMap<(usize, u64), Label> = BTreeMap::new();
    for arc in arcs {
        let entry = by_key.entry((arc.target, arc.marks)).or_insert(label::NONE);
        *entry = labels.or(*entry, arc.label);
    }
    let all: Vec<Arc> =
        by_key.into_iter().map(|((target, marks), label)| Arc { target, marks, label }).collect();
    let mut result = Vec::new();
    for siblings in all.chunk_by(|a, b| a.target == b.target) {
        for arc in siblings {
            let mut label = arc.label;
            for other in siblings {
                if other.marks != arc.marks && arc.marks & !other.marks == 0 {
                    label = labels.minus(label, other.label);
                }
            }
            if label != label::NONE && !labels.is_over() {
                result.push(Arc { label, ..*arc });
            }
        }
    }
    result
}

struct Tarjan {
    number: Vec<u32>,
    low: Vec<u32>,
    stack: Vec<usize>,
    found: Components,
    counter: u32,
}

impl Tarjan {
    fn enter(&mut self, state: usize) {
        self.counter += 1;
        self.number[state] = self.counter;
        self.low[state] = self.counter;
        self.stack.push(state);
    }

    fn leave(&mut self, state: usize) {
        if self.low[state] != self.number[state] {
            return;
        }
        let component = self.found.members.len();
        let mut members = Vec::new();
        while let Some(member) = self.stack.pop() {
            self.found.of[member] = component;
            members.push(member);
            if member == state {
                break;
            }
        }
        members.sort_unstable();
        self.found.members.push(members);
    }
}
