//! Two policies of the layer loop, one after the other: in RAM as long as that suffices, then on disk from there on.
//!
//! When the data budget refuses [`super::ram`] what it needs, its closed layers become those of [`super::tier`], and the layer that was being expanded is expanded again.
//! Results are those of either engine: the same layers, counts, checksum, findings and paths.

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::system::TransitionSystem;

use super::ram::RamTable;
use super::tier::{Options, Tier};
use crate::error::SearchError;
use crate::layer_loop::{self, Ending, Observer, Outcome, Settings};
use crate::trace::{self, Path};

/// What was kept of a search, for paths.
#[derive(Debug)]
pub enum Kept {
    /// It ended in RAM.
    Ram(Box<RamTable>),
    /// It ended on disk.
    Tier(Box<Tier>),
}

/// What the disk side needs when it comes to that.
pub struct Disk<'a> {
    /// Makes the volume, when it is needed.
    pub volume: &'a dyn Fn() -> Result<Volume, SearchError>,
    /// How to use it.
    pub options: Options,
    /// Told when the search goes to disk, with the layers and states it takes along.
    pub moved: &'a dyn Fn(u64, u64),
}

/// Searches breadth-first from the initial states, in RAM first.
pub fn run(
    system: &dyn TransitionSystem,
    budget: &Budget,
    settings: &Settings,
    observer: &dyn Observer,
    disk: &Disk<'_>,
) -> Result<(Kept, Outcome), SearchError> {
    let attempt = RamTable::new(system.shape(), budget, settings.threads).and_then(|mut table| {
        let outcome = layer_loop::run(system, &mut table, budget, settings, observer)?;
        Ok((table, outcome))
    });
    let (table, outcome) = match attempt {
        // Not even the buffers fit.
        Err(SearchError::Budget(_)) => return begin(system, budget, settings, observer, disk),
        other => other?,
    };
    if outcome.ending != Ending::Budget {
        return Ok((Kept::Ram(Box::new(table)), outcome));
    }
    let layers = table.into_layers();
    if layers.count() == 0 {
        drop(layers);
        return begin(system, budget, settings, observer, disk);
    }
    (disk.moved)(layers.count() as u64, outcome.layers.sum());
    let boundary = outcome.boundary.clone();
    drop(outcome);
    let volume = (disk.volume)()?;
    let (mut tier, _) = Tier::open(&volume, budget, system.shape(), settings.threads, disk.options)?;
    tier.adopt(&layers)?;
    drop(layers);
    let outcome = layer_loop::go_on(system, &mut tier, budget, settings, observer, &boundary)?;
    Ok((Kept::Tier(Box::new(tier)), outcome))
}

/// Searches on disk from the start.
fn begin(
    system: &dyn TransitionSystem,
    budget: &Budget,
    settings: &Settings,
    observer: &dyn Observer,
    disk: &Disk<'_>,
) -> Result<(Kept, Outcome), SearchError> {
    (disk.moved)(0, 0);
    let volume = (disk.volume)()?;
    let (mut tier, _) = Tier::open(&volume, budget, system.shape(), settings.threads, disk.options)?;
    let outcome = layer_loop::run(system, &mut tier, budget, settings, observer)?;
    Ok((Kept::Tier(Box::new(tier)), outcome))
}

impl Kept {
    /// The least path to a state of a layer.
    pub fn path_to(
        &self,
        system: &dyn TransitionSystem,
        budget: &Budget,
        layer: u64,
        record: &[u64],
    ) -> Result<Option<Path>, SearchError> {
        match self {
            Kept::Ram(table) => trace::path_to(system, &**table, budget, layer, record),
            Kept::Tier(tier) => trace::path_to(system, &**tier, budget, layer, record),
        }
    }
}
