//! Which records were inserted, when those that came last are in memory and all others in one table on disk, sorted by hash?
//!
//! The linear hash sorting and the cached duplicate detection of L. Wu, H. Huang, K. Su, S. Cai, X. Zhang, "An I/O efficient model checking algorithm for large-scale systems" (IEEE TVLSI 2015), corrected:
//!
//! ```text
//! insert ------> H            the records that came last, in the order of their coming, exact
//!                  | full: the oldest share rho1 of them leaves
//!                  v
//!                table        all others, sorted by (hash, record): read, merged with them, and written anew
//! ```
//! The paper merges in place, from the end, so that power that is lost on the way leaves neither the old table nor the new one, and records that are smaller than all of the table are not written; here a merge writes a new file. It says that a
//! merge of m tuples into a table of n takes (m + 2n) / B operations (Lemma 1): that is what reading the old table and writing the new one takes, and both are counted. Equal hashes are told apart by their records, so a hash of
//! few bits costs nothing but order.
//!
//! Memory: the bytes it is given, of which half are for H; a merge reads and writes within the rest. I/O: a look-up reads a block for each record that is not in H; with n records there are n / (rho1 H) merges.

use fathom_disk::budget::{Budget, BudgetError, Charge, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::hash::hash_key;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig, RunWriter, Scan, Tag};
use fathom_disk::sabotage::is_chosen;
use fathom_disk::set::{KeyStream, Merge, SliceStream, sort_unique};
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::shape::Shape;

use crate::error::SearchError;
use crate::stores::key_width;
use crate::stores::recent::Recent;
use crate::stores::visited::{Colour, Insertion, StoreFigures, Visited, insert_each};

/// The set.
#[derive(Debug)]
pub struct HashSorted {
    volume: Volume,
    budget: Budget,
    name: String,
    files: u64,
    config: RunConfig,
    hash_bits: u32,
    /// How many leave at a time.
    leaving: usize,
    recent: Recent,
    table: Option<Run>,
    prober: Option<Prober>,
    probe_bytes: usize,
    /// Keys that are looked up or merged: hash and record.
    keys: ChargedVec<u64>,
    found: Vec<bool>,
    /// Kept free for merging.
    reserve: Charge,
    figures: HashSortedFigures,
}

/// What came of looking up and merging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashSortedFigures {
    /// Records that were asked for and found among those in memory.
    pub in_memory: u64,
    /// And in the table.
    pub on_disk: u64,
    /// Merges.
    pub merges: u64,
    /// What Lemma 1 says that they take, in blocks.
    pub bound_blocks: u64,
    /// Blocks that they have read and written.
    pub merged_blocks: u64,
    /// The most bytes of the table, and of the one that it becomes while both are there.
    pub peak_bytes: u64,
}

/// The least memory that it works with, per word of a key.
const BYTES_MIN: usize = 512;

impl HashSorted {
    /// An empty set of records of a shape, with files on a volume, all beginning with `name`: the share `rho1` of what is in memory leaves at a time, and hashes have so many bits.
    pub fn new(
        shape: &Shape,
        (volume, name): (&Volume, &str),
        (rho1, hash_bits): (f64, u32),
        bytes: usize,
        budget: &Budget,
    ) -> Result<HashSorted, SearchError> {
        let words = key_width(shape)?.words();
        let bits = (words as u32 + 1) * 64;
        let width = KeyWidth::new(bits).ok_or(SearchError::TooWide { bits })?;
        let bytes = bytes.max(BYTES_MIN * (words + 1));
        let records = bytes / 2 / (words * 8 + Recent::SLOT_BYTES);
        let recent = Recent::new(words, records.max(2), budget)?;
        let leaving = ((recent.capacity() as f64 * rho1) as usize).clamp(1, recent.capacity());
        let config = RunConfig::within(width, Tag::default(), bytes / 16);
        let merging = RunWriter::bytes_with_fences(&config) + config.reading_bytes() + 4 * width.words() * 8;
        Ok(HashSorted {
            volume: volume.clone(),
            budget: budget.clone(),
            name: name.to_owned(),
            files: 0,
            reserve: budget.charge("merging", merging.min(budget.limit() / 16))?,
            config,
            hash_bits: hash_bits.clamp(1, 64),
            leaving,
            recent,
            table: None,
            prober: None,
            probe_bytes: bytes / 8,
            keys: ChargedVec::with_capacity(budget, "asked", 0)?,
            found: Vec::new(),
            figures: HashSortedFigures::default(),
        })
    }

    /// How many records there are.
    pub fn len(&self) -> u64 {
        self.recent.len() as u64 + self.table.as_ref().map_or(0, Run::count)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What came of looking up and merging so far.
    pub fn costs(&self) -> HashSortedFigures {
        self.figures
    }

    fn push_key(&mut self, record: &[u64]) -> Result<(), BudgetError> {
        self.keys.extend(&[hash_key(record) >> (64 - self.hash_bits)])?;
        if is_chosen("hash-alone") {
            // The defect takes records of one hash for one.
            return self.keys.resize(self.keys.len() + record.len(), 0);
        }
        self.keys.extend(record)
    }

    /// Whether a record that is not in memory is in the table.
    fn is_in_table(&mut self, record: &[u64]) -> Result<bool, DiskError> {
        if self.table.is_none() {
            return Ok(false);
        }
        self.keys.clear();
        self.push_key(record)?;
        let HashSorted { prober, budget, config, probe_bytes, table, keys, found, .. } = self;
        let prober = match prober {
            Some(prober) => prober,
            none => none.insert(Prober::new(budget, config.width, ProbeConfig::within(*probe_bytes))?),
        };
        found.clear();
        found.push(false);
        prober.look_up(&table.iter().collect::<Vec<_>>(), keys, found)?;
        Ok(found[0])
    }

    fn contains(&mut self, record: &[u64]) -> Result<bool, DiskError> {
        if self.recent.contains(record, hash_key(record)) {
            self.figures.in_memory += 1;
            return Ok(true);
        }
        let found = self.is_in_table(record)?;
        self.figures.on_disk += u64::from(found);
        Ok(found)
    }

    fn insert(&mut self, record: &[u64]) -> Result<bool, SearchError> {
        if self.contains(record)? {
            return Ok(false);
        }
        if self.recent.is_full() {
            let kept_free = self.reserve.bytes();
            self.reserve.resize(0)?;
            self.prober = None;
            let merged = self.merge();
            self.reserve.resize(kept_free)?;
            merged?;
        }
        self.recent.insert(record)?;
        Ok(true)
    }

    /// Merges the oldest records with the table, into a new one.
    fn merge(&mut self) -> Result<(), DiskError> {
        let (words, leaving) = (self.config.width.words(), self.leaving);
        self.keys.clear();
        self.keys.reserve(leaving * words)?;
        for place in 0..leaving {
            let record = self.recent.record(place).to_vec();
            self.push_key(&record)?;
        }
        let kept = sort_unique(&self.budget, words, &mut self.keys)?;
        debug_assert_eq!(kept, self.keys.len(), "each is there once");
        self.files += 1;
        let name = format!("{}-{}", self.name, self.files);
        let HashSorted { volume, budget, config, table, keys, figures, .. } = self;
        let mut writer = RunWriter::new(volume, budget, &name, config)?;
        let (before, leaving) = (table.as_ref().map_or(0, Run::count), leaving as u64);
        match &*table {
            None => writer.push(keys)?,
            Some(old) => {
                let scan: Box<dyn KeyStream> = Box::new(Scan::new(old, budget, 0)?);
                let streams: Vec<Box<dyn KeyStream>> = vec![scan, Box::new(SliceStream::new(words, keys))];
                let mut all = Merge::new(budget, words, streams, 1.max(config.keys_per_block / 4))?;
                while all.advance()? {
                    writer.push(all.keys())?;
                }
            }
        }
        // Nothing is taken up: what is lost with the machine is made again.
        writer.finish(false)?;
        let new = Run::open(volume, budget, &name, config.width, Tag::default())?;
        figures.merges += 1;
        figures.bound_blocks += (leaving + 2 * before).div_ceil(config.keys_per_block as u64);
        figures.merged_blocks += new.blocks() + table.as_ref().map_or(0, Run::blocks);
        figures.peak_bytes = figures.peak_bytes.max(new.bytes() + table.as_ref().map_or(0, Run::bytes));
        let old = table.replace(new);
        if let Some(old) = old {
            let name = old.name().to_owned();
            drop(old);
            volume.remove(&name)?;
        }
        self.recent.drop_first(leaving as usize);
        // A merge of many leaves room behind that look-ups of one do not need.
        self.keys = ChargedVec::with_capacity(&self.budget, "asked", 0)?;
        Ok(())
    }
}

impl Visited for HashSorted {
    fn insert_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        new: &mut Vec<u32>,
    ) -> Result<Insertion, SearchError> {
        insert_each(records, new, |record| self.insert(record))
    }

    fn contains_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        present: &mut Vec<u32>,
    ) -> Result<(), SearchError> {
        for (place, record) in (0..).zip(records.iter()) {
            if self.contains(record)? {
                present.push(place);
            }
        }
        Ok(())
    }

    fn figures(&self) -> StoreFigures {
        StoreFigures {
            records: self.len(),
            memory: self.recent.bytes() as u64,
            files: self.table.as_ref().map_or(0, Run::bytes),
            lossy: false,
        }
    }
}
