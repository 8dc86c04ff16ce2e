//! What was written, before anything is known about names?
//!
//! The tree borrows names from the text. Expressions, types, statements and rules nest at most [`DEPTH_MAX`] levels, so code that
//! walks them may recurse; a chain of `&` or of `|` is one level, however long.

use fathom_model::expression::{BinaryOperator, UnaryOperator};
use fathom_model::span::Span;

/// How many levels the tree may have.
pub(crate) const DEPTH_MAX: u32 = 200;

/// A word and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'s> {
    pub(crate) text: &'s str,
    pub(crate) span: Span,
}

/// A model: its parts in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct Model<'s> {
    pub(crate) items: Vec<Item<'s>>,
}

/// A part of a model.
#[derive(Debug)]
pub(crate) enum Item<'s> {
    Declaration(Declaration<'s>),
    Function(Function<'s>),
    Rule(Rule<'s>),
}

/// What a `const`, `type` or `var` section holds.
#[derive(Debug)]
pub(crate) enum Declaration<'s> {
    Constant(Vec<Name<'s>>, Expression<'s>),
    Type(Vec<Name<'s>>, Type<'s>),
    Variable(Vec<Name<'s>>, Type<'s>),
}

/// A type as it is written.
#[derive(Debug)]
pub(crate) struct Type<'s> {
    pub(crate) kind: TypeKind<'s>,
    pub(crate) span: Span,
}

/// The forms of a type.
#[derive(Debug)]
pub(crate) enum TypeKind<'s> {
    Boolean,
    Named(Name<'s>),
    Range(Box<Expression<'s>>, Box<Expression<'s>>),
    Enum(Vec<Name<'s>>),
    Scalarset(Box<Expression<'s>>),
    Union(Vec<Type<'s>>),
    Record(Vec<(Vec<Name<'s>>, Type<'s>)>),
    Array(Box<Type<'s>>, Box<Type<'s>>),
    Multiset(Box<Expression<'s>>, Box<Type<'s>>),
}

/// A function, or a procedure if it gives no value.
#[derive(Debug)]
pub(crate) struct Function<'s> {
    pub(crate) name: Name<'s>,
    /// All of it.
    pub(crate) span: Span,
    pub(crate) parameters: Vec<Parameter<'s>>,
    pub(crate) result: Option<Type<'s>>,
    pub(crate) declarations: Vec<Declaration<'s>>,
    pub(crate) body: Vec<Statement<'s>>,
}

/// Parameters that share a type.
#[derive(Debug)]
pub(crate) struct Parameter<'s> {
    /// Whether the argument itself is meant, not its value.
    pub(crate) by_reference: bool,
    pub(crate) names: Vec<Name<'s>>,
    pub(crate) parameter_type: Type<'s>,
}

/// A rule, or what holds rules.
#[derive(Debug)]
pub(crate) struct Rule<'s> {
    pub(crate) kind: RuleKind<'s>,
    pub(crate) span: Span,
}

/// The forms of a rule.
#[derive(Debug)]
pub(crate) enum RuleKind<'s> {
    Simple(Block<'s>),
    Start(Block<'s>),
    Property(Property<'s>),
    Ruleset(Vec<Quantifier<'s>>, Vec<Rule<'s>>),
    Alias(Vec<Alias<'s>>, Vec<Rule<'s>>),
    /// One of the elements of each multiset.
    Choose(Vec<(Name<'s>, Expression<'s>)>, Vec<Rule<'s>>),
}

/// What a rule or a start does; a start has no guard.
#[derive(Debug)]
pub(crate) struct Block<'s> {
    pub(crate) name: Option<String>,
    /// Of the enabled rules, only those of the least number fire.
    pub(crate) priority: Option<Expression<'s>>,
    pub(crate) guard: Option<Expression<'s>>,
    pub(crate) declarations: Vec<Declaration<'s>>,
    pub(crate) body: Vec<Statement<'s>>,
}

/// What a property demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Category {
    /// It holds: `assert`, `invariant`.
    Assertion,
    /// Whatever does not satisfy it is not looked at.
    Assumption,
    /// It holds at least once.
    Cover,
    /// From everywhere, a state where it holds can be reached.
    Liveness,
}

/// A demand, as a rule or as a statement.
#[derive(Debug)]
pub(crate) struct Property<'s> {
    pub(crate) category: Category,
    pub(crate) message: Option<String>,
    pub(crate) condition: Expression<'s>,
}

/// A name for the values of a type or of a range.
#[derive(Debug)]
pub(crate) struct Quantifier<'s> {
    pub(crate) name: Name<'s>,
    pub(crate) values: Values<'s>,
    pub(crate) span: Span,
}

/// What a quantifier runs over.
#[derive(Debug)]
pub(crate) enum Values<'s> {
    Of(Type<'s>),
    Steps { from: Box<Expression<'s>>, to: Box<Expression<'s>>, by: Option<Box<Expression<'s>>> },
}

/// A name for a place or a value.
#[derive(Debug)]
pub(crate) struct Alias<'s> {
    pub(crate) name: Name<'s>,
    pub(crate) value: Expression<'s>,
}

/// A statement.
#[derive(Debug)]
pub(crate) struct Statement<'s> {
    pub(crate) kind: StatementKind<'s>,
    pub(crate) span: Span,
}

/// The forms of a statement.
#[derive(Debug)]
pub(crate) enum StatementKind<'s> {
    Assign(Expression<'s>, Expression<'s>),
    /// Conditions and what is done if they are the first to hold; then what is done if none does.
    If(Vec<(Expression<'s>, Vec<Statement<'s>>)>, Vec<Statement<'s>>),
    Switch(Expression<'s>, Vec<Case<'s>>, Vec<Statement<'s>>),
    For(Quantifier<'s>, Vec<Statement<'s>>),
    While(Expression<'s>, Vec<Statement<'s>>),
    Alias(Vec<Alias<'s>>, Vec<Statement<'s>>),
    Call(Name<'s>, Vec<Expression<'s>>),
    Clear(Expression<'s>),
    Undefine(Expression<'s>),
    Error(String),
    Property(Property<'s>),
    /// What is printed is of no consequence; a text has no expression.
    Put(Option<Expression<'s>>),
    Return(Option<Expression<'s>>),
    MultisetAdd(Expression<'s>, Expression<'s>),
    MultisetRemove(Expression<'s>, Expression<'s>),
    MultisetRemoveWhere(Selection<'s>),
}

/// The values of a `case` and what is done for them.
#[derive(Debug)]
pub(crate) struct Case<'s> {
    pub(crate) values: Vec<Expression<'s>>,
    pub(crate) body: Vec<Statement<'s>>,
}

/// `i: set, condition`: the elements of a multiset for which a condition holds.
#[derive(Debug)]
pub(crate) struct Selection<'s> {
    pub(crate) name: Name<'s>,
    pub(crate) set: Box<Expression<'s>>,
    pub(crate) condition: Box<Expression<'s>>,
}

/// An expression.
#[derive(Debug)]
pub(crate) struct Expression<'s> {
    pub(crate) kind: ExpressionKind<'s>,
    pub(crate) span: Span,
    /// Levels of the tree: 1 for a name or a number.
    pub(crate) depth: u32,
    /// Whether it stands in parentheses of its own.
    pub(crate) parenthesised: bool,
}

/// The forms of an expression.
#[derive(Debug)]
pub(crate) enum ExpressionKind<'s> {
    Number(i64),
    Boolean(bool),
    Undefined,
    Name(Name<'s>),
    Field(Box<Expression<'s>>, Name<'s>),
    Element(Box<Expression<'s>>, Box<Expression<'s>>),
    Call(Name<'s>, Vec<Expression<'s>>),
    Unary(UnaryOperator, Box<Expression<'s>>),
    Binary(BinaryOperator, Box<Expression<'s>>, Box<Expression<'s>>),
    Chain(Chain, Vec<Expression<'s>>),
    Imply(Box<Expression<'s>>, Box<Expression<'s>>),
    Conditional(Box<[Expression<'s>; 3]>),
    /// `forall` if true, else `exists`.
    Quantified(bool, Box<Quantifier<'s>>, Box<Expression<'s>>),
    IsUndefined(Box<Expression<'s>>),
    IsMember(Box<Expression<'s>>, Box<Type<'s>>),
    MultisetCount(Selection<'s>),
}

/// Operators whose chains are one level. The single signs are logical or bitwise, by the type of their operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chain {
    And,
    Or,
    Ampersand,
    Bar,
}
