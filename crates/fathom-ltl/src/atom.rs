//! Which atomic propositions does a formula speak of?
//!
//! The formula parser knows the outline of an atom only (a comparison, `P.s`, a name, anything in double quotes); what
//! it means is the business of the model's language, behind [`AtomLanguage`]. Atoms are numbered from zero, and a
//! letter of a word is a set of atoms in a `u64`: hence at most 64 of them.

use crate::diagnostic::{Diagnostic, Span};
use crate::lexer;

/// The greatest number of different atoms in one formula or automaton: a letter is one machine word.
pub const ATOMS_MAX: usize = 64;

/// The number of an atom: its bit in a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AtomId(u8);

impl AtomId {
    /// The atom with this number, or nothing from [`ATOMS_MAX`] on.
    pub fn new(index: usize) -> Option<Self> {
        if index < ATOMS_MAX { Some(AtomId(index as u8)) } else { None }
    }

    /// Its number.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The letter in which it alone is true.
    pub fn bit(self) -> u64 {
        1 << self.0
    }
}

/// An atom as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtomText {
    /// The text in a canonical spacing, so that equal atoms have equal texts; brackets are not escaped.
    pub text: String,
    /// Set for the form `L=="T"`: `T` is a state of the process `L`, or an integer that the variable `L` equals.
    pub equals: Option<(String, String)>,
    /// Where it stands in the source.
    pub span: Span,
}

/// Gives atoms their numbers: the seam to the language of the model.
pub trait AtomLanguage {
    /// The number of this atom (the same for the same atom), or what is wrong with it; the diagnostic's span should lie
    /// in `atom.span`.
    ///
    /// # Errors
    /// When the text is no proposition of the language, or when there are too many.
    fn atom(&mut self, atom: &AtomText) -> Result<AtomId, Diagnostic>;
}

/// The language that takes every atom as it stands and numbers the different texts in order of appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtomTable {
    names: Vec<String>,
}

impl AtomTable {
    /// No atom yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The atoms `names`, brought to canonical spacing; nothing if there are more than [`ATOMS_MAX`] or a repeated one.
    pub fn from_names<S: AsRef<str>>(names: &[S]) -> Option<Self> {
        let mut table = Self::new();
        for (index, name) in names.iter().enumerate() {
            if table.insert(&lexer::canonical_atom(name.as_ref()))?.index() != index {
                return None;
            }
        }
        Some(table)
    }

    /// The texts, by number.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of this text, given now if it is new; nothing once there are [`ATOMS_MAX`].
    pub fn insert(&mut self, text: &str) -> Option<AtomId> {
        if let Some(index) = self.names.iter().position(|name| name == text) {
            return AtomId::new(index);
        }
        let id = AtomId::new(self.names.len())?;
        self.names.push(text.to_owned());
        Some(id)
    }
}

impl AtomLanguage for AtomTable {
    fn atom(&mut self, atom: &AtomText) -> Result<AtomId, Diagnostic> {
        self.insert(&atom.text).ok_or_else(|| {
            Diagnostic::new(atom.span, format!("more than {ATOMS_MAX} different atoms"))
                .help("name a larger boolean expression as one atom, in double quotes")
        })
    }
}
