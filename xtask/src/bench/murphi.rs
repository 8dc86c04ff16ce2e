//! How fast and how small are Murphi models, beside rumur on the same texts, with symmetry off and on?
//!
//! rumur translates a model to C, which is compiled with `gcc -O2` and run on one thread, as ours is. Contestants take turns in every round, each in a process of its own. What
//! is compared is processor time of the search (rumur's without translating and compiling, ours with reading and compiling to machine code), and the largest resident set.
//! The models of the corpus are left out by name where there is none.

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
}

/// A model, a constant, and its values without symmetry and with it; 0 leaves the text as it is, none leaves the run out.
type Sized = (&'static str, &'static str, [Option<u32>; 2]);

/// Ours first, then those of the corpus beside the project that CMurphi was measured on.
const MODELS: [Sized; 14] = [
    ("models/peterson_scalarset.m", "N", [Some(5), Some(7)]),
    ("models/coherence_multiset.m", "CACHES", [Some(3), Some(4)]),
    ("models/directory.m", "NODES", [Some(3), Some(4)]),
    ("models/dense_cube.m", "N", [Some(16), None]),
    ("models/dining.m", "N", [Some(12), None]),
    ("../shared/murphi/models/mux/n_peterson.m", "N", [Some(5), Some(7)]),
    ("../shared/murphi/models/mux/mcslock1.m", "", [Some(0), Some(0)]),
    ("../shared/murphi/models/mux/mcslock2.m", "", [Some(0), Some(0)]),
    ("../shared/murphi/models/romp/german.m", "NODE_NUM", [Some(4), Some(5)]),
    ("../shared/murphi/models/sym/list6.m", "", [Some(0), Some(0)]),
    ("../shared/murphi/models/sym/adash.m", "", [Some(0), Some(0)]),
    ("../shared/murphi/models/sym/cache3.m", "", [None, Some(0)]),
    ("../shared/murphi/models/others/dp4.m", "N", [Some(9), None]),
    ("../shared/murphi/models/others/dpnew.m", "N", [Some(7), None]),
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
    for (path, constant, sizes) in MODELS {
        let name = path.rsplit('/').next().unwrap_or(path);
        if !Path::new(path).exists() {
            println!("| {name} | | skipped: no {path} | | | | | |");
            continue;
        }
        for (symmetry, size) in ["off", "on"].into_iter().zip(sizes) {
            let Some(size) = size else { continue };
            let model = sized(work.path(), path, constant, size)?;
            let title = if size > 0 { format!("{name}, {constant} = {size}") } else { name.to_owned() };
            let rumur = build_rumur(work.path(), &model, symmetry);
            if rumur.is_err() {
                println!("| {title} | {symmetry} | rumur | does not read it | | | | |");
            }
            compare(arguments, &title, &model, symmetry, rumur.ok().as_deref())?;
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
        ours.push(run_fathom(&arguments.fathom, model, symmetry)?);
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
    let agrees = match symmetry {
        "on" => theirs[0].states >= ours[0].states,
        _ => theirs[0].states == ours[0].states,
    };
    ensure!(agrees, "{name}: rumur has {} states, we have {}", theirs[0].states, ours[0].states);
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

/// A copy of a model with another constant: rumur takes none from outside.
fn sized(work: &Path, path: &str, constant: &str, size: u32) -> anyhow::Result<PathBuf> {
    let mut text = std::fs::read_to_string(path)?;
    if size > 0 {
        let is_declared = |at: &usize| {
            let alone = text[..*at].chars().next_back().is_none_or(|it| !it.is_alphanumeric() && it != '_');
            alone && text[at + constant.len()..].trim_start().starts_with(':')
        };
        let start = text.match_indices(constant).map(|(at, _)| at).find(is_declared);
        let start = start.with_context(|| format!("{path} has no constant {constant}"))?;
        let end = start + text[start..].find(';').context("a constant ends")?;
        text.replace_range(start..end, &format!("{constant}: {size}"));
    }
    let copy = work.join("model.m");
    std::fs::write(&copy, text)?;
    Ok(copy)
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

fn run_fathom(fathom: &Path, model: &Path, symmetry: &str) -> anyhow::Result<Taken> {
    let (program, model) = (fathom.to_string_lossy(), model.to_string_lossy());
    let mut command = vec![&*program, "check", &model, "--symmetry", symmetry, "--deadlock=off"];
    command.extend(["--engine", "ram", "--threads", "1", "--stop", "never", "--quiet", "--json", "-"]);
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
