//! What is a formula once negations stand at the atoms only, and what does one such formula tell of another?
//!
//! Nodes are shared: equal formulas have equal numbers, and every node is made by the rewriting constructors of
//! `rewrite.rs`, so that it is simplified from the leaves up. Purely boolean formulas are one leaf, a set of letters:
//! all reasoning about them is exact. `F a` is `true U a`, `G a` is `false R a`, `a W b` is `b R (a || b)`, `a M b` is
//! `b U (a && b)`.
//!
//! The three relations below are sound and incomplete: they follow the structure only (after Somenzi and Bloem 2000).

use std::collections::HashMap;

use crate::formula::Formula;
use crate::label::{self, Label, Labels};

/// A formula of an [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id(pub(crate) u32);

/// Holds of no word.
pub(crate) const FALSE: Id = Id(0);
/// Holds of every word.
pub(crate) const TRUE: Id = Id(1);

/// One formula. Operands of `And` and `Or` are sorted, at least two, and at most one is boolean.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Boolean(Label),
    And(Vec<Id>),
    Or(Vec<Id>),
    Next(Id),
    Until(Id, Id),
    Release(Id, Id),
}

/// All formulas of one translation.
pub(crate) struct Arena {
    nodes: Vec<Node>,
    /// Per node: is its truth handed back to earlier positions (pure eventuality), and on to later ones (universality)?
    eventual: Vec<bool>,
    universal: Vec<bool>,
    index: HashMap<Node, Id>,
    implications: HashMap<(Id, Id), bool>,
    contradictions: HashMap<(Id, Id), bool>,
    exhaustions: HashMap<(Id, Id), bool>,
    pub(crate) labels: Labels,
}

impl Arena {
    /// Without formulas. The labels bound the work: once they are exhausted, every constructor answers `FALSE` and every
    /// relation "not seen", at once.
    pub(crate) fn new(labels: Labels) -> Self {
        let mut arena = Arena {
            nodes: Vec::new(),
            eventual: Vec::new(),
            universal: Vec::new(),
            index: HashMap::new(),
            implications: HashMap::new(),
            contradictions: HashMap::new(),
            exhaustions: HashMap::new(),
            labels,
        };
        arena.intern(Node::Boolean(label::NONE));
        arena.intern(Node::Boolean(label::ALL));
        arena
    }

    /// The normal form of the formula, or of its negation.
    pub(crate) fn add(&mut self, formula: &Formula, positive: bool) -> Id {
        if self.labels.is_over() {
            return FALSE;
        }
        match formula {
            Formula::True | Formula::False => {
                if (*formula == Formula::True) == positive {
                    TRUE
                } else {
                    FALSE
                }
            }
            Formula::Atom(atom) => {
                let label = self.labels.atom(atom.index(), positive);
                self.boolean(label)
            }
            Formula::Not(a) => self.add(a, !positive),
            Formula::And(operands) => self.add_all(operands, positive, positive),
            Formula::Or(operands) => self.add_all(operands, positive, !positive),
            Formula::Implies(a, b) => {
                let operands = vec![self.add(a, !positive), self.add(b, positive)];
                if positive { self.or(operands) } else { self.and(operands) }
            }
            Formula::Iff(a, b) => self.add_iff(a, b, positive),
            Formula::Next(a) => {
                let a = self.add(a, positive);
                self.next(a)
            }
            Formula::Finally(a) => {
                let a = self.add(a, positive);
                if positive { self.until(TRUE, a) } else { self.release(FALSE, a) }
            }
            Formula::Globally(a) => {
                let a = self.add(a, positive);
                if positive { self.release(FALSE, a) } else { self.until(TRUE, a) }
            }
            Formula::Until(a, b) => {
                let (a, b) = (self.add(a, positive), self.add(b, positive));
                if positive { self.until(a, b) } else { self.release(a, b) }
            }
            Formula::Release(a, b) => {
                let (a, b) = (self.add(a, positive), self.add(b, positive));
                if positive { self.release(a, b) } else { self.until(a, b) }
            }
            Formula::WeakUntil(a, b) => self.add_weak(a, b, positive, false),
            Formula::StrongRelease(a, b) => self.add_weak(b, a, positive, true),
        }
    }

    fn add_all(&mut self, operands: &[Formula], positive: bool, conjunction: bool) -> Id {
        let operands = operands.iter().map(|operand| self.add(operand, positive)).collect();
        if conjunction { self.and(operands) } else { self.or(operands) }
    }

    fn add_iff(&mut self, a: &Formula, b: &Formula, positive: bool) -> Id {
        let (a1, a0) = self.add_both(a);
        let (b1, b0) = self.add_both(b);
        let (b1, b0) = if positive { (b1, b0) } else { (b0, b1) };
        let (both, neither) = (self.and(vec![a1, b1]), self.and(vec![a0, b0]));
        self.or(vec![both, neither])
    }

    /// The normal forms of the formula and of its negation. Nested `<->` double the work at every level, but for boolean
    /// ones.
    fn add_both(&mut self, formula: &Formula) -> (Id, Id) {
        let yes = self.add(formula, true);
        let no = match self.as_boolean(yes) {
            Some(label) => {
                let label = self.labels.not(label);
                self.boolean(label)
            }
            None => self.add(formula, false),
        };
        (yes, no)
    }

    /// `a W b` is `b R (a || b)`; with `strong`, `b M a` is `b`-and-`a` reached while `a`: `a U (a && b)`.
    fn add_weak(&mut self, a: &Formula, b: &Formula, positive: bool, strong: bool) -> Id {
        let (a, b) = (self.add(a, positive), self.add(b, positive));
        let until = strong == positive;
        let joined = if until { self.and(vec![a, b]) } else { self.or(vec![a, b]) };
        match (strong, until) {
            (true, true) => self.until(a, joined),
            (true, false) => self.release(a, joined),
            (false, false) => self.release(b, joined),
            (false, true) => self.until(b, joined),
        }
    }

    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn boolean(&mut self, label: Label) -> Id {
        self.intern(Node::Boolean(label))
    }

    pub(crate) fn as_boolean(&self, id: Id) -> Option<Label> {
        if let Node::Boolean(label) = self.node(id) { Some(*label) } else { None }
    }

    /// `x` when the formula is `F x`.
    pub(crate) fn as_finally(&self, id: Id) -> Option<Id> {
        if let Node::Until(TRUE, operand) = self.node(id) { Some(*operand) } else { None }
    }

    /// `x` when the formula is `G x`.
    pub(crate) fn as_globally(&self, id: Id) -> Option<Id> {
        if let Node::Release(FALSE, operand) = self.node(id) { Some(*operand) } else { None }
    }

    /// `x` when the formula is `G F x`.
    pub(crate) fn as_infinitely_often(&self, id: Id) -> Option<Id> {
        self.as_globally(id).and_then(|inner| self.as_finally(inner))
    }

    /// If it holds somewhere, it holds at all earlier positions.
    pub(crate) fn is_eventual(&self, id: Id) -> bool {
        self.eventual[id.0 as usize]
    }

    /// If it holds, it holds at all later positions.
    pub(crate) fn is_universal(&self, id: Id) -> bool {
        self.universal[id.0 as usize]
    }

    /// Its truth does not depend on any prefix.
    pub(crate) fn is_suspendable(&self, id: Id) -> bool {
        self.is_eventual(id) && self.is_universal(id)
    }

    /// The number of this node. Only the constructors of `rewrite.rs` may pass anything but leaves.
    pub(crate) fn intern(&mut self, node: Node) -> Id {
        if let Some(&known) = self.index.get(&node) {
            return known;
        }
        let id = Id(self.nodes.len() as u32);
        let (eventual, universal) = match &node {
            Node::Boolean(label) => {
                (matches!(*label, label::NONE | label::ALL), matches!(*label, label::NONE | label::ALL))
            }
            Node::And(operands) | Node::Or(operands) => (
                operands.iter().all(|&operand| self.is_eventual(operand)),
                operands.iter().all(|&operand| self.is_universal(operand)),
            ),
            Node::Next(a) => (self.is_eventual(*a), self.is_universal(*a)),
            Node::Until(a, b) => (*a == TRUE, self.is_universal(*a) && self.is_universal(*b)),
            Node::Release(a, b) => (self.is_eventual(*a) && self.is_eventual(*b), *a == FALSE),
        };
        self.nodes.push(node.clone());
        self.eventual.push(eventual);
        self.universal.push(universal);
        self.index.insert(node, id);
        id
    }

    /// Does every word of `x` belong to `y`? `false` means "not seen".
    pub(crate) fn implies(&mut self, x: Id, y: Id) -> bool {
        if x == y || x == FALSE || y == TRUE {
            return true;
        }
        if x == TRUE || y == FALSE {
            return false;
        }
        if let Some(&known) = self.implications.get(&(x, y)) {
            return known;
        }
        if self.labels.is_over() {
            return false;
        }
        let result = self.find_implication(x, y);
        remember(&mut self.implications, (x, y), result);
        result
    }

    fn find_implication(&mut self, x: Id, y: Id) -> bool {
        let (from, to) = (self.node(x).clone(), self.node(y).clone());
        if let (Node::Boolean(from), Node::Boolean(to)) = (&from, &to) {
            return self.labels.implies(*from, *to);
        }
        if let Node::Or(operands) = &from {
            return operands.iter().all(|&operand| self.implies(operand, y));
        }
        if let Node::And(operands) = &to {
            return operands.iter().all(|&operand| self.implies(x, operand));
        }
        let by_target = match &to {
            Node::Or(operands) => operands.iter().any(|&operand| self.implies(x, operand)),
            Node::Until(_, b) => self.implies(x, *b),
            Node::Release(a, b) => self.implies(x, *b) && (self.is_universal(x) || self.implies(x, *a)),
            Node::Next(a) => self.is_universal(x) && self.implies(x, *a),
            _ => false,
        };
        if by_target {
            return true;
        }
        let eventual = self.is_eventual(y);
        match (&from, &to) {
            (Node::Until(a, b), Node::Until(c, d)) if self.implies(*a, *c) && self.implies(*b, *d) => true,
            (Node::Release(a, b), Node::Release(c, d)) if self.implies(*a, *c) && self.implies(*b, *d) => {
                true
            }
            (Node::Next(a), Node::Next(b)) if self.implies(*a, *b) => true,
            (Node::And(operands), _) => operands.iter().any(|&operand| self.implies(operand, y)),
            (Node::Until(a, b), _) => self.implies(*b, y) && (eventual || self.implies(*a, y)),
            (Node::Release(_, b), _) => self.implies(*b, y),
            (Node::Next(a), _) => eventual && self.implies(*a, y),
            _ => false,
        }
    }

    /// Can no word belong to both? `false` means "not seen".
    pub(crate) fn contradict(&mut self, x: Id, y: Id) -> bool {
        let key = (x.min(y), x.max(y));
        if let Some(&known) = self.contradictions.get(&key) {
            return known;
        }
        if self.labels.is_over() {
            return false;
        }
        let result = self.find_contradiction(x, y) || self.find_contradiction(y, x);
        remember(&mut self.contradictions, key, result);
        result
    }

    fn find_contradiction(&mut self, x: Id, y: Id) -> bool {
        match (self.node(x).clone(), self.node(y).clone()) {
            (Node::Boolean(a), Node::Boolean(b)) => self.labels.and(a, b) == label::NONE,
            (Node::Or(operands), _) => operands.iter().all(|&operand| self.contradict(operand, y)),
            (Node::And(operands), _) => operands.iter().any(|&operand| self.contradict(operand, y)),
            (Node::Next(a), Node::Next(b)) => self.contradict(a, b),
            (Node::Next(a), _) => self.is_universal(y) && self.contradict(a, y),
            (Node::Until(a, b), _) => {
                self.contradict(b, y) && (self.is_universal(y) || self.contradict(a, y))
            }
            (Node::Release(_, b), _) => self.contradict(b, y),
            _ => false,
        }
    }

    /// Does every word belong to one of them? `false` means "not seen".
    pub(crate) fn exhaust(&mut self, x: Id, y: Id) -> bool {
        let key = (x.min(y), x.max(y));
        if let Some(&known) = self.exhaustions.get(&key) {
            return known;
        }
        if self.labels.is_over() {
            return false;
        }
        let result = self.find_exhaustion(x, y) || self.find_exhaustion(y, x);
        remember(&mut self.exhaustions, key, result);
        result
    }

    fn find_exhaustion(&mut self, x: Id, y: Id) -> bool {
        match (self.node(x).clone(), self.node(y).clone()) {
            (Node::Boolean(a), Node::Boolean(b)) => self.labels.or(a, b) == label::ALL,
            (Node::And(operands), _) => operands.iter().all(|&operand| self.exhaust(operand, y)),
            (Node::Or(operands), _) => operands.iter().any(|&operand| self.exhaust(operand, y)),
            (Node::Next(a), Node::Next(b)) => self.exhaust(a, b),
            (Node::Next(a), _) => self.is_eventual(y) && self.exhaust(a, y),
            (Node::Release(a, b), _) => self.exhaust(b, y) && (self.is_eventual(y) || self.exhaust(a, y)),
            (Node::Until(_, b), _) => self.exhaust(b, y),
            _ => false,
        }
    }
}

/// Answers kept per relation: some 30 MiB.
const REMEMBERED_MAX: usize = 1 << 20;

/// Keeps an answer; when there are too many, all are forgotten, which costs time only.
fn remember(answers: &mut HashMap<(Id, Id), bool>, pair: (Id, Id), answer: bool) {
    if answers.len() >= REMEMBERED_MAX {
        answers.clear();
    }
    answers.insert(pair, answer);
}
