//! How far have passes come, when they are taken up again?
//!
//! Between two passes a commit names the closed set, the bits of the states that are left, the graph of their steps if there is one, and the runs with the ranks of the others; its cursor has where passes stand and which classes there are
//! ([`crate::bodies::passes::Stand`], [`crate::proof::ranks::Classes`]). A commit is made at most as often as the caller wants, so what is done again is one pass, or what was done between two commits.
//!
//! Memory: a block of bits. I/O per commit: one bit per state of the set, and the ranks that are in memory.

use std::time::{Duration, Instant};

use fathom_disk::budget::Budget;
use fathom_disk::log::{Mark, Position, RecordLog};
use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::sabotage::is_chosen;
use fathom_disk::storage::{FileKind, Role};

use crate::bodies::passes::{Begun, GRAPH, Keeper, Stand};
use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;
use crate::files::closed_set::ClosedSet;
use crate::proof::ranks::{Classes, GATHERED, RankLog};
use crate::stores::bits::Bits;

/// Commits where passes stand.
pub(crate) struct PassLog<'a> {
    directory: &'a mut RunDirectory,
    ranks: &'a RankLog,
    budget: &'a Budget,
    every: Duration,
    last: Instant,
}

/// What was committed between two passes.
pub(crate) struct TakenUp {
    pub(crate) begun: Begun,
    pub(crate) classes: Classes,
    /// Runs of ranks.
    pub(crate) ranks: Vec<String>,
}

/// What the name of a file of bits begins with, and its kind.
const LEFT: &str = "left-";
const KIND: FileKind = FileKind::new("states left", Role::Bulk);
/// Bytes of a block of bits, at most.
const BLOCK_BYTES_MAX: usize = 1 << 16;
const VERSION: u64 = 1;

impl<'a> PassLog<'a> {
    /// Commits in a directory, where a closed set is committed, not more often than once in `every`.
    pub(crate) fn new(
        directory: &'a mut RunDirectory,
        ranks: &'a RankLog,
        every: Duration,
        budget: &'a Budget,
    ) -> PassLog<'a> {
        PassLog { directory, ranks, budget, every, last: Instant::now() }
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

impl Keeper for PassLog<'_> {
    fn is_due(&self) -> bool {
        self.last.elapsed() >= self.every
    }

    fn keep(&mut self, stand: Stand, left: &Bits, graph: Option<&str>) -> Result<(), SearchError> {
        let sequence = self.directory.committed().map_or(0, |manifest| manifest.sequence) + 1;
        let (log, place) = self.write(&format!("{LEFT}{sequence}"), left)?;
        let (mut runs, classes) = self.ranks.keep()?;
        runs.truncate(if is_chosen("pass-log") { 0 } else { runs.len() });
        let mut cursor = Vec::new();
        let Stand { rounds, marks, before } = stand;
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

impl TakenUp {
    /// What was committed last in a directory, of passes over so many states. None if no pass was.
    pub(crate) fn of(
        directory: &RunDirectory,
        states: u64,
        budget: &Budget,
    ) -> Result<Option<TakenUp>, SearchError> {
        let Some(manifest) = directory.committed().filter(|manifest| !manifest.cursor.is_empty()) else {
            return Ok(None);
        };
        let names = || manifest.files.iter().map(|file| &file.name);
        let (stand, place, classes) = parse(&manifest.cursor).ok_or(SearchError::Boundary)?;
        let [block, blocks, count] = place;
        let mut left = Bits::new(budget, states, false)?;
        if let Some(name) = names().find(|name| name.starts_with(LEFT)) {
            let block = usize::try_from(block).map_err(|_| SearchError::Boundary)?;
            let mark = Mark([blocks, count, 0, 0, 0, 0]);
            let log = RecordLog::resume(directory.volume(), name, KIND, 1, block, mark, budget)?;
            let mut reader = log.reader(Position::default(), budget)?;
            let mut word = [0];
            let whole = left.fill(&mut || Ok(reader.next(&log, &mut word)?.then_some(word[0])))?;
            if !whole {
                return Err(SearchError::Boundary);
            }
        } else if states > 0 {
            return Err(SearchError::Boundary);
        }
        let ranks = names().filter(|name| name.starts_with(&format!("{GATHERED}-"))).cloned().collect();
        let begun = Begun { stand, left, graph: manifest.names(GRAPH) };
        Ok(Some(TakenUp { begun, classes, ranks }))
    }
}

fn parse(cursor: &[u8]) -> Option<(Stand, [u64; 3], Classes)> {
    let mut rest = Reader(cursor);
    if rest.u64()? != VERSION {
        return None;
    }
    let (rounds, marks, before) = (rest.u64()?, u32::try_from(rest.u64()?).ok()?, rest.u64()?);
    let place = [rest.u64()?, rest.u64()?, rest.u64()?];
    Some((Stand { rounds, marks, before }, place, Classes::parse(rest.0)?))
}
