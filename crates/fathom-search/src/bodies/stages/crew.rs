//! How do threads that stay for a whole search share the work of a layer, and who waits for whom?
//!
//! ```text
//! leader   order | own share | all done? | between layers: alone with the policy | order | ...
//! members  ----- | share     | --------- | ------------------------------------- | ----- | ...
//! ```
//! The thread that called leads; the others were started once. They wait a moment by asking again and again, then asleep: between two layers there are
//! microseconds, while waking a thread takes some ten of them. The policy is behind a lock that nobody ever waits for: all read it while they work, the leader
//! writes it while they wait. A thread that panics ends the waiting of all others, so that the panic gets out.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use super::desk::{Desk, LayerShare, Task, expand_share};
use super::{ClosedLayer, LayerPolicy};
use crate::error::SearchError;

/// The threads of a search, the leader among them, and what they work on.
pub(super) struct Crew<'a, P: LayerPolicy> {
    task: Task<'a>,
    policy: RwLock<&'a mut P>,
    seats: Vec<Mutex<Seat<P::Worker>>>,
    /// How many threads there are, this one among them: the system may give fewer than there are seats for. A seat without a thread has nothing to do; all work of a layer goes to who asks for it.
    present: AtomicUsize,
    order: Mutex<Order>,
    begin: Meeting,
    end: Meeting,
    failure: Mutex<Option<SearchError>>,
}

/// A thread's place.
pub(super) struct Seat<W> {
    pub(super) desk: Desk,
    pub(super) worker: W,
}

/// What all threads are to do.
#[derive(Clone, Debug)]
enum Order {
    Expand(Arc<LayerShare>),
    Close,
}

impl<'a, P: LayerPolicy> Crew<'a, P> {
    /// Seats for as many threads as the settings say. Memory: a desk and a worker each.
    pub(super) fn new(task: Task<'a>, policy: &'a mut P) -> Result<Self, SearchError> {
        let threads = task.settings.threads.max(1);
        let desks: Vec<Desk> =
            (0..threads).map(|_| Desk::new(task, threads)).collect::<Result<_, SearchError>>()?;
        let seats = desks
            .into_iter()
            .map(|desk| Ok(Mutex::new(Seat { desk, worker: policy.worker()? })))
            .collect::<Result<_, SearchError>>()?;
        Ok(Crew {
            task,
            policy: RwLock::new(policy),
            seats,
            present: AtomicUsize::new(1),
            order: Mutex::new(Order::Close),
            begin: Meeting::new(threads),
            end: Meeting::new(threads),
            failure: Mutex::new(None),
        })
    }

    /// Does `lead` on this thread, with the others at hand until it returns.
    pub(super) fn with_members<T>(
        &self,
        lead: impl FnOnce() -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        std::thread::scope(|scope| {
            let _dismissal = Dismissal(self);
            let hire = |number: &usize| {
                let number = *number;
                std::thread::Builder::new().spawn_scoped(scope, move || self.follow(number)).is_ok()
            };
            let present = 1 + (1..self.seats.len()).take_while(hire).count();
            self.present.store(present, Ordering::Relaxed);
            // No meeting is over before this thread has come, and it has not yet.
            self.begin.size.store(present, Ordering::Release);
            self.end.size.store(present, Ordering::Release);
            lead()
        })
    }

    /// Expands a layer, by all threads or by this one alone.
    pub(super) fn expand(&self, share: &Arc<LayerShare>, together: bool) -> Result<(), SearchError> {
        self.carry_out(&Order::Expand(Arc::clone(share)), together)
    }

    /// Closes the layer that candidates were offered for.
    pub(super) fn close(&self) -> Result<ClosedLayer, SearchError> {
        let together = self.with_workers(P::prepare_close)?;
        self.carry_out(&Order::Close, together)?;
        self.with_workers(P::close_layer)
    }

    /// The policy, while no other thread works.
    pub(super) fn policy(&self) -> RwLockWriteGuard<'_, &'a mut P> {
        self.policy.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The policy, beside other threads.
    pub(super) fn shared_policy(&self) -> RwLockReadGuard<'_, &'a mut P> {
        self.policy.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The leader's seat.
    pub(super) fn own_seat(&self) -> MutexGuard<'_, Seat<P::Worker>> {
        lock(&self.seats[0])
    }

    /// Calls `visit` with every seat, while no other thread works.
    pub(super) fn for_each_seat(&self, mut visit: impl FnMut(&mut Seat<P::Worker>)) {
        self.seats.iter().for_each(|seat| visit(&mut lock(seat)));
    }

    fn with_workers<T>(&self, work: impl FnOnce(&mut P, &mut [&mut P::Worker]) -> T) -> T {
        let mut seats: Vec<_> = self.seats.iter().map(lock).collect();
        let mut workers: Vec<&mut P::Worker> = seats.iter_mut().map(|seat| &mut seat.worker).collect();
        work(&mut self.policy(), &mut workers)
    }

    fn carry_out(&self, order: &Order, together: bool) -> Result<(), SearchError> {
        if together && self.present.load(Ordering::Relaxed) > 1 {
            *lock(&self.order) = order.clone();
            let all_there = self.begin.meet() && {
                self.share(order, 0);
                self.end.meet()
            };
            assert!(all_there, "a thread of the search panicked");
        } else {
            self.share(order, 0);
        }
        lock(&self.failure).take().map_or(Ok(()), Err)
    }

    /// What a member does all day.
    fn follow(&self, number: usize) {
        let _absence = Absence(self);
        while self.begin.meet() {
            let order = lock(&self.order).clone();
            self.share(&order, number);
            if !self.end.meet() {
                break;
            }
        }
    }

    /// One thread's part of an order.
    fn share(&self, order: &Order, number: usize) {
        let policy = self.shared_policy();
        let Seat { desk, worker } = &mut *lock(&self.seats[number]);
        let done = match order {
            Order::Expand(share) => expand_share(self.task, &**policy, share, desk, worker)
                .inspect_err(|_| share.stopped.store(true, Ordering::Relaxed)),
            Order::Close => policy.close_share(worker),
        };
        if let Err(error) = done {
            lock(&self.failure).get_or_insert(error);
        }
    }
}

/// Sends the members home when the leader is done, or panics.
struct Dismissal<'c, 'a, P: LayerPolicy>(&'c Crew<'a, P>);

impl<P: LayerPolicy> Drop for Dismissal<'_, '_, P> {
    fn drop(&mut self) {
        self.0.begin.close();
        self.0.end.close();
    }
}

/// Lets the others know when a member panics.
struct Absence<'c, 'a, P: LayerPolicy>(&'c Crew<'a, P>);

impl<P: LayerPolicy> Drop for Absence<'_, '_, P> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.begin.close();
            self.0.end.close();
        }
    }
}

/// A lock that a panic elsewhere does not poison: after one, nothing behind it counts any more.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a number of threads wait for one another, again and again.
#[derive(Debug)]
struct Meeting {
    size: AtomicUsize,
    arrived: AtomicUsize,
    /// How many meetings there were.
    held: AtomicU64,
    closed: AtomicBool,
    /// Whether threads share a processor, as far as the last to wait could tell.
    crowded: AtomicBool,
    /// How many sleep.
    asleep: Mutex<usize>,
    woken: Condvar,
}

/// How often a thread asks, giving way to others in between, before it goes to sleep: a few milliseconds if nobody takes the chance. Between two layers it is less than
/// that. Waking a sleeping processor would take a tenth of a millisecond, and the kernel may wake the thread on a processor that is taken, where it stays for
/// milliseconds.
const QUESTIONS: u32 = 1 << 13;

/// Who gives way and comes back only after this long shares a processor with somebody, perhaps with the very thread it waits for, and the kernel takes many milliseconds to
/// part two that both want to run. So the next one to wait sleeps at once: who sleeps is woken where nobody is.
const CROWDED_AFTER: Duration = Duration::from_micros(50);

impl Meeting {
    fn new(size: usize) -> Meeting {
        Meeting {
            size: AtomicUsize::new(size),
            arrived: AtomicUsize::new(0),
            held: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            crowded: AtomicBool::new(false),
            asleep: Mutex::new(0),
            woken: Condvar::new(),
        }
    }

    /// Waits until as many threads as there are have come; false if there are no more meetings.
    fn meet(&self) -> bool {
        let held = self.held.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size.load(Ordering::Acquire) {
            self.arrived.store(0, Ordering::Relaxed);
            self.wake(|| self.held.store(held + 1, Ordering::Release));
        } else {
            self.wait(held);
        }
        !self.closed.load(Ordering::Acquire)
    }

    /// Ends all waiting, for good.
    fn close(&self) {
        self.wake(|| self.closed.store(true, Ordering::Release));
    }

    /// Changes what is waited for, and wakes who sleeps. The change is made under the lock, so that nobody falls asleep between asking and being woken; the waking is not, since
    /// who wakes takes it.
    fn wake(&self, change: impl FnOnce()) {
        let asleep = {
            let asleep = lock(&self.asleep);
            change();
            *asleep
        };
        if asleep > 0 {
            self.woken.notify_all();
        }
    }

    fn wait(&self, held: u64) {
        let over = || self.held.load(Ordering::Acquire) != held || self.closed.load(Ordering::Acquire);
        let questions = if self.crowded.swap(false, Ordering::Relaxed) { 0 } else { QUESTIONS };
        for _ in 0..questions {
            if over() {
                return;
            }
            let asked = Instant::now();
            std::thread::yield_now();
            if asked.elapsed() > CROWDED_AFTER {
                self.crowded.store(true, Ordering::Relaxed);
                break;
            }
        }
        let mut asleep = lock(&self.asleep);
        *asleep += 1;
        let woken = self.woken.wait_while(asleep, |_| !over());
        *woken.unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_leaves_a_meeting_before_all_have_come() {
        for threads in 1..=5 {
            let meeting = Meeting::new(threads);
            let come = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for number in 0..threads {
                    let (meeting, come) = (&meeting, &come);
                    scope.spawn(move || {
                        for round in 1..=200 {
                            if (round + number) % 50 == 0 {
                                // Long enough for the others to fall asleep.
                                std::thread::sleep(Duration::from_millis(1));
                            }
                            come.fetch_add(1, Ordering::Relaxed);
                            assert!(meeting.meet());
                            assert_eq!(come.load(Ordering::Relaxed), threads * round);
                            assert!(meeting.meet());
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn a_closed_meeting_keeps_nobody() {
        let meeting = Meeting::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| meeting.meet());
            std::thread::sleep(Duration::from_millis(2));
            meeting.close();
            assert!(!waiting.join().unwrap());
        });
        assert!(!meeting.meet(), "nor anybody who comes later");
    }
}
