//! What does a line of a log say about a state, and about the step that led there?
//!
//! ```text
//! {"state": {"x": 3, "P_0": "critical"}}                  some variables, by the names that traces have
//! {"action": "P_0: idle -> waiting"}                      the step that led here: its title, the name of a rule, or of a process that moves
//! {"time": 17.2, "action": "P_0", "state": {"x": 3}}      both; `time` and `note` are for people
//! ```

use fathom_lang::nearest::nearest;
use fathom_model::system::Description;
use serde_json::{Map, Value};

/// What a line of a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Its number in the log, from 1.
    pub line: usize,
    /// The step that led to the state.
    pub action: Option<String>,
    /// Values of some variables, as traces write them.
    pub values: Vec<(String, String)>,
}

/// A log cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the log: {why}")]
pub struct LogError {
    /// Which line, from 1.
    pub line: usize,
    /// Why, and what to do.
    pub why: String,
}

/// A value that is not as it was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The variable.
    pub name: String,
    /// What the log says.
    pub observed: String,
    /// What the model has; none if it has no such variable there.
    pub found: Option<String>,
}

const FORM: &str =
    r#"a line is an object such as {"action": "P_0", "state": {"x": 3}}, with one of the two at least"#;

/// All observations of a log, one object per line; empty lines are left out.
///
/// # Errors
/// If a line is no such object.
pub fn read(text: &str) -> Result<Vec<Observation>, LogError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| Observation::read(number + 1, line)).collect()
}

impl Observation {
    fn read(line: usize, text: &str) -> Result<Observation, LogError> {
        let wrong = |why: String| LogError { line, why };
        let object: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| wrong(format!("{error}; {FORM}")))?;
        let mut observation = Observation { line, ..Observation::default() };
        for (key, value) in &object {
            match (key.as_str(), value) {
                ("action", Value::String(action)) => observation.action = Some(action.clone()),
                ("state", Value::Object(values)) => {
                    for (name, value) in values {
                        let value = words(value).ok_or_else(|| {
                            wrong(format!("the value of `{name}` is no number, text or truth"))
                        })?;
                        observation.values.push((name.clone(), value));
                    }
                }
                ("time" | "note", _) => {}
                _ => return Err(wrong(format!("`{key}` has no meaning here; {FORM}"))),
            }
        }
        if observation.action.is_none() && observation.values.is_empty() {
            return Err(wrong(format!("it observes nothing; {FORM}")));
        }
        Ok(observation)
    }

    /// Refuses names that the model does not have; `state` is the description of one of its states.
    pub(super) fn refuse_unknown(&self, state: &Description) -> Result<(), LogError> {
        let base = |name: &str| name.split(['[', '.']).next().unwrap_or_default().to_owned();
        for (name, _) in &self.values {
            // Elements of multisets come and go.
            let known = |(other, _): &(String, String)| other == name || base(other) == base(name);
            if state.values.iter().any(known) {
                continue;
            }
            let near = nearest(name, state.values.iter().map(|(other, _)| other.as_str()));
            let help = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let why = format!("the model has no variable or process `{name}`{help}");
            return Err(LogError { line: self.line, why });
        }
        Ok(())
    }

    /// Whether a step is the one that was observed, if one was.
    pub(super) fn names(&self, step: &Description) -> bool {
        let Some(action) = &self.action else { return true };
        let rest = step.title.strip_prefix(action.as_str());
        let is_word = rest
            .is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_'));
        is_word || step.moves.iter().any(|it| it.process == *action)
    }

    /// Where a state is not as observed.
    pub(super) fn differences(&self, state: &Description) -> Vec<Difference> {
        let found = |name: &String| state.values.iter().find(|(other, _)| other == name);
        let differs = |(name, observed): &(String, String)| match found(name) {
            Some((_, value)) if value == observed => None,
            found => Some(Difference {
                name: name.clone(),
                observed: observed.clone(),
                found: found.map(|(_, value)| value.clone()),
            }),
        };
        self.values.iter().filter_map(differs).collect()
    }
}

/// A value as traces write it.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_objects_with_observations() {
        let log = read("{\"action\": \"P\", \"time\": 3}\n\n{\"state\": {\"x\": 3, \"b\": true}}\n").unwrap();
        assert_eq!(log[0], Observation { line: 1, action: Some("P".into()), values: vec![] });
        assert_eq!((log[1].line, log[1].values[0].1.as_str(), log[1].values[1].1.as_str()), (3, "true", "3"));
        for wrong in
            ["{}", "[]", "{\"x\": 3}", "{\"state\": {}}", "{\"state\": {\"x\": []}}", "{\"action\": 3}", "{"]
        {
            assert_eq!(read(&format!("{{\"action\": \"P\"}}\n{wrong}")).unwrap_err().line, 2, "{wrong}");
        }
    }

    #[test]
    fn an_action_is_named_by_its_title_its_rule_or_who_moves() {
        let named = |action: &str, title: &str| {
            let observation = Observation { action: Some(action.into()), ..Observation::default() };
            observation.names(&Description { title: title.into(), ..Description::default() })
        };
        assert!(named("P_0: idle -> seen", "P_0: idle -> seen"));
        assert!(named("grab", "grab (i: 1)"));
        assert!(!named("gra", "grab (i: 1)") && !named("P_1", "P_10: a -> b"));
    }
}
