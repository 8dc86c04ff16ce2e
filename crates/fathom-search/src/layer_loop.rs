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
//! Memory of the body: per thread one batch of sources and one buffer of steps, both charged.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fathom_disk::budget::{Budget, Charge};
use fathom_model::record::{Checksum, RecordBuffer, Records};
use fathom_model::steps::{Columns, Labels, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use crate::error::SearchError;
use crate::watch::{Condition, Finding, Findings};

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

    /// Visits the states of an earlier layer, in any order. False if they are not kept.
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError>;
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

/// What a search found out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended.
    pub ending: Ending,
    /// The size of each layer. Those expanded, and the one behind them if it is known.
    pub layers: Vec<u64>,
    /// States that were expanded.
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
    /// Where the time went, over all threads.
    pub cost: Cost,
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

/// Sets of taken actions larger than this are not kept.
const COVERAGE_ACTIONS_MAX: u32 = 1 << 24;

/// Searches breadth-first from the initial states. A budget that is used up is an ending; on any other error of the machine, what the policy
/// has committed stays.
pub fn run<P: LayerPolicy>(
    system: &dyn TransitionSystem,
    policy: &mut P,
    budget: &Budget,
    settings: &Settings,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let mut search = Search::new(system, budget, settings, observer, policy)?;
    match search.layers(policy) {
        Ok(ending) => Ok(search.finish(ending)),
        Err(SearchError::Budget(_)) => Ok(search.finish(Ending::Budget)),
        Err(error) => Err(error),
    }
}

/// A search under way.
struct Search<'a, W> {
    system: &'a dyn TransitionSystem,
    budget: &'a Budget,
    settings: &'a Settings,
    observer: &'a dyn Observer,
    workers: Vec<W>,
    desks: Vec<Desk>,
    /// For the sizes of the layers, the one thing here that grows with the depth of the space.
    sizes: Charge,
    outcome: Outcome,
}

/// What a thread needs to expand batches.
struct Desk {
    batch: RecordBuffer,
    batch_records: usize,
    steps: Steps,
    charge: Charge,
    tally: Tally,
}

/// What one thread has counted in a layer.
#[derive(Default)]
struct Tally {
    expanded: u64,
    transitions: u64,
    deadlocks: u64,
    faults: u64,
    label_faults: u64,
    labels_seen: Labels,
    checksum: Checksum,
    findings: Findings,
    actions_taken: Vec<u64>,
    cost: Cost,
}

/// What the threads of one layer share.
struct LayerShare {
    layer: u64,
    frontier: u64,
    states_before: u64,
    transitions_before: u64,
    expanded: AtomicU64,
    transitions: AtomicU64,
    stopped: AtomicBool,
    failure: Mutex<Option<SearchError>>,
}

impl<'a, W: Send> Search<'a, W> {
    fn new<P: LayerPolicy<Worker = W>>(
        system: &'a dyn TransitionSystem,
        budget: &'a Budget,
        settings: &'a Settings,
        observer: &'a dyn Observer,
        policy: &P,
    ) -> Result<Self, SearchError> {
        let threads = settings.threads.max(1);
        let desks =
            (0..threads).map(|_| Desk::new(system, budget, settings, threads)).collect::<Result<_, _>>()?;
        let workers = (0..threads).map(|_| policy.worker()).collect::<Result<_, _>>()?;
        let outcome = Outcome {
            ending: Ending::Complete,
            layers: Vec::new(),
            expanded: 0,
            transitions: 0,
            deadlocks: 0,
            faults: 0,
            label_faults: 0,
            labels_seen: Labels::default(),
            checksum: Checksum::default(),
            locality: Some(0),
            findings: Findings::new(settings.conditions.len()),
            actions_taken: empty_coverage(system, settings),
            cost: Cost::default(),
        };
        let sizes = budget.charge("layer sizes", 0)?;
        Ok(Search { system, budget, settings, observer, workers, desks, sizes, outcome })
    }

    /// Expands layer after layer; says why it ended.
    fn layers<P: LayerPolicy<Worker = W>>(&mut self, policy: &mut P) -> Result<Ending, SearchError> {
        self.start(policy)?;
        self.close(policy)?;
        loop {
            let layer = self.layer();
            let frontier = self.outcome.layers[layer as usize];
            if frontier == 0 {
                self.outcome.layers.pop();
                return Ok(Ending::Complete);
            }
            if self.settings.max_depth.is_some_and(|depth| layer > depth) {
                return Ok(Ending::Depth);
            }
            if self.expand_layer(&*policy, frontier)? {
                return Ok(Ending::Stopped);
            }
            if self.settings.stop_at_first && self.outcome.findings.any() {
                return Ok(Ending::Found);
            }
            self.close(policy)?;
        }
    }

    /// The layer that was closed last.
    fn layer(&self) -> u64 {
        self.outcome.layers.len() as u64 - 1
    }

    /// Offers the initial states.
    fn start<P: LayerPolicy<Worker = W>>(&mut self, policy: &P) -> Result<(), SearchError> {
        let Desk { steps, charge, .. } = &mut self.desks[0];
        let held = charge.bytes() - steps.bytes();
        initial_all(self.system, steps, &mut |bytes| charge.resize(held + bytes))?;
        self.outcome.faults += steps.faults().len() as u64;
        if let Some(fault) = steps.faults().first() {
            for (condition, finding) in self.settings.conditions.iter().zip(&mut self.outcome.findings.0) {
                if *condition == Condition::Fault {
                    *finding = Some(Finding { layer: 0, record: None, fault: Some(*fault) });
                }
            }
        }
        policy.offer(&mut self.workers[0], steps.targets())?;
        policy.flush(&mut self.workers[0])
    }

    fn close<P: LayerPolicy<Worker = W>>(&mut self, policy: &mut P) -> Result<(), SearchError> {
        let began = Instant::now();
        let closed = policy.close_layer(&mut self.workers)?;
        self.outcome.cost.close += began.elapsed();
        let layer = self.outcome.layers.len() as u64;
        self.note_size(closed.states)?;
        self.outcome.locality = match (self.outcome.locality, closed.oldest_duplicate) {
            (None, _) | (_, OldestDuplicate::Unknown) => None,
            (Some(locality), OldestDuplicate::None) => Some(locality),
            // Candidates for this layer come from the one before it.
            (Some(locality), OldestDuplicate::Layer(oldest)) => {
                Some(locality.max(layer.saturating_sub(oldest)))
            }
        };
        Ok(())
    }

    fn note_size(&mut self, states: u64) -> Result<(), SearchError> {
        let sizes = &mut self.outcome.layers;
        if sizes.len() == sizes.capacity() {
            let capacity = (sizes.len() * 2).max(16);
            self.sizes.resize(capacity * size_of::<u64>())?;
            sizes.reserve_exact(capacity - sizes.len());
        }
        sizes.push(states);
        Ok(())
    }

    /// Expands every state of the current layer; true if the observer stopped it.
    fn expand_layer<P: LayerPolicy<Worker = W>>(
        &mut self,
        policy: &P,
        frontier: u64,
    ) -> Result<bool, SearchError> {
        let share = LayerShare {
            layer: self.layer(),
            frontier,
            states_before: self.outcome.layers.iter().sum(),
            transitions_before: self.outcome.transitions,
            expanded: AtomicU64::new(0),
            transitions: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            failure: Mutex::new(None),
        };
        let threads = if frontier < self.settings.tuning.shared_layer_min { 1 } else { self.desks.len() };
        let (system, settings, observer, budget) = (self.system, self.settings, self.observer, self.budget);
        let expand = |desk: &mut Desk, worker: &mut W| {
            let outcome = expand_share(system, policy, settings, observer, budget, &share, desk, worker);
            if let Err(error) = outcome {
                share.stopped.store(true, Ordering::Relaxed);
                share.failure.lock().expect("no thread panics while it reports").get_or_insert(error);
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
            collect(&mut self.outcome, &mut desk.tally);
        }
        match share.failure.into_inner().expect("no thread panics while it reports") {
            Some(error) => Err(error),
            None => Ok(share.stopped.into_inner()),
        }
    }

    fn finish(self, ending: Ending) -> Outcome {
        Outcome { ending, ..self.outcome }
    }
}

impl Desk {
    fn new(
        system: &dyn TransitionSystem,
        budget: &Budget,
        settings: &Settings,
        threads: usize,
    ) -> Result<Desk, SearchError> {
        let shape = system.shape();
        let labels = settings.conditions.iter().any(|condition| condition.reads_labels());
        let columns = Columns { labels, actions: settings.coverage, ..Columns::NONE };
        let Tuning { batch_records_max, steps_per_source, .. } = settings.tuning;
        let each = shape.words() * 8 + steps_per_source * Steps::bytes_for(shape.words(), columns, 1);
        let batch_records = (budget.free() / (16 * threads) / each).clamp(1, batch_records_max);
        let capacity = batch_records * steps_per_source;
        let bytes = batch_records * shape.words() * 8 + Steps::bytes_for(shape.words(), columns, capacity);
        let charge = budget.charge("expansion", bytes)?;
        let steps = Steps::new(shape, columns, capacity);
        let batch = RecordBuffer::with_capacity(shape.words(), batch_records);
        Ok(Desk { batch, batch_records, steps, charge, tally: Tally::new(system, settings) })
    }
}

impl Tally {
    fn new(system: &dyn TransitionSystem, settings: &Settings) -> Tally {
        Tally {
            findings: Findings::new(settings.conditions.len()),
            actions_taken: empty_coverage(system, settings),
            ..Tally::default()
        }
    }
}

fn empty_coverage(system: &dyn TransitionSystem, settings: &Settings) -> Vec<u64> {
    let count = system.shape().action_count;
    let wanted = settings.coverage && count <= COVERAGE_ACTIONS_MAX;
    vec![0; if wanted { count.div_ceil(64) as usize } else { 0 }]
}

/// One thread's part of a layer: batches until there are no more.
#[expect(clippy::too_many_arguments, reason = "a thread is handed everything it works with")]
fn expand_share<P: LayerPolicy>(
    system: &dyn TransitionSystem,
    policy: &P,
    settings: &Settings,
    observer: &dyn Observer,
    budget: &Budget,
    share: &LayerShare,
    desk: &mut Desk,
    worker: &mut P::Worker,
) -> Result<(), SearchError> {
    loop {
        if share.stopped.load(Ordering::Relaxed) || observer.stop() {
            share.stopped.store(true, Ordering::Relaxed);
            return Ok(());
        }
        policy.next_batch(worker, desk.batch_records, &mut desk.batch)?;
        if desk.batch.is_empty() {
            break;
        }
        observer.expanded(share.layer, desk.batch.view());
        let steps_made = expand_batch(system, policy, settings, share.layer, desk, worker)?;
        let expanded =
            share.expanded.fetch_add(desk.batch.len() as u64, Ordering::Relaxed) + desk.batch.len() as u64;
        let transitions = share.transitions.fetch_add(steps_made, Ordering::Relaxed) + steps_made;
        observer.progress(Progress {
            layer: share.layer,
            frontier: share.frontier,
            expanded,
            states: share.states_before,
            transitions: share.transitions_before + transitions,
            budget_used: budget.used() as u64,
        });
    }
    let began = Instant::now();
    policy.flush(worker)?;
    desk.tally.cost.offer += began.elapsed();
    Ok(())
}

/// Expands the batch on the desk and offers the targets; says how many steps there were.
fn expand_batch<P: LayerPolicy>(
    system: &dyn TransitionSystem,
    policy: &P,
    settings: &Settings,
    layer: u64,
    desk: &mut Desk,
    worker: &mut P::Worker,
) -> Result<u64, SearchError> {
    let Desk { batch, steps, charge, tally, .. } = desk;
    let mut rest = batch.view();
    let mut steps_made = 0;
    while !rest.is_empty() {
        let began = Instant::now();
        let held = charge.bytes() - steps.bytes();
        let finished = expand_some(system, rest, steps, &mut |bytes| charge.resize(held + bytes))?;
        let expanded = Instant::now();
        tally.watch(rest.take(finished), steps, &settings.conditions, layer);
        let watched = Instant::now();
        policy.offer(worker, steps.targets())?;
        tally.cost.expand += expanded - began;
        tally.cost.watch += watched - expanded;
        tally.cost.offer += watched.elapsed();
        steps_made += steps.step_count() as u64;
        rest = rest.skip(finished);
    }
    Ok(steps_made)
}

impl Tally {
    /// Counts what was expanded and tests the conditions on it.
    fn watch(&mut self, sources: Records<'_>, steps: &Steps, conditions: &[Condition], layer: u64) {
        self.expanded += sources.len() as u64;
        self.transitions += steps.step_count() as u64;
        self.faults += steps.faults().len() as u64;
        for (source, record) in sources.iter().enumerate() {
            self.checksum.add(record);
            let stuck = steps.steps_of(source).is_empty() && steps.faults_of(source).is_empty();
            self.deadlocks += u64::from(stuck);
            for (number, condition) in conditions.iter().enumerate() {
                if condition.met(record, steps, source) {
                    self.findings.note(number, layer, record, steps.faults_of(source).first().copied());
                }
            }
        }
        if steps.columns().labels {
            for source in 0..sources.len() {
                let labels = steps.labels(source);
                self.label_faults += u64::from(labels.faulted());
                self.labels_seen.0 |= labels.0;
            }
        }
        if !self.actions_taken.is_empty() {
            for step in 0..steps.step_count() {
                let action = steps.action(step);
                self.actions_taken[action as usize / 64] |= 1 << (action % 64);
            }
        }
    }
}

/// Moves a thread's counts into the outcome.
fn collect(outcome: &mut Outcome, tally: &mut Tally) {
    outcome.expanded += std::mem::take(&mut tally.expanded);
    outcome.transitions += std::mem::take(&mut tally.transitions);
    outcome.deadlocks += std::mem::take(&mut tally.deadlocks);
    outcome.faults += std::mem::take(&mut tally.faults);
    outcome.label_faults += std::mem::take(&mut tally.label_faults);
    outcome.labels_seen.0 |= tally.labels_seen.0;
    outcome.checksum.merge(std::mem::take(&mut tally.checksum));
    let conditions = tally.findings.0.len();
    outcome.findings.merge(std::mem::replace(&mut tally.findings, Findings::new(conditions)));
    for (all, taken) in outcome.actions_taken.iter_mut().zip(&tally.actions_taken) {
        *all |= taken;
    }
    let cost = std::mem::take(&mut tally.cost);
    outcome.cost.expand += cost.expand;
    outcome.cost.watch += cost.watch;
    outcome.cost.offer += cost.offer;
}
