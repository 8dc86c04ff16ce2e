//! Why could a search not be made?

use std::io;

use fathom_disk::error::DiskError;
use fathom_ltl::product::ProductError;
use fathom_search::error::SearchError;

use crate::limit::Limit;
use crate::monitor::Monitor;
use crate::numbers::bytes;

/// A run could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Less memory was given than a run needs to begin.
    #[error(
        "{} of memory is too little: this search needs {} before it stores a single state",
        bytes(*given), bytes(*least)
    )]
    RamTooSmall {
        /// What was given.
        given: u64,
        /// The least that would do.
        least: u64,
    },
    /// The records could not be written.
    #[error("cannot write the records: {0}")]
    Records(io::Error),
    /// A counterexample did not pass the replay: fathom is wrong, not the model.
    #[error(
        "the counterexample to {property} cannot be replayed ({refusal}): this is a bug in fathom, please report it"
    )]
    Replay {
        /// Which property.
        property: String,
        /// What is wrong with it.
        refusal: String,
    },
    /// A path of states that are alike has no run behind it: the model tells them apart.
    #[error(
        "{property} is violated with symmetry reduction, but in no run of the model: the model is not symmetric in a scalarset, perhaps because of the order of a loop; check it without symmetry reduction"
    )]
    Asymmetric {
        /// Which property.
        property: String,
    },
    /// There is no place for files.
    #[error("cannot make a folder under .fathom in the working directory: {0}")]
    Scratch(io::Error),
    /// An option of an engine is an expression, and none that the model understands.
    #[error("{0}")]
    Expression(String),
    /// An option of an engine is an expression, and what is searched has no words for one.
    #[error(
        "the engine {0} needs an expression over the states of a model, and this system has none: choose another engine"
    )]
    NoExpressions(&'static str),
    /// The engine does not know strong fairness.
    #[error("the engine {0} does not know strong fairness")]
    StronglyFair(&'static str),
    /// The model and the automaton do not go together.
    #[error(transparent)]
    Product(#[from] ProductError),
    /// The machine failed.
    #[error(transparent)]
    Search(#[from] SearchError),
}

impl RunError {
    /// Whether what is on disk cannot be gone on with.
    pub fn is_damage(&self) -> bool {
        use DiskError::{Corrupt, Mismatch};
        let RunError::Search(error) = self else { return false };
        matches!(
            error,
            SearchError::Disk(Corrupt { .. } | Mismatch { .. })
                | SearchError::Boundary
                | SearchError::Version { .. }
        )
    }

    /// Why a run that there is could not be told, if it is for want of time or room.
    pub(crate) fn untraced(&self, monitor: &dyn Monitor) -> Option<Limit> {
        match self {
            RunError::Search(SearchError::Stopped) => Some(monitor.reason()),
            RunError::Search(SearchError::Budget(_)) => Some(Limit::Ram),
            RunError::Search(SearchError::Disk(error)) if error.is_full() => Some(Limit::DiskFull),
            _ => None,
        }
    }
}
