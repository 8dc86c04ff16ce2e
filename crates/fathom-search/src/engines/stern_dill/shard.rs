//! Which states of a shard are known, and which have gathered in memory since?
//!
//! What is found new before the layer is closed goes to runs of its own, so that a search that ends in the middle of a layer has committed nothing of the next one.

use fathom_disk::budget::ChargedVec;
use fathom_disk::error::DiskError;
use fathom_disk::run::{Run, RunConfig, RunWriter};
use fathom_disk::set::{Difference, KeyStream, SliceStream, Tiers, sort_unique};

use super::sizes::Sizes;
use crate::files::at_rest::AtRest;
use crate::files::place::Place;
use crate::files::search_files::InRuns;

/// A part of the state space.
#[derive(Debug)]
pub(super) struct Shard {
    /// Candidates for the next layer, some of them known or repeated until they are checked.
    gathered: ChargedVec<u64>,
    /// States of all closed layers.
    known: Tiers,
    /// States of the next layer, as far as they were checked.
    fresh: Tiers,
    /// How many these are.
    fresh_states: u64,
}

/// Takes ascending keys as part of the layer that is closed.
pub(super) type Keep<'a> = dyn FnMut(&[u64]) -> Result<(), DiskError> + 'a;

impl Shard {
    pub(super) fn new(place: &Place, sizes: &Sizes) -> Result<Shard, DiskError> {
        let room = sizes.gathered_keys * place.width.words();
        Ok(Shard {
            gathered: ChargedVec::with_capacity(&place.budget, "gathered states", room)?,
            known: Tiers::new(sizes.fan),
            fresh: Tiers::new(sizes.fan),
            fresh_states: 0,
        })
    }

    /// Takes up a run that was committed.
    pub(super) fn take_up(&mut self, level: usize, run: Run) {
        self.known.insert(level, run);
    }

    /// Takes candidates as far as there is room; gives the others. Repeats make room for more.
    pub(super) fn gather<'a>(&mut self, place: &Place, keys: &'a [u64]) -> Result<&'a [u64], DiskError> {
        let mut rest = keys;
        while !rest.is_empty() {
            let (used, room) = (self.gathered.len(), self.gathered.capacity());
            if used == room {
                let kept = sort_unique(&place.budget, place.width.words(), &mut self.gathered)?;
                self.gathered.truncate(kept);
                if kept > room / 4 * 3 || kept == room {
                    return Ok(rest);
                }
                continue;
            }
            let (now, later) = rest.split_at(rest.len().min(room - used));
            self.gathered.extend(now)?;
            rest = later;
        }
        Ok(rest)
    }

    /// Keys that are gone through when it is closed.
    pub(super) fn work(&self, words: usize) -> u64 {
        self.known.count() + self.fresh.count() + (self.gathered.len() / words) as u64
    }

    /// Takes away what is known from what has gathered; the rest is part of the next layer.
    pub(super) fn check(&mut self, place: &Place, sizes: &Sizes) -> Result<(), DiskError> {
        self.check_and(place, sizes, &mut |_| Ok(()))?;
        self.merge_fresh(place, sizes)
    }

    /// Makes the states of the next layer known, and gives them to `keep` in ascending order; says how many there are.
    pub(super) fn close(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        keep: &mut Keep<'_>,
    ) -> Result<u64, DiskError> {
        if self.fresh_states == 0 {
            self.check_and(place, sizes, keep)?;
        } else {
            self.check(place, sizes)?;
            let mut layer = self.fresh.scan(&place.budget, place.width.words(), sizes.read_bytes)?;
            while layer.advance()? {
                keep(layer.keys())?;
            }
        }
        self.known.append(&mut self.fresh);
        let config = config(place, sizes);
        while let Some(level) = self.known.due() {
            place.merge(&mut self.known, Some(level), &config, sizes.read_bytes)?;
        }
        while self.known.runs().count() > sizes.runs_max {
            place.merge(&mut self.known, None, &config, sizes.read_bytes)?;
        }
        Ok(std::mem::take(&mut self.fresh_states))
    }

    fn check_and(&mut self, place: &Place, sizes: &Sizes, keep: &mut Keep<'_>) -> Result<(), DiskError> {
        let Shard { gathered, known, fresh, fresh_states } = self;
        let words = place.width.words();
        let kept = sort_unique(&place.budget, words, gathered)?;
        gathered.truncate(kept);
        let writer = {
            // Both are read side by side.
            let share = sizes.read_bytes / 2;
            let known = known.scan(&place.budget, words, share)?;
            let unknown = Difference::new(&place.budget, SliceStream::new(words, gathered), known)?;
            let fresh = fresh.scan(&place.budget, words, share)?;
            let mut new = Difference::new(&place.budget, unknown, fresh)?;
            let mut writer: Option<RunWriter> = None;
            while new.advance()? {
                let writer = match &mut writer {
                    Some(writer) => writer,
                    None => writer.insert(place.run_writer(&config(place, sizes))?),
                };
                writer.push(new.keys())?;
                keep(new.keys())?;
                *fresh_states += (new.keys().len() / words) as u64;
            }
            writer
        };
        gathered.clear();
        if let Some(writer) = writer {
            fresh.insert(0, writer.finish_run(false)?);
        }
        Ok(())
    }

    /// Keeps the runs few while the layer is still being found: those of the next layer and the others stay apart.
    fn merge_fresh(&mut self, place: &Place, sizes: &Sizes) -> Result<(), DiskError> {
        let config = config(place, sizes);
        while let Some(level) = self.fresh.due() {
            place.merge(&mut self.fresh, Some(level), &config, sizes.read_bytes)?;
        }
        while self.all_runs().count() > sizes.runs_max {
            let runs = if self.fresh.runs().nth(1).is_some() { &mut self.fresh } else { &mut self.known };
            if runs.runs().nth(1).is_none() {
                break;
            }
            place.merge(runs, None, &config, sizes.read_bytes)?;
        }
        Ok(())
    }

    /// Runs of all closed layers, with their levels.
    pub(super) fn known_runs(&self) -> impl Iterator<Item = (usize, &Run)> {
        self.known.runs()
    }

    fn all_runs(&self) -> impl Iterator<Item = (usize, &Run)> {
        self.known.runs().chain(self.fresh.runs())
    }

    /// Gives the memory of the table back: no layer can be closed any more.
    pub(super) fn forget_table(&mut self, place: &Place) -> Result<(), DiskError> {
        self.gathered = ChargedVec::with_capacity(&place.budget, "gathered states", 0)?;
        Ok(())
    }

    /// What reading all known states beside others takes.
    pub(super) fn reading_bytes(&self) -> usize {
        self.known.runs().map(|(_, run)| AtRest::reading_bytes(run)).sum()
    }

    /// Merges the smallest two runs; false if there are no two.
    pub(super) fn merge_smallest(&mut self, place: &Place, sizes: &Sizes) -> Result<bool, DiskError> {
        if self.known.runs().nth(1).is_none() {
            return Ok(false);
        }
        place.merge(&mut self.known, None, &config(place, sizes), sizes.read_bytes)?;
        Ok(true)
    }
}

impl InRuns for Shard {
    fn lasting_runs(&self) -> impl Iterator<Item = (usize, &Run)> {
        self.known_runs()
    }

    fn retired(&mut self) -> Vec<String> {
        [self.known.retired(), self.fresh.retired()].concat()
    }

    fn disk_bytes(&self) -> u64 {
        self.all_runs().map(|(_, run)| run.bytes()).sum()
    }
}

fn config(place: &Place, sizes: &Sizes) -> RunConfig {
    RunConfig::within(place.width, place.tag, sizes.write_bytes)
}
