//! What does each command do? Settings in, an exit out; results are printed on the way.

pub mod audit;
pub mod check;
pub mod engines;
pub mod explore;
pub mod help;
pub mod simulate;
pub mod translate;

use std::io::{IsTerminal, Write};

use anyhow::Context;

use crate::assemble::{Model, ModelError};
use crate::home::Home;
use crate::identity::Identity;
use crate::interrupt::Interrupt;
use crate::layer_engine::LayerEngine;
use crate::observer::Watcher;
use crate::progress::Meter;
use crate::property::{Plan, PlanError, Questions};
use crate::run::{Exploration, Limit, RunError};
use crate::settings::{Destination, DiskSettings, ModelSettings, OutputSettings, Resources};

/// Reads the model and shows what looks odd in it.
fn read_model(settings: &ModelSettings, quiet: bool) -> Result<Model, ModelError> {
    let model = Model::read(&settings.path, &settings.options)?;
    if !quiet && !model.warnings().is_empty() {
        eprint!("{}", model.warnings().render(model.source(), std::io::stderr().is_terminal()));
    }
    for name in model.told_apart().iter().filter(|_| !quiet) {
        eprintln!("warning: values of the scalarset {name} are told apart, so it has no symmetry");
    }
    Ok(model)
}

/// Puts questions into the form a search can answer; an expression that is wrong is told as any wrong source is.
fn plan(model: &Model, questions: &Questions) -> anyhow::Result<Plan> {
    Plan::new(model, questions).map_err(|error| match error {
        PlanError::Expression(error) => error.into(),
        other => other.into(),
    })
}

/// Watches a search that begins now, for signals too.
fn watcher(
    resources: &Resources,
    output: &OutputSettings,
    meter: impl FnOnce(Meter) -> Meter,
) -> anyhow::Result<Watcher> {
    let interrupt = Interrupt::on_signals().context("cannot watch for signals")?;
    Ok(Watcher::new(interrupt, resources.time_limit, meter(Meter::new(output.progress))))
}

/// A place for the files of a run, made now if they are there from the start.
fn home(
    settings: &DiskSettings,
    engine: LayerEngine,
    identity: Identity,
    quiet: bool,
) -> anyhow::Result<Home> {
    let home = Home::new(settings, identity);
    if settings.lasts() || matches!(engine, LayerEngine::Tier(_)) {
        home.volume()?;
    }
    if let Some(folder) = home.folder().filter(|_| home.starts_over() && !quiet) {
        eprintln!("note: nothing is committed in {}: the run starts over", folder.display());
    }
    Ok(home)
}

/// What came of a search with files. If the machine failed, the error says how to go on.
fn searched<T>(home: Option<&Home>, outcome: Result<T, RunError>) -> anyhow::Result<T> {
    match (outcome, home) {
        (Err(error), Some(home)) if home.settle(false).unwrap_or(false) => {
            let command = resume_command(home);
            Err(anyhow::anyhow!("{error}\nwhat was committed is kept; to go on:\n  {command}"))
        }
        (outcome, _) => Ok(outcome?),
    }
}

/// The search is over and its traces are told: removes files that nobody wants, and notes how to go on.
fn settle(home: Option<&Home>, exploration: &mut Exploration) -> anyhow::Result<()> {
    let done = matches!(exploration.limit, None | Some(Limit::Violation));
    if let (Some(home), Some(disk)) = (home, &mut exploration.disk) {
        let stays = home.settle(done)?;
        disk.folder = home.folder().filter(|_| stays).map(ToOwned::to_owned);
        disk.resume = (stays && !done).then(|| resume_command(home));
    }
    Ok(())
}

/// The command that was given, in the form that goes on with its run.
fn resume_command(home: &Home) -> String {
    let given = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let mut words: Vec<String> = std::iter::once("fathom".to_owned()).chain(given).collect();
    if let Some(folder) = home.folder()
        && !words.iter().any(|word| word == "--dir" || word.starts_with("--dir="))
    {
        words.extend(["--dir".to_owned(), folder.display().to_string()]);
    }
    if !words.iter().any(|word| word == "--resume") {
        words.push("--resume".to_owned());
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./,:+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Prints a summary, beside standard output if that is taken for something else.
fn print_summary(text: &str, quiet: bool, taken: bool) -> anyhow::Result<()> {
    match (quiet, taken) {
        (true, _) => Ok(()),
        (false, false) => print(text),
        (false, true) => {
            eprint!("{text}");
            Ok(())
        }
    }
}

/// An output that is known to be writable before the work begins.
#[derive(Debug)]
pub(crate) struct Output {
    destination: Destination,
    file: Option<std::fs::File>,
}

impl Output {
    /// Opens a file for writing; what is in it stays until [`Output::write`].
    pub(crate) fn open(destination: &Destination) -> anyhow::Result<Output> {
        let file = match destination {
            Destination::Standard => None,
            Destination::File(path) => {
                let file = std::fs::OpenOptions::new().create(true).write(true).truncate(false).open(path);
                Some(file.with_context(|| format!("cannot write {}", path.display()))?)
            }
        };
        Ok(Output { destination: destination.clone(), file })
    }

    /// Opens what there is to open.
    pub(crate) fn open_all(destination: Option<&Destination>) -> anyhow::Result<Option<Output>> {
        destination.map(Output::open).transpose()
    }

    /// Whether it is standard output.
    pub(crate) fn is_standard(&self) -> bool {
        self.file.is_none()
    }

    /// Replaces what is in it.
    pub(crate) fn write(self, text: &[u8]) -> anyhow::Result<()> {
        let written = match self.file {
            None => print_bytes(text),
            Some(mut file) => file.set_len(0).and_then(|()| file.write_all(text)),
        };
        let name = match &self.destination {
            Destination::Standard => "standard output".into(),
            Destination::File(path) => path.display().to_string(),
        };
        written.with_context(|| format!("cannot write {name}"))
    }
}

/// Prints to standard output; a reader that has gone away is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    print_bytes(text.as_bytes()).context("cannot write standard output")
}

fn print_bytes(text: &[u8]) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
