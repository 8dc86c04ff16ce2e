//! Does the program keep its promises when it is attacked? Kills at every system call, hostile folders, options at their extremes, memory in a cgroup of `--ram`.
//!
//! The attack knows the binary alone: what it prints, its exit code, and the files it leaves. Each trial either keeps a promise or breaks it; what breaks is printed with
//! the command that shows it again.
//!
//! | file | question |
//! |---|---|
//! | `trial` | what came of running the binary once? |
//! | `tracer` | how is a process killed at its n-th system call? |
//! | `kills` | does a search survive being killed anywhere? |
//! | `folders` | does anything outside the search folder change, and is a forged folder believed? |
//! | `options` | what do extreme values do? |
//! | `memory` | does the whole process stay within `--ram`? |

mod folders;
mod kills;
mod memory;
mod options;
mod tracer;
mod trial;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use oracle::random::Random;

/// How long to attack, and with what.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Stop after this many minutes; every part is tried at least once, those with a fixed list of trials first.
    #[arg(long, default_value_t = 5)]
    minutes: u64,
    /// Only parts whose name contains this: kills, folders, options, memory.
    #[arg(long, default_value = "")]
    only: String,
    /// Where random choices come from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Attack this binary in place of the one that is built now.
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// What an attack works with.
pub(crate) struct Attack {
    /// The binary under attack.
    binary: PathBuf,
    /// Our own models.
    models: PathBuf,
    /// Until when trials are drawn.
    deadline: Instant,
    random: Random,
}

/// What came of the trials of one part.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    tries: u64,
    failed: u64,
    /// Why nothing could be tried, where that is so.
    skipped: Option<String>,
}

type Part = fn(&mut Attack, &mut Tally) -> anyhow::Result<()>;

const PARTS: [(&str, Part); 4] =
    [("options", options::run), ("memory", memory::run), ("kills", kills::run), ("folders", folders::run)];

/// Attacks, and tells tries, survived, failed.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let binary = match &arguments.binary {
        Some(binary) => binary.canonicalize().with_context(|| format!("{}", binary.display()))?,
        None => build()?,
    };
    let parts: Vec<_> = PARTS.iter().filter(|(name, _)| name.contains(&arguments.only)).collect();
    ensure!(!parts.is_empty(), "no part is called {}", arguments.only);
    let end = Instant::now() + Duration::from_secs(arguments.minutes * 60);
    let mut failed = 0;
    for (done, (name, part)) in parts.iter().enumerate() {
        let began = Instant::now();
        // What a part with few trials leaves is for those behind it.
        let share = end.saturating_duration_since(began) / (parts.len() - done) as u32;
        let random = Random::new(arguments.seed);
        let mut attack = Attack { binary: binary.clone(), models: models(), deadline: began + share, random };
        let mut tally = Tally::default();
        part(&mut attack, &mut tally)?;
        println!("{name:8} {tally} in {:.0} s", began.elapsed().as_secs_f64());
        failed += tally.failed;
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

/// Builds the binary, and says where it is.
fn build() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status =
        Command::new(cargo).args(["build", "--release", "--quiet", "--package", "fathom"]).status()?;
    ensure!(status.success(), "the binary does not build");
    // This program lies beside it, or in a folder beside it if it is a test.
    let here = std::env::current_exe()?;
    let found = here.ancestors().map(|folder| folder.join("fathom")).find(|path| path.is_file());
    found.context("the binary is not where it was built")
}

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../models")
}

impl Attack {
    /// The path of one of our own models.
    fn model(&self, name: &str) -> String {
        self.models.join(name).display().to_string()
    }

    /// Whether trials may still be drawn.
    fn has_time(&self) -> bool {
        Instant::now() < self.deadline
    }
}

impl Tally {
    /// Counts a trial; what it broke is printed.
    fn count(&mut self, what: impl fmt::Display, outcome: Result<(), String>) {
        self.tries += 1;
        if let Err(why) = outcome {
            self.failed += 1;
            println!("FAILED {what}: {why}");
        }
    }

    /// Notes that a part cannot be tried here.
    fn skip(&mut self, why: &str) {
        self.skipped = Some(why.to_owned());
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { tries, failed, skipped } = self;
        write!(formatter, "{tries:6} tries, {:6} survived, {failed:4} failed", tries - failed)?;
        match skipped {
            Some(why) => write!(formatter, " (SKIPPED: {why})"),
            None => Ok(()),
        }
    }
}
