//! Where are all states of a system, when something is asked of them that takes memory, too?
//!
//! In RAM, as long as that leaves enough for the question; else in files, in a folder that goes with them. What generated the states has given its other memory back.

use std::path::Path;
use std::time::Duration;

use fathom_disk::budget::Budget;
use fathom_model::system::TransitionSystem;
use fathom_search::engines::auto::{self, Disk, InRam};
use fathom_search::engines::tier::{Options, Plan};
use fathom_search::error::SearchError;
use fathom_search::files::closed_set::{KeptLayers, Reached};
use fathom_search::files::finished::Finished;

use crate::error::RunError;
use crate::folder::scratch::{PARENT, Scratch};
use crate::monitor::Monitor;

/// All states of a system, layer by layer.
pub(crate) struct States<'a> {
    system: &'a dyn TransitionSystem,
    budget: &'a Budget,
    monitor: &'a dyn Monitor,
    place: Place,
}

enum Place {
    Ram {
        in_ram: Box<InRam>,
        layers: u64,
        /// What a search goes on from that moves to disk.
        boundary: Vec<u8>,
    },
    Files(Box<Finished>),
    /// On the way from RAM to files; stays there if that fails.
    Nowhere,
}

/// What goes away is not committed on the way.
pub(crate) const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

impl<'a> States<'a> {
    /// The states that a complete search has kept, in so many layers, with the boundary that it ended at.
    pub(crate) fn new(
        system: &'a dyn TransitionSystem,
        kept: auto::Kept,
        (layers, boundary): (u64, Vec<u8>),
        budget: &'a Budget,
        monitor: &'a dyn Monitor,
    ) -> Result<States<'a>, SearchError> {
        let place = match kept {
            auto::Kept::Tier(tier) => Place::Files(Box::new(tier.into_finished()?)),
            auto::Kept::Ram(mut in_ram) => {
                in_ram.forget_table()?;
                Place::Ram { in_ram, layers, boundary }
            }
        };
        Ok(States { system, budget, monitor, place })
    }

    /// Whether they are in files.
    pub(crate) fn are_on_disk(&self) -> bool {
        matches!(self.place, Place::Files(_))
    }

    /// Asks something of all states. If the memory does not suffice for them and the question, they go to files, and it is asked again.
    pub(crate) fn ask<T>(
        &mut self,
        question: &dyn Fn(&dyn Reached) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let answer = self.with_reached(question);
        let out_of_memory = matches!(answer, Err(RunError::Search(SearchError::Budget(_))));
        if !out_of_memory || self.are_on_disk() {
            return answer;
        }
        self.monitor.say("the memory does not suffice for states and passes: the states go to disk");
        self.move_to_disk()?;
        self.with_reached(question)
    }

    fn with_reached<T>(&self, question: &dyn Fn(&dyn Reached) -> Result<T, RunError>) -> Result<T, RunError> {
        match &self.place {
            Place::Ram { in_ram, layers, .. } => {
                question(&KeptLayers::new(&**in_ram, *layers, self.system.shape())?)
            }
            Place::Files(finished) => question(&**finished),
            Place::Nowhere => unreachable!("an error was returned"),
        }
    }

    fn move_to_disk(&mut self) -> Result<(), RunError> {
        let Place::Ram { in_ram, boundary, .. } = std::mem::replace(&mut self.place, Place::Nowhere) else {
            unreachable!("they are in RAM");
        };
        let scratch = Scratch::under(Path::new(PARENT)).map_err(RunError::Scratch)?;
        let volume = scratch.into_volume().map_err(RunError::Scratch)?;
        let options = Options {
            tag: [0; 16],
            plan: Plan::LookUp,
            commit_every: NEVER,
            disk_limit: None,
            keep_from: 0,
            shares: None,
        };
        let disk = Disk { volume: &|| Ok(volume.clone()), lasts: false, options };
        let (kept, shape) = (auto::Kept::Ram(in_ram), self.system.shape());
        let finished = auto::finished(kept, &boundary, shape, self.budget, &disk)?;
        self.place = Place::Files(Box::new(finished));
        Ok(())
    }
}
