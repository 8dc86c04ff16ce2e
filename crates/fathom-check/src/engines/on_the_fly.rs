//! How is an accepting run looked for on the fly, and where do files of that go?

use std::path::Path as FilePath;

use fathom_model::system::TransitionSystem;
use fathom_search::engines::engine::{AskRuns, Files, Run, Store, Threads};

use crate::engines::figures::Layers;
use crate::engines::layer_engine::room_used_up;
use crate::engines::liveness_task::{Searched, Task};
use crate::error::RunError;
use crate::folder::scratch::{PARENT, Scratch};

/// Searches a system with one mark, which is of states.
pub(crate) fn search(system: &dyn TransitionSystem, task: &Task<'_>) -> Result<Searched, RunError> {
    let engine = task.engine.engine;
    let (Run::Runs(run) | Run::Lossy(run)) = engine.run else {
        unreachable!("the engine {} does not search on the fly", engine.name)
    };
    let stored = engine.stores.contains(&Store::Tier) && task.generation.engine.files == Files::Always;
    let on_disk = engine.files == Files::Always || stored;
    let scratch = |folder: &FilePath| Scratch::under(folder).map_err(RunError::Scratch);
    // Of the sets, and of the path.
    let places =
        [on_disk.then(|| scratch(FilePath::new(PARENT))).transpose()?, task.stack.map(scratch).transpose()?];
    let volumes = places.each_ref().map(|place| place.as_ref().map(Scratch::volume).transpose());
    let [volume, stack] = volumes.map(|volume| volume.map_err(RunError::Scratch));
    let (volume, stack) = (volume?, stack?);
    let threads = if engine.threads == Threads::Many { task.resources.threads } else { 1 };
    let outcome = run(&AskRuns {
        system,
        acceptance: task.acceptance,
        stop_at_fault: task.stop_at_fault,
        max_depth: task.resources.max_depth,
        chosen: task.engine,
        volume: volume.as_ref(),
        stack: stack.as_ref(),
        room: task.room,
        observer: task.observer,
        threads,
        bounds: task.bounds,
    })?;
    outcome.told.iter().for_each(|told| task.monitor.say(told));
    Ok(Searched {
        engine,
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
        threads,
        store: if on_disk { Store::Tier } else { Store::Ram }.name(),
        gave_up: outcome.no_room.as_ref().and_then(room_used_up),
        disk: None,
        certified: false,
        passes: None,
        early: None,
        checksum: None,
    })
}
