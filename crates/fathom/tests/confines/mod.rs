//! How is the binary run with less of the machine than there is: less memory, fewer threads, a small disk? And where that cannot be had, who says so?

#![allow(dead_code, reason = "each suite has its own confines")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use oracle::skip::skipped;

/// A cgroup of either version, gone when it is dropped.
pub(crate) struct Group(PathBuf);

static GROUPS: AtomicU64 = AtomicU64::new(0);

impl Group {
    /// One whose processes have so much memory; none where none can be made.
    pub(crate) fn of_memory(bytes: u64) -> Option<Group> {
        let versions = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        versions.into_iter().find_map(|(root, file)| Group::new(root, file, bytes))
    }

    /// One that has so many threads at most; none where none can be made.
    pub(crate) fn of_threads(count: u64) -> Option<Group> {
        let versions = [("/sys/fs/cgroup/pids", "pids.max"), ("/sys/fs/cgroup", "pids.max")];
        versions.into_iter().find_map(|(root, file)| Group::new(root, file, count))
    }

    fn new(root: &str, file: &str, limit: u64) -> Option<Group> {
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(root).join(format!("fathom-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let group = Group(folder);
        std::fs::write(group.0.join(file), limit.to_string()).ok()?;
        Some(group)
    }

    /// The binary with arguments, in there.
    pub(crate) fn fathom(&self, words: &[&str]) -> Command {
        let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display());
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_fathom")]).args(words);
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A small file system in memory, or another view of a folder; gone when it is dropped.
pub(crate) struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    /// One of that size; none where nothing can be mounted.
    pub(crate) fn new(place: &'a Path, size: &str) -> Option<Mounted<'a>> {
        let options = format!("size={size}");
        mount(&["-t", "tmpfs", "-o", &options, "none", &place.display().to_string()])
            .then_some(Mounted(place))
    }

    /// A folder as it is, but that it cannot be written; none where nothing can be mounted.
    pub(crate) fn read_only(place: &'a Path) -> Option<Mounted<'a>> {
        let folder = place.display().to_string();
        let bound = mount(&["--bind", &folder, &folder]).then_some(Mounted(place))?;
        mount(&["-o", "remount,bind,ro", &folder]).then_some(bound)
    }

    /// Gives it another size.
    pub(crate) fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        assert!(mount(&["-o", &options, &self.0.display().to_string()]), "it can be made larger");
    }
}

fn mount(words: &[&str]) -> bool {
    let quiet = Command::new("mount").args(words).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}
