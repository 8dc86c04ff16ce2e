//! What is written to files: records, traces, manual pages, completions.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fathom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom")).args(arguments).output().expect("the binary runs")
}

fn model(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
    path.display().to_string()
}

#[test]
fn records_are_all_states_in_the_order_found() {
    let scratch = tempfile::tempdir().expect("a folder");
    let file = scratch.path().join("records");
    let output = fathom(&[
        "explore",
        &model("frogs.dve"),
        "--dump-records",
        &file.display().to_string(),
        "--json",
        "-",
        "-q",
    ]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let bytes = std::fs::read(&file).expect("there is a file");
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(&bytes[..8], b"FATHREC1");
    assert_eq!(u64::from(number(8)), report["record_bits"].as_u64().expect("a number"));
    let words = number(12) as usize;
    let records: Vec<&[u8]> = bytes[16..].chunks(words * 8).collect();
    assert_eq!(records.len() as u64, report["states"].as_u64().expect("a number"));
    let distinct: std::collections::BTreeSet<&[u8]> = records.iter().copied().collect();
    assert_eq!(distinct.len(), records.len());
}

#[test]
fn traces_are_written_as_text_and_as_json_that_can_be_followed() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (text, json) = (scratch.path().join("trace.txt"), scratch.path().join("trace.json"));
    for file in [&text, &json] {
        let file = file.display().to_string();
        let output = fathom(&["check", &model("philosophers.dve"), "--deadlock", "--trace", &file, "-q"]);
        assert_eq!(output.status.code(), Some(1));
    }
    let text = std::fs::read_to_string(text).expect("there is a file");
    assert!(text.starts_with("deadlock after 6 steps:\n  0  initial state\n"), "{text}");
    let commands = format!("trace {}\ntrace {} 3\n", json.display(), json.display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["simulate", &model("philosophers.dve")])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut input = child.stdin.take().expect("it is piped");
    std::io::Write::write_all(&mut input, commands.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let printed = String::from_utf8(output.stdout).expect("it prints text");
    assert!(printed.contains("after 6 steps"), "{printed}");
    assert!(printed.contains("nothing can happen: a deadlock"), "{printed}");
    assert!(printed.contains("after 3 steps"), "{printed}");
}

#[test]
fn an_old_report_stays_if_there_is_no_new_one() {
    let scratch = tempfile::tempdir().expect("a folder");
    let old = scratch.path().join("old.json");
    std::fs::write(&old, "what was there").expect("a file");
    let output = fathom(&["check", &model("nothing.dve"), "--json", &old.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&old).expect("a file"), "what was there");
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = fathom(&["completions", shell]);
        let text = String::from_utf8(output.stdout).expect("it prints text");
        for word in ["check", "explore", "simulate", "translate", "engines", "deadlock-except", "time-limit"]
        {
            assert!(text.contains(word), "{word} in the completions of {shell}");
        }
    }
    let scratch = tempfile::tempdir().expect("a folder");
    assert!(fathom(&["man", &scratch.path().display().to_string()]).status.success());
    for page in ["fathom.1", "fathom-check.1", "fathom-explore.1", "fathom-simulate.1", "fathom-engines.1"] {
        let text = std::fs::read_to_string(scratch.path().join(page)).expect("there is a page");
        assert!(text.contains(".TH"), "{page}");
    }
    assert!(String::from_utf8_lossy(&fathom(&["man"]).stdout).contains(".SH SUBCOMMANDS"));
}

#[test]
fn a_run_keeps_to_its_memory() {
    let output =
        fathom(&["explore", &model("torus_3d.dve"), "--ram", "48MiB", "--json", "-", "-q", "--threads", "2"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let [budget, peak] = ["budget", "peak"].map(|key| report["ram"][key].as_u64().expect("a number"));
    assert_eq!(budget, 48 << 20);
    assert!(peak <= budget, "{peak} bytes were resident");
    match report["limit"].as_str() {
        None => assert_eq!(report["states"], 2_985_984),
        Some(limit) => assert_eq!((limit, output.status.code()), ("ram", Some(3))),
    }
}
