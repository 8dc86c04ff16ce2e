//! What of an expression is known before the run?
//!
//! Folding never changes a value and never hides a fault: an operation that would fault stays as it is and faults
//! when it is evaluated.

use fathom_model::expression::{BinaryOperator, Expression, ExpressionKind, UnaryOperator};
use fathom_model::span::Span;

use super::ast::Logical;

/// The value, if it is known.
pub(crate) fn known(expression: &Expression) -> Option<i64> {
    match expression.kind {
        ExpressionKind::Constant(value) => Some(value),
        _ => None,
    }
}

/// A unary operator applied.
pub(crate) fn unary(operator: UnaryOperator, operand: Expression, span: Span) -> Expression {
    let value = known(&operand).and_then(|value| match operator {
        UnaryOperator::Negate => value.checked_neg(),
        UnaryOperator::Complement => Some(!value),
        UnaryOperator::Not => Some(i64::from(value == 0)),
    });
    match value {
        Some(value) => Expression::constant(value, span),
        None => Expression::unary(operator, operand, span),
    }
}

/// A binary operator applied, at `span`.
pub(crate) fn binary(
    operator: BinaryOperator,
    left: Expression,
    right: Expression,
    span: Span,
) -> Expression {
    let value = match (known(&left), known(&right)) {
        (Some(left), Some(right)) => evaluate(operator, left, right),
        _ => None,
    };
    match value {
        Some(value) => Expression::constant(value, span),
        None => Expression { span, ..Expression::binary(operator, left, right) },
    }
}

/// The result, unless the operation faults.
fn evaluate(operator: BinaryOperator, left: i64, right: i64) -> Option<i64> {
    let shift = u32::try_from(right).ok().filter(|&shift| shift < 64);
    let truth = |value: bool| Some(i64::from(value));
    match operator {
        BinaryOperator::Add => left.checked_add(right),
        BinaryOperator::Subtract => left.checked_sub(right),
        BinaryOperator::Multiply => left.checked_mul(right),
        BinaryOperator::Divide => left.checked_div(right),
        BinaryOperator::Remainder => left.checked_rem(right),
        BinaryOperator::ShiftLeft => shift.map(|shift| left << shift).filter(|value| value >> right == left),
        BinaryOperator::ShiftRight => shift.map(|shift| left >> shift),
        BinaryOperator::BitAnd => Some(left & right),
        BinaryOperator::BitOr => Some(left | right),
        BinaryOperator::BitXor => Some(left ^ right),
        BinaryOperator::Equal => truth(left == right),
        BinaryOperator::NotEqual => truth(left != right),
        BinaryOperator::Less => truth(left < right),
        BinaryOperator::LessEqual => truth(left <= right),
        BinaryOperator::Greater => truth(left > right),
        BinaryOperator::GreaterEqual => truth(left >= right),
    }
}

/// A chain of `and` or of `or`. Operands of the same kind are taken in; known operands that decide nothing are left out, and
/// nothing is kept behind one that decides. Of a chain that is decided by its first operand the value remains.
pub(crate) fn logical(logical: Logical, operands: Vec<Expression>, span: Span) -> Expression {
    let mut kept = Vec::with_capacity(operands.len());
    let mut decided = false;
    for operand in operands {
        match (logical, operand.kind) {
            _ if decided => break,
            (_, ExpressionKind::Constant(value)) => {
                decided = (value != 0) == (logical == Logical::Or);
                if decided {
                    kept.push(Expression::constant(value, operand.span));
                }
            }
            (Logical::And, ExpressionKind::All(inner)) | (Logical::Or, ExpressionKind::Any(inner)) => {
                kept.extend(inner);
            }
            (_, kind) => kept.push(Expression { kind, span: operand.span }),
        }
    }
    if kept.len() == usize::from(decided) {
        return Expression::constant(i64::from(decided == (logical == Logical::Or)), span);
    }
    let kind = match logical {
        Logical::And => ExpressionKind::All(kept),
        Logical::Or => ExpressionKind::Any(kept),
    };
    Expression { kind, span }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::program::VariableId;

    fn constant(value: i64) -> Expression {
        Expression::constant(value, Span::default())
    }

    fn variable() -> Expression {
        Expression::read(VariableId(0), Span::default())
    }

    fn chain(kind: Logical, operands: Vec<Expression>) -> ExpressionKind {
        logical(kind, operands, Span::default()).kind
    }

    #[test]
    fn operations_that_fault_are_not_folded() {
        use BinaryOperator::{Add, Divide, Multiply, Remainder, ShiftLeft, ShiftRight};
        let faults = [
            (Divide, 1, 0),
            (Remainder, 1, 0),
            (Divide, i64::MIN, -1),
            (Add, i64::MAX, 1),
            (Multiply, i64::MAX, 2),
            (ShiftLeft, 1, 64),
            (ShiftLeft, 1, 63),
            (ShiftLeft, 1, -1),
            (ShiftRight, 1, 64),
            (ShiftRight, 1, -1),
        ];
        for (operator, left, right) in faults {
            let folded = binary(operator, constant(left), constant(right), Span::default());
            assert_eq!(known(&folded), None, "{left} {operator:?} {right}");
        }
        assert_eq!(evaluate(Divide, -7, 2), Some(-3), "towards zero");
        assert_eq!(evaluate(Remainder, -7, 2), Some(-1), "sign of the dividend");
        assert_eq!(evaluate(ShiftLeft, -1, 63), Some(i64::MIN));
        assert_eq!(known(&unary(UnaryOperator::Negate, constant(i64::MIN), Span::default())), None);
    }

    #[test]
    fn chains_keep_what_may_fault_before_the_decision() {
        use ExpressionKind::{All, Any, Constant};
        assert_eq!(chain(Logical::And, vec![constant(7), constant(2)]), Constant(1));
        assert_eq!(chain(Logical::And, vec![constant(7), constant(0), variable()]), Constant(0));
        assert_eq!(chain(Logical::Or, vec![constant(0), constant(0)]), Constant(0));
        assert_eq!(chain(Logical::Or, vec![constant(0), constant(5), variable()]), Constant(1));
        // The operand before the decision is still evaluated, the one behind it never was.
        let kept = All(vec![variable(), constant(0)]);
        assert_eq!(chain(Logical::And, vec![variable(), constant(0), variable()]), kept);
        // A single operand still gives 0 or 1, not its own value.
        assert_eq!(chain(Logical::Or, vec![constant(0), variable()]), Any(vec![variable()]));
        let inner = logical(Logical::And, vec![variable(), variable()], Span::default());
        assert_eq!(chain(Logical::And, vec![inner, variable()]), All(vec![variable(); 3]));
    }
}
