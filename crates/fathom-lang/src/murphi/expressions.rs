//! Which tree do the words of an expression form?
//!
//! Precedence climbing: `?:` < `->` < `||` < `&&` < `|` < `^` < `&` < `!` < comparison < shift < sum < product < unary minus. Comparisons
//! and implications do not associate; all other binary operators associate to the left. So `!a = b` is `!(a = b)`.

use fathom_model::expression::{BinaryOperator, UnaryOperator};
use fathom_model::span::Span;

use super::ast::{Chain, DEPTH_MAX, Expression, ExpressionKind, Name, Quantifier, Selection, Values};
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::cursor::{Malformed, Parsed};
use crate::diagnostic::{Diagnostic, quoted};

/// What stands between two operands.
#[derive(Clone, Copy)]
enum Operator {
    Binary(BinaryOperator),
    Chain(Chain),
    Imply,
}

/// How tightly `!` binds.
const NOT: u8 = 7;
/// How tightly a comparison binds.
const COMPARISON: u8 = 8;
/// How tightly an implication binds.
const IMPLICATION: u8 = 1;
/// How tightly unary minus binds: tighter than everything between two operands.
const SIGN: u8 = 12;

/// The operator a word stands for, and how tightly it binds.
fn operator(kind: TokenKind) -> Option<(Operator, u8)> {
    use BinaryOperator as Op;
    let (operator, power) = match kind {
        TokenKind::Implies => return Some((Operator::Imply, IMPLICATION)),
        TokenKind::Or => return Some((Operator::Chain(Chain::Or), 2)),
        TokenKind::And => return Some((Operator::Chain(Chain::And), 3)),
        TokenKind::Bar => return Some((Operator::Chain(Chain::Bar), 4)),
        TokenKind::Caret => (Op::BitXor, 5),
        TokenKind::Ampersand => return Some((Operator::Chain(Chain::Ampersand), 6)),
        TokenKind::Equal => (Op::Equal, COMPARISON),
        TokenKind::NotEqual => (Op::NotEqual, COMPARISON),
        TokenKind::Less => (Op::Less, COMPARISON),
        TokenKind::LessEqual => (Op::LessEqual, COMPARISON),
        TokenKind::Greater => (Op::Greater, COMPARISON),
        TokenKind::GreaterEqual => (Op::GreaterEqual, COMPARISON),
        TokenKind::ShiftLeft => (Op::ShiftLeft, 9),
        TokenKind::ShiftRight => (Op::ShiftRight, 9),
        TokenKind::Plus => (Op::Add, 10),
        TokenKind::Minus => (Op::Subtract, 10),
        TokenKind::Star => (Op::Multiply, 11),
        TokenKind::Slash => (Op::Divide, 11),
        TokenKind::Percent => (Op::Remainder, 11),
        _ => return None,
    };
    Some((Operator::Binary(operator), power))
}

impl<'s> Parser<'s, '_> {
    /// An expression.
    pub(crate) fn expression(&mut self) -> Parsed<Expression<'s>> {
        self.nested(|parser| {
            let condition = parser.binary(IMPLICATION)?;
            if !parser.eat(TokenKind::Question) {
                return Ok(condition);
            }
            let then = parser.expression()?;
            parser.expect(TokenKind::Colon)?;
            let otherwise = parser.expression()?;
            let span = condition.span.to(otherwise.span);
            let depth = 1 + condition.depth.max(then.depth).max(otherwise.depth);
            parser.node(ExpressionKind::Conditional(Box::new([condition, then, otherwise])), span, depth)
        })
    }

    /// An expression of operators that bind at least as tightly as `power_min`.
    fn binary(&mut self, power_min: u8) -> Parsed<Expression<'s>> {
        let mut left = self.nested(|parser| parser.unary())?;
        while let Some((operator, power)) = operator(self.kind()) {
            if power < power_min {
                break;
            }
            let sign = self.advance();
            let right = self.nested(|parser| parser.binary(power + 1))?;
            left = self.join(operator, left, right)?;
            if matches!(power, COMPARISON | IMPLICATION) {
                self.refuse_chain(power, sign)?;
            }
        }
        Ok(left)
    }

    /// Refuses a second operator of a kind that does not associate.
    fn refuse_chain(&mut self, power: u8, first: Span) -> Parsed<()> {
        if operator(self.kind()).is_none_or(|(_, next)| next != power) {
            return Ok(());
        }
        let [first_text, second_text] = [first, self.span()].map(|span| quoted(self.word(span)));
        let diagnostic = Diagnostic::error(format!("{first_text} and {second_text} without parentheses"));
        let diagnostic = diagnostic.at(self.span(), "").see(first, "the other one");
        self.diagnostics.push(diagnostic.help("say with parentheses which comes first"));
        Err(Malformed)
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
                Operator::Chain(chain),
                Expression {
                    kind: ExpressionKind::Chain(same, mut operands),
                    depth,
                    parenthesised: false,
                    ..
                },
            ) if chain == same => {
                let depth = depth.max(1 + right.depth);
                operands.push(right);
                self.node(ExpressionKind::Chain(chain, operands), span, depth)
            }
            (Operator::Chain(chain), left) => {
                self.node(ExpressionKind::Chain(chain, vec![left, right]), span, depth)
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
        Ok(Expression { kind, span, depth, parenthesised: false })
    }

    fn unary(&mut self) -> Parsed<Expression<'s>> {
        let (operator, power) = match self.kind() {
            TokenKind::Minus => (Some(UnaryOperator::Negate), SIGN),
            TokenKind::Plus => (None, SIGN),
            TokenKind::Tilde => (Some(UnaryOperator::Complement), SIGN),
            TokenKind::Bang => (Some(UnaryOperator::Not), NOT),
            _ => return self.primary(),
        };
        let start = self.advance();
        let operand = self.nested(|parser| parser.binary(power))?;
        let (span, depth) = (start.to(operand.span), 1 + operand.depth);
        match operator {
            Some(operator) => self.node(ExpressionKind::Unary(operator, Box::new(operand)), span, depth),
            None => Ok(Expression { span, ..operand }),
        }
    }

    /// An operand.
    pub(crate) fn primary(&mut self) -> Parsed<Expression<'s>> {
        let span = self.span();
        let kind = match self.kind() {
            TokenKind::Number => self.number(),
            TokenKind::True => ExpressionKind::Boolean(true),
            TokenKind::False => ExpressionKind::Boolean(false),
            TokenKind::Undefined => ExpressionKind::Undefined,
            TokenKind::Forall | TokenKind::Exists => return self.quantified(),
            TokenKind::OpenParenthesis => {
                self.advance();
                let mut inner = self.expression()?;
                inner.span = span.to(self.expect(TokenKind::CloseParenthesis)?);
                inner.parenthesised = true;
                return self.designator_of(inner);
            }
            kind if kind == TokenKind::Identifier || kind.is_soft() => {
                let name = self.name("a name")?;
                if self.kind() == TokenKind::OpenParenthesis {
                    let call = self.call(name)?;
                    return self.designator_of(call);
                }
                let expression = self.node(ExpressionKind::Name(name), span, 1)?;
                return self.designator_of(expression);
            }
            _ => return Err(self.unexpected("an expression")),
        };
        self.advance();
        self.node(kind, span, 1)
    }

    /// What begins with a place or a value: `a`, `a.b`, `a[i].b`.
    pub(crate) fn designator_of(&mut self, mut base: Expression<'s>) -> Parsed<Expression<'s>> {
        loop {
            let depth = base.depth;
            if self.eat(TokenKind::Dot) {
                let field = self.name("a field's name")?;
                let span = base.span.to(field.span);
                base = self.node(ExpressionKind::Field(Box::new(base), field), span, depth + 1)?;
            } else if self.eat(TokenKind::OpenBracket) {
                let index = self.expression()?;
                let depth = 1 + depth.max(index.depth);
                let span = base.span.to(self.expect(TokenKind::CloseBracket)?);
                base = self.node(ExpressionKind::Element(Box::new(base), Box::new(index)), span, depth)?;
            } else {
                return Ok(base);
            }
        }
    }

    /// A place: a name with fields and indices.
    pub(crate) fn designator(&mut self) -> Parsed<Expression<'s>> {
        let name = self.name("a variable's name")?;
        let base = self.node(ExpressionKind::Name(name), name.span, 1)?;
        self.designator_of(base)
    }

    fn number(&mut self) -> ExpressionKind<'s> {
        let span = self.span();
        let word = self.word(span);
        let hexadecimal = word.get(2..).filter(|_| word[..2].eq_ignore_ascii_case("0x"));
        let octal = word.strip_prefix('0').filter(|digits| !digits.is_empty());
        let value = match (hexadecimal, octal) {
            (Some(digits), _) => i64::from_str_radix(digits, 16),
            (None, Some(digits)) => i64::from_str_radix(digits, 8),
            (None, None) => word.parse(),
        };
        ExpressionKind::Number(value.unwrap_or_else(|_| {
            let is_octal = hexadecimal.is_none() && word.starts_with('0');
            let diagnostic = match is_octal && word.bytes().any(|digit| digit > b'7') {
                true => Diagnostic::error(format!("{} is not an octal number", quoted(word)))
                    .at(span, "a number that begins with 0 is octal")
                    .help("leave out the 0 at the beginning"),
                false => Diagnostic::error(format!("the number {} is too large", quoted(word)))
                    .at(span, format!("the largest number is {}", i64::MAX)),
            };
            self.diagnostics.push(diagnostic);
            0
        }))
    }

    /// A call, or one of the operations that look like one.
    fn call(&mut self, name: Name<'s>) -> Parsed<Expression<'s>> {
        let is = |word: &str| name.text.eq_ignore_ascii_case(word);
        self.expect(TokenKind::OpenParenthesis)?;
        let (kind, depth) = if is("isundefined") {
            let place = self.expression()?;
            let depth = place.depth;
            (ExpressionKind::IsUndefined(Box::new(place)), depth)
        } else if is("ismember") {
            let value = self.expression()?;
            self.expect(TokenKind::Comma)?;
            let depth = value.depth;
            (ExpressionKind::IsMember(Box::new(value), Box::new(self.type_tree()?)), depth)
        } else if is("multisetcount") {
            let selection = self.selection()?;
            let depth = selection.set.depth.max(selection.condition.depth);
            (ExpressionKind::MultisetCount(selection), depth)
        } else {
            let arguments = self.arguments()?;
            let depth = arguments.iter().map(|argument| argument.depth).max().unwrap_or(0);
            (ExpressionKind::Call(name, arguments), depth)
        };
        let span = name.span.to(self.expect(TokenKind::CloseParenthesis)?);
        self.node(kind, span, depth + 1)
    }

    /// `[expr {, expr} [,]]` up to a closing parenthesis.
    pub(crate) fn arguments(&mut self) -> Parsed<Vec<Expression<'s>>> {
        let mut arguments = Vec::new();
        while self.kind() != TokenKind::CloseParenthesis {
            arguments.push(self.expression()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        Ok(arguments)
    }

    /// `i: set, condition`
    pub(crate) fn selection(&mut self) -> Parsed<Selection<'s>> {
        let name = self.name("a name for the elements")?;
        self.expect(TokenKind::Colon)?;
        let set = Box::new(self.designator()?);
        self.expect(TokenKind::Comma)?;
        Ok(Selection { name, set, condition: Box::new(self.expression()?) })
    }

    fn quantified(&mut self) -> Parsed<Expression<'s>> {
        let for_all = self.kind() == TokenKind::Forall;
        let opened = self.advance();
        let quantifier = self.quantifier()?;
        self.expect(TokenKind::Do)?;
        let condition = self.expression()?;
        let words = if for_all { ["endforall"] } else { ["endexists"] };
        let span = opened.to(self.expect_end(&words, opened)?);
        let depth = 1 + condition.depth;
        self.node(ExpressionKind::Quantified(for_all, Box::new(quantifier), Box::new(condition)), span, depth)
    }

    /// `x: T` or `x := a to b [by c]`
    pub(crate) fn quantifier(&mut self) -> Parsed<Quantifier<'s>> {
        let name = self.name("a name for the values")?;
        let values = if self.eat(TokenKind::Assign) {
            let from = Box::new(self.expression()?);
            self.expect(TokenKind::To)?;
            let to = Box::new(self.expression()?);
            let by = if self.eat(TokenKind::By) { Some(Box::new(self.expression()?)) } else { None };
            Values::Steps { from, to, by }
        } else {
            if self.kind() != TokenKind::Colon {
                return Err(self.unexpected("`:` and a type, or `:=` and a range"));
            }
            self.advance();
            Values::Of(self.type_tree()?)
        };
        let span = name.span.to(self.previous_span());
        Ok(Quantifier { name, values, span })
    }
}
