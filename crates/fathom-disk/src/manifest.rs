//! What is committed? One file says so, and it changes all at once or not at all.
//!
//! A [`RunDirectory`] is a volume under a lock with a manifest: the list of files that count, and the caller's cursor. See "The
//! manifest" in the format document for the bytes and the order of steps.
//!
//! Invariants: a file named by the durable manifest is whole and durable; files are removed only after a durable manifest no
//! longer names them; everything else in the directory is garbage and is swept at opening.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64;

use crate::budget::Budget;
use crate::error::DiskError;
use crate::run::Tag;
use crate::sabotage::is_chosen;
use crate::storage::{FileKind, Hold, Lock, StorageError, Volume};

/// What one commit says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Number of the commit, from 1.
    pub sequence: u64,
    /// Model, property and options that change meaning.
    pub tag: Tag,
    /// The caller's own bytes.
    pub cursor: Vec<u8>,
    /// The files that count.
    pub files: Vec<CommittedFile>,
}

/// A file that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedFile {
    /// Its name.
    pub name: String,
    /// Its size; of a file that grows, how much of it counts.
    pub bytes: u64,
    /// Whether it may have grown since: a log that is cut back to its mark when it is taken up.
    pub grows: bool,
    /// The caller's own bytes about it (level, layer, partition).
    pub note: Vec<u8>,
}

/// A file that is to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Whether it will grow while this commit stands.
    pub grows: bool,
    /// The caller's own bytes about it.
    pub note: Vec<u8>,
}

/// A directory under lock, with what is committed in it.
#[derive(Debug)]
pub struct RunDirectory {
    volume: Volume,
    tag: Tag,
    committed: Option<Manifest>,
    _lock: Box<dyn Lock>,
}

const MAGIC: &[u8; 8] = b"FATHMAN1";
const VERSION: u32 = 1;
/// The file that says what the last commit was.
pub const NAME: &str = "manifest";
const NAME_NEW: &str = "manifest.new";
const NAME_BALLAST: &str = "ballast";
/// More than any search needs: sizes of sixty million layers, and more files than a process may open. What is larger is not read.
const BYTES_MAX: u64 = 64 << 20;
const FILES_MAX: u32 = 1 << 16;
/// Fixed bytes before the cursor.
const HEADER_BYTES: usize = 44;

impl RunDirectory {
    /// Takes the lock, for which it waits a little, reads the manifest, sweeps what it does not name, and checks that what it names is there.
    /// A directory without a manifest is emptied: nothing in it was committed.
    pub fn open(volume: &Volume, tag: Tag) -> Result<Self, DiskError> {
        Self::taken(volume, tag, None)
    }

    /// The same, with memory for the manifest from a budget: one that is larger than that is refused before it is read.
    pub fn open_within(volume: &Volume, tag: Tag, budget: &Budget) -> Result<Self, DiskError> {
        Self::taken(volume, tag, Some(budget))
    }

    fn taken(volume: &Volume, tag: Tag, budget: Option<&Budget>) -> Result<Self, DiskError> {
        let (directory, names) = Self::read(volume, tag, Hold::Alone, budget)?;
        directory.sweep(&names)?;
        directory.check_files()?;
        Ok(directory)
    }

    /// The same to look at it, while others may do so, too: nothing is swept, and nothing can be committed to a volume that is only read.
    pub fn look_at(volume: &Volume, tag: Tag) -> Result<Self, DiskError> {
        let (directory, _) = Self::read(volume, tag, Hold::Shared, None)?;
        directory.check_files()?;
        Ok(directory)
    }

    /// The same, with memory for the manifest from a budget.
    pub fn look_at_within(volume: &Volume, tag: Tag, budget: &Budget) -> Result<Self, DiskError> {
        let (directory, _) = Self::read(volume, tag, Hold::Shared, Some(budget))?;
        directory.check_files()?;
        Ok(directory)
    }

    fn read(
        volume: &Volume,
        tag: Tag,
        hold: Hold,
        budget: Option<&Budget>,
    ) -> Result<(Self, Vec<String>), DiskError> {
        let lock = volume.lock(hold)?;
        let names = volume.list()?;
        let is_there = names.iter().any(|name| name == NAME);
        // While it is read: whoever takes up what it says has that charged.
        let _reading = match budget.filter(|_| is_there) {
            Some(budget) => {
                let size = volume.open(NAME, FileKind::MANIFEST)?.size()?;
                // What is too large to be one is not read at all.
                let read = if size > BYTES_MAX { 0 } else { size as usize };
                Some(budget.charge("manifest", 2 * read)?)
            }
            None => None,
        };
        let committed = if is_there { Some(read_manifest(volume, tag)?) } else { None };
        Ok((Self { volume: volume.clone(), tag, committed, _lock: lock }, names))
    }

    /// Removes everything: first the manifest, and for good, so that what is left if this does not come to its end counts for nothing.
    /// The caller sees to it that nobody uses the volume.
    pub fn erase(volume: &Volume) -> Result<(), DiskError> {
        let mut names = volume.list()?;
        if names.iter().any(|name| name == NAME) {
            volume.remove(NAME)?;
            volume.sync_directory()?;
            names.retain(|name| name != NAME);
        }
        Ok(names.iter().try_for_each(|name| volume.remove(name))?)
    }

    /// Is anything committed in this volume? Does not take the lock, changes nothing.
    pub fn exists(volume: &Volume) -> Result<bool, DiskError> {
        Ok(volume.list()?.iter().any(|name| name == NAME))
    }

    /// The volume.
    pub fn volume(&self) -> &Volume {
        &self.volume
    }

    /// The last commit, if there is one.
    pub fn committed(&self) -> Option<&Manifest> {
        self.committed.as_ref()
    }

    /// Sets aside `bytes` of the device, to be given up when it is full. Without room for it there is none.
    pub fn set_ballast(&self, bytes: u64) -> Result<(), DiskError> {
        match self.write_ballast(bytes) {
            Err(error) if error.is_full() => {
                self.give_up_ballast();
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn write_ballast(&self, bytes: u64) -> Result<(), DiskError> {
        let file = match self.volume.open(NAME_BALLAST, FileKind::BALLAST) {
            Ok(file) => file,
            Err(_) => self.volume.create(NAME_BALLAST, FileKind::BALLAST)?,
        };
        // Zeros are written, not only promised by the size: a sparse file keeps no room.
        let zeros = [0; 4096];
        let mut offset = file.size()?;
        while offset < bytes {
            let length = (bytes - offset).min(zeros.len() as u64);
            file.write(offset, &zeros[..length as usize])?;
            offset += length;
        }
        Ok(file.sync()?)
    }

    /// Makes `files` (names and notes) and `cursor` what counts, at once. Every file must have been synced by its
    /// writer. When this returns, a crash finds this commit; files of the last one that are no longer named are gone.
    /// On a full device the ballast is given up and the commit tried once more.
    pub fn commit(&mut self, cursor: &[u8], files: &[Named]) -> Result<&Manifest, DiskError> {
        let manifest = self.next(cursor, files)?;
        if !is_chosen("fsync-2") {
            self.volume.sync_directory()?;
        }
        match self.write_manifest(&manifest) {
            Err(error) if error.is_full() && self.give_up_ballast() => self.write_manifest(&manifest)?,
            outcome => outcome?,
        }
        self.volume.rename(NAME_NEW, NAME)?;
        if !is_chosen("fsync-4") {
            self.volume.sync_directory()?;
        }
        let old = self.committed.replace(manifest);
        self.remove_unnamed(old)?;
        Ok(self.committed.as_ref().expect("it was just set"))
    }

    fn next(&self, cursor: &[u8], files: &[Named]) -> Result<Manifest, DiskError> {
        let sequence = self.committed.as_ref().map_or(0, |manifest| manifest.sequence) + 1;
        let files = files
            .iter()
            .map(|Named { name, grows, note }| {
                let bytes = self.volume.open(name, FileKind::MANIFEST)?.size()?;
                Ok(CommittedFile { name: name.clone(), bytes, grows: *grows, note: note.clone() })
            })
            .collect::<Result<_, StorageError>>()?;
        Ok(Manifest { sequence, tag: self.tag, cursor: cursor.to_vec(), files })
    }

    fn write_manifest(&self, manifest: &Manifest) -> Result<(), DiskError> {
        if self.volume.list()?.iter().any(|name| name == NAME_NEW) {
            self.volume.remove(NAME_NEW)?;
        }
        let bytes = manifest.to_bytes();
        if bytes.len() as u64 > BYTES_MAX || manifest.files.len() > FILES_MAX as usize {
            let what = "it would be larger than this build reads".to_owned();
            return Err(DiskError::Mismatch { file: NAME.to_owned(), what });
        }
        let file = self.volume.create(NAME_NEW, FileKind::MANIFEST)?;
        file.write(0, &bytes)?;
        if !is_chosen("fsync-3") {
            file.sync()?;
        }
        Ok(())
    }

    fn give_up_ballast(&self) -> bool {
        self.volume.remove(NAME_BALLAST).is_ok()
    }

    fn remove_unnamed(&self, old: Option<Manifest>) -> Result<(), DiskError> {
        let named = self.named();
        for file in old.map_or(Vec::new(), |manifest| manifest.files) {
            if !named.contains(file.name.as_str()) {
                self.volume.remove(&file.name)?;
            }
        }
        Ok(())
    }

    fn named(&self) -> BTreeSet<&str> {
        self.committed.iter().flat_map(|manifest| &manifest.files).map(|file| file.name.as_str()).collect()
    }

    fn sweep(&self, names: &[String]) -> Result<(), DiskError> {
        let named = self.named();
        for name in names {
            let ours = [NAME, NAME_BALLAST].contains(&name.as_str());
            if !ours && !named.contains(name.as_str()) {
                self.volume.remove(name)?;
            }
        }
        Ok(())
    }

    fn check_files(&self) -> Result<(), DiskError> {
        for file in self.committed.iter().flat_map(|manifest| &manifest.files) {
            let size = self.volume.open(&file.name, FileKind::MANIFEST)?.size()?;
            if size != file.bytes && !(file.grows && size > file.bytes) {
                let what = "its size is not that of the manifest";
                return Err(DiskError::Corrupt { file: file.name.clone(), offset: size, what });
            }
        }
        Ok(())
    }
}

impl Manifest {
    /// Whether a file of this name counts.
    pub fn names(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.name == name)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&length_u32(self.files.len()));
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.tag);
        bytes.extend_from_slice(&length_u32(self.cursor.len()));
        bytes.extend_from_slice(&self.cursor);
        for file in &self.files {
            let name = u16::try_from(file.name.len()).expect("a name is shorter than 64 KiB");
            bytes.extend_from_slice(&name.to_le_bytes());
            bytes.extend_from_slice(file.name.as_bytes());
            bytes.extend_from_slice(&file.bytes.to_le_bytes());
            bytes.push(u8::from(file.grows));
            bytes.extend_from_slice(&length_u32(file.note.len()));
            bytes.extend_from_slice(&file.note);
        }
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// Parses what `to_bytes` wrote and the checksum has vouched for; none if it makes no sense all the same.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = Fields(bytes.get(12..)?);
        let count = rest.u32().filter(|count| *count <= FILES_MAX)?;
        let sequence = rest.u64()?;
        let tag = rest.take(16)?.try_into().ok()?;
        let cursor_bytes = rest.u32()?;
        let cursor = rest.take(cursor_bytes as usize)?.to_vec();
        let mut files = Vec::new();
        for _ in 0..count {
            let name_bytes = u16::from_le_bytes(rest.take(2)?.try_into().ok()?);
            let name = String::from_utf8(rest.take(usize::from(name_bytes))?.to_vec()).ok()?;
            let bytes = rest.u64()?;
            let grows = match rest.take(1)? {
                [0] => false,
                [1] => true,
                _ => return None,
            };
            let note_bytes = rest.u32()?;
            files.push(CommittedFile { name, bytes, grows, note: rest.take(note_bytes as usize)?.to_vec() });
        }
        rest.0.is_empty().then_some(Self { sequence, tag, cursor, files })
    }
}

/// What is left of bytes that are being taken apart.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

fn read_manifest(volume: &Volume, tag: Tag) -> Result<Manifest, DiskError> {
    let file = volume.open(NAME, FileKind::MANIFEST)?;
    let corrupt = |what| DiskError::corrupt(&file, 0, what);
    let size = match file.size()? {
        size if size > BYTES_MAX => return Err(corrupt("the manifest is too large to be one")),
        size if size < HEADER_BYTES as u64 + 8 => return Err(corrupt("the manifest is too short")),
        size => size as usize,
    };
    let mut bytes = vec![0; size];
    file.read_exact(0, &mut bytes)?;
    let (content, checksum) = bytes.split_at(size - 8);
    if &content[..8] != MAGIC {
        return Err(corrupt("this is not a manifest"));
    }
    if xxh3_64(content).to_le_bytes() != checksum {
        return Err(corrupt("the manifest's checksum does not fit"));
    }
    let mismatch = |what: String| DiskError::Mismatch { file: NAME.to_owned(), what };
    let version = u32::from_le_bytes([content[8], content[9], content[10], content[11]]);
    if version != VERSION {
        return Err(mismatch(format!(
            "written in version {version} of the format, this build reads {VERSION}"
        )));
    }
    let manifest = Manifest::parse(content).ok_or_else(|| corrupt("the manifest makes no sense"))?;
    if manifest.tag != tag {
        return Err(mismatch("the run was made for another model, property or options".to_owned()));
    }
    Ok(manifest)
}

fn length_u32(length: usize) -> [u8; 4] {
    u32::try_from(length).expect("a manifest lists fewer than 2^32 things").to_le_bytes()
}
