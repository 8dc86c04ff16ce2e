//! What has a search counted so far, and how does it go from layer to layer?
//!
//! Only the leader of the workers is here. What was counted of a layer is *pending* until the next one is closed, so that a [boundary](super) is always whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use fathom_disk::budget::BudgetError;
use fathom_model::record::Records;
use fathom_model::system::{expand_some, initial_all};

use super::expand::StageShare;
use super::shift::{self, Order, Own, StageWorkers};
use super::{CheckpointReason, OldestDuplicate, StagePolicy};
use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;
use crate::expansion::buffers::Buffers;
use crate::expansion::tally::Tally;
use crate::task::watch::{Condition, Finding};
use crate::task::{Duplicates, Ending, LayerSizes, Outcome, Phase, Progress, Task};

/// What was counted so far.
pub(super) struct Account<'a> {
    task: Task<'a>,
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
    /// States that were expanded before that.
    expanded_before: u64,
}

impl<'a> Account<'a> {
    /// Nothing was counted yet.
    pub(super) fn new(task: Task<'a>) -> Result<Self, SearchError> {
        let Task { system, budget, settings, .. } = task;
        Ok(Account {
            layers: LayerSizes::new(budget)?,
            frontier: 0,
            locality: Some(0),
            done: Tally::new(system, settings),
            pending: Tally::new(system, settings),
            steps_before: 0,
            expanded_before: 0,
            task,
        })
    }

    /// Offers the initial states and closes their layer.
    pub(super) fn start<P: StagePolicy>(&mut self, workers: &StageWorkers<'_, P>) -> Result<(), SearchError> {
        self.offer_initial(workers)?;
        self.close(workers)
    }

    fn offer_initial<P: StagePolicy>(&mut self, workers: &StageWorkers<'_, P>) -> Result<(), SearchError> {
        let mut own = workers.leader();
        let Own { buffers, worker } = &mut *own;
        let Buffers { steps, charge, .. } = buffers;
        let held = charge.bytes() - steps.bytes();
        initial_all(self.task.system, steps, &mut |bytes| charge.resize(held + bytes))?;
        self.pending.faults += steps.faults().len() as u64;
        if let Some(fault) = steps.faults().first() {
            for (number, condition) in self.task.settings.conditions.iter().enumerate() {
                if *condition == Condition::Fault {
                    let finding = Finding { layer: 0, record: None, fault: Some(*fault) };
                    self.pending.findings.add(number, finding);
                }
            }
        }
        let policy = workers.shift().shared_policy();
        policy.offer_steps(worker, None, Records::new(&[], self.task.system.shape().words()), steps)?;
        policy.flush(worker)
    }

    /// Expands layer after layer; says why it ended.
    pub(super) fn layers<P: StagePolicy>(
        &mut self,
        workers: &StageWorkers<'_, P>,
    ) -> Result<Ending, SearchError> {
        while self.frontier > 0 {
            if let Some(reason) = workers.shift().shared_policy().ends() {
                return Ok(Ending::Policy(reason));
            }
            if self.task.settings.max_depth.is_some_and(|depth| self.layer() > depth) {
                return Ok(Ending::Depth);
            }
            if self.expand_layer(workers)? {
                return Ok(Ending::Stopped);
            }
            if self.task.settings.stop_at_first && self.found_enough() {
                return Ok(Ending::Found);
            }
            self.close(workers)?;
        }
        Ok(Ending::Complete)
    }

    /// Whether so many states meet a condition as are asked for.
    fn found_enough(&self) -> bool {
        let (done, pending) = (&self.done.findings, &self.pending.findings);
        (0..done.conditions()).any(|condition| {
            let is_new = |new: &&Finding| done.of(condition).iter().all(|known| known.record != new.record);
            let found = done.of(condition).len() + pending.of(condition).iter().filter(is_new).count();
            found >= self.task.settings.findings_max.max(1)
        })
    }

    /// The layer that was closed last.
    fn layer(&self) -> u64 {
        self.layers.len() as u64 - 1
    }

    /// Closes the next layer: from here on what was counted of the one before it counts.
    fn close<P: StagePolicy>(&mut self, workers: &StageWorkers<'_, P>) -> Result<(), SearchError> {
        let began = Instant::now();
        workers.all().iter_mut().try_for_each(|own| own.buffers.give_back(self.task))?;
        self.tell_closing();
        let closed = shift::close(workers)?;
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
            workers.shift().policy().checkpoint(&|| self.boundary(), CheckpointReason::Passing)?;
        }
        Ok(())
    }

    /// Tells the observer what was there before.
    pub(super) fn tell_taken_up(&self) {
        self.task.observer.taken_up(&self.layers);
    }

    /// Tells the observer that the layer is expanded: deciding what is new may take as long.
    fn tell_closing(&self) {
        let Task { budget, observer, .. } = self.task;
        observer.progress(Progress {
            layer: self.layers.len().saturating_sub(1) as u64,
            frontier: self.frontier,
            expanded: self.frontier,
            states: self.layers.sum(),
            transitions: self.done.transitions + self.pending.transitions,
            ..Progress::of(Phase::Closing, budget)
        });
    }

    /// Expands every state of the current layer; true if the observer stopped it.
    fn expand_layer<P: StagePolicy>(&mut self, workers: &StageWorkers<'_, P>) -> Result<bool, SearchError> {
        let has_layers = workers.shift().shared_policy().has_layers();
        let share = Arc::new(StageShare {
            phase: if has_layers { Phase::Layers } else { Phase::Stages },
            stage: self.layer(),
            frontier: self.frontier,
            states_before: self.layers.sum(),
            transitions_before: self.done.transitions,
            expanded: AtomicU64::new(0),
            transitions: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        });
        let together = self.frontier >= self.task.settings.tuning.shared_layer_min;
        let outcome = workers.carry_out(&Order::Expand(Arc::clone(&share)), together);
        workers.all().iter_mut().for_each(|own| self.pending.take(&mut own.buffers.tally));
        outcome.map(|()| share.stopped.load(Ordering::Relaxed))
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

    /// Takes up what [`Account::boundary`] gave; `buffers` is room to find faults again.
    pub(super) fn restore(&mut self, boundary: &[u8], buffers: &mut Buffers) -> Result<(), SearchError> {
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
        (self.steps_before, self.expanded_before) = (self.done.transitions, self.done.expanded);
        self.restore_faults(buffers)
    }

    /// Finds the faults of restored findings again.
    fn restore_faults(&mut self, buffers: &mut Buffers) -> Result<(), SearchError> {
        let Buffers { steps, charge, .. } = buffers;
        let held = charge.bytes() - steps.bytes();
        let words = self.task.system.shape().words();
        for finding in self.done.findings.all_mut() {
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

    /// Tells the policy how it ended.
    pub(super) fn finish<P: StagePolicy>(
        mut self,
        workers: &StageWorkers<'_, P>,
        ending: Result<Ending, SearchError>,
    ) -> Result<Outcome, SearchError> {
        let (ending, refusal) = match ending {
            Err(SearchError::Budget(refusal)) => (Ending::Budget, Some(refusal)),
            // While the starts were made: there is no boundary yet, and nothing to keep.
            Err(SearchError::Stopped) if self.layers.is_empty() => {
                self.task.observer.stop();
                return Ok(self.outcome_at_boundary(false));
            }
            other => (other?, None),
        };
        let boundary = self.boundary();
        let mut policy = workers.shift().policy();
        match ending {
            Ending::Complete => policy.checkpoint(&|| boundary.clone(), CheckpointReason::Complete)?,
            Ending::Found | Ending::Depth | Ending::Stopped | Ending::Policy(_) => {
                policy.checkpoint(&|| boundary.clone(), CheckpointReason::Stopping)?;
            }
            Ending::Budget => {}
        }
        self.done.take(&mut self.pending);
        let (exact, layered, duplicates) = (!policy.revisits(), policy.has_layers(), policy.duplicates());
        let progress = policy.progress();
        drop(policy);
        Ok(Outcome { exact, layered, duplicates, progress, ..self.outcome(ending, refusal, boundary) })
    }

    /// The outcome of a complete search at this boundary, without some visits.
    pub(super) fn without(mut self, outcome: Outcome, visits: &Tally, layers: LayerSizes) -> Outcome {
        self.done.take_away(visits);
        self.layers = layers;
        let boundary = self.boundary();
        let corrected = self.outcome(outcome.ending, None, boundary);
        Outcome {
            visits: outcome.visits,
            layers: corrected.layers,
            expanded: corrected.expanded,
            transitions: corrected.transitions,
            deadlocks: corrected.deadlocks,
            faults: corrected.faults,
            label_faults: corrected.label_faults,
            checksum: corrected.checksum,
            boundary: corrected.boundary,
            ..outcome
        }
    }

    /// What is known, as the outcome of a search that was `begun` and ended at this boundary, or has not begun.
    pub(super) fn outcome_at_boundary(self, begun: bool) -> Outcome {
        let ending = if begun && self.frontier == 0 { Ending::Complete } else { Ending::Stopped };
        let boundary = self.boundary();
        self.outcome(ending, None, boundary)
    }

    fn outcome(self, ending: Ending, refusal: Option<BudgetError>, boundary: Vec<u8>) -> Outcome {
        let tally = self.done;
        Outcome {
            ending,
            refusal,
            exact: true,
            layered: true,
            duplicates: Duplicates::default(),
            progress: None,
            layers: Arc::new(self.layers),
            visits: tally.expanded,
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
            expanded_before: self.expanded_before,
            boundary,
        }
    }
}
