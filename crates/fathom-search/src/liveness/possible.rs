//! From which states can a goal still be reached?
//!
//! Of states that a complete breadth-first search has reached, in memory or on disk, those are *able* where the goal is true, and those that have a step to one that is able: a wave backwards from the goals
//! (`bodies/waves/backward.rs`). What it does not meet is trapped: no run from there ever meets the goal.
//!
//! Memory: by [`ClosedSet`], one bit per state beside its numbers.

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::steps::Labels;
use fathom_model::system::TransitionSystem;

use crate::bodies::waves::backward;
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::closed_set::{ALL_RECUR, ClosedSet, Reached};
use crate::stores::bits::Bits;
use crate::task::Observer;

/// What was found out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The least state of the first layer that has states from which the goal cannot be reached, and that layer.
    pub trapped: Option<(u64, Vec<u64>)>,
    /// Whether the observer ended it before that was known.
    pub stopped: bool,
    /// States expanded.
    pub visits: u64,
    /// Steps made.
    pub edges: u64,
}

/// Looks for a state from which no state can be reached where the label `goal` is true, among those that a complete search has reached, in memory or on disk. The volume is empty, and whoever made it empties it.
///
/// # Errors
/// If memory or the volume do not suffice.
pub fn run(
    system: &dyn TransitionSystem,
    goal: usize,
    reached: &dyn Reached,
    volume: &Volume,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let set = match ClosedSet::new(reached, ALL_RECUR, system.shape(), (volume, budget), observer) {
        Err(SearchError::Stopped) => return Ok(Outcome { stopped: true, ..Outcome::default() }),
        other => other?,
    };
    let mut expander = Expander::new(system, &set, false, 1, budget)?;
    let able = goals(system, goal, &set, budget)?;
    let spread = backward::spread(&mut expander, reached, &able, observer);
    let mut outcome = Outcome { visits: expander.visits, edges: expander.edges, ..Outcome::default() };
    match spread {
        Err(SearchError::Stopped) => outcome.stopped = true,
        other => {
            other?;
            outcome.trapped = first_trapped(reached, &set, &able)?;
        }
    }
    Ok(outcome)
}

/// The states where the goal is true.
fn goals(
    system: &dyn TransitionSystem,
    goal: usize,
    set: &ClosedSet,
    budget: &Budget,
) -> Result<Bits, SearchError> {
    let able = Bits::new(budget, set.len(), false)?;
    let (mut numbers, mut labels) = (Vec::new(), Vec::new());
    set.scan(&mut |records| {
        numbers.clear();
        set.numbers(records, &mut numbers);
        labels.clear();
        labels.resize(records.len(), Labels::default());
        system.label(records, &mut labels);
        if labels.iter().any(|labels| labels.interrupted()) {
            return Err(SearchError::Stopped);
        }
        for (number, labels) in numbers.iter().zip(&labels) {
            if !labels.faulted() && labels.holds(goal) {
                able.set(*number);
            }
        }
        Ok(true)
    })?;
    Ok(able)
}

/// The least state of the first layer that has states which are not able, and that layer.
fn first_trapped(
    reached: &dyn Reached,
    set: &ClosedSet<'_>,
    able: &Bits,
) -> Result<Option<(u64, Vec<u64>)>, SearchError> {
    if able.count() == set.len() {
        return Ok(None);
    }
    for layer in 0..reached.layer_count() {
        let mut least: Option<Vec<u64>> = None;
        reached.visit_layer(layer, &mut |records| {
            for record in records.iter().filter(|record| !able.get(set.number(record))) {
                if least.as_deref().is_none_or(|least| record < least) {
                    least = Some(record.to_vec());
                }
            }
        })?;
        if let Some(record) = least {
            return Ok(Some((layer, record)));
        }
    }
    Ok(None)
}
