//! What does a search folder say of itself? `run.json`, which makes it one of ours.
//!
//! It is written before anything else of a search, and removed after everything else: a folder with files of ours and without it does not come about. Its `id` is drawn by chance; names of files
//! of the search end in the first half of it, wherever they lie.

use std::io;
use std::path::PathBuf;

use fathom_disk::storage::{FileKind, Id, Mark, StorageError, Volume};
use serde::{Deserialize, Serialize};

/// What `run.json` holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Card {
    tool: String,
    schema: u32,
    version: String,
    #[serde(with = "id_as_text")]
    pub(crate) id: Id,
    /// What the search is about: its identity.
    pub(crate) run: serde_json::Value,
    /// Folders on other devices.
    #[serde(default, skip_serializing_if = "Parts::is_empty")]
    pub(crate) parts: Parts,
}

/// Folders of the search on other devices, as absolute paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parts {
    #[serde(default, with = "crate::folder::path_text::optional")]
    pub(crate) bulk: Option<PathBuf>,
    #[serde(default, with = "crate::folder::path_text::optional")]
    pub(crate) index: Option<PathBuf>,
}

/// Why there is no card to be had.
#[derive(Debug)]
pub(crate) enum CardError {
    /// What is there is not ours.
    Foreign,
    /// What is there is ours, and cannot be read.
    Nonsense(String),
    /// The device failed.
    Storage(StorageError),
}

/// Its name.
pub(crate) const NAME: &str = "run.json";
const TOOL: &str = "fathom";
const SCHEMA: u32 = 2;
/// No card is larger: the longest thing in it is an automaton.
const BYTES_MAX: u64 = 1 << 20;
/// What the name ends in while it is being written.
const NEW: &str = ".new";

impl Card {
    /// The card of a search that begins.
    pub(crate) fn new(id: Id, run: serde_json::Value, parts: Parts) -> Card {
        let (tool, version) = (TOOL.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        Card { tool, schema: SCHEMA, version, id, run, parts }
    }

    /// The card in a folder. None if there is nothing of its name.
    pub(crate) fn read(root: &Volume) -> Result<Option<Card>, CardError> {
        let file = match root.open(NAME, FileKind::MANIFEST) {
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
            // A link, or something else that is no file.
            Err(error) if error.source.kind() == io::ErrorKind::InvalidInput => {
                return Err(CardError::Foreign);
            }
            outcome => outcome?,
        };
        let size = file.size()?;
        if size > BYTES_MAX {
            return Err(CardError::Foreign);
        }
        let mut bytes = vec![0; size as usize];
        file.read_exact(0, &mut bytes)?;
        Card::parse(&bytes).map(Some)
    }

    fn parse(bytes: &[u8]) -> Result<Card, CardError> {
        let value: serde_json::Value = serde_json::from_slice(bytes).map_err(|_| CardError::Foreign)?;
        if value["tool"] != TOOL || value["schema"].is_null() {
            return Err(CardError::Foreign);
        }
        if value["schema"] != SCHEMA {
            let why = format!("it has version {}, this build reads {SCHEMA}", value["schema"]);
            return Err(CardError::Nonsense(why));
        }
        serde_json::from_value(value).map_err(|error| CardError::Nonsense(error.to_string()))
    }

    /// Writes the card, whole or not at all, in place of what is there; it lasts when this returns.
    pub(crate) fn write(&self, root: &Volume) -> Result<(), StorageError> {
        let new = format!("{}{NEW}", self.id.mark().on_disk(NAME));
        let file = root.create(&new, FileKind::MANIFEST)?;
        file.write(0, self.to_text().as_bytes())?;
        file.sync()?;
        root.rename(&new, NAME)?;
        root.sync_directory()
    }

    fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).expect("a card is JSON") + "\n"
    }

    /// Removes what searches that were killed while they wrote a card have left.
    pub(crate) fn sweep(root: &Volume) -> Result<(), StorageError> {
        let is_new = |name: &String| {
            let mark = name.strip_prefix(NAME).and_then(|rest| rest.strip_prefix('.')?.strip_suffix(NEW));
            mark.and_then(Mark::parse).is_some()
        };
        root.list()?.iter().filter(|name| is_new(name)).try_for_each(|name| root.remove(name))
    }

    /// Removes the card.
    pub(crate) fn remove(root: &Volume) -> Result<(), StorageError> {
        root.remove(NAME)
    }
}

impl Parts {
    pub(crate) fn is_empty(&self) -> bool {
        self.bulk.is_none() && self.index.is_none()
    }
}

impl From<StorageError> for CardError {
    fn from(error: StorageError) -> CardError {
        CardError::Storage(error)
    }
}

/// An id in JSON.
mod id_as_text {
    use super::{Deserialize, Id};

    pub(super) fn serialize<S: serde::Serializer>(id: &Id, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Id, D::Error> {
        let text = String::deserialize(deserializer)?;
        Id::parse(&text).ok_or_else(|| serde::de::Error::custom("an id has 32 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_disk::storage::{Fault, FaultyStorage};

    fn card(id: &str) -> Card {
        let run = serde_json::json!({ "model": "/model.dve", "semantics": 1, "text": "of the model" });
        Card::new(Id::parse(&id.repeat(32)).unwrap(), run, Parts::default())
    }

    fn id_in(root: &Volume) -> Option<Id> {
        Card::read(root).unwrap_or_else(|error| panic!("{error:?}")).map(|card| card.id)
    }

    #[test]
    fn a_card_is_whole_or_the_old_one_wherever_the_power_goes_and_another_can_be_written() {
        let (old, new, last) = (card("a"), card("b"), card("c"));
        for operation in 0.. {
            let storage = FaultyStorage::new(64, operation);
            let root = Volume::new(storage.clone());
            let replaces = operation % 2 == 1;
            if replaces {
                old.write(&root).unwrap();
            }
            storage.strike(operation / 2, Fault::Crash);
            let written = new.write(&root).is_ok();
            for seed in 0..200 {
                let about = format!("operation {operation}, seed {seed}");
                let root = Volume::new(storage.after_crash(seed));
                let found = id_in(&root);
                let before = replaces.then_some(old.id);
                assert!(found == Some(new.id) || !written && found == before, "{about}: {found:?}");
                Card::sweep(&root).unwrap();
                last.write(&root).unwrap();
                assert_eq!(
                    (id_in(&root), root.list().unwrap()),
                    (Some(last.id), vec![NAME.to_owned()]),
                    "{about}"
                );
            }
            if !storage.struck() {
                break;
            }
        }
    }

    #[test]
    fn a_failing_device_leaves_the_old_card_or_the_new_one() {
        let (old, new, last) = (card("a"), card("b"), card("c"));
        for fault in [Fault::Fail, Fault::Short, Fault::Tear, Fault::Full] {
            for operation in 0.. {
                let storage = FaultyStorage::new(64, operation);
                let root = Volume::new(storage.clone());
                old.write(&root).unwrap();
                storage.strike(operation, fault);
                let written = new.write(&root).is_ok();
                let struck = storage.struck();
                if struck {
                    let found = id_in(&root);
                    assert!(
                        found == Some(new.id) || !written && found == Some(old.id),
                        "{fault:?} at {operation}"
                    );
                    root.remove(NAME).unwrap();
                    Card::sweep(&root).unwrap();
                    last.write(&root).unwrap();
                    assert_eq!(root.list().unwrap(), [NAME]);
                } else {
                    break;
                }
            }
        }
    }

    #[test]
    fn what_does_not_say_that_it_is_ours_is_not() {
        let root = Volume::in_memory(64);
        assert!(Card::read(&root).unwrap().is_none());
        let ours = card("a").to_text();
        let other_version = ours.replace("\"schema\": 2", "\"schema\": 1");
        let other_tool = ours.replace("\"tool\": \"fathom\"", "\"tool\": \"other\"");
        let no_id = ours.replace(&"a".repeat(32), "a");
        let texts = [("", true), ("{}", true), ("[]", true), ("text", true), (&other_tool, true)];
        for (text, foreign) in texts.into_iter().chain([(&*other_version, false), (&no_id, false)]) {
            let file = root.create(NAME, FileKind::MANIFEST).unwrap();
            file.write(0, text.as_bytes()).unwrap();
            let found = Card::read(&root);
            assert_eq!(matches!(found, Err(CardError::Foreign)), foreign, "{text}");
            assert!(found.is_err(), "{text}");
            root.remove(NAME).unwrap();
        }
        root.create(NAME, FileKind::MANIFEST).unwrap().resize(BYTES_MAX + 1).unwrap();
        assert!(matches!(Card::read(&root), Err(CardError::Foreign)));
    }
}
