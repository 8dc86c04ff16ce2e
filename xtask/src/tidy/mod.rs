//! Does the tree keep to its own rules? Modules without cycles, crates as drawn, engines named in one place, a library with examples, functions that do not grow, dependencies that are used, files that say what they are about.
//!
//! What was there before a rule is listed in `tidy.txt`, and the list may only get shorter: what is no longer true must be struck from it (`cargo xtask tidy --bless` does).
//!
//! | file | question |
//! |---|---|
//! | `sources` | which files are there, and which modules are they? |
//! | `imports` | which modules import each other in a circle? |
//! | `engines` | which files name an engine that is none of their affair? |
//! | `examples` | which public items of the library does no example reach? |
//! | `functions` | which functions are long? |
//! | `crates` | do crates depend as drawn, and on nothing that they do not use? |
//! | `text` | do files say what they are about, and nothing about the machine they were written on? |

mod crates;
mod engines;
mod examples;
mod functions;
mod imports;
mod sources;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

use sources::Source;

/// Whether to take what is there now as what was there before.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write down what breaks a rule now as what was there before.
    #[arg(long)]
    bless: bool,
}

/// A broken rule: what breaks it, and by how much where that can grow.
type Broken = BTreeMap<String, usize>;

/// Where what was there before is listed.
const LIST: &str = "xtask/tidy.txt";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let root = root();
    let broken = broken(&root)?;
    if arguments.bless {
        let lines = broken.iter().map(|(what, size)| format!("{size} {what}\n"));
        std::fs::write(root.join(LIST), lines.collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let complaints = complaints(&broken, &known(&root)?);
    for complaint in &complaints {
        println!("{complaint}");
    }
    Ok(ExitCode::from(u8::from(!complaints.is_empty())))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Everything in the tree that breaks a rule.
fn broken(root: &Path) -> anyhow::Result<Broken> {
    let sources = sources::all(root)?;
    let mut broken = imports::cycles(&sources);
    broken.extend(functions::long(&sources));
    broken.extend(engines::named_elsewhere(&sources));
    broken.extend(examples::unreached(&sources));
    broken.extend(text::silent(&sources));
    broken.extend(text::machine_paths(root)?);
    broken.extend(crates::misdrawn(root)?);
    broken.extend(crates::unused(root, &sources)?);
    Ok(broken)
}

/// What was there before a rule.
fn known(root: &Path) -> anyhow::Result<Broken> {
    let list = std::fs::read_to_string(root.join(LIST)).context("the list of what was there before")?;
    list.lines()
        .map(|line| {
            let (size, what) = line.split_once(' ').context("a line of the list is a number and a name")?;
            Ok((what.to_owned(), size.parse()?))
        })
        .collect()
}

/// What is broken beyond what was there before, and what is listed but no longer broken.
fn complaints(broken: &Broken, known: &Broken) -> Vec<String> {
    let mut complaints = Vec::new();
    for (what, size) in broken {
        match known.get(what) {
            None => complaints.push(what.clone()),
            Some(before) if before < size => complaints.push(format!("{what}: {size}, was {before}")),
            Some(before) if before > size => {
                complaints
                    .push(format!("{what}: {size}, was {before}; bless the list (cargo xtask tidy --bless)"));
            }
            Some(_) => {}
        }
    }
    let mended = known.keys().filter(|what| !broken.contains_key(*what));
    complaints
        .extend(mended.map(|what| format!("mended: {what}; bless the list (cargo xtask tidy --bless)")));
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_keeps_to_its_rules() {
        let complaints = complaints(&broken(&root()).unwrap(), &known(&root()).unwrap());
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }

    #[test]
    fn what_is_new_or_grows_or_is_mended_is_told() {
        let list =
            |items: &[(&str, usize)]| items.iter().map(|(what, size)| ((*what).to_owned(), *size)).collect();
        let (before, now) =
            (list(&[("a", 80), ("b", 80), ("c", 80)]), list(&[("b", 81), ("c", 80), ("d", 71)]));
        let told = complaints(&now, &before);
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].starts_with("b: 81, was 80") && told[1] == "d" && told[2].starts_with("mended: a"));
    }
}
