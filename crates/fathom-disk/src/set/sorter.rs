//! How are more keys sorted than fit in memory?
//!
//! Keys gather in a buffer; a full buffer is sorted, freed of equal keys and spilled as a run; at the end runs are merged in
//! passes until they can be merged at once. If nothing was spilled the keys never leave memory.
//!
//! A sort that is to survive a crash lets a manifest name its runs ([`Sorter::keep`]) and is taken up with them ([`Sorter::resume`]); runs that were kept are not removed by the sort, but by the
//! commit that no longer names them.
//!
//! Memory: within the bytes given, a third of it while gathering for the buffer of keys. I/O: each key is written and read once per pass;
//! passes: 1 + log_F(runs), where F (at least 2) runs fit in memory at once.

use super::{KeyStream, Merge, SliceStream, sort_unique, spill, write_all};
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::key::KeyWidth;
use crate::run::{Run, RunConfig, RunWriter, Scan, Tag};
use crate::storage::{FileKind, Volume};

/// Sorts a stream of keys in any order.
#[derive(Debug)]
pub struct Sorter {
    place: Place,
    buffer: ChargedVec<u64>,
    runs: Vec<String>,
    /// Runs among those that a manifest may name.
    kept: Vec<String>,
    made: usize,
}

/// Sorted keys, on disk or in memory.
#[derive(Debug)]
pub struct Sorted {
    place: Place,
    memory: ChargedVec<u64>,
    runs: Vec<Run>,
    kept: Vec<String>,
}

/// Where and how to sort.
#[derive(Clone, Debug)]
struct Place {
    volume: Volume,
    budget: Budget,
    name: String,
    config: RunConfig,
    bytes: usize,
}

/// Files of a sort, for the counters.
pub const CANDIDATES: FileKind = FileKind("candidates");

/// Runs merged at once, at most.
const FAN_IN_MAX: usize = 64;

impl Sorter {
    /// Sorts within about `bytes` of the budget; files are called `name` and a number.
    pub fn new(
        volume: &Volume,
        budget: &Budget,
        name: &str,
        width: KeyWidth,
        tag: Tag,
        bytes: usize,
    ) -> Result<Self, DiskError> {
        let config = RunConfig { kind: CANDIDATES, ..RunConfig::within(width, tag, bytes / 4) };
        let place =
            Place { volume: volume.clone(), budget: budget.clone(), name: name.to_owned(), config, bytes };
        let buffer = place.buffer()?;
        Ok(Self { place, buffer, runs: Vec::new(), kept: Vec::new(), made: 0 })
    }

    /// Goes on with runs that were kept.
    pub fn resume(mut self, runs: Vec<String>) -> Self {
        // Names of new runs are beyond those of all old ones.
        let number = |name: &String| {
            let digits = name.strip_prefix(&self.place.name)?.strip_prefix('-')?.strip_suffix(".run")?;
            digits.parse::<usize>().ok()
        };
        self.made = runs.iter().filter_map(number).max().map_or(0, |last| last + 1);
        self.kept = runs.clone();
        self.runs = runs;
        self
    }

    /// Writes what is in memory and makes all runs last, so that a manifest can name them: gives their names. From here on they are not removed, not even when their keys are in
    /// other runs. One run, and a sync for each that is new.
    pub fn keep(&mut self) -> Result<&[String], DiskError> {
        if !self.buffer.is_empty() {
            self.spill()?;
        }
        for name in &self.runs[self.kept.len()..] {
            self.place.volume.open(name, CANDIDATES)?.sync()?;
        }
        self.kept.clone_from(&self.runs);
        Ok(&self.kept)
    }

    /// Adds keys in any order, with or without repeats.
    pub fn push(&mut self, mut keys: &[u64]) -> Result<(), DiskError> {
        while !keys.is_empty() {
            if self.buffer.len() == self.buffer.capacity() {
                self.spill()?;
            }
            let (now, later) = keys.split_at(keys.len().min(self.buffer.capacity() - self.buffer.len()));
            self.buffer.extend(now)?;
            keys = later;
        }
        Ok(())
    }

    /// Sorts what is left, and merges until at most one more merge is needed.
    pub fn finish(mut self) -> Result<Sorted, DiskError> {
        if self.runs.is_empty() {
            let kept = sort_unique(&self.place.budget, self.place.config.width.words(), &mut self.buffer)?;
            self.buffer.truncate(kept);
            return Ok(Sorted { place: self.place, memory: self.buffer, runs: Vec::new(), kept: self.kept });
        }
        if !self.buffer.is_empty() {
            self.spill()?;
        }
        let Self { place, buffer, mut runs, kept, mut made } = self;
        drop(buffer);
        let fan_in = place.fan_in();
        while runs.len() > fan_in {
            let rest = runs.split_off(fan_in.min(runs.len()));
            let name = place.file_name(made);
            made += 1;
            place.merge(&runs, &name)?;
            for merged in runs.iter().filter(|name| !kept.contains(name)) {
                place.volume.remove(merged)?;
            }
            runs = rest;
            runs.push(name);
        }
        let memory = ChargedVec::with_capacity(&place.budget, "sort buffer", 0)?;
        let runs = runs.iter().map(|name| place.open(name)).collect::<Result<_, _>>()?;
        Ok(Sorted { place, memory, runs, kept })
    }

    fn spill(&mut self) -> Result<(), DiskError> {
        let name = self.place.file_name(self.made);
        self.made += 1;
        spill(&self.place.volume, &self.place.budget, &name, &self.place.config, &mut self.buffer)?;
        self.runs.push(name);
        Ok(())
    }
}

impl Sorted {
    /// The keys in order. May be asked for again.
    pub fn stream(&self) -> Result<Box<dyn KeyStream + '_>, DiskError> {
        let words = self.place.config.width.words();
        if self.runs.is_empty() {
            return Ok(Box::new(SliceStream::new(words, &self.memory)));
        }
        let runs: Vec<&Run> = self.runs.iter().collect();
        Ok(Box::new(self.place.merged(&runs)?))
    }

    /// Removes its files, but for those that were kept.
    pub fn remove(self) -> Result<(), DiskError> {
        let Self { place, runs, kept, .. } = self;
        let names: Vec<String> = runs.iter().map(|run| run.name().to_owned()).collect();
        // Nobody has them open when they go.
        drop(runs);
        names.iter().filter(|name| !kept.contains(name)).try_for_each(|name| Ok(place.volume.remove(name)?))
    }
}

impl Place {
    fn buffer(&self) -> Result<ChargedVec<u64>, DiskError> {
        let words = self.config.width.words();
        let keys = (self.bytes / 3 / (words * 8)).max(1);
        Ok(ChargedVec::with_capacity(&self.budget, "sort buffer", keys * words)?)
    }

    fn file_name(&self, number: usize) -> String {
        format!("{}-{number}.run", self.name)
    }

    fn open(&self, name: &str) -> Result<Run, DiskError> {
        Run::open(&self.volume, &self.budget, name, self.config.width, self.config.tag)
    }

    /// How many runs can be merged at once: each needs a frame, a block of keys, its root and a head.
    fn fan_in(&self) -> usize {
        let words = self.config.width.words();
        let block = self.config.keys_per_block * words * 8;
        let frame = crate::codec::payload_bytes_max(self.config.width, self.config.keys_per_block) / 2;
        let page = self.config.fences_per_page * (words * 8 + 16);
        (self.bytes / 2 / (block + frame + page + words * 32 + 64)).clamp(2, FAN_IN_MAX)
    }

    fn merged<'a>(&self, runs: &[&'a Run]) -> Result<Merge<Scan<'a>>, DiskError> {
        let words = self.config.width.words();
        let blocks: usize = runs.iter().map(|run| run.scan_keys_max() * words * 8).sum();
        let share = (self.bytes / 2).saturating_sub(blocks) / (runs.len() + 1);
        let scans =
            runs.iter().map(|run| Scan::new(run, &self.budget, share)).collect::<Result<Vec<_>, _>>()?;
        Merge::new(&self.budget, words, scans, (share / (words * 8)).clamp(1, 4096))
    }

    fn merge(&self, names: &[String], name: &str) -> Result<(), DiskError> {
        let runs = names.iter().map(|name| self.open(name)).collect::<Result<Vec<_>, _>>()?;
        let runs: Vec<&Run> = runs.iter().collect();
        let mut writer = RunWriter::new(&self.volume, &self.budget, name, &self.config)?;
        write_all(&mut self.merged(&runs)?, &mut writer)?;
        writer.finish(false)?;
        Ok(())
    }
}
