//! Who watches a search from outside: when must it stop, and why, and who is told of it?
//!
//! A [`Monitor`] is what answers need of the outside. A program has one of its own, which knows signals and the terminal; [`Clock`] is for everyone else.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fathom_exec::stop::StopFlag;
use fathom_search::task::Observer;

use crate::limit::Limit;

/// Watches a search, and knows why it ended it.
pub trait Monitor: Observer {
    /// Why the search was asked to stop; none if it was not.
    fn stopped_by(&self) -> Option<Limit>;

    /// Why a search that was stopped was stopped.
    fn reason(&self) -> Limit {
        self.stopped_by().unwrap_or(Limit::Interrupt)
    }

    /// Watches the search for a run that is to be told, which begins now; it may go on a little longer ([`Patient`]).
    fn tracing(&self) -> Box<dyn Observer + '_>;

    /// Up while the search is to stop, for steps that take long: they end before they are done. Nobody raises it unless the monitor does.
    fn stop_flag(&self) -> StopFlag {
        StopFlag::never()
    }

    /// Told what a user should know on the way.
    fn say(&self, _note: &str) {}

    /// Told that the search is over.
    ///
    /// # Errors
    /// If what was to be written on the way could not be.
    fn finish(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Stops as it is told to, but not in its first moments: what was found when time was up, or when the user lost patience, is worth these.
///
/// ```
/// use fathom_check::monitor::Patient;
/// use fathom_search::task::Observer;
///
/// assert!(!Patient::new(|| true).stop(), "it has only just begun");
/// ```
#[derive(Debug)]
pub struct Patient<F> {
    stop: F,
    began: Instant,
}

/// How long a run is looked for, whatever the limits.
const GRACE: Duration = Duration::from_secs(2);

impl<F: Fn() -> bool + Sync> Patient<F> {
    /// Begins now, and stops when `stop` says so.
    pub fn new(stop: F) -> Patient<F> {
        Patient { stop, began: Instant::now() }
    }
}

impl<F: Fn() -> bool + Sync> Observer for Patient<F> {
    fn stop(&self) -> bool {
        self.began.elapsed() >= GRACE && (self.stop)()
    }
}

/// Watches nothing but the clock.
///
/// ```
/// use std::time::Duration;
/// use fathom_check::monitor::{Clock, Monitor};
/// use fathom_search::task::Observer;
///
/// let clock = Clock::new(Some(Duration::ZERO));
/// assert!(clock.stop() && clock.stopped_by().is_some());
/// assert!(!Clock::new(None).stop());
/// ```
#[derive(Debug)]
pub struct Clock {
    deadline: Option<Instant>,
    late: AtomicBool,
}

impl Clock {
    /// Stops a search after that time, if one is given, from now on.
    pub fn new(time_limit: Option<Duration>) -> Clock {
        let deadline = time_limit.and_then(|limit| Instant::now().checked_add(limit));
        Clock { deadline, late: AtomicBool::new(false) }
    }
}

impl Observer for Clock {
    fn stop(&self) -> bool {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late {
            self.late.store(true, Ordering::Relaxed);
        }
        late
    }
}

impl Monitor for Clock {
    fn stopped_by(&self) -> Option<Limit> {
        self.late.load(Ordering::Relaxed).then_some(Limit::Time)
    }

    fn tracing(&self) -> Box<dyn Observer + '_> {
        Box::new(Patient::new(|| self.stop()))
    }
}
