//! Which automaton does a HOA file describe?
//!
//! The Hanoi Omega-Automata format, version 1: state- and transition-based acceptance, Büchi and generalised Büchi
//! (`Acceptance` is `t` or a conjunction of `Inf(i)`), labels on states or edges, implicit labels, aliases, any number of
//! initial states. Everything else is refused by name. One automaton is read; what follows `--END--` is ignored.

use std::collections::HashMap;

use crate::atom::ATOMS_MAX;
use crate::automaton::{Automaton, Edge, MARKS_MAX, Placement, StateId};
use crate::diagnostic::{Diagnostic, Span};
use crate::label::{self, Label, Labels};

mod words;

use words::{Word, WordKind};

/// An automaton and what the file says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoaFile {
    /// The automaton. Several initial states, or none, become one without a way back.
    pub automaton: Automaton,
    /// The texts of its atoms.
    pub atoms: Vec<String>,
    /// The name, if it has one.
    pub name: Option<String>,
}

const STATES_MAX: usize = 1_000_000;
/// With implicit labels every state has two to this many edges.
const IMPLICIT_ATOMS_MAX: usize = 16;
const DEPTH_MAX: usize = 200;
const LABEL_NODES_MAX: usize = 1 << 20;

/// Reads the first automaton of a file.
///
/// # Errors
/// The first mistake, or the first feature that is not supported.
pub fn read(source: &str) -> Result<HoaFile, Diagnostic> {
    let words = words::split(source)?;
    let mut reader = Reader {
        words: &words,
        at: 0,
        end: source.len(),
        labels: Labels::new(LABEL_NODES_MAX),
        header: Header::default(),
    };
    reader.header()?;
    reader.body()
}

#[derive(Default)]
struct Header {
    states: Option<usize>,
    starts: Vec<usize>,
    atoms: Option<Vec<String>>,
    aliases: HashMap<String, Label>,
    marks: Option<u32>,
    /// Bit `i` of a file's acceptance set is mark `i`, when the condition speaks of it.
    used_marks: u64,
    name: Option<String>,
}

struct Reader<'a> {
    words: &'a [Word],
    at: usize,
    end: usize,
    labels: Labels,
    header: Header,
}

/// A state of the body while it is read.
struct OpenState {
    number: usize,
    label: Option<Label>,
    marks: u64,
    edges: Vec<(Option<Label>, usize, u64)>,
    span: Span,
}

type Read<T> = Result<T, Diagnostic>;

impl Reader<'_> {
    fn header(&mut self) -> Read<()> {
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

    fn body(mut self) -> Read<HoaFile> {
        let mut states: HashMap<usize, OpenState> = HashMap::new();
        loop {
            match self.next() {
                Some(WordKind::Header(name)) if name == "State" => {
                    let state = self.state()?;
                    let (number, span) = (state.number, state.span);
                    if states.insert(number, state).is_some() {
                        return Err(Diagnostic::new(span, format!("state {number} is described twice")));
                    }
                }
                Some(WordKind::End) => break,
                Some(WordKind::Abort) => return Err(self.wrong_before("the automaton was aborted")),
                _ => return Err(self.wrong_before("expected `State:` or `--END--`")),
            }
        }
        self.finish(states)
    }

    fn state(&mut self) -> Read<OpenState> {
        let label = self.optional_label()?;
        let number = self.state_number()?;
        let span = self.before();
        if let Some(WordKind::Text(_)) = self.peek() {
            self.at += 1;
        }
        let marks = self.signature()?;
        let mut state = OpenState { number, label, marks, edges: Vec::new(), span };
        while matches!(self.peek(), Some(WordKind::Number(_) | WordKind::Symbol('['))) {
            let here = self.here();
            let own = self.optional_label()?;
            if own.is_some() && label.is_some() {
                return Err(Diagnostic::new(here, "both the state and this edge have a label"));
            }
            let target = self.state_number()?;
            let marks = self.signature()?;
            state.edges.push((own, target, marks));
        }
        Ok(state)
    }

    fn optional_label(&mut self) -> Read<Option<Label>> {
        if self.peek() != Some(&WordKind::Symbol('[')) {
            return Ok(None);
        }
        self.at += 1;
        let label = self.disjunction(0)?;
        self.symbol(']')?;
        if self.labels.exhausted() {
            return Err(self.wrong_before("the labels are too large"));
        }
        Ok(Some(label))
    }

    /// `{0 2}` as a set of marks.
    fn signature(&mut self) -> Read<u64> {
        let mut marks = 0;
        if self.peek() != Some(&WordKind::Symbol('{')) {
            return Ok(0);
        }
        self.at += 1;
        while self.peek() != Some(&WordKind::Symbol('}')) {
            let set = self.number()?;
            if set >= self.header.marks.unwrap_or(0) as usize {
                return Err(self.wrong_before("no such acceptance set"));
            }
            marks |= 1 << set;
        }
        self.at += 1;
        Ok(marks)
    }

    fn disjunction(&mut self, depth: usize) -> Read<Label> {
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

    fn finish(mut self, states: HashMap<usize, OpenState>) -> Read<HoaFile> {
        let highest = states
            .values()
            .flat_map(|state| state.edges.iter().map(|edge| edge.1).chain([state.number]))
            .chain(self.header.starts.iter().copied())
            .max();
        let count = self.header.states.unwrap_or(highest.map_or(0, |highest| highest + 1));
        if highest.is_some_and(|highest| highest >= count) {
            return Err(self.wrong_before(&format!("a state is not among the {count} announced")));
        }
        let atoms = self.header.atoms.clone().unwrap_or_default();
        let mut edges: Vec<Vec<Edge>> = vec![Vec::new(); count];
        for (number, state) in states {
            edges[number] = self.edges_of(&state, atoms.len())?;
        }
        let (initial, edges) = single_start(&self.header.starts, edges);
        let uniform = |edges: &Vec<Edge>| edges.iter().all(|edge| edge.marks == edges[0].marks);
        let placement = if edges.iter().all(uniform) { Placement::State } else { Placement::Transition };
        let automaton = Automaton {
            atom_count: atoms.len(),
            mark_count: self.header.used_marks.count_ones(),
            initial: StateId(initial as u32),
            states: edges,
            placement,
        };
        if self.labels.exhausted() {
            return Err(self.wrong_before("the labels are too large"));
        }
        Ok(HoaFile { automaton, atoms, name: self.header.name })
    }

    fn edges_of(&mut self, state: &OpenState, atom_count: usize) -> Read<Vec<Edge>> {
        let implicit = state.label.is_none() && state.edges.iter().all(|edge| edge.0.is_none());
        if implicit && !state.edges.is_empty() {
            if atom_count > IMPLICIT_ATOMS_MAX {
                let message =
                    format!("implicit labels with more than {IMPLICIT_ATOMS_MAX} atoms are not supported");
                return Err(Diagnostic::new(state.span, message));
            }
            if state.edges.len() != 1 << atom_count {
                let message = format!("with implicit labels this state needs {} edges", 1u64 << atom_count);
                return Err(Diagnostic::new(state.span, message));
            }
        }
        let mut edges = Vec::new();
        for (position, &(own, target, marks)) in state.edges.iter().enumerate() {
            let label = match own.or(state.label) {
                Some(label) => label,
                None if implicit => self.letter(position, atom_count),
                None => {
                    return Err(Diagnostic::new(
                        state.span,
                        "some edges of this state have a label, some do not",
                    ));
                }
            };
            if label != label::NONE {
                let marks = compressed(marks | state.marks, self.header.used_marks);
                edges.push(Edge { guard: self.labels.guard(label), target: StateId(target as u32), marks });
            }
        }
        Ok(edges)
    }

    fn letter(&mut self, letter: usize, atom_count: usize) -> Label {
        let mut label = label::ALL;
        for atom in (0..atom_count).rev() {
            let literal = self.labels.atom(atom, letter >> atom & 1 == 1);
            label = self.labels.and(label, literal);
        }
        label
    }

    /// A state, or the conjunction of states of an alternating automaton, which is refused.
    fn state_number(&mut self) -> Read<usize> {
        let number = self.bounded(STATES_MAX, "states")?;
        if self.peek() == Some(&WordKind::Symbol('&')) {
            self.at += 1;
            return Err(self.refused("universal branching (alternating automata)"));
        }
        Ok(number)
    }

    fn bounded(&mut self, most: usize, what: &str) -> Read<usize> {
        let number = self.number()?;
        if number > most {
            return Err(self.wrong_before(&format!("more than {most} {what} are not supported")));
        }
        Ok(number)
    }

    fn number(&mut self) -> Read<usize> {
        match self.next() {
            Some(WordKind::Number(number)) => Ok(number),
            _ => Err(self.wrong_before("expected a number")),
        }
    }

    fn symbol(&mut self, symbol: char) -> Read<()> {
        match self.next() {
            Some(WordKind::Symbol(found)) if found == symbol => Ok(()),
            _ => Err(self.wrong_before(&format!("expected `{symbol}`"))),
        }
    }

    fn peek(&self) -> Option<&WordKind> {
        self.words.get(self.at).map(|word| &word.kind)
    }

    fn next(&mut self) -> Option<WordKind> {
        let kind = self.peek().cloned();
        self.at += 1;
        kind
    }

    fn here(&self) -> Span {
        self.words.get(self.at).map_or(Span::new(self.end, self.end), |word| word.span)
    }

    /// The word just taken.
    fn before(&self) -> Span {
        let word = self.at.checked_sub(1).and_then(|at| self.words.get(at));
        word.map_or(Span::new(self.end, self.end), |word| word.span)
    }

    fn wrong(&self, message: &str) -> Diagnostic {
        Diagnostic::new(self.here(), message)
    }

    fn wrong_before(&self, message: &str) -> Diagnostic {
        Diagnostic::new(self.before(), message)
    }

    fn refused(&self, what: &str) -> Diagnostic {
        Diagnostic::new(self.before(), format!("{what}: not supported"))
            .help("Büchi and generalised Büchi automata are read: `t`, or `Inf(i)` joined by `&`")
    }
}

/// The bits of `marks` that stand in `used`, moved together.
fn compressed(marks: u64, used: u64) -> u64 {
    let mut result = 0;
    for (new, old) in (0..64).filter(|mark| used >> mark & 1 == 1).enumerate() {
        result |= (marks >> old & 1) << new;
    }
    result
}

/// One initial state: a fresh one with the edges of all, unless there is just one.
fn single_start(starts: &[usize], mut edges: Vec<Vec<Edge>>) -> (usize, Vec<Vec<Edge>>) {
    if let [start] = starts {
        return (*start, edges);
    }
    let mut all: Vec<Edge> = starts.iter().flat_map(|&start| edges[start].clone()).collect();
    for edge in &mut all {
        // It is never visited again: its marks decide nothing, and equal ones keep a promise about states.
        edge.marks = 0;
    }
    all.sort_unstable();
    all.dedup();
    edges.push(all);
    (edges.len() - 1, edges)
}
