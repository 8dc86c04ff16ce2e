//! What does a commit of a breadth-first search say beside its files?
//!
//! The cursor in the manifest, all numbers 8 bytes:
//!
//! ```text
//! version | shards | bytes of a log block | mark of the log (6) | first layer of the log | layers | length of the log's name, name | boundary of the layer loop
//! ```
//! A search whose stages are no layers, or whose layers may have states that were visited before, has another version, and what its engine says of itself stands before the boundary, with its length.
//!
//! Shards are 0 if the known states are in no runs but in RAM: they are made of the layers when the run is taken up.

use fathom_disk::budget::Budget;
use fathom_disk::log::Mark;
use fathom_disk::manifest::Manifest;
use fathom_disk::storage::Volume;

use super::layer_store::LayerStore;
use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;

/// To be raised with any change of what runs, layers or the cursor mean.
const VERSION: u64 = 3;
/// The same, for searches whose stages are no layers.
const STAGES_VERSION: u64 = 1 << 32 | 1;
/// The same, for searches by layers that may visit a state twice.
const VISITS_VERSION: u64 = 1 << 32 | 2;

/// What a commit says beside its files.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// 0 if the known states are in no runs: they are to be made of the layers.
    pub(crate) shards: usize,
    pub(crate) log_block_bytes: usize,
    pub(crate) mark: Mark,
    /// The first layer of the log: those before it were dropped.
    pub(crate) first: u64,
    pub(crate) layers: u64,
    pub(crate) log_name: String,
    /// What the engine says of itself, if its stages are no layers.
    pub(crate) stages: Option<Vec<u8>>,
    /// What the engine says of itself, if a state may be in several layers.
    pub(crate) visits: Option<Vec<u8>>,
    pub(crate) boundary: Vec<u8>,
}

impl Cursor {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let version = match (&self.stages, &self.visits) {
            (None, None) => VERSION,
            (None, Some(_)) => VISITS_VERSION,
            (Some(_), _) => STAGES_VERSION,
        };
        for number in [version, self.shards as u64, self.log_block_bytes as u64] {
            put_u64(&mut bytes, number);
        }
        self.mark.0.iter().for_each(|number| put_u64(&mut bytes, *number));
        put_u64(&mut bytes, self.first);
        put_u64(&mut bytes, self.layers);
        put_u64(&mut bytes, self.log_name.len() as u64);
        bytes.extend_from_slice(self.log_name.as_bytes());
        if let Some(own) = self.stages.as_ref().or(self.visits.as_ref()) {
            put_u64(&mut bytes, own.len() as u64);
            bytes.extend_from_slice(own);
        }
        bytes.extend_from_slice(&self.boundary);
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Cursor, SearchError> {
        let mut rest = Reader(bytes);
        match rest.u64() {
            Some(version @ (VERSION | STAGES_VERSION | VISITS_VERSION)) => {
                Cursor::parse_numbers(rest, version).ok_or(SearchError::Boundary)
            }
            Some(found) => Err(SearchError::Version { found, reads: VERSION }),
            None => Err(SearchError::Boundary),
        }
    }

    /// The layers that it stands for.
    pub(crate) fn open_layers(&self, volume: &Volume, budget: &Budget) -> Result<LayerStore, SearchError> {
        let Cursor { log_name, log_block_bytes, mark, first, layers, .. } = self;
        let store = LayerStore::resume(volume, log_name, *first, *log_block_bytes, *mark, budget)?;
        if store.layer_count() == *layers { Ok(store) } else { Err(SearchError::Boundary) }
    }

    fn parse_numbers(mut rest: Reader<'_>, version: u64) -> Option<Cursor> {
        let shards = usize::try_from(rest.u64()?).ok().filter(|shards| *shards <= 1 << 16)?;
        let log_block_bytes = usize::try_from(rest.u64()?).ok().filter(|bytes| *bytes <= 1 << 24)?;
        let mut mark = Mark::default();
        for number in &mut mark.0 {
            *number = rest.u64()?;
        }
        let (first, layers) = (rest.u64()?, rest.u64()?);
        let length = usize::try_from(rest.u64()?).ok()?;
        let log_name = String::from_utf8(rest.take(length)?.to_vec()).ok()?;
        let own = match version != VERSION {
            true => {
                let length = usize::try_from(rest.u64()?).ok()?;
                Some(rest.take(length)?.to_vec())
            }
            false => None,
        };
        let (stages, visits) = if version == STAGES_VERSION { (own, None) } else { (None, own) };
        let boundary = rest.0.to_vec();
        Some(Cursor { shards, log_block_bytes, mark, first, layers, log_name, stages, visits, boundary })
    }
}

/// The boundary that a commit stands for.
pub(crate) fn boundary_of(manifest: &Manifest) -> Result<Vec<u8>, SearchError> {
    Ok(Cursor::parse(&manifest.cursor)?.boundary)
}
