//! What does a search folder tell whoever looks at it from outside: how far is the search, or what came of it?
//!
//! `status.MARK` beside `run.json`: bytes that are published whole, again and again, and read by whoever does not hold the folder. No search depends on it: it is not synced, and what cannot be written
//! is no reason to end one.

use std::io::{self, Write};
use std::sync::Arc;

use fathom_disk::storage::{File, FileKind, FileStorage, Folder, Mark, StorageError, Volume};

/// Where word is left. The folder is held as long as this is there.
#[derive(Clone, Debug)]
pub struct StatusFile {
    root: Volume,
    _held: Arc<dyn std::fmt::Debug + Send + Sync>,
}

const NAME: &str = "status";
const NEW: &str = "status-new";
/// No status is read that is larger.
const BYTES_MAX: u64 = 64 << 20;
/// What is gathered before it is written.
const PIECE_BYTES: usize = 64 << 10;

impl StatusFile {
    pub(crate) fn new(
        folder: &Folder,
        mark: Mark,
        held: Arc<dyn std::fmt::Debug + Send + Sync>,
    ) -> StatusFile {
        StatusFile { root: marked(folder, mark), _held: held }
    }

    /// Publishes what `fill` writes, in place of what was there; all of it or nothing.
    ///
    /// # Errors
    /// What `fill` or the device says; what was there stays.
    pub fn publish(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        // A search that was killed may have left one.
        let _ = self.root.remove(NEW);
        let file = self.root.create(NEW, FileKind::MANIFEST).map_err(io::Error::other)?;
        let mut out = io::BufWriter::with_capacity(PIECE_BYTES, Growing { file, bytes: 0 });
        fill(&mut out)?;
        out.flush()?;
        self.root.rename(NEW, NAME).map_err(io::Error::other)
    }
}

/// Removes all that was published.
pub(crate) fn remove(folder: &Folder, mark: Mark) -> Result<(), StorageError> {
    let root = marked(folder, mark);
    root.list()?.iter().filter(|name| [NAME, NEW].contains(&&***name)).try_for_each(|name| root.remove(name))
}

fn marked(folder: &Folder, mark: Mark) -> Volume {
    Volume::new(FileStorage::buffered(folder.clone(), Some(mark)))
}

/// What was published last; nothing if it is larger than anything that is.
pub(crate) fn read(root: &Volume) -> Result<Option<Vec<u8>>, StorageError> {
    let file = match root.open(NAME, FileKind::MANIFEST) {
        Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
        outcome => outcome?,
    };
    let size = file.size()?;
    if size > BYTES_MAX {
        return Ok(None);
    }
    let mut bytes = vec![0; size as usize];
    file.read_exact(0, &mut bytes)?;
    Ok(Some(bytes))
}

/// A file that is written from its beginning to its end.
struct Growing {
    file: File,
    bytes: u64,
}

impl Write for Growing {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.file.write(self.bytes, piece).map_err(io::Error::other)?;
        self.bytes += piece.len() as u64;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
