//! `fathom report`: how far is the search in a folder, or what came of it? In words, and as a page.

use std::fmt::Write as _;
use std::path::Path;

use fathom_check::model::assemble::ModelSettings;
use fathom_check::resources::Resources;
use serde_json::Value as Json;

use super::output::{Output, print};
use super::read_model;
use crate::report::Exit;
use crate::report::page::{self, Carries};
use crate::report::text::count;
use crate::settings::{Destination, ReportSettings};
use crate::status::{self, Found, Status, UnderWay};

/// Tells what is known of the search in a folder.
pub fn run(settings: &ReportSettings) -> anyhow::Result<Exit> {
    let html =
        settings.html.as_ref().map(|path| Output::open(&Destination::File(path.clone()))).transpose()?;
    let found = status::look_at(&settings.folder)?;
    print(&summary(&settings.folder, &found))?;
    if let Some(output) = html {
        write_page(settings, found, output)?;
    }
    Ok(Exit::Success)
}

fn write_page(settings: &ReportSettings, found: Found, output: Output) -> anyhow::Result<()> {
    let carries = if settings.html_static { Carries::Nothing } else { Carries::Explorer };
    let under_way = match found.status {
        Some(Status::Ended { page }) => {
            return output.write_with(|out| page::write_kept(&page, carries, out));
        }
        Some(Status::UnderWay(under_way)) => Some(under_way),
        None => None,
    };
    let model = settings.model.clone().unwrap_or_else(|| found.identity.model().to_owned());
    let model = ModelSettings { path: model, options: found.identity.model_options() };
    let model = read_model(&model, &Resources::of_this_machine(), true)?;
    output.write_with(|out| page::write_under_way(&model, under_way.as_ref(), found.held, carries, out))
}

fn summary(folder: &Path, found: &Found) -> String {
    let mut text = String::new();
    let model = found.identity.model().display();
    let mut head = |words: &str| {
        let _ = writeln!(text, "{}: {words}\n  model       {model}", folder.display());
    };
    match (&found.status, found.held) {
        (Some(Status::Ended { page }), false) => {
            head(ending(&page["report"]));
            text.push_str(&verdicts(&page["verdicts"]));
            text.push_str(&figures(&page["report"]));
        }
        (Some(Status::UnderWay(under_way)), true) => {
            head("running");
            text.push_str(&lines(under_way));
        }
        (Some(Status::UnderWay(under_way)), false) => {
            head("interrupted: no process is at work here");
            text.push_str(&lines(under_way));
            let _ = writeln!(text, "\nto resume it from its last checkpoint:\n  {}", under_way.resume);
        }
        // The search before, perhaps: this one has not left word yet.
        (_, true) => head("running, and has not said yet how far it is"),
        (None, false) => head("nothing is known of how it ended"),
    }
    text
}

fn ending(report: &Json) -> &'static str {
    match report["limit"].as_str() {
        None | Some("violation") => "finished",
        Some(_) => "ended at a limit",
    }
}

fn lines(under_way: &UnderWay) -> String {
    under_way.lines.iter().map(|line| format!("  {}\n", line.trim_start())).collect()
}

/// The verdicts, as the check told them.
fn verdicts(told: &Json) -> String {
    let mut text = String::new();
    for line in told.as_array().into_iter().flatten() {
        let of = |field: &str| line[field].as_str().unwrap_or_default();
        let reason = line["reason"].as_str().map_or(String::new(), |reason| format!(" ({reason})"));
        let _ = writeln!(text, "  {:<11} {}{reason}", of("word"), of("subject"));
    }
    text
}

/// What a report says beside: the size of the space.
fn figures(report: &Json) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<11} {value}");
    };
    line("verdict", report["verdict"].as_str().filter(|word| *word != "unknown").unwrap_or("not decided"));
    for name in ["states", "transitions", "depth"] {
        if let Some(number) = report[name].as_u64() {
            line(name, &count(number));
        }
    }
    for name in ["engine", "checksum", "limit"] {
        if let Some(word) = report[name].as_str() {
            line(name, word);
        }
    }
    if let Some(seconds) = report["seconds"].as_f64() {
        line("time", &format!("{seconds:.2} s"));
    }
    if let Some(command) = report["resume"].as_str() {
        let _ = writeln!(text, "\nto resume it:\n  {command}");
    }
    text
}
