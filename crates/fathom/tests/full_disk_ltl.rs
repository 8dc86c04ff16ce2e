//! Checks of infinite runs that find no more room, whatever they are at: they end at a limit, lose nothing, and find the same once there is room.

mod command;
mod confines;
mod search_folder;

use std::collections::BTreeSet;
use std::path::Path;

use command::{Ran, model, run};
use confines::{Mounted, skipped};
use serde_json::Value;

/// Formula, whether runs are fair, and the verdict: several marks and rounds; a cycle; and one trimming.
const QUESTIONS: [(&str, bool, &str); 3] = [
    ("G (P_0.draw -> F (P_0.outside || P_0.look))", true, "holds"),
    ("G F P_0.outside", true, "violated"),
    ("G !(P_0.critical && P_1.critical)", false, "holds"),
];

fn words<'a>(model: &'a str, (formula, fair, _): (&'a str, bool, &str)) -> Vec<&'a str> {
    let mut words =
        vec!["check", model, "--const", "LIMIT=1", "--only", "--ltl", formula, "--engine", "semi-owcty"];
    words.extend(["--json", "-", "--quiet", "--commit-every", "1ms", "--ram", "32MiB", "-j1"]);
    if fair {
        words.extend(["--fair", "weak"]);
    }
    words
}

fn facts(ran: &Ran) -> [Value; 5] {
    ["states", "transitions", "depth", "layers", "checksum"].map(|field| ran.json()[field].clone())
}

/// What a run had come to, by the files of its directory.
fn moment(folder: &Path) -> &'static str {
    let manifest = search_folder::manifest(&folder.join("passes"));
    let committed = manifest.map_or_else(Vec::new, |path| std::fs::read(path).unwrap_or_default());
    let names = |name: &str| committed.windows(name.len()).any(|part| part == name.as_bytes());
    match () {
        () if names("left-") || names("kept-") => "between passes",
        () if !committed.is_empty() => "passes",
        () if folder.join("passes").exists() => "ordering",
        () => "generating",
    }
}

fn assert_answered(ran: &Ran, verdict: &str, about: &str) {
    let code = if verdict == "holds" { 0 } else { 1 };
    assert_eq!(ran.code, Some(code), "{about}: {}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.json()["properties"][0]["verdict"], verdict, "{about}");
}

fn assert_audited(folder: &str, about: &str) {
    let audited = run(&["audit", folder]);
    assert_eq!(audited.code, Some(0), "{about}: {}{}", audited.stdout, audited.stderr);
}

#[test]
fn a_full_disk_ends_a_check_of_infinite_runs_that_goes_on_when_there_is_room() {
    let path = model("bakery_four.dve");
    let mut moments = BTreeSet::new();
    for question in QUESTIONS {
        let plain = run(&words(&path, question));
        assert_answered(&plain, question.2, question.0);
        // Now and then less room suffices than at another time: which pass was last committed is a matter of time.
        for kib in [64, 90, 130, 180, 240, 320, 420, 500, 600, 700, 800, 900, 1000, 1200, 1500] {
            let about = format!("{} in {kib} KiB", question.0);
            let place = tempfile::tempdir().expect("a folder");
            let Some(mounted) = Mounted::new(place.path(), &format!("{kib}k")) else {
                let test = "a_full_disk_ends_a_check_of_infinite_runs_that_goes_on_when_there_is_room";
                return skipped(test, "no file system can be mounted here");
            };
            let folder = place.path().join("run").display().to_string();
            let mut words = words(&path, question);
            words.extend(["--store", "tier", "--dir", &folder]);
            let ran = run(&words);
            if ran.code != Some(3) {
                assert_answered(&ran, question.2, &about);
                assert!(kib > 64, "it is not so small");
                continue;
            }
            assert_eq!(ran.json()["limit"], "disk full", "{about}");
            assert_eq!(ran.json()["properties"][0]["verdict"], "unknown", "{about}");
            moments.insert(moment(Path::new(&folder)));
            words.push("--resume");
            // What is taken up takes less room than what was begun: it may suffice now.
            let again = run(&words);
            if again.code == Some(2) && search_folder::manifest(&Path::new(&folder).join("states")).is_none()
            {
                // Nothing was committed, so it begins again, and has no room to say what it is.
                let nothing = ["No space left", "there is no search in"];
                assert!(nothing.iter().any(|it| again.stderr.contains(it)), "{about}: {}", again.stderr);
            } else if again.code == Some(3) {
                assert_eq!(again.json()["limit"], "disk full", "{about}");
            } else {
                assert_answered(&again, question.2, &about);
            }
            mounted.grow("64m");
            let ran = run(&words);
            assert_answered(&ran, question.2, &about);
            assert_eq!(facts(&ran), facts(&plain), "{about}");
            if question.2 == "holds" {
                assert_audited(&folder, &about);
            }
        }
    }
    assert!(moments.len() >= 3, "{moments:?} are few");
}

#[test]
fn a_limit_for_files_ends_a_check_of_infinite_runs_that_goes_on_with_a_larger_one() {
    let path = model("bakery_four.dve");
    for question in QUESTIONS {
        let plain = run(&words(&path, question));
        let mut ended = 0;
        for limit in ["20KiB", "50KiB", "100KiB", "150KiB", "200KiB", "300KiB", "64MiB"] {
            let about = format!("{} within {limit}", question.0);
            let place = tempfile::tempdir().expect("a folder");
            let folder = place.path().join("run").display().to_string();
            let mut words = words(&path, question);
            words.extend(["--store", "tier", "--dir", &folder]);
            let ran = run(&[&words[..], &["--disk-limit", limit]].concat());
            if ran.code == Some(3) {
                ended += 1;
                assert_eq!(ran.json()["limit"], "disk", "{about}");
                words.push("--resume");
                assert_answered(&run(&words), question.2, &about);
            } else {
                assert_answered(&ran, question.2, &about);
                assert_eq!(facts(&ran), facts(&plain), "{about}");
            }
            if question.2 == "holds" {
                assert_audited(&folder, &about);
            }
        }
        assert!((1..7).contains(&ended), "{ended} of 7 ended at the limit");
    }
}
