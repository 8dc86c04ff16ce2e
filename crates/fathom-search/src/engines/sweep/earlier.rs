//! Which states need not be expanded, because an earlier sweep has expanded them?
//!
//! Runs of keys whose first word is the value of the measure, so that what belongs to one bucket lies together. Where everything is kept, all states of earlier sweeps are here, and none is expanded
//! twice; where it is not, their roots alone: the persistent states.
//!
//! What belongs to a bucket is loaded when the bucket goes on beyond its first stage, if there is room for it: then nothing is looked up any more. Where there is not, a filter of the bucket is told of it, and what that does not deny is looked up.
//!
//! Memory: a page of fences per run, and what looks up. I/O: a block per key and run at most; a bucket once per sweep.

use fathom_disk::budget::{Charge, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::filter::Bloom;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::sweep::retain_unmarked;
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig, Scan};
use fathom_disk::set::{KeyStream, Tiers, sort_unique};
use fathom_model::record::Records;

use super::Measure;
use super::line::Line;
use super::sizes::Sizes;
use crate::files::place::Place;

/// Keys of value and record that are known.
#[derive(Debug)]
pub(super) struct Earlier {
    width: KeyWidth,
    pub(super) runs: Tiers,
    prober: Option<Prober>,
    keys: ChargedVec<u64>,
    /// The value of one record.
    value: Vec<u64>,
    /// Which records are looked up, of a piece.
    asked: Vec<u32>,
    _asked_charge: Charge,
    found: ChargedVec<bool>,
}

impl Earlier {
    /// Nothing is known.
    pub(super) fn new(place: &Place, sizes: &Sizes, width: KeyWidth) -> Result<Earlier, DiskError> {
        Ok(Earlier {
            width,
            runs: Tiers::new(sizes.fan),
            prober: None,
            keys: ChargedVec::with_capacity(&place.budget, "earlier sweeps", 0)?,
            value: Vec::with_capacity(1),
            asked: Vec::with_capacity(sizes.piece_keys),
            _asked_charge: place.budget.charge("earlier sweeps", sizes.piece_keys * 4)?,
            found: ChargedVec::with_capacity(&place.budget, "earlier sweeps", 0)?,
        })
    }

    /// How runs are written.
    pub(super) fn config(&self, place: &Place, sizes: &Sizes) -> RunConfig {
        RunConfig::within(self.width, place.tag, sizes.write_bytes)
    }

    /// Adds what a sweep has expanded.
    pub(super) fn insert(&mut self, place: &Place, sizes: &Sizes, run: Run) -> Result<(), DiskError> {
        self.runs.insert(0, run);
        let config = self.config(place, sizes);
        while let Some(level) = self.runs.due() {
            place.merge(&mut self.runs, Some(level), &config, sizes.scan_bytes)?;
        }
        while self.runs.runs().count() > sizes.runs_max {
            place.merge(&mut self.runs, None, &config, sizes.scan_bytes)?;
        }
        Ok(())
    }

    /// Whether nothing is known.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.runs().next().is_none()
    }

    /// Lets go of what looks up: it is made again when it is needed, and until then its memory serves others.
    pub(super) fn let_go(&mut self, place: &Place) -> Result<(), DiskError> {
        self.prober = None;
        self.keys = ChargedVec::with_capacity(&place.budget, "earlier sweeps", 0)?;
        Ok(())
    }

    /// Keeps those of some ascending keys that are not known, and says how many words that are.
    pub(super) fn retain_unknown(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        keys: &mut [u64],
    ) -> Result<usize, DiskError> {
        let words = self.width.words();
        if self.runs.runs().next().is_none() {
            return Ok(keys.len());
        }
        let prober = prober(&mut self.prober, place, sizes, self.width)?;
        self.found.clear();
        self.found.resize(keys.len() / words, false)?;
        self.runs.look_up(prober, keys, &mut self.found)?;
        Ok(retain_unmarked(words, keys, &mut self.found))
    }

    /// Calls `take` with the records of the values of a line, some at a time, as long as it says that it has room; says whether that were all.
    pub(super) fn load(
        &self,
        place: &Place,
        sizes: &Sizes,
        line: Line,
        take: &mut dyn FnMut(&[u64]) -> bool,
    ) -> Result<bool, DiskError> {
        let words = self.width.words();
        let mut low = ChargedVec::with_capacity(&place.budget, "earlier sweeps", words)?;
        low.resize(words, 0)?;
        low[0] = line.from;
        let mut records =
            ChargedVec::with_capacity(&place.budget, "earlier sweeps", sizes.piece_keys * (words - 1))?;
        for (_, run) in self.runs.runs() {
            if run.last().is_none_or(|last| last[0] < line.from) {
                continue;
            }
            let mut scan = Scan::from(run, &place.budget, sizes.probe_bytes, &low)?;
            let mut beyond = false;
            while !beyond && scan.advance()? {
                for keys in scan.keys().chunks(sizes.piece_keys * words) {
                    records.clear();
                    for key in keys.chunks_exact(words).filter(|key| line.side(key[0]).is_eq()) {
                        records.extend(&key[1..])?;
                    }
                    if !take(&records) {
                        return Ok(false);
                    }
                    beyond = keys[keys.len() - words] > line.to;
                }
            }
        }
        Ok(true)
    }

    /// Drops those of some ascending records of the values of a line that are known; what a filter denies is not.
    pub(super) fn drop_known(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        (line, measure): (Line, Measure<'_>),
        filter: Option<&Bloom>,
        records: &mut ChargedVec<u64>,
    ) -> Result<(), DiskError> {
        if self.is_empty() || records.is_empty() {
            return Ok(());
        }
        let (words, width) = (place.width.words(), self.width.words());
        self.asked.clear();
        match filter {
            Some(filter) => filter.query_batch(records, words, &mut self.asked),
            None => self.asked.extend(0..(records.len() / words) as u32),
        }
        if self.asked.is_empty() {
            return Ok(());
        }
        let mut keys =
            std::mem::replace(&mut self.keys, ChargedVec::with_capacity(&place.budget, "earlier sweeps", 0)?);
        keys.clear();
        keys.reserve(self.asked.len() * width)?;
        for index in &self.asked {
            let record = &records[*index as usize * words..][..words];
            self.value.clear();
            match line.from == line.to {
                true => self.value.push(line.from),
                false => measure(Records::new(record, words), &mut self.value),
            }
            keys.extend(&self.value)?;
            keys.extend(record)?;
        }
        if line.from < line.to {
            sort_unique(&place.budget, width, &mut keys)?;
        }
        let looks_up = prober(&mut self.prober, place, sizes, self.width)?;
        self.found.clear();
        self.found.resize(keys.len() / width, false)?;
        self.runs.look_up(looks_up, &keys, &mut self.found)?;
        let known = keep_known(&mut keys, width, &self.found);
        if line.from < line.to {
            sort_unique(&place.budget, words, &mut keys[..known])?;
        }
        let kept = without(words, records, &keys[..known]);
        records.truncate(kept);
        self.keys = keys;
        Ok(())
    }
}

/// Moves the records of the keys that were found to the front, without their values; says how many words that are.
fn keep_known(keys: &mut [u64], width: usize, found: &[bool]) -> usize {
    let mut kept = 0;
    for (index, _) in found.iter().enumerate().filter(|(_, found)| **found) {
        keys.copy_within(index * width + 1..(index + 1) * width, kept);
        kept += width - 1;
    }
    kept
}

/// Drops ascending records that are among some other ascending ones; says how many words are left.
fn without(words: usize, records: &mut [u64], known: &[u64]) -> usize {
    let (mut kept, mut next) = (0, 0);
    for place in (0..records.len()).step_by(words) {
        if known.get(next..next + words).is_some_and(|known| *known == records[place..place + words]) {
            next += words;
            continue;
        }
        records.copy_within(place..place + words, kept);
        kept += words;
    }
    kept
}

/// What looks keys up, made when it is needed first.
pub(super) fn prober<'a>(
    prober: &'a mut Option<Prober>,
    place: &Place,
    sizes: &Sizes,
    width: KeyWidth,
) -> Result<&'a mut Prober, DiskError> {
    if prober.is_none() {
        *prober = Some(Prober::new(&place.budget, width, ProbeConfig::within(sizes.probe_bytes))?);
    }
    Ok(prober.as_mut().expect("it was just made"))
}
