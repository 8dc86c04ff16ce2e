//! Does `--traces N` show N counterexamples, each to another state, shortest first, whatever engine finds them?

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

mod command;

use std::collections::BTreeSet;

use command::{Ran, fathom, model, run};
use serde_json::Value;

const CRITICAL: &str = "P_0.critical + P_1.critical + P_2.critical <= 1";

/// Checks the broken lock, which three pairs of processes break after four steps, and all three after six.
fn broken(words: &[&str]) -> Ran {
    let lock = model("broken_lock.dve");
    let mut all = vec!["check", lock.as_str(), "--invariant", CRITICAL, "--quiet"];
    all.extend(words);
    run(&all)
}

/// The runs of a report in JSON.
fn runs(report: &Value) -> Vec<&Value> {
    let property = report["properties"].as_array().unwrap().iter().find(|it| it["name"] == CRITICAL).unwrap();
    let more = property["more_traces"].as_array().map_or(&[][..], Vec::as_slice);
    std::iter::once(&property["trace"]).chain(more).collect()
}

/// The state that a run ends in.
fn last(run: &Value) -> String {
    run["stem"].as_array().unwrap().last().unwrap()["state"].to_string()
}

#[test]
fn every_engine_shows_the_same_first_ones() {
    let ways: [&[&str]; 6] = [
        &["--engine", "ram"],
        &["--engine", "ram", "--threads", "1"],
        &["--engine", "tier", "--data-budget", "8KiB"],
        &["--engine", "tier", "--no-trace", "--data-budget", "64KiB"],
        &["--engine", "stern-dill", "--data-budget", "8KiB"],
        &["--engine", "layered", "--data-budget", "16KiB"],
    ];
    for count in [1, 2, 3, 5] {
        let number = count.to_string();
        let mut expected: Option<String> = None;
        for way in ways {
            let mut words = vec!["--traces", number.as_str(), "--json", "-"];
            words.extend(way);
            let ran = broken(&words);
            assert_eq!(ran.code, Some(1), "{words:?}: {}", ran.stderr);
            let report = ran.json();
            let runs = runs(&report);
            assert_eq!(runs.len(), count, "{words:?}");
            let ends: BTreeSet<String> = runs.iter().map(|run| last(run)).collect();
            assert_eq!(ends.len(), count, "each ends in another state: {words:?}");
            let lengths: Vec<usize> = runs.iter().map(|run| run["stem"].as_array().unwrap().len()).collect();
            assert!(lengths.is_sorted(), "{lengths:?}");
            let all = runs.iter().map(|run| run.to_string()).collect::<Vec<_>>().join("\n");
            assert_eq!(*expected.get_or_insert_with(|| all.clone()), all, "{words:?}");
        }
    }
}

#[test]
fn there_are_no_more_than_there_are_and_they_are_told_apart() {
    let ran = broken(&["--traces", "1000", "--json", "-"]);
    let report = ran.json();
    let all = runs(&report);
    let ends: BTreeSet<String> = all.iter().map(|run| last(run)).collect();
    assert_eq!(all.len(), ends.len());
    // All states were searched for them.
    assert_eq!(report["limit"], Value::Null, "{report}");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (json, text, sarif) = (path("all.json"), path("all.txt"), path("all.sarif"));
    for file in [&json, &text] {
        assert_eq!(broken(&["--traces", "3", "--trace", file, "--sarif", &sarif]).code, Some(1));
    }
    let text = std::fs::read_to_string(text).unwrap();
    for heading in ["after 4 steps (1 of 3):", "after 4 steps (2 of 3):", "after 4 steps (3 of 3):"] {
        assert_eq!(text.matches(heading).count(), 1, "{heading} in {text}");
    }
    let read = |path: &str| serde_json::from_str::<Value>(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(read(&json)["traces"].as_array().unwrap().len(), 3);
    assert_eq!(read(&sarif)["runs"][0]["results"].as_array().unwrap().len(), 3);
    let replayed = run(&["replay", &model("broken_lock.dve"), &json]);
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
}

#[test]
fn a_search_goes_on_for_as_many_as_it_was_begun_for() {
    let folder = tempfile::tempdir().unwrap();
    let lock = model("broken_lock.dve");
    let check = |words: &[&str]| {
        let mut all =
            vec!["check", &lock, "--invariant", CRITICAL, "--quiet", "--engine", "tier", "--dir", "search"];
        all.extend(words);
        Ran::of(fathom(&all).current_dir(folder.path()).output().unwrap())
    };
    let begun = check(&["--traces", "4", "--max-depth", "3"]);
    assert_eq!(begun.code, Some(3), "{}", begun.stderr);
    let other = check(&["--resume", "--traces", "2"]);
    assert_eq!(other.code, Some(2), "{}", other.stdout);
    assert!(other.stderr.contains("--traces 4"), "{}", other.stderr);
    let resumed = check(&["--resume", "--traces", "4", "--json", "-"]);
    assert_eq!(resumed.code, Some(1), "{}", resumed.stderr);
    let once = broken(&["--engine", "tier", "--traces", "4", "--json", "-"]);
    let both = [resumed.json(), once.json()];
    assert_eq!(runs(&both[0]), runs(&both[1]));
    assert_eq!(runs(&both[0]).len(), 4);
}

#[test]
fn what_cannot_be_had_is_refused() {
    for number in ["0", "1001", "-1", "many"] {
        assert_eq!(broken(&[&format!("--traces={number}")]).code, Some(2), "{number}");
    }
    let hunted = broken(&["--traces", "2", "--engine", "bitstate"]);
    assert_eq!(hunted.code, Some(2));
    assert!(hunted.stderr.contains("bitstate shows one counterexample"), "{}", hunted.stderr);
}

#[test]
fn a_random_walk_is_shown_up_to_where_it_first_violates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("detours.dve");
    // Many ways lead to a state with a == 1 and b == 2, and shorter ones than a walk's come by one with b == 1.
    let text = "byte a = 0;\nbyte b = 0;\nprocess P { state s, t; init s; trans s -> t { effect a = 1; }; }\n\
                process Q { state s; init s; trans s -> s { effect b = (b + 1) % 4; }; }\nsystem async;\n";
    std::fs::write(&path, text).unwrap();
    let (mut shortened, mut shown) = (0, 0);
    for seed in 0..40 {
        let seed = seed.to_string();
        let words = ["simulate", path.to_str().unwrap(), "--random", "1", "--seed", &seed, "--json", "-"];
        let asked = ["--only", "--invariant", "a == 0 || b == 0", "--quiet"];
        let report = run(&[&words[..], &asked[..]].concat()).json();
        let Some(stem) = report["properties"][0]["trace"]["stem"].as_array() else { continue };
        let violates = |state: &Value| state["state"]["a"] == 1 && state["state"]["b"] != 0;
        let bad: Vec<usize> = (0..stem.len()).filter(|place| violates(&stem[*place])).collect();
        assert_eq!(bad, [stem.len() - 1], "{stem:?}");
        shown += 1;
        let walked = report["walks"]["found_after"].as_u64().unwrap_or(0);
        shortened += usize::from(walked as usize > stem.len() - 1);
    }
    assert!(shown > 20 && shortened > 0, "{shown} {shortened}");
}

#[test]
fn a_check_that_wants_several_says_after_how_many_it_stopped() {
    for (number, words) in [("1", "stopped at the first violation"), ("3", "stopped after 3 counterexamples")]
    {
        let lock = model("broken_lock.dve");
        let ran = run(&["check", &lock, "--invariant", CRITICAL, "--traces", number]);
        assert!(ran.stdout.contains(words), "{}", ran.stdout);
    }
}
