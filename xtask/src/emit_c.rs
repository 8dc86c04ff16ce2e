//! What would a C compiler make of a model? Prints it as C, to be read beside what the compiler in `fathom-exec` makes of it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;
use fathom_model::layout::{Declared, Layout};
use fathom_model::program::Composition;
use fathom_model::values::PossibleValues;

use crate::bench::successors::read;

/// What to print.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Lay variables out by their declared types, not by the values they can have.
    #[arg(long)]
    declared: bool,
    /// A DVE model.
    model: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let program = read(&arguments.model)?;
    ensure!(
        program.composition == Composition::Asynchronous,
        "joint steps of synchronous models are not printed"
    );
    let layout = match arguments.declared {
        true => Layout::new(&program, &Declared),
        false => Layout::new(&program, &PossibleValues::of(&program)),
    };
    print!("{}", oracle::emit_c::unit(&[(&program, &layout)]));
    Ok(ExitCode::SUCCESS)
}
