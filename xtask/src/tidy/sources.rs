//! Which files are there, and which modules are they?

use std::path::Path;

use anyhow::Context;

/// A file of Rust.
pub(super) struct Source {
    /// From the root of the tree.
    pub(super) path: String,
    /// The folder of its crate, as in `crates/fathom-disk`.
    pub(super) package: String,
    /// The names of its module, if it is part of a library or program: `["storage", "file"]`; empty for the root.
    pub(super) module: Option<Vec<String>>,
    pub(super) text: String,
    pub(super) syntax: syn::File,
}

/// All files of all crates, tests too.
pub(super) fn all(root: &Path) -> anyhow::Result<Vec<Source>> {
    let mut packages = vec!["xtask".to_owned()];
    for entry in root.join("crates").read_dir()? {
        packages.push(format!("crates/{}", entry?.file_name().to_string_lossy()));
    }
    packages.sort();
    let mut sources = Vec::new();
    for package in packages {
        for part in ["src", "tests", "examples"] {
            add(root, &package, part, &mut sources)?;
        }
    }
    Ok(sources)
}

fn add(root: &Path, package: &str, folder: &str, sources: &mut Vec<Source>) -> anyhow::Result<()> {
    let Ok(entries) = root.join(package).join(folder).read_dir() else { return Ok(()) };
    let mut names: Vec<String> = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<anyhow::Result<_>>()?;
    names.sort();
    for name in names {
        let inside = format!("{folder}/{name}");
        let path = format!("{package}/{inside}");
        if root.join(&path).is_dir() {
            add(root, package, &inside, sources)?;
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(root.join(&path))?;
            let syntax = syn::parse_file(&text).with_context(|| path.clone())?;
            sources.push(Source { module: module(&inside), path, package: package.to_owned(), text, syntax });
        }
    }
    Ok(())
}

/// The module that a file of `src` is.
fn module(inside: &str) -> Option<Vec<String>> {
    let path = inside.strip_prefix("src/")?.strip_suffix(".rs")?;
    let mut names: Vec<String> = path.split('/').map(str::to_owned).collect();
    if matches!(names.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        names.pop();
    }
    Some(names)
}
