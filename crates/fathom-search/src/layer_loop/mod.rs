//! Body: which states does a breadth-first search reach, layer by layer?
//!
//! ```text
//!            +-- next_batch --> expand --> offer --+        (threads, a batch at a time)
//!   layer d -+-- next_batch --> expand --> offer --+--> flush --> close_layer --> layer d + 1
//!            +-- ...                               |
//! ```
//! The body hands out batches, expands them, counts, and tests conditions on every source. A [`LayerPolicy`] says where layers live, what a
//! candidate is compared with and when, and what is forgotten. All results are functions of the *set* of states in each layer, so they
//! are the same for every policy that is exact, every budget and every number of threads.
//!
//! Between two layers a search is a *boundary*: what was counted so far, in bytes, beside what the policy has. A layer counts only once the
//! next one is closed, so a search can always go back to the last boundary and go on from there: in another process, or with another policy.
//!
//! Memory of the body: per thread one batch of sources and one buffer of steps, both charged.

mod desk;
mod layer_sizes;
mod outcome;
mod tally;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

use fathom_disk::budget::{Budget, BudgetError};
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;
use crate::watch::{Condition, Finding};

pub use layer_sizes::LayerSizes;
pub use outcome::{Cost, Ending, Outcome};

use desk::{Desk, LayerShare, Task, expand_share};
use tally::Tally;

/// Where layers live, what candidates are compared with, when, and what is forgotten.
pub trait LayerPolicy: Sync {
    /// What one thread keeps for itself: buffers of candidates, cursors.
    type Worker: Send;

    /// A thread's own part.
    fn worker(&self) -> Result<Self::Worker, SearchError>;

    /// Takes candidates for the next layer: any order, any repetition, known states too.
    fn offer(&self, worker: &mut Self::Worker, candidates: Records<'_>) -> Result<(), SearchError>;

    /// Hands over whatever the worker still holds back of what it was offered.
    fn flush(&self, worker: &mut Self::Worker) -> Result<(), SearchError>;

    /// Makes the next layer of the candidates: each state once, and none that is known. From now on it is the layer handed out.
    fn close_layer(&mut self, workers: &mut [Self::Worker]) -> Result<ClosedLayer, SearchError>;

    /// Fills `batch` with up to `records` states of the current layer that were not handed out yet; empty when there are no more.
    fn next_batch(
        &self,
        worker: &mut Self::Worker,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError>;

    /// Told of every boundary, so that it may be made to last: `boundary` is what [`go_on`] needs beside the policy's own. Candidates offered since
    /// the last layer was closed are not part of it.
    fn checkpoint(&mut self, _boundary: &dyn Fn() -> Vec<u8>, _moment: Moment) -> Result<(), SearchError> {
        Ok(())
    }

    /// Visits the states of an earlier layer, in any order. False if they are not kept.
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError>;
}

/// When a policy is told of a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The search goes on at once.
    Passing,
    /// The search ends here, though there is more to expand.
    Stopping,
    /// There is nothing more to expand.
    Complete,
}

/// What is known of a layer when it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedLayer {
    /// How many states it has.
    pub states: u64,
    /// The earliest layer that a candidate for this one was already in, if the policy knows.
    pub oldest_duplicate: OldestDuplicate,
}

/// How far back duplicates reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldestDuplicate {
    /// The policy does not keep track.
    Unknown,
    /// Every candidate was new, or already in the next layer.
    None,
    /// The earliest layer that held one.
    Layer(u64),
}

/// What a search is asked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many threads expand.
    pub threads: usize,
    /// What to look for in every state.
    pub conditions: Vec<Condition>,
    /// Whether to end after the first layer in which a condition was met.
    pub stop_at_first: bool,
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
        Tuning { shared_layer_min: 4096, batch_records_max: 512, steps_per_source: 8 }
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

    /// Told that a search goes to disk since memory ends, with the layers and states it takes along.
    fn moved_to_disk(&self, _layers: u64, _states: u64) {}
}

/// How far a search is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// The layer being expanded.
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
}

/// Nobody watches.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// Searches breadth-first from the initial states. A budget that is used up is an ending; on any other error of the machine, what the policy
/// has committed stays.
pub fn run<P: LayerPolicy>(
    system: &dyn TransitionSystem,
    policy: &mut P,
    budget: &Budget,
    settings: &Settings,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let mut search = Search::new(Task { system, budget, settings, observer }, policy)?;
    let ending = search.start(policy).and_then(|()| search.layers(policy));
    search.finish(policy, ending)
}

/// Goes on from a boundary of a search of the same system with the same settings, limits and threads aside. The policy has the layers up to there.
pub fn go_on<P: LayerPolicy>(
    system: &dyn TransitionSystem,
    policy: &mut P,
    budget: &Budget,
    settings: &Settings,
    observer: &dyn Observer,
    boundary: &[u8],
) -> Result<Outcome, SearchError> {
    let mut search = Search::new(Task { system, budget, settings, observer }, policy)?;
    search.restore(boundary)?;
    let ending = search.layers(policy);
    search.finish(policy, ending)
}

/// What was known at a boundary, as the outcome of a search that ended there; without a boundary, of one that has not begun.
pub fn at_boundary(
    system: &dyn TransitionSystem,
    budget: &Budget,
    settings: &Settings,
    boundary: Option<&[u8]>,
) -> Result<Outcome, SearchError> {
    let task = Task { system, budget, settings, observer: &Unobserved };
    let mut search: Search<'_, ()> = Search::with(task, vec![Desk::new(task, 1)?], Vec::new())?;
    let ending = match boundary {
        Some(boundary) => {
            search.restore(boundary)?;
            if search.frontier == 0 { Ending::Complete } else { Ending::Stopped }
        }
        None => Ending::Stopped,
    };
    let boundary = search.boundary();
    Ok(search.outcome(ending, None, boundary))
}

/// A search under way.
struct Search<'a, W> {
    task: Task<'a>,
    workers: Vec<W>,
    desks: Vec<Desk>,
    layers: LayerSizes,
    /// The size of the layer that was closed last.
    frontier: u64,
    locality: Option<u64>,
    /// Of all layers before the frontier.
    done: Tally,
    /// Of the frontier, as far as it was expanded.
    pending: Tally,
    /// Steps that were made before the search was taken up.
    steps_before: u64,
}

impl<'a, W: Send> Search<'a, W> {
    fn new<P: LayerPolicy<Worker = W>>(task: Task<'a>, policy: &P) -> Result<Self, SearchError> {
        let threads = task.settings.threads.max(1);
        let desks = (0..threads).map(|_| Desk::new(task, threads)).collect::<Result<_, _>>()?;
        let workers = (0..threads).map(|_| policy.worker()).collect::<Result<_, _>>()?;
        Search::with(task, desks, workers)
    }

    fn with(task: Task<'a>, desks: Vec<Desk>, workers: Vec<W>) -> Result<Self, SearchError> {
        let Task { system, budget, settings, .. } = task;
        Ok(Search {
            desks,
            workers,
            layers: LayerSizes::new(budget)?,
            frontier: 0,
            locality: Some(0),
            done: Tally::new(system, settings),
            pending: Tally::new(system, settings),
            steps_before: 0,
            task,
        })
    }

    /// Offers the initial states and closes their layer.
    fn start<P: LayerPolicy<Worker = W>>(&mut self, policy: &mut P) -> Result<(), SearchError> {
        let Desk { steps, charge, .. } = &mut self.desks[0];
        let held = charge.bytes() - steps.bytes();
        initial_all(self.task.system, steps, &mut |bytes| charge.resize(held + bytes))?;
        self.pending.faults += steps.faults().len() as u64;
        if let Some(fault) = steps.faults().first() {
            for (condition, finding) in self.task.settings.conditions.iter().zip(&mut self.pending.findings.0)
            {
                if *condition == Condition::Fault {
                    *finding = Some(Finding { layer: 0, record: None, fault: Some(*fault) });
                }
            }
        }
        policy.offer(&mut self.workers[0], steps.targets())?;
        policy.flush(&mut self.workers[0])?;
        self.close(policy)
    }

    /// Expands layer after layer; says why it ended.
    fn layers<P: LayerPolicy<Worker = W>>(&mut self, policy: &mut P) -> Result<Ending, SearchError> {
        while self.frontier > 0 {
            if self.task.settings.max_depth.is_some_and(|depth| self.layer() > depth) {
                return Ok(Ending::Depth);
            }
            if self.expand_layer(&*policy)? {
                return Ok(Ending::Stopped);
            }
            let found = self.done.findings.any() || self.pending.findings.any();
            if self.task.settings.stop_at_first && found {
                return Ok(Ending::Found);
            }
            self.close(policy)?;
        }
        Ok(Ending::Complete)
    }

    /// The layer that was closed last.
    fn layer(&self) -> u64 {
        self.layers.len() as u64 - 1
    }

    /// Closes the next layer: from here on what was counted of the one before it counts.
    fn close<P: LayerPolicy<Worker = W>>(&mut self, policy: &mut P) -> Result<(), SearchError> {
        let began = Instant::now();
        let closed = policy.close_layer(&mut self.workers)?;
        self.pending.cost.close += began.elapsed();
        let layer = self.layers.len() as u64;
        if closed.states > 0 {
            self.layers.push(closed.states)?;
        }
        self.frontier = closed.states;
        self.locality = match (self.locality, closed.oldest_duplicate) {
            (None, _) | (_, OldestDuplicate::Unknown) => None,
            (Some(locality), OldestDuplicate::None) => Some(locality),
            // Candidates for this layer come from the one before it.
            (Some(locality), OldestDuplicate::Layer(oldest)) => {
                Some(locality.max(layer.saturating_sub(oldest)))
            }
        };
        self.done.take(&mut self.pending);
        if self.frontier > 0 {
            policy.checkpoint(&|| self.boundary(), Moment::Passing)?;
        }
        Ok(())
    }

    /// Expands every state of the current layer; true if the observer stopped it.
    fn expand_layer<P: LayerPolicy<Worker = W>>(&mut self, policy: &P) -> Result<bool, SearchError> {
        let share = LayerShare {
            layer: self.layer(),
            frontier: self.frontier,
            states_before: self.layers.sum(),
            transitions_before: self.done.transitions,
            expanded: AtomicU64::new(0),
            transitions: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            failure: Mutex::new(None),
        };
        let shared = self.frontier >= self.task.settings.tuning.shared_layer_min;
        let threads = if shared { self.desks.len() } else { 1 };
        let task = self.task;
        let expand = |desk: &mut Desk, worker: &mut W| {
            if let Err(error) = expand_share(task, policy, &share, desk, worker) {
                share.fail(error);
            }
        };
        let mut pairs = self.desks[..threads].iter_mut().zip(&mut self.workers);
        let own = pairs.next();
        std::thread::scope(|scope| {
            for (desk, worker) in pairs {
                scope.spawn(move || expand(desk, worker));
            }
            if let Some((desk, worker)) = own {
                expand(desk, worker);
            }
        });
        for desk in &mut self.desks {
            self.pending.take(&mut desk.tally);
        }
        match share.failure.into_inner().expect("no thread panics while it reports") {
            Some(error) => Err(error),
            None => Ok(share.stopped.into_inner()),
        }
    }

    /// Everything counted before the frontier, in bytes.
    fn boundary(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_u64(&mut bytes, self.frontier);
        put_u64(&mut bytes, self.locality.map_or(0, |locality| locality + 1));
        self.done.write(&mut bytes);
        bytes.extend_from_slice(self.layers.as_bytes());
        bytes
    }

    /// Takes up what [`Search::boundary`] gave.
    fn restore(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let mut bytes = Reader(boundary);
        let mut read = || {
            let frontier = bytes.u64()?;
            let locality = bytes.u64()?.checked_sub(1);
            Some((frontier, locality, Tally::read(&mut bytes, self.task.system, self.task.settings)?))
        };
        let (frontier, locality, done) = read().ok_or(SearchError::Boundary)?;
        let layers = LayerSizes::from_bytes(self.task.budget, bytes.0)?.ok_or(SearchError::Boundary)?;
        if frontier > 0 && layers.last() != Some(frontier) {
            return Err(SearchError::Boundary);
        }
        (self.frontier, self.locality, self.done, self.layers) = (frontier, locality, done, layers);
        self.steps_before = self.done.transitions;
        self.restore_faults()
    }

    /// Finds the faults of restored findings again.
    fn restore_faults(&mut self) -> Result<(), SearchError> {
        let Desk { steps, charge, .. } = &mut self.desks[0];
        let held = charge.bytes() - steps.bytes();
        let words = self.task.system.shape().words();
        for finding in self.done.findings.0.iter_mut().flatten() {
            let mut room = |bytes| charge.resize(held + bytes);
            match &finding.record {
                Some(record) => {
                    expand_some(self.task.system, Records::new(record, words), steps, &mut room)?;
                    finding.fault = steps.faults_of(0).first().copied();
                }
                None => {
                    initial_all(self.task.system, steps, &mut room)?;
                    finding.fault = steps.faults().first().copied();
                }
            }
        }
        Ok(())
    }

    fn finish<P: LayerPolicy<Worker = W>>(
        mut self,
        policy: &mut P,
        ending: Result<Ending, SearchError>,
    ) -> Result<Outcome, SearchError> {
        let (ending, refusal) = match ending {
            Err(SearchError::Budget(refusal)) => (Ending::Budget, Some(refusal)),
            other => (other?, None),
        };
        let boundary = self.boundary();
        match ending {
            Ending::Complete => policy.checkpoint(&|| boundary.clone(), Moment::Complete)?,
            Ending::Found | Ending::Depth | Ending::Stopped => {
                policy.checkpoint(&|| boundary.clone(), Moment::Stopping)?;
            }
            Ending::Budget => {}
        }
        self.done.take(&mut self.pending);
        Ok(self.outcome(ending, refusal, boundary))
    }

    fn outcome(self, ending: Ending, refusal: Option<BudgetError>, boundary: Vec<u8>) -> Outcome {
        let tally = self.done;
        Outcome {
            ending,
            refusal,
            layers: self.layers,
            expanded: tally.expanded,
            transitions: tally.transitions,
            deadlocks: tally.deadlocks,
            faults: tally.faults,
            label_faults: tally.label_faults,
            labels_seen: tally.labels_seen,
            checksum: tally.checksum,
            locality: self.locality,
            findings: tally.findings,
            actions_taken: tally.actions_taken,
            cost: tally.cost,
            steps_before: self.steps_before,
            boundary,
        }
    }
}
