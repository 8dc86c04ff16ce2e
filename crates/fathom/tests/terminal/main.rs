//! What only a terminal or a signal shows: the live display, colours, and a clean stop.

mod next_steps;
mod screen;
mod simulate;

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use oracle::skip::skipped;
use rustix::process::{Pid, Signal, kill_process};
use screen::{Screen, ended};

/// A model with more states than any machine gets to, 2^64, whatever its speed. The folder goes when it is dropped.
struct Endless {
    folder: tempfile::TempDir,
}

impl Endless {
    fn new() -> Endless {
        let endless = Endless { folder: tempfile::tempdir().expect("there is room for a file") };
        let step = |number| format!("s -> s {{ effect a[{number}] = (a[{number}] + 1) % 256; }}");
        let steps: Vec<String> = (0..8).map(step).collect();
        let text = format!(
            "byte a[8];\nprocess P {{ state s; init s; trans {}; }}\nsystem async;\n",
            steps.join(", ")
        );
        std::fs::write(endless.path(), text).expect("there is room for a file");
        endless
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("endless.dve")
    }
}

fn fathom() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
}

#[test]
fn a_terminal_shows_lines_that_are_rewritten_and_taken_away() {
    let Some(screen) = Screen::new(24, 110) else {
        return skipped(
            "a_terminal_shows_lines_that_are_rewritten_and_taken_away",
            "there is no pseudo-terminal here",
        );
    };
    let model = Endless::new();
    screen.write("what stood there before\r\n");
    let mut child = fathom()
        .args(["explore", "--ram", "256MiB", "--disk-limit", "1GiB", "--threads", "1"])
        .arg(model.path())
        .current_dir(model.folder.path())
        .stdout(Stdio::null())
        .stderr(screen.end())
        .spawn()
        .expect("the binary runs");
    screen.wait_for("several lines", |text| text.contains("  states ") && text.contains("  memory "));
    screen.wait_for("an estimate or none", |text| text.contains("  end "));
    // What is looked at may be half written: everything is waited for at once.
    let stood = "what stood there before\nlayer ";
    screen.wait_for("lines below what stood there", |text| {
        text.starts_with(stood) && text.contains(" of 256.0 MiB resident")
    });
    // Narrower: one line, cut, and nothing else. Wider again: all of them, once.
    for _ in 0..3 {
        screen.resize(24, 44, &child);
        let narrow = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count() == 2;
        let fits = |text: &str| text.lines().all(|line| line.trim_end().chars().count() < 44);
        screen.wait_for("one line", |text| narrow(text) && fits(text) && text.contains("\nlayer "));
        screen.resize(24, 110, &child);
        screen.wait_for("all lines, once", |text| {
            let once = |part| text.matches(part).count() == 1;
            text.starts_with(stood) && once("  memory ") && once("layer ")
        });
    }
    // A terminal of few rows has one line, too.
    screen.resize(5, 110, &child);
    screen.wait_for("one line", |text| text.contains("layer ") && !text.contains("  memory "));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it can be signalled");
    assert_eq!(ended(&mut child), Some(3));
    screen.wait_for("nothing but what was there", |text| !text.contains("layer "));
}

#[test]
fn a_signal_asks_for_everything_at_once() {
    let model = Endless::new();
    let mut child = fathom()
        .args(["explore", "--progress", "json", "--ram", "64MiB", "--disk-limit", "1GiB", "--dir", "search"])
        .arg(model.path())
        .current_dir(model.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    wait_for_progress(&mut child);
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it can be signalled");
    assert_eq!(ended(&mut child), Some(3));
    // It goes on, with no progress asked for, and is asked.
    let mut child = fathom()
        .args(["explore", "--quiet", "--progress", "none", "--ram", "64MiB", "--disk-limit", "1GiB"])
        .args(["--dir", "search", "--resume", "--time-limit", "60s"])
        .arg(model.path())
        .current_dir(model.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stderr = child.stderr.take().expect("it is piped");
    let text = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.read_to_string(&mut text);
        text
    });
    // Before it searches the signal would end it.
    while !catches(&child, Signal::USR1) {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_secs(1));
    kill_process(Pid::from_child(&child), Signal::USR1).expect("it can be signalled");
    std::thread::sleep(Duration::from_secs(2));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it can be signalled");
    assert_eq!(ended(&mut child), Some(3));
    let text = text.join().expect("it reads");
    for part in [
        "layer ",
        "\n  states ",
        " states/s",
        "\n  memory ",
        "\n  disk ",
        " of 1.0 GiB, ",
        "\n  checkpoint  ",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn programs_read_what_people_read() {
    let model = Endless::new();
    let output = fathom()
        .args(["explore", "--progress", "json", "--time-limit", "8s", "--ram", "64MiB", "--dir", "search"])
        .args(["--commit-every", "100ms"])
        .arg(model.path())
        .current_dir(model.folder.path())
        .output()
        .expect("the binary runs");
    let text = String::from_utf8(output.stderr).expect("it writes text");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("it writes JSON")).collect();
    let last = lines.iter().rfind(|line| line["layer"].is_u64()).expect("there is one at the end");
    assert_eq!(last["progress"], 2);
    assert!(last["phase"].is_string() && last["ram"] == 64 << 20, "{last}");
    for field in ["states", "transitions", "states_per_second", "data", "data_limit", "resident"] {
        assert!(last[field].as_u64() > Some(0), "{field} in {last}");
    }
    let checkpoints = lines.iter().filter(|line| line["disk"]["checkpoint"].is_f64()).count();
    assert!(checkpoints > 0, "{text}");
    assert!(last["disk"]["used"].as_u64() > Some(0) && last["disk"]["free"].as_u64() > Some(0), "{last}");
}

#[test]
fn verdicts_have_colours_on_a_terminal_alone() {
    let Some(screen) = Screen::new(50, 100) else {
        return skipped("verdicts_have_colours_on_a_terminal_alone", "there is no pseudo-terminal here");
    };
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/broken_lock.dve");
    let check = || {
        let mut command = fathom();
        command.args(["check", model, "--reach", "taken == 1", "--only"]);
        command
    };
    assert_eq!(ended(&mut screen.start(&mut check())), Some(1));
    screen.wait_for("a verdict", |text| text.contains("reach taken == 1: reachable"));
    assert!(screen.written().contains("\u{1b}[1;31mreachable\u{1b}[0m"), "{}", screen.written());
    let plain = Screen::new(50, 100).expect("there was one");
    let mut child = check()
        .env("NO_COLOR", "1")
        .stdout(plain.end())
        .stderr(plain.end())
        .spawn()
        .expect("the binary runs");
    assert_eq!(ended(&mut child), Some(1));
    plain.wait_for("a verdict", |text| text.contains("reach taken == 1: reachable"));
    assert!(!plain.written().contains("\u{1b}[1;31m"), "{}", plain.written());
    let piped = check().output().expect("the binary runs");
    assert!(!piped.stdout.contains(&0x1b));
}

#[test]
fn signals_stop_a_run_and_it_tells_what_it_knows() {
    let model = Endless::new();
    // Whoever starts this may have said that hang-ups are to be ignored.
    let signals = [Signal::INT, Signal::TERM, Signal::HUP].into_iter().filter(|signal| !is_ignored(*signal));
    for signal in signals {
        let mut child = fathom()
            .args(["explore", "--json", "-", "--progress", "json", "--threads", "1"])
            .arg(model.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        wait_for_progress(&mut child);
        kill_process(Pid::from_child(&child), signal).expect("it can be signalled");
        let mut text = String::new();
        child.stdout.take().expect("it is piped").read_to_string(&mut text).expect("it prints text");
        assert_eq!(child.wait().expect("it ends").code(), Some(3));
        let report: serde_json::Value = serde_json::from_str(&text).expect("it prints JSON");
        assert_eq!(report["limit"], "interrupt");
        assert_eq!(report["verdict"], "unknown");
        assert_eq!(report["states"], serde_json::Value::Null);
        assert!(report["visits"].as_u64() > Some(0), "{text}");
    }
}

#[test]
fn a_time_limit_ends_a_run() {
    let model = Endless::new();
    let mut limit = Duration::from_millis(300);
    let output = loop {
        let began = Instant::now();
        let output = fathom()
            .args([
                "check",
                "--time-limit",
                &format!("{}ms", limit.as_millis()),
                "--invariant",
                "1",
                "--quiet",
            ])
            .arg(model.path())
            .output()
            .expect("the binary runs");
        assert_eq!(output.status.code(), Some(3));
        assert!(began.elapsed() >= limit);
        // On a machine that is busy the model is read for as long as that.
        if output.stderr.is_empty() || limit > Duration::from_secs(20) {
            break output;
        }
        limit *= 2;
    };
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

/// Whether this process, and so its children, were told to ignore a signal.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("there is a status");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("it has a mask");
    u64::from_str_radix(mask.trim(), 16).expect("it is a number") >> (signal.as_raw() - 1) & 1 == 1
}

/// Whether a process has a handler for a signal by now.
fn catches(child: &Child, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("it has a mask");
    u64::from_str_radix(mask.trim(), 16).expect("it is a number") >> (signal.as_raw() - 1) & 1 == 1
}

/// Reads the first line of progress, which says that the search is on.
fn wait_for_progress(child: &mut Child) {
    let mut stderr = child.stderr.take().expect("it is piped");
    let mut byte = [0];
    while stderr.read(&mut byte).expect("it writes progress") == 1 && byte[0] != b'\n' {}
    // The rest is read elsewhere, so that the run never waits for a reader.
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
}
