//! Where does a result go, and what is there if a run fails? Nothing that was not there before.
//!
//! That a file can be written is found out before the work begins; it gets its name when all of it is there. A run that fails, is killed or fills the disk leaves a file as it was, or no file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::report::escape::{self, Escaping};
use crate::report::say::say;
use crate::settings::Destination;

/// An output that was found writable before the work began.
#[derive(Debug)]
pub(crate) struct Output {
    place: Place,
}

#[derive(Debug)]
enum Place {
    Standard,
    /// A file with this name, or none yet.
    Named(PathBuf),
    /// Something that is no file and keeps its name: a pipe, a device.
    Open(PathBuf, File),
}

impl Output {
    /// Finds out whether a destination can be written. What is there stays as it is until [`Output::write`].
    pub(crate) fn open(destination: &Destination) -> anyhow::Result<Output> {
        let Destination::File(path) = destination else { return Ok(Output { place: Place::Standard }) };
        let place = writable(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Output { place })
    }

    /// Opens what there is to open.
    pub(crate) fn open_all(destination: Option<&Destination>) -> anyhow::Result<Option<Output>> {
        destination.map(Output::open).transpose()
    }

    /// Whether it is standard output.
    pub(crate) fn is_standard(&self) -> bool {
        matches!(self.place, Place::Standard)
    }

    /// Replaces what is in it.
    pub(crate) fn write(self, text: &[u8]) -> anyhow::Result<()> {
        self.write_with(|out| out.write_all(text))
    }

    /// Replaces what is in it by what `fill` writes.
    pub(crate) fn write_with(
        self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let (written, name) = match self.place {
            Place::Standard => (filled(io::stdout().lock(), fill), "standard output".into()),
            Place::Open(path, file) => (filled(file, fill), path.display().to_string()),
            Place::Named(path) => (replaced(&path, fill), path.display().to_string()),
        };
        match written {
            // A reader that has gone away is not an error.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.with_context(|| format!("cannot write {name}")),
        }
    }
}

/// How a path can be written, found out without a trace.
fn writable(path: &Path) -> io::Result<Place> {
    match OpenOptions::new().write(true).open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(Place::Named(fs::canonicalize(path)?)),
        Ok(file) => Ok(Place::Open(path.to_owned(), file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            OpenOptions::new().write(true).create_new(true).open(path)?;
            fs::remove_file(path)?;
            Ok(Place::Named(path.to_owned()))
        }
        Err(error) => Err(error),
    }
}

fn filled(out: impl Write, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    fill(&mut out)?;
    out.flush()
}

/// Writes a file beside the one with that name, and gives it the name when all of it is there.
fn replaced(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let file = match OpenOptions::new().write(true).create_new(true).open(&beside) {
        Ok(file) => file,
        // A folder that takes no new files may still hold one that can be written.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return filled(OpenOptions::new().write(true).truncate(true).open(path)?, fill);
        }
        Err(error) => return Err(error),
    };
    if let Ok(before) = fs::metadata(path) {
        // Another who may read the one before may read this one; if that cannot be said, it is as new files are.
        let _ = file.set_permissions(before.permissions());
    }
    let written = filled(file, fill).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Prints to standard output; a reader that has gone away is not an error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    print_bytes(escape::text(text).as_bytes()).context("cannot write standard output")
}

/// The same with bytes that are for programs, or for a terminal as they are.
pub(super) fn print_bytes(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints a summary, beside standard output if that is taken for something else.
pub(super) fn print_summary(text: &str, quiet: bool, taken: bool) -> anyhow::Result<()> {
    match (quiet, taken) {
        (true, _) => Ok(()),
        (false, false) => print(text),
        (false, true) => {
            say(text);
            Ok(())
        }
    }
}

/// Prints a summary as it is written, beside standard output if that is taken for something else.
pub(super) fn stream_summary(
    quiet: bool,
    taken: bool,
    fill: impl FnOnce(&mut Escaping<'_>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let written = match (quiet, taken) {
        (true, _) => Ok(()),
        (false, false) => filled(io::stdout().lock(), |out| fill(&mut Escaping(out))),
        (false, true) => filled(io::stderr().lock(), |out| fill(&mut Escaping(out))),
    };
    match written {
        // A reader that has gone away is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write the summary"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn an_output_that_is_never_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        drop(Output::open(&Destination::File(path.clone())).unwrap());
        assert!(names(folder.path()).is_empty());
        fs::write(&path, "before").unwrap();
        drop(Output::open(&Destination::File(path.clone())).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"before");
    }

    #[test]
    fn what_cannot_be_written_to_its_end_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let failing = |path: &Path| {
            Output::open(&Destination::File(path.to_owned())).unwrap().write_with(|out| {
                out.write_all(b"half")?;
                Err(io::ErrorKind::StorageFull.into())
            })
        };
        assert!(failing(&path).is_err());
        assert!(names(folder.path()).is_empty());
        fs::write(&path, "before").unwrap();
        assert!(failing(&path).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"before");
        Output::open(&Destination::File(path.clone())).unwrap().write(b"after").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), names(folder.path())),
            (b"after".to_vec(), vec!["report.json".into()])
        );
    }

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("report.json"), folder.path().join("link"));
        fs::write(&path, "before").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        Output::open(&Destination::File(link.clone())).unwrap().write(b"after").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"after");
        Output::open(&Destination::File("/dev/null".into())).unwrap().write(b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
