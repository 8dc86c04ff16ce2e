//! How may a model misbehave?

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
