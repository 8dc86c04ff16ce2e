//! What is answered, and what is searched meanwhile? Questions about single states at once, by the same crate that pages carry; searches by the real engines, in a thread of their own, one at a time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fathom_check::Check;
use fathom_check::answers::check::{self, Checked, Stop, Verdict};
use fathom_check::limit::Limit;
use fathom_check::model::assemble::Model;
use fathom_check::model::execution::Execution;
use fathom_check::model::subject::{Given, Subject};
use fathom_check::model::system::System;
use fathom_check::monitor::Monitor;
use fathom_check::questions::plan::{Plan, Questions};
use fathom_check::resources::Resources;
use fathom_check::trace::Trace;
use fathom_exec::stop::StopFlag;
use fathom_explorer::explorer::{Explorer, Question, hexadecimal};
use fathom_model::program::{Label, LabelKind};
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Labels, Marks, ProcessSet, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};
use fathom_search::engines::auto;
use fathom_search::engines::engine::Chosen;
use fathom_search::task::{Observer, Progress};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::report::page::Why;
use crate::report::text;
use crate::report::trace::{headline, runs};
use crate::status::{self, Status};

/// Who answers.
pub struct Desk {
    model: Arc<Model>,
    explorer: Mutex<Explorer>,
    resources: Resources,
    search: Mutex<Option<Arc<Search>>>,
    /// The folder of a search that is watched.
    watched: Option<PathBuf>,
}

/// What is asked of the server alone.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
enum Wish {
    /// Everything about states that the model states is checked.
    Check {},
    /// The search ends.
    Stop {},
    /// How far is the search in the folder?
    Watch {},
}

/// A search that runs, or is over.
struct Search {
    began: Instant,
    /// How long it may take.
    limit: Option<Duration>,
    stopped: AtomicBool,
    progress: Mutex<Progress>,
    answer: Mutex<Option<Result<Json, String>>>,
    over: Condvar,
}

/// How long a question about a search waits for its end before it is told how far it is.
const PATIENCE: Duration = Duration::from_millis(150);

impl Desk {
    /// Answers about a model, with what searches may use; and about the search in a folder.
    pub fn new(model: Model, resources: Resources, watched: Option<PathBuf>) -> Desk {
        let explorer =
            Explorer::of(model.source().clone(), model.understood().clone(), model.values().clone());
        let (explorer, search) = (Mutex::new(explorer), Mutex::new(None));
        Desk { model: Arc::new(model), explorer, resources, search, watched }
    }

    /// Answers a question.
    pub fn answer(&self, question: &str) -> String {
        let answered = match serde_json::from_str::<Wish>(question) {
            Ok(Wish::Check {}) => self.begin(check_stated),
            Ok(Wish::Stop {}) => {
                self.stop();
                Ok(json!({}))
            }
            Ok(Wish::Watch {}) => self.watch(),
            Err(_) => serde_json::from_str(question)
                .map_err(|error| error.to_string())
                .and_then(|question| self.explored(question)),
        };
        answered.unwrap_or_else(|error| json!({ "error": error })).to_string()
    }

    /// What the folder says of the search in it.
    fn watch(&self) -> Result<Json, String> {
        let folder = self.watched.as_deref().ok_or("no folder is watched")?;
        let found = status::look_at(folder).map_err(|error| error.to_string())?;
        Ok(match found.status {
            Some(Status::Ended { page }) => {
                json!({ "held": found.held, "report": page["report"], "history": page["history"] })
            }
            Some(Status::UnderWay(told)) => {
                json!({ "held": found.held, "told": told, "history": told.history })
            }
            None => json!({ "held": found.held, "history": [] }),
        })
    }

    fn explored(&self, question: Question) -> Result<Json, String> {
        match question {
            Question::Search { records, expression, value, .. } => {
                let explorer = lock(&self.explorer);
                let starts = explorer.shown_records(&records)?;
                let goal = expression.map(|text| explorer.condition(&text).map(|goal| (goal, value)));
                let goal = goal.transpose()?;
                drop(explorer);
                self.begin(move |model, resources, search| {
                    look(model, resources, search, starts, goal.as_ref())
                })
            }
            Question::GoOn { .. } => self.far(),
            other => lock(&self.explorer).answer(other),
        }
    }

    /// Begins a search, and ends the one before.
    fn begin(
        &self,
        work: impl FnOnce(&Model, &Resources, &Search) -> Result<Json, String> + Send + 'static,
    ) -> Result<Json, String> {
        self.stop();
        let search = Arc::new(Search::new(self.resources.time_limit));
        *lock(&self.search) = Some(Arc::clone(&search));
        let (model, resources) = (Arc::clone(&self.model), self.resources.clone());
        std::thread::Builder::new()
            .spawn(move || {
                let answer = work(&model, &resources, &search);
                *lock(&search.answer) = Some(answer);
                search.over.notify_all();
            })
            .map_err(|error| error.to_string())?;
        self.far()
    }

    /// How far the search is.
    fn far(&self) -> Result<Json, String> {
        let search = lock(&self.search).clone().ok_or("no search has begun")?;
        let answer = lock(&search.answer);
        let waited = search.over.wait_timeout_while(answer, PATIENCE, |answer| answer.is_none());
        let (answer, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &*answer {
            Some(answer) => answer.clone(),
            None => Ok(search.told()),
        }
    }

    fn stop(&self) {
        if let Some(search) = lock(&self.search).take() {
            search.stopped.store(true, Ordering::Relaxed);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Search {
    fn new(limit: Option<Duration>) -> Search {
        Search {
            began: Instant::now(),
            limit,
            stopped: AtomicBool::new(false),
            progress: Mutex::default(),
            answer: Mutex::new(None),
            over: Condvar::new(),
        }
    }

    fn is_late(&self) -> bool {
        self.limit.is_some_and(|limit| self.began.elapsed() >= limit)
    }

    fn told(&self) -> Json {
        let Progress { layer, states, transitions, budget_used, .. } = *lock(&self.progress);
        json!({
            "states": states, "transitions": transitions, "depth": layer, "memory": budget_used,
            "seconds": self.began.elapsed().as_secs_f64(), "deadlocks": 0, "faults": 0,
        })
    }
}

impl Observer for Search {
    fn stop(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.is_late()
    }

    fn progress(&self, progress: Progress) {
        *lock(&self.progress) = progress;
    }
}

impl Monitor for Search {
    fn stopped_by(&self) -> Option<Limit> {
        self.stop().then_some(if self.is_late() { Limit::Time } else { Limit::Interrupt })
    }

    fn tracing(&self) -> Box<dyn Observer + '_> {
        Box::new(fathom_search::task::Unobserved)
    }

    fn stop_flag(&self) -> StopFlag {
        StopFlag::never()
    }
}

/// Looks for a state where a condition has a value, from some states or from the initial ones; without a condition, counts.
fn look(
    model: &Model,
    resources: &Resources,
    search: &Search,
    starts: Vec<Vec<u64>>,
    goal: Option<&(Label, bool)>,
) -> Result<Json, String> {
    let plain = model.unreduced();
    let labels: Vec<Label> =
        goal.iter().map(|(label, _)| Label { kind: LabelKind::Goal, ..label.clone() }).collect();
    let system = plain.system(&labels, Execution::wanted(resources, search));
    let rooted = Rooted { system, starts };
    let asked = Check::new(&rooted).resources(resources.clone());
    let asked = match goal {
        Some((label, true)) => asked.goal(&label.name),
        Some((label, false)) => asked.invariant(&label.name),
        None => asked.everything(),
    };
    let checked = asked.run_watched(search).map_err(|error| error.to_string())?;
    let mut told = figures(&checked, search);
    let found = checked.answers.iter().find(|answer| answer.trace.is_some());
    told["end"] = match (found, goal.is_some(), checked.exploration.limit) {
        (Some(answer), true, _) if answer.verdict == Verdict::Fault => "faulted",
        (Some(_), true, _) => "found",
        (_, _, None) => "all",
        (_, _, Some(_)) => "bound",
    }
    .into();
    if let Some(trace) = found.filter(|_| goal.is_some()).and_then(|answer| answer.trace.as_ref()) {
        way(trace, &Given(&rooted), &mut told)?;
    }
    Ok(told)
}

/// Checks what the model states about its states.
fn check_stated(model: &Model, resources: &Resources, search: &Search) -> Result<Json, String> {
    let plan = Plan::new(model, &Questions::default()).map_err(|error| error.to_string())?;
    let engine = Chosen::plain(&auto::ENGINE);
    let checked = check::check(model, &plan, &engine, Stop::First, resources, search, None);
    let checked = checked.map_err(|error| error.to_string())?;
    let mut told = figures(&checked, search);
    told["end"] = "checked".into();
    told["verdicts"] = json!(text::verdicts(model, &checked));
    told["verdict"] = checked.verdict().word().into();
    if let Some((answer, trace)) = runs(&checked.answers).next() {
        way(trace, model, &mut told)?;
        told["heading"] = headline(answer, trace).into();
        told["why"] = json!(Why::of(model, trace).map_err(|error| error.to_string())?);
    }
    Ok(told)
}

fn figures(checked: &Checked, search: &Search) -> Json {
    let counts = &checked.exploration.counts;
    let mut told = search.told();
    told["states"] = counts.states.unwrap_or(counts.known).into();
    told["transitions"] = counts.transitions.unwrap_or(counts.edges).into();
    told["deadlocks"] = counts.deadlocks.unwrap_or(0).into();
    told["faults"] = counts.faults.into();
    told["depth"] = (counts.layers.len() as u64).saturating_sub(1).into();
    told["checksum"] = counts.checksum.clone().into();
    told["layers"] = json!(counts.layers);
    told
}

/// The state that a run begins with, and its actions.
fn way(trace: &Trace, subject: &dyn Subject, told: &mut Json) -> Result<(), String> {
    let first = trace.first_record().map_err(|error| error.to_string())?;
    let states = trace.states(subject).map_err(|error| error.to_string())?;
    let mut actions = Vec::new();
    for state in states {
        let state = state.map_err(|error| error.to_string())?;
        actions.extend(state.step.map(|step| step.action));
    }
    if let Some(first) = first {
        told["start"] = json!({ "record": hexadecimal(&first) });
        told["actions"] = actions.into();
    }
    Ok(())
}

/// A system that begins in other states than its own.
struct Rooted {
    system: System<'static>,
    /// Its own if there is none.
    starts: Vec<Vec<u64>>,
}

impl TransitionSystem for Rooted {
    fn shape(&self) -> &Shape {
        self.system.shape()
    }

    fn initial(&self, out: &mut Steps) {
        if self.starts.is_empty() {
            return self.system.initial(out);
        }
        out.clear();
        let none = (ProcessSet::default(), Marks::default());
        let pushed = self.starts.iter().try_for_each(|start| out.push(start, 0, none.0, none.1));
        if pushed.and_then(|()| out.finish_source(Labels::default(), none.0)).is_err() {
            out.abandon_source();
        }
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        self.system.expand(sources, out)
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.system.label(records, out);
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.system.describe(what)
    }
}
