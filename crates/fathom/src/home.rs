//! Where does a run live on disk, and what becomes of it?
//!
//! ```text
//! DIR/run.json   what the run is about, for people and for `audit`; written before anything is committed
//! DIR/states/    the files of the engine: a volume with a manifest, marked with the tag of run.json; some of them elsewhere, if the user says so
//! ```
//! It is made when a search needs files, or is to last. A directory of the user's choice stays. One of our own choice goes when the verdict is in, unless it is wanted, and stays when there is something to go on from.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use fathom_disk::error::DiskError;
use fathom_disk::manifest::RunDirectory;
use fathom_disk::run::Tag;
use fathom_disk::storage::{FileStorage, SpreadStorage, Transport, Volume};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

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
    parts: Parts,
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
    /// Parts of the run lie elsewhere.
    #[error("parts of the run in {} lie elsewhere than --dir-bulk or --dir-index say: leave these out to go on with it", .0.display())]
    Elsewhere(PathBuf),
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
    /// Folders on other devices.
    #[serde(default, skip_serializing_if = "Parts::is_empty")]
    parts: Parts,
}

/// Folders of the run on other devices, as absolute paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    bulk: Option<PathBuf>,
    index: Option<PathBuf>,
}

const CARD: &str = "run.json";
const STATES: &str = "states";
const CARD_SCHEMA: u32 = 1;
/// What names of files begin with that are written and read in order, and of those that are looked up.
const BULK: &[&str] = &["layers", "candidates"];
const INDEX: &[&str] = &["run", "rest"];
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
        let card = read_card(folder)?;
        Ok((card.parts.volume(folder)?, card.run))
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
        let Some(Made { folder, parts, .. }) = self.made.get() else { return Ok(false) };
        let committed = is_committed(folder)?;
        if self.settings.lasts() || !done && committed {
            return Ok(committed);
        }
        fs::remove_dir_all(folder).map_err(refused(folder))?;
        for part in [&parts.bulk, &parts.index].into_iter().flatten() {
            fs::remove_dir_all(part).map_err(refused(part))?;
        }
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
        let mut parts = Parts::of(settings, &folder);
        if committed {
            let there = read_card(&folder)?;
            let differences = there.run.differences(identity);
            if !differences.is_empty() {
                return Err(HomeError::Different { folder, differences });
            }
            if !parts.is_empty() && parts != there.parts {
                return Err(HomeError::Elsewhere(folder));
            }
            parts = there.parts;
        } else if !folder.join(CARD).exists() && !is_empty(&states) {
            return Err(HomeError::Foreign(states));
        }
        let volume = parts.volume(&folder)?;
        if !committed {
            write_card(&folder, identity, &parts)?;
        }
        let starts_over = settings.resume && !committed;
        Ok(Made { folder, parts, volume, starts_over })
    }
}

impl Parts {
    /// A folder of the run's own under each that was given: other runs may have theirs there.
    fn of(settings: &DiskSettings, folder: &Path) -> Parts {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let name = format!("fathom-{:016x}", xxh3_64(absolute(folder).as_os_str().as_encoded_bytes()));
        let within = |parent: &Option<PathBuf>| parent.as_ref().map(|parent| absolute(parent).join(&name));
        Parts { bulk: within(&settings.bulk), index: within(&settings.index) }
    }

    fn is_empty(&self) -> bool {
        self.bulk.is_none() && self.index.is_none()
    }

    /// Everything of a run, wherever it lies.
    fn volume(&self, folder: &Path) -> Result<Volume, HomeError> {
        let storage = |folder: &Path| FileStorage::auto(folder).map_err(refused(folder));
        let states = storage(&folder.join(STATES))?;
        if self.is_empty() {
            return Ok(Volume::new(states));
        }
        let mut spread = SpreadStorage::new(states);
        for (part, prefixes) in [(&self.bulk, BULK), (&self.index, INDEX)] {
            if let Some(part) = part {
                spread = spread.with(prefixes, storage(part)?);
            }
        }
        Ok(Volume::new(spread))
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

fn read_card(folder: &Path) -> Result<Card, HomeError> {
    let path = folder.join(CARD);
    let text = fs::read(&path).map_err(refused(&path))?;
    let nonsense = |why: String| HomeError::Nonsense { path: path.clone(), why };
    let card: Card = serde_json::from_slice(&text).map_err(|error| nonsense(error.to_string()))?;
    if card.schema != CARD_SCHEMA {
        return Err(nonsense(format!("it has version {}, this build reads {CARD_SCHEMA}", card.schema)));
    }
    Ok(card)
}

/// Writes the card whole or not at all; it lasts when this returns.
fn write_card(folder: &Path, identity: &Identity, parts: &Parts) -> Result<(), HomeError> {
    let card = Card {
        schema: CARD_SCHEMA,
        tool: "fathom".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        run: identity.clone(),
        parts: parts.clone(),
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
