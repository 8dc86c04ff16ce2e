//! Where does a run live on disk, and what becomes of it?
//!
//! ```text
//! DIR/run.json   what the run is about, for people and for `audit`; written before anything is committed
//! DIR/states/    the files of the engine: a volume with a manifest, marked with the tag of run.json
//! ```
//! It is made when a search needs files, or is to last. A directory of the user's choice stays. One of our own choice goes when the verdict is in, unless it is wanted, and stays when there is something to go on from.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fathom_disk::error::DiskError;
use fathom_disk::manifest::RunDirectory;
use fathom_disk::run::Tag;
use fathom_disk::storage::{FileStorage, Transport, Volume};
use serde::{Deserialize, Serialize};

use crate::identity::Identity;
use crate::settings::DiskSettings;

/// A directory that one run lives in, made when it is needed.
#[derive(Debug)]
pub struct Home {
    settings: DiskSettings,
    identity: Identity,
    made: OnceLock<Made>,
}

/// A directory that is there.
#[derive(Debug)]
struct Made {
    folder: PathBuf,
    volume: Volume,
    starts_over: bool,
}

/// A run cannot live there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// Another run is in the directory.
    #[error("there is a run in {} already: go on with it (--resume), or choose another directory (--dir)", .0.display())]
    Occupied(PathBuf),
    /// Something else is in the directory.
    #[error("{} holds files that are not of a run of fathom: choose another directory (--dir)", .0.display())]
    Foreign(PathBuf),
    /// There is no run in the directory.
    #[error("there is no run in {}", .0.display())]
    Missing(PathBuf),
    /// The run in the directory is another one.
    #[error("the run in {} is not this one, it differs in {}", folder.display(), differences.join(", "))]
    Different {
        /// The directory.
        folder: PathBuf,
        /// In what.
        differences: Vec<String>,
    },
    /// What the run says of itself makes no sense.
    #[error("{} makes no sense: {why}", path.display())]
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
    /// The files of the run cannot be read.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// What `run.json` holds.
#[derive(Serialize, Deserialize)]
struct Card {
    schema: u32,
    tool: String,
    version: String,
    run: Identity,
}

const CARD: &str = "run.json";
const STATES: &str = "states";
const CARD_SCHEMA: u32 = 1;
/// Where runs live unless the user says otherwise.
pub(crate) const PARENT: &str = ".fathom";

impl Home {
    /// A place for a run. Nothing is on disk yet.
    pub fn new(settings: &DiskSettings, identity: Identity) -> Home {
        Home { settings: settings.clone(), identity, made: OnceLock::new() }
    }

    /// Makes room for a run that begins, or finds the one that is to be gone on with, unless that has been done. This is where the engine's files go.
    pub fn volume(&self) -> Result<&Volume, HomeError> {
        if self.made.get().is_none() {
            let made = Made::new(&self.settings, &self.identity)?;
            let _ = self.made.set(made);
        }
        Ok(&self.made.get().expect("it was just made").volume)
    }

    /// The run in a directory, to look at: its files and what it says it is about.
    pub fn look_at(folder: &Path) -> Result<(Volume, Identity), HomeError> {
        if !is_committed(folder)? {
            return Err(HomeError::Missing(folder.to_owned()));
        }
        let identity = read_card(folder)?;
        let states = folder.join(STATES);
        let storage = FileStorage::auto(&states).map_err(refused(&states))?;
        Ok((Volume::new(storage), identity))
    }

    /// The directory, if it has been made.
    pub fn folder(&self) -> Option<&Path> {
        self.made.get().map(|made| &*made.folder)
    }

    /// What they are marked with.
    pub fn tag(&self) -> Tag {
        self.identity.tag()
    }

    /// Limits and intervals.
    pub fn settings(&self) -> &DiskSettings {
        &self.settings
    }

    /// Whether a run was to be gone on with of which nothing was committed.
    pub fn starts_over(&self) -> bool {
        self.made.get().is_some_and(|made| made.starts_over)
    }

    /// The search is over: removes the directory if nobody wants it. Says whether there is still something in it. `done` if there is nothing to go on with.
    pub fn settle(&self, done: bool) -> Result<bool, HomeError> {
        let Some(Made { folder, .. }) = self.made.get() else { return Ok(false) };
        let committed = is_committed(folder)?;
        if self.settings.lasts() || !done && committed {
            return Ok(committed);
        }
        fs::remove_dir_all(folder).map_err(refused(folder))?;
        if let Some(parent) = folder.parent() {
            // It stays if other runs are in it.
            let _ = fs::remove_dir(parent);
        }
        Ok(false)
    }
}

impl Made {
    fn new(settings: &DiskSettings, identity: &Identity) -> Result<Made, HomeError> {
        let folder = match &settings.folder {
            Some(folder) => folder.clone(),
            None => fresh_folder(Path::new(PARENT), identity.model())?,
        };
        let states = folder.join(STATES);
        let committed = is_committed(&folder)?;
        if committed && !settings.resume {
            return Err(HomeError::Occupied(folder));
        }
        if committed {
            let there = read_card(&folder)?;
            let differences = there.differences(identity);
            if !differences.is_empty() {
                return Err(HomeError::Different { folder, differences });
            }
        } else if !folder.join(CARD).exists() && !is_empty(&states) {
            return Err(HomeError::Foreign(states));
        }
        let storage = FileStorage::auto(&states).map_err(refused(&states))?;
        if !committed {
            write_card(&folder, identity)?;
        }
        let starts_over = settings.resume && !committed;
        Ok(Made { folder, volume: Volume::new(storage), starts_over })
    }
}

fn is_committed(folder: &Path) -> Result<bool, HomeError> {
    let states = folder.join(STATES);
    if !states.is_dir() {
        return Ok(false);
    }
    let storage = FileStorage::with_transport(&states, Transport::Buffered).map_err(refused(&states))?;
    Ok(RunDirectory::exists(&Volume::new(storage))?)
}

fn is_empty(folder: &Path) -> bool {
    folder.read_dir().map_or(true, |mut entries| entries.next().is_none())
}

/// A directory that is not there yet, named after the model.
fn fresh_folder(parent: &Path, model: &Path) -> Result<PathBuf, HomeError> {
    let stem = model.file_stem().map_or("model".into(), |stem| stem.to_string_lossy());
    let mut number = 1u64;
    loop {
        fs::create_dir_all(parent).map_err(refused(parent))?;
        let folder = parent.join(format!("{stem}-{number}"));
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            // Another run has just ended, and removed the parent since it was empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other.map(|()| folder.clone()).map_err(refused(&folder)),
        }
    }
}

fn read_card(folder: &Path) -> Result<Identity, HomeError> {
    let path = folder.join(CARD);
    let text = fs::read(&path).map_err(refused(&path))?;
    let nonsense = |why: String| HomeError::Nonsense { path: path.clone(), why };
    let card: Card = serde_json::from_slice(&text).map_err(|error| nonsense(error.to_string()))?;
    if card.schema != CARD_SCHEMA {
        return Err(nonsense(format!("it has version {}, this build reads {CARD_SCHEMA}", card.schema)));
    }
    Ok(card.run)
}

/// Writes the card whole or not at all; it lasts when this returns.
fn write_card(folder: &Path, identity: &Identity) -> Result<(), HomeError> {
    let card = Card {
        schema: CARD_SCHEMA,
        tool: "fathom".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        run: identity.clone(),
    };
    let (path, new) = (folder.join(CARD), folder.join(format!("{CARD}.new")));
    let write = || {
        let mut file = fs::File::create(&new)?;
        file.write_all(crate::report::json::to_text(&card).as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        fs::File::open(folder)?.sync_all()
    };
    write().map_err(refused(&path))
}

fn refused(path: &Path) -> impl Fn(io::Error) -> HomeError {
    let path = path.to_owned();
    move |error| HomeError::Refused { path: path.clone(), error }
}
