//! How does a growing set stay few disjoint runs, with few rewrites?
//!
//! Runs have levels; T runs of one level are merged into one of the next, so a key is rewritten at most log_T(runs) times. Runs
//! are pairwise disjoint (the caller subtracts before it inserts), so a merge is a plain union. A merge leaves its inputs on disk: they may
//! be removed once a commit names the output ([`Tiers::retired`]).

use super::{KeyStream, Merge, write_all};
use crate::budget::Budget;
use crate::error::DiskError;
use crate::run::{Prober, Run, RunConfig, RunWriter, Scan, Sweep};
use crate::storage::Volume;

/// Runs of one level before they are merged: 4, 8 and 16 cost the same look-ups and 3, 2, 1 rewrites; 8 keeps few runs.
pub const TIER_RUNS: usize = 8;

/// All keys are merged of so many streams at most: each key is compared with the next of every stream.
const STREAMS_MAX: usize = 4;

/// A set as disjoint runs in levels.
#[derive(Debug)]
pub struct Tiers {
    levels: Vec<Vec<Member>>,
    fan: usize,
    retired: Vec<String>,
    /// The age that the next run gets.
    next_age: u64,
}

/// What all keys are merged of: large runs, and all that are small.
enum Part<'a> {
    Run(Box<Scan<'a>>),
    Small(Box<Merge<Scan<'a>>>),
}

/// A run of the set.
#[derive(Debug)]
struct Member {
    run: Run,
    /// When its newest keys came.
    age: u64,
}

impl KeyStream for Part<'_> {
    fn words(&self) -> usize {
        match self {
            Part::Run(stream) => stream.words(),
            Part::Small(stream) => stream.words(),
        }
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        match self {
            Part::Run(stream) => stream.advance(),
            Part::Small(stream) => stream.advance(),
        }
    }

    fn keys(&self) -> &[u64] {
        match self {
            Part::Run(stream) => stream.keys(),
            Part::Small(stream) => stream.keys(),
        }
    }
}

impl Default for Tiers {
    fn default() -> Self {
        Self::new(TIER_RUNS)
    }
}

impl Tiers {
    /// An empty set that merges `fan` runs of one level (at least 2) into one of the next.
    pub fn new(fan: usize) -> Self {
        Self { levels: Vec::new(), fan: fan.max(2), retired: Vec::new(), next_age: 0 }
    }

    /// Adds a run, disjoint from all others, at `level` (0 for a new layer; that of the manifest on resume).
    pub fn insert(&mut self, level: usize, run: Run) {
        let age = self.next_age;
        self.next_age += 1;
        self.put(level, Member { run, age });
    }

    fn put(&mut self, level: usize, member: Member) {
        while self.levels.len() <= level {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(member);
    }

    /// Takes all runs of another set over, disjoint from its own.
    pub fn append(&mut self, other: &mut Tiers) {
        for (level, members) in std::mem::take(&mut other.levels).into_iter().enumerate() {
            members.into_iter().for_each(|member| self.put(level, member));
        }
        self.next_age = self.next_age.max(other.next_age);
        self.retired.append(&mut other.retired);
    }

    /// How many runs of one level are merged.
    pub fn fan(&self) -> usize {
        self.fan
    }

    /// The lowest level that is due for a merge.
    pub fn due(&self) -> Option<usize> {
        self.crowded(self.fan)
    }

    /// The lowest level that has at least so many runs.
    pub fn crowded(&self, runs: usize) -> Option<usize> {
        self.levels.iter().position(|level| level.len() >= runs)
    }

    /// All runs with their levels, lowest level first, and there the newest.
    pub fn runs(&self) -> impl Iterator<Item = (usize, &Run)> {
        self.levels
            .iter()
            .enumerate()
            .flat_map(|(level, runs)| runs.iter().rev().map(move |member| (level, &member.run)))
    }

    /// Number of keys.
    pub fn count(&self) -> u64 {
        self.runs().map(|(_, run)| run.count()).sum()
    }

    #[expect(clippy::too_many_arguments, reason = "where, what, how, and within what")]
    /// Merges all runs of `level`, and of the levels below, into the run `name` of the next level: the small ones that wait there for more of their kind are asked as often as any other, and
    /// cost next to nothing here. The inputs are retired. Writes the output once, reads
    /// the inputs once; memory is shared out evenly from what is free, `within` bytes at most. With too little for all inputs at
    /// once, merges as many as fit (at least two) and leaves the rest for the next call. With `sync` the output lasts; without, it must be
    /// synced before a commit names it.
    pub fn merge_level(
        &mut self,
        volume: &Volume,
        budget: &Budget,
        level: usize,
        name: &str,
        config: &RunConfig,
        within: usize,
        sync: bool,
    ) -> Result<(), DiskError> {
        let mut runs = Vec::new();
        let mut levels = Vec::new();
        for from in (0..=level).rev() {
            runs.append(&mut self.levels[from]);
            levels.resize(runs.len(), from);
        }
        let outcome = merge_runs(volume, budget, &runs, name, config, within, sync);
        let merged = outcome.as_ref().map_or(0, |(_, merged)| *merged);
        let rest = runs.split_off(merged);
        rest.into_iter().zip(&levels[merged..]).for_each(|(member, &from)| self.put(from, member));
        let (run, _) = outcome?;
        let age = runs.iter().map(|member| member.age).max().unwrap_or(0);
        self.retired.extend(runs.into_iter().map(|member| member.run.name().to_owned()));
        self.put(level + 1, Member { run, age });
        Ok(())
    }

    /// Merges the two runs of the lowest levels, whatever those are, into the run `name`: for when there may not be as many runs as levels ask
    /// for. Otherwise like [`Tiers::merge_level`].
    pub fn merge_smallest(
        &mut self,
        volume: &Volume,
        budget: &Budget,
        name: &str,
        config: &RunConfig,
        within: usize,
        sync: bool,
    ) -> Result<(), DiskError> {
        let Some((level, _)) = self.runs().nth(1) else { return Ok(()) };
        let mut pair = Vec::new();
        while pair.len() < 2 {
            let lowest = self.levels.iter_mut().find(|runs| !runs.is_empty()).expect("there are two runs");
            pair.push(lowest.pop().expect("it is not empty"));
        }
        let run = match merge_runs(volume, budget, &pair, name, config, within, sync) {
            Ok((run, _)) => run,
            Err(error) => {
                pair.into_iter().for_each(|member| self.put(level, member));
                return Err(error);
            }
        };
        let age = pair.iter().map(|member| member.age).max().unwrap_or(0);
        self.retired.extend(pair.into_iter().map(|member| member.run.name().to_owned()));
        self.put(level, Member { run, age });
        Ok(())
    }

    /// Keeps the fences of those runs in memory that `wanted` says yes to, newest first.
    pub fn load_fences(
        &mut self,
        budget: &Budget,
        mut wanted: impl FnMut(&Run) -> bool,
    ) -> Result<(), DiskError> {
        for Member { run, .. } in self.levels.iter_mut().flat_map(|runs| runs.iter_mut().rev()) {
            if wanted(run) && !run.has_fences() {
                run.load_fences(budget)?;
            }
        }
        Ok(())
    }

    /// Marks which of the sorted `keys` are in the set. Runs are asked newest first: what is met again was mostly met not long ago.
    pub fn look_up(&self, prober: &mut Prober, keys: &[u64], found: &mut [bool]) -> Result<(), DiskError> {
        prober.look_up(&self.newest_first(), keys, found)
    }

    /// A way through each run, newest first, within about `within` bytes for buffers. Larger runs have larger ones, by the root of their size: so there are fewest reads.
    pub fn sweeps(&self, budget: &Budget, within: usize) -> Result<Vec<Sweep<'_>>, DiskError> {
        let runs = self.newest_first();
        let weight = |run: &Run| if run.is_kept_in_memory() { 0 } else { run.bytes().isqrt() as usize };
        let all: usize = runs.iter().map(|run| weight(run)).sum();
        let share = |run: &Run| within / all.max(1) * weight(run);
        runs.into_iter().map(|run| Sweep::new(run, budget, share(run))).collect()
    }

    fn newest_first(&self) -> Vec<&Run> {
        let mut members: Vec<&Member> = self.levels.iter().flatten().collect();
        members.sort_unstable_by_key(|member| std::cmp::Reverse(member.age));
        members.iter().map(|member| &member.run).collect()
    }

    /// All keys, in order. Of many runs the smallest are merged apart, so that most keys are compared with few others.
    pub fn scan<'a>(
        &'a self,
        budget: &Budget,
        words: usize,
        within: usize,
    ) -> Result<impl KeyStream + 'a, DiskError> {
        let mut runs: Vec<&Run> = self.runs().map(|(_, run)| run).collect();
        runs.sort_by_key(|run| std::cmp::Reverse(run.count()));
        let share = within / (runs.len() + 2);
        let chunk = (share / (words * 8)).clamp(1, 4096);
        let scan = |run: &&'a Run| Scan::new(run, budget, share);
        let apart = if runs.len() > STREAMS_MAX { runs.split_off(STREAMS_MAX - 1) } else { Vec::new() };
        let mut streams: Vec<Part<'a>> =
            runs.iter().map(|run| Ok(Part::Run(Box::new(scan(run)?)))).collect::<Result<_, DiskError>>()?;
        if !apart.is_empty() {
            let scans = apart.iter().map(scan).collect::<Result<Vec<_>, _>>()?;
            streams.push(Part::Small(Box::new(Merge::new(budget, words, scans, chunk)?)));
        }
        Merge::new(budget, words, streams, chunk)
    }

    /// What [`Tiers::scan`] takes at most beside what it reads into.
    pub fn scan_bytes(&self) -> usize {
        self.runs().map(|(_, run)| scan_needs(run)).sum()
    }

    /// Names of runs that were merged away since the last call: to be removed after the next commit.
    pub fn retired(&mut self) -> Vec<String> {
        std::mem::take(&mut self.retired)
    }
}

/// Merges the first runs, as many as memory allows, into one; returns it, and how many.
fn merge_runs(
    volume: &Volume,
    budget: &Budget,
    runs: &[Member],
    name: &str,
    config: &RunConfig,
    within: usize,
    sync: bool,
) -> Result<(Run, usize), DiskError> {
    let writer = RunWriter::new(volume, budget, name, config)?;
    let for_scans = within.min(budget.free());
    let mut fitting = 0;
    let mut sum = 0;
    for Member { run, .. } in runs {
        sum += scan_needs(run);
        if fitting >= 2 && sum > for_scans / 2 {
            break;
        }
        fitting += 1;
    }
    let spare =
        for_scans.saturating_sub(runs[..fitting].iter().map(|member| scan_block_bytes(&member.run)).sum());
    let share = spare / 2 / (fitting + 1);
    let outcome = merge_into(writer, budget, &runs[..fitting], share, sync);
    if outcome.is_err() {
        // What was begun is ours alone; if it cannot be removed now, the next opening sweeps it.
        let _ = volume.remove(name);
    }
    outcome.map(|run| (run, fitting))
}

/// What going through a run takes at least: a frame, a block, and a merge's own.
fn scan_needs(run: &Run) -> usize {
    run.frame_bytes_max() + scan_block_bytes(run) + run.width().words() * 16
}

fn scan_block_bytes(run: &Run) -> usize {
    run.scan_keys_max() * run.width().words() * 8 + run.coded_bytes_max()
}

fn merge_into(
    mut writer: RunWriter,
    budget: &Budget,
    runs: &[Member],
    share: usize,
    sync: bool,
) -> Result<Run, DiskError> {
    let words = runs[0].run.width().words();
    let scans =
        runs.iter().map(|member| Scan::new(&member.run, budget, share)).collect::<Result<Vec<_>, _>>()?;
    let mut merge = Merge::new(budget, words, scans, (share / (words * 8)).clamp(1, 4096))?;
    write_all(&mut merge, &mut writer)?;
    drop(merge);
    writer.finish_run(sync)
}
