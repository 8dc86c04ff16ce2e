//! What lies in a search folder, how much of it is ours, and how does that go?
//!
//! What a card does not vouch for is not ours: it is an error where we would have to use it, and is left alone where not.

use std::io;
use std::path::{Path, PathBuf};

use fathom_disk::error::DiskError;
use fathom_disk::manifest::RunDirectory;
use fathom_disk::storage::{
    FileStorage, Folder, Hold, Lock, Mark, Role, SpreadStorage, Storage as _, StorageError, Volume,
};

use crate::folder::card::{self, Card, CardError, Parts};
use crate::folder::status;

/// A folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// Something else is in it.
    #[error("{} contains files that fathom did not write: choose another folder", .0.display())]
    Foreign(PathBuf),
    /// Another process is at work in it.
    #[error(
        "another fathom{} is using {}: wait until it ends, or choose another folder",
        process.map_or(String::new(), |number| format!(" (process {number})")), folder.display()
    )]
    Held {
        /// The folder.
        folder: PathBuf,
        /// Which process, if the system tells.
        process: Option<u32>,
    },
    /// There is no run in it.
    #[error("there is no search in {}", .0.display())]
    Missing(PathBuf),
    /// There is a run in it that can be gone on with.
    #[error("there is a search in {}", .0.display())]
    Committed(PathBuf),
    /// What it says of itself makes no sense.
    #[error("{} cannot be understood: {why}", path.display())]
    Nonsense {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The file system refused.
    #[error("cannot use {}: {error}", path.display())]
    Refused {
        /// Which file or directory.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// Its files cannot be read.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// Where the files of the engine are, and those of passes.
pub(crate) const STATES: &str = "states";
pub(crate) const PASSES: &str = "passes";
/// What is created in which part.
const BULK: &[Role] = &[Role::Bulk];
const INDEX: &[Role] = &[Role::Index];

/// Removes what a search that nobody can go on with has left in a directory of our own choice; one with a commit, and one that is not ours, is an error.
pub(crate) fn clear_uncommitted(folder: &Folder) -> Result<(), FolderError> {
    let root = Volume::new(FileStorage::buffered(folder.clone(), None));
    let Some(card) = read_card(folder, &root)? else {
        return Ok(Card::sweep(&root).map_err(DiskError::from)?);
    };
    if is_committed(folder, &card)? {
        return Err(FolderError::Committed(folder.path().to_owned()));
    }
    erase(folder, &card)?;
    Card::sweep(&root).and_then(|()| Card::remove(&root)).map_err(DiskError::from)?;
    Ok(())
}

/// Removes everything of a run but its card, and the folders that this leaves empty.
pub(crate) fn erase(folder: &Folder, card: &Card) -> Result<(), FolderError> {
    let erase_all =
        |inner: Folder| RunDirectory::erase(&Volume::new(FileStorage::buffered(inner, Some(card.id.mark()))));
    status::remove(folder, card.id.mark()).map_err(DiskError::from)?;
    // The states first: without them nothing else counts.
    for name in [STATES, PASSES] {
        if let Some(inner) = there(folder, name)? {
            erase_all(inner)?;
            let _ = folder.remove_inner(name);
        }
    }
    for (path, _) in paths(&card.parts) {
        if let Some((parent, name)) = part_of(path, card.id.mark())?
            && let Some(inner) = there(&parent, &name)?
        {
            erase_all(inner)?;
            let _ = parent.remove_inner(&name);
        }
    }
    Ok(())
}

pub(crate) fn is_committed(folder: &Folder, card: &Card) -> Result<bool, FolderError> {
    let Some(states) = there(folder, STATES)? else { return Ok(false) };
    Ok(RunDirectory::exists(&Volume::new(FileStorage::buffered(states, Some(card.id.mark()))))?)
}

/// Whether something is in a folder that does not carry the mark. It stays as it is, and so we cannot begin there.
pub(crate) fn has_others(folder: &Folder, mark: Option<Mark>) -> io::Result<bool> {
    let Some(mark) = mark else { return Ok(!folder.is_empty()?) };
    let count = |mark| Ok::<_, io::Error>(FileStorage::buffered(folder.clone(), mark).list()?.len());
    Ok(count(None)? > count(Some(mark))?)
}

/// Holds a directory before anything in it is read or written.
pub(crate) fn held(root: &Volume, folder: &Folder, hold: Hold) -> Result<Box<dyn Lock>, FolderError> {
    root.lock(hold).map_err(|StorageError { source, .. }| match source.kind() {
        io::ErrorKind::WouldBlock => {
            FolderError::Held { folder: folder.path().to_owned(), process: folder.holder() }
        }
        _ => refused(folder.path())(source),
    })
}

pub(crate) fn read_card(folder: &Folder, root: &Volume) -> Result<Option<Card>, FolderError> {
    Card::read(root).map_err(|error| match error {
        CardError::Foreign => FolderError::Foreign(folder.path().to_owned()),
        CardError::Nonsense(why) => FolderError::Nonsense { path: folder.path_of(card::NAME), why },
        CardError::Storage(error) => FolderError::Disk(error.into()),
    })
}

/// A folder in another one, if it is there. What is no folder, or only leads to one, is not ours.
pub(crate) fn there(folder: &Folder, name: &str) -> Result<Option<Folder>, FolderError> {
    match folder.inner(name) {
        Ok(inner) => Ok(Some(inner)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(FolderError::Foreign(folder.path_of(name)))
        }
        Err(error) => Err(refused(&folder.path_of(name))(error)),
    }
}

pub(crate) fn part_name(mark: Mark) -> String {
    format!("fathom-{mark}")
}

/// Where parts are, and which files are there.
pub(crate) fn paths(parts: &Parts) -> impl Iterator<Item = (&Path, &'static [Role])> {
    let all = [(&parts.bulk, BULK), (&parts.index, INDEX)];
    all.into_iter().filter_map(|(path, roles)| Some((path.as_deref()?, roles)))
}

/// What a part is in, and its name there. None if it is not there. A card may name any folder: only one that is called after its id is believed to be a part.
fn part_of(path: &Path, mark: Mark) -> Result<Option<(Folder, String)>, FolderError> {
    let (parent, name) = (path.parent(), part_name(mark));
    let Some(parent) = parent.filter(|_| path.ends_with(&name)) else {
        return Err(FolderError::Foreign(path.to_owned()));
    };
    match Folder::open(parent) {
        Ok(parent) => Ok(Some((parent, name))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refused(parent)(error)),
    }
}

/// The parts of a run that are there, as all of a run with a commit are.
pub(crate) fn existing(card: &Card) -> Result<Vec<(Folder, &'static [Role])>, FolderError> {
    let mut parts = Vec::new();
    for (path, roles) in paths(&card.parts) {
        let part = match part_of(path, card.id.mark())? {
            Some((parent, name)) => there(&parent, &name)?,
            None => None,
        };
        parts.push((part.ok_or_else(|| FolderError::Missing(path.to_owned()))?, roles));
    }
    Ok(parts)
}

/// Everything of a run, wherever it lies.
pub(crate) fn spread(
    states: FileStorage,
    parts: &[(Folder, &'static [Role])],
    storage: &dyn Fn(Folder) -> FileStorage,
) -> Volume {
    if parts.is_empty() {
        return Volume::new(states);
    }
    let first = SpreadStorage::new(states);
    Volume::new(parts.iter().fold(first, |all, (part, roles)| all.with(roles, storage(part.clone()))))
}

pub(crate) fn refused(path: &Path) -> impl Fn(io::Error) -> FolderError {
    let path = path.to_owned();
    move |error| FolderError::Refused { path: path.clone(), error }
}
