//! What would another translator say?
//!
//! The tableau of Gerth, Peled, Vardi and Wolper (1995), from the formula as written: own normal form, no rewriting, no
//! simplification. It shares nothing with `translate` but the types of formulas and automata, and so can judge it. Its
//! automata are large; that is what they are for.

use std::collections::{BTreeSet, HashMap};

use crate::automaton::{Automaton, Cube, Edge, Guard, MARKS_MAX, Placement, StateId};
use crate::formula::Formula;

/// The generalised automaton of the formula, or nothing if it has more than `states_max` states, too many marks, or more
/// than 128 different subformulas. Marks belong to states. Time and memory are bounded by a multiple of `states_max`.
pub fn tableau(formula: &Formula, states_max: usize) -> Option<Automaton> {
    let mut parts = Parts::default();
    let root = parts.add(formula, true)?;
    let mut build =
        Build { parts: &parts, nodes: Vec::new(), index: HashMap::new(), states_max, expansions: 0 };
    let start = build.expand(1 << root)?;
    let mut successors: Vec<Vec<usize>> = Vec::new();
    while successors.len() < build.nodes.len() {
        let next = build.nodes[successors.len()].next;
        successors.push(build.expand(next)?);
    }
    let nodes = build.nodes;
    Some(assemble(&parts, &nodes, &start, &successors, formula.atoms()))
}

/// A subformula, with negations at the atoms only; operands are numbers of other parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    Constant(bool),
    Literal(usize, bool),
    And(usize, usize),
    Or(usize, usize),
    Next(usize),
    Until(usize, usize),
    Release(usize, usize),
}

/// A set of parts.
type Set = u128;

/// The different subformulas, numbered.
#[derive(Default)]
struct Parts {
    parts: Vec<Part>,
}

/// A node of the tableau: what holds here, what must hold next.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    old: Set,
    next: Set,
}

struct Build<'a> {
    parts: &'a Parts,
    nodes: Vec<Node>,
    index: HashMap<Node, usize>,
    states_max: usize,
    expansions: usize,
}

impl Build<'_> {
    /// The nodes that together cover the conjunction of `new`.
    fn expand(&mut self, new: Set) -> Option<Vec<usize>> {
        let mut found = BTreeSet::new();
        let mut work = vec![(new, Node { old: 0, next: 0 })];
        while let Some((mut new, mut node)) = work.pop() {
            self.expansions += 1;
            if self.nodes.len() > self.states_max || self.expansions > 200 * self.states_max {
                return None;
            }
            if new == 0 {
                found.insert(self.number(node));
                continue;
            }
            let part = new.trailing_zeros() as usize;
            new &= new - 1;
            if node.old >> part & 1 == 0 {
                node.old |= 1 << part;
                self.split(part, new, node, &mut work);
            } else {
                work.push((new, node));
            }
        }
        Some(found.into_iter().collect())
    }

    /// Processes one part of a node; a contradictory node vanishes.
    fn split(&self, part: usize, new: Set, node: Node, work: &mut Vec<(Set, Node)>) {
        let later = Node { next: node.next | 1 << part, ..node };
        match self.parts.parts[part] {
            Part::Constant(true) => work.push((new, node)),
            Part::Constant(false) => {}
            Part::Literal(atom, positive) => {
                let against = self.parts.find(Part::Literal(atom, !positive));
                if against.is_none_or(|against| node.old >> against & 1 == 0) {
                    work.push((new, node));
                }
            }
            Part::And(a, b) => work.push((new | 1 << a | 1 << b, node)),
            Part::Or(a, b) => work.extend([(new | 1 << a, node), (new | 1 << b, node)]),
            Part::Next(a) => work.push((new, Node { next: node.next | 1 << a, ..node })),
            Part::Until(a, b) => work.extend([(new | 1 << a, later), (new | 1 << b, node)]),
            Part::Release(a, b) => work.extend([(new | 1 << b, later), (new | 1 << a | 1 << b, node)]),
        }
    }

    fn number(&mut self, node: Node) -> usize {
        *self.index.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }
}

/// State 0 is the beginning; a node is entered by reading its literals.
fn assemble(
    parts: &Parts,
    nodes: &[Node],
    start: &[usize],
    successors: &[Vec<usize>],
    atoms: u64,
) -> Automaton {
    let untils = parts.untils();
    let edges = |targets: &[usize], marks: u64| -> Vec<Edge> {
        let edge = |&node: &usize| Edge {
            guard: Guard { cubes: vec![parts.literals(nodes[node].old)] },
            target: StateId(node as u32 + 1),
            marks,
        };
        targets.iter().map(edge).collect()
    };
    let mut states = vec![edges(start, 0)];
    for (node, targets) in nodes.iter().zip(successors) {
        let mut marks = 0;
        for (mark, &(until, goal)) in untils.iter().enumerate() {
            // Fulfilled here, or not promised.
            let met = node.old >> until & 1 == 0 || node.old >> goal & 1 == 1;
            marks |= u64::from(met) << mark;
        }
        states.push(edges(targets, marks));
    }
    Automaton {
        atom_count: (u64::BITS - atoms.leading_zeros()) as usize,
        mark_count: untils.len() as u32,
        initial: StateId(0),
        states,
        placement: Placement::State,
    }
}

impl Parts {
    fn find(&self, part: Part) -> Option<usize> {
        self.parts.iter().position(|&known| known == part)
    }

    /// The number of the part; nothing when the set type or the marks would overflow.
    fn part(&mut self, part: Part) -> Option<usize> {
        if let Some(known) = self.find(part) {
            return Some(known);
        }
        let untils = self.untils().len();
        if self.parts.len() == Set::BITS as usize
            || matches!(part, Part::Until(..)) && untils == MARKS_MAX as usize
        {
            return None;
        }
        self.parts.push(part);
        Some(self.parts.len() - 1)
    }

    /// The untils, with their goals.
    fn untils(&self) -> Vec<(usize, usize)> {
        let until = |(number, part): (usize, &Part)| match part {
            Part::Until(_, goal) => Some((number, *goal)),
            _ => None,
        };
        self.parts.iter().enumerate().filter_map(until).collect()
    }

    fn literals(&self, old: Set) -> Cube {
        let mut cube = Cube::default();
        for (number, part) in self.parts.iter().enumerate() {
            if let Part::Literal(atom, positive) = part
                && old >> number & 1 == 1
            {
                let mask = if *positive { &mut cube.positive } else { &mut cube.negative };
                *mask |= 1 << atom;
            }
        }
        cube
    }

    fn add(&mut self, formula: &Formula, positive: bool) -> Option<usize> {
        let pair = |parts: &mut Self, a: &Formula, b: &Formula| {
            Some((parts.add(a, positive)?, parts.add(b, positive)?))
        };
        let until = |(a, b)| if positive { Part::Until(a, b) } else { Part::Release(a, b) };
        let release = |(a, b)| if positive { Part::Release(a, b) } else { Part::Until(a, b) };
        let part = match formula {
            Formula::True => Part::Constant(positive),
            Formula::False => Part::Constant(!positive),
            Formula::Atom(atom) => Part::Literal(atom.index(), positive),
            Formula::Not(a) => return self.add(a, !positive),
            Formula::And(operands) => return self.chain(operands, positive, positive),
            Formula::Or(operands) => return self.chain(operands, positive, !positive),
            Formula::Implies(a, b) => {
                let (a, b) = (self.add(a, !positive)?, self.add(b, positive)?);
                if positive { Part::Or(a, b) } else { Part::And(a, b) }
            }
            Formula::Iff(a, b) => {
                let yes = (self.add(a, true)?, self.add(b, positive)?);
                let no = (self.add(a, false)?, self.add(b, !positive)?);
                Part::Or(self.part(Part::And(yes.0, yes.1))?, self.part(Part::And(no.0, no.1))?)
            }
            Formula::Next(a) => Part::Next(self.add(a, positive)?),
            Formula::Finally(a) => until(pair(self, &Formula::True, a)?),
            Formula::Globally(a) => release(pair(self, &Formula::False, a)?),
            Formula::Until(a, b) => until(pair(self, a, b)?),
            Formula::Release(a, b) => release(pair(self, a, b)?),
            // The negation of `a W b` is `!a M !b`.
            Formula::WeakUntil(a, b) => self.weak(a, b, positive, positive)?,
            Formula::StrongRelease(a, b) => self.weak(a, b, positive, !positive)?,
        };
        self.part(part)
    }

    /// `a W b` as `(a U b) || G a`, else `a M b` as `(a R b) && F a`.
    fn weak(&mut self, a: &Formula, b: &Formula, positive: bool, weak: bool) -> Option<Part> {
        let (a, b) = (self.add(a, positive)?, self.add(b, positive)?);
        let constant = self.part(Part::Constant(!weak))?;
        if weak {
            Some(Part::Or(self.part(Part::Until(a, b))?, self.part(Part::Release(constant, a))?))
        } else {
            Some(Part::And(self.part(Part::Release(a, b))?, self.part(Part::Until(constant, a))?))
        }
    }

    fn chain(&mut self, operands: &[Formula], positive: bool, conjunction: bool) -> Option<usize> {
        let mut joined = self.part(Part::Constant(conjunction))?;
        for operand in operands {
            let operand = self.add(operand, positive)?;
            joined =
                self.part(if conjunction { Part::And(joined, operand) } else { Part::Or(joined, operand) })?;
        }
        Some(joined)
    }
}
