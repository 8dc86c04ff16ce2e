//! Can the tests fail? Builds with one deliberate defect each must turn a suite red. And builds that differ where nobody may notice must not.

use std::process::{Command, ExitCode};

use anyhow::Context;

/// Which crate's defects to try.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The part: disk or search.
    part: String,
    /// Only defects whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
}

/// A defect: the feature that builds it, and the suite that must notice it.
struct Defect {
    feature: &'static str,
    suite: &'static str,
}

/// Defects of `fathom-disk`.
const DISK: &[Defect] = &[
    Defect { feature: "sabotage-fsync-1", suite: "power_loss" },
    Defect { feature: "sabotage-fsync-2", suite: "power_loss" },
    Defect { feature: "sabotage-fsync-3", suite: "power_loss" },
    Defect { feature: "sabotage-fsync-4", suite: "power_loss" },
    Defect { feature: "sabotage-merge-last-key", suite: "set" },
    Defect { feature: "sabotage-checksum", suite: "run" },
    Defect { feature: "sabotage-filter", suite: "structures" },
    Defect { feature: "sabotage-fsync-log", suite: "power_loss" },
    Defect { feature: "sabotage-fsync-log-name", suite: "power_loss" },
];

/// Defects of `fathom-search`, and of what it builds on.
const SEARCH: &[Defect] = &[
    Defect { feature: "sabotage-window", suite: "power_loss" },
    Defect { feature: "sabotage-run-sync", suite: "power_loss" },
    Defect { feature: "sabotage-filter", suite: "tier" },
    Defect { feature: "sabotage-merge-last-key", suite: "tier" },
    Defect { feature: "sabotage-trie", suite: "tier" },
];

/// Builds of `fathom-search` that must find the same as any other.
const SEARCH_ALIKE: &[Defect] = &[Defect { feature: "constant-hash", suite: "tier" }];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (package, defects, alike) = match arguments.part.as_str() {
        "disk" => ("fathom-disk", DISK, &[][..]),
        "search" => ("fathom-search", SEARCH, SEARCH_ALIKE),
        other => anyhow::bail!("there are no defects for {other}; known: disk, search"),
    };
    let mut missed = 0;
    for defect in defects.iter().filter(|defect| defect.feature.contains(&arguments.only)) {
        let noticed = turns_red(package, defect)?;
        missed += usize::from(!noticed);
        println!("{}: {}", defect.feature, if noticed { "noticed" } else { "NOT NOTICED" });
    }
    for build in alike.iter().filter(|build| build.feature.contains(&arguments.only)) {
        let differs = turns_red(package, build)?;
        missed += usize::from(differs);
        println!("{}: {}", build.feature, if differs { "DIFFERS" } else { "no difference" });
    }
    Ok(ExitCode::from(u8::from(missed > 0)))
}

/// Builds the suite with the defect, which must succeed, and runs it, which must not.
fn turns_red(package: &str, defect: &Defect) -> anyhow::Result<bool> {
    let cargo = |extra: &[&str]| {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["test", "--release", "--quiet", "--package", package, "--features", defect.feature]);
        command.args(["--test", defect.suite]).args(extra);
        command.output().with_context(|| format!("cargo test with {}", defect.feature))
    };
    let built = cargo(&["--no-run"])?;
    anyhow::ensure!(built.status.success(), "{} does not build", defect.feature);
    let output = cargo(&[])?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(!output.status.success() && text.contains("test result: FAILED"))
}
