//! What does a search know of a record? Its width, the parts it is made of, and how many of each thing there are.

use crate::domain::Domain;
use crate::record::{read_bits, words_for, write_bits};

/// The form of the records of one system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// How many bits a record has (at least 1).
    pub width_bits: u32,
    /// The parts, most significant first.
    pub components: Vec<Component>,
    /// The names of the labels, in the order of their bits.
    pub labels: Vec<String>,
    /// Steps name actions below this number.
    pub action_count: u32,
    /// The names of the processes; of a model without processes, those of its rules.
    pub processes: Vec<String>,
    /// How many acceptance sets the marks of a step may name.
    pub mark_count: u32,
    /// How many pairs of a request and a response the marks of a step may name beside those: an accepting run that makes a request for ever has the response for ever, too. The marks of responses come after
    /// those of acceptance sets, and those of requests after these; a request is on all steps of a state or on none.
    pub pair_count: u32,
    /// How many buffers of steps a system holds beside the one it fills, for each thread that expands: one for each system that it wraps and whose steps it turns into its own.
    pub inner_buffers: u32,
}

/// A variable as it lies in the record. Element `i` has the code of its value, which is the value less `domain.low`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: ComponentKind,
    /// Which values its codes stand for.
    pub domain: Domain,
    /// The value that stands for being undefined, if it may be.
    pub undefined: Option<i64>,
    /// How many bits each element takes.
    pub element_bits: u32,
    /// How many elements there are, if it is an array.
    pub length: Option<u32>,
    /// The low end of element 0; element `i` begins `i * element_bits` lower.
    pub low: u32,
}

/// What a component is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentKind {
    /// The location of that process, with the locations' names.
    Location {
        /// Whose.
        process: u32,
        /// What the codes are called.
        names: Vec<String>,
    },
    /// Data.
    Variable,
    /// Data whose values, from 0 on, have names.
    Named(Vec<String>),
}

impl Shape {
    /// The mark of the response of a pair, and that of its request.
    pub fn pair_marks(&self, pair: u32) -> (u32, u32) {
        let response = self.mark_count + pair;
        (response, response + self.pair_count)
    }

    /// How many words a record takes.
    pub fn words(&self) -> usize {
        words_for(self.width_bits)
    }
}

impl Component {
    /// How many values it holds.
    pub fn elements(&self) -> u32 {
        self.length.unwrap_or(1)
    }

    /// The low end of an element.
    pub fn element_low(&self, index: u32) -> u32 {
        self.low - index * self.element_bits
    }

    /// The code of an element.
    pub fn code(&self, record: &[u64], index: u32) -> u64 {
        read_bits(record, self.element_low(index), self.element_bits)
    }

    /// The value of an element.
    pub fn value(&self, record: &[u64], index: u32) -> i64 {
        self.domain.low.wrapping_add(self.code(record, index) as i64)
    }

    /// Stores the value of an element, which must be one that the component has room for.
    pub fn store(&self, record: &mut [u64], index: u32, value: i64) {
        let code = value.wrapping_sub(self.domain.low) as u64;
        write_bits(record, self.element_low(index), self.element_bits, code);
    }

    /// The value of an element in words: its name, if values have names, the number, or that there is none.
    pub fn text(&self, record: &[u64], index: u32) -> String {
        let value = self.value(record, index);
        if self.undefined == Some(value) {
            return "undefined".into();
        }
        match &self.kind {
            ComponentKind::Location { names, .. } | ComponentKind::Named(names) => usize::try_from(value)
                .ok()
                .and_then(|value| names.get(value))
                .cloned()
                .unwrap_or_else(|| value.to_string()),
            ComponentKind::Variable => value.to_string(),
        }
    }

    /// The name of an element.
    pub fn element_name(&self, index: u32) -> String {
        match self.length {
            Some(_) => format!("{}[{index}]", self.name),
            None => self.name.clone(),
        }
    }
}
