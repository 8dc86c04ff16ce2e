//! What lies in a search folder, by its names?

use std::path::{Path, PathBuf};

/// `--resume`, if a search was begun in a folder: where none was, there is nothing to resume.
#[allow(dead_code, reason = "not every suite resumes")]
pub(crate) fn resume(folder: &str) -> Option<&'static str> {
    Path::new(folder).join("run.json").exists().then_some("--resume")
}

/// The manifest in a folder of it, if something is committed there: names end in the mark of the search.
pub(crate) fn manifest(folder: &Path) -> Option<PathBuf> {
    let is_manifest = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.strip_prefix("manifest.").is_some_and(|mark| mark.len() == 16 && !mark.contains('.'))
    };
    let entries = folder.read_dir().ok()?;
    entries.map(|entry| entry.expect("readable").path()).find(is_manifest)
}
