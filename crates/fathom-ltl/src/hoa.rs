//! Which automaton does a HOA file describe?
//!
//! The Hanoi Omega-Automata format, version 1: state- and transition-based acceptance, Büchi and generalised Büchi
//! (`Acceptance` is `t` or a conjunction of `Inf(i)`), labels on states or edges, implicit labels, aliases, any number of
//! initial states. Everything else is refused by name. One automaton is read; what follows `--END--` is ignored.

use std::collections::HashMap;

use crate::automaton::Automaton;
use crate::diagnostic::Diagnostic;
use crate::label::{Label, Labels};

mod body;
mod header;
mod labels;
mod reader;
mod words;

use words::Word;

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

/// What was announced so far.
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

/// The words, the place reached, and what they meant so far.
struct Reader<'a> {
    words: &'a [Word],
    at: usize,
    end: usize,
    labels: Labels,
    header: Header,
}

type Read<T> = Result<T, Diagnostic>;
