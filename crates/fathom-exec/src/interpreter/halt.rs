//! Why is there no value, or no record?

use fathom_model::expression::FaultKind;
use fathom_model::span::Span;
use fathom_model::steps::Fault;

/// Why there is no value or no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The model misbehaves.
    Fault(Trouble),
    /// The model says that there is no such step.
    Discard,
    /// Somebody asked for an end before this one.
    Interrupted,
    /// On the way out of so many blocks and one more. Comes out of statements only.
    Leave(u32),
}

/// Evaluation found that the model misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// How.
    pub kind: FaultKind,
    /// Where in the source.
    pub span: Span,
}

impl Trouble {
    /// As the fault of an action.
    pub(super) fn fault(self, action: u32) -> Fault {
        Fault { action, kind: self.kind, span: self.span }
    }
}

/// A fault with its place.
pub(super) fn at<T>(span: Span, outcome: Result<T, FaultKind>) -> Result<T, Halt> {
    outcome.map_err(|kind| Halt::Fault(Trouble { kind, span }))
}
