//! Which states of the partition that is visited are known?
//!
//! All known states are in runs of keys of value and record, so those of a partition lie together. When it is visited they are loaded into a table in memory, once, and what is new is added there. A table
//! that is full is a partition that has outgrown its share: the stage at hand is finished, and the partition is split at about the middle of what is in the table. Where there is no memory for one more partition, or
//! none for a table, states are looked up in the runs instead.
//!
//! Memory: the table, a page of fences for each run, and what looks up. I/O: a partition is read once per visit, and what is new in it written once, and again when runs are merged.

use std::time::{Duration, Instant};

use fathom_disk::budget::{Budget, Charge, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::sweep::retain_unmarked;
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig, Scan};
use fathom_disk::set::{KeyStream, Tiers, sort_unique};
use fathom_disk::table::Table;

use super::by::By;
use super::figures::Times;
use super::parts::Part;
use super::sizes::Sizes;
use crate::files::place::Place;

/// What is known, and of one partition all in memory.
#[derive(Debug)]
pub(super) struct Visited {
    /// Of keys of value and record.
    width: KeyWidth,
    pub(super) known: Tiers,
    /// None if there is no memory for one.
    table: Option<Table>,
    table_keys: usize,
    /// What the table may take, which is taken from the search's own.
    table_budget: Budget,
    _table_charge: Charge,
    /// Whether all known states of the partition are in the table.
    in_table: bool,
    /// Where to split the partition, if the table was full.
    middle: Option<Vec<u64>>,
    prober: Option<Prober>,
    /// Where the time went.
    pub(super) times: Times,
    /// Keys of a piece.
    keys: ChargedVec<u64>,
    found: ChargedVec<bool>,
    new: Vec<u32>,
    _new_charge: Charge,
}

impl Visited {
    /// Nothing is known.
    pub(super) fn new(place: &Place, sizes: &Sizes, width: KeyWidth) -> Result<Visited, DiskError> {
        let table_budget = Budget::new(sizes.table_bytes);
        let keys = sizes.piece_keys * width.words();
        Ok(Visited {
            width,
            known: Tiers::new(sizes.fan),
            table: usable_table(place, &table_budget),
            table_keys: sizes.table_keys.max(1),
            _table_charge: place.budget.charge("partition", sizes.table_bytes)?,
            table_budget,
            in_table: false,
            middle: None,
            prober: None,
            times: Times::default(),
            keys: ChargedVec::with_capacity(&place.budget, "partition", keys)?,
            found: ChargedVec::with_capacity(&place.budget, "partition", sizes.piece_keys)?,
            new: Vec::with_capacity(sizes.piece_keys),
            _new_charge: place.budget.charge("partition", sizes.piece_keys * 4)?,
        })
    }

    /// How runs are written.
    pub(super) fn config(&self, place: &Place, sizes: &Sizes) -> RunConfig {
        RunConfig::within(self.width, place.tag, sizes.write_bytes)
    }

    /// Adds what a visit has found.
    pub(super) fn insert(&mut self, place: &Place, sizes: &Sizes, run: Run) -> Result<(), DiskError> {
        self.known.insert(0, run);
        let config = self.config(place, sizes);
        while let Some(level) = self.known.due() {
            place.merge(&mut self.known, Some(level), &config, sizes.scan_bytes)?;
        }
        while self.known.runs().count() > sizes.runs_max {
            place.merge(&mut self.known, None, &config, sizes.scan_bytes)?;
        }
        Ok(())
    }

    /// Loads the states of a partition. If they are more than the table holds, where to split it.
    pub(super) fn load(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        (by, part): (&By, &Part),
    ) -> Result<Option<Vec<u64>>, DiskError> {
        self.let_go();
        (self.in_table, self.middle) = (false, None);
        if self.table.take().is_none() {
            return Ok(None);
        }
        self.table = Some(Table::new(place.width.bits(), &self.table_budget)?);
        let (words, record_words) = (self.width.words(), place.width.words());
        let room = sizes.piece_keys * record_words;
        let mut records = ChargedVec::with_capacity(&place.budget, "partition", room)?;
        let known = std::mem::replace(&mut self.known, Tiers::new(sizes.fan));
        let (began, mut inserting) = (Instant::now(), Duration::ZERO);
        let outcome = each_of(&known, (place, sizes), part, &mut |keys| {
            for piece in keys.chunks(sizes.piece_keys * words) {
                records.clear();
                for key in piece.chunks_exact(words) {
                    records.extend(&key[1..])?;
                }
                let read = Instant::now();
                let done = self.add(&records, record_words, &mut |_| Ok(()))?;
                inserting += read.elapsed();
                if done < records.len() {
                    return Ok(Some(self.middle_with(
                        &place.budget,
                        by,
                        &records[done..done + record_words],
                    )?));
                }
            }
            Ok(None)
        });
        self.known = known;
        self.times.insert += inserting;
        self.times.read += began.elapsed() - inserting;
        let middle = outcome?;
        self.in_table = middle.is_none();
        Ok(middle)
    }

    /// Adds records to the table, as long as there is room; gives those that were not there to `new`, and says how many words were dealt with.
    fn add(
        &mut self,
        records: &[u64],
        words: usize,
        new: &mut dyn FnMut(&[u64]) -> Result<(), DiskError>,
    ) -> Result<usize, DiskError> {
        let Some(table) = &mut self.table else { return Ok(0) };
        let mut done = 0;
        while done < records.len() {
            let room = self.table_keys.saturating_sub(table.len()).saturating_mul(words);
            if room == 0 {
                break;
            }
            let piece = &records[done..records.len().min(done.saturating_add(room))];
            self.new.clear();
            let outcome = table.insert_batch(piece, &mut self.new);
            for index in &self.new {
                new(&piece[*index as usize * words..][..words])?;
            }
            match outcome {
                Ok(()) => done += piece.len(),
                Err(full) => return Ok(done + full.done * words),
            }
        }
        Ok(done)
    }

    /// The key in the middle of a sample of the table and one record that is not in it: neither part is empty if the partition is split before it.
    fn middle_with(&mut self, budget: &Budget, by: &By, record: &[u64]) -> Result<Vec<u64>, DiskError> {
        let Visited { table, keys, width, .. } = self;
        let words = width.words();
        keys.clear();
        keys.push(by.value(record))?;
        keys.extend(record)?;
        if let Some(table) = table {
            let room = keys.capacity() / words - 1;
            let step = table.len().div_ceil(room).max(1);
            let (mut number, mut outcome) = (0, Ok(()));
            table.for_each(|record| {
                if number % step == 0 && outcome.is_ok() {
                    outcome = keys.push(by.value(record)).and_then(|()| keys.extend(record));
                }
                number += 1;
            });
            outcome?;
        }
        let kept = sort_unique(budget, words, keys)?;
        let middle = kept / words / 2;
        Ok(keys[middle * words..(middle + 1) * words].to_vec())
    }

    /// Leaves those of some ascending records of the partition in `fresh`, ascending, that are not known, at most a piece. They are known from now on, or when their stage is.
    pub(super) fn sift(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        by: &By,
        records: &[u64],
        fresh: &mut ChargedVec<u64>,
    ) -> Result<(), DiskError> {
        let began = Instant::now();
        fresh.clear();
        let outcome = match self.in_table {
            true => self.sift_in_table(place, by, records, fresh),
            false => self.look_up(place, sizes, by, records, fresh),
        };
        self.times.check += began.elapsed();
        outcome
    }

    /// The same with the table.
    fn sift_in_table(
        &mut self,
        place: &Place,
        by: &By,
        records: &[u64],
        fresh: &mut ChargedVec<u64>,
    ) -> Result<(), DiskError> {
        let words = place.width.words();
        let done = self.add(records, words, &mut |record| Ok(fresh.extend(record)?))?;
        let rest = &records[done..];
        if rest.is_empty() {
            return Ok(());
        }
        // It is full. A record is only once among those of a stage, so what is not in the table is new.
        self.new.clear();
        if let Some(table) = &self.table {
            table.contains_batch(rest, &mut self.new);
        }
        let (mut known, added) = (self.new.iter().peekable(), fresh.len());
        for (index, record) in rest.chunks_exact(words).enumerate() {
            if known.next_if(|known| **known as usize == index).is_none() {
                fresh.extend(record)?;
            }
        }
        if self.middle.is_none() && fresh.len() > added {
            self.middle = Some(self.middle_with(&place.budget, by, &fresh[added..added + words])?);
        }
        Ok(())
    }

    /// The same by looking into the runs.
    fn look_up(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        by: &By,
        records: &[u64],
        fresh: &mut ChargedVec<u64>,
    ) -> Result<(), DiskError> {
        let Visited { width, known, keys, found, prober, .. } = self;
        let (words, record_words) = (width.words(), place.width.words());
        keys.clear();
        for record in records.chunks_exact(record_words) {
            keys.push(by.value(record))?;
            keys.extend(record)?;
        }
        let mut kept = sort_unique(&place.budget, words, keys)?;
        if known.runs().next().is_some() {
            found.clear();
            found.resize(kept / words, false)?;
            let prober = match prober {
                Some(prober) => prober,
                none => {
                    let config = ProbeConfig::within(sizes.probe_bytes);
                    none.insert(Prober::new(&place.budget, *width, config)?)
                }
            };
            known.look_up(prober, &keys[..kept], found)?;
            kept = retain_unmarked(words, &mut keys[..kept], found);
        }
        for key in keys[..kept].chunks_exact(words) {
            fresh.extend(&key[1..])?;
        }
        let kept = sort_unique(&place.budget, record_words, fresh)?;
        fresh.truncate(kept);
        Ok(())
    }

    /// Whether new states are looked up in the runs, so that those of a stage must be there before the next one.
    pub(super) fn is_on_disk(&self) -> bool {
        !self.in_table
    }

    /// Whether the table is full, so that the visit is over.
    pub(super) fn is_full(&self) -> bool {
        self.middle.is_some()
    }

    /// Where the partition is to be split, if its table was full. The visit is over.
    pub(super) fn end_visit(&mut self) -> Option<Vec<u64>> {
        self.let_go();
        self.in_table = false;
        self.middle.take()
    }

    /// Lets go of what looks up: it is made again when it is needed, and until then its memory serves others.
    pub(super) fn let_go(&mut self) {
        self.prober = None;
    }

    /// Lets go of the table, too: nothing is visited any more.
    pub(super) fn forget(&mut self) {
        self.let_go();
        self.table = None;
    }

    /// Bytes on disk.
    pub(super) fn disk_bytes(&self) -> u64 {
        self.known.runs().map(|(_, run)| run.bytes()).sum()
    }
}

/// Takes keys, and may give something for them: then it wants no more.
type Take<'a, T> = dyn FnMut(&[u64]) -> Result<Option<T>, DiskError> + 'a;

/// Calls `take` with the keys of a partition in all runs, some at a time, until it gives something.
fn each_of<T>(
    known: &Tiers,
    (place, sizes): (&Place, &Sizes),
    part: &Part,
    take: &mut Take<'_, T>,
) -> Result<Option<T>, DiskError> {
    for (_, run) in known.runs() {
        let words = run.width().words();
        let misses = run.last().is_none_or(|last| last < &part.low[..])
            || run.first().is_some_and(|first| part.ends_before(first));
        if misses {
            continue;
        }
        let mut scan = Scan::from(run, &place.budget, sizes.scan_bytes, &part.low)?;
        let mut beyond = false;
        while !beyond && scan.advance()? {
            let keys = scan.keys();
            let key = |index: usize| &keys[index * words..(index + 1) * words];
            let count = keys.len() / words;
            let first = (0..count).find(|index| key(*index) >= &part.low[..]).unwrap_or(count);
            let last = (first..count).find(|index| part.ends_before(key(*index))).unwrap_or(count);
            beyond = last < count;
            if let Some(given) = take(&keys[first * words..last * words])? {
                return Ok(Some(given));
            }
        }
    }
    Ok(None)
}

/// An empty table, if there is memory for one that is not.
fn usable_table(place: &Place, budget: &Budget) -> Option<Table> {
    let bits = place.width.bits();
    let mut tried = Table::new(bits, budget).ok()?;
    tried.insert_batch(&vec![0; place.width.words()], &mut Vec::new()).ok()?;
    drop(tried);
    Table::new(bits, budget).ok()
}
