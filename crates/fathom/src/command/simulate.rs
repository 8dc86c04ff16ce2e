//! `fathom simulate`: walk through a model, by hand or at random.

use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal};
use std::path::Path;

use anyhow::Context;
use fathom_check::answers::hunt;
use fathom_check::engines::layer_engine;
use fathom_check::model::assemble::Model;
use fathom_check::model::user_file;
use fathom_check::questions::assumption::Choices;
use fathom_check::questions::plan::Plan;
use fathom_check::simulate::{Choice, Simulation, SimulationError};
use fathom_search::traces::path::Room;

use super::check::{Outputs, report};
use super::{Output, granted, plan, print, read_model, watcher};
use crate::progress::Meter;
use crate::report::Exit;
use crate::report::state;
use crate::report::text::plural;
use crate::report::trace::{SavedDocument, Sheet, step_line, write_run};
use crate::session::Session;
use crate::settings::{Destination, SimulateSettings, Walk};

const HELP: &str = "  NUMBER             take that step
  back [N]           take back the last step, or the last N
  values             show all values of the state
  run                show the run so far
  random [N]         take a random step, or N
  trace FILE [N]     go along a saved trace (JSON), to its end or N steps
  restart            go back to the initial state
  help               show this
  quit               end
";

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
        Walk::ByHand => {
            session.is_interactive();
            by_hand(&model, &plan, settings)
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
    let watcher = watcher(session, &settings.output, Meter::of_walks)?;
    let checked = hunt::random_walks(model, plan, walks, seed, &settings.resources, &watcher)?;
    let choices = Choices {
        options: &settings.model.options,
        questions: Some(&settings.questions),
        faults: settings.questions.faults,
        fair: &[],
        strong: false,
        max_depth: None,
    };
    let outputs = Outputs {
        quiet: settings.output.quiet,
        json: json_output,
        trace: trace_output,
        ..Outputs::default()
    };
    report("simulate", model, &checked, &choices, outputs)
}

fn by_hand(model: &Model, plan: &Plan, settings: &SimulateSettings) -> anyhow::Result<Exit> {
    let budget = settings.resources.data_budget()?;
    let room = layer_engine::room(&budget, None);
    let stdin = std::io::stdin();
    let prompt = stdin.is_terminal();
    let mut simulation = Simulation::new(model, plan, &budget)?;
    let mut dice = 0;
    print(&format!("{}\n{}", "type a number to take a step, `help` for more", scene(&simulation)))?;
    let mut lines = stdin.lock().lines();
    loop {
        if prompt {
            print("> ")?;
        }
        let Some(line) = lines.next() else { return Ok(Exit::Success) };
        match obey(&mut simulation, &room, line.context("cannot read standard input")?.trim(), &mut dice) {
            Reply::Quit => return Ok(Exit::Success),
            Reply::Text(text) => print(&text)?,
            Reply::Scene => print(&scene(&simulation))?,
        }
    }
}

/// What comes of a line.
enum Reply {
    Quit,
    Text(String),
    Scene,
}

fn obey(simulation: &mut Simulation<'_>, room: &Room, line: &str, dice: &mut u64) -> Reply {
    let mut words = line.split_whitespace();
    let command = words.next().unwrap_or("");
    let argument = words.next();
    let count = |argument: Option<&str>| argument.map_or(Some(1), |text| text.parse::<usize>().ok());
    match (command, argument) {
        ("", _) => Reply::Scene,
        ("quit" | "q" | "exit", _) => Reply::Quit,
        ("help" | "h" | "?", _) => Reply::Text(HELP.into()),
        ("values" | "v", _) => Reply::Text(values(simulation)),
        ("run", _) => {
            Reply::Text(run_in_words(simulation, room).unwrap_or_else(|error| format!("{error:#}\n")))
        }
        ("restart", _) => {
            simulation.back(usize::MAX);
            Reply::Scene
        }
        ("back" | "b", argument) => match count(argument) {
            Some(count) if simulation.back(count) > 0 => Reply::Scene,
            Some(_) => Reply::Text("this is the initial state\n".into()),
            None => Reply::Text("back takes a number\n".into()),
        },
        ("random" | "r", argument) => match count(argument) {
            Some(count) => match walk(simulation, count, dice) {
                Ok(()) => Reply::Scene,
                Err(error) => Reply::Text(format!("{error}\n{}", scene(simulation))),
            },
            None => Reply::Text("random takes a number\n".into()),
        },
        ("trace" | "t", Some(file)) => follow(simulation, Path::new(file), words.next()),
        ("trace" | "t", None) => Reply::Text("trace takes the name of a JSON file\n".into()),
        (number, _) => match number.parse::<usize>() {
            Ok(number) => match number.checked_sub(1).map_or(Ok(false), |step| simulation.take(step)) {
                Ok(true) => Reply::Scene,
                Ok(false) => Reply::Text(format!("there is no step {number}\n")),
                Err(error) => Reply::Text(format!("{error}\n")),
            },
            Err(_) => {
                Reply::Text(format!("`{number}` is neither a number nor a command; `help` lists them\n"))
            }
        },
    }
}

fn walk(simulation: &mut Simulation<'_>, count: usize, dice: &mut u64) -> Result<(), SimulationError> {
    for _ in 0..count {
        let steps = simulation.step_count();
        *dice = dice.wrapping_add(1);
        if steps == 0 || !simulation.take(fathom_disk::hash::hash_word(*dice) as usize % steps)? {
            break;
        }
    }
    Ok(())
}

/// The run so far; of a long one, its ends.
fn run_in_words(simulation: &Simulation<'_>, room: &Room) -> anyhow::Result<String> {
    let mut text = Vec::new();
    write_run(simulation.model(), &simulation.trace(room)?, Sheet::on_screen(), &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn follow(simulation: &mut Simulation<'_>, file: &Path, count: Option<&str>) -> Reply {
    let mut read = || -> anyhow::Result<()> {
        let text = user_file::read(file, user_file::TRACES)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let saved: SavedDocument = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not a trace that check wrote", file.display()))?;
        let first = saved.traces.first().context("there is no trace in it")?;
        let count = count.map(str::parse).transpose().context("the number of steps")?;
        Ok(simulation.follow(&first.trace, count.unwrap_or(usize::MAX))?)
    };
    match read() {
        Ok(()) => Reply::Scene,
        Err(error) => Reply::Text(format!("{error:#}\n")),
    }
}

/// The state and what can be done.
fn scene(simulation: &Simulation<'_>) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "after {}:", plural(simulation.length() as u64, "step"));
    for line in changed(simulation) {
        let _ = writeln!(text, "  {line}");
    }
    for name in simulation.violated() {
        let _ = writeln!(text, "  violated here: {name}");
    }
    let choices = simulation.choices();
    if choices.is_empty() {
        let _ = writeln!(text, "  nothing can happen: a deadlock");
    }
    for (number, choice) in choices.iter().enumerate() {
        let _ = match choice {
            Choice::Step(step) => writeln!(text, "  {:>3}  {}", number + 1, step_line(step)),
            Choice::Fault(step, fault) => writeln!(text, "    !  {}: {fault}", step_line(step)),
        };
    }
    text
}

/// What the last step changed; all of it in the first state.
fn changed(simulation: &Simulation<'_>) -> Vec<String> {
    let before = simulation.earlier();
    state::lines(before.as_ref(), &simulation.state(), state::width().saturating_sub(2))
}

fn values(simulation: &Simulation<'_>) -> String {
    let lines = state::lines(None, &simulation.state(), state::width().saturating_sub(2));
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "  {line}");
        text
    })
}
