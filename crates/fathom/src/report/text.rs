//! What does a person read of a run?

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use fathom_check::answers::check::{Answer, Checked, Verdict};
use fathom_check::answers::coverage::{Coverage, Uncovered};
use fathom_check::answers::exploration::{Exploration, WalkFigures};
use fathom_check::engines::figures::{CostFigures, DiskFigures, Layers};
use fathom_check::limit::Limit;
use fathom_check::model::assemble::Model;
pub use fathom_check::numbers::{bytes, count, plural};
use fathom_check::questions::property::{Property, PropertyKind};
use fathom_check::questions::unchecked::Unchecked;

use fathom_search::engines::{ram, registry};
use fathom_search::task::ProgressFigures;
use serde::Serialize;

use super::trace::{Sheet, headline};

use super::escape::{Escaping, Printable};
use super::{Told, colour};

/// What is said where faults were not looked for everywhere.
const PRUNED: &str = "note: faults were not looked for everywhere, only where the formula's automaton leads; --faults stop looks everywhere";
/// How many things that never happened are listed.
const UNCOVERED_SHOWN: usize = 10;
/// What has no verdict.
const NOT_DECIDED: &str = "not decided";

/// The summary of `explore`.
pub fn exploration(model: &Model, exploration: &Exploration, stats: bool) -> String {
    let mut text = String::new();
    let verdict = match exploration.limit {
        None => "finished".to_owned(),
        Some(limit) => format!("not finished: {}", limit_sentence(limit)),
    };
    let _ = writeln!(text, "{}: {verdict}\n", Printable(model.source().name()));
    text.push_str(&symmetry(model));
    text.push_str(&figures(exploration, stats));
    if let Some(coverage) = &exploration.coverage {
        text.push_str(&uncovered(model, coverage, exploration.limit.is_some()));
    }
    text.push_str(&afterwards(exploration));
    text
}

/// A verdict as people read it: on the terminal, on a page, and of a search in a folder.
#[derive(Clone, Debug, Serialize)]
pub struct VerdictLine {
    /// What it is about.
    pub subject: String,
    /// What came of it.
    pub word: &'static str,
    /// Why it is not known, or which fault there is.
    pub reason: Option<String>,
    /// The same for a program.
    pub verdict: &'static str,
}

/// All verdicts of a check, as [`write_checked`] writes them.
pub fn verdicts(model: &Model, checked: &Checked) -> Vec<VerdictLine> {
    let (undecided, decided): (Vec<&Answer>, Vec<&Answer>) =
        checked.answers.iter().partition(|answer| is_undecided(answer, checked));
    let told = decided.iter().filter(|answer| is_told(answer, checked)).map(|answer| {
        let (subject, word) = verdict_words(model, answer, is_hunt(checked));
        let reason = match answer.verdict {
            Verdict::Unknown => checked.exploration.limit.map(|limit| limit_sentence(limit).to_owned()),
            Verdict::Fault => answer.trace.as_ref().map(|trace| headline(answer, trace)),
            _ => None,
        };
        VerdictLine { subject, word, reason, verdict: answer.verdict.word() }
    });
    let open = (!undecided.is_empty()).then(|| VerdictLine {
        subject: undecided_names(&undecided),
        word: NOT_DECIDED,
        reason: Some(stopped(checked)),
        verdict: Verdict::Unknown.word(),
    });
    told.chain(open).collect()
}

/// Writes the summary of `check`: a line per property, the runs, the figures.
pub fn write_checked(told: &Told<'_>, out: &mut Escaping<'_>) -> io::Result<()> {
    let Told { model, checked, assumptions, unchecked, stats, coloured } = *told;
    let mut text = String::new();
    let (undecided, decided): (Vec<&Answer>, Vec<&Answer>) =
        checked.answers.iter().partition(|answer| is_undecided(answer, checked));
    for answer in decided.iter().filter(|answer| is_told(answer, checked)) {
        let _ = writeln!(text, "{}", verdict_line(model, answer, is_hunt(checked), coloured));
    }
    text.push_str(&not_decided(&undecided, checked));
    text.push_str(&not_checked(model, unchecked));
    for answer in &checked.answers {
        if let Some((_, words)) = answer.property.antecedent.as_ref().filter(|_| answer.vacuous) {
            let (words, name) = (Printable(words), Printable(&answer.property.name));
            let _ = writeln!(text, "note: {words} is never true, so `{name}` holds vacuously");
        }
    }
    if checked.exploration.limit.is_none() && checked.answers.iter().any(Answer::is_open) {
        let _ = writeln!(text, "{PRUNED}");
    }
    let _ = write!(text, "{}", assuming(assumptions));
    for answer in &checked.answers {
        if let Some(limit) = answer.untraced {
            let name = Printable(&answer.property.name);
            let none = if answer.trace.is_some() { "no further counterexample" } else { "no counterexample" };
            let _ = writeln!(text, "note: {none} to `{name}`: {}", limit_sentence(limit));
        }
    }
    match checked.exploration.limit {
        None | Some(Limit::Violation) => {}
        Some(Limit::Lossy) if is_hunt(checked) => {
            let _ = writeln!(text, "note: random walks prove nothing; fathom check looks at all states");
        }
        Some(limit) => {
            let _ = writeln!(text, "not finished: {}", limit_sentence(limit));
        }
    }
    if checked.answers.iter().any(|answer| answer.trace.is_some()) {
        text.push('\n');
    }
    out.write_coloured(&text)?;
    super::trace::write_all(model, &checked.answers, Sheet::on_screen(), out)?;
    let mut text = format!("\n{}{}", symmetry(model), figures(&checked.exploration, stats));
    let limit = checked.exploration.limit;
    // Of a search that ended at a violation it says little.
    if let Some(coverage) = checked.exploration.coverage.as_ref().filter(|_| limit != Some(Limit::Violation))
    {
        text.push_str(&uncovered(model, coverage, limit.is_some()));
    }
    text.push_str(&afterwards(&checked.exploration));
    io::Write::write_all(out, text.as_bytes())
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
        true => format!("  {:<13} on: one state for each class of symmetric states\n", "symmetry"),
        false => String::new(),
    }
}

/// What stays of a run, and what can be done with it.
fn afterwards(exploration: &Exploration) -> String {
    let disk = exploration.disk.as_ref();
    let folder = disk.and_then(|disk| disk.folder.as_ref());
    if let Some(command) = disk.and_then(|disk| disk.resume.as_ref()) {
        return format!("\nto resume it:\n  {command}\n");
    }
    // The states of a product prove nothing without ranks.
    let proves = match exploration.automaton {
        Some(_) => disk.is_some_and(|disk| disk.ranks),
        None => exploration.counts.states.is_some(),
    };
    match (folder, exploration.limit) {
        (Some(folder), None) if proves => {
            format!("\nto check it again:\n  fathom audit {}\n", folder.display())
        }
        (None, Some(Limit::Ram)) if resumes(exploration) => {
            "\nthe states found so far are lost; without --engine a search goes to disk when memory is full, and with --dir DIR it is kept, and can be resumed\n"
                .to_owned()
        }
        (None, Some(Limit::Time | Limit::Interrupt | Limit::Depth)) if resumes(exploration) => {
            "\nthe states found so far are lost; with --dir DIR a search is kept, and can be resumed\n"
                .to_owned()
        }
        _ => String::new(),
    }
}

/// Whether a search with that engine could have been resumed, had it been kept.
fn resumes(exploration: &Exploration) -> bool {
    let can = |name| registry::named(name).is_some_and(|engine| engine.resumes);
    // In memory it is kept, too, where the engine may go on on disk.
    can(exploration.engine) || exploration.engine == ram::ENGINE.name
}

/// Whether it was looked for with random walks.
fn is_hunt(checked: &Checked) -> bool {
    checked.exploration.counts.walks.is_some()
}

/// How random walks ended.
fn walks(figures: &WalkFigures) -> String {
    let WalkFigures { wanted, made, ended, cut, steps_max, found_after } = *figures;
    let mut parts = Vec::new();
    if cut > 0 {
        parts.push(format!("{} cut after {}", count(cut), plural(steps_max, "step")));
    }
    if ended > 0 {
        parts.push(format!("{} ended in a state without a successor", count(ended)));
    }
    parts.extend(
        found_after.map(|steps| format!("the last one met a violation after {}", plural(steps, "step"))),
    );
    let of = if made < wanted { format!(" of {}", count(wanted)) } else { String::new() };
    format!("{}{of}: {}", count(made), parts.join(", "))
}

/// Whether it has a line of its own: faults that were not looked for everywhere are told in a note.
fn is_told(answer: &Answer, checked: &Checked) -> bool {
    checked.exploration.limit.is_some() || !answer.is_open()
}

/// Whether it has no verdict only since something else was violated before.
fn is_undecided(answer: &Answer, checked: &Checked) -> bool {
    answer.verdict == Verdict::Unknown && checked.exploration.limit == Some(Limit::Violation)
}

/// What has no verdict since the check stopped, in a line; nothing if everything has one.
fn not_decided(undecided: &[&Answer], checked: &Checked) -> String {
    match undecided {
        [] => String::new(),
        some => format!("{NOT_DECIDED}: {} ({})\n", undecided_names(some), stopped(checked)),
    }
}

/// Why something has no verdict if something else is violated.
fn stopped(checked: &Checked) -> String {
    let when = match checked.answers.iter().any(|answer| !answer.more.is_empty()) {
        true => format!("after {} counterexamples", checked.answers.iter().flat_map(Answer::traces).count()),
        false => "at the first violation".to_owned(),
    };
    format!("the check stopped {when}; --stop never decides all")
}

fn undecided_names(undecided: &[&Answer]) -> String {
    let name = |answer: &&Answer| match answer.property.kind {
        PropertyKind::Deadlock => "deadlocks".to_owned(),
        PropertyKind::Fault => "faults".to_owned(),
        _ => Printable(&answer.property.name).to_string(),
    };
    undecided.iter().map(name).collect::<Vec<_>>().join("; ")
}

/// What was left out, in a line; nothing if everything was checked.
fn not_checked(model: &Model, unchecked: &[Unchecked]) -> String {
    let item = |it: &Unchecked| {
        let place = it
            .span
            .map_or(String::new(), |span| format!("line {}, ", model.source().position(span.start).line));
        format!("{} ({place}{})", Printable(&it.name), it.option)
    };
    match unchecked {
        [] => String::new(),
        some => format!("not checked: {}\n", some.iter().map(item).collect::<Vec<_>>().join("; ")),
    }
}

fn verdict_line(model: &Model, answer: &Answer, hunt: bool, coloured: bool) -> String {
    let (subject, word) = verdict_words(model, answer, hunt);
    let word = if coloured { colour::verdict(answer.verdict, word) } else { word.to_owned() };
    format!("{subject}: {word}")
}

/// What a verdict is about, and the word for it.
fn verdict_words(model: &Model, answer: &Answer, hunt: bool) -> (String, &'static str) {
    let Property { name, kind, span, .. } = &answer.property;
    let word = match (kind, answer.verdict) {
        (_, Verdict::Violated) if answer.vacuous && answer.trace.is_none() && answer.untraced.is_none() => {
            "vacuous"
        }
        (PropertyKind::Expected { .. } | PropertyKind::Cover { .. }, Verdict::Unknown) if hunt => {
            "not reached"
        }
        (PropertyKind::Reach, Verdict::Unknown) if hunt => "not reached",
        (PropertyKind::Deadlock | PropertyKind::Fault, Verdict::Unknown) if hunt => "none found",
        (_, Verdict::Unknown) if hunt => "no violation found",
        (PropertyKind::Reach, Verdict::Violated) => "reachable",
        (PropertyKind::Reach, Verdict::Holds) => "not reachable",
        (PropertyKind::Expected { .. }, Verdict::Violated) => "not reachable",
        (PropertyKind::Expected { .. }, Verdict::Holds) => "reachable",
        (PropertyKind::Deadlock, Verdict::Violated) => "found",
        (PropertyKind::Deadlock, Verdict::Holds) => "none",
        (PropertyKind::Cover { .. }, Verdict::Holds) => "covered",
        (PropertyKind::Cover { .. }, Verdict::Violated) => "never true",
        (PropertyKind::Fault, Verdict::Fault) => "found",
        (PropertyKind::Fault, Verdict::Holds) => "none",
        (_, Verdict::Unknown) => NOT_DECIDED,
        (_, verdict) => verdict.word(),
    };
    let place =
        span.map_or(String::new(), |span| format!(" (line {})", model.source().position(span.start).line));
    let prefix = match kind {
        PropertyKind::Invariant => "invariant ",
        PropertyKind::Reach => "reach ",
        PropertyKind::Expected { .. } => "expect-reach ",
        PropertyKind::Possible => "liveness ",
        PropertyKind::Ltl => "ltl ",
        PropertyKind::Process => "property process ",
        _ => "",
    };
    (format!("{prefix}{}{place}", Printable(name)), word)
}

/// Why a search ended early.
pub fn limit_sentence(limit: Limit) -> &'static str {
    match limit {
        Limit::Depth => "states beyond --max-depth were not expanded",
        Limit::Time => "the time limit was reached",
        Limit::Interrupt => "interrupted",
        Limit::Ram => "out of memory; raise --ram, or use an engine that searches on disk",
        Limit::Disk => "--disk-limit was reached",
        Limit::DiskFull => "the disk is full",
        Limit::Violation => "the check stopped at the first violation",
        Limit::Lossy => "states may have been missed",
        Limit::Engine(reason) => reason,
    }
}

/// The figures of a search, one per line.
pub fn figures(exploration: &Exploration, stats: bool) -> String {
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
    if let Some(again) = counts.duplicates.missed.filter(|missed| *missed > 0) {
        lines.push(("visits", format!("{} ({} again)", count(counts.visits), count(again))));
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
    if let Some(figures) = &counts.walks {
        lines.push(("walks", walks(figures)));
    }
    if let Some(figures) = &counts.progress {
        lines.push(("progress", progress(figures)));
    }
    if let Some(measure) = &counts.measure {
        lines.push(("measure", Printable(measure).to_string()));
    }
    lines.push(("engine", engine(exploration)));
    lines.push(("state size", plural(u64::from(exploration.record_bits), "bit")));
    if let Some(checksum) = &counts.checksum {
        lines.push(("checksum", checksum.clone()));
    }
    lines.push(("memory", memory(exploration)));
    if let Some(disk) = &exploration.disk {
        lines.push(("disk", room(&disk.figures)));
    }
    if stats {
        lines.extend(exploration.cost.as_ref().map(|cost| ("cost", phases(cost))));
        let structures = &exploration.usage.structures;
        lines.extend(structures.iter().map(|it| ("", format!("{} at most for {}", bytes(it.peak), it.name))));
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

/// The engine that decided, and where it stored states if it has a choice.
fn engine(exploration: &Exploration) -> String {
    let store = exploration.store.map_or(String::new(), |store| format!(", states in {store}"));
    format!("{}{store}", exploration.engine)
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
        "{} of states{each}{at_rest}, {} of layers, {} at peak; {} read, {} written",
        bytes(disk.closed_set),
        bytes(disk.layers),
        bytes(disk.peak),
        bytes(disk.read),
        bytes(disk.written)
    )
}

/// What was seen of a measure of progress.
fn progress(figures: &ProgressFigures) -> String {
    let ProgressFigures { sweeps, buckets, largest_bucket, forward, stationary, regress, .. } = *figures;
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
    let visits = exploration.counts.visits.saturating_sub(exploration.counts.visits_before);
    let rate = visits as f64 / usage.elapsed.as_secs_f64().max(1e-6);
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
