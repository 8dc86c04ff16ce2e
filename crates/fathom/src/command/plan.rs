//! `fathom plan`: how large a state space could be searched here?

use std::fmt::Write as _;
use std::path::Path;

use fathom_check::answers::capacity::{Allowed, Capacity, Way, capacity};
use fathom_check::machine;
use serde_json::json;

use super::explore::product_with;
use super::{Output, granted, print_summary, read_model, watcher};
use crate::report::escape::Printable;
use crate::report::text::{bytes, count, plural, seconds};
use crate::report::{Exit, json as json_report};
use crate::session::Session;
use crate::settings::PlanSettings;

/// Samples a model and reports.
pub fn run(settings: &PlanSettings, session: &Session) -> anyhow::Result<Exit> {
    let model = read_model(&settings.model, &settings.resources, settings.output.quiet)?;
    let resources = granted(&settings.resources, settings.output.quiet);
    let json_output = Output::open_all(settings.output.json.as_ref())?;
    let property = settings.formula.as_deref().map(|it| product_with(&model, Some(it))).transpose()?;
    let watcher = watcher(session, &settings.output, &resources, None)?;
    let disk = settings.disk.or_else(|| machine::disk_free(Path::new("."))).unwrap_or(u64::MAX);
    let allowed = Allowed { disk, time: settings.time, sample: settings.sample };
    let found = capacity(&model, property.as_ref(), allowed, &resources, &watcher)?;
    let taken = json_output.as_ref().is_some_and(Output::is_standard);
    print_summary(&summary(settings, &found, allowed), settings.output.quiet, taken)?;
    if let Some(output) = json_output {
        let mut report = json!({
            "schema": json_report::SCHEMA,
            "tool": "fathom",
            "version": env!("CARGO_PKG_VERSION"),
            "command": "plan",
            "model": model.source().name(),
            "memory": resources.ram,
            "disk": disk,
            "time": settings.time.as_secs_f64(),
            "threads": resources.threads,
            "capacity": found,
        });
        for (way, entry) in found.ways.iter().zip(0..) {
            let (states, short_of) = way.reach();
            report["capacity"]["ways"][entry]["states"] = json!(states);
            report["capacity"]["ways"][entry]["short_of"] = json!(short_of);
        }
        output.write(json_report::to_text(&report).as_bytes())?;
    }
    Ok(Exit::Success)
}

fn summary(settings: &PlanSettings, found: &Capacity, allowed: Allowed) -> String {
    let path = settings.model.path.display().to_string();
    let path = Printable(&path);
    let best = found.ways.iter().max_by_key(|way| way.reach().0);
    let mut out = match best {
        None => format!("{path}: {} in all: the sample has met every one\n", plural(found.sampled, "state")),
        Some(way) => {
            let (states, short_of) = way.reach();
            let engine = way.engine;
            format!("{path}: up to about {} with {engine}; then {short_of} is short\n", rounded(states))
        }
    };
    let _ = writeln!(
        out,
        "\n  {:<13} {} in {:.1} s, {} each",
        "sample",
        plural(found.sampled, "state"),
        found.seconds,
        plural(found.record_bits.into(), "bit"),
    );
    if best.is_some() {
        let (ram, disk) = (bytes(settings.resources.ram), bytes(allowed.disk));
        let _ = writeln!(
            out,
            "  {:<13} {ram} of memory, {disk} of disk space, {}",
            "limits",
            seconds(allowed.time)
        );
    }
    found.ways.iter().for_each(|way| out.push_str(&told(way)));
    out
}

/// A line about an engine.
fn told(way: &Way) -> String {
    let mut parts = vec![format!("{} a second", plural(way.rate as u64, "state"))];
    let cost = |each: f64, place: &str| format!("{each:.1} bytes each {place}");
    parts.extend((way.memory_bytes > 0.0).then(|| cost(way.memory_bytes, "in memory")));
    parts.extend((way.disk_bytes > 0.0).then(|| cost(way.disk_bytes, "on disk")));
    let limits = [("memory", way.by_memory), ("disk", way.by_disk), ("time", Some(way.by_time))];
    let limits = limits.into_iter().filter_map(|(what, states)| Some(format!("{what} {}", rounded(states?))));
    format!(
        "  {:<13} {}; enough for: {}\n",
        way.engine,
        parts.join(", "),
        limits.collect::<Vec<_>>().join(", ")
    )
}

/// Two digits of a number: the sample does not tell more.
fn rounded(states: u64) -> String {
    let unit = 10u64.pow(states.max(10).ilog10() - 1);
    format!("{} states", count(states / unit * unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_are_told() {
        let shown: Vec<String> = [0, 7, 99, 101, 12_999, u64::MAX].map(rounded).into();
        assert_eq!(shown[..5], ["0 states", "7 states", "99 states", "100 states", "12,000 states"]);
        assert!(shown[5].starts_with("18,000,000,000"));
    }
}
