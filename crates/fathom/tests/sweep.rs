//! The sweep-line from the command line: the same states, verdicts and shortest traces, whatever the measure; killed, it goes on, and its certificate is as hard to forge as any.
//!
//! `FATHOM_LONG=1` kills 100 times in place of a few.

mod certificate;
mod command;
mod search_folder;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use certificate::Certificate;
use command::{Ran, fathom, model, run};
use oracle::random::Random;

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

/// Measures of the puzzle, both with many steps back.
const MEASURES: [&str; 2] = ["hole", "tile[0], tile[1]"];
/// What every search of the same states must find.
const FACTS: [&str; 4] = ["states", "transitions", "deadlocks", "checksum"];

#[test]
fn a_sweep_that_is_killed_goes_on_and_proves_what_it_found() {
    let kills = if std::env::var_os("FATHOM_LONG").is_some() { 100 } else { 5 };
    let path = model("eight_puzzle.dve");
    let plain = json(&["explore", &path, "--engine", "ram"]);
    let mut random = Random::new(21);
    let (mut killed, mut resumed, mut rounds) = (0, 0, 0);
    while killed < kills {
        let (measure, queue) =
            (MEASURES[rounds % MEASURES.len()], ["queue=radix", "queue=array"][rounds % 2]);
        rounds += 1;
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("run").display().to_string();
        // The longest wait grows, so that every search ends however slow the machine is.
        let mut longest = 600;
        let ran = loop {
            let (ram, threads) = (["24MiB", "64MiB"][random.below(2)], ["1", "2"][random.below(2)]);
            let mut words = vec!["explore", &path, "--engine", "sweep", "--progress-measure", measure];
            words.extend(["-E", queue, "--dir", &folder, "--json", "-", "--quiet", "--commit-every", "10ms"]);
            words.extend(["--ram", ram, "--threads", threads]);
            words.extend(search_folder::resume(&folder));
            let mut child =
                fathom(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
            std::thread::sleep(Duration::from_millis(random.below(longest) as u64));
            longest += longest / 4;
            // A process that has ended cannot be killed any more.
            child.kill().expect("it is ours");
            let output = child.wait_with_output().expect("it ends");
            if output.status.code().is_some() {
                break Ran::of(output);
            }
            killed += 1;
            resumed += usize::from(search_folder::manifest(&Path::new(&folder).join("states")).is_some());
        };
        assert_eq!(ran.code, Some(0), "{measure}, {queue}: {}", ran.stderr);
        for figure in FACTS {
            assert_eq!(ran.json()[figure], plain[figure], "{figure} of {measure}, {queue}");
        }
        let audit = run(&["audit", &folder]);
        assert_eq!(audit.code, Some(0), "{measure}, {queue}: {}{}", audit.stdout, audit.stderr);
    }
    eprintln!("{killed} kills in {rounds} searches, {resumed} of them behind a commit");
    assert!(resumed > 0, "none of {killed} kills was behind a commit");
}

#[test]
fn a_sweep_is_not_gone_on_with_by_another_measure() {
    let path = model("bakery.dve");
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run").display().to_string();
    let words = |measure| ["explore", &path, "--engine", "sweep", "-E", measure, "--dir", &folder];
    assert_eq!(run(&words("measure=0")).code, Some(0));
    let again = |measure, more: &[&str]| run(&[&words(measure)[..], &["--resume"], more].concat());
    assert_eq!(again("measure=0", &[]).code, Some(0));
    for (measure, more) in [("measure=1", &[][..]), ("measure=0, 0", &[]), ("measure=0", &["-E", "keep=no"])]
    {
        let ran = again(measure, more);
        assert_eq!(ran.code, Some(2), "{measure} {more:?}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn what_a_sweep_leaves_is_accepted_and_its_forgeries_are_refused() {
    let of_sweep = || Certificate::new(&["--engine", "sweep", "-E", "measure=0", "--deadlock"]);
    let certificate = of_sweep();
    let said = run(&["audit", &certificate.folder(), "--json", "-", "--quiet"]).json();
    let plain = json(&["explore", &model("bakery.dve")]);
    assert_eq!(said["accepted"], true, "{said}");
    for figure in FACTS {
        assert_eq!(said[figure], plain[figure], "{figure}");
    }
    std::fs::copy(model("peterson.dve"), certificate.model()).expect("a file");
    certificate.assert_refused("the text of the model");

    let certificate = of_sweep();
    certificate.edit_card("\"invariants\": []", "\"invariants\": [\"true\"]");
    certificate.assert_refused("another model, property or options");

    for (prefix, place) in [("rest", 2), ("rest", 1), ("manifest", 2)] {
        let certificate = of_sweep();
        let file = certificate.file(prefix);
        let mut bytes = std::fs::read(&file).expect("it is there");
        match place {
            1 => bytes.truncate(bytes.len() - 1),
            _ => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
            }
        }
        std::fs::write(&file, &bytes).expect("it can be written");
        certificate.assert_refused("damaged");
    }
}
