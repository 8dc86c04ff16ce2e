//! How is a process killed at its n-th system call? By tracing it, with all its threads, and counting.
//!
//! A shell stops itself before it becomes the program, so that nothing of the program is missed; then it is seized, and stops at the entry and at the exit of every call. The killing
//! thread must be the one that waits, and it waits for its own children alone, so that several can be at it.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// What came of a traced run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Traced {
    /// It was killed where it was to be.
    Killed,
    /// It ended before, after so many stops.
    Ended { stops: u64 },
}

/// Runs a command in a folder and kills it at its stop number `at`, from 1; with 0, never. A call has two stops: before and after.
pub(crate) fn run_until(words: &[String], folder: &Path, at: u64) -> anyhow::Result<Traced> {
    let child = stopped_shell(words, folder)?;
    let main = Pid::from_raw(child.id().cast_signed());
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(main, options).context("cannot trace a process here")?;
    kill(main, Signal::SIGCONT)?;
    let mut stops = 0;
    // The shell is not what is looked at.
    let mut is_program = false;
    loop {
        let status = match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)) {
            Err(Errno::EINTR) => continue,
            status => status?,
        };
        let resumed = match status {
            WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..) if pid == main => {
                return Ok(Traced::Ended { stops });
            }
            WaitStatus::PtraceSyscall(pid) => {
                stops += u64::from(is_program);
                if is_program && stops == at {
                    return killed(main);
                }
                ptrace::syscall(pid, None)
            }
            WaitStatus::PtraceEvent(pid, signal, event) => {
                is_program |= event == nix::libc::PTRACE_EVENT_EXEC;
                // A stop by a signal of its own is not told from others here: no signal is passed on with an event.
                let _ = signal;
                ptrace::syscall(pid, None)
            }
            WaitStatus::Stopped(pid, signal) => ptrace::syscall(pid, signal),
            _ => Ok(()),
        };
        match resumed {
            // It is gone in the meantime: that is told next.
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => bail!("cannot go on with a traced process: {error}"),
        }
    }
}

/// A shell that has stopped itself, and becomes the program when it goes on.
fn stopped_shell(words: &[String], folder: &Path) -> anyhow::Result<Child> {
    let child = Command::new("sh")
        .args(["-c", "kill -STOP $$; exec \"$@\"", "sh"])
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("no shell starts")?;
    waitpid(Pid::from_raw(child.id().cast_signed()), Some(WaitPidFlag::WUNTRACED))?;
    Ok(child)
}

/// Kills, and waits until nothing is left of the process.
fn killed(main: Pid) -> anyhow::Result<Traced> {
    kill(main, Signal::SIGKILL)?;
    loop {
        match waitpid(Pid::from_raw(-1), Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)) {
            Ok(WaitStatus::Signaled(pid, ..) | WaitStatus::Exited(pid, _)) if pid == main => {
                return Ok(Traced::Killed);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => bail!("a killed process does not end: {error}"),
        }
    }
}
