//! What does the head of a HOA file announce?

use crate::atom::ATOMS_MAX;
use crate::automaton::MARKS_MAX;
use crate::diagnostic::Diagnostic;

use super::words::WordKind;
use super::{Read, Reader, STATES_MAX};

impl Reader<'_> {
    pub(super) fn header(&mut self) -> Read<()> {
        match self.next() {
            Some(WordKind::Header(name)) if name == "HOA" => {}
            _ => return Err(self.wrong_before("a HOA file begins with `HOA: v1`")),
        }
        match self.next() {
            Some(WordKind::Name(version)) if version == "v1" => {}
            _ => return Err(self.wrong_before("only version `v1` is supported")),
        }
        loop {
            match self.next() {
                Some(WordKind::Header(name)) => self.header_item(&name)?,
                Some(WordKind::Body) => break,
                Some(WordKind::Abort) => return Err(self.wrong_before("the automaton was aborted")),
                _ => return Err(self.wrong_before("expected a header or `--BODY--`")),
            }
        }
        if self.header.marks.is_none() {
            return Err(self.wrong_before("the header `Acceptance:` is missing"));
        }
        if self.labels.exhausted() {
            return Err(self.wrong_before("the aliases are too large"));
        }
        Ok(())
    }

    fn header_item(&mut self, name: &str) -> Read<()> {
        let span = self.before();
        let once = |taken: bool| {
            if taken { Err(Diagnostic::new(span, format!("`{name}:` is given twice"))) } else { Ok(()) }
        };
        match name {
            "States" => {
                once(self.header.states.is_some())?;
                self.header.states = Some(self.bounded(STATES_MAX, "states")?);
            }
            "Start" => {
                let start = self.state_number()?;
                self.header.starts.push(start);
            }
            "AP" => {
                once(self.header.atoms.is_some())?;
                self.atoms()?;
            }
            "Alias" => self.alias()?,
            "Acceptance" => {
                once(self.header.marks.is_some())?;
                let count = self.bounded(MARKS_MAX as usize, "acceptance sets")? as u32;
                self.header.marks = Some(count);
                self.header.used_marks = self.condition(count)?;
            }
            "name" => match self.next() {
                Some(WordKind::Text(text)) => self.header.name = Some(text),
                _ => return Err(self.wrong_before("expected the name in double quotes")),
            },
            _ if name.starts_with(|c: char| c.is_ascii_uppercase()) && name != "HOA" => {
                return Err(Diagnostic::new(span, format!("the header `{name}:` is not supported")));
            }
            "HOA" => return Err(Diagnostic::new(span, "`HOA:` is given twice")),
            // Lower-case headers (`tool:`, `acc-name:`, `properties:`) may be ignored.
            _ => {
                while !matches!(
                    self.peek(),
                    None | Some(WordKind::Header(_) | WordKind::Body | WordKind::Abort)
                ) {
                    self.at += 1;
                }
            }
        }
        Ok(())
    }

    fn atoms(&mut self) -> Read<()> {
        let count = self.bounded(ATOMS_MAX, "atoms")?;
        let mut atoms = Vec::new();
        for _ in 0..count {
            match self.next() {
                Some(WordKind::Text(text)) => atoms.push(text),
                _ => return Err(self.wrong_before("expected an atom in double quotes")),
            }
        }
        if let Some(WordKind::Text(_)) = self.peek() {
            return Err(self.wrong("more atoms than announced"));
        }
        self.header.atoms = Some(atoms);
        Ok(())
    }

    fn alias(&mut self) -> Read<()> {
        let Some(WordKind::Alias(name)) = self.next() else {
            return Err(self.wrong_before("expected `@` and a name"));
        };
        if self.header.aliases.contains_key(&name) {
            return Err(self.wrong_before("this alias is given twice"));
        }
        let label = self.disjunction(0)?;
        self.header.aliases.insert(name, label);
        Ok(())
    }

    /// `t`, or `Inf(i)` joined by `&`, with parentheses anywhere: the set of the `i`.
    fn condition(&mut self, count: u32) -> Read<u64> {
        let mut used = 0;
        let mut open = 0usize;
        loop {
            match self.next() {
                Some(WordKind::Symbol('(')) => {
                    open += 1;
                    continue;
                }
                Some(WordKind::Name(name)) if name == "t" => {}
                Some(WordKind::Name(name)) if name == "Inf" => {
                    self.symbol('(')?;
                    if self.peek() == Some(&WordKind::Symbol('!')) {
                        return Err(self.wrong("a complemented acceptance set, `Inf(!i)`, is not supported"));
                    }
                    let set = self.number()?;
                    if set >= count as usize {
                        return Err(self.wrong_before("no such acceptance set"));
                    }
                    self.symbol(')')?;
                    used |= 1u64 << set;
                }
                Some(WordKind::Name(name)) if name == "Fin" => {
                    return Err(self.refused("`Fin` acceptance (co-Büchi, Rabin, Streett, parity)"));
                }
                Some(WordKind::Name(name)) if name == "f" => return Err(self.refused("acceptance `f`")),
                _ => return Err(self.wrong_before("expected `t` or `Inf(i)`")),
            }
            while open > 0 && self.peek() == Some(&WordKind::Symbol(')')) {
                self.at += 1;
                open -= 1;
            }
            match self.peek() {
                Some(WordKind::Symbol('&')) => self.at += 1,
                Some(WordKind::Symbol('|')) => {
                    self.at += 1;
                    return Err(self.refused("a disjunction of acceptance sets"));
                }
                _ if open > 0 => return Err(self.wrong("expected `)`")),
                _ => return Ok(used),
            }
        }
    }
}
