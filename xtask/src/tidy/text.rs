//! Do files say what they are about, and nothing about the machine they were written on?

use std::path::Path;
use std::process::Command;

use anyhow::ensure;

use super::{Broken, Source};

/// Folders at the root that are of one machine alone.
const MACHINE_FOLDERS: [&str; 4] = ["work", "farm", "root", "home"];

/// Files that do not begin with what they are about.
pub(super) fn silent(sources: &[Source]) -> Broken {
    let silent = sources.iter().filter(|source| !source.text.starts_with("//! "));
    silent.map(|source| (format!("{}: it does not begin with what it is about", source.path), 1)).collect()
}

/// Lines of files under version control that name a place of one machine.
pub(super) fn machine_paths(root: &Path) -> anyhow::Result<Broken> {
    let listed = Command::new("git").arg("-C").arg(root).args(["ls-files", "-z"]).output()?;
    ensure!(listed.status.success(), "the files under version control cannot be listed");
    let paths = MACHINE_FOLDERS.map(|folder| format!("/{folder}/"));
    let mut broken = Broken::new();
    for name in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|name| !name.is_empty()) {
        let Ok(text) = std::fs::read_to_string(root.join(name)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if paths.iter().any(|path| line.contains(path)) {
                broken.insert(format!("{name}: line {} names a place of one machine", number + 1), 1);
            }
        }
    }
    Ok(broken)
}
