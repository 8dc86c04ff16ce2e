//! What is an expression worth in a state?

use fathom_model::expression::{
    BinaryOperator, Domain, Expression, ExpressionKind, FaultKind, Overflow, UnaryOperator,
};
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
            unary(system.program.overflow, *operator, value_of(operand)?, span)
        }
        ExpressionKind::Binary(operator, left, right) => {
            let (left, right) = (value_of(left)?, value_of(right)?);
            binary(system.program.overflow, *operator, left, right, span)
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
            convert(system.program.overflow, *domain, value_of(operand)?, span)
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

/// A value brought into a domain.
pub(super) fn convert(overflow: Overflow, domain: Domain, value: i64, span: Span) -> Result<i64, Trouble> {
    match overflow {
        _ if domain.contains(value) => Ok(value),
        Overflow::Fault => Err(Trouble { kind: FaultKind::Range, span }),
        Overflow::Wrap => Ok(domain.wrap(value)),
    }
}

fn unary(overflow: Overflow, operator: UnaryOperator, value: i64, span: Span) -> Result<i64, Trouble> {
    match operator {
        UnaryOperator::Negate => fit(overflow, value.overflowing_neg(), span),
        UnaryOperator::Complement => Ok(!value),
        UnaryOperator::Not => Ok(i64::from(value == 0)),
    }
}

fn binary(
    overflow: Overflow,
    operator: BinaryOperator,
    left: i64,
    right: i64,
    span: Span,
) -> Result<i64, Trouble> {
    match operator {
        BinaryOperator::Add => fit(overflow, left.overflowing_add(right), span),
        BinaryOperator::Subtract => fit(overflow, left.overflowing_sub(right), span),
        BinaryOperator::Multiply => fit(overflow, left.overflowing_mul(right), span),
        BinaryOperator::Divide | BinaryOperator::Remainder if right == 0 => {
            Err(Trouble { kind: FaultKind::Division, span })
        }
        BinaryOperator::Divide => fit(overflow, left.overflowing_div(right), span),
        BinaryOperator::Remainder => Ok(left.wrapping_rem(right)),
        BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight if !(0..64).contains(&right) => {
            Err(Trouble { kind: FaultKind::Shift, span })
        }
        BinaryOperator::ShiftLeft => {
            let shifted = left << right;
            fit(overflow, (shifted, shifted >> right != left), span)
        }
        BinaryOperator::ShiftRight => Ok(left >> right),
        BinaryOperator::BitAnd => Ok(left & right),
        BinaryOperator::BitOr => Ok(left | right),
        BinaryOperator::BitXor => Ok(left ^ right),
        BinaryOperator::Equal => Ok(i64::from(left == right)),
        BinaryOperator::NotEqual => Ok(i64::from(left != right)),
        BinaryOperator::Less => Ok(i64::from(left < right)),
        BinaryOperator::LessEqual => Ok(i64::from(left <= right)),
        BinaryOperator::Greater => Ok(i64::from(left > right)),
        BinaryOperator::GreaterEqual => Ok(i64::from(left >= right)),
    }
}

/// A 64-bit result and whether it lost something.
fn fit(overflow: Overflow, (value, lost): (i64, bool), span: Span) -> Result<i64, Trouble> {
    if lost && overflow == Overflow::Fault {
        Err(Trouble { kind: FaultKind::Overflow, span })
    } else {
        Ok(value)
    }
}
