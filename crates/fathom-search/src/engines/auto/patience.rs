//! When does a search by layers on disk cost more than one in the order of progress might?
//!
//! Where layers are many and small: each of them is closed by asking what is known, and that is paid per layer. The search by layers is watched, and left for a while when it is so; what it has done is committed,
//! so it can go on if nothing better is found.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fathom_disk::storage::Volume;
use fathom_model::record::{RecordBuffer, Records};

use crate::bodies::stages::{self, CheckpointReason, ClosedStage, StagePolicy};
use crate::engines::tier::{Options, Tier};
use crate::error::SearchError;
use crate::files::candidates::Candidates;
use crate::task::{Duplicates, Outcome, Task};

/// Why the search by layers is left.
pub(super) const DEEP_AND_NARROW: &str = "layers are many and small";

/// States before which nobody worries: a search that is over in a second or two is best left alone.
const STATES_MIN: u64 = 200_000;
/// With fewer states than this in a layer, on average, a layer costs more than its states.
const LAYER_STATES: u64 = 1000;
/// Time to close layers, per step, that is too much; and how long they must have been closed before that is said.
const CLOSING_MAX: Duration = Duration::from_micros(2);
const CLOSING_MIN: Duration = Duration::from_secs(2);

/// The search on disk, and what it costs.
struct Watched {
    tier: Tier,
    layers: u64,
    states: u64,
    steps: AtomicU64,
    closing: Duration,
}

/// Searches on disk, from the start or from what is committed, as long as that is not too dear; `before` are the layers and states that are committed.
pub(super) fn run(
    task: Task<'_>,
    volume: &Volume,
    options: Options,
    before: (u64, u64),
) -> Result<(Tier, Outcome), SearchError> {
    let (tier, boundary) =
        Tier::open(volume, task.budget, task.system.shape(), task.settings.threads, options)?;
    let (layers, states) = before;
    let mut watched = Watched { tier, layers, states, steps: AtomicU64::new(0), closing: Duration::ZERO };
    let outcome = match boundary {
        Some(boundary) => stages::go_on(task, &mut watched, &boundary)?,
        None => stages::run(task, &mut watched)?,
    };
    Ok((watched.tier, outcome))
}

impl StagePolicy for Watched {
    type Worker = Candidates;

    fn worker(&self) -> Result<Candidates, SearchError> {
        self.tier.worker()
    }

    fn offer(&self, worker: &mut Candidates, candidates: Records<'_>) -> Result<(), SearchError> {
        self.steps.fetch_add(candidates.len() as u64, Ordering::Relaxed);
        self.tier.offer(worker, candidates)
    }

    fn flush(&self, worker: &mut Candidates) -> Result<(), SearchError> {
        self.tier.flush(worker)
    }

    fn prepare_close(&mut self, workers: &mut [&mut Candidates]) -> Result<bool, SearchError> {
        self.tier.prepare_close(workers)
    }

    fn close_share(&self, worker: &mut Candidates) -> Result<(), SearchError> {
        self.tier.close_share(worker)
    }

    fn close_stage(&mut self, workers: &mut [&mut Candidates]) -> Result<ClosedStage, SearchError> {
        let began = Instant::now();
        let closed = self.tier.close_stage(workers)?;
        self.closing += began.elapsed();
        self.layers += 1;
        self.states += closed.states;
        Ok(closed)
    }

    fn next_batch(
        &self,
        worker: &mut Candidates,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        self.tier.next_batch(worker, records, batch)
    }

    fn ends(&self) -> Option<&'static str> {
        let steps = u32::try_from(self.steps.load(Ordering::Relaxed)).unwrap_or(u32::MAX).max(1);
        let slow = self.closing > CLOSING_MIN && self.closing / steps > CLOSING_MAX;
        let narrow = self.layers.saturating_mul(LAYER_STATES) > self.states;
        (self.states > STATES_MIN && (slow || narrow)).then_some(DEEP_AND_NARROW)
    }

    fn duplicates(&self) -> Duplicates {
        self.tier.duplicates()
    }

    fn checkpoint(
        &mut self,
        boundary: &dyn Fn() -> Vec<u8>,
        reason: CheckpointReason,
    ) -> Result<(), SearchError> {
        self.tier.checkpoint(boundary, reason)
    }
}
