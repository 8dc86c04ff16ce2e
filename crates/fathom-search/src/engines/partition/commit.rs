//! How is a boundary made to last, and taken up again?
//!
//! Files: the log of stages; runs of known states and of what waits, each with what it is in its note: 0 and its level, or 1, when it was written and how much of it waits. Beside them, in the cursor, all numbers 8 bytes:
//!
//! ```text
//! what the engine is | length of what states are parted by, that | a hash of it | time | the partition that is visited, plus one | first stage that is not known | partitions | for each: its least key, when it was visited, keys that wait
//! ```
//! What was offered since the boundary may wait, too: it is offered again when the stage is expanded again. The table of the partition is made of what is known.

use std::time::Instant;

use fathom_disk::error::DiskError;
use fathom_disk::manifest::Named;
use fathom_disk::run::{Run, RunConfig};
use fathom_disk::set::{KeyStream, Sorter};
use fathom_disk::storage::Phase;
use fathom_model::shape::Shape;

use super::by::By;
use super::parts::Parts;
use super::pending::WaitingRun;
use super::{Options, Partition, Sizes};
use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;
use crate::files::at_rest::AtRest;
use crate::files::commits::{Commits, live_bytes_of};
use crate::files::cursor::Cursor;
use crate::files::lock;
use crate::files::place::Place;

/// What a commit of this engine begins with: "partitio" as a number.
const PARTITION: u64 = 0x6f69_7469_7472_6170;

/// What the note of a file says it is.
const KNOWN: u64 = 0;
const WAITING: u64 = 1;
/// Levels grow with the logarithm of what is known: more make no sense.
const LEVELS_MAX: u64 = 64;

impl Partition {
    /// Makes everything up to the last closed stage last.
    pub(super) fn commit(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("commit");
        let began = Instant::now();
        let files = match &self.at_rest {
            // It is over: nothing waits.
            Some(at_rest) => vec![Commits::name_at_rest(at_rest)],
            None => self.files()?,
        };
        self.remove_retired()?;
        let stand = self.stand();
        let store = &mut lock(&self.frontier).store;
        self.commits.commit_stages(began, (stand, files), store, boundary)
    }

    /// All files but the log, which last from now on.
    fn files(&mut self) -> Result<Vec<Named>, SearchError> {
        let mut files = Vec::new();
        let mut name = |run: &Run, numbers: &[u64]| {
            self.commits.make_last(run)?;
            let mut note = Vec::new();
            numbers.iter().for_each(|number| put_u64(&mut note, *number));
            files.push(Named { name: run.name().to_owned(), grows: false, note });
            Ok::<(), DiskError>(())
        };
        let pending = &mut *lock(&self.pending);
        pending.spill(&self.place, &self.sizes)?;
        for WaitingRun { run, written, left } in pending.runs() {
            name(run, &[WAITING, *written, *left])?;
        }
        for (level, run) in self.visited.known.runs() {
            name(run, &[KNOWN, level as u64])?;
        }
        Ok(files)
    }

    fn stand(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let pending = self.pending();
        let at = self.at.as_ref().map_or(0, |part| part.number as u64 + 1);
        let by = self.by.name();
        put_u64(&mut bytes, PARTITION);
        put_u64(&mut bytes, by.len() as u64);
        bytes.extend_from_slice(by.as_bytes());
        for number in [self.by.identity(), pending.time, at, self.unknown_from] {
            put_u64(&mut bytes, number);
        }
        pending.parts.write(&mut bytes);
        bytes
    }

    /// Puts the closed set of a complete search to rest, in one run. If room or memory does not suffice, everything stays as it is.
    pub fn put_to_rest(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("rest");
        if self.at_rest.is_some() {
            return Ok(());
        }
        self.visited.forget();
        let live_bytes = self.closed_set_bytes();
        let written = AtRest::try_write(&self.place, |name| self.write_closed_set(name))?;
        let Some(run) = written else { return Ok(()) };
        self.disk_meter.note_peak(self.disk_use().peak + run.bytes());
        self.at_rest = Some(AtRest { run, live_bytes });
        self.commit(boundary)
    }

    /// Writes one run with all states, in the order of their records.
    fn write_closed_set(&self, name: &str) -> Result<(), DiskError> {
        let Partition { place, sizes, valued, visited, .. } = self;
        let sorted_name = place.fresh_name("rested");
        let Place { volume, budget, width, tag, .. } = place;
        let mut sorter = Sorter::new(volume, budget, &sorted_name, *width, *tag, budget.free() / 4)?;
        let words = valued.words();
        let mut known = visited.known.scan(budget, words, sizes.scan_bytes)?;
        while known.advance()? {
            for key in known.keys().chunks_exact(words) {
                sorter.push(&key[1..])?;
            }
        }
        drop(known);
        let sorted = sorter.finish()?;
        let config = RunConfig::resting_within(*width, *tag, budget.free() / 4);
        let mut writer = place.named_run_writer(name, &config)?;
        let mut stream = sorted.stream()?;
        while stream.advance()? {
            writer.push(stream.keys())?;
        }
        drop(stream);
        writer.finish(true)?;
        sorted.remove()
    }
}

/// Takes up what a commit says.
pub(super) fn take_up(
    (place, commits, sizes): (Place, Commits, Sizes),
    shape: &Shape,
    options: Options,
    cursor: Cursor,
) -> Result<(Partition, Option<Vec<u8>>), SearchError> {
    // What other engines have left can be looked at when it is over, but not gone on with.
    let mut stand = Reader(cursor.stages.as_deref().ok_or(SearchError::Boundary)?);
    let name = name_of(&mut stand).ok_or(SearchError::Boundary)?;
    let mut numbers = || Some([stand.u64()?, stand.u64()?, stand.u64()?, stand.u64()?]);
    let [identity, time, at, unknown_from] = numbers().ok_or(SearchError::Boundary)?;
    // What a sample has suggested once is not asked again.
    let by = options.by.map_or_else(|| By::named(&name, shape), Ok)?;
    if by.identity() != identity {
        return Err(SearchError::PartedBy { by: name });
    }
    if unknown_from > cursor.layers {
        return Err(SearchError::Boundary);
    }
    let options = Options { by: Some(by), ..options };
    let words = place.width.words() + 1;
    let parts = Parts::read(&mut stand, (words, sizes.parts_max), &place.budget)?;
    let parts = parts.filter(|parts| at <= parts.len() as u64).ok_or(SearchError::Boundary)?;
    let store = cursor.open_layers(&place.volume, &place.budget)?;
    let sizes = Sizes { log_block_bytes: cursor.log_block_bytes, ..sizes };
    let mut taken = Partition::assemble((place, commits, sizes), options, store, parts)?;
    taken.tally.taken_up = true;
    taken.unknown_from = unknown_from;
    taken.pending().time = time;
    taken.open_runs()?;
    if taken.at_rest.is_none() {
        taken.know_stages()?;
        taken.at = at.checked_sub(1).map(|number| taken.pending().parts.part(number as usize));
        if let Some(part) = &taken.at {
            // If it does not fit in the table any more, it is looked up in the runs until the visit is over.
            taken.visited.load(&taken.place, &taken.sizes, (&taken.by, part))?;
        }
    }
    lock(&taken.frontier).rewind()?;
    Ok((taken, Some(cursor.boundary)))
}

/// By what states were parted, if this is of a search of this engine.
fn name_of(stand: &mut Reader<'_>) -> Option<String> {
    if stand.u64()? != PARTITION {
        return None;
    }
    let length = usize::try_from(stand.u64()?).ok()?;
    String::from_utf8(stand.take(length)?.to_vec()).ok()
}

impl Partition {
    /// Opens the runs that the last commit names.
    fn open_runs(&mut self) -> Result<(), SearchError> {
        let files = self.commits.manifest().map_or(Vec::new(), |manifest| manifest.files.clone());
        let Place { volume, budget, tag, .. } = &self.place;
        for file in files.iter().filter(|file| !file.grows) {
            if let Some(live_bytes) = live_bytes_of(&file.note) {
                self.at_rest = Some(AtRest { run: self.place.open_run(&file.name)?, live_bytes });
                continue;
            }
            let mut note = Reader(&file.note);
            let run = Run::open(volume, budget, &file.name, self.valued, *tag)?;
            match (note.u64(), note.u64(), note.u64()) {
                (Some(KNOWN), Some(level), None) if level < LEVELS_MAX => {
                    self.visited.known.insert(level as usize, run);
                }
                (Some(WAITING), Some(written), Some(left)) => {
                    lock(&self.pending).take_up(WaitingRun { run, written, left });
                }
                _ => return Err(SearchError::Boundary),
            }
        }
        Ok(())
    }
}
