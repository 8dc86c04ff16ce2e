//! In which words is progress told: in lines, in one line, in JSON?

use std::time::Duration;

use fathom_check::folder::gauge::DiskSeen;
use fathom_check::forecast::Forecast;
use fathom_search::task::{Phase, Progress};
use serde::Serialize;

use super::snapshot::{End, Snapshot};
use crate::report::text::{bytes, count, plural, seconds};

/// The version of the JSON objects.
const JSON_VERSION: u32 = 2;
/// Changes of the rate that are not worth telling.
const STEADY: f64 = 0.05;

/// Everything, in lines of a name and what is known of it.
pub(super) fn lines(snapshot: &Snapshot) -> Vec<String> {
    let mut lines = vec![("", format!("{} ({})", phase(&snapshot.progress), seconds(snapshot.elapsed)))];
    lines.push(("states", states(snapshot)));
    lines.push(("memory", memory(snapshot)));
    lines.extend(snapshot.disk.map(|seen| ("disk", disk(&seen))));
    lines.extend(snapshot.traffic.map(|traffic| ("I/O", transferred(traffic, snapshot.elapsed))));
    lines.extend(snapshot.disk.map(|seen| ("checkpoint", checkpoint(&seen))));
    match end(&snapshot.end) {
        Some(words) => lines.push(("end", words)),
        None if snapshot.end == End::Unknown => {
            lines.push(("end", "no estimate: the layers so far do not tell".to_owned()));
        }
        None => {}
    }
    let line = |(name, value): (&str, String)| match name {
        "" => value,
        _ => format!("  {name:<11} {value}"),
    };
    lines.into_iter().map(line).collect()
}

/// What fits in one line of a terminal, what matters most first.
pub(super) fn short(snapshot: &Snapshot) -> String {
    let Progress { states, .. } = snapshot.progress;
    let left = match &snapshot.end {
        End::About { seconds, .. } => format!(", {} left", about(*seconds)),
        _ => String::new(),
    };
    format!(
        "{}, {} states, {} states/s, {}{left}",
        phase(&snapshot.progress),
        count(states),
        count(snapshot.rate as u64),
        seconds(snapshot.elapsed)
    )
}

/// Everything in one line, for a log.
pub(super) fn line(snapshot: &Snapshot) -> String {
    let mut parts = vec![phase(&snapshot.progress), states(snapshot), memory(snapshot)];
    if let Some(seen) = &snapshot.disk {
        parts.push(format!("{} on disk", disk(seen)));
        parts.push(format!("checkpoint {}", checkpoint(seen)));
    }
    parts.extend(end(&snapshot.end));
    format!("[{}] {}", seconds(snapshot.elapsed), parts.join("; "))
}

/// What a search does, and how far it is with that.
fn phase(progress: &Progress) -> String {
    let Progress { phase, layer, frontier, expanded, .. } = *progress;
    let of_frontier = || format!("{} of {} expanded", count(expanded), count(frontier));
    match phase {
        Phase::Layers => format!("layer {}: {}", count(layer), of_frontier()),
        Phase::Stages => format!("stage {}: {}", count(layer), of_frontier()),
        Phase::Closing if frontier == 0 => "deciding which initial states differ".to_owned(),
        Phase::Closing => format!("layer {}: expanded, deciding which states are new", count(layer)),
        Phase::Depth => format!("depth {}, {} on the stack", count(layer), count(frontier)),
        Phase::Passes => format!("pass {} over {}", count(layer), plural(frontier, "state")),
        Phase::Backward => format!("going backwards, layer {}", count(layer)),
        Phase::Walks => format!("{} of {}", count(layer), plural(frontier, "walk")),
        Phase::Lines => plural(layer, "line"),
        Phase::Audit => format!("auditing: {} of {} states", count(expanded), count(frontier)),
    }
}

fn states(snapshot: &Snapshot) -> String {
    let trend = match snapshot.trend {
        Some(trend) if trend > STEADY => format!(" (rising, +{:.0}%)", trend * 100.0),
        Some(trend) if trend < -STEADY => format!(" (falling, {:.0}%)", trend * 100.0),
        Some(_) => " (steady)".to_owned(),
        None => String::new(),
    };
    let duplicates =
        snapshot.duplicates.map_or(String::new(), |part| format!(", {:.0}% duplicates", part * 100.0));
    format!(
        "{} states, {} states/s{trend}{duplicates}",
        count(snapshot.progress.states),
        count(snapshot.rate as u64)
    )
}

fn memory(snapshot: &Snapshot) -> String {
    let Progress { budget_used, budget_limit, .. } = snapshot.progress;
    let of = |used: u64, limit: u64| match limit {
        0 => bytes(used),
        limit => format!("{} of {}", bytes(used), bytes(limit)),
    };
    let resident = snapshot.resident.map(|resident| format!("{} resident", of(resident, snapshot.ram)));
    let data = (budget_limit > 0).then(|| format!("{} for states", of(budget_used, budget_limit)));
    resident.into_iter().chain(data).collect::<Vec<_>>().join(", ")
}

fn disk(seen: &DiskSeen) -> String {
    let limit = seen.limit.map_or(String::new(), |limit| format!(" of {}", bytes(limit)));
    let free = seen.free.map_or(String::new(), |free| format!(", {} free", bytes(free)));
    format!("{}{limit}{free}", bytes(seen.used))
}

fn transferred((read, written): (u64, u64), elapsed: Duration) -> String {
    let per_second = (read + written) as f64 / elapsed.as_secs_f64().max(1e-3);
    format!("{} read, {} written, {}/s", bytes(read), bytes(written), bytes(per_second as u64))
}

fn checkpoint(seen: &DiskSeen) -> String {
    seen.checkpoint.map_or("none yet".to_owned(), |age| format!("{} ago", roughly(age.as_secs_f64())))
}

fn end(end: &End) -> Option<String> {
    let End::About { states, seconds } = end else { return None };
    Some(match states.low == states.high {
        true => format!("in {}", about(*seconds)),
        false => format!(
            "in {}, after {} more states ({} to {})",
            about(*seconds),
            rounded(states.likely),
            rounded(states.low),
            rounded(states.high)
        ),
    })
}

/// A time that is estimated, and from when to when it may be.
fn about(time: Forecast) -> String {
    match time.low == time.high {
        true => format!("about {}", roughly(time.likely)),
        false => {
            format!("about {} ({} to {})", roughly(time.likely), roughly(time.low), roughly(time.high))
        }
    }
}

/// A number of seconds, no more precise than it is known.
fn roughly(time: f64) -> String {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 60.0 * MINUTE;
    const DAY: f64 = 24.0 * HOUR;
    match time {
        time if time < 2.0 * MINUTE => format!("{time:.0} s"),
        time if time < 2.0 * HOUR => format!("{:.0} min", time / MINUTE),
        time if time < 2.0 * DAY => format!("{:.0} h", time / HOUR),
        time => format!("{:.0} days", time / DAY),
    }
}

/// A number with two digits that count.
fn rounded(number: f64) -> String {
    let unit = 10f64.powi((number.max(1.0).log10().floor() as i32 - 1).max(0));
    count(((number / unit).round() * unit) as u64)
}

/// A line of `--progress json`.
#[derive(Serialize)]
struct JsonLine {
    progress: u32,
    phase: &'static str,
    layer: u64,
    frontier: u64,
    expanded: u64,
    states: u64,
    transitions: u64,
    states_per_second: u64,
    trend: Option<f64>,
    duplicates: f64,
    data: u64,
    data_limit: u64,
    resident: Option<u64>,
    ram: u64,
    disk: Option<JsonDisk>,
    bytes_read: Option<u64>,
    bytes_written: Option<u64>,
    left: Option<JsonLeft>,
    seconds: f64,
}

#[derive(Serialize)]
struct JsonDisk {
    used: u64,
    limit: Option<u64>,
    free: Option<u64>,
    /// Seconds since the last checkpoint.
    checkpoint: Option<f64>,
}

/// What is left: at least, probably, at most.
#[derive(Serialize)]
struct JsonLeft {
    states: [u64; 3],
    seconds: [u64; 3],
}

/// Everything, for programs.
pub(super) fn json(snapshot: &Snapshot) -> String {
    let Progress { phase, layer, frontier, expanded, states, transitions, budget_used, budget_limit } =
        snapshot.progress;
    let exact = |number: f64, places: f64| (number * places).round() / places;
    let three = |it: &Forecast| [it.low, it.likely, it.high].map(|number| number as u64);
    let line = JsonLine {
        progress: JSON_VERSION,
        phase: phase_word(phase),
        layer,
        frontier,
        expanded,
        states,
        transitions,
        states_per_second: snapshot.rate as u64,
        trend: snapshot.trend.map(|trend| exact(trend, 1e3)),
        duplicates: exact(snapshot.duplicates.unwrap_or(0.0), 1e4),
        data: budget_used,
        data_limit: budget_limit,
        resident: snapshot.resident,
        ram: snapshot.ram,
        disk: snapshot.disk.map(|DiskSeen { used, limit, free, checkpoint }| JsonDisk {
            used,
            limit,
            free,
            checkpoint: checkpoint.map(|age| exact(age.as_secs_f64(), 1e3)),
        }),
        bytes_read: snapshot.traffic.map(|(read, _)| read),
        bytes_written: snapshot.traffic.map(|(_, written)| written),
        left: match &snapshot.end {
            End::About { states, seconds } => {
                Some(JsonLeft { states: three(states), seconds: three(seconds) })
            }
            End::Unknown | End::None => None,
        },
        seconds: exact(snapshot.elapsed.as_secs_f64(), 1e3),
    };
    serde_json::to_string(&line).expect("numbers are JSON")
}

/// Something else that is told, for programs.
pub(super) fn json_note(note: &str) -> String {
    serde_json::json!({ "progress": JSON_VERSION, "note": note }).to_string()
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Layers => "layers",
        Phase::Stages => "stages",
        Phase::Closing => "closing",
        Phase::Depth => "depth-first",
        Phase::Passes => "passes",
        Phase::Backward => "backward",
        Phase::Walks => "walks",
        Phase::Lines => "lines",
        Phase::Audit => "audit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_no_more_precise_than_they_are_known() {
        let shown: Vec<String> = [0.4, 59.0, 185.0, 7_300.0, 1e6].map(roughly).into();
        assert_eq!(shown, ["0 s", "59 s", "3 min", "2 h", "12 days"]);
        let shown: Vec<String> = [0.0, 7.0, 1_234.0, 9_876_543.0].map(rounded).into();
        assert_eq!(shown, ["0", "7", "1,200", "9,900,000"]);
        let time = Forecast { low: 60.0, likely: 200.0, high: 9_000.0 };
        assert_eq!(about(time), "about 3 min (60 s to 2 h)");
        let end = end(&End::About { states: Forecast::exactly(5.0), seconds: Forecast::exactly(10.0) });
        assert_eq!(end.as_deref(), Some("in about 10 s"));
    }
}
