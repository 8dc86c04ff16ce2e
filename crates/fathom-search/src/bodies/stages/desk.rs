//! How does one thread expand its share of a layer?

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use fathom_disk::budget::{Budget, Charge};
use fathom_model::record::RecordBuffer;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some};

use super::LayerPolicy;
use super::tally::Tally;
use crate::error::SearchError;
use crate::task::{Observer, Progress, Settings, Tuning};

/// What a thread needs to expand batches. No two threads' share a cache line, nor a pair of lines that are fetched together: each counts
/// here for every state.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Desk {
    pub(super) batch: RecordBuffer,
    batch_records: usize,
    pub(super) steps: Steps,
    pub(super) charge: Charge,
    pub(super) tally: Tally,
}

/// What the threads of one layer share.
#[derive(Debug)]
pub(super) struct LayerShare {
    pub(super) layer: u64,
    pub(super) frontier: u64,
    pub(super) states_before: u64,
    pub(super) transitions_before: u64,
    pub(super) expanded: AtomicU64,
    pub(super) transitions: AtomicU64,
    pub(super) stopped: AtomicBool,
}

/// What does not change from layer to layer.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) system: &'a dyn TransitionSystem,
    pub(super) budget: &'a Budget,
    pub(super) settings: &'a Settings,
    pub(super) observer: &'a dyn Observer,
}

impl Desk {
    pub(super) fn new(task: Task<'_>, threads: usize) -> Result<Desk, SearchError> {
        let Task { system, budget, settings, .. } = task;
        let shape = system.shape();
        let labels = settings.conditions.iter().any(|condition| condition.reads_labels());
        let columns = Columns { labels, actions: settings.coverage, ..Columns::NONE };
        let Tuning { batch_records_max, steps_per_source, .. } = settings.tuning;
        let share = budget.free() / (16 * threads);
        let step = Steps::bytes_for(shape, columns, 1);
        let each = shape.words() * 8 + steps_per_source * step;
        let batch_records = (share / each).clamp(1, batch_records_max);
        let capacity = (batch_records * steps_per_source).min((share / step).max(1));
        let bytes = batch_records * shape.words() * 8 + Steps::bytes_for(shape, columns, capacity);
        let charge = budget.charge("expansion", bytes)?;
        let steps = Steps::new(shape, columns, capacity);
        let batch = RecordBuffer::with_capacity(shape.words(), batch_records);
        Ok(Desk { batch, batch_records, steps, charge, tally: Tally::new(system, settings) })
    }
}

/// One thread's part of a layer: batches until there are no more.
pub(super) fn expand_share<P: LayerPolicy>(
    task: Task<'_>,
    policy: &P,
    share: &LayerShare,
    desk: &mut Desk,
    worker: &mut P::Worker,
) -> Result<(), SearchError> {
    let Task { budget, observer, .. } = task;
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
        let steps_made = expand_batch(task, policy, share.layer, desk, worker)?;
        let batch = desk.batch.len() as u64;
        let expanded = share.expanded.fetch_add(batch, Ordering::Relaxed) + batch;
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
    task: Task<'_>,
    policy: &P,
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
        let finished = expand_some(task.system, rest, steps, &mut |bytes| charge.resize(held + bytes))?;
        let expanded = Instant::now();
        tally.watch(rest.take(finished), steps, &task.settings.conditions, layer);
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
