//! How is a user told how far a run is?
//!
//! On a terminal one line is rewritten in place; elsewhere lines or JSON objects are written now and then. All of it goes to standard error,
//! so that results can be piped. A run that is over soon says nothing.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fathom_search::task::Progress;
use serde::Serialize;

use crate::report::escape;
use crate::report::text::{bytes, count, seconds};
use crate::settings::ProgressMode;

/// Tells progress.
#[derive(Debug)]
pub struct Meter {
    style: Style,
    search: Search,
    began: Instant,
    state: Mutex<State>,
}

/// Which kind of search is told about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    Layers,
    Depth,
    Walks,
    Lines,
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
struct State {
    next: Instant,
    last: Progress,
    /// Steps made before the layer that is being expanded: only their duplicates are known.
    steps_before: u64,
    /// Where and when the rate was last taken.
    rated: (Instant, u64),
    rate: f64,
    live: bool,
}

/// A line of `--progress json`.
#[derive(Serialize)]
struct JsonLine {
    progress: u32,
    layer: u64,
    frontier: u64,
    expanded: u64,
    states: u64,
    transitions: u64,
    states_per_second: u64,
    duplicates: f64,
    data: u64,
    seconds: f64,
}

/// How often the live line is rewritten.
const LIVE_INTERVAL: Duration = Duration::from_millis(200);
/// How often a line is written elsewhere.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
/// How often a JSON object is written.
const JSON_INTERVAL: Duration = Duration::from_secs(1);
/// The version of the JSON objects.
const JSON_VERSION: u32 = 1;

impl Meter {
    /// Tells as asked, about a run that begins now.
    pub fn new(mode: ProgressMode) -> Meter {
        let style = match mode {
            ProgressMode::Auto if std::io::stderr().is_terminal() => Style::Live,
            ProgressMode::Auto => Style::Plain { asked: false },
            ProgressMode::Plain => Style::Plain { asked: true },
            ProgressMode::Json => Style::Json,
            ProgressMode::None => Style::Silent,
        };
        Meter::with_style(style)
    }

    /// Tells about a depth-first search.
    #[must_use]
    pub fn of_depth_first(self) -> Meter {
        Meter { search: Search::Depth, ..self }
    }

    /// Tells about random walks.
    #[must_use]
    pub fn of_walks(self) -> Meter {
        Meter { search: Search::Walks, ..self }
    }

    /// Tells about a log that is followed.
    #[must_use]
    pub fn of_lines(self) -> Meter {
        Meter { search: Search::Lines, ..self }
    }

    /// Tells nothing.
    pub fn silent() -> Meter {
        Meter::with_style(Style::Silent)
    }

    fn with_style(style: Style) -> Meter {
        let now = Instant::now();
        let state = State {
            next: now + style.interval(),
            last: Progress::default(),
            steps_before: 0,
            rated: (now, 0),
            rate: 0.0,
            live: false,
        };
        Meter { style, search: Search::Layers, began: now, state: Mutex::new(state) }
    }

    /// Takes note, and tells if it is time. Any thread may call it, often.
    pub fn note(&self, progress: Progress) {
        if self.style == Style::Silent {
            return;
        }
        // Another thread that is telling has news as good as these.
        let Ok(mut state) = self.state.try_lock() else { return };
        if progress.layer > state.last.layer {
            state.steps_before = state.last.transitions;
        } else if progress.layer < state.last.layer {
            // The search has begun again.
            (state.steps_before, state.rated.1) = (0, 0);
        }
        state.last = progress;
        let now = Instant::now();
        if now >= state.next {
            state.next = now + self.style.interval();
            state.take_rate(now, self.search);
            self.tell(&mut state, now);
        }
    }

    /// The run is over: takes the live line away, and tells for the last time if lines were asked for.
    pub fn finish(&self) {
        let mut state = self.lock();
        match self.style {
            Style::Live if state.live => {
                state.live = false;
                write_error("\r\u{1b}[K");
            }
            Style::Plain { asked: true } | Style::Json => {
                let now = Instant::now();
                state.rated = (self.began, 0);
                state.take_rate(now, self.search);
                self.tell(&mut state, now);
            }
            _ => {}
        }
    }

    /// Tells something else.
    pub fn say(&self, text: &str) {
        let text = &*escape::text(text);
        let mut state = self.lock();
        match self.style {
            Style::Live if std::mem::take(&mut state.live) => {
                write_error(&format!("\r\u{1b}[Knote: {text}\n"));
            }
            Style::Live | Style::Plain { .. } => write_error(&format!("note: {text}\n")),
            Style::Json => {
                write_error(&format!("{}\n", serde_json::json!({ "progress": JSON_VERSION, "note": text })));
            }
            Style::Silent => {}
        }
    }

    fn tell(&self, state: &mut State, now: Instant) {
        let elapsed = now - self.began;
        match self.style {
            Style::Live => {
                state.live = true;
                write_error(&format!(
                    "\r{}\u{1b}[K",
                    fitted(&self.sentence(state, elapsed), terminal_width())
                ));
            }
            Style::Plain { .. } => write_error(&format!("{}\n", self.sentence(state, elapsed))),
            Style::Json => {
                let line = serde_json::to_string(&json_line(state, elapsed));
                write_error(&format!("{}\n", line.expect("numbers are JSON")));
            }
            Style::Silent => {}
        }
    }

    fn sentence(&self, state: &State, elapsed: Duration) -> String {
        let Progress { layer, frontier, expanded, states, budget_used, .. } = state.last;
        let rate = format!("{} states/s", count(state.rate as u64));
        let rest = format!("{}, {}", bytes(budget_used), seconds(elapsed));
        match self.search {
            Search::Layers => format!(
                "layer {layer}: {} of {} expanded, {} states, {rate}, {:.0}% duplicates, {rest}",
                count(expanded),
                count(frontier),
                count(states),
                state.duplicates() * 100.0,
            ),
            Search::Depth => format!(
                "depth {}: {} on the stack, {} states, {rate}, {rest}",
                count(layer),
                count(frontier),
                count(states),
            ),
            Search::Walks => {
                format!("{} walks, {} states, {rate}, {}", count(layer), count(states), seconds(elapsed))
            }
            Search::Lines => {
                format!("{} lines, {} states, {rate}, {}", count(layer), count(states), seconds(elapsed))
            }
        }
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
    /// States expanded so far; of layers: before this one and in it.
    fn expanded(&self, search: Search) -> u64 {
        match search {
            Search::Layers => self.last.states.saturating_sub(self.last.frontier) + self.last.expanded,
            Search::Depth | Search::Walks | Search::Lines => self.last.expanded,
        }
    }

    fn take_rate(&mut self, now: Instant, search: Search) {
        let (then, before) = self.rated;
        let expanded = self.expanded(search);
        self.rate = expanded.saturating_sub(before) as f64 / (now - then).as_secs_f64().max(1e-3);
        self.rated = (now, expanded);
    }

    /// The part of the steps that led to known states.
    fn duplicates(&self) -> f64 {
        match self.steps_before {
            0 => 0.0,
            steps => (1.0 - self.last.states.saturating_sub(1) as f64 / steps as f64).clamp(0.0, 1.0),
        }
    }
}

fn json_line(state: &State, elapsed: Duration) -> JsonLine {
    let Progress { layer, frontier, expanded, states, transitions, budget_used, .. } = state.last;
    JsonLine {
        progress: JSON_VERSION,
        layer,
        frontier,
        expanded,
        states,
        transitions,
        states_per_second: state.rate as u64,
        duplicates: (state.duplicates() * 1e4).round() / 1e4,
        data: budget_used,
        seconds: (elapsed.as_secs_f64() * 1e3).round() / 1e3,
    }
}

/// The beginning of a line that fits a width, so that rewriting it never scrolls.
fn fitted(line: &str, width: usize) -> &str {
    let end = line.char_indices().nth(width.saturating_sub(1)).map_or(line.len(), |(end, _)| end);
    &line[..end]
}

fn terminal_width() -> usize {
    match rustix::termios::tcgetwinsize(std::io::stderr()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => 80,
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

    #[test]
    fn a_line_is_cut_to_the_terminal() {
        assert_eq!(fitted("abc", 80), "abc");
        assert_eq!(fitted("abcdef", 4), "abc");
        assert_eq!(fitted("äöü", 3), "äö");
        assert_eq!(fitted("abc", 0), "");
    }

    #[test]
    fn duplicates_are_those_of_the_layers_before() {
        let meter = Meter::with_style(Style::Plain { asked: false });
        meter.note(Progress {
            layer: 0,
            frontier: 1,
            expanded: 1,
            states: 1,
            transitions: 10,
            budget_used: 0,
        });
        assert_eq!(meter.lock().duplicates(), 0.0);
        meter.note(Progress {
            layer: 1,
            frontier: 5,
            expanded: 1,
            states: 6,
            transitions: 20,
            budget_used: 0,
        });
        assert_eq!(meter.lock().duplicates(), 0.5);
        assert_eq!(meter.lock().expanded(Search::Layers), 2);
    }
}
