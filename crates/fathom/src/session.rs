//! Who ends a command that does not end by itself?
//!
//! ```text
//! preparing   reading, translating      the time limit ends the process: nothing is lost
//! searching   a search asks whether it must stop; the time limit and signals say so
//!             one that does not obey, in a step that never ends perhaps, is ended: what was committed is kept.
//!             As long as it reads or writes files it is on its way: it closes a layer, or commits
//! telling     traces, reports           nobody is disturbed but by a second signal
//! ```
//! Time counts from the start of the command. A thread of its own looks at the clock, since a search that is busy does not.

use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fathom_check::folder::gauge::Gauge;
use fathom_check::folder::status::StatusFile;
use fathom_check::machine;

use crate::history::{History, Point};
use crate::interrupt::{Interrupt, Stage};
use crate::observer::Watcher;
use crate::progress::Meter;
use crate::report::Exit;
use crate::report::say::say;
use crate::status::Logbook;

/// One command, from its start to its end.
#[derive(Debug)]
pub struct Session {
    deadline: Option<Instant>,
    interrupt: Interrupt,
    /// Whether signals are caught.
    watched: Mutex<bool>,
    resume: Resume,
    history: Arc<History>,
}

/// The commands that go on with what was committed, once there may be something: as it was, and without the time limit.
type Resume = Arc<Mutex<Option<[String; 2]>>>;

/// How often the clock is looked at.
const TICK: Duration = Duration::from_millis(50);
/// How long a search may take to notice that it must stop, without a sign of life.
const UNHEARD_MAX: Duration = Duration::from_secs(10);
/// How long it may take from there to its end: it commits.
const HEARD_MAX: Duration = Duration::from_secs(60);

impl Session {
    /// A command that began then, and gives up after that time.
    pub fn new(began: Instant, time_limit: Option<Duration>) -> Session {
        let deadline = time_limit.and_then(|limit| began.checked_add(limit));
        let (interrupt, resume) = (Interrupt::detached(), Resume::default());
        let guard = Guard {
            deadline,
            interrupt: interrupt.clone(),
            resume: Arc::clone(&resume),
            asked: None,
            moved: machine::device_bytes,
        };
        // Without the thread a search still looks at the clock by itself.
        let _ = std::thread::Builder::new().stack_size(GUARD_STACK_BYTES).spawn(move || guard.watch());
        Session { deadline, interrupt, watched: Mutex::new(false), resume, history: Arc::default() }
    }

    /// Watches a search that begins now, for signals too.
    pub fn watcher(&self, meter: Meter, gauge: Gauge) -> io::Result<Watcher> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *watched, true) {
            self.interrupt.on_signals()?;
        }
        self.interrupt.search_begins();
        let watcher = Watcher::until(self.interrupt.clone(), self.deadline, meter);
        Ok(watcher.with_history(Arc::clone(&self.history), gauge))
    }

    /// Leaves word in a search's folder, how far it is and how it can be resumed.
    pub fn logbook(&self, file: StatusFile, resume: String) -> Logbook {
        Logbook::new(file, Arc::clone(&self.history), resume)
    }

    /// How the searches of the command went on.
    pub fn history(&self) -> Vec<Point> {
        self.history.points()
    }

    /// From now on there may be something to go on with, by that command, or by the other one if the time limit ends this one.
    pub fn can_go_on(&self, command: String, without_time_limit: String) {
        *self.resume.lock().unwrap_or_else(PoisonError::into_inner) = Some([command, without_time_limit]);
    }

    /// What comes now takes the time that it takes: it is up to the user.
    pub fn is_interactive(&self) {
        self.interrupt.search_is_over();
    }
}

/// What the thread needs that looks at the clock.
struct Guard {
    deadline: Option<Instant>,
    interrupt: Interrupt,
    resume: Resume,
    /// Since when the search is to stop and has given no sign of life, and the bytes that had moved by then.
    asked: Option<(Instant, Option<u64>)>,
    /// Bytes that went to devices and came from them.
    moved: fn() -> Option<u64>,
}

const GUARD_STACK_BYTES: usize = 128 << 10;

impl Guard {
    fn watch(mut self) {
        loop {
            std::thread::sleep(TICK);
            self.look(Instant::now());
        }
    }

    fn look(&mut self, now: Instant) {
        let stage = self.interrupt.stage();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            match stage {
                Stage::Preparing => self.end(stage, TOO_LATE),
                Stage::Searching => self.interrupt.time_is_up(),
                Stage::Telling | Stage::Ended => {}
            }
        }
        if stage != Stage::Searching || !self.interrupt.raised() {
            self.asked = None;
            return;
        }
        let moved = (self.moved)();
        let since = match self.asked {
            Some((since, before)) if before == moved => since,
            _ => now,
        };
        self.asked = Some((since, moved));
        let most = if self.interrupt.was_heard() { HEARD_MAX } else { UNHEARD_MAX };
        if now.duration_since(since) >= most {
            self.end(stage, DEAF);
        }
    }

    /// Ends the process, if the command is still there.
    fn end(&self, stage: Stage, why: &str) {
        if !self.interrupt.end_at(stage) {
            return;
        }
        // A line of progress may stand there.
        let gap = if io::stderr().is_terminal() { "\n" } else { "" };
        let resume = self.resume.lock().unwrap_or_else(PoisonError::into_inner);
        let go_on = resume
            .as_ref()
            .filter(|_| stage == Stage::Searching)
            .map(|commands| &commands[usize::from(self.interrupt.is_late())])
            .map_or(String::new(), |command| {
                format!("\nthe search up to its last checkpoint is kept; to resume it:\n  {command}")
            });
        say(&format!("{gap}error: {why}{go_on}"));
        std::process::exit(Exit::GaveUp.code().into());
    }
}

const TOO_LATE: &str =
    "the time limit was reached while the model or a formula was still being read: raise --time-limit";
const DEAF: &str =
    "the search was asked to stop and did not: a step of the model may loop forever; there is no result";

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn guard(deadline: Option<Instant>) -> Guard {
        let (interrupt, resume) = (Interrupt::detached(), Resume::default());
        Guard { deadline, interrupt, resume, asked: None, moved: || Some(7) }
    }

    #[test]
    fn the_clock_raises_the_flag_although_nobody_asks() {
        let now = Instant::now();
        let mut guard = guard(Some(now));
        guard.interrupt.search_begins();
        guard.look(now);
        assert!(guard.interrupt.is_late());
        assert_eq!(guard.asked, Some((now, Some(7))));
    }

    #[test]
    fn what_is_being_told_is_not_disturbed() {
        let now = Instant::now();
        let mut guard = guard(Some(now));
        guard.interrupt.search_begins();
        guard.interrupt.search_is_over();
        for seconds in [0, 1, 1000] {
            guard.look(now + Duration::from_secs(seconds));
        }
        assert!(!guard.interrupt.raised());
        assert_eq!(guard.interrupt.stage(), Stage::Telling);
        guard.interrupt.raise();
        guard.look(now + Duration::from_secs(2000));
        guard.look(now + Duration::from_secs(3000));
        assert_eq!((guard.interrupt.stage(), guard.asked), (Stage::Telling, None));
    }

    #[test]
    fn a_search_that_reads_and_writes_is_on_its_way() {
        static MOVED: AtomicU64 = AtomicU64::new(0);
        let now = Instant::now();
        let mut guard = Guard { moved: || Some(MOVED.fetch_add(1, Ordering::Relaxed)), ..guard(None) };
        guard.interrupt.search_begins();
        guard.interrupt.raise();
        for seconds in 0..600 {
            guard.look(now + Duration::from_secs(seconds));
        }
        assert_eq!(guard.interrupt.stage(), Stage::Searching);
    }

    #[test]
    fn a_search_that_has_noticed_has_time_to_commit() {
        let now = Instant::now();
        let mut guard = guard(None);
        guard.interrupt.search_begins();
        guard.interrupt.raise();
        guard.interrupt.hear();
        guard.look(now);
        guard.look(now + UNHEARD_MAX * 2);
        assert_eq!(guard.interrupt.stage(), Stage::Searching);
    }
}
