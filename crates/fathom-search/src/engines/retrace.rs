//! How does a run lead to a state when the layers before it were dropped? Divide and conquer: search again, as far as needed, and keep a part of the layers.
//!
//! The sizes of the layers are known, so they are cut into parts of at most an eighth of the states (a larger layer is a part of its own). From the last part to the first, the search is made
//! once more up to its end, keeping its layers alone, and the path goes back through them, the least parent each time: it is the path that layer replay gives, whatever was
//! dropped. Cost: about eight searches, each shorter than the one before, half of all of them in sum. Disk: what a search takes that keeps an eighth of its layers.

use std::sync::OnceLock;

use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;

use super::tier::{Options, Tier};
use crate::bodies::stages;
use crate::error::SearchError;
use crate::stores::Layered;
use crate::task::{Ending, LayerSizes, Observer, Settings, Task, Tuning};
use crate::traces::path::{Path, Room};
use crate::traces::trace::{Trail, path_through};

/// The parts that layers are cut into.
const PARTS: u64 = 8;

/// The least path to a state of a layer of a search whose layers had these sizes. `volume` gives an empty volume for each search.
///
/// # Errors
/// [`SearchError::Stopped`] if the observer says so.
pub fn path_to(
    system: &dyn TransitionSystem,
    room: &Room,
    observer: &dyn Observer,
    threads: usize,
    sizes: &LayerSizes,
    volume: &mut dyn FnMut() -> Result<Volume, SearchError>,
    state: (u64, &[u64]),
) -> Result<Path, SearchError> {
    let budget = room.budget();
    let mut trail = Trail::new(system, room, observer, state)?;
    while trail.layer() > 0 {
        let last = trail.layer() - 1;
        let options = Options { keep_from: part_before(sizes, last), ..Options::unlasting() };
        let settings = Settings {
            threads,
            conditions: Vec::new(),
            stop_at_first: false,
            findings_max: 1,
            // The layer behind the last one that is expanded is closed, too.
            max_depth: Some(last.saturating_sub(1)),
            coverage: false,
            tuning: Tuning::default(),
        };
        let (mut tier, _) = Tier::open(&volume()?, budget, system.shape(), threads, options)?;
        let stops = Stops(observer);
        let outcome = stages::run(Task::new(system, budget, &settings).watched_by(&stops), &mut tier)?;
        if outcome.ending == Ending::Stopped {
            return Err(SearchError::Stopped);
        }
        if let Some(refusal) = outcome.refusal {
            return Err(refusal.into());
        }
        drop(outcome);
        trail.back(system, &|layer, visit| tier.visit_layer(layer, visit))?;
    }
    trail.finish(system)
}

/// The least path to a state of which nothing is known but that it can be reached: a search on disk goes as far as the layer that has it.
///
/// # Errors
/// [`SearchError::Stopped`] if the observer says so.
pub fn path_from_nothing(
    system: &dyn TransitionSystem,
    room: &Room,
    observer: &dyn Observer,
    threads: usize,
    volume: &Volume,
    record: &[u64],
) -> Result<Path, SearchError> {
    let budget = room.budget();
    let settings = Settings {
        threads,
        conditions: Vec::new(),
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: false,
        tuning: Tuning::default(),
    };
    let (mut tier, _) = Tier::open(volume, budget, system.shape(), threads, Options::unlasting())?;
    let looking = LookingFor { record, layer: OnceLock::new(), observer };
    let outcome = stages::run(Task::new(system, budget, &settings).watched_by(&looking), &mut tier)?;
    if let Some(refusal) = outcome.refusal {
        return Err(refusal.into());
    }
    let layer = *looking.layer.get().ok_or(SearchError::Stopped)?;
    let visit = |layer, visit: &mut dyn FnMut(Records<'_>)| tier.visit_layer(layer, visit);
    path_through(system, &visit, room, observer, (layer, record))?.ok_or(SearchError::Stopped)
}

/// Ends a search when a state is expanded.
struct LookingFor<'a> {
    record: &'a [u64],
    layer: OnceLock<u64>,
    observer: &'a dyn Observer,
}

impl Observer for LookingFor<'_> {
    fn stop(&self) -> bool {
        self.layer.get().is_some() || self.observer.stop()
    }

    fn expanded(&self, layer: u64, sources: Records<'_>) {
        if sources.iter().any(|source| source == self.record) {
            // States are in one layer each, so the first to say so is right.
            let _ = self.layer.set(layer);
        }
    }
}

/// Ends a search that nobody wants to hear of.
struct Stops<'a>(&'a dyn Observer);

impl Observer for Stops<'_> {
    fn stop(&self) -> bool {
        self.0.stop()
    }
}

/// The first layer of the part that ends with `last`.
fn part_before(sizes: &LayerSizes, last: u64) -> u64 {
    let most = sizes.sum() / PARTS;
    let up_to: u64 = sizes.iter().take(last as usize + 1).sum();
    let mut before = 0;
    for (layer, size) in (0..last).zip(sizes.iter()) {
        if up_to - before <= most {
            return layer;
        }
        before += size;
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    use fathom_disk::budget::Budget;

    #[test]
    fn parts_are_as_long_as_they_may_be() {
        let budget = Budget::new(1 << 16);
        let mut sizes = LayerSizes::new(&budget).unwrap();
        for size in [1, 2, 3, 4, 30, 20, 10, 5, 5] {
            sizes.push(size).unwrap();
        }
        // An eighth of 80 is 10.
        let firsts: Vec<u64> = (0..9).map(|last| part_before(&sizes, last)).collect();
        assert_eq!(firsts, [0, 0, 0, 0, 4, 5, 6, 7, 7]);
    }
}
