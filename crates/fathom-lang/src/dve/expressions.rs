//! Which tree do the words of an expression form?
//!
//! Precedence climbing with the precedence of C: `imply` < `or` < `and` < `|` < `^` < `&` < equality < comparison < shift <
//! sum < product < unary. Binary operators associate to the left. Nesting is limited, so neither this
//! code nor any that walks the tree can run out of stack.

use fathom_model::expression::{BinaryOperator, UnaryOperator};
use fathom_model::span::Span;

use super::ast::{DEPTH_MAX, Expression, ExpressionKind, Logical};
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::cursor::{Malformed, Parsed};
use crate::diagnostic::{Diagnostic, quoted};

/// What stands between two operands.
#[derive(Clone, Copy)]
enum Operator {
    Binary(BinaryOperator),
    Logical(Logical),
    Imply,
}

/// The operator a word stands for, and how tightly it binds.
fn operator(kind: TokenKind) -> Option<(Operator, u8)> {
    let (operator, power) = match kind {
        TokenKind::Imply => return Some((Operator::Imply, 1)),
        TokenKind::Or => return Some((Operator::Logical(Logical::Or), 2)),
        TokenKind::And => return Some((Operator::Logical(Logical::And), 3)),
        TokenKind::Bar => (BinaryOperator::BitOr, 4),
        TokenKind::Caret => (BinaryOperator::BitXor, 5),
        TokenKind::Ampersand => (BinaryOperator::BitAnd, 6),
        TokenKind::Equal => (BinaryOperator::Equal, 7),
        TokenKind::NotEqual => (BinaryOperator::NotEqual, 7),
        TokenKind::Less => (BinaryOperator::Less, 8),
        TokenKind::LessEqual => (BinaryOperator::LessEqual, 8),
        TokenKind::Greater => (BinaryOperator::Greater, 8),
        TokenKind::GreaterEqual => (BinaryOperator::GreaterEqual, 8),
        TokenKind::ShiftLeft => (BinaryOperator::ShiftLeft, 9),
        TokenKind::ShiftRight => (BinaryOperator::ShiftRight, 9),
        TokenKind::Plus => (BinaryOperator::Add, 10),
        TokenKind::Minus => (BinaryOperator::Subtract, 10),
        TokenKind::Star => (BinaryOperator::Multiply, 11),
        TokenKind::Slash => (BinaryOperator::Divide, 11),
        TokenKind::Percent => (BinaryOperator::Remainder, 11),
        _ => return None,
    };
    Some((Operator::Binary(operator), power))
}

impl<'s> Parser<'s, '_> {
    /// An expression.
    pub(crate) fn expression(&mut self) -> Parsed<Expression<'s>> {
        self.binary(1)
    }

    /// An expression of operators that bind at least as tightly as `power_min`.
    fn binary(&mut self, power_min: u8) -> Parsed<Expression<'s>> {
        self.nesting += 1;
        let result =
            if self.nesting > DEPTH_MAX { Err(self.too_deep(self.span())) } else { self.chain(power_min) };
        self.nesting -= 1;
        result
    }

    fn chain(&mut self, power_min: u8) -> Parsed<Expression<'s>> {
        let mut left = self.unary()?;
        while let Some((operator, power)) = operator(self.kind()) {
            if power < power_min {
                break;
            }
            self.advance();
            let right = self.binary(power + 1)?;
            left = self.join(operator, left, right)?;
        }
        Ok(left)
    }

    fn join(
        &mut self,
        operator: Operator,
        left: Expression<'s>,
        right: Expression<'s>,
    ) -> Parsed<Expression<'s>> {
        let span = left.span.to(right.span);
        let depth = 1 + left.depth.max(right.depth);
        match (operator, left) {
            (
                Operator::Logical(logical),
                Expression { kind: ExpressionKind::Logical(same, mut operands), depth, .. },
            ) if logical == same => {
                let depth = depth.max(1 + right.depth);
                operands.push(right);
                self.node(ExpressionKind::Logical(logical, operands), span, depth)
            }
            (Operator::Logical(logical), left) => {
                self.node(ExpressionKind::Logical(logical, vec![left, right]), span, depth)
            }
            (Operator::Binary(operator), left) => {
                self.node(ExpressionKind::Binary(operator, Box::new(left), Box::new(right)), span, depth)
            }
            (Operator::Imply, left) => {
                self.node(ExpressionKind::Imply(Box::new(left), Box::new(right)), span, depth)
            }
        }
    }

    fn node(&mut self, kind: ExpressionKind<'s>, span: Span, depth: u32) -> Parsed<Expression<'s>> {
        if depth > DEPTH_MAX {
            return Err(self.too_deep(span));
        }
        Ok(Expression { kind, span, depth })
    }

    fn too_deep(&mut self, span: Span) -> Malformed {
        let message = format!("this expression is nested too deeply: more than {DEPTH_MAX} levels");
        let help = "chains of `and` and of `or` may be of any length; split other expressions over several variables";
        self.diagnostics.push(Diagnostic::error(message).at(span, "").help(help));
        Malformed
    }

    fn unary(&mut self) -> Parsed<Expression<'s>> {
        let operator = match self.kind() {
            TokenKind::Minus => UnaryOperator::Negate,
            TokenKind::Tilde => UnaryOperator::Complement,
            TokenKind::Not => UnaryOperator::Not,
            _ => return self.primary(),
        };
        let start = self.advance();
        self.nesting += 1;
        let operand = if self.nesting > DEPTH_MAX { Err(self.too_deep(start)) } else { self.unary() };
        self.nesting -= 1;
        let operand = operand?;
        let (span, depth) = (start.to(operand.span), 1 + operand.depth);
        self.node(ExpressionKind::Unary(operator, Box::new(operand)), span, depth)
    }

    fn primary(&mut self) -> Parsed<Expression<'s>> {
        let span = self.span();
        let kind = match self.kind() {
            TokenKind::Number => self.number(),
            TokenKind::True => ExpressionKind::Number(1),
            TokenKind::False => ExpressionKind::Number(0),
            TokenKind::Identifier => return self.named(),
            TokenKind::OpenParenthesis => {
                self.advance();
                let mut inner = self.expression()?;
                inner.span = span.to(self.expect(TokenKind::CloseParenthesis)?);
                return Ok(inner);
            }
            _ => return Err(self.unexpected("an expression")),
        };
        self.advance();
        Ok(Expression { kind, span, depth: 1 })
    }

    fn number(&mut self) -> ExpressionKind<'s> {
        let span = self.span();
        let digits = self.word(span);
        ExpressionKind::Number(digits.parse().unwrap_or_else(|_| {
            let message = format!("the number {} is too large", quoted(digits));
            let diagnostic =
                Diagnostic::error(message).at(span, format!("the largest number is {}", i64::MAX));
            self.diagnostics.push(diagnostic);
            0
        }))
    }

    /// What begins with a name: `x`, `a[i]`, `P.s`, `P->x`, `P->a[i]`.
    fn named(&mut self) -> Parsed<Expression<'s>> {
        let name = self.name("a name")?;
        let mut depth = 1;
        let kind = match self.kind() {
            TokenKind::Dot => {
                self.advance();
                ExpressionKind::InState(Box::new([name, self.name("a state's name")?]))
            }
            TokenKind::Arrow => {
                self.advance();
                let variable = self.name("the name of a variable of that process")?;
                let index = self.bracketed()?;
                depth += index.as_ref().map_or(0, |index| index.depth);
                ExpressionKind::Foreign(Box::new([name, variable]), index.map(Box::new))
            }
            TokenKind::OpenParenthesis => {
                let message = "process instances and calls are not supported";
                self.diagnostics.push(Diagnostic::error(message).at(name.span.to(self.span()), ""));
                return Err(Malformed);
            }
            _ => match self.bracketed()? {
                Some(index) => {
                    depth += index.depth;
                    ExpressionKind::Element(name, Box::new(index))
                }
                None => ExpressionKind::Name(name),
            },
        };
        let span = name.span.to(self.previous_span());
        self.node(kind, span, depth)
    }
}
