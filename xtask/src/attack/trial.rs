//! What came of running the binary once?

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

/// How long a trial may take before it counts as one that hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// The most that is kept of what a trial printed.
const KEPT_BYTES: u64 = 1 << 20;

/// How a process ended, and what it printed.
#[derive(Debug)]
pub(crate) struct Ran {
    /// None if it did not end by itself.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The exit code, if it ended by itself.
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// What every run owes its user: it ends, with one of four exit codes, and without a panic.
    pub(crate) fn behaves(&self) -> Result<(), String> {
        let first = || self.stderr.lines().next().unwrap_or_default().to_owned();
        match self.status {
            None => return Err("it hangs".into()),
            Some(status) if status.signal().is_some() => {
                return Err(format!("ended by signal {:?}: {}", status.signal(), first()));
            }
            Some(_) => {}
        }
        if self.stderr.contains("panicked at") {
            return Err(self
                .stderr
                .lines()
                .find(|line| line.contains("panicked"))
                .unwrap_or_default()
                .into());
        }
        match self.code() {
            Some(0..=3) => Ok(()),
            code => Err(format!("exit code {code:?}: {}", first())),
        }
    }

    /// Behaves, and ends with this code.
    pub(crate) fn ends_with(&self, code: i32) -> Result<(), String> {
        self.behaves()?;
        match self.code() {
            Some(other) if other != code => Err(format!("exit {other}, not {code}: {}", self.stderr.trim())),
            _ => Ok(()),
        }
    }

    /// A field of the JSON it printed; null if there is none.
    pub(crate) fn json(&self, field: &str) -> serde_json::Value {
        let report: serde_json::Value = serde_json::from_str(&self.stdout).unwrap_or_default();
        report[field].clone()
    }
}

/// Runs a command in a folder, to its end or until patience ends. What it prints goes through files: a pipe that nobody empties would stop it.
pub(crate) fn run(command: &mut Command, folder: &Path) -> anyhow::Result<Ran> {
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .spawn()
        .context("the binary does not start")?;
    let began = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if began.elapsed() > PATIENCE => {
                child.kill()?;
                child.wait()?;
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    Ok(Ran { status, stdout: beginning(&mut stdout)?, stderr: beginning(&mut stderr)? })
}

fn beginning(file: &mut std::fs::File) -> anyhow::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.take(KEPT_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
