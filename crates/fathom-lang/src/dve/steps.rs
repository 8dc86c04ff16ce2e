//! What does a transition of a process mean, before it meets others?

use fathom_model::expression::Expression;
use fathom_model::program::{Assignment, Mover, Place};
use fathom_model::span::Span;

/// A transition of a process, with its meaning.
pub(crate) struct Step {
    pub(crate) mover: Mover,
    pub(crate) guard: Option<Expression>,
    pub(crate) sync: Option<Sync>,
    pub(crate) effects: Vec<Assignment>,
    /// How many nodes it adds to an action.
    pub(crate) nodes: usize,
}

/// What a transition does with a channel.
pub(crate) struct Sync {
    pub(crate) channel: usize,
    pub(crate) message: Message,
    pub(crate) span: Span,
}

/// What goes over a channel.
pub(crate) enum Message {
    Sent(Vec<Expression>),
    Received(Vec<Place>),
}

impl Message {
    /// How many values it carries.
    pub(crate) fn arity(&self) -> usize {
        match self {
            Message::Sent(values) => values.len(),
            Message::Received(places) => places.len(),
        }
    }
}
