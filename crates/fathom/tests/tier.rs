//! Runs on disk, in the hands of a user: killed, interrupted, short of room or memory, they go on and find what an undisturbed run finds.
//!
//! `FATHOM_LONG=1` kills 300 times in place of a few.

mod command;
mod confines;
mod search_folder;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use command::{Ran, fathom, model, run};
use confines::{Group, Mounted, skipped};
use oracle::random::Random;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// What every run of a model must find.
fn facts(ran: &Ran) -> [Value; 6] {
    ["states", "transitions", "depth", "deadlocks", "layers", "checksum"]
        .map(|field| ran.json()[field].clone())
}

fn undisturbed(name: &str) -> [Value; 6] {
    let ran = run(&["explore", &model(name), "--engine", "ram", "--json", "-", "--quiet"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    facts(&ran)
}

fn on_disk<'a>(model: &'a str, folder: &'a str) -> Vec<&'a str> {
    vec!["explore", model, "--engine", "tier", "--dir", folder, "--json", "-", "--quiet"]
}

#[test]
fn a_run_that_is_killed_goes_on_and_finds_the_same() {
    let kills = if std::env::var_os("FATHOM_LONG").is_some() { 300 } else { 6 };
    let models = ["eight_puzzle.dve", "nine_puzzle.dve", "hypercube.dve", "deep_and_narrow.dve"];
    let mut random = Random::new(11);
    let (mut killed, mut resumed, mut rounds) = (0, 0, 0);
    while killed < kills {
        let name = models[rounds % models.len()];
        rounds += 1;
        let expected = undisturbed(name);
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("run").display().to_string();
        // The longest wait grows, so that every run ends however slow the machine is.
        let mut longest = 400;
        let ran = loop {
            let path = model(name);
            let (ram, threads) = (["24MiB", "32MiB", "64MiB"][random.below(3)], ["1", "2"][random.below(2)]);
            let mut words = on_disk(&path, &folder);
            // What one engine has begun, another goes on with.
            words[3] = ["tier", "auto", "stern-dill"][random.below(3)];
            words.extend(search_folder::resume(&folder));
            words.extend(["--commit-every", "10ms", "--ram", ram, "--threads", threads]);
            let mut child =
                fathom(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
            std::thread::sleep(Duration::from_millis(random.below(longest) as u64));
            longest += longest / 8;
            // A process that has ended cannot be killed any more.
            child.kill().expect("it is ours");
            let output = child.wait_with_output().expect("it ends");
            if output.status.code().is_some() {
                break Ran::of(output);
            }
            killed += 1;
            resumed += usize::from(search_folder::manifest(&Path::new(&folder).join("states")).is_some());
        };
        assert_eq!(ran.code, Some(0), "{name}, {killed} kills: {}", ran.stderr);
        assert_eq!(facts(&ran), expected, "{name}, {killed} kills");
        let audit = run(&["audit", &folder]);
        assert_eq!(audit.code, Some(0), "{}{}", audit.stdout, audit.stderr);
    }
    eprintln!("{killed} kills in {rounds} runs, {resumed} of them behind a commit");
    assert!(resumed * 3 > killed, "{resumed} of {killed} kills were behind a commit");
}

#[test]
fn a_signal_ends_a_run_that_can_go_on() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run").display().to_string();
    let path = model("nine_puzzle.dve");
    for signal in [Signal::INT, Signal::TERM] {
        let mut words = on_disk(&path, &folder);
        words.extend(["--ram", "32MiB"]);
        let mut wait = Duration::from_millis(500);
        let ran = loop {
            let words: Vec<&str> = words.iter().copied().chain(search_folder::resume(&folder)).collect();
            let child =
                fathom(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
            std::thread::sleep(wait);
            kill_process(Pid::from_child(&child), signal).expect("it is ours");
            let ran = Ran::of(child.wait_with_output().expect("it ends"));
            // A signal that comes before the search has begun ends the process as it ends any other.
            if ran.code.is_some() || wait > Duration::from_secs(20) {
                break ran;
            }
            wait *= 2;
        };
        if ran.code == Some(0) {
            skipped("a signal", "the machine was too fast for it");
            continue;
        }
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert_eq!(ran.json()["limit"], "interrupt");
        let resume = ran.json()["resume"].as_str().expect("it says how to go on").to_owned();
        assert!(resume.contains("--ram 32MiB") && resume.ends_with("--resume"), "{resume}");
    }
    let mut words = on_disk(&path, &folder);
    words.extend(["--resume", "--threads", "1"]);
    let ran = run(&words);
    assert_eq!((ran.code, facts(&ran)), (Some(0), undisturbed("nine_puzzle.dve")), "{}", ran.stderr);
}

#[test]
fn limits_of_time_and_room_end_in_a_command_that_goes_on() {
    let place = tempfile::tempdir().expect("a folder");
    let path = model("nine_puzzle.dve");
    for (limit, value, word) in [("--time-limit", "300ms", "time"), ("--disk-limit", "1MiB", "disk")] {
        let ran = Ran::of(
            fathom(&["explore", &path, "--engine", "tier", "--quiet", "--json", "-", limit, value])
                .current_dir(place.path())
                .output()
                .expect("it runs"),
        );
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        if ran.stdout.is_empty() {
            skipped(limit, &format!("the machine is too busy to read a model in {value}"));
            continue;
        }
        assert_eq!(ran.json()["limit"], word);
        // The command is one for a shell; the limit is left out, the rest is taken as it stands.
        let resume = ran.json()["resume"].as_str().expect("it says how to go on").to_owned();
        let resume = resume.replace(&format!(" {limit} {value}"), "");
        let words: Vec<&str> = resume.split(' ').skip(1).collect();
        let ran = Ran::of(fathom(&words).current_dir(place.path()).output().expect("it runs"));
        assert_eq!((ran.code, facts(&ran)), (Some(0), undisturbed("nine_puzzle.dve")), "{}", ran.stderr);
    }
}

#[test]
fn a_search_that_outgrows_memory_goes_on_on_disk_by_itself() {
    let place = tempfile::tempdir().expect("a folder");
    let path = model("eight_puzzle.dve");
    let expected = undisturbed("eight_puzzle.dve");
    let records = place.path().join("records");
    let ran = |words: &[&str]| {
        let ran = fathom(words).args(["--json", "-"]).current_dir(place.path()).output();
        let ran = Ran::of(ran.expect("it runs"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let moved = ran.stderr.matches("continues on disk").count();
        assert!(!place.path().join(".fathom").exists(), "nothing stays");
        (moved, ran)
    };
    let (moved, explored) = ran(&["explore", &path, "--data-budget", "1MiB"]);
    assert_eq!((moved, facts(&explored)), (1, expected.clone()), "{}", explored.stderr);
    assert_eq!(explored.json()["engine"], "tier");
    let (moved, checked) = ran(&["check", &path, "--data-budget", "1MiB", "--deadlock"]);
    assert_eq!((moved, facts(&checked)), (1, expected.clone()), "{}", checked.stderr);
    assert_eq!((&checked.json()["engine"], &checked.json()["verdict"]), (&"tier".into(), &"holds".into()));
    let file = records.display().to_string();
    let (moved, dumped) = ran(&["explore", &path, "--data-budget", "1MiB", "--dump-records", &file]);
    assert_eq!((moved, facts(&dumped)), (1, expected.clone()), "{}", dumped.stderr);
    let bytes = std::fs::read(&records).expect("it was written");
    let distinct: std::collections::BTreeSet<&[u8]> = bytes[16..].chunks(8).collect();
    assert_eq!(Value::from(distinct.len()), expected[0], "every state is there");
    assert_eq!(Value::from(bytes[16..].len() / 8), expected[0], "and none twice");
    let (moved, small) = ran(&["check", &path, "--deadlock"]);
    assert_eq!((moved, &small.json()["engine"]), (0, &"ram".into()));
    assert!(small.json().get("disk").is_none());
}

#[test]
fn a_search_in_memory_that_is_to_last_can_be_gone_on_with_and_audited() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run").display().to_string();
    let path = model("nine_puzzle.dve");
    let words = ["check", &path, "--deadlock", "--json", "-", "--quiet", "--dir", &folder];
    let with = |more: &[&str]| Ran::of(fathom(&words).args(more).output().expect("it runs"));
    let first = with(&["--max-depth", "20"]);
    assert_eq!((first.code, &first.json()["engine"]), (Some(3), &"ram".into()), "{}", first.stderr);
    assert!(first.json()["resume"].as_str().expect("it says how to go on").contains("--resume"));
    assert_eq!(run(&["audit", &folder]).code, Some(1), "there is nothing to prove yet");
    let last = with(&["--resume"]);
    assert_eq!((last.code, facts(&last)), (Some(0), undisturbed("nine_puzzle.dve")), "{}", last.stderr);
    assert_eq!(last.json()["properties"][0]["certificate"], "closed-set");
    let audit = run(&["audit", &folder]);
    assert_eq!(audit.code, Some(0), "{}{}", audit.stdout, audit.stderr);
}

/// What the names of the files in a folder begin with.
fn kinds_of_files(folder: &Path) -> std::collections::BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("it is there");
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("readable").file_name().into_string().expect("names are plain")
    };
    entries.map(name).map(|name| name.split(['-', '.']).next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn parts_of_a_run_can_lie_elsewhere() {
    let place = tempfile::tempdir().expect("a folder");
    let at = |name: &str| place.path().join(name).display().to_string();
    let (path, folder, bulk, index) = (model("eight_puzzle.dve"), at("run"), at("bulk"), at("index"));
    let mut words = on_disk(&path, &folder);
    words.extend(["--data-budget", "1MiB", "--max-depth", "20", "--dir-bulk", &bulk, "--dir-index", &index]);
    assert_eq!(run(&words).code, Some(3));
    let part = |name: &str| {
        let folder = std::fs::read_dir(at(name)).expect("it is there").next().expect("one run");
        kinds_of_files(&folder.expect("readable").path())
    };
    assert_eq!((part("bulk"), part("index")), (["layers".into()].into(), ["run".into()].into()));
    let rest = kinds_of_files(&place.path().join("run/states"));
    assert!(rest.iter().all(|kind| ["manifest", "ballast"].contains(&&**kind)), "{rest:?}");
    let elsewhere = at("elsewhere");
    let mut moved = on_disk(&path, &folder);
    moved.extend(["--resume", "--dir-bulk", &elsewhere]);
    let ran = run(&moved);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("lie elsewhere"), "{}", ran.stderr);
    // The run knows where its parts are.
    let mut words = on_disk(&path, &folder);
    words.push("--resume");
    let ran = run(&words);
    assert_eq!((ran.code, facts(&ran)), (Some(0), undisturbed("eight_puzzle.dve")), "{}", ran.stderr);
    // The set at rest is looked up, too.
    assert_eq!((part("bulk"), part("index")), (["layers".into()].into(), ["rest".into()].into()));
    let audit = run(&["audit", &folder]);
    assert_eq!(audit.code, Some(0), "{}{}", audit.stdout, audit.stderr);
    let words = ["explore", &path, "--engine", "tier", "--dir-bulk", &bulk, "--quiet"];
    assert_eq!(fathom(&words).current_dir(place.path()).output().expect("it runs").status.code(), Some(0));
    assert_eq!(std::fs::read_dir(&bulk).expect("it is there").count(), 1, "that of the run that stays");
}

#[test]
fn without_layers_a_trace_is_the_same() {
    let place = tempfile::tempdir().expect("a folder");
    let path = model("eight_puzzle.dve");
    let hardest = "tile[0] == 8 and tile[1] == 6 and tile[2] == 7 and tile[3] == 2 and tile[4] == 5 and tile[5] == 4 and tile[6] == 3";
    let check = |more: &[&str]| {
        let words = ["check", &path, "--reach", hardest, "--json", "-", "--quiet"];
        let ran = fathom(&words).args(more).current_dir(place.path()).output();
        Ran::of(ran.expect("it runs"))
    };
    let kept = check(&["--engine", "ram"]);
    let small = ["--engine", "tier", "--data-budget", "1MiB", "--no-trace"];
    let dropped = check(&small);
    assert_eq!((dropped.code, kept.code), (Some(1), Some(1)), "{}{}", kept.stderr, dropped.stderr);
    let length = dropped.json()["properties"][0]["length"].as_u64().expect("there is a trace");
    assert!(length > 20, "{length} steps are few");
    assert_eq!(dropped.json()["properties"], kept.json()["properties"]);
    assert!(!place.path().join(".fathom").exists());
}

#[test]
fn stern_and_dill_find_the_same() {
    let place = tempfile::tempdir().expect("a folder");
    let words = ["explore", &model("eight_puzzle.dve"), "--engine", "stern-dill", "--ram", "24MiB"];
    let output = fathom(&words).args(["--json", "-", "--quiet"]).current_dir(place.path()).output();
    let ran = Ran::of(output.expect("it runs"));
    assert_eq!((ran.code, facts(&ran)), (Some(0), undisturbed("eight_puzzle.dve")), "{}", ran.stderr);
    assert_eq!(ran.json()["engine"], "stern-dill");
    assert!(ran.json()["disk"]["read"].as_u64() > Some(0));
    assert!(!place.path().join(".fathom").exists());
    let ran = run(&[&words[..], &["--plan", "scan"]].concat());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--plan does not apply to the engine stern-dill"), "{}", ran.stderr);
}

#[test]
fn stern_and_dill_killed_again_and_again_find_the_same_and_prove_it() {
    kill_again_and_again("stern-dill", &[], true);
}

#[test]
fn a_search_of_recent_layers_killed_again_and_again_finds_the_same_and_proves_it() {
    // Steps lead one layer back, so much is missed with this window.
    kill_again_and_again("layered", &["-E", "layers=0"], true);
}

#[test]
fn a_search_by_partitions_killed_again_and_again_finds_the_same_and_proves_it() {
    kill_again_and_again("partition", &["-E", "by=bits"], false);
}

/// Kills a search with an engine and resumes it until it comes to its end, which is that of one that is not disturbed and is proved.
fn kill_again_and_again(engine: &str, options: &[&str], has_layers: bool) {
    let kills = if std::env::var_os("FATHOM_LONG").is_some() { 100 } else { 3 };
    let (name, path) = ("nine_puzzle.dve", model("nine_puzzle.dve"));
    let mut expected = undisturbed(name);
    if !has_layers {
        // It says nothing of depths, which it does not know.
        (expected[2], expected[4]) = (Value::Null, Value::Array(Vec::new()));
    }
    let mut random = Random::new(12);
    let (mut killed, mut resumed) = (0, 0);
    while killed < kills {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("run").display().to_string();
        let mut longest = 1000;
        let ran = loop {
            let (ram, threads) = (["24MiB", "64MiB"][random.below(2)], ["1", "2"][random.below(2)]);
            let mut words = on_disk(&path, &folder);
            words[3] = engine;
            words.extend(options);
            words.extend(search_folder::resume(&folder));
            words.extend(["--commit-every", "10ms", "--ram", ram, "--threads", threads]);
            let mut child =
                fathom(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
            std::thread::sleep(Duration::from_millis(random.below(longest) as u64));
            longest += longest / 4;
            child.kill().expect("it is ours");
            let output = child.wait_with_output().expect("it ends");
            if output.status.code().is_some() {
                break Ran::of(output);
            }
            killed += 1;
            resumed += usize::from(search_folder::manifest(&Path::new(&folder).join("states")).is_some());
        };
        assert_eq!((ran.code, facts(&ran)), (Some(0), expected.clone()), "{}", ran.stderr);
        assert_eq!(ran.json()["engine"], engine);
        assert!(ran.json()["disk"]["at_rest"].as_u64() > Some(0), "{}", ran.stdout);
        let audit = run(&["audit", &folder]);
        assert_eq!(audit.code, Some(0), "{}{}", audit.stdout, audit.stderr);
    }
    eprintln!("{killed} kills, {resumed} behind a commit");
    assert!(resumed > 0, "none of {killed} kills was behind a commit");
}

#[test]
fn a_directory_of_our_own_choice_goes_when_the_verdict_is_in() {
    let place = tempfile::tempdir().expect("a folder");
    let explore = |more: &[&str]| {
        let path = model("peterson.dve");
        let ran =
            fathom(&["explore", &path, "--engine", "tier"]).args(more).current_dir(place.path()).output();
        assert_eq!(ran.expect("it runs").status.code(), Some(0));
        search_folder::manifest(&place.path().join(".fathom/peterson-1/states")).is_some()
    };
    assert!(!explore(&[]));
    assert!(!place.path().join(".fathom").exists());
    assert!(explore(&["--keep"]));
    let audit = fathom(&["audit", ".fathom/peterson-1"]).current_dir(place.path()).output().expect("it runs");
    assert_eq!(audit.status.code(), Some(0));
}

#[test]
fn a_directory_that_holds_something_else_is_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run").display().to_string();
    let (eight, nine) = (model("eight_puzzle.dve"), model("nine_puzzle.dve"));
    let refused = |words: &[&str], part: &str| {
        let ran = run(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(part), "{words:?}: {}", ran.stderr);
    };
    assert_eq!(run(&on_disk(&eight, &folder)).code, Some(0));
    refused(&on_disk(&eight, &folder), "there is a search in");
    let resumed = |model, more: &[&'static str]| {
        let mut words = on_disk(model, &folder);
        words.push("--resume");
        words.extend(more);
        words.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let words = |list: Vec<String>, part: &str| {
        refused(&list.iter().map(String::as_str).collect::<Vec<_>>(), part);
    };
    words(resumed(&nine, &[]), "the text of the model");
    words(resumed(&eight, &["--overflow", "wrap"]), "--overflow (fault there, wrap here)");
    refused(
        &["check", &eight, "--engine", "tier", "--dir", &folder, "--resume", "--deadlock"],
        "the questions (none there, --deadlock 'stuck' here)",
    );
    let foreign = place.path().join("foreign");
    std::fs::create_dir_all(foreign.join("states")).expect("a folder");
    std::fs::write(foreign.join("states/letters"), "mine").expect("a file");
    refused(&on_disk(&eight, &foreign.display().to_string()), "fathom did not write");
    assert!(foreign.join("states/letters").exists());
}

#[test]
fn memory_stays_within_what_was_given() {
    for (name, ram, threads) in [("nine_puzzle.dve", 24 << 20, "1"), ("nine_puzzle.dve", 40 << 20, "2")] {
        let place = tempfile::tempdir().expect("a folder");
        let (path, folder) = (model(name), place.path().join("run").display().to_string());
        let mut words = on_disk(&path, &folder);
        let size = ram.to_string();
        words.extend(["--ram", &size, "--threads", threads]);
        let ran = run(&words);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let peak = ran.json()["ram"]["peak"].as_u64().expect("the system tells");
        assert!(peak <= ram, "{name}: {peak} bytes resident of {ram}");
        let disk = &ran.json()["disk"];
        assert!(disk["bytes_per_state"].as_f64().expect("a number") < 8.0, "{disk}");
        assert!(disk["peak"].as_u64() >= disk["closed_set"].as_u64(), "{disk}");
        let closing = &ran.json()["cost"]["closing"];
        assert!(closing["sort"].as_f64().expect("a number") > 0.0, "{closing}");
        assert!(!ran.json()["io"].as_array().expect("a list").is_empty());
    }
}

#[test]
fn a_full_disk_ends_a_run_that_goes_on_when_there_is_room() {
    let test = "a_full_disk_ends_a_run_that_goes_on_when_there_is_room";
    let place = tempfile::tempdir().expect("a folder");
    let Some(mounted) = Mounted::new(place.path(), "3m") else {
        return skipped(test, "no file system can be mounted here");
    };
    let (path, folder) = (model("nine_puzzle.dve"), place.path().join("run").display().to_string());
    let mut words = on_disk(&path, &folder);
    words.extend(["--commit-every", "10ms", "--ram", "32MiB"]);
    let ran = run(&words);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert_eq!(ran.json()["limit"], "disk full");
    words.push("--resume");
    let again = run(&words);
    assert_eq!(again.code, Some(3), "{}", again.stderr);
    mounted.grow("64m");
    let ran = run(&words);
    assert_eq!((ran.code, facts(&ran)), (Some(0), undisturbed("nine_puzzle.dve")), "{}", ran.stderr);
}

#[test]
fn a_memory_cgroup_of_the_size_of_ram_suffices() {
    let test = "a_memory_cgroup_of_the_size_of_ram_suffices";
    let Some(group) = Group::of_memory(48 << 20) else {
        return skipped(test, "no memory cgroup can be made here");
    };
    let place = tempfile::tempdir().expect("a folder");
    let (path, folder) = (model("nine_puzzle.dve"), place.path().join("run").display().to_string());
    let mut words = on_disk(&path, &folder);
    words.extend(["--ram", "48MiB"]);
    let ran = Ran::of(group.fathom(&words).output().expect("it runs"));
    assert_eq!((ran.code, facts(&ran)), (Some(0), undisturbed("nine_puzzle.dve")), "{}", ran.stderr);
    // Half of what the cgroup allows, where nothing is said.
    let mut words = vec!["explore", &path, "--engine", "tier", "--dir", &folder, "--json", "-", "--quiet"];
    words.push("--resume");
    let ran = Ran::of(group.fathom(&words).output().expect("it runs"));
    assert_eq!(ran.json()["ram"]["budget"], 24 << 20, "{}", ran.stderr);
}
