//! Body: which states does a breadth-first search reach, layer by layer?
//!
//! ```text
//!            +-- next_batch --> expand --> offer --> flush --+                   +-- close_share --+       (threads)
//!   layer d -+-- next_batch --> expand --> offer --> flush --+-- prepare_close --+-- close_share --+-- close_layer --> layer d + 1
//!            +-- ...                                         |                   +-- ...           |
//! ```
//! The body hands out batches, expands them, counts, and tests conditions on every source. A [`LayerPolicy`] says where layers live, what a
//! candidate is compared with and when, and what is forgotten. All results are functions of the *set* of states in each layer, so they
//! are the same for every policy that is exact, every budget and every number of threads.
//!
//! Between two layers a search is a *boundary*: what was counted so far, in bytes, beside what the policy has. A layer counts only once the
//! next one is closed, so a search can always go back to the last boundary and go on from there: in another process, or with another policy.
//!
//! Memory of the body: per thread one batch of sources and one buffer of steps, both charged.

mod account;
mod crew;
mod desk;
mod tally;

use fathom_disk::budget::Budget;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::system::TransitionSystem;

use crate::error::SearchError;
use crate::task::{Observer, Outcome, Settings, Unobserved};

use account::Account;
use crew::Crew;
use desk::{Desk, Task};

/// Where layers live, what candidates are compared with, when, and what is forgotten.
pub trait LayerPolicy: Send + Sync {
    /// What one thread keeps for itself: buffers of candidates, cursors.
    type Worker: Send;

    /// A thread's own part.
    fn worker(&self) -> Result<Self::Worker, SearchError>;

    /// Takes candidates for the next layer: any order, any repetition, known states too.
    fn offer(&self, worker: &mut Self::Worker, candidates: Records<'_>) -> Result<(), SearchError>;

    /// Hands over whatever the worker still holds back of what it was offered.
    fn flush(&self, worker: &mut Self::Worker) -> Result<(), SearchError>;

    /// Gets ready to close the layer, now that all candidates were handed over. True if all threads should close their shares of it.
    fn prepare_close(&mut self, workers: &mut [&mut Self::Worker]) -> Result<bool, SearchError>;

    /// What can be done by several threads at once to close the layer: each calls this, or one of them alone does.
    fn close_share(&self, worker: &mut Self::Worker) -> Result<(), SearchError>;

    /// Makes the next layer of the candidates: each state once, and none that is known. From now on it is the layer handed out.
    fn close_layer(&mut self, workers: &mut [&mut Self::Worker]) -> Result<ClosedLayer, SearchError>;

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

/// Closes a layer that one worker alone has offered candidates for.
pub(crate) fn close_alone<P: LayerPolicy>(
    policy: &mut P,
    worker: &mut P::Worker,
) -> Result<ClosedLayer, SearchError> {
    policy.prepare_close(&mut [worker])?;
    policy.close_share(worker)?;
    policy.close_layer(&mut [worker])
}

/// Searches breadth-first from the initial states. A budget that is used up is an ending; on any other error of the machine, what the policy
/// has committed stays.
pub fn run<P: LayerPolicy>(
    system: &dyn TransitionSystem,
    policy: &mut P,
    budget: &Budget,
    settings: &Settings,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let task = Task { system, budget, settings, observer };
    let crew = Crew::new(task, policy)?;
    let mut account = Account::new(task)?;
    let ending = crew.with_members(|| {
        account.start(&crew)?;
        account.layers(&crew)
    });
    account.finish(&crew, ending)
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
    let task = Task { system, budget, settings, observer };
    let crew = Crew::new(task, policy)?;
    let mut account = Account::new(task)?;
    account.restore(boundary, &mut crew.own_seat().desk)?;
    let ending = crew.with_members(|| account.layers(&crew));
    account.finish(&crew, ending)
}

/// What was known at a boundary, as the outcome of a search that ended there; without a boundary, of one that has not begun.
pub fn at_boundary(
    system: &dyn TransitionSystem,
    budget: &Budget,
    settings: &Settings,
    boundary: Option<&[u8]>,
) -> Result<Outcome, SearchError> {
    let task = Task { system, budget, settings, observer: &Unobserved };
    let mut account = Account::new(task)?;
    if let Some(boundary) = boundary {
        account.restore(boundary, &mut Desk::new(task, 1)?)?;
    }
    Ok(account.outcome_at_boundary(boundary.is_some()))
}
