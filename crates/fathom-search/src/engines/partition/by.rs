//! By what are states parted?
//!
//! Every state has a value, and partitions are ranges of values, split within a value by records. A hash spreads states evenly, and nearly every step leads to another partition. A sum of bits or some
//! components change seldom or little in a step, so that more steps stay where they are.

use fathom_disk::hash::{for_caches, hash_key};
use fathom_model::shape::{Component, Shape};

use crate::error::SearchError;
use crate::progress::measure::{Measure, Order, Part};

/// By what states are parted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A hash of the record.
    Hash,
    /// How many bits of the record are set: the hash function of Murphi.
    Bits,
    /// Components of the record, the first counts most.
    Components(Measure),
}

/// Bits of a hash that are looked at. Partitions that are smaller than the states of one hash are ranges of records. With more bits the records of a hash would be fewer and further from each other, and take more bytes in files.
const HASH_BITS: u32 = 8;

impl By {
    /// The value of a state.
    #[inline]
    pub(super) fn value(&self, record: &[u64]) -> u64 {
        match self {
            By::Hash => for_caches(hash_key(record)) >> (u64::BITS - HASH_BITS),
            By::Bits => record.iter().map(|word| u64::from(word.count_ones())).sum(),
            By::Components(components) => components.value(record),
        }
    }

    /// What tells it from others: what was begun by one is not gone on with by another.
    pub(super) fn identity(&self) -> u64 {
        match self {
            By::Hash => 0,
            By::Bits => 1,
            By::Components(components) => components.identity() | 2,
        }
    }

    /// What a text means: a word, or names of components.
    ///
    /// # Errors
    /// [`SearchError::NoComponent`] if there is none of a name.
    pub(super) fn named(text: &str, shape: &Shape) -> Result<By, SearchError> {
        match text {
            "hash" => Ok(By::Hash),
            "bits" => Ok(By::Bits),
            names => By::components(names, shape),
        }
    }

    /// What users call it.
    pub(super) fn name(&self) -> String {
        match self {
            By::Hash => "hash".to_owned(),
            By::Bits => "bits".to_owned(),
            By::Components(components) => components.to_string(),
        }
    }

    /// The components that a text names, separated by commas: variables, locations of processes, or elements of arrays. As many of them as fit in 64 bits count.
    fn components(text: &str, shape: &Shape) -> Result<By, SearchError> {
        let mut measure = Measure::default();
        for name in text.split(',').map(str::trim) {
            let found = elements(shape).filter(|(component, index)| {
                component.name == name || component.length.is_some() && component.element_name(*index) == name
            });
            let found: Vec<Part> = found.map(|(component, index)| part(component, index)).collect();
            if found.is_empty() {
                let names: Vec<&str> = shape.components.iter().map(|component| &*component.name).collect();
                return Err(SearchError::NoComponent { name: name.to_owned(), names: names.join(", ") });
            }
            found.into_iter().for_each(|part| measure.push(part));
        }
        Ok(By::Components(measure))
    }
}

/// All elements of all components.
pub(super) fn elements(shape: &Shape) -> impl Iterator<Item = (&Component, u32)> {
    let all = shape.components.iter();
    all.flat_map(|component| (0..component.elements()).map(move |index| (component, index)))
}

/// An element of a component, in the order of its codes.
pub(super) fn part(component: &Component, index: u32) -> Part {
    let bits = component.element_bits;
    let most = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
    let name =
        if component.length.is_some() { component.element_name(index) } else { component.name.clone() };
    Part::new(name, (component.element_low(index), bits), Order::Ascending(most))
}
