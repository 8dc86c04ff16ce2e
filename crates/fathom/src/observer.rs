//! Who watches a search from outside: when must it stop, who is told how far it is, who gets the records?

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use fathom_model::record::Records;
use fathom_search::layer_loop::{Observer, Progress};

use crate::export::RecordFile;
use crate::interrupt::Interrupt;
use crate::progress::Meter;
use crate::report::text::plural;
use crate::run::Limit;

/// Stops a search at its limits and tells about it.
#[derive(Debug)]
pub struct Watcher {
    interrupt: Interrupt,
    deadline: Option<Instant>,
    /// 0 as long as nothing asked the search to stop.
    reason: AtomicU8,
    meter: Meter,
    records: Option<Mutex<RecordFile>>,
}

/// Watches the search for a run that is to be told: stops it as the watcher says, but not in its first moments. What was found when time was up, or when the user lost patience, is worth these.
#[derive(Debug)]
pub struct Tracing<'a> {
    watcher: &'a Watcher,
    began: Instant,
}

/// How long a run is looked for, whatever the limits.
const GRACE: Duration = Duration::from_secs(2);

const TIME: u8 = 1;
const INTERRUPT: u8 = 2;

impl Watcher {
    /// Watches a search that begins now.
    pub fn new(interrupt: Interrupt, time_limit: Option<Duration>, meter: Meter) -> Watcher {
        let deadline = time_limit.and_then(|limit| Instant::now().checked_add(limit));
        Watcher::until(interrupt, deadline, meter)
    }

    /// Watches a search that ends then, at the latest.
    pub fn until(interrupt: Interrupt, deadline: Option<Instant>, meter: Meter) -> Watcher {
        Watcher { interrupt, deadline, reason: AtomicU8::new(0), meter, records: None }
    }

    /// Watches nothing but the clock.
    pub fn silent(time_limit: Option<Duration>) -> Watcher {
        Watcher::new(Interrupt::detached(), time_limit, Meter::silent())
    }

    /// Writes every record to a file as it is expanded.
    #[must_use]
    pub fn with_records(mut self, file: RecordFile) -> Watcher {
        self.records = Some(Mutex::new(file));
        self
    }

    /// Whether the search must stop now.
    pub fn must_stop(&self) -> bool {
        if !self.interrupt.raised() {
            if self.deadline.is_none_or(|deadline| Instant::now() < deadline) {
                return false;
            }
            self.interrupt.time_is_up();
        }
        self.interrupt.hear();
        let reason = if self.interrupt.is_late() { TIME } else { INTERRUPT };
        // The first reason stays.
        let _ = self.reason.compare_exchange(0, reason, Ordering::Relaxed, Ordering::Relaxed);
        true
    }

    /// The request to stop that it passes on.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Watches the search for a run that begins now.
    pub fn tracing(&self) -> Tracing<'_> {
        Tracing { watcher: self, began: Instant::now() }
    }

    /// Whether the search was asked to stop.
    pub fn was_stopped(&self) -> bool {
        self.reason.load(Ordering::Relaxed) != 0
    }

    /// Why a search that was stopped was stopped.
    pub fn reason(&self) -> Limit {
        match self.reason.load(Ordering::Relaxed) {
            TIME => Limit::Time,
            // A step was interrupted, and nobody has asked why.
            0 if self.interrupt.is_late() => Limit::Time,
            _ => Limit::Interrupt,
        }
    }

    /// The meter.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The search is over: the last progress is told, the live line is taken away, records are on disk.
    pub fn finish(&self) -> std::io::Result<()> {
        self.interrupt.search_is_over();
        self.meter.finish();
        match &self.records {
            Some(file) => file.lock().expect("no thread panics while it writes").finish(),
            None => Ok(()),
        }
    }
}

impl Observer for Tracing<'_> {
    fn stop(&self) -> bool {
        let Watcher { interrupt, deadline, reason, .. } = self.watcher;
        let late = interrupt.is_late() || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        // Nobody else is told: what was found is told in peace.
        if !late && !interrupt.raised() || self.began.elapsed() < GRACE {
            return false;
        }
        let why = if late { TIME } else { INTERRUPT };
        let _ = reason.compare_exchange(0, why, Ordering::Relaxed, Ordering::Relaxed);
        true
    }
}

impl Observer for Watcher {
    fn stop(&self) -> bool {
        self.must_stop()
    }

    fn progress(&self, progress: Progress) {
        self.meter.note(progress);
    }

    fn expanded(&self, layer: u64, sources: Records<'_>) {
        if let Some(file) = &self.records {
            file.lock().expect("no thread panics while it writes").write(layer, sources);
        }
    }

    fn abandoned(&self, layer: u64) {
        if let Some(file) = &self.records {
            file.lock().expect("no thread panics while it writes").take_back(layer);
        }
    }

    fn moved_to_disk(&self, layers: u64, states: u64) {
        let known = match layers {
            0 => String::new(),
            _ => format!(" after {} in {}", plural(states, "state"), plural(layers, "layer")),
        };
        self.meter.say(&format!("the memory for states is used up{known}: the search goes on on disk"));
    }
}
