//! Whatever stands in a model, a name or a path: a terminal shows it and never obeys it.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use crate::command::{Ran, fathom, run};

/// Clears the screen, rings, goes back to the beginning of the line, turns the writing around, and ends a line.
const HOSTILE: &str = "a\u{1b}[2J\u{7}b\rc\u{202e}d\u{2066}e\u{9b}f\u{200f}";

struct Models {
    folder: tempfile::TempDir,
}

impl Models {
    fn new() -> Models {
        Models { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A model whose rules, start and invariant have hostile names.
    fn murphi(&self) -> String {
        let text = format!(
            "var x : 0..5;\nstartstate \"start {HOSTILE}\" begin x := 0; end;\n\
             rule \"rule {HOSTILE}\nholds\" x < 5 ==> begin x := x + 1; end;\n\
             rule \"never {HOSTILE}\" x > 5 ==> begin x := 0; end;\n\
             invariant \"small {HOSTILE}\nfault: found\" x < 3;\n"
        );
        self.file(&format!("model {HOSTILE}.m"), &text)
    }
}

fn assert_harmless(text: &str, context: &str) {
    let hidden = |letter: char| {
        letter.is_control() && letter != '\n'
            || matches!(letter, '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(hidden), "{context}: {text:?}");
}

fn assert_all_harmless(ran: &Ran, context: &str) {
    assert!(!ran.stdout.is_empty() || !ran.stderr.is_empty(), "{context} says something");
    assert_harmless(&ran.stdout, context);
    assert_harmless(&ran.stderr, context);
}

#[test]
fn names_in_a_model_are_shown_escaped() {
    let models = Models::new();
    let path = models.murphi();
    let trace = models.folder.path().join("trace.txt");
    let checked = run(&["check", &path, "--trace", &trace.display().to_string()]);
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    assert_all_harmless(&checked, "check");
    assert!(
        checked.stdout.contains(r"a\u{1b}[2J\u{7}b\rc\u{202e}d\u{2066}e\u{9b}f\u{200f}"),
        "{}",
        checked.stdout
    );
    let lines = |text: &str| text.lines().filter(|line| line.starts_with("fault: found")).count();
    assert_eq!(lines(&checked.stdout), 0, "a name begins no line: {}", checked.stdout);
    let written = std::fs::read_to_string(&trace).unwrap();
    assert_harmless(&written, "a trace");
    assert!(written.contains(r"\u{1b}"), "{written}");
    for words in [
        vec!["explore", &path],
        vec!["explore", &path, "--dump-program"],
        vec!["explore", &path, "--dump-layout"],
        vec!["check", &path, "--engine", "bitstate", "--data-budget", "1M"],
        vec!["check", &path, "--property", HOSTILE],
        vec!["simulate", &path, "--random", "3"],
    ] {
        assert_all_harmless(&run(&words), &format!("{words:?}"));
    }
}

#[test]
fn a_walk_by_hand_shows_names_escaped() {
    let models = Models::new();
    let mut child = fathom(&["simulate", &models.murphi()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let commands = format!("1\nrun\nvalues\n{HOSTILE}\ntrace {HOSTILE}\nquit\n");
    child.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
    assert_all_harmless(&Ran::of(child.wait_with_output().unwrap()), "simulate");
}

#[test]
fn what_is_wrong_is_shown_escaped() {
    let models = Models::new();
    let model = models.murphi();
    let odd = models.file("odd.m", &format!("var x : {HOSTILE};"));
    let odd_dve = models.file("odd.dve", &format!("byte {HOSTILE};"));
    let formulas = models.file("odd.ltl", &format!("#property G {HOSTILE}"));
    let (missing, nowhere) = (format!("/nowhere/{HOSTILE}.dve"), format!("/proc/nowhere/{HOSTILE}"));
    for words in [
        vec!["check", &odd],
        vec!["check", &odd_dve],
        vec!["check", &missing],
        vec!["check", &model, "--invariant", HOSTILE],
        vec!["check", &model, "--ltl", HOSTILE],
        vec!["check", &model, "--ltl-file", &formulas],
        vec!["check", &model, "--constraint", HOSTILE],
        vec!["check", &model, "--dir", &nowhere, "--resume"],
        vec!["audit", &nowhere],
        vec!["translate", HOSTILE],
    ] {
        let ran = run(&words);
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stderr);
        assert_all_harmless(&ran, &format!("{words:?}"));
    }
}
