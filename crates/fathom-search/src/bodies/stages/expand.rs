//! How does one thread expand its share of a stage?

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use fathom_model::system::expand_some;

use super::StagePolicy;
use crate::error::SearchError;
use crate::expansion::buffers::Buffers;
use crate::task::{Phase, Progress, Task};

/// What the threads of one stage share.
#[derive(Debug)]
pub(super) struct StageShare {
    pub(super) phase: Phase,
    pub(super) stage: u64,
    pub(super) frontier: u64,
    pub(super) states_before: u64,
    pub(super) transitions_before: u64,
    pub(super) expanded: AtomicU64,
    pub(super) transitions: AtomicU64,
    pub(super) stopped: AtomicBool,
}

/// One thread's part of a stage: batches until there are no more.
pub(super) fn expand_share<P: StagePolicy>(
    task: Task<'_>,
    policy: &P,
    share: &StageShare,
    buffers: &mut Buffers,
    worker: &mut P::Worker,
) -> Result<(), SearchError> {
    let Task { budget, observer, .. } = task;
    loop {
        if share.stopped.load(Ordering::Relaxed) || observer.stop() {
            share.stopped.store(true, Ordering::Relaxed);
            return Ok(());
        }
        policy.next_batch(worker, buffers.batch_records, &mut buffers.batch)?;
        if buffers.batch.is_empty() {
            break;
        }
        observer.expanded(share.stage, buffers.batch.view());
        let steps_made = match expand_batch(task, policy, share.stage, buffers, worker) {
            // In the middle of a step: the observer knows why, and is told that it was heard.
            Err(SearchError::Stopped) => {
                observer.stop();
                share.stopped.store(true, Ordering::Relaxed);
                return Ok(());
            }
            made => made?,
        };
        let batch = buffers.batch.len() as u64;
        let expanded = share.expanded.fetch_add(batch, Ordering::Relaxed) + batch;
        let transitions = share.transitions.fetch_add(steps_made, Ordering::Relaxed) + steps_made;
        observer.progress(Progress {
            layer: share.stage,
            frontier: share.frontier,
            expanded,
            states: share.states_before,
            transitions: share.transitions_before + transitions,
            ..Progress::of(share.phase, budget)
        });
    }
    let began = Instant::now();
    policy.flush(worker)?;
    buffers.tally.cost.offer += began.elapsed();
    Ok(())
}

/// Expands the batch in the buffers and offers the targets; says how many steps there were.
fn expand_batch<P: StagePolicy>(
    task: Task<'_>,
    policy: &P,
    stage: u64,
    buffers: &mut Buffers,
    worker: &mut P::Worker,
) -> Result<u64, SearchError> {
    let Buffers { batch, steps, charge, tally, .. } = buffers;
    let mut rest = batch.view();
    let mut steps_made = 0;
    while !rest.is_empty() {
        let began = Instant::now();
        let held = charge.bytes() - steps.bytes();
        let finished = expand_some(task.system, rest, steps, &mut |bytes| charge.resize(held + bytes))?;
        let expanded = Instant::now();
        tally.watch(rest.take(finished), steps, &task.settings.conditions, stage);
        let watched = Instant::now();
        policy.offer_steps(worker, Some(stage), rest.take(finished), steps)?;
        tally.cost.expand += expanded - began;
        tally.cost.watch += watched - expanded;
        tally.cost.offer += watched.elapsed();
        steps_made += steps.step_count() as u64;
        rest = rest.skip(finished);
    }
    Ok(steps_made)
}
