//! Where do files go, what are they called, and whose memory do they take?

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_disk::budget::{Budget, BudgetError};
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::{Run, RunConfig, RunWriter, Tag};
use fathom_disk::set::Tiers;
use fathom_disk::storage::Volume;
use fathom_disk::window::Window;

/// What every part of the engine needs to write and read.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) volume: Volume,
    pub(crate) budget: Budget,
    /// The same, for what can be done without.
    pub(crate) spare: Budget,
    pub(crate) width: KeyWidth,
    pub(crate) tag: Tag,
    /// The commit that the run was taken up from: with the number it makes names that are never used twice.
    sequence: u64,
    next: AtomicU64,
    /// Where there is memory for one writer, the turn to write candidates.
    turn: Option<Mutex<()>>,
}

impl Place {
    pub(crate) fn new(volume: &Volume, budget: &Budget, width: KeyWidth, tag: Tag, sequence: u64) -> Place {
        let (volume, budget) = (volume.clone(), budget.clone());
        let spare = budget.clone();
        Place { volume, budget, spare, width, tag, sequence, next: AtomicU64::new(0), turn: None }
    }

    /// From now on what can be done without leaves so many bytes free; with `one_writer`, threads write candidates in turn.
    pub(crate) fn leave_free(&mut self, bytes: usize, one_writer: bool) {
        self.spare = self.budget.leaving(bytes);
        self.turn = one_writer.then(Mutex::default);
    }

    /// What a thread holds while it writes candidates. Without it, whether two threads of a small budget write at once, and are refused memory, would be a matter of timing.
    pub(crate) fn turn_to_write(&self) -> Option<MutexGuard<'_, ()>> {
        self.turn.as_ref().map(|turn| turn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A window of so many keys, or of as many as there is memory for.
    pub(crate) fn window(&self, keys: usize) -> Result<Window, BudgetError> {
        let mut keys = keys;
        loop {
            match Window::new(self.width.bits(), keys, &self.spare) {
                Err(_) if keys > 0 => keys /= 2,
                outcome => return outcome,
            }
        }
    }

    /// A name that no file has or had.
    pub(crate) fn fresh_name(&self, kind: &str) -> String {
        format!("{kind}-{}-{}", self.sequence, self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Writes a run that no other is called like.
    pub(crate) fn run_writer(&self, config: &RunConfig) -> Result<RunWriter, DiskError> {
        self.named_run_writer(&self.fresh_name("run"), config)
    }

    /// Writes a run of that name.
    pub(crate) fn named_run_writer(&self, name: &str, config: &RunConfig) -> Result<RunWriter, DiskError> {
        RunWriter::new(&self.volume, &self.budget, name, config)
    }

    /// Merges the runs of a level, or without one the smallest two, reading within so many bytes.
    pub(crate) fn merge(
        &self,
        runs: &mut Tiers,
        level: Option<usize>,
        config: &RunConfig,
        within: usize,
    ) -> Result<(), DiskError> {
        let (volume, budget, name) = (&self.volume, &self.budget, self.fresh_name("run"));
        match level {
            Some(level) => runs.merge_level(volume, budget, level, &name, config, within, false),
            None => runs.merge_smallest(volume, budget, &name, config, within, false),
        }
    }

    pub(crate) fn open_run(&self, name: &str) -> Result<Run, DiskError> {
        Run::open(&self.volume, &self.budget, name, self.width, self.tag)
    }
}
