//! How is a boundary made to last, and taken up again?
//!
//! The filter is built again from the runs when a search is taken up; the window is not: it holds candidates that die with the process.

use std::time::Instant;

use fathom_disk::error::DiskError;
#[cfg(feature = "sabotage")]
use fathom_disk::sabotage::is_chosen;
use fathom_disk::storage::Phase;

use super::allotment::Allotment;
use super::known::Known;
use super::shares::Shares;
use super::{Options, Tier};
use crate::error::SearchError;
use crate::files::commits::{Commits, Committed};
use crate::files::lock;
use crate::files::place::Place;

impl Tier {
    /// Makes everything up to the last closed layer last. What is in memory goes to disk first.
    pub(super) fn commit(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("commit");
        let began = Instant::now();
        if !self.files.is_at_rest() {
            self.flush_tables()?;
        }
        self.files.commit(began, &self.shards, boundary)
    }

    pub(super) fn flush_tables(&mut self) -> Result<(), SearchError> {
        Ok(self.shards.iter().try_for_each(|shard| lock(shard).flush(&self.files.place))?)
    }
}

/// Takes up what a commit says.
pub(super) fn take_up(
    place: Place,
    commits: Commits,
    (allotment, shares): (Allotment, Shares),
    options: Options,
    Committed { cursor, runs, at_rest }: Committed,
) -> Result<(Tier, Option<Vec<u8>>), SearchError> {
    let in_layers = cursor.shards == 0;
    let shares = if in_layers { shares } else { shares.with_shards(cursor.shards) };
    let shares = Shares { log_block_bytes: cursor.log_block_bytes, ..shares };
    let mut shards =
        (0..shares.shards).map(|_| Known::new(&place, &shares)).collect::<Result<Vec<_>, DiskError>>()?;
    for run in &runs {
        shards[run.shard].take_up(&place, run.level, place.open_run(&run.name)?)?;
    }
    let store = cursor.open_layers(&place.volume, &place.budget)?;
    let mut tier = Tier::assemble(place, commits, (allotment, shares), options, store, shards)?;
    #[cfg(feature = "sabotage")]
    reload_window(&mut tier);
    at_rest.map_or(Ok(()), |at_rest| tier.files.take_up_at_rest(at_rest))?;
    if in_layers {
        tier.know_layers()?;
    }
    tier.files.frontier().rewind()?;
    Ok((tier, Some(cursor.boundary)))
}

/// Deliberately wrong where that was chosen: the window of a search that ended is taken up by the next one.
#[cfg(feature = "sabotage")]
static WINDOW: std::sync::Mutex<Option<(u32, fathom_disk::window::Window)>> = std::sync::Mutex::new(None);

#[cfg(feature = "sabotage")]
fn reload_window(tier: &mut Tier) {
    if is_chosen("window")
        && let Some((bits, window)) = lock(&WINDOW).take()
        && bits == tier.files.place.width.bits()
    {
        tier.window = window;
    }
}

#[cfg(feature = "sabotage")]
impl Drop for Tier {
    fn drop(&mut self) {
        let bits = self.files.place.width.bits();
        let none = fathom_disk::window::Window::new(bits, 0, &fathom_disk::budget::Budget::unlimited());
        if let Ok(none) = none
            && is_chosen("window")
        {
            *lock(&WINDOW) = Some((bits, std::mem::replace(&mut self.window, none)));
        }
    }
}
