//! What is known of the words of a record while a body is compiled that changes it?

use cranelift_codegen::ir::Value;
use fathom_model::layout::Field;
use fathom_model::program::VariableId;

use super::operand::Operand;

/// The words of a record under change.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) words: Vec<Word>,
    /// Scalars and elements that were written, with their values.
    pub(super) known: Vec<(VariableId, u32, Operand)>,
    /// Arrays that were written at a computed index: what is known of them besides `known` is in the words.
    pub(super) scattered: Vec<VariableId>,
    /// Where words in memory are.
    pub(super) place: Option<Value>,
    /// The variables that are written anywhere in a body whose record is kept in memory, in order: their bits are read there.
    pub(super) kept: Vec<VariableId>,
}

/// A word of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) base: Base,
    pub(super) clear: u64,
    pub(super) set: Option<Value>,
    pub(super) constant: u64,
    pub(super) flip: u64,
}

/// What a word was before what is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// As in the source.
    Source,
    /// In a register.
    Register(Value),
    /// In memory, at the place.
    Memory,
}

/// Some bits of one word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits {
    pub(super) word: usize,
    pub(super) shift: u32,
    pub(super) width: u32,
}

/// As in the source.
pub(super) const UNCHANGED: Word = Word { base: Base::Source, clear: 0, set: None, constant: 0, flip: 0 };

impl Word {
    pub(super) fn is_pending(&self) -> bool {
        self.clear != 0 || self.flip != 0
    }
}

impl View {
    /// A record of so many words, nothing changed.
    pub(super) fn new(words: usize) -> View {
        View {
            words: vec![UNCHANGED; words],
            known: Vec::new(),
            scattered: Vec::new(),
            place: None,
            kept: Vec::new(),
        }
    }

    /// Forgets all changes.
    pub(super) fn reset(&mut self) {
        self.words.fill(UNCHANGED);
        self.known.clear();
        self.scattered.clear();
        self.place = None;
        self.kept.clear();
    }

    /// Whether a variable is read and written in memory.
    pub(super) fn is_kept(&self, variable: VariableId) -> bool {
        self.kept.binary_search(&variable).is_ok()
    }

    /// Whether anything of a variable was written.
    pub(super) fn touches(&self, variable: VariableId) -> bool {
        self.scattered.contains(&variable)
            || self.known.iter().any(|known| known.0 == variable)
            || self.is_kept(variable)
    }

    /// The value last written to a place, if it is known.
    pub(super) fn written(&self, variable: VariableId, element: u32) -> Option<Operand> {
        let same = |known: &&(VariableId, u32, Operand)| known.0 == variable && known.1 == element;
        self.known.iter().rev().find(same).map(|known| known.2)
    }
}

impl Bits {
    /// The bits of an element that lies in one word; none if it straddles two.
    pub(super) fn of(field: &Field, element: u32, words: usize) -> Option<Bits> {
        let low = field.element_low(element);
        let (shift, width) = (low % 64, field.element_bits);
        let word = words.checked_sub(1 + (low / 64) as usize)?;
        (shift + width <= 64).then_some(Bits { word, shift, width })
    }

    /// The bits as a mask of the word.
    pub(super) fn mask(self) -> u64 {
        ones(self.width) << self.shift
    }
}

/// So many ones at the low end.
pub(super) fn ones(width: u32) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - width) }
}

/// The first and last word of a field, most significant first.
pub(super) fn words_of(field: &Field, words: usize) -> (usize, usize) {
    let lowest = field.element_low(field.elements - 1);
    let highest = (field.low + field.element_bits).saturating_sub(1).max(lowest);
    (words - 1 - (highest / 64) as usize, words - 1 - (lowest / 64) as usize)
}
