//! How is a boundary made to last, and taken up again?
//!
//! Files: the runs, each with shard and level in its note, or the one run of a closed set at rest, with what it took before; and the log, which may grow until the next commit. The filter is built again from the runs; the
//! window is not: it holds candidates that die with the process.

use std::time::Instant;

use fathom_disk::error::DiskError;
use fathom_disk::manifest::{Manifest, Named, RunDirectory};
use fathom_disk::sabotage::is_chosen;
use fathom_disk::storage::Phase;

use super::allotment::Allotment;
use super::known::Known;
use super::layer_store::LayerStore;
use super::place::Place;
use super::rest::AtRest;
use super::shares::Shares;
use super::{Options, Tier, lock};
use crate::bytes::Reader;
use crate::error::SearchError;
use crate::files::cursor::Cursor;

/// What the note of a closed set at rest begins with, in place of shard and level.
const AT_REST: u64 = u64::MAX;
/// Room that is set aside, in blocks of the layer log.
const BALLAST_BLOCKS: u64 = 4;

impl Tier {
    /// Makes everything up to the last closed layer last. What is in memory goes to disk first.
    pub(super) fn commit(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("commit");
        let began = Instant::now();
        if self.at_rest.is_none() {
            self.flush_tables()?;
        }
        self.remove_retired()?;
        let mut files = Vec::new();
        if let Some(AtRest { run, live_bytes }) = &self.at_rest {
            let mut note = AT_REST.to_le_bytes().to_vec();
            note.extend_from_slice(&live_bytes.to_le_bytes());
            files.push(Named { name: run.name().to_owned(), grows: false, note });
        }
        let shards = self.shards.iter().enumerate().filter(|_| self.at_rest.is_none());
        for (number, shard) in shards {
            for (level, run) in lock(shard).all_runs() {
                let name = run.name().to_owned();
                let is_new = self.directory.committed().is_none_or(|manifest| !manifest.names(&name));
                if is_new && !is_chosen("run-sync") {
                    run.sync()?;
                }
                let mut note = (number as u32).to_le_bytes().to_vec();
                note.extend_from_slice(&(level as u32).to_le_bytes());
                files.push(Named { name, grows: false, note });
            }
        }
        let cursor = {
            let store = &mut lock(&self.layers).store;
            let mark = store.mark()?;
            let logs =
                store.file_names().map(|name| Named { name: name.to_owned(), grows: true, note: Vec::new() });
            files.extend(logs);
            Cursor {
                shards: self.shares.shards,
                log_block_bytes: self.shares.log_block_bytes,
                mark,
                first: store.first(),
                layers: store.layer_count(),
                log_name: store.name().to_owned(),
                boundary: boundary.to_vec(),
            }
        };
        self.directory.commit(&cursor.to_bytes(), &files)?;
        self.clock.committed(began.elapsed());
        Ok(())
    }

    pub(super) fn flush_tables(&mut self) -> Result<(), SearchError> {
        Ok(self.shards.iter().try_for_each(|shard| lock(shard).flush(&self.place))?)
    }
}

/// Sets room aside that is given up when the device is full, so that the last manifest fits.
pub(super) fn set_ballast(directory: &RunDirectory, shares: &Shares) -> Result<(), DiskError> {
    directory.set_ballast(BALLAST_BLOCKS * shares.log_block_bytes as u64)
}

/// Takes up what a manifest says.
pub(super) fn take_up(
    place: Place,
    directory: RunDirectory,
    (allotment, shares): (Allotment, Shares),
    options: Options,
    manifest: &Manifest,
) -> Result<(Tier, Option<Vec<u8>>), SearchError> {
    let cursor = Cursor::parse(&manifest.cursor)?;
    let in_layers = cursor.shards == 0;
    let shares = if in_layers { shares } else { shares.with_shards(cursor.shards) };
    let shares = Shares { log_block_bytes: cursor.log_block_bytes, ..shares };
    let mut shards =
        (0..shares.shards).map(|_| Known::new(&place, &shares)).collect::<Result<Vec<_>, DiskError>>()?;
    let mut at_rest = None;
    for file in manifest.files.iter().filter(|file| !file.grows) {
        if let Some(live_bytes) = live_bytes_of(&file.note) {
            at_rest = Some(AtRest { run: place.open_run(&file.name)?, live_bytes });
            continue;
        }
        let note: [u8; 8] = file.note[..].try_into().map_err(|_| SearchError::Boundary)?;
        let [shard, level] = [&note[..4], &note[4..]]
            .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize);
        let known = shards.get_mut(shard).filter(|_| level < 64).ok_or(SearchError::Boundary)?;
        known.take_up(&place, level, place.open_run(&file.name)?)?;
    }
    let Place { volume, budget, .. } = &place;
    let store = LayerStore::resume(
        volume,
        &cursor.log_name,
        cursor.first,
        cursor.log_block_bytes,
        cursor.mark,
        budget,
    )?;
    if store.layer_count() != cursor.layers {
        return Err(SearchError::Boundary);
    }
    let mut tier = Tier::assemble(place, directory, (allotment, shares), options, store, shards)?;
    #[cfg(feature = "sabotage")]
    reload_window(&mut tier);
    tier.at_rest = at_rest;
    if in_layers {
        tier.know_layers()?;
    }
    if cursor.layers > 0 {
        let layers = &mut *lock(&tier.layers);
        layers.cursor.open(&layers.store, cursor.layers - 1)?;
    }
    Ok((tier, Some(cursor.boundary)))
}

/// What a closed set at rest took before, if this is the note of one.
pub(super) fn live_bytes_of(note: &[u8]) -> Option<u64> {
    let mut note = Reader(note);
    (note.u64()? == AT_REST).then(|| note.u64())?
}

/// Deliberately wrong where that was chosen: the window of a search that ended is taken up by the next one.
#[cfg(feature = "sabotage")]
static WINDOW: std::sync::Mutex<Option<(u32, fathom_disk::window::Window)>> = std::sync::Mutex::new(None);

#[cfg(feature = "sabotage")]
fn reload_window(tier: &mut Tier) {
    if is_chosen("window")
        && let Some((bits, window)) = lock(&WINDOW).take()
        && bits == tier.place.width.bits()
    {
        tier.window = window;
    }
}

#[cfg(feature = "sabotage")]
impl Drop for Tier {
    fn drop(&mut self) {
        let bits = self.place.width.bits();
        let none = fathom_disk::window::Window::new(bits, 0, &fathom_disk::budget::Budget::unlimited());
        if let Ok(none) = none
            && is_chosen("window")
        {
            *lock(&WINDOW) = Some((bits, std::mem::replace(&mut self.window, none)));
        }
    }
}
