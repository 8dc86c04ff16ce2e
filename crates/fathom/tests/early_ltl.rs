//! Violations that show while `auto` generates all states.

mod command;

use command::{model, run};

/// A position 36 moves away, which a depth-first search does not come across soon.
const FAR: &str = "tile[0] == 3 and tile[1] == 1 and tile[2] == 2 and tile[3] == 6 and tile[4] == 4 and tile[5] == 5 and tile[6] == 7 and tile[7] == 8 and tile[8] == 9";

#[test]
fn a_violation_ends_the_generation_as_soon_as_it_shows() {
    for (formula, sign) in [("G !far", "terminal"), ("G (far -> F (tile[0] == 9))", "carried")] {
        for more in [&[][..], &["--data-budget", "4MiB"]] {
            let atom = format!("far={FAR}");
            let path = model("nine_puzzle.dve");
            let mut words =
                vec!["check", &path, "--only", "--ltl", formula, "--atom", &atom, "--json", "-", "--quiet"];
            words.extend(more);
            let place = tempfile::tempdir().expect("a folder");
            let ran = command::fathom(&words).current_dir(place.path()).output().expect("it runs");
            let ran = command::Ran::of(ran);
            assert_eq!(ran.code, Some(1), "{formula}: {}{}", ran.stdout, ran.stderr);
            let json = ran.json();
            assert_eq!(json["properties"][0]["verdict"], "violated", "{formula}");
            // On a slow machine the hunt may be first.
            assert!(json["early"] == sign || json["early"] == "hunt", "{formula}: {}", json["early"]);
            assert!(
                json["early"] == "hunt" || json["depth"].as_u64() < Some(42),
                "{formula}: {}",
                json["depth"]
            );
        }
    }
}

#[test]
fn what_holds_is_decided_after_all_states() {
    let path = model("nine_puzzle.dve");
    let words = ["check", &path, "--only", "--ltl", "G !(tile[0] == tile[1])", "--json", "-", "--quiet"];
    // No state of the product recurs: however little memory there is for bits of all states, there is enough for passes.
    for more in [&[][..], &["--data-budget", "2MiB"]] {
        let place = tempfile::tempdir().expect("a folder");
        let ran = command::fathom(&words).args(more).current_dir(place.path()).output().expect("it runs");
        let ran = command::Ran::of(ran);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let json = ran.json();
        assert_eq!(json["properties"][0]["verdict"], "holds");
        assert!(json.get("early").is_none() && json["engine"] == "semi-owcty", "{}", json["engine"]);
    }
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run").display().to_string();
    let ran = run(&[&words[..], &["--dir", &folder]].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.json()["properties"][0]["certificate"], "closed-set+ranks");
}
