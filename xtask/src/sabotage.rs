//! Can the tests fail? One build that knows deliberate defects must turn a suite red for each of them, and stay green for none. And builds that differ where nobody may notice must not.

use std::collections::HashSet;
use std::process::{Command, ExitCode, Output};
use std::time::Instant;

use anyhow::Context;

/// Which defects to try.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The part: disk, search, program or all.
    #[arg(default_value = "all")]
    part: String,
    /// Only defects whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Also builds that must find the same as any other.
    #[arg(long)]
    alike: bool,
}

/// A defect, and who must notice it: a suite of a package, and of it the tests whose name contains a word.
struct Defect {
    part: &'static str,
    name: &'static str,
    package: &'static str,
    suite: &'static str,
    test: &'static str,
}

const fn disk(name: &'static str, suite: &'static str, test: &'static str) -> Defect {
    Defect { part: "disk", name, package: "fathom-disk", suite, test }
}

const fn search(name: &'static str, suite: &'static str, test: &'static str) -> Defect {
    Defect { part: "search", name, package: "fathom-search", suite, test }
}

const fn program(name: &'static str, suite: &'static str, test: &'static str) -> Defect {
    Defect { part: "program", name, package: PROGRAM, suite, test }
}

const PROGRAM: &str = "fathom";
const GRAPHS: &str = "random_graphs_are_explored_as_the_judge_explores_them";

/// All of them.
const DEFECTS: &[Defect] = &[
    disk("fsync-1", "power_loss", ""),
    disk("fsync-2", "power_loss", ""),
    disk("fsync-3", "power_loss", ""),
    disk("fsync-4", "power_loss", ""),
    disk("fsync-log", "power_loss", ""),
    disk("fsync-log-name", "power_loss", ""),
    disk("merge-last-key", "set", ""),
    disk("join", "values", ""),
    disk("checksum", "run", ""),
    disk("filter", "structures", "filter::"),
    search("window", "power_loss", "loses_power"),
    search("run-sync", "power_loss", "loses_power"),
    search("journal", "power_loss", "loses_power"),
    search("filter", "tier", "a_filter_before_the_runs"),
    search("merge-last-key", "tier", GRAPHS),
    search("trie", "tier", "fold_into_a_trie"),
    search("regress", "sweep_disk", "finds_what_the_judge_finds"),
    search("image", "layered", GRAPHS),
    search("visits", "layered", GRAPHS),
    search("split", "partition", GRAPHS),
    search("passes", "liveness", "engines_agree_with_the_judge"),
    search("file-sums", "liveness", "engines_agree_with_the_judge"),
    search("maximum", "liveness", "marks_on_steps_make_cycles_accepting"),
    search("spans", "liveness", "sweeps_find_accepting_runs"),
    search("carried", "liveness", "engines_agree_with_the_judge"),
    search("requests", "liveness", "strong_fairness_is_the_implication"),
    search("hash-alone", "liveness", "tables_and_paths_on_disk"),
    search("loop-start", "liveness", "the_shortest_lassos_are_found"),
    search("depth", "astar", "what_is_found_first_is_nearest"),
    search("pass-log", "liveness", "passes_that_lose_power"),
    search("ranks", "liveness", "what_holds_has_ranks"),
    program("card", "tier", "something_else_is_refused"),
];

/// Builds of `fathom-search` that must find the same as any other, by feature.
const ALIKE: &[(&str, &str)] =
    &[("constant-hash", "tier"), ("constant-hash", "layered"), ("constant-hash", "partition")];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { part, only, alike } = arguments;
    let known = ["disk", "search", "program", "all"];
    anyhow::ensure!(known.contains(&&**part), "there are no defects for {part}; known: {}", known.join(", "));
    let chosen = |defect: &&Defect| (part == "all" || part == defect.part) && defect.name.contains(&**only);
    let mut missed = 0;
    // Suites that are green without a defect.
    let mut green = HashSet::new();
    for defect in DEFECTS.iter().filter(chosen) {
        let began = Instant::now();
        let suite = (defect.package, defect.suite, defect.test);
        if !green.contains(&suite) && !turns_red(defect, "none")? {
            green.insert(suite);
        }
        let verdict = match turns_red(defect, defect.name)? {
            _ if !green.contains(&suite) => "RED WITHOUT IT",
            true => "noticed",
            false => "NOT NOTICED",
        };
        missed += usize::from(verdict != "noticed");
        println!("{}, {}: {verdict} ({:.1} s)", defect.package, defect.name, began.elapsed().as_secs_f64());
    }
    if DEFECTS.iter().filter(chosen).any(|defect| defect.package == PROGRAM) {
        // The build with defects has taken the place of the program: nobody is to use that.
        let arguments = ["build", "--release", "--quiet", "--package", PROGRAM];
        anyhow::ensure!(cargo_command().args(arguments).status()?.success(), "the program does not build");
    }
    for (feature, suite) in ALIKE.iter().filter(|_| *alike) {
        let differs = fails(&cargo("fathom-search", suite, &["--features", feature], &[], None)?);
        missed += usize::from(differs);
        println!("{feature}: {}", if differs { "DIFFERS" } else { "no difference" });
    }
    Ok(ExitCode::from(u8::from(missed > 0)))
}

/// Whether the tests fail with a defect, in the build that knows all of them.
fn turns_red(defect: &Defect, chosen: &str) -> anyhow::Result<bool> {
    let Defect { package, suite, test, .. } = *defect;
    let feature = if package == "fathom-disk" { "fathom-disk/sabotage" } else { "fathom-search/sabotage" };
    let features = ["--features", feature];
    let built = cargo(package, suite, &[&features[..], &["--no-run"]].concat(), &[], None)?;
    anyhow::ensure!(
        built.status.success(),
        "{package} does not build: {}",
        String::from_utf8_lossy(&built.stderr)
    );
    let output = cargo(package, suite, &features, &[test], Some(chosen))?;
    let text = String::from_utf8_lossy(&output.stdout);
    anyhow::ensure!(!text.contains(" 0 passed; 0 failed"), "{package} has no test in {suite} called {test}");
    Ok(fails(&output))
}

fn fails(output: &Output) -> bool {
    !output.status.success() && String::from_utf8_lossy(&output.stdout).contains("test result: FAILED")
}

fn cargo(
    package: &str,
    suite: &str,
    options: &[&str],
    tests: &[&str],
    sabotage: Option<&str>,
) -> anyhow::Result<Output> {
    let mut command = cargo_command();
    command.args(["test", "--release", "--quiet", "--package", package, "--test", suite]).args(options);
    command.arg("--").args(tests).env("RUST_BACKTRACE", "0");
    if let Some(sabotage) = sabotage {
        command.env("FATHOM_SABOTAGE", sabotage);
    }
    command.output().with_context(|| format!("cargo test of {package}"))
}

fn cargo_command() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
