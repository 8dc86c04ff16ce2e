//! How does a test say that it was not made, so that it does not look like one that passed?
//!
//! The test runner knows only tests that pass, fail or are ignored before they begin. So a test that finds out on its way that something is missing says so at once, and is noted in a file of the run: the
//! last test of all (`tests/tests_that_were_skipped.rs`) says how many there were. A run is what one `cargo test` starts: its processes have one parent.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Says that a test was not made. Past the test runner, which hides what passing tests print.
pub fn skipped(test: &str, why: &str) {
    let line = format!("SKIPPED {test}: {}", why.replace('\n', " "));
    // A standard error that is closed has nobody to tell.
    let _ = writeln!(std::io::stderr(), "{line}");
    if let Some(notes) = notes_of_this_run() {
        note(&notes, &line);
    }
}

/// What was skipped in this run until now, in order, each once. The notes of it are gone then.
pub fn skipped_in_this_run() -> Vec<String> {
    notes_of_this_run().map(|notes| taken(&notes)).unwrap_or_default()
}

/// The file of the run, beside the folder of test binaries.
fn notes_of_this_run() -> Option<PathBuf> {
    let binary = std::env::current_exe().ok()?;
    let parent = std::os::unix::process::parent_id();
    Some(binary.parent()?.join(format!("skipped-in-run-{parent}")))
}

/// Appends a line. A folder that cannot be written to leaves only what was printed.
fn note(notes: &Path, line: &str) {
    let file = std::fs::OpenOptions::new().append(true).create(true).open(notes);
    // One write: tests that skip at the same time do not mix their lines.
    let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
}

fn taken(notes: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(notes).unwrap_or_default();
    let _ = std::fs::remove_file(notes);
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if !lines.iter().any(|known| known == line) {
            lines.push(line.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{note, taken};

    #[test]
    fn what_is_noted_is_told_once() {
        let notes = std::env::temp_dir().join(format!("fathom-skipped-{}", std::process::id()));
        note(&notes, "SKIPPED a: no b");
        note(&notes, "SKIPPED c: no d");
        note(&notes, "SKIPPED a: no b");
        assert_eq!(taken(&notes), ["SKIPPED a: no b", "SKIPPED c: no d"]);
        assert!(taken(&notes).is_empty() && !notes.exists(), "the next run begins anew");
    }
}
