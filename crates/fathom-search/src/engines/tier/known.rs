//! Which states of a shard are known?
//!
//! ```text
//! many candidates   --> in small layers? --> in the trie? --> filter says maybe? --> runs that are not in the trie, gone through beside the candidates --> new
//! few candidates    --> in small layers? --> in the trie? --> filter says maybe? --> the few blocks of these runs that can hold it? --> new
//! ```
//! A known state is in a small layer or in exactly one run. Where older runs fold into a trie, it has their keys and no others, and they are set aside: nothing is looked up in them. The filter
//! has every key of the other runs, so what it denies is new without a look at the disk. There may be neither.
//! Small layers are those not worth a run each; together they become one.
//!
//! Memory: filters, small layers, fences and roots of the runs, as [`Shares`] says. I/O of a subtraction: the blocks that can hold a key that filters do not deny.

mod absorb;
mod folded;
mod measures;
mod memory;
mod small;
mod tools;

use std::time::Instant;

use fathom_disk::error::DiskError;
use fathom_disk::filter::Bloom;
use fathom_disk::run::{Run, RunConfig, RunWriter};
use fathom_disk::set::Tiers;

use super::run_shapes::run_configs;
use super::shares::Shares;
use crate::files::closing_cost::ClosingCost;
use crate::files::layer_store::BlockEncoder;
use crate::files::place::Place;
use crate::files::search_files::InRuns;

pub(super) use tools::Tools;

use folded::Folded;
use measures::Measures;
use small::SmallLayers;

/// The known states of a shard.
#[derive(Debug)]
pub(super) struct Known {
    /// Those that candidates are looked up in, and those whose keys the trie has.
    runs: Tiers,
    aside: Tiers,
    filter: Bloom,
    /// How many keys it is made for.
    filter_keys: u64,
    folded: Folded,
    small: Option<SmallLayers>,
    /// Bytes of the runs that stay in memory.
    kept_bytes: usize,
    /// How many keys small layers have had at most when they became a run.
    small_keys: usize,
    shares: Shares,
    /// Runs in which many keys are looked up at a time, and runs in which few are.
    dense_config: RunConfig,
    sparse_config: RunConfig,
    /// What the layers so far have shown: by it is decided how the next are compared.
    measures: Measures,
}

/// Which runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Those that candidates are looked up in.
    Asked,
    /// Those whose keys a trie has.
    Aside,
}

/// Takes new keys as part of the layer, in ascending pieces.
pub(super) type Keep<'a> = dyn FnMut(&mut BlockEncoder, &[u64]) -> Result<(), DiskError> + 'a;

/// What was new in a stream of candidates.
#[derive(Debug)]
pub(super) struct Absorbed {
    pub(super) states: u64,
    sink: Option<Sink>,
}

/// Where the new states of a layer go.
#[derive(Debug)]
enum Sink {
    Table,
    Run(Box<RunWriter>),
}

/// So many times as many runs of a level are merged where a trie has their keys: 24 to one. With it, and more memory for small layers, resistance.1 took 2.5 CPU s in place of 2.8; nothing else was tried.
const FOLDED_FAN: usize = 6;

impl Known {
    pub(super) fn new(place: &Place, shares: &Shares) -> Result<Known, DiskError> {
        let [dense_config, sparse_config] = run_configs(place.width, place.tag, shares);
        Ok(Known {
            runs: Tiers::new(shares.fan),
            aside: Tiers::new(shares.fan),
            filter: Bloom::new(0, 0, &place.budget)?,
            filter_keys: 0,
            folded: Folded::default(),
            small: None,
            kept_bytes: 0,
            small_keys: 0,
            shares: *shares,
            dense_config,
            sparse_config,
            measures: Measures::default(),
        })
    }

    /// Takes up runs that were committed.
    pub(super) fn take_up(&mut self, place: &Place, level: usize, run: Run) -> Result<(), DiskError> {
        self.insert_run(place, level, run)
    }

    /// Makes new keys known.
    fn add(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        fresh: &[u64],
        small: bool,
        sink: &mut Option<Sink>,
        keep: &mut Keep<'_>,
    ) -> Result<(), DiskError> {
        let began = Instant::now();
        keep(&mut tools.encoder, fresh)?;
        if sink.is_none() {
            *sink = Some(self.sink(place, small)?);
        }
        match sink {
            Some(Sink::Run(writer)) => {
                writer.push(fresh)?;
                self.add_to_filter(place, fresh);
            }
            _ => match self.add_to_small_layers(place, tools, fresh) {
                // The table is a luxury: the rest of the layer is a run. That it was told of some of it does no harm.
                Err(DiskError::Budget(_)) if !self.folded.is_growing() => {
                    let mut writer = self.writer(place, self.measures.candidates)?;
                    writer.push(fresh)?;
                    self.add_to_filter(place, fresh);
                    *sink = Some(Sink::Run(Box::new(writer)));
                }
                outcome => outcome?,
            },
        }
        tools.cost.write += began.elapsed();
        Ok(())
    }

    /// How a run is written. Where runs are folded, nothing is looked up in it.
    fn config(&self) -> &RunConfig {
        if self.measures.dense || self.folded.is_there() { &self.dense_config } else { &self.sparse_config }
    }

    fn sink(&self, place: &Place, small: bool) -> Result<Sink, DiskError> {
        if small && self.shares.table_bytes > 0 {
            return Ok(Sink::Table);
        }
        Ok(Sink::Run(Box::new(self.writer(place, self.measures.candidates)?)))
    }

    /// Writes a run of at most so many keys.
    fn writer(&self, place: &Place, keys: u64) -> Result<RunWriter, DiskError> {
        let config = self.holding(place, keys.saturating_mul(2));
        place.run_writer(&config)
    }

    fn add_to_small_layers(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        fresh: &[u64],
    ) -> Result<(), DiskError> {
        // What the trie was asked for, they were told of.
        let told = self.folded.is_growing();
        let small = self.small_layers(place)?;
        if !told {
            small.tell(fresh, &mut tools.chosen)?;
            assert_eq!(tools.chosen.len() * place.width.words(), fresh.len(), "only new keys are added");
        }
        small.push(fresh)
    }

    fn small_layers(&mut self, place: &Place) -> Result<&mut SmallLayers, DiskError> {
        let bytes = self.small_bytes();
        Ok(match &mut self.small {
            Some(small) => small,
            none => none.insert(SmallLayers::new(place, bytes, self.small_keys)?),
        })
    }

    /// Tells the filter of new keys of a run, if there is one.
    fn add_to_filter(&mut self, place: &Place, keys: &[u64]) {
        if self.filter.blocks() > 0 {
            self.filter.insert_batch(keys, place.width.words());
        }
    }

    /// Closes the run that was written, if one was; merges what is due, unless memory is so short that the tools are to be put away before ([`Known::compact`]).
    pub(super) fn settle(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        absorbed: Absorbed,
    ) -> Result<(), DiskError> {
        let began = Instant::now();
        if let Some(Sink::Run(writer)) = absorbed.sink {
            let run = writer.finish_run(false)?;
            self.insert_run(place, level_of(run.count(), self.shares.fan), run)?;
        }
        if self.small.as_ref().is_some_and(|small| small.bytes() > self.small_bytes()) {
            self.flush(place)?;
        }
        tools.cost.write += began.elapsed();
        if self.shares.tight { Ok(()) } else { self.compact(place, &mut tools.cost) }
    }

    /// Merges runs where there are enough of a size; builds the filters that are worth it. Writing a run takes a page of fences for each level of them, a level more for each few times as many states: where memory is short,
    /// whoever closes shards has none of it meanwhile.
    pub(super) fn compact(&mut self, place: &Place, cost: &mut ClosingCost) -> Result<(), DiskError> {
        let began = Instant::now();
        while let Some(level) = self.runs.due() {
            self.merge(place, Kind::Asked, Some(level))?;
        }
        // Runs in which nothing is looked up can wait for more of their like.
        while let Some(level) = self.aside.crowded(self.shares.fan * FOLDED_FAN) {
            self.merge(place, Kind::Aside, Some(level))?;
        }
        while self.all_runs().count() > self.shares.runs_max {
            let kind = if self.runs.runs().nth(1).is_some() { Kind::Asked } else { Kind::Aside };
            self.merge(place, kind, None)?;
        }
        cost.merge += began.elapsed();
        let began = Instant::now();
        self.tend_filters(place)?;
        cost.filter += began.elapsed();
        Ok(())
    }

    /// Makes a run of the small layers.
    pub(super) fn flush(&mut self, place: &Place) -> Result<(), DiskError> {
        let Some(small) = self.small.take() else { return Ok(()) };
        if small.count() == 0 {
            return Ok(());
        }
        self.small_keys = self.small_keys.max(small.count());
        let words = place.width.words();
        let keys = small.into_sorted(place)?;
        let mut writer = self.writer(place, (keys.len() / words) as u64)?;
        writer.push(&keys)?;
        self.add_to_filter(place, &keys);
        let folded = self.folded.insert(words, &keys);
        let run = writer.finish_run(false)?;
        drop(keys);
        let level = level_of(run.count(), self.shares.fan);
        if folded {
            self.aside.insert(level, run);
            return Ok(());
        }
        if !self.folded.is_there() {
            self.runs.append(&mut self.aside);
        }
        self.insert_run(place, level, run)
    }

    /// Adds a run that candidates are looked up in.
    fn insert_run(&mut self, place: &Place, level: usize, run: Run) -> Result<(), DiskError> {
        assert!(!self.folded.is_growing(), "a trie that grows has all runs");
        self.runs.insert(level, run);
        self.keep_in_memory(place)
    }

    /// Merges the runs of a level, or the smallest two.
    pub(super) fn merge(&mut self, place: &Place, kind: Kind, level: Option<usize>) -> Result<(), DiskError> {
        let within = self.shares.merge_bytes();
        let merged =
            |(held, run): (usize, &Run)| level.is_none_or(|level| held <= level).then(|| run.bytes());
        let bytes = match kind {
            Kind::Asked => self.runs.runs().filter_map(merged).sum(),
            // Nothing is looked up in it.
            Kind::Aside => u64::MAX,
        };
        let config = self.holding(place, bytes);
        let runs = match kind {
            Kind::Asked => &mut self.runs,
            Kind::Aside => &mut self.aside,
        };
        place.merge(runs, level, &config, within)?;
        self.keep_in_memory(place)
    }

    /// All runs with their levels.
    pub(super) fn all_runs(&self) -> impl Iterator<Item = (usize, &Run)> {
        self.runs.runs().chain(self.aside.runs())
    }

    /// Keys known, on disk and in memory.
    pub(super) fn count(&self) -> u64 {
        self.run_keys() + self.small.as_ref().map_or(0, |small| small.count() as u64)
    }

    /// Keys of all runs.
    fn run_keys(&self) -> u64 {
        self.runs.count() + self.aside.count()
    }
}

/// The level of a run by its size, so that runs that are merged are alike.
fn level_of(keys: u64, fan: usize) -> usize {
    (keys.max(1).ilog2() / fan.max(2).ilog2()) as usize
}

impl InRuns for Known {
    fn lasting_runs(&self) -> impl Iterator<Item = (usize, &Run)> {
        self.all_runs()
    }

    fn retired(&mut self) -> Vec<String> {
        [self.runs.retired(), self.aside.retired()].concat()
    }

    fn disk_bytes(&self) -> u64 {
        self.all_runs().map(|(_, run)| run.bytes()).sum()
    }
}
