//! What of a value is known before the run?
//!
//! Arithmetic that would fault is not known: the fault happens when the value is needed, if ever.

use fathom_model::expression::{BinaryOperator, UnaryOperator};

use super::tree::{Value, ValueKind};
use super::types::Types;

/// The code of a value, if it is the same in every state.
pub(crate) fn fold(types: &Types, value: &Value) -> Option<i64> {
    match &value.kind {
        ValueKind::Constant(code) => Some(*code),
        ValueKind::Convert(operand) => convert(types, fold(types, operand)?, operand, value),
        ValueKind::Unary(operator, operand) => unary(*operator, fold(types, operand)?),
        ValueKind::Binary(operator, left, right) => {
            use BinaryOperator::{Divide, Remainder, ShiftLeft, ShiftRight};
            let left = fold(types, left)?;
            if left == 0 && matches!(operator, Divide | Remainder | ShiftLeft | ShiftRight) {
                // Whatever the other operand is, if there is a result it is 0.
                return if fold(types, right) == Some(0) && matches!(operator, Divide | Remainder) {
                    None
                } else {
                    Some(0)
                };
            }
            binary(*operator, left, fold(types, right)?)
        }
        ValueKind::All(operands) => {
            let codes: Option<Vec<i64>> = operands.iter().map(|operand| fold(types, operand)).collect();
            Some(i64::from(codes?.iter().all(|code| *code != 0)))
        }
        ValueKind::Any(operands) => {
            let codes: Option<Vec<i64>> = operands.iter().map(|operand| fold(types, operand)).collect();
            Some(i64::from(codes?.iter().any(|code| *code != 0)))
        }
        ValueKind::Conditional(operands) => {
            let [condition, then, otherwise] = &**operands;
            if fold(types, condition)? != 0 { fold(types, then) } else { fold(types, otherwise) }
        }
        _ => None,
    }
}

/// A code of one type as one of another; none if it has none.
fn convert(types: &Types, code: i64, from: &Value, to: &Value) -> Option<i64> {
    let code = match (types.offset(to.type_id, from.type_id), types.offset(from.type_id, to.type_id)) {
        (Some(offset), _) => code + offset,
        (None, Some(offset)) => code - offset,
        (None, None) => return None,
    };
    types.domain(to.type_id)?.contains(code).then_some(code)
}

pub(crate) fn unary(operator: UnaryOperator, operand: i64) -> Option<i64> {
    match operator {
        UnaryOperator::Negate => operand.checked_neg(),
        UnaryOperator::Complement => Some(!operand),
        UnaryOperator::Not => Some(i64::from(operand == 0)),
    }
}

/// The result of an operator of two operands. A shift by a negative amount goes the other way; one beyond the word leaves nothing.
pub(crate) fn binary(operator: BinaryOperator, left: i64, right: i64) -> Option<i64> {
    Some(match operator {
        BinaryOperator::Add => left.checked_add(right)?,
        BinaryOperator::Subtract => left.checked_sub(right)?,
        BinaryOperator::Multiply => left.checked_mul(right)?,
        BinaryOperator::Divide => left.checked_div(right)?,
        BinaryOperator::Remainder if right == -1 => 0,
        BinaryOperator::Remainder => left.checked_rem(right)?,
        BinaryOperator::ShiftLeft if right < 0 => {
            binary(BinaryOperator::ShiftRight, left, right.checked_neg()?)?
        }
        BinaryOperator::ShiftLeft if right > 63 => 0,
        BinaryOperator::ShiftLeft => {
            left.checked_mul(1i64.checked_shl(right as u32).filter(|it| *it > 0)?)?
        }
        BinaryOperator::ShiftRight if right < 0 => {
            binary(BinaryOperator::ShiftLeft, left, right.checked_neg()?)?
        }
        BinaryOperator::ShiftRight if right > 63 => 0,
        BinaryOperator::ShiftRight => left >> right,
        BinaryOperator::BitAnd => left & right,
        BinaryOperator::BitOr => left | right,
        BinaryOperator::BitXor => left ^ right,
        BinaryOperator::Equal => i64::from(left == right),
        BinaryOperator::NotEqual => i64::from(left != right),
        BinaryOperator::Less => i64::from(left < right),
        BinaryOperator::LessEqual => i64::from(left <= right),
        BinaryOperator::Greater => i64::from(left > right),
        BinaryOperator::GreaterEqual => i64::from(left >= right),
    })
}
