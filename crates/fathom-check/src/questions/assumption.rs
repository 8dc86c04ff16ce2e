//! What does a verdict take for granted? Everything that was chosen from outside and without which it might be another.

use fathom_model::expression::Overflow;

use crate::limit::Limit;
use crate::model::assemble::{Language, Model, ModelOptions};
use crate::numbers::plural;
use crate::questions::plan::Questions;
use crate::questions::property::Faults;

/// The choices behind a verdict.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a> {
    /// What was chosen about the model.
    pub options: &'a ModelOptions,
    /// What was asked about its states, if anything.
    pub questions: Option<&'a Questions>,
    /// Whether steps that fault are only counted.
    pub faults: Faults,
    /// The processes that runs are fair to.
    pub fair: &'a [u32],
    /// Whether strongly, not weakly.
    pub strong: bool,
    /// How far the search was to go.
    pub max_depth: Option<u64>,
    /// The depth that no state was taken to be deeper than, if that mattered.
    pub assumed_depth: Option<u64>,
}

impl Choices<'_> {
    /// What is taken for granted, a phrase each, in a fixed order. `limit` is what ended the search early.
    pub fn assumptions(&self, model: &Model, limit: Option<Limit>) -> Vec<String> {
        let constraint = self.questions.and_then(|questions| questions.constraint.as_deref());
        let valid_end = self.questions.and_then(|questions| questions.valid_end.as_deref());
        let wraps = model.language() == Language::Dve && self.options.overflow == Overflow::Wrap;
        let depth = self.max_depth.filter(|_| limit == Some(Limit::Depth));
        let all = [
            constraint.map(|it| format!("only states where {} holds are explored (--constraint)", it.trim())),
            valid_end.map(|it| {
                format!("states where {} holds are valid end states (--deadlock-except)", it.trim())
            }),
            (!self.fair.is_empty()).then(|| self.fairness(model)),
            wraps.then(|| "values that do not fit their type wrap around (--overflow wrap)".to_owned()),
            (self.faults == Faults::Report)
                .then(|| "steps that fault are counted and not taken (--faults report)".to_owned()),
            model
                .is_symmetric()
                .then(|| "symmetry reduction is sound for this model (--symmetry on)".to_owned()),
            depth.map(|depth| format!("no state is more than {} deep (--max-depth)", plural(depth, "step"))),
            self.assumed_depth.map(|depth| {
                format!("no state is more than {} deep (--assume-depth)", plural(depth, "step"))
            }),
        ];
        all.into_iter().flatten().collect()
    }

    fn fairness(&self, model: &Model) -> String {
        let agents = model.program().agents();
        let (how, option) = if self.strong { ("strongly", "strong") } else { ("weakly", "weak") };
        if self.fair.len() == agents.len() {
            let each = if model.program().rules.is_empty() { "process" } else { "rule" };
            return format!("runs are {how} fair to every {each} (--fair {option})");
        }
        let name = |number: &u32| agents.get(*number as usize).map_or("?", String::as_str);
        let names: Vec<&str> = self.fair.iter().map(name).collect();
        format!("runs are {how} fair to {} (--fair {option})", names.join(", "))
    }
}
