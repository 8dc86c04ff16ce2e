//! Where do files go, what are they called, and whose memory do they take?

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_disk::budget::{Budget, BudgetError};
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::{Run, Tag};
use fathom_disk::storage::Volume;
use fathom_disk::window::Window;

use super::shares::{Shares, TINY_BYTES};

/// What every part of the engine needs to write and read.
#[derive(Debug)]
pub(in crate::engines) struct Place {
    pub(in crate::engines) volume: Volume,
    pub(in crate::engines) budget: Budget,
    /// The same, for what can be done without.
    pub(in crate::engines) spare: Budget,
    pub(in crate::engines) width: KeyWidth,
    pub(in crate::engines) tag: Tag,
    /// The commit that the run was taken up from: with the number it makes names that are never used twice.
    sequence: u64,
    next: AtomicU64,
    /// Of a tiny budget, the turn to write candidates: there is memory for one writer.
    turn: Option<Mutex<()>>,
}

impl Place {
    pub(in crate::engines) fn new(
        volume: &Volume,
        budget: &Budget,
        width: KeyWidth,
        tag: Tag,
        sequence: u64,
    ) -> Place {
        let (volume, budget) = (volume.clone(), budget.clone());
        let turn = (budget.limit() < TINY_BYTES).then(Mutex::default);
        let spare = budget.clone();
        Place { volume, budget, spare, width, tag, sequence, next: AtomicU64::new(0), turn }
    }

    /// From now on memory is shared out like that, with so many bytes for the body.
    pub(super) fn share(&mut self, shares: &Shares, body_bytes: usize) {
        self.spare = self.budget.leaving(if shares.tight { 0 } else { shares.kept_free + body_bytes });
        self.turn = shares.tight.then(Mutex::default);
    }

    /// What a thread holds while it writes candidates. Without it, whether two threads of a tiny budget write at once, and are refused memory, would be a matter of timing.
    pub(super) fn turn_to_write(&self) -> Option<MutexGuard<'_, ()>> {
        self.turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A window of so many keys, or of as many as there is memory for.
    pub(super) fn window(&self, keys: usize) -> Result<Window, BudgetError> {
        let mut keys = keys;
        loop {
            match Window::new(self.width.bits(), keys, &self.spare) {
                Err(_) if keys > 0 => keys /= 2,
                outcome => return outcome,
            }
        }
    }

    /// A name that no file has or had.
    pub(in crate::engines) fn fresh_name(&self, kind: &str) -> String {
        format!("{kind}-{}-{}", self.sequence, self.next.fetch_add(1, Ordering::Relaxed))
    }

    pub(in crate::engines) fn open_run(&self, name: &str) -> Result<Run, DiskError> {
        Run::open(&self.volume, &self.budget, name, self.width, self.tag)
    }
}
