//! Which components of states should they be parted by, so that few steps lead from one partition to another?
//!
//! Steps along random walks are looked at, and how often each component changes in one. A component that never changes among the states of the sample parts nothing. Of the others those come first that change seldom for what they
//! part: by the share of steps that change them, for each bit of entropy of their values. Partitions are ranges of what the first components say, and of records where these say the same, so the first one or two decide where most steps lead.

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_model::record::Records;
use fathom_model::shape::Shape;

use super::by::{By, elements, part};
use crate::error::SearchError;
use crate::progress::choose::Edges;
use crate::progress::measure::{Measure, Part};
use crate::progress::sample::Sample;
use crate::task::Task;

/// Steps that are looked at: enough to see what one in a thousand changes.
const SAMPLE_STEPS: usize = 20_000;
/// Components in so many bits are enough for as many partitions as there may be. Each bit more would stand in files twice, with the value and with the record.
const VALUE_BITS: u32 = 12;
/// Elements that are looked at.
const ELEMENTS_MAX: usize = 1024;

/// What a sample of the steps of a system suggests; a hash if it suggests nothing, or there is no memory for it.
///
/// # Errors
/// [`SearchError::Stopped`] if the observer says so.
pub(super) fn choose(task: Task<'_>) -> Result<By, SearchError> {
    match Sample::of(task.system, task.budget, task.observer, SAMPLE_STEPS)
        .and_then(|sample| seldom_changing(task.system.shape(), &sample, sample.states(), task.budget))
    {
        Err(SearchError::Budget(_)) => Ok(By::Hash),
        chosen => chosen,
    }
}

/// The components that change least for what they part, in a few bits.
fn seldom_changing(
    shape: &Shape,
    edges: &dyn Edges,
    states: Records<'_>,
    budget: &Budget,
) -> Result<By, SearchError> {
    let parts: Vec<Part> =
        elements(shape).take(ELEMENTS_MAX).map(|(component, index)| part(component, index)).collect();
    let mut changes = ChargedVec::<u64>::zeroed(budget, "sample", parts.len())?;
    let mut steps = 0u64;
    edges.visit(&mut |source, target| {
        steps += 1;
        for (part, changes) in parts.iter().zip(&mut *changes) {
            *changes += u64::from(part.place(source) != part.place(target));
        }
    })?;
    let mut places = ChargedVec::with_capacity(budget, "sample", states.len())?;
    let mut ranked = Vec::new();
    for (part, changes) in parts.into_iter().zip(&*changes) {
        places.clear();
        for record in states.iter() {
            places.push(part.place(record))?;
        }
        let entropy = entropy(&mut places);
        if entropy > 0.0 {
            ranked.push((*changes as f64 / steps.max(1) as f64 / entropy, part));
        }
    }
    ranked.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let (mut measure, mut bits) = (Measure::default(), 0);
    for (_, part) in ranked {
        if bits >= VALUE_BITS {
            break;
        }
        bits += part.place_bits;
        measure.push(part);
    }
    Ok(if measure.is_empty() { By::Hash } else { By::Components(measure) })
}

/// Bits that tell apart what some numbers say.
fn entropy(numbers: &mut [u64]) -> f64 {
    numbers.sort_unstable();
    let all = numbers.len() as f64;
    let shares = numbers.chunk_by(|one, other| one == other).map(|equal| equal.len() as f64 / all);
    shares.map(|share| -share * share.log2()).sum::<f64>().max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_that_of_values() {
        assert_eq!(entropy(&mut [7, 7, 7]), 0.0);
        assert_eq!(entropy(&mut [1, 2, 1, 2]), 1.0);
        assert_eq!(entropy(&mut [3, 0, 2, 1]), 2.0);
    }
}
