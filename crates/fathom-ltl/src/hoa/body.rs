//! Which states and edges does the body of a HOA file describe?

use std::collections::HashMap;

use crate::automaton::{Automaton, Edge, Placement, StateId};
use crate::diagnostic::{Diagnostic, Span};
use crate::label::{self, Label};

use super::words::WordKind;
use super::{HoaFile, Read, Reader};

/// With implicit labels every state has two to this many edges.
const IMPLICIT_ATOMS_MAX: usize = 16;

/// A state of the body while it is read.
struct OpenState {
    number: usize,
    label: Option<Label>,
    marks: u64,
    edges: Vec<(Option<Label>, usize, u64)>,
    span: Span,
}

impl Reader<'_> {
    pub(super) fn body(mut self) -> Read<HoaFile> {
        let mut states: HashMap<usize, OpenState> = HashMap::new();
        loop {
            match self.next() {
                Some(WordKind::Header(name)) if name == "State" => {
                    let state = self.state()?;
                    let (number, span) = (state.number, state.span);
                    if states.insert(number, state).is_some() {
                        return Err(Diagnostic::new(span, format!("state {number} is described twice")));
                    }
                }
                Some(WordKind::End) => break,
                Some(WordKind::Abort) => return Err(self.wrong_before("the automaton was aborted")),
                _ => return Err(self.wrong_before("expected `State:` or `--END--`")),
            }
        }
        self.finish(states)
    }

    fn state(&mut self) -> Read<OpenState> {
        let label = self.optional_label()?;
        let number = self.state_number()?;
        let span = self.before();
        if let Some(WordKind::Text(_)) = self.peek() {
            self.at += 1;
        }
        let marks = self.signature()?;
        let mut state = OpenState { number, label, marks, edges: Vec::new(), span };
        while matches!(self.peek(), Some(WordKind::Number(_) | WordKind::Symbol('['))) {
            let here = self.here();
            let own = self.optional_label()?;
            if own.is_some() && label.is_some() {
                return Err(Diagnostic::new(here, "both the state and this edge have a label"));
            }
            let target = self.state_number()?;
            let marks = self.signature()?;
            state.edges.push((own, target, marks));
        }
        Ok(state)
    }

    fn optional_label(&mut self) -> Read<Option<Label>> {
        if self.peek() != Some(&WordKind::Symbol('[')) {
            return Ok(None);
        }
        self.at += 1;
        let label = self.disjunction(0)?;
        self.symbol(']')?;
        if self.labels.exhausted() {
            return Err(self.wrong_before("the labels are too large"));
        }
        Ok(Some(label))
    }

    /// `{0 2}` as a set of marks.
    fn signature(&mut self) -> Read<u64> {
        let mut marks = 0;
        if self.peek() != Some(&WordKind::Symbol('{')) {
            return Ok(0);
        }
        self.at += 1;
        while self.peek() != Some(&WordKind::Symbol('}')) {
            let set = self.number()?;
            if set >= self.header.marks.unwrap_or(0) as usize {
                return Err(self.wrong_before("no such acceptance set"));
            }
            marks |= 1 << set;
        }
        self.at += 1;
        Ok(marks)
    }

    fn finish(mut self, states: HashMap<usize, OpenState>) -> Read<HoaFile> {
        let highest = states
            .values()
            .flat_map(|state| state.edges.iter().map(|edge| edge.1).chain([state.number]))
            .chain(self.header.starts.iter().copied())
            .max();
        let count = self.header.states.unwrap_or(highest.map_or(0, |highest| highest + 1));
        if highest.is_some_and(|highest| highest >= count) {
            return Err(self.wrong_before(&format!("a state is not among the {count} announced")));
        }
        let atoms = self.header.atoms.clone().unwrap_or_default();
        let mut edges: Vec<Vec<Edge>> = vec![Vec::new(); count];
        for (number, state) in states {
            edges[number] = self.edges_of(&state, atoms.len())?;
        }
        let (initial, edges) = single_start(&self.header.starts, edges);
        let uniform = |edges: &Vec<Edge>| edges.iter().all(|edge| edge.marks == edges[0].marks);
        let placement = if edges.iter().all(uniform) { Placement::State } else { Placement::Transition };
        let automaton = Automaton {
            atom_count: atoms.len(),
            mark_count: self.header.used_marks.count_ones(),
            initial: StateId(initial as u32),
            states: edges,
            placement,
        };
        if self.labels.exhausted() {
            return Err(self.wrong_before("the labels are too large"));
        }
        Ok(HoaFile { automaton, atoms, name: self.header.name })
    }

    fn edges_of(&mut self, state: &OpenState, atom_count: usize) -> Read<Vec<Edge>> {
        let implicit = state.label.is_none() && state.edges.iter().all(|edge| edge.0.is_none());
        if implicit && !state.edges.is_empty() {
            if atom_count > IMPLICIT_ATOMS_MAX {
                let message =
                    format!("implicit labels with more than {IMPLICIT_ATOMS_MAX} atoms are not supported");
                return Err(Diagnostic::new(state.span, message));
            }
            if state.edges.len() != 1 << atom_count {
                let message = format!("with implicit labels this state needs {} edges", 1u64 << atom_count);
                return Err(Diagnostic::new(state.span, message));
            }
        }
        let mut edges = Vec::new();
        for (position, &(own, target, marks)) in state.edges.iter().enumerate() {
            let label = match own.or(state.label) {
                Some(label) => label,
                None if implicit => self.letter(position, atom_count),
                None => {
                    return Err(Diagnostic::new(
                        state.span,
                        "some edges of this state have a label, some do not",
                    ));
                }
            };
            if label != label::NONE {
                let marks = compressed(marks | state.marks, self.header.used_marks);
                edges.push(Edge { guard: self.labels.guard(label), target: StateId(target as u32), marks });
            }
        }
        Ok(edges)
    }

    fn letter(&mut self, letter: usize, atom_count: usize) -> Label {
        let mut label = label::ALL;
        for atom in (0..atom_count).rev() {
            let literal = self.labels.atom(atom, letter >> atom & 1 == 1);
            label = self.labels.and(label, literal);
        }
        label
    }
}

/// The bits of `marks` that stand in `used`, moved together.
fn compressed(marks: u64, used: u64) -> u64 {
    let mut result = 0;
    for (new, old) in (0..64).filter(|mark| used >> mark & 1 == 1).enumerate() {
        result |= (marks >> old & 1) << new;
    }
    result
}

/// One initial state: a fresh one with the edges of all, unless there is just one.
fn single_start(starts: &[usize], mut edges: Vec<Vec<Edge>>) -> (usize, Vec<Vec<Edge>>) {
    if let [start] = starts {
        return (*start, edges);
    }
    let mut all: Vec<Edge> = starts.iter().flat_map(|&start| edges[start].clone()).collect();
    for edge in &mut all {
        // It is never visited again: its marks decide nothing, and equal ones keep a promise about states.
        edge.marks = 0;
    }
    all.sort_unstable();
    all.dedup();
    edges.push(all);
    (edges.len() - 1, edges)
}
