//! How are the words of a HOA file taken one by one, and where was the mistake?

use crate::diagnostic::{Diagnostic, Span};

use super::words::WordKind;
use super::{Read, Reader, STATES_MAX};

impl Reader<'_> {
    /// A state, or the conjunction of states of an alternating automaton, which is refused.
    pub(super) fn state_number(&mut self) -> Read<usize> {
        let number = self.bounded(STATES_MAX, "states")?;
        if self.peek() == Some(&WordKind::Symbol('&')) {
            self.at += 1;
            return Err(self.refused("universal branching (alternating automata)"));
        }
        Ok(number)
    }

    pub(super) fn bounded(&mut self, most: usize, what: &str) -> Read<usize> {
        let number = self.number()?;
        if number > most {
            return Err(self.wrong_before(&format!("more than {most} {what} are not supported")));
        }
        Ok(number)
    }

    pub(super) fn number(&mut self) -> Read<usize> {
        match self.next() {
            Some(WordKind::Number(number)) => Ok(number),
            _ => Err(self.wrong_before("expected a number")),
        }
    }

    pub(super) fn symbol(&mut self, symbol: char) -> Read<()> {
        match self.next() {
            Some(WordKind::Symbol(found)) if found == symbol => Ok(()),
            _ => Err(self.wrong_before(&format!("expected `{symbol}`"))),
        }
    }

    pub(super) fn peek(&self) -> Option<&WordKind> {
        self.words.get(self.at).map(|word| &word.kind)
    }

    pub(super) fn next(&mut self) -> Option<WordKind> {
        let kind = self.peek().cloned();
        self.at += 1;
        kind
    }

    pub(super) fn here(&self) -> Span {
        self.words.get(self.at).map_or(Span::new(self.end, self.end), |word| word.span)
    }

    /// The word just taken.
    pub(super) fn before(&self) -> Span {
        let word = self.at.checked_sub(1).and_then(|at| self.words.get(at));
        word.map_or(Span::new(self.end, self.end), |word| word.span)
    }

    pub(super) fn wrong(&self, message: &str) -> Diagnostic {
        Diagnostic::new(self.here(), message)
    }

    pub(super) fn wrong_before(&self, message: &str) -> Diagnostic {
        Diagnostic::new(self.before(), message)
    }

    pub(super) fn refused(&self, what: &str) -> Diagnostic {
        Diagnostic::new(self.before(), format!("{what}: not supported"))
            .help("Büchi and generalised Büchi automata are read: `t`, or `Inf(i)` joined by `&`")
    }
}
