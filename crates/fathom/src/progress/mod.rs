//! How is a user told how far a search is?
//!
//! ```text
//! a terminal     several lines that are rewritten in place, or one where there is no room for more
//! elsewhere      a line every ten seconds, or a JSON object every second
//! SIGUSR1        everything, once
//! ```
//! All of it goes to standard error, so that results can be piped. A search that is over soon says nothing. Who searches only leaves word ([`Meter::note`]); a thread of its own tells, so that something is seen
//! while a layer is closed for minutes.

mod display;
mod rate;
mod snapshot;
mod words;

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fathom_check::folder::gauge::Gauge;
use fathom_check::forecast::Profile;
use fathom_search::task::{LayerSizes, Phase, Progress};
use signal_hook::consts::SIGUSR1;

use crate::report::escape;
use crate::settings::ProgressMode;
use crate::status::{self, Logbook};

use display::Display;
use rate::Rate;
use snapshot::Snapshot;

/// Tells progress.
#[derive(Debug)]
pub struct Meter {
    shared: Arc<Shared>,
    teller: Mutex<Option<JoinHandle<()>>>,
}

/// How it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Live,
    /// Lines; `asked` if the user wants them even of a short run.
    Plain {
        asked: bool,
    },
    Json,
    Silent,
}

#[derive(Debug)]
struct Shared {
    style: Style,
    began: Instant,
    /// Bytes that the process may have resident.
    ram: u64,
    gauge: Gauge,
    /// Raised by SIGUSR1.
    asked: Arc<AtomicBool>,
    over: AtomicBool,
    /// Where word is left, if the search has a folder.
    logbook: OnceLock<Logbook>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When to tell next.
    next: Instant,
    /// When to leave word next.
    log_next: Instant,
    last: Progress,
    /// Whether anything was noted yet.
    noted: bool,
    /// Steps made before the layer that is being expanded: only their duplicates are known.
    steps_before: u64,
    /// The layers that were expanded.
    profile: Profile,
    rate: Rate,
    display: Display,
}

/// How often the teller looks whether there is something to tell.
const TICK: Duration = Duration::from_millis(100);
/// How often the display is rewritten.
const LIVE_INTERVAL: Duration = Duration::from_millis(200);
/// How often a line is written elsewhere.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
/// How often a JSON object is written.
const JSON_INTERVAL: Duration = Duration::from_secs(1);
const TELLER_STACK_BYTES: usize = 128 << 10;

impl Meter {
    /// Tells as asked about a search that begins now, may have so much memory resident, and has its files where the gauge looks.
    pub fn new(mode: ProgressMode, ram: u64, gauge: Gauge) -> Meter {
        let style = match mode {
            ProgressMode::Auto if std::io::stderr().is_terminal() => Style::Live,
            ProgressMode::Auto => Style::Plain { asked: false },
            ProgressMode::Plain => Style::Plain { asked: true },
            ProgressMode::Json => Style::Json,
            ProgressMode::None => Style::Silent,
        };
        let shared = Arc::new(Shared::new(style, ram, gauge));
        // Without it a signal ends the process, as it does everywhere.
        let _ = signal_hook::flag::register(SIGUSR1, Arc::clone(&shared.asked));
        let teller = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().stack_size(TELLER_STACK_BYTES).spawn(move || shared.tell_on())
        };
        // Without the thread nothing is told: that is no reason not to search.
        Meter { shared, teller: Mutex::new(teller.ok()) }
    }

    /// From now on word is left in the search's folder, too.
    pub fn keep_log(&self, logbook: Logbook) {
        let _ = self.shared.logbook.set(logbook);
    }

    /// Takes note. Any thread may call it, often.
    pub fn note(&self, progress: Progress) {
        // What is noted once a layer is not to be missed; of the rest, another thread has news as good as these.
        let state = match progress.phase {
            Phase::Closing => Some(self.shared.lock()),
            _ => self.shared.state.try_lock().ok(),
        };
        if let Some(mut state) = state {
            state.note(progress);
        }
    }

    /// Takes note that a search goes on from these layers.
    pub fn taken_up(&self, layers: &LayerSizes) {
        let mut profile = Profile::default();
        // The last one is expanded next.
        layers.iter().take(layers.len().saturating_sub(1)).for_each(|states| profile.push(states));
        self.shared.lock().profile = profile;
    }

    /// The search is over: takes the display away, and tells for the last time if lines were asked for.
    pub fn finish(&self) {
        self.shared.over.store(true, Ordering::Relaxed);
        let teller = self.teller.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(teller) = teller {
            teller.thread().unpark();
            let _ = teller.join();
        }
        let mut state = self.shared.lock();
        match self.shared.style {
            Style::Live => write_error(&state.display.erased()),
            Style::Plain { asked: true } | Style::Json => self.shared.tell(&mut state, Instant::now(), true),
            _ => {}
        }
    }

    /// Tells something else.
    pub fn say(&self, text: &str) {
        let text = &*escape::text(text);
        let mut state = self.shared.lock();
        match self.shared.style {
            Style::Live => write_error(&format!("{}note: {text}\n", state.display.erased())),
            Style::Plain { .. } => write_error(&format!("note: {text}\n")),
            Style::Json => write_error(&format!("{}\n", words::json_note(text))),
            Style::Silent => {}
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn new(style: Style, ram: u64, gauge: Gauge) -> Shared {
        let began = Instant::now();
        let state = State {
            next: began + style.interval(),
            log_next: began,
            last: Progress::default(),
            noted: false,
            steps_before: 0,
            profile: Profile::default(),
            rate: Rate::new(began),
            display: Display::default(),
        };
        let (asked, over) = (Arc::default(), AtomicBool::new(false));
        Shared { style, began, ram, gauge, asked, over, logbook: OnceLock::new(), state: Mutex::new(state) }
    }

    /// Tells when it is time, or when somebody asks, until the search is over.
    fn tell_on(&self) {
        while !self.over.load(Ordering::Relaxed) {
            std::thread::park_timeout(TICK);
            self.look(Instant::now());
        }
    }

    fn look(&self, now: Instant) {
        let mut state = self.lock();
        if !state.noted {
            return;
        }
        if self.asked.swap(false, Ordering::Relaxed) {
            self.tell_all(&mut state, now);
        }
        if now >= state.next {
            state.next = now + self.style.interval();
            self.tell(&mut state, now, false);
        }
        if now >= state.log_next
            && let Some(logbook) = self.logbook.get()
        {
            state.log_next = now + status::INTERVAL;
            let snapshot = self.snapshot(&mut state, now);
            // The device may be slow, and those who search wait for nobody.
            drop(state);
            logbook.tell(words::lines(&snapshot), &words::json(&snapshot));
        }
    }

    fn snapshot(&self, state: &mut State, now: Instant) -> Snapshot {
        state.rate.take(now, state.visits());
        Snapshot::of(state, now - self.began, self.ram, &self.gauge)
    }

    /// Tells in the style that was asked for; `last` if nothing comes after it.
    fn tell(&self, state: &mut State, now: Instant, last: bool) {
        if self.style == Style::Silent {
            return;
        }
        let snapshot = self.snapshot(state, now);
        let snapshot = if last { snapshot.in_all() } else { snapshot };
        write_error(&match self.style {
            Style::Live => state.display.drawn(&snapshot),
            Style::Plain { .. } => format!("{}\n", words::line(&snapshot)),
            _ => format!("{}\n", words::json(&snapshot)),
        });
    }

    /// Tells everything, whatever the style.
    fn tell_all(&self, state: &mut State, now: Instant) {
        let snapshot = self.snapshot(state, now);
        write_error(&match self.style {
            Style::Json => format!("{}\n", words::json(&snapshot)),
            _ => format!("{}{}\n", state.display.erased(), words::lines(&snapshot).join("\n")),
        });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Style {
    fn interval(self) -> Duration {
        match self {
            Style::Live => LIVE_INTERVAL,
            Style::Plain { .. } => PLAIN_INTERVAL,
            Style::Json | Style::Silent => JSON_INTERVAL,
        }
    }
}

impl State {
    fn note(&mut self, progress: Progress) {
        if progress.layer > self.last.layer {
            self.steps_before = self.last.transitions;
        } else if progress.layer < self.last.layer {
            // The search has begun again.
            self.steps_before = 0;
        }
        if progress.phase == Phase::Closing && progress.frontier > 0 {
            match progress.layer {
                layer if layer == self.profile.layers() => self.profile.push(progress.frontier),
                0 => {
                    self.profile = Profile::default();
                    self.profile.push(progress.frontier);
                }
                _ => {}
            }
        }
        self.last = progress;
        if !std::mem::replace(&mut self.noted, true) {
            // What was done before this process began counts for no rate.
            self.rate.begin_at(self.visits());
        }
    }

    /// States expanded so far; of layers: before this one and in it.
    fn visits(&self) -> u64 {
        match self.last.phase {
            Phase::Layers | Phase::Stages | Phase::Closing => {
                self.last.states.saturating_sub(self.last.frontier) + self.last.expanded
            }
            _ => self.last.expanded,
        }
    }

    /// The part of the steps that led to known states.
    fn duplicates(&self) -> f64 {
        match self.steps_before {
            0 => 0.0,
            steps => (1.0 - self.last.states.saturating_sub(1) as f64 / steps as f64).clamp(0.0, 1.0),
        }
    }
}

/// Progress that cannot be told is no reason to end a run.
fn write_error(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(layer: u64, frontier: u64, states: u64, transitions: u64) -> Progress {
        Progress { layer, frontier, expanded: 1, states, transitions, ..Progress::default() }
    }

    #[test]
    fn duplicates_are_those_of_the_layers_before() {
        let shared = Shared::new(Style::Plain { asked: false }, 0, Gauge::default());
        shared.lock().note(layer(0, 1, 1, 10));
        assert_eq!(shared.lock().duplicates(), 0.0);
        shared.lock().note(layer(1, 5, 6, 20));
        assert_eq!(shared.lock().duplicates(), 0.5);
        assert_eq!(shared.lock().visits(), 2);
    }

    #[test]
    fn what_was_done_before_counts_for_no_rate() {
        let shared = Shared::new(Style::Plain { asked: false }, 0, Gauge::default());
        let mut state = shared.lock();
        state.note(layer(40, 10, 1_000_000, 5_000_000));
        state.note(Progress { expanded: 10, ..layer(40, 10, 1_000_000, 5_000_000) });
        let snapshot = shared.snapshot(&mut state, shared.began + Duration::from_secs(1));
        assert!((8.9..9.1).contains(&snapshot.rate), "{snapshot:?}");
        assert!((8.9..9.1).contains(&snapshot.in_all().rate));
    }

    #[test]
    fn layers_are_known_once_they_are_expanded() {
        let shared = Shared::new(Style::Silent, 0, Gauge::default());
        let mut state = shared.lock();
        for number in 0..5 {
            state.note(layer(number, 1 << number, 1 << number, 0));
            state.note(Progress { phase: Phase::Closing, ..layer(number, 1 << number, 1 << number, 0) });
        }
        assert_eq!(state.profile.layers(), 5);
    }
}
