//! Which steps does lock-step give? One enabled action of every process, all at once.

use fathom_model::steps::{Marks, ProcessSet, Steps};

use super::halt::Halt;
use super::{Interpreter, Scratch, Unfinished, execute};

/// An action that a process can choose; if its guard faults, choosing it is a fault.
#[derive(Clone, Copy, Debug)]
struct Choice {
    action: u32,
    halt: Option<Halt>,
}

/// Pushes the joint steps and faults of a source whose values are in `scratch`; gives the processes that can move.
pub(super) fn expand(
    system: &Interpreter,
    source: &[u64],
    scratch: &mut Scratch,
    out: &mut Steps,
) -> Result<ProcessSet, Unfinished> {
    let choices: Vec<Vec<Choice>> =
        (0..system.owned.len()).map(|process| choices_of(system, process, &mut scratch.values)).collect();
    let mut everyone = ProcessSet::default();
    (0..choices.len() as u32).for_each(|process| everyone.insert(process));
    if choices.is_empty() || choices.iter().any(Vec::is_empty) {
        return Ok(ProcessSet::default());
    }
    let mut enabled = ProcessSet::default();
    let mut chosen = vec![0; choices.len()];
    loop {
        let number = joint_number(system, &choices, &chosen);
        match joint_step(system, &choices, &chosen, source, scratch) {
            Ok(()) => {
                out.push(&scratch.target, number, everyone, Marks::default())?;
                enabled = everyone;
            }
            Err(Halt::Fault(trouble)) => out.push_fault(trouble.fault(number))?,
            Err(Halt::Discard) => {}
            Err(Halt::Interrupted) => return Err(Unfinished::Interrupted),
            Err(Halt::Leave(_)) => unreachable!("verified: joint bodies have no blocks"),
        }
        if !advance(&mut chosen, &choices) {
            return Ok(enabled);
        }
    }
}

/// The actions of a joint action, one per process.
pub(super) fn members(system: &Interpreter, joint: u32) -> Vec<u32> {
    let mut rest = joint;
    let mut members = Vec::with_capacity(system.counts.len());
    for (process, &count) in system.counts.iter().enumerate().rev() {
        let position = rest % count;
        rest /= count;
        let owned_at = |number: &u32| {
            let mover = &system.program.actions[*number as usize].movers[0];
            mover.process.index() == process && system.positions[*number as usize] == position
        };
        members.extend((0..system.program.actions.len() as u32).find(owned_at));
    }
    members.reverse();
    members
}

fn choices_of(system: &Interpreter, process: usize, values: &mut [i64]) -> Vec<Choice> {
    let mut choices = Vec::new();
    for &action in &system.owned[process][system.location(values, process) as usize] {
        match system.guard(&system.program.actions[action as usize], values) {
            Ok(0) | Err(Halt::Discard) => {}
            Ok(_) => choices.push(Choice { action, halt: None }),
            Err(halt) => choices.push(Choice { action, halt: Some(halt) }),
        }
    }
    choices
}

fn joint_step(
    system: &Interpreter,
    choices: &[Vec<Choice>],
    chosen: &[usize],
    source: &[u64],
    scratch: &mut Scratch,
) -> Result<(), Halt> {
    let members = || choices.iter().zip(chosen).map(|(choices, &choice)| choices[choice]);
    if let Some(halt) = members().find_map(|choice| choice.halt) {
        return Err(halt);
    }
    let actions = members().map(|choice| &system.program.actions[choice.action as usize]);
    execute::run_jointly(system, actions, source, scratch)
}

fn joint_number(system: &Interpreter, choices: &[Vec<Choice>], chosen: &[usize]) -> u32 {
    choices.iter().zip(chosen).zip(&system.counts).fold(0, |number, ((choices, &choice), &count)| {
        number * count + system.positions[choices[choice].action as usize]
    })
}

/// The next combination, the last process fastest; false if there is none.
fn advance(chosen: &mut [usize], choices: &[Vec<Choice>]) -> bool {
    for (choice, choices) in chosen.iter_mut().zip(choices).rev() {
        *choice += 1;
        if *choice < choices.len() {
            return true;
        }
        *choice = 0;
    }
    false
}
