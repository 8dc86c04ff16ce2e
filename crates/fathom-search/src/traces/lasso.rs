//! What is an infinite run that can be written down, and is it really one of the system?
//!
//! A lasso: a path to a state, and steps that lead from there back to it.
//!
//! ```text
//! states   r0 -> r1 -> r2 -> r3 -> r4
//!                      ^            |
//!                      +------------+      cycle_start = 2
//! ```
//! [`replay`] judges it as [`crate::proof::replay`] judges paths: on a fresh system, one record at a time, sharing no code with the searches. Memory: the steps of one state, whatever its length.

use fathom_model::record::Records;
use fathom_model::steps::{Columns, Labels, ProcessSet, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use crate::error::SearchError;
use crate::task::Observer;
use crate::traces::path::{Path, PathBuilder, State};

/// An infinite run: some states, then others for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso {
    /// The states, the first one initial, each with the action that leaves it; that of the last leads to where the cycle starts.
    pub path: Path,
    /// Where the cycle starts.
    pub cycle_start: u64,
}

/// What a system says of a state of a lasso that is a run of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Its labels.
    pub labels: Labels,
    /// Who could move.
    pub enabled: ProcessSet,
    /// Who moved.
    pub movers: ProcessSet,
}

/// Why a lasso is not a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LassoRefusal {
    /// There is no state, or the cycle starts beyond the end.
    #[error("it is no lasso")]
    Form,
    /// States do not have the width of the system's records.
    #[error("its states do not have the form of a state")]
    Record,
    /// The first state is not what the start makes.
    #[error("it does not begin with what start {0} makes")]
    Start(u32),
    /// A step is not one of the system's.
    #[error("step {0} does not exist")]
    Step(u64),
    /// Labels of a state cannot be evaluated.
    #[error("labels fault in state {0}")]
    Label(u64),
    /// It could not be read, or the system could not be asked.
    #[error(transparent)]
    Machine(#[from] SearchError),
}

impl Lasso {
    /// The state after a state.
    pub fn next(&self, state: u64) -> u64 {
        if state + 1 < self.path.len() { state + 1 } else { self.cycle_start }
    }

    /// How many steps the path to the cycle has, and the cycle.
    pub fn lengths(&self) -> (u64, u64) {
        (self.cycle_start, self.path.len() - self.cycle_start)
    }

    /// The same run in a system whose records are parts of these, with a note for each state.
    pub fn project(
        &self,
        words: usize,
        part: impl Fn(&[u64]) -> (Vec<u64>, u32),
    ) -> Result<Lasso, SearchError> {
        Ok(Lasso { path: self.path.project(words, part)?, cycle_start: self.cycle_start })
    }

    /// A path, and a run from its last state.
    pub fn after(stem: &Path, lasso: &Lasso) -> Result<Lasso, SearchError> {
        let mut builder = PathBuilder::new(stem.room(), stem.words())?;
        builder.extend(stem, 1)?;
        let before = builder.len();
        builder.extend(&lasso.path, 0)?;
        Ok(Lasso { path: builder.finish(stem.start())?, cycle_start: before + lasso.cycle_start })
    }
}

/// Tells `visit` what a system says of the states of a lasso, one after the other, if that is a run of it. An action that is `stutter` leaves a state without steps and faults as it is.
pub fn replay(
    system: &dyn TransitionSystem,
    lasso: &Lasso,
    stutter: Option<u32>,
    observer: &dyn Observer,
    visit: &mut dyn FnMut(u64, Seen),
) -> Result<(), LassoRefusal> {
    let Lasso { path, cycle_start } = lasso;
    if *cycle_start >= path.len() {
        return Err(LassoRefusal::Form);
    }
    if path.words() != system.shape().words() {
        return Err(LassoRefusal::Record);
    }
    let columns = Columns { marks: false, ..Columns::ALL };
    let budget = path.room().budget();
    let capacity = (budget.free() / 8 / Steps::bytes_for(system.shape(), columns, 1)).clamp(1, 256);
    let bytes = Steps::bytes_for(system.shape(), columns, capacity);
    let mut charge = budget.charge("trace", bytes).map_err(SearchError::from)?;
    let mut steps = Steps::new(system.shape(), columns, capacity);
    let mut grow = |bytes: usize| charge.resize(bytes).map_err(SearchError::from);
    let mut reader = path.reader()?;
    initial_all(system, &mut steps, &mut grow).map_err(SearchError::from)?;
    let mut record = reader.get(0)?.record.to_vec();
    let begins = (0..steps.step_count())
        .any(|step| steps.action(step) == path.start() && steps.target(step) == record);
    if !begins {
        return Err(LassoRefusal::Start(path.start()));
    }
    for state in 0..path.len() {
        if state % PATIENCE == 0 && observer.stop() {
            return Err(SearchError::Stopped.into());
        }
        let action = reader.get(state)?.action;
        let source = Records::new(&record, record.len());
        expand_some(system, source, &mut steps, &mut grow).map_err(SearchError::from)?;
        if steps.labels(0).faulted() {
            return Err(LassoRefusal::Label(state));
        }
        let State { record: next, .. } = reader.get(lasso.next(state))?;
        let taken =
            (0..steps.step_count()).find(|step| steps.action(*step) == action && steps.target(*step) == next);
        let stays =
            stutter == Some(action) && next == record && steps.step_count() == 0 && steps.faults().is_empty();
        let movers = match taken {
            Some(step) => steps.movers(step),
            None if stays => ProcessSet::default(),
            None => return Err(LassoRefusal::Step(state + 1)),
        };
        visit(state, Seen { labels: steps.labels(0), enabled: steps.enabled(0), movers });
        record.copy_from_slice(next);
    }
    Ok(())
}

/// How many states are replayed before the observer is asked again.
const PATIENCE: u64 = 256;
