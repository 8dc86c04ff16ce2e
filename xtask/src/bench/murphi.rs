//! How fast and how small are Murphi models, beside rumur on the same texts, with symmetry off and on?
//!
//! rumur translates a model to C, which is compiled with `gcc -O2` and run on one thread, as ours is. Contestants take turns in every round, each in a process of its own. What
//! is compared is processor time of the search (rumur's without translating and compiling, ours with reading and compiling to machine code), and the largest resident set.
//! Models of the corpus beside the project, if it is there, are run by ours alone: CMurphi's published figures of them are in the book.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};

use super::ram::{spread, succeed};

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How often each contestant runs.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The program to measure.
    #[arg(long, default_value = "target/release/fathom")]
    fathom: PathBuf,
    /// Leave the models of the corpus out.
    #[arg(long)]
    only_rumur: bool,
}

/// Our models that rumur reads, too, and a constant that makes them large: without symmetry, and with it.
const MODELS: [(&str, &str, [u32; 2]); 5] = [
    ("peterson_scalarset", "N", [5, 7]),
    ("queue_lock", "N", [5, 7]),
    ("directory", "NODES", [3, 4]),
    ("dense_cube", "N", [19, 19]),
    ("dining", "N", [11, 11]),
];

/// Models of the corpus that CMurphi was measured on, and what is chosen about them: without symmetry, and with it.
const CORPUS: [(&str, [Option<&str>; 2]); 9] = [
    ("mux/n_peterson.m", [Some("N=5"), Some("N=7")]),
    ("mux/mcslock1.m", [Some(""), Some("")]),
    ("mux/mcslock2.m", [Some(""), Some("")]),
    ("sym/list6.m", [Some(""), Some("")]),
    ("sym/adash.m", [Some(""), Some("")]),
    ("sym/cache3.m", [None, Some("")]),
    ("romp/german.m", [Some(""), Some("NODE_NUM=5")]),
    ("others/dp4.m", [Some("N=9"), None]),
    ("others/dpnew.m", [Some("N=7"), None]),
];

/// What one run took.
#[derive(Clone, Copy, Debug)]
struct Taken {
    cpu: f64,
    /// Largest resident set, in bytes.
    memory: f64,
    states: f64,
    rules: f64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    ensure!(arguments.fathom.exists(), "{} is not there: cargo build --release", arguments.fathom.display());
    println!(
        "| model | symmetry | contestant | states | rules fired | CPU s | 1,000 states per CPU s | bytes per state |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let work = tempfile::tempdir()?;
    for (name, constant, sizes) in MODELS {
        for (symmetry, size) in ["off", "on"].into_iter().zip(sizes) {
            let model = sized(work.path(), name, constant, size)?;
            let rumur = build_rumur(work.path(), &model, symmetry);
            if let Err(error) = &rumur {
                println!("| {name} {size} | {symmetry} | rumur | skipped: {error:#} | | | | |");
            }
            compare(
                arguments,
                &format!("{name}, {constant} = {size}"),
                &model,
                symmetry,
                rumur.ok().as_deref(),
            )?;
        }
    }
    let corpus = Path::new("../shared/murphi/models");
    if arguments.only_rumur || !corpus.is_dir() {
        return Ok(ExitCode::SUCCESS);
    }
    for (name, choices) in CORPUS {
        for (symmetry, constant) in ["off", "on"].into_iter().zip(choices) {
            let Some(constant) = constant else { continue };
            let options: Vec<&str> = if constant.is_empty() { Vec::new() } else { vec!["--const", constant] };
            let runs = (0..arguments.rounds)
                .map(|_| run_fathom(&arguments.fathom, &corpus.join(name), symmetry, &options));
            let runs: Vec<Taken> = runs.collect::<Result<_, _>>()?;
            println!("| {name} {constant} | {symmetry} | fathom | {}", row(&runs));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn compare(
    arguments: &Arguments,
    name: &str,
    model: &Path,
    symmetry: &str,
    rumur: Option<&Path>,
) -> anyhow::Result<()> {
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..arguments.rounds {
        if let Some(rumur) = rumur {
            theirs.push(run_rumur(rumur)?);
        }
        ours.push(run_fathom(&arguments.fathom, model, symmetry, &[])?);
    }
    for (contestant, runs) in [("rumur", &theirs), ("fathom", &ours)] {
        if !runs.is_empty() {
            println!("| {name} | {symmetry} | {contestant} | {}", row(runs));
        }
    }
    if theirs.is_empty() {
        return Ok(());
    }
    // With symmetry rumur keeps several representatives of some states.
    let equal = theirs[0].states == ours[0].states || symmetry == "on" && theirs[0].states > ours[0].states;
    ensure!(equal, "{name}: rumur has {} states, we have {}", theirs[0].states, ours[0].states);
    let ratio = |of: fn(&Taken) -> f64| {
        let ratios: Vec<f64> = theirs.iter().zip(&ours).map(|(theirs, ours)| of(theirs) / of(ours)).collect();
        spread(&ratios)
    };
    println!(
        "| {name} | {symmetry} | rumur / fathom | | | {} | | {} |",
        ratio(|taken| taken.cpu),
        ratio(|taken| taken.memory)
    );
    Ok(())
}

fn row(runs: &[Taken]) -> String {
    let column = |of: &dyn Fn(&Taken) -> f64| spread(&runs.iter().map(of).collect::<Vec<_>>());
    format!(
        "{} | {} | {} | {} | {} |",
        runs[0].states,
        runs[0].rules,
        column(&|taken| taken.cpu),
        column(&|taken| taken.states / taken.cpu / 1e3),
        column(&|taken| taken.memory / taken.states),
    )
}

/// A copy of one of our models with another constant: rumur takes none from outside.
fn sized(work: &Path, name: &str, constant: &str, size: u32) -> anyhow::Result<PathBuf> {
    let text = std::fs::read_to_string(format!("models/{name}.m"))?;
    let start =
        text.find(&format!("{constant}: ")).with_context(|| format!("{name} has no constant {constant}"))?;
    let end = start + text[start..].find(';').context("a constant ends")?;
    let path = work.join(format!("{name}-{size}.m"));
    std::fs::write(&path, format!("{}{constant}: {size}{}", &text[..start], &text[end..]))?;
    Ok(path)
}

/// Makes rumur's checker of a model.
fn build_rumur(work: &Path, model: &Path, symmetry: &str) -> anyhow::Result<PathBuf> {
    let reduction = if symmetry == "on" { "heuristic" } else { "off" };
    let (source, program) = (work.join("checker.c"), work.join("checker"));
    succeed(
        Command::new("rumur")
            .args(["--threads", "1", "--symmetry-reduction", reduction, "--counterexample-trace", "off"])
            .args(["--deadlock-detection", "off", "--output"])
            .args([&source, model]),
    )?;
    succeed(Command::new("gcc").args(["-O2", "-w", "-mcx16", "-pthread", "-o"]).args([&program, &source]))?;
    Ok(program)
}

fn run_rumur(checker: &Path) -> anyhow::Result<Taken> {
    let (text, cpu, memory) = timed(&[&checker.to_string_lossy()])?;
    let line = text.lines().rev().find(|line| line.contains(" rules fired in ")).context("rumur counts")?;
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [states, rules, ..] = numbers[..] else { anyhow::bail!("rumur says {line}") };
    Ok(Taken { cpu, memory, states, rules })
}

fn run_fathom(fathom: &Path, model: &Path, symmetry: &str, options: &[&str]) -> anyhow::Result<Taken> {
    let (program, model) = (fathom.to_string_lossy(), model.to_string_lossy());
    let mut command = vec![&*program, "check", &model, "--symmetry", symmetry, "--deadlock=off"];
    command.extend(["--engine", "ram", "--threads", "1", "--stop", "never", "--quiet", "--json", "-"]);
    command.extend(options);
    let (text, cpu, memory) = timed(&command)?;
    let number = |key: &str| -> anyhow::Result<f64> {
        let (_, rest) =
            text.split_once(&format!("\"{key}\":")).with_context(|| format!("no {key} in the report"))?;
        let digits: String = rest.trim_start().chars().take_while(|it| it.is_ascii_digit()).collect();
        digits.parse().with_context(|| format!("{key} is not a number"))
    };
    Ok(Taken { cpu, memory, states: number("states")?, rules: number("transitions")? })
}

/// Runs a command; gives what it printed, its processor time in seconds, and its largest resident set in bytes. Models with something wrong end
/// with another status than 0, and count as well.
fn timed(command: &[&str]) -> anyhow::Result<(String, f64, f64)> {
    let output = Command::new("/usr/bin/time")
        .args(["-f", "TIMES %U %S %M"])
        .args(command)
        .output()
        .context("/usr/bin/time is needed to measure")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let times = errors.lines().find_map(|line| line.strip_prefix("TIMES "));
    let times = times.with_context(|| format!("{}: {errors}", command.join(" ")))?;
    let times: Vec<f64> = times.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), times[0] + times[1], times[2] * 1024.0))
}
