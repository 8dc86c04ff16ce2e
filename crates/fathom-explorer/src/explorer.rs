//! What can be asked about a model, and what is answered? Questions and answers are JSON; a state is named by its record.
//!
//! | question | answer |
//! |---|---|
//! | `{"ask": "open", "name", "text", "language", "options"}` | the columns of states, and all initial states |
//! | `{"ask": "successors", "record"}` | the steps from a state, in the system's order, and what faults there |
//! | `{"ask": "follow", "record", "actions", "skip"}` | the states along some steps, but for the first |
//! | `{"ask": "search", "records", "expression", "value", "states"}` | how far the search is that now begins |
//! | `{"ask": "go_on", "states"}` | how far it is after so many more states; at its end the way to what was found |

use std::cell::RefCell;
use std::collections::HashSet;
use std::convert::Infallible;

use fathom_exec::interpreter::Interpreter;
use fathom_lang::source::SourceText;
use fathom_lang::understood::{Language, ModelOptions, Understood};
use fathom_model::domain::Overflow;
use fathom_model::program::{Label, LabelKind, Program};
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{Query, TransitionSystem, expand_some, initial_all};
use fathom_model::values::PossibleValues;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::nearby::{End, Goal, Nearby};
use crate::step::{TraceStep, position, step};
use crate::value::Value;

/// A model that questions are asked about.
#[derive(Debug)]
pub struct Explorer {
    source: SourceText,
    understood: Understood,
    values: PossibleValues,
    system: Interpreter,
    /// The states that were shown.
    known: RefCell<HashSet<Box<[u64]>>>,
    search: Option<Search>,
}

#[derive(Debug)]
struct Search {
    system: Interpreter,
    goal: Option<Goal>,
    nearby: Nearby,
}

/// A question.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// Reads a model: the first question.
    Open(Opening),
    /// Where it goes from a state.
    Successors {
        /// The state.
        record: String,
    },
    /// The states along some steps.
    Follow {
        /// The first state.
        record: String,
        /// The steps.
        actions: Vec<u32>,
        /// How many of the states are not told.
        skip: usize,
    },
    /// A search begins: for a state where a condition has a value, or for nothing.
    Search {
        /// Where it begins; from the initial states if there is none.
        records: Vec<String>,
        /// The condition, in the words of the model; none to count states.
        expression: Option<String>,
        /// The value it is to have.
        value: bool,
        /// The most states that are found.
        states: usize,
    },
    /// The search goes on.
    GoOn {
        /// For so many states.
        states: usize,
    },
}

/// A model as a page has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// What it is called.
    pub name: String,
    /// Its text.
    pub text: String,
    /// `dve` or `murphi`.
    pub language: String,
    /// What is chosen about it.
    pub options: Options,
}

/// What is chosen about a model.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Values of constants.
    pub constants: Vec<(String, i64)>,
    /// Whether values wrap around.
    pub wrap: bool,
    /// Whether properties must not tell values of scalarsets apart.
    pub symmetry: bool,
    /// How often a loop may go round.
    pub max_loop: Option<u32>,
}

/// A state as a page shows it.
#[derive(Clone, Debug, Serialize)]
struct Shown {
    record: String,
    /// By column.
    values: Vec<String>,
    /// What the model states and does not hold here, by name.
    violated: Vec<String>,
}

/// A step and where it leads.
#[derive(Clone, Debug, Serialize)]
struct Choice {
    step: TraceStep,
    state: Shown,
}

impl From<&ModelOptions> for Options {
    fn from(options: &ModelOptions) -> Options {
        let ModelOptions { constants, overflow, symmetry, max_loop } = options;
        Options {
            constants: constants.clone(),
            wrap: *overflow == Overflow::Wrap,
            symmetry: *symmetry,
            max_loop: *max_loop,
        }
    }
}

/// The name of a language in questions.
pub fn language_name(language: Language) -> &'static str {
    match language {
        Language::Dve => "dve",
        Language::Murphi => "murphi",
    }
}

/// Answers a question, which may be the first one. What is wrong about it is an answer, too: `{"error": "..."}`.
pub fn answer(explorer: &mut Option<Explorer>, question: &str) -> String {
    let answered = serde_json::from_str(question).map_err(|error| error.to_string()).and_then(|question| {
        if let Question::Open(opening) = question {
            let opened = Explorer::open(opening)?;
            let told = opened.opened();
            *explorer = Some(opened);
            return told;
        }
        explorer.as_mut().ok_or("no model is open")?.answer(question)
    });
    answered.unwrap_or_else(|error| json!({ "error": error })).to_string()
}

impl Explorer {
    /// Reads a model.
    pub fn open(opening: Opening) -> Result<Explorer, String> {
        let Opening { name, text, language, options } = opening;
        let language = match &*language {
            "dve" => Language::Dve,
            "murphi" => Language::Murphi,
            other => return Err(format!("there is no language {other}")),
        };
        let overflow = if options.wrap { Overflow::Wrap } else { Overflow::Fault };
        let Options { constants, symmetry, max_loop, .. } = options;
        let options = ModelOptions { constants, overflow, symmetry, max_loop };
        let source = SourceText::from_bytes(&name, text.into_bytes())
            .map_err(|wrong| wrong.render(&SourceText::new(&name, ""), false))?;
        let understood =
            Understood::of(&source, language, &options).map_err(|wrong| wrong.render(&source, false))?;
        let values = PossibleValues::of(&understood.program);
        Ok(Explorer::of(source, understood, values))
    }

    /// A model that was read.
    pub fn of(source: SourceText, understood: Understood, values: PossibleValues) -> Explorer {
        let stated = understood.program.labels.iter().filter(|label| label.kind == LabelKind::Assertion);
        let program = Program { labels: stated.cloned().collect(), ..understood.program.clone() };
        let system = Interpreter::new(program, &values);
        // States are explored one by one, whatever a search takes as one.
        let understood = understood.telling_apart();
        Explorer { source, understood, values, system, known: RefCell::default(), search: None }
    }

    /// Answers a question about the model that is open.
    pub fn answer(&mut self, question: Question) -> Result<Json, String> {
        match question {
            Question::Open(_) => self.opened(),
            Question::Successors { record } => self.successors(&record),
            Question::Follow { record, actions, skip } => self.followed(&record, &actions, skip),
            Question::Search { records, expression, value, states } => {
                self.begin(&records, expression.as_deref(), value, states)
            }
            Question::GoOn { states } => self.go_on(states),
        }
    }

    fn opened(&self) -> Result<Json, String> {
        let starts = self.starts();
        let mut columns = Vec::new();
        if let Some(first) = (starts.step_count() > 0).then(|| starts.target(0)) {
            Value::of(&self.understood.program, self.system.shape(), first)
                .for_each(&mut |name, _| columns.push(name.to_owned()));
        }
        let title = |start: u32| self.system.describe(Query::Start(start)).title;
        let initial: Vec<Json> = (0..starts.step_count())
            .map(|start| json!({ "title": title(starts.action(start)), "state": self.shown(starts.target(start)) }))
            .collect();
        let faults: Vec<Json> = starts
            .faults()
            .iter()
            .map(|fault| json!({ "title": title(fault.action), "fault": fault.kind.text() }))
            .collect();
        Ok(json!({ "columns": columns, "initial": initial, "faults": faults }))
    }

    fn starts(&self) -> Steps {
        let columns = Columns { actions: true, ..Columns::NONE };
        let mut steps = Steps::new(self.system.shape(), columns, 64);
        let Ok(()) = initial_all(&self.system, &mut steps, &mut |_| Ok::<_, Infallible>(())) else {
            unreachable!("there is room, and nobody asks it to stop")
        };
        steps
    }

    fn steps_of(&self, record: &[u64]) -> Steps {
        let columns = Columns { labels: true, actions: true, ..Columns::NONE };
        let mut steps = Steps::new(self.system.shape(), columns, 64);
        let sources = Records::new(record, record.len());
        let Ok(_) = expand_some(&self.system, sources, &mut steps, &mut |_| Ok::<_, Infallible>(())) else {
            unreachable!("there is room, and nobody asks it to stop")
        };
        steps
    }

    fn shown(&self, record: &[u64]) -> Shown {
        self.known.borrow_mut().insert(record.into());
        let mut values = Vec::new();
        Value::of(&self.understood.program, self.system.shape(), record)
            .for_each(&mut |_, value| values.push(value.to_string()));
        let mut labels = [Default::default()];
        self.system.label(Records::new(record, record.len()), &mut labels);
        let names = self.system.shape().labels.iter().enumerate();
        let violated = names
            .filter(|(label, _)| !labels[0].faulted() && !labels[0].holds(*label))
            .map(|(_, name)| name.clone())
            .collect();
        Shown { record: hexadecimal(record), values, violated }
    }

    fn step(&self, from: &[u64], action: u32) -> TraceStep {
        step(&self.system, Some(&self.source), from, action)
    }

    fn successors(&self, record: &str) -> Result<Json, String> {
        let record = self.record(record)?;
        let steps = self.steps_of(&record);
        let choice = |number: usize| Choice {
            step: self.step(&record, steps.action(number)),
            state: self.shown(steps.target(number)),
        };
        let choices: Vec<Choice> = (0..steps.step_count()).map(choice).collect();
        let fault = |fault: &fathom_model::steps::Fault| {
            let words = self.system.describe(Query::Fault { source: &record, fault: *fault });
            let (line, _) = position(Some(&self.source), words.span);
            json!({ "step": self.step(&record, fault.action), "fault": words.title, "detail": words.detail, "line": line })
        };
        let faults: Vec<Json> = steps.faults().iter().map(fault).collect();
        Ok(json!({ "state": self.shown(&record), "choices": choices, "faults": faults }))
    }

    fn followed(&self, record: &str, actions: &[u32], skip: usize) -> Result<Json, String> {
        let mut record = self.record(record)?;
        let mut choices = Vec::new();
        for (number, action) in actions.iter().enumerate() {
            let steps = self.steps_of(&record);
            let Some(taken) = (0..steps.step_count()).find(|step| steps.action(*step) == *action) else {
                return Err(format!("step {} is not possible", number + 1));
            };
            let target = steps.target(taken).to_vec();
            if number >= skip {
                choices.push(Choice { step: self.step(&record, *action), state: self.shown(&target) });
            }
            record = target;
        }
        Ok(json!({ "states": choices }))
    }

    fn begin(
        &mut self,
        records: &[String],
        expression: Option<&str>,
        value: bool,
        bound: usize,
    ) -> Result<Json, String> {
        let labels = expression.map(|text| self.condition(text)).transpose()?.into_iter().collect();
        let goal = expression.map(|_| Goal { label: 0, value });
        let program = Program { labels, ..self.understood.program.clone() };
        let system = Interpreter::new(program, &self.values);
        let mut starts = RecordBuffer::new(self.system.shape().words());
        match records {
            [] => starts.append(self.starts().targets()),
            _ => self.shown_records(records)?.iter().for_each(|record| starts.push(record)),
        }
        self.search = Some(Search { system, goal, nearby: Nearby::new(starts.view(), bound) });
        self.go_on(0)
    }

    fn go_on(&mut self, states: usize) -> Result<Json, String> {
        let Some(Search { system, goal, nearby }) = &mut self.search else {
            return Err("no search has begun".to_owned());
        };
        let end = nearby.advance(system, *goal, states);
        let figures = nearby.figures();
        let mut told = json!({
            "states": figures.states, "expanded": figures.expanded, "transitions": figures.transitions,
            "deadlocks": figures.deadlocks, "faults": figures.faults, "depth": figures.depth,
        });
        let (word, found) = match end {
            None => return Ok(told),
            Some(End::Found(state)) => ("found", Some(state)),
            Some(End::Faulted(state)) => ("faulted", Some(state)),
            Some(End::All) => ("all", None),
            Some(End::Bound) => ("bound", None),
        };
        told["end"] = word.into();
        told["checksum"] = nearby.checksum().to_string().into();
        if let Some(state) = found {
            let (start, actions) = nearby.way(state);
            let start = nearby.record(start).to_vec();
            told["start"] = serde_json::to_value(self.shown(&start)).map_err(|error| error.to_string())?;
            told["actions"] = actions.into();
        }
        if end.is_some() {
            self.search = None;
        }
        Ok(told)
    }

    /// A condition over the model's states, in the words of its language.
    pub fn condition(&self, text: &str) -> Result<Label, String> {
        let text = SourceText::from_bytes("expression", text.as_bytes().to_vec())
            .map_err(|wrong| first_message(&wrong))?;
        let expression = self.understood.expression(&text).map_err(|wrong| first_message(&wrong))?;
        let (name, kind) = (text.text().to_owned(), LabelKind::Goal);
        Ok(Label { name, kind, expression, span: Default::default() })
    }

    /// States as a question names them: some of those that were shown.
    pub fn shown_records(&self, records: &[String]) -> Result<Vec<Vec<u64>>, String> {
        records.iter().map(|record| self.record(record)).collect()
    }

    /// A record as a question names it: one of those that were shown. Others may be no states of the model, and the program relies on being asked about states alone.
    fn record(&self, text: &str) -> Result<Vec<u64>, String> {
        let word = |digits: &[u8]| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let record: Option<Vec<u64>> = text.as_bytes().chunks(16).map(word).collect();
        let known = self.known.borrow();
        record
            .filter(|record| known.contains(&record[..]))
            .ok_or_else(|| "this is no state that was shown".to_owned())
    }
}

/// A record as questions and answers name it.
pub fn hexadecimal(record: &[u64]) -> String {
    record.iter().map(|word| format!("{word:016x}")).collect()
}

fn first_message(wrong: &fathom_lang::diagnostic::Diagnostics) -> String {
    let Some(first) = wrong.items().first() else { return "this is no expression".to_owned() };
    first.help.as_ref().map_or(first.message.clone(), |help| format!("{}; {help}", first.message))
}
