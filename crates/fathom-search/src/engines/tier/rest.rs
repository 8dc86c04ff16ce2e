//! What becomes of the closed set of a search that is complete and is kept?
//!
//! All runs of all shards are merged into one, in large blocks and the codec that is smallest on the data: a fifth of what they took live, in the median. It is committed like
//! everything else: until then the runs of the search are what counts. Nothing looks keys up in it any more; `audit` reads it from end to end.
//!
//! Memory: what the search has given back; blocks are smaller where that is little. I/O: the closed set is read once and written once, and once more for every pass that the number of runs
//! takes beyond what memory can read at one time.

use fathom_disk::error::DiskError;
use fathom_disk::run::{Run, RunConfig, RunWriter, Scan};
use fathom_disk::set::{KeyStream, Merge};
use fathom_disk::storage::Phase;
use fathom_disk::window::Window;

use super::known::Kind;
use super::{Tier, lock};
use crate::error::SearchError;

/// The closed set in one run.
#[derive(Debug)]
pub(super) struct AtRest {
    pub(super) run: Run,
    /// What the set took when the search ended.
    pub(super) live_bytes: u64,
}

impl Tier {
    /// Puts the closed set of a complete search to rest. Memory for look-ups is given back: no layer can be closed any more. If room or memory does not suffice, everything stays as it is.
    pub fn put_to_rest(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("rest");
        if self.at_rest.is_some() {
            return Ok(());
        }
        self.flush_tables()?;
        let live_bytes = self.disk_use().closed_set;
        self.closing.tools = Vec::new();
        self.window = Window::new(self.place.width.bits(), 0, &self.place.budget)?;
        for shard in &self.shards {
            lock(shard).forget_memory(&self.place)?;
        }
        let name = self.place.fresh_name("rest");
        let merged = self.merge_all(&name).and_then(|()| self.place.open_run(&name));
        match merged {
            Ok(run) => {
                self.disk_peak = self.disk_peak.max(self.disk_use().peak + run.bytes());
                self.at_rest = Some(AtRest { run, live_bytes });
                self.commit(boundary)
            }
            Err(DiskError::Budget(_)) => self.stay_live(&name),
            Err(error) if error.is_full() => self.stay_live(&name),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes what was begun.
    fn stay_live(&self, name: &str) -> Result<(), SearchError> {
        let volume = &self.place.volume;
        if volume.list().map_err(DiskError::from)?.iter().any(|other| other == name) {
            volume.remove(name).map_err(DiskError::from)?;
        }
        Ok(())
    }

    /// Writes one run with all known keys.
    fn merge_all(&mut self, name: &str) -> Result<(), DiskError> {
        let (words, free) = (self.place.width.words(), self.place.budget.free());
        self.merge_until_readable(free / 4)?;
        let shards: Vec<_> = self.shards.iter().map(lock).collect();
        let runs: Vec<&Run> = shards.iter().flat_map(|known| known.all_runs().map(|(_, run)| run)).collect();
        let config = RunConfig::resting_within(self.place.width, self.place.tag, free / 2);
        let mut writer = RunWriter::new(&self.place.volume, &self.place.budget, name, &config)?;
        let share = free / 8 / (runs.len() + 1);
        let scans = runs
            .iter()
            .map(|run| Scan::new(run, &self.place.budget, share))
            .collect::<Result<Vec<_>, DiskError>>()?;
        let mut all = Merge::new(&self.place.budget, words, scans, (share / (words * 8)).clamp(1, 4096))?;
        while all.advance()? {
            writer.push(all.keys())?;
        }
        writer.finish(true)?;
        Ok(())
    }

    /// Merges runs until blocks of all of them fit into so many bytes.
    fn merge_until_readable(&mut self, bytes: usize) -> Result<(), DiskError> {
        let needed = |run: &Run| run.frame_bytes_max() + run.block_keys_max() * run.width().words() * 8;
        loop {
            let taken: usize = self
                .shards
                .iter()
                .map(|known| lock(known).all_runs().map(|(_, run)| needed(run)).sum::<usize>())
                .sum();
            let most = self.shards.iter().max_by_key(|known| lock(known).all_runs().count());
            let Some(most) = most.filter(|known| taken > bytes && lock(known).all_runs().count() > 1) else {
                return Ok(());
            };
            lock(most).merge(&self.place, Kind::Asked, None)?;
        }
    }
}
