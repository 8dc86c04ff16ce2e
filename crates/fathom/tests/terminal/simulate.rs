//! A simulation on the full screen and at a prompt, from its start to its end.

use std::process::Command;

use oracle::skip::skipped;

use crate::screen::{Screen, ended};

const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");
const LEFT: &str = "\u{1b}[D";
const RIGHT: &str = "\u{1b}[C";
const DOWN: &str = "\u{1b}[B";
const UP: &str = "\u{1b}[A";
const BACKSPACE: &str = "\u{7f}";

fn fathom() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
}

#[test]
fn a_model_is_stepped_through_on_the_full_screen() {
    let Some(mut screen) = Screen::new(30, 120) else {
        return skipped("a_model_is_stepped_through_on_the_full_screen", "there is no pseudo-terminal here");
    };
    let mut command = fathom();
    command.args(["simulate", &format!("{MODELS}/broken_lock.dve")]);
    command.args(["--invariant", "P_0.critical + P_1.critical + P_2.critical <= 1"]);
    let mut child = screen.start(&mut command);
    let parts = [
        "after 0 steps",
        "state",
        "variable",
        "taken",
        " 1  P_0: idle -> seen_free  (line 19)",
        "deadlock",
        "coverage: 0 of 9",
        "q quit",
    ];
    screen.wait_for("the initial state", |text| parts.iter().all(|part| text.contains(part)));
    // By number, by choice, back, and forward again along what was taken back.
    screen.keys("1");
    screen.wait_for("a step", |text| text.contains("after 1 step") && text.contains("* P_0"));
    screen.keys(DOWN);
    screen.keys("\r");
    screen.wait_for("the chosen step", |text| text.contains("after 2 steps") && text.contains("* P_1"));
    screen.keys(LEFT);
    screen.wait_for("one back", |text| text.contains("after 1 step (1 ahead)") && text.contains("<- ahead"));
    screen.keys(RIGHT);
    screen.wait_for("it again", |text| text.contains("after 2 steps") && !text.contains("ahead)"));
    // A breakpoint stops a random walk; what is violated is seen.
    screen.keys(":break P_2.critical\r");
    screen.wait_for("a breakpoint", |text| text.contains("break 1: P_2.critical"));
    screen.keys("R");
    screen.wait_for("it stops", |text| text.contains("stops here") || text.contains("violated here"));
    screen.keys(":clear 1\r");
    screen.wait_for("none left", |text| text.contains("there are no breakpoints"));
    // The way to a state, from here; what is wrong with an expression is told.
    screen.keys(":find P_0.criticl\r");
    screen.wait_for("what is wrong", |text| text.contains("critical") && text.contains("any key goes on"));
    screen.keys(" ");
    screen.wait_for("the state again", |text| text.contains("variable"));
    screen.keys(":restart\r");
    screen.wait_for("the beginning", |text| text.contains("after 0 steps"));
    screen.keys(":find P_0.critical + P_1.critical > 1\r");
    screen.wait_for("four steps", |text| text.contains("after 4 steps") && text.contains("violated here"));
    // It fits another size, and goes on.
    screen.resize(24, 60, &child);
    screen.wait_for("a narrow screen", |text| text.contains("after 4 steps") && text.contains("variable"));
    assert!(screen.lines().iter().all(|line| line.chars().count() <= 60), "{:?}", screen.lines());
    screen.resize(30, 120, &child);
    screen.keys("?");
    screen.wait_for("help", |text| text.contains("go to the nearest state where E is true"));
    screen.keys(" q");
    assert_eq!(ended(&mut child), Some(0));
    assert!(screen.written().contains("\u{1b}[?1049l"), "the terminal is as it was");
}

#[test]
fn a_saved_lasso_goes_round_its_cycle() {
    let Some(mut screen) = Screen::new(30, 120) else {
        return skipped("a_saved_lasso_goes_round_its_cycle", "there is no pseudo-terminal here");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let model = format!("{MODELS}/peterson.dve");
    let saved = fathom()
        .args(["check", &model, "--only", "--ltl", "[] <> P_0.critical", "--quiet", "--trace", "lasso.json"])
        .current_dir(folder.path())
        .status()
        .expect("the binary runs");
    assert_eq!(saved.code(), Some(1));
    let mut child = screen.start(fathom().args(["simulate", &model]).current_dir(folder.path()));
    screen.wait_for("the initial state", |text| text.contains("after 0 steps"));
    screen.keys(":trace lasso.json 0\r");
    screen
        .wait_for("the trace", |text| text.contains("forward goes round") && text.contains("after 0 steps"));
    // The stem, and its cycle three times.
    screen.keys(":forward 13\r");
    screen.wait_for("three rounds", |text| text.contains("after 13 steps (a cycle of 4, round 3)"));
    screen.keys("b");
    screen.wait_for("one back", |text| text.contains("after 12 steps") && text.contains("<- ahead"));
    screen.keys("q");
    assert_eq!(ended(&mut child), Some(0));
}

#[test]
fn a_prompt_edits_its_lines() {
    let Some(mut screen) = Screen::new(40, 100) else {
        return skipped("a_prompt_edits_its_lines", "there is no pseudo-terminal here");
    };
    let mut command = fathom();
    command.args(["simulate", &format!("{MODELS}/broken_lock.dve"), "--plain"]);
    let mut child = screen.start(&mut command);
    // Keys are keys once the prompt is there: before it, the terminal gathers them to lines.
    let prompt_after = |part: &'static str| move |text: &str| text.contains(part) && text.ends_with("> ");
    screen.wait_for("the prompt", prompt_after("type a number"));
    // `9` is taken back, and the line is mended in the middle.
    screen.keys("9");
    screen.keys(BACKSPACE);
    screen.keys("ranom 2");
    for _ in 0..4 {
        screen.keys(LEFT);
    }
    screen.keys("d");
    screen.wait_for("the line", |text| text.trim_end().ends_with("> random 2"));
    screen.keys("\r");
    screen.wait_for("two steps", prompt_after("after 2 steps"));
    screen.keys(UP);
    screen.wait_for("the line again", |text| text.trim_end().ends_with("> random 2"));
    screen.keys("\r");
    screen.wait_for("four steps", prompt_after("after 4 steps"));
    // The end of input ends it.
    screen.keys("\u{4}");
    assert_eq!(ended(&mut child), Some(0));
}
