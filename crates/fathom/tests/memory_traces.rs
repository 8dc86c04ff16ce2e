//! Long runs, many threads and long walks within `--ram`: in a memory cgroup of that size nothing is killed, and everything is told.
//!
//! Runs have 100,000 steps; `FATHOM_LONG=1` makes them ten times as long.

#[expect(dead_code, reason = "the binary is run in cgroups here")]
mod command;
mod confines;

use std::io::{BufRead, BufReader};
use std::path::Path;

use command::{Ran, model};
use confines::{Group, skipped};

const RAM: &str = "32MiB";
const RAM_BYTES: u64 = 32 << 20;

/// A cgroup of the size of `--ram`; none where none can be made.
fn group(test: &str) -> Option<Group> {
    let group = Group::of_memory(RAM_BYTES);
    if group.is_none() {
        skipped(test, "no memory cgroup can be made here");
    }
    group
}

/// Runs the binary in a cgroup, in a folder.
fn run_in(group: &Group, folder: &Path, words: &[&str]) -> Ran {
    Ran::of(group.fathom(words).current_dir(folder).output().expect("it runs"))
}

/// How many steps a run has.
fn steps() -> u64 {
    if std::env::var_os("FATHOM_LONG").is_some() { 1_000_000 } else { 100_000 }
}

/// A folder with a model of one long run: it counts, then ends, or goes back to the middle for ever.
fn counter() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let last = steps() / 1_000 - 1;
    let text = |end: &str| {
        format!(
            "int high = 0;\nint low = 0;\nprocess P {{\n  state running, done;\n  init running;\n  trans\n    \
             running -> running {{ guard low < 999; effect low = low + 1; }},\n    \
             running -> running {{ guard low == 999 and high < {last}; effect low = 0, high = high + 1; }},\n    \
             {end};\n}}\nsystem async;\n"
        )
    };
    let over = format!("low == 999 and high == {last};");
    let ends = text(&format!("running -> done {{ guard {over} }}"));
    let turns = text(&format!("running -> running {{ guard {over} effect low = 0, high = {}; }}", last / 2));
    std::fs::write(folder.path().join("ends.dve"), ends).expect("it can be written");
    std::fs::write(folder.path().join("turns.dve"), turns).expect("it can be written");
    folder
}

/// Lines of a file in which a text stands.
fn lines_with(path: &Path, text: &str) -> u64 {
    let file = std::fs::File::open(path).expect("it was written");
    BufReader::new(file).lines().filter(|line| line.as_ref().is_ok_and(|line| line.contains(text))).count()
        as u64
}

/// A check of a long run in the least memory, told in all ways: code 1, and every step in every file.
fn told_within_ram(words: &[&str]) {
    let Some(group) = group("long runs") else { return };
    let folder = counter();
    for trace in ["trace.json", "trace.txt"] {
        let mut words = words.to_vec();
        words.extend(["--ram", RAM, "--json", "report.json", "--trace", trace, "--progress", "none"]);
        let ran = run_in(&group, folder.path(), &words);
        assert_eq!(ran.code, Some(1), "{words:?}: {}{}", ran.stdout, ran.stderr);
        let said = ran.stdout.lines().filter(|line| line.contains("steps left out; --trace FILE")).count();
        assert_eq!(said, 1, "{words:?}");
        assert!(ran.stdout.len() < 1 << 20, "{words:?}: {} bytes of text", ran.stdout.len());
    }
    let length = lines_with(&folder.path().join("report.json"), "\"action\":");
    // A lasso that is found depth-first may go round before it closes.
    assert!(length == steps() || words.contains(&"ndfs") && length > steps(), "{words:?}: {length} steps");
    assert_eq!(lines_with(&folder.path().join("trace.json"), "\"action\":"), length, "{words:?}");
    assert_eq!(lines_with(&folder.path().join("trace.txt"), "(line "), length, "{words:?}");
    assert!(!folder.path().join(".fathom").exists(), "{words:?}: nothing is left behind");
}

#[test]
fn a_long_path_found_in_ram_is_told_within_ram() {
    if steps() == 100_000 {
        // A million layers take more than the table has in 32 MiB.
        told_within_ram(&["check", "ends.dve", "--only", "--invariant", "not P.done", "--engine", "ram"]);
    }
}

#[test]
fn a_long_path_found_on_disk_is_told_within_ram() {
    told_within_ram(&["check", "ends.dve", "--only", "--invariant", "not P.done", "--engine", "tier"]);
}

#[test]
fn a_long_path_found_by_default_is_told_within_ram() {
    told_within_ram(&["check", "ends.dve", "--only", "--invariant", "not P.done"]);
}

#[test]
fn a_long_path_whose_layers_were_dropped_is_told_within_ram() {
    if steps() == 100_000 {
        let engine = ["--engine", "tier", "--no-trace"];
        told_within_ram(
            &[&["check", "ends.dve", "--only", "--invariant", "not P.done"], &engine[..]].concat(),
        );
    }
}

#[test]
fn a_long_lasso_found_depth_first_is_told_within_ram() {
    told_within_ram(&[
        "check",
        "turns.dve",
        "--only",
        "--ltl",
        "G F high == 0",
        "--engine",
        "ndfs",
        "--store",
        "tier",
    ]);
}

#[test]
fn a_long_lasso_found_by_passes_is_told_within_ram() {
    told_within_ram(&["check", "turns.dve", "--only", "--ltl", "G F high == 0", "--engine", "semi-owcty"]);
}

#[test]
fn a_walk_keeps_nothing_of_where_it_was() {
    let Some(group) = group("a_walk_keeps_nothing_of_where_it_was") else { return };
    let folder = counter();
    // 3,000,000 steps took 160 MB when they were kept.
    let words = ["simulate", "turns.dve", "--random", "1", "--seed", "1", "--max-depth", "3000000"];
    let ran = run_in(
        &group,
        folder.path(),
        &[&words[..], &["--only", "--invariant", "low < 1000", "--ram", RAM]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let words = ["simulate", "ends.dve", "--random", "1", "--seed", "1", "--max-depth", "3000000"];
    told_within_ram(&[&words[..], &["--only", "--invariant", "not P.done"]].concat());
}

#[test]
fn no_more_threads_are_used_than_memory_holds() {
    let Some(group) = group("no_more_threads_are_used_than_memory_holds") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = model("nine_puzzle.dve");
    for engine in ["ram", "auto", "tier", "stern-dill"] {
        let words = ["explore", &path, "--engine", engine, "--ram", RAM, "-j", "32", "--json", "-"];
        let ran = run_in(&group, folder.path(), &words);
        // The table does not fit in 32 MiB; that is told, and nothing is killed.
        let code = if engine == "ram" { Some(3) } else { Some(0) };
        assert_eq!(ran.code, code, "{engine}: {}", ran.stderr);
        let threads = ran.json()["threads"].as_u64().expect("a number");
        assert!((2..32).contains(&threads), "{engine}: {threads}");
        let note =
            format!("note: using {threads} threads instead of 32: --ram 32.0 MiB has room for no more\n");
        assert!(ran.stderr.contains(&note), "{engine}: {}", ran.stderr);
        assert!(ran.json()["ram"]["peak"].as_u64() <= Some(RAM_BYTES), "{engine}: {}", ran.json()["ram"]);
    }
}

#[test]
fn a_system_that_gives_no_more_threads_is_searched_with_those_there_are() {
    let test = "a_system_that_gives_no_more_threads_is_searched_with_those_there_are";
    for limit in [1, 3] {
        let Some(group) = Group::of_threads(limit) else {
            skipped(test, "no cgroup of threads can be made here");
            return;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = model("bakery.dve");
        for engine in ["ram", "auto", "tier", "positions", "stern-dill"] {
            let words = ["explore", &path, "--engine", engine, "-j", "8", "--json", "-", "--quiet"];
            let ran = run_in(&group, folder.path(), &words);
            assert_eq!(ran.code, Some(0), "{engine}: {}", ran.stderr);
            assert_eq!(ran.json()["states"], 12_454, "{engine}");
        }
        let formula = ["--only", "--ltl", "G F P_0.critical", "-j", "8", "--quiet"];
        for engine in ["auto", "semi-owcty"] {
            let ran = run_in(
                &group,
                folder.path(),
                &[&["check", &path, "--engine", engine], &formula[..]].concat(),
            );
            assert_eq!(ran.code, Some(1), "{engine}: {}", ran.stderr);
        }
        let walk = ["simulate", &path, "--random", "20", "--seed", "1", "-j", "8", "--quiet"];
        let ran = run_in(&group, folder.path(), &walk);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
}
