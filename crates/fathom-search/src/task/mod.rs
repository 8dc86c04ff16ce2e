//! What is a search asked, who watches it, how does it end, and what has it found?

mod layer_sizes;
mod outcome;
pub mod watch;

use fathom_disk::budget::Budget;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;

pub use layer_sizes::LayerSizes;
pub use outcome::{Cost, Duplicates, Ending, Outcome, ProgressFigures};

use watch::Condition;

/// What is searched, within what memory, for what, by how many threads, and who watches.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// What is searched.
    pub system: &'a dyn TransitionSystem,
    /// The memory it may take.
    pub budget: &'a Budget,
    /// What is looked for, and by how many threads.
    pub settings: &'a Settings,
    /// Who watches.
    pub observer: &'a dyn Observer,
}

impl<'a> Task<'a> {
    /// One that nobody watches.
    pub fn new(system: &'a dyn TransitionSystem, budget: &'a Budget, settings: &'a Settings) -> Task<'a> {
        Task { system, budget, settings, observer: &Unobserved }
    }

    /// The same, watched.
    #[must_use]
    pub fn watched_by(self, observer: &'a dyn Observer) -> Task<'a> {
        Task { observer, ..self }
    }
}

/// What a search is asked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many threads expand.
    pub threads: usize,
    /// What to look for in every state.
    pub conditions: Vec<Condition>,
    /// Whether to end after the layer in which a condition was met by as many states as are kept.
    pub stop_at_first: bool,
    /// How many states are kept of those that meet a condition.
    pub findings_max: usize,
    /// The last layer to expand states of: none deeper are, but they are counted.
    pub max_depth: Option<u64>,
    /// Whether to note which actions were taken.
    pub coverage: bool,
    /// Sizes that change speed, never results.
    pub tuning: Tuning,
}

/// Sizes that change speed, never results. Tests make them tiny.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Layers smaller than this are expanded by one thread: starting others would cost more than they bring.
    pub shared_layer_min: u64,
    /// The most sources in a batch.
    pub batch_records_max: usize,
    /// Room for steps in a buffer, per source of a batch, at first.
    pub steps_per_source: usize,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning { shared_layer_min: 1024, batch_records_max: 512, steps_per_source: 8 }
    }
}

/// Who watches a search from outside.
pub trait Observer: Sync {
    /// Asked before every batch: should the search stop now?
    fn stop(&self) -> bool {
        false
    }

    /// Told now and then, from any thread, and at the end of every layer.
    fn progress(&self, _progress: Progress) {}

    /// Told of every batch of states as it is expanded, from any thread.
    fn expanded(&self, _layer: u64, _sources: Records<'_>) {}

    /// Told that a layer, and what lies behind it, is expanded again from its beginning: what was told of it does not count.
    fn abandoned(&self, _layer: u64) {}

    /// Told that a search goes on from layers of these sizes, the last of which is expanded next: another process, or another engine, has searched them.
    fn taken_up(&self, _layers: &LayerSizes) {}

    /// Told that a search goes to disk since memory ends, with the layers and states it takes along.
    fn moved_to_disk(&self, _layers: u64, _states: u64) {}

    /// Told that a search that is deep and narrow begins again in the order of a measure of progress.
    fn goes_by_progress(&self, _measure: &str) {}
}

/// How far a search is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// What it does.
    pub phase: Phase,
    /// The layer being expanded; what else is counted there, see [`Phase`].
    pub layer: u64,
    /// How many states it has.
    pub frontier: u64,
    /// How many of them were expanded.
    pub expanded: u64,
    /// States in all layers so far.
    pub states: u64,
    /// Steps so far.
    pub transitions: u64,
    /// Bytes taken from the data budget.
    pub budget_used: u64,
    /// Bytes that may be taken from it; 0 if that is not known.
    pub budget_limit: u64,
}

/// What a search does, and with it what `layer`, `frontier` and `expanded` of its [`Progress`] count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// It expands layer after layer.
    #[default]
    Layers,
    /// It expands stages that are no layers: `layer` is the stage.
    Stages,
    /// It decides which candidates of a layer or stage are new.
    Closing,
    /// It searches depth-first: `layer` is the depth, `frontier` what is on the stack.
    Depth,
    /// It goes over known states: `layer` is the pass, `frontier` the states of one.
    Passes,
    /// It looks for the states that lead to others: `layer` is the one that is asked.
    Backward,
    /// It walks at random: `layer` of `frontier` walks.
    Walks,
    /// It follows a log: `layer` is the line.
    Lines,
    /// It checks a certificate: `expanded` of `frontier` states.
    Audit,
}

impl Progress {
    /// The beginning of a phase, with what a budget says.
    pub fn of(phase: Phase, budget: &Budget) -> Progress {
        let (budget_used, budget_limit) = (budget.used() as u64, budget.limit() as u64);
        Progress { phase, budget_used, budget_limit, ..Progress::default() }
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {}
