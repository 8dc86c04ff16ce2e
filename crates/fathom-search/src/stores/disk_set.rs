//! Which records were inserted, when they do not fit in memory and are asked for one state at a time?
//!
//! ```text
//! insert ------> young        as many records as memory allows, exact
//!                  | full
//!                  v
//!                old          the same records, still asked first; written as a sorted run
//!                  | the next one comes
//!                  v
//!                runs         a filter says no for most that are not there; the rest are looked up
//! ```
//! For depth-first searches: nothing is postponed, so a state that was met long ago may cost a read. The set only grows, and goes away with its files.
//!
//! Memory: the bytes it is given, of which a quarter is for merging runs and an eighth for the roots of runs; what is asked for at once, twice; and as much of the rest of the budget as its filter can use, at 8 bits per
//! record, and then runs, which are looked up there as they are on disk. These two are luxuries: an eighth of the budget is left to whoever else needs it, and what merging takes is always there. I/O: every
//! record is written once and rewritten at most log_8(runs) times, or more often where there may be few runs; a look-up reads a block of each run that may hold the record.

use fathom_disk::budget::{Budget, BudgetError, Charge};
use fathom_disk::error::DiskError;
use fathom_disk::filter::BloomChain;
use fathom_disk::hash::hash_key;
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig, RunWriter, Tag};
use fathom_disk::set::Tiers;
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::shape::Shape;

use crate::error::SearchError;
use crate::stores::key_width;
use crate::stores::recent::Recent;
use crate::stores::visited::{Colour, Insertion, StoreFigures, Visited};

/// The set.
#[derive(Debug)]
pub struct DiskSet {
    volume: Volume,
    budget: Budget,
    /// The same, for what can be done without.
    spare: Budget,
    /// What its files are called.
    name: String,
    files: u64,
    config: RunConfig,
    young: Recent,
    old: Recent,
    /// None if there was never memory for one: then every record may be in a run.
    filter: Option<BloomChain>,
    runs: Tiers,
    /// How many there may be.
    runs_max: usize,
    prober: Prober,
    /// The places of records that must be looked up; the records in order, each once; and whether they were found.
    open: Vec<u32>,
    sought: Vec<u64>,
    found: Vec<bool>,
    /// The places of records that are there, of those that are inserted at a time.
    present: Vec<u32>,
    /// For these.
    asked: Charge,
    /// Kept free for writing and merging.
    reserve: Charge,
    count: u64,
    /// Why nothing more can be inserted, if that is so.
    full: Option<BudgetError>,
}

/// Bits of the filter per record.
const FILTER_BITS: u32 = 8;
/// What is held of a record that is looked up beside it: its place, twice, and whether it is there.
const ASKED_BYTES: usize = 9;
/// The least memory that it works with, per word of a record.
const BYTES_MIN: usize = 768;
/// The part of the budget that filters and runs in memory leave to others: one in so many.
const LEFT_PART: usize = 8;
/// Runs that there may be in any case.
const RUNS_MIN: usize = 4;

impl DiskSet {
    /// An empty set of records of a shape, with files on a volume, all beginning with `name`.
    pub fn new(
        shape: &Shape,
        volume: &Volume,
        name: &str,
        bytes: usize,
        budget: &Budget,
    ) -> Result<DiskSet, SearchError> {
        let width = key_width(shape)?;
        let words = width.words();
        let bytes = bytes.max(BYTES_MIN * words);
        let records = bytes / 4 / (words * 8 + Recent::SLOT_BYTES);
        let config = RunConfig::within(width, Tag::default(), bytes / 16);
        // A writer, two runs that are read, and what a merge gives out. At the least budgets it finds that in what luxuries leave to others.
        let merging = RunWriter::bytes_with_fences(&config) + 2 * config.reading_bytes() + words * 64;
        let reserve = budget.charge("merging", merging.min(budget.limit() / 16).max(bytes / 4))?;
        let spare = budget.leaving(budget.limit() / LEFT_PART + reserve.bytes());
        Ok(DiskSet {
            volume: volume.clone(),
            budget: budget.clone(),
            name: name.to_owned(),
            files: 0,
            runs_max: (bytes / 8 / config.open_bytes()).max(RUNS_MIN),
            config,
            young: Recent::new(words, records, budget)?,
            old: Recent::new(words, records, budget)?,
            filter: Some(BloomChain::new(FILTER_BITS, &spare)),
            spare,
            runs: Tiers::default(),
            prober: Prober::new(budget, width, ProbeConfig::within(bytes / 8))?,
            open: Vec::new(),
            sought: Vec::new(),
            found: Vec::new(),
            present: Vec::new(),
            asked: budget.charge("asked", 0)?,
            reserve,
            count: 0,
            full: None,
        })
    }

    /// From now on filter and runs in memory leave so many bytes more to others. The set is empty.
    pub(crate) fn leave_free(&mut self, bytes: usize) {
        self.spare = self.budget.leaving(self.budget.limit() / LEFT_PART + self.reserve.bytes() + bytes);
        self.filter = Some(BloomChain::new(FILTER_BITS, &self.spare));
    }

    /// How many records there are.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Writes the young records as a run.
    fn write(&mut self) -> Result<(), DiskError> {
        let kept_free = self.reserve.bytes();
        self.reserve.resize(0)?;
        std::mem::swap(&mut self.young, &mut self.old);
        self.young.clear();
        self.old.sort(&self.budget)?;
        let name = self.next_name();
        let mut writer = RunWriter::new(&self.volume, &self.budget, &name, &self.config)?;
        writer.push(self.old.records())?;
        // Nothing is taken up: what is lost with the machine is made again.
        writer.finish(false)?;
        self.filter_old();
        self.runs.insert(0, self.open_run(&name)?);
        self.merge(kept_free)?;
        for (_, run) in self.runs.runs().filter(|(_, run)| !run.is_kept_in_memory()) {
            if run.bytes() < self.spare.free() as u64 {
                run.keep_in_memory(&self.spare)?;
            }
        }
        // It is there: what can be done without has left it free.
        self.reserve.resize(kept_free)?;
        Ok(())
    }

    /// Tells the filter of the old records. One that was never told of any, for want of memory, says nothing for good.
    fn filter_old(&mut self) {
        let DiskSet { filter, old, config, .. } = self;
        let mut records = old.records().chunks_exact(config.width.words());
        if let Some(chain) = filter
            && records.any(|record| chain.insert(hash_key(record)).is_err())
        {
            *filter = None;
        }
    }

    /// Merges runs until there are few enough, within so many bytes.
    fn merge(&mut self, within: usize) -> Result<(), DiskError> {
        loop {
            let due = self.runs.due();
            if due.is_none() && self.runs.runs().count() <= self.runs_max {
                return Ok(());
            }
            let name = self.next_name();
            let DiskSet { runs, volume, budget, config, .. } = self;
            match due {
                Some(level) => runs.merge_level(volume, budget, level, &name, config, within, false)?,
                None => runs.merge_smallest(volume, budget, &name, config, within, false)?,
            }
            for gone in runs.retired() {
                volume.remove(&gone)?;
            }
        }
    }

    fn open_run(&self, name: &str) -> Result<Run, DiskError> {
        Run::open(&self.volume, &self.budget, name, self.config.width, Tag::default())
    }

    fn next_name(&mut self) -> String {
        self.files += 1;
        format!("{}-{}", self.name, self.files)
    }

    /// Looks those of some records up in the runs whose places are open, and appends the places of those that are there.
    fn look_up(&mut self, records: Records<'_>, present: &mut Vec<u32>) -> Result<(), DiskError> {
        let DiskSet { open, sought, found, runs, prober, .. } = self;
        let record = |place: &u32| records.get(*place as usize);
        open.sort_unstable_by(|left, right| record(left).cmp(record(right)));
        sought.clear();
        for same in open.chunk_by(|left, right| record(left) == record(right)) {
            sought.extend_from_slice(record(&same[0]));
        }
        found.clear();
        found.resize(sought.len() / records.words_per_record(), false);
        runs.look_up(prober, sought, found)?;
        for (same, found) in open.chunk_by(|left, right| record(left) == record(right)).zip(found) {
            if *found {
                present.extend_from_slice(same);
            }
        }
        open.clear();
        Ok(())
    }

    /// Asks for memory for as many records as may be looked up at once.
    fn ask(&mut self, records: Records<'_>) -> Result<(), BudgetError> {
        let bytes = records.len() * (records.words_per_record() * 8 + ASKED_BYTES);
        if bytes > self.asked.bytes() {
            self.asked.resize(bytes)?;
            // Exactly: buffers that double would take more.
            self.open.reserve_exact(records.len());
            self.sought.reserve_exact(records.words().len());
            self.found.reserve_exact(records.len());
        }
        Ok(())
    }
}

impl DiskSet {
    /// Inserts a record. True if it was not there.
    ///
    /// # Errors
    /// [`SearchError::Budget`] if there is no room for it, and from then on for none; others if the machine fails.
    pub fn insert(&mut self, record: &[u64]) -> Result<bool, SearchError> {
        let mut new = Vec::new();
        match self.insert_some(Records::new(record, record.len()), 0, &mut new)? {
            Insertion::All => Ok(!new.is_empty()),
            Insertion::Full { reason, .. } => Err(reason.into()),
        }
    }

    /// Inserts records in any number, as [`Visited::insert_batch`] does.
    pub(crate) fn insert_all(
        &mut self,
        records: Records<'_>,
        new: &mut Vec<u32>,
    ) -> Result<Insertion, DiskError> {
        // Of so many, one that comes twice is still in memory when it comes again.
        let most = self.young.capacity();
        let mut taken = 0;
        while taken < records.len() {
            let some = records.skip(taken);
            match self.insert_some(some.take(some.len().min(most)), taken, new)? {
                Insertion::All => taken += some.len().min(most),
                full => return Ok(full),
            }
        }
        Ok(Insertion::All)
    }

    /// Inserts at most as many records as are young at a time, the first of which has the place `from`.
    fn insert_some(
        &mut self,
        records: Records<'_>,
        from: usize,
        new: &mut Vec<u32>,
    ) -> Result<Insertion, DiskError> {
        let mut present = std::mem::take(&mut self.present);
        present.clear();
        match self.find(records, &mut present) {
            Err(DiskError::Budget(reason)) => return Ok(Insertion::Full { taken: from, reason }),
            asked => asked?,
        }
        let mut known = present.iter().copied().peekable();
        let mut outcome = Insertion::All;
        for (place, record) in records.iter().enumerate() {
            if known.next_if_eq(&(place as u32)).is_some() || self.is_recent(record, hash_key(record)) {
                continue;
            }
            if let Some(reason) = self.full.clone() {
                outcome = Insertion::Full { taken: from + place, reason };
                break;
            }
            self.add(record)?;
            new.push((from + place) as u32);
        }
        self.present = present;
        Ok(outcome)
    }

    /// Adds a record that is not there.
    fn add(&mut self, record: &[u64]) -> Result<(), DiskError> {
        self.young.insert(record)?;
        self.count += 1;
        if self.young.is_full() {
            match self.write() {
                // The record is there, and so are those that were to be written: they are the old ones.
                Err(DiskError::Budget(reason)) => self.full = Some(reason),
                other => other?,
            }
        }
        Ok(())
    }

    fn is_recent(&self, record: &[u64], hash: u64) -> bool {
        self.young.contains(record, hash) || self.old.contains(record, hash)
    }

    /// Appends the places of those among some records that are there, ascending.
    fn find(&mut self, records: Records<'_>, present: &mut Vec<u32>) -> Result<(), DiskError> {
        self.ask(records)?;
        self.open.clear();
        let before = present.len();
        for (place, record) in (0..).zip(records.iter()) {
            let hash = hash_key(record);
            if self.is_recent(record, hash) {
                present.push(place);
            } else if self.filter.as_ref().is_none_or(|filter| filter.may_contain(hash)) {
                self.open.push(place);
            }
        }
        if !self.open.is_empty() {
            self.look_up(records, present)?;
            present[before..].sort_unstable();
        }
        Ok(())
    }
}

impl Visited for DiskSet {
    fn insert_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        new: &mut Vec<u32>,
    ) -> Result<Insertion, SearchError> {
        Ok(self.insert_all(records, new)?)
    }

    fn contains_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        present: &mut Vec<u32>,
    ) -> Result<(), SearchError> {
        Ok(self.find(records, present)?)
    }

    fn figures(&self) -> StoreFigures {
        let runs = || self.runs.runs().map(|(_, run)| run);
        let records = self.young.bytes() + self.old.bytes();
        let kept: u64 = runs().filter(|run| run.is_kept_in_memory()).map(Run::bytes).sum();
        StoreFigures {
            records: self.count,
            memory: (records + self.filter.as_ref().map_or(0, BloomChain::bytes)) as u64 + kept,
            files: runs().map(Run::bytes).sum(),
            lossy: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use oracle::random::Random;

    #[test]
    fn what_was_inserted_is_there_and_nothing_else() {
        for seed in 0..40u64 {
            let mut random = Random::new(seed);
            let bits = [20u32, 64, 65, 130][seed as usize % 4];
            let words = bits.div_ceil(64) as usize;
            let mut shape = oracle::forms::random_graph(&mut random, 3).shape;
            shape.width_bits = bits;
            let budget = Budget::new((if seed % 8 < 4 { 80 } else { 300 } << 10) * words);
            let volume = Volume::in_memory(512);
            let bytes = if seed % 8 < 4 { 0 } else { 128 << 10 };
            let mut set = DiskSet::new(&shape, &volume, "visited", bytes, &budget).unwrap();
            let mut judge = HashSet::new();
            let mut draw = |range: usize| {
                let mut record = vec![0; words];
                record[words - 1] = random.below(range) as u64;
                if words > 1 {
                    record[0] = random.below(2) as u64;
                }
                record
            };
            for round in 0..6_000 {
                let record = draw(20_000);
                let expected = judge.insert(record.clone());
                assert_eq!(set.insert(&record).unwrap(), expected, "seed {seed}, round {round}");
                if round % 16 == 0 {
                    let batch: Vec<u64> = (0..7).flat_map(|_| draw(20_000)).collect();
                    let mut present = Vec::new();
                    set.contains_batch(Colour::FIRST, Records::new(&batch, words), &mut present).unwrap();
                    let known: Vec<u32> =
                        (0..7).filter(|at| judge.contains(&batch[*at as usize * words..][..words])).collect();
                    assert_eq!(present, known, "seed {seed}, round {round}");
                }
            }
            assert_eq!(set.len(), judge.len() as u64);
        }
    }

    /// Two sets, as a nested search has them, beside a path and the steps of a state: what more memory finishes than less does not depend on how much more.
    #[test]
    fn sets_that_share_a_budget_grow_at_every_budget() {
        let mut refused = Vec::new();
        for (bits, keys) in [(40, 30_000u64), (130, 12_000), (600, 4_000)] {
            let mut shape = oracle::forms::random_graph(&mut Random::new(1), 3).shape;
            shape.width_bits = bits;
            let words = shape.words();
            for kib in (0..60).step_by(2).map(|step| 16 + step * 7 + step * step / 3) {
                let limit = (kib << 10) * words;
                let budget = Budget::new(limit);
                let volume = Volume::in_memory(512);
                let _beside = budget.charge("path and steps", limit / 8 + limit / 16).unwrap();
                let make = |name| DiskSet::new(&shape, &volume, name, limit / 4, &budget).unwrap();
                let mut sets = [make("visited"), make("red")];
                let mut record = vec![0; words];
                let outcome = (0..keys).try_for_each(|number| {
                    record[words - 1] = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
                    record[0] |= number & 1;
                    sets.iter_mut().try_for_each(|set| set.insert(&record).map(|new| assert!(new)))
                });
                refused
                    .extend(outcome.err().map(|error| format!("{bits} bits, {kib} KiB per word: {error}")));
            }
        }
        assert!(refused.is_empty(), "{} refused: {refused:#?}", refused.len());
    }
}
