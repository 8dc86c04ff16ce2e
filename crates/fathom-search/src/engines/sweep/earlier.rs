//! Which states need not be expanded, because an earlier sweep has expanded them?
//!
//! Runs of keys whose first word is the value of the measure, so that what belongs to one bucket lies together. Where everything is kept, all states of earlier sweeps are here, and none is expanded
//! twice; where it is not, their roots alone: the persistent states.
//!
//! Memory: a page of fences per run, and what looks up. I/O: a block per key and run at most.

use fathom_disk::budget::ChargedVec;
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::sweep::retain_unmarked;
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig};
use fathom_disk::set::Tiers;

use super::sizes::Sizes;
use crate::files::place::Place;

/// Keys of value and record that are known.
#[derive(Debug)]
pub(super) struct Earlier {
    width: KeyWidth,
    pub(super) runs: Tiers,
    prober: Option<Prober>,
    keys: ChargedVec<u64>,
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

    /// The same for records of one value.
    pub(super) fn retain_unknown_of(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        value: u64,
        records: &mut ChargedVec<u64>,
    ) -> Result<(), DiskError> {
        if self.runs.runs().next().is_none() {
            return Ok(());
        }
        let words = place.width.words();
        let mut keys =
            std::mem::replace(&mut self.keys, ChargedVec::with_capacity(&place.budget, "earlier sweeps", 0)?);
        keys.clear();
        keys.reserve(records.len() / words * self.width.words())?;
        for record in records.chunks_exact(words) {
            keys.extend(&[value])?;
            keys.extend(record)?;
        }
        let kept = self.retain_unknown(place, sizes, &mut keys)?;
        records.clear();
        for key in keys[..kept].chunks_exact(self.width.words()) {
            records.extend(&key[1..])?;
        }
        self.keys = keys;
        Ok(())
    }
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
