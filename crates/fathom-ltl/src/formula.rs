//! What is a formula of linear temporal logic, and how is it written?
//!
//! The tree as the user wrote it: no rewriting happens here. `And` and `Or` hold two operands or more, in order.
//! Printing and parsing again gives the same tree.

use std::fmt;

use crate::atom::AtomId;
use crate::parser;

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

    /// The formula as text, with `names[i]` for atom `i`, in double quotes where it could not stand in place; atoms
    /// without a name are called `p0`, `p1` and so on. Operators are spelled `G F X U R W M ! && || -> <->`.
    pub fn display<'a, S: AsRef<str>>(&'a self, names: &'a [S]) -> impl fmt::Display + 'a {
        Shown { formula: self, names }
    }
}

struct Shown<'a, S> {
    formula: &'a Formula,
    names: &'a [S],
}

/// How tightly the topmost operator binds; what is looser than its place needs parentheses.
fn strength(formula: &Formula) -> u8 {
    match formula {
        Formula::Iff(..) => 0,
        Formula::Implies(..) => 1,
        Formula::Or(_) => 2,
        Formula::And(_) => 3,
        Formula::Until(..) | Formula::Release(..) | Formula::WeakUntil(..) | Formula::StrongRelease(..) => 4,
        _ => 5,
    }
}

impl<S: AsRef<str>> fmt::Display for Shown<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, self.formula, 0)
    }
}

impl<S: AsRef<str>> Shown<'_, S> {
    fn write(&self, f: &mut fmt::Formatter<'_>, formula: &Formula, least: u8) -> fmt::Result {
        let own = strength(formula);
        let parentheses = own < least;
        if parentheses {
            f.write_str("(")?;
        }
        match formula {
            Formula::True => f.write_str("true")?,
            Formula::False => f.write_str("false")?,
            Formula::Atom(atom) => f.write_str(&atom_text(*atom, self.names))?,
            Formula::Not(a) => self.unary(f, "!", a)?,
            Formula::Next(a) => self.unary(f, "X ", a)?,
            Formula::Finally(a) => self.unary(f, "F ", a)?,
            Formula::Globally(a) => self.unary(f, "G ", a)?,
            Formula::And(operands) => self.chain(f, operands, " && ", own)?,
            Formula::Or(operands) => self.chain(f, operands, " || ", own)?,
            Formula::Implies(a, b) => self.binary(f, a, " -> ", b, own)?,
            Formula::Iff(a, b) => self.binary(f, a, " <-> ", b, own)?,
            Formula::Until(a, b) => self.binary(f, a, " U ", b, own)?,
            Formula::Release(a, b) => self.binary(f, a, " R ", b, own)?,
            Formula::WeakUntil(a, b) => self.binary(f, a, " W ", b, own)?,
            Formula::StrongRelease(a, b) => self.binary(f, a, " M ", b, own)?,
        }
        if parentheses { f.write_str(")") } else { Ok(()) }
    }

    fn unary(&self, f: &mut fmt::Formatter<'_>, operator: &str, operand: &Formula) -> fmt::Result {
        f.write_str(operator)?;
        let comparison = matches!(operand, Formula::Atom(atom) if atom_text(*atom, self.names).contains(' '));
        if comparison {
            // `!x == 3` means what it should, but nobody reads it so.
            f.write_str("(")?;
            self.write(f, operand, 0)?;
            return f.write_str(")");
        }
        self.write(f, operand, 5)
    }

    /// Right-associative.
    fn binary(
        &self,
        f: &mut fmt::Formatter<'_>,
        a: &Formula,
        operator: &str,
        b: &Formula,
        own: u8,
    ) -> fmt::Result {
        self.write(f, a, own + 1)?;
        f.write_str(operator)?;
        self.write(f, b, own)
    }

    fn chain(
        &self,
        f: &mut fmt::Formatter<'_>,
        operands: &[Formula],
        operator: &str,
        own: u8,
    ) -> fmt::Result {
        for (index, operand) in operands.iter().enumerate() {
            if index > 0 {
                f.write_str(operator)?;
            }
            self.write(f, operand, own + 1)?;
        }
        Ok(())
    }
}

fn atom_text<S: AsRef<str>>(atom: AtomId, names: &[S]) -> String {
    match names.get(atom.index()) {
        None => format!("p{}", atom.index()),
        Some(name) if parser::stands_in_place(name.as_ref()) => name.as_ref().to_owned(),
        Some(name) => format!("\"{}\"", name.as_ref().replace('\\', "\\\\").replace('"', "\\\"")),
    }
}
