//! How is a boundary made to last, and taken up again?
//!
//! Files: the log of layers, and the runs, each with shard, level, whether it is in the window, and its first and last layer in its note. Beside them, in the cursor, all numbers 8 bytes:
//!
//! ```text
//! how far is looked back (6) | visits of states that had been visited before, plus one, once they are counted | shards | for each: length of its sample, sample
//! ```
//! The image of recent layers is not taken up: it holds candidates that die with the process. So no layer is complete then but those that follow.

use std::time::Instant;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::manifest::Named;
use fathom_disk::sketch::Sketch;
use fathom_disk::storage::Phase;

use super::lookback::Lookback;
use super::shard::RunPlace;
use super::{Options, RecentLayers, Sizes};
use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;
use crate::files::at_rest::AtRest;
use crate::files::commits::{Commits, live_bytes_of};
use crate::files::cursor::Cursor;
use crate::files::lock;
use crate::files::place::Place;

/// Shards are a few for each thread: more make no sense.
const SHARDS_MAX: u64 = 1 << 16;
/// So are more keys of a sample.
const SAMPLE_MAX: usize = 1 << 16;

/// How a search stands, beside its files.
struct Stand {
    lookback: Lookback,
    counted: Option<u64>,
    samples: Vec<Sketch>,
}

impl RecentLayers {
    /// Makes everything up to the last closed layer last.
    pub(super) fn commit(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("commit");
        let began = Instant::now();
        let mut files = Vec::new();
        if !self.files.is_at_rest() {
            self.name_runs(&mut files)?;
        }
        self.files.commit_visits(began, &self.shards, (self.stand(), files), boundary)
    }

    fn name_runs(&self, files: &mut Vec<Named>) -> Result<(), SearchError> {
        for (number, shard) in self.shards.iter().enumerate() {
            for (place, run) in lock(shard).placed_runs() {
                files.push(self.files.name_run(run, note(number, place))?);
            }
        }
        Ok(())
    }

    fn stand(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.lookback.write(&mut bytes);
        put_u64(&mut bytes, self.counted.map_or(0, |revisits| revisits + 1));
        put_u64(&mut bytes, self.shards.len() as u64);
        for shard in &self.shards {
            let sample = lock(shard).sample.to_bytes();
            put_u64(&mut bytes, sample.len() as u64);
            bytes.extend_from_slice(&sample);
        }
        bytes
    }

    /// Puts the closed set of a complete search to rest, unless layers are gone. If room or memory does not suffice, everything stays as it is.
    pub(super) fn put_to_rest(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("rest");
        if self.files.is_at_rest() || !self.keeps_all_states() && !self.keeps_all_layers() {
            return Ok(());
        }
        let live_bytes = self.disk_use().closed_set;
        let written = AtRest::try_write(&self.files.place, |name| match self.keeps_all_states() {
            true => self.merge_all(name),
            false => {
                let Place { budget, .. } = &self.files.place;
                AtRest::sort_stages(&self.files.place, name, &self.files.frontier().store, budget.free() / 4)
            }
        })?;
        if let Some(run) = written {
            self.files.rest(run, live_bytes, self.disk_use().peak);
            self.commit(boundary)?;
        }
        Ok(())
    }

    /// Writes one run with all states.
    fn merge_all(&self, name: &str) -> Result<(), DiskError> {
        let bytes = AtRest::readable_bytes(&self.files.place);
        while self.shards.iter().map(|shard| lock(shard).reading_bytes()).sum::<usize>() > bytes {
            let most = self.shards.iter().max_by_key(|shard| lock(shard).placed_runs().count());
            let Some(most) = most else { break };
            if !lock(most).merge_smallest(&self.files.place, &self.sizes)? {
                break;
            }
        }
        let shards: Vec<_> = self.shards.iter().map(lock).collect();
        let runs: Vec<_> = shards.iter().flat_map(|shard| shard.placed_runs().map(|(_, run)| run)).collect();
        AtRest::merge(&self.files.place, name, &runs)
    }
}

/// Takes up what a commit says.
pub(super) fn take_up(
    (place, commits, sizes): (Place, Commits, Sizes),
    threads: usize,
    options: Options,
    cursor: Cursor,
) -> Result<(RecentLayers, Option<Vec<u8>>), SearchError> {
    let stand = match &cursor.visits {
        Some(stand) => Stand::parse(stand, options, &place.budget)?.ok_or(SearchError::Boundary)?,
        // What other engines have left can be looked at when it is over, but not gone on with.
        None => return Err(SearchError::Boundary),
    };
    let store = cursor.open_layers(&place.volume, &place.budget)?;
    let sizes = sizes.with_shards(stand.samples.len());
    let sizes = Sizes { log_block_bytes: cursor.log_block_bytes, ..sizes };
    let Stand { lookback, counted, samples } = stand;
    let mut taken =
        RecentLayers::assemble((place, commits, sizes), threads, options, store, (lookback, samples))?;
    taken.counted = counted;
    taken.open_runs()?;
    taken.files.frontier().rewind()?;
    Ok((taken, Some(cursor.boundary)))
}

impl RecentLayers {
    /// Opens the runs that the last commit names.
    fn open_runs(&mut self) -> Result<(), SearchError> {
        let mut runs = Vec::new();
        for file in self.files.committed_files().into_iter().filter(|file| !file.grows) {
            match live_bytes_of(&file.note) {
                Some(live_bytes) => self.files.take_up_at_rest((file.name, live_bytes))?,
                None => {
                    let (shard, place) = read_note(&file.note).ok_or(SearchError::Boundary)?;
                    runs.push((shard, place.from, place, file.name));
                }
            }
        }
        runs.sort_by_key(|(shard, from, ..)| (*shard, *from));
        for (shard, _, place, name) in runs {
            let run = self.files.place.open_run(&name)?;
            let shard = self.shards.get(shard).ok_or(SearchError::Boundary)?;
            lock(shard).take_up(&self.sizes, place, run);
        }
        Ok(())
    }
}

impl Stand {
    fn parse(bytes: &[u8], options: Options, budget: &Budget) -> Result<Option<Stand>, SearchError> {
        let mut rest = Reader(bytes);
        let mut read = || {
            let lookback = Lookback::read(&mut rest, options.length, options.drops)?;
            let counted = rest.u64()?.checked_sub(1);
            let shards = rest.u64().filter(|shards| (1..=SHARDS_MAX).contains(shards))?;
            let mut sample = || {
                let length = usize::try_from(rest.u64()?).ok()?;
                rest.take(length)
            };
            let samples = (0..shards).map(|_| sample()).collect::<Option<Vec<_>>>()?;
            Some((lookback, counted, samples))
        };
        let Some((lookback, counted, samples)) = read() else { return Ok(None) };
        let samples = samples.into_iter().map(|bytes| Sketch::from_bytes(bytes, SAMPLE_MAX, budget));
        let samples: Option<Vec<Sketch>> = samples.collect::<Result<_, _>>()?;
        Ok(samples.map(|samples| Stand { lookback, counted, samples }))
    }
}

/// What the note of a run says.
fn note(shard: usize, place: RunPlace) -> Vec<u8> {
    let mut note = Vec::new();
    let level = place.level as u64 | u64::from(place.in_window) << 32;
    [shard as u64, level, place.from, place.to].iter().for_each(|number| put_u64(&mut note, *number));
    note
}

fn read_note(note: &[u8]) -> Option<(usize, RunPlace)> {
    let mut rest = Reader(note);
    let shard = usize::try_from(rest.u64()?).ok()?;
    let level = rest.u64()?;
    let (from, to) = (rest.u64()?, rest.u64()?);
    let (in_window, level) = (level >> 32 & 1 == 1, (level & 0xffff_ffff) as usize);
    let makes_sense = rest.0.is_empty() && from <= to && level < LEVELS_MAX;
    makes_sense.then_some((shard, RunPlace { in_window, from, to, level }))
}

/// Levels grow with the logarithm of what is known: more make no sense.
const LEVELS_MAX: usize = 64;
