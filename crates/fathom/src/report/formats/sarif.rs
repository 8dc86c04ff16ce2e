//! How do editors and code hosts read verdicts? As the results of a SARIF log, each with its run as a flow through the model's text.

use std::cell::RefCell;
use std::io::{self, Write};

use fathom_check::answers::check::{Answer, Checked, Verdict};
use fathom_check::model::assemble::Model;
use fathom_check::trace::{States, Trace, TraceState};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::report::trace::{heading, step_line};
use crate::report::{json, state};

/// How wide the lines of a state are.
const WIDTH: usize = 200;

/// Writes what a check found.
pub fn write(model: &Model, checked: &Checked, out: &mut dyn Write) -> io::Result<()> {
    json::write(&Log { model, checked }, out)
}

struct Log<'a> {
    model: &'a Model,
    checked: &'a Checked,
}

impl Serialize for Log<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("$schema", "https://json.schemastore.org/sarif-2.1.0.json")?;
        object.serialize_entry("version", "2.1.0")?;
        object.serialize_entry("runs", &[Run(self)])?;
        object.end()
    }
}

struct Run<'a>(&'a Log<'a>);

impl Serialize for Run<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Log { model, checked } = self.0;
        let found = |answer: &&Answer| matches!(answer.verdict, Verdict::Violated | Verdict::Fault);
        let found: Vec<&Answer> = checked.answers.iter().filter(found).collect();
        let mut kinds: Vec<&str> = found.iter().map(|answer| answer.property.kind.word()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let rules: Vec<Value> = kinds.iter().map(|kind| json!({ "id": kind })).collect();
        let driver = json!({ "name": "fathom", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
        let results: Vec<Finding<'_>> = found.iter().flat_map(|answer| findings(model, answer)).collect();
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("tool", &json!({ "driver": driver }))?;
        object.serialize_entry("columnKind", "unicodeCodePoints")?;
        object.serialize_entry("results", &results)?;
        object.end()
    }
}

struct Finding<'a> {
    model: &'a Model,
    answer: &'a Answer,
    trace: Option<&'a Trace>,
}

/// What was found about a property: its runs, or that there is none to show.
fn findings<'a>(model: &'a Model, answer: &'a Answer) -> impl Iterator<Item = Finding<'a>> {
    let bare = answer.trace.is_none().then_some(None);
    bare.into_iter().chain(answer.traces().map(Some)).map(move |trace| Finding { model, answer, trace })
}

impl Serialize for Finding<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Finding { model, answer, trace } = *self;
        let source = model.source();
        let stated =
            answer.property.span.map(|span| source.position(span.start)).map(|it| (it.line, it.column));
        let fault = trace.and_then(|trace| trace.fault.as_ref());
        let (line, column) =
            fault.and_then(|fault| fault.line.zip(fault.column)).or(stated).unwrap_or((1, 1));
        let text = heading(answer, trace);
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("ruleId", answer.property.kind.word())?;
        object.serialize_entry("level", "error")?;
        object.serialize_entry("message", &json!({ "text": text.trim_end_matches(':') }))?;
        object.serialize_entry("locations", &[json!({ "physicalLocation": place(model, line, column) })])?;
        if let Some(trace) = trace.filter(|trace| trace.stem_states() > 0) {
            object.serialize_entry("codeFlows", &[CodeFlow { model, trace }])?;
        }
        object.end()
    }
}

struct CodeFlow<'a> {
    model: &'a Model,
    trace: &'a Trace,
}

impl Serialize for CodeFlow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let states = self.trace.states(self.model).map_err(S::Error::custom)?;
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry(
            "threadFlows",
            &[ThreadFlow { model: self.model, states: RefCell::new(states) }],
        )?;
        object.end()
    }
}

struct ThreadFlow<'a> {
    model: &'a Model,
    states: RefCell<States<'a>>,
}

impl Serialize for ThreadFlow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("locations", &Locations(self))?;
        object.end()
    }
}

struct Locations<'a, 's>(&'a ThreadFlow<'s>);

impl Serialize for Locations<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ThreadFlow { model, states } = self.0;
        let mut list = serializer.serialize_seq(None)?;
        let mut states = states.borrow_mut();
        loop {
            let before = states.last_value().cloned();
            let Some(state) = states.next() else { break };
            let state = state.map_err(S::Error::custom)?;
            list.serialize_element(&location(model, before.as_ref(), &state))?;
        }
        list.end()
    }
}

/// A state on the way: the step that leads there, and what it changed.
fn location(model: &Model, before: Option<&fathom_check::trace::value::Value>, state: &TraceState) -> Value {
    let title = state.step.as_ref().map_or("initial state".to_owned(), step_line);
    let changes = state::lines(before, &state.state, WIDTH).join("; ");
    let line = state.step.as_ref().and_then(|step| step.line.zip(step.column));
    let (line, column) = line.unwrap_or((1, 1));
    let text = format!("{title}: {changes}");
    json!({ "location": { "physicalLocation": place(model, line, column), "message": { "text": text } } })
}

fn place(model: &Model, line: usize, column: usize) -> Value {
    let uri = uri(model.source().name());
    json!({ "artifactLocation": { "uri": uri }, "region": { "startLine": line, "startColumn": column } })
}

/// A path as a reference of a URI.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_names() {
        assert_eq!(uri("models/a b%.dve"), "models/a%20b%25.dve");
    }
}
