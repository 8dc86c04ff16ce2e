//! How is an accepting run looked for on the fly, depth-first?

use fathom_search::engines::engine::{Files, Store};
use std::path::Path as FilePath;

use fathom_model::system::TransitionSystem;
use fathom_search::engines::bitstate::Bitstate;
use fathom_search::engines::ndfs;
use fathom_search::stores::disk_set::DiskSet;
use fathom_search::stores::exact::ExactSet;
use fathom_search::stores::visited::PerColour;
use fathom_search::task::Ending;

use crate::engines::figures::Layers;
use crate::engines::layer_engine::room_used_up;
use crate::engines::liveness_task::{LivenessEngine, Searched, Task};
use crate::error::RunError;
use crate::folder::scratch::{PARENT, Scratch};
use crate::limit::Limit;

/// The part of memory for each of two paths on disk: one in so many.
const STACK_PART: usize = 16;

/// On the fly, depth-first: with a few bits per state, with exact sets in RAM, or with exact sets on disk.
pub(crate) fn search(system: &dyn TransitionSystem, task: &Task<'_>) -> Result<Searched, RunError> {
    let Task { budget, room, observer, .. } = *task;
    let on_disk = task.generation.engine.files == Files::Always && task.engine == LivenessEngine::Ndfs;
    let scratch = |folder: &FilePath| Scratch::under(folder).map_err(RunError::Scratch);
    // Of the sets, and of the path.
    let places =
        [on_disk.then(|| scratch(FilePath::new(PARENT))).transpose()?, task.stack.map(scratch).transpose()?];
    let volumes = places.each_ref().map(|place| place.as_ref().map(Scratch::volume).transpose());
    let [sets, stack] = volumes.map(|volume| volume.map_err(RunError::Scratch));
    let (sets, stack) = (sets?, stack?);
    let settings = ndfs::Settings {
        stop_at_fault: task.stop_at_fault,
        max_depth: task.resources.max_depth,
        weak: task.weak,
        stack: stack.as_ref().or(sets.as_ref()).map(|volume| (volume, budget.limit() / STACK_PART)),
    };
    let (shape, bits) = (system.shape(), system.shape().width_bits);
    let outcome = match (&sets, task.engine) {
        (Some(volume), _) => {
            // The rest is for filters, and for the steps of a state.
            let bytes = budget.limit() / 4;
            let set = |name| DiskSet::new(shape, volume, name, bytes, budget);
            let mut visited = PerColour([set("visited")?, set("red")?]);
            match ndfs::run(system, &mut visited, room, &settings, observer) {
                Ok(outcome) => outcome,
                Err(error) => {
                    let limit = room_used_up(&error).ok_or(error)?;
                    return Ok(without_room(task, visited.0[0].len(), limit));
                }
            }
        }
        (None, LivenessEngine::Bitstate) => {
            // The rest is for the stacks, and for the run that is told.
            let bytes = budget.limit() / 4;
            let mut visited = PerColour([Bitstate::new(budget, bytes)?, Bitstate::new(budget, bytes)?]);
            ndfs::run(system, &mut visited, room, &settings, observer)?
        }
        (None, _) => {
            let mut visited = PerColour([ExactSet::new(bits, budget)?, ExactSet::new(bits, budget)?]);
            ndfs::run(system, &mut visited, room, &settings, observer)?
        }
    };
    Ok(Searched {
        engine: task.engine,
        ending: outcome.ending,
        states: outcome.states,
        transitions: outcome.transitions,
        visits: outcome.visits,
        edges: outcome.edges,
        faults: outcome.faults + outcome.label_faults,
        layers: Layers::default(),
        lasso: outcome.lasso,
        untraced: None,
        fault: outcome.fault,
        fault_untraced: None,
        threads: 1,
        store: if on_disk { Store::Tier } else { Store::Ram }.name(),
        gave_up: None,
        disk: None,
        certified: false,
        passes: None,
        early: None,
        checksum: None,
    })
}

/// A search on the fly that had to end, since there was no more room for its files, when it knew so many states.
fn without_room(task: &Task<'_>, states: u64, limit: Limit) -> Searched {
    Searched {
        engine: task.engine,
        ending: Ending::Stopped,
        states,
        transitions: 0,
        visits: states,
        edges: 0,
        faults: 0,
        layers: Layers::default(),
        lasso: None,
        untraced: None,
        fault: None,
        fault_untraced: None,
        threads: 1,
        store: Store::Tier.name(),
        gave_up: Some(limit),
        disk: None,
        certified: false,
        passes: None,
        early: None,
        checksum: None,
    }
}
