//! Where does a run live on disk, and what becomes of it?
//!
//! ```text
//! DIR/run.json   what the run is about, for people and for `audit`, and what its files are known by; written before anything else
//! DIR/status.MARK  how far the search is, or what came of it, for whoever looks from outside
//! DIR/states/    the files of the engine: a volume with a manifest, marked with the tag of run.json; some of them elsewhere, if the user says so
//! DIR/passes/    those of passes over states, with a manifest of their own
//! ```
//! It is made when a search needs files, or is to last, and held from before anything in it is read until the search is over. A directory of the user's choice stays. One of our own choice goes
//! when the verdict is in, unless it is wanted, and stays when there is something to go on from.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use fathom_disk::error::DiskError;
use fathom_disk::manifest::RunDirectory;
use fathom_disk::run::Tag;
use fathom_disk::sabotage::is_chosen;
use fathom_disk::storage::{FileStorage, Folder, Hold, Id, Lock, Volume};

use crate::folder::card::{self, Card, Parts};
use crate::folder::disk_settings::{DiskSettings, Resume};
use crate::folder::gauge::{Gauge, Watched};
use crate::folder::identity::Identity;
use crate::folder::leftovers;
use crate::folder::scratch::{PARENT, Parent};
use crate::folder::search_folder::{
    FolderError, PASSES, STATES, erase, existing, has_others, held, is_committed, part_name, paths,
    read_card, refused, spread, there,
};
use crate::folder::status::{self, StatusFile};

/// A directory that one run lives in, made when it is needed.
#[derive(Debug)]
pub struct Home {
    settings: DiskSettings,
    identity: Identity,
    made: OnceLock<Made>,
    gauge: Gauge,
}

/// A run in a directory, to look at: nothing of it is changed.
#[derive(Debug)]
pub struct Committed {
    /// What it says it is about.
    pub identity: Identity,
    /// The files of the engine.
    pub states: Volume,
    /// The files of passes; empty if there are none.
    pub passes: Volume,
    _lock: Box<dyn Lock>,
}

/// The directory of a run, seen from outside: perhaps somebody is at work in it.
#[derive(Debug)]
pub struct Seen {
    /// What the run is about.
    pub identity: Identity,
    /// Whether a process holds it.
    pub held: bool,
    /// What was published last of how far it is, or of what came of it.
    pub status: Option<Vec<u8>>,
}

/// A directory that is there.
#[derive(Debug)]
struct Made {
    card: Card,
    volume: Volume,
    starts_over: bool,
    /// Held to the last.
    place: Arc<Place>,
}

/// A directory that is held.
#[derive(Debug)]
struct Place {
    folder: Folder,
    /// What it was made in, and its name there, if it is of our own choice.
    within: Option<(Parent, String)>,
    _lock: Box<dyn Lock>,
}

/// A run cannot live there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// Another run is in the directory.
    #[error("there is a search in {} already: resume it, or choose another folder", .0.display())]
    Occupied(PathBuf),
    /// There is nothing to go on with.
    #[error("there is no search in {} to resume", .0.display())]
    Nothing(PathBuf),
    /// The run in the directory is another one.
    #[error("the search in {} is another one: it differs in {}", folder.display(), differences.join(", "))]
    Different {
        /// The directory.
        folder: PathBuf,
        /// In what.
        differences: Vec<String>,
    },
    /// Parts of the run lie elsewhere.
    #[error("parts of the search in {} lie elsewhere than the folders given for bulk and index", .0.display())]
    Elsewhere(PathBuf),
    /// The directory cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl Home {
    /// A place for a run. Nothing is on disk yet.
    pub fn new(settings: &DiskSettings, identity: Identity) -> Home {
        Home { settings: settings.clone(), identity, made: OnceLock::new(), gauge: Gauge::default() }
    }

    /// Makes room for a run that begins, or finds the one that is to be gone on with, unless that has been done. This is where the engine's files go.
    pub fn volume(&self) -> Result<&Volume, HomeError> {
        if self.made.get().is_none() {
            let made = Made::new(&self.settings, &self.identity)?;
            self.gauge.set(Watched { folders: made.folders(), limit: self.settings.limit });
            let _ = self.made.set(made);
        }
        Ok(&self.made.get().expect("it was just made").volume)
    }

    /// Where the files of passes go; none before there is a directory.
    pub(crate) fn passes(&self) -> Option<Result<Volume, HomeError>> {
        let Made { place, card, .. } = self.made.get()?;
        let folder = place.folder.make_inner(PASSES).map_err(refused(&place.folder.path_of(PASSES)));
        let volume = |folder| Volume::new(FileStorage::within(folder, Some(card.id.mark())));
        Some(folder.map(volume).map_err(HomeError::from))
    }

    /// The run in a directory, to look at.
    pub fn look_at(path: &Path) -> Result<Committed, HomeError> {
        let missing = || FolderError::Missing(path.to_owned());
        let folder = match Folder::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing().into()),
            outcome => outcome.map_err(refused(path))?,
        };
        let root = Volume::new(FileStorage::read_only(folder.clone(), None));
        let lock = held(&root, &folder, Hold::Shared)?;
        let card = read_card(&folder, &root)?.ok_or_else(missing)?;
        let look = |folder| FileStorage::read_only(folder, Some(card.id.mark()));
        let states = there(&folder, STATES)?.ok_or_else(missing)?;
        let states = spread(look(states), &existing(&card)?, &look);
        if !RunDirectory::exists(&states)? {
            return Err(missing().into());
        }
        let passes = there(&folder, PASSES)?.map(|folder| Volume::new(look(folder)));
        let passes = passes.unwrap_or_else(|| Volume::in_memory(4096));
        Ok(Committed { identity: identity_of(&folder, &card)?, states, passes, _lock: lock })
    }

    /// Looks at a directory without disturbing the search in it.
    pub fn see(path: &Path) -> Result<Seen, HomeError> {
        let missing = || FolderError::Missing(path.to_owned());
        let folder = match Folder::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(missing().into()),
            outcome => outcome.map_err(refused(path))?,
        };
        let root = Volume::new(FileStorage::read_only(folder.clone(), None));
        let held = match held(&root, &folder, Hold::Shared) {
            Ok(_) => false,
            Err(FolderError::Held { .. }) => true,
            Err(error) => return Err(error.into()),
        };
        let card = read_card(&folder, &root)?.ok_or_else(missing)?;
        let marked = Volume::new(FileStorage::read_only(folder.clone(), Some(card.id.mark())));
        let status = status::read(&marked).map_err(DiskError::from)?;
        Ok(Seen { identity: identity_of(&folder, &card)?, held, status })
    }

    /// Where word is left of a search that is to last, once its directory has been made.
    pub fn status(&self) -> Option<StatusFile> {
        let Made { place, card, .. } = self.made.get().filter(|_| self.settings.lasts())?;
        Some(StatusFile::new(&place.folder, card.id.mark(), Arc::clone(place) as Arc<_>))
    }

    /// Looks at the files, once there are any.
    pub fn gauge(&self) -> Gauge {
        self.gauge.clone()
    }

    /// The directory, if it has been made.
    pub fn folder(&self) -> Option<&Path> {
        self.made.get().map(|made| made.place.folder.path())
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
        let Some(Made { place, card, volume, .. }) = self.made.get() else { return Ok(false) };
        let committed = RunDirectory::exists(volume)?;
        if self.settings.lasts() || !done && committed {
            return Ok(committed);
        }
        erase(&place.folder, card)?;
        Card::remove(&place.root()).map_err(DiskError::from)?;
        if let Some((parent, name)) = &place.within {
            // What is not ours stays, and so does what it is in.
            let _ = parent.folder.remove_inner(name);
            parent.remove_if_empty();
        }
        Ok(false)
    }
}

impl Made {
    fn new(settings: &DiskSettings, identity: &Identity) -> Result<Made, HomeError> {
        let place = match &settings.folder {
            Some(folder) if settings.resume == Resume::Always && matches!(folder.try_exists(), Ok(false)) => {
                return Err(HomeError::Nothing(folder.clone()));
            }
            Some(folder) => Place::at(folder)?,
            None => Place::fresh(Path::new(PARENT), identity.model())?,
        };
        let folder = &place.folder;
        leftovers::sweep_scratch(folder);
        let card = read_card(folder, &place.root())?;
        match card {
            Some(card) if is_committed(folder, &card)? => Made::take_up(settings, identity, place, card),
            None if settings.resume == Resume::Always => Err(HomeError::Nothing(folder.path().to_owned())),
            card => {
                let mark = card.as_ref().map(|card| card.id.mark());
                for name in [STATES, PASSES] {
                    if let Some(inner) = there(folder, name)?
                        && has_others(&inner, mark).map_err(refused(inner.path()))?
                    {
                        return Err(FolderError::Foreign(inner.path().to_owned()).into());
                    }
                }
                card.map_or(Ok(()), |card| erase(folder, &card))?;
                Made::begin(settings, identity, place)
            }
        }
    }

    /// Where files of the run are, or will be.
    fn folders(&self) -> Vec<PathBuf> {
        let own = [STATES, PASSES].map(|name| self.place.folder.path_of(name));
        own.into_iter().chain(paths(&self.card.parts).map(|(path, _)| path.to_owned())).collect()
    }

    /// A run of which nothing is there.
    fn begin(settings: &DiskSettings, identity: &Identity, place: Place) -> Result<Made, HomeError> {
        let (folder, root) = (&place.folder, place.root());
        let id = Id::draw().map_err(refused(folder.path()))?;
        let run = serde_json::to_value(identity).map_err(|error| nonsense(folder, &error))?;
        let card = Card::new(id, run, parts_of(settings, id));
        Card::sweep(&root).and_then(|()| card.write(&root)).map_err(DiskError::from)?;
        let make = |folder| FileStorage::within(folder, Some(id.mark()));
        let states = folder.make_inner(STATES).map_err(refused(&folder.path_of(STATES)))?;
        let mut parts = Vec::new();
        for (path, roles) in paths(&card.parts) {
            parts.push((Folder::create(path).map_err(refused(path))?, roles));
        }
        let volume = spread(make(states), &parts, &make);
        Ok(Made { place: place.into(), card, volume, starts_over: settings.resume == Resume::Always })
    }

    /// A run that was begun before.
    fn take_up(
        settings: &DiskSettings,
        identity: &Identity,
        place: Place,
        card: Card,
    ) -> Result<Made, HomeError> {
        let path = || place.folder.path().to_owned();
        if settings.resume == Resume::Never {
            return Err(HomeError::Occupied(path()));
        }
        let differences = identity_of(&place.folder, &card)?.differences(identity);
        if !differences.is_empty() && !is_chosen("card") {
            return Err(HomeError::Different { folder: path(), differences });
        }
        let parts = parts_of(settings, card.id);
        if !parts.is_empty() && parts != card.parts {
            return Err(HomeError::Elsewhere(path()));
        }
        // They are used later; what is wrong with them is said now.
        there(&place.folder, PASSES)?;
        let make = |folder| FileStorage::within(folder, Some(card.id.mark()));
        let states = there(&place.folder, STATES)?.ok_or_else(|| FolderError::Missing(path()))?;
        let volume = spread(make(states), &existing(&card)?, &make);
        Ok(Made { place: place.into(), card, volume, starts_over: false })
    }
}

impl Place {
    /// The directory at a path that the user gave, made if it is not there.
    fn at(path: &Path) -> Result<Place, HomeError> {
        let folder = Folder::create(path).map_err(refused(path))?;
        let root = Volume::new(FileStorage::buffered(folder.clone(), None));
        let lock = held(&root, &folder, Hold::Alone)?;
        Ok(Place { folder, within: None, _lock: lock })
    }

    /// A directory that is not there yet, named after the model.
    fn fresh(parent: &Path, model: &Path) -> Result<Place, HomeError> {
        let stem = model.file_stem().map_or("model".into(), |stem| stem.to_string_lossy());
        if let Ok(parent) = Parent::open(parent) {
            parent.sweep();
        }
        let mut number = 1u64;
        loop {
            let name = format!("{stem}-{number}");
            match Parent::make_in(parent, &name).map_err(refused(&parent.join(&name)))? {
                Some((parent, folder, lock)) => {
                    return Ok(Place { folder, within: Some((parent, name)), _lock: lock });
                }
                None => number += 1,
            }
        }
    }

    /// The directory itself as a volume, for the card alone.
    fn root(&self) -> Volume {
        Volume::new(FileStorage::buffered(self.folder.clone(), None))
    }
}

/// A folder of the run's own under each that was given: other runs may have theirs there.
fn parts_of(settings: &DiskSettings, id: Id) -> Parts {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let within =
        |parent: &Option<PathBuf>| parent.as_ref().map(|parent| absolute(parent).join(part_name(id.mark())));
    Parts { bulk: within(&settings.bulk), index: within(&settings.index) }
}

/// What a card says the run is about.
fn identity_of(folder: &Folder, card: &Card) -> Result<Identity, FolderError> {
    serde_json::from_value(card.run.clone()).map_err(|error| nonsense(folder, &error))
}

fn nonsense(folder: &Folder, error: &serde_json::Error) -> FolderError {
    FolderError::Nonsense { path: folder.path_of(card::NAME), why: error.to_string() }
}

impl From<DiskError> for HomeError {
    fn from(error: DiskError) -> HomeError {
        FolderError::from(error).into()
    }
}
