//! `fathom check`: does a model do what it should?

use super::{Output, plan, print_summary, read_model, watcher};
use crate::assemble::Model;
use crate::check::{self, Checked, Verdict};
use crate::hunt;
use crate::progress::Meter;
use crate::report::json::{self, Report};
use crate::report::trace::TraceDocument;
use crate::report::{Exit, text, trace};
use crate::settings::{CheckEngine, CheckSettings, Destination, TraceFormat};

/// Checks a model and reports.
pub fn run(settings: &CheckSettings) -> anyhow::Result<Exit> {
    let model = read_model(&settings.model, settings.output.quiet)?;
    let plan = plan(&model, &settings.questions)?;
    let json_output = Output::open_all(settings.output.json.as_ref())?;
    let trace_output = settings
        .trace
        .as_ref()
        .map(|file| {
            Ok::<_, anyhow::Error>((file.format, Output::open(&Destination::File(file.path.clone()))?))
        })
        .transpose()?;
    note_property_process(&model, settings.output.quiet);
    let (resources, stop) = (&settings.resources, settings.stop);
    let checked = match settings.engine {
        CheckEngine::Layers(engine) => {
            let watcher = watcher(resources, &settings.output, std::convert::identity)?;
            check::check(&model, &plan, engine, stop, resources, &watcher)?
        }
        CheckEngine::Bitstate => {
            let watcher = watcher(resources, &settings.output, Meter::of_depth_first)?;
            hunt::check_bitstate(&model, &plan, stop, resources, &watcher)?
        }
    };
    report("check", &model, &checked, settings.output.quiet, json_output, trace_output)
}

/// Prints and writes what came of a check.
pub(super) fn report(
    command: &'static str,
    model: &Model,
    checked: &Checked,
    quiet: bool,
    json_output: Option<Output>,
    trace_output: Option<(TraceFormat, Output)>,
) -> anyhow::Result<Exit> {
    let taken = json_output.as_ref().is_some_and(Output::is_standard);
    print_summary(&text::checked(model, checked), quiet, taken)?;
    if let Some((format, output)) = trace_output {
        output.write(traces(model, checked, format).as_bytes())?;
    }
    if let Some(output) = json_output {
        output.write(json::to_text(&Report::of_check(command, model, checked)).as_bytes())?;
    }
    Ok(match checked.verdict() {
        Verdict::Holds => Exit::Success,
        Verdict::Violated | Verdict::Fault => Exit::Violated,
        Verdict::Unknown => Exit::GaveUp,
    })
}

fn traces(model: &Model, checked: &Checked, format: TraceFormat) -> String {
    match format {
        TraceFormat::Text => trace::all(&checked.answers),
        TraceFormat::Json => json::to_text(&TraceDocument::of(model.source().name(), &checked.answers)),
    }
}

fn note_property_process(model: &Model, quiet: bool) {
    if let Some(property) = model.program().property.as_ref().filter(|_| !quiet) {
        eprintln!(
            "note: the property process {} is not checked: only assertions, invariants, goals and deadlocks are",
            property.name
        );
    }
}
