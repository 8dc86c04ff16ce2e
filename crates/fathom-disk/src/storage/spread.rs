//! How do the files of one run lie on several devices?
//!
//! Where a file is created, its role says; what no part claims is on the first device. Where a file is that was created before, by whatever rules, the devices say: they are asked in turn, and no
//! two have a file of the same name. The lock is that of all parts. Directories of all parts are synced before that of the first, so that a manifest on it never names what is not there yet.

use std::io;

use super::{Extent, FileId, Hold, Lock, Role, Storage};

/// Several storages that look like one.
#[derive(Debug)]
pub struct SpreadStorage {
    /// The first one holds what no other claims.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    /// What is created on it.
    roles: &'static [Role],
    storage: Box<dyn Storage>,
}

#[derive(Debug)]
struct SpreadLock {
    _parts: Vec<Box<dyn Lock>>,
}

impl SpreadStorage {
    /// Everything on one device, so far.
    pub fn new(first: impl Storage + 'static) -> Self {
        Self { parts: vec![Part { roles: &[], storage: Box::new(first) }] }
    }

    /// Files of one of `roles` are created on another one.
    #[must_use]
    pub fn with(mut self, roles: &'static [Role], storage: impl Storage + 'static) -> Self {
        self.parts.push(Part { roles, storage: Box::new(storage) });
        self
    }

    /// Does something with a file on the device that has it, and says on which that was.
    fn find<T>(&self, attempt: impl Fn(&dyn Storage) -> io::Result<T>) -> io::Result<(usize, T)> {
        for (number, part) in self.parts.iter().enumerate() {
            match attempt(&*part.storage) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                outcome => return outcome.map(|done| (number, done)),
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// Fails if a device other than this one has a file of that name.
    fn check_free(&self, name: &str, except: usize) -> io::Result<()> {
        for (_, part) in self.parts.iter().enumerate().filter(|(number, _)| *number != except) {
            match part.storage.open(name) {
                Ok(file) => {
                    part.storage.close(file);
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn outer(&self, part: usize, file: FileId) -> FileId {
        FileId(file.0 * self.parts.len() as u64 + part as u64)
    }

    fn inner(&self, file: FileId) -> (&dyn Storage, FileId) {
        let count = self.parts.len() as u64;
        (&*self.parts[(file.0 % count) as usize].storage, FileId(file.0 / count))
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

    fn create(&self, name: &str, role: Role) -> io::Result<FileId> {
        let part = self.parts.iter().position(|part| part.roles.contains(&role)).unwrap_or(0);
        self.check_free(name, part)?;
        Ok(self.outer(part, self.parts[part].storage.create(name, role)?))
    }

    fn open(&self, name: &str) -> io::Result<FileId> {
        let (part, file) = self.find(|storage| storage.open(name))?;
        Ok(self.outer(part, file))
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
        let (part, file) = self.find(|storage| storage.open(from))?;
        let storage = &*self.parts[part].storage;
        storage.close(file);
        // What has the new name is replaced on the same device only.
        match self.check_free(to, part) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(io::ErrorKind::CrossesDevices.into())
            }
            outcome => outcome.and_then(|()| storage.rename(from, to)),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.find(|storage| storage.remove(name)).map(drop)
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
