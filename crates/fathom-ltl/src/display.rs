//! How is a formula written? Parsing the text again gives the same tree.

use std::fmt;

use crate::atom::AtomId;
use crate::formula::Formula;
use crate::parser;

impl Formula {
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
