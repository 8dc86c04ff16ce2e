//! Is the closed set of a finished run really closed, and does it show what the run said?
//!
//! A set of states that holds every initial state, from which no step leads out, and in which no state violates a property, is a proof that the property holds. Here such a
//! proof is checked with nothing but a step relation (the caller gives the reference interpreter), a sort and a merge; nothing is taken from the engine but its files.
//!
//! ```text
//! pass 1   runs --merge--> count and checksum: as the run said? every field of every record inside its domain?
//! pass 2   runs --merge--> steps and conditions; targets and initial states --sort--> targets
//! pass 3   targets minus runs: nothing may be left
//! ```
//! Memory: half of the data budget for the sort, 64 MiB at most, and a few buffers. I/O: the runs three times, every target of a step written and read once per pass of the sort.

use std::cell::Cell;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::manifest::{Manifest, RunDirectory};
use fathom_disk::run::{Run, Scan, Tag};
use fathom_disk::set::{Difference, KeyStream, Merge, Sorted, Sorter};
use fathom_disk::storage::Volume;
use fathom_model::record::{Checksum, Records};
use fathom_model::shape::Shape;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;

pub use super::error::AuditError;
use super::walk::Walk;
use crate::bodies::stages;
use crate::error::SearchError;
use crate::files::cursor::boundary_of;
use crate::task::watch::Condition;
use crate::task::{Ending, Observer, Outcome, Settings, Task};

/// What was checked, in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// Files of the closed set that were read, every block against its checksum.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// States in them, each once.
    pub states: u64,
    /// Initial states, all in the set.
    pub initial: u64,
    /// Steps, all inside the set.
    pub transitions: u64,
    /// States without a step and without a fault.
    pub deadlocks: u64,
    /// Faulting steps and starts.
    pub faults: u64,
    /// Over all states.
    pub checksum: Checksum,
}

/// What is audited, and with what.
#[derive(Clone, Copy)]
pub struct Audit<'a> {
    /// The reference form of the system that was searched.
    pub system: &'a dyn TransitionSystem,
    /// As the search had them: the conditions are what the certificate claims.
    pub settings: &'a Settings,
    /// Where the files of the run are.
    pub volume: &'a Volume,
    /// What they must be marked with.
    pub tag: Tag,
    /// Where files of the audit may go.
    pub scratch: &'a Volume,
    /// All memory that is taken.
    pub budget: &'a Budget,
    /// Who watches.
    pub observer: &'a dyn Observer,
}

/// Keys handed out at once.
const CHUNK_KEYS: usize = 512;
/// The most memory for sorting.
const SORT_BYTES_MAX: usize = 64 << 20;

impl Audit<'_> {
    /// Checks everything. Changes nothing in the run.
    pub fn run(&self) -> Result<Audited, AuditError> {
        let directory = RunDirectory::look_at_within(self.volume, self.tag, self.budget)?;
        let manifest = directory.committed().ok_or(AuditError::Unfinished)?;
        let said = self.said(manifest)?;
        let runs = self.runs(manifest)?;
        self.compare_sets(&runs, &said)?;
        let (targets, audited) = self.expand(&runs)?;
        for (what, said, found) in [
            ("transitions", said.transitions, audited.transitions),
            ("deadlocks", said.deadlocks, audited.deadlocks),
            ("faults", said.faults, audited.faults),
        ] {
            equal(what, said, found)?;
        }
        self.closed(&targets, &runs)?;
        targets.remove()?;
        Ok(audited)
    }

    /// What the run said at its end.
    fn said(&self, manifest: &Manifest) -> Result<Outcome, AuditError> {
        let boundary = boundary_of(manifest)?;
        let said = stages::at_boundary(Task::new(self.system, self.budget, self.settings), Some(&boundary))?;
        match said.ending {
            Ending::Complete if said.findings.any() => Err(AuditError::Violated),
            Ending::Complete => Ok(said),
            _ => Err(AuditError::Unfinished),
        }
    }

    fn width(&self) -> Result<KeyWidth, AuditError> {
        let bits = self.system.shape().width_bits;
        Ok(KeyWidth::new(bits).ok_or(SearchError::TooWide { bits })?)
    }

    fn runs(&self, manifest: &Manifest) -> Result<Vec<Run>, AuditError> {
        let width = self.width()?;
        let names = manifest.files.iter().filter(|file| !file.grows).map(|file| &file.name);
        let open = |name: &String| Run::open(self.volume, self.budget, name, width, self.tag);
        Ok(names.map(open).collect::<Result<_, DiskError>>()?)
    }

    /// All keys of all runs in order. Equal keys become one.
    fn merged<'r>(&self, runs: &'r [Run]) -> Result<Merge<Scan<'r>>, DiskError> {
        let share = self.budget.free() / 8 / (runs.len() + 1);
        let scans =
            runs.iter().map(|run| Scan::new(run, self.budget, share)).collect::<Result<Vec<_>, _>>()?;
        let words = self.system.shape().words();
        Merge::new(self.budget, words, scans, CHUNK_KEYS.min(share / (words * 8)).max(1))
    }

    /// The states are those of the run, each once, and each is a state.
    fn compare_sets(&self, runs: &[Run], said: &Outcome) -> Result<(), AuditError> {
        equal("states", said.expanded, runs.iter().map(Run::count).sum())?;
        let shape = self.system.shape();
        let mut stream = self.merged(runs)?;
        let (mut states, mut checksum) = (0, Checksum::default());
        while stream.advance()? {
            if self.observer.stop() {
                return Err(AuditError::Stopped);
            }
            for record in Records::new(stream.keys(), shape.words()).iter() {
                if !is_state(shape, record) {
                    return Err(AuditError::NoState { record: record.to_vec() });
                }
                checksum.add(record);
                states += 1;
            }
        }
        equal("states", said.expanded, states)?;
        if checksum != said.checksum {
            return Err(AuditError::Checksum { said: said.checksum, found: checksum });
        }
        Ok(())
    }

    /// Makes every step, tests every condition, and sorts the targets.
    fn expand(&self, runs: &[Run]) -> Result<(Sorted, Audited), AuditError> {
        let (system, budget) = (self.system, self.budget);
        let shape = system.shape();
        let mut sorter =
            Sorter::new(self.scratch, budget, "targets", self.width()?, self.tag, sort_bytes(budget))?;
        let labels = self.settings.conditions.iter().any(|condition| condition.reads_labels());
        let columns = Columns { labels, ..Columns::NONE };
        let mut walk = Walk::new((system, columns), 4 * CHUNK_KEYS, 0, budget, self.observer)?;
        let mut audited = Audited {
            files: runs.len() as u64,
            bytes: runs.iter().map(Run::bytes).sum(),
            states: runs.iter().map(Run::count).sum(),
            initial: 0,
            transitions: 0,
            deadlocks: 0,
            faults: 0,
            checksum: Checksum::default(),
        };
        walk.initial()?;
        self.test_starts(&walk.steps, &mut audited)?;
        sorter.push(walk.steps.targets().words())?;
        let mut stream = self.merged(runs)?;
        walk.over(audited.states, &mut stream, &mut |walk, keys| {
            let mut rest = Records::new(keys, shape.words());
            while !rest.is_empty() {
                let finished = walk.expand(rest)?;
                self.test(&walk.steps, rest.take(finished), &mut audited)?;
                sorter.push(walk.steps.targets().words())?;
                rest = rest.skip(finished);
            }
            Ok(())
        })?;
        audited.transitions = walk.transitions;
        drop((stream, walk));
        Ok((sorter.finish()?, audited))
    }

    /// Counts the starts, none of which may fault where that is claimed.
    fn test_starts(&self, steps: &Steps, audited: &mut Audited) -> Result<(), AuditError> {
        audited.initial = steps.targets().len() as u64;
        audited.faults = steps.faults().len() as u64;
        let claimed = self.settings.conditions.iter().position(|condition| *condition == Condition::Fault);
        match claimed.filter(|_| audited.faults > 0) {
            Some(condition) => Err(AuditError::Condition { condition, record: None }),
            None => Ok(()),
        }
    }

    /// Counts what was expanded and tests the conditions on it.
    fn test(&self, steps: &Steps, sources: Records<'_>, audited: &mut Audited) -> Result<(), AuditError> {
        audited.faults += steps.faults().len() as u64;
        for (source, record) in sources.iter().enumerate() {
            audited.checksum.add(record);
            let stuck = steps.steps_of(source).is_empty() && steps.faults_of(source).is_empty();
            audited.deadlocks += u64::from(stuck);
            let met = |condition: &Condition| condition.met(record, steps, source);
            if let Some(condition) = self.settings.conditions.iter().position(met) {
                return Err(AuditError::Condition { condition, record: Some(record.to_vec()) });
            }
        }
        Ok(())
    }

    /// Every target is in the set.
    fn closed(&self, targets: &Sorted, runs: &[Run]) -> Result<(), AuditError> {
        let words = self.system.shape().words() as u64;
        let stopped = Cell::new(false);
        let targets = Stoppable { inner: targets.stream()?, observer: self.observer, stopped: &stopped };
        let mut outside = Difference::new(self.budget, targets, self.merged(runs)?)?;
        let (mut missing, mut first) = (0, Vec::new());
        while outside.advance()? {
            if missing == 0 {
                first = outside.keys()[..words as usize].to_vec();
            }
            missing += outside.keys().len() as u64 / words;
        }
        match (missing, stopped.get()) {
            (0, true) => Err(AuditError::Stopped),
            (0, false) => Ok(()),
            _ => Err(AuditError::Open { missing, first }),
        }
    }
}

/// Keys that come to an end when the observer says so.
struct Stoppable<'a, S> {
    inner: S,
    observer: &'a dyn Observer,
    /// Whether it did.
    stopped: &'a Cell<bool>,
}

impl<S: KeyStream> KeyStream for Stoppable<'_, S> {
    fn words(&self) -> usize {
        self.inner.words()
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        if self.observer.stop() {
            self.stopped.set(true);
        }
        Ok(!self.stopped.get() && self.inner.advance()?)
    }

    fn keys(&self) -> &[u64] {
        self.inner.keys()
    }
}

/// Memory for sorting: what all of a large budget would buy is not worth clearing it.
pub(crate) fn sort_bytes(budget: &Budget) -> usize {
    (budget.free() / 2).min(SORT_BYTES_MAX)
}

/// Whether every value in a record is one that its variable can have.
pub(crate) fn is_state(shape: &Shape, record: &[u64]) -> bool {
    shape.components.iter().all(|component| {
        let codes = component.domain.high.wrapping_sub(component.domain.low) as u64;
        (0..component.elements()).all(|index| {
            component.code(record, index) <= codes
                || component.undefined == Some(component.value(record, index))
        })
    })
}

fn equal(what: &'static str, said: u64, found: u64) -> Result<(), AuditError> {
    if said == found { Ok(()) } else { Err(AuditError::Count { what, said, found }) }
}
