//! Body: which states does a breadth-first search reach, layer by layer?
//!
//! ```text
//!            +-- next_batch --> expand --> offer --> flush --+                   +-- close_share --+       (threads)
//!   layer d -+-- next_batch --> expand --> offer --> flush --+-- prepare_close --+-- close_share --+-- close_stage --> layer d + 1
//!            +-- ...                                         |                   +-- ...           |
//! ```
//! The body hands out batches, expands them, counts, and tests conditions on every source. A [`StagePolicy`] says where layers live, what a
//! candidate is compared with and when, and what is forgotten. All results are functions of the *set* of states in each layer, so they
//! are the same for every policy that is exact, every budget and every number of threads.
//!
//! Between two layers a search is a *boundary*: what was counted so far, in bytes, beside what the policy has. A layer counts only once the
//! next one is closed, so a search can always go back to the last boundary and go on from there: in another process, or with another policy.
//!
//! Memory of the body: per thread one batch of sources and one buffer of steps, both charged.

mod account;
mod expand;
mod shift;

use fathom_model::record::{RecordBuffer, Records};
use fathom_model::steps::Steps;

use crate::error::SearchError;
use crate::expansion::buffers::Buffers;
use crate::expansion::tally::Tally;
use crate::task::{Duplicates, LayerSizes, Outcome, ProgressFigures, Task};

use account::Account;

/// Where layers live, what candidates are compared with, when, and what is forgotten.
pub trait StagePolicy: Send + Sync {
    /// What one thread keeps for itself: buffers of candidates, cursors.
    type Worker: Send;

    /// A thread's own part.
    fn worker(&self) -> Result<Self::Worker, SearchError>;

    /// Takes candidates for the next layer: any order, any repetition, known states too.
    fn offer(&self, worker: &mut Self::Worker, candidates: Records<'_>) -> Result<(), SearchError>;

    /// Takes what some states of a stage lead to; no stage and no sources for the initial states. Policies that keep parents, provenance or values look at sources and steps;
    /// to others only the targets matter.
    fn offer_steps(
        &self,
        worker: &mut Self::Worker,
        _stage: Option<u64>,
        _sources: Records<'_>,
        steps: &Steps,
    ) -> Result<(), SearchError> {
        self.offer(worker, steps.targets())
    }

    /// Hands over whatever the worker still holds back of what it was offered.
    fn flush(&self, worker: &mut Self::Worker) -> Result<(), SearchError>;

    /// Gets ready to close the layer, now that all candidates were handed over. True if all threads should close their shares of it.
    fn prepare_close(&mut self, workers: &mut [&mut Self::Worker]) -> Result<bool, SearchError>;

    /// What can be done by several threads at once to close the layer: each calls this, or one of them alone does.
    fn close_share(&self, worker: &mut Self::Worker) -> Result<(), SearchError>;

    /// Makes the next layer of the candidates: each state once, and none that is known. From now on it is the layer handed out.
    fn close_stage(&mut self, workers: &mut [&mut Self::Worker]) -> Result<ClosedStage, SearchError>;

    /// Fills `batch` with up to `records` states of the current layer that were not handed out yet; empty when there are no more.
    fn next_batch(
        &self,
        worker: &mut Self::Worker,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError>;

    /// Why the search is to end at the stage that was closed last, none of which is expanded then; none if it goes on. What was found so far counts, and whoever asked is told that a limit was
    /// reached, in these words.
    fn ends(&self) -> Option<&'static str> {
        None
    }

    /// Whether some states were handed out more than once, as far as is known: then nobody knows how many there are.
    fn revisits(&self) -> bool {
        false
    }

    /// How candidates that were known already were noticed, as far as that was counted.
    fn duplicates(&self) -> Duplicates {
        Duplicates::default()
    }

    /// What was seen of the measure of progress, if stages are in the order of one.
    fn progress(&self) -> Option<ProgressFigures> {
        None
    }

    /// Whether stages are layers: states that are as many steps away from the initial ones.
    fn has_layers(&self) -> bool {
        true
    }

    /// Told of every boundary, so that it may be made to last: `boundary` is what [`go_on`] needs beside the policy's own. Candidates offered since
    /// the last layer was closed are not part of it.
    fn checkpoint(
        &mut self,
        _boundary: &dyn Fn() -> Vec<u8>,
        _reason: CheckpointReason,
    ) -> Result<(), SearchError> {
        Ok(())
    }
}

/// When a policy is told of a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointReason {
    /// The search goes on at once.
    Passing,
    /// The search ends here, though there is more to expand.
    Stopping,
    /// There is nothing more to expand.
    Complete,
}

/// What is known of a layer when it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedStage {
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

/// Closes a layer that one worker alone has offered candidates for.
pub(crate) fn close_alone<P: StagePolicy>(
    policy: &mut P,
    worker: &mut P::Worker,
) -> Result<ClosedStage, SearchError> {
    policy.prepare_close(&mut [worker])?;
    policy.close_share(worker)?;
    policy.close_stage(&mut [worker])
}

/// Searches breadth-first from the initial states. A budget that is used up is an ending; on any other error of the machine, what the policy
/// has committed stays.
pub fn run<P: StagePolicy>(task: Task<'_>, policy: &mut P) -> Result<Outcome, SearchError> {
    let workers = shift::workers(task, policy)?;
    let mut account = Account::new(task)?;
    let ending = workers.together(|| {
        account.start(&workers)?;
        account.layers(&workers)
    });
    account.finish(&workers, ending)
}

/// Goes on from a boundary of a search of the same system with the same settings, limits and threads aside. The policy has the layers up to there.
pub fn go_on<P: StagePolicy>(
    task: Task<'_>,
    policy: &mut P,
    boundary: &[u8],
) -> Result<Outcome, SearchError> {
    let workers = shift::workers(task, policy)?;
    let mut account = Account::new(task)?;
    account.restore(boundary, &mut workers.leader().buffers)?;
    account.tell_taken_up();
    let ending = workers.together(|| account.layers(&workers));
    account.finish(&workers, ending)
}

/// What a complete search says without some visits of states that were visited before, and with layers of these sizes. It is exact then.
pub(crate) fn without_visits(
    task: Task<'_>,
    outcome: Outcome,
    visits: &Tally,
    layers: LayerSizes,
) -> Result<Outcome, SearchError> {
    let mut account = Account::new(task)?;
    account.restore(&outcome.boundary, &mut Buffers::new(task, 1)?)?;
    Ok(account.without(outcome, visits, layers))
}

/// What was known at a boundary, as the outcome of a search that ended there; without a boundary, of one that has not begun.
pub fn at_boundary(task: Task<'_>, boundary: Option<&[u8]>) -> Result<Outcome, SearchError> {
    let mut account = Account::new(task)?;
    if let Some(boundary) = boundary {
        account.restore(boundary, &mut Buffers::new(task, 1)?)?;
    }
    Ok(account.outcome_at_boundary(boundary.is_some()))
}
