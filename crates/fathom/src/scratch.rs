//! Where do files live that a run needs only while it lasts?
//!
//! In a folder of their own under `.fathom` in the working directory, removed when the run is over. A run that is killed leaves it behind; nothing reads it again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use fathom_disk::storage::{FileStorage, Volume};

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

const RETRIED_EXISTS: io::ErrorKind = io::ErrorKind::AlreadyExists;
const RETRIED_MISSING: io::ErrorKind = io::ErrorKind::NotFound;
/// How often a folder is tried for.
const TRIES: u32 = 1_000;

/// Folders made so far by this process.
static MADE: AtomicU64 = AtomicU64::new(0);

impl Scratch {
    /// A fresh folder under `parent`, which is made if it is not there.
    pub fn under(parent: &Path) -> io::Result<Scratch> {
        let mut tries = 0;
        loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("scratch-{}-{number}", std::process::id()));
            match std::fs::create_dir_all(parent).and_then(|()| std::fs::create_dir(&path)) {
                Ok(()) => return Ok(Scratch { path }),
                // Left behind by a process that had the same number; or another process has just removed the empty parent, which may have been there a moment before.
                Err(error) if matches!(error.kind(), RETRIED_EXISTS | RETRIED_MISSING) && tries < TRIES => {
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The folder as a volume, which must not outlive it.
    pub fn volume(&self) -> io::Result<Volume> {
        Ok(Volume::new(FileStorage::auto(&self.path)?))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays: there is nobody left to tell.
        let _ = std::fs::remove_dir_all(&self.path);
        if let Some(parent) = self.path.parent() {
            let _ = std::fs::remove_dir(parent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_do_not_take_folders_from_each_other() {
        let outer = tempfile::tempdir().unwrap();
        let parent = outer.path().join("inner");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let scratch = Scratch::under(&parent).unwrap();
                        std::fs::write(scratch.path.join("file"), "text").unwrap();
                    }
                });
            }
        });
        assert!(!parent.exists());
    }

    #[test]
    fn folders_are_apart_and_go_away() {
        let outer = tempfile::tempdir().unwrap();
        let parent = outer.path().join("inner");
        let (first, second) = (Scratch::under(&parent).unwrap(), Scratch::under(&parent).unwrap());
        assert_ne!(first.path, second.path);
        std::fs::write(first.path.join("file"), "text").unwrap();
        drop(first);
        assert!(parent.exists(), "the other one is there");
        drop(second);
        assert!(!parent.exists(), "nothing is left behind");
    }
}
