//! Strong fairness in the hands of a user: what it leaves out, what is said of a run that is fair, and what there is no proof of.

mod command;

use command::{Ran, model, run};

fn checked(more: &[&str]) -> Ran {
    let model = model("starvation.dve");
    let mut words = vec!["check", &model, "--only", "--json", "-"];
    words.extend(more);
    run(&words)
}

#[test]
fn a_client_that_can_be_served_again_and_again_is() {
    for (fair, code) in [
        (&[][..], 1),
        (&["--fair", "weak"], 1),
        (&["--fair", "strong"], 0),
        (&["--fair", "strong=Client_0"], 0),
    ] {
        let mut words = vec!["--property", "Starved"];
        words.extend(fair);
        let ran = checked(&words);
        assert_eq!(ran.code, Some(code), "{fair:?}: {}{}", ran.stdout, ran.stderr);
    }
    let others = checked(&["--property", "Starved", "--fair", "strong=Client_1"]);
    assert_eq!(others.code, Some(1), "fairness to another does not help: {}{}", others.stdout, others.stderr);
}

#[test]
fn a_fair_run_says_why_it_is_fair() {
    let ran = checked(&["--ltl", "G !Client_1.served", "--fair", "strong"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let json = ran.json();
    let note = json["properties"][0]["trace"]["note"].as_str().unwrap_or_default().to_owned();
    assert!(note.starts_with("the run is strongly fair: "), "{note}: {}", ran.stdout);
    let assumed = json["assumptions"][0].as_str().unwrap_or_default().to_owned();
    assert_eq!(assumed, "runs are strongly fair to every process (--fair strong)");
}

#[test]
fn an_engine_that_does_not_know_it_says_so() {
    let ran = checked(&["--property", "Starved", "--fair", "strong", "--engine", "ndfs"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("does not know strong fairness"), "{}", ran.stderr);
}

#[test]
fn what_needs_it_has_no_certificate_and_what_does_not_has_one() {
    let place = tempfile::tempdir().expect("a folder");
    let [needs, does_not] = ["needs", "does-not"].map(|name| place.path().join(name).display().to_string());
    let ran = checked(&["--property", "Starved", "--fair", "strong", "--certify", "--dir", &needs]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.json()["properties"][0]["certificate"], "none");
    assert!(ran.stderr.contains("there is no certificate"), "{}", ran.stderr);
    let formula = "G !(Client_0.served && Client_1.served)";
    let ran = checked(&["--ltl", formula, "--fair", "strong", "--certify", "--dir", &does_not]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let audited = run(&["audit", &does_not]);
    assert_eq!(audited.code, Some(0), "{}{}", audited.stdout, audited.stderr);
    assert!(audited.stdout.contains("strongly fair"), "{}", audited.stdout);
}

#[test]
fn no_audit_is_promised_where_there_is_no_certificate() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("search").display().to_string();
    let model = model("starvation.dve");
    let words = [
        "check",
        &model,
        "--only",
        "--property",
        "Starved",
        "--fair",
        "strong",
        "--certify",
        "--dir",
        &folder,
    ];
    let ran = run(&words);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(!ran.stdout.contains("fathom audit"), "{}", ran.stdout);
    let ltl = place.path().join("other").display().to_string();
    let ran = run(&[
        "check",
        &model,
        "--only",
        "--ltl",
        "G !(Client_0.served && Client_1.served)",
        "--certify",
        "--dir",
        &ltl,
    ]);
    assert!(ran.stdout.contains("fathom audit"), "{}", ran.stdout);
}
