//! Which states of the current value were met in this sweep?
//!
//! All that were met are in a table in memory. A state has one value, so those of other buckets that are still in it disturb nobody: the table is not emptied when a bucket is entered, only when it
//! is half full by then. So small buckets cost nothing of their own, however many there are. A table that is full within a bucket goes to disk as a sorted run, which is asked as long as the bucket
//! lasts, through a filter; where there is not even memory for a table, the states of each stage go there.
//!
//! What is in the table was expanded or is about to be, in this sweep or in an earlier one: it is never wrong to leave it out.

use fathom_disk::budget::{Budget, Charge, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::filter::Bloom;
use fathom_disk::run::{Prober, RunConfig, RunWriter};
use fathom_disk::set::{KeyStream, Sorter, Tiers};
use fathom_disk::table::Table;

use super::earlier::{Earlier, prober};
use super::line::Line;
use super::sizes::Sizes;
use crate::files::place::Place;

/// The states of a bucket, as far as they were met.
#[derive(Debug)]
pub(super) struct Bucket {
    /// None if there is no memory for one.
    table: Option<Table>,
    /// What the table may take, which is taken from the search's own.
    table_budget: Budget,
    _table_charge: Charge,
    /// Whether what earlier sweeps know of this bucket is met.
    earlier: Loaded,
    /// What went to disk of this bucket, and what denies most of what did not.
    parts: Tiers,
    filter: Option<Bloom>,
    filter_blocks: usize,
    /// The states of this stage, where there is no table.
    writer: Option<RunWriter>,
    prober: Option<Prober>,
    new: Vec<u32>,
    /// Records that the filter does not deny, and which of them are on disk.
    asked: ChargedVec<u64>,
    found: ChargedVec<bool>,
    _new_charge: Charge,
}

/// What of earlier sweeps is among what was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loaded {
    /// Nobody has tried.
    NotYet,
    /// All that belongs to the bucket is met.
    All,
    /// There is too much of it: the filter knows it.
    Filtered,
    /// There is too much of it, and no memory for a filter.
    TooMuch,
}

/// Bits of the filter per key that a table holds, about: a part of the table's memory, so that what the table spills once or twice is denied well.
const FILTER_PART: usize = 4;

impl Bucket {
    pub(super) fn new(place: &Place, sizes: &Sizes) -> Result<Bucket, DiskError> {
        let filter_blocks = sizes.table_bytes / FILTER_PART / 64;
        let table_budget = Budget::new(sizes.table_bytes - filter_blocks * 64);
        Ok(Bucket {
            table: usable_table(place, &table_budget),
            _table_charge: place.budget.charge("bucket", sizes.table_bytes)?,
            table_budget,
            earlier: Loaded::NotYet,
            parts: Tiers::new(sizes.fan),
            filter: None,
            filter_blocks,
            writer: None,
            prober: None,
            new: Vec::with_capacity(sizes.piece_keys),
            asked: ChargedVec::with_capacity(&place.budget, "bucket", 0)?,
            found: ChargedVec::with_capacity(&place.budget, "bucket", 0)?,
            _new_charge: place.budget.charge("bucket", sizes.piece_keys * 4)?,
        })
    }

    /// Begins another bucket.
    pub(super) fn enter(&mut self, place: &Place) -> Result<(), DiskError> {
        if self.parts.runs().next().is_some() {
            let names: Vec<String> = self.parts.runs().map(|(_, run)| run.name().to_owned()).collect();
            self.parts = Tiers::new(self.parts.fan());
            names.iter().try_for_each(|name| place.volume.remove(name))?;
        }
        self.filter = None;
        self.earlier = Loaded::NotYet;
        if self.table.as_ref().is_some_and(|table| table.bytes() > self.table_budget.limit() / 2) {
            // What it has of other buckets would soon have to go to disk with those of this one.
            self.table = None;
            self.table = Some(Table::new(place.width.bits(), &self.table_budget)?);
        }
        Ok(())
    }

    /// Whether what earlier sweeps know of the bucket was met.
    pub(super) fn knows_earlier(&self) -> bool {
        self.earlier == Loaded::All
    }

    /// Meets what earlier sweeps know of the values of a line, unless that is too much.
    pub(super) fn meet_earlier(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        earlier: &mut Earlier,
        line: Line,
    ) -> Result<(), DiskError> {
        let Bucket { table: Some(table), new, table_budget, .. } = self else { return Ok(()) };
        if self.earlier != Loaded::NotYet || earlier.is_empty() {
            return Ok(());
        }
        earlier.let_go(place)?;
        let room = table_budget.limit() / 4 * 3;
        let all = earlier.load(place, sizes, line, &mut |records| {
            new.clear();
            table.insert_batch(records, new).is_ok() && table.bytes() <= room
        })?;
        self.earlier = match all {
            true => Loaded::All,
            // One that does not know what is on disk already would deny it.
            false if self.filter.is_none() && self.parts.runs().next().is_some() => Loaded::TooMuch,
            false => {
                let words = place.width.words();
                self.make_filter();
                earlier.load(place, sizes, line, &mut |records| {
                    self.filter.iter_mut().for_each(|filter| filter.insert_batch(records, words));
                    true
                })?;
                if self.filter.is_some() { Loaded::Filtered } else { Loaded::TooMuch }
            }
        };
        Ok(())
    }

    /// What denies most states that earlier sweeps do not know, if there is something.
    pub(super) fn earlier_filter(&self) -> Option<&Bloom> {
        self.filter.as_ref().filter(|_| self.earlier == Loaded::Filtered)
    }

    /// Leaves those of some ascending records in `fresh` that were not met, at most a piece; they are met from now on.
    pub(super) fn sift(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        records: &[u64],
        fresh: &mut ChargedVec<u64>,
    ) -> Result<(), DiskError> {
        fresh.clear();
        if let Some(checked) = self.insert(place, sizes, records, fresh)? {
            return self.retain_unmet(place, sizes, fresh, checked);
        }
        // No table: all are looked for on disk, and go there.
        fresh.clear();
        fresh.extend(records)?;
        self.retain_unmet(place, sizes, fresh, 0)?;
        if !fresh.is_empty() {
            let config = config(place, sizes);
            let writer = match &mut self.writer {
                Some(writer) => writer,
                none => none.insert(place.run_writer(&config)?),
            };
            writer.push(fresh)?;
            self.note(fresh, place.width.words());
        }
        Ok(())
    }

    /// Notes in the filter what goes to disk.
    fn note(&mut self, records: &[u64], words: usize) {
        if self.parts.runs().next().is_none() {
            self.make_filter();
        }
        if let Some(filter) = &mut self.filter {
            filter.insert_batch(records, words);
        }
    }

    /// Makes the filter, if there is memory for one and it is not there.
    fn make_filter(&mut self) {
        if self.filter.is_none() && self.filter_blocks > 0 {
            // Its memory was taken with the table's.
            let keys = (self.filter_blocks * 512 / 8) as u64;
            self.filter = Bloom::new(self.filter_blocks, keys, &Budget::unlimited()).ok();
        }
    }

    /// Inserts records into the table and appends those to `fresh` that were not there; says how many words of these were looked for on disk. None if there is no table.
    fn insert(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        records: &[u64],
        fresh: &mut ChargedVec<u64>,
    ) -> Result<Option<usize>, DiskError> {
        let words = place.width.words();
        let (mut rest, mut checked) = (records, 0);
        while let Some(table) = &mut self.table {
            self.new.clear();
            let outcome = table.insert_batch(rest, &mut self.new);
            for index in &self.new {
                fresh.extend(&rest[*index as usize * words..][..words])?;
            }
            let Err(full) = outcome else { return Ok(Some(checked)) };
            if full.done == 0 && table.is_empty() {
                return Err(full.reason.into());
            }
            rest = &rest[full.done * words..];
            // They are about to be on disk themselves.
            self.retain_unmet(place, sizes, fresh, checked)?;
            checked = fresh.len();
            self.spill(place, sizes)?;
        }
        Ok(None)
    }

    /// Drops records that are on disk, from the word `from` on.
    fn retain_unmet(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        fresh: &mut ChargedVec<u64>,
        from: usize,
    ) -> Result<(), DiskError> {
        let records = &mut fresh[from..];
        if records.is_empty() || self.parts.runs().next().is_none() {
            return Ok(());
        }
        let words = place.width.words();
        let Bucket { filter, new: maybe, asked, found, parts, .. } = self;
        maybe.clear();
        match filter {
            Some(filter) => filter.query_batch(records, words, maybe),
            None => maybe.extend(0..(records.len() / words) as u32),
        }
        if maybe.is_empty() {
            return Ok(());
        }
        asked.clear();
        for index in &*maybe {
            asked.extend(&records[*index as usize * words..][..words])?;
        }
        found.clear();
        found.resize(maybe.len(), false)?;
        parts.look_up(prober(&mut self.prober, place, sizes, place.width)?, asked, found)?;
        let mut known =
            maybe.iter().zip(&**found).filter(|(_, found)| **found).map(|(index, _)| *index).peekable();
        let mut kept = 0;
        for index in 0..records.len() / words {
            if known.next_if_eq(&(index as u32)).is_none() {
                records.copy_within(index * words..(index + 1) * words, kept);
                kept += words;
            }
        }
        fresh.truncate(from + kept);
        Ok(())
    }

    /// Writes the table to disk and goes on with an empty one.
    fn spill(&mut self, place: &Place, sizes: &Sizes) -> Result<(), DiskError> {
        let Some(table) = self.table.take() else { return Ok(()) };
        self.let_go();
        let name = place.fresh_name("bucket");
        let mut sorter =
            Sorter::new(&place.volume, &place.budget, &name, place.width, place.tag, sizes.sort_bytes)?;
        let mut outcome = Ok(());
        table.for_each(|record| {
            if outcome.is_ok() {
                outcome = sorter.push(record);
            }
        });
        outcome?;
        let sorted = sorter.finish()?;
        let mut writer = place.run_writer(&config(place, sizes))?;
        let mut stream = sorted.stream()?;
        while stream.advance()? {
            writer.push(stream.keys())?;
            self.note(stream.keys(), place.width.words());
        }
        drop(stream);
        sorted.remove()?;
        self.add_part(place, sizes, writer)?;
        drop(table);
        self.table = Some(Table::new(place.width.bits(), &self.table_budget)?);
        Ok(())
    }

    /// Lets go of what looks up: it is made again when it is needed, and until then its memory serves others.
    pub(super) fn let_go(&mut self) {
        self.prober = None;
    }

    fn add_part(&mut self, place: &Place, sizes: &Sizes, writer: RunWriter) -> Result<(), DiskError> {
        self.let_go();
        self.parts.insert(0, writer.finish_run(false)?);
        let config = config(place, sizes);
        while let Some(level) = self.parts.due() {
            place.merge(&mut self.parts, Some(level), &config, sizes.scan_bytes)?;
        }
        while self.parts.runs().count() > sizes.runs_max {
            place.merge(&mut self.parts, None, &config, sizes.scan_bytes)?;
        }
        // No commit names them.
        self.parts.retired().iter().try_for_each(|name| Ok(place.volume.remove(name)?))
    }

    /// The stage is over.
    pub(super) fn end_stage(&mut self, place: &Place, sizes: &Sizes) -> Result<(), DiskError> {
        match self.writer.take() {
            Some(writer) => self.add_part(place, sizes, writer),
            None => Ok(()),
        }
    }

    /// Bytes on disk.
    pub(super) fn disk_bytes(&self) -> u64 {
        self.parts.runs().map(|(_, run)| run.bytes()).sum()
    }
}

/// An empty table, if there is memory for one that is not.
fn usable_table(place: &Place, budget: &Budget) -> Option<Table> {
    let bits = place.width.bits();
    let mut tried = Table::new(bits, budget).ok()?;
    tried.insert_batch(&vec![0; place.width.words()], &mut Vec::new()).ok()?;
    drop(tried);
    Table::new(bits, budget).ok()
}

fn config(place: &Place, sizes: &Sizes) -> RunConfig {
    RunConfig::within(place.width, place.tag, sizes.write_bytes)
}
