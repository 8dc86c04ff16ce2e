//! Do crates depend as drawn, and on nothing that they do not use?

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
    (
        "fathom-check",
        &["fathom-model", "fathom-lang", "fathom-ltl", "fathom-exec", "fathom-disk", "fathom-search"],
    ),
    ("oracle", &["fathom-model"]),
];

/// Dependencies of our own that are not drawn.
pub(super) fn misdrawn(root: &Path) -> anyhow::Result<Broken> {
    let mut broken = Broken::new();
    for package in packages(root)? {
        let Some((name, drawn)) = DRAWN.iter().find(|(name, _)| package["name"] == *name) else { continue };
        for dependency in dependencies(&package).filter(|it| it["kind"].is_null() && !it["path"].is_null()) {
            let other = dependency["name"].as_str().unwrap_or_default();
            if !drawn.contains(&other) {
                broken.insert(format!("{name} depends on {other}, which is not drawn"), 1);
            }
        }
    }
    Ok(broken)
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
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new(cargo).args(arguments).current_dir(root).output()?;
    ensure!(output.status.success(), "cargo does not know its packages");
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    Ok(metadata["packages"].as_array().context("there are packages")?.clone())
}

fn dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"].as_array().into_iter().flatten()
}
