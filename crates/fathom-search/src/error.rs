//! What can go wrong with the machine during a search?

use fathom_disk::budget::BudgetError;
use fathom_disk::error::DiskError;
use fathom_model::system::Unfilled;

/// A search could not go on. Nothing is wrong with the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The data budget is used up.
    #[error(transparent)]
    Budget(#[from] BudgetError),
    /// The data budget is less than any search of such states can work with.
    #[error(
        "states of {bits} bits need at least {least} bytes for data on disk to be worked with, and there are {free}"
    )]
    LeastBudget {
        /// Bits of a record.
        bits: u32,
        /// The least that works.
        least: usize,
        /// What there is.
        free: usize,
    },
    /// Records have more bits than a key can have.
    #[error("a state has {bits} bits, more than the 65535 that can be stored")]
    TooWide {
        /// How many.
        bits: u32,
    },
    /// States have no variable of that name.
    #[error("there is no variable {name:?} that states could be parted by; there are: {names}")]
    NoComponent {
        /// What was asked for.
        name: String,
        /// What there is.
        names: String,
    },
    /// What was committed is of a search that parts states by something else.
    #[error("the search parts states by {by}: it is resumed with the same")]
    PartedBy {
        /// By what.
        by: String,
    },
    /// One part of the table holds as many states as it can number.
    #[error("a shard of the table is full: it cannot number more than {limit} states")]
    ShardFull {
        /// How many it holds.
        limit: u64,
    },
    /// There are more classes than ranks.
    #[error("the certificate would need more than {limit} ranks")]
    Classes {
        /// How many ranks there are.
        limit: u64,
    },
    /// The boundary to go on from is not one of this system and these settings.
    #[error("the search cannot be resumed: its last checkpoint cannot be understood")]
    Boundary,
    /// What was committed is of a search by progress, and somebody else is to go on with it.
    #[error(
        "the run was searched by progress, so its stages are no layers: it is taken up by the engine that began it"
    )]
    NoLayers,
    /// What was committed is of a search that may have visited states twice, and somebody else is to go on with it.
    #[error(
        "the run may have visited states twice, which other engines cannot tell: it is taken up by the engine that began it"
    )]
    Visits,
    /// What was committed is of another version of the format.
    #[error(
        "the search was written in version {found} of the format, and this build reads {reads}: it cannot be resumed"
    )]
    Version {
        /// The one it was written in.
        found: u64,
        /// The one that is read.
        reads: u64,
    },
    /// Files take more room than was allowed.
    #[error("the files of the search take {used} bytes, more than the {limit} that they may take")]
    DiskLimit {
        /// What they take.
        used: u64,
        /// What was allowed.
        limit: u64,
    },
    /// Somebody asked it to stop.
    #[error("the search was stopped")]
    Stopped,
    /// There is no place for files.
    #[error("there is no place for the files of the search: {0}")]
    Place(Box<dyn std::error::Error + Send + Sync>),
    /// The device failed, or what is on it is not what was written.
    #[error(transparent)]
    Disk(DiskError),
}

impl SearchError {
    /// Whether it says that there is no more room for files.
    pub fn is_want_of_room(&self) -> bool {
        match self {
            SearchError::DiskLimit { .. } => true,
            SearchError::Disk(error) => error.is_full(),
            _ => false,
        }
    }
}

impl<E: Into<SearchError>> From<Unfilled<E>> for SearchError {
    fn from(reason: Unfilled<E>) -> SearchError {
        match reason {
            Unfilled::Room(refusal) => refusal.into(),
            Unfilled::Interrupted => SearchError::Stopped,
        }
    }
}

impl From<DiskError> for SearchError {
    fn from(error: DiskError) -> SearchError {
        match error {
            DiskError::Budget(refusal) => SearchError::Budget(refusal),
            other => SearchError::Disk(other),
        }
    }
}
