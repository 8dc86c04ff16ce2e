//! What every policy of the layer loop must do, whatever it is: find what the judge finds.

#![allow(dead_code, reason = "each suite uses its part")]

use fathom_disk::budget::Budget;
use fathom_model::shape::Shape;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_search::bodies::stages::{StagePolicy, run};
use fathom_search::stores::Layered;
use fathom_search::task::watch::{Condition, Finding};
use fathom_search::task::{Duplicates, Ending, Outcome, Settings, Task, Tuning, Unobserved};
use fathom_search::traces::path::{Path, Room};
use fathom_search::traces::trace::path_to;
use oracle::bfs::{Explored, StateNumber};

/// Buffers so small that everything overflows, and buffers as they are in use.
pub(crate) const TUNINGS: [fn() -> Tuning; 2] =
    [|| Tuning { shared_layer_min: 1, batch_records_max: 3, steps_per_source: 1 }, Tuning::default];

/// A policy, and what it is compared on.
struct Trial<'a, P> {
    system: &'a dyn TransitionSystem,
    judge: &'a Explored,
    make: &'a dyn Fn(&Shape, &Budget, usize) -> P,
    budget_bytes: usize,
    threads: usize,
    tuning: Tuning,
}

/// Runs a policy on a system whose exploration the judge has, and compares everything.
pub(crate) fn check_against_judge<P: StagePolicy + Layered>(
    system: &dyn TransitionSystem,
    judge: &Explored,
    make: &dyn Fn(&Shape, &Budget, usize) -> P,
    budget_bytes: usize,
    threads: usize,
    tuning: Tuning,
) {
    // Two scans and a writer with pages of four keys hold a few dozen keys: wide records (128 bits and more) need more than the least budget.
    let budget_bytes = budget_bytes.max(256 * system.shape().words() * 8);
    let trial = Trial { system, judge, make, budget_bytes, threads, tuning };
    trial.to_the_end();
    trial.to_a_finding(1);
    trial.to_a_finding(FINDINGS);
    trial.to_a_depth();
}

/// How many states are kept that meet a condition.
const FINDINGS: usize = 3;

impl<P: StagePolicy + Layered> Trial<'_, P> {
    fn search(&self, stop_at: Option<usize>, max_depth: Option<u64>) -> (Outcome, P, Budget) {
        let shape = self.system.shape();
        let settings = Settings {
            threads: self.threads,
            conditions: conditions(shape),
            stop_at_first: stop_at.is_some(),
            findings_max: stop_at.unwrap_or(FINDINGS),
            max_depth,
            coverage: true,
            tuning: self.tuning,
        };
        // A budget is for what an engine keeps; the steps of one state must fit besides, whatever it is. Buffers double.
        let columns = Columns { labels: true, actions: true, ..Columns::NONE };
        let steps_bytes = self.threads * Steps::bytes_for(shape, columns, 3 * widest(self.judge));
        let budget = Budget::new(self.budget_bytes + steps_bytes);
        let steps = budget.charge("steps of one state", steps_bytes).expect("the budget has room for it");
        let mut policy = (self.make)(shape, &budget, self.threads);
        drop(steps);
        let task = Task::new(self.system, &budget, &settings);
        let outcome = run(task, &mut policy).expect("the budget suffices");
        (outcome, policy, budget)
    }

    fn to_the_end(&self) {
        let Trial { system, judge, budget_bytes, threads, .. } = *self;
        let (outcome, policy, budget) = self.search(None, None);
        assert_eq!(
            outcome.ending,
            Ending::Complete,
            "{budget_bytes} bytes, {threads} threads: {:?} {:#?}",
            outcome.refusal,
            budget.owners()
        );
        compare_counts(&outcome, judge);
        compare_duplicates(&outcome, judge);
        for (number, condition) in conditions(system.shape()).iter().enumerate() {
            let expected = expected_findings(*condition, judge, FINDINGS);
            assert_eq!(outcome.findings.of(number), expected, "{condition:?}");
            let expected = expected_finding(*condition, judge);
            assert_eq!(outcome.findings.of(number).first(), expected.as_ref().map(|(finding, _)| finding));
            if let Some((Finding { layer, record: Some(record), .. }, state)) = expected {
                let path = path_to(system, &policy, &Room::in_memory(&budget), &Unobserved, (layer, &record));
                let path = path.expect("the budget suffices").expect("layers are kept");
                let expected = judge.path_to(state.expect("a finding with a record is at a state"));
                assert_eq!(path.records().expect("memory does not fail"), judge.records_along(&expected));
                assert_eq!(actions_of(&path), judge.actions_along(&expected));
            }
        }
    }

    /// Ends behind the layer in which some condition is met for the `most`-th time.
    fn to_a_finding(&self, most: usize) {
        let judge = self.judge;
        let (outcome, ..) = self.search(Some(most), None);
        let first = conditions(self.system.shape())
            .iter()
            .filter_map(|condition| expected_findings(*condition, judge, most).get(most - 1).cloned())
            .map(|finding| finding.layer)
            .min();
        match first {
            Some(layer) if !judge.layers.is_empty() => {
                assert_eq!(outcome.ending, Ending::Found);
                compare_prefix(&outcome, judge, layer as usize);
            }
            _ => compare_counts(&outcome, judge),
        }
    }

    fn to_a_depth(&self) {
        let (outcome, ..) = self.search(None, Some(1));
        if self.judge.layers.len() > 2 {
            assert_eq!(outcome.ending, Ending::Depth);
            assert_eq!(outcome.layers.len(), 3);
            compare_prefix(&outcome, self.judge, 1);
        } else {
            compare_counts(&outcome, self.judge);
        }
    }
}

/// What leads to a state that is known was noticed, one way or another, by an engine that counts it: starts and steps that are not the first to lead to a state.
pub(crate) fn compare_duplicates(outcome: &Outcome, judge: &Explored) {
    let Duplicates { in_ram, delayed, missed } = outcome.duplicates;
    if let (Some(in_ram), Some(delayed), Some(missed)) = (in_ram, delayed, missed) {
        let led = judge.starts.len() + judge.transitions();
        assert_eq!(
            (in_ram + delayed + missed) as usize,
            led - judge.states.len(),
            "{:?}",
            outcome.duplicates
        );
    }
}

/// The most steps of a state, or of all starts together.
pub(crate) fn widest(judge: &Explored) -> usize {
    let steps = judge.states.iter().map(|state| state.steps.len() + state.faults.len());
    steps
        .chain([judge.layers.first().copied().unwrap_or(0) * 2 + judge.start_faults.len()])
        .max()
        .unwrap_or(0)
}

pub(crate) fn compare_counts(outcome: &Outcome, judge: &Explored) {
    let layers: Vec<usize> = outcome.layers.iter().map(|states| states as usize).collect();
    assert_eq!(layers, judge.layers);
    assert_eq!(outcome.expanded as usize, judge.states.len());
    assert_eq!(outcome.transitions as usize, judge.transitions());
    assert_eq!(outcome.deadlocks as usize, judge.deadlocks());
    assert_eq!(outcome.faults as usize, judge.faults());
    assert_eq!(
        outcome.label_faults as usize,
        judge.states.iter().filter(|state| state.labels.faulted()).count()
    );
    assert_eq!(outcome.labels_seen.0, judge.states.iter().fold(0, |seen, state| seen | state.labels.0));
    assert_eq!(outcome.checksum, judge.checksum());
    if let Some(locality) = outcome.locality {
        assert_eq!(locality as usize, judge.locality().unwrap_or(0));
    }
    for state in judge.states.iter().flat_map(|state| &state.steps) {
        assert!(outcome.actions_taken[state.action as usize / 64] >> (state.action % 64) & 1 == 1);
    }
    let taken: u32 = outcome.actions_taken.iter().map(|word| word.count_ones()).sum();
    let distinct: std::collections::BTreeSet<u32> =
        judge.states.iter().flat_map(|state| &state.steps).map(|step| step.action).collect();
    assert_eq!(taken as usize, distinct.len());
}

/// Layers up to and including `last` were expanded, and no others.
fn compare_prefix(outcome: &Outcome, judge: &Explored, last: usize) {
    let expanded: Vec<_> = judge.states.iter().filter(|state| state.layer <= last).collect();
    assert_eq!(outcome.expanded as usize, expanded.len());
    assert_eq!(outcome.transitions as usize, expanded.iter().map(|state| state.steps.len()).sum::<usize>());
    let mut checksum = fathom_model::record::Checksum::default();
    expanded.iter().for_each(|state| checksum.add(&state.record));
    assert_eq!(outcome.checksum, checksum);
}

/// Every condition that the shape allows.
pub(crate) fn conditions(shape: &Shape) -> Vec<Condition> {
    let labels = 0..shape.labels.len();
    let mut conditions: Vec<Condition> = labels
        .clone()
        .flat_map(|label| [true, false].map(|value| Condition::Label { label, value }))
        .chain([false, true].map(|stuttering| Condition::Deadlock { stuttering, except: None }))
        .collect();
    conditions.extend(labels.map(|label| Condition::Deadlock { stuttering: false, except: Some(label) }));
    conditions.push(Condition::Fault);
    conditions
}

/// The first states that meet a condition, by layer and record, at most so many.
fn expected_findings(condition: Condition, judge: &Explored, most: usize) -> Vec<Finding> {
    let starts = judge.start_faults.first().filter(|_| condition == Condition::Fault);
    let start = starts.map(|fault| Finding { layer: 0, record: None, fault: Some(*fault) });
    let mut findings: Vec<Finding> = judge
        .states
        .iter()
        .filter(|state| match condition {
            Condition::Label { label, value } => {
                !state.labels.faulted() && state.labels.holds(label) == value
            }
            Condition::Deadlock { stuttering, except } => {
                let stays = |target: StateNumber| stuttering && judge.states[target].record == state.record;
                let excused = except.is_some_and(|it| state.labels.faulted() || state.labels.holds(it));
                state.steps.iter().all(|step| stays(step.target)) && state.faults.is_empty() && !excused
            }
            Condition::Fault => !state.faults.is_empty() || state.labels.faulted(),
            Condition::Never => false,
        })
        .map(|state| Finding {
            layer: state.layer as u64,
            record: Some(state.record.clone()),
            fault: state.faults.first().copied(),
        })
        .chain(start)
        .collect();
    findings.sort_by(|one, other| (one.layer, &one.record).cmp(&(other.layer, &other.record)));
    findings.truncate(most);
    findings
}

pub(crate) fn expected_finding(
    condition: Condition,
    judge: &Explored,
) -> Option<(Finding, Option<StateNumber>)> {
    if condition == Condition::Fault && !judge.start_faults.is_empty() {
        let finding = Finding { layer: 0, record: None, fault: judge.start_faults.first().copied() };
        return Some((finding, None));
    }
    let state = match condition {
        Condition::Label { label, value } => judge.first_label(label, value),
        Condition::Deadlock { stuttering, except } => judge.first(|state| {
            let excused = except.is_some_and(|label| state.labels.faulted() || state.labels.holds(label));
            let stays =
                state.steps.iter().all(|step| stuttering && judge.states[step.target].record == state.record);
            stays && state.faults.is_empty() && !excused
        }),
        Condition::Fault => judge.first(|state| !state.faults.is_empty() || state.labels.faulted()),
        Condition::Never => None,
    }?;
    let it = &judge.states[state];
    let finding = Finding {
        layer: it.layer as u64,
        record: Some(it.record.clone()),
        fault: it.faults.first().copied(),
    };
    Some((finding, Some(state)))
}

/// The start, and the action of every step.
pub(crate) fn actions_of(path: &Path) -> Vec<u32> {
    let mut actions = path.actions().expect("memory does not fail");
    actions.pop();
    actions.insert(0, path.start());
    actions
}
