//! The README and the book show exactly what is printed. The `console` blocks of a page are run in order in a folder that has the models, and blocks with `file=NAME` behind their language are written there on the way;
//! `FATHOM_BLESS=1` writes the pages anew. Amounts of memory, times and rates are not compared.

use std::path::{Path, PathBuf};
use std::process::Command;

use fathom_search::engines::registry;

#[test]
fn the_readme_shows_what_is_printed() {
    shows_what_is_printed(Path::new("README.md"));
}

#[test]
fn every_page_of_the_book_shows_what_is_printed() {
    let pages = pages("docs/src");
    assert!(pages.len() > 20, "{pages:?}");
    let blocks: usize = pages.iter().map(|page| shows_what_is_printed(page)).sum();
    assert!(blocks > 30, "{blocks}");
}

/// A command that no test runs goes stale: it stands in a `console` block.
#[test]
fn commands_stand_where_they_are_run() {
    for page in pages("docs/src") {
        let text = read(&page);
        let mut fence = None;
        for line in text.lines() {
            match (line.strip_prefix("```"), fence) {
                (Some(language), None) => fence = Some(language),
                (Some(_), Some(_)) => fence = None,
                (None, Some(language)) => {
                    let command = line.strip_prefix("$ ").unwrap_or(line);
                    let is_run = language == "console" || !command.starts_with("fathom ");
                    assert!(is_run, "{}: {line}", page.display());
                }
                (None, None) => {}
            }
        }
    }
}

#[test]
fn every_engine_has_a_page_that_shows_it() {
    let summary = read(Path::new("docs/src/SUMMARY.md"));
    for engine in registry::ENGINES {
        let page = format!("engines/{}.md", engine.name);
        assert!(summary.contains(&format!("({page})")), "docs/src/SUMMARY.md does not name {page}");
        let text = read(&Path::new("docs/src").join(&page));
        assert!(text.contains("```console"), "{page} has no example");
        for option in engine.options {
            let key = format!("-E {}=", option.key);
            assert!(text.contains(&key), "{page} does not tell of {key}");
        }
        for heading in ["**When to use it.**", "**What it costs.**", "**Options.**"] {
            assert!(text.contains(heading), "{page} has no {heading}");
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// All pages under a folder.
fn pages(folder: &str) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in root().join(folder).read_dir().expect("there are pages") {
        let entry = entry.expect("readable");
        let path = Path::new(folder).join(entry.file_name());
        if entry.path().is_dir() {
            pages.extend(self::pages(path.to_str().expect("names are text")));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    pages
}

/// A folder with the models.
fn folder_with_models() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().expect("a folder");
    let models = scratch.path().join("models");
    std::fs::create_dir(&models).expect("a folder");
    for entry in root().join("models").read_dir().expect("there are models") {
        let path = entry.expect("readable").path();
        if path.is_file() {
            std::fs::copy(&path, models.join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
    scratch
}

/// Runs what is in the `console` blocks of a page; gives how many it has.
fn shows_what_is_printed(page: &Path) -> usize {
    let text = read(page);
    let mut blocks = 0;
    if !text.contains("```console\n") {
        return blocks;
    }
    let scratch = folder_with_models();
    let mut written = String::new();
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        written.push_str(line);
        let Some(language) = line.trim_end().strip_prefix("```") else { continue };
        let block: String = lines.by_ref().take_while(|line| line.trim_end() != "```").collect();
        let file = language.split(',').find_map(|word| word.strip_prefix("file="));
        if language == "console" {
            let commands = block.lines().filter(|line| line.starts_with("$ "));
            let printed: String =
                commands.map(|line| format!("{line}\n{}", run(&line[2..], scratch.path()))).collect();
            written.push_str(if same(&block, &printed) { &block } else { &printed });
            blocks += 1;
        } else {
            file.iter().for_each(|name| std::fs::write(scratch.path().join(name), &block).expect("a file"));
            written.push_str(&block);
        }
        written.push_str("```\n");
    }
    if std::env::var_os("FATHOM_BLESS").is_some() {
        std::fs::write(root().join(page), written)
            .unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    } else {
        let page = page.display();
        assert!(text == written, "{page} should be\n{written}\nFATHOM_BLESS=1 writes it anew");
    }
    blocks
}

/// What a shell prints of a command line.
fn run(line: &str, folder: &Path) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_fathom")).parent().expect("a program is in a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs.to_owned()].into_iter().chain(std::env::split_paths(&path)));
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder).env("PATH", path.expect("folders without colons"));
    let output = shell.output().expect("a shell runs");
    let text = String::from_utf8(output.stdout).expect("it prints text");
    let text = text + &String::from_utf8_lossy(&output.stderr);
    // Where the folder is differs from run to run.
    text.replace(&format!("{}/", folder.display()), "")
}

/// Whether two texts differ in measured lines only.
fn same(left: &str, right: &str) -> bool {
    let stable = |text: &str| -> Vec<String> {
        let measured = |line: &str| {
            // How far a search is that takes its time, as on a busy machine.
            if line.starts_with('[') && line.contains(" s] ") {
                return true;
            }
            let first = line.split_whitespace().next().unwrap_or("");
            ["memory", "disk", "cost", "time", "pages:"].contains(&first)
                || line.starts_with("note: memory is full")
        };
        text.lines().filter(|line| !measured(line)).map(str::to_owned).collect()
    };
    stable(left) == stable(right)
}
