//! How large are the strongly connected components of a graph? A measure that no step decreases has each of them in one bucket, so the largest is the least that such a measure can hope for.
//!
//! Memory: the records, and what Tarjan's algorithm takes (`expansion/tarjan.rs`); all charged.

use std::collections::BTreeMap;

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::set::sort_unique;
use fathom_model::system::TransitionSystem;

use super::all_edges::AllEdges;
use crate::error::SearchError;
use crate::expansion::tarjan::each_component;
use crate::task::Observer;

/// How many components there are of each size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    /// States in all.
    pub states: u64,
    /// Components by size.
    pub sizes: BTreeMap<u64, u64>,
    /// States with a step to themselves.
    pub loops: u64,
}

impl Components {
    /// The states of the largest one.
    pub fn largest(&self) -> u64 {
        self.sizes.keys().next_back().copied().unwrap_or(0)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.sizes.values().sum()
    }
}

/// The components of a system all of whose states were searched.
///
/// # Errors
/// A refusal of memory if the records do not fit beside it; [`SearchError::Stopped`] if the observer says so.
pub fn components(
    system: &dyn TransitionSystem,
    all: &AllEdges<'_>,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<Components, SearchError> {
    let words = system.shape().words();
    let states = usize::try_from(all.count()).unwrap_or(usize::MAX);
    let mut records = ChargedVec::with_capacity(budget, "components", states.saturating_mul(words))?;
    let mut refused = Ok(());
    all.visit_states(&mut |some| {
        if refused.is_ok() {
            refused = records.extend(some.words());
        }
    })?;
    refused?;
    sort_unique(budget, words, &mut records)?;
    let mut found = Components { states: states as u64, ..Components::default() };
    found.loops = each_component(system, (&records, budget), observer, &mut |component, _| {
        *found.sizes.entry(component.len() as u64).or_default() += 1;
        Ok(true)
    })?;
    Ok(found)
}
