//! Is a path really a run of the system, and does it show what it claims to show?
//!
//! The judge of every counterexample before a user sees it. It shares no code with the searches: it knows the seam, and asks a fresh system about one
//! record at a time. Memory: the steps of one state, whatever the length of the path.

use fathom_disk::budget::{Budget, Charge};
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Fault, Labels, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use crate::error::SearchError;
use crate::task::Observer;
use crate::traces::path::Path;

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
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It has no state.
    #[error("it has no state")]
    Empty,
    /// States do not have the width of the system's records.
    #[error("its states do not have the form of a state")]
    Form,
    /// The first state is not what the start makes.
    #[error("it does not begin with what start {0} makes")]
    Start(u32),
    /// A step is not one of the system's.
    #[error("step {0} does not exist")]
    Step(u64),
    /// A state does not meet the constraint.
    #[error("state {0} does not meet the constraint")]
    Constraint(u64),
    /// The last state does not show what is claimed.
    #[error("the last state does not show it")]
    Claim,
    /// It could not be read, or the system could not be asked.
    #[error(transparent)]
    Machine(#[from] SearchError),
}

/// Follows a path on a system. `constraint` is a label that must be true (or fault) in all its states.
pub fn replay(
    system: &dyn TransitionSystem,
    path: &Path,
    constraint: Option<usize>,
    claim: Claim,
    observer: &dyn Observer,
) -> Result<(), Refusal> {
    let last = path.len().checked_sub(1).ok_or(Refusal::Empty)?;
    if path.words() != system.shape().words() {
        return Err(Refusal::Form);
    }
    let mut desk = Desk::new(system, path.room().budget())?;
    let mut reader = path.reader()?;
    let mut record = reader.get(0)?.record.to_vec();
    if !all(desk.starts()?).any(|(start, made)| start == path.start() && made == record) {
        return Err(Refusal::Start(path.start()));
    }
    for state in 0..path.len() {
        if state % PATIENCE == 0 && observer.stop() {
            return Err(SearchError::Stopped.into());
        }
        let meets = |labels: Labels, label: usize| labels.faulted() || labels.holds(label);
        if constraint.is_some_and(|label| !meets(desk.labels(&record), label)) {
            return Err(Refusal::Constraint(state));
        }
        if state == last {
            break;
        }
        let action = reader.get(state)?.action;
        let next = reader.get(state + 1)?.record;
        if !all(desk.steps(&record)?).any(|(taken, target)| taken == action && target == next) {
            return Err(Refusal::Step(state + 1));
        }
        record.copy_from_slice(next);
    }
    if desk.shows(&record, claim)? { Ok(()) } else { Err(Refusal::Claim) }
}

/// How many states are replayed before the observer is asked again.
const PATIENCE: u64 = 256;

/// Whether a start really faults as it is said to.
pub fn start_faults(
    system: &dyn TransitionSystem,
    fault: Fault,
    budget: &Budget,
) -> Result<bool, SearchError> {
    Ok(Desk::new(system, budget)?.starts()?.faults().contains(&fault))
}

/// A system, and room for the steps of one state.
struct Desk<'a> {
    system: &'a dyn TransitionSystem,
    steps: Steps,
    charge: Charge,
}

impl<'a> Desk<'a> {
    fn new(system: &'a dyn TransitionSystem, budget: &Budget) -> Result<Desk<'a>, SearchError> {
        let columns = Columns { actions: true, ..Columns::NONE };
        let capacity = (budget.free() / 8 / Steps::bytes_for(system.shape(), columns, 1)).clamp(1, 256);
        let charge = budget.charge("trace", Steps::bytes_for(system.shape(), columns, capacity))?;
        Ok(Desk { system, steps: Steps::new(system.shape(), columns, capacity), charge })
    }

    /// The starts, with what they make.
    fn starts(&mut self) -> Result<&Steps, SearchError> {
        let Desk { system, steps, charge } = self;
        initial_all(*system, steps, &mut |bytes| charge.resize(bytes))?;
        Ok(steps)
    }

    /// The steps of a state.
    fn steps(&mut self, record: &[u64]) -> Result<&Steps, SearchError> {
        let Desk { system, steps, charge } = self;
        let source = Records::new(record, record.len());
        expand_some(*system, source, steps, &mut |bytes| charge.resize(bytes))?;
        Ok(steps)
    }

    fn labels(&self, record: &[u64]) -> Labels {
        let mut labels = [Labels::default()];
        self.system.label(Records::new(record, record.len()), &mut labels);
        labels[0]
    }

    fn shows(&mut self, record: &[u64], claim: Claim) -> Result<bool, SearchError> {
        let labels = self.labels(record);
        Ok(match claim {
            Claim::Reachable => true,
            Claim::Label { label, value } => !labels.faulted() && labels.holds(label) == value,
            Claim::LabelFault => labels.faulted(),
            Claim::StepFault(fault) => self.steps(record)?.faults().contains(&fault),
            Claim::Deadlock { stuttering, except } => {
                let steps = self.steps(record)?;
                let leaves = all(steps).any(|(_, target)| !stuttering || target != record);
                let excused = except.is_some_and(|label| labels.faulted() || labels.holds(label));
                !leaves && steps.faults().is_empty() && !excused
            }
        })
    }
}

/// The actions of steps and where they lead.
fn all(steps: &Steps) -> impl Iterator<Item = (u32, &[u64])> {
    (0..steps.step_count()).map(|step| (steps.action(step), steps.target(step)))
}
