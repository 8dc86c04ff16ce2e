//! Why does an audit refuse a certificate, or come to no end?

use fathom_disk::error::DiskError;
use fathom_model::record::Checksum;

use crate::error::SearchError;

/// The certificate is not accepted, or could not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The run has not reached all states.
    #[error(
        "the search did not reach all states, since it was stopped or a violation ended it: it proves nothing"
    )]
    Unfinished,
    /// The run itself has found a violation.
    #[error("the run says itself that a property is violated")]
    Violated,
    /// What is on disk is not what a run wrote, or not what this run wrote.
    #[error("{0}")]
    Damaged(DiskError),
    /// A number is not what the run said.
    #[error("the run said {said} {what}, and there are {found}")]
    Count {
        /// Of what.
        what: &'static str,
        /// What the run said.
        said: u64,
        /// What there is.
        found: u64,
    },
    /// The states are others than those of the run.
    #[error("the checksum over all states is {found}, the run said {said}")]
    Checksum {
        /// What the run said.
        said: Checksum,
        /// What it is.
        found: Checksum,
    },
    /// A record is no state of the model.
    #[error("a record is no state of the model: a value is outside its domain")]
    NoState {
        /// The record.
        record: Vec<u64>,
    },
    /// Initial states or targets of steps are not in the set.
    #[error("the set is not closed: {missing} initial states or targets of steps are not in it")]
    Open {
        /// How many.
        missing: u64,
        /// The least of them.
        first: Vec<u64>,
    },
    /// A state of the set violates a property.
    #[error("a state in the set violates property {condition}")]
    Condition {
        /// Which of the conditions.
        condition: usize,
        /// The state; none if a start faults.
        record: Option<Vec<u64>>,
    },
    /// There are no ranks.
    #[error("there are no ranks: the run has not shown that no run is accepting")]
    Unranked,
    /// The ranks are for an automaton of another strength.
    #[error("the ranks are for an automaton of another strength")]
    Strength,
    /// A rank that belongs to no class.
    #[error("rank {rank} belongs to no class of states")]
    NoClass {
        /// The rank.
        rank: u32,
    },
    /// A step leads to a state whose rank is too low.
    #[error("a step leads to a state of rank {rank}, which must have {least} at least")]
    Rank {
        /// The state.
        record: Vec<u64>,
        /// Its rank.
        rank: u32,
        /// What a step to it asks for.
        least: u32,
    },
    /// The observer said so.
    #[error("the audit was stopped")]
    Stopped,
    /// The machine failed.
    #[error(transparent)]
    Machine(SearchError),
}

impl From<DiskError> for AuditError {
    fn from(error: DiskError) -> AuditError {
        let damaged = match &error {
            DiskError::Corrupt { .. } | DiskError::Mismatch { .. } => true,
            DiskError::Storage(error) => matches!(
                error.source.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::UnexpectedEof
            ),
            _ => false,
        };
        if damaged { AuditError::Damaged(error) } else { AuditError::Machine(error.into()) }
    }
}

impl From<SearchError> for AuditError {
    fn from(error: SearchError) -> AuditError {
        match error {
            SearchError::Disk(error) => error.into(),
            SearchError::Stopped => AuditError::Stopped,
            SearchError::Boundary => AuditError::Damaged(DiskError::Mismatch {
                file: "manifest".to_owned(),
                what: "what it says of the end of the run makes no sense".to_owned(),
            }),
            SearchError::Version { .. } => AuditError::Damaged(DiskError::Mismatch {
                file: "manifest".to_owned(),
                what: error.to_string(),
            }),
            other => AuditError::Machine(other),
        }
    }
}
