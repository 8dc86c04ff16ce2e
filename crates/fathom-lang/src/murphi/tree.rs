//! What does a model say, once every name is known and every type is right?
//!
//! Values carry their type; constants are codes of it. Locals (parameters, quantified names, aliases, variables of a block) are
//! numbered through the whole model, so that a number means one declaration.

use fathom_model::expression::{BinaryOperator, UnaryOperator};
use fathom_model::span::Span;

use super::ast::Category;
use super::types::{TypeId, Types};

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(pub(crate) u32);

        impl $name {
            pub(crate) fn index(self) -> usize {
                self.0 as usize
            }
        })*
    };
}

numbers! {
    /// A variable of the state.
    GlobalId
    /// A name that lives in a rule, a function or an expression.
    LocalId
    /// A function or procedure.
    FunctionId
}

/// A model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) types: Types,
    pub(crate) globals: Vec<Variable>,
    pub(crate) locals: Vec<Variable>,
    pub(crate) functions: Vec<Function>,
    /// Rules in the order of the text.
    pub(crate) rules: Vec<Rule>,
    /// Scalarsets of which the model names a value, by `clear`.
    pub(crate) told_apart: Vec<TypeId>,
}

/// A variable, or a name for a value.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) type_id: TypeId,
    pub(crate) span: Span,
}

/// A function.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) result: Option<TypeId>,
    pub(crate) variables: Vec<LocalId>,
    pub(crate) body: Vec<Statement>,
    /// Whether a call may change the state by itself, not through a parameter.
    pub(crate) writes_state: bool,
    /// Whether a call may change what is passed by reference.
    pub(crate) writes_parameters: bool,
    pub(crate) span: Span,
}

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) local: LocalId,
    pub(crate) by_reference: bool,
}

/// A rule, or what holds rules.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Simple(Block),
    Start(Block),
    Property(Property, Span),
    Ruleset(Quantifier, Vec<Rule>),
    Alias(Vec<Alias>, Vec<Rule>),
    Choose(LocalId, Place, Vec<Rule>),
}

/// What a rule or a start does.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) name: Option<String>,
    pub(crate) priority: i64,
    pub(crate) guard: Option<Value>,
    pub(crate) variables: Vec<LocalId>,
    pub(crate) body: Vec<Statement>,
    pub(crate) span: Span,
}

/// A demand.
#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub(crate) category: Category,
    pub(crate) message: Option<String>,
    pub(crate) condition: Value,
}

/// A name that runs over values.
#[derive(Clone, Debug)]
pub(crate) struct Quantifier {
    pub(crate) local: LocalId,
    pub(crate) values: Values,
    pub(crate) span: Span,
}

/// What a quantifier runs over.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// All codes of the local's type.
    All,
    Steps {
        from: Box<Value>,
        to: Box<Value>,
        by: Option<Box<Value>>,
    },
}

/// A name for a place or, bound once, for a value.
#[derive(Clone, Debug)]
pub(crate) struct Alias {
    pub(crate) local: LocalId,
    pub(crate) value: Value,
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) kind: StatementKind,
    pub(crate) span: Span,
}

/// The forms of a statement.
#[derive(Clone, Debug)]
pub(crate) enum StatementKind {
    Assign(Place, Value),
    If(Vec<(Value, Vec<Statement>)>, Vec<Statement>),
    Switch(Value, Vec<(Vec<Value>, Vec<Statement>)>, Vec<Statement>),
    For(Quantifier, Vec<Statement>),
    While(Value, Vec<Statement>),
    Alias(Vec<Alias>, Vec<Statement>),
    Call(Call),
    Clear(Place),
    Undefine(Place),
    Error(String),
    Property(Property),
    /// The value is read, and may fault; nothing else comes of it.
    Put(Option<Value>),
    Return(Option<Value>),
    MultisetAdd(Value, Place),
    MultisetRemove(Value, Place),
    MultisetRemoveWhere(LocalId, Place, Value),
}

/// Something that has a value.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) kind: ValueKind,
    pub(crate) type_id: TypeId,
    pub(crate) span: Span,
}

/// The forms of a value.
#[derive(Clone, Debug)]
pub(crate) enum ValueKind {
    Constant(i64),
    Undefined,
    Read(Place),
    /// A value of a union as one of a member, or the other way round; a fault if it is not one.
    Convert(Box<Value>),
    Unary(UnaryOperator, Box<Value>),
    Binary(BinaryOperator, Box<Value>, Box<Value>),
    /// Whether two records or arrays are equal, part by part; undefined equals undefined.
    Same(Box<Value>, Box<Value>),
    All(Vec<Value>),
    Any(Vec<Value>),
    Conditional(Box<[Value; 3]>),
    Quantified(bool, Box<Quantifier>, Box<Value>),
    Call(Call),
    IsUndefined(Place),
    IsMember(Box<Value>, TypeId),
    MultisetCount(LocalId, Box<Place>, Box<Value>),
}

/// A call; arguments passed by reference are reads of places.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: FunctionId,
    pub(crate) arguments: Vec<Value>,
    /// Whether it may change the state.
    pub(crate) writes: bool,
}

/// Something that can be read and perhaps written.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) root: Root,
    pub(crate) steps: Vec<Step>,
    pub(crate) type_id: TypeId,
    pub(crate) writable: bool,
    pub(crate) span: Span,
}

/// Where a place begins.
#[derive(Clone, Debug)]
pub(crate) enum Root {
    Global(GlobalId),
    Local(LocalId),
    /// A part of what an expression gives, as in `f(x).field`.
    Value(Box<Value>),
}

/// A way from a place to a part of it.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A field, by its position.
    Field(usize),
    Element(Value),
}
