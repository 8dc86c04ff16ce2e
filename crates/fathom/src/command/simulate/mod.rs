//! `fathom simulate`: walk through a model, by hand or at random.

mod editor;
mod prompt;
mod screen;
mod steering;

use std::io::IsTerminal;

use fathom_check::answers::hunt;
use fathom_check::limit::Limit;
use fathom_check::model::assemble::Model;
use fathom_check::questions::assumption::Choices;
use fathom_check::questions::plan::Plan;
use fathom_check::simulate::Simulation;

use super::check::{Outputs, report};
use super::{Output, granted, plan, read_model, watcher};
use crate::report::Exit;
use crate::session::Session;
use crate::settings::{Destination, SimulateSettings, Walk};

use steering::Steering;

/// Walks as asked.
pub fn run(settings: &SimulateSettings, session: &Session) -> anyhow::Result<Exit> {
    let model = read_model(&settings.model, &settings.resources, settings.output.quiet)?;
    let resources = granted(&settings.resources, settings.output.quiet);
    let settings = &SimulateSettings { resources, ..settings.clone() };
    let plan = plan(&model, &settings.questions)?;
    let process = model.program().property.as_ref();
    if let Some(process) = process.filter(|process| settings.questions.stated.contains(&process.name)) {
        anyhow::bail!(
            "{} is about infinite runs, and no walk is one: fathom check looks for them",
            process.name
        );
    }
    match settings.walk {
        Walk::ByHand { plain } => {
            session.is_interactive();
            by_hand(&model, &plan, plain, settings)
        }
        Walk::Random { walks, seed } => at_random(&model, &plan, walks, seed, settings, session),
    }
}

fn at_random(
    model: &Model,
    plan: &Plan,
    walks: u64,
    seed: u64,
    settings: &SimulateSettings,
    session: &Session,
) -> anyhow::Result<Exit> {
    let json_output = Output::open_all(settings.output.json.as_ref())?;
    let trace_output = settings
        .trace
        .as_ref()
        .map(|file| {
            Ok::<_, anyhow::Error>((file.format, Output::open(&Destination::File(file.path.clone()))?))
        })
        .transpose()?;
    let watcher = watcher(session, &settings.output, &settings.resources, None)?;
    let checked = hunt::random_walks(model, plan, walks, seed, &settings.resources, &watcher)?;
    let choices = Choices {
        options: &settings.model.options,
        questions: Some(&settings.questions),
        faults: settings.questions.faults,
        fair: &[],
        strong: false,
        max_depth: None,
        assumed_depth: None,
    };
    let outputs = Outputs {
        quiet: settings.output.quiet,
        json: json_output,
        trace: trace_output,
        ..Outputs::default()
    };
    let exit = report("simulate", model, &checked, &choices, outputs)?;
    // Every walk was made to its end: that is what was asked for, though it proves nothing.
    let made = checked.exploration.limit == Some(Limit::Lossy);
    Ok(if exit == Exit::GaveUp && made { Exit::Success } else { exit })
}

/// On the full screen where there is one, else with a prompt, else by the lines that come.
fn by_hand(model: &Model, plan: &Plan, plain: bool, settings: &SimulateSettings) -> anyhow::Result<Exit> {
    let budget = settings.resources.data_budget()?;
    let simulation = Simulation::new(model, plan, &budget)?;
    let mut steering = Steering::new(simulation, &budget, settings);
    let typed = std::io::stdin().is_terminal();
    let moves = typed
        && std::io::stdout().is_terminal()
        && std::env::var_os("TERM").is_some_and(|terminal| !terminal.is_empty() && terminal != "dumb");
    match moves && !plain {
        true => screen::run(&mut steering)?,
        false => prompt::run(&mut steering, typed, moves)?,
    }
    Ok(Exit::Success)
}
