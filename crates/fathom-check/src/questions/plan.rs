//! What is asked about a model, and how does a search ask it?
//!
//! Every question about states becomes a label of the program and a condition of the search, so all of them are answered in one exploration.
//! The plan of a check holds them side by side: property `i` is condition `i`.

use fathom_lang::nearest::nearest;
use fathom_model::expression::{Expression, ExpressionKind, UnaryOperator};
use fathom_model::program::{LABELS_MAX, Label, LabelKind};
use fathom_model::shape::Shape;
use fathom_model::span::Span;
use fathom_search::task::watch::Condition;

use crate::model::assemble::{Language, Model, ModelError};
use crate::questions::liveness_property::{LivenessError, LivenessProperty, LivenessQuestions};
use crate::questions::property::{DeadlockKind, Faults, Possibility, Property, PropertyKind};

/// What a user asks about a model.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    /// Expressions that must always hold.
    pub invariants: Vec<String>,
    /// Expressions that must never hold.
    pub goals: Vec<String>,
    /// Expressions that must hold in some state.
    pub expected: Vec<String>,
    /// Properties that the model states, by name.
    pub stated: Vec<String>,
    /// Whether only what is named here is checked; otherwise what the model states is, too, and deadlocks are looked for.
    pub only: bool,
    /// Whether to look for deadlocks, and of which kind; none is the default: as the model's language has it, and not at all if only what is named is checked.
    pub deadlock: Option<DeadlockKind>,
    /// States that are valid ends, no deadlocks.
    pub valid_end: Option<String>,
    /// Only states where this holds count.
    pub constraint: Option<String>,
    /// Whether a fault is a finding, or only counted.
    pub faults: Faults,
    /// Whether faults were asked about in so many words: then they are looked for in all states, whatever else is asked.
    pub faults_asked: bool,
    /// What is asked about infinite runs.
    pub liveness: LivenessQuestions,
    /// How many counterexamples are wanted of each property of states, each to another state; 0 is one, too.
    pub traces: usize,
}

/// Questions in the form a search can answer.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is checked; the last one is about faults unless they are only reported.
    pub properties: Vec<Property>,
    /// One per property.
    pub conditions: Vec<Condition>,
    /// The labels that the conditions read.
    pub labels: Vec<Label>,
    /// The label of the constraint.
    pub constraint: Option<usize>,
    /// The label of valid ends.
    pub valid_end: Option<usize>,
    /// What the model says can always still be reached; each has a search of its own.
    pub possibilities: Vec<Possibility>,
    /// How many counterexamples are wanted of each property, at least one.
    pub traces: usize,
}

/// The questions cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An expression is wrong.
    #[error(transparent)]
    Expression(#[from] ModelError),
    /// The model states no property of that name.
    #[error("the model states no property called `{name}`{help}")]
    Unknown {
        /// The name.
        name: String,
        /// What to do.
        help: String,
    },
    /// The system has no label of that name.
    #[error("the system has no label called `{name}`{help}")]
    Label {
        /// The name.
        name: String,
        /// What to do.
        help: String,
    },
    /// There are too many expressions for one exploration.
    #[error(
        "these are {0} expressions, and one search checks at most {LABELS_MAX}: check fewer at a time, with --only and --property"
    )]
    TooMany(usize),
}

impl Questions {
    /// Whether a property that the model states under this name is checked.
    pub(crate) fn includes(&self, name: &str) -> bool {
        !self.only || self.stated.iter().any(|stated| stated == name)
    }

    /// The deadlocks that are looked for.
    pub(crate) fn deadlock(&self, language: Language) -> Option<DeadlockKind> {
        match self.deadlock {
            Some(DeadlockKind::Off) => None,
            Some(kind) => Some(kind),
            None if self.only && self.valid_end.is_none() => None,
            None => Some(match language {
                Language::Dve => DeadlockKind::Stuck,
                Language::Murphi => DeadlockKind::Stuttering,
            }),
        }
    }

    /// The properties of infinite runs that are asked for: formulas, and the model's property process unless only others are.
    pub fn liveness(&self, model: &Model) -> Result<Vec<LivenessProperty>, LivenessError> {
        let mut properties = self.liveness.properties(model)?;
        let process = model.program().property.as_ref();
        if process.is_some_and(|process| self.includes(&process.name)) {
            properties.extend(LivenessProperty::of_model(model)?);
        }
        Ok(properties)
    }
}

impl Plan {
    /// Puts questions into the form a search can answer.
    pub fn new(model: &Model, questions: &Questions) -> Result<Plan, PlanError> {
        let mut plan = Plan::with_labels(Vec::new());
        plan.traces = questions.traces.max(1);
        // Counted before any is read.
        let Questions { invariants, goals, expected, stated, .. } = questions;
        let asked = invariants.len() + goals.len() + expected.len() + stated.len();
        if asked > LABELS_MAX {
            return Err(PlanError::TooMany(asked));
        }
        plan.add_stated(model, questions)?;
        for text in questions.invariants.iter().map(|text| text.trim()) {
            let expression = model.expression("--invariant", text)?;
            plan.add_expression(text, PropertyKind::Invariant, LabelKind::Invariant, expression);
        }
        for text in questions.goals.iter().map(|text| text.trim()) {
            let expression = model.expression("--reach", text)?;
            plan.add_expression(text, PropertyKind::Reach, LabelKind::Goal, expression);
        }
        for text in questions.expected.iter().map(|text| text.trim()) {
            let expression = model.expression("--expect-reach", text)?;
            let kind = PropertyKind::Expected { label: plan.labels.len() };
            plan.add_expression(text, kind, LabelKind::Goal, expression);
        }
        plan.valid_end = plan.add_atom(model, "--deadlock-except", questions.valid_end.as_deref())?;
        plan.constraint = plan.add_atom(model, "--constraint", questions.constraint.as_deref())?;
        plan.add_deadlock(questions.deadlock(model.language()));
        plan.add_faults(questions.faults);
        plan.add_antecedents(model);
        // A constraint needs one label for itself, and so do states that seem to stutter.
        let own = [plan.constraint.is_some(), model.is_symmetric() && plan.looks_for_stuttering()];
        let count = plan.labels.len() + own.into_iter().filter(|it| *it).count();
        if count > LABELS_MAX { Err(PlanError::TooMany(count)) } else { Ok(plan) }
    }

    /// Puts questions about a system into the form a search can answer: expressions are the names of its labels. Unless it is said otherwise, deadlocks are not looked for.
    pub fn of_labels(shape: &Shape, questions: &Questions) -> Result<Plan, PlanError> {
        let mut plan = Plan::with_labels(Vec::new());
        for (texts, kind) in
            [(&questions.invariants, PropertyKind::Invariant), (&questions.goals, PropertyKind::Reach)]
        {
            for name in texts {
                let (label, value) = (label_named(shape, name)?, kind == PropertyKind::Reach);
                plan.conditions.push(Condition::Label { label, value });
                plan.properties.push(Property { name: name.clone(), kind, span: None, antecedent: None });
            }
        }
        let named = |name: &Option<String>| name.as_ref().map(|name| label_named(shape, name)).transpose();
        (plan.valid_end, plan.constraint) = (named(&questions.valid_end)?, named(&questions.constraint)?);
        plan.add_deadlock(questions.deadlock.filter(|kind| *kind != DeadlockKind::Off));
        plan.add_faults(questions.faults);
        Ok(plan)
    }

    /// Nothing is asked but whether the model, with these labels, faults.
    pub fn of_faults(labels: Vec<Label>) -> Plan {
        let mut plan = Plan::with_labels(labels);
        plan.add_faults(Faults::Stop);
        plan
    }

    /// Nothing is asked yet.
    fn with_labels(labels: Vec<Label>) -> Plan {
        Plan {
            properties: Vec::new(),
            conditions: Vec::new(),
            labels,
            constraint: None,
            valid_end: None,
            possibilities: Vec::new(),
            traces: 1,
        }
    }

    /// The one question whether a state is met where a goal is not: where the run to a trap ends.
    pub(crate) fn of_possibility(possibility: &Possibility) -> Plan {
        let condition = Condition::Label { label: 0, value: false };
        Plan {
            properties: vec![possibility.property.clone()],
            conditions: vec![condition],
            labels: vec![possibility.goal.clone()],
            constraint: None,
            valid_end: None,
            possibilities: Vec::new(),
            traces: 1,
        }
    }

    /// Whether there is nothing to check but that the model does not fault.
    pub fn asks_nothing(&self) -> bool {
        self.possibilities.is_empty()
            && self.properties.iter().all(|property| property.kind == PropertyKind::Fault)
    }

    /// Whether states without steps to another state are looked for.
    pub(crate) fn looks_for_stuttering(&self) -> bool {
        self.conditions
            .iter()
            .any(|condition| matches!(condition, Condition::Deadlock { stuttering: true, .. }))
    }

    fn add_stated(&mut self, model: &Model, questions: &Questions) -> Result<(), PlanError> {
        let process = model.program().property.as_ref().map(|process| process.name.as_str());
        let names = questions.stated.iter().filter(|name| process != Some(name));
        let named: Vec<&Label> = names.map(|name| stated(model, name)).collect::<Result<_, _>>()?;
        let chosen = if questions.only { named } else { model.program().labels.iter().collect() };
        for label in chosen {
            let number = self.labels.len();
            let (condition, kind) = match label.kind {
                LabelKind::Cover => (Condition::Never, PropertyKind::Cover { label: number }),
                LabelKind::Liveness => {
                    self.possibilities.push(Possibility::stated(label));
                    continue;
                }
                _ => (Condition::Label { label: number, value: false }, PropertyKind::Assertion),
            };
            self.conditions.push(condition);
            self.properties.push(Property {
                name: label.name.clone(),
                kind,
                span: Some(label.span),
                antecedent: None,
            });
            self.labels.push(label.clone());
        }
        Ok(())
    }

    fn add_expression(
        &mut self,
        text: &str,
        kind: PropertyKind,
        label_kind: LabelKind,
        expression: Expression,
    ) {
        self.conditions.push(match kind {
            PropertyKind::Expected { .. } => Condition::Never,
            _ => Condition::Label { label: self.labels.len(), value: kind == PropertyKind::Reach },
        });
        self.properties.push(Property { name: text.to_owned(), kind, span: None, antecedent: None });
        self.labels.push(label(text, label_kind, expression));
    }

    fn add_atom(
        &mut self,
        model: &Model,
        option: &str,
        text: Option<&str>,
    ) -> Result<Option<usize>, PlanError> {
        let Some(text) = text else { return Ok(None) };
        let expression = model.expression(option, text)?;
        self.labels.push(label(text, LabelKind::Atom, expression));
        Ok(Some(self.labels.len() - 1))
    }

    fn add_deadlock(&mut self, kind: Option<DeadlockKind>) {
        let Some(kind) = kind else { return };
        let stuttering = kind == DeadlockKind::Stuttering;
        self.conditions.push(Condition::Deadlock { stuttering, except: self.valid_end });
        self.properties.push(Property {
            name: if stuttering { "deadlock (stuttering)".into() } else { "deadlock".into() },
            kind: PropertyKind::Deadlock,
            span: None,
            antecedent: None,
        });
    }

    fn add_faults(&mut self, faults: Faults) {
        if faults == Faults::Stop {
            self.conditions.push(Condition::Fault);
            self.properties.push(Property {
                name: "fault".into(),
                kind: PropertyKind::Fault,
                span: None,
                antecedent: None,
            });
        }
    }

    /// Watches the left sides of implications, as far as there is room for labels.
    fn add_antecedents(&mut self, model: &Model) {
        for property in 0..self.properties.len() {
            let Condition::Label { label: number, value: false } = self.conditions[property] else {
                continue;
            };
            let Some(left) = left_side(&self.labels[number].expression) else { continue };
            if self.labels.len() + 2 >= LABELS_MAX {
                return;
            }
            let text = self.text_of(model, property, left.span);
            let words = if text.is_empty() { model.program().show(left) } else { text };
            let left = left.clone();
            self.properties[property].antecedent = Some((self.labels.len(), words.clone()));
            self.labels.push(label(&words, LabelKind::Atom, left));
        }
    }
}

impl Plan {
    /// What a part of a property says in the user's words; empty if it does not stand anywhere.
    fn text_of(&self, model: &Model, property: usize, span: Span) -> String {
        let Property { name, kind, .. } = &self.properties[property];
        let text = match kind {
            PropertyKind::Assertion | PropertyKind::Cover { .. } => model.source().slice(span),
            _ => name.get(span.start as usize..span.end as usize).unwrap_or(""),
        };
        text.to_owned()
    }
}

/// The left side of an implication, which front-ends write as `not left or right`.
fn left_side(expression: &Expression) -> Option<&Expression> {
    let ExpressionKind::Any(operands) = &expression.kind else { return None };
    match operands.as_slice() {
        [first, _] => match &first.kind {
            ExpressionKind::Unary(UnaryOperator::Not, left) => Some(left),
            _ => None,
        },
        _ => None,
    }
}

/// The number of a label of a system.
fn label_named(shape: &Shape, name: &str) -> Result<usize, PlanError> {
    shape.labels.iter().position(|label| label == name).ok_or_else(|| {
        let near = nearest(name, shape.labels.iter().map(String::as_str));
        let help = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        PlanError::Label { name: name.to_owned(), help }
    })
}

fn stated<'m>(model: &'m Model, name: &str) -> Result<&'m Label, PlanError> {
    let program = model.program();
    if let Some(label) = program.labels.iter().find(|label| label.name == name) {
        return Ok(label);
    }
    let process = program.property.iter().map(|process| process.name.as_str());
    let names: Vec<&str> = program.labels.iter().map(|label| label.name.as_str()).chain(process).collect();
    let help = match nearest(name, names.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if names.is_empty() => "; it states none".into(),
        None => format!("; it states: {}", names.join(", ")),
    };
    Err(PlanError::Unknown { name: name.to_owned(), help })
}

fn label(text: &str, kind: LabelKind, expression: Expression) -> Label {
    Label { name: text.to_owned(), kind, expression, span: Span::default() }
}
