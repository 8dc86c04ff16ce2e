//! How fast is the RAM engine, beside SPIN on the same systems, and on one thread beside two?
//!
//! Contestants take turns in every round, each in a process of its own, so that what else the machine does falls on all of them. What is compared is processor
//! time of the whole process: reading, analysis, compilation and search.
//!
//! What two threads can bring at most is not two on a machine that shares caches, memory and perhaps a core between them, or has other work. So two processes of one
//! thread each are run at once, too, which share nothing: what they bring is the ceiling.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail, ensure};

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How often each contestant runs.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// The program to measure.
    #[arg(long, default_value = "target/release/fathom")]
    fathom: PathBuf,
    /// Models to explore on one and two threads, beside those that are in Promela too.
    models: Vec<PathBuf>,
}

/// Systems that are written in both languages.
const TWINS: [&str; 3] = ["torus_3d", "hypercube", "two_phase_commit"];

/// What one run took.
#[derive(Clone, Copy, Debug)]
struct Taken {
    cpu: f64,
    wall: f64,
    /// Largest resident set, in bytes; SPIN's own figure for its states and table.
    memory: f64,
    states: f64,
    transitions: f64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    ensure!(arguments.fathom.exists(), "{} is not there: cargo build --release", arguments.fathom.display());
    println!(
        "| system | contestant | states | CPU s | wall s | ns CPU per transition | MB | bytes per state |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let work = tempfile::tempdir()?;
    for name in TWINS {
        let pan = build_pan(work.path(), name);
        if let Err(error) = &pan {
            println!("| {name} | SPIN | skipped: {error:#} | | | | | |");
        }
        let model = PathBuf::from(format!("models/{name}.dve"));
        compare(arguments, name, &model, pan.ok().as_deref())?;
    }
    for model in &arguments.models {
        let name = model.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        compare(arguments, &name, model, None)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn compare(arguments: &Arguments, name: &str, model: &Path, pan: Option<&Path>) -> anyhow::Result<()> {
    let (mut spin, mut one, mut two, mut both) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..arguments.rounds {
        if let Some(pan) = pan {
            spin.push(run_pan(pan)?);
        }
        one.push(run_fathom(&arguments.fathom, model, 1)?);
        two.push(run_fathom(&arguments.fathom, model, 2)?);
        both.push(run_both(&arguments.fathom, model)?);
    }
    let pairs: Vec<(&Taken, &Taken)> = spin.iter().zip(&one).collect();
    if let Some((spin, one)) = pairs.first() {
        ensure!(spin.states == one.states, "{name}: SPIN has {} states, we have {}", spin.states, one.states);
    }
    for (contestant, runs) in [("SPIN", &spin), ("1 thread", &one), ("2 threads", &two)] {
        if !runs.is_empty() {
            println!("| {name} | {contestant} | {}", row(runs));
        }
    }
    let ratio = |left: &[Taken], right: &[Taken], of: fn(&Taken) -> f64| {
        let ratios: Vec<f64> = left.iter().zip(right).map(|(left, right)| of(left) / of(right)).collect();
        spread(&ratios)
    };
    if !spin.is_empty() {
        println!("| {name} | SPIN / 1 thread, CPU | | {} | | | | |", ratio(&spin, &one, |taken| taken.cpu));
    }
    println!("| {name} | 2 threads / 1 thread, CPU | | {} | | | | |", ratio(&two, &one, |taken| taken.cpu));
    println!("| {name} | 1 thread / 2 threads, wall | | | {} | | | |", ratio(&one, &two, |taken| taken.wall));
    println!(
        "| {name} | ceiling: 1 thread / half of two processes at once, wall | | | {} | | | |",
        ratio(&one, &both, |taken| taken.wall)
    );
    Ok(())
}

fn row(runs: &[Taken]) -> String {
    let column = |of: &dyn Fn(&Taken) -> f64| spread(&runs.iter().map(of).collect::<Vec<_>>());
    format!(
        "{} | {} | {} | {} | {} | {} |",
        runs[0].states,
        column(&|taken| taken.cpu),
        column(&|taken| taken.wall),
        column(&|taken| taken.cpu * 1e9 / taken.transitions),
        column(&|taken| taken.memory / 1e6),
        column(&|taken| taken.memory / taken.states),
    )
}

/// Median, and the range.
pub(super) fn spread(values: &[f64]) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
    format!("{:.2} ({least:.2}-{most:.2})", sorted[sorted.len() / 2])
}

/// Makes SPIN's verifier: exhaustive, exact, safety only, without reduction.
fn build_pan(work: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let folder = work.join(name);
    std::fs::create_dir_all(&folder)?;
    let source = std::fs::canonicalize(format!("models/promela/{name}.pml"))?;
    succeed(Command::new("spin").arg("-a").arg(source).current_dir(&folder))?;
    succeed(
        Command::new("gcc")
            .args(["-O2", "-w", "-DNOREDUCE", "-DSAFETY", "-o", "pan", "pan.c"])
            .current_dir(&folder),
    )?;
    Ok(folder.join("pan"))
}

pub(super) fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("{name} is not installed"))?;
    ensure!(output.status.success(), "{name} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn run_pan(pan: &Path) -> anyhow::Result<Taken> {
    let (text, cpu, wall) = timed(&[&pan.to_string_lossy(), "-m10000000", "-w24", "-E"])?;
    let number = |words: &str| -> anyhow::Result<f64> {
        let line = text
            .lines()
            .find(|line| line.contains(words))
            .with_context(|| format!("no \"{words}\" from SPIN"))?;
        line.split_whitespace().next().and_then(|word| word.parse().ok()).with_context(|| line.to_owned())
    };
    let memory = number("total actual memory usage")? * 1e6;
    Ok(Taken {
        cpu,
        wall,
        memory,
        states: number("states, stored")?,
        transitions: number("transitions (= stored")?,
    })
}

fn run_fathom(fathom: &Path, model: &Path, threads: usize) -> anyhow::Result<Taken> {
    let threads = threads.to_string();
    let program = fathom.to_string_lossy();
    let (text, cpu, wall) = timed(&[
        &program,
        "explore",
        &model.to_string_lossy(),
        "--engine",
        "ram",
        "--threads",
        &threads,
        "--quiet",
        "--json",
        "-",
    ])?;
    let number = |key: &str| -> anyhow::Result<f64> {
        let (_, rest) =
            text.split_once(&format!("\"{key}\":")).with_context(|| format!("no {key} in the report"))?;
        let digits: String = rest.trim_start().chars().take_while(|it| it.is_ascii_digit()).collect();
        digits.parse().with_context(|| format!("{key} is not a number"))
    };
    Ok(Taken {
        cpu,
        wall,
        memory: number("peak")?,
        states: number("states")?,
        transitions: number("transitions")?,
    })
}

/// Two processes of one thread at once: what half of both together takes.
fn run_both(fathom: &Path, model: &Path) -> anyhow::Result<Taken> {
    let begin = std::time::Instant::now();
    let one = std::thread::scope(|scope| {
        let other = scope.spawn(|| run_fathom(fathom, model, 1));
        let one = run_fathom(fathom, model, 1)?;
        other.join().expect("running a process does not panic")?;
        anyhow::Ok(one)
    })?;
    Ok(Taken { wall: begin.elapsed().as_secs_f64() / 2.0, ..one })
}

/// Runs a command; gives what it printed, its processor time and its wall time in seconds.
fn timed(command: &[&str]) -> anyhow::Result<(String, f64, f64)> {
    let output = Command::new("bash")
        .args(["-c", "TIMEFORMAT='TIMES %U %S %R'; time \"$@\"", "bash"])
        .args(command)
        .output()
        .context("bash is needed to measure")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let Some(times) = errors.lines().find_map(|line| line.strip_prefix("TIMES ")) else {
        bail!("{}: {errors}", command.join(" "));
    };
    ensure!(output.status.success(), "{}: {errors}", command.join(" "));
    let times: Vec<f64> = times.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), times[0] + times[1], times[2]))
}
