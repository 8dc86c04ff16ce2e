//! The sweep-line from the command line: the same states, verdicts and shortest traces, whatever the measure.

mod command;

use command::{model, run};

/// What a command says, without those files that it makes.
fn json(words: &[&str]) -> serde_json::Value {
    let ran = run(&[words, &["--json", "-", "--quiet"]].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{words:?}: {}", ran.stderr);
    ran.json()
}

#[test]
fn states_are_told_where_no_step_decreases_the_measure() {
    for (name, measure, is_monotone) in [
        ("bakery.dve", "0", true),
        ("eight_puzzle.dve", "7", true),
        ("peterson.dve", "turn", false),
        ("coherence_multiset.m", "0", true),
    ] {
        let path = model(name);
        let plain = json(
            &["explore", &path, "--engine", "ram", "--symmetry", "off"]
                [..if name.ends_with(".m") { 6 } else { 4 }],
        );
        let option = format!("measure={measure}");
        let words = ["explore", &path, "--engine", "sweep-ram", "-E", &option, "--symmetry", "off"];
        let swept = json(&words[..if name.ends_with(".m") { 8 } else { 6 }]);
        assert_eq!(swept["engine"], "sweep-ram");
        assert!(swept["depth"].is_null() && swept["duplicates"]["ram"].is_u64(), "{swept}");
        if is_monotone {
            for figure in ["states", "transitions", "deadlocks", "checksum"] {
                assert_eq!(swept[figure], plain[figure], "{figure} of {name}");
            }
            assert_eq!(swept["visits"], plain["states"]);
        } else {
            assert!(swept["states"].is_null() && swept["checksum"].is_null(), "{swept}");
            assert!(swept["visits"].as_u64() > plain["states"].as_u64(), "{swept}");
        }
    }
}

#[test]
fn a_trace_is_the_shortest_though_no_layer_was_kept() {
    let path = model("broken_lock.dve");
    let invariant = "P_0.critical + P_1.critical + P_2.critical <= 1";
    let folder = tempfile::tempdir().expect("a folder");
    let trace = |engine: &[&str]| {
        let file = folder.path().join("trace.txt").display().to_string();
        let words = ["check", &path, "--invariant", invariant, "--trace", &file];
        assert_eq!(run(&[&words[..], engine].concat()).code, Some(1));
        std::fs::read_to_string(&file).expect("it is written")
    };
    let plain = trace(&["--engine", "ram"]);
    for measure in ["measure=0", "measure=taken", "measure=0 - taken"] {
        assert_eq!(trace(&["--engine", "sweep-ram", "-E", measure]), plain, "{measure}");
    }
}

#[test]
fn what_is_wrong_with_a_measure_is_said() {
    let path = model("broken_lock.dve");
    let refused = |more: &[&str]| {
        let ran = run(&[&["explore", &path, "--engine", "sweep-ram"], more].concat());
        assert_eq!(ran.code, Some(2), "{more:?}");
        ran.stderr
    };
    assert!(refused(&[]).contains("needs -E measure=EXPRESSION"));
    assert!(refused(&["-E", "measure=takn"]).contains("did you mean `taken`?"));
    assert!(refused(&["-E", "measure=taken", "--max-depth", "3"]).contains("has no depth"));
    assert!(refused(&["-E", "measure=taken", "--product", "--ltl", "G F P_0.critical"]).contains("has none"));
}
