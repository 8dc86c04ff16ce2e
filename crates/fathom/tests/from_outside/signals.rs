//! Signals and clocks: what was committed is kept, and every command ends.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::command::{Ran, fathom, run};
use crate::confines::skipped;
use crate::endless::endless;

/// Whether this process, and so its children, were told to ignore a signal.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

fn started(words: &[&str]) -> Child {
    let mut child = fathom(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let mut byte = [0];
    // The first line of progress says that the search is on.
    while stderr.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {}
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
    child
}

/// Waits for a process; one that does not end is ended, and that is a failure.
fn ended_within(mut child: Child, limit: Duration) -> Ran {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > limit {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it did not end within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn a_terminal_that_goes_away_loses_nothing() {
    if is_ignored(Signal::HUP) {
        return skipped("a_terminal_that_goes_away_loses_nothing", "this process ignores SIGHUP");
    }
    let folder = tempfile::tempdir().unwrap();
    let (model, place) = (endless(folder.path()), folder.path().join("run").display().to_string());
    let words = ["explore", &model, "--dir", &place, "--ram", "64MiB", "--commit-every", "10ms"];
    let mut child = started(&[&words[..], &["--json", "-", "--progress", "json"]].concat());
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["limit"], "interrupt");
    assert!(report["resume"].as_str().unwrap().contains("--resume"), "{text}");
    let again = run(&[&words[..], &["--resume", "--time-limit", "2s", "--json", "-"]].concat());
    assert_eq!(again.code, Some(3), "{}", again.stderr);
    assert!(!again.stderr.contains("starts over"), "it goes on from there: {}", again.stderr);
    assert!(
        again.json()["layers"].as_array().unwrap().len() >= report["layers"].as_array().unwrap().len() - 1
    );
}

#[test]
fn a_process_told_to_ignore_hang_ups_ignores_them() {
    let folder = tempfile::tempdir().unwrap();
    let model = endless(folder.path());
    let line = format!(
        "trap '' HUP; exec '{}' explore '{model}' --progress json --time-limit 2s --json - --ram 256MiB",
        env!("CARGO_BIN_EXE_fathom")
    );
    let mut child =
        Command::new("sh").args(["-c", &line]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let mut byte = [0];
    while stderr.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {}
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    let ran = ended_within(child, Duration::from_secs(60));
    assert_eq!((ran.code, ran.json()["limit"].clone()), (Some(3), "time".into()));
}

#[test]
fn a_limit_on_the_size_of_files_is_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (model, place) = (endless(folder.path()), folder.path().join("run").display().to_string());
    let line = format!(
        "ulimit -f 300; exec '{}' explore '{model}' --engine tier --dir '{place}' --json - -q --ram 64MiB --commit-every 0s",
        env!("CARGO_BIN_EXE_fathom")
    );
    let ran = Ran::of(Command::new("sh").args(["-c", &line]).output().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let report = ran.json();
    assert_eq!(report["limit"], "disk full");
    assert!(report["resume"].as_str().unwrap().contains("--resume"), "{}", ran.stdout);
    let again = run(&[
        "explore",
        &model,
        "--engine",
        "tier",
        "--dir",
        &place,
        "--resume",
        "--time-limit",
        "300ms",
        "-q",
    ]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(3), ""), "it goes on where there is room");
}

#[test]
fn a_time_limit_counts_while_a_formula_is_translated() {
    let folder = tempfile::tempdir().unwrap();
    let model = endless(folder.path());
    let parts: Vec<String> =
        (0..9).map(|number| format!("(G F \"a[{number}%8]==1\" -> G F \"a[{number}%8]==2\")")).collect();
    let formula = format!("!({})", parts.join(" && "));
    let words =
        ["check", &model, "--only", "--ltl", &formula, "--time-limit", "200ms", "--ram", "256MiB", "-q"];
    let child = fathom(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ran = ended_within(child, Duration::from_secs(30));
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
}

/// A model in which a loop of a trillion rounds, with these words around it, stands where a loop may stand.
fn looping(folder: &Path, place: &str) -> String {
    let part = |here: &str, text: &str| if here == place { text.to_owned() } else { String::new() };
    let work = "for i : 0..1000000 do for j : 0..1000000 do y := 1 - y; end; end;";
    let all = "forall i : 0..1000000 do forall j : 0..1000000 do x < 4 + i + j end end";
    let text = format!(
        "var x : 0..3;\nfunction f() : 0..1;\nvar y : 0..1;\nbegin\ny := 0;\n{work}\nreturn y;\nend;\n\
         startstate var y : 0..1; begin y := 0; x := 0; {} end;\n\
         rule \"count\" x < 3 ==> begin x := x + 1; end;\n\
         rule \"long\" x = 3 {} ==>\nvar y : 0..1;\nvar n : 0..1000000000;\nbegin y := 0; n := 0; {} x := 0; end;\n{}",
        part("start", work),
        part("guard", &format!("& {all}")),
        part("for", work)
            + &part("function", "y := f();")
            + &part("while", "while n < 1000000000 do n := n + 1; end;"),
        part("invariant", &format!("invariant \"long\" x < 3 | {all};")),
    );
    let path = folder.join(format!("{place}.m"));
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Where loops may stand.
const PLACES: [&str; 6] = ["for", "while", "guard", "function", "invariant", "start"];

/// The search ended because of that, in a step that never ends: it says what it knows, and the guard did not have to end the process.
fn stopped_in_a_step(ran: &Ran, place: &str, limit: &str) {
    assert_eq!(ran.code, Some(3), "{place}: {}", ran.stderr);
    assert!(!ran.stderr.contains("did not"), "{place}: {}", ran.stderr);
    let report = ran.json();
    assert_eq!(report["limit"], limit, "{place}: {}", ran.stdout);
    // The step is neither a fault nor a finding, and its state does not count as expanded.
    assert!(!ran.stdout.contains("violated"), "{place}: {}", ran.stdout);
    assert!(report["visits"].as_u64().is_some_and(|visits| visits <= 8), "{place}: {}", ran.stdout);
}

fn in_a_step(words: &[&str], path: &str) -> Child {
    let common = ["check", path, "--ram", "256MiB", "--json", "-", "-q", "--max-loop", "2000000000"];
    let mut command = fathom(&[&common, words].concat());
    // What a stopped search keeps goes with the model.
    command.current_dir(Path::new(path).parent().unwrap());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Ended by the clock, with as much time as this machine needs to come to the search, and there to so many visits.
fn ended_by_the_clock(words: &[&str], path: &str, visits: u64) -> Ran {
    for limit in ["300ms", "2s", "10s", "60s"] {
        let child = in_a_step(&[words, &["--time-limit", limit]].concat(), path);
        let ran = ended_within(child, Duration::from_secs(120));
        let has_begun = !ran.stderr.contains("was still being read");
        if has_begun && ran.json()["visits"].as_u64().is_none_or(|made| made >= visits) {
            return ran;
        }
    }
    panic!("the machine is too busy to read a model and take three steps in a minute");
}

#[test]
fn the_clock_ends_a_step_that_never_ends() {
    let folder = tempfile::tempdir().unwrap();
    let searches: [&[&str]; 4] =
        [&[], &["--no-jit", "-j", "2"], &["--engine", "tier"], &["--symmetry", "on"]];
    let behaviours = ["auto", "ndfs", "ddfs", "semi-owcty"];
    for place in PLACES {
        let path = looping(folder.path(), place);
        for more in searches {
            let visits = if place == "start" { 0 } else { 3 };
            let ran = ended_by_the_clock(more, &path, visits);
            stopped_in_a_step(&ran, place, "time");
            assert_eq!(ran.json()["visits"], visits, "{place}: {}", ran.stdout);
        }
        for engine in behaviours {
            let ran = ended_by_the_clock(&["--only", "--ltl", "G F \"x = 0\"", "--engine", engine], &path, 0);
            // The invariant is no part of the question.
            if place != "invariant" {
                stopped_in_a_step(&ran, place, "time");
            }
        }
    }
}

/// Waits until a process catches a signal.
fn await_catching(child: &Child, signal: Signal) {
    let path = format!("/proc/{}/status", child.id());
    let caught = || {
        let status = std::fs::read_to_string(&path).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_owned();
        u64::from_str_radix(&mask, 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
    };
    let began = Instant::now();
    while !caught() {
        assert!(began.elapsed() < Duration::from_secs(60), "{signal:?} is not caught");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn signals_end_a_step_that_never_ends_and_what_was_committed_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    for (number, signal) in [Signal::INT, Signal::TERM].into_iter().enumerate() {
        // A shell that runs something in the background has it ignore interrupts, and what is ignored stays so.
        if is_ignored(signal) {
            skipped("signals_end_a_step_that_never_ends", &format!("this process ignores {signal:?}"));
            continue;
        }
        for (jit, place) in PLACES.into_iter().flat_map(|place| [(true, place), (false, place)]) {
            let path = looping(folder.path(), place);
            let run = folder.path().join(format!("{place}-{jit}-{number}")).display().to_string();
            let more: &[&str] = if jit { &[] } else { &["--no-jit"] };
            let words = [&["--dir", &run, "--engine", "tier"], more].concat();
            let child = in_a_step(&words, &path);
            await_catching(&child, signal);
            // Long enough to be in the step, most of the time; before it is as good.
            std::thread::sleep(Duration::from_millis(100));
            kill_process(Pid::from_child(&child), signal).unwrap();
            stopped_in_a_step(&ended_within(child, Duration::from_secs(60)), place, "interrupt");
            // It goes on from there, and ends there again.
            let again = ended_by_the_clock(&[&words[..], &["--resume"]].concat(), &path, 0);
            stopped_in_a_step(&again, place, "time");
        }
    }
}
