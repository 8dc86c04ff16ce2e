//! How is a directory used so that nothing outside it is touched?
//!
//! By its descriptor. Every name is looked up in it, and what a name stands for is used only if it is a regular file or a directory: links are neither followed nor replaced. Only the path that
//! a user gave may lead through links.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat};

use super::{Hold, Lock};

/// An open directory. Cloning gives another handle to the same.
#[derive(Clone, Debug)]
pub struct Folder {
    handle: Arc<OwnedFd>,
    /// How it was reached, for messages.
    path: PathBuf,
}

/// What a folder is held with until it is dropped. The kernel gives it up when the process ends, however that comes about.
#[derive(Debug)]
struct FolderLock {
    _handle: OwnedFd,
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Folder {
    /// The directory at a path that the user gave: that may be a link.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let handle = rustix::fs::open(path, DIRECTORY, Mode::empty())?;
        Ok(Folder { handle: Arc::new(handle), path: path.to_owned() })
    }

    /// The same, made if it is not there, with all that leads to it. Its name lasts when this returns.
    pub fn create(path: &Path) -> io::Result<Folder> {
        match (Folder::open(path), path.file_name()) {
            (Err(error), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                let parent = Folder::create(parent.unwrap_or(Path::new(".")))?;
                match rustix::fs::mkdirat(&parent.handle, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) => parent.sync()?,
                    Err(rustix::io::Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                Folder::open(path)
            }
            (outcome, _) => outcome,
        }
    }

    /// A directory in this one; `NotADirectory` if it is something else, a link to one included.
    pub fn inner(&self, name: &str) -> io::Result<Folder> {
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        let handle = match rustix::fs::openat(&self.handle, flat(name)?, flags, Mode::empty()) {
            // A link: file systems differ in what they call it.
            Err(rustix::io::Errno::LOOP) => return Err(io::ErrorKind::NotADirectory.into()),
            outcome => outcome?,
        };
        Ok(Folder { handle: Arc::new(handle), path: self.path_of(name) })
    }

    /// A directory in this one, made if it is not there. Its name lasts when this returns.
    pub fn make_inner(&self, name: &str) -> io::Result<Folder> {
        match self.make_fresh(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.inner(name),
            outcome => outcome,
        }
    }

    /// A directory in this one that was not there; `AlreadyExists` if there is something of that name. Its name lasts when this returns.
    pub fn make_fresh(&self, name: &str) -> io::Result<Folder> {
        rustix::fs::mkdirat(&self.handle, flat(name)?, Mode::from_raw_mode(0o777))?;
        self.sync()?;
        self.inner(name)
    }

    /// Removes a directory in this one if it is empty.
    pub fn remove_inner(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, flat(name)?, AtFlags::REMOVEDIR)?)
    }

    /// Whether `inner` still is what `name` stands for: it was not removed, nor replaced.
    pub fn holds(&self, name: &str, inner: &Folder) -> io::Result<bool> {
        let there = match rustix::fs::statat(&self.handle, flat(name)?, AtFlags::SYMLINK_NOFOLLOW) {
            Err(rustix::io::Errno::NOENT) => return Ok(false),
            outcome => outcome?,
        };
        let here = rustix::fs::fstat(&inner.handle)?;
        Ok((there.st_dev, there.st_ino) == (here.st_dev, here.st_ino))
    }

    /// Where it is, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where something in it is, for messages.
    pub fn path_of(&self, name: &str) -> PathBuf {
        if self.path == Path::new(".") { PathBuf::from(name) } else { self.path.join(name) }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.entries()?.is_empty())
    }

    /// The names of directories in it, sorted. Links are none.
    pub fn folders(&self) -> io::Result<Vec<String>> {
        self.names_of(FileType::Directory)
    }

    /// The names of regular files in it, sorted. Names that begin with a dot are not for us.
    pub(super) fn files(&self) -> io::Result<Vec<String>> {
        let mut names = self.names_of(FileType::RegularFile)?;
        names.retain(|name| !name.starts_with('.'));
        Ok(names)
    }

    fn names_of(&self, wanted: FileType) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for (name, kind) in self.entries()? {
            let kind = match kind {
                FileType::Unknown => self.stat(&name).map_or(kind, |stat| kind_of(&stat)),
                kind => kind,
            };
            if kind == wanted {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// All that is in it. A name that is no text is left empty: it is none of ours.
    fn entries(&self) -> io::Result<Vec<(String, FileType)>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(name) => entries.push((name.to_owned(), entry.file_type())),
                Err(_) => entries.push((String::new(), FileType::Unknown)),
            }
        }
        Ok(entries)
    }

    fn stat(&self, name: &str) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.handle, flat(name)?, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Creates a file; `AlreadyExists` if there is something of that name.
    pub(super) fn create_file(&self, name: &str) -> io::Result<fs::File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        Ok(rustix::fs::openat(&self.handle, flat(name)?, flags, mode)?.into())
    }

    /// Opens a regular file: to be read, or (`RDWR`) changed. What is to be changed has no second name, through which something else would change, too.
    pub(super) fn open_file(&self, name: &str, flags: OFlags) -> io::Result<fs::File> {
        let stat = self.stat(name)?;
        if kind_of(&stat) != FileType::RegularFile {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        if flags.contains(OFlags::RDWR) && stat.st_nlink > 1 {
            let why = "it is a hard link, and changing it would change another file; copy the folder instead";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.handle, flat(name)?, flags, Mode::empty())?.into())
    }

    /// A file without a name, for trying things out: nothing of it is left, whatever happens.
    pub(super) fn nameless_file(&self, flags: OFlags) -> io::Result<fs::File> {
        let flags = flags | OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.handle, c".", flags, Mode::from_raw_mode(0o600))?.into())
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.handle, flat(from)?, &self.handle, flat(to)?)?)
    }

    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, flat(name)?, AtFlags::empty())?)
    }

    /// Names in it, as they are now, survive a crash.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.handle)?)
    }

    /// Holds the folder; `WouldBlock` while others hold it so that this cannot be. Nothing is written for it.
    pub fn lock(&self, hold: Hold) -> io::Result<Box<dyn Lock>> {
        // A lock belongs to the opening, not to the directory: each needs its own.
        let handle = rustix::fs::openat(&self.handle, c".", DIRECTORY, Mode::empty())?;
        let operation = match hold {
            Hold::Alone => FlockOperation::NonBlockingLockExclusive,
            Hold::Shared => FlockOperation::NonBlockingLockShared,
        };
        rustix::fs::flock(&handle, operation)?;
        Ok(Box::new(FolderLock { _handle: handle }))
    }

    /// The number of a process that holds the folder, if the system tells.
    pub fn holder(&self) -> Option<u32> {
        let stat = rustix::fs::fstat(&self.handle).ok()?;
        let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
        let place = format!("{major:02x}:{minor:02x}:{}", stat.st_ino);
        let locks = fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (kind, process, held) = (words.get(1)?, words.get(4)?, words.get(5)?);
            (*kind == "FLOCK" && *held == place).then(|| process.parse().ok().filter(|number| *number > 0))?
        })
    }
}

impl Lock for FolderLock {}

fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// A name that does not leave the folder.
fn flat(name: &str) -> io::Result<&str> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a name has no folder in it"));
    }
    Ok(name)
}
