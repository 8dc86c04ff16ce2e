//! How do the values of states change in sorted files, which are written once?
//!
//! What is added to values is a run of its own, a *delta*: the value of a key is the join of those that it has in all deltas. Deltas are merged when one is not much smaller than the one before it, so that there are few, and a value is
//! rewritten as often as the logarithm of their number.
//!
//! Keys are looked up in ascending order: by a sweep down the fences where memory suffices for these, so that few keys cost few reads; side by side with all keys of the run where it does not.
//!
//! Memory: what a run takes that is open, for each; while keys are looked up, a block and a buffer of each; while two are merged, that of both and a writer. I/O: as above.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::sweep::Sweep;
use fathom_disk::run::{Run, RunConfig, RunWriter, Scan, Tag};
use fathom_disk::set::{Beside, Matched, Merge, Sorter, write_all};
use fathom_disk::storage::{FileKind, Role, Volume};
use fathom_disk::value::{Join, ValueWidth, Values};
use fathom_model::shape::Shape;

use super::lock;
use crate::error::SearchError;
use crate::stores::key_width;

/// Where runs of states with values go, and what they are like.
#[derive(Debug)]
pub(crate) struct ValueRuns {
    volume: Volume,
    budget: Budget,
    width: KeyWidth,
    join: Join,
    /// What names begin with.
    prefix: &'static str,
    made: AtomicU64,
    /// Files that a commit names: they go with the commit that no longer names them.
    committed: Mutex<Vec<String>>,
}

/// What was added to values, run by run, the newest last.
#[derive(Debug, Default)]
pub(crate) struct Deltas(Vec<Run>);

/// Looks up ascending keys in runs; a value is the join of those in all of them.
pub(crate) struct LookUps<'r> {
    runs: Vec<LookUp<'r>>,
    values: Values,
    each: ChargedVec<Option<u64>>,
}

enum LookUp<'r> {
    Sweep(Box<Sweep<'r>>),
    Beside(Box<Beside<Scan<'r>>>),
}

/// Bits of a value: sums are of steps, of which nobody makes so many.
const VALUE_BITS: u32 = 48;
/// The part of memory that a run is written within: one in so many.
const WRITE_PART: usize = 24;
/// The part of memory for the buffer that a run is read through, and not more than so much.
const READ_PART: usize = 64;
const READ_BYTES_MAX: usize = 256 << 10;
/// With less memory than this there is none for pages of fences.
const SWEEP_BYTES_MIN: usize = 256 << 10;
/// So many deltas are open at once at most: a quarter of memory for reading them, and at least so many.
const DELTAS_PART: usize = 4;
const DELTAS_MIN: usize = 1;
const DELTAS_MAX: usize = 16;
/// A delta is merged with the one before it that is less than so many times as large.
const GROWTH: u64 = 3;
const KIND: FileKind = FileKind::new("values", Role::Index);

impl ValueRuns {
    /// Runs of states of a shape, on a volume, whose names begin with `prefix`.
    pub(crate) fn new(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        join: Join,
        prefix: &'static str,
    ) -> Result<ValueRuns, SearchError> {
        Ok(ValueRuns {
            volume: volume.clone(),
            budget: budget.clone(),
            width: key_width(shape)?,
            join,
            prefix,
            made: AtomicU64::new(0),
            committed: Mutex::new(Vec::new()),
        })
    }

    /// Memory that is taken for them, and the room that is left.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Where they are.
    pub(crate) fn volume(&self) -> &Volume {
        &self.volume
    }

    /// Words of a key.
    pub(crate) fn words(&self) -> usize {
        self.width.words()
    }

    fn values(&self) -> Values {
        Values { width: value_width(), join: self.join }
    }

    fn config(&self) -> RunConfig {
        let config = RunConfig::within(self.width, Tag::default(), self.budget.limit() / WRITE_PART);
        RunConfig { kind: KIND, ..config }.with_values(value_width())
    }

    fn buffer_bytes(&self) -> usize {
        (self.budget.limit() / READ_PART).min(READ_BYTES_MAX)
    }

    /// A name that no file has or had.
    pub(crate) fn fresh_name(&self) -> String {
        format!("{}-{}", self.prefix, self.made.fetch_add(1, Ordering::Relaxed))
    }

    /// How many names were given.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Goes on with names after so many.
    pub(crate) fn resume(&self, made: u64) {
        self.made.store(made, Ordering::Relaxed);
    }

    /// Begins a run.
    pub(crate) fn writer(&self) -> Result<RunWriter, SearchError> {
        Ok(RunWriter::new(&self.volume, &self.budget, &self.fresh_name(), &self.config())?)
    }

    /// A run that was written.
    pub(crate) fn open(&self, name: &str) -> Result<Run, SearchError> {
        let widths = (self.width, value_width());
        Ok(Run::open_with_values(&self.volume, &self.budget, name, widths, Tag::default())?)
    }

    /// Sorts states with values, within so many bytes.
    pub(crate) fn sorter(&self, bytes: usize) -> Result<Sorter, SearchError> {
        let (name, tag) = (self.fresh_name(), Tag::default());
        let widths = (self.width, self.values());
        Ok(Sorter::joining(&self.volume, &self.budget, &name, widths, tag, bytes)?)
    }

    /// Reads a run from its beginning.
    pub(crate) fn scan<'r>(&self, run: &'r Run) -> Result<Scan<'r>, SearchError> {
        Ok(Scan::new(run, &self.budget, self.buffer_bytes())?)
    }

    /// A commit names these files now, and no others.
    pub(crate) fn set_committed(&self, names: Vec<String>) {
        *lock(&self.committed) = names;
    }

    /// Whether a commit names a file: then it stays until another commit does not.
    pub(crate) fn is_committed(&self, name: &str) -> bool {
        lock(&self.committed).iter().any(|committed| committed == name)
    }

    /// A run is not needed any more.
    pub(crate) fn retire(&self, run: Run) -> Result<(), SearchError> {
        let name = run.name().to_owned();
        drop(run);
        if !self.is_committed(&name) {
            self.volume.remove(&name).map_err(DiskError::from)?;
        }
        Ok(())
    }

    /// Prepares to look keys up in one run.
    pub(crate) fn look_up<'r>(&self, run: &'r Run) -> Result<LookUps<'r>, SearchError> {
        self.look_ups([run])
    }

    fn look_ups<'r>(&self, runs: impl IntoIterator<Item = &'r Run>) -> Result<LookUps<'r>, SearchError> {
        let each = |run: &'r Run| {
            Ok::<_, SearchError>(if self.budget.limit() >= SWEEP_BYTES_MIN {
                let sweep = Sweep::with_values(run, &self.budget, self.buffer_bytes())?;
                LookUp::Sweep(Box::new(sweep))
            } else {
                LookUp::Beside(Box::new(Beside::new(self.scan(run)?)))
            })
        };
        Ok(LookUps {
            runs: runs.into_iter().map(each).collect::<Result<_, _>>()?,
            values: self.values(),
            each: ChargedVec::with_capacity(&self.budget, "values found", 0)?,
        })
    }

    /// How many deltas there may be.
    fn deltas_max(&self) -> usize {
        let config = self.config();
        let each = config.open_bytes() + config.reading_bytes() + self.buffer_bytes();
        (self.budget.limit() / DELTAS_PART / each).clamp(DELTAS_MIN, DELTAS_MAX)
    }

    /// Merges runs into one.
    fn merge(&self, runs: Vec<Run>) -> Result<Run, SearchError> {
        let mut writer = self.writer()?;
        write_all(&mut self.merged(&runs)?, &mut writer)?;
        let merged = writer.finish_run(false)?;
        runs.into_iter().try_for_each(|run| self.retire(run))?;
        Ok(merged)
    }

    /// All keys of some runs, each with the join of its values.
    fn merged<'r>(&self, runs: &'r [Run]) -> Result<Merge<Scan<'r>>, SearchError> {
        let scans = runs.iter().map(|run| self.scan(run)).collect::<Result<Vec<_>, _>>()?;
        let chunk_keys = (self.buffer_bytes() / (self.words() * 8 + 8)).clamp(1, 4096);
        Ok(Merge::joining(&self.budget, self.words(), scans, chunk_keys, self.values())?)
    }
}

fn value_width() -> ValueWidth {
    ValueWidth::new(VALUE_BITS).expect("a value has at most 64 bits")
}

impl Deltas {
    /// Those that were written, the newest last.
    pub(crate) fn of(runs: Vec<Run>) -> Deltas {
        Deltas(runs)
    }

    /// The runs, the newest last.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.0
    }

    /// Bytes of the files.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().map(Run::bytes).sum()
    }

    /// Adds what a run has, and merges what should be.
    pub(crate) fn add(&mut self, place: &ValueRuns, run: Run) -> Result<(), SearchError> {
        if run.count() == 0 {
            return place.retire(run);
        }
        self.0.push(run);
        let most = place.deltas_max();
        while let [.., before, last] = &self.0[..]
            && (self.0.len() > most || before.count() < GROWTH * last.count())
        {
            let two = self.0.split_off(self.0.len() - 2);
            self.0.push(place.merge(two)?);
        }
        Ok(())
    }

    /// Adds all that others have.
    pub(crate) fn append(&mut self, place: &ValueRuns, others: Deltas) -> Result<(), SearchError> {
        others.0.into_iter().try_for_each(|run| self.add(place, run))
    }

    /// Prepares to look keys up.
    pub(crate) fn look_ups(&self, place: &ValueRuns) -> Result<LookUps<'_>, SearchError> {
        place.look_ups(&self.0)
    }

    /// The keys of a run, with their values, each with what was added to it.
    pub(crate) fn beside<'r>(
        &'r self,
        place: &ValueRuns,
        run: &'r Run,
    ) -> Result<Matched<Scan<'r>, Merge<Scan<'r>>>, SearchError> {
        Ok(Matched::new(&place.budget, place.scan(run)?, place.merged(&self.0)?)?)
    }

    /// All that was added, in order.
    pub(crate) fn stream(&self, place: &ValueRuns) -> Result<Merge<Scan<'_>>, SearchError> {
        place.merged(&self.0)
    }

    /// Removes the files.
    pub(crate) fn remove(self, place: &ValueRuns) -> Result<(), SearchError> {
        self.0.into_iter().try_for_each(|run| place.retire(run))
    }
}

impl LookUps<'_> {
    /// Sets `found` to the values of ascending keys, none for one that is nowhere. The keys come after those of the call before.
    pub(crate) fn find(
        &mut self,
        keys: &[u64],
        words: usize,
        found: &mut ChargedVec<Option<u64>>,
    ) -> Result<(), SearchError> {
        let LookUps { runs, values, each } = self;
        found.clear();
        found.resize(keys.len() / words, None)?;
        for run in runs {
            each.clear();
            each.resize(keys.len() / words, None)?;
            run.find(keys, words, each)?;
            for (found, each) in found.iter_mut().zip(each.iter()) {
                *found = match (*found, *each) {
                    (Some(left), Some(right)) => Some(values.joined(left, right)),
                    (left, right) => left.or(right),
                };
            }
        }
        Ok(())
    }
}

impl LookUp<'_> {
    fn find(&mut self, keys: &[u64], words: usize, found: &mut [Option<u64>]) -> Result<(), DiskError> {
        match self {
            LookUp::Sweep(sweep) => sweep.look_up(keys, found),
            LookUp::Beside(beside) => {
                for (key, found) in keys.chunks_exact(words).zip(found) {
                    if beside.reaches(key)? {
                        *found = Some(beside.value());
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fathom_disk::set::KeyStream;

    use super::*;

    /// Numbers drawn by a seed.
    fn drawn(seed: u64, place: u64) -> u64 {
        (seed * 1_000_003 + place)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31)
            .wrapping_mul(0x2545_f491)
            >> 20
    }

    /// What is looked up in deltas is what a map has that was added to, in 4 KiB as in plenty; and files go when they are merged, unless a commit names them.
    #[test]
    fn deltas_are_a_map_that_is_added_to() {
        let shape = Shape { width_bits: 20, ..Shape::default() };
        for (seed, bytes) in (0..12).flat_map(|seed| [(seed, 4 << 10), (seed, 1 << 20)]) {
            let (volume, budget) = (Volume::in_memory(64), Budget::new(bytes));
            let place = ValueRuns::new(&volume, &budget, &shape, Join::Sum, "values").unwrap();
            let (mut deltas, mut map) = (Deltas::default(), BTreeMap::new());
            for round in 0..20 {
                let keys = (0..drawn(seed, round) % 60).map(|key| drawn(seed ^ round, key) % 500);
                let added: BTreeMap<u64, u64> = keys.map(|key| (key, key % 5)).collect();
                let mut writer = place.writer().unwrap();
                for (key, value) in &added {
                    writer.push_with(&[*key], &[*value]).unwrap();
                    *map.entry(*key).or_insert(0) += value;
                }
                deltas.add(&place, writer.finish_run(false).unwrap()).unwrap();
                let sought: Vec<u64> =
                    (0..500).filter(|key| !drawn(seed, key ^ round).is_multiple_of(3)).collect();
                let mut found = ChargedVec::with_capacity(&Budget::unlimited(), "found", 0).unwrap();
                let mut look_ups = deltas.look_ups(&place).unwrap();
                for piece in sought.chunks(16) {
                    look_ups.find(piece, 1, &mut found).unwrap();
                    let expected: Vec<Option<u64>> = piece.iter().map(|key| map.get(key).copied()).collect();
                    assert_eq!(found[..], expected, "seed {seed}, round {round}, {bytes} bytes");
                }
                drop(look_ups);
                assert_eq!(volume.list().unwrap().len(), deltas.runs().len(), "no file is left behind");
            }
            let named: Vec<String> = deltas.runs().iter().map(|run| run.name().to_owned()).collect();
            place.set_committed(named.clone());
            let one = place.merge(deltas.0).unwrap();
            assert!(named.iter().all(|name| volume.list().unwrap().contains(name)), "a commit names them");
            let (mut scan, mut all) = (place.scan(&one).unwrap(), BTreeMap::new());
            while scan.advance().unwrap() {
                all.extend(scan.keys().iter().copied().zip(scan.values().iter().copied()));
            }
            assert_eq!(all, map, "seed {seed}, {bytes} bytes");
        }
    }
}
