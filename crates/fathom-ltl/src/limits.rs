//! When does a translation give up?
//!
//! Every stage asks; the answer to a formula that explodes is a message, not a full memory. The clock runs from the first
//! step of rewriting to the last label of the result: labels and rewriting look at it themselves, every few hundred steps.

use std::time::{Duration, Instant};

/// What a translation may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// States of any automaton on the way.
    pub states_max: usize,
    /// Edges of any automaton on the way; also bounds the moves of one state.
    pub edges_max: usize,
    /// Nodes of the decision diagrams that hold the labels.
    pub label_nodes_max: usize,
    /// Time, or as long as it takes.
    pub time: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            states_max: 20_000,
            edges_max: 500_000,
            label_nodes_max: 1 << 20,
            time: Some(Duration::from_secs(60)),
        }
    }
}

/// Which limit was met, or why the formula cannot be translated at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TranslateError {
    /// Too many states.
    #[error("the automaton has more than {0} states: simplify the formula, or raise the limit")]
    States(usize),
    /// Too many edges.
    #[error("the automaton has more than {0} edges: simplify the formula, or raise the limit")]
    Edges(usize),
    /// Labels too large.
    #[error("the boolean parts of the formula need more than {0} nodes: simplify them, or raise the limit")]
    Labels(usize),
    /// Out of time.
    #[error("the translation took longer than {0:?}: simplify the formula, or raise the limit")]
    Time(Duration),
    /// More temporal subformulas than fit in a state.
    #[error("the formula has more than {0} different temporal subformulas: check its parts one by one")]
    Subformulas(usize),
    /// More obligations than marks.
    #[error("the formula has more than {0} until and infinitely-often parts: check its parts one by one")]
    Marks(u32),
}

/// The limits, and when the clock runs out.
pub(crate) struct Budget {
    pub(crate) limits: Limits,
    /// None if there is no limit of time: some machines have no clock.
    deadline: Option<Instant>,
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        let deadline = limits.time.and_then(|time| Instant::now().checked_add(time));
        Budget { limits, deadline }
    }

    /// When the time is over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// To be asked at least once per state.
    pub(crate) fn check(&self, states: usize, edges: usize) -> Result<(), TranslateError> {
        if states > self.limits.states_max {
            return Err(TranslateError::States(self.limits.states_max));
        }
        if edges > self.limits.edges_max {
            return Err(TranslateError::Edges(self.limits.edges_max));
        }
        match self.limits.time.zip(self.deadline) {
            Some((time, deadline)) if Instant::now() > deadline => Err(TranslateError::Time(time)),
            _ => Ok(()),
        }
    }

    /// To be asked before labels made so far are relied on.
    pub(crate) fn check_labels(&self, labels: &crate::label::Labels) -> Result<(), TranslateError> {
        if !labels.exhausted() {
            return Ok(());
        }
        // Labels end for want of time, too.
        self.check(0, 0)?;
        Err(TranslateError::Labels(self.limits.label_nodes_max))
    }
}
