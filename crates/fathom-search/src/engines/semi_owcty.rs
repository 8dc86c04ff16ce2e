//! Policy of the fix-point: everything in RAM that is small, everything else on a volume.
//!
//! J. Barnat, L. Brim, P. Šimeček, "I/O efficient accepting cycle detection", CAV 2007; S. Edelkamp, P. Sanders, P. Šimeček, "Semi-external LTL model checking", CAV 2008. A breadth-first
//! search generates the states; they are sorted and numbered by a perfect hash ([`crate::closed_set`]); the fix-point ([`crate::fix_point`]) keeps bits and counters by
//! number. A run is told by its cycle among what is left (`cycle.rs`), and the way there by the layers of the first search.
//!
//! Memory: that of the first search, and after it about 9 bits per state and the path. Not on the fly: the whole space is generated before a cycle is looked for.

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::system::TransitionSystem;

use crate::closed_set::ClosedSet;
use crate::cycle;
use crate::error::SearchError;
use crate::fix_point::{self, Expander};
use crate::lasso::Lasso;
use crate::layer_loop::{LayerPolicy, Observer};
use crate::trace::path_to;

/// What a search found out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// A run that is accepting.
    pub lasso: Option<Lasso>,
    /// Whether the observer ended it before that was known.
    pub stopped: bool,
    /// Rounds of the fix-point.
    pub rounds: u64,
    /// States that it has left.
    pub left: u64,
    /// States expanded since they were generated.
    pub visits: u64,
    /// Steps made since then.
    pub edges: u64,
    /// Bytes of the perfect hash.
    pub number_bytes: u64,
    /// Bytes of the closed set on the volume.
    pub stored_bytes: u64,
}

/// Looks for an accepting run among states that a complete breadth-first search has reached in so many layers and that its policy has kept. `weak` says that the steps of every
/// cycle all carry every mark, or none does. The volume is empty, and whoever made it empties it.
///
/// # Errors
/// If memory or the volume do not suffice. A budget that is used up is an error here: what was generated is known, what follows from it is not.
pub fn run<P: LayerPolicy>(
    system: &dyn TransitionSystem,
    policy: &P,
    layers: u64,
    weak: bool,
    volume: &Volume,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let set = ClosedSet::of_layers(policy, layers, system.shape(), volume, budget)?;
    let set = set.expect("the policy has kept its layers");
    let passes = fix_point::run(system, &set, weak, volume, budget, observer)?;
    let mut outcome = Outcome {
        stopped: passes.left.is_none(),
        rounds: passes.rounds,
        visits: passes.visits,
        edges: passes.edges,
        number_bytes: set.number_bytes() as u64,
        stored_bytes: set.stored_bytes()?,
        ..Outcome::default()
    };
    let Some(mut left) = passes.left else { return Ok(outcome) };
    outcome.left = left.count();
    if outcome.left > 0 {
        let mut expander = Expander::new(system, &set, weak, budget)?;
        // On a cycle of marked steps every mark is met.
        let mark_count = if weak { 0 } else { system.shape().mark_count };
        let marks = if mark_count >= 64 { u64::MAX } else { (1 << mark_count) - 1 };
        let cycle = cycle::find(&mut expander, &mut left, marks, volume, budget)?;
        outcome.visits += expander.visits;
        outcome.edges += expander.edges;
        outcome.lasso = Some(with_stem(system, policy, layers, budget, cycle)?);
    }
    Ok(outcome)
}

/// A cycle with a shortest way to its first state.
pub(super) fn with_stem<P: LayerPolicy>(
    system: &dyn TransitionSystem,
    policy: &P,
    layers: u64,
    budget: &Budget,
    cycle: cycle::Cycle,
) -> Result<Lasso, SearchError> {
    let first = &cycle.records[0];
    let mut found = None;
    for layer in 0..layers {
        let mut there = false;
        policy.visit_layer(layer, &mut |records| there |= records.iter().any(|record| record == first))?;
        if there {
            found = Some(layer);
            break;
        }
    }
    let layer = found.expect("what was generated is in a layer");
    let stem = path_to(system, policy, budget, layer, first)?.expect("the policy has kept its layers");
    let cycle_start = stem.actions.len();
    let mut records = stem.records;
    records.pop();
    records.extend(cycle.records);
    let actions = stem.actions.into_iter().chain(cycle.actions).collect();
    Ok(Lasso { start: stem.start, records, actions, cycle_start })
}
