//! What was not checked, although the model states it or a check asks it by default?

use fathom_model::span::Span;

use crate::model::assemble::Model;
use crate::questions::plan::Questions;
use crate::questions::property::{DeadlockKind, Faults};

/// Something that was left out, and by which option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// What it is called.
    pub name: String,
    /// Where the model states it.
    pub span: Option<Span>,
    /// The option that left it out, as it is written on the command line.
    pub option: &'static str,
}

impl Questions {
    /// What these questions leave out of everything that a check asks of a model unless it is told otherwise.
    pub fn unchecked(&self, model: &Model) -> Vec<Unchecked> {
        let program = model.program();
        let labels = program.labels.iter().map(|label| (label.name.as_str(), label.span));
        let process = program.property.iter().map(|process| (process.name.as_str(), process.span));
        let left_out = labels.chain(process).filter(|(name, _)| !self.includes(name));
        let stated = left_out.map(|(name, span)| Unchecked {
            name: name.to_owned(),
            span: Some(span),
            option: "--only",
        });
        let deadlocks = self.deadlock(model.language()).is_none().then(|| Unchecked {
            name: "deadlocks".into(),
            span: None,
            option: if self.deadlock == Some(DeadlockKind::Off) { "--deadlock=off" } else { "--only" },
        });
        let faults = (self.faults == Faults::Report).then(|| Unchecked {
            name: "faults".into(),
            span: None,
            option: "--faults report",
        });
        stated.chain(deadlocks).chain(faults).collect()
    }
}
