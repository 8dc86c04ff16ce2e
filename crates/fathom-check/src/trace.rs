//! What are the words for a path? Who moved, what changed, where it stands in the source.
//!
//! A [`Trace`] holds no words: they are made state by state as they are told, so that a run of a million steps takes no more memory than one of ten.

use std::cell::RefCell;

use fathom_lang::source::SourceText;
use fathom_model::program::Label;
use fathom_model::record::Records;
use fathom_model::steps::{Fault, Labels};
use fathom_model::system::{Description, Query, TransitionSystem};
use fathom_search::error::SearchError;
use fathom_search::traces::lasso::Lasso;
use fathom_search::traces::path::{Path, PathReader};
use serde::ser::{Error as _, SerializeSeq, SerializeStruct};
use serde::{Deserialize, Serialize, Serializer};

use crate::model::subject::Subject;
use crate::model::system::System;

use fathom_explorer::step::position;
pub use fathom_explorer::step::{TraceMessage, TraceMove, TraceStep, step};
pub use fathom_explorer::value;
use fathom_explorer::value::Value;

/// Of so many states of a lasso it is asked which places decide its atoms: further ones tell little more.
const STATES_ASKED: u64 = 200;

/// A run of the model that can be told in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Its form: `path`, or `lasso` if it has a cycle.
    pub kind: &'static str,
    /// In which sense it is the shortest: `path` if no shorter one leads there, or `none`.
    pub minimal: &'static str,
    /// What goes wrong at the end, if that is a fault.
    pub fault: Option<TraceFault>,
    /// Why the condition that was looked for is met at the end, if it is one about the values of a state.
    pub because: Option<Because>,
    /// What a reader should know about it beside.
    note: Option<String>,
    /// The states. None if no state was made.
    path: Option<Path>,
    cycle: Option<Cycle>,
}

/// What is known of a run that goes on for ever, beside its states. Their notes are the states of the automaton.
#[derive(Clone, Debug)]
struct Cycle {
    start: u64,
    stutter: u32,
    labels: Vec<Label>,
    /// The labels that the automaton reads, as bits.
    atoms: u64,
    /// What the states of the automaton are called.
    automaton: Vec<String>,
    /// The parts of the formula that say something about more than one state, and by state whether they are true.
    truths: Vec<(String, Vec<bool>)>,
    /// How many steps the lasso had that the search found, before it was shortened.
    found: Option<u64>,
}

/// A run in words, as JSON has it.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    trace: &'a Trace,
    subject: &'a dyn Subject,
}

/// A run in words that was read from a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedTrace {
    /// Its form: `path`, or `lasso` if it has a cycle.
    pub kind: String,
    /// In which sense it is the shortest: `path` if no shorter one leads there, or `none`.
    pub minimal: String,
    /// The states with the steps that lead to them; the first one has no step. Empty if no state was made.
    pub stem: Vec<TraceState>,
    /// What goes on for ever after the stem, ending in the stem's last state again; empty for a path.
    pub cycle: Vec<TraceState>,
    /// What goes wrong at the end, if that is a fault.
    pub fault: Option<TraceFault>,
    /// Why the condition that was looked for is met at the end, if it is one about the values of a state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Because>,
    /// What a reader should know about it beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The states of a run in words, one after the other.
pub struct States<'a> {
    system: System<'a>,
    subject: &'a dyn Subject,
    trace: &'a Trace,
    reader: Option<PathReader<'a>>,
    next: u64,
    /// The record and the values of the state before, and the action that leaves it.
    before: Option<(Vec<u64>, Value, u32)>,
}

/// A state and how it came about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceState {
    /// The step that leads here; none for the first.
    pub step: Option<TraceStep>,
    /// All values by name, in the order of the model and nested as there.
    pub state: Value,
    /// The names of those that differ from the state before (of the first state: all), as [`Value::changed`] has them.
    pub changed: Vec<String>,
    /// The atoms of the formula that are true here; only along a lasso.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atoms: Option<Vec<String>>,
    /// The parts of the formula that are true from here on; only along a lasso.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subformulas: Option<Vec<String>>,
    /// The state of the automaton; only along a lasso.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub automaton: Option<String>,
}

/// A fault at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFault {
    /// `division by zero`, ...
    pub title: String,
    /// What was done: the step or start, or which property was evaluated.
    pub during: String,
    /// The line in the source, from 1.
    pub line: Option<usize>,
    /// The column.
    pub column: Option<usize>,
    /// What was wrong about the value: `count` would become 4, outside 0..3.
    #[serde(default)]
    pub detail: Option<String>,
    /// What stands there in the source.
    #[serde(default)]
    pub expression: Option<String>,
    /// What was read there, by name.
    #[serde(default = "nothing")]
    pub values: Value,
}

/// Why a condition is true or false in a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Because {
    /// The condition.
    pub condition: String,
    /// Whether it is true.
    pub holds: bool,
    /// The values that decided it, by name.
    pub values: Value,
}

fn nothing() -> Value {
    Value::Record(Vec::new())
}

/// What goes wrong at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A step from the last state faults.
    Step(Fault),
    /// A start faults: there is no state.
    Start(Fault),
    /// Evaluating a label in the last state faults.
    Label {
        /// Which label.
        label: usize,
        /// Whether it stands in the model's source.
        stated: bool,
    },
}

impl Trace {
    /// A lasso whose notes are states of an automaton with these names, which reads these atoms of these labels; `stutter` is the action of a system that cannot move.
    pub(crate) fn of_lasso(
        lasso: Lasso,
        stutter: u32,
        labels: Vec<Label>,
        atoms: u64,
        automaton: Vec<String>,
        note: Option<String>,
    ) -> Trace {
        let Lasso { path, cycle_start } = lasso;
        let cycle = Some(Cycle {
            start: cycle_start,
            stutter,
            labels,
            atoms,
            automaton,
            truths: Vec::new(),
            found: None,
        });
        Trace { kind: "lasso", minimal: "none", fault: None, because: None, note, path: Some(path), cycle }
    }

    /// The same, with where along the run the parts of a formula are true, and the steps of the lasso that the search found.
    pub(crate) fn with_truths(mut self, truths: Vec<(String, Vec<bool>)>, found: u64) -> Trace {
        if let Some(cycle) = &mut self.cycle {
            (cycle.truths, cycle.found) = (truths, Some(found));
        }
        self
    }

    /// How many steps a lasso had that the search found, before it was shortened.
    pub fn found_length(&self) -> Option<u64> {
        self.cycle.as_ref()?.found
    }

    /// The parts of the formula whose truth along a lasso is told, the formula itself first.
    pub fn subformulas(&self) -> Vec<&str> {
        self.cycle.iter().flat_map(|cycle| &cycle.truths).map(|(part, _)| &**part).collect()
    }

    /// A path, and what goes wrong at its end.
    pub(crate) fn of(
        system: &dyn TransitionSystem,
        source: Option<&SourceText>,
        path: Option<Path>,
        trouble: Option<Trouble>,
        shortest: bool,
    ) -> Result<Trace, SearchError> {
        let last = path.as_ref().map_or(Ok(None), Path::last_record)?;
        let fault = trouble.map(|trouble| fault(system, source, last.as_deref(), trouble));
        let minimal = if shortest { "path" } else { "none" };
        Ok(Trace { kind: "path", minimal, fault, because: None, note: None, path, cycle: None })
    }

    /// The same, with why a label of the system is what it is in the last state.
    pub(crate) fn because(self, system: &dyn TransitionSystem, label: usize) -> Result<Trace, SearchError> {
        let Some(record) = self.path.as_ref().map_or(Ok(None), Path::last_record)? else { return Ok(self) };
        let words = system.describe(Query::Label { record: &record, label });
        let Some(((_, verdict), read)) = words.values.split_first() else { return Ok(self) };
        let (condition, holds, values) = (words.title.clone(), verdict == "true", named_values(read));
        Ok(Trace { because: Some(Because { condition, holds, values }), ..self })
    }

    /// How many steps it has, those of a cycle once.
    pub fn length(&self) -> u64 {
        let states = self.path.as_ref().map_or(0, Path::len);
        if self.cycle.is_some() { states } else { states.saturating_sub(1) }
    }

    /// How many steps of it are repeated for ever; 0 if it ends.
    pub fn cycle_length(&self) -> u64 {
        self.cycle.as_ref().map_or(0, |cycle| self.length() - cycle.start)
    }

    /// What the automaton reads along a lasso, by name.
    pub fn atoms(&self) -> Vec<&str> {
        let Some(cycle) = &self.cycle else { return Vec::new() };
        let names = cycle.labels.iter().enumerate();
        names.filter(|(label, _)| cycle.atoms >> label & 1 == 1).map(|(_, label)| &*label.name).collect()
    }

    /// The places whose values decide about what the run violates, by name: at its end, or, along a lasso, those that decide the atoms in its first states.
    ///
    /// # Errors
    /// If a run that lies on disk cannot be read.
    pub fn decisive(&self, subject: &dyn Subject) -> Result<Vec<String>, SearchError> {
        let mut names = Vec::new();
        let at_end = self.fault.iter().map(|fault| &fault.values);
        for values in at_end.chain(self.because.iter().map(|because| &because.values)) {
            values.for_each(&mut |name, _| add_name(&mut names, name));
        }
        let (Some(cycle), Some(path)) = (&self.cycle, &self.path) else { return Ok(names) };
        let system = subject.reference(&cycle.labels);
        let mut reader = path.reader()?;
        for place in 0..path.len().min(STATES_ASKED) {
            let record = reader.get(place)?.record;
            for label in (0..cycle.labels.len()).filter(|label| cycle.atoms >> label & 1 == 1) {
                let words = system.describe(Query::Label { record, label });
                words.values.iter().skip(1).for_each(|(name, _)| add_name(&mut names, name));
            }
        }
        Ok(names)
    }

    /// The record of its first state, if there is one.
    pub fn first_record(&self) -> Result<Option<Vec<u64>>, SearchError> {
        let Some(path) = self.path.as_ref().filter(|path| !path.is_empty()) else { return Ok(None) };
        Ok(Some(path.reader()?.get(0)?.record.to_vec()))
    }

    /// The action of a step where nothing can move and time goes on; along a lasso alone.
    pub fn stutter(&self) -> Option<u32> {
        self.cycle.as_ref().map(|cycle| cycle.stutter)
    }

    /// What a reader should know about a run that goes on for ever.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// How many states are told before those that are repeated.
    pub fn stem_states(&self) -> u64 {
        match &self.cycle {
            Some(cycle) => cycle.start + 1,
            None => self.path.as_ref().map_or(0, Path::len),
        }
    }

    /// Its states in words; where a cycle closes, its first state comes once more.
    pub fn states<'a>(&'a self, subject: &'a dyn Subject) -> Result<States<'a>, SearchError> {
        let labels = self.cycle.as_ref().map_or(&[][..], |cycle| &cycle.labels);
        Ok(States {
            system: subject.reference(labels),
            subject,
            trace: self,
            reader: self.path.as_ref().map(Path::reader).transpose()?,
            next: 0,
            before: None,
        })
    }

    /// A line for each state: the step that leads there, and what it changes. For runs of which all states can be held; [`Trace::states`] is for others.
    ///
    /// # Errors
    /// If a run that lies on disk cannot be read.
    pub fn lines(&self, subject: &dyn Subject) -> Result<Vec<String>, SearchError> {
        let line = |state: TraceState| {
            let title = state.step.as_ref().map_or("initial state", |step| &step.title);
            let mut values = Vec::new();
            state.state.for_each(&mut |name, value| {
                if state.changed.iter().any(|changed| changed == name) {
                    values.push(format!("{name} = {value}"));
                }
            });
            format!(
                "{title}: {}",
                if values.is_empty() { "nothing changes".into() } else { values.join(", ") }
            )
        };
        self.states(subject)?.map(|state| state.map(line)).collect()
    }

    /// All of it in words, as JSON has it.
    pub fn told<'a>(&'a self, subject: &'a dyn Subject) -> Told<'a> {
        Told { trace: self, subject }
    }
}

impl States<'_> {
    /// Goes on with the state of that number.
    pub fn skip_to(&mut self, state: u64) -> Result<(), SearchError> {
        self.before = None;
        self.next = state.saturating_sub(1);
        if state > 0 {
            self.next().transpose()?;
        }
        Ok(())
    }

    /// The state that was told last, if any was.
    pub fn last_value(&self) -> Option<&Value> {
        self.before.as_ref().map(|(_, value, _)| value)
    }

    fn state(&mut self) -> Result<Option<TraceState>, SearchError> {
        let cycle = self.trace.cycle.as_ref();
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let len = self.trace.path.as_ref().map_or(0, Path::len);
        let place = match cycle {
            Some(cycle) if self.next == len => cycle.start,
            _ => self.next,
        };
        if place >= len || self.next > len {
            return Ok(None);
        }
        let state = reader.get(place)?;
        let value = state_value(self.subject, &self.system, state.record);
        let step = self.before.as_ref().map(|(from, _, action)| match cycle {
            Some(cycle) if cycle.stutter == *action => TraceStep::stay(*action),
            _ => step(&self.system, self.subject.source(), from, *action),
        });
        let changed = value.changed(self.before.as_ref().map(|(_, value, _)| value));
        let atoms = cycle.map(|cycle| {
            let mut labels = [Labels::default()];
            self.system.label(Records::new(state.record, state.record.len()), &mut labels);
            let holds = |label: &usize| cycle.atoms >> label & 1 == 1 && labels[0].holds(*label);
            let names = &self.system.shape().labels;
            (0..names.len()).filter(holds).map(|label| names[label].clone()).collect()
        });
        let subformulas = cycle.filter(|cycle| !cycle.truths.is_empty()).map(|cycle| {
            let here = |(_, at): &&(String, Vec<bool>)| at.get(place as usize) == Some(&true);
            cycle.truths.iter().filter(here).map(|(part, _)| part.clone()).collect()
        });
        let name = |cycle: &Cycle| cycle.automaton.get(state.note as usize).cloned();
        let automaton = cycle.map(|cycle| name(cycle).unwrap_or_else(|| state.note.to_string()));
        self.before = Some((state.record.to_vec(), value.clone(), state.action));
        self.next += 1;
        Ok(Some(TraceState { step, state: value, changed, atoms, subformulas, automaton }))
    }
}

impl PartialEq for Cycle {
    fn eq(&self, other: &Cycle) -> bool {
        let names =
            |cycle: &'_ Cycle| cycle.labels.iter().map(|label| label.name.clone()).collect::<Vec<_>>();
        (self.start, self.stutter, &self.automaton) == (other.start, other.stutter, &other.automaton)
            && names(self) == names(other)
    }
}

impl Iterator for States<'_> {
    type Item = Result<TraceState, SearchError>;

    fn next(&mut self) -> Option<Result<TraceState, SearchError>> {
        self.state().transpose()
    }
}

impl Serialize for Told<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Told { trace, subject } = *self;
        let states = RefCell::new(trace.states(subject).map_err(S::Error::custom)?);
        let mut object = serializer.serialize_struct("Trace", 7)?;
        object.serialize_field("kind", trace.kind)?;
        object.serialize_field("minimal", trace.minimal)?;
        object.serialize_field("stem", &NextStates { states: &states, count: trace.stem_states() })?;
        object.serialize_field("cycle", &NextStates { states: &states, count: trace.cycle_length() })?;
        object.serialize_field("fault", &trace.fault)?;
        match &trace.because {
            Some(because) => object.serialize_field("because", because)?,
            None => object.skip_field("because")?,
        }
        match &trace.note {
            Some(note) => object.serialize_field("note", note)?,
            None => object.skip_field("note")?,
        }
        object.end()
    }
}

/// The next states of a run as a list.
struct NextStates<'a, 's> {
    states: &'a RefCell<States<'s>>,
    count: u64,
}

impl Serialize for NextStates<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut states = self.states.borrow_mut();
        for _ in 0..self.count {
            let Some(state) = states.next() else { break };
            list.serialize_element(&state.map_err(S::Error::custom)?)?;
        }
        list.end()
    }
}

/// A state in a record, as its model nests it.
pub(crate) fn state_value(subject: &dyn Subject, system: &dyn TransitionSystem, record: &[u64]) -> Value {
    match subject.program() {
        Some(program) => Value::of(program, system.shape(), record),
        None => Value::of_texts(system.describe(Query::Record(record)).values),
    }
}

fn fault(
    system: &dyn TransitionSystem,
    source: Option<&SourceText>,
    last: Option<&[u64]>,
    trouble: Trouble,
) -> TraceFault {
    let (words, during, stated) = match (trouble, last) {
        (Trouble::Step(fault), Some(record)) => {
            let words = system.describe(Query::Fault { source: record, fault });
            (words, system.describe(Query::Step { source: record, action: fault.action }).title, true)
        }
        (Trouble::Label { label, stated }, Some(record)) => {
            let mut words = system.describe(Query::Label { record, label });
            let during = format!("evaluating {}", words.title);
            words.title = if words.values.is_empty() { String::new() } else { words.values.remove(0).1 };
            (words, during, stated)
        }
        (Trouble::Start(fault) | Trouble::Step(fault), _) => {
            let during = system.describe(Query::Start(fault.action)).title;
            let title = fault.kind.text().to_owned();
            (Description { title, span: Some(fault.span), ..Description::default() }, during, true)
        }
        (Trouble::Label { .. }, None) => (Description::default(), String::new(), false),
    };
    let span = words.span.filter(|_| stated);
    let (line, column) = position(source, span);
    let text = line
        .and(source)
        .zip(span)
        .and_then(|(source, span)| source.text().get(span.start as usize..span.end as usize));
    TraceFault {
        title: words.title,
        during,
        line,
        column,
        detail: words.detail,
        expression: text.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")),
        values: named_values(&words.values),
    }
}

fn add_name(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// Names and texts of single values.
fn named_values(read: &[(String, String)]) -> Value {
    Value::Record(read.iter().map(|(name, text)| (name.clone(), Value::of_text(text.clone()))).collect())
}
