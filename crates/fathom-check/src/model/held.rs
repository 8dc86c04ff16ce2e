//! Which values can a variable ever hold, in the words of the model?
//!
//! What the value analysis knows, told for all parts of a variable: the elements of an array are told as one, which is what the analysis knows of them.

use fathom_model::layout::Possible;
use fathom_model::program::{Program, Role, VariableId};
use fathom_model::structure::Part;

use crate::model::assemble::Model;

/// The values of a part of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The part, as in `cache[..].state`.
    pub place: String,
    /// What it can hold, as in `0..3` or `Invalid, Shared`.
    pub values: String,
    /// What it was declared to hold, if that is more.
    pub declared: Option<String>,
}

/// How many words are listed.
const WORDS_MAX: usize = 16;
/// How many parts of a variable are told.
const PARTS_MAX: usize = 64;

/// What the parts of a variable can hold: a global one by its name, one of a process by the names of both, a process by its own. Empty if there is no such variable, and where the analysis was too much work.
pub fn held(model: &Model, path: &[&str]) -> Vec<Held> {
    let program = model.program();
    let mut held = Vec::new();
    let (Some(structure), [first, rest @ ..]) = (&program.structure, path) else { return held };
    let named = |parts: &'_ [(String, Part)], name: &str| parts.iter().position(|(known, _)| known == name);
    let Some(place) = named(&structure.variables, first) else { return held };
    let mut part = &structure.variables[place].1;
    for name in rest {
        let Part::Process { variables, .. } = part else { return held };
        let Some(place) = named(variables, name) else { return held };
        part = &variables[place].1;
    }
    let is_state = |number: &u32| program.variables[*number as usize].role != Role::Temporary;
    let components = (0..program.variables.len() as u32).filter(is_state).map(VariableId).collect();
    Teller { model, program, components }.tell(part, path.join("."), &mut held);
    held
}

struct Teller<'a> {
    model: &'a Model,
    program: &'a Program,
    /// The variable of each component.
    components: Vec<VariableId>,
}

impl Teller<'_> {
    fn tell(&self, part: &Part, place: String, held: &mut Vec<Held>) {
        if held.len() == PARTS_MAX {
            return;
        }
        match part {
            Part::Value(component) => held.push(self.value(*component, place)),
            Part::Record(fields) => {
                fields.iter().for_each(|(name, field)| self.tell(field, format!("{place}.{name}"), held));
            }
            Part::Array(_, element) | Part::Multiset { element, .. } => {
                self.tell(element, format!("{place}[..]"), held);
            }
            Part::Process { location, variables } => {
                held.push(self.value(*location, place.clone()));
                variables.iter().for_each(|(name, part)| self.tell(part, format!("{place}.{name}"), held));
            }
            Part::Channel { length, fields } => {
                held.push(self.value(*length, format!("messages in {place}")));
                for (number, field) in (1..).zip(fields) {
                    held.push(self.value(*field, format!("value {number} of a message in {place}")));
                }
            }
        }
    }

    fn value(&self, component: u32, place: String) -> Held {
        let id = self.components[component as usize];
        let variable = self.program.variable(id);
        let possible = self.model.values().values(self.program, id);
        let stored = variable.stored();
        let declared = (possible != stored).then(|| self.words(id, stored.low, stored.high));
        Held { place, values: self.words(id, possible.low, possible.high), declared }
    }

    /// The values of an interval as the model writes them.
    fn words(&self, id: VariableId, low: i64, high: i64) -> String {
        let variable = self.program.variable(id);
        let undefined = variable.undefined().filter(|code| (low..=high).contains(code));
        let low = low.max(variable.domain.low);
        let high = high.min(variable.domain.high);
        let mut text = match self.word_list(id) {
            _ if low > high => String::new(),
            Some(word) => {
                let listed = (low..=high).take(WORDS_MAX).map(word).collect::<Vec<_>>().join(", ");
                if high - low >= WORDS_MAX as i64 { format!("{listed}, ...") } else { listed }
            }
            None if low == high => low.to_string(),
            None => format!("{low}..{high}"),
        };
        if undefined.is_some() {
            text.push_str(if text.is_empty() { "undefined" } else { ", undefined" });
        }
        text
    }

    /// The words for the values of a variable; none if they are numbers.
    fn word_list(&self, id: VariableId) -> Option<Box<dyn Fn(i64) -> String + '_>> {
        let variable = self.program.variable(id);
        let of = |words: &dyn Fn(usize) -> Option<String>, code: i64| {
            let place = usize::try_from(code - variable.domain.low).ok();
            place.and_then(words).unwrap_or_else(|| code.to_string())
        };
        if let Role::Location(process) = variable.role {
            let locations = &self.program.process(process).locations;
            let name = |place: usize| locations.get(place).map(|location| location.name.clone());
            return Some(Box::new(move |code| of(&name, code)));
        }
        let words = self.program.words.as_ref()?.values.get(id.index()).filter(|words| !words.is_empty())?;
        Some(Box::new(move |code| of(&|place| words.get(place).cloned(), code)))
    }
}
