//! Body: from which states can a goal still be reached?
//!
//! Of states that a complete breadth-first search has reached, those are *able* where the goal is true, and those that have a step to one that is able. Passes over
//! the layers, the last one first, until one of them finds no more. What is left is trapped: no run from there ever meets the goal.
//!
//! Memory: by [`ClosedSet`], one bit per state beside its numbers. Time: the states that are not able yet are expanded in each pass; there are as many passes as steps to the goal go
//! back towards the initial states, and two more.

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::steps::Labels;
use fathom_model::system::TransitionSystem;

use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::closed_set::{ALL_RECUR, ClosedSet, KeptLayers};
use crate::stores::Layered;
use crate::stores::bits::Bits;
use crate::task::{Observer, Progress};

/// What the passes found out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The least state of the first layer that has states from which the goal cannot be reached, and that layer.
    pub trapped: Option<(u64, Vec<u64>)>,
    /// Whether the observer ended them before that was known.
    pub stopped: bool,
    /// States expanded.
    pub visits: u64,
    /// Steps made.
    pub edges: u64,
}

/// Looks for a state from which no state can be reached where the label `goal` is true, among those that a complete search has reached in so many layers and
/// that its policy has kept. The volume is empty, and whoever made it empties it.
///
/// # Errors
/// If memory or the volume do not suffice.
pub fn run<P: Layered>(
    system: &dyn TransitionSystem,
    goal: usize,
    policy: &P,
    layers: u64,
    volume: &Volume,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    match passes(system, goal, policy, layers, (volume, budget), observer) {
        Err(SearchError::Stopped) => Ok(Outcome { stopped: true, ..Outcome::default() }),
        other => other,
    }
}

fn passes<P: Layered>(
    system: &dyn TransitionSystem,
    goal: usize,
    policy: &P,
    layers: u64,
    (volume, budget): (&Volume, &Budget),
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let reached = KeptLayers::new(policy, layers, system.shape())?;
    let set = ClosedSet::new(&reached, ALL_RECUR, system.shape(), (volume, budget), observer)?;
    let mut expander = Expander::new(system, &set, false, 1, budget)?;
    let able = goals(system, goal, &set, budget)?;
    let mut outcome = Outcome::default();
    let mut known = able.count();
    loop {
        for layer in (0..layers).rev() {
            each_left(policy, layer, &set, &able, |records, numbers| {
                if observer.stop() {
                    return Err(SearchError::Stopped);
                }
                expander.each(records, |source, taken| {
                    if able.get(taken.number) {
                        able.set(numbers[source]);
                    }
                    Ok(())
                })
            })?;
            (outcome.visits, outcome.edges) = (expander.visits, expander.edges);
            observer.progress(Progress {
                layer,
                expanded: outcome.visits,
                states: set.len(),
                transitions: outcome.edges,
                ..Progress::default()
            });
            if observer.stop() {
                outcome.stopped = true;
                return Ok(outcome);
            }
        }
        let now = able.count();
        if now == known {
            break;
        }
        known = now;
    }
    for layer in 0..layers {
        let mut least: Option<Vec<u64>> = None;
        each_left(policy, layer, &set, &able, |records, _| {
            let found = records.iter().min().map(<[u64]>::to_vec);
            least = [least.take(), found].into_iter().flatten().min();
            Ok(())
        })?;
        if let Some(record) = least {
            outcome.trapped = Some((layer, record));
            break;
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

/// Visits the states of a layer that are not able, some at a time, with their numbers.
fn each_left<P: Layered>(
    policy: &P,
    layer: u64,
    set: &ClosedSet,
    able: &Bits,
    mut visit: impl FnMut(Records<'_>, &[u64]) -> Result<(), SearchError>,
) -> Result<(), SearchError> {
    let mut failure = None;
    let (mut all, mut numbers) = (Vec::new(), Vec::new());
    policy.visit_layer(layer, &mut |records| {
        if failure.is_some() {
            return;
        }
        all.clear();
        set.numbers(records, &mut all);
        numbers.clear();
        let mut left = RecordBuffer::new(records.words_per_record());
        for (record, number) in records.iter().zip(&all).filter(|(_, number)| !able.get(**number)) {
            left.push(record);
            numbers.push(*number);
        }
        if !left.is_empty() {
            failure = visit(left.view(), &numbers).err();
        }
    })?;
    failure.map_or(Ok(()), Err)
}
