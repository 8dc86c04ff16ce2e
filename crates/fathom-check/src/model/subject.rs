//! What can questions be asked about? A model that was read, or a system that somebody hands over.

use std::fmt::{self, Debug, Formatter};

use fathom_exec::interpreter::Interpreter;
use fathom_lang::source::SourceText;
use fathom_model::expression::Expression;
use fathom_model::program::{Label, Program};
use fathom_model::record::Records;
use fathom_model::symmetry::Symmetric;
use fathom_model::system::TransitionSystem;
use fathom_search::progress::measure::Measure;

use super::assemble::{Model, ModelError};
use super::distance::{Distance, Moves};
use super::execution::Execution;
use super::measure::{STRUCTURAL, components, packed, parts, structural};
use super::system::System;

/// A number for each of some states.
pub type StateMeasure<'a> = Box<dyn Fn(Records<'_>, &mut Vec<u64>) + Sync + 'a>;

/// A measure of progress, and what it is.
pub struct NamedMeasure<'a> {
    /// The number of each of some states.
    pub values: StateMeasure<'a>,
    /// What it is made of.
    pub name: String,
    /// Beside the name, what tells it from others.
    pub identity: u64,
    /// How it came about, if not by somebody who wrote it.
    pub origin: Option<&'static str>,
}

impl NamedMeasure<'_> {
    /// One that is made of components.
    pub(crate) fn of(measure: Measure, origin: Option<&'static str>) -> NamedMeasure<'static> {
        let (name, identity) = (measure.to_string(), measure.identity());
        let values: StateMeasure<'static> = Box::new(move |records, values| measure.values(records, values));
        NamedMeasure { values, name, identity, origin }
    }
}

impl NamedMeasure<'_> {
    /// What users read of it.
    pub(crate) fn told(&self) -> String {
        let name = if self.name.is_empty() { "all states alike" } else { &self.name };
        self.origin.map_or(name.to_owned(), |origin| format!("{name} ({origin})"))
    }
}

impl Debug for NamedMeasure<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

/// Something that makes steps, has a reference that judges what is found in it, and words to tell it in.
pub trait Subject: Debug + Sync {
    /// What searches expand. A model has these labels in place of its own; a system that was handed over has its own, whatever these are.
    fn searched(&self, labels: &[Label], execution: Execution<'_>) -> System<'_>;

    /// The reference, with the same labels: runs are replayed on it and told in its words.
    fn reference(&self, labels: &[Label]) -> System<'_>;

    /// The reference with states that are alike as one, if they are searched so: what paths of a search are unfolded with.
    fn quotient(&self) -> Option<Symmetric<Interpreter>> {
        None
    }

    /// A number for every state, by expressions in the words of the subject, the first of which counts most; none if it has no words for that. `structural` is a measure that the text gives.
    fn measure(&self, _text: &str) -> Result<Option<NamedMeasure<'_>>, ModelError> {
        Ok(None)
    }

    /// How many steps every state is away from one where one of some expressions is true (or, with `false`, is not), at least; no step changes that by more than one. None if nothing is known.
    fn distance(&self, _goals: &[(&Expression, bool)]) -> Option<StateMeasure<'_>> {
        None
    }

    /// How many moves processes need from one place to another; none if nothing is known.
    fn moves(&self) -> Option<Moves> {
        None
    }

    /// The text that spans refer to, if there is one.
    fn source(&self) -> Option<&SourceText> {
        None
    }

    /// What its text says, if there is one.
    fn program(&self) -> Option<&Program> {
        None
    }
}

impl Subject for Model {
    fn searched(&self, labels: &[Label], execution: Execution<'_>) -> System<'_> {
        self.system(labels, execution)
    }

    fn reference(&self, labels: &[Label]) -> System<'_> {
        System::Interpreted(self.interpreter(labels.to_vec()))
    }

    fn quotient(&self) -> Option<Symmetric<Interpreter>> {
        self.symmetric_interpreter()
    }

    fn measure(&self, text: &str) -> Result<Option<NamedMeasure<'_>>, ModelError> {
        let interpreter = self.interpreter(Vec::new());
        if text.trim() == STRUCTURAL {
            let measure = structural(Model::program(self), interpreter.layout());
            return Ok(Some(NamedMeasure::of(measure, Some("proved monotone"))));
        }
        let expressions = parts(text).map(|part| self.number("-E", part)).collect::<Result<Vec<_>, _>>()?;
        if let Some(measure) = components(Model::program(self), interpreter.layout(), &expressions) {
            return Ok(Some(NamedMeasure::of(measure, None)));
        }
        let values: StateMeasure<'_> = Box::new(move |records, values| {
            // Any function of the state is a measure; where an expression has no value, 0 will do.
            let number = |record, expression| interpreter.value_in(record, expression).unwrap_or(0);
            let value =
                |record| packed(expressions.iter().map(|part| number(record, part)), expressions.len());
            values.extend(records.iter().map(value));
        });
        Ok(Some(NamedMeasure { values, name: text.trim().to_owned(), identity: 0, origin: None }))
    }

    fn distance(&self, goals: &[(&Expression, bool)]) -> Option<StateMeasure<'_>> {
        if self.is_symmetric() {
            // Processes of a state that stands for others are not those that the goal names.
            return None;
        }
        let interpreter = self.interpreter(Vec::new());
        let (program, layout) = (Model::program(self), interpreter.layout());
        let goals = goals.iter().map(|(goal, truth)| Distance::to(program, layout, goal, *truth));
        let distance = Distance::to_any(goals);
        (!distance.is_nothing()).then(|| -> StateMeasure<'_> {
            Box::new(move |records, values| {
                values.extend(records.iter().map(|record| distance.of(record)));
            })
        })
    }

    fn moves(&self) -> Option<Moves> {
        // Processes of a state that stands for others are not those of another state.
        let told = !self.is_symmetric() && !Model::program(self).processes.is_empty();
        told.then(|| Moves::of(Model::program(self), self.interpreter(Vec::new()).layout()))
    }

    fn source(&self) -> Option<&SourceText> {
        Some(Model::source(self))
    }

    fn program(&self) -> Option<&Program> {
        Some(Model::program(self))
    }
}

/// A system that somebody hands over. It is searched as it is, and it is its own reference: what is replayed shows that engines are right, not that the system is.
#[derive(Clone, Copy)]
pub struct Given<'a>(pub &'a dyn TransitionSystem);

impl Subject for Given<'_> {
    fn searched(&self, _labels: &[Label], _execution: Execution<'_>) -> System<'_> {
        System::Given(self.0)
    }

    fn reference(&self, _labels: &[Label]) -> System<'_> {
        System::Given(self.0)
    }
}

impl Debug for Given<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Given").field(self.0.shape()).finish()
    }
}
