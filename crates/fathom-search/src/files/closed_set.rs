//! What was reached and matters, once in sorted order, and every state a number?
//!
//! A breadth-first search keeps layers, each sorted, or runs, each of some layers. Passes over everything want one order: all of it becomes one run on a volume, and a perfect
//! hash over that gives each state a number below their count, so that what is known of states lies in plain arrays. States that no accepting run repeats for ever, as the automaton tells
//! without a search ([`Recurs`]), are left out: they have no number and take no memory.
//!
//! Memory: while sorting and hashing, half of what the budget has free at most; then the perfect hash, about 3 bits per state, and the buffer of a scan. I/O: runs are
//! merged, so each record is read and written once; layers are sorted first. A scan reads the run once.

use fathom_disk::budget::Budget;
use fathom_disk::key::KeyWidth;
use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::perfect_hash::{PerfectHash, PerfectHashBuilder};
use fathom_disk::run::{Run, RunConfig, RunWriter, Scan, Tag};
use fathom_disk::set::{KeyStream, Sorter};
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::system::TransitionSystem;

use crate::error::SearchError;
use crate::stores::Layered;
use crate::stores::key_width;
use crate::task::Observer;
use crate::traces::path::{Path, Room};
use crate::traces::trace::path_through;

/// What a complete breadth-first search has reached and kept.
pub trait Reached {
    /// How many layers there are.
    fn layer_count(&self) -> u64;

    /// Visits the states of a layer, in any order.
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<(), SearchError>;

    /// A path to a state of a layer: the shortest, where layers are those of a breadth-first search.
    fn path_to(
        &self,
        system: &dyn TransitionSystem,
        room: &Room,
        observer: &dyn Observer,
        state: (u64, &[u64]),
    ) -> Result<Path, SearchError> {
        let visit =
            |layer: u64, visit: &mut dyn FnMut(Records<'_>)| self.visit_layer(layer, visit).map(|()| true);
        Ok(path_through(system, &visit, room, observer, state)?.expect("all layers are kept"))
    }

    /// Visits all states in ascending order, each once, some at a time, within about `bytes` of the budget. Files that are needed for it go to `volume`, and are gone when it returns.
    fn visit_sorted(
        &self,
        volume: &Volume,
        budget: &Budget,
        observer: &dyn Observer,
        bytes: usize,
        visit: &mut dyn FnMut(&[u64]) -> Result<(), SearchError>,
    ) -> Result<(), SearchError>;
}

/// Whether an accepting run may come back to a state for ever. Where it is false no search for cycles need look.
pub type Recurs<'a> = &'a (dyn Fn(&[u64]) -> bool + Sync);

/// What is known of states whose automaton is unknown: any may recur.
pub const ALL_RECUR: Recurs<'static> = &|_| true;

/// The layers that a policy of the layer loop has kept, which are all.
#[derive(Debug)]
pub struct KeptLayers<'a, P> {
    policy: &'a P,
    layers: u64,
    width: KeyWidth,
}

/// Reached states that may recur, in order, numbered.
pub struct ClosedSet<'r> {
    recurs: Recurs<'r>,
    run: Run,
    numbers: PerfectHash,
    words: usize,
    budget: Budget,
}

/// Names of the files.
const RUN: &str = "closed.run";
const NUMBERS: &str = "closed.numbers";
/// The most memory that one part of the work gets.
const WORK_BYTES_MAX: usize = 64 << 20;
/// The most memory that a scan gets.
const SCAN_BYTES_MAX: usize = 1 << 20;

impl<'a, P: Layered> KeptLayers<'a, P> {
    /// So many layers of states of that shape.
    pub fn new(policy: &'a P, layers: u64, shape: &Shape) -> Result<KeptLayers<'a, P>, SearchError> {
        Ok(KeptLayers { policy, layers, width: key_width(shape)? })
    }
}

impl<P: Layered> Reached for KeptLayers<'_, P> {
    fn layer_count(&self) -> u64 {
        self.layers
    }

    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<(), SearchError> {
        let kept = self.policy.visit_layer(layer, visit)?;
        assert!(kept, "the policy has kept its layers");
        Ok(())
    }

    fn visit_sorted(
        &self,
        volume: &Volume,
        budget: &Budget,
        observer: &dyn Observer,
        bytes: usize,
        visit: &mut dyn FnMut(&[u64]) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        sort_layers(self, self.width, (volume, budget), observer, bytes, visit)
    }
}

impl<'r> ClosedSet<'r> {
    /// Puts what was reached and may recur in order and numbers it. The volume must be empty of files of that kind.
    ///
    /// # Errors
    /// [`SearchError::Stopped`] if the observer says so.
    pub fn new(
        reached: &dyn Reached,
        recurs: Recurs<'r>,
        shape: &Shape,
        (volume, budget): (&Volume, &Budget),
        observer: &dyn Observer,
    ) -> Result<ClosedSet<'r>, SearchError> {
        let width = key_width(shape)?;
        let words = width.words();
        let bytes = (budget.free() / 4).min(WORK_BYTES_MAX);
        let config = RunConfig::within(width, Tag::default(), bytes / 4);
        let mut writer = RunWriter::new(volume, budget, RUN, &config)?;
        let each = PerfectHashBuilder::keys_per_shard_within(bytes / 2, words);
        let mut builder = PerfectHashBuilder::new(volume, NUMBERS, words, each, budget)?;
        reached.visit_sorted(volume, budget, observer, bytes, &mut |keys| {
            if observer.stop() {
                return Err(SearchError::Stopped);
            }
            for key in keys.chunks_exact(words).filter(|key| recurs(key)) {
                writer.push(key)?;
                builder.push(key)?;
            }
            Ok(())
        })?;
        // Whoever commits the files finds them whole.
        writer.finish(true)?;
        builder.finish()?;
        ClosedSet::open(recurs, shape, volume, budget)
    }

    /// The set whose files were committed in a directory, if they were; else one that is made now, and committed.
    pub fn committed(
        reached: &dyn Reached,
        recurs: Recurs<'r>,
        shape: &Shape,
        directory: &mut RunDirectory,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<ClosedSet<'r>, SearchError> {
        let volume = directory.volume().clone();
        if directory.committed().is_some_and(|manifest| manifest.names(NUMBERS)) {
            return ClosedSet::open(recurs, shape, &volume, budget);
        }
        let set = ClosedSet::new(reached, recurs, shape, (&volume, budget), observer)?;
        directory.commit(&[], &ClosedSet::files())?;
        Ok(set)
    }

    /// What a commit names as long as the set is needed.
    pub(crate) fn files() -> [Named; 2] {
        [RUN, NUMBERS].map(|name| Named { name: name.to_owned(), grows: false, note: Vec::new() })
    }

    /// The set whose files are on a volume.
    fn open(
        recurs: Recurs<'r>,
        shape: &Shape,
        volume: &Volume,
        budget: &Budget,
    ) -> Result<ClosedSet<'r>, SearchError> {
        let width = key_width(shape)?;
        let words = width.words();
        let run = Run::open(volume, budget, RUN, width, Tag::default())?;
        let numbers = PerfectHash::open(volume, NUMBERS, words, budget)?;
        Ok(ClosedSet { recurs, run, numbers, words, budget: budget.clone() })
    }

    /// Whether a state that was reached is in the set.
    #[inline]
    pub fn has(&self, record: &[u64]) -> bool {
        (self.recurs)(record)
    }

    /// How many states there are.
    pub fn len(&self) -> u64 {
        self.run.count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most states that a scan gives at once.
    pub fn block_keys_max(&self) -> usize {
        self.run.block_keys_max()
    }

    /// Bytes of the perfect hash in RAM.
    pub fn number_bytes(&self) -> usize {
        self.numbers.bytes()
    }

    /// Bytes of the states on the volume.
    pub fn stored_bytes(&self) -> u64 {
        self.run.bytes()
    }

    /// Appends the numbers of states. The number of one that is not in the set says nothing.
    pub fn numbers(&self, records: Records<'_>, numbers: &mut Vec<u64>) {
        self.numbers.index_batch(records.words(), numbers);
    }

    /// The number of a state, which is in the set.
    pub fn number(&self, record: &[u64]) -> u64 {
        self.numbers.index(record)
    }

    /// All states in order, a block at a time.
    pub fn stream(&self) -> Result<Scan<'_>, SearchError> {
        Ok(Scan::new(&self.run, &self.budget, (self.budget.free() / 16).min(SCAN_BYTES_MAX))?)
    }

    /// Visits all states in order, some at a time, until `visit` says that it has seen enough.
    pub fn scan(
        &self,
        visit: &mut dyn FnMut(Records<'_>) -> Result<bool, SearchError>,
    ) -> Result<(), SearchError> {
        let mut stream = self.stream()?;
        while stream.advance()? && visit(Records::new(stream.keys(), self.words))? {}
        Ok(())
    }
}

/// Visits all states of all layers in ascending order.
pub(crate) fn sort_layers(
    reached: &dyn Reached,
    width: KeyWidth,
    (volume, budget): (&Volume, &Budget),
    observer: &dyn Observer,
    bytes: usize,
    visit: &mut dyn FnMut(&[u64]) -> Result<(), SearchError>,
) -> Result<(), SearchError> {
    let mut sorter = Sorter::new(volume, budget, "closed-part", width, Tag::default(), bytes)?;
    for layer in 0..reached.layer_count() {
        let mut outcome = Ok(());
        reached.visit_layer(layer, &mut |records| {
            if outcome.is_ok() && observer.stop() {
                outcome = Err(SearchError::Stopped);
            }
            if outcome.is_ok() {
                outcome = sorter.push(records.words()).map_err(SearchError::from);
            }
        })?;
        outcome?;
    }
    let sorted = sorter.finish()?;
    let mut stream = sorted.stream()?;
    while stream.advance()? {
        visit(stream.keys())?;
    }
    drop(stream);
    Ok(sorted.remove()?)
}
