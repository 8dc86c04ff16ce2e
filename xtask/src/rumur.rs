//! Do we find what rumur finds, on many random programs? The test that CI runs on a few of them, on as many as are wanted.

use std::process::{Command, ExitCode};

use anyhow::Context;

/// How many programs.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many random programs.
    #[arg(long, default_value_t = 3_000)]
    cases: u64,
    /// The seed of the first one.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let status = Command::new("cargo")
        .args(["test", "--release", "-p", "fathom-check", "--test", "rumur", "--", "--nocapture"])
        .env("FATHOM_RUMUR_CASES", arguments.cases.to_string())
        .env("FATHOM_RUMUR_SEED", arguments.seed.to_string())
        .status()
        .context("cargo is needed to run a test")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
