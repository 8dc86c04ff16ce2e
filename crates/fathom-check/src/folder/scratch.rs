//! Where do files live that a run needs only while it lasts?
//!
//! In a folder of their own under `.fathom` in the working directory, held while it is used and removed when the run is over. What a run that is killed leaves of it, the next one removes.

use std::io;
use std::path::Path;

use fathom_disk::storage::{
    Extent, FileId, FileStorage, Folder, Hold, Id, Lock, Mark, Role, Storage, Volume,
};

use crate::folder::leftovers;

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub struct Scratch {
    parent: Parent,
    folder: Folder,
    /// Where the files are. The folder around it is held as long as the run lasts, this one by whoever commits in it.
    files: Folder,
    name: String,
    mark: Mark,
    lock: Option<Box<dyn Lock>>,
}

/// What scratch and search folders are made in.
#[derive(Debug)]
pub(crate) struct Parent {
    pub(crate) folder: Folder,
    /// What it is in if it is `.fathom`, which is ours and goes when it is empty.
    outer: Option<Folder>,
}

/// A folder that was made, what it is in, and the lock that says that somebody uses it.
pub(crate) type Held = (Parent, Folder, Box<dyn Lock>);

/// Where runs and scratch folders live unless the user says otherwise.
pub(crate) const PARENT: &str = ".fathom";
/// How often a folder is tried for.
const TRIES: u32 = 1_000;

impl Scratch {
    /// A fresh folder under `parent`, which is made if it is not there.
    pub fn under(parent: &Path) -> io::Result<Scratch> {
        // If it cannot be opened now, another process has just removed it, or it is told when the folder is made.
        if let Ok(parent) = Parent::open(parent) {
            parent.sweep();
        }
        loop {
            let mark = Id::draw()?.mark();
            let name = format!("{}{mark}", leftovers::SCRATCH);
            if let Some((parent, folder, lock)) = Parent::make_in(parent, &name)? {
                let files = folder.make_inner(leftovers::FILES)?;
                return Ok(Scratch { parent, folder, files, name, mark, lock: Some(lock) });
            }
        }
    }

    /// The same under `.fathom`, or where the system has its temporary files if nothing can be made there.
    pub fn anywhere() -> io::Result<Scratch> {
        Scratch::under(Path::new(PARENT)).or_else(|_| Scratch::under(&std::env::temp_dir()))
    }

    /// The folder as a volume, which must not outlive it.
    pub fn volume(&self) -> io::Result<Volume> {
        Ok(Volume::new(FileStorage::within(self.files.clone(), Some(self.mark))))
    }

    /// The folder as a volume; it is removed with the last handle to that.
    pub fn into_volume(self) -> io::Result<Volume> {
        let files = FileStorage::within(self.files.clone(), Some(self.mark));
        Ok(Volume::new(Owned { files, _scratch: self }))
    }
}

/// Files in a folder that goes with them.
#[derive(Debug)]
struct Owned {
    files: FileStorage,
    _scratch: Scratch,
}

impl Storage for Owned {
    fn block_bytes(&self) -> usize {
        self.files.block_bytes()
    }

    fn delays(&self) -> bool {
        self.files.delays()
    }

    fn describe(&self) -> String {
        self.files.describe()
    }

    fn create(&self, name: &str, role: Role) -> io::Result<FileId> {
        self.files.create(name, role)
    }

    fn open(&self, name: &str) -> io::Result<FileId> {
        self.files.open(name)
    }

    fn close(&self, file: FileId) {
        self.files.close(file);
    }

    fn size(&self, file: FileId) -> io::Result<u64> {
        self.files.size(file)
    }

    fn read(&self, extents: &mut [Extent<'_>]) -> io::Result<()> {
        self.files.read(extents)
    }

    fn write(&self, file: FileId, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.files.write(file, offset, bytes)
    }

    fn resize(&self, file: FileId, bytes: u64) -> io::Result<()> {
        self.files.resize(file, bytes)
    }

    fn sync(&self, file: FileId) -> io::Result<()> {
        self.files.sync(file)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.files.list()
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.files.sync_directory()
    }

    fn lock(&self, hold: Hold) -> io::Result<Box<dyn Lock>> {
        self.files.lock(hold)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed stays: there is nobody left to tell.
        let _ = leftovers::clear(&self.folder, self.mark);
        let _ = self.parent.folder.remove_inner(&self.name);
        drop(self.lock.take());
        self.parent.remove_if_empty();
    }
}

impl Parent {
    /// The folder at a path, made if it is not there. `.fathom` is our own, and no link.
    pub(crate) fn open(path: &Path) -> io::Result<Parent> {
        if !path.ends_with(PARENT) {
            return Ok(Parent { folder: Folder::create(path)?, outer: None });
        }
        let outer = path.parent().filter(|outer| !outer.as_os_str().is_empty());
        let outer = Folder::create(outer.unwrap_or(Path::new(".")))?;
        Ok(Parent { folder: outer.make_inner(PARENT)?, outer: Some(outer) })
    }

    /// Makes a folder in the one at a path, and holds it. None if there is one of that name.
    pub(crate) fn make_in(path: &Path, name: &str) -> io::Result<Option<Held>> {
        let made = || {
            let parent = Parent::open(path)?;
            let folder = parent.folder.make_fresh(name)?;
            let lock = folder.lock(Hold::Alone)?;
            let is_there = parent.folder.holds(name, &folder)?;
            if is_there { Ok((parent, folder, lock)) } else { Err(io::Error::from(io::ErrorKind::NotFound)) }
        };
        for tries in 1.. {
            match made() {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
                // Another process has removed one of the two while it was empty, or is about to.
                Err(error) if is_passing(&error) && tries < TRIES => {}
                outcome => return outcome.map(Some),
            }
        }
        unreachable!("the last try is answered")
    }

    /// Removes what killed searches have left in it.
    pub(crate) fn sweep(&self) {
        leftovers::sweep_scratch(&self.folder);
        if self.outer.is_some() {
            leftovers::sweep_homes(&self.folder);
        }
    }

    /// Removes it if it is ours and nobody is in it.
    pub(crate) fn remove_if_empty(&self) {
        if let Some(outer) = &self.outer {
            // It stays if others are in it.
            let _ = outer.remove_inner(PARENT);
        }
    }
}

/// Whether another process was in the way, for a moment.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(scratch: &Scratch, name: &str) {
        let volume = scratch.volume().unwrap();
        volume.create(name, fathom_disk::storage::FileKind::RUN).unwrap().write(0, b"text").unwrap();
    }

    #[test]
    fn threads_do_not_take_folders_from_each_other() {
        let outer = tempfile::tempdir().unwrap();
        let parent = outer.path().join(PARENT);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let scratch = Scratch::under(&parent).unwrap();
                        write(&scratch, "file");
                    }
                });
            }
        });
        assert!(!parent.exists());
    }

    #[test]
    fn a_folder_goes_with_the_last_handle_to_its_volume() {
        let outer = tempfile::tempdir().unwrap();
        let parent = outer.path().join("inner");
        let volume = Scratch::under(&parent).unwrap().into_volume().unwrap();
        let file = volume.create("file", fathom_disk::storage::FileKind::RUN).unwrap();
        drop(volume);
        file.write(0, b"text").unwrap();
        assert_eq!(parent.read_dir().unwrap().count(), 1, "the file is there");
        drop(file);
        assert_eq!(parent.read_dir().unwrap().count(), 0, "nothing is left behind");
    }

    #[test]
    fn folders_are_apart_and_go_away() {
        let outer = tempfile::tempdir().unwrap();
        let parent = outer.path().join(PARENT);
        let (first, second) = (Scratch::under(&parent).unwrap(), Scratch::under(&parent).unwrap());
        assert_ne!(first.name, second.name);
        write(&first, "file");
        drop(first);
        assert!(parent.exists(), "the other one is there");
        drop(second);
        assert!(!parent.exists(), "nothing is left behind");
    }

    #[test]
    fn what_a_killed_run_leaves_goes_with_the_next_one_and_what_is_not_ours_stays() {
        let outer = tempfile::tempdir().unwrap();
        let parent = outer.path().join(PARENT);
        let (ours, theirs) =
            (parent.join("scratch-0123456789abcdef"), parent.join("scratch-fedcba9876543210"));
        for folder in [&ours, &theirs] {
            std::fs::create_dir_all(folder.join("files")).unwrap();
            std::fs::write(folder.join("files/visited.0123456789abcdef"), "text").unwrap();
        }
        let alive = Scratch::under(&parent).unwrap();
        assert!(!ours.exists(), "nobody holds it");
        assert!(theirs.join("files/visited.0123456789abcdef").exists(), "it carries another mark");
        drop(Scratch::under(&parent).unwrap());
        assert!(alive.folder.path().exists(), "it is held");
    }
}
