//! Certificates, in the hands of a user: what a run leaves is accepted, and refused as soon as it is of something else or not what it was.

mod certificate;
mod command;

use certificate::Certificate;
use command::{model, run};

const LOCK: &str = "P_0.critical + P_1.critical <= 1";

/// A certificate that the engine `tier` has left.
fn of_tier(more: &[&str]) -> Certificate {
    Certificate::new(&[&["--engine", "tier"], more].concat())
}

#[test]
fn what_a_check_leaves_is_accepted_and_says_what_was_checked() {
    let certificate = of_tier(&["--deadlock"]);
    let json = run(&["audit", &certificate.folder(), "--json", "-", "--quiet"]).json();
    let said = run(&["explore", &model("bakery.dve"), "--json", "-", "--quiet"]).json();
    assert_eq!(json["accepted"], true);
    for field in ["states", "transitions", "deadlocks", "checksum"] {
        assert_eq!(json[field], said[field], "{field}");
    }
    let ran = certificate.audit();
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    for part in ["accepted", "initial state", "deadlock: in none of them", "checksum"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

#[test]
fn another_model_property_or_policy_is_refused() {
    let certificate = of_tier(&["--deadlock"]);
    std::fs::copy(model("peterson.dve"), certificate.model()).expect("a file");
    certificate.assert_refused("the text of the model");

    let certificate = of_tier(&["--deadlock"]);
    certificate.edit_card("\"invariants\": []", "\"invariants\": [\"true\"]");
    certificate.assert_refused("another model, property or options");

    let certificate = of_tier(&["--deadlock"]);
    certificate.edit_card("\"overflow\": \"fault\"", "\"overflow\": \"wrap\"");
    let ran = certificate.audit();
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);

    let certificate = of_tier(&["--constraint", "true"]);
    certificate.edit_card("\"constraint\": \"true\"", "\"constraint\": \"1 == 1\"");
    certificate.assert_refused("another model, property or options");
}

#[test]
fn a_run_cut_short_or_a_manifest_edited_is_refused() {
    let certificate = of_tier(&["--deadlock"]);
    let run = certificate.file("rest");
    let bytes = std::fs::read(&run).expect("it is there");
    std::fs::write(&run, &bytes[..bytes.len() - 1]).expect("it can be written");
    certificate.assert_refused("damaged");

    let certificate = of_tier(&["--deadlock"]);
    let run = certificate.file("rest");
    let mut bytes = std::fs::read(&run).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&run, &bytes).expect("it can be written");
    certificate.assert_refused("damaged");

    let certificate = of_tier(&["--deadlock"]);
    let manifest = certificate.file("manifest");
    let mut bytes = std::fs::read(&manifest).expect("it is there");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&manifest, &bytes).expect("it can be written");
    certificate.assert_refused("damaged");
}

#[test]
fn a_run_that_found_a_violation_or_did_not_reach_all_states_proves_nothing() {
    let place = tempfile::tempdir().expect("a folder");
    let lock = model("broken_lock.dve");
    let violated = place.path().join("violated").display().to_string();
    let check =
        ["check", &lock, "--engine", "tier", "--invariant", LOCK, "--stop", "never", "--dir", &violated];
    assert_eq!(run(&check).code, Some(1));
    let ran = run(&["audit", &violated]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("violated"), "{}", ran.stdout);

    let early = place.path().join("early").display().to_string();
    let explore = ["explore", &lock, "--engine", "tier", "--max-depth", "1", "--dir", &early];
    assert_eq!(run(&explore).code, Some(3));
    let ran = run(&["audit", &early]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("did not reach all states"), "{}", ran.stdout);
    assert_eq!(run(&["audit", &place.path().join("nothing").display().to_string()]).code, Some(2));
}
