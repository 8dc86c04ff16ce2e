//! Where are the layers of a shard that candidates are compared with?
//!
//! In sorted runs, by neighbouring layers: while the window is short a group is one layer, and when it is long several, so that there are never more runs than can be read side by side. What is before the window is
//! merged apart, if it is kept: it is read only when all is compared.
//!
//! ```text
//! before the window          | window                          | the layer that is closed
//! all layers, in few runs    | group, group, …, group          | candidates minus what is compared: the next layer
//! ```
//! A state may be in several runs, of different layers. It is in the run of every layer that it was new in.

use std::collections::VecDeque;

use fathom_disk::budget::ChargedVec;
use fathom_disk::error::DiskError;
use fathom_disk::hash::hash_key;
use fathom_disk::run::{Run, RunConfig, RunWriter};
use fathom_disk::set::{Beside, KeyStream, Tiers};
use fathom_disk::sketch::Sketch;

use super::lookback::{Compared, Seen};
use super::sizes::Sizes;
use crate::files::at_rest::AtRest;
use crate::files::layer_store::BlockEncoder;
use crate::files::place::Place;
use crate::files::search_files::InRuns;

/// A part of the state space.
#[derive(Debug)]
pub(super) struct Shard {
    /// What is before the window and was kept.
    before: Group,
    /// The window: later layers last.
    window: VecDeque<Group>,
    /// Of all states of all layers, with the layer that each was in last.
    pub(super) sample: Sketch,
    retired: Vec<String>,
}

/// Some neighbouring layers.
#[derive(Debug)]
struct Group {
    from: u64,
    to: u64,
    runs: Tiers,
}

/// What closing a shard takes.
#[derive(Debug)]
pub(super) struct Tools {
    encoder: BlockEncoder,
    /// What a piece of candidates has that is new.
    fresh: ChargedVec<u64>,
}

/// Where a run belongs, as a commit says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunPlace {
    pub(super) in_window: bool,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) level: usize,
}

/// Takes coded blocks of the layer that is closed: how many keys, and their bytes.
pub(super) type Keep<'a> = dyn FnMut(usize, &[u8]) -> Result<(), DiskError> + 'a;

impl Group {
    fn new(sizes: &Sizes, from: u64) -> Group {
        Group { from, to: from, runs: Tiers::new(sizes.fan) }
    }

    fn is_empty(&self) -> bool {
        self.runs.runs().next().is_none()
    }

    fn layers(&self) -> u64 {
        self.to - self.from + 1
    }

    /// Takes another group in, of later layers.
    fn append(&mut self, other: &mut Group) {
        if self.is_empty() {
            self.from = other.from;
        }
        self.to = other.to;
        self.runs.append(&mut other.runs);
    }

    /// Merges runs until there are at most so many.
    fn merge(&mut self, place: &Place, sizes: &Sizes, runs_max: usize) -> Result<(), DiskError> {
        let config = config(place, sizes);
        while let Some(level) = self.runs.due() {
            place.merge(&mut self.runs, Some(level), &config, sizes.read_bytes)?;
        }
        while self.runs.runs().count() > runs_max {
            place.merge(&mut self.runs, None, &config, sizes.read_bytes)?;
        }
        Ok(())
    }
}

impl Tools {
    pub(super) fn new(place: &Place, sizes: &Sizes) -> Result<Tools, DiskError> {
        let room = sizes.piece_keys * place.width.words();
        Ok(Tools {
            encoder: BlockEncoder::new(&place.budget, place.width, sizes.log_block_keys)?,
            fresh: ChargedVec::with_capacity(&place.budget, "new states", room)?,
        })
    }
}

impl Shard {
    pub(super) fn new(place: &Place, sizes: &Sizes, sample: Option<Sketch>) -> Result<Shard, DiskError> {
        Ok(Shard {
            before: Group::new(sizes, 0),
            window: VecDeque::new(),
            sample: match sample {
                Some(sample) => sample,
                None => Sketch::new(sizes.sample_keys, &place.budget)?,
            },
            retired: Vec::new(),
        })
    }

    /// Takes up a run that was committed. Those of the window come in the order of their layers.
    pub(super) fn take_up(&mut self, sizes: &Sizes, place: RunPlace, run: Run) {
        let group = match (place.in_window, self.window.back()) {
            (false, _) => &mut self.before,
            (true, Some(last)) if last.from == place.from => self.window.back_mut().expect("it is there"),
            (true, _) => {
                self.window.push_back(Group::new(sizes, place.from));
                self.window.back_mut().expect("it was just put there")
            }
        };
        (group.from, group.to) = (place.from, place.to);
        group.runs.insert(place.level, run);
    }

    /// Takes candidates for a layer, ascending, less those that are in what is compared: these are a run of that layer, and `keep` takes them. Says what was seen.
    pub(super) fn close(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        (compared, tools): (Compared, &mut Tools),
        candidates: &mut dyn KeyStream,
        keep: &mut Keep<'_>,
    ) -> Result<Seen, DiskError> {
        let Tools { encoder, fresh } = tools;
        let words = place.width.words();
        let Shard { before, window, sample, .. } = self;
        let groups = window.iter().rev().chain([&*before]);
        let groups: Vec<&Group> =
            groups.filter(|group| !group.is_empty() && compared.has(group.from, group.to)).collect();
        let share = sizes.read_bytes / groups.len().max(1);
        let mut beside = groups
            .iter()
            .map(|group| Ok((group.to, Beside::new(group.runs.scan(&place.budget, words, share)?))))
            .collect::<Result<Vec<_>, DiskError>>()?;
        let mut seen = Seen::default();
        let mut writer: Option<RunWriter> = None;
        while candidates.advance()? {
            for piece in candidates.keys().chunks(sizes.piece_keys * words) {
                fresh.clear();
                for key in piece.chunks_exact(words) {
                    let mut found = None;
                    for (layer, stream) in &mut beside {
                        if stream.reaches(key)? {
                            found = Some(*layer);
                            break;
                        }
                    }
                    match found {
                        Some(layer) => seen.back_edge(compared.layer - layer),
                        None => {
                            fresh.extend(key)?;
                            let missed = sample.offer(hash_key(key), compared.layer);
                            missed.into_iter().for_each(|layer| seen.missed(compared.layer - layer));
                        }
                    }
                }
                if fresh.is_empty() {
                    continue;
                }
                seen.states += (fresh.len() / words) as u64;
                let writer = match &mut writer {
                    Some(writer) => writer,
                    none => none.insert(place.run_writer(&config(place, sizes))?),
                };
                writer.push(fresh)?;
                encoder.encode(fresh, &mut *keep)?;
            }
        }
        drop(beside);
        if let Some(writer) = writer {
            self.add(sizes, compared, writer.finish_run(false)?);
        }
        Ok(seen)
    }

    /// Adds the run of a layer to the window.
    fn add(&mut self, sizes: &Sizes, compared: Compared, run: Run) {
        let together = compared.window.div_ceil((sizes.groups_max - 1) as u64).max(1);
        let fits = |last: &Group| compared.layer - last.from < together;
        if !self.window.back().is_some_and(fits) {
            self.window.push_back(Group::new(sizes, compared.layer));
        }
        let last = self.window.back_mut().expect("there is one");
        last.to = compared.layer;
        last.runs.insert(0, run);
    }

    /// Moves the window on to layers from `from` on, and keeps runs few. What falls out of it is dropped, or kept before it.
    pub(super) fn settle(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        from: u64,
        drops: bool,
    ) -> Result<(), DiskError> {
        while self.window.front().is_some_and(|group| group.to < from) {
            let mut group = self.window.pop_front().expect("there is one");
            match drops {
                true => self.retire(group),
                false => self.before.append(&mut group),
            }
        }
        if drops && !self.before.is_empty() {
            let before = std::mem::replace(&mut self.before, Group::new(sizes, 0));
            self.retire(before);
        }
        while self.window.len() > sizes.groups_max {
            // Those that have the fewest layers together, so that groups stay alike.
            let pairs = self.window.iter().zip(self.window.iter().skip(1));
            let least = pairs.map(|(one, other)| one.layers() + other.layers()).enumerate();
            let (first, _) = least.min_by_key(|(_, layers)| *layers).expect("there are two");
            let mut second = self.window.remove(first + 1).expect("it is there");
            self.window[first].append(&mut second);
        }
        for group in &mut self.window {
            group.merge(place, sizes, sizes.group_runs_max)?;
        }
        self.before.merge(place, sizes, sizes.before_runs_max)
    }

    fn retire(&mut self, mut group: Group) {
        self.retired.extend(group.runs.retired());
        self.retired.extend(group.runs.runs().map(|(_, run)| run.name().to_owned()));
    }

    /// All runs, with where they belong.
    pub(super) fn placed_runs(&self) -> impl Iterator<Item = (RunPlace, &Run)> {
        let placed = |in_window: bool, group: &Group, level| RunPlace {
            in_window,
            from: group.from,
            to: group.to,
            level,
        };
        let before =
            self.before.runs.runs().map(move |(level, run)| (placed(false, &self.before, level), run));
        let window = self.window.iter().flat_map(move |group| {
            group.runs.runs().map(move |(level, run)| (placed(true, group, level), run))
        });
        before.chain(window)
    }

    /// What reading all its states beside others takes.
    pub(super) fn reading_bytes(&self) -> usize {
        self.placed_runs().map(|(_, run)| AtRest::reading_bytes(run)).sum()
    }

    /// Puts all layers before the window and merges the smallest two runs; false if there are no two. No layer is closed any more.
    pub(super) fn merge_smallest(&mut self, place: &Place, sizes: &Sizes) -> Result<bool, DiskError> {
        while let Some(mut group) = self.window.pop_front() {
            self.before.append(&mut group);
        }
        let runs = &mut self.before.runs;
        if runs.runs().nth(1).is_none() {
            return Ok(false);
        }
        place.merge(runs, None, &config(place, sizes), sizes.read_bytes)?;
        Ok(true)
    }
}

impl InRuns for Shard {
    fn lasting_runs(&self) -> impl Iterator<Item = (usize, &Run)> {
        self.placed_runs().map(|(place, run)| (place.level, run))
    }

    fn retired(&mut self) -> Vec<String> {
        let mut names = std::mem::take(&mut self.retired);
        for group in self.window.iter_mut().chain([&mut self.before]) {
            names.extend(group.runs.retired());
        }
        names
    }

    fn disk_bytes(&self) -> u64 {
        self.placed_runs().map(|(_, run)| run.bytes()).sum()
    }
}

fn config(place: &Place, sizes: &Sizes) -> RunConfig {
    RunConfig::within(place.width, place.tag, sizes.write_bytes)
}
