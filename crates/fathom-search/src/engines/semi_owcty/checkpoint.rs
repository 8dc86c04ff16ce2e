//! How far have passes come, when they are taken up again?
//!
//! Between two passes a commit names the closed set, the bits of the states that are left, the graph of their steps if there is one, and the runs with the ranks of the others; its cursor has how far passes have come and which classes there are
//! ([`Position`], [`crate::proof::ranks::Classes`]). A commit is made at most as often as the caller wants, so what is done again is one pass, or what was done between two commits.
//!
//! Memory: a block of bits. I/O per commit: one bit per state of the set, and the ranks that are in memory.

use std::time::{Duration, Instant};

use fathom_disk::budget::Budget;
use fathom_disk::log::{Mark, Position as LogPosition, RecordLog};
use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::sabotage::is_chosen;
use fathom_disk::storage::{FileKind, Role};

use crate::bodies::passes::GRAPH;
use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;
use crate::files::closed_set::ClosedSet;
use crate::liveness::rounds::Position;
use crate::proof::ranks::{Classes, GATHERED, RankLog};
use crate::stores::bits::Bits;

/// What passes that are taken up again go on with.
#[derive(Debug)]
pub(super) struct Checkpoint {
    /// How far they have come.
    pub(super) position: Position,
    /// The states that are left.
    pub(super) left: Bits,
    /// Whether the volume has a graph of their steps.
    pub(super) graph: bool,
}

/// Commits checkpoints.
pub(super) struct CheckpointLog<'a> {
    directory: &'a mut RunDirectory,
    ranks: &'a RankLog,
    budget: &'a Budget,
    every: Duration,
    last: Instant,
}

/// The checkpoint that was committed last, and the ranks that belong to it.
pub(super) struct Committed {
    pub(super) checkpoint: Checkpoint,
    pub(super) classes: Classes,
    /// Runs of ranks.
    pub(super) ranks: Vec<String>,
}

/// What the name of a file of bits begins with, and its kind.
const LEFT: &str = "left-";
const KIND: FileKind = FileKind::new("states left", Role::Bulk);
/// Bytes of a block of bits, at most.
const BLOCK_BYTES_MAX: usize = 1 << 16;
const VERSION: u64 = 1;

impl<'a> CheckpointLog<'a> {
    /// Commits in a directory, where a closed set is committed, not more often than once in `every`.
    pub(super) fn new(
        directory: &'a mut RunDirectory,
        ranks: &'a RankLog,
        every: Duration,
        budget: &'a Budget,
    ) -> CheckpointLog<'a> {
        CheckpointLog { directory, ranks, budget, every, last: Instant::now() }
    }

    /// Writes the bits, and says how.
    fn write(&self, name: &str, left: &Bits) -> Result<(RecordLog, [u64; 3]), SearchError> {
        let block = (self.budget.free() / 64).clamp(256, BLOCK_BYTES_MAX);
        let mut log = RecordLog::new(self.directory.volume(), name, KIND, 1, block, self.budget)?;
        for word in left.words() {
            log.append(&[word])?;
        }
        let Mark([blocks, count, ..]) = log.mark()?;
        Ok((log, [block as u64, blocks, count]))
    }
}

impl CheckpointLog<'_> {
    /// Whether it is time to commit.
    pub(super) fn is_due(&self) -> bool {
        self.last.elapsed() >= self.every
    }

    /// Passes have come so far, and these states are left; of their steps there is a file, perhaps. Ranks that were told before belong to it.
    pub(super) fn commit(
        &mut self,
        position: Position,
        left: &Bits,
        graph: Option<&str>,
    ) -> Result<(), SearchError> {
        let sequence = self.directory.committed().map_or(0, |manifest| manifest.sequence) + 1;
        let (log, place) = self.write(&format!("{LEFT}{sequence}"), left)?;
        let (mut runs, classes) = self.ranks.keep()?;
        runs.truncate(if is_chosen("pass-log") { 0 } else { runs.len() });
        let mut cursor = Vec::new();
        let Position { rounds, marks, before } = position;
        [VERSION, rounds, u64::from(marks), before].into_iter().for_each(|word| put_u64(&mut cursor, word));
        place.into_iter().for_each(|word| put_u64(&mut cursor, word));
        cursor.extend(classes.to_bytes());
        let named = |name: String| Named { name, grows: false, note: Vec::new() };
        let more = log.file_name().into_iter().chain(graph).map(str::to_owned).chain(runs).map(named);
        let files: Vec<Named> = ClosedSet::files().into_iter().chain(more).collect();
        self.directory.commit(&cursor, &files)?;
        self.last = Instant::now();
        Ok(())
    }
}

impl Committed {
    /// What was committed last in a directory, of passes over so many states. None if no pass was.
    pub(super) fn of(
        directory: &RunDirectory,
        states: u64,
        budget: &Budget,
    ) -> Result<Option<Committed>, SearchError> {
        let Some(manifest) = directory.committed().filter(|manifest| !manifest.cursor.is_empty()) else {
            return Ok(None);
        };
        let names = || manifest.files.iter().map(|file| &file.name);
        let (position, place, classes) = parse(&manifest.cursor).ok_or(SearchError::Boundary)?;
        let [block, blocks, count] = place;
        let mut left = Bits::new(budget, states, false)?;
        if let Some(name) = names().find(|name| name.starts_with(LEFT)) {
            let block = usize::try_from(block).map_err(|_| SearchError::Boundary)?;
            let mark = Mark([blocks, count, 0, 0, 0, 0]);
            let log = RecordLog::resume(directory.volume(), name, KIND, 1, block, mark, budget)?;
            let mut reader = log.reader(LogPosition::default(), budget)?;
            let mut word = [0];
            let whole = left.fill(&mut || Ok(reader.next(&log, &mut word)?.then_some(word[0])))?;
            if !whole {
                return Err(SearchError::Boundary);
            }
        } else if states > 0 {
            return Err(SearchError::Boundary);
        }
        let ranks = names().filter(|name| name.starts_with(&format!("{GATHERED}-"))).cloned().collect();
        let checkpoint = Checkpoint { position, left, graph: manifest.names(GRAPH) };
        Ok(Some(Committed { checkpoint, classes, ranks }))
    }
}

fn parse(cursor: &[u8]) -> Option<(Position, [u64; 3], Classes)> {
    let mut rest = Reader(cursor);
    if rest.u64()? != VERSION {
        return None;
    }
    let (rounds, marks, before) = (rest.u64()?, u32::try_from(rest.u64()?).ok()?, rest.u64()?);
    let place = [rest.u64()?, rest.u64()?, rest.u64()?];
    Some((Position { rounds, marks, before }, place, Classes::parse(rest.0)?))
}
