//! Do crates depend as drawn, and on nothing that they do not use?

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{Broken, Source};

/// What each crate of the product may depend on, of our own: as drawn in ARCHITECTURE.md.
const DRAWN: &[(&str, &[&str])] = &[
    ("fathom-model", &[]),
    ("fathom-disk", &[]),
    ("fathom-lang", &["fathom-model"]),
    ("fathom-ltl", &["fathom-model"]),
    ("fathom-exec", &["fathom-model"]),
    ("fathom-search", &["fathom-model", "fathom-disk"]),
    ("fathom-explorer", BELOW_EXPLORER),
    ("fathom-check", BELOW_CHECK),
    ("fathom", BELOW_FATHOM),
    ("oracle", &["fathom-model"]),
];
const BELOW_EXPLORER: &[&str] = &["fathom-model", "fathom-lang", "fathom-ltl", "fathom-exec"];
const BELOW_CHECK: &[&str] = &[
    "fathom-model",
    "fathom-disk",
    "fathom-lang",
    "fathom-ltl",
    "fathom-exec",
    "fathom-explorer",
    "fathom-search",
];
const BELOW_FATHOM: &[&str] = &[
    "fathom-model",
    "fathom-disk",
    "fathom-lang",
    "fathom-ltl",
    "fathom-exec",
    "fathom-explorer",
    "fathom-search",
    "fathom-check",
];

/// The library for those who ask without a command line, and what must not come with it, however far below: arguments, terminals, signals. (`anstyle` only has names for colours; diagnostics are made
/// of text with `annotate-snippets`, which uses them.)
const LIBRARY: &str = "fathom-check";
const NOT_IN_A_LIBRARY: &[&str] = &[
    "clap",
    "clap_builder",
    "clap_complete",
    "clap_mangen",
    "anstream",
    "colorchoice",
    "is_terminal_polyfill",
    "terminal_size",
    "crossterm",
    "signal-hook",
    "signal-hook-registry",
    "ctrlc",
];

/// Crates that are not drawn, dependencies of our own that are not, and what a library must not bring along.
pub(super) fn misdrawn(root: &Path) -> anyhow::Result<Broken> {
    let packages = packages(root)?;
    let mut broken = undrawn(&packages);
    if packages.iter().any(|package| package["name"] == LIBRARY) {
        broken.extend(brought_along(&below(root, LIBRARY)?));
    }
    Ok(broken)
}

/// Crates and dependencies that are not drawn.
fn undrawn(packages: &[Value]) -> Broken {
    let mut broken = Broken::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, drawn)) = DRAWN.iter().find(|(known, _)| *known == name) else {
            if name != "xtask" {
                broken.insert(format!("{name} is a crate that is not drawn"), 1);
            }
            continue;
        };
        for dependency in dependencies(package).filter(|it| it["kind"].is_null() && !it["path"].is_null()) {
            let other = dependency["name"].as_str().unwrap_or_default();
            if !drawn.contains(&other) {
                broken.insert(format!("{name} depends on {other}, which is not drawn"), 1);
            }
        }
    }
    broken
}

/// What a library must not bring along, among all packages below it.
fn brought_along(below: &str) -> Broken {
    let names = below.lines().filter_map(|line| line.split(' ').next());
    let names = names.filter(|name| NOT_IN_A_LIBRARY.contains(name));
    names.map(|name| (format!("{LIBRARY} brings {name} along, which is for programs"), 1)).collect()
}

/// All packages below one of ours, a line each that begins with the name.
fn below(root: &Path, package: &str) -> anyhow::Result<String> {
    let arguments = ["tree", "--offline", "--edges", "normal", "--prefix", "none", "--package", package];
    let output = Command::new(cargo()).args(arguments).current_dir(root).output()?;
    ensure!(output.status.success(), "cargo does not know what is below {package}");
    Ok(String::from_utf8(output.stdout)?)
}

/// Dependencies that no file of a crate names, and shared ones that no crate has.
pub(super) fn unused(root: &Path, sources: &[Source]) -> anyhow::Result<Broken> {
    let mut broken = Broken::new();
    let packages = packages(root)?;
    for package in &packages {
        let name = package["name"].as_str().context("a package has a name")?;
        let folder = format!("/{name}");
        let own = sources.iter().filter(|source| format!("/{}", source.package).ends_with(&folder));
        let text: String = own.map(|source| &*source.text).collect::<Vec<_>>().join("\n");
        for dependency in dependencies(package) {
            let dependency = dependency["name"].as_str().unwrap_or_default();
            if !text.contains(&dependency.replace('-', "_")) {
                broken.insert(format!("{name} does not use {dependency}"), 1);
            }
        }
    }
    let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let shared =
        manifest.split("[workspace.dependencies]").nth(1).context("there are shared dependencies")?;
    let shared = shared.split("\n[").next().unwrap_or_default();
    for name in shared.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name) {
        let has = |package: &Value| dependencies(package).any(|dependency| dependency["name"] == name);
        if !name.starts_with('#') && !packages.iter().any(has) {
            broken.insert(format!("no crate depends on {name}, which they could share"), 1);
        }
    }
    Ok(broken)
}

/// The packages of the workspace, as cargo sees them.
fn packages(root: &Path) -> anyhow::Result<Vec<Value>> {
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new(cargo()).args(arguments).current_dir(root).output()?;
    ensure!(output.status.success(), "cargo does not know its packages");
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    Ok(metadata["packages"].as_array().context("there are packages")?.clone())
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"].as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_drawn_is_told() {
        let package = |name: &str, others: &[&str]| {
            let dependency =
                |other: &&str| serde_json::json!({ "name": other, "kind": null, "path": "somewhere" });
            serde_json::json!({ "name": name, "dependencies": others.iter().map(dependency).collect::<Vec<_>>() })
        };
        let told = |name, others| undrawn(&[package(name, others)]).into_keys().collect::<Vec<_>>();
        assert_eq!(told("fathom-search", &["fathom-model", "fathom-disk"]), [""; 0]);
        assert_eq!(
            told("fathom-search", &["fathom-lang"]),
            ["fathom-search depends on fathom-lang, which is not drawn"]
        );
        assert_eq!(
            told("fathom-check", &["fathom-search", "fathom"]),
            ["fathom-check depends on fathom, which is not drawn"]
        );
        assert_eq!(told("fathom", &["fathom-check", "fathom-lang"]), [""; 0]);
        assert_eq!(told("fathom-new", &[]), ["fathom-new is a crate that is not drawn"]);
    }

    #[test]
    fn a_library_brings_no_command_line_along_however_far_below() {
        let below = "fathom-check v0.1.0 (here)\nfathom-model v0.1.0 (there)\nclap-like v1.0.0\n";
        assert_eq!(brought_along(below), Broken::new());
        let told: Vec<String> =
            brought_along(&format!("{below}clap v4.6.7\nsignal-hook v0.4.6 (*)\n")).into_keys().collect();
        assert_eq!(
            told,
            [
                "fathom-check brings clap along, which is for programs",
                "fathom-check brings signal-hook along, which is for programs"
            ]
        );
    }
}
