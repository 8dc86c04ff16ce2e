//! What do operators compute?

use crate::domain::Overflow;
use crate::fault::FaultKind;

/// Operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    /// `-x`; [`FaultKind::Overflow`] for the least 64-bit value.
    Negate,
    /// `~x`, all 64 bits.
    Complement,
    /// 1 if x is 0, else 0.
    Not,
}

/// Operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// Sum; beyond 64 bits [`FaultKind::Overflow`] (or wrapped).
    Add,
    /// Difference; beyond 64 bits [`FaultKind::Overflow`] (or wrapped).
    Subtract,
    /// Product; beyond 64 bits [`FaultKind::Overflow`] (or wrapped).
    Multiply,
    /// Quotient truncated towards zero; by zero [`FaultKind::Division`].
    Divide,
    /// What truncated division leaves, with the sign of the dividend; by zero [`FaultKind::Division`].
    Remainder,
    /// Left shift; by less than 0 or more than 63 [`FaultKind::Shift`]; bits lost are [`FaultKind::Overflow`] (or dropped).
    ShiftLeft,
    /// Right shift that keeps the sign; by less than 0 or more than 63 [`FaultKind::Shift`].
    ShiftRight,
    /// Bitwise and.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// 1 if equal.
    Equal,
    /// 1 if not equal.
    NotEqual,
    /// 1 if less.
    Less,
    /// 1 if less or equal.
    LessEqual,
    /// 1 if greater.
    Greater,
    /// 1 if greater or equal.
    GreaterEqual,
}

impl UnaryOperator {
    /// The value of the operator applied.
    pub fn apply(self, overflow: Overflow, value: i64) -> Result<i64, FaultKind> {
        match self {
            UnaryOperator::Negate => fit(overflow, value.overflowing_neg()),
            UnaryOperator::Complement => Ok(!value),
            UnaryOperator::Not => Ok(i64::from(value == 0)),
        }
    }
}

impl BinaryOperator {
    /// The value of the operator applied.
    pub fn apply(self, overflow: Overflow, left: i64, right: i64) -> Result<i64, FaultKind> {
        match self {
            BinaryOperator::Add => fit(overflow, left.overflowing_add(right)),
            BinaryOperator::Subtract => fit(overflow, left.overflowing_sub(right)),
            BinaryOperator::Multiply => fit(overflow, left.overflowing_mul(right)),
            BinaryOperator::Divide | BinaryOperator::Remainder if right == 0 => Err(FaultKind::Division),
            BinaryOperator::Divide => fit(overflow, left.overflowing_div(right)),
            BinaryOperator::Remainder => Ok(left.wrapping_rem(right)),
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight if !(0..64).contains(&right) => {
                Err(FaultKind::Shift)
            }
            BinaryOperator::ShiftLeft => {
                let shifted = left << right;
                fit(overflow, (shifted, shifted >> right != left))
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

    /// The operator as it is written in a dump.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOperator::Add => "+",
            BinaryOperator::Subtract => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Remainder => "%",
            BinaryOperator::ShiftLeft => "<<",
            BinaryOperator::ShiftRight => ">>",
            BinaryOperator::BitAnd => "&",
            BinaryOperator::BitOr => "|",
            BinaryOperator::BitXor => "^",
            BinaryOperator::Equal => "==",
            BinaryOperator::NotEqual => "!=",
            BinaryOperator::Less => "<",
            BinaryOperator::LessEqual => "<=",
            BinaryOperator::Greater => ">",
            BinaryOperator::GreaterEqual => ">=",
        }
    }
}

/// A 64-bit result and whether it lost something.
fn fit(overflow: Overflow, (value, lost): (i64, bool)) -> Result<i64, FaultKind> {
    if lost && overflow == Overflow::Fault { Err(FaultKind::Overflow) } else { Ok(value) }
}
