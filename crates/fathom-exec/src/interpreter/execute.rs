//! Which record does a body lead to?

use fathom_model::expression::FaultKind;
use fathom_model::program::{Assignment, Statement, VariableId};

use super::evaluate::{Trouble, at, element, evaluate};
use super::{Interpreter, Scratch};

/// A value on its way to its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Store {
    variable: VariableId,
    /// Which element.
    element: u32,
    /// Where that lies among the unpacked values.
    place: usize,
    value: i64,
}

/// How often a place may be written before the writes are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writes {
    /// Any number of times.
    LastWins,
    /// Twice is a fault.
    Once,
}

/// Runs statements one after the other; `scratch.target` is the record they lead to. The values are as before when it returns.
pub(super) fn run(
    system: &Interpreter,
    body: &[Statement],
    source: &[u64],
    scratch: &mut Scratch,
) -> Result<(), Trouble> {
    scratch.target.clear();
    scratch.target.extend_from_slice(source);
    scratch.undo.clear();
    scratch.pending.clear();
    let outcome = body.iter().try_for_each(|statement| {
        prepare(system, statement, Writes::LastWins, scratch)?;
        commit(system, scratch);
        Ok(())
    });
    for &(place, value) in scratch.undo.iter().rev() {
        scratch.values[place] = value;
    }
    outcome
}

/// Runs the bodies of a joint step: all read the old values, and no place is written twice.
pub(super) fn run_jointly<'a>(
    system: &Interpreter,
    bodies: impl Iterator<Item = &'a [Statement]>,
    source: &[u64],
    scratch: &mut Scratch,
) -> Result<(), Trouble> {
    scratch.target.clear();
    scratch.target.extend_from_slice(source);
    scratch.pending.clear();
    for statement in bodies.flatten() {
        prepare(system, statement, Writes::Once, scratch)?;
    }
    for store in &scratch.pending {
        write(system, &mut scratch.target, store);
    }
    Ok(())
}

/// Evaluates a statement over the values as they are and puts what it stores among the pending.
fn prepare(
    system: &Interpreter,
    statement: &Statement,
    writes: Writes,
    scratch: &mut Scratch,
) -> Result<(), Trouble> {
    match statement {
        Statement::Move { process, to } => {
            let variable = system.program.process(*process).variable;
            let place = system.bases[variable.index()];
            scratch.pending.push(Store { variable, element: 0, place, value: i64::from(*to) });
            Ok(())
        }
        Statement::Assign(assignments) => assignments.iter().try_for_each(|assignment| {
            let store = assign(system, &scratch.values, assignment)?;
            if writes == Writes::Once && scratch.pending.iter().any(|other| other.place == store.place) {
                return Err(Trouble { kind: FaultKind::DoubleWrite, span: assignment.span });
            }
            scratch.pending.push(store);
            Ok(())
        }),
    }
}

fn assign(system: &Interpreter, values: &[i64], assignment: &Assignment) -> Result<Store, Trouble> {
    let Assignment { place, value, span } = assignment;
    let variable = place.variable;
    let base = system.bases[variable.index()];
    let place = match &place.index {
        Some(index) => element(system, variable, evaluate(system, values, index)?, place.span)?,
        None => base,
    };
    let value = evaluate(system, values, value)?;
    let value = at(*span, system.program.variable(variable).domain.convert(system.program.overflow, value))?;
    Ok(Store { variable, element: (place - base) as u32, place, value })
}

/// Makes the pending stores.
fn commit(system: &Interpreter, scratch: &mut Scratch) {
    for store in &scratch.pending {
        scratch.undo.push((store.place, scratch.values[store.place]));
        scratch.values[store.place] = store.value;
        write(system, &mut scratch.target, store);
    }
    scratch.pending.clear();
}

fn write(system: &Interpreter, target: &mut [u64], store: &Store) {
    system.layout.fields[store.variable.index()].write(target, store.element, store.value);
}
