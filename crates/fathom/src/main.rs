//! The command line of fathom.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use fathom::arguments::hints;
use fathom::arguments::raw::{Arguments, Command};
use fathom::report::say::{say, say_coloured};
use fathom::report::{Exit, colour};
use fathom::session::Session;
use fathom::{command, interrupt};
use fathom_check::model::assemble::ModelError;
use fathom_check::questions::liveness_property::LivenessError;

fn main() -> ExitCode {
    let began = Instant::now();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refused(&error),
    };
    let exit = match dispatch(arguments, began) {
        Ok(exit) => exit,
        Err(error) => {
            tell(&error);
            Exit::Error
        }
    };
    ExitCode::from(exit.code())
}

/// Says what is wrong with the arguments, and what was probably meant; help and the version are asked for this way, too.
fn refused(error: &clap::Error) -> ExitCode {
    // What cannot be said is no reason to end in another way.
    let _ = error.print();
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some(hint) = hints::hint(error, &words) {
        say(&format!("\nhint: {hint}"));
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Arguments, settings, command.
fn dispatch(arguments: Arguments, began: Instant) -> anyhow::Result<Exit> {
    interrupt::file_size_limit_is_an_error().context("cannot watch for signals")?;
    let session = |limit| Session::new(began, limit);
    match arguments.command {
        Command::Check(arguments) => {
            let settings = arguments.validate()?;
            command::check::run(&settings, &session(settings.resources.time_limit))
        }
        Command::Explore(arguments) => {
            let settings = arguments.validate()?;
            command::explore::run(&settings, &session(settings.resources.time_limit))
        }
        Command::Translate(arguments) => command::translate::run(&arguments),
        Command::Simulate(arguments) => {
            let settings = arguments.validate()?;
            command::simulate::run(&settings, &session(settings.resources.time_limit))
        }
        Command::Replay(arguments) => command::replay::run(&arguments.validate()?),
        Command::Follow(arguments) => {
            let settings = arguments.validate()?;
            command::follow::run(&settings, &session(settings.resources.time_limit))
        }
        Command::Audit(arguments) => command::audit::run(&arguments.validate()?, &session(None)),
        Command::View(arguments) => command::view::run(&arguments.validate()?, &session(None)),
        Command::Report(arguments) => command::report::run(&(*arguments).into()),
        Command::Engines => command::engines::run(),
        Command::Lsp => command::lsp::run(),
        Command::Completions { shell } => command::help::completions(shell),
        Command::Man { folder } => command::help::man(folder.as_deref()),
    }
}

/// Says what happened. Diagnostics have their own form.
fn tell(error: &anyhow::Error) {
    let model = match error.downcast_ref() {
        Some(LivenessError::Formula(rendered)) => return say(&format!("{rendered}\n")),
        Some(LivenessError::Atom(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    match model {
        Some(ModelError::Source { text, diagnostics }) => {
            say_coloured(&diagnostics.render(text, colour::wanted(&std::io::stderr())));
        }
        _ => {
            let hint = hints::next_step(error).map_or(String::new(), |hint| format!("\nhint: {hint}"));
            say(&format!("error: {error:#}{hint}"));
        }
    }
}
