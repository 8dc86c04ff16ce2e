//! Which steps does interleaving give? One enabled action at a time.

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
    let action = &system.program.actions[number as usize];
    for mover in &action.movers {
        if system.location(&scratch.values, mover.process.index()) != mover.from {
            return Ok(ProcessSet::default());
        }
    }
    let movers = system.program.movers_of(action);
    let outcome = match system.guard(action, &mut scratch.values) {
        Ok(0) => return Ok(ProcessSet::default()),
        Ok(_) => execute::run(system, &action.command.body, source, scratch),
        Err(halt) => Err(halt),
    };
    match outcome {
        Ok(()) => {
            out.push(&scratch.target, number, movers, Marks::default())?;
            Ok(movers)
        }
        Err(Halt::Fault(trouble)) => {
            out.push_fault(trouble.fault(number))?;
            Ok(ProcessSet::default())
        }
        Err(Halt::Discard) => Ok(ProcessSet::default()),
        Err(Halt::Interrupted) => Err(Unfinished::Interrupted),
        Err(Halt::Leave(_)) => unreachable!("verified: blocks that are left are there"),
    }
}

fn any_committed(system: &Interpreter, values: &[i64]) -> bool {
    let processes = &system.program.processes;
    (0..processes.len())
        .any(|process| processes[process].locations[system.location(values, process) as usize].committed)
}
