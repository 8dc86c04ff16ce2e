//! What is in a file that a user names?
//!
//! Only regular files are read, and never more of one than there is room for: what is no file (a folder, a device, a pipe) and what is too large is refused
//! before anything is read. The size is asked of the file that was opened and counted while it is read, so a file that grows, or that does not tell its
//! size, is cut off as well.
//!
//! ```
//! use std::path::Path;
//! use fathom_check::model::user_file::{AUTOMATA, FORMULAS, LOGS, MODELS, TRACES, read};
//!
//! assert!(read(Path::new("/dev/zero"), MODELS).unwrap_err().to_string().contains("a device"));
//! for sort in [AUTOMATA, FORMULAS, LOGS, TRACES] {
//!     assert!(read(Path::new("."), sort).is_err(), "a folder is none of the {}", sort.name);
//! }
//! ```

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use fathom_lang::source::SOURCE_BYTES_MAX;

use crate::numbers::bytes;

/// A kind of files that are read.
#[derive(Clone, Copy, Debug)]
pub struct Sort {
    /// What they are called.
    pub name: &'static str,
    /// The largest that is read.
    pub bytes_max: u64,
}

/// Models.
pub const MODELS: Sort = Sort { name: "models", bytes_max: SOURCE_BYTES_MAX as u64 };
/// Files of formulas: a search folder has a copy of one.
pub const FORMULAS: Sort = Sort { name: "files of formulas", bytes_max: 256 << 10 };
/// Automata.
pub const AUTOMATA: Sort = Sort { name: "automata", bytes_max: SOURCE_BYTES_MAX as u64 };
/// Logs of systems.
pub const LOGS: Sort = Sort { name: "logs", bytes_max: 64 << 20 };
/// Runs that were saved.
pub const TRACES: Sort = Sort { name: "traces", bytes_max: 256 << 20 };

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not there, or the system refuses.
    #[error(transparent)]
    Refused(#[from] io::Error),
    /// It is something else.
    #[error("it is {0}, not a file")]
    NoFile(&'static str),
    /// It is too large.
    #[error("it {}; fathom reads {} up to {}", told(*length), sort.name, bytes(sort.bytes_max))]
    TooLarge {
        /// How long it is, if it says so.
        length: Option<u64>,
        /// What it should have been.
        sort: Sort,
    },
}

/// All of a file.
pub fn read(path: &Path, sort: Sort) -> Result<Vec<u8>, ReadError> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReadError::NoFile(word(metadata.file_type())));
    }
    if metadata.len() > sort.bytes_max {
        return Err(ReadError::TooLarge { length: Some(metadata.len()), sort });
    }
    let mut text = Vec::with_capacity(metadata.len() as usize);
    let read = file.take(sort.bytes_max + 1).read_to_end(&mut text)?;
    if read as u64 > sort.bytes_max { Err(ReadError::TooLarge { length: None, sort }) } else { Ok(text) }
}

/// Opens a file without waiting: a pipe that nobody writes to is opened, too, and then refused.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}

fn word(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

fn told(length: Option<u64>) -> String {
    length.map_or("goes on and on".into(), |length| format!("is {} long", bytes(length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> String {
        read(path, Sort { name: "tests", bytes_max: 1 << 20 }).unwrap_err().to_string()
    }

    #[test]
    fn only_files_are_read_and_only_those_that_are_small_enough() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        File::create(&path).unwrap().set_len(1 << 20).unwrap();
        assert_eq!(read(&path, Sort { name: "tests", bytes_max: 1 << 20 }).unwrap().len(), 1 << 20);
        File::create(&path).unwrap().set_len(3 << 40).unwrap();
        assert_eq!(refusal(&path), "it is 3.0 TiB long; fathom reads tests up to 1.0 MiB");
        assert_eq!(refusal(folder.path()), "it is a folder, not a file");
        assert_eq!(refusal(Path::new("/dev/zero")), "it is a device, not a file");
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(refusal(&pipe), "it is a pipe, not a file");
    }

    #[test]
    fn a_file_that_does_not_tell_its_size_is_cut_off() {
        // Files of the system have no size, and this one has some text.
        let sort = Sort { name: "tests", bytes_max: 4 };
        let error = read(Path::new("/proc/self/status"), sort).unwrap_err().to_string();
        assert_eq!(error, "it goes on and on; fathom reads tests up to 4 B");
    }
}
