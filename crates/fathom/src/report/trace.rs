//! How does a person read a run? One line per step, and below it only what changed.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::check::{Answer, Verdict};
use crate::property::PropertyKind;
use crate::trace::{Trace, TraceFault, TraceMessage, TraceState, TraceStep};

use super::escape::Printable;

/// Runs in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TraceDocument {
    /// The version of the object.
    pub schema: u32,
    /// `fathom`.
    pub tool: String,
    /// The model's file.
    pub model: String,
    /// One per violated property.
    pub traces: Vec<NamedTrace>,
}

/// A run and what it violates.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NamedTrace {
    /// The property's name.
    pub property: String,
    /// Its kind.
    pub kind: String,
    /// The run.
    pub trace: Trace,
}

impl TraceDocument {
    /// All runs of a check.
    pub fn of(model: &str, answers: &[Answer]) -> TraceDocument {
        let named = |answer: &Answer| {
            answer.trace.clone().map(|trace| NamedTrace {
                property: answer.property.name.clone(),
                kind: answer.property.kind.word().into(),
                trace,
            })
        };
        TraceDocument {
            schema: super::json::SCHEMA,
            tool: "fathom".into(),
            model: model.into(),
            traces: answers.iter().filter_map(named).collect(),
        }
    }
}

/// All runs of a check, one after the other.
pub fn all(answers: &[Answer]) -> String {
    let runs = answers.iter().filter_map(|answer| Some((answer, answer.trace.as_ref()?)));
    let runs: Vec<String> =
        runs.map(|(answer, trace)| format!("{}\n{}", heading(answer), run(trace))).collect();
    runs.join("\n")
}

/// What is violated, and where.
pub fn heading(answer: &Answer) -> String {
    let name = Printable(&answer.property.name);
    if let Some(cycle) = answer.trace.as_ref().map(|trace| trace.cycle.len()).filter(|cycle| *cycle > 0) {
        let repeated = if cycle == 1 { "step repeats".to_owned() } else { format!("{cycle} steps repeat") };
        return format!("{name} is violated by a run whose last {repeated} for ever:");
    }
    let length = answer.trace.as_ref().map_or(0, Trace::length);
    let after = match length {
        0 => "in an initial state".to_owned(),
        1 => "after 1 step".to_owned(),
        steps => format!("after {steps} steps"),
    };
    match (answer.property.kind, answer.verdict) {
        (PropertyKind::Reach, Verdict::Violated) => format!("{name} is reachable {after}:"),
        (PropertyKind::Possible, Verdict::Violated) => format!("{name} can no longer be reached {after}:"),
        (PropertyKind::Deadlock, Verdict::Violated) => format!("{name} {after}:"),
        (PropertyKind::Fault, _) => format!("{} {after}:", fault_title(answer)),
        _ => format!("{name} is violated {after}:"),
    }
}

/// The states and steps of a run.
pub fn run(trace: &Trace) -> String {
    let mut text = String::new();
    let width = trace.length().to_string().len();
    for (number, state) in trace.stem.iter().chain(&trace.cycle).enumerate() {
        if number == trace.stem.len() {
            let _ = writeln!(text, "  for ever, from state {}:", number - 1);
        }
        let _ = match &state.step {
            None => writeln!(text, "  {number:>width$}  initial state"),
            Some(step) => writeln!(text, "  {number:>width$}  {}", step_line(step)),
        };
        let _ = writeln!(text, "  {:>width$}    {}", "", changes(state));
        if let Some(line) = reading(state) {
            let _ = writeln!(text, "  {:>width$}    {line}", "");
        }
    }
    if let Some(fault) = &trace.fault {
        let _ = writeln!(text, "  {:>width$}  {}", "!", fault_line(fault));
    }
    text
}

/// A step in one line: who moved, what passed, where it stands.
pub fn step_line(step: &TraceStep) -> String {
    let mut lines: Vec<String> =
        step.moves.iter().filter_map(|it| it.line).map(|it| it.to_string()).collect();
    if lines.is_empty() {
        lines.extend(step.line.map(|line| line.to_string()));
    }
    lines.dedup();
    let place = match lines.as_slice() {
        [] => String::new(),
        [line] => format!("  (line {line})"),
        lines => format!("  (lines {})", lines.join(" and ")),
    };
    let message = step.message.as_ref().map_or(String::new(), |it| format!(", {}", message(it)));
    format!("{}{message}{place}", Printable(&step.title))
}

fn message(message: &TraceMessage) -> String {
    let TraceMessage { channel, sender, receiver, values } = message;
    let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
    let values = Printable(&values);
    match (sender, receiver) {
        (Some(sender), Some(receiver)) => format!("{channel}{values} from {sender} to {receiver}"),
        (Some(_), None) => format!("{channel}{values} into the buffer"),
        (None, Some(_)) => format!("{channel}{values} out of the buffer"),
        (None, None) => format!("{channel}{values}"),
    }
}

/// The values that changed; all of them in the first state.
fn changes(state: &TraceState) -> String {
    let changed: Vec<String> = state
        .state
        .iter()
        .filter(|(name, _)| state.changed.contains(name))
        .map(|(name, value)| format!("{} = {}", Printable(name), Printable(value)))
        .collect();
    if changed.is_empty() { "nothing changes".into() } else { changed.join(", ") }
}

/// What the automaton reads in a state of a lasso, and where it is.
fn reading(state: &TraceState) -> Option<String> {
    let (atoms, automaton) = (state.atoms.as_ref()?, state.automaton.as_ref()?);
    let atoms = if atoms.is_empty() { "nothing".to_owned() } else { atoms.join(", ") };
    Some(format!("[{}] reads {}", Printable(automaton), Printable(&atoms)))
}

fn fault_line(fault: &TraceFault) -> String {
    let place = fault.line.map_or(String::new(), |line| format!("  (line {line})"));
    format!("{}: {}{place}", Printable(&fault.during), Printable(&fault.title))
}

fn fault_title(answer: &Answer) -> String {
    let fault = answer.trace.as_ref().and_then(|trace| trace.fault.as_ref());
    fault.map_or("fault".into(), |fault| Printable(&fault.title).to_string())
}
