//! What may a search use, and when does it give up?

use std::time::Duration;

use fathom_disk::budget::{BUDGET_BYTES_MIN, Budget};
use fathom_disk::storage::direct::heap;

use crate::error::RunError;
use crate::machine;

/// What a run may use, and when it gives up.
#[derive(Clone, Debug)]
pub struct Resources {
    /// The most bytes of memory the process may have resident.
    pub ram: u64,
    /// Bytes for the structures of the search, in place of what `ram` leaves.
    pub data_budget: Option<u64>,
    /// How many threads expand states.
    pub threads: usize,
    /// Whether the model is compiled to machine code.
    pub jit: bool,
    /// How long the search may take.
    pub time_limit: Option<Duration>,
    /// The last layer whose states are expanded.
    pub max_depth: Option<u64>,
    /// Whether no state is taken to be deeper than that: then what is not violated up to there holds, on that assumption.
    pub assume_depth: bool,
}

impl Resources {
    /// Half the machine's memory, all its processors, no limits.
    pub fn of_this_machine() -> Resources {
        Resources {
            ram: machine::default_ram(),
            data_budget: None,
            threads: machine::processors(),
            jit: true,
            time_limit: None,
            max_depth: None,
            assume_depth: false,
        }
    }

    /// The data budget of a run that begins now: what was asked for, or what the memory of the process leaves.
    pub fn data_budget(&self) -> Result<Budget, RunError> {
        // What is free already is no part of the floor: what reading and compiling took, or a search before this one.
        heap::give_free_pages_back();
        let floor = machine::ram_floor().saturating_add(machine::thread_bytes(self.threads));
        let least = floor.saturating_add(BUDGET_BYTES_MIN as u64);
        if self.ram < least {
            return Err(RunError::RamTooSmall { given: self.ram, least });
        }
        let bytes = self.data_budget.unwrap_or(self.ram - floor);
        Ok(Budget::new(usize::try_from(bytes).unwrap_or(usize::MAX)))
    }
}
