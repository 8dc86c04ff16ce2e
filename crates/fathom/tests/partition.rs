//! What users see of the engine that has one partition in memory at a time: no depths, figures of partitions, variables to part by, and which were chosen.

mod command;

use serde_json::Value;

use command::{Ran, fathom, model, run};

fn report(arguments: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().expect("there is room");
    let mut command = fathom(&[arguments, &["--json", "-", "-q"]].concat());
    let ran = Ran::of(command.current_dir(folder.path()).output().expect("the binary runs"));
    (ran.code, ran.json())
}

fn explored(name: &str, options: &[&str]) -> Value {
    let path = model(name);
    let (code, report) = report(&[&["explore", &path, "--engine", "partition"], options].concat());
    assert_eq!(code, Some(0), "{name} {options:?}");
    report
}

#[test]
fn counts_are_those_of_other_engines_and_depths_are_not_told() {
    let (_, exact) = report(&["explore", &model("torus.dve"), "--engine", "tier"]);
    for by in ["hash", "bits", "auto", "x", "y, x"] {
        for budget in ["4KiB", "64KiB", "4MiB"] {
            let found =
                explored("torus.dve", &[&format!("-Eby={by}"), "--data-budget", budget, "--threads", "1"]);
            for key in ["states", "transitions", "deadlocks", "checksum"] {
                assert_eq!(found[key], exact[key], "{key} by {by} in {budget}");
            }
            assert_eq!(found["visits"], exact["states"], "each is visited once");
            assert!(found["depth"].is_null() && found["layers"].as_array().is_some_and(Vec::is_empty));
        }
    }
    let ran = run(&["explore", &model("torus.dve"), "--engine", "partition", "--max-depth", "3"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("does not search in layers and has no depth"), "{}", ran.stderr);
}

#[test]
fn steps_are_counted_within_partitions_and_across_and_visits_over_time() {
    let figures = |by: &str| {
        let found = explored("torus.dve", &[&format!("-Eby={by}"), "--data-budget", "64KiB", "-j1"]);
        let figure = |name: &str| found["figures"][name].as_u64().unwrap_or_else(|| panic!("no {name}"));
        let steps = found["transitions"].as_u64().expect("they are counted");
        // The start is a step from nowhere.
        assert_eq!(figure("steps_across") + figure("steps_within"), steps + 1, "by {by}");
        let tenths: u64 = (1..=10).map(|tenth| figure(&format!("visits_tenth_{tenth:02}"))).sum();
        assert_eq!(tenths, figure("visits_of_partitions"), "by {by}");
        assert!(figure("partitions") == figure("splits") + 1 && figure("partitions") > 1, "by {by}");
        for part in ["read_us", "insert_us", "check_us", "write_us", "compute_us", "queue_us"] {
            figure(part);
        }
        figure("steps_across")
    };
    let (by_hash, by_row) = (figures("hash"), figures("x"));
    assert!(by_row * 4 < by_hash, "a step along a row stays there: {by_row} steps across, by hash {by_hash}");
}

#[test]
fn what_states_are_parted_by_is_told_if_nobody_has_said_it() {
    let told = |by: &str| {
        let ran = run(&["explore", &model("torus.dve"), "--engine", "partition", "-E", by, "--threads", "1"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout.lines().find_map(|line| Some(line.trim().strip_prefix("measure")?.trim().to_owned()))
    };
    assert!(told("by=auto").is_some_and(|line| line.ends_with("(chosen from a sample of steps)")));
    assert_eq!(told("by=hash"), None);
}

#[test]
fn a_variable_that_is_not_there_is_told_with_those_that_are() {
    let ran = run(&["explore", &model("torus.dve"), "--engine", "partition", "-E", "by=x, z"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("there is no variable \"z\" that states could be parted by"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_trace_is_replayed_and_no_shorter_than_the_shortest() {
    let frogs = model("frogs.dve");
    let goal = "pad[0] == 2 and pad[1] == 2 and pad[2] == 2 and pad[3] == 2";
    let length = |engine: &str, more: &[&str]| {
        let words = ["check", &frogs, "--only", "--reach", goal, "--engine", engine];
        let (_, report) = report(&[&words[..], more].concat());
        report["properties"][0]["length"].as_u64().expect("it is reached")
    };
    let shortest = length("tier", &[]);
    assert!(length("partition", &["--data-budget", "64KiB"]) >= shortest);
    assert_eq!(length("partition", &["--no-trace", "--data-budget", "4MiB"]), shortest, "it is searched for");
}
