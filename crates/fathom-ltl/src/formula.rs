//! What is a formula of linear temporal logic?
//!
//! The tree as the user wrote it: no rewriting happens here. `And` and `Or` hold two operands or more, in order.

use crate::atom::AtomId;

/// A formula. `Release`, `WeakUntil` and `StrongRelease` are the usual relatives of `Until`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// Holds of every word.
    True,
    /// Holds of none.
    False,
    /// The first letter contains the atom.
    Atom(AtomId),
    /// Does not hold.
    Not(Box<Formula>),
    /// All hold.
    And(Vec<Formula>),
    /// One holds.
    Or(Vec<Formula>),
    /// If the first, then the second.
    Implies(Box<Formula>, Box<Formula>),
    /// Both or none.
    Iff(Box<Formula>, Box<Formula>),
    /// Holds of the word without its first letter.
    Next(Box<Formula>),
    /// Holds of some suffix.
    Finally(Box<Formula>),
    /// Holds of every suffix.
    Globally(Box<Formula>),
    /// The second holds of some suffix, the first of all before it.
    Until(Box<Formula>, Box<Formula>),
    /// The second holds of all suffixes up to and including one of which the first holds, or of all.
    Release(Box<Formula>, Box<Formula>),
    /// `Until`, or the first holds forever.
    WeakUntil(Box<Formula>, Box<Formula>),
    /// `Release`, and the first does hold at some time.
    StrongRelease(Box<Formula>, Box<Formula>),
}

impl Formula {
    /// The negation, without rewriting.
    #[must_use]
    pub fn negated(&self) -> Formula {
        Formula::Not(Box::new(self.clone()))
    }

    /// The operands, left to right.
    pub fn operands(&self) -> Vec<&Formula> {
        match self {
            Formula::True | Formula::False | Formula::Atom(_) => Vec::new(),
            Formula::Not(a) | Formula::Next(a) | Formula::Finally(a) | Formula::Globally(a) => vec![a],
            Formula::And(operands) | Formula::Or(operands) => operands.iter().collect(),
            Formula::Implies(a, b)
            | Formula::Iff(a, b)
            | Formula::Until(a, b)
            | Formula::Release(a, b)
            | Formula::WeakUntil(a, b)
            | Formula::StrongRelease(a, b) => vec![a, b],
        }
    }

    /// Whether a temporal operator is in it.
    pub fn is_temporal(&self) -> bool {
        let own = !matches!(
            self,
            Formula::True
                | Formula::False
                | Formula::Atom(_)
                | Formula::Not(_)
                | Formula::And(_)
                | Formula::Or(_)
                | Formula::Implies(..)
                | Formula::Iff(..)
        );
        own || self.operands().into_iter().any(Formula::is_temporal)
    }

    /// The letter in which all its atoms are true.
    pub fn atoms(&self) -> u64 {
        match self {
            Formula::Atom(atom) => atom.bit(),
            _ => self.operands().into_iter().fold(0, |atoms, operand| atoms | operand.atoms()),
        }
    }

    /// The same formula with other numbers for its atoms.
    #[must_use]
    pub fn renumbered(&self, number: &dyn Fn(AtomId) -> AtomId) -> Formula {
        let one = |a: &Formula| Box::new(a.renumbered(number));
        let all = |operands: &[Formula]| operands.iter().map(|operand| operand.renumbered(number)).collect();
        match self {
            Formula::True => Formula::True,
            Formula::False => Formula::False,
            Formula::Atom(atom) => Formula::Atom(number(*atom)),
            Formula::Not(a) => Formula::Not(one(a)),
            Formula::And(operands) => Formula::And(all(operands)),
            Formula::Or(operands) => Formula::Or(all(operands)),
            Formula::Implies(a, b) => Formula::Implies(one(a), one(b)),
            Formula::Iff(a, b) => Formula::Iff(one(a), one(b)),
            Formula::Next(a) => Formula::Next(one(a)),
            Formula::Finally(a) => Formula::Finally(one(a)),
            Formula::Globally(a) => Formula::Globally(one(a)),
            Formula::Until(a, b) => Formula::Until(one(a), one(b)),
            Formula::Release(a, b) => Formula::Release(one(a), one(b)),
            Formula::WeakUntil(a, b) => Formula::WeakUntil(one(a), one(b)),
            Formula::StrongRelease(a, b) => Formula::StrongRelease(one(a), one(b)),
        }
    }

    /// The number of nodes of the tree.
    pub fn size(&self) -> usize {
        1 + self.operands().into_iter().map(Formula::size).sum::<usize>()
    }

    /// The most nodes that lie inside one another.
    pub fn height(&self) -> usize {
        1 + self.operands().into_iter().map(Formula::height).max().unwrap_or(0)
    }
}
