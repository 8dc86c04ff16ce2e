//! Which letters does an edge read, while automata are being built?
//!
//! Sets of letters as reduced ordered decision diagrams: equal sets have equal numbers, so that labels can be compared,
//! joined and subtracted exactly. Finished automata hold [`Guard`]s, an irredundant cover by cubes.
//!
//! Bounded: once `nodes_max` nodes exist or the deadline is past, `exhausted` is set, every operation answers `NONE` at
//! once, and the caller must throw the result away. All stages of a translation work on labels, so this clock covers
//! them all, rewriting included: work without labels counts its steps by [`Labels::is_over`].

use std::collections::HashMap;
use std::time::Instant;

use crate::automaton::{Cube, Guard};

/// A set of letters, meaningful together with its [`Labels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Label(u32);

/// No letter.
pub(crate) const NONE: Label = Label(0);
/// Every letter.
pub(crate) const ALL: Label = Label(1);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    atom: u8,
    low: Label,
    high: Label,
}

/// The nodes of all labels of one translation.
pub(crate) struct Labels {
    nodes: Vec<Node>,
    unique: HashMap<Node, Label>,
    conjunctions: HashMap<(Label, Label), Label>,
    negations: HashMap<Label, Label>,
    nodes_max: usize,
    deadline: Option<Instant>,
    /// Steps taken, to look at the clock now and then.
    steps: u32,
    exhausted: bool,
}

/// One look at the clock per so many steps: microseconds of work, and too rare to cost anything.
const STEPS_PER_LOOK: u32 = 256;

impl Labels {
    pub(crate) fn new(nodes_max: usize) -> Self {
        let leaf = |label| Node { atom: u8::MAX, low: label, high: label };
        Labels {
            nodes: vec![leaf(NONE), leaf(ALL)],
            unique: HashMap::new(),
            conjunctions: HashMap::new(),
            negations: HashMap::new(),
            nodes_max,
            deadline: None,
            steps: 0,
            exhausted: false,
        }
    }

    /// The same, bounded in time, too.
    pub(crate) fn until(self, deadline: Option<Instant>) -> Self {
        Labels { deadline, ..self }
    }

    /// Counts a step of work. Was a bound met? Then no label made since means anything.
    pub(crate) fn is_over(&mut self) -> bool {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(STEPS_PER_LOOK) {
            self.exhausted |= self.deadline.is_some_and(|deadline| Instant::now() > deadline);
        }
        self.exhausted
    }

    /// Was a bound met? Then no label made since means anything.
    pub(crate) fn exhausted(&self) -> bool {
        self.exhausted
    }

    pub(crate) fn atom(&mut self, atom: usize, positive: bool) -> Label {
        let (low, high) = if positive { (NONE, ALL) } else { (ALL, NONE) };
        self.node(Node { atom: atom as u8, low, high })
    }

    pub(crate) fn and(&mut self, a: Label, b: Label) -> Label {
        if a == b || b == ALL {
            return a;
        }
        if a == ALL {
            return b;
        }
        if a == NONE || b == NONE || self.is_over() {
            return NONE;
        }
        let key = (a.min(b), a.max(b));
        if let Some(&known) = self.conjunctions.get(&key) {
            return known;
        }
        let atom = self.top(a).min(self.top(b));
        let ((a0, a1), (b0, b1)) = (self.split(a, atom), self.split(b, atom));
        let (low, high) = (self.and(a0, b0), self.and(a1, b1));
        let result = self.node(Node { atom, low, high });
        self.conjunctions.insert(key, result);
        result
    }

    pub(crate) fn not(&mut self, a: Label) -> Label {
        if a == NONE {
            return ALL;
        }
        if a == ALL || self.is_over() {
            return NONE;
        }
        if let Some(&known) = self.negations.get(&a) {
            return known;
        }
        let Node { atom, low, high } = self.nodes[a.0 as usize];
        let (low, high) = (self.not(low), self.not(high));
        let result = self.node(Node { atom, low, high });
        self.negations.insert(a, result);
        self.negations.insert(result, a);
        result
    }

    pub(crate) fn or(&mut self, a: Label, b: Label) -> Label {
        if a == b || b == NONE {
            return a;
        }
        if a == NONE {
            return b;
        }
        let (a, b) = (self.not(a), self.not(b));
        let neither = self.and(a, b);
        self.not(neither)
    }

    pub(crate) fn minus(&mut self, a: Label, b: Label) -> Label {
        let b = self.not(b);
        self.and(a, b)
    }

    pub(crate) fn implies(&mut self, a: Label, b: Label) -> bool {
        a == b || a == NONE || b == ALL || self.minus(a, b) == NONE
    }

    /// A set of one letter of `a`, as far as the atoms that `a` looks at go; `a` must not be empty.
    pub(crate) fn one_letter(&mut self, a: Label) -> Label {
        let Node { atom, low, high } = self.nodes[a.0 as usize];
        if a == NONE || a == ALL {
            return a;
        }
        let (low, high) =
            if low == NONE { (NONE, self.one_letter(high)) } else { (self.one_letter(low), NONE) };
        self.node(Node { atom, low, high })
    }

    /// The set of letters of a guard.
    pub(crate) fn of_guard(&mut self, guard: &Guard) -> Label {
        let mut result = NONE;
        for cube in &guard.cubes {
            let cube = self.of_cube(*cube);
            result = self.or(result, cube);
        }
        result
    }

    fn of_cube(&mut self, cube: Cube) -> Label {
        let mut result = ALL;
        for atom in (0..64).rev() {
            for (mask, positive) in [(cube.positive, true), (cube.negative, false)] {
                if mask >> atom & 1 == 1 {
                    let literal = self.atom(atom, positive);
                    result = self.and(result, literal);
                }
            }
        }
        result
    }

    /// An irredundant cover by cubes (Minato 1993). `NONE` gives no cube.
    pub(crate) fn guard(&mut self, label: Label) -> Guard {
        let mut cubes = Vec::new();
        self.cover(label, label, Cube::default(), &mut cubes);
        cubes.sort_unstable();
        Guard { cubes }
    }

    /// Covers at least `must` and at most `may`; gives what was covered.
    fn cover(&mut self, must: Label, may: Label, prefix: Cube, cubes: &mut Vec<Cube>) -> Label {
        if must == NONE || self.exhausted {
            return NONE;
        }
        if may == ALL {
            cubes.push(prefix);
            self.exhausted |= cubes.len() > self.nodes_max;
            return ALL;
        }
        let atom = self.top(must).min(self.top(may));
        let ((must0, must1), (may0, may1)) = (self.split(must, atom), self.split(may, atom));
        let bit = 1u64 << atom;
        let only0 = self.minus(must0, may1);
        let covered0 = self.cover(only0, may0, Cube { negative: prefix.negative | bit, ..prefix }, cubes);
        let only1 = self.minus(must1, may0);
        let covered1 = self.cover(only1, may1, Cube { positive: prefix.positive | bit, ..prefix }, cubes);
        let (rest0, rest1) = (self.minus(must0, covered0), self.minus(must1, covered1));
        let (rest, both) = (self.or(rest0, rest1), self.and(may0, may1));
        let covered = self.cover(rest, both, prefix, cubes);
        let (low, high) = (self.or(covered0, covered), self.or(covered1, covered));
        self.node(Node { atom, low, high })
    }

    fn node(&mut self, node: Node) -> Label {
        if node.low == node.high {
            return node.low;
        }
        if let Some(&known) = self.unique.get(&node) {
            return known;
        }
        if self.nodes.len() >= self.nodes_max {
            self.exhausted = true;
            return NONE;
        }
        let label = Label(self.nodes.len() as u32);
        self.nodes.push(node);
        self.unique.insert(node, label);
        label
    }

    fn top(&self, label: Label) -> u8 {
        self.nodes[label.0 as usize].atom
    }

    fn split(&self, label: Label, atom: u8) -> (Label, Label) {
        let node = self.nodes[label.0 as usize];
        if node.atom == atom { (node.low, node.high) } else { (label, label) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 65536 functions of four atoms, by truth table: the cover is exact, and labels are canonical.
    #[test]
    fn every_function_of_four_atoms() {
        let mut labels = Labels::new(1 << 20);
        let mut minterms = Vec::new();
        for letter in 0..16u64 {
            minterms.push(labels.of_cube(Cube { positive: letter, negative: !letter & 15 }));
        }
        for table in (0..65536u64).step_by(7) {
            let mut label = NONE;
            for letter in 0..16 {
                if table >> letter & 1 == 1 {
                    label = labels.or(label, minterms[letter as usize]);
                }
            }
            let guard = labels.guard(label);
            for letter in 0..16 {
                assert_eq!(guard.holds(letter), table >> letter & 1 == 1);
            }
            assert_eq!(labels.of_guard(&guard), label);
            let negated = labels.not(label);
            assert_eq!(labels.not(negated), label);
            assert_eq!(labels.or(label, negated), ALL);
            assert_eq!(labels.and(label, negated), NONE);
        }
        assert!(!labels.exhausted());
    }

    #[test]
    fn a_bad_order_ends_at_the_bound() {
        let mut labels = Labels::new(10_000);
        let mut sum = NONE;
        for pair in 0..32 {
            let (a, b) = (labels.atom(pair, true), labels.atom(pair + 32, true));
            let both = labels.and(a, b);
            sum = labels.or(sum, both);
        }
        assert!(labels.exhausted());
    }
}
