//! Do published models have their published figures? States, transitions, depth and deadlocks of every BEEM instance up to a size.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use fathom_disk::budget::Budget;
use fathom_exec::interpreter::Interpreter;
use fathom_exec::jit::Compiled;
use fathom_lang::dve::{DveOptions, compile};
use fathom_lang::source::SourceText;
use fathom_model::expression::Overflow;
use fathom_model::layout::{Declared, Possible};
use fathom_model::system::TransitionSystem;
use fathom_model::values::PossibleValues;
use fathom_search::bodies::stages::run as search;
use fathom_search::engines::ram::RamTable;
use fathom_search::task::{Ending, Outcome, Settings, Task, Tuning};

/// What to explore, or another part of the corpus.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    part: Option<Part>,
    /// Leave out instances with more published states.
    #[arg(long, default_value_t = 2_000_000)]
    max_states: u64,
    /// Leave out instances with fewer published states.
    #[arg(long, default_value_t = 0)]
    min_states: u64,
    /// Only instances whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// How many threads explore.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// The folder with reference.tsv and models/.
    #[arg(long, default_value = "../shared/beem")]
    folder: PathBuf,
    /// Give every variable the bits of its declared type, not of the values it can hold.
    #[arg(long)]
    declared: bool,
    /// Interpret instead of compiling.
    #[arg(long)]
    no_jit: bool,
    /// Also write the table to this file, as Markdown.
    #[arg(long)]
    report: Option<PathBuf>,
}

impl Arguments {
    /// Instances of such a size whose name contains that.
    pub(crate) fn of_instances(
        states: std::ops::RangeInclusive<u64>,
        only: &str,
        threads: usize,
        folder: &Path,
    ) -> Arguments {
        Arguments {
            part: None,
            max_states: *states.end(),
            min_states: *states.start(),
            only: only.to_owned(),
            threads,
            folder: folder.to_owned(),
            declared: false,
            no_jit: false,
            report: None,
        }
    }
}

/// Another part of the corpus.
#[derive(clap::Subcommand)]
enum Part {
    /// Check published formulas and property processes.
    Ltl(crate::corpus_ltl::Arguments),
}

/// A row of the published figures; what is not known exactly is none.
#[derive(Debug)]
struct Published {
    instance: String,
    states: Option<u64>,
    transitions: Option<u64>,
    depth: Option<u64>,
    deadlocks: Option<u64>,
}

/// What came of an instance.
struct Row {
    instance: String,
    bits: u32,
    overflow: Overflow,
    outcome: Outcome,
    seconds: Duration,
    differences: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(Part::Ltl(part)) = &arguments.part {
        return crate::corpus_ltl::run(part);
    }
    let mut rows = Vec::new();
    each_instance(arguments, &mut |row| {
        println!("{}", line(&row));
        rows.push(row);
    })?;
    let wrong = rows.iter().filter(|row| !row.differences.is_empty()).count();
    println!("{} instances, {} as published, {wrong} not", rows.len(), rows.len() - wrong);
    if let Some(report) = &arguments.report {
        std::fs::write(report, markdown(arguments, &rows))
            .with_context(|| format!("{}", report.display()))?;
    }
    Ok(ExitCode::from(u8::from(wrong > 0)))
}

/// Explores instances, and hands their names and the sizes of their layers on.
pub(crate) fn layer_sizes(arguments: &Arguments, each: &mut dyn FnMut(&str, &[u64])) -> anyhow::Result<()> {
    each_instance(arguments, &mut |row| {
        each(&row.instance, &row.outcome.layers.iter().collect::<Vec<_>>());
    })
}

/// Explores the instances that were asked for.
fn each_instance(arguments: &Arguments, each: &mut dyn FnMut(Row)) -> anyhow::Result<()> {
    let table = arguments.folder.join("reference.tsv");
    let text =
        std::fs::read_to_string(&table).with_context(|| format!("published figures: {}", table.display()))?;
    for published in published(&text)? {
        let model = arguments.folder.join("models").join(format!("{}.dve", published.instance));
        let size =
            published.states.filter(|states| (arguments.min_states..=arguments.max_states).contains(states));
        if size.is_none() || !published.instance.contains(&arguments.only) || !model.exists() {
            continue;
        }
        // The published figures are of values that wrap around, which shows only where a model leaves the range of a type.
        let mut row = explore(&model, &published, Overflow::Fault, arguments)?;
        if row.outcome.faults > 0 {
            row = explore(&model, &published, Overflow::Wrap, arguments)?;
        }
        each(row);
    }
    Ok(())
}

fn published(text: &str) -> anyhow::Result<Vec<Published>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().context("an empty table")?.split('\t').collect();
    let column =
        |name: &str| header.iter().position(|it| *it == name).with_context(|| format!("no column {name}"));
    let columns =
        [column("states")?, column("transitions")?, column("bfs_height")?, column("deadlock_states")?];
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [states, transitions, depth, deadlocks] =
            columns.map(|column| cells.get(column).and_then(|cell| cell.parse().ok()));
        Published { instance: cells[0].to_owned(), states, transitions, depth, deadlocks }
    };
    Ok(lines.filter(|line| !line.is_empty()).map(row).collect())
}

fn explore(
    model: &Path,
    published: &Published,
    overflow: Overflow,
    arguments: &Arguments,
) -> anyhow::Result<Row> {
    let bytes = std::fs::read(model).with_context(|| format!("{}", model.display()))?;
    let name = model.display().to_string();
    let source = match SourceText::from_bytes(name, bytes) {
        Ok(source) => source,
        Err(_) => bail!("{} is not text", model.display()),
    };
    let compiled = match compile(&source, &DveOptions { overflow, ..DveOptions::default() }) {
        Ok(compiled) => compiled,
        Err(diagnostics) => bail!("{}", diagnostics.render(&source, false)),
    };
    let threads = arguments.threads;
    let values = PossibleValues::of(&compiled.program);
    let possible: &dyn Possible = if arguments.declared { &Declared } else { &values };
    let system: Box<dyn TransitionSystem> = if arguments.no_jit {
        Box::new(Interpreter::new(compiled.program, possible))
    } else {
        Box::new(Compiled::new(compiled.program, possible)?)
    };
    let budget = Budget::unlimited();
    let began = Instant::now();
    let mut table = RamTable::new(system.shape(), &budget, threads)?;
    let settings = Settings {
        threads,
        conditions: Vec::new(),
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: false,
        tuning: Tuning::default(),
    };
    let outcome = search(Task::new(&*system, &budget, &settings), &mut table)?;
    let differences = differences(published, &outcome);
    let bits = system.shape().width_bits;
    let instance = published.instance.clone();
    Ok(Row { instance, bits, overflow, outcome, seconds: began.elapsed(), differences })
}

fn differences(published: &Published, outcome: &Outcome) -> Vec<String> {
    assert_eq!(outcome.ending, Ending::Complete, "nothing stops a run of the corpus");
    let states = outcome.layers.sum();
    let depth = outcome.layers.len() as u64 - 1;
    [
        ("states", published.states, states),
        ("transitions", published.transitions, outcome.transitions),
        ("depth", published.depth, depth),
        ("deadlocks", published.deadlocks, outcome.deadlocks),
    ]
    .into_iter()
    .filter_map(|(what, published, ours)| {
        published
            .filter(|published| *published != ours)
            .map(|published| format!("{what}: published {published}"))
    })
    .collect()
}

fn cells(row: &Row) -> [String; 7] {
    [
        row.instance.clone(),
        row.bits.to_string(),
        row.outcome.expanded.to_string(),
        row.outcome.transitions.to_string(),
        (row.outcome.layers.len() - 1).to_string(),
        row.outcome.deadlocks.to_string(),
        match (row.differences.is_empty(), row.overflow) {
            (true, Overflow::Fault) => "as published".into(),
            (true, Overflow::Wrap) => "as published, values wrap around".into(),
            (false, _) => row.differences.join(", "),
        },
    ]
}

fn line(row: &Row) -> String {
    let [instance, bits, states, transitions, depth, deadlocks, verdict] = cells(row);
    format!(
        "{instance:<22} {bits:>5} bits {states:>10} states {transitions:>11} transitions {depth:>6} deep {deadlocks:>8} deadlocks {:>8.2} s  {verdict}",
        row.seconds.as_secs_f64()
    )
}

fn markdown(arguments: &Arguments, rows: &[Row]) -> String {
    let wrong = rows.iter().filter(|row| !row.differences.is_empty()).count();
    let mut text = format!(
        "# BEEM instances against their published figures\n\n\
         `cargo xtask corpus --min-states {} --max-states {} --threads {}{}` (engine `ram`).\n\
         {} instances, {} as published, {wrong} not. Where a step faults with the default policy, the figures are with `--overflow wrap`.\n\n\
         | instance | bits | states | transitions | depth | deadlocks | seconds | |\n|---|---|---|---|---|---|---|---|\n",
        arguments.min_states,
        arguments.max_states,
        arguments.threads,
        if arguments.no_jit { " --no-jit" } else { "" },
        rows.len(),
        rows.len() - wrong,
    );
    for row in rows {
        let [instance, bits, states, transitions, depth, deadlocks, verdict] = cells(row);
        let seconds = row.seconds.as_secs_f64();
        text += &format!(
            "| {instance} | {bits} | {states} | {transitions} | {depth} | {deadlocks} | {seconds:.2} | {verdict} |\n"
        );
    }
    text
}
