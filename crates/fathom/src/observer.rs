//! Who watches the search of a command: when must it stop, who is told how far it is, who gets the records?

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use fathom_check::export::RecordFile;
use fathom_check::folder::gauge::Gauge;
use fathom_check::limit::Limit;
use fathom_check::monitor::{Monitor, Patient};
use fathom_check::numbers::plural;
use fathom_exec::stop::StopFlag;
use fathom_model::record::Records;
use fathom_search::task::{LayerSizes, Observer, Progress};

use crate::history::History;
use crate::interrupt::Interrupt;
use crate::progress::Meter;
use crate::report::escape::Printable;

/// Stops a search at its limits and tells about it.
#[derive(Debug)]
pub struct Watcher {
    interrupt: Interrupt,
    deadline: Option<Instant>,
    /// 0 as long as nothing asked the search to stop.
    reason: AtomicU8,
    meter: Meter,
    history: Option<(Arc<History>, Gauge)>,
    records: Option<Mutex<RecordFile>>,
}

const TIME: u8 = 1;
const INTERRUPT: u8 = 2;

impl Watcher {
    /// Watches a search that ends then, at the latest.
    pub fn until(interrupt: Interrupt, deadline: Option<Instant>, meter: Meter) -> Watcher {
        Watcher { interrupt, deadline, reason: AtomicU8::new(0), meter, history: None, records: None }
    }

    /// Notes how the search goes on, with its files where the gauge looks.
    #[must_use]
    pub fn with_history(mut self, history: Arc<History>, gauge: Gauge) -> Watcher {
        self.history = Some((history, gauge));
        self
    }

    /// Writes every record to a file as it is expanded.
    #[must_use]
    pub fn with_records(mut self, file: RecordFile) -> Watcher {
        self.records = Some(Mutex::new(file));
        self
    }

    /// Whether the search must stop now; it has noticed then.
    fn must_stop(&self) -> bool {
        if !self.interrupt.raised() {
            if self.deadline.is_none_or(|deadline| Instant::now() < deadline) {
                return false;
            }
            self.interrupt.time_is_up();
        }
        self.interrupt.hear();
        self.note_reason(if self.interrupt.is_late() { TIME } else { INTERRUPT });
        true
    }

    /// Whether the time is up, or somebody has asked to stop; nobody is told that this was noticed.
    fn is_over(&self) -> bool {
        let late =
            self.interrupt.is_late() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if !late && !self.interrupt.raised() {
            return false;
        }
        self.note_reason(if late { TIME } else { INTERRUPT });
        true
    }

    /// The first reason stays.
    fn note_reason(&self, reason: u8) {
        let _ = self.reason.compare_exchange(0, reason, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl Monitor for Watcher {
    fn stopped_by(&self) -> Option<Limit> {
        match self.reason.load(Ordering::Relaxed) {
            0 => None,
            TIME => Some(Limit::Time),
            _ => Some(Limit::Interrupt),
        }
    }

    fn tracing(&self) -> Box<dyn Observer + '_> {
        // What was found is told in peace.
        Box::new(Patient::new(|| self.is_over()))
    }

    fn stop_flag(&self) -> StopFlag {
        self.interrupt.stop_flag().into()
    }

    fn say(&self, note: &str) {
        self.meter.say(note);
    }

    /// The last progress is told, the live line is taken away, records are on disk.
    fn finish(&self) -> io::Result<()> {
        self.interrupt.search_is_over();
        self.meter.finish();
        match &self.records {
            Some(file) => file.lock().expect("no thread panics while it writes").finish(),
            None => Ok(()),
        }
    }
}

impl Observer for Watcher {
    fn stop(&self) -> bool {
        self.must_stop()
    }

    fn progress(&self, progress: Progress) {
        self.history.iter().for_each(|(history, gauge)| history.note(&progress, gauge));
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

    fn taken_up(&self, layers: &LayerSizes) {
        self.meter.taken_up(layers);
    }

    fn moved_to_disk(&self, layers: u64, states: u64) {
        let known = match layers {
            0 => String::new(),
            _ => format!(" after {} in {}", plural(states, "state"), plural(layers, "layer")),
        };
        self.meter.say(&format!("memory is full{known}: the search continues on disk"));
    }

    fn goes_by_progress(&self, measure: &str) {
        let measure = Printable(measure);
        self.meter
            .say(&format!("layers are many and small: beginning again in the order of progress, {measure}"));
    }
}
