//! What is a property of a model?

use fathom_lang::understood::Language;
use fathom_model::program::Label;
use fathom_model::span::Span;

/// Something that holds or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// What it is called: its name in the model, or the expression.
    pub name: String,
    /// What it says.
    pub kind: PropertyKind,
    /// Where the model states it.
    pub span: Option<Span>,
    /// The left side of an implication, if the property is one: as a label, and in words.
    pub antecedent: Option<(usize, String)>,
}

/// What a property says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyKind {
    /// The model asserts that it holds in every state.
    Assertion,
    /// It holds in every state.
    Invariant,
    /// It holds in no state.
    Reach,
    /// No state is a deadlock.
    Deadlock,
    /// No step, start or label faults.
    Fault,
    /// The user says that it holds in some state.
    Expected {
        /// The label that says so.
        label: usize,
    },
    /// The model says that it holds in some state.
    Cover {
        /// The label that says so.
        label: usize,
    },
    /// From every state, one can be reached where it holds.
    Possible,
    /// A formula holds of every infinite run.
    Ltl,
    /// No infinite run is accepted by a process of the model.
    Process,
}

/// What the model says can always still be reached.
#[derive(Clone, Debug)]
pub struct Possibility {
    /// How it is told of.
    pub property: Property,
    /// The goal.
    pub goal: Label,
}

/// What a deadlock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadlockKind {
    /// A state without steps.
    Stuck,
    /// A state without steps to another state.
    Stuttering,
    /// None is looked for.
    Off,
}

/// What a fault is to a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Faults {
    /// A finding: it ends the search as a violation does.
    #[default]
    Stop,
    /// A number in the report.
    Report,
}

impl PropertyKind {
    /// The word for it in a report.
    pub fn word(self) -> &'static str {
        match self {
            PropertyKind::Assertion => "assertion",
            PropertyKind::Invariant => "invariant",
            PropertyKind::Reach => "reach",
            PropertyKind::Deadlock => "deadlock",
            PropertyKind::Expected { .. } => "expect-reach",
            PropertyKind::Cover { .. } => "cover",
            PropertyKind::Fault => "fault",
            PropertyKind::Possible => "liveness",
            PropertyKind::Ltl => "ltl",
            PropertyKind::Process => "process",
        }
    }

    /// What it is called where people read it: what a model of Murphi asserts of its states it calls invariants.
    pub fn called(self, language: Language) -> &'static str {
        match (self, language) {
            (PropertyKind::Assertion, Language::Murphi) => "invariant",
            _ => self.word(),
        }
    }

    /// Whether it is about what happens, and its name says what.
    pub fn is_event(self) -> bool {
        matches!(self, PropertyKind::Deadlock | PropertyKind::Fault)
    }
}

impl Possibility {
    /// As the model states it.
    pub(crate) fn stated(label: &Label) -> Possibility {
        let (name, span) = (label.name.clone(), Some(label.span));
        let property = Property { name, kind: PropertyKind::Possible, span, antecedent: None };
        Possibility { property, goal: label.clone() }
    }
}
