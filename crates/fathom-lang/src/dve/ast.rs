//! What was written, before anything is known about names?
//!
//! The tree borrows names from the text. Its expressions are at most [`DEPTH_MAX`] levels deep, so code that walks
//! them may recurse; a chain of `and` or of `or` is one level, however long.

use fathom_model::expression::{BinaryOperator, Domain, UnaryOperator};
use fathom_model::span::Span;

/// How many levels an expression may have.
pub(crate) const DEPTH_MAX: u32 = 256;

/// A model.
#[derive(Debug, Default)]
pub(crate) struct Model<'s> {
    pub(crate) declarations: Vec<Declaration<'s>>,
    pub(crate) processes: Vec<Process<'s>>,
    pub(crate) system: Option<System<'s>>,
}

/// A word and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'s> {
    pub(crate) text: &'s str,
    pub(crate) span: Span,
}

/// Something declared for the whole system.
#[derive(Debug)]
pub(crate) enum Declaration<'s> {
    Variable(Variable<'s>),
    Channel(Channel<'s>),
}

/// `byte` or `int`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BaseType {
    Byte,
    Int,
}

/// A variable or a constant.
#[derive(Debug)]
pub(crate) struct Variable<'s> {
    pub(crate) constant: bool,
    pub(crate) base: BaseType,
    pub(crate) name: Name<'s>,
    pub(crate) length: Option<Expression<'s>>,
    pub(crate) initial: Option<Initial<'s>>,
}

/// The value or values a variable begins with.
#[derive(Debug)]
pub(crate) enum Initial<'s> {
    One(Expression<'s>),
    Many(Vec<Expression<'s>>, Span),
}

/// A channel; `fields` is none if it is untyped.
#[derive(Debug)]
pub(crate) struct Channel<'s> {
    pub(crate) name: Name<'s>,
    pub(crate) fields: Option<Vec<BaseType>>,
    pub(crate) capacity: Option<Expression<'s>>,
}

/// A process.
#[derive(Debug)]
pub(crate) struct Process<'s> {
    pub(crate) name: Name<'s>,
    /// From `process` to the closing brace.
    pub(crate) span: Span,
    pub(crate) variables: Vec<Variable<'s>>,
    pub(crate) states: Vec<Name<'s>>,
    pub(crate) initial: Option<Name<'s>>,
    pub(crate) committed: Option<StateList<'s>>,
    pub(crate) accepting: Option<StateList<'s>>,
    pub(crate) asserts: Vec<Assert<'s>>,
    pub(crate) transitions: Vec<Transition<'s>>,
}

/// A keyword and the states that follow it.
#[derive(Debug)]
pub(crate) struct StateList<'s> {
    pub(crate) keyword: Span,
    pub(crate) states: Vec<Name<'s>>,
}

/// `s: e` in a list of assertions.
#[derive(Debug)]
pub(crate) struct Assert<'s> {
    pub(crate) state: Name<'s>,
    pub(crate) condition: Expression<'s>,
}

/// A transition; the source is filled in where it was omitted.
#[derive(Debug)]
pub(crate) struct Transition<'s> {
    pub(crate) from: Name<'s>,
    pub(crate) to: Name<'s>,
    pub(crate) guard: Option<Expression<'s>>,
    pub(crate) sync: Option<Sync<'s>>,
    pub(crate) effects: Vec<Effect<'s>>,
    pub(crate) span: Span,
}

/// `c!...` or `c?...`.
#[derive(Debug)]
pub(crate) struct Sync<'s> {
    pub(crate) channel: Name<'s>,
    pub(crate) direction: Direction,
    pub(crate) values: Vec<Expression<'s>>,
    pub(crate) span: Span,
}

/// Which end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Send,
    Receive,
}

/// An assignment.
#[derive(Debug)]
pub(crate) struct Effect<'s> {
    pub(crate) target: Expression<'s>,
    pub(crate) value: Expression<'s>,
}

/// The last line: how processes are composed.
#[derive(Debug)]
pub(crate) struct System<'s> {
    pub(crate) keyword: Span,
    /// Where `sync` stands, if it does.
    pub(crate) synchronous: Option<Span>,
    pub(crate) property: Option<Name<'s>>,
}

/// An expression.
#[derive(Debug)]
pub(crate) struct Expression<'s> {
    pub(crate) kind: ExpressionKind<'s>,
    pub(crate) span: Span,
    /// Levels of the tree: 1 for a name or a number.
    pub(crate) depth: u32,
}

/// The forms of an expression. The rare ones are boxed: large models are mostly comparisons of a name and a number, and the tree is what reading them takes.
#[derive(Debug)]
pub(crate) enum ExpressionKind<'s> {
    Number(i64),
    Name(Name<'s>),
    Element(Name<'s>, Box<Expression<'s>>),
    /// `P.s`
    InState(Box<[Name<'s>; 2]>),
    /// `P->x` or `P->x[i]`
    Foreign(Box<[Name<'s>; 2]>, Option<Box<Expression<'s>>>),
    Unary(UnaryOperator, Box<Expression<'s>>),
    Binary(BinaryOperator, Box<Expression<'s>>, Box<Expression<'s>>),
    Logical(Logical, Vec<Expression<'s>>),
    Imply(Box<Expression<'s>>, Box<Expression<'s>>),
}

/// The operators that may leave operands unevaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logical {
    And,
    Or,
}

impl BaseType {
    /// The values of the type.
    pub(crate) fn domain(self) -> Domain {
        match self {
            BaseType::Byte => Domain::new(0, 255),
            BaseType::Int => Domain::new(-32768, 32767),
        }
    }

    /// The type as it is written.
    pub(crate) fn text(self) -> &'static str {
        match self {
            BaseType::Byte => "byte",
            BaseType::Int => "int",
        }
    }
}
