//! How do Apalache, Quint and tests that are driven by models read a run? As JSON in the informal trace format, ITF.

use std::cell::RefCell;
use std::io::{self, Write};

use fathom_check::model::subject::Subject;
use fathom_check::trace::value::Value;
use fathom_check::trace::{States, Trace};
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::report::json;

/// Numbers beyond this do not survive in every reader of JSON.
const PLAIN_MAX: i64 = 1 << 53;

/// Writes a run; without one, a file without states.
pub fn write(
    subject: &dyn Subject,
    name: &str,
    trace: Option<&Trace>,
    out: &mut dyn Write,
) -> io::Result<()> {
    json::write(&Document { subject, name, trace }, out)
}

struct Document<'a> {
    subject: &'a dyn Subject,
    name: &'a str,
    trace: Option<&'a Trace>,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let first = self.trace.map(|trace| trace.states(self.subject)?.next().transpose());
        let first = first.transpose().map_err(S::Error::custom)?.flatten();
        let names: Vec<String> = match first.map(|first| first.state) {
            Some(Value::Record(variables)) => variables.into_iter().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        };
        let mut object = serializer.serialize_map(None)?;
        let about = json!({
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "description": "Created by fathom",
            "source": self.name,
        });
        object.serialize_entry("#meta", &about)?;
        object.serialize_entry("params", &[(); 0])?;
        object.serialize_entry("vars", &names)?;
        match self.trace {
            Some(trace) => {
                let states = trace.states(self.subject).map_err(S::Error::custom)?;
                // Where a cycle closes its first state comes again, and `loop` says so.
                let count = trace.length() + u64::from(trace.cycle_length() == 0);
                object.serialize_entry("states", &AllStates { states: RefCell::new(states), count })?;
                if trace.cycle_length() > 0 {
                    object.serialize_entry("loop", &(trace.stem_states() - 1))?;
                }
            }
            None => object.serialize_entry("states", &[(); 0])?,
        }
        object.end()
    }
}

struct AllStates<'a> {
    states: RefCell<States<'a>>,
    count: u64,
}

impl Serialize for AllStates<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut states = self.states.borrow_mut();
        for index in 0..self.count {
            let Some(state) = states.next() else { break };
            let state = state.map_err(S::Error::custom)?;
            let action = state.step.map(|step| step.title);
            list.serialize_element(&OneState { index, action, state: &state.state })?;
        }
        list.end()
    }
}

struct OneState<'a> {
    index: u64,
    action: Option<String>,
    state: &'a Value,
}

impl Serialize for OneState<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        // What is about a state is texts, but for its number; the first state has no action.
        let about = match &self.action {
            Some(action) => json!({ "index": self.index, "action": action }),
            None => json!({ "index": self.index }),
        };
        object.serialize_entry("#meta", &about)?;
        if let Value::Record(variables) = self.state {
            for (name, value) in variables {
                object.serialize_entry(name, &encoded(value))?;
            }
        }
        object.end()
    }
}

/// A value as ITF has it.
fn encoded(value: &Value) -> serde_json::Value {
    let all = |parts: &[Value]| parts.iter().map(encoded).collect::<Vec<_>>();
    match value {
        Value::Undefined => json!({ "#unserializable": "undefined" }),
        Value::Boolean(value) => json!(value),
        Value::Number(value) if (-PLAIN_MAX..=PLAIN_MAX).contains(value) => json!(value),
        Value::Number(value) => json!({ "#bigint": value.to_string() }),
        Value::Word(word) => json!(word),
        Value::Record(parts) | Value::Process(parts) => {
            let parts = parts.iter().map(|(name, part)| (name.clone(), encoded(part)));
            serde_json::Value::Object(parts.collect())
        }
        Value::Map(parts) => {
            let pairs: Vec<_> = parts.iter().map(|(index, part)| json!([index, encoded(part)])).collect();
            json!({ "#map": pairs })
        }
        Value::List(parts) | Value::Multiset(parts) | Value::Channel(parts) => json!(all(parts)),
    }
}
