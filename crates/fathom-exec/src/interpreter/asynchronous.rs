//! Which steps does interleaving give? One enabled action at a time.

use fathom_model::program::Mover;
use fathom_model::steps::{Marks, ProcessSet, Steps};

use super::execute::Halt;
use super::{Interpreter, Scratch, Unfinished, execute};

/// Pushes the steps and faults of a source whose values are in `scratch`; gives the processes that can move.
pub(super) fn expand(
    system: &Interpreter,
    source: &[u64],
    scratch: &mut Scratch,
    out: &mut Steps,
) -> Result<ProcessSet, Unfinished> {
    let mut enabled = ProcessSet::default();
    let committed = system.commits && any_committed(system, &scratch.values);
    for process in 0..system.owned.len() {
        let location = system.location(&scratch.values, process);
        for &number in &system.owned[process][location as usize] {
            if !committed || system.committed[number as usize] {
                enabled.0 |= step(system, number, source, scratch, out)?.0;
            }
        }
    }
    for &number in system.free.iter().filter(|_| !committed) {
        enabled.0 |= step(system, number, source, scratch, out)?.0;
    }
    Ok(enabled)
}

/// Tries one action; gives its movers if it made a step.
fn step(
    system: &Interpreter,
    number: u32,
    source: &[u64],
    scratch: &mut Scratch,
    out: &mut Steps,
) -> Result<ProcessSet, Unfinished> {
    match attempt(system, number, source, scratch) {
        Ok(false) | Err(Halt::Discard) => Ok(ProcessSet::default()),
        Ok(true) => {
            let movers = system.program.movers_of(&system.program.actions[number as usize]);
            out.push(&scratch.target, number, movers, Marks::default())?;
            Ok(movers)
        }
        Err(Halt::Fault(trouble)) => {
            out.push_fault(trouble.fault(number))?;
            Ok(ProcessSet::default())
        }
        Err(Halt::Interrupted) => Err(Unfinished::Interrupted),
        Err(Halt::Leave(_)) => unreachable!("verified: blocks that are left are there"),
    }
}

/// Whether an action makes a step; its record is in `scratch.target` then.
pub(super) fn attempt(
    system: &Interpreter,
    number: u32,
    source: &[u64],
    scratch: &mut Scratch,
) -> Result<bool, Halt> {
    let action = &system.program.actions[number as usize];
    let elsewhere = |mover: &Mover| system.location(&scratch.values, mover.process.index()) != mover.from;
    if action.movers.iter().any(elsewhere) || system.guard(action, &mut scratch.values)? == 0 {
        return Ok(false);
    }
    execute::run(system, &action.command.body, source, scratch).map(|()| true)
}

fn any_committed(system: &Interpreter, values: &[i64]) -> bool {
    let processes = &system.program.processes;
    (0..processes.len())
        .any(|process| processes[process].locations[system.location(values, process) as usize].committed)
}
