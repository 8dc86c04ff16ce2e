//! What is an infinite run that can be written down, and is it really one of the system?
//!
//! A lasso: a path to a state, and steps that lead from there back to it.
//!
//! ```text
//! records   r0 -> r1 -> r2 -> r3 -> r4
//!                       ^            |
//!                       +------------+      cycle_start = 2
//! ```
//! [`replay`] judges it as [`crate::replay`] judges paths: on a fresh system, one record at a time, sharing no code with the searches.

use fathom_model::record::Records;
use fathom_model::steps::{Columns, Labels, ProcessSet, Steps};
use fathom_model::system::TransitionSystem;

/// An infinite run: some states, then others for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso {
    /// Which start made the first state.
    pub start: u32,
    /// The states, the first one initial.
    pub records: Vec<Vec<u64>>,
    /// By state, the action of the step that leaves it; that of the last leads to where the cycle starts.
    pub actions: Vec<u32>,
    /// Where the cycle starts.
    pub cycle_start: usize,
}

/// What a system says of a lasso that is a run of it, by state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The labels.
    pub labels: Vec<Labels>,
    /// Who could move.
    pub enabled: Vec<ProcessSet>,
    /// Who moved.
    pub movers: Vec<ProcessSet>,
}

/// Why a lasso is not a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LassoRefusal {
    /// There is no state, not one action per state, or the cycle starts beyond the end.
    #[error("it is no lasso")]
    Form,
    /// A state does not have the width of the system's records.
    #[error("state {0} does not have the form of a state")]
    Record(usize),
    /// The first state is not what the start makes.
    #[error("it does not begin with what start {0} makes")]
    Start(u32),
    /// A step is not one of the system's.
    #[error("step {0} does not exist")]
    Step(usize),
    /// Labels of a state cannot be evaluated.
    #[error("labels fault in state {0}")]
    Label(usize),
}

impl Lasso {
    /// The state after a state.
    pub fn next(&self, state: usize) -> usize {
        if state + 1 < self.records.len() { state + 1 } else { self.cycle_start }
    }

    /// How many steps the path to the cycle has, and the cycle.
    pub fn lengths(&self) -> (usize, usize) {
        (self.cycle_start, self.records.len() - self.cycle_start)
    }

    /// The same run in a system whose records are parts of these.
    #[must_use]
    pub fn project(&self, part: impl Fn(&[u64]) -> Vec<u64>) -> Lasso {
        Lasso { records: self.records.iter().map(|record| part(record)).collect(), ..self.clone() }
    }
}

/// What a system says of a lasso, if that is a run of it. An action that is `stutter` leaves a state without steps and faults as it is.
pub fn replay(
    system: &dyn TransitionSystem,
    lasso: &Lasso,
    stutter: Option<u32>,
) -> Result<Seen, LassoRefusal> {
    let Lasso { start, records, actions, cycle_start } = lasso;
    if records.is_empty() || actions.len() != records.len() || *cycle_start >= records.len() {
        return Err(LassoRefusal::Form);
    }
    if let Some(state) = records.iter().position(|record| record.len() != system.shape().words()) {
        return Err(LassoRefusal::Record(state));
    }
    let mut steps = Steps::new(system.shape(), Columns { marks: false, ..Columns::ALL }, 256);
    system.initial(&mut steps);
    while steps.source_count() == 0 {
        steps.grow();
        system.initial(&mut steps);
    }
    if !(0..steps.step_count()).any(|step| steps.action(step) == *start && steps.target(step) == records[0]) {
        return Err(LassoRefusal::Start(*start));
    }
    let mut seen = Seen::default();
    for (state, record) in records.iter().enumerate() {
        while system.expand(Records::new(record, record.len()), &mut steps) == 0 {
            steps.grow();
        }
        if steps.labels(0).faulted() {
            return Err(LassoRefusal::Label(state));
        }
        let next = &records[lasso.next(state)];
        let taken = (0..steps.step_count())
            .find(|step| steps.action(*step) == actions[state] && steps.target(*step) == next);
        let stays = stutter == Some(actions[state])
            && next == record
            && steps.step_count() == 0
            && steps.faults().is_empty();
        let movers = match taken {
            Some(step) => steps.movers(step),
            None if stays => ProcessSet::default(),
            None => return Err(LassoRefusal::Step(state + 1)),
        };
        seen.labels.push(steps.labels(0));
        seen.enabled.push(steps.enabled(0));
        seen.movers.push(movers);
    }
    Ok(seen)
}
