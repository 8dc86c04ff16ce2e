//! What have searches that were killed left behind, and what of it goes?
//!
//! A search that is alive holds its folder. What nobody holds is looked through by the next search: a scratch folder goes, and so does a search folder of our own choice in which nothing was
//! committed. Files that do not carry the mark of the folder they are in are left, and then so is the folder.

use std::io;

use fathom_disk::storage::{FileStorage, Folder, Hold, Mark, Storage};

use crate::folder::search_folder;

/// What names of scratch folders begin with; the mark of their files follows.
pub(crate) const SCRATCH: &str = "scratch-";
/// Where in it the files are.
pub(crate) const FILES: &str = "files";

/// Removes scratch folders that nobody holds.
pub(crate) fn sweep_scratch(parent: &Folder) {
    for name in parent.folders().unwrap_or_default() {
        if let Some(mark) = name.strip_prefix(SCRATCH).and_then(Mark::parse) {
            sweep(parent, &name, |folder| clear(folder, mark));
        }
    }
}

/// Removes search folders that nobody holds and that nobody can go on with.
pub(crate) fn sweep_homes(parent: &Folder) {
    for name in parent.folders().unwrap_or_default() {
        let number = name.rsplit_once('-').map(|(_, number)| number.parse::<u64>());
        if matches!(number, Some(Ok(_))) {
            sweep(parent, &name, |folder| search_folder::clear_uncommitted(folder).map_err(io::Error::other));
        }
    }
}

/// Removes the files of a mark from a scratch folder.
pub(crate) fn clear(folder: &Folder, mark: Mark) -> io::Result<()> {
    let files = match folder.inner(FILES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        outcome => outcome?,
    };
    let storage = FileStorage::buffered(files, Some(mark));
    storage.list()?.iter().try_for_each(|name| storage.remove(name))?;
    folder.remove_inner(FILES)
}

fn sweep(parent: &Folder, name: &str, clear: impl FnOnce(&Folder) -> io::Result<()>) {
    let swept = || -> io::Result<()> {
        let folder = parent.inner(name)?;
        let _lock = folder.lock(Hold::Alone)?;
        clear(&folder)?;
        parent.remove_inner(name)
    };
    // What is held, or cannot be removed, stays: it is in nobody's way.
    let _ = swept();
}
