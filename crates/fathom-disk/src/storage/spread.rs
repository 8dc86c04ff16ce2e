//! How do the files of one run lie on several devices?
//!
//! A name says where its file lies; whatever no part claims is on the first device. The lock is that of all parts. Directories of all parts are synced before that of the first, so that a manifest on it never
//! names what is not there yet.

use std::io;

use super::{Extent, FileId, Hold, Lock, Storage};

/// Several storages that look like one.
#[derive(Debug)]
pub struct SpreadStorage {
    /// The first one holds what no other claims.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    /// What names of its files begin with.
    prefixes: &'static [&'static str],
    storage: Box<dyn Storage>,
}

#[derive(Debug)]
struct SpreadLock {
    _parts: Vec<Box<dyn Lock>>,
}

impl SpreadStorage {
    /// Everything on one device, so far.
    pub fn new(first: impl Storage + 'static) -> Self {
        Self { parts: vec![Part { prefixes: &[], storage: Box::new(first) }] }
    }

    /// Files whose names begin with one of `prefixes` lie on another one. They are never renamed.
    #[must_use]
    pub fn with(mut self, prefixes: &'static [&'static str], storage: impl Storage + 'static) -> Self {
        self.parts.push(Part { prefixes, storage: Box::new(storage) });
        self
    }

    fn part_of(&self, name: &str) -> usize {
        let claims = |part: &Part| part.prefixes.iter().any(|prefix| name.starts_with(prefix));
        self.parts.iter().position(claims).unwrap_or(0)
    }

    fn outer(&self, part: usize, file: FileId) -> FileId {
        FileId(file.0 * self.parts.len() as u64 + part as u64)
    }

    fn inner(&self, file: FileId) -> (&dyn Storage, FileId) {
        let count = self.parts.len() as u64;
        (&*self.parts[(file.0 % count) as usize].storage, FileId(file.0 / count))
    }

    fn named(&self, name: &str) -> &dyn Storage {
        &*self.parts[self.part_of(name)].storage
    }
}

impl Storage for SpreadStorage {
    fn block_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.storage.block_bytes()).max().unwrap_or(1)
    }

    fn delays(&self) -> bool {
        self.parts.iter().any(|part| part.storage.delays())
    }

    fn describe(&self) -> String {
        let each: Vec<String> = self.parts.iter().map(|part| part.storage.describe()).collect();
        each.join(" and ")
    }

    fn create(&self, name: &str) -> io::Result<FileId> {
        Ok(self.outer(self.part_of(name), self.named(name).create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<FileId> {
        Ok(self.outer(self.part_of(name), self.named(name).open(name)?))
    }

    fn close(&self, file: FileId) {
        let (storage, file) = self.inner(file);
        storage.close(file);
    }

    fn size(&self, file: FileId) -> io::Result<u64> {
        let (storage, file) = self.inner(file);
        storage.size(file)
    }

    fn read(&self, extents: &mut [Extent<'_>]) -> io::Result<()> {
        let count = self.parts.len() as u64;
        for (number, part) in self.parts.iter().enumerate() {
            let mut ours: Vec<&mut Extent<'_>> =
                extents.iter_mut().filter(|extent| extent.file.0 % count == number as u64).collect();
            let mut inner: Vec<Extent<'_>> = ours
                .iter_mut()
                .map(|extent| Extent {
                    file: FileId(extent.file.0 / count),
                    offset: extent.offset,
                    into: &mut *extent.into,
                    filled: 0,
                })
                .collect();
            if inner.is_empty() {
                continue;
            }
            part.storage.read(&mut inner)?;
            let filled: Vec<usize> = inner.iter().map(|extent| extent.filled).collect();
            ours.into_iter().zip(filled).for_each(|(extent, filled)| extent.filled = filled);
        }
        Ok(())
    }

    fn write(&self, file: FileId, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (storage, file) = self.inner(file);
        storage.write(file, offset, bytes)
    }

    fn resize(&self, file: FileId, bytes: u64) -> io::Result<()> {
        let (storage, file) = self.inner(file);
        storage.resize(file, bytes)
    }

    fn sync(&self, file: FileId) -> io::Result<()> {
        let (storage, file) = self.inner(file);
        storage.sync(file)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        if self.part_of(from) != self.part_of(to) {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        self.named(from).rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.named(name).remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for part in &self.parts {
            names.extend(part.storage.list()?);
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.parts.iter().rev().try_for_each(|part| part.storage.sync_directory())
    }

    fn lock(&self, hold: Hold) -> io::Result<Box<dyn Lock>> {
        let parts = self.parts.iter().map(|part| part.storage.lock(hold)).collect::<io::Result<_>>()?;
        Ok(Box::new(SpreadLock { _parts: parts }))
    }
}

impl Lock for SpreadLock {}
