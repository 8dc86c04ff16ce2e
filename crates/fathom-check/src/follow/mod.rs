//! Is a recorded execution of a real system a behaviour of the model?
//!
//! A log is a list of observations: values of some variables, names of steps. Between two of them the system makes some steps that nobody has observed, at most so many. What is known
//! after each line is the set of states that the system may be in; it is carried along, breadth-first, and a line that leaves it empty is the first that no execution explains.
//!
//! ```text
//!   states that fit line k --at most N steps--> those that fit line k + 1      of a line that names a step: the last of them is that step
//! ```

mod fitting;
pub mod observation;

use fathom_model::system::{Query, TransitionSystem};
use fathom_search::error::SearchError;

use crate::error::RunError;
use crate::limit::Limit;
use crate::model::assemble::Model;
use crate::model::execution::Execution;
use crate::monitor::Monitor;
use crate::resources::Resources;
use crate::trace::{self, TraceStep};

use fitting::Fitting;
use observation::{Difference, LogError, Observation};

/// How far a log could be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// How many observations have been explained.
    pub explained: usize,
    /// How many states fit after the last of them.
    pub states: usize,
    /// The most states that fit after any of them.
    pub states_max: usize,
    /// How it ended.
    pub end: FollowedEnd,
}

/// How following a log ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowedEnd {
    /// Some execution of the model explains all of it.
    Fits,
    /// No execution explains it up to this line.
    Refused {
        /// The line.
        line: usize,
        /// One of the states that fit the lines before, by name and value; none before the first.
        before: Option<Vec<(String, String)>>,
        /// What the model could have done instead, the nearest first.
        nearest: Vec<Near>,
    },
    /// A limit was reached before it was known.
    Unfinished(Limit),
}

/// Something that the model could have done instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Near {
    /// After how many steps.
    pub steps: u64,
    /// The last of them, if there is one.
    pub step: Option<TraceStep>,
    /// Whether it is not the step that was observed.
    pub other_step: bool,
    /// The values that are not as observed.
    pub differences: Vec<Difference>,
}

/// A log could not be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// It speaks of something that the model does not have.
    #[error(transparent)]
    Log(#[from] LogError),
    /// There is nothing to begin with.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Follows a log through a model, with at most so many steps between two lines. Symmetry plays no part: observations name values.
///
/// # Errors
/// If the log names what the model does not have, or the machine fails.
pub fn follow(
    model: &Model,
    log: &[Observation],
    steps_max: u64,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<Followed, FollowError> {
    let execution = Execution::wanted(resources, monitor);
    let system = execution.system(model.program(), model.values(), &[]);
    let budget = resources.data_budget()?;
    let mut followed = Followed { explained: 0, states: 0, states_max: 0, end: FollowedEnd::Fits };
    let begun = Fitting::begin(&system, &budget);
    let mut fitting = match limited(begun, monitor)? {
        Ok(fitting) => fitting,
        Err(limit) => return Ok(Followed { end: FollowedEnd::Unfinished(limit), ..followed }),
    };
    if let Some(first) = fitting.first() {
        let words = system.describe(Query::Record(first));
        log.iter().try_for_each(|observation| observation.refuse_unknown(&words))?;
    }
    followed.states = fitting.len();
    for observation in log {
        match limited(fitting.advance(observation, steps_max, monitor), monitor)? {
            Err(limit) => {
                followed.end = FollowedEnd::Unfinished(limit);
                break;
            }
            Ok(nearest) if fitting.is_empty() => {
                let step =
                    |source: &[u64], action| trace::step(&system, Some(model.source()), source, action);
                let before = fitting.before().map(|record| system.describe(Query::Record(record)).values);
                let nearest = nearest.into_iter().map(|near| near.told(&step)).collect();
                let before = before.filter(|_| followed.explained > 0);
                followed.end = FollowedEnd::Refused { line: observation.line, before, nearest };
                break;
            }
            Ok(_) => {
                followed.explained += 1;
                followed.states = fitting.len();
                followed.states_max = followed.states_max.max(followed.states);
            }
        }
    }
    monitor.finish().map_err(RunError::Records)?;
    Ok(followed)
}

/// What came of a part of the work, or the limit that ended it.
fn limited<T>(outcome: Result<T, SearchError>, monitor: &dyn Monitor) -> Result<Result<T, Limit>, RunError> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(SearchError::Stopped) => Ok(Err(monitor.reason())),
        Err(SearchError::Budget(_)) => Ok(Err(Limit::Ram)),
        Err(error) => Err(error.into()),
    }
}
