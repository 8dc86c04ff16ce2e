//! `fathom follow`: is a recorded execution a behaviour of the model?

use std::fmt::Write as _;

use anyhow::Context;
use fathom_check::follow::observation::{self, Difference};
use fathom_check::follow::{self, Followed, FollowedEnd, Near};
use fathom_check::limit::Limit;
use fathom_check::model::user_file;
use serde_json::{Value, json};

use super::{Output, print_summary, read_model, watcher};
use crate::report::escape::Printable;
use crate::report::text::{count, limit_sentence, plural};
use crate::report::trace::step_line;
use crate::report::{Exit, json as json_report};
use crate::session::Session;
use crate::settings::FollowSettings;

/// How much of a line of the log is shown.
const LINE_SHOWN: usize = 200;

/// Follows a log and reports.
pub fn run(settings: &FollowSettings, session: &Session) -> anyhow::Result<Exit> {
    let model = read_model(&settings.model, &settings.resources, settings.output.quiet)?;
    let bytes = user_file::read(&settings.log, user_file::LOGS)
        .with_context(|| format!("cannot read {}", settings.log.display()))?;
    let text =
        String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", settings.log.display()))?;
    let log = observation::read(&text)?;
    anyhow::ensure!(!log.is_empty(), "{} has no line: there is nothing to follow", settings.log.display());
    let json_output = Output::open_all(settings.output.json.as_ref())?;
    let watcher = watcher(session, &settings.output, &settings.resources, None)?;
    let followed = follow::follow(&model, &log, settings.steps, &settings.resources, &watcher)?;
    let taken = json_output.as_ref().is_some_and(Output::is_standard);
    print_summary(&summary(settings, &text, &followed, log.len()), settings.output.quiet, taken)?;
    if let Some(output) = json_output {
        let report = report(settings, model.source().name(), &followed, log.len());
        output.write(json_report::to_text(&report).as_bytes())?;
    }
    Ok(match followed.end {
        FollowedEnd::Fits => Exit::Success,
        FollowedEnd::Refused { .. } => Exit::Violated,
        FollowedEnd::Unfinished(_) => Exit::GaveUp,
    })
}

fn summary(settings: &FollowSettings, text: &str, followed: &Followed, lines: usize) -> String {
    let (log, model) = (settings.log.display().to_string(), settings.model.path.display().to_string());
    let (log, model) = (Printable(&log), Printable(&model));
    let mut out = match &followed.end {
        FollowedEnd::Fits => format!("{log}: a behaviour of {model}\n"),
        FollowedEnd::Refused { line, .. } => {
            format!("{log}: not a behaviour of {model}: no execution explains line {line}\n")
        }
        FollowedEnd::Unfinished(limit) => format!("{log}: not finished: {}\n", limit_sentence(*limit)),
    };
    if let FollowedEnd::Refused { line, before, nearest } = &followed.end {
        let shown: String = text.lines().nth(line - 1).unwrap_or_default().chars().take(LINE_SHOWN).collect();
        let _ = writeln!(out, "\n  line {line}: {}", Printable(&shown));
        if let Some(before) = before {
            let such = if followed.states == 1 { "in" } else { "for example in" };
            let _ =
                writeln!(out, "  before it the system is {such} this state: {}", Printable(&values(before)));
        }
        out.push_str(&told_near(nearest, settings.steps));
    }
    let _ = writeln!(
        out,
        "\n  {:<13} {} of {} explained, at most {} before each",
        "lines",
        count(followed.explained as u64),
        count(lines as u64),
        plural(settings.steps, "step"),
    );
    let _ = writeln!(
        out,
        "  {:<13} {} fit, {} at most after a line",
        "states",
        count(followed.states as u64),
        count(followed.states_max as u64)
    );
    out
}

fn told_near(nearest: &[Near], steps: u64) -> String {
    if nearest.is_empty() {
        return "  the model can do nothing there\n".to_owned();
    }
    let mut out = format!("\nwhat comes nearest, within {}:\n", plural(steps, "step"));
    for near in nearest {
        let place = match &near.step {
            Some(step) => step_line(step),
            None => format!("after {}", plural(near.steps, "step")),
        };
        let other = if near.other_step { ", which is another step" } else { "" };
        let _ = writeln!(out, "  {place}{other}{}", differing(&near.differences));
    }
    out
}

fn differing(differences: &[Difference]) -> String {
    let each = |difference: &Difference| {
        let found = difference.found.as_deref().unwrap_or("not there");
        format!("{} = {found} (observed: {})", difference.name, difference.observed)
    };
    match differences {
        [] => String::new(),
        some => format!(": {}", Printable(&some.iter().map(each).collect::<Vec<_>>().join(", "))),
    }
}

fn values(values: &[(String, String)]) -> String {
    values.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

fn report(settings: &FollowSettings, model: &str, followed: &Followed, lines: usize) -> Value {
    let mut report = json!({
        "schema": json_report::SCHEMA,
        "tool": "fathom",
        "version": env!("CARGO_PKG_VERSION"),
        "command": "follow",
        "model": model,
        "log": settings.log.display().to_string(),
        "steps": settings.steps,
        "lines": lines,
        "explained": followed.explained,
        "states": followed.states,
        "states_max": followed.states_max,
        "fits": match followed.end {
            FollowedEnd::Fits => Value::Bool(true),
            FollowedEnd::Refused { .. } => Value::Bool(false),
            FollowedEnd::Unfinished(_) => Value::Null,
        },
        "limit": match followed.end {
            FollowedEnd::Unfinished(limit) => Some(Limit::word(limit)),
            _ => None,
        },
    });
    if let FollowedEnd::Refused { line, before, nearest } = &followed.end {
        let near = |near: &Near| {
            let difference =
                |it: &Difference| json!({ "name": it.name, "observed": it.observed, "found": it.found });
            json!({
                "steps": near.steps,
                "step": near.step,
                "other_step": near.other_step,
                "differences": near.differences.iter().map(difference).collect::<Vec<_>>(),
            })
        };
        report["refused"] = json!({
            "line": line,
            "before": before.as_ref().map(|values| values.iter().cloned().collect::<std::collections::BTreeMap<_, _>>()),
            "nearest": nearest.iter().map(near).collect::<Vec<_>>(),
        });
    }
    report
}
