//! Are files and questions that no one should give refused in a few words, in little memory, at once?
//!
//! The program is run with an address space of 1.5 GiB, which is what it needs for little more than nothing: what reads a file of 3 GiB into memory does not fit.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// In KiB.
const ADDRESS_SPACE: usize = 1_500_000;
/// On a machine that does other things as well.
const TIME_MAX: Duration = Duration::from_secs(30);
/// Fifty diagnostics take less.
const SAID_BYTES_MAX: usize = 60_000;

fn fathom(arguments: &[OsString]) -> Output {
    let started = Instant::now();
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"")])
        .arg(env!("CARGO_BIN_EXE_fathom"))
        .args(arguments)
        .output()
        .expect("the binary runs");
    assert!(started.elapsed() < TIME_MAX, "{arguments:?} took {:?}", started.elapsed());
    output
}

/// What is said when something is refused.
fn refusal(arguments: &[OsString]) -> String {
    let output = fathom(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(said.len() < SAID_BYTES_MAX, "{} bytes", said.len());
    said
}

fn model(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name)
}

/// The words of a command.
macro_rules! words {
    ($($word:expr),* $(,)?) => { Vec::from([$(OsString::from(AsRef::<OsStr>::as_ref(&$word))),*]) };
}

#[test]
fn what_is_no_file_or_too_large_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    File::create(path("large.dve")).and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
    File::create(path("large.ltl")).and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
    std::fs::create_dir(path("folder.dve")).expect("a folder");
    rustix::fs::mknodat(rustix::fs::CWD, path("pipe.dve"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("a pipe");
    for (name, target) in [("zero.dve", "/dev/zero"), ("zero.m", "/dev/zero"), ("lost.dve", "/nowhere")] {
        std::os::unix::fs::symlink(target, path(name)).expect("a link");
    }
    for (name, reason) in [
        ("large.dve", "it is 3.0 GiB long; fathom reads models up to 64.0 MiB"),
        ("folder.dve", "it is a folder, not a file"),
        ("pipe.dve", "it is a pipe, not a file"),
        ("zero.dve", "it is a device, not a file"),
        ("zero.m", "it is a device, not a file"),
        ("lost.dve", "there is no file"),
    ] {
        for command in ["check", "explore"] {
            let said = refusal(&words![command, path(name)]);
            assert!(said.contains(reason) && !said.contains("did you mean"), "{name}: {said}");
        }
    }
    assert!(refusal(&words!["check", "/dev/zero"]).contains("cannot tell the language of"));
    let reason = "it is 3.0 GiB long; fathom reads ";
    let peterson = model("peterson.dve");
    for words in [
        words!["check", peterson, "--ltl-file", path("large.ltl")],
        words!["translate", "--ltl-file", path("large.ltl")],
        words!["translate", "--hoa", path("large.ltl")],
    ] {
        let said = refusal(&words);
        assert!(said.contains(reason), "{said}");
    }
    let said = refusal(&words!["check", peterson, "--ltl-file", "/dev/zero"]);
    assert!(said.contains("it is a device, not a file"), "{said}");
}

#[test]
fn formulas_that_are_wrong_in_many_places_are_told_in_few_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("wrong.ltl");
    let refused = |text: String| {
        std::fs::write(&path, text).expect("a file");
        refusal(&words!["check", model("peterson.dve"), "--ltl-file", path])
    };
    let each = |count: usize, part: &dyn Fn(usize) -> String| {
        (0..count).fold(String::new(), |mut text, number| {
            let _ = write!(text, "{}", part(number));
            text
        })
    };
    let said = refused(format!("#property {}true\n", each(9_000, &|i| format!("unknown{i} && "))));
    assert_eq!(said.matches("error: unknown name").count(), 50, "{said}");
    assert!(said.ends_with("... and 8950 more atoms that were not looked at\n"), "{said}");
    let said = refused(format!("#property {}true\n", each(9_000, &|i| format!("turn == {i} && "))));
    assert!(said.contains("more than 63 different atoms"), "{said}");
    let said = refused(format!("#property {}\n", "turn == 1 U ".repeat(10_000)));
    assert!(said.contains("more than 200 operators inside one another"), "{said}");
    let said = refused(format!("#property {} (turn == 1)\n", "X".repeat(19_000)));
    assert!(said.contains("more than 400 operators inside one another"), "{said}");
    let chain = each(10_000, &|i| format!("#define d{} X d{i}\n", i + 1));
    let said = refused(format!("#define d0 turn == 1\n{chain}#property d10000\n"));
    assert!(said.contains("more than 400 operators inside one another"), "{said}");
    let wide = "turn == 1 && ".repeat(9_000);
    let said = refused(format!("#define d {wide}true\n#property {}d\n", "d && ".repeat(20_000)));
    assert!(said.contains("more than 20000 nodes"), "{said}");
    let said = refused("#property G (turn == 1)\n".repeat(10_000));
    assert!(said.contains("states 10000 properties in too long a text: split it"), "{said}");
    let said = refused("&& ".repeat(50_000).replacen("&&", "#property", 1));
    assert!(said.contains("expected a formula"), "{said}");
}

#[test]
fn more_questions_than_one_search_answers_are_refused_before_they_are_read() {
    let mut words: Vec<OsString> = vec!["check".into(), model("peterson.dve").into()];
    for number in 0..10_000 {
        words.extend(["--invariant".into(), format!("turn != {number}").into()]);
    }
    let said = refusal(&words);
    assert!(said.contains("these are 10000 expressions, and one search checks at most 63"), "{said}");
}

#[test]
fn paths_that_are_not_text_work_everywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &[u8]| folder.path().join(OsString::from_vec(name.to_vec()));
    let (source, run) = (path(b"m\xff.dve"), path(b"run\xfe"));
    std::fs::copy(model("philosophers.dve"), &source).expect("a copy");
    let json = path(b"report\xff.json");
    let trace = path(b"trace\xff.json");
    let output = fathom(&words!["check", source, "--deadlock", "--json", json, "--trace", trace]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&json).expect("a report")).expect("it is JSON");
    assert!(report["model"].as_str().expect("a name").ends_with("m\u{fffd}.dve"), "{report}");
    assert!(trace.is_file());

    let disk = words!["explore", source, "--engine", "tier", "--ram", "128MiB", "--dir", run];
    let output = fathom(&disk);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let output = fathom(&words!["audit", run]);
    let said = [&output.stdout[..], &output.stderr].concat();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&said));

    let missing = refusal(&words!["check", path(b"n\xff.dve")]);
    assert!(missing.contains("there is no file"), "{missing}");
}

#[test]
fn a_run_that_can_be_gone_on_with_is_told_in_a_form_that_a_shell_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join(OsStr::from_bytes(b"run\xff 1"));
    let words = words![
        "explore",
        model("hanoi.dve"),
        "--engine",
        "tier",
        "--ram",
        "128MiB",
        "--max-depth",
        "3",
        "--dir",
        run
    ];
    let output = fathom(&words);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("/run\\xff\\x201'"), "{said}");
}
