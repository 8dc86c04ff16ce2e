//! What do the threads of a search over stages do, and who has the policy when?
//!
//! The policy is behind a lock that nobody ever waits for: all read it while they work, the leader writes it while they wait.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::expand::{StageShare, expand_share};
use super::{ClosedStage, StagePolicy};
use crate::error::SearchError;
use crate::expansion::buffers::Buffers;
use crate::expansion::workers::{Shift, Workers};
use crate::task::Task;

/// Expanding and closing stages of one search.
pub(super) struct StageShift<'a, P: StagePolicy> {
    task: Task<'a>,
    policy: RwLock<&'a mut P>,
}

/// The threads of a search over stages.
pub(super) type StageWorkers<'a, P> = Workers<StageShift<'a, P>>;

/// What a thread has for itself: the body's part and the policy's.
pub(super) struct Own<W> {
    pub(super) buffers: Buffers,
    pub(super) worker: W,
}

/// What all threads are to do.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Expand(Arc<StageShare>),
    Close,
}

impl<P: StagePolicy> Shift for StageShift<'_, P> {
    type Order = Order;
    type Own = Own<P::Worker>;

    fn work(&self, order: &Order, own: &mut Own<P::Worker>) -> Result<(), SearchError> {
        let policy = self.shared_policy();
        let Own { buffers, worker } = own;
        match order {
            Order::Expand(share) => expand_share(self.task, &**policy, share, buffers, worker)
                .inspect_err(|_| share.stopped.store(true, Ordering::Relaxed)),
            Order::Close => policy.close_share(worker),
        }
    }
}

impl<'a, P: StagePolicy> StageShift<'a, P> {
    /// The policy, while no other thread works.
    pub(super) fn policy(&self) -> RwLockWriteGuard<'_, &'a mut P> {
        self.policy.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The policy, beside other threads.
    pub(super) fn shared_policy(&self) -> RwLockReadGuard<'_, &'a mut P> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As many threads as the settings say. Memory: buffers and the policy's part each.
pub(super) fn workers<'a, P: StagePolicy>(
    task: Task<'a>,
    policy: &'a mut P,
) -> Result<StageWorkers<'a, P>, SearchError> {
    let threads = task.settings.threads.max(1);
    let buffers: Vec<Buffers> =
        (0..threads).map(|_| Buffers::new(task, threads)).collect::<Result<_, SearchError>>()?;
    let owned = buffers
        .into_iter()
        .map(|buffers| Ok(Own { buffers, worker: policy.worker()? }))
        .collect::<Result<_, SearchError>>()?;
    Ok(Workers::new(StageShift { task, policy: RwLock::new(policy) }, owned))
}

/// Closes the stage that candidates were offered for.
pub(super) fn close<P: StagePolicy>(workers: &StageWorkers<'_, P>) -> Result<ClosedStage, SearchError> {
    let by_all = with_workers(workers, P::prepare_close)?;
    workers.carry_out(&Order::Close, by_all)?;
    with_workers(workers, P::close_stage)
}

fn with_workers<P: StagePolicy, T>(
    workers: &StageWorkers<'_, P>,
    work: impl FnOnce(&mut P, &mut [&mut P::Worker]) -> T,
) -> T {
    let mut all = workers.all();
    let mut parts: Vec<&mut P::Worker> = all.iter_mut().map(|own| &mut own.worker).collect();
    work(&mut workers.shift().policy(), &mut parts)
}
