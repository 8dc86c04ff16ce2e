//! How do bytes get to a real disk? Files of one directory, past the page cache where the file system allows it.
//!
//! Each file has up to two descriptors: one opened with `O_DIRECT` for requests whose offset, length and memory are
//! aligned to 4 KiB, one buffered for the rest. The kernel keeps them coherent. Batches of direct reads go through
//! a ring of the kernel, or where that is forbidden through a crew of threads; which it is was decided at
//! opening by trying, and is reported.

use std::collections::HashMap;
use std::fs::{self, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;

use rustix::fs::OFlags;

use super::direct::ring::{Ring, RingRead};
use super::{AlignedBuffer, Extent, FileId, Lock, Storage};
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

/// The files of one directory.
#[derive(Debug)]
pub struct FileStorage {
    directory: PathBuf,
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

#[derive(Debug)]
struct FileLock {
    _file: fs::File,
}

impl FileStorage {
    /// Uses `directory` (created if missing) in the best way that works there: each is tried before it is chosen.
    pub fn auto(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let transport = match (direct_works(directory), Ring::new()) {
            (true, Ok(_)) => Transport::Ring,
            (true, Err(_)) => Transport::Threads,
            (false, _) => Transport::Buffered,
        };
        Self::with_transport(directory, transport)
    }

    /// Uses `directory` (created if missing) in the given way; fails later if that does not work there.
    pub fn with_transport(directory: &Path, transport: Transport) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
            transport,
            open: RwLock::default(),
            rings: Mutex::default(),
            next: AtomicU64::new(1),
        })
    }

    /// How batches travel here.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    fn path(&self, name: &str) -> io::Result<PathBuf> {
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a name is flat and does not start with a dot",
            ));
        }
        Ok(self.directory.join(name))
    }

    fn opened(&self, path: &Path, buffered: fs::File) -> io::Result<FileId> {
        let direct = match self.transport {
            Transport::Buffered => None,
            Transport::Ring | Transport::Threads => Some(open_direct(path)?),
        };
        let id = FileId(self.next.fetch_add(1, Ordering::Relaxed));
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        open.insert(id, Arc::new(OpenFile { direct, buffered }));
        Ok(id)
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

    fn create(&self, name: &str) -> io::Result<FileId> {
        let path = self.path(name)?;
        let buffered = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        self.opened(&path, buffered)
    }

    fn open(&self, name: &str) -> io::Result<FileId> {
        let path = self.path(name)?;
        let buffered = OpenOptions::new().read(true).write(true).open(&path)?;
        self.opened(&path, buffered)
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
        fs::rename(self.path(from)?, self.path(to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name)?)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if let (true, Ok(name)) = (entry.file_type()?.is_file(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_directory(&self) -> io::Result<()> {
        fs::File::open(&self.directory)?.sync_all()
    }

    fn lock(&self, name: &str) -> io::Result<Box<dyn Lock>> {
        let path = self.path(name)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(FileLock { _file: file })),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Lock for FileLock {}

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

fn open_direct(path: &Path) -> io::Result<fs::File> {
    let flag = OFlags::DIRECT.bits().cast_signed();
    OpenOptions::new().read(true).write(true).custom_flags(flag).open(path)
}

/// Writes and reads one block of a scratch file past the page cache.
fn direct_works(directory: &Path) -> bool {
    let path = directory.join(format!(".direct-{}", std::process::id()));
    let outcome = || -> io::Result<()> {
        fs::File::create(&path)?;
        let file = open_direct(&path)?;
        let mut block = AlignedBuffer::new(&Budget::unlimited(), "probe of direct I/O", BLOCK_BYTES)
            .map_err(io::Error::other)?;
        file.write_all_at(&block, 0)?;
        file.read_exact_at(&mut block, 0)
    };
    let works = outcome().is_ok();
    // The scratch file is ours; if it cannot be removed the next open sweeps nothing of it, which is harmless.
    let _ = fs::remove_file(&path);
    works
}
