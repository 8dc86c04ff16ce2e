//! What are the words for a path? Who moved, what changed, where it stands in the source.

use fathom_lang::source::SourceText;
use fathom_model::span::Span;
use fathom_model::steps::Fault;
use fathom_model::system::{Description, Query, TransitionSystem};
use fathom_search::lasso::Lasso;
use fathom_search::trace::Path;
use serde::{Deserialize, Serialize};

/// A run of the model in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
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
}

/// A state and how it came about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceState {
    /// The step that leads here; none for the first.
    pub step: Option<TraceStep>,
    /// All values by name, in the order of the model.
    #[serde(with = "in_order")]
    pub state: Vec<(String, String)>,
    /// The names of those that differ from the state before (of the first state: all).
    pub changed: Vec<String>,
    /// The atoms of the formula that are true here; only along a lasso.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atoms: Option<Vec<String>>,
    /// The state of the automaton; only along a lasso.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub automaton: Option<String>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// `P_0: wait -> critical`, or the name of a rule.
    pub title: String,
    /// The number of the action, for programs that follow the trace.
    pub action: u32,
    /// The line in the source, from 1.
    pub line: Option<usize>,
    /// The column.
    pub column: Option<usize>,
    /// Who moves.
    pub moves: Vec<TraceMove>,
    /// What passes.
    pub message: Option<TraceMessage>,
}

/// One process's part in a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceMove {
    /// Who.
    pub process: String,
    /// Where from.
    pub from: String,
    /// Where to.
    pub to: String,
    /// The line of its transition.
    pub line: Option<usize>,
}

/// A message that passes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceMessage {
    /// Over which channel.
    pub channel: String,
    /// From whom, unless it comes out of a buffer.
    pub sender: Option<String>,
    /// To whom, unless it goes into a buffer.
    pub receiver: Option<String>,
    /// What.
    pub values: Vec<String>,
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
}

/// What goes wrong at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
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

/// What is known along a lasso beside the states of the model, by state.
#[derive(Clone, Debug, Default)]
pub struct LassoWords {
    /// The state of the automaton.
    pub automaton: Vec<String>,
    /// The labels that are true, one bit each.
    pub letters: Vec<u64>,
    /// What the labels are called.
    pub labels: Vec<String>,
}

impl Trace {
    /// The words for a lasso; `stutter` is the action of a system that cannot move.
    pub fn of_lasso(
        system: &dyn TransitionSystem,
        source: &SourceText,
        lasso: &Lasso,
        stutter: u32,
        words: &LassoWords,
    ) -> Trace {
        // Once through, and back to where the cycle starts.
        let mut path =
            Path { start: lasso.start, records: lasso.records.clone(), actions: lasso.actions.clone() };
        path.records.push(lasso.records[lasso.cycle_start].clone());
        let mut stem = states(system, source, &path, Some(stutter));
        for (number, state) in stem.iter_mut().enumerate() {
            let at = if number < lasso.records.len() { number } else { lasso.cycle_start };
            let holds = |label: &usize| words.letters[at] >> label & 1 == 1;
            let atoms = (0..words.labels.len()).filter(holds).map(|label| words.labels[label].clone());
            state.atoms = Some(atoms.collect());
            state.automaton = Some(words.automaton[at].clone());
        }
        let cycle = stem.split_off(lasso.cycle_start + 1);
        Trace { kind: "lasso".into(), minimal: "none".into(), stem, cycle, fault: None }
    }

    /// The words for a path.
    pub fn of(
        system: &dyn TransitionSystem,
        source: &SourceText,
        path: Option<&Path>,
        trouble: Option<Trouble>,
        shortest: bool,
    ) -> Trace {
        let stem = path.map_or(Vec::new(), |path| states(system, source, path, None));
        let last = path.and_then(|path| path.records.last());
        let fault = trouble.map(|trouble| fault(system, source, last.map(Vec::as_slice), trouble));
        let minimal = if shortest { "path" } else { "none" }.to_owned();
        Trace { kind: "path".into(), minimal, stem, cycle: Vec::new(), fault }
    }

    /// How many steps it has, those of a cycle once.
    pub fn length(&self) -> usize {
        self.stem.len().saturating_sub(1) + self.cycle.len()
    }
}

/// The words for a step from a state.
pub fn step(system: &dyn TransitionSystem, source: &SourceText, from: &[u64], action: u32) -> TraceStep {
    let words = system.describe(Query::Step { source: from, action });
    let (line, column) = position(source, words.span);
    TraceStep {
        title: words.title.clone(),
        action,
        line,
        column,
        moves: words
            .moves
            .iter()
            .map(|it| TraceMove {
                process: it.process.clone(),
                from: it.from.clone(),
                to: it.to.clone(),
                line: position(source, Some(it.span)).0,
            })
            .collect(),
        message: message(words),
    }
}

fn states(
    system: &dyn TransitionSystem,
    source: &SourceText,
    path: &Path,
    stutter: Option<u32>,
) -> Vec<TraceState> {
    let mut states: Vec<TraceState> = Vec::with_capacity(path.records.len());
    for (number, record) in path.records.iter().enumerate() {
        let values = system.describe(Query::Record(record)).values;
        let before = states.last().map(|state| &state.state);
        let changed = (0..values.len()).filter(|value| before.is_none_or(|it| it[*value] != values[*value]));
        let changed = changed.map(|value| values[value].0.clone()).collect();
        let step = number.checked_sub(1).map(|earlier| match path.actions[earlier] {
            action if stutter == Some(action) => TraceStep::stay(action),
            action => step(system, source, &path.records[earlier], action),
        });
        states.push(TraceState { step, state: values, changed, atoms: None, automaton: None });
    }
    states
}

impl TraceStep {
    /// Nothing can move, and time goes on.
    fn stay(action: u32) -> TraceStep {
        let title = "nothing can move".to_owned();
        TraceStep { title, action, line: None, column: None, moves: Vec::new(), message: None }
    }
}

fn message(words: Description) -> Option<TraceMessage> {
    words.exchange.map(|it| TraceMessage {
        channel: it.channel,
        sender: it.sender,
        receiver: it.receiver,
        values: it.values,
    })
}

fn fault(
    system: &dyn TransitionSystem,
    source: &SourceText,
    last: Option<&[u64]>,
    trouble: Trouble,
) -> TraceFault {
    let (title, during, span) = match (trouble, last) {
        (Trouble::Step(fault), Some(record)) => {
            let words = system.describe(Query::Fault { source: record, fault });
            let step = system.describe(Query::Step { source: record, action: fault.action });
            (words.title, step.title, words.span)
        }
        (Trouble::Label { label, stated }, Some(record)) => {
            let words = system.describe(Query::Label { record, label });
            let title = words.values.first().map_or(String::new(), |(_, value)| value.clone());
            (title, format!("evaluating {}", words.title), words.span.filter(|_| stated))
        }
        (Trouble::Start(fault) | Trouble::Step(fault), _) => {
            let words = system.describe(Query::Start(fault.action));
            (fault.kind.text().to_owned(), words.title, Some(fault.span))
        }
        (Trouble::Label { .. }, None) => (String::new(), String::new(), None),
    };
    let (line, column) = position(source, span);
    TraceFault { title, during, line, column }
}

/// Line and column; none for a span that is nowhere in particular.
fn position(source: &SourceText, span: Option<Span>) -> (Option<usize>, Option<usize>) {
    match span.filter(|span| *span != Span::default()) {
        Some(span) => {
            let position = source.position(span.start);
            (Some(position.line), Some(position.column))
        }
        None => (None, None),
    }
}

/// Pairs as an object that keeps their order, both ways.
mod in_order {
    use std::fmt;

    use serde::de::{MapAccess, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        pairs: &[(String, String)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, String)>, D::Error> {
        deserializer.deserialize_map(Pairs)
    }

    struct Pairs;

    impl<'de> Visitor<'de> for Pairs {
        type Value = Vec<(String, String)>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object of names and values")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::new();
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
}
