//! No verdict that was not earned, and none without what it takes for granted.

use serde_json::Value;

use crate::command::{Ran, model, run};

/// A model that faults only after `P.a`, where the automaton of `F P.a` has long dropped every run.
struct Pruned {
    _folder: tempfile::TempDir,
    path: String,
}

impl Pruned {
    fn new() -> Pruned {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pruned.dve");
        let text = "byte x;\nprocess P { state a, b; init a; trans a -> b {}, b -> b { effect x = x + 100; }; }\n\
                    system async;\n";
        std::fs::write(&path, text).unwrap();
        Pruned { path: path.display().to_string(), _folder: folder }
    }
}

const ENGINES: [&[&str]; 7] = [
    &[],
    &["--engine", "ndfs"],
    &["--engine", "ndfs", "--store", "tier"],
    &["--engine", "semi-owcty"],
    &["--engine", "semi-owcty", "--store", "tier"],
    &["--engine", "ddfs"],
    &["--engine", "map-ram"],
];

fn verdict_on_faults(ran: &Ran) -> Value {
    let report = ran.json();
    let properties = report["properties"].as_array().unwrap().clone();
    properties.into_iter().find(|property| property["kind"] == "fault").unwrap()["verdict"].clone()
}

#[test]
fn faults_that_a_formula_does_not_lead_to_are_unknown() {
    let pruned = Pruned::new();
    for engine in ENGINES {
        for budget in [&[][..], &["--data-budget", "256KiB"]] {
            let words = [&["check", &pruned.path, "--only", "--ltl", "F P.a", "--json", "-"], engine, budget]
                .concat();
            let ran = run(&words);
            assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
            assert_eq!(verdict_on_faults(&ran), "unknown", "{words:?}");
            assert_eq!(ran.json()["verdict"], "holds", "the formula is all that was asked");
            assert!(ran.stderr.contains("faults were not looked for everywhere"), "{}", ran.stderr);
        }
    }
}

#[test]
fn faults_that_are_asked_about_are_looked_for_everywhere() {
    let pruned = Pruned::new();
    for engine in ENGINES {
        let asked =
            ["check", &pruned.path, "--only", "--ltl", "F P.a", "--faults", "stop", "--json", "-", "-q"];
        let ran = run(&[&asked, engine].concat());
        assert_eq!((ran.code, verdict_on_faults(&ran)), (Some(1), "fault".into()), "{engine:?}");
        let sound = model("peterson.dve");
        let asked =
            ["check", &sound, "--only", "--ltl", "F P_0.idle", "--faults", "stop", "--json", "-", "-q"];
        let ran = run(&[&asked, engine].concat());
        assert_eq!((ran.code, verdict_on_faults(&ran)), (Some(0), "holds".into()), "{engine:?}");
    }
    let ran = run(&[
        "check",
        &pruned.path,
        "--only",
        "--ltl",
        "F P.a",
        "--invariant",
        "x < 255",
        "--json",
        "-",
        "-q",
    ]);
    assert_eq!((ran.code, verdict_on_faults(&ran)), (Some(1), "fault".into()), "all states were looked at");
}

#[test]
fn an_automaton_that_drops_no_run_misses_no_fault() {
    let pruned = Pruned::new();
    let sound = model("peterson.dve");
    for engine in ENGINES {
        // What violates these may begin at any state: the automaton can always wait.
        let words =
            [&["check", &pruned.path, "--only", "--ltl", "G F P.b", "--json", "-", "-q"], engine].concat();
        let ran = run(&words);
        assert_eq!((ran.code, verdict_on_faults(&ran)), (Some(1), "fault".into()), "{engine:?}");
        let formula = "G (P_0.waiting -> F P_0.critical)";
        let ran =
            run(&[&["check", &sound, "--only", "--ltl", formula, "--json", "-", "-q"], engine].concat());
        assert_eq!((ran.code, verdict_on_faults(&ran)), (Some(0), "holds".into()), "{engine:?}");
    }
}

#[test]
fn every_assumption_is_said() {
    let (update, elevator) = (model("lost_update.dve"), model("peterson.dve"));
    let cases: [(&[&str], &str); 7] = [
        (
            &["check", &update, "--constraint", "counter < 2"],
            "only states where counter < 2 holds are explored (--constraint)",
        ),
        (
            &["check", &update, "--deadlock-except", "Judge.done"],
            "states where Judge.done holds are valid end states (--deadlock-except)",
        ),
        (
            &["check", &elevator, "--only", "--ltl", "G F P_0.idle", "--fair", "weak"],
            "runs are weakly fair to every process (--fair weak)",
        ),
        (
            &["check", &elevator, "--only", "--ltl", "G F P_0.idle", "--fair", "weak=P_1"],
            "runs are weakly fair to P_1 (--fair weak)",
        ),
        (
            &["check", &update, "--overflow", "wrap"],
            "values that do not fit their type wrap around (--overflow wrap)",
        ),
        (
            &["check", &update, "--faults", "report"],
            "steps that fault are counted and not taken (--faults report)",
        ),
        (&["check", &update, "--max-depth", "1"], "no state is more than 1 step deep (--max-depth)"),
    ];
    for (words, expected) in cases {
        let ran = run(&[words, &["--json", "-"]].concat());
        assert_eq!(ran.json()["assumptions"], serde_json::json!([expected]), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("assuming: {expected}\n")), "{words:?}: {}", ran.stderr);
    }
    let plain = run(&["check", &update, "--json", "-"]);
    assert_eq!(plain.json()["assumptions"], serde_json::json!([]));
    assert!(!plain.stderr.contains("assuming"), "{}", plain.stderr);
    let symmetric = run(&["check", &model("coherence_multiset.m"), "--json", "-", "-q"]);
    assert_eq!(
        symmetric.json()["assumptions"],
        serde_json::json!(["symmetry reduction is sound for this model (--symmetry on)"])
    );
}

#[test]
fn an_audit_says_what_the_run_took_for_granted() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&str, &[&str], &str); 2] = [
        (
            "lost_update.dve",
            &["--constraint", "counter < 2", "--invariant", "counter < 2"],
            "only states where counter < 2 holds are explored",
        ),
        (
            "peterson.dve",
            &["--only", "--ltl", "G (P_0.waiting -> F P_0.critical)", "--fair", "weak"],
            "runs are weakly fair to every process",
        ),
    ];
    for (number, (name, words, expected)) in cases.into_iter().enumerate() {
        let place = folder.path().join(number.to_string()).display().to_string();
        let checked = run(&[&["check", &model(name), "--certify", "--dir", &place, "-q"], words].concat());
        assert_eq!(checked.code, Some(0), "{name}: {}", checked.stderr);
        let audited = run(&["audit", &place, "--json", "-"]);
        assert_eq!(audited.code, Some(0), "{}", audited.stderr);
        assert!(audited.stderr.contains(&format!("assuming: {expected}")), "{}", audited.stderr);
        assert!(
            audited.json()["assumptions"][0].as_str().unwrap().starts_with(expected),
            "{}",
            audited.stdout
        );
    }
}

#[test]
fn a_constraint_that_nothing_meets_is_a_warning() {
    let ran = run(&["check", &model("peterson.dve"), "--constraint", "false", "--invariant", "false"]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stderr.contains("warning: no initial state satisfies the constraint false"),
        "{}",
        ran.stderr
    );
}

/// Searches that end in different ways, in one command: exit, verdict and limit say the same.
#[test]
fn exit_and_limit_agree() {
    let peterson = model("peterson.dve");
    let (violated, holds) = ("G F P_0.critical", "G !(P_0.critical && P_1.critical)");
    for questions in [&["--invariant", "1"][..], &["--only", "--ltl", holds], &[]] {
        for formula in [violated, holds] {
            for more in [
                &["--engine", "bitstate", "--data-budget", "1M"][..],
                &["--max-depth", "2"],
                &["--time-limit", "0"],
                &["--data-budget", "16KiB"],
                &[],
            ] {
                let words =
                    [&["check", &peterson, "--only", "--ltl", formula, "--json", "-", "-q"], questions, more]
                        .concat();
                let ran = run(&words);
                if ran.code == Some(2) || ran.stdout.is_empty() {
                    // Too little memory to begin, or too little time to read.
                    assert!(!ran.stderr.is_empty(), "{words:?}");
                    continue;
                }
                let (report, limit) = (ran.json(), ran.json()["limit"].clone());
                let agreed = match ran.code.unwrap() {
                    0 => limit.is_null() && report["verdict"] == "holds",
                    1 => (limit.is_null() || limit == "violation") && report["verdict"] == "violated",
                    3 => limit.is_string() && limit != "violation" && report["verdict"] == "unknown",
                    _ => false,
                };
                assert!(agreed, "{words:?}: {:?}, {limit}, {}", ran.code, report["verdict"]);
            }
        }
    }
}

/// What a Murphi model without an invariant, an assertion or a property is checked for, by the verdicts on deadlocks and on faults.
#[test]
fn a_murphi_model_that_states_nothing_is_checked_for_deadlocks_and_faults() {
    let models = [
        ("rule true ==> begin x := (x + 1) % 4; end;", 0, ("holds", "holds")),
        ("rule x < 3 ==> begin x := x + 1; end;", 1, ("violated", "holds")),
        // A step that changes nothing leaves no state.
        ("rule x < 3 ==> begin x := x + 1; end; rule x = 3 ==> begin x := 3; end;", 1, ("violated", "holds")),
        ("rule true ==> begin x := x + 1; end;", 1, ("holds", "fault")),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.m");
    let named = path.display().to_string();
    for (rules, code, expected) in models {
        std::fs::write(&path, format!("var x: 0..3; startstate begin x := 0; end; {rules}\n")).unwrap();
        for budget in [&[][..], &["--data-budget", "4KiB"]] {
            let words = [&["check", &named, "--stop", "never", "--json", "-"], budget].concat();
            let ran = run(&words);
            let report = ran.json();
            let verdict = |kind| {
                let properties = report["properties"].as_array().unwrap();
                properties.iter().find(|property| property["kind"] == kind).unwrap()["verdict"].as_str()
            };
            assert_eq!(ran.code, Some(code), "{rules} {budget:?}: {}", ran.stderr);
            assert_eq!(
                (verdict("deadlock"), verdict("fault")),
                (Some(expected.0), Some(expected.1)),
                "{rules} {budget:?}"
            );
        }
    }
}
