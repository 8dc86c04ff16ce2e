//! Tasks of the project itself: corpus runs, benchmarks, checks. `cargo xtask --help` lists them.

mod agree;
mod attack;
mod bench;
mod corpus;
mod corpus_ltl;
mod emit_c;
mod estimate;
mod explorer;
mod lassos;
mod package;
mod papers;
mod printed;
mod rumur;
mod sabotage;
mod tidy;
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
    /// Search models on machine code, on the interpreter and on printed C, and compare what is found.
    Agree(agree::Arguments),
    /// Attack the program: kills, hostile folders, extreme options, tight memory.
    Attack(attack::Arguments),
    /// Measure, side by side with what it is compared to.
    #[command(subcommand)]
    Bench(bench::Part),
    /// Explore published models and compare with their published figures.
    Corpus(corpus::Arguments),
    /// Print a model as C.
    EmitC(emit_c::Arguments),
    /// Compile the part of the checker that pages carry, to WebAssembly.
    Explorer(explorer::Arguments),
    /// Measure how long the lassos are that are shown, against the shortest there are.
    Lassos(lassos::Arguments),
    /// Hold the estimate of the end against spaces whose sizes are known.
    Estimate(estimate::Arguments),
    /// Build the program small, and make a Debian package of it.
    Package(package::Arguments),
    /// Repeat the experiments of a paper, and write what came of them to docs/results.
    Papers(papers::Arguments),
    /// Check random Murphi programs and compare with rumur.
    Rumur(rumur::Arguments),
    /// Build with one deliberate defect at a time; each must turn tests red.
    Sabotage(sabotage::Arguments),
    /// Check that the tree keeps to its own rules.
    Tidy(tidy::Arguments),
    /// Compare the inferred widths of records with what runs really use.
    Widths(widths::Arguments),
}

fn main() -> anyhow::Result<std::process::ExitCode> {
    match Arguments::parse().task {
        Task::Agree(arguments) => agree::run(&arguments),
        Task::Attack(arguments) => attack::run(&arguments),
        Task::Bench(part) => bench::run(&part),
        Task::EmitC(arguments) => emit_c::run(&arguments),
        Task::Explorer(arguments) => explorer::run(&arguments),
        Task::Lassos(arguments) => lassos::run(&arguments),
        Task::Estimate(arguments) => estimate::run(&arguments),
        Task::Package(arguments) => package::run(&arguments),
        Task::Papers(arguments) => papers::run(&arguments),
        Task::Rumur(arguments) => rumur::run(&arguments),
        Task::Sabotage(arguments) => sabotage::run(&arguments),
        Task::Corpus(arguments) => corpus::run(&arguments),
        Task::Tidy(arguments) => tidy::run(&arguments),
        Task::Widths(arguments) => widths::run(&arguments),
    }
}
