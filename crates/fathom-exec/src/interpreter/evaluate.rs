//! What is an expression worth in a state?

use fathom_model::expression::{Computation, Expression, ExpressionKind, FaultKind};
use fathom_model::program::{Place, Role, VariableId};
use fathom_model::span::Span;

use super::Interpreter;
use super::halt::{Halt, at};

/// The value of an expression over unpacked values. Values of temporaries that are introduced inside it change.
pub(super) fn evaluate(
    system: &Interpreter,
    values: &mut [i64],
    expression: &Expression,
) -> Result<i64, Halt> {
    let span = expression.span;
    match &expression.kind {
        ExpressionKind::Constant(value) => Ok(*value),
        ExpressionKind::Read(variable) => {
            defined(system, *variable, values[system.bases[variable.index()]], span)
        }
        ExpressionKind::Element(variable, index) => {
            let index = evaluate(system, values, index)?;
            let place = elements(system, *variable, index, 1, span)?;
            defined(system, *variable, values[place], span)
        }
        ExpressionKind::IsUndefined(place) => {
            let undefined = system.program.variable(place.variable).undefined();
            Ok(i64::from(Some(values[locate(system, values, place, 1)?]) == undefined))
        }
        ExpressionKind::Unary(operator, operand) => {
            let value = evaluate(system, values, operand)?;
            at(span, operator.apply(system.program.overflow, value))
        }
        ExpressionKind::Binary(operator, left, right) => {
            let left = evaluate(system, values, left)?;
            let right = evaluate(system, values, right)?;
            at(span, operator.apply(system.program.overflow, left, right))
        }
        ExpressionKind::All(operands) => {
            for operand in operands {
                if evaluate(system, values, operand)? == 0 {
                    return Ok(0);
                }
            }
            Ok(1)
        }
        ExpressionKind::Any(operands) => {
            for operand in operands {
                if evaluate(system, values, operand)? != 0 {
                    return Ok(1);
                }
            }
            Ok(0)
        }
        ExpressionKind::Conditional(operands) => {
            let [condition, then, otherwise] = &**operands;
            let chosen = if evaluate(system, values, condition)? != 0 { then } else { otherwise };
            evaluate(system, values, chosen)
        }
        ExpressionKind::Convert(domain, operand) => {
            let value = evaluate(system, values, operand)?;
            at(span, domain.convert(system.program.overflow, value))
        }
        ExpressionKind::Checked(domain, kind, operand) => {
            let value = evaluate(system, values, operand)?;
            at(span, if domain.contains(value) { Ok(value) } else { Err(*kind) })
        }
        ExpressionKind::Compute(computation) => compute(system, values, computation),
    }
}

/// Runs the statements on the values themselves: they change temporaries of the computation alone.
fn compute(system: &Interpreter, values: &mut [i64], computation: &Computation) -> Result<i64, Halt> {
    introduce(system, values, &computation.locals);
    system.run_on_temporaries(&computation.body, values)?;
    evaluate(system, values, &computation.value)
}

/// Gives temporaries their initial values.
pub(super) fn introduce(system: &Interpreter, values: &mut [i64], locals: &[VariableId]) {
    for local in locals {
        let variable = system.program.variable(*local);
        assert_eq!(variable.role, Role::Temporary, "verified");
        let base = system.bases[local.index()];
        values[base..base + variable.initial.len()].copy_from_slice(&variable.initial);
    }
}

/// Where the first of so many elements from a place on lies among the unpacked values.
pub(super) fn locate(
    system: &Interpreter,
    values: &mut [i64],
    place: &Place,
    count: u32,
) -> Result<usize, Halt> {
    match &place.index {
        Some(index) => {
            let index = evaluate(system, values, index)?;
            elements(system, place.variable, index, count, place.span)
        }
        None => Ok(system.bases[place.variable.index()]),
    }
}

/// Where the first of so many elements from an index on lies among the unpacked values.
fn elements(
    system: &Interpreter,
    variable: VariableId,
    index: i64,
    count: u32,
    span: Span,
) -> Result<usize, Halt> {
    let last = i64::from(system.program.variable(variable).elements()) - i64::from(count);
    if (0..=last).contains(&index) {
        Ok(system.bases[variable.index()] + index as usize)
    } else {
        at(span, Err(FaultKind::Index))
    }
}

/// A value that was read, which must not stand for undefined.
fn defined(system: &Interpreter, variable: VariableId, value: i64, span: Span) -> Result<i64, Halt> {
    match system.program.variable(variable).undefined() {
        Some(undefined) if undefined == value => at(span, Err(FaultKind::Undefined)),
        _ => Ok(value),
    }
}
