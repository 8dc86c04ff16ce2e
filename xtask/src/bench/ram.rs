//! How fast are compiled successors beside gcc's and the interpreter's, and the RAM engine beside SPIN on the same systems, and on one thread beside two?
//!
//! Contestants take turns in every round, each in a process of its own, so that what else the machine does falls on all of them. What is compared is processor
//! time of the whole process: reading, analysis, compilation and search.
//!
//! What two threads can bring at most is not two on a machine that shares caches, memory and perhaps a core between them, or has other work. So two processes of one
//! thread each are run at once, too, which share nothing: what they bring is the ceiling. A run during which the machine did other work for more than a few hundredths of
//! the time is repeated: two threads on one and a half processors say nothing. Short runs are made more often than long ones.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail, ensure};

use super::successors;
use super::twins::{self, Twin};

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How often each contestant runs at least; where a run of ours takes less than three seconds, up to five times as often.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Leave out the systems that SPIN runs, too.
    #[arg(long)]
    without_spin: bool,
    /// Of those, only what has this in its name.
    #[arg(long, default_value = "")]
    only: String,
    /// Leave out what `bench successors` measures: compiled successors beside gcc -O2 and the interpreter.
    #[arg(long)]
    without_successors: bool,
    /// The program to measure.
    #[arg(long, default_value = "target/release/fathom")]
    fathom: PathBuf,
    /// Models to explore on one and two threads, beside those that are in Promela too.
    models: Vec<PathBuf>,
}

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
    if !arguments.without_successors {
        successors::run(&successors::Arguments::of(arguments.rounds, &arguments.models))?;
        println!();
    }
    println!(
        "| system | contestant | states | CPU s | wall s | ns CPU per transition | MB | bytes per state |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let work = tempfile::tempdir()?;
    let twins = [twins::torus_3d(192), twins::hypercube(21), twins::two_phase_commit(10)];
    let wanted = |twin: &Twin| !arguments.without_spin && twin.name.contains(&arguments.only);
    for (number, twin) in twins.iter().enumerate().filter(|(_, twin)| wanted(twin)) {
        let folder = work.path().join(number.to_string());
        std::fs::create_dir_all(&folder)?;
        let model = folder.join("twin.dve");
        std::fs::write(&model, &twin.dve)?;
        let pan = build_pan(&folder, twin);
        if let Err(error) = &pan {
            println!("| {} | SPIN | skipped: {error:#} | | | | | |", twin.name);
        }
        compare(arguments, &twin.name, &model, pan.ok().as_deref())?;
    }
    for model in &arguments.models {
        let name = model.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        compare(arguments, &name, model, None)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn compare(arguments: &Arguments, name: &str, model: &Path, pan: Option<&Path>) -> anyhow::Result<()> {
    let (mut spin, mut one, mut two, mut both) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let fathom = &arguments.fathom;
    let expected = run_fathom(fathom, model, 1)?.wall;
    let rounds = arguments.rounds * (3.0 / expected).clamp(1.0, 5.0).round() as usize;
    let mut other_work = OtherWork::default();
    for round in 0..rounds {
        if let Some(pan) = pan.filter(|_| round < arguments.rounds) {
            spin.push(run_pan(pan)?);
        }
        one.push(other_work.avoid(|| run_fathom(fathom, model, 1))?);
        two.push(other_work.avoid(|| run_fathom(fathom, model, 2))?);
        both.push(other_work.avoid(|| run_both(fathom, model))?);
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
    let OtherWork { repeated, in_vain } = other_work;
    println!(
        "| {name} | runs repeated since the machine did other work: {repeated}; disturbed in the end: {in_vain} | | | | | | |"
    );
    Ok(())
}

/// What the machine did besides.
#[derive(Default)]
struct OtherWork {
    /// Runs that were made once more.
    repeated: usize,
    /// Runs that count though they were disturbed.
    in_vain: usize,
}

impl OtherWork {
    /// The most that a run is made, and the part of its time that other work may take.
    const ATTEMPTS: usize = 8;
    const TOLERATED: f64 = 0.03;

    /// Makes a run again until it is undisturbed, as far as the machine tells.
    fn avoid(&mut self, run: impl Fn() -> anyhow::Result<Taken>) -> anyhow::Result<Taken> {
        for attempt in 1.. {
            let (before, begin) = (busy_seconds(), std::time::Instant::now());
            let taken = run()?;
            let others = busy_seconds().zip(before).map_or(0.0, |(after, before)| after - before - taken.cpu);
            // The counters have a resolution of a hundredth of a second, and bash takes some time itself.
            if others <= 0.03 + Self::TOLERATED * begin.elapsed().as_secs_f64() {
                return Ok(taken);
            }
            if attempt == Self::ATTEMPTS {
                self.in_vain += 1;
                return Ok(taken);
            }
            self.repeated += 1;
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        unreachable!("attempts are counted")
    }
}

/// Seconds that all processors together were busy since the machine was started, where the kernel tells: without idle time, time of other guests of the host, and that of
/// guests, which is counted twice.
fn busy_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let times: Vec<f64> =
        text.lines().next()?.split_whitespace().skip(1).map_while(|time| time.parse().ok()).collect();
    let &[user, nice, system, _idle, _waiting, interrupts, soft_interrupts, ..] = &*times else {
        return None;
    };
    Some((user + nice + system + interrupts + soft_interrupts) / 100.0)
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
fn build_pan(folder: &Path, twin: &Twin) -> anyhow::Result<PathBuf> {
    std::fs::write(folder.join("twin.pml"), &twin.promela)?;
    succeed(Command::new("spin").args(["-a", "twin.pml"]).current_dir(folder))?;
    succeed(
        Command::new("gcc")
            .args(["-O2", "-w", "-DNOREDUCE", "-DSAFETY", "-o", "pan", "pan.c"])
            .current_dir(folder),
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

/// Two processes of one thread at once: the processor time of both, and half of the time by the clock.
fn run_both(fathom: &Path, model: &Path) -> anyhow::Result<Taken> {
    let begin = std::time::Instant::now();
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| run_fathom(fathom, model, 1));
        let one = run_fathom(fathom, model, 1)?;
        anyhow::Ok((one, other.join().expect("running a process does not panic")?))
    })?;
    Ok(Taken { cpu: one.cpu + other.cpu, wall: begin.elapsed().as_secs_f64() / 2.0, ..one })
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
