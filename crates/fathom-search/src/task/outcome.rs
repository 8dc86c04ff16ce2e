//! What has a search found out?

use std::sync::Arc;
use std::time::Duration;

use fathom_disk::budget::BudgetError;
use fathom_model::record::Checksum;
use fathom_model::steps::Labels;

use super::layer_sizes::LayerSizes;
use super::watch::Findings;

/// What a search found out.
#[derive(Debug)]
pub struct Outcome {
    /// Why it ended.
    pub ending: Ending,
    /// Who asked the budget for what, if that is why.
    pub refusal: Option<BudgetError>,
    /// Whether every state was expanded once: else what was counted is of visits, and how many states there are is not known.
    pub exact: bool,
    /// Whether stages were layers.
    pub layered: bool,
    /// How candidates that were known already were noticed.
    pub duplicates: Duplicates,
    /// What was seen of a measure of progress, if states were searched in its order.
    pub progress: Option<ProgressFigures>,
    /// The size of each stage, which mostly is a layer. Those expanded, and the one behind them if it is known.
    pub layers: Arc<LayerSizes>,
    /// How often a state was expanded: more often than there are states expanded, if some were twice.
    pub visits: u64,
    /// States that were expanded; visits, if they were not told apart.
    pub expanded: u64,
    /// Steps from them; faulting ones are not counted.
    pub transitions: u64,
    /// States among them without a step and without a fault.
    pub deadlocks: u64,
    /// Faulting steps from them, and faulting starts.
    pub faults: u64,
    /// States among them whose labels faulted.
    pub label_faults: u64,
    /// Labels that were true in some expanded state, if the conditions read labels.
    pub labels_seen: Labels,
    /// Over the expanded states.
    pub checksum: Checksum,
    /// The most layers any step leads back, plus one, if the policy knows; 0 if there is no step back or within a layer.
    pub locality: Option<u64>,
    /// Where the conditions were first met.
    pub findings: Findings,
    /// Which actions were taken, one bit each, if asked for.
    pub actions_taken: Vec<u64>,
    /// Where the time went, over all threads, since the search was begun or taken up.
    pub cost: Cost,
    /// Steps that were made before it was taken up; 0 if it was begun.
    pub steps_before: u64,
    /// States that an earlier process expanded; 0 if the search was begun in this one.
    pub expanded_before: u64,
    /// From where [`go_on`](crate::bodies::stages::go_on) can take the search up again: the layer that was closed last, none of it expanded.
    pub boundary: Vec<u8>,
}

impl Outcome {
    /// How many different states are known, if that is known.
    pub fn states(&self) -> Option<u64> {
        self.exact.then(|| self.layers.sum())
    }
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every reachable state was expanded.
    Complete,
    /// A condition was met and the search was to stop there.
    Found,
    /// States deeper than the limit were not expanded.
    Depth,
    /// The observer said so.
    Stopped,
    /// The data budget is used up. What is known is of the states expanded so far.
    Budget,
    /// The engine's policy wanted no more stages, for this reason: words that follow "the search ended: ".
    Policy(&'static str),
}

/// Candidates that were known already, by how that was noticed, since the search was begun or taken up; none where an engine does not count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Duplicates {
    /// At once, in memory.
    pub in_ram: Option<u64>,
    /// Later, among many.
    pub delayed: Option<u64>,
    /// Not at all: these were visited again.
    pub missed: Option<u64>,
}

/// What was seen of a measure of progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgressFigures {
    /// How many sweeps there were.
    pub sweeps: u64,
    /// Buckets that had states to expand.
    pub buckets: u64,
    /// States of the largest one.
    pub largest_bucket: u64,
    /// Steps to greater values.
    pub forward: u64,
    /// Steps to the same value.
    pub stationary: u64,
    /// Steps to smaller values: if there are none, the measure was monotone on all that was seen.
    pub regress: u64,
    /// The most states in memory at once, of the bucket, of what waits and of what steps back lead to; by this process.
    pub in_memory: u64,
    /// The same without what waits.
    pub in_memory_but_waiting: u64,
}

impl Duplicates {
    /// Those of a search in two parts, as far as both have counted.
    #[must_use]
    pub fn and(self, other: Duplicates) -> Duplicates {
        let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        Duplicates {
            in_ram: sum(self.in_ram, other.in_ram),
            delayed: sum(self.delayed, other.delayed),
            missed: sum(self.missed, other.missed),
        }
    }

    /// Of an engine that misses none: so many noticed at once in memory, and so many later.
    pub(crate) fn noticed(in_ram: u64, delayed: u64) -> Duplicates {
        Duplicates { in_ram: Some(in_ram), delayed: Some(delayed), missed: Some(0) }
    }
}

/// Where the time went, over all threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Making steps.
    pub expand: Duration,
    /// Counting and testing conditions.
    pub watch: Duration,
    /// Handing candidates to the policy.
    pub offer: Duration,
    /// Closing layers.
    pub close: Duration,
}
