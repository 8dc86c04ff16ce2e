//! A terminal to run the program in: a pseudo-terminal, and an emulator that knows what would be seen on it.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A terminal.
pub(crate) struct Screen {
    controller: std::fs::File,
    terminal: OwnedFd,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

/// How long something may take to be seen: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

impl Screen {
    /// One of that size; none where there are no pseudo-terminals.
    pub(crate) fn new(rows: u16, columns: u16) -> Option<Screen> {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).ok()?;
        grantpt(&controller).ok()?;
        unlockpt(&controller).ok()?;
        let name = ptsname(&controller, Vec::new()).ok()?;
        let path = name.to_str().ok()?;
        let terminal = std::fs::OpenOptions::new().read(true).write(true).open(path).ok()?;
        let seen = Seen { parser: vt100::Parser::new(rows, columns, 0), bytes: Vec::new() };
        let screen = Screen {
            controller: controller.into(),
            terminal: terminal.into(),
            seen: Arc::new(Mutex::new(seen)),
        };
        screen.resize_terminal(rows, columns);
        let mut reader = screen.controller.try_clone().ok()?;
        let seen = Arc::clone(&screen.seen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal whose other end is closed is an error, and the end.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.parser.process(&bytes[..count]);
                seen.bytes.extend_from_slice(&bytes[..count]);
            }
        });
        Some(screen)
    }

    /// An end of it for a process.
    pub(crate) fn end(&self) -> OwnedFd {
        self.terminal.try_clone().expect("there are descriptors")
    }

    /// Starts a command with this as its terminal.
    pub(crate) fn start(&self, command: &mut Command) -> Child {
        command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        command.stdin(self.end()).stdout(self.end()).stderr(self.end()).spawn().expect("the binary runs")
    }

    /// Something that stands there already.
    pub(crate) fn write(&self, text: &str) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).parser.process(text.as_bytes());
    }

    /// Types.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.controller.write_all(keys.as_bytes()).expect("it takes keys");
    }

    fn resize_terminal(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(self.terminal.as_fd(), size).expect("it has a size");
    }

    /// Becomes larger or smaller, and tells the process so.
    pub(crate) fn resize(&self, rows: u16, columns: u16, child: &Child) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).parser.screen_mut().set_size(rows, columns);
        self.resize_terminal(rows, columns);
        kill_process(Pid::from_child(child), Signal::WINCH).expect("it can be signalled");
    }

    /// What is seen now.
    pub(crate) fn text(&self) -> String {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).parser.screen().contents()
    }

    /// Lines that are not empty.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.text().lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
    }

    /// Everything that was written, by processes that have ended too: a mark takes the same way after it.
    #[track_caller]
    pub(crate) fn written(&self) -> String {
        const MARK: &str = "<all was read>";
        std::fs::File::from(self.end()).write_all(MARK.as_bytes()).expect("it can be written to");
        let began = Instant::now();
        loop {
            let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            let text = String::from_utf8_lossy(&seen.bytes).into_owned();
            drop(seen);
            if let Some(before) = text.strip_suffix(MARK) {
                return before.to_owned();
            }
            assert!(began.elapsed() < PATIENCE, "waited for a mark, and see:\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until something is seen.
    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, is_seen: impl Fn(&str) -> bool) {
        let began = Instant::now();
        while !is_seen(&self.text()) {
            assert!(began.elapsed() < PATIENCE, "waited for {what}, and see:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Waits for the end of a process; says its exit code.
#[track_caller]
pub(crate) fn ended(child: &mut Child) -> Option<i32> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is a child") {
            return status.code();
        }
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
