//! How far have passes over files come, when they are taken up again?
//!
//! A commit names the run of the states that are kept, and the runs with the ranks of the others; in the middle of a pass also the sums so far and the log of the states that have a turn. All of these are written once, so a commit
//! costs a sync of each that is new. The note of a file says what it is ([`Part`]); the cursor has how far rounds have come and which classes there are.

use std::time::{Duration, Instant};

use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::run::Run;
use fathom_disk::sabotage::is_chosen;

use crate::bodies::passes::by_file::Snapshot;
use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;
use crate::files::value_runs::ValueRuns;
use crate::liveness::rounds::Position;
use crate::proof::ranks::{Classes, RankLog};

/// What a file of a commit is: the byte of its note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Kept = 1,
    Sums = 2,
    Turns = 3,
    Ranks = 4,
}

/// Commits checkpoints.
pub(super) struct CheckpointLog<'a> {
    directory: &'a mut RunDirectory,
    ranks: &'a RankLog,
    place: &'a ValueRuns,
    every: Duration,
    last: Instant,
}

/// The checkpoint that was committed last.
pub(super) struct Committed {
    pub(super) position: Position,
    /// The name of the run of kept states, and whether their numbers are of predecessors.
    pub(super) kept: String,
    pub(super) counted: bool,
    /// What the pass goes on from that it was made in.
    pub(super) snapshot: Option<Snapshot>,
    pub(super) classes: Classes,
    /// Runs of ranks.
    pub(super) ranks: Vec<String>,
    /// How many names were given.
    pub(super) made: u64,
    /// All files.
    pub(super) files: Vec<String>,
}

/// What the cursor begins with: no other engine's does.
const VERSION: u64 = u64::from_le_bytes(*b"owcty  1");

impl<'a> CheckpointLog<'a> {
    /// Commits in a directory, not more often than once in `every`, but at once at first.
    pub(super) fn new(
        directory: &'a mut RunDirectory,
        ranks: &'a RankLog,
        place: &'a ValueRuns,
        every: Duration,
    ) -> CheckpointLog<'a> {
        CheckpointLog { directory, ranks, place, every, last: Instant::now() }
    }

    /// Whether it is time to commit.
    pub(super) fn is_due(&self) -> bool {
        self.last.elapsed() >= self.every
    }

    /// Rounds have come so far, and these states are kept; in the middle of a pass there is a snapshot of it. Ranks that were told before belong to it.
    pub(super) fn commit(
        &mut self,
        position: Position,
        kept: &Run,
        counted: bool,
        snapshot: Option<&Snapshot>,
    ) -> Result<(), SearchError> {
        kept.sync()?;
        let (mut ranks, classes) = self.ranks.keep()?;
        ranks.truncate(if is_chosen("pass-log") { 0 } else { ranks.len() });
        let named = |part: Part| move |name: String| Named { name, grows: false, note: vec![part as u8] };
        let sums = snapshot.into_iter().flat_map(|snapshot| snapshot.sums.clone());
        let turns = snapshot.and_then(|snapshot| snapshot.turns.clone());
        let files: Vec<Named> = [named(Part::Kept)(kept.name().to_owned())]
            .into_iter()
            .chain(sums.map(named(Part::Sums)))
            .chain(turns.map(named(Part::Turns)))
            .chain(ranks.into_iter().map(named(Part::Ranks)))
            .collect();
        let Position { rounds, marks, before } = position;
        let [block, blocks, count] = snapshot.map_or([0; 3], |snapshot| snapshot.log);
        let flags = u64::from(counted) | u64::from(snapshot.is_some()) << 1;
        let mut cursor = Vec::new();
        [VERSION, rounds, u64::from(marks), before, flags, self.place.made(), block, blocks, count]
            .into_iter()
            .for_each(|word| put_u64(&mut cursor, word));
        cursor.extend(classes.to_bytes());
        self.directory.commit(&cursor, &files)?;
        self.place.set_committed(files.into_iter().map(|file| file.name).collect());
        self.last = Instant::now();
        Ok(())
    }
}

impl Committed {
    /// What was committed last in a directory. None if nothing of this engine was.
    pub(super) fn of(directory: &RunDirectory) -> Result<Option<Committed>, SearchError> {
        let Some(manifest) = directory.committed() else { return Ok(None) };
        let mut rest = Reader(&manifest.cursor);
        if rest.u64() != Some(VERSION) {
            return Ok(None);
        }
        let names = |part: Part| {
            let files = manifest.files.iter().filter(move |file| file.note == [part as u8]);
            files.map(|file| file.name.clone())
        };
        let mut parse = || {
            let (rounds, marks) = (rest.u64()?, u32::try_from(rest.u64()?).ok()?);
            let position = Position { rounds, marks, before: rest.u64()? };
            let (flags, made) = (rest.u64()?, rest.u64()?);
            let log = [rest.u64()?, rest.u64()?, rest.u64()?];
            let snapshot =
                || Snapshot { sums: names(Part::Sums).collect(), turns: names(Part::Turns).next(), log };
            Some(Committed {
                position,
                kept: names(Part::Kept).next()?,
                counted: flags & 1 == 1,
                snapshot: (flags & 2 == 2).then(snapshot),
                classes: Classes::parse(rest.0)?,
                ranks: names(Part::Ranks).collect(),
                made,
                files: manifest.files.iter().map(|file| file.name.clone()).collect(),
            })
        };
        parse().map(Some).ok_or(SearchError::Boundary)
    }
}
