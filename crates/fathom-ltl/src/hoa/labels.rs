//! Which letters does a label of a HOA file name?

use crate::label::{self, Label};

use super::words::WordKind;
use super::{Read, Reader};

const DEPTH_MAX: usize = 200;

impl Reader<'_> {
    pub(super) fn disjunction(&mut self, depth: usize) -> Read<Label> {
        let mut label = self.conjunction(depth)?;
        while self.peek() == Some(&WordKind::Symbol('|')) {
            self.at += 1;
            let other = self.conjunction(depth)?;
            label = self.labels.or(label, other);
        }
        Ok(label)
    }

    fn conjunction(&mut self, depth: usize) -> Read<Label> {
        let mut label = self.literal(depth)?;
        while self.peek() == Some(&WordKind::Symbol('&')) {
            self.at += 1;
            let other = self.literal(depth)?;
            label = self.labels.and(label, other);
        }
        Ok(label)
    }

    fn literal(&mut self, depth: usize) -> Read<Label> {
        if depth == DEPTH_MAX {
            return Err(self.wrong("the label is nested too deeply"));
        }
        match self.next() {
            Some(WordKind::Symbol('!')) => {
                let label = self.literal(depth + 1)?;
                Ok(self.labels.not(label))
            }
            Some(WordKind::Symbol('(')) => {
                let label = self.disjunction(depth + 1)?;
                self.symbol(')')?;
                Ok(label)
            }
            Some(WordKind::Name(name)) if name == "t" => Ok(label::ALL),
            Some(WordKind::Name(name)) if name == "f" => Ok(label::NONE),
            Some(WordKind::Number(atom)) => {
                let known = self.header.atoms.as_ref().map_or(0, Vec::len);
                if atom >= known {
                    return Err(self.wrong_before("no such atom"));
                }
                Ok(self.labels.atom(atom, true))
            }
            Some(WordKind::Alias(name)) => match self.header.aliases.get(&name) {
                Some(&label) => Ok(label),
                None => Err(self.wrong_before("no such alias")),
            },
            _ => Err(self.wrong_before("expected a label")),
        }
    }
}
