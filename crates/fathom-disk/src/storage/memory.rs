//! What if the device were memory? The plain model of a storage, for tests and for runs without a disk.
//!
//! Everything is durable at once; nothing fails but what must (missing names, taken locks).

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Extent, FileId, Hold, Lock, Role, Storage};

/// Files in memory. Cloning gives another handle to the same files, as opening a directory twice does.
#[derive(Clone, Debug)]
pub struct MemoryStorage {
    files: Arc<Mutex<Files>>,
    block_bytes: usize,
    delays: bool,
}

#[derive(Debug, Default)]
struct Files {
    names: BTreeMap<String, Arc<Mutex<Vec<u8>>>>,
    open: HashMap<FileId, Arc<Mutex<Vec<u8>>>>,
    holders: Holders,
    next: u64,
}

#[derive(Debug)]
struct MemoryLock {
    files: Arc<Mutex<Files>>,
    hold: Hold,
}

/// Who holds a storage that only this process knows.
#[derive(Debug, Default)]
pub(super) struct Holders {
    alone: bool,
    shared: usize,
}

impl MemoryStorage {
    /// An empty storage that asks for blocks of `block_bytes` (a power of two; any alignment works).
    pub fn new(block_bytes: usize) -> Self {
        assert!(block_bytes.is_power_of_two(), "a block size is a power of two");
        Self { files: Arc::default(), block_bytes, delays: false }
    }

    /// The same, but it says that it takes its time: operations aside are left to other threads.
    pub fn slow(block_bytes: usize) -> Self {
        Self { delays: true, ..Self::new(block_bytes) }
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        held(&self.files)
    }

    fn content(&self, file: FileId) -> io::Result<Arc<Mutex<Vec<u8>>>> {
        self.files().open.get(&file).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
    }
}

impl Storage for MemoryStorage {
    fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    fn delays(&self) -> bool {
        self.delays
    }

    fn describe(&self) -> String {
        "memory".to_owned()
    }

    fn create(&self, name: &str, _: Role) -> io::Result<FileId> {
        let mut files = self.files();
        if files.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let content = Arc::new(Mutex::new(Vec::new()));
        files.names.insert(name.to_owned(), content.clone());
        Ok(files.opened(content))
    }

    fn open(&self, name: &str) -> io::Result<FileId> {
        let mut files = self.files();
        let content = files.names.get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(files.opened(content))
    }

    fn close(&self, file: FileId) {
        self.files().open.remove(&file);
    }

    fn size(&self, file: FileId) -> io::Result<u64> {
        Ok(held(&*self.content(file)?).len() as u64)
    }

    fn read(&self, extents: &mut [Extent<'_>]) -> io::Result<()> {
        for extent in extents {
            let content = self.content(extent.file)?;
            extent.filled = copy_out(&held(&content), extent.offset, extent.into);
        }
        Ok(())
    }

    fn write(&self, file: FileId, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let content = self.content(file)?;
        copy_in(&mut held(&content), offset, bytes);
        Ok(())
    }

    fn resize(&self, file: FileId, bytes: u64) -> io::Result<()> {
        held(&*self.content(file)?).resize(bytes as usize, 0);
        Ok(())
    }

    fn sync(&self, file: FileId) -> io::Result<()> {
        self.content(file).map(drop)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files();
        let content = files.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.names.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files().names.remove(name).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files().names.keys().cloned().collect())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, hold: Hold) -> io::Result<Box<dyn Lock>> {
        self.files().holders.add(hold)?;
        Ok(Box::new(MemoryLock { files: self.files.clone(), hold }))
    }
}

impl Files {
    fn opened(&mut self, content: Arc<Mutex<Vec<u8>>>) -> FileId {
        self.next += 1;
        self.open.insert(FileId(self.next), content);
        FileId(self.next)
    }
}

impl Lock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        held(&self.files).holders.remove(self.hold);
    }
}

impl Holders {
    /// `WouldBlock` if others hold it so that this cannot be.
    pub(super) fn add(&mut self, hold: Hold) -> io::Result<()> {
        match hold {
            _ if self.alone => return Err(io::ErrorKind::WouldBlock.into()),
            Hold::Alone if self.shared > 0 => return Err(io::ErrorKind::WouldBlock.into()),
            Hold::Alone => self.alone = true,
            Hold::Shared => self.shared += 1,
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, hold: Hold) {
        match hold {
            Hold::Alone => self.alone = false,
            Hold::Shared => self.shared -= 1,
        }
    }
}

/// Copies what there is of `content` at `offset`; says how many bytes.
pub(super) fn copy_out(content: &[u8], offset: u64, into: &mut [u8]) -> usize {
    let start = (offset as usize).min(content.len());
    let count = into.len().min(content.len() - start);
    into[..count].copy_from_slice(&content[start..start + count]);
    count
}

/// Writes into `content`, growing it with zeros.
pub(super) fn copy_in(content: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let start = offset as usize;
    if bytes.is_empty() {
        return;
    }
    if content.len() < start + bytes.len() {
        content.resize(start + bytes.len(), 0);
    }
    content[start..start + bytes.len()].copy_from_slice(bytes);
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
