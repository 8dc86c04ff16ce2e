//! What if the device fails, lies, fills up, or loses its power? The storage on which every promise is tested.
//!
//! It is a model of a disk with a volatile cache. For each file it knows what was synced and the writes since; for the
//! directory, the synced names and the changes since. A crash keeps what was synced and, of the rest, any part: each
//! write dropped, kept or torn at sector or byte, holes filled with zeros or rubbish; each name change dropped or kept, in any
//! order. (File systems promise more; what holds here holds there.)
//!
//! Operations are numbered from 0 over all calls of the trait but `close`, so a test can strike at each in turn. They stay in order, unless it is told to [delay](FaultyStorage::delaying): then
//! they are done aside like those of a slow device.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::memory::{Holders, copy_in, copy_out};
use super::{Extent, FileId, Hold, Lock, Role, Storage};

/// What goes wrong at the chosen operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails and does nothing.
    Fail,
    /// A read gives fewer bytes and calls it a success; a write does a part and fails; others fail.
    Short,
    /// A write lands in some sectors and not in others, and fails; others fail.
    Tear,
    /// It fails for want of room, and so does every later one that needs room, until a file is removed or cut.
    Full,
    /// One bit is wrong, in what is read or what is written, without any sign. Others are done as they should be.
    Flip,
    /// The power goes: this and all later operations fail. See [`FaultyStorage::after_crash`].
    Crash,
}

/// A disk that lies. Cloning gives another handle to the same.
#[derive(Clone, Debug)]
pub struct FaultyStorage {
    disk: Arc<Mutex<Disk>>,
    block_bytes: usize,
    delays: bool,
}

#[derive(Debug, Default)]
struct Disk {
    files: BTreeMap<u64, Inode>,
    names: BTreeMap<String, u64>,
    durable_names: BTreeMap<String, u64>,
    name_changes: Vec<NameChange>,
    open: HashMap<FileId, u64>,
    holders: Holders,
    next: u64,
    operations: u64,
    plan: Option<(u64, Fault)>,
    full: bool,
    crashed: bool,
    capacity: Option<usize>,
    random: Random,
}

#[derive(Clone, Debug, Default)]
struct Inode {
    content: Vec<u8>,
    durable: Vec<u8>,
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Resize { bytes: u64 },
}

#[derive(Clone, Debug)]
enum NameChange {
    Link { name: String, inode: u64 },
    Rename { from: String, to: String, inode: u64 },
    Unlink { name: String },
}

#[derive(Debug)]
struct FaultyLock {
    disk: Arc<Mutex<Disk>>,
    hold: Hold,
}

/// A small generator (splitmix64), so that every crash can be repeated from its seed.
#[derive(Clone, Debug, Default)]
struct Random(u64);

impl FaultyStorage {
    /// An empty disk without faults; `seed` decides how things tear and which bit flips.
    pub fn new(block_bytes: usize, seed: u64) -> Self {
        assert!(block_bytes.is_power_of_two(), "a block size is a power of two");
        let disk = Disk { random: Random(seed), ..Disk::default() };
        Self { disk: Arc::new(Mutex::new(disk)), block_bytes, delays: false }
    }

    /// The same disk, which says that it is slow: what is read ahead and written behind is done by threads of their own, so which operation has which number is a matter of timing.
    pub fn delaying(self) -> Self {
        Self { delays: true, ..self }
    }

    /// Strikes at the `operation`-th operation from now (0 is the next).
    pub fn strike(&self, operation: u64, fault: Fault) {
        let mut disk = self.disk();
        disk.plan = Some((disk.operations + operation, fault));
    }

    /// Bounds the bytes in all files; writes beyond it fail for want of room.
    pub fn set_capacity(&self, bytes: usize) {
        self.disk().capacity = Some(bytes);
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.disk().operations
    }

    /// Has the chosen fault happened?
    pub fn struck(&self) -> bool {
        let disk = self.disk();
        disk.plan.is_some_and(|(operation, _)| disk.operations > operation)
    }

    /// The disk as the next process finds it: what was synced, and any part of the rest, as `seed` decides. No faults
    /// are planned, no locks held, no files open. This disk is left as it is.
    pub fn after_crash(&self, seed: u64) -> Self {
        let disk = self.disk();
        let mut random = Random(seed);
        let names = surviving_names(&disk.durable_names, &disk.name_changes, &mut random);
        let mut files = BTreeMap::new();
        for inode in names.values() {
            let old = &disk.files[inode];
            let content = surviving_content(&old.durable, &old.changes, &mut random);
            files.insert(*inode, Inode { durable: content.clone(), content, changes: Vec::new() });
        }
        let disk = Disk {
            files,
            durable_names: names.clone(),
            names,
            next: disk.next,
            capacity: disk.capacity,
            random,
            ..Disk::default()
        };
        Self { disk: Arc::new(Mutex::new(disk)), block_bytes: self.block_bytes, delays: self.delays }
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for FaultyStorage {
    fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    fn delays(&self) -> bool {
        self.delays
    }

    fn describe(&self) -> String {
        "memory that fails on purpose".to_owned()
    }

    fn create(&self, name: &str, _: Role) -> io::Result<FileId> {
        let mut disk = self.disk();
        disk.plain_operation(true)?;
        if disk.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        disk.next += 1;
        let inode = disk.next;
        disk.files.insert(inode, Inode::default());
        disk.names.insert(name.to_owned(), inode);
        disk.name_changes.push(NameChange::Link { name: name.to_owned(), inode });
        Ok(disk.opened(inode))
    }

    fn open(&self, name: &str) -> io::Result<FileId> {
        let mut disk = self.disk();
        disk.plain_operation(false)?;
        let inode = *disk.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(disk.opened(inode))
    }

    fn close(&self, file: FileId) {
        self.disk().open.remove(&file);
    }

    fn size(&self, file: FileId) -> io::Result<u64> {
        let mut disk = self.disk();
        disk.plain_operation(false)?;
        Ok(disk.inode(file)?.content.len() as u64)
    }

    fn read(&self, extents: &mut [Extent<'_>]) -> io::Result<()> {
        let mut disk = self.disk();
        for extent in extents {
            let fault = disk.operation()?;
            let content = &disk.inode(extent.file)?.content;
            extent.filled = copy_out(content, extent.offset, extent.into);
            match fault {
                Some(Fault::Fail | Fault::Tear | Fault::Full) => {
                    return Err(io::Error::other("read failed on purpose"));
                }
                Some(Fault::Short) => extent.filled = disk.random.below(extent.filled as u64 + 1) as usize,
                Some(Fault::Flip) => disk.random.flip_bit(&mut extent.into[..extent.filled]),
                Some(Fault::Crash) | None => {}
            }
        }
        Ok(())
    }

    fn write(&self, file: FileId, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.disk();
        let fault = disk.operation()?;
        let growth = (offset as usize + bytes.len()).saturating_sub(disk.inode(file)?.content.len());
        disk.check_room(growth)?;
        let mut bytes = bytes.to_vec();
        let parts = match fault {
            Some(Fault::Fail | Fault::Full) => Vec::new(),
            Some(Fault::Short) => {
                bytes.truncate(disk.random.below(bytes.len() as u64 + 1) as usize);
                vec![(offset, bytes)]
            }
            Some(Fault::Tear) => torn(offset, &bytes, &mut disk.random),
            Some(Fault::Flip) => {
                disk.random.flip_bit(&mut bytes);
                vec![(offset, bytes)]
            }
            Some(Fault::Crash) | None => vec![(offset, bytes)],
        };
        let inode = disk.inode(file)?;
        for (offset, bytes) in parts {
            copy_in(&mut inode.content, offset, &bytes);
            inode.changes.push(Change::Write { offset, bytes });
        }
        match fault {
            None | Some(Fault::Flip | Fault::Crash) => Ok(()),
            Some(Fault::Full) => Err(io::ErrorKind::StorageFull.into()),
            Some(_) => Err(io::Error::other("write failed on purpose")),
        }
    }

    fn resize(&self, file: FileId, bytes: u64) -> io::Result<()> {
        let mut disk = self.disk();
        let growth = (bytes as usize).saturating_sub(disk.inode(file)?.content.len());
        disk.plain_operation(growth > 0)?;
        disk.check_room(growth)?;
        disk.full &= growth > 0;
        let inode = disk.inode(file)?;
        inode.content.resize(bytes as usize, 0);
        inode.changes.push(Change::Resize { bytes });
        Ok(())
    }

    fn sync(&self, file: FileId) -> io::Result<()> {
        let mut disk = self.disk();
        disk.plain_operation(false)?;
        let inode = disk.inode(file)?;
        inode.durable.clone_from(&inode.content);
        inode.changes.clear();
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.plain_operation(false)?;
        let inode = disk.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        disk.names.insert(to.to_owned(), inode);
        disk.name_changes.push(NameChange::Rename { from: from.to_owned(), to: to.to_owned(), inode });
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.plain_operation(false)?;
        disk.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        disk.name_changes.push(NameChange::Unlink { name: name.to_owned() });
        disk.full = false;
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut disk = self.disk();
        disk.plain_operation(false)?;
        Ok(disk.names.keys().cloned().collect())
    }

    fn sync_directory(&self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.plain_operation(false)?;
        disk.durable_names = disk.names.clone();
        disk.name_changes.clear();
        Ok(())
    }

    fn lock(&self, hold: Hold) -> io::Result<Box<dyn Lock>> {
        let mut disk = self.disk();
        disk.plain_operation(false)?;
        disk.holders.add(hold)?;
        Ok(Box::new(FaultyLock { disk: self.disk.clone(), hold }))
    }
}

impl Lock for FaultyLock {}

impl Drop for FaultyLock {
    fn drop(&mut self) {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner).holders.remove(self.hold);
    }
}

impl Disk {
    /// Counts one operation and says which fault, if any, is due.
    fn operation(&mut self) -> io::Result<Option<Fault>> {
        let number = self.operations;
        self.operations += 1;
        let fault = self.plan.filter(|&(operation, _)| operation == number).map(|(_, fault)| fault);
        self.crashed |= fault == Some(Fault::Crash);
        self.full |= fault == Some(Fault::Full);
        if self.crashed {
            return Err(io::Error::other("the power is off"));
        }
        Ok(fault)
    }

    /// An operation without bytes: done wholly or not at all.
    fn plain_operation(&mut self, needs_room: bool) -> io::Result<()> {
        match self.operation()? {
            Some(Fault::Fail | Fault::Short | Fault::Tear) => Err(io::Error::other("failed on purpose")),
            _ if needs_room && self.full => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    fn check_room(&mut self, growth: usize) -> io::Result<()> {
        let used: usize = self.names.values().map(|inode| self.files[inode].content.len()).sum();
        let over = self.capacity.is_some_and(|capacity| used + growth > capacity);
        if growth > 0 && (self.full || over) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn opened(&mut self, inode: u64) -> FileId {
        self.next += 1;
        self.open.insert(FileId(self.next), inode);
        FileId(self.next)
    }

    fn inode(&mut self, file: FileId) -> io::Result<&mut Inode> {
        let inode = self.open.get(&file).ok_or(io::ErrorKind::InvalidInput)?;
        self.files.get_mut(inode).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Of the name changes since the last sync: none, all, the first few, or any of them.
fn surviving_names(
    durable: &BTreeMap<String, u64>,
    changes: &[NameChange],
    random: &mut Random,
) -> BTreeMap<String, u64> {
    let mut names = durable.clone();
    let mood = random.below(4);
    let cut = random.below(changes.len() as u64 + 1) as usize;
    for (index, change) in changes.iter().enumerate() {
        let kept = match mood {
            0 => false,
            1 => true,
            2 => index < cut,
            _ => random.below(2) == 0,
        };
        if !kept {
            continue;
        }
        match change {
            NameChange::Link { name, inode } => {
                names.insert(name.clone(), *inode);
            }
            NameChange::Rename { from, to, inode } => {
                names.remove(from);
                names.insert(to.clone(), *inode);
            }
            NameChange::Unlink { name } => {
                names.remove(name);
            }
        }
    }
    names
}

/// Of the writes since the last sync: none, all, the first few, or any of them, whole or torn.
fn surviving_content(durable: &[u8], changes: &[Change], random: &mut Random) -> Vec<u8> {
    let mut content = durable.to_vec();
    let mood = random.below(4);
    let cut = random.below(changes.len() as u64 + 1) as usize;
    for (index, change) in changes.iter().enumerate() {
        let (kept, tears) = match mood {
            0 => (false, false),
            1 => (true, false),
            2 => (index <= cut, index == cut),
            _ => (random.below(3) > 0, random.below(2) == 0),
        };
        match change {
            Change::Write { offset, bytes } if kept && tears => {
                for (offset, bytes) in torn(*offset, bytes, random) {
                    fill_hole(&mut content, offset as usize, random);
                    copy_in(&mut content, offset, &bytes);
                }
            }
            Change::Write { offset, bytes } if kept => {
                fill_hole(&mut content, *offset as usize, random);
                copy_in(&mut content, *offset, bytes);
            }
            Change::Resize { bytes } if kept => {
                fill_hole(&mut content, *bytes as usize, random);
                content.truncate(*bytes as usize);
            }
            Change::Write { .. } | Change::Resize { .. } => {}
        }
    }
    content
}

/// Grows `content` to `length` with zeros or with what lay on the disk before.
fn fill_hole(content: &mut Vec<u8>, length: usize, random: &mut Random) {
    let rubbish = random.below(2) == 0;
    while content.len() < length {
        content.push(if rubbish { random.next() as u8 } else { 0 });
    }
}

/// Some pieces of a write: cut at sectors (of 64 bytes here, to tear small files too) or at one byte.
fn torn(offset: u64, bytes: &[u8], random: &mut Random) -> Vec<(u64, Vec<u8>)> {
    if random.below(2) == 0 {
        let cut = random.below(bytes.len() as u64 + 1) as usize;
        return vec![(offset, bytes[..cut].to_vec())];
    }
    let sectors = bytes.chunks(64).enumerate().filter(|_| random.below(2) == 0);
    sectors.map(|(index, sector)| (offset + index as u64 * 64, sector.to_vec())).collect()
}

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn flip_bit(&mut self, bytes: &mut [u8]) {
        if !bytes.is_empty() {
            let bit = self.below(bytes.len() as u64 * 8) as usize;
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
