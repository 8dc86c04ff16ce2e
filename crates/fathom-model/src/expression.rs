//! What is a value computed from?
//!
//! Expressions are evaluated over 64-bit signed integers without intermediate truncation; truth is "not zero", and
//! comparisons and the logical operators give 0 or 1. Evaluation either gives a value or a [`FaultKind`]:
//! which one, and where, is part of the semantics, so that every evaluator reports the same. Operands are evaluated from
//! left to right, and evaluation ends at the first fault.

use crate::program::{Place, Statement, VariableId};
use crate::span::Span;

/// An expression and where it stands in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Expression {
    /// What is computed.
    pub kind: ExpressionKind,
    /// Where it stands; faults point here.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExpressionKind {
    /// A literal, or anything known before the run.
    Constant(i64),
    /// The value of a scalar variable (a process's location is one); if it is undefined, [`FaultKind::Undefined`].
    Read(VariableId),
    /// An element of an array variable; an index outside the array is [`FaultKind::Index`], an undefined element [`FaultKind::Undefined`].
    Element(VariableId, Box<Expression>),
    /// 1 if the place of an optional variable is undefined, else 0; an index outside the array is [`FaultKind::Index`] at the place's span.
    IsUndefined(Box<Place>),
    /// A unary operator.
    Unary(UnaryOperator, Box<Expression>),
    /// A binary operator that evaluates both operands.
    Binary(BinaryOperator, Box<Expression>, Box<Expression>),
    /// 1 if all operands are true, evaluated from the left until one is not. Empty: 1.
    All(Vec<Expression>),
    /// 1 if some operand is true, evaluated from the left until one is. Empty: 0.
    Any(Vec<Expression>),
    /// The second operand if the first is true, else the third; only one of them is evaluated.
    Conditional(Box<[Expression; 3]>),
    /// The value, brought into a domain as an assignment to a variable of that domain would bring it:
    /// [`FaultKind::Range`] or wrapped around, by the program's overflow policy.
    Convert(Domain, Box<Expression>),
    /// The value if it is in the domain, else this fault, whatever the overflow policy.
    Checked(Domain, FaultKind, Box<Expression>),
    /// What statements compute.
    Compute(Box<Computation>),
}

/// Statements and then a value: calls of functions and quantifiers. The temporaries are in scope in the body and in the value, and
/// have their initial values whenever the evaluation begins. The body assigns temporaries that were introduced inside this computation and nothing
/// else, so that a computation is worth the same wherever it is evaluated in one state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Computation {
    /// Temporaries, introduced here.
    pub locals: Vec<VariableId>,
    /// What is done.
    pub body: Vec<Statement>,
    /// What it is worth then.
    pub value: Expression,
}

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

/// The values a variable may hold: all integers of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    /// The least value.
    pub low: i64,
    /// The greatest value.
    pub high: i64,
}

/// What to do with a value that does not fit where it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// The step faults: a finding.
    #[default]
    Fault,
    /// The value wraps around inside the domain, as compiled code does with bytes.
    Wrap,
}

/// How the model misbehaved when a step, a start or a label was evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum FaultKind {
    /// A value was stored that the variable's type does not have.
    Range,
    /// An array has no element of that index.
    Index,
    /// Division or remainder by zero.
    Division,
    /// A shift by a negative amount or by more than 63.
    Shift,
    /// An intermediate result does not fit 64 bits.
    Overflow,
    /// Two processes of a synchronous step wrote the same variable.
    DoubleWrite,
    /// An undefined value was read.
    Undefined,
    /// The model's own error statement or assertion.
    Failure,
    /// A loop goes on for more rounds than it may.
    Bound,
    /// Calls are nested deeper than they may be.
    Recursion,
}

impl FaultKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [FaultKind; 10] = [
        FaultKind::Range,
        FaultKind::Index,
        FaultKind::Division,
        FaultKind::Shift,
        FaultKind::Overflow,
        FaultKind::DoubleWrite,
        FaultKind::Undefined,
        FaultKind::Failure,
        FaultKind::Bound,
        FaultKind::Recursion,
    ];

    /// The words for it, as in "value out of range".
    pub fn text(self) -> &'static str {
        match self {
            FaultKind::Range => "value out of range",
            FaultKind::Index => "index out of range",
            FaultKind::Division => "division by zero",
            FaultKind::Shift => "shift out of range",
            FaultKind::Overflow => "arithmetic overflow",
            FaultKind::DoubleWrite => "variable written twice in one step",
            FaultKind::Undefined => "undefined value read",
            FaultKind::Failure => "error statement reached",
            FaultKind::Bound => "loop over its bound",
            FaultKind::Recursion => "recursion too deep",
        }
    }
}

impl Domain {
    /// The domain of `low..=high`.
    pub fn new(low: i64, high: i64) -> Domain {
        assert!(low <= high, "a domain has at least one value");
        Domain { low, high }
    }

    /// Whether the value is in it.
    pub fn contains(self, value: i64) -> bool {
        self.low <= value && value <= self.high
    }

    /// How far the greatest value is from the least: the largest code.
    pub fn span(self) -> u64 {
        self.high.wrapping_sub(self.low) as u64
    }

    /// How many bits a code of this domain needs.
    pub fn bits(self) -> u32 {
        64 - self.span().leading_zeros()
    }

    /// The value brought into the domain by a policy.
    pub fn convert(self, overflow: Overflow, value: i64) -> Result<i64, FaultKind> {
        match overflow {
            _ if self.contains(value) => Ok(value),
            Overflow::Fault => Err(FaultKind::Range),
            Overflow::Wrap => Ok(self.wrap(value)),
        }
    }

    /// The value of the domain that is congruent to `value` modulo the size of the domain.
    pub fn wrap(self, value: i64) -> i64 {
        let offset = i128::from(value) - i128::from(self.low);
        let size = i128::from(self.span()) + 1;
        (i128::from(self.low) + offset.rem_euclid(size)) as i64
    }
}

impl Expression {
    /// A constant.
    pub fn constant(value: i64, span: Span) -> Expression {
        Expression { kind: ExpressionKind::Constant(value), span }
    }

    /// A scalar variable's value.
    pub fn read(variable: VariableId, span: Span) -> Expression {
        Expression { kind: ExpressionKind::Read(variable), span }
    }

    /// An array's element.
    pub fn element(variable: VariableId, index: Expression, span: Span) -> Expression {
        Expression { kind: ExpressionKind::Element(variable, Box::new(index)), span }
    }

    /// A unary operator applied.
    pub fn unary(operator: UnaryOperator, operand: Expression, span: Span) -> Expression {
        Expression { kind: ExpressionKind::Unary(operator, Box::new(operand)), span }
    }

    /// A binary operator applied; its span covers both operands.
    pub fn binary(operator: BinaryOperator, left: Expression, right: Expression) -> Expression {
        let span = left.span.to(right.span);
        Expression { kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)), span }
    }

    /// The value, which must be in a domain.
    pub fn checked(domain: Domain, kind: FaultKind, operand: Expression, span: Span) -> Expression {
        Expression { kind: ExpressionKind::Checked(domain, kind, Box::new(operand)), span }
    }

    /// What statements compute.
    pub fn compute(
        locals: Vec<VariableId>,
        body: Vec<Statement>,
        value: Expression,
        span: Span,
    ) -> Expression {
        Expression { kind: ExpressionKind::Compute(Box::new(Computation { locals, body, value })), span }
    }

    /// The conjunction of what is given; one operand stands for itself.
    pub fn all(mut operands: Vec<Expression>, span: Span) -> Expression {
        match operands.len() {
            1 => operands.remove(0),
            _ => Expression { kind: ExpressionKind::All(operands), span },
        }
    }

    /// Calls `visit` on the operands, in evaluation order; those of a computation are all expressions of its statements, then its value.
    pub fn for_each_operand<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        match &self.kind {
            ExpressionKind::Constant(_) | ExpressionKind::Read(_) => {}
            ExpressionKind::IsUndefined(place) => place.index.iter().for_each(visit),
            ExpressionKind::Compute(computation) => {
                Statement::for_each(&computation.body, &mut |statement| statement.for_each_expression(visit));
                visit(&computation.value);
            }
            ExpressionKind::Element(_, operand)
            | ExpressionKind::Unary(_, operand)
            | ExpressionKind::Convert(_, operand)
            | ExpressionKind::Checked(_, _, operand) => visit(operand),
            ExpressionKind::Binary(_, left, right) => {
                visit(left);
                visit(right);
            }
            ExpressionKind::All(operands) | ExpressionKind::Any(operands) => {
                operands.iter().for_each(visit);
            }
            ExpressionKind::Conditional(operands) => operands.iter().for_each(visit),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_count_bits_and_wrap_like_machine_integers() {
        assert_eq!(Domain::new(0, 255).bits(), 8);
        assert_eq!(Domain::new(-32768, 32767).bits(), 16);
        assert_eq!(Domain::new(7, 7).bits(), 0);
        assert_eq!(Domain::new(0, 256).bits(), 9);
        assert_eq!(Domain::new(i64::MIN, i64::MAX).bits(), 64);
        for value in -70_000..70_000 {
            assert_eq!(Domain::new(0, 255).wrap(value), i64::from(value as u8));
            assert_eq!(Domain::new(-32768, 32767).wrap(value), i64::from(value as i16));
        }
        assert_eq!(Domain::new(i64::MIN, i64::MAX).wrap(i64::MIN), i64::MIN);
    }
}
