//! How are more keys sorted than fit in memory, with values or without?
//!
//! Keys gather in a buffer; a full buffer is sorted, freed of equal keys and spilled as a run; at the end runs are merged in
//! passes until they can be merged at once. If nothing was spilled the keys never leave memory. With [values](crate::value), those of equal keys are joined wherever keys without
//! would be dropped: in the buffer and in every merge.
//!
//! A sort that is to survive a crash lets a manifest name its runs ([`Sorter::keep`]) and is taken up with them ([`Sorter::resume`]); runs that were kept are not removed by the sort, but by the
//! commit that no longer names them.
//!
//! Memory: within the bytes given, a third of it while gathering for the buffer of keys. I/O: each key is written and read once per pass;
//! passes: 1 + log_F(runs), where F (at least 2) runs fit in memory at once.

use super::paired::{PairStream, Pairs};
use super::{KeyStream, Merge, SliceStream, sort_unique, spill, write_all};
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::key::KeyWidth;
use crate::run::{Run, RunConfig, RunWriter, Scan, Tag};
use crate::storage::{FileKind, Role, Volume};
use crate::value::Values;

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
    /// How keys with values lie in the buffer, if there are values.
    pairs: Option<Pairs>,
    bytes: usize,
}

/// Files of a sort, for the counters.
pub const CANDIDATES: FileKind = FileKind::new("candidates", Role::Bulk);

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
        let (volume, budget, name) = (volume.clone(), budget.clone(), name.to_owned());
        Self::at(Place { volume, budget, name, config, pairs: None, bytes })
    }

    /// The same for keys with values.
    pub fn joining(
        volume: &Volume,
        budget: &Budget,
        name: &str,
        (width, values): (KeyWidth, Values),
        tag: Tag,
        bytes: usize,
    ) -> Result<Self, DiskError> {
        let config = RunConfig { kind: CANDIDATES, ..RunConfig::within(width, tag, bytes / 4) };
        let config = config.with_values(values.width);
        let (volume, budget, name) = (volume.clone(), budget.clone(), name.to_owned());
        Self::at(Place { volume, budget, name, config, pairs: Some(Pairs::new(width, values)), bytes })
    }

    fn at(place: Place) -> Result<Self, DiskError> {
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
        if self.runs.len() > self.place.fan_in() {
            // However often it is kept, runs stay few.
            self.buffer = ChargedVec::with_capacity(&self.place.budget, "sort buffer", 0)?;
            self.merge_down()?;
            self.buffer = self.place.buffer()?;
        }
        for name in self.runs.iter().filter(|name| !self.kept.contains(name)) {
            self.place.volume.open(name, CANDIDATES)?.sync()?;
        }
        self.kept.clone_from(&self.runs);
        Ok(&self.kept)
    }

    /// Whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty() && self.runs.is_empty()
    }

    /// Adds keys in any order, with or without repeats.
    pub fn push(&mut self, mut keys: &[u64]) -> Result<(), DiskError> {
        assert!(self.place.pairs.is_none(), "each key has a value");
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

    /// Adds keys with a value each, in any order, with or without repeats, to a sort of keys with values.
    pub fn push_with(&mut self, mut keys: &[u64], mut values: &[u64]) -> Result<(), DiskError> {
        let words = self.place.config.width.words();
        assert_eq!(keys.len(), values.len() * words, "one value per key");
        let pairs = self.place.pairs.expect("this is a sort of keys with values");
        while !keys.is_empty() {
            if self.buffer.len() + pairs.pair_words() > self.buffer.capacity() {
                self.spill()?;
            }
            let room = (self.buffer.capacity() - self.buffer.len()) / pairs.pair_words();
            let now = values.len().min(room);
            pairs.append(&keys[..now * words], &values[..now], &mut self.buffer)?;
            (keys, values) = (&keys[now * words..], &values[now..]);
        }
        Ok(())
    }

    /// Sorts what is left, and merges until at most one more merge is needed.
    pub fn finish(mut self) -> Result<Sorted, DiskError> {
        if self.runs.is_empty() {
            let kept = self.place.sort_buffer(&mut self.buffer)?;
            self.buffer.truncate(kept);
            return Ok(Sorted { place: self.place, memory: self.buffer, runs: Vec::new(), kept: self.kept });
        }
        if !self.buffer.is_empty() {
            self.spill()?;
        }
        self.buffer = ChargedVec::with_capacity(&self.place.budget, "sort buffer", 0)?;
        self.merge_down()?;
        let Self { place, runs, kept, .. } = self;
        let memory = ChargedVec::with_capacity(&place.budget, "sort buffer", 0)?;
        let runs = runs.iter().map(|name| place.open(name)).collect::<Result<_, _>>()?;
        Ok(Sorted { place, memory, runs, kept })
    }

    /// Merges runs until they can be merged at once.
    fn merge_down(&mut self) -> Result<(), DiskError> {
        let fan_in = self.place.fan_in();
        while self.runs.len() > fan_in {
            let rest = self.runs.split_off(fan_in);
            let merged = std::mem::replace(&mut self.runs, rest);
            let name = self.place.file_name(self.made);
            self.made += 1;
            self.place.merge(&merged, &name)?;
            for merged in merged.iter().filter(|name| !self.kept.contains(name)) {
                self.place.volume.remove(merged)?;
            }
            self.runs.push(name);
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), DiskError> {
        let name = self.place.file_name(self.made);
        self.made += 1;
        self.place.spill(&name, &mut self.buffer)?;
        self.runs.push(name);
        Ok(())
    }
}

impl Sorted {
    /// The keys in order, with their values if there are values. May be asked for again.
    pub fn stream(&self) -> Result<Box<dyn KeyStream + '_>, DiskError> {
        if self.runs.is_empty() {
            return match self.place.pairs {
                Some(pairs) => Ok(Box::new(self.place.pair_stream(pairs, &self.memory)?)),
                None => Ok(Box::new(SliceStream::new(self.place.config.width.words(), &self.memory))),
            };
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
        let words = self.pairs.map_or(self.config.width.words(), |pairs| pairs.pair_words());
        let keys = (self.bytes / 3 / (words * 8)).max(1);
        Ok(ChargedVec::with_capacity(&self.budget, "sort buffer", keys * words)?)
    }

    /// Sorts the buffer and makes equal keys one; returns how many words remain at its front.
    fn sort_buffer(&self, buffer: &mut [u64]) -> Result<usize, DiskError> {
        Ok(match self.pairs {
            Some(pairs) => pairs.sort_joined(&self.budget, buffer)?,
            None => sort_unique(&self.budget, self.config.width.words(), buffer)?,
        })
    }

    /// Sorts the buffer, writes it as a run and empties it.
    fn spill(&self, name: &str, buffer: &mut ChargedVec<u64>) -> Result<(), DiskError> {
        let Some(pairs) = self.pairs else {
            spill(&self.volume, &self.budget, name, &self.config, buffer)?;
            return Ok(());
        };
        let kept = self.sort_buffer(buffer)?;
        let mut writer = RunWriter::new(&self.volume, &self.budget, name, &self.config)?;
        write_all(&mut self.pair_stream(pairs, &buffer[..kept])?, &mut writer)?;
        writer.finish(false)?;
        buffer.clear();
        Ok(())
    }

    fn pair_stream<'a>(&self, pairs: Pairs, sorted: &'a [u64]) -> Result<PairStream<'a>, DiskError> {
        Ok(PairStream::new(&self.budget, pairs, sorted, self.config.keys_per_block)?)
    }

    fn file_name(&self, number: usize) -> String {
        format!("{}-{number}.run", self.name)
    }

    fn open(&self, name: &str) -> Result<Run, DiskError> {
        let RunConfig { width, values, tag, .. } = self.config;
        match values {
            Some(values) => Run::open_with_values(&self.volume, &self.budget, name, (width, values), tag),
            None => Run::open(&self.volume, &self.budget, name, width, tag),
        }
    }

    /// How many runs can be merged at once: each needs a frame, a block of keys, its root and a head.
    fn fan_in(&self) -> usize {
        let words = self.config.width.words();
        // Values are there twice: decoded, and in the frame.
        let values = self.config.values.map_or(0, |_| self.config.keys_per_block * 16);
        let block = self.config.keys_per_block * words * 8 + values;
        let frame = crate::codec::payload_bytes_max(self.config.width, self.config.keys_per_block) / 2;
        let page = self.config.fences_per_page * (words * 8 + 16);
        (self.bytes / 2 / (block + frame + page + words * 32 + 64)).clamp(2, FAN_IN_MAX)
    }

    fn merged<'a>(&self, runs: &[&'a Run]) -> Result<Merge<Scan<'a>>, DiskError> {
        let words = self.config.width.words();
        let values = self.config.values.map_or(0, |_| 8);
        let blocks = |run: &&Run| run.scan_keys_max() * words * 8 + run.block_keys_max() * values;
        let blocks: usize = runs.iter().map(blocks).sum();
        let share = (self.bytes / 2).saturating_sub(blocks) / (runs.len() + 1);
        let scans =
            runs.iter().map(|run| Scan::new(run, &self.budget, share)).collect::<Result<Vec<_>, _>>()?;
        let chunk_keys = (share / (words * 8 + values)).clamp(1, 4096);
        match self.pairs {
            Some(pairs) => Merge::joining(&self.budget, words, scans, chunk_keys, pairs.values()),
            None => Merge::new(&self.budget, words, scans, chunk_keys),
        }
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
