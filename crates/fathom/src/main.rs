//! The command line of fathom.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use fathom::arguments::raw::{Arguments, Command};
use fathom::assemble::ModelError;
use fathom::command;
use fathom::liveness_property::LivenessError;
use fathom::report::Exit;

fn main() -> ExitCode {
    let exit = match dispatch(Arguments::parse()) {
        Ok(exit) => exit,
        Err(error) => {
            tell(&error);
            Exit::Error
        }
    };
    ExitCode::from(exit.code())
}

/// Arguments, settings, command.
fn dispatch(arguments: Arguments) -> anyhow::Result<Exit> {
    match arguments.command {
        Command::Check(arguments) => command::check::run(&arguments.validate()?),
        Command::Explore(arguments) => command::explore::run(&arguments.validate()?),
        Command::Translate(arguments) => command::translate::run(&arguments),
        Command::Simulate(arguments) => command::simulate::run(&arguments.validate()?),
        Command::Audit(arguments) => command::audit::run(&arguments.validate()),
        Command::Engines => command::engines::run(),
        Command::Completions { shell } => command::help::completions(shell),
        Command::Man { folder } => command::help::man(folder.as_deref()),
    }
}

/// Says what happened. Diagnostics have their own form.
fn tell(error: &anyhow::Error) {
    let model = match error.downcast_ref() {
        Some(LivenessError::Formula(rendered)) => return eprintln!("{rendered}"),
        Some(LivenessError::Atom(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    match model {
        Some(ModelError::Source { text, diagnostics }) => {
            eprint!("{}", diagnostics.render(text, std::io::stderr().is_terminal()));
        }
        _ => eprintln!("error: {error:#}"),
    }
}
