//! Where do a number of threads wait for one another, again and again?
//!
//! Between two stages of a search there are microseconds, while waking a thread takes some ten of them: who waits asks again and again for a moment, then sleeps.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::lock;

/// Where a number of threads wait for one another, again and again.
#[derive(Debug)]
pub(crate) struct Barrier {
    parties: AtomicUsize,
    arrived: AtomicUsize,
    /// How often all have come.
    generation: AtomicU64,
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
const SPINS: u32 = 1 << 13;

/// Who gives way and comes back only after this long shares a processor with somebody, perhaps with the very thread it waits for, and the kernel takes many milliseconds to
/// part two that both want to run. So the next one to wait sleeps at once: who sleeps is woken where nobody is.
const CROWDED_AFTER: Duration = Duration::from_micros(50);

impl Barrier {
    pub(crate) fn new(parties: usize) -> Barrier {
        Barrier {
            parties: AtomicUsize::new(parties),
            arrived: AtomicUsize::new(0),
            generation: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            crowded: AtomicBool::new(false),
            asleep: Mutex::new(0),
            woken: Condvar::new(),
        }
    }

    /// Waits until as many threads as there are have come; false if the barrier was closed.
    pub(crate) fn wait(&self) -> bool {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties.load(Ordering::Acquire) {
            self.arrived.store(0, Ordering::Relaxed);
            self.wake(|| self.generation.store(generation + 1, Ordering::Release));
        } else {
            self.wait_for_others(generation);
        }
        !self.closed.load(Ordering::Acquire)
    }

    /// From now on so many threads wait. Only while no barrier can be complete: who sets it has not come yet.
    pub(crate) fn set_parties(&self, parties: usize) {
        self.parties.store(parties, Ordering::Release);
    }

    /// Ends all waiting, for good.
    pub(crate) fn close(&self) {
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

    fn wait_for_others(&self, generation: u64) {
        let over =
            || self.generation.load(Ordering::Acquire) != generation || self.closed.load(Ordering::Acquire);
        let spins = if self.crowded.swap(false, Ordering::Relaxed) { 0 } else { SPINS };
        for _ in 0..spins {
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
    fn nobody_passes_a_barrier_before_all_have_come() {
        for threads in 1..=5 {
            let barrier = Barrier::new(threads);
            let come = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for number in 0..threads {
                    let (barrier, come) = (&barrier, &come);
                    scope.spawn(move || {
                        for round in 1..=200 {
                            if (round + number) % 50 == 0 {
                                // Long enough for the others to fall asleep.
                                std::thread::sleep(Duration::from_millis(1));
                            }
                            come.fetch_add(1, Ordering::Relaxed);
                            assert!(barrier.wait());
                            assert_eq!(come.load(Ordering::Relaxed), threads * round);
                            assert!(barrier.wait());
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn a_closed_barrier_keeps_nobody() {
        let barrier = Barrier::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| barrier.wait());
            std::thread::sleep(Duration::from_millis(2));
            barrier.close();
            assert!(!waiting.join().unwrap());
        });
        assert!(!barrier.wait(), "nor anybody who comes later");
    }
}
