//! `fathom check`: does a model do what it should?

use anyhow::Context;
use fathom_model::system::TransitionSystem;

use super::{Output, home, plan, print_summary, read_model, searched, settle, watcher};
use crate::assemble::Model;
use crate::check::{self, Checked, Stop, Verdict};
use crate::home::Home;
use crate::hunt;
use crate::identity::Identity;
use crate::layer_engine::LayerEngine;
use crate::liveness::{self, LivenessEngine, LivenessSettings};
use crate::liveness_property::LivenessProperty;
use crate::observer::Watcher;
use crate::possibility;
use crate::progress::Meter;
use crate::property::Plan;
use crate::report::json::{self, Report};
use crate::report::trace::TraceDocument;
use crate::report::{Exit, text, trace};
use crate::run::Limit;
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
    let checked = checked(&model, &plan, settings)?;
    report("check", &model, &checked, settings.output.quiet, json_output, trace_output)
}

/// All properties about states in one search, then those about infinite runs one by one, until one is violated unless all are wanted.
fn checked(model: &Model, plan: &Plan, settings: &CheckSettings) -> anyhow::Result<Checked> {
    let questions = &settings.questions;
    let properties = questions.liveness(model)?;
    if questions.constraint.is_some() && !properties.is_empty() {
        anyhow::bail!(
            "--constraint leaves steps out, and formulas speak of all runs: leave it out, or ask about states alone"
        );
    }
    if !settings.disk.keep_layers && !properties.is_empty() {
        anyhow::bail!(
            "--no-trace drops layers, and a run that violates a formula is found by them: leave it out"
        );
    }
    let searches = properties.len() + usize::from(!plan.asks_nothing());
    if settings.disk.folder.is_some() && !properties.is_empty() && searches > 1 {
        anyhow::bail!(
            "one run lives in --dir, and a property of infinite runs has a run of its own: ask one question at a time, or leave --dir out"
        );
    }
    let fair = questions.liveness.fair_processes(model)?;
    // All formulas share their atoms, and what is odd about them.
    let warnings = properties.first().map_or(&[][..], |property| &property.warnings);
    for warning in warnings.iter().filter(|_| !settings.output.quiet) {
        eprintln!("warning: {warning}");
    }
    let engine = match settings.engine {
        CheckEngine::Auto(_) => LivenessEngine::Auto,
        CheckEngine::Liveness(engine) => engine,
        CheckEngine::Bitstate => LivenessEngine::Bitstate,
        CheckEngine::Layers(engine) if !properties.is_empty() => anyhow::bail!(
            "the engine {} answers no question about infinite runs: leave --engine out, or ask about states alone",
            engine.name()
        ),
        CheckEngine::Layers(_) => LivenessEngine::default(),
    };
    anyhow::ensure!(
        questions.constraint.is_none() || plan.possibilities.is_empty(),
        "--constraint leaves steps out, and `liveness` speaks of all of them: leave it out, or ask for others with --property"
    );
    if settings.disk.lasts() && !engine.lasts() && !properties.is_empty() {
        anyhow::bail!(
            "the engine {} leaves nothing behind that proves what it says: leave --engine out, or make it semi-owcty",
            engine.name()
        );
    }
    let liveness = LivenessSettings {
        engine,
        fair,
        faults: questions.faults,
        generation: settings.generation,
        stack: settings.stack.clone(),
    };
    let mut all: Option<Checked> = None;
    if properties.is_empty() || !plan.asks_nothing() {
        all = Some(states_checked(model, plan, settings)?);
    }
    for possibility in &plan.possibilities {
        let ended = all.as_ref().is_some_and(|all| settings.stop == Stop::First && is_over(all));
        let watcher = watcher(&settings.resources, &settings.output, std::convert::identity)?;
        let next = match &all {
            Some(all) if ended => Checked::unanswered(&possibility.property, all),
            _ => possibility::check(model, possibility, &settings.resources, &watcher)?,
        };
        all = Some(match all {
            Some(all) => all.and(next),
            None => next,
        });
    }
    for property in &properties {
        let ended = all.as_ref().is_some_and(|all| settings.stop == Stop::First && is_over(all));
        let meter = match engine {
            LivenessEngine::Auto | LivenessEngine::SemiOwcty | LivenessEngine::Ddfs => std::convert::identity,
            LivenessEngine::Ndfs | LivenessEngine::Bitstate => Meter::of_depth_first,
        };
        let watcher = watcher(&settings.resources, &settings.output, meter)?;
        let next = match &all {
            Some(all) if ended => Checked::unanswered(&property.property, all),
            _ => liveness_checked(model, property, &liveness, settings, &watcher)?,
        };
        all = Some(match all {
            Some(all) => all.and(next),
            None => next,
        });
    }
    all.context("there is something to check")
}

/// Answers a question about infinite runs, with a place for files if the engine may have any.
fn liveness_checked(
    model: &Model,
    property: &LivenessProperty,
    liveness: &LivenessSettings,
    settings: &CheckSettings,
    watcher: &Watcher,
) -> anyhow::Result<Checked> {
    let home = match liveness.engine {
        LivenessEngine::Ndfs | LivenessEngine::Bitstate => None,
        LivenessEngine::Auto | LivenessEngine::SemiOwcty | LivenessEngine::Ddfs => {
            let identity = liveness.identity(model, property, &settings.model)?;
            Some(home(&settings.disk, liveness.generation, identity, settings.output.quiet)?)
        }
    };
    let outcome = liveness::check(model, property, liveness, &settings.resources, watcher, home.as_ref());
    let mut checked = searched(home.as_ref(), outcome)?;
    settle(home.as_ref(), &mut checked.exploration)?;
    if let Some(answer) = checked.answers.first_mut() {
        answer.search = Some(Box::new(checked.exploration.clone()));
    }
    Ok(checked)
}

/// Whether something was found, or the user wants no more.
fn is_over(checked: &Checked) -> bool {
    matches!(checked.verdict(), Verdict::Violated | Verdict::Fault)
        || matches!(checked.exploration.limit, Some(Limit::Interrupt | Limit::Time))
}

fn states_checked(model: &Model, plan: &Plan, settings: &CheckSettings) -> anyhow::Result<Checked> {
    let (resources, stop) = (&settings.resources, settings.stop);
    let layers = |engine| {
        let home = home_of(model, engine, settings)?;
        let watcher = watcher(resources, &settings.output, std::convert::identity)?;
        let outcome = check::check(model, plan, engine, stop, resources, &watcher, home.as_ref());
        let mut checked = searched(home.as_ref(), outcome)?;
        settle(home.as_ref(), &mut checked.exploration)?;
        Ok(checked)
    };
    match settings.engine {
        CheckEngine::Auto(plan) => layers(LayerEngine::Auto(plan)),
        CheckEngine::Layers(engine) => layers(engine),
        CheckEngine::Bitstate => {
            let watcher = watcher(resources, &settings.output, Meter::of_depth_first)?;
            Ok(hunt::check_bitstate(model, plan, stop, resources, &watcher)?)
        }
        CheckEngine::Liveness(engine) => anyhow::bail!(
            "the engine {} answers questions about infinite runs alone: leave --engine out",
            engine.name()
        ),
    }
}

/// A place for files, if the engine may have any.
fn home_of(model: &Model, engine: LayerEngine, settings: &CheckSettings) -> anyhow::Result<Option<Home>> {
    if matches!(engine, LayerEngine::Ram | LayerEngine::Positions) {
        return Ok(None);
    }
    let system = model.interpreter(Vec::new());
    let identity = Identity::of_check(model, &settings.model, &settings.questions, system.shape());
    home(&settings.disk, engine, identity, settings.output.quiet).map(Some)
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
