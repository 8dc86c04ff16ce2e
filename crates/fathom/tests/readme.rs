//! The README, the tutorials and the pages of engines show exactly what is printed. Their `console` blocks are run in order in a folder that has the models; `FATHOM_BLESS=1` writes them anew.
//! Amounts of memory, times and rates are not compared.

use std::path::Path;
use std::process::Command;

use fathom_search::engines::registry;

#[test]
fn the_readme_shows_what_is_printed() {
    shows_what_is_printed("README.md");
}

#[test]
fn the_tutorial_of_murphi_shows_what_is_printed() {
    shows_what_is_printed("docs/src/murphi-tutorial.md");
}

#[test]
fn every_engine_has_a_page_that_shows_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let summary = std::fs::read_to_string(root.join("docs/src/SUMMARY.md")).expect("there is a summary");
    for engine in registry::ENGINES {
        let page = format!("engines/{}.md", engine.name);
        assert!(summary.contains(&format!("({page})")), "docs/src/SUMMARY.md does not name {page}");
        let page = format!("docs/src/{page}");
        shows_what_is_printed(&page);
        let text = std::fs::read_to_string(root.join(&page)).expect("it was read a moment ago");
        for option in engine.options {
            let key = format!("-E {}=", option.key);
            assert!(text.contains(&key), "{page} does not tell of {key}");
        }
        for heading in ["**When to use it.**", "**What it costs.**", "**Options.**"] {
            assert!(text.contains(heading), "{page} has no {heading}");
        }
    }
}

/// Runs what is in the `console` blocks of a page, of which it has at least one.
fn shows_what_is_printed(page: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
    let scratch = tempfile::tempdir().expect("a folder");
    let models = scratch.path().join("models");
    std::fs::create_dir(&models).expect("a folder");
    for entry in root.join("models").read_dir().expect("there are models") {
        let path = entry.expect("readable").path();
        if !path.is_file() {
            continue;
        }
        std::fs::copy(&path, models.join(path.file_name().expect("a name"))).expect("a copy");
    }
    let mut written = String::new();
    let mut blocks = 0;
    let mut parts = text.split_inclusive("```console\n");
    written.push_str(parts.next().expect("text before the first block"));
    for part in parts {
        let (block, rest) = part.split_once("```\n").expect("a block ends");
        let commands = block.lines().filter(|line| line.starts_with("$ "));
        let printed: String =
            commands.map(|line| format!("{line}\n{}", run(&line[2..], scratch.path()))).collect();
        if same(block, &printed) {
            written.push_str(block);
        } else {
            written.push_str(&printed);
        }
        written.push_str("```\n");
        written.push_str(rest);
        blocks += 1;
    }
    assert!(blocks >= 1, "{page} has no block");
    if std::env::var_os("FATHOM_BLESS").is_some() {
        std::fs::write(root.join(page), written).unwrap_or_else(|error| panic!("{page}: {error}"));
    } else {
        assert!(text == written, "{page} should be\n{written}\nFATHOM_BLESS=1 writes it anew");
    }
}

/// What a shell prints of a command line.
fn run(line: &str, folder: &Path) -> String {
    let binary = env!("CARGO_BIN_EXE_fathom");
    let line = match line.strip_prefix("fathom ") {
        Some(arguments) => format!("'{binary}' {arguments}"),
        None => line.to_owned(),
    };
    let output = Command::new("sh").args(["-c", &line]).current_dir(folder).output().expect("a shell runs");
    String::from_utf8(output.stdout).expect("it prints text") + &String::from_utf8_lossy(&output.stderr)
}

/// Whether two texts differ in measured lines only.
fn same(left: &str, right: &str) -> bool {
    let stable = |text: &str| -> Vec<String> {
        let measured = |line: &str| {
            ["memory", "disk", "cost", "time"].contains(&line.split_whitespace().next().unwrap_or(""))
        };
        text.lines().filter(|line| !measured(line)).map(str::to_owned).collect()
    };
    stable(left) == stable(right)
}
