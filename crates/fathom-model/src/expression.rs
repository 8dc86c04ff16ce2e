//! What is a value computed from, and what does a command do? Expressions and statements are parts of each other, so one file has both.
//!
//! Expressions are evaluated over 64-bit signed integers without intermediate truncation; truth is "not zero", and
//! comparisons and the logical operators give 0 or 1. Evaluation either gives a value or a [`FaultKind`]:
//! which one, and where, is part of the semantics, so that every evaluator reports the same. Operands are evaluated from
//! left to right, and evaluation ends at the first fault.

use crate::span::Span;

pub use crate::domain::{Domain, Overflow};
pub use crate::fault::FaultKind;
pub use crate::operator::{BinaryOperator, UnaryOperator};

macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index_type! {
    /// A variable, by its place in [`Program::variables`](crate::program::Program::variables).
    VariableId
}
index_type! {
    /// A process, by its place in [`Program::processes`](crate::program::Program::processes).
    ProcessId
}

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

/// Something a command does.
///
/// In synchronous programs there are only [`Statement::Move`] and one [`Statement::Assign`] per action.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Statement {
    /// A process goes to a location.
    Move {
        /// Who.
        process: ProcessId,
        /// Where to.
        to: u32,
    },
    /// Assignments in parallel: for each in order, index, value and range are evaluated and checked in the state before the
    /// statement; then all are stored from left to right, so the last write to a place wins. A value is defined.
    Assign(Vec<Assignment>),
    /// Elements are copied as they are, undefined ones too. First the index of `to`, then that of `from` is evaluated, and checked
    /// ([`FaultKind::Index`] at the place's span unless all `count` elements from it on are there); then each element in order is brought into the
    /// domain of `to` ([`FaultKind::Range`] or wrapped, at this span), an undefined one if `to` is optional, else it is
    /// [`FaultKind::Undefined`] at this span; then all are stored.
    Copy {
        /// Where the first goes.
        to: Place,
        /// Where the first comes from.
        from: Place,
        /// How many (at least 1; of scalars 1).
        count: u32,
        /// Where it stands.
        span: Span,
    },
    /// Elements get one value, or become undefined (`place` is optional then). The index is evaluated and checked as by [`Statement::Copy`], then the
    /// value is evaluated and brought into the domain, then all are stored.
    Fill {
        /// Where the first is.
        place: Place,
        /// How many (at least 1; of scalars 1).
        count: u32,
        /// What; none is undefined.
        value: Option<Expression>,
        /// Where it stands.
        span: Span,
    },
    /// The body of the first arm whose condition is true, else the last body. Conditions after a true one are not evaluated.
    If {
        /// Conditions and bodies, in order (at least one).
        arms: Vec<(Expression, Vec<Statement>)>,
        /// What is done if no condition is true.
        otherwise: Vec<Statement>,
    },
    /// The body again and again while the condition is true. If it is true after `bound` rounds, [`FaultKind::Bound`] at the span.
    While {
        /// Evaluated before each round.
        condition: Expression,
        /// A round.
        body: Vec<Statement>,
        /// How many rounds there may be.
        bound: u32,
        /// Where it stands.
        span: Span,
    },
    /// The body once for each of `from`, `from + step`, ... up to `to` (down to it if the step is negative), which the counter holds. There may be none.
    For {
        /// A temporary, introduced here. Nothing else assigns it, and all its values are in its domain.
        counter: VariableId,
        /// The first value.
        from: i64,
        /// The last value is not beyond this one.
        to: i64,
        /// Not 0.
        step: i64,
        /// A round.
        body: Vec<Statement>,
    },
    /// A body with temporaries of its own, which have their initial values on entry. What [`Statement::Leave`] leaves.
    Block {
        /// Temporaries, introduced here.
        locals: Vec<VariableId>,
        /// What is done.
        body: Vec<Statement>,
    },
    /// Goes on after the innermost block around this statement (0), or the next one outwards (1), and so on. Blocks outside
    /// the `Compute` expression or command that this stands in do not count.
    Leave(u32),
    /// A fault: the model says that this must not be reached.
    Fail {
        /// How it is reported.
        kind: FaultKind,
        /// The model's own words, if it has any.
        message: Option<String>,
        /// Where it stands. Failures of one kind and span have one message.
        span: Span,
    },
    /// If the condition is false there is no such step (or start), and no fault either. In a guard, the action is not enabled. Not in labels.
    Assume(Expression),
}

/// One assignment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Assignment {
    /// Where to.
    pub place: Place,
    /// What.
    pub value: Expression,
    /// Where it stands.
    pub span: Span,
}

/// A scalar variable or an element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The variable.
    pub variable: VariableId,
    /// The index, if the variable is an array.
    pub index: Option<Expression>,
    /// Where it stands.
    pub span: Span,
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

impl Statement {
    /// Calls `visit` on each statement of a body, and on those inside them, outer ones first. Those inside expressions are not visited.
    pub fn for_each<'a>(body: &'a [Statement], visit: &mut dyn FnMut(&'a Statement)) {
        for statement in body {
            visit(statement);
            match statement {
                Statement::If { arms, otherwise } => {
                    arms.iter().for_each(|(_, body)| Statement::for_each(body, visit));
                    Statement::for_each(otherwise, visit);
                }
                Statement::While { body, .. }
                | Statement::For { body, .. }
                | Statement::Block { body, .. } => {
                    Statement::for_each(body, visit);
                }
                _ => {}
            }
        }
    }

    /// Calls `visit` on the whole expressions of this statement itself (not of those inside it), in evaluation order.
    pub fn for_each_expression<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        match self {
            Statement::Assign(assignments) => {
                for Assignment { place, value, .. } in assignments {
                    place.index.iter().for_each(&mut *visit);
                    visit(value);
                }
            }
            Statement::Copy { to, from, .. } => {
                to.index.iter().chain(&from.index).for_each(visit);
            }
            Statement::Fill { place, value, .. } => place.index.iter().chain(value).for_each(visit),
            Statement::If { arms, .. } => arms.iter().for_each(|(condition, _)| visit(condition)),
            Statement::While { condition, .. } | Statement::Assume(condition) => visit(condition),
            Statement::Move { .. }
            | Statement::For { .. }
            | Statement::Block { .. }
            | Statement::Leave(_)
            | Statement::Fail { .. } => {}
        }
    }
}
