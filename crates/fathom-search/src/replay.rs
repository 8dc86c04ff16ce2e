//! Is a path really a run of the system, and does it show what it claims to show?
//!
//! The judge of every counterexample before a user sees it. It shares no code with the searches: it knows the seam, and asks a fresh system about one
//! record at a time.

use fathom_model::record::Records;
use fathom_model::steps::{Columns, Fault, Labels, Steps};
use fathom_model::system::TransitionSystem;

use crate::trace::Path;

/// What the last state of a path is said to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A label has this value, and no label faults.
    Label {
        /// Which label.
        label: usize,
        /// Its value.
        value: bool,
    },
    /// Nothing can happen, or, if `stuttering`, nothing that changes the state; and the label `except` does not excuse it.
    Deadlock {
        /// Whether steps back to the same state count as none.
        stuttering: bool,
        /// A label that is true in valid ends; it must be false here, and no label may fault.
        except: Option<usize>,
    },
    /// This step from the state faults.
    StepFault(Fault),
    /// Evaluating some label faults.
    LabelFault,
    /// It can be reached.
    Reachable,
}

/// Why a path is not what it is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The number of actions is not one less than the number of states.
    #[error("it has {states} states and {actions} steps")]
    Lengths {
        /// How many states.
        states: usize,
        /// How many actions.
        actions: usize,
    },
    /// A state does not have the width of the system's records.
    #[error("state {0} does not have the form of a state")]
    Form(usize),
    /// The first state is not what the start makes.
    #[error("it does not begin with what start {0} makes")]
    Start(u32),
    /// A step is not one of the system's.
    #[error("step {0} does not exist")]
    Step(usize),
    /// A state does not meet the constraint.
    #[error("state {0} does not meet the constraint")]
    Constraint(usize),
    /// The last state does not show what is claimed.
    #[error("the last state does not show it")]
    Claim,
}

/// Follows a path on a system. `constraint` is a label that must be true (or fault) in all its states.
pub fn replay(
    system: &dyn TransitionSystem,
    path: &Path,
    constraint: Option<usize>,
    claim: Claim,
) -> Result<(), Refusal> {
    let Path { start, records, actions } = path;
    let Some(last) = records.last().filter(|_| records.len() == actions.len() + 1) else {
        return Err(Refusal::Lengths { states: records.len(), actions: actions.len() });
    };
    if let Some(state) = records.iter().position(|record| record.len() != system.shape().words()) {
        return Err(Refusal::Form(state));
    }
    let starts = starts(system);
    let begins = (0..starts.step_count())
        .any(|step| starts.action(step) == *start && starts.target(step) == records[0]);
    if !begins {
        return Err(Refusal::Start(*start));
    }
    for (step, pair) in records.windows(2).enumerate() {
        let steps = steps_from(system, &pair[0]);
        let exists = (0..steps.step_count())
            .any(|number| steps.action(number) == actions[step] && steps.target(number) == pair[1]);
        if !exists {
            return Err(Refusal::Step(step + 1));
        }
    }
    if let Some(label) = constraint {
        let meets = |record: &Vec<u64>| {
            let labels = labels_of(system, record);
            labels.faulted() || labels.holds(label)
        };
        if let Some(state) = records.iter().position(|record| !meets(record)) {
            return Err(Refusal::Constraint(state));
        }
    }
    if shows(system, last, claim) { Ok(()) } else { Err(Refusal::Claim) }
}

/// Whether a start really faults as it is said to.
pub fn start_faults(system: &dyn TransitionSystem, fault: Fault) -> bool {
    starts(system).faults().contains(&fault)
}

fn shows(system: &dyn TransitionSystem, record: &[u64], claim: Claim) -> bool {
    let labels = labels_of(system, record);
    match claim {
        Claim::Reachable => true,
        Claim::Label { label, value } => !labels.faulted() && labels.holds(label) == value,
        Claim::LabelFault => labels.faulted(),
        Claim::StepFault(fault) => steps_from(system, record).faults().contains(&fault),
        Claim::Deadlock { stuttering, except } => {
            let steps = steps_from(system, record);
            let leaves = steps.targets().iter().any(|target| !stuttering || target != record);
            let excused = except.is_some_and(|label| labels.faulted() || labels.holds(label));
            !leaves && steps.faults().is_empty() && !excused
        }
    }
}

fn labels_of(system: &dyn TransitionSystem, record: &[u64]) -> Labels {
    let mut labels = [Labels::default()];
    system.label(Records::new(record, record.len()), &mut labels);
    labels[0]
}

fn steps_from(system: &dyn TransitionSystem, record: &[u64]) -> Steps {
    let mut steps = buffer(system);
    while system.expand(Records::new(record, record.len()), &mut steps) == 0 {
        steps.grow();
    }
    steps
}

fn starts(system: &dyn TransitionSystem) -> Steps {
    let mut steps = buffer(system);
    system.initial(&mut steps);
    while steps.source_count() == 0 {
        steps.grow();
        system.initial(&mut steps);
    }
    steps
}

fn buffer(system: &dyn TransitionSystem) -> Steps {
    Steps::new(system.shape(), Columns { actions: true, ..Columns::NONE }, 256)
}
