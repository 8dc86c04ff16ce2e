//! How is a boundary made to last, and taken up again?
//!
//! Files: the log of stages, and what the queue has. Beside them, in the cursor, all numbers 8 bytes:
//!
//! ```text
//! engine | ties | whether there is a bucket, its depth and sum | length of the queue's name, name | length of its mark, mark | depths of stages (4 bytes each)
//! ```
//! What was pushed since the boundary may be in the queue, too: those candidates are offered again when the stage is expanded again. The set of known states is made of the stages.

use std::time::Instant;

use fathom_disk::manifest::Named;
use fathom_disk::storage::Phase;
use fathom_model::shape::Shape;

use super::depths::Depths;
use super::{Astar, Bucket, Measure, Options, Sizes, Ties, Waiting, make_queue};
use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;
use crate::files::at_rest::AtRest;
use crate::files::commits::{Commits, live_bytes_of};
use crate::files::cursor::Cursor;
use crate::files::layer_store::LayerCursor;
use crate::files::lock;
use crate::files::place::Place;
use crate::stores::visited::Insertion;

/// What the note of a file of the queue says.
const QUEUE: u8 = 3;
/// What the engine says of itself begins with this, so that no other takes it up.
const ASTAR: u64 = u64::from_le_bytes(*b"ASTAR\0\0\x01");

/// How a search stands, beside its files.
#[derive(Debug)]
struct Stand {
    ties: Ties,
    at: Option<Bucket>,
    queue_name: String,
    queue_mark: Vec<u8>,
    depths: Vec<u8>,
}

impl Astar<'_> {
    /// Makes everything up to the last closed stage last.
    pub(super) fn commit(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("commit");
        let began = Instant::now();
        let (queue_mark, files) = match &self.at_rest {
            // It is over: nothing waits.
            Some(at_rest) => (Vec::new(), vec![Commits::name_at_rest(at_rest)]),
            None => {
                let queue = &mut self.waiting().queue;
                let mark = queue.mark()?;
                let named = |name: String| Named { name, grows: true, note: vec![QUEUE] };
                (mark, queue.file_names().into_iter().map(named).collect())
            }
        };
        // After the mark, which may write pages and so retire a segment that the last commit names: that one goes with this commit, and must not be removed once more.
        self.remove_retired()?;
        let stand = Stand {
            ties: self.ties,
            at: self.at,
            queue_name: self.waiting().queue_name.clone(),
            queue_mark,
            depths: self.depths.to_bytes(),
        };
        let store = &mut lock(&self.frontier).store;
        self.commits.commit_stages(began, (stand.to_bytes(), files), store, boundary)
    }

    /// Puts the closed set of a complete search to rest, in one run. If room or memory does not suffice, everything stays as it is.
    pub fn put_to_rest(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("rest");
        if self.at_rest.is_some() {
            return Ok(());
        }
        let live_bytes = self.disk_use().closed_set;
        let written = {
            let Astar { place, sizes, frontier, .. } = self;
            let store = &lock(frontier).store;
            AtRest::try_write(place, |name| AtRest::sort_stages(place, name, store, sizes.sort_bytes))?
        };
        let Some(run) = written else { return Ok(()) };
        self.disk_meter.note_peak(self.disk_use().peak + run.bytes());
        self.at_rest = Some(AtRest { run, live_bytes });
        self.commit(boundary)
    }

    /// Makes known what is in the stages.
    fn know_stages(&mut self) -> Result<(), SearchError> {
        let Astar { place, known, new, frontier, .. } = self;
        let store = &lock(frontier).store;
        let mut cursor = LayerCursor::new(place.width, &place.budget)?;
        for stage in 0..store.layer_count() {
            cursor.open(store, stage)?;
            while let Some(records) = cursor.next_keys(store)? {
                new.clear();
                if let Insertion::Full { reason, .. } = known.insert_all(records, new)? {
                    return Err(reason.into());
                }
            }
        }
        Ok(())
    }
}

/// Takes up what a commit says.
pub(super) fn take_up<'m>(
    (place, commits, sizes): (Place, Commits, Sizes),
    shape: &Shape,
    bound: Measure<'m>,
    options: Options,
    cursor: Cursor,
) -> Result<(Astar<'m>, Option<Vec<u8>>), SearchError> {
    // What other engines have left can be looked at when it is over, but not gone on with.
    let stand = cursor.stages.as_deref().and_then(Stand::parse).ok_or(SearchError::Boundary)?;
    let options = Options { ties: stand.ties, ..options };
    let store = cursor.open_layers(&place.volume, &place.budget)?;
    let sizes = Sizes { log_block_bytes: cursor.log_block_bytes, ..sizes };
    let mark = Some(&*stand.queue_mark).filter(|mark| !mark.is_empty());
    let queue = make_queue(stand.ties, &place, &sizes, &stand.queue_name, mark)?;
    let waiting = Waiting { queue, queue_name: stand.queue_name };
    let mut astar = Astar::assemble((place, commits, sizes), shape, bound, options, store, waiting)?;
    astar.at = stand.at;
    let depths = Depths::from_bytes(&stand.depths, cursor.layers, &astar.place.budget)?;
    astar.depths = depths.ok_or(SearchError::Boundary)?;
    for file in astar.commits.manifest().map_or(Vec::new(), |manifest| manifest.files.clone()) {
        if let Some(live_bytes) = live_bytes_of(&file.note).filter(|_| !file.grows) {
            astar.at_rest = Some(AtRest { run: astar.place.open_run(&file.name)?, live_bytes });
        }
    }
    astar.know_stages()?;
    lock(&astar.frontier).rewind()?;
    Ok((astar, Some(cursor.boundary)))
}

impl Stand {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let Bucket { depth, sum } = self.at.unwrap_or(Bucket { depth: 0, sum: 0 });
        let numbers = [
            ASTAR,
            u64::from(self.ties == Ties::Far),
            u64::from(self.at.is_some()),
            depth.into(),
            sum.into(),
        ];
        numbers.into_iter().for_each(|number| put_u64(&mut bytes, number));
        for part in [self.queue_name.as_bytes(), &self.queue_mark] {
            put_u64(&mut bytes, part.len() as u64);
            bytes.extend_from_slice(part);
        }
        bytes.extend_from_slice(&self.depths);
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Stand> {
        let mut rest = Reader(bytes);
        if rest.u64()? != ASTAR {
            return None;
        }
        let ties = if rest.u64()? == 1 { Ties::Far } else { Ties::Near };
        let there = rest.u64()? == 1;
        let depth = u32::try_from(rest.u64()?).ok()?;
        let sum = u32::try_from(rest.u64()?).ok()?;
        let mut part = || {
            let length = usize::try_from(rest.u64()?).ok()?;
            Some(rest.take(length)?.to_vec())
        };
        let queue_name = String::from_utf8(part()?).ok()?;
        let queue_mark = part()?;
        let depths = rest.0.to_vec();
        Some(Stand { ties, at: there.then_some(Bucket { depth, sum }), queue_name, queue_mark, depths })
    }
}
