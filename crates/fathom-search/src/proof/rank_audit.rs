//! Do ranks prove that no run is accepting?
//!
//! As in [`crate::proof::audit`], with nothing but a step relation, a sort and a merge; nothing is taken from the search but its files.
//!
//! ```text
//! pass 1   states with their ranks --> steps; every target with the least rank that it may have --sort--> demands
//! pass 2   demands against states with their ranks: every target is there, and its rank is high enough
//! ```
//! Let a step lead from s to t. If the class of s was trimmed, t must have a higher rank; if a mark kept it out, t must have a higher rank, or the same one if the step does not
//! carry the mark. So a run stays in one class from some state on, which is one that a mark kept out, and never meets that mark again.
//!
//! Of a weak automaton, whoever audits says in which component of it a state is: components are numbered so that no step leads to an earlier one. Where no step inside a component
//! carries all marks, nothing is asked; elsewhere the rank must not fall, and must rise along steps that carry all marks.
//!
//! Memory: half of the data budget for the sort, 64 MiB at most, and a few buffers. I/O: the ranks twice, every step once per pass of the sort.

use fathom_disk::budget::Budget;
use fathom_disk::manifest::RunDirectory;
use fathom_disk::run::{Run, Scan, Tag as RunTag};
use fathom_disk::set::{KeyStream, Sorted, Sorter};
use fathom_disk::storage::Volume;
use fathom_model::record::{Checksum, RecordBuffer};
use fathom_model::shape::Shape;
use fathom_model::steps::Columns;
use fathom_model::system::TransitionSystem;
use fathom_model::tag::Tag;

use super::walk::Walk;
use crate::proof::audit::{AuditError, is_state, sort_bytes};
use crate::proof::ranks::{self, Classes, RANK_BITS};
use crate::task::Observer;

/// Where in a weak automaton a state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its component: no step leads to an earlier one.
    pub component: u32,
    /// Whether a step inside the component carries all marks.
    pub marked: bool,
}

/// Says where a state is.
pub type PlaceOf<'a> = &'a dyn Fn(&[u64]) -> Place;

/// Takes a target of a step and the least rank that it may have.
type Demand<'a> = &'a mut dyn FnMut(&[u64], u32) -> Result<(), AuditError>;

/// What was checked, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankAudited {
    /// States, each with a rank.
    pub states: u64,
    /// Steps between them, none to a rank that is too low.
    pub transitions: u64,
    /// Classes of states.
    pub classes: u64,
    /// Bytes of the ranks.
    pub bytes: u64,
    /// Over all states.
    pub checksum: Checksum,
}

/// What is audited, and with what.
#[derive(Clone, Copy)]
pub struct RankAudit<'a> {
    /// The reference form of the system that was searched.
    pub system: &'a dyn TransitionSystem,
    /// If its automaton is weak: where a state is in it.
    pub place: Option<PlaceOf<'a>>,
    /// Where the ranks are.
    pub volume: &'a Volume,
    /// What files must be marked with.
    pub tag: RunTag,
    /// Where files of the audit may go.
    pub scratch: &'a Volume,
    /// All memory that is taken.
    pub budget: &'a Budget,
    /// Who watches.
    pub observer: &'a dyn Observer,
}

/// States that are expanded at once, at most.
const BATCH: usize = 512;
/// The most memory for reading.
const SCAN_BYTES_MAX: usize = 1 << 20;

impl RankAudit<'_> {
    /// Checks everything. Changes nothing in the directory.
    pub fn run(&self) -> Result<RankAudited, AuditError> {
        let directory = RunDirectory::look_at_within(self.volume, self.tag, self.budget)?;
        let shape = self.system.shape();
        let ranks = ranks::open(&directory, self.tag, shape, self.budget)?;
        let (run, classes) = ranks.ok_or(AuditError::Unranked)?;
        if classes.weak != self.place.is_some() {
            return Err(AuditError::Strength);
        }
        let (demands, audited) = self.demands(&run, &classes)?;
        self.met(&demands, &run)?;
        demands.remove()?;
        Ok(audited)
    }

    fn scan<'r>(&self, run: &'r Run) -> Result<Scan<'r>, AuditError> {
        Ok(Scan::new(run, self.budget, (self.budget.free() / 16).min(SCAN_BYTES_MAX))?)
    }

    fn tag(&self) -> Tag {
        Tag::new(self.system.shape().width_bits, RANK_BITS)
    }

    /// Makes every step, and sorts what it demands of its target.
    fn demands(&self, run: &Run, classes: &Classes) -> Result<(Sorted, RankAudited), AuditError> {
        let (budget, tag) = (self.budget, self.tag());
        let mut sorter =
            Sorter::new(self.scratch, budget, "demand", run.width(), self.tag, sort_bytes(budget))?;
        let shape = self.system.shape();
        let mut ranked = Ranked::new(shape);
        let columns = Columns { marks: true, ..Columns::NONE };
        let beside = BATCH * (shape.words() * 8 + 4);
        let mut walk = Walk::new((self.system, columns), 8 * BATCH, beside, budget, self.observer)?;
        let mut wide = vec![0; tag.wide_words];
        walk.initial()?;
        for target in walk.steps.targets().iter() {
            tag.join(target, 0, &mut wide);
            sorter.push(&wide)?;
        }
        let mut audited = RankAudited {
            states: run.count(),
            transitions: 0,
            classes: classes.count(),
            bytes: run.bytes(),
            checksum: Checksum::default(),
        };
        let mut stream = self.scan(run)?;
        let mut record = vec![0; shape.words()];
        walk.over(audited.states, &mut stream, &mut |walk, keys| {
            for piece in keys.chunks(BATCH * tag.wide_words) {
                ranked.sources.clear();
                ranked.ranks.clear();
                for key in piece.chunks_exact(tag.wide_words) {
                    ranked.ranks.push(tag.split(key, &mut record));
                    if !is_state(shape, &record) {
                        return Err(AuditError::NoState { record: record.clone() });
                    }
                    ranked.sources.push(&record);
                    audited.checksum.add(&record);
                }
                ranked.demand(walk, self.place, classes, &mut |target, least| {
                    tag.join(target, least, &mut wide);
                    Ok(sorter.push(&wide)?)
                })?;
            }
            Ok(())
        })?;
        audited.transitions = walk.transitions;
        drop((stream, walk));
        Ok((sorter.finish()?, audited))
    }

    /// Every demand is met: its state is there, and has a rank that is high enough.
    fn met(&self, demands: &Sorted, run: &Run) -> Result<(), AuditError> {
        let tag = self.tag();
        let words = self.system.shape().words();
        let (mut wanted, mut there) = (vec![0; words], vec![0; words]);
        let mut states = Cursor { stream: self.scan(run)?, place: 0, words: tag.wide_words };
        let mut rank = states.next()?.map(|ranked| tag.split(ranked, &mut there));
        let mut stream = demands.stream()?;
        while stream.advance()? {
            if self.observer.stop() {
                return Err(AuditError::Stopped);
            }
            for demand in stream.keys().chunks_exact(tag.wide_words) {
                let least = tag.split(demand, &mut wanted);
                while rank.is_some() && there < wanted {
                    rank = states.next()?.map(|ranked| tag.split(ranked, &mut there));
                }
                match rank.filter(|_| there == wanted) {
                    None => return Err(AuditError::Open { missing: 1, first: wanted }),
                    Some(rank) if rank < least => {
                        return Err(AuditError::Rank { record: wanted, rank, least });
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }
}

/// Keys of a scan, one after the other.
struct Cursor<'a> {
    stream: Scan<'a>,
    place: usize,
    words: usize,
}

impl Cursor<'_> {
    fn next(&mut self) -> Result<Option<&[u64]>, AuditError> {
        if self.place == self.stream.keys().len() {
            self.place = 0;
            if !self.stream.advance()? {
                return Ok(None);
            }
        }
        self.place += self.words;
        Ok(Some(&self.stream.keys()[self.place - self.words..self.place]))
    }
}

/// Some states and their ranks.
struct Ranked {
    sources: RecordBuffer,
    ranks: Vec<u32>,
    all_marks: u64,
}

impl Ranked {
    fn new(shape: &Shape) -> Ranked {
        Ranked {
            sources: RecordBuffer::with_capacity(shape.words(), BATCH),
            ranks: Vec::with_capacity(BATCH),
            all_marks: if shape.mark_count >= 64 { u64::MAX } else { (1 << shape.mark_count) - 1 },
        }
    }

    /// Makes every step of the sources and calls `demand` with its target and the least rank that this may have.
    fn demand(
        &self,
        walk: &mut Walk<'_>,
        place: Option<PlaceOf<'_>>,
        classes: &Classes,
        demand: Demand<'_>,
    ) -> Result<(), AuditError> {
        let Ranked { sources, ranks, all_marks } = self;
        let mut done = 0;
        while done < sources.len() {
            let finished = walk.expand(sources.view().skip(done))?;
            let steps = &walk.steps;
            for source in 0..finished {
                let (record, rank) = (sources.view().get(done + source), ranks[done + source]);
                let class = classes.kept_out_by(rank).ok_or(AuditError::NoClass { rank })?;
                for step in steps.steps_of(source) {
                    let (target, marks) = (steps.target(step), steps.marks(step).0);
                    let rises = match (place, class) {
                        (Some(place), _) => {
                            if !is_ranked(place(record), place(target))? {
                                demand(target, 0)?;
                                continue;
                            }
                            marks & *all_marks == *all_marks
                        }
                        (None, Some(mark)) => marks >> mark & 1 == 1,
                        (None, None) => true,
                    };
                    let least = rank.checked_add(u32::from(rises)).ok_or(AuditError::NoClass { rank })?;
                    demand(target, least)?;
                }
            }
            done += finished;
        }
        Ok(())
    }
}

/// Whether a step between two places of a weak automaton asks anything of ranks.
fn is_ranked(from: Place, to: Place) -> Result<bool, AuditError> {
    if to.component < from.component {
        return Err(AuditError::Strength);
    }
    Ok(to.component == from.component && from.marked)
}
