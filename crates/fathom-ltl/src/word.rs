//! What is an infinite word that can be written down?
//!
//! A lasso: a stem, then a cycle repeated forever. A letter is the set of atoms that are true, one bit each.

use std::fmt;

/// An ultimately periodic word. The cycle is never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lasso {
    letters: Vec<u64>,
    cycle_start: usize,
}

impl Lasso {
    /// `stem cycle cycle ...`; nothing if the cycle is empty.
    pub fn new(stem: &[u64], cycle: &[u64]) -> Option<Self> {
        if cycle.is_empty() {
            return None;
        }
        Some(Lasso { letters: [stem, cycle].concat(), cycle_start: stem.len() })
    }

    /// The letters before the cycle.
    pub fn stem(&self) -> &[u64] {
        &self.letters[..self.cycle_start]
    }

    /// The letters of the cycle.
    pub fn cycle(&self) -> &[u64] {
        &self.letters[self.cycle_start..]
    }

    /// Stem and cycle in one.
    pub fn letters(&self) -> &[u64] {
        &self.letters
    }

    /// The position after `position` among [`Self::letters`]: the last leads back to the start of the cycle.
    pub fn next(&self, position: usize) -> usize {
        if position + 1 < self.letters.len() { position + 1 } else { self.cycle_start }
    }
}

impl fmt::Display for Lasso {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.stem() {
            write!(f, "{letter:#b} ")?;
        }
        f.write_str("(")?;
        for (index, letter) in self.cycle().iter().enumerate() {
            write!(f, "{}{letter:#b}", if index > 0 { " " } else { "" })?;
        }
        f.write_str(")")
    }
}
