//! How do bytes get to a device and back?
//!
//! [`Storage`] is what an implementation must do: files ([`mod@file`]), memory ([`memory`]), a device that lies
//! ([`faulty`]), or several devices ([`spread`]), of which a file's [`role`] chooses one. [`Volume`] and [`File`] are what everything else in this crate uses: they own handles, count every
//! operation by class ([`counters`]), and speak of errors with operation, file and offset.
//!
//! Rules of the storage: names are flat (no directories); a file is created empty and never re-created under a name
//! that exists; what was not synced may be lost at a crash, in any part and order, and so may directory entries,
//! renames and removals until [`Volume::sync_directory`].

pub mod aside;
pub mod counters;
pub mod direct;
pub mod faulty;
pub mod file;
pub mod folder;
pub mod mark;
pub mod memory;
pub mod role;
pub mod spread;

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Duration, Instant};

pub use aside::Pending;
pub use counters::{Access, IoCount, IoCounts, Phase};
pub use direct::aligned::AlignedBuffer;
pub use faulty::{Fault, FaultyStorage};
pub use file::{FileStorage, Transport};
pub use folder::Folder;
pub use mark::{Id, Mark};
pub use memory::MemoryStorage;
pub use role::{FileKind, Role};
pub use spread::SpreadStorage;

use counters::{Counters, Direction};

/// A file open in a [`Storage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// One piece of a read batch at the level of [`Storage`].
#[derive(Debug)]
pub struct Extent<'a> {
    /// The file to read.
    pub file: FileId,
    /// Where in the file.
    pub offset: u64,
    /// Where the bytes go.
    pub into: &'a mut [u8],
    /// Bytes read: all of `into`, or fewer where the file ends.
    pub filled: usize,
}

/// How a storage is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// To be changed: nobody else may hold it.
    Alone,
    /// To be read: others may do the same.
    Shared,
}

/// A lock on the whole storage, given up when dropped.
pub trait Lock: Send + Sync + fmt::Debug {}

/// What a device must do. Few calls, all blocking, all thread-safe; offsets, lengths and buffers may have any alignment,
/// but multiples of [`Storage::block_bytes`] in an [`AlignedBuffer`] are fastest and take the direct way.
pub trait Storage: Send + Sync + fmt::Debug {
    /// The alignment of offsets, lengths and buffers that takes the fast way; a power of two.
    fn block_bytes(&self) -> usize;
    /// Whether it takes its time, so that callers should go on meanwhile ([`mod@aside`]).
    fn delays(&self) -> bool {
        false
    }
    /// How the bytes travel, for reports: "file, O_DIRECT, io_uring".
    fn describe(&self) -> String;
    /// Creates an empty file for reading and writing, which is used as `role` says; `AlreadyExists` if the name is taken.
    fn create(&self, name: &str, role: Role) -> io::Result<FileId>;
    /// Opens a file for reading and writing; `NotFound` if there is none.
    fn open(&self, name: &str) -> io::Result<FileId>;
    /// Gives up the handle. The file stays.
    fn close(&self, file: FileId);
    /// Bytes in the file.
    fn size(&self, file: FileId) -> io::Result<u64>;
    /// Reads all extents, in any order, at the depth of the device; returns when all are done. Bytes past the end of a
    /// file are left alone and not counted in `filled`.
    fn read(&self, extents: &mut [Extent<'_>]) -> io::Result<()>;
    /// Writes all of `bytes`, growing the file (with zeros) as needed. After an error any part may have been written.
    fn write(&self, file: FileId, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file, or grows it with zeros.
    fn resize(&self, file: FileId, bytes: u64) -> io::Result<()>;
    /// The content of the file, as it is now, survives a crash; its name need not.
    fn sync(&self, file: FileId) -> io::Result<()>;
    /// Gives the file another name, replacing what had it, at once or (after a crash) not at all.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a name; handles stay valid.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// All names, sorted.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Names, renames and removals, as they are now, survive a crash.
    fn sync_directory(&self) -> io::Result<()>;
    /// Takes the one lock of this storage; `WouldBlock` while it is held so that this cannot be.
    fn lock(&self, hold: Hold) -> io::Result<Box<dyn Lock>>;
}

/// How long a lock is waited for, if nobody says otherwise, and how long between two tries.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// What went wrong with the device: operation, file and offset.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {file} at byte {offset}: {source}")]
#[non_exhaustive]
pub struct StorageError {
    /// What was tried.
    pub operation: &'static str,
    /// The file's name.
    pub file: String,
    /// Where in the file; 0 for operations on whole files.
    pub offset: u64,
    /// What the device said.
    pub source: io::Error,
}

/// A storage with counters: the handle that every structure takes. Cloning gives another handle to the same.
#[derive(Clone, Debug)]
pub struct Volume {
    shared: Arc<Shared>,
}

/// An open file of a [`Volume`]; closed when dropped.
#[derive(Debug)]
pub struct File {
    volume: Volume,
    id: FileId,
    name: Box<str>,
    kind: FileKind,
    read_end: AtomicU64,
    write_end: AtomicU64,
    /// The whole content, if it is kept in memory.
    kept: RwLock<Option<Box<AlignedBuffer>>>,
    /// Whether it is nowhere else yet.
    unwritten: AtomicBool,
}

/// One piece of a read batch.
#[derive(Debug)]
pub struct ReadRequest<'a> {
    /// The file to read.
    pub file: &'a File,
    /// Where in the file.
    pub offset: u64,
    /// Where the bytes go.
    pub into: &'a mut [u8],
    /// Set by the read: bytes that are there; fewer than asked for where the file ends. **To be checked by the caller.**
    pub filled: usize,
}

#[derive(Debug)]
struct Shared {
    storage: Box<dyn Storage>,
    counters: Counters,
    lock_patience: Duration,
    /// Does operations aside, once there was one.
    crew: OnceLock<aside::Crew>,
}

impl StorageError {
    /// True if the device is full, or takes no more of this file.
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self.source.kind(), StorageFull | QuotaExceeded | FileTooLarge)
    }

    /// A read that gave fewer bytes than the format says there are.
    pub fn short_read(file: &File, offset: u64) -> Self {
        let source = io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends too early");
        Self { operation: "read", file: file.name.to_string(), offset, source }
    }
}

impl Volume {
    /// A volume on `storage`, with counters at zero.
    pub fn new(storage: impl Storage + 'static) -> Self {
        Self::with_lock_patience(storage, LOCK_PATIENCE)
    }

    /// The same, where a lock that is held is waited for so long.
    pub fn with_lock_patience(storage: impl Storage + 'static, lock_patience: Duration) -> Self {
        let (storage, counters) = (Box::new(storage), Counters::default());
        Self { shared: Arc::new(Shared { storage, counters, lock_patience, crew: OnceLock::new() }) }
    }

    /// A volume in memory with the given block size.
    pub fn in_memory(block_bytes: usize) -> Self {
        Self::new(MemoryStorage::new(block_bytes))
    }

    /// The alignment that takes the fast way.
    pub fn block_bytes(&self) -> usize {
        self.shared.storage.block_bytes()
    }

    /// Whether the device takes its time, so that callers should go on meanwhile.
    pub fn delays(&self) -> bool {
        self.shared.storage.delays()
    }

    /// How the bytes travel.
    pub fn describe(&self) -> String {
        self.shared.storage.describe()
    }

    /// All operations so far; subtract two to have those in between.
    pub fn counts(&self) -> IoCounts {
        self.shared.counters.snapshot()
    }

    /// Creates an empty file; the name must be free.
    pub fn create(&self, name: &str, kind: FileKind) -> Result<File, StorageError> {
        let id = self.shared.storage.create(name, kind.role()).map_err(failed("create", name, 0))?;
        Ok(self.file(id, name, kind))
    }

    /// Opens an existing file.
    pub fn open(&self, name: &str, kind: FileKind) -> Result<File, StorageError> {
        let id = self.shared.storage.open(name).map_err(failed("open", name, 0))?;
        Ok(self.file(id, name, kind))
    }

    /// Reads all requests at the depth of the device. One call, many outstanding operations.
    pub fn read(&self, requests: &mut [ReadRequest<'_>]) -> Result<(), StorageError> {
        let start = Instant::now();
        let mut outside: Vec<&mut ReadRequest<'_>> = Vec::with_capacity(requests.len());
        for request in &mut *requests {
            match &*request.file.kept() {
                Some(kept) => request.filled = copy_part(kept, request.offset, request.into),
                None => outside.push(request),
            }
        }
        if outside.is_empty() {
            return Ok(());
        }
        let mut extents: Vec<Extent<'_>> = outside
            .iter_mut()
            .map(|request| Extent {
                file: request.file.id,
                offset: request.offset,
                into: &mut *request.into,
                filled: 0,
            })
            .collect();
        let outcome = self.shared.storage.read(&mut extents);
        let filled: Vec<usize> = extents.iter().map(|extent| extent.filled).collect();
        if let (Err(source), Some(first)) = (outcome, outside.first()) {
            return Err(failed("read", &first.file.name, first.offset)(source));
        }
        let nanos = start.elapsed().as_nanos() as u64 / outside.len() as u64;
        for (request, filled) in outside.into_iter().zip(filled) {
            request.filled = filled;
            let (file, bytes) = (request.file, filled as u64);
            let access = access_class(&file.read_end, request.offset, bytes);
            self.shared.counters.add(file.kind, Direction::Read, access, bytes, nanos);
        }
        Ok(())
    }

    /// Renames a file, replacing what had the new name. Lasting only after [`Volume::sync_directory`].
    pub fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        self.shared.storage.rename(from, to).map_err(failed("rename", from, 0))
    }

    /// Removes a file. Lasting only after [`Volume::sync_directory`].
    pub fn remove(&self, name: &str) -> Result<(), StorageError> {
        self.shared.storage.remove(name).map_err(failed("remove", name, 0))
    }

    /// All names, sorted.
    pub fn list(&self) -> Result<Vec<String>, StorageError> {
        self.shared.storage.list().map_err(failed("list", ".", 0))
    }

    /// Makes creations, renames and removals so far last.
    pub fn sync_directory(&self) -> Result<(), StorageError> {
        let start = Instant::now();
        self.shared.storage.sync_directory().map_err(failed("sync", ".", 0))?;
        self.count_sync(FileKind::DIRECTORY, start);
        Ok(())
    }

    /// Takes the lock of this storage; fails with `WouldBlock` if it is still held after a little while. One that was just given back may be held a moment longer: by a child that a process is
    /// starting, until that runs its own program.
    pub fn lock(&self, hold: Hold) -> Result<Box<dyn Lock>, StorageError> {
        let deadline = Instant::now() + self.shared.lock_patience;
        loop {
            match self.shared.storage.lock(hold) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                outcome => return outcome.map_err(failed("lock", ".", 0)),
            }
        }
    }

    fn file(&self, id: FileId, name: &str, kind: FileKind) -> File {
        let (read_end, write_end) = (AtomicU64::new(0), AtomicU64::new(0));
        let (kept, unwritten) = (RwLock::new(None), AtomicBool::new(false));
        File { volume: self.clone(), id, name: name.into(), kind, read_end, write_end, kept, unwritten }
    }

    fn count_sync(&self, kind: FileKind, start: Instant) {
        let nanos = start.elapsed().as_nanos() as u64;
        self.shared.counters.add(kind, Direction::Sync, Access::Sequential, 0, nanos);
    }
}

impl File {
    /// The name under which it was created or opened.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it holds, for the counters.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// The volume it lies on.
    pub fn volume(&self) -> &Volume {
        &self.volume
    }

    /// Bytes in the file.
    pub fn size(&self) -> Result<u64, StorageError> {
        if let Some(content) = &*self.kept() {
            return Ok(content.len() as u64);
        }
        self.storage().size(self.id).map_err(failed("measure", &self.name, 0))
    }

    /// Reads at most `into.len()` bytes; fewer only where the file ends. One operation.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<usize, StorageError> {
        let mut request = [ReadRequest { file: self, offset, into, filled: 0 }];
        self.volume.read(&mut request)?;
        Ok(request[0].filled)
    }

    /// Reads exactly `into.len()` bytes, or fails.
    pub fn read_exact(&self, offset: u64, into: &mut [u8]) -> Result<(), StorageError> {
        let wanted = into.len();
        if self.read(offset, into)? < wanted {
            return Err(StorageError::short_read(self, offset));
        }
        Ok(())
    }

    /// Keeps the content in memory that is as large as it: from now on reads do not reach the device. Only for a file that no longer changes.
    pub fn keep_in_memory(&self, mut room: AlignedBuffer) -> Result<(), StorageError> {
        self.read_exact(0, &mut room)?;
        self.keep(room);
        Ok(())
    }

    /// Takes the whole content, of a file that is empty on the device, and keeps it in memory. It is written when it is [synced](File::sync) or [forgotten](File::forget_in_memory); if it is
    /// removed before that, it never is.
    pub fn hold(&self, content: AlignedBuffer) {
        self.unwritten.store(true, Ordering::Relaxed);
        self.keep(content);
    }

    fn keep(&self, content: AlignedBuffer) {
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(content));
    }

    /// Gives the memory of the content back: reads reach the device again.
    pub fn forget_in_memory(&self) -> Result<(), StorageError> {
        self.write_held()?;
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Writes content that is nowhere else.
    fn write_held(&self) -> Result<(), StorageError> {
        let kept = self.kept();
        let Some(content) = kept.as_deref().filter(|_| self.unwritten.load(Ordering::Relaxed)) else {
            return Ok(());
        };
        // Whole blocks go the fast way.
        let (blocks, rest) = content.split_at(content.len() - content.len() % self.volume.block_bytes());
        if !blocks.is_empty() {
            self.write(0, blocks)?;
        }
        if !rest.is_empty() {
            self.write(blocks.len() as u64, rest)?;
        }
        self.unwritten.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Whether the content is kept in memory.
    pub fn is_kept_in_memory(&self) -> bool {
        self.kept().is_some()
    }

    /// The content, if it is kept in memory.
    pub(crate) fn kept(&self) -> RwLockReadGuard<'_, Option<Box<AlignedBuffer>>> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes all bytes at `offset`. One operation.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let start = Instant::now();
        self.storage().write(self.id, offset, bytes).map_err(failed("write", &self.name, offset))?;
        let access = access_class(&self.write_end, offset, bytes.len() as u64);
        let nanos = start.elapsed().as_nanos() as u64;
        let counters = &self.volume.shared.counters;
        counters.add(self.kind, Direction::Write, access, bytes.len() as u64, nanos);
        Ok(())
    }

    /// Cuts the file, or grows it with zeros.
    pub fn resize(&self, bytes: u64) -> Result<(), StorageError> {
        self.storage().resize(self.id, bytes).map_err(failed("resize", &self.name, bytes))
    }

    /// Makes the content, as it is now, last. The name lasts after [`Volume::sync_directory`].
    pub fn sync(&self) -> Result<(), StorageError> {
        self.write_held()?;
        let start = Instant::now();
        self.storage().sync(self.id).map_err(failed("sync", &self.name, 0))?;
        self.volume.count_sync(self.kind, start);
        Ok(())
    }

    fn storage(&self) -> &dyn Storage {
        self.volume.shared.storage.as_ref()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.storage().close(self.id);
    }
}

/// Copies what there is of `content` from `offset` on; says how much.
fn copy_part(content: &[u8], offset: u64, into: &mut [u8]) -> usize {
    let from = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
    let count = into.len().min(content.len() - from);
    into[..count].copy_from_slice(&content[from..from + count]);
    count
}

fn failed(operation: &'static str, file: &str, offset: u64) -> impl FnOnce(io::Error) -> StorageError {
    let file = file.to_owned();
    move |source| StorageError { operation, file, offset, source }
}

/// Sequential if the operation starts where the last one of its direction ended.
fn access_class(end: &AtomicU64, offset: u64, bytes: u64) -> Access {
    let previous = end.swap(offset + bytes, Ordering::Relaxed);
    if previous == offset { Access::Sequential } else { Access::Random }
}
