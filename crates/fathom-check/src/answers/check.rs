//! Does a model do what it should? Questions in, a verdict for each of them out, with a run that shows it where one is violated.
//!
//! Every run that is shown has been replayed on a fresh reference first; one that does not pass is an error of fathom, never a verdict.

use fathom_search::engines::engine::{Chosen, Kept};
use std::time::Instant;

use fathom_disk::budget::{BUDGET_BYTES_MIN, Budget, Charge};
use fathom_model::span::Span;
use fathom_model::steps::{Columns, Labels, Steps};
use fathom_model::system::{Query, TransitionSystem};
use fathom_search::constrained::Constrained;
use fathom_search::error::SearchError;
use fathom_search::proof::replay::{self, Claim, Refusal};
use fathom_search::task::watch::{Condition, Finding};
use fathom_search::task::{Ending, Observer, Settings, Tuning};
use fathom_search::traces::path::{Path, Room};
use fathom_search::traces::unfold::{unfold_fault, unfold_path};

use crate::answers::coverage::Coverage;
use crate::answers::exploration::{Counts, DiskUsage, Exploration, Usage, limit_of};
use crate::engines::layer_engine::{self, Searched};
use crate::engines::progress;
use crate::error::RunError;
use crate::folder::home::Home;
use crate::limit::Limit;
use crate::model::execution::Execution;
use crate::model::subject::Subject;
use crate::model::system::System;
use crate::monitor::Monitor;
use crate::questions::plan::Plan;
use crate::questions::property::{Property, PropertyKind};
use crate::resources::Resources;
use crate::trace::{Trace, Trouble};

/// What a check found out.
#[derive(Clone, Debug)]
pub struct Checked {
    /// One per property, in the order of the plan.
    pub answers: Vec<Answer>,
    /// The search behind them.
    pub exploration: Exploration,
}

/// What came of one property.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The property.
    pub property: Property,
    /// Whether it holds.
    pub verdict: Verdict,
    /// The run that violates it.
    pub trace: Option<Trace>,
    /// Further ones, to other states, if they were asked for.
    pub more: Vec<Trace>,
    /// What ended the search for such runs, if there are more than are shown.
    pub untraced: Option<Limit>,
    /// Whether the left side of the implication was never true in a state that was expanded.
    pub vacuous: bool,
    /// The search that answered it, if it had one of its own.
    pub search: Option<Box<Exploration>>,
}

/// Whether something holds, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// In every reachable state.
    Holds,
    /// Not violated where the search has been.
    Unknown,
    /// The model misbehaves.
    Fault,
    /// A run violates it.
    Violated,
}

/// When a check ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// At the first violation: the others have no verdict then.
    #[default]
    First,
    /// When everything is known.
    Never,
}

impl Verdict {
    /// The word for it in a report.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Unknown => "unknown",
            Verdict::Fault => "fault",
            Verdict::Violated => "violated",
        }
    }
}

impl Answer {
    /// The runs that violate it.
    pub fn traces(&self) -> impl Iterator<Item = &Trace> {
        self.trace.iter().chain(&self.more)
    }

    /// Whether it is about faults that nobody has asked about and that were not looked for everywhere: a limit says why, or an automaton has pruned the search.
    pub fn is_open(&self) -> bool {
        self.property.kind == PropertyKind::Fault && self.verdict == Verdict::Unknown
    }
}

impl Checked {
    /// What a search found out. One that ends at the first violation has ended there if there is one, whatever else was used up by then: so verdict and limit agree.
    pub(crate) fn new(answers: Vec<Answer>, mut exploration: Exploration, stop: Stop) -> Checked {
        let found = answers.iter().any(|answer| answer.verdict >= Verdict::Fault);
        if found && stop == Stop::First {
            exploration.limit = exploration.limit.map(|_| Limit::Violation);
        }
        Checked { answers, exploration }
    }

    /// The worst of all verdicts on what was asked.
    pub fn verdict(&self) -> Verdict {
        let early = self.exploration.limit.is_some();
        let floor = if early { Verdict::Unknown } else { Verdict::Holds };
        let asked = self.answers.iter().filter(|answer| !answer.is_open());
        asked.map(|answer| answer.verdict).fold(floor, Verdict::max)
    }

    /// The same where a property that says nothing, an implication whose left side is never true, counts as violated.
    #[must_use]
    pub fn refusing_vacuity(mut self) -> Checked {
        let says_nothing = |answer: &&mut Answer| answer.vacuous && answer.verdict == Verdict::Holds;
        for answer in self.answers.iter_mut().filter(says_nothing) {
            answer.verdict = Verdict::Violated;
        }
        self
    }

    /// What is known so far and what the next search finds out, which is not begun if the check is over.
    ///
    /// # Errors
    /// That of the search.
    pub fn one_more<E>(
        all: Option<Checked>,
        property: &Property,
        stop: Stop,
        search: impl FnOnce() -> Result<Checked, E>,
    ) -> Result<Checked, E> {
        let Some(all) = all else { return search() };
        let over = stop == Stop::First && all.is_over();
        let next = if over { Checked::unanswered(property, &all) } else { search()? };
        Ok(all.and(next, stop))
    }

    /// Whether something was found, or the user wants no more.
    fn is_over(&self) -> bool {
        matches!(self.verdict(), Verdict::Violated | Verdict::Fault)
            || matches!(self.exploration.limit, Some(Limit::Interrupt | Limit::Time))
    }

    /// A property that was not looked at since an earlier search has ended the check.
    pub fn unanswered(property: &Property, earlier: &Checked) -> Checked {
        let answer = Answer {
            property: property.clone(),
            verdict: Verdict::Unknown,
            trace: None,
            more: Vec::new(),
            untraced: None,
            vacuous: false,
            search: None,
        };
        Checked { answers: vec![answer], exploration: earlier.exploration.clone() }
    }

    /// What came of two searches, one after the other. The figures are those of the later; questions about faults become one, and a search that looked everywhere answers it.
    #[must_use]
    pub fn and(self, later: Checked, stop: Stop) -> Checked {
        let is_fault = |answer: &Answer| answer.property.kind == PropertyKind::Fault;
        let (faults, mut answers): (Vec<Answer>, Vec<Answer>) =
            self.answers.into_iter().chain(later.answers).partition(is_fault);
        let weight = |answer: &Answer| match answer.verdict {
            Verdict::Unknown => 0,
            Verdict::Holds => 1,
            Verdict::Fault | Verdict::Violated => 2,
        };
        answers.extend(
            faults.into_iter().reduce(
                |first, second| {
                    if weight(&second) > weight(&first) { second } else { first }
                },
            ),
        );
        // A search that a violation ended is not why another has no answer.
        let limits = [self.exploration.limit, later.exploration.limit];
        let others = limits.into_iter().flatten().find(|limit| *limit != Limit::Violation);
        let limit = others.or(limits[0]).or(limits[1]);
        let assumed_depth = self.exploration.assumed_depth.or(later.exploration.assumed_depth);
        Checked::new(answers, Exploration { limit, assumed_depth, ..later.exploration }, stop)
    }
}

/// Whether a search that ended like that is taken to have seen all states, though it has not.
fn assumes_end(ending: Ending, resources: &Resources) -> bool {
    ending == Ending::Depth && resources.assume_depth
}

/// Answers all questions of a plan in one breadth-first exploration: runs that are shown are the shortest, and the same for
/// every number of threads.
pub fn check(
    subject: &dyn Subject,
    plan: &Plan,
    engine: &Chosen,
    stop: Stop,
    resources: &Resources,
    monitor: &dyn Monitor,
    home: Option<&Home>,
) -> Result<Checked, RunError> {
    let began = Instant::now();
    let system = CheckedSystem::new(subject, plan, Execution::wanted(resources, monitor));
    let settings = Settings {
        threads: resources.threads,
        conditions: system.conditions.clone(),
        stop_at_first: stop == Stop::First,
        findings_max: plan.traces,
        max_depth: resources.max_depth,
        coverage: true,
        tuning: Tuning::default(),
    };
    let budget = resources.data_budget()?;
    let reserve = reserve_for_paths(&budget, system.system())?;
    let findings = charge_findings(&budget, system.system(), &settings)?;
    let measure = progress::measure(engine, subject, system.system(), resources, monitor)?;
    let measure = measure.or_else(|| layer_engine::distance(engine, subject, plan));
    let task = layer_engine::Task::new(system.system(), &budget, &settings, monitor);
    let task = layer_engine::Task { home, measure: measure.as_ref(), ..task };
    let searched = layer_engine::search(engine, &task)?;
    let elapsed = began.elapsed();
    monitor.finish().map_err(RunError::Records)?;
    drop((reserve, findings));
    let tracer = Tracer {
        subject,
        plan,
        system: &system,
        searched: &searched,
        room: &layer_engine::room(&budget, home),
        threads: resources.threads,
        assumes_end: assumes_end(searched.outcome.ending, resources),
        observer: &*monitor.tracing(),
    };
    let answers = tracer.answers(monitor)?;
    let Searched { engine, outcome, gave_up, disk, cost, measure: swept_by, .. } = searched;
    let mut counts = Counts::of(&outcome);
    counts.measure = progress::told(swept_by, measure.as_ref());
    if plan.constraint.is_some() {
        // States that have lost their steps to the constraint are among them.
        counts.deadlocks = None;
    }
    let assumed_depth = resources.max_depth.filter(|_| assumes_end(outcome.ending, resources));
    let exploration = Exploration {
        engine,
        assumed_depth,
        store: None,
        automaton: None,
        limit: gave_up.or_else(|| limit_of(outcome.ending, monitor).filter(|_| assumed_depth.is_none())),
        counts,
        record_bits: system.system().shape().width_bits,
        coverage: subject.program().and_then(|program| Coverage::of(program, &outcome.actions_taken)),
        usage: Usage::of(resources, &budget, elapsed),
        disk: disk.map(DiskUsage::of),
        cost,
        passes: None,
        early: None,
        figures: Vec::new(),
    };
    Ok(Checked::new(answers, exploration, stop))
}

/// No run stands behind what a search found.
pub(crate) fn no_run(property: &str) -> RunError {
    RunError::Asymmetric { property: property.to_owned() }
}

/// What a path needs, put aside so that a search that has used up its memory can still tell what it found; but not of the least that a search needs.
fn reserve_for_paths(budget: &Budget, system: &dyn TransitionSystem) -> Result<Charge, SearchError> {
    let aside = Steps::bytes_for(system.shape(), Columns::ALL, PATH_STEPS);
    let spare = budget.free().saturating_sub(BUDGET_BYTES_MIN);
    Ok(budget.charge("trace", aside.min(spare / 16))?)
}

/// What the states take that are kept of each condition, by all threads; one of each is nothing to speak of.
fn charge_findings(
    budget: &Budget,
    system: &dyn TransitionSystem,
    settings: &Settings,
) -> Result<Charge, SearchError> {
    let lists = settings.conditions.len() * (settings.threads + 2);
    let one = size_of::<Finding>() + 8 * system.shape().words();
    Ok(budget.charge("states that are found", lists * (settings.findings_max - 1) * one)?)
}

/// Room for steps that is put aside for rebuilding paths.
const PATH_STEPS: usize = 2048;

/// The system of a plan, constrained if it says so.
#[derive(Debug)]
pub(crate) enum Restricted<'a> {
    Plain(System<'a>),
    Constrained(Constrained<System<'a>>),
}

/// A system and what is looked for in it.
#[derive(Debug)]
pub(crate) struct CheckedSystem<'a> {
    system: Restricted<'a>,
    /// The plan's conditions, with the excuse of a constrained system.
    pub(crate) conditions: Vec<Condition>,
}

impl<'a> CheckedSystem<'a> {
    pub(crate) fn new(subject: &'a dyn Subject, plan: &Plan, execution: Execution<'_>) -> CheckedSystem<'a> {
        let mut system = subject.searched(&plan.labels, execution);
        if plan.looks_for_stuttering() {
            system = system.excusing(plan.valid_end);
        }
        let mut except = system.excuse().or(plan.valid_end);
        let system = match plan.constraint {
            None => Restricted::Plain(system),
            Some(constraint) => {
                let system = Constrained::new(system, constraint, except);
                except = Some(system.excused());
                Restricted::Constrained(system)
            }
        };
        let excused = |condition: &Condition| match *condition {
            Condition::Deadlock { stuttering, .. } => Condition::Deadlock { stuttering, except },
            other => other,
        };
        let conditions = plan.conditions.iter().map(excused).collect();
        CheckedSystem { system, conditions }
    }

    pub(crate) fn system(&self) -> &dyn TransitionSystem {
        match &self.system {
            Restricted::Plain(system) => system,
            Restricted::Constrained(system) => system,
        }
    }
}

/// What is known of a property: whether a violation was found, whether the search is complete, and which labels were true somewhere.
pub(crate) fn verdict_on(kind: PropertyKind, found: bool, complete: bool, seen: Labels) -> Verdict {
    match (kind, found, complete) {
        (PropertyKind::Cover { label } | PropertyKind::Expected { label }, ..) => {
            match (seen.holds(label), complete) {
                (true, _) => Verdict::Holds,
                (false, true) => Verdict::Violated,
                (false, false) => Verdict::Unknown,
            }
        }
        (PropertyKind::Fault, true, _) => Verdict::Fault,
        (_, true, _) => Verdict::Violated,
        (_, false, true) => Verdict::Holds,
        (_, false, false) => Verdict::Unknown,
    }
}

pub(crate) fn is_vacuous(property: &Property, seen: Labels) -> bool {
    property.antecedent.as_ref().is_some_and(|(label, _)| !seen.holds(*label))
}

/// A run, or why there is none to show of what was found.
pub(crate) fn told(
    trace: Option<Result<Trace, RunError>>,
    monitor: &dyn Monitor,
) -> Result<(Option<Trace>, Option<Limit>), RunError> {
    match trace.transpose() {
        Ok(trace) => Ok((trace, None)),
        Err(error) => error.untraced(monitor).map(|limit| (None, Some(limit))).ok_or(error),
    }
}

/// What was asked, and what is left of the search.
struct Tracer<'a> {
    subject: &'a dyn Subject,
    plan: &'a Plan,
    system: &'a CheckedSystem<'a>,
    searched: &'a Searched,
    room: &'a Room,
    threads: usize,
    /// Whether the search is taken to be complete, whatever ended it.
    assumes_end: bool,
    observer: &'a dyn Observer,
}

impl Tracer<'_> {
    /// The answers to all questions of the plan.
    fn answers(&self, monitor: &dyn Monitor) -> Result<Vec<Answer>, RunError> {
        let (plan, outcome) = (self.plan, &self.searched.outcome);
        let complete = outcome.ending == Ending::Complete || self.assumes_end;
        let mut answers = Vec::new();
        for (number, property) in plan.properties.iter().enumerate() {
            let findings = outcome.findings.of(number);
            let (mut traces, mut untraced) = (Vec::new(), None);
            for finding in findings {
                let (trace, limit) = told(Some(self.shown(number, finding)), monitor)?;
                traces.extend(trace);
                untraced = limit;
                if untraced.is_some() {
                    break;
                }
            }
            let mut traces = traces.into_iter();
            answers.push(Answer {
                verdict: verdict_on(property.kind, !findings.is_empty(), complete, outcome.labels_seen),
                vacuous: is_vacuous(property, outcome.labels_seen),
                property: property.clone(),
                trace: traces.next(),
                more: traces.collect(),
                untraced,
                search: None,
            });
        }
        Ok(answers)
    }

    /// The run to a finding, replayed.
    fn shown(&self, number: usize, finding: &Finding) -> Result<Trace, RunError> {
        let Tracer { subject, plan, system, searched, room, threads, observer, .. } = *self;
        let to = |record: &Vec<u64>| {
            searched.path_to(system.system(), room, observer, threads, (finding.layer, record))
        };
        let path = finding.record.as_ref().map(to).transpose()?;
        // Buckets of a directed search are in the order of what was looked for: only ways to that are the shortest.
        let shortest = match searched.kept {
            layer_engine::Kept::ByEngine(Kept::Stages(_)) => false,
            _ => searched.outcome.layered || matches!(plan.conditions[number], Condition::Label { .. }),
        };
        Judge { subject, plan, number, room, observer }.proven(path, finding.fault, shortest)
    }
}

/// Who says whether a run violates property `number` of a plan.
pub(crate) struct Judge<'a> {
    pub(crate) subject: &'a dyn Subject,
    pub(crate) plan: &'a Plan,
    pub(crate) number: usize,
    pub(crate) room: &'a Room,
    pub(crate) observer: &'a dyn Observer,
}

impl Judge<'_> {
    /// The run behind a path of a search, if a fresh interpreter agrees that it violates the property.
    pub(crate) fn proven(
        &self,
        path: Option<Path>,
        fault: Option<fathom_model::steps::Fault>,
        shortest: bool,
    ) -> Result<Trace, RunError> {
        let path = path.map(|path| self.real_path(path)).transpose()?;
        self.judged(path, fault, shortest)
    }

    /// The run of the model that stands behind a path of its search.
    pub(crate) fn real_path(&self, path: Path) -> Result<Path, RunError> {
        match self.subject.quotient() {
            Some(quotient) => unfold_path(&quotient, &path, self.observer)?
                .ok_or_else(|| no_run(&self.plan.properties[self.number].name)),
            None => Ok(path),
        }
    }

    /// A run of the model, if a fresh interpreter agrees that it violates the property.
    pub(crate) fn judged(
        &self,
        path: Option<Path>,
        fault: Option<fathom_model::steps::Fault>,
        shortest: bool,
    ) -> Result<Trace, RunError> {
        let Judge { subject, plan, number, room, observer } = *self;
        let judge = subject.reference(&plan.labels);
        let property = &plan.properties[number];
        let refuse = |refusal: String| RunError::Replay { property: property.name.clone(), refusal };
        let last = path.as_ref().map_or(Ok(None), Path::last_record)?;
        let fault = match fault.filter(|_| subject.quotient().is_some()) {
            Some(fault) => {
                let real = unfold_fault(&judge, last.as_deref(), fault, room.budget())?;
                Some(real.ok_or_else(|| no_run(&property.name))?)
            }
            None => fault,
        };
        let Some((path, last)) = path.zip(last) else {
            let fault = fault.ok_or_else(|| refuse("it has no state".into()))?;
            if !replay::start_faults(&judge, fault, room.budget())? {
                return Err(refuse("no start faults".into()));
            }
            return Ok(Trace::of(&judge, subject.source(), None, Some(Trouble::Start(fault)), shortest)?);
        };
        let (claim, trouble) = claim(plan, number, &last, fault, &judge);
        match replay::replay(&judge, &path, plan.constraint, claim, observer) {
            Err(Refusal::Machine(error)) => return Err(error.into()),
            replayed => replayed.map_err(|refusal| refuse(refusal.to_string()))?,
        }
        let trace = Trace::of(&judge, subject.source(), Some(path), trouble, shortest)?;
        match claim {
            Claim::Label { label, .. } => Ok(trace.because(&judge, label)?),
            _ => Ok(trace),
        }
    }
}

/// What the last state of a path must show.
fn claim(
    plan: &Plan,
    number: usize,
    record: &[u64],
    fault: Option<fathom_model::steps::Fault>,
    judge: &dyn TransitionSystem,
) -> (Claim, Option<Trouble>) {
    match (plan.conditions[number], fault) {
        (Condition::Label { label, value }, _) => (Claim::Label { label, value }, None),
        (Condition::Deadlock { stuttering, except }, _) => (Claim::Deadlock { stuttering, except }, None),
        (Condition::Fault | Condition::Never, Some(fault)) => {
            (Claim::StepFault(fault), Some(Trouble::Step(fault)))
        }
        (Condition::Fault | Condition::Never, None) => {
            let faults = |label: &usize| {
                let words = judge.describe(Query::Label { record, label: *label });
                words.values.first().is_none_or(|(_, value)| value != "true" && value != "false")
            };
            let label = (0..judge.shape().labels.len()).find(faults).unwrap_or(0);
            let stated = plan.labels.get(label).is_some_and(|label| label.span != Span::default());
            (Claim::LabelFault, Some(Trouble::Label { label, stated }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::explore::explore;
    use crate::model::assemble::{Language, Model, ModelOptions};
    use crate::monitor::Clock;
    use fathom_lang::source::SourceText;

    const LIMITS: [Option<Limit>; 10] = [
        None,
        Some(Limit::Depth),
        Some(Limit::Time),
        Some(Limit::Interrupt),
        Some(Limit::Ram),
        Some(Limit::Disk),
        Some(Limit::DiskFull),
        Some(Limit::Violation),
        Some(Limit::Lossy),
        Some(Limit::Engine("the frontier is wide")),
    ];

    fn answer(kind: PropertyKind, verdict: Verdict) -> Answer {
        let property = Property { name: "it".into(), kind, span: None, antecedent: None };
        Answer {
            property,
            verdict,
            trace: None,
            more: Vec::new(),
            untraced: None,
            vacuous: false,
            search: None,
        }
    }

    /// Some exploration that is over.
    fn exploration() -> Exploration {
        let source = SourceText::new("one.dve", "process P { state s; init s; }\nsystem async;\n");
        let model = Model::compile(source, Language::Dve, &ModelOptions::default()).unwrap();
        let resources = Resources { threads: 1, jit: false, ..Resources::of_this_machine() };
        explore(
            &model,
            None,
            &Chosen::plain(&fathom_search::engines::ram::ENGINE),
            &resources,
            &Clock::new(None),
            None,
        )
        .unwrap()
    }

    /// A search with this limit that found this, as searches do: what was not violated is unknown unless it is complete.
    fn searched(exploration: &Exploration, found: bool, limit: Option<Limit>, stop: Stop) -> Checked {
        let verdict = match (found, limit) {
            (true, _) => Verdict::Violated,
            (false, None) => Verdict::Holds,
            (false, Some(_)) => Verdict::Unknown,
        };
        // About faults nobody knows.
        let answers = vec![answer(PropertyKind::Ltl, verdict), answer(PropertyKind::Fault, Verdict::Unknown)];
        Checked::new(answers, Exploration { limit, ..exploration.clone() }, stop)
    }

    fn assert_agreed(checked: &Checked, stop: Stop, context: &str) {
        let limit = checked.exploration.limit;
        let agreed = match checked.verdict() {
            Verdict::Holds => limit.is_none(),
            Verdict::Violated | Verdict::Fault => {
                stop == Stop::Never || matches!(limit, None | Some(Limit::Violation))
            }
            Verdict::Unknown => limit.is_some(),
        };
        assert!(agreed, "{context}: {:?} with {limit:?}", checked.verdict());
    }

    #[test]
    fn verdict_and_limit_agree_whatever_comes_together() {
        let some = exploration();
        for stop in [Stop::First, Stop::Never] {
            for (first, second) in LIMITS.iter().flat_map(|it| LIMITS.iter().map(move |other| (*it, *other)))
            {
                for found in [[false, false], [false, true], [true, false], [true, true]] {
                    // A search ends at a violation only if there is one.
                    let limits = [first, second];
                    if (0..2).any(|it| limits[it] == Some(Limit::Violation) && !found[it]) {
                        continue;
                    }
                    let [one, other] = [0, 1].map(|it| searched(&some, found[it], limits[it], stop));
                    assert_agreed(&one, stop, "one search");
                    let both = one.and(other, stop);
                    assert_agreed(&both, stop, &format!("{found:?} {limits:?} {stop:?}"));
                    assert_eq!(both.verdict() == Verdict::Violated, found != [false, false]);
                }
            }
        }
    }

    #[test]
    fn a_search_that_looked_everywhere_answers_for_one_that_did_not() {
        let some = exploration();
        let fault =
            |verdict| Checked::new(vec![answer(PropertyKind::Fault, verdict)], some.clone(), Stop::First);
        let merged = |first, second| fault(first).and(fault(second), Stop::First).answers[0].verdict;
        use Verdict::{Fault, Holds, Unknown};
        assert_eq!((merged(Holds, Unknown), merged(Unknown, Holds)), (Holds, Holds));
        assert_eq!((merged(Holds, Fault), merged(Fault, Unknown)), (Fault, Fault));
        assert_eq!(merged(Unknown, Unknown), Unknown);
    }
}
