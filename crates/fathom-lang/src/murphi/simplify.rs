//! Which expressions are known, or shorter than they were written?
//!
//! Conditions give 0 or 1 only, since booleans are no numbers in Murphi. Makers of expressions that evaluate what is known. What they leave out has no fault: an operand that might fault stays.

use fathom_model::expression::{BinaryOperator, Expression, ExpressionKind, UnaryOperator};
use fathom_model::span::Span;

use super::fold;

/// The value of an expression that is a constant.
pub(crate) fn known(expression: &Expression) -> Option<i64> {
    match expression.kind {
        ExpressionKind::Constant(value) => Some(value),
        _ => None,
    }
}

pub(crate) fn unary(operator: UnaryOperator, operand: Expression, span: Span) -> Expression {
    if let Some(value) = known(&operand).and_then(|value| fold::unary(operator, value)) {
        return Expression::constant(value, span);
    }
    Expression { kind: ExpressionKind::Unary(operator, Box::new(operand)), span }
}

pub(crate) fn not(operand: Expression) -> Expression {
    let span = operand.span;
    unary(UnaryOperator::Not, operand, span)
}

pub(crate) fn binary(
    operator: BinaryOperator,
    left: Expression,
    right: Expression,
    span: Span,
) -> Expression {
    let value = match (known(&left), known(&right)) {
        (Some(left), Some(right)) => fold::binary(operator, left, right),
        _ => None,
    };
    if let Some(value) = value {
        return Expression::constant(value, span);
    }
    match (operator, known(&left), known(&right)) {
        (BinaryOperator::Add, Some(0), _) | (BinaryOperator::Multiply, Some(1), _) => right,
        (BinaryOperator::Add | BinaryOperator::Subtract, _, Some(0))
        | (BinaryOperator::Multiply, _, Some(1)) => left,
        _ => Expression { kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)), span },
    }
}

/// All of the operands, or one of them; every one is evaluated, whatever the others are.
pub(crate) fn every(for_all: bool, operands: Vec<Expression>, span: Span) -> Expression {
    let (operator, neutral) = if for_all { (BinaryOperator::BitAnd, 1) } else { (BinaryOperator::BitOr, 0) };
    let operands = operands.into_iter().filter(|operand| known(operand) != Some(neutral));
    let joined = operands.reduce(|left, right| binary(operator, left, right, span));
    joined.unwrap_or(Expression::constant(neutral, span))
}

/// All of the operands; those behind one that is false are never evaluated.
pub(crate) fn all(operands: Vec<Expression>, span: Span) -> Expression {
    let (mut operands, stopped) = until(operands, false);
    if stopped {
        operands.push(Expression::constant(0, span));
    }
    match operands.len() {
        0 => Expression::constant(1, span),
        1 => operands.swap_remove(0),
        _ => Expression { kind: ExpressionKind::All(operands), span },
    }
}

/// Some of the operands; those behind one that is true are never evaluated.
pub(crate) fn any(operands: Vec<Expression>, span: Span) -> Expression {
    let (mut operands, stopped) = until(operands, true);
    if stopped {
        operands.push(Expression::constant(1, span));
    }
    match operands.len() {
        0 => Expression::constant(0, span),
        1 => operands.swap_remove(0),
        _ => Expression { kind: ExpressionKind::Any(operands), span },
    }
}

/// The operands that are not known, up to one that is known to be `stop`; whether there was one.
fn until(operands: Vec<Expression>, stop: bool) -> (Vec<Expression>, bool) {
    let mut kept = Vec::with_capacity(operands.len());
    for operand in operands {
        match known(&operand) {
            Some(value) if (value != 0) == stop => return (kept, true),
            Some(_) => {}
            None => kept.push(operand),
        }
    }
    (kept, false)
}

pub(crate) fn conditional(
    condition: Expression,
    then: Expression,
    otherwise: Expression,
    span: Span,
) -> Expression {
    match known(&condition) {
        Some(0) => otherwise,
        Some(_) => then,
        None => {
            Expression { kind: ExpressionKind::Conditional(Box::new([condition, then, otherwise])), span }
        }
    }
}
