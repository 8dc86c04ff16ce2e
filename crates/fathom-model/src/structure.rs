//! How are the values of a state nested, as the text of the model nests them?
//!
//! A record of bits is flat: components one behind the other. A [`Structure`] says which of them make up a process, a record, an array. It is as large as the types of the model, not as its states:
//! all elements of an array have one [`Part`], and the place of an element is counted along the way, the outermost index slowest.

use std::sync::Arc;

/// The variables of a model, by name, in the order of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    /// What each is made of.
    pub variables: Vec<(String, Part)>,
}

/// What a part of a state is made of. Components are named by their place in [`Shape::components`](crate::shape::Shape::components).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A value of that component.
    Value(u32),
    /// Parts with names.
    Record(Vec<(String, Part)>),
    /// A process: where it is, and the variables of its own.
    Process {
        /// The component that says where it is.
        location: u32,
        /// Its variables.
        variables: Vec<(String, Part)>,
    },
    /// As many parts of one kind as there are indices.
    Array(Indices, Box<Part>),
    /// Up to so many parts in no order.
    Multiset {
        /// How many slots it has.
        size: u32,
        /// What may be in a slot.
        element: Box<Part>,
        /// The component that says whether a slot is used.
        present: u32,
    },
    /// Messages that wait.
    Channel {
        /// The component that says how many do.
        length: u32,
        /// What a message is made of: components that are arrays over the places of the buffer.
        fields: Vec<u32>,
    },
}

/// What an array is indexed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Indices {
    /// The numbers from 0 on.
    Upto(u32),
    /// Other values: their words.
    Named(Arc<[String]>),
}

impl Indices {
    /// How many there are.
    pub fn len(&self) -> u32 {
        match self {
            Indices::Upto(length) => *length,
            Indices::Named(words) => words.len() as u32,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Part {
    /// A variable that is one value, or an array of so many.
    pub fn plain(component: u32, length: Option<u32>) -> Part {
        let value = Part::Value(component);
        match length {
            Some(length) => Part::Array(Indices::Upto(length), Box::new(value)),
            None => value,
        }
    }
}
