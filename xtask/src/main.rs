//! Tasks of the project itself: corpus runs, benchmarks, checks. `cargo xtask --help` lists them.

mod corpus;
mod widths;

use clap::{Parser, Subcommand};

/// Tasks of the project itself.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Explore published models and compare with their published figures.
    Corpus(corpus::Arguments),
    /// Compare the inferred widths of records with what runs really use.
    Widths(widths::Arguments),
}

fn main() -> anyhow::Result<std::process::ExitCode> {
    match Arguments::parse().task {
        Task::Corpus(arguments) => corpus::run(&arguments),
        Task::Widths(arguments) => widths::run(&arguments),
    }
}
