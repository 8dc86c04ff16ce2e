//! How much memory does the machine give this process, and how much has the process taken?

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that stay outside the data budget beyond what is resident when a run begins: stacks, the allocator's own, output.
const SLACK_BYTES: u64 = 4 << 20;

/// Bytes that a thread beside the first takes outside the data budget: the pages of its stack and of the system's tables that it touches, and what the allocator keeps of what it has given back. Of 64 threads in
/// `--ram 32MiB`, searches on disk showed 500 to 640 KiB each, those in RAM up to 200 KiB; of 8 threads of a search that goes from RAM to disk on a busy machine, 730 KiB once.
const THREAD_BYTES: u64 = 768 << 10;
/// The part of memory that threads may take so, one in so many: the rest is for states.
const THREADS_PART: u64 = 4;

/// Bytes that so many threads take outside the data budget.
pub fn thread_bytes(threads: usize) -> u64 {
    (threads as u64).saturating_sub(1).saturating_mul(THREAD_BYTES)
}

/// How many of so many threads a process with so much memory can have when it begins now; one at least.
pub fn threads_within(ram: u64, threads: usize) -> usize {
    let others = ram.saturating_sub(ram_floor()) / THREADS_PART / THREAD_BYTES;
    threads.min(usize::try_from(others).unwrap_or(usize::MAX).saturating_add(1)).max(1)
}

/// Half of what there is for this process; 1 GiB where nobody says how much that is.
pub fn default_ram() -> u64 {
    memory().map_or(1 << 30, |bytes| bytes / 2)
}

/// What the machine, the cgroup of this process or its limit on address space allow, whichever is least; none where nobody says.
pub fn memory() -> Option<u64> {
    [machine_memory(), cgroup_memory(), address_space()].into_iter().flatten().min()
}

/// The least `--ram` with which a run can begin now: what is resident already, and some slack.
pub fn ram_floor() -> u64 {
    resident().unwrap_or(0) + SLACK_BYTES
}

/// The most bytes that were resident at any time; none where the system does not tell.
pub fn resident_peak() -> Option<u64> {
    status_bytes("VmHWM:")
}

/// Bytes that are resident now; none where the system does not tell.
pub fn resident() -> Option<u64> {
    status_bytes("VmRSS:")
}

/// Bytes that went to devices and came from them so far; none where the system does not tell.
pub fn device_bytes() -> Option<u64> {
    device_traffic().map(|(read, written)| read + written)
}

/// Bytes that came from devices so far, and that went to them; none where the system does not tell.
///
/// ```
/// use fathom_check::machine::{device_bytes, device_traffic};
///
/// assert_eq!(device_traffic().is_some(), device_bytes().is_some());
/// ```
pub fn device_traffic() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    let field =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse::<u64>().ok();
    Some((field("read_bytes:")?, field("write_bytes:")?))
}

/// Bytes that are free for files in a folder; none where the system does not tell.
///
/// ```
/// assert!(fathom_check::machine::disk_free(std::path::Path::new(".")).is_some_and(|bytes| bytes > 0));
/// ```
pub fn disk_free(folder: &Path) -> Option<u64> {
    let device = rustix::fs::statvfs(folder).ok()?;
    Some(device.f_bavail * device.f_frsize)
}

/// How many threads can run at once.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn status_bytes(field: &str) -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/self/status").ok()?, field)
}

/// The limit that `ulimit -v` sets.
fn address_space() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

fn machine_memory() -> Option<u64> {
    kibibytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// The value of a line `field   123 kB`, in bytes.
fn kibibytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The least limit on the way from this process's cgroup to the root.
fn cgroup_memory() -> Option<u64> {
    let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
    let limits = membership.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let path = Path::new(path.trim_start_matches('/'));
        match controllers {
            "" => least_limit(Path::new("/sys/fs/cgroup"), path, "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                least_limit(Path::new("/sys/fs/cgroup/memory"), path, "memory.limit_in_bytes")
            }
            _ => None,
        }
    });
    limits.min()
}

fn least_limit(root: &Path, path: &Path, file: &str) -> Option<u64> {
    let limit = |folder: PathBuf| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    path.ancestors().filter_map(|folder| limit(root.join(folder))).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_status_are_read_in_bytes() {
        let text = "Name:\tx\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n";
        assert_eq!(kibibytes(text, "VmHWM:"), Some(1234 * 1024));
        assert_eq!(kibibytes(text, "VmSwap:"), None);
        assert_eq!(kibibytes("VmRSS: many kB", "VmRSS:"), None);
    }

    #[test]
    fn the_least_limit_on_the_way_to_the_root_counts() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("a/b")).unwrap();
        fs::write(root.path().join("memory.max"), "max\n").unwrap();
        fs::write(root.path().join("a/memory.max"), "4096\n").unwrap();
        fs::write(root.path().join("a/b/memory.max"), "8192\n").unwrap();
        assert_eq!(least_limit(root.path(), Path::new("a/b"), "memory.max"), Some(4096));
        assert_eq!(least_limit(root.path(), Path::new(""), "memory.max"), None);
    }

    #[test]
    fn as_many_threads_are_used_as_memory_holds() {
        assert_eq!(threads_within(0, 32), 1);
        assert_eq!(threads_within(u64::MAX, 32), 32);
        let few = threads_within(ram_floor() + (16 << 20), 1000);
        assert!((6..=8).contains(&few), "{few}");
        assert_eq!(thread_bytes(1), 0);
    }

    #[test]
    fn a_default_is_always_there() {
        assert!(default_ram() > 0);
        assert!(processors() > 0);
    }
}
