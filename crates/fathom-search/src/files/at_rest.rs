//! What becomes of the closed set of a search that is complete and is kept?
//!
//! All its runs are merged into one, in large blocks and the codec that is smallest on the data: a fifth of what they took live, in the median. It is committed like everything else: until
//! then the runs of the search are what counts. Nothing looks keys up in it any more; `audit` reads it from end to end.
//!
//! Memory: what the search has given back; blocks are smaller where that is little. I/O: the closed set is read once and written once.

use fathom_disk::error::DiskError;
use fathom_disk::run::{Run, RunConfig, Scan};
use fathom_disk::set::{KeyStream, Merge, Sorter};

use super::layer_store::{LayerCursor, LayerStore};
use super::place::Place;

/// The closed set in one run.
#[derive(Debug)]
pub(crate) struct AtRest {
    pub(crate) run: Run,
    /// What the set took when the search ended.
    pub(crate) live_bytes: u64,
}

/// What runs may take together to be read side by side, of what is free when they are merged to rest.
const READ_PART: usize = 4;

impl AtRest {
    /// Bytes that the blocks of all runs that are put to rest may take when they are read side by side.
    pub(crate) fn readable_bytes(place: &Place) -> usize {
        place.budget.free() / READ_PART
    }

    /// What reading a run beside others takes.
    pub(crate) fn reading_bytes(run: &Run) -> usize {
        run.frame_bytes_max() + run.block_keys_max() * run.width().words() * 8
    }

    /// The run that `merge` writes under the name it is given; none if room or memory does not suffice: then nothing of it is left.
    pub(crate) fn try_write(
        place: &Place,
        merge: impl FnOnce(&str) -> Result<(), DiskError>,
    ) -> Result<Option<Run>, DiskError> {
        let name = place.fresh_name("rest");
        match merge(&name).and_then(|()| place.open_run(&name)) {
            Ok(run) => Ok(Some(run)),
            Err(DiskError::Budget(_)) => given_up(place, &name),
            Err(error) if error.is_full() => given_up(place, &name),
            Err(error) => Err(error),
        }
    }

    /// Writes one run with the keys of all these, which are disjoint.
    pub(crate) fn merge(place: &Place, name: &str, runs: &[&Run]) -> Result<(), DiskError> {
        let (words, free) = (place.width.words(), place.budget.free());
        let config = RunConfig::resting_within(place.width, place.tag, free / 2);
        let mut writer = place.named_run_writer(name, &config)?;
        let share = free / 8 / (runs.len() + 1);
        let scans = runs
            .iter()
            .map(|run| Scan::new(run, &place.budget, share))
            .collect::<Result<Vec<_>, DiskError>>()?;
        let mut all = Merge::new(&place.budget, words, scans, (share / (words * 8)).clamp(1, 4096))?;
        while all.advance()? {
            writer.push(all.keys())?;
        }
        writer.finish(true)?;
        Ok(())
    }

    /// Writes one run with the states of all stages of a log, sorted within so many bytes.
    pub(crate) fn sort_stages(
        place: &Place,
        name: &str,
        store: &LayerStore,
        bytes: usize,
    ) -> Result<(), DiskError> {
        let Place { volume, budget, width, tag, .. } = place;
        let mut sorter = Sorter::new(volume, budget, &place.fresh_name("rested"), *width, *tag, bytes)?;
        let mut cursor = LayerCursor::new(*width, budget)?;
        for stage in 0..store.layer_count() {
            cursor.open(store, stage)?;
            while let Some(records) = cursor.next_keys(store)? {
                sorter.push(records.words())?;
            }
        }
        drop(cursor);
        let sorted = sorter.finish()?;
        let config = RunConfig::resting_within(*width, *tag, budget.free() / 4);
        let mut writer = place.named_run_writer(name, &config)?;
        let mut stream = sorted.stream()?;
        while stream.advance()? {
            writer.push(stream.keys())?;
        }
        drop(stream);
        writer.finish(true)?;
        sorted.remove()
    }
}

/// Removes what was begun.
fn given_up(place: &Place, name: &str) -> Result<Option<Run>, DiskError> {
    let volume = &place.volume;
    if volume.list()?.iter().any(|other| other == name) {
        volume.remove(name)?;
    }
    Ok(None)
}
