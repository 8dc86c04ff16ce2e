//! How does a thread wait for a lock that it will have in a moment?
//!
//! Awake. A thread that sleeps is woken some ten microseconds after the lock is there, and one that is woken just after it fell asleep often finds itself on the processor of the
//! thread that woke it, where the two take turns for many milliseconds while another processor has nothing to do. So it asks again and again, giving way in between, for as long
//! as a part of a table takes to grow, and sleeps only then.

use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// How often a thread asks: a few milliseconds if nobody takes the chance to do something else.
const QUESTIONS: u32 = 1 << 13;

/// Takes a lock with `attempt`, again and again, and if it is never to be had, with `wait`. What is behind a poisoned lock is taken as whole.
pub(super) fn patiently<G>(
    mut attempt: impl FnMut() -> TryLockResult<G>,
    wait: impl FnOnce() -> LockResult<G>,
) -> G {
    for _ in 0..QUESTIONS {
        match attempt() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(guard)) => return guard.into_inner(),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    wait().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::time::Duration;

    #[test]
    fn everybody_has_the_lock_in_the_end() {
        let count = Mutex::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let count = &count;
                scope.spawn(move || {
                    for round in 0..200 {
                        let mut count = patiently(|| count.try_lock(), || count.lock());
                        *count += 1;
                        if round == 50 * thread {
                            // Long enough for the others to fall asleep.
                            std::thread::sleep(Duration::from_millis(20));
                        }
                    }
                });
            }
        });
        assert_eq!(*count.lock().unwrap(), 800);
    }

    #[test]
    fn a_poisoned_lock_is_taken() {
        let count = Mutex::new(7);
        let poison = || {
            let _guard = count.lock();
            panic!("on purpose");
        };
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(poison)).is_err());
        assert_eq!(*patiently(|| count.try_lock(), || count.lock()), 7);
    }
}
