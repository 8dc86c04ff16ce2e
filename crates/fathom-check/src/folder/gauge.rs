//! What do the files of a search take now, how much room is left, and when was the last checkpoint? Seen from outside: nobody who searches is asked.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fathom_disk::manifest;

use crate::machine;

/// Looks at the files of a search, once there are any. Clones look at the same.
#[derive(Clone, Debug, Default)]
pub struct Gauge(Arc<OnceLock<Watched>>);

/// What is looked at.
#[derive(Debug)]
pub(crate) struct Watched {
    /// Where files are; manifests, too.
    pub(crate) folders: Vec<PathBuf>,
    /// Bytes that they may take.
    pub(crate) limit: Option<u64>,
}

/// What was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskSeen {
    /// Bytes that files take.
    pub used: u64,
    /// Bytes that they may take, if there is a limit.
    pub limit: Option<u64>,
    /// Bytes that the device has left.
    pub free: Option<u64>,
    /// How long ago the last checkpoint was made, if there is one.
    pub checkpoint: Option<Duration>,
}

impl Gauge {
    /// From now on there are files.
    pub(crate) fn set(&self, watched: Watched) {
        let _ = self.0.set(watched);
    }

    /// What there is to be seen now; none as long as there are no files.
    pub fn look(&self) -> Option<DiskSeen> {
        let Watched { folders, limit } = self.0.get()?;
        let mut seen = DiskSeen { limit: *limit, ..DiskSeen::default() };
        for folder in folders {
            seen.add(folder);
        }
        Some(seen)
    }
}

impl DiskSeen {
    /// Files come and go meanwhile: what is not there any more takes nothing.
    fn add(&mut self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let Ok(data) = entry.metadata() else { continue };
            self.used += data.blocks() * 512;
            if is_manifest(&entry.file_name()) {
                let age = data.modified().ok().and_then(|then| then.elapsed().ok());
                self.checkpoint = self.checkpoint.into_iter().chain(age).min();
            }
        }
        self.free = self.free.into_iter().chain(machine::disk_free(folder)).min();
    }
}

/// Whether a file is the manifest, which is named with the mark of its search; not one that is still being written.
fn is_manifest(name: &OsStr) -> bool {
    let mark = name.to_str().and_then(|name| name.strip_prefix(manifest::NAME));
    mark.is_some_and(|mark| mark.rfind('.').unwrap_or(0) == 0 && mark != ".new")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_known_by_its_name() {
        let known = |name: &str| is_manifest(OsStr::new(name));
        assert!(known("manifest") && known("manifest.07aab93dfc999d30"));
        assert!(!known("manifest.new") && !known("manifest.new.07aab93dfc999d30") && !known("ballast"));
    }

    #[test]
    fn files_are_counted_once_there_are_any() {
        let folder = tempfile::tempdir().unwrap();
        let gauge = Gauge::default();
        assert_eq!(gauge.look(), None);
        let gone = folder.path().join("gone");
        gauge.set(Watched { folders: vec![folder.path().to_owned(), gone], limit: Some(7) });
        let before = gauge.look().unwrap();
        assert_eq!((before.limit, before.checkpoint), (Some(7), None));
        fs::write(folder.path().join("run-1"), vec![1; 100_000]).unwrap();
        fs::write(folder.path().join(manifest::NAME), "x").unwrap();
        let after = gauge.look().unwrap();
        assert!(after.used >= before.used + 100_000, "{after:?}");
        assert!(after.free > Some(0) && after.checkpoint < Some(Duration::from_secs(60)));
    }
}
