//! What only a terminal or a signal shows: the live line, and a clean stop.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use oracle::skip::skipped;
use rustix::process::{Pid, Signal, kill_process};

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
fn a_terminal_shows_a_line_that_is_rewritten_and_taken_away() {
    let Some((controller, terminal)) = pseudo_terminal() else {
        let test = "a_terminal_shows_a_line_that_is_rewritten_and_taken_away";
        return skipped(test, "there is no pseudo-terminal here");
    };
    let model = Endless::new();
    let mut child = fathom()
        .args(["explore", "--time-limit", "3s"])
        .arg(model.path())
        .stdout(Stdio::null())
        .stderr(terminal)
        .spawn()
        .expect("the binary runs");
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        // A terminal whose other end is closed is an error, and the end.
        let _ = std::fs::File::from(controller).read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    });
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    let text = reader.join().expect("it reads");
    assert!(text.matches("\rlayer ").count() >= 2, "{text:?}");
    assert!(text.ends_with("\r\u{1b}[K"), "{text:?}");
    for line in text.split('\r').filter(|line| line.starts_with("layer ")) {
        assert!(line.trim_end_matches("\u{1b}[K").chars().count() < 80, "{line:?}");
    }
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

/// Reads the first line of progress, which says that the search is on.
fn wait_for_progress(child: &mut Child) {
    let mut stderr = child.stderr.take().expect("it is piped");
    let mut byte = [0];
    while stderr.read(&mut byte).expect("it writes progress") == 1 && byte[0] != b'\n' {}
    // The rest is read elsewhere, so that the run never waits for a reader.
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
}

/// Both ends of a pseudo-terminal, 80 columns wide.
fn pseudo_terminal() -> Option<(OwnedFd, OwnedFd)> {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).ok()?;
    grantpt(&controller).ok()?;
    unlockpt(&controller).ok()?;
    let name = ptsname(&controller, Vec::new()).ok()?;
    let path = name.to_str().ok()?;
    let terminal = std::fs::OpenOptions::new().read(true).write(true).open(path).ok()?;
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(terminal.as_fd(), size).ok()?;
    Some((controller, terminal.into()))
}
