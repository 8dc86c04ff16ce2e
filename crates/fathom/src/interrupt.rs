//! Has somebody asked the run to stop?
//!
//! The first SIGINT, SIGTERM or SIGHUP asks, and so does a time limit; a run then ends at its next batch, commits, and tells what it knows. The second signal ends the process as the
//! system would have done. Signals are caught from the first search on: before it there is nothing to lose. One that was ignored when the process began, as `nohup` has it, stays ignored.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

/// A request to stop; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// A signal has come.
    signalled: Arc<AtomicBool>,
    /// The time is up.
    late: AtomicBool,
    /// Up while a search is to stop: for whoever works for long without asking.
    stop: Arc<AtomicBool>,
    /// Whether a search has noticed.
    heard: AtomicBool,
    stage: AtomicU8,
}

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It reads and translates: nothing is lost if it ends.
    Preparing = 0,
    /// It searches, and has what was committed.
    Searching = 1,
    /// It tells what it has found.
    Telling = 2,
    /// Its end was decided elsewhere.
    Ended = 3,
}

impl Interrupt {
    /// A request that no signal makes: only [`Interrupt::raise`] does.
    pub fn detached() -> Interrupt {
        Interrupt::default()
    }

    /// SIGINT, SIGTERM and SIGHUP ask from now on.
    pub fn on_signals(&self) -> io::Result<()> {
        let Shared { signalled, stop, .. } = &*self.0;
        for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)) {
            // The order matters: the default action is taken only if the flag was raised before.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(signalled))?;
            signal_hook::flag::register(signal, Arc::clone(signalled))?;
            signal_hook::flag::register(signal, Arc::clone(stop))?;
        }
        Ok(())
    }

    /// Asks the run to stop.
    pub fn raise(&self) {
        self.0.signalled.store(true, Ordering::Relaxed);
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Asks the run to stop since the time is up.
    pub fn time_is_up(&self) {
        self.0.late.store(true, Ordering::Relaxed);
        self.0.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to stop.
    pub fn raised(&self) -> bool {
        self.0.signalled.load(Ordering::Relaxed) || self.is_late()
    }

    /// Whether the time is up.
    pub fn is_late(&self) -> bool {
        self.0.late.load(Ordering::Relaxed)
    }

    /// A flag that is up while a search is to stop, and down again when it is over: what was found is told in peace.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.stop)
    }

    /// Notes that the search has noticed.
    pub(crate) fn hear(&self) {
        self.0.heard.store(true, Ordering::Relaxed);
    }

    /// Whether the search has noticed.
    pub(crate) fn was_heard(&self) -> bool {
        self.0.heard.load(Ordering::Relaxed)
    }

    /// How far the command is.
    pub fn stage(&self) -> Stage {
        match self.0.stage.load(Ordering::Acquire) {
            0 => Stage::Preparing,
            1 => Stage::Searching,
            2 => Stage::Telling,
            _ => Stage::Ended,
        }
    }

    /// A search begins.
    pub(crate) fn search_begins(&self) {
        self.0.heard.store(false, Ordering::Relaxed);
        self.go_to(Stage::Searching);
        self.0.stop.store(self.raised(), Ordering::Relaxed);
    }

    /// A search is over, and what it found is told.
    pub(crate) fn search_is_over(&self) {
        self.go_to(Stage::Telling);
        self.0.stop.store(false, Ordering::Relaxed);
    }

    /// Ends the command if it is at this stage; true if it was. Nothing more is written from then on.
    pub(crate) fn end_at(&self, stage: Stage) -> bool {
        let (from, to) = (stage as u8, Stage::Ended as u8);
        self.0.stage.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Goes on, unless the command has ended: then this thread waits for the process to end.
    fn go_to(&self, stage: Stage) {
        let go = |now: u8| (now != Stage::Ended as u8).then_some(stage as u8);
        while self.0.stage.fetch_update(Ordering::AcqRel, Ordering::Acquire, go).is_err() {
            std::thread::park();
        }
    }
}

/// Writing beyond a limit on the size of files is an error like a full disk from now on, and no signal that ends the process.
pub fn file_size_limit_is_an_error() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(|_| ())
}

/// Whether the process was told to ignore a signal when it began.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stop_flag_is_up_while_a_search_is_to_stop() {
        let interrupt = Interrupt::detached();
        let flag = interrupt.stop_flag();
        interrupt.search_begins();
        assert!(!flag.load(Ordering::Relaxed) && !interrupt.raised());
        interrupt.time_is_up();
        assert!(flag.load(Ordering::Relaxed) && interrupt.raised() && interrupt.is_late());
        interrupt.search_is_over();
        assert!(!flag.load(Ordering::Relaxed) && interrupt.raised());
        interrupt.search_begins();
        assert!(flag.load(Ordering::Relaxed), "the next search must stop, too");
    }

    #[test]
    fn a_command_is_ended_at_the_stage_it_is_at_and_at_no_other() {
        let interrupt = Interrupt::detached();
        assert!(!interrupt.end_at(Stage::Searching));
        interrupt.search_begins();
        interrupt.search_is_over();
        assert!(!interrupt.end_at(Stage::Searching), "what was found is being told");
        interrupt.search_begins();
        assert!(interrupt.end_at(Stage::Searching));
        assert_eq!(interrupt.stage(), Stage::Ended);
    }
}
