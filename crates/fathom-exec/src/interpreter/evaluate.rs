//! What is an expression worth in a state?

use fathom_model::expression::{Expression, ExpressionKind, FaultKind};
use fathom_model::program::VariableId;
use fathom_model::span::Span;
use fathom_model::steps::Fault;

use super::Interpreter;

/// Evaluation found that the model misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// How.
    pub kind: FaultKind,
    /// Where in the source.
    pub span: Span,
}

impl Trouble {
    /// As the fault of an action.
    pub(super) fn fault(self, action: u32) -> Fault {
        Fault { action, kind: self.kind, span: self.span }
    }
}

/// The value of an expression over unpacked values.
pub fn evaluate(system: &Interpreter, values: &[i64], expression: &Expression) -> Result<i64, Trouble> {
    let value_of = |expression: &Expression| evaluate(system, values, expression);
    let span = expression.span;
    match &expression.kind {
        ExpressionKind::Constant(value) => Ok(*value),
        ExpressionKind::Read(variable) => Ok(values[system.bases[variable.index()]]),
        ExpressionKind::Element(variable, index) => {
            Ok(values[element(system, *variable, value_of(index)?, span)?])
        }
        ExpressionKind::Unary(operator, operand) => {
            at(span, operator.apply(system.program.overflow, value_of(operand)?))
        }
        ExpressionKind::Binary(operator, left, right) => {
            let (left, right) = (value_of(left)?, value_of(right)?);
            at(span, operator.apply(system.program.overflow, left, right))
        }
        ExpressionKind::All(operands) => {
            for operand in operands {
                if value_of(operand)? == 0 {
                    return Ok(0);
                }
            }
            Ok(1)
        }
        ExpressionKind::Any(operands) => {
            for operand in operands {
                if value_of(operand)? != 0 {
                    return Ok(1);
                }
            }
            Ok(0)
        }
        ExpressionKind::Conditional(operands) => {
            let [condition, then, otherwise] = &**operands;
            if value_of(condition)? != 0 { value_of(then) } else { value_of(otherwise) }
        }
        ExpressionKind::Convert(domain, operand) => {
            at(span, domain.convert(system.program.overflow, value_of(operand)?))
        }
    }
}

/// Where an element lies among the unpacked values.
pub(super) fn element(
    system: &Interpreter,
    variable: VariableId,
    index: i64,
    span: Span,
) -> Result<usize, Trouble> {
    let elements = i64::from(system.program.variable(variable).elements());
    if (0..elements).contains(&index) {
        Ok(system.bases[variable.index()] + index as usize)
    } else {
        Err(Trouble { kind: FaultKind::Index, span })
    }
}

/// A fault with its place.
pub(super) fn at<T>(span: Span, outcome: Result<T, FaultKind>) -> Result<T, Trouble> {
    outcome.map_err(|kind| Trouble { kind, span })
}
