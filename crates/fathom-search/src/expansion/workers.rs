//! How do threads that stay for a whole search work together, and who waits for whom?
//!
//! ```text
//! leader   order | own share | all done? | between orders: alone | order | ...
//! others   ----- | share     | --------- | --------------------- | ----- | ...
//! ```
//! The thread that called leads; the others were started once and wait at a [`Barrier`] between orders. What they do is a [`Shift`]. A thread that panics ends the waiting
//! of all others, so that the panic gets out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::barrier::Barrier;
use super::lock;
use crate::error::SearchError;

/// What threads do together, order by order.
pub(crate) trait Shift: Sync {
    /// What all of them are to do next.
    type Order: Clone + Send;
    /// What one of them has for itself.
    type Own: Send;

    /// One thread's share of an order. It has none left when it returns.
    fn work(&self, order: &Self::Order, own: &mut Self::Own) -> Result<(), SearchError>;
}

/// The threads of a search, the leader among them, and what they work on.
pub(crate) struct Workers<S: Shift> {
    shift: S,
    owned: Vec<Mutex<S::Own>>,
    /// How many threads there are, this one among them: the system may start fewer than were asked for. All work of an order goes to who asks for it, so nothing is left undone.
    present: AtomicUsize,
    order: Mutex<Option<S::Order>>,
    begin: Barrier,
    end: Barrier,
    failure: Mutex<Option<SearchError>>,
}

impl<S: Shift> Workers<S> {
    /// As many threads as there are owned parts, the first of which is the leader's.
    pub(crate) fn new(shift: S, owned: Vec<S::Own>) -> Workers<S> {
        let threads = owned.len();
        Workers {
            shift,
            owned: owned.into_iter().map(Mutex::new).collect(),
            present: AtomicUsize::new(1),
            order: Mutex::new(None),
            begin: Barrier::new(threads),
            end: Barrier::new(threads),
            failure: Mutex::new(None),
        }
    }

    /// Does `lead` on this thread, with the others at hand until it returns.
    pub(crate) fn together<T>(
        &self,
        lead: impl FnOnce() -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        std::thread::scope(|scope| {
            let _dismissal = CloseBarriers { workers: self, only_in_panic: false };
            let start = |number: &usize| {
                let number = *number;
                std::thread::Builder::new().spawn_scoped(scope, move || self.follow(number)).is_ok()
            };
            let present = 1 + (1..self.owned.len()).take_while(start).count();
            self.present.store(present, Ordering::Relaxed);
            self.begin.set_parties(present);
            self.end.set_parties(present);
            lead()
        })
    }

    /// What is worked on.
    pub(crate) fn shift(&self) -> &S {
        &self.shift
    }

    /// The leader's own part.
    pub(crate) fn leader(&self) -> MutexGuard<'_, S::Own> {
        lock(&self.owned[0])
    }

    /// What all threads have for themselves, while none of them works.
    pub(crate) fn all(&self) -> Vec<MutexGuard<'_, S::Own>> {
        self.owned.iter().map(lock).collect()
    }

    /// What threads had for themselves, when the work is done.
    pub(crate) fn into_owned(self) -> Vec<S::Own> {
        self.owned.into_iter().map(|own| own.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Has an order carried out, by all threads or by this one alone.
    pub(crate) fn carry_out(&self, order: &S::Order, by_all: bool) -> Result<(), SearchError> {
        if by_all && self.present.load(Ordering::Relaxed) > 1 {
            *lock(&self.order) = Some(order.clone());
            let all_there = self.begin.wait() && {
                self.share(order, 0);
                self.end.wait()
            };
            assert!(all_there, "a thread of the search panicked");
        } else {
            self.share(order, 0);
        }
        lock(&self.failure).take().map_or(Ok(()), Err)
    }

    /// What a thread that does not lead does all day.
    fn follow(&self, number: usize) {
        let _guard = CloseBarriers { workers: self, only_in_panic: true };
        while self.begin.wait() {
            let order = lock(&self.order).clone();
            if let Some(order) = order {
                self.share(&order, number);
            }
            if !self.end.wait() {
                break;
            }
        }
    }

    /// One thread's share of an order.
    fn share(&self, order: &S::Order, number: usize) {
        if let Err(error) = self.shift.work(order, &mut lock(&self.owned[number])) {
            lock(&self.failure).get_or_insert(error);
        }
    }
}

/// Ends all waiting when it goes: of the leader at the end, of any thread when it panics.
struct CloseBarriers<'w, S: Shift> {
    workers: &'w Workers<S>,
    only_in_panic: bool,
}

impl<S: Shift> Drop for CloseBarriers<'_, S> {
    fn drop(&mut self) {
        if !self.only_in_panic || std::thread::panicking() {
            self.workers.begin.close();
            self.workers.end.close();
        }
    }
}
