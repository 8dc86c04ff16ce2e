//! `cargo xtask papers PAPER`: what do published experiments give with this program, on the same models?
//!
//! One file per paper, with its tables and figures in the order of the paper. Another paper is another file and a line in `PAPERS`.

mod ioemc;
mod plot;
mod program;
mod report;
mod sweep;

use std::path::PathBuf;
use std::process::ExitCode;

use program::Program;
use report::Report;

/// A paper whose experiments can be repeated.
struct Paper {
    name: &'static str,
    /// Authors, title, year.
    cited: &'static str,
    repeat: fn(&Program, &mut Report) -> anyhow::Result<()>,
}

static PAPERS: &[&Paper] = &[&ioemc::PAPER, &sweep::PAPER];

/// Which paper, and how.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The paper.
    #[arg(value_parser = PAPERS.iter().map(|paper| paper.name).collect::<Vec<_>>())]
    paper: String,
    /// Small instances and one run each, to see that all of it works.
    #[arg(long)]
    quick: bool,
    /// How often each command runs; medians are told.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds after which a run is given up, and said to be.
    #[arg(long, default_value_t = 600)]
    limit: u64,
    /// The program, built with `cargo build --release`.
    #[arg(long, default_value = "target/release/fathom")]
    fathom: PathBuf,
    /// The folder with `beem/models` and `murphi/models`. Instances that are not there are left out, and named.
    #[arg(long, default_value = "../shared")]
    folder: PathBuf,
    /// Where PAPER.md and its plots go; with --quick target/papers.
    #[arg(long)]
    into: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let paper = PAPERS.iter().find(|paper| paper.name == arguments.paper);
    let paper = paper.expect("the command line was held against the same list");
    let rounds = if arguments.quick { 1 } else { arguments.rounds.max(1) };
    let program =
        Program::new(&arguments.fathom, &arguments.folder, rounds, arguments.limit, arguments.quick)?;
    let mut report = Report::new(paper.name);
    report.heading(1, paper.cited);
    let quick = if arguments.quick { " --quick" } else { "" };
    let limit = arguments.limit;
    report.command(&format!("cargo xtask papers {}{quick} --rounds {rounds} --limit {limit}", paper.name));
    report.paragraph(&format!(
        "Each figure is the median of {rounds}; those that are compared ran in turns. CPU is user and system time of the whole process, with one thread unless said otherwise."
    ));
    let repeated = (paper.repeat)(&program, &mut report);
    report.left_out(&program.missing());
    let usual = if arguments.quick { "target/papers" } else { "docs/results" };
    let into = arguments.into.clone().unwrap_or_else(|| PathBuf::from(usual));
    // What was measured is written down, whatever happened to the rest.
    println!("{}", report.write(&into)?.display());
    repeated?;
    Ok(ExitCode::SUCCESS)
}
