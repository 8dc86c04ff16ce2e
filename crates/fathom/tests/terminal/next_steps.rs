//! What a search that stopped says about what is lost, what is kept, and how to go on.

use std::process::{Command, Output};

use crate::Endless;

fn run(model: &Endless, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(words)
        .arg("endless.dve")
        .current_dir(model.folder.path())
        .output()
        .expect("the binary runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The number in front of a word.
fn number(text: &str, word: &str) -> f64 {
    let before = text.split(word).next().expect("there is a beginning");
    let digits = before.rsplit([' ', '(']).next().expect("there is a number").replace(',', "");
    digits.parse().unwrap_or_else(|error| panic!("{error}: {digits:?} before {word:?} in {text}"))
}

#[test]
fn more_memory_than_the_machine_has_is_refused() {
    let output = run(&Endless::new(), &["check", "--ram", "1000TiB"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("is more than the") && said.contains("leave --ram out"), "{said}");
}

#[test]
fn a_stop_in_memory_says_what_is_lost_and_how_to_keep_it() {
    let model = Endless::new();
    let full = run(&model, &["check", "--engine", "ram", "--data-budget", "1MiB", "--threads", "1"]);
    assert_eq!(full.status.code(), Some(3));
    let said = text(&full);
    assert!(said.contains("are lost; without --engine a search goes to disk"), "{said}");
    let late = run(&model, &["check", "--time-limit", "2s", "--ram", "256MiB"]);
    assert_eq!(late.status.code(), Some(3));
    assert!(text(&late).contains("are lost; with --dir DIR a search is kept"), "{}", text(&late));
}

#[test]
fn the_command_to_go_on_leaves_the_limit_out_and_rates_count_what_was_done_since() {
    let model = Endless::new();
    let search = ["explore", "--dir", "search", "--ram", "64MiB", "--threads", "1"];
    let first = run(&model, &[&search[..], &["--time-limit", "10s"]].concat());
    assert_eq!(first.status.code(), Some(3));
    let said = text(&first);
    let resume = said.lines().last().expect("it says how to go on").trim();
    assert!(resume.contains("--dir search") && resume.ends_with("--resume"), "{said}");
    assert!(!resume.contains("--time-limit"), "{said}");
    let second = run(&model, &[&search[..], &["--time-limit", "2s", "--resume"]].concat());
    let said_then = text(&second);
    let since = number(&said_then, " expanded)") - number(&said, " expanded)");
    let (seconds, rate) = (number(&said_then, " s, "), number(&said_then, " states/s"));
    // What was expanded before the last checkpoint counts for nothing; what was expanded after it is done again.
    let most = number(&said_then, " expanded)") * 0.9;
    assert!(rate * seconds < most.max(since * 1.5), "{since} since, {rate} in {seconds} s: {said_then}");
}
