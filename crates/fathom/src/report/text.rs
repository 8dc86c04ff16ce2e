//! What does a person read of a run?

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use fathom_check::answers::check::{Answer, Checked, Verdict};
use fathom_check::answers::coverage::{Coverage, Uncovered};
use fathom_check::answers::exploration::Exploration;
use fathom_check::engines::figures::{CostFigures, DiskFigures, Layers};
use fathom_check::limit::Limit;
use fathom_check::model::assemble::Model;
pub use fathom_check::numbers::{bytes, count, plural};
use fathom_check::questions::property::{Property, PropertyKind};
use fathom_search::task::ProgressFigures;

use super::trace::Shown;

use super::escape::Printable;

/// What is said where faults were not looked for everywhere.
const PRUNED: &str = "note: faults were not looked for everywhere, only where the formula leads; --faults stop looks everywhere";
/// How many things that never happened are listed.
const UNCOVERED_SHOWN: usize = 10;

/// The summary of `explore`.
pub fn exploration(model: &Model, exploration: &Exploration) -> String {
    let mut text = String::new();
    let verdict = match exploration.limit {
        None => "finished".to_owned(),
        Some(limit) => format!("not finished: {}", limit_sentence(limit)),
    };
    let _ = writeln!(text, "{}: {verdict}\n", Printable(model.source().name()));
    text.push_str(&symmetry(model));
    text.push_str(&figures(exploration));
    if let Some(coverage) = &exploration.coverage {
        text.push_str(&uncovered(model, coverage, exploration.limit.is_some()));
    }
    text.push_str(&afterwards(exploration));
    text
}

/// Writes the summary of `check`: a line per property, the runs, the figures.
pub fn write_checked(
    model: &Model,
    checked: &Checked,
    assumptions: &[String],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut text = String::new();
    let asked = checked.answers.iter().filter(|answer| is_asked(answer));
    let mut any = false;
    for answer in asked {
        any = true;
        let _ = writeln!(text, "{}", verdict_line(model, answer));
    }
    if !any {
        let _ = writeln!(text, "nothing to check: {} states no property", Printable(model.source().name()));
        let deadlocks = checked.exploration.counts.deadlocks.filter(|deadlocks| *deadlocks > 0);
        if let Some(deadlocks) = deadlocks {
            let _ = writeln!(
                text,
                "{} seen; --deadlock tells how one comes about",
                plural(deadlocks, "deadlock")
            );
        }
    }
    for answer in &checked.answers {
        if let Some((_, words)) = answer.property.antecedent.as_ref().filter(|_| answer.vacuous) {
            let (words, name) = (Printable(words), Printable(&answer.property.name));
            let _ = writeln!(text, "note: {words} was never true, so `{name}` says nothing");
        }
    }
    if checked.exploration.limit.is_none() && checked.answers.iter().any(Answer::is_open) {
        let _ = writeln!(text, "{PRUNED}");
    }
    let _ = write!(text, "{}", assuming(assumptions));
    for answer in &checked.answers {
        if let Some(limit) = answer.untraced {
            let name = &answer.property.name;
            let _ = writeln!(text, "note: no trace of `{name}`: {}", limit_sentence(limit));
        }
    }
    if let Some(limit) = checked.exploration.limit {
        let _ = writeln!(text, "not finished: {}", limit_sentence(limit));
    }
    if checked.answers.iter().any(|answer| answer.trace.is_some()) {
        text.push('\n');
    }
    out.write_all(text.as_bytes())?;
    super::trace::write_all(model, &checked.answers, Shown::Ends, out)?;
    let mut text = format!("\n{}{}", symmetry(model), figures(&checked.exploration));
    let limit = checked.exploration.limit;
    // Of a search that ended at a violation it says little.
    if let Some(coverage) = checked.exploration.coverage.as_ref().filter(|_| limit != Some(Limit::Violation))
    {
        text.push_str(&uncovered(model, coverage, limit.is_some()));
    }
    text.push_str(&afterwards(&checked.exploration));
    out.write_all(text.as_bytes())
}

/// What a verdict takes for granted, in a line; nothing if there is nothing.
pub fn assuming(assumptions: &[String]) -> String {
    match assumptions {
        [] => String::new(),
        some => format!("assuming: {}\n", Printable(&some.join("; "))),
    }
}

/// Whether what is counted are states, or classes of them.
fn symmetry(model: &Model) -> String {
    match model.is_symmetric() {
        true => format!("  {:<13} on: states that are alike are one\n", "symmetry"),
        false => String::new(),
    }
}

/// What stays of a run, and what can be done with it.
fn afterwards(exploration: &Exploration) -> String {
    let Some(disk) = &exploration.disk else { return String::new() };
    match (&disk.folder, &disk.resume) {
        (_, Some(command)) => format!("\nto go on:\n  {command}\n"),
        (Some(folder), None) if exploration.limit.is_none() => {
            format!("\nto check it again:\n  fathom audit {}\n", folder.display())
        }
        _ => String::new(),
    }
}

/// Whether a user wants to read about it: faults only if there are any.
fn is_asked(answer: &Answer) -> bool {
    answer.property.kind != PropertyKind::Fault || answer.verdict == Verdict::Fault
}

fn verdict_line(model: &Model, answer: &Answer) -> String {
    let Property { name, kind, span, .. } = &answer.property;
    let word = match (kind, answer.verdict) {
        (PropertyKind::Reach, Verdict::Violated) => "reachable",
        (PropertyKind::Reach, Verdict::Holds) => "not reachable",
        (PropertyKind::Deadlock, Verdict::Violated) => "found",
        (PropertyKind::Deadlock, Verdict::Holds) => "none",
        (PropertyKind::Cover { .. }, Verdict::Holds) => "covered",
        (PropertyKind::Cover { .. }, Verdict::Violated) => "never true",
        (PropertyKind::Fault, _) => "found",
        (_, verdict) => verdict.word(),
    };
    let place =
        span.map_or(String::new(), |span| format!(" (line {})", model.source().position(span.start).line));
    let prefix = match kind {
        PropertyKind::Invariant => "invariant ",
        PropertyKind::Reach => "reach ",
        PropertyKind::Possible => "liveness ",
        PropertyKind::Ltl => "ltl ",
        PropertyKind::Process => "property process ",
        _ => "",
    };
    format!("{prefix}{}{place}: {word}", Printable(name))
}

/// Why a search ended early.
pub fn limit_sentence(limit: Limit) -> &'static str {
    match limit {
        Limit::Depth => "states beyond --max-depth were not expanded",
        Limit::Time => "the time limit was reached",
        Limit::Interrupt => "interrupted",
        Limit::Ram => "the memory is used up; give more with --ram",
        Limit::Disk => "files take more room than --disk-limit allows",
        Limit::DiskFull => "the disk is full",
        Limit::Violation => "the search ended at the first violation",
        Limit::Lossy => "the engine may have missed states",
    }
}

/// The figures of a search, one per line.
pub fn figures(exploration: &Exploration) -> String {
    let counts = &exploration.counts;
    let mut lines: Vec<(&str, String)> = Vec::new();
    match counts.states {
        Some(states) => lines.push(("states", count(states))),
        None if counts.known == 0 => lines.push(("visits", count(counts.visits))),
        None => lines
            .push(("states so far", format!("{} ({} expanded)", count(counts.known), count(counts.visits)))),
    }
    if let Some(estimate) = counts.states_estimate {
        let part = counts.known as f64 * 100.0 / estimate.max(1) as f64;
        lines.push(("estimate", format!("about {} states in all, {part:.1}% of them seen", count(estimate))));
    }
    lines.push(("transitions", count(counts.transitions.unwrap_or(counts.edges))));
    if counts.edges != counts.transitions.unwrap_or(counts.edges) {
        lines.push(("made", format!("{} steps from {} visits", count(counts.edges), count(counts.visits))));
    }
    if let Some(automaton) = &exploration.automaton {
        let strength = automaton.strength.map_or(String::new(), |strength| format!(", {strength}"));
        lines.push(("automaton", format!("{}{strength}", plural(automaton.states as u64, "state"))));
    }
    if let Some(depth) = counts.layers.len().checked_sub(1) {
        lines.push(("depth", count(depth as u64)));
    }
    if let Some((layer, states)) = widest(&counts.layers) {
        lines.push(("widest layer", format!("{} at depth {layer}", plural(states, "state"))));
    }
    if let Some(deadlocks) = counts.deadlocks {
        lines.push(("deadlocks", count(deadlocks)));
    }
    lines.push(("faults", count(counts.faults)));
    if let Some(locality) = counts.locality {
        lines.push(("locality", count(locality)));
    }
    if let Some(figures) = &counts.progress {
        lines.push(("progress", progress(figures)));
    }
    lines.push(("record", format!("{} bits", exploration.record_bits)));
    if let Some(checksum) = &counts.checksum {
        lines.push(("checksum", checksum.clone()));
    }
    lines.push(("memory", memory(exploration)));
    if let Some(disk) = &exploration.disk {
        lines.push(("disk", room(&disk.figures)));
        lines.extend(exploration.cost.as_ref().map(|cost| ("cost", phases(cost))));
    }
    lines.push(("time", time(exploration)));
    lines.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = writeln!(text, "  {name:<13} {value}");
        text
    })
}

/// What never happened, a few of each.
pub fn uncovered(model: &Model, coverage: &Coverage, early: bool) -> String {
    let so_far = if early { " so far" } else { "" };
    let mut text = String::new();
    let mut list = |title: String, items: &[Uncovered]| {
        if items.is_empty() {
            return;
        }
        let _ = writeln!(text, "\n{title}{so_far}:");
        for item in items.iter().take(UNCOVERED_SHOWN) {
            let line = model.source().position(item.span.start).line;
            let _ = writeln!(text, "  {} (line {line})", Printable(&item.what));
        }
        if items.len() > UNCOVERED_SHOWN {
            let _ = writeln!(text, "  ... and {} more", items.len() - UNCOVERED_SHOWN);
        }
    };
    let Coverage { transitions, never_taken, locations, never_reached } = coverage;
    let happens =
        if model.program().rules.is_empty() { "transitions never taken" } else { "rules never fired" };
    list(format!("{} of {transitions} {happens}", never_taken.len()), never_taken);
    list(format!("{} of {locations} locations never reached", never_reached.len()), never_reached);
    text
}

/// A time.
pub fn seconds(time: Duration) -> String {
    let whole = time.as_secs();
    match whole {
        0..10 => format!("{:.2} s", time.as_secs_f64()),
        10..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{}:{:02} min", whole / 60, whole % 60),
        _ => format!("{}:{:02}:{:02} h", whole / 3600, whole / 60 % 60, whole % 60),
    }
}

fn widest(layers: &Layers) -> Option<(usize, u64)> {
    let widest = layers.iter().max()?;
    Some((layers.iter().position(|states| states == widest)?, widest))
}

fn memory(exploration: &Exploration) -> String {
    let usage = &exploration.usage;
    let data = format!("{} of {} for states", bytes(usage.data_peak), bytes(usage.data_budget));
    match usage.resident_peak {
        Some(peak) => format!("{} resident, {data}", bytes(peak)),
        None => data,
    }
}

fn room(disk: &DiskFigures) -> String {
    let each = disk.bytes_per_state.map_or(String::new(), |each| format!(" ({each:.2} bytes per state)"));
    let at_rest = disk.at_rest.map_or(String::new(), |at_rest| {
        let each = disk.bytes_per_state_at_rest.map_or(String::new(), |each| format!(" ({each:.2})"));
        format!(", {} at rest{each}", bytes(at_rest))
    });
    format!(
        "{} of states{each}{at_rest}, {} of layers, {} at most; {} read, {} written",
        bytes(disk.closed_set),
        bytes(disk.layers),
        bytes(disk.peak),
        bytes(disk.read),
        bytes(disk.written)
    )
}

/// What was seen of a measure of progress.
fn progress(figures: &ProgressFigures) -> String {
    let ProgressFigures { sweeps, buckets, largest_bucket, forward, stationary, regress } = *figures;
    let all = (forward + stationary + regress).max(1) as f64;
    let share = |steps: u64| format!("{:.1}%", steps as f64 * 100.0 / all);
    let back = match regress {
        0 => "no step back".to_owned(),
        _ => format!("{} ({}) back", plural(regress, "step"), share(regress)),
    };
    let swept = match sweeps {
        1 => "swept once".to_owned(),
        _ => format!("swept {} times", count(sweeps)),
    };
    format!(
        "{swept}, {}, the largest of {}; {} of steps forward, {} to the same value, {back}",
        plural(buckets, "bucket"),
        plural(largest_bucket, "state"),
        share(forward),
        share(stationary),
    )
}

fn phases(cost: &CostFigures) -> String {
    let closing = cost.closing.map_or(String::new(), |parts| {
        format!(
            " (sort {:.0}, filter {:.0}, look-up {:.0}, write {:.0}, merge {:.0})",
            parts.sort, parts.filter, parts.look_up, parts.write, parts.merge
        )
    });
    let CostFigures { expand, watch, offer, close, .. } = cost;
    format!("expand {expand:.0}, watch {watch:.0}, offer {offer:.0}, close {close:.0}{closing} ns per step")
}

fn time(exploration: &Exploration) -> String {
    let usage = &exploration.usage;
    let rate = exploration.counts.visits as f64 / usage.elapsed.as_secs_f64().max(1e-6);
    let threads = if usage.threads == 1 { "1 thread".into() } else { format!("{} threads", usage.threads) };
    format!("{}, {} states/s, {threads}", seconds(usage.elapsed), count(rate as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_units() {
        assert_eq!(seconds(Duration::from_millis(1250)), "1.25 s");
        assert_eq!(seconds(Duration::from_secs(61)), "1:01 min");
        assert_eq!(seconds(Duration::from_secs(7322)), "2:02:02 h");
    }
}
