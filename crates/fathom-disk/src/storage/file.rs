//! How do bytes get to a real disk? Files of one directory, past the page cache where the file system allows it.
//!
//! The directory is a [`Folder`]: nothing outside it is reached. With a [`Mark`], names in the directory end in it, and files without it are not there for us.
//!
//! Each file has up to two descriptors: one opened with `O_DIRECT` for requests whose offset, length and memory are
//! aligned to 4 KiB, one buffered for the rest. The kernel keeps them coherent. Batches of direct reads go through
//! a ring of the kernel, or where that is forbidden through a crew of threads; which it is was decided at
//! opening by trying, and is reported.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;

use rustix::fs::OFlags;

use super::direct::ring::{Ring, RingRead};
use super::{AlignedBuffer, Extent, FileId, Folder, Hold, Lock, Mark, Role, Storage};
use crate::budget::Budget;

/// Alignment of direct requests.
const BLOCK_BYTES: usize = 4096;
/// Threads of the crew that reads a batch where there is no ring.
const CREW_THREADS: usize = 16;

/// How batches of reads travel. `auto` picks the first that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// `O_DIRECT` and a submission ring.
    Ring,
    /// `O_DIRECT` and a crew of threads.
    Threads,
    /// The page cache and a crew of threads.
    Buffered,
}

/// The files of one directory, or those of them with a mark.
#[derive(Debug)]
pub struct FileStorage {
    folder: Folder,
    mark: Option<Mark>,
    /// How files are opened that are there.
    access: OFlags,
    transport: Transport,
    open: RwLock<HashMap<FileId, Arc<OpenFile>>>,
    rings: Mutex<Vec<Ring>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct OpenFile {
    direct: Option<fs::File>,
    buffered: fs::File,
}

impl FileStorage {
    /// Uses `directory` (created if missing) in the best way that works there: each is tried before it is chosen.
    pub fn auto(directory: &Path) -> io::Result<Self> {
        Ok(Self::within(Folder::create(directory)?, None))
    }

    /// Uses `directory` (created if missing) in the given way; fails later if that does not work there.
    pub fn with_transport(directory: &Path, transport: Transport) -> io::Result<Self> {
        Ok(Self::new(Folder::create(directory)?, None, OFlags::RDWR, transport))
    }

    /// Uses a folder in the best way that works there, for the files with a mark, if there is one.
    pub fn within(folder: Folder, mark: Option<Mark>) -> Self {
        let transport = transport_for(writes_past_the_cache(&folder).is_ok());
        Self::new(folder, mark, OFlags::RDWR, transport)
    }

    /// The same by way of the page cache, for a few small files: nothing is tried.
    pub fn buffered(folder: Folder, mark: Option<Mark>) -> Self {
        Self::new(folder, mark, OFlags::RDWR, Transport::Buffered)
    }

    /// The files with a mark, or all, to be read: nothing is changed in the folder, which may be one that cannot be.
    pub fn read_only(folder: Folder, mark: Option<Mark>) -> Self {
        let storage = Self::new(folder, mark, OFlags::RDONLY, Transport::Buffered);
        // Without a mark any file may be somebody else's: none is tried.
        let direct = mark.is_some() && storage.reads_past_the_cache().is_ok();
        Self { transport: transport_for(direct), ..storage }
    }

    fn new(folder: Folder, mark: Option<Mark>, access: OFlags, transport: Transport) -> Self {
        let (open, rings, next) = (RwLock::default(), Mutex::default(), AtomicU64::new(1));
        Self { folder, mark, access, transport, open, rings, next }
    }

    /// How batches travel here.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// The name of a file in the folder.
    fn on_disk(&self, name: &str) -> io::Result<String> {
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a name is flat and does not start with a dot",
            ));
        }
        Ok(self.mark.map_or_else(|| name.to_owned(), |mark| mark.on_disk(name)))
    }

    fn may_change(&self) -> io::Result<()> {
        if self.access == OFlags::RDWR { Ok(()) } else { Err(io::ErrorKind::ReadOnlyFilesystem.into()) }
    }

    fn opened(&self, on_disk: &str, buffered: fs::File) -> io::Result<FileId> {
        let direct = match self.transport {
            Transport::Buffered => None,
            Transport::Ring | Transport::Threads => {
                Some(self.folder.open_file(on_disk, self.access | OFlags::DIRECT)?)
            }
        };
        let id = FileId(self.next.fetch_add(1, Ordering::Relaxed));
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        open.insert(id, Arc::new(OpenFile { direct, buffered }));
        Ok(id)
    }

    /// Reads one block of a file that is there past the page cache.
    fn reads_past_the_cache(&self) -> io::Result<()> {
        let name = self.list()?.into_iter().next().ok_or(io::ErrorKind::NotFound)?;
        let file = self.folder.open_file(&self.on_disk(&name)?, OFlags::RDONLY | OFlags::DIRECT)?;
        file.read_at(&mut probe_block()?, 0).map(drop)
    }

    fn file(&self, id: FileId) -> io::Result<Arc<OpenFile>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.get(&id).cloned().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    fn read_ring(&self, files: &[Arc<OpenFile>], extents: &mut [Extent<'_>]) -> io::Result<()> {
        let pooled = self.rings.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut ring = pooled.map_or_else(Ring::new, Ok)?;
        let mut reads: Vec<RingRead<'_>> = files
            .iter()
            .zip(extents.iter_mut())
            .map(|(file, extent)| RingRead {
                descriptor: file.for_request(extent.offset, extent.into).as_raw_fd(),
                offset: extent.offset,
                into: &mut *extent.into,
                result: 0,
            })
            .collect();
        ring.read(&mut reads)?;
        let results: Vec<i32> = reads.iter().map(|read| read.result).collect();
        self.rings.lock().unwrap_or_else(PoisonError::into_inner).push(ring);
        for ((extent, file), result) in extents.iter_mut().zip(files).zip(results) {
            if result < 0 {
                return Err(io::Error::from_raw_os_error(-result));
            }
            extent.filled = result as usize;
            if extent.filled < extent.into.len() {
                file.read_rest(extent)?;
            }
        }
        Ok(())
    }
}

impl Storage for FileStorage {
    fn block_bytes(&self) -> usize {
        BLOCK_BYTES
    }

    fn delays(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        let how = match self.transport {
            Transport::Ring => "O_DIRECT, io_uring",
            Transport::Threads => "O_DIRECT, threads",
            Transport::Buffered => "page cache, threads",
        };
        format!("files, {how}")
    }

    fn create(&self, name: &str, _: Role) -> io::Result<FileId> {
        self.may_change()?;
        let on_disk = self.on_disk(name)?;
        let buffered = self.folder.create_file(&on_disk)?;
        self.opened(&on_disk, buffered)
    }

    fn open(&self, name: &str) -> io::Result<FileId> {
        let on_disk = self.on_disk(name)?;
        let buffered = self.folder.open_file(&on_disk, self.access)?;
        self.opened(&on_disk, buffered)
    }

    fn close(&self, file: FileId) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&file);
    }

    fn size(&self, file: FileId) -> io::Result<u64> {
        Ok(self.file(file)?.buffered.metadata()?.len())
    }

    fn read(&self, extents: &mut [Extent<'_>]) -> io::Result<()> {
        let files = extents.iter().map(|extent| self.file(extent.file)).collect::<io::Result<Vec<_>>>()?;
        if extents.len() == 1 {
            extents[0].filled = 0;
            return files[0].read_rest(&mut extents[0]);
        }
        match self.transport {
            Transport::Ring => self.read_ring(&files, extents),
            Transport::Threads | Transport::Buffered => read_crew(&files, extents),
        }
    }

    fn write(&self, file: FileId, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file(file)?.for_request(offset, bytes).write_all_at(bytes, offset)
    }

    fn resize(&self, file: FileId, bytes: u64) -> io::Result<()> {
        self.file(file)?.buffered.set_len(bytes)
    }

    fn sync(&self, file: FileId) -> io::Result<()> {
        self.file(file)?.buffered.sync_data()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.may_change()?;
        self.folder.rename(&self.on_disk(from)?, &self.on_disk(to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.may_change()?;
        self.folder.remove_file(&self.on_disk(name)?)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let names = self.folder.files()?;
        let Some(mark) = self.mark else { return Ok(names) };
        let mut ours: Vec<String> = names
            .iter()
            .filter_map(|name| mark.strip(name))
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        ours.sort_unstable();
        Ok(ours)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.may_change()?;
        self.folder.sync()
    }

    fn lock(&self, hold: Hold) -> io::Result<Box<dyn Lock>> {
        self.folder.lock(hold)
    }
}

impl OpenFile {
    /// The descriptor that suits a request: direct if everything about it is aligned.
    fn for_request(&self, offset: u64, memory: &[u8]) -> &fs::File {
        let aligned = |value: usize| value.is_multiple_of(BLOCK_BYTES);
        match &self.direct {
            Some(direct)
                if aligned(offset as usize) && aligned(memory.len()) && aligned(memory.as_ptr() as usize) =>
            {
                direct
            }
            _ => &self.buffered,
        }
    }

    /// Reads on from `extent.filled` to the end of the extent or of the file.
    fn read_rest(&self, extent: &mut Extent<'_>) -> io::Result<()> {
        while extent.filled < extent.into.len() {
            let rest = &mut extent.into[extent.filled..];
            let offset = extent.offset + extent.filled as u64;
            match self.for_request(offset, rest).read_at(rest, offset) {
                Ok(0) => break,
                Ok(count) => extent.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn read_crew(files: &[Arc<OpenFile>], extents: &mut [Extent<'_>]) -> io::Result<()> {
    let share = extents.len().div_ceil(CREW_THREADS).max(1);
    let shares = Mutex::new(files.chunks(share).zip(extents.chunks_mut(share)));
    let next = || shares.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((files, extents)) = next() {
            files.iter().zip(extents).try_for_each(|(file, extent)| {
                extent.filled = 0;
                file.read_rest(extent)
            })?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        // Threads that cannot be started leave their shares to the others.
        let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
        let crew: Vec<_> = (1..CREW_THREADS.min(files.len())).filter_map(start).collect();
        let own = work();
        let all = crew.into_iter().map(|thread| thread.join().expect("a reading thread does not panic"));
        all.fold(own, io::Result::and)
    })
}

/// The best way to travel, where the page cache can be passed by or not.
fn transport_for(direct: bool) -> Transport {
    match (direct, Ring::new()) {
        (true, Ok(_)) => Transport::Ring,
        (true, Err(_)) => Transport::Threads,
        (false, _) => Transport::Buffered,
    }
}

/// Writes and reads one block past the page cache, in a file that has no name: a kill leaves nothing of it.
fn writes_past_the_cache(folder: &Folder) -> io::Result<()> {
    let file = folder.nameless_file(OFlags::DIRECT)?;
    let mut block = probe_block()?;
    file.write_all_at(&block, 0)?;
    file.read_exact_at(&mut block, 0)
}

fn probe_block() -> io::Result<AlignedBuffer> {
    AlignedBuffer::new(&Budget::unlimited(), "probe of direct I/O", BLOCK_BYTES).map_err(io::Error::other)
}
