//! `fathom check`: does a model do what it should?

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use fathom_check::answers::check::{self, Checked};
use fathom_check::answers::liveness::{self, LivenessSettings};
use fathom_check::answers::{hunt, possibility};
use fathom_check::folder::home::Home;
use fathom_check::folder::identity::Identity;
use fathom_check::model::assemble::Model;
use fathom_check::questions::assumption::Choices;
use fathom_check::questions::liveness_property::{Fairness, LivenessProperty};
use fathom_check::questions::plan::Plan;
use fathom_model::system::TransitionSystem;
use fathom_search::engines::auto;
use fathom_search::engines::engine::{Chosen, Engine, Files, Run};

use super::{
    Output, granted, home, leave_word, plan, print, read_model, say, searched, settle, stream_summary,
    watcher,
};
use crate::history::Point;
use crate::report::Told;
use crate::report::escape::{Escaping, Printable};
use crate::report::formats::{dot, github, itf, junit, mermaid, sarif, vcd};
use crate::report::json::{self, Report};
use crate::report::page::{self, Carries, Page};
use crate::report::trace::{self, Sheet, TraceDocument};
use crate::report::{Exit, colour, text};
use crate::session::Session;
use crate::settings::{CheckSettings, Destination, OutputSettings, ReportFiles, TraceFormat};

/// Checks a model and reports.
pub fn run(settings: &CheckSettings, session: &Session) -> anyhow::Result<Exit> {
    let model = read_model(&settings.model, &settings.resources, settings.output.quiet)?;
    let resources = granted(&settings.resources, settings.output.quiet);
    let settings = &CheckSettings { resources, ..settings.clone() };
    let plan = plan(&model, &settings.questions)?;
    let json_output = Output::open_all(settings.output.json.as_ref())?;
    let trace_output = settings
        .trace
        .as_ref()
        .map(|file| {
            Ok::<_, anyhow::Error>((file.format, Output::open(&Destination::File(file.path.clone()))?))
        })
        .transpose()?;
    let file = |path: &Option<PathBuf>| {
        path.as_ref().map(|path| Output::open(&Destination::File(path.clone()))).transpose()
    };
    let ReportFiles { html, junit, sarif, .. } = &settings.files;
    let (html, junit, sarif) = (file(html)?, file(junit)?, file(sarif)?);
    let mut checked = checked(&model, &plan, settings, session)?;
    if settings.refuse_vacuous {
        checked = checked.refusing_vacuity();
    }
    let questions = &settings.questions;
    let choices = Choices {
        options: &settings.model.options,
        questions: Some(questions),
        faults: questions.faults,
        fair: &questions.liveness.fair_processes(&model)?,
        strong: matches!(questions.liveness.fairness, Fairness::Strong(_)),
        max_depth: settings.resources.max_depth,
        assumed_depth: checked.exploration.assumed_depth,
    };
    let OutputSettings { quiet, stats, .. } = settings.output;
    let outputs = Outputs {
        quiet,
        stats,
        json: json_output,
        trace: trace_output,
        html,
        html_static: settings.files.html_static,
        junit,
        sarif,
        annotate: settings.files.annotate,
        history: session.history(),
    };
    report("check", &model, &checked, &choices, outputs)
}

/// All properties about states in one search, then those about infinite runs one by one, until one is violated unless all are wanted.
fn checked(
    model: &Model,
    plan: &Plan,
    settings: &CheckSettings,
    session: &Session,
) -> anyhow::Result<Checked> {
    let questions = &settings.questions;
    let properties = questions.liveness(model)?;
    let about_states = properties.is_empty() || !plan.asks_nothing() || questions.faults_asked;
    anyhow::ensure!(
        !properties.is_empty() || questions.liveness.fairness == Fairness::None,
        "--fair says which infinite runs a formula is checked on, and there is no formula: add --ltl F"
    );
    refuse_contradictions(plan, settings, properties.len(), about_states)?;
    let liveness = LivenessSettings {
        engine: liveness_engine(settings, !properties.is_empty())?,
        fair: questions.liveness.fair_processes(model)?,
        strong: matches!(questions.liveness.fairness, Fairness::Strong(_)),
        faults: questions.faults,
        generation: settings.generation.clone(),
        stack: settings.stack.clone(),
    };
    // All formulas share their atoms, and what is odd about them.
    let warnings = properties.first().map_or(&[][..], |property| &property.warnings);
    for warning in warnings.iter().filter(|_| !settings.output.quiet) {
        say(&format!("warning: {warning}"));
    }
    let mut all = match about_states {
        true => Some(states_checked(model, plan, settings, session)?),
        false => None,
    };
    for possibility in &plan.possibilities {
        all = Some(Checked::one_more(all, &possibility.property, settings.stop, || {
            let watcher = watcher(session, &settings.output, &settings.resources, None)?;
            Ok::<_, anyhow::Error>(possibility::check(model, possibility, &settings.resources, &watcher)?)
        })?);
    }
    for property in &properties {
        all = Some(Checked::one_more(all, &property.property, settings.stop, || {
            liveness_checked(model, property, &liveness, settings, session)
        })?);
    }
    all.context("there is something to check")
}

/// Refuses what cannot be asked together, of so many properties of infinite runs.
fn refuse_contradictions(
    plan: &Plan,
    settings: &CheckSettings,
    properties: usize,
    about_states: bool,
) -> anyhow::Result<()> {
    let constrained = settings.questions.constraint.is_some();
    anyhow::ensure!(
        !constrained || properties == 0,
        "--constraint leaves steps out, and formulas and property processes speak of all runs: leave it out, or name what to check with --only"
    );
    anyhow::ensure!(
        settings.disk.keep_layers || properties == 0,
        "--no-trace drops layers, and a counterexample to a formula or property process is found by them: leave it out, or name what to check with --only"
    );
    let searches = properties + usize::from(about_states);
    anyhow::ensure!(
        settings.disk.folder.is_none() || properties == 0 || searches == 1,
        "a folder (--dir) holds one search, and this check needs {searches}: one for each property of infinite runs and one for all others; name one with --only, as in --only --ltl F or --only --property NAME, or leave --dir out"
    );
    anyhow::ensure!(
        !constrained || plan.possibilities.is_empty(),
        "--constraint leaves steps out, and `liveness` properties speak of all of them: leave it out, or name what to check with --only"
    );
    Ok(())
}

/// The engine for infinite runs, if any are asked about.
fn liveness_engine(settings: &CheckSettings, asked: bool) -> anyhow::Result<Chosen> {
    let Chosen { engine, .. } = settings.engine;
    let name = engine.name;
    anyhow::ensure!(
        asked || engine.answers_states(),
        "the engine {name} answers questions about infinite runs alone, and none is asked: leave --engine out, or add --ltl F"
    );
    if !asked {
        return Ok(Chosen::plain(&auto::ENGINE));
    }
    anyhow::ensure!(
        engine.answers_runs(),
        "the engine {name} answers no question about infinite runs: leave --engine out, or name what to check with --only"
    );
    anyhow::ensure!(
        !settings.disk.lasts() || engine.resumes,
        "the engine {name} leaves no certificate: leave --engine out, or choose semi-owcty"
    );
    Ok(settings.engine.clone())
}

/// Answers a question about infinite runs, with a place for files if the engine may have any.
fn liveness_checked(
    model: &Model,
    property: &LivenessProperty,
    liveness: &LivenessSettings,
    settings: &CheckSettings,
    session: &Session,
) -> anyhow::Result<Checked> {
    let on_the_fly = liveness.engine.engine.is_on_the_fly();
    let home = if on_the_fly {
        None
    } else {
        let identity = liveness.identity(model, property, &settings.model)?;
        Some(home(&settings.disk, liveness.generation.engine, identity, settings.output.quiet, session)?)
    };
    let watcher = watcher(session, &settings.output, &settings.resources, home.as_ref())?;
    let outcome = liveness::check(model, property, liveness, &settings.resources, &watcher, home.as_ref());
    let mut checked = searched(home.as_ref(), outcome)?;
    settle(home.as_ref(), &mut checked.exploration)?;
    if let Some(answer) = checked.answers.first_mut() {
        answer.search = Some(Box::new(checked.exploration.clone()));
    }
    Ok(checked)
}

fn states_checked(
    model: &Model,
    plan: &Plan,
    settings: &CheckSettings,
    session: &Session,
) -> anyhow::Result<Checked> {
    let (resources, stop) = (&settings.resources, settings.stop);
    let layers = |engine: &Chosen| {
        let home = home_of(model, engine.engine, settings, session)?;
        let watcher = watcher(session, &settings.output, resources, home.as_ref())?;
        let outcome = check::check(model, plan, engine, stop, resources, &watcher, home.as_ref());
        let mut checked = searched(home.as_ref(), outcome)?;
        settle(home.as_ref(), &mut checked.exploration)?;
        Ok(checked)
    };
    match settings.engine.engine.run {
        Run::States(_) | Run::Chooses { .. } => layers(&settings.engine),
        Run::Lossy(_) => {
            let watcher = watcher(session, &settings.output, resources, None)?;
            Ok(hunt::check_bitstate(model, plan, stop, resources, &watcher)?)
        }
        // It is for the formulas; what is asked about states has the default engine.
        Run::Runs(_) | Run::Generated { .. } => layers(&Chosen::plain(&auto::ENGINE)),
    }
}

/// A place for files, if the engine may have any.
fn home_of(
    model: &Model,
    engine: &Engine,
    settings: &CheckSettings,
    session: &Session,
) -> anyhow::Result<Option<Home>> {
    if engine.files == Files::None {
        return Ok(None);
    }
    let system = model.interpreter(Vec::new());
    let identity = Identity::of_check(model, &settings.model, &settings.questions, system.shape());
    home(&settings.disk, engine, identity, settings.output.quiet, session).map(Some)
}

/// Where a result goes.
#[derive(Default)]
pub(super) struct Outputs {
    pub(super) quiet: bool,
    pub(super) stats: bool,
    pub(super) json: Option<Output>,
    pub(super) trace: Option<(TraceFormat, Output)>,
    pub(super) html: Option<Output>,
    pub(super) html_static: bool,
    pub(super) junit: Option<Output>,
    pub(super) sarif: Option<Output>,
    pub(super) annotate: bool,
    pub(super) history: Vec<Point>,
}

/// Prints and writes what came of a check.
pub(super) fn report(
    command: &'static str,
    model: &Model,
    checked: &Checked,
    choices: &Choices<'_>,
    outputs: Outputs,
) -> anyhow::Result<Exit> {
    let Outputs { quiet, stats, json, trace, html, html_static, junit, sarif, annotate, history } = outputs;
    let taken = json.as_ref().is_some_and(Output::is_standard);
    let assumptions = choices.assumptions(model, checked.exploration.limit);
    warn_of_nothing(checked, choices, quiet);
    let unchecked = choices.questions.map_or(Vec::new(), |questions| questions.unchecked(model));
    let coloured = if taken { colour::wanted(&io::stderr()) } else { colour::wanted(&io::stdout()) };
    let told = Told { model, checked, assumptions: &assumptions, unchecked: &unchecked, stats, coloured };
    stream_summary(quiet, taken, |out| text::write_checked(&told, out))?;
    let report = || Report::of_check(command, &told);
    let carries = if html_static { Carries::Nothing } else { Carries::Explorer };
    let shown = || Page::new(model, &checked.answers, text::verdicts(model, checked), report(), &history);
    let page = |out: &mut dyn Write| page::write(&shown(), carries, out);
    if let Some((format, output)) = trace {
        let one = checked.answers.iter().find_map(|answer| answer.trace.as_ref());
        let (answers, name) = (&checked.answers, model.source().name());
        output.write_with(|out| match format {
            TraceFormat::Text => trace::write_all(model, answers, Sheet::IN_FILE, &mut Escaping(out)),
            TraceFormat::Json => json::write(&TraceDocument::of(model, answers), out),
            TraceFormat::Dot => dot::write(model, answers, out),
            TraceFormat::Mermaid => mermaid::write(model, answers, out),
            TraceFormat::Vcd => vcd::write(model, name, one, out),
            TraceFormat::Itf => itf::write(model, name, one, out),
            TraceFormat::Html => page(out),
        })?;
    }
    html.map_or(Ok(()), |output| output.write_with(page))?;
    junit.map_or(Ok(()), |output| output.write_with(|out| junit::write(model, checked, out)))?;
    sarif.map_or(Ok(()), |output| output.write_with(|out| sarif::write(model, checked, out)))?;
    if annotate {
        print(&github::annotations(model, checked))?;
    }
    if let Some(output) = json {
        output.write_with(|out| json::write(&report(), out))?;
    }
    leave_word(&checked.exploration, |out| page::write_shown(&shown(), out));
    Ok(checked.verdict().into())
}

/// What holds of no state at all says nothing.
fn warn_of_nothing(checked: &Checked, choices: &Choices<'_>, quiet: bool) {
    if quiet || checked.exploration.counts.states != Some(0) {
        return;
    }
    let constraint = choices.questions.and_then(|questions| questions.constraint.as_deref());
    say(&match constraint {
        Some(constraint) => format!(
            "warning: no initial state satisfies the constraint {}, so nothing was checked",
            Printable(constraint.trim())
        ),
        None => "warning: the model has no initial state, so nothing was checked".to_owned(),
    });
}
