//! Do files say what they are about, and nothing about the machine they were written on?

use std::path::Path;
use std::process::Command;

use anyhow::ensure;

use super::{Broken, Source};

/// Beginnings of paths that are of one machine alone.
const MACHINE_PATHS: [&str; 4] = ["/work/", "/farm/", "/root/", "/home/"];

/// Files that do not begin with what they are about.
pub(super) fn silent(sources: &[Source]) -> Broken {
    let silent = sources.iter().filter(|source| !source.text.starts_with("//! "));
    silent.map(|source| (format!("{}: it does not begin with what it is about", source.path), 1)).collect()
}

/// Lines of files under version control that name a place of one machine.
pub(super) fn machine_paths(root: &Path) -> anyhow::Result<Broken> {
    let listed = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output()?;
    ensure!(listed.status.success(), "the files under version control cannot be listed");
    let mut broken = Broken::new();
    for name in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|name| !name.is_empty()) {
        // This file names them, and so must its list.
        if name.ends_with("tidy/text.rs") {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(root.join(name)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if MACHINE_PATHS.iter().any(|path| line.contains(path)) {
                broken.insert(format!("{name}: line {} names a place of one machine", number + 1), 1);
            }
        }
    }
    Ok(broken)
}
