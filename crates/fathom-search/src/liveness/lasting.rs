//! How far have passes over files come, when they are taken up again?
//!
//! A commit names the run of the states that are kept, and the runs with the ranks of the others, if there are ranks; in the middle of a pass also the values so far and the log of the states that have a turn. All of these are written
//! once, so a commit costs a sync of each that is new. The note of a file says what it is ([`Part`]); the cursor has how far rounds have come, a word of the engine's own, and which classes there are.

use std::time::{Duration, Instant};

use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::run::Run;
use fathom_disk::sabotage::is_chosen;
use fathom_model::record::Records;

use super::rounds::Position;
use crate::bodies::passes::by_file::{Kept, Snapshot, Snapshots};
use crate::bodies::passes::{LevelRule, Rule};
use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::value_runs::ValueRuns;
use crate::proof::ranks::{Classes, RankLog};

/// What a file of a commit is: the byte of its note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Kept = 1,
    Values = 2,
    Turns = 3,
    Ranks = 4,
}

/// Commits how far passes have come.
pub(crate) struct PassCommits<'a> {
    directory: &'a mut RunDirectory,
    ranks: Option<&'a RankLog>,
    place: &'a ValueRuns,
    every: Duration,
    last: Instant,
    /// What its cursors begin with.
    version: u64,
}

/// What was committed last.
pub(crate) struct Committed {
    pub(crate) position: Position,
    /// The name of the run of kept states, and what the engine noted.
    pub(crate) kept: String,
    pub(crate) note: u64,
    /// What the pass goes on from that it was made in.
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) classes: Classes,
    /// Runs of ranks.
    pub(crate) ranks: Vec<String>,
    /// How many names were given.
    pub(crate) made: u64,
    /// All files.
    pub(crate) files: Vec<String>,
}

impl<'a> PassCommits<'a> {
    /// Commits in a directory, not more often than once in `every`. What is committed begins with `version`, which no other engine has.
    pub(crate) fn new(
        directory: &'a mut RunDirectory,
        version: u64,
        ranks: Option<&'a RankLog>,
        place: &'a ValueRuns,
        every: Duration,
    ) -> PassCommits<'a> {
        PassCommits { directory, ranks, place, every, last: Instant::now(), version }
    }

    /// Whether it is time to commit.
    pub(crate) fn is_due(&self) -> bool {
        self.last.elapsed() >= self.every
    }

    /// Rounds have come so far, and these states are kept; in the middle of a pass there is a snapshot of it. Ranks that were told before belong to it.
    pub(crate) fn commit(
        &mut self,
        position: Position,
        kept: &Run,
        note: u64,
        snapshot: Option<&Snapshot>,
    ) -> Result<(), SearchError> {
        kept.sync()?;
        let (mut ranks, classes) = self.ranks.map_or(Ok(Default::default()), RankLog::keep)?;
        ranks.truncate(if is_chosen("pass-log") { 0 } else { ranks.len() });
        let named = |part: Part| move |name: String| Named { name, grows: false, note: vec![part as u8] };
        let values = snapshot.into_iter().flat_map(|snapshot| snapshot.values.clone());
        let turns = snapshot.and_then(|snapshot| snapshot.turns.clone());
        let files: Vec<Named> = [named(Part::Kept)(kept.name().to_owned())]
            .into_iter()
            .chain(values.map(named(Part::Values)))
            .chain(turns.map(named(Part::Turns)))
            .chain(ranks.into_iter().map(named(Part::Ranks)))
            .collect();
        let Position { rounds, marks, before } = position;
        let [block, blocks, count] = snapshot.map_or([0; 3], |snapshot| snapshot.log);
        let within = u64::from(snapshot.is_some());
        let mut cursor = Vec::new();
        [
            self.version,
            rounds,
            u64::from(marks),
            before,
            note,
            within,
            self.place.made(),
            block,
            blocks,
            count,
        ]
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
    /// What was committed last in a directory. None if nothing was, or by another engine.
    pub(crate) fn of(directory: &RunDirectory, version: u64) -> Result<Option<Committed>, SearchError> {
        let Some(manifest) = directory.committed() else { return Ok(None) };
        let mut rest = Reader(&manifest.cursor);
        if rest.u64() != Some(version) {
            return Ok(None);
        }
        let names = |part: Part| {
            let files = manifest.files.iter().filter(move |file| file.note == [part as u8]);
            files.map(|file| file.name.clone())
        };
        let mut parse = || {
            let (rounds, marks) = (rest.u64()?, u32::try_from(rest.u64()?).ok()?);
            let position = Position { rounds, marks, before: rest.u64()? };
            let (note, within, made) = (rest.u64()?, rest.u64()?, rest.u64()?);
            let log = [rest.u64()?, rest.u64()?, rest.u64()?];
            let snapshot =
                || Snapshot { values: names(Part::Values).collect(), turns: names(Part::Turns).next(), log };
            Some(Committed {
                position,
                kept: names(Part::Kept).next()?,
                note,
                snapshot: (within == 1).then(snapshot),
                classes: Classes::parse(rest.0)?,
                ranks: names(Part::Ranks).collect(),
                made,
                files: manifest.files.iter().map(|file| file.name.clone()).collect(),
            })
        };
        parse().map(Some).ok_or(SearchError::Boundary)
    }
}

/// A rule, with commits where it is time for one, and ranks for states that go.
pub(crate) struct Lasting<'v, 'k, 'd, R, V> {
    pub(crate) rule: R,
    pub(crate) values: &'v V,
    pub(crate) kept: &'v Kept<'v>,
    pub(crate) position: Position,
    pub(crate) note: u64,
    /// Who is told of those that have a turn, if that is the end of them.
    pub(crate) ranks: Option<&'v RankLog>,
    pub(crate) log: &'v mut Option<&'k mut PassCommits<'d>>,
}

impl<R: Rule, V: Sync> Rule for Lasting<'_, '_, '_, R, V> {
    type Turn = R::Turn;
    type Value = R::Value;
    type Number = R::Number;

    #[inline]
    fn along(&self, turn: R::Turn, marks: u64, target: R::Number) -> Result<Option<R::Value>, SearchError> {
        self.rule.along(turn, marks, target)
    }
}

impl<'a, R, V> LevelRule<Kept<'a>> for Lasting<'_, '_, '_, R, V>
where
    R: Rule<Number = ()> + Send,
    V: Snapshots,
{
    fn begin(&mut self) -> Result<(), SearchError> {
        if let Some(log) = self.log.as_deref_mut().filter(|log| log.is_due())
            && let Some(snapshot) = self.values.snapshot()?
        {
            log.commit(self.position, &self.kept.run, self.note, Some(&snapshot))?;
        }
        self.ranks.map_or(Ok(()), |ranks| ranks.class(None))
    }

    fn expanding(&self, _: &mut Expander<'_, Kept<'a>>, states: Records<'_>) -> Result<(), SearchError> {
        self.ranks.map_or(Ok(()), |ranks| ranks.take(states))
    }
}
