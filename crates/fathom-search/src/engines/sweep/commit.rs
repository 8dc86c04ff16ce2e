//! How is a boundary made to last, and taken up again?
//!
//! Files: the log of stages; the pages or files of the queue; runs of what steps back, of what earlier sweeps know, and of the roots of this sweep, each with what it is in its note. Beside them, in the
//! cursor, all numbers 8 bytes:
//!
//! ```text
//! whether there is a bucket, its first and last value | its first stage | first stage of the sweep | figures (6) | keep | queue | length of its name, name | length of its mark, mark | hash of the measure's text
//! ```
//! What was pushed since the boundary may be in the queue, too: those candidates are offered again when the stage is expanded again. What was met of the bucket is made of its stages.

use std::time::Instant;

use fathom_disk::error::DiskError;
use fathom_disk::hash::hash_key;
use fathom_disk::manifest::Named;
use fathom_disk::run::{Run, RunConfig};
use fathom_disk::set::KeyStream;
use fathom_disk::storage::Phase;

use super::line::Line;
use super::sweeps::{self, sorted_stages};
use super::{Measure, Options, Queue, Sizes, Sweep, Waiting, make_queue};
use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;
use crate::files::at_rest::AtRest;
use crate::files::commits::{Commits, live_bytes_of};
use crate::files::cursor::Cursor;
use crate::files::layer_store::LayerCursor;
use crate::files::lock;
use crate::files::place::Place;
use crate::task::ProgressFigures;

/// What the note of a file says it is.
const KNOWN: u8 = 0;
const ROOTS: u8 = 1;
const REGRESS: u8 = 2;
const QUEUE: u8 = 3;

/// How a sweep stands, beside its files.
#[derive(Debug)]
struct Stand {
    at: Option<Line>,
    bucket_from: u64,
    sweep_from: u64,
    figures: ProgressFigures,
    keep: bool,
    queue: Queue,
    queue_name: String,
    queue_mark: Vec<u8>,
    measure: u64,
}

impl Sweep<'_> {
    /// Makes everything up to the last closed stage last.
    pub(super) fn commit(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("commit");
        let began = Instant::now();
        let (queue_mark, files) = match &self.at_rest {
            // It is over: nothing waits.
            Some(at_rest) => (Vec::new(), vec![Commits::name_at_rest(at_rest)]),
            None => self.files()?,
        };
        // After the mark, which may write pages and so retire a segment that the last commit names: that one goes with this commit, and must not be removed once more.
        self.remove_retired()?;
        let stand = Stand {
            at: self.at,
            bucket_from: self.bucket_from,
            sweep_from: self.sweep_from,
            figures: self.figures,
            keep: self.keep,
            queue: self.queue_kind,
            queue_name: self.waiting().queue_name.clone(),
            queue_mark,
            measure: text_hash(&self.measure_text),
        };
        let store = &mut lock(&self.frontier).store;
        self.commits.commit_stages(began, (stand.to_bytes(), files), store, boundary)
    }

    /// The mark of the queue, and all files but the log, which last from now on.
    fn files(&mut self) -> Result<(Vec<u8>, Vec<Named>), SearchError> {
        let Waiting { queue, regress, .. } = &mut *lock(&self.waiting);
        let mark = queue.mark()?;
        let named =
            |name: &str, grows, note: &[u8]| Named { name: name.to_owned(), grows, note: note.to_vec() };
        let mut files: Vec<Named> =
            queue.file_names().iter().map(|name| named(name, true, &[QUEUE])).collect();
        files.extend(regress.keep()?.iter().map(|name| named(name, false, &[REGRESS])));
        for (level, run) in self.earlier.runs.runs() {
            self.commits.make_last(run)?;
            files.push(named(run.name(), false, &[KNOWN, level as u8]));
        }
        if let Some(run) = &self.roots {
            self.commits.make_last(run)?;
            files.push(named(run.name(), false, &[ROOTS]));
        }
        Ok((mark, files))
    }

    /// Puts the closed set of a complete search that keeps its stages to rest, in one run. If room or memory does not suffice, everything stays as it is.
    pub fn put_to_rest(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("rest");
        if self.at_rest.is_some() || !self.keeps_stages() {
            return Ok(());
        }
        let live_bytes = self.disk_use().closed_set;
        let Some(run) = AtRest::try_write(&self.place, |name| self.write_closed_set(name))? else {
            return Ok(());
        };
        self.disk_meter.note_peak(self.disk_use().peak + run.bytes());
        self.at_rest = Some(AtRest { run, live_bytes });
        self.commit(boundary)
    }

    /// Writes one run with all states.
    fn write_closed_set(&self, name: &str) -> Result<(), DiskError> {
        let Sweep { place, sizes, .. } = self;
        let store = &self.frontier().store;
        let sorted = sorted_stages(place, place.width, sizes, store, 0, &mut |records, sorter| {
            sorter.push(records.words())
        })?;
        let config = RunConfig::resting_within(place.width, place.tag, place.budget.free() / 4);
        let mut writer = place.named_run_writer(name, &config)?;
        let mut stream = sorted.stream()?;
        while stream.advance()? {
            writer.push(stream.keys())?;
        }
        drop(stream);
        writer.finish(true)?;
        sorted.remove()
    }

    /// Meets again what is in the stages of the bucket that is being expanded.
    fn meet_bucket(&mut self) -> Result<(), SearchError> {
        let Sweep { place, sizes, bucket, fresh, frontier, bucket_from, .. } = self;
        let store = &lock(frontier).store;
        let words = place.width.words();
        let mut cursor = LayerCursor::new(place.width, &place.budget)?;
        for stage in *bucket_from..store.layer_count() {
            cursor.open(store, stage)?;
            while let Some(records) = cursor.next_keys(store)? {
                for piece in records.words().chunks(sizes.piece_keys * words) {
                    bucket.sift(place, sizes, piece, fresh)?;
                }
            }
            bucket.end_stage(place, sizes)?;
        }
        Ok(())
    }
}

/// Takes up what a commit says.
pub(super) fn take_up<'m>(
    (place, commits, sizes): (Place, Commits, Sizes),
    measure: Measure<'m>,
    options: Options,
    cursor: Cursor,
) -> Result<(Sweep<'m>, Option<Vec<u8>>), SearchError> {
    // What searches by layers have left can be looked at when it is over, but not gone on with.
    let stand = cursor.stages.as_deref().and_then(Stand::parse).ok_or(SearchError::Boundary)?;
    if stand.measure != text_hash(&options.measure_text) || stand.keep != options.keep {
        return Err(SearchError::Boundary);
    }
    let options = Options { queue: stand.queue, ..options };
    let store = cursor.open_layers(&place.volume, &place.budget)?;
    let sizes = Sizes { log_block_bytes: cursor.log_block_bytes, ..sizes };
    let mark = Some(&*stand.queue_mark).filter(|mark| !mark.is_empty());
    let queue = make_queue(stand.queue, &place, &sizes, &stand.queue_name, mark)?;
    let mut sweep =
        Sweep::assemble((place, commits, sizes), measure, options, store, (queue, stand.queue_name))?;
    (sweep.at, sweep.figures) = (stand.at, stand.figures);
    (sweep.bucket_from, sweep.sweep_from) = (stand.bucket_from, stand.sweep_from);
    sweep.open_runs()?;
    sweep.meet_bucket()?;
    lock(&sweep.frontier).rewind()?;
    Ok((sweep, Some(cursor.boundary)))
}

impl Sweep<'_> {
    /// Opens the runs that the last commit names.
    fn open_runs(&mut self) -> Result<(), SearchError> {
        let files = self.commits.manifest().map_or(Vec::new(), |manifest| manifest.files.clone());
        let valued =
            |name: &str| Run::open(&self.place.volume, &self.place.budget, name, self.valued, self.place.tag);
        let mut regress = Vec::new();
        for file in files.iter().filter(|file| !file.grows) {
            match (&file.note[..], live_bytes_of(&file.note)) {
                (_, Some(live_bytes)) => {
                    self.at_rest = Some(AtRest { run: self.place.open_run(&file.name)?, live_bytes });
                }
                ([KNOWN, level], _) => self.earlier.runs.insert(usize::from(*level), valued(&file.name)?),
                ([ROOTS], _) => self.roots = Some(valued(&file.name)?),
                ([REGRESS], _) => regress.push(file.name.clone()),
                _ => return Err(SearchError::Boundary),
            }
        }
        let sorter = sweeps::regress_sorter(&self.place, &self.sizes, self.valued);
        let waiting = &mut *lock(&self.waiting);
        waiting.regress = sorter?.resume(regress);
        Ok(())
    }
}

impl Stand {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let ProgressFigures { sweeps, buckets, largest_bucket, forward, stationary, regress, .. } =
            self.figures;
        for number in [
            u64::from(self.at.is_some()),
            self.at.map_or(0, |line| line.from),
            self.at.map_or(0, |line| line.to),
            self.bucket_from,
            self.sweep_from,
            sweeps,
            buckets,
            largest_bucket,
            forward,
            stationary,
            regress,
            u64::from(self.keep),
            u64::from(self.queue == Queue::Array),
            self.measure,
        ] {
            put_u64(&mut bytes, number);
        }
        for part in [self.queue_name.as_bytes(), &self.queue_mark] {
            put_u64(&mut bytes, part.len() as u64);
            bytes.extend_from_slice(part);
        }
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Stand> {
        let mut rest = Reader(bytes);
        let at = Some(rest.u64()?);
        let line = Line { from: rest.u64()?, to: rest.u64()? };
        let (bucket_from, sweep_from) = (rest.u64()?, rest.u64()?);
        let figures = ProgressFigures {
            sweeps: rest.u64()?,
            buckets: rest.u64()?,
            largest_bucket: rest.u64()?,
            forward: rest.u64()?,
            stationary: rest.u64()?,
            regress: rest.u64()?,
            ..ProgressFigures::default()
        };
        let keep = rest.u64()? == 1;
        let queue = if rest.u64()? == 1 { Queue::Array } else { Queue::Radix };
        let measure = rest.u64()?;
        let mut part = || {
            let length = usize::try_from(rest.u64()?).ok()?;
            Some(rest.take(length)?.to_vec())
        };
        let queue_name = String::from_utf8(part()?).ok()?;
        let queue_mark = part()?;
        let at = at.filter(|there| *there == 1).map(|_| line);
        Some(Stand { at, bucket_from, sweep_from, figures, keep, queue, queue_name, queue_mark, measure })
    }
}

/// A number for a text.
fn text_hash(text: &str) -> u64 {
    let words: Vec<u64> = text.bytes().map(u64::from).chain([text.len() as u64]).collect();
    hash_key(&words)
}
