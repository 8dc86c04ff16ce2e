//! What proves that no run is accepting?
//!
//! A number for each state, its *rank*, that never falls along a step and rises along every step that matters. The fix-point takes states away in classes; the number of its class
//! is the rank of a state. A run through finitely many ranks stays in one of them from some state on:
//!
//! * a class that was kept out by a mark has no step with that mark inside it, so a run that stays there meets the mark no more;
//! * a class of a trimming step has no step inside it at all;
//! * of a weak automaton, only steps that carry all marks are trimmed: ranks rise along these, and the components of the automaton see to the others.
//!
//! On the volume: one run of all states in order, each with its rank as a tag of 32 bits; in the cursor of its manifest, which classes there are. `docs/src/format.md` has
//! the bytes. Memory: while ranks come in, a quarter of the budget at most, an eighth of a small one; then a block of the run. I/O: every state once per pass of a sort, with its rank.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_disk::budget::Budget;
use fathom_disk::key::KeyWidth;
use fathom_disk::manifest::{Manifest, Named, RunDirectory};
use fathom_disk::run::{Run, RunConfig, RunWriter, Tag as RunTag};
use fathom_disk::sabotage::is_chosen;
use fathom_disk::set::{KeyStream, Sorter};
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::tag::Tag;

use crate::bytes::{Reader, put_u64};
use crate::error::SearchError;
use crate::files::closed_set::{Reached, Recurs};
use crate::task::Observer;

/// What classes of states there are, in the order of their ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// Whether only steps with all marks were looked at.
    pub weak: bool,
    /// The first of a row of classes, and the mark that kept them out; none if they were trimmed.
    rows: Vec<(u32, Option<u32>)>,
    count: u64,
}

/// Takes the states as they are taken away.
#[derive(Debug)]
pub(crate) struct RankLog {
    gathered: Mutex<Gathered>,
    tag: Tag,
    width: KeyWidth,
    files: RunTag,
    budget: Budget,
}

#[derive(Debug)]
struct Gathered {
    sorter: Sorter,
    classes: Classes,
    wide: Vec<u64>,
}

/// Bits of a rank.
pub(crate) const RANK_BITS: u32 = 32;
/// The name of the run.
const RANKS: &str = "ranks";
/// What names of files begin with in which ranks are gathered.
pub(crate) const GATHERED: &str = "rank";
const VERSION: u64 = 1;
/// The most memory for sorting.
const SORT_BYTES_MAX: usize = 64 << 20;
/// Budgets below this leave more to the passes that ranks come from: these write runs with fences, which take more for more states.
const SMALL_BYTES: usize = 64 << 10;
/// With so much memory free, blocks are compressed as well as they can be.
const AT_REST_BYTES_MIN: usize = 32 << 20;

impl Classes {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What kept the class of a rank out: a mark, or nothing if it was trimmed. None if there is no such class.
    pub fn kept_out_by(&self, rank: u32) -> Option<Option<u32>> {
        let row = self.rows.partition_point(|(first, _)| *first <= rank).checked_sub(1)?;
        (u64::from(rank) < self.count).then(|| self.rows[row].1)
    }

    /// Adds a class behind the others.
    fn add(&mut self, kept_out_by: Option<u32>) -> Result<(), SearchError> {
        let limit = 1 << RANK_BITS;
        let rank = u32::try_from(self.count).map_err(|_| SearchError::Classes { limit })?;
        self.count += 1;
        // Trimmed classes mostly follow each other.
        if self.rows.last().is_none_or(|(_, last)| *last != kept_out_by) {
            self.rows.push((rank, kept_out_by));
        }
        Ok(())
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [VERSION, u64::from(self.weak), self.count, self.rows.len() as u64] {
            put_u64(&mut bytes, number);
        }
        for (first, kept_out_by) in &self.rows {
            put_u64(&mut bytes, u64::from(*first));
            put_u64(&mut bytes, kept_out_by.map_or(0, |mark| u64::from(mark) + 1));
        }
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Classes> {
        let mut rest = Reader(bytes);
        if rest.u64()? != VERSION {
            return None;
        }
        let (weak, count, rows) = (rest.u64()? == 1, rest.u64()?, rest.u64()?);
        let mut classes = Classes { weak, rows: Vec::new(), count };
        for _ in 0..rows {
            let first = u32::try_from(rest.u64()?).ok()?;
            let mark = rest.u64()?.checked_sub(1).map(u32::try_from).transpose().ok()?;
            classes.rows.push((first, mark));
        }
        let rising = classes.rows.is_sorted_by(|(first, _), (second, _)| first < second);
        (rising && rest.0.is_empty()).then_some(classes)
    }
}

impl RankLog {
    /// For states of that shape; files are marked with `files`, and go where the directory is.
    pub(crate) fn new(
        directory: &RunDirectory,
        files: RunTag,
        shape: &Shape,
        weak: bool,
        budget: &Budget,
    ) -> Result<RankLog, SearchError> {
        let width = ranked_width(shape)?;
        let part = if budget.limit() < SMALL_BYTES { 8 } else { 4 };
        let bytes = (budget.free() / part).min(SORT_BYTES_MAX);
        let sorter = Sorter::new(directory.volume(), budget, GATHERED, width, files, bytes)?;
        let classes = Classes { weak, ..Classes::default() };
        let gathered = Mutex::new(Gathered { sorter, classes, wide: Vec::new() });
        let tag = Tag::new(shape.width_bits, RANK_BITS);
        Ok(RankLog { gathered, tag, width, files, budget: budget.clone() })
    }

    /// The same, with what an earlier log had gathered when it was kept.
    pub(crate) fn taken_up(self, classes: Classes, runs: Vec<String>) -> RankLog {
        let RankLog { gathered, tag, width, files, budget } = self;
        let Gathered { sorter, wide, .. } = gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
        let gathered = Mutex::new(Gathered { sorter: sorter.resume(runs), classes, wide });
        RankLog { gathered, tag, width, files, budget }
    }

    /// From here on, what is taken is of a later class, kept out by a mark, or trimmed.
    pub(crate) fn class(&self, kept_out_by: Option<u32>) -> Result<(), SearchError> {
        self.gathered().classes.add(kept_out_by)
    }

    /// Takes states of the class. From any thread.
    pub(crate) fn take(&self, states: Records<'_>) -> Result<(), SearchError> {
        let Gathered { sorter, classes, wide } = &mut *self.gathered();
        wide.resize(self.tag.wide_words, 0);
        let rank = (classes.count - 1) as u32;
        for record in states.iter() {
            let wrong = is_chosen("ranks") && record[record.len() - 1] % 2 == 1;
            self.tag.join(record, rank + u32::from(wrong), wide);
            sorter.push(wide)?;
        }
        Ok(())
    }

    /// States that do not recur are of the first class: nothing is asked of their ranks.
    pub(crate) fn take_others(
        &self,
        reached: &dyn Reached,
        recurs: Recurs<'_>,
        observer: &dyn Observer,
    ) -> Result<(), SearchError> {
        self.class(None)?;
        for layer in 0..reached.layer_count() {
            let mut outcome = Ok(());
            reached.visit_layer(layer, &mut |records| {
                if outcome.is_ok() && observer.stop() {
                    outcome = Err(SearchError::Stopped);
                }
                for record in records.iter().filter(|record| !recurs(record)) {
                    if outcome.is_ok() {
                        outcome = self.take(Records::new(record, record.len()));
                    }
                }
            })?;
            outcome?;
        }
        Ok(())
    }

    /// Makes what was gathered last, once a commit names the runs that it is in; the classes belong to its cursor.
    pub(crate) fn keep(&self) -> Result<(Vec<String>, Classes), SearchError> {
        let Gathered { sorter, classes, .. } = &mut *self.gathered();
        Ok((sorter.keep()?.to_vec(), classes.clone()))
    }

    /// All states were taken: writes them in order, and makes them last.
    pub(crate) fn finish(self, directory: &mut RunDirectory) -> Result<Classes, SearchError> {
        let Gathered { sorter, classes, .. } =
            self.gathered.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sorted = sorter.finish()?;
        let free = self.budget.free();
        let config = if free >= AT_REST_BYTES_MIN {
            RunConfig::at_rest(self.width, self.files)
        } else {
            RunConfig::within(self.width, self.files, free / 8)
        };
        let mut writer = RunWriter::new(directory.volume(), &self.budget, RANKS, &config)?;
        let mut stream = sorted.stream()?;
        while stream.advance()? {
            writer.push(stream.keys())?;
        }
        drop(stream);
        writer.finish(true)?;
        sorted.remove()?;
        let ranks = Named { name: RANKS.to_owned(), grows: false, note: Vec::new() };
        directory.commit(&classes.to_bytes(), &[ranks])?;
        Ok(classes)
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ranks that were committed: the run of states with their ranks, and the classes. None if there are none.
pub(crate) fn open(
    directory: &RunDirectory,
    files: RunTag,
    shape: &Shape,
    budget: &Budget,
) -> Result<Option<(Run, Classes)>, SearchError> {
    let Some(Manifest { cursor, files: named, .. }) = directory.committed() else { return Ok(None) };
    if !named.iter().any(|file| file.name == RANKS) {
        return Ok(None);
    }
    let classes = Classes::parse(cursor).ok_or(SearchError::Boundary)?;
    let run = Run::open(directory.volume(), budget, RANKS, ranked_width(shape)?, files)?;
    Ok(Some((run, classes)))
}

/// Whether ranks were committed in a directory.
pub fn are_there(directory: &RunDirectory) -> bool {
    directory.committed().is_some_and(|manifest| manifest.names(RANKS))
}

fn ranked_width(shape: &Shape) -> Result<KeyWidth, SearchError> {
    let bits = shape.width_bits + RANK_BITS;
    KeyWidth::new(bits).ok_or(SearchError::TooWide { bits })
}
