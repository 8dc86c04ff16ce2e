//! When is the closed set of a search put to rest, and with what memory?

use fathom_disk::error::DiskError;
use fathom_disk::run::Run;
use fathom_disk::storage::Phase;
use fathom_disk::window::Window;

use super::Tier;
use super::known::Kind;
use crate::error::SearchError;
use crate::files::at_rest::AtRest;
use crate::files::lock;

impl Tier {
    /// Puts the closed set of a complete search to rest. Memory for look-ups is given back: no layer can be closed any more. If room or memory does not suffice, everything stays as it is.
    pub fn put_to_rest(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("rest");
        if self.files.is_at_rest() {
            return Ok(());
        }
        self.flush_tables()?;
        let live_bytes = self.disk_use().closed_set;
        self.closing.put_tools_away();
        self.window = Window::new(self.files.place.width.bits(), 0, &self.files.place.budget)?;
        for shard in &self.shards {
            lock(shard).forget_memory(&self.files.place)?;
        }
        if let Some(run) = AtRest::try_write(&self.files.place, |name| self.merge_all(name))? {
            self.files.rest(run, live_bytes, self.disk_use().peak);
            self.commit(boundary)?;
        }
        Ok(())
    }

    /// Writes one run with all known keys.
    fn merge_all(&self, name: &str) -> Result<(), DiskError> {
        self.merge_until_readable(AtRest::readable_bytes(&self.files.place))?;
        let shards: Vec<_> = self.shards.iter().map(lock).collect();
        let runs: Vec<&Run> = shards.iter().flat_map(|known| known.all_runs().map(|(_, run)| run)).collect();
        AtRest::merge(&self.files.place, name, &runs)
    }

    /// Merges runs until blocks of all of them fit into so many bytes.
    fn merge_until_readable(&self, bytes: usize) -> Result<(), DiskError> {
        loop {
            let taken: usize = self
                .shards
                .iter()
                .map(|known| lock(known).all_runs().map(|(_, run)| AtRest::reading_bytes(run)).sum::<usize>())
                .sum();
            let most = self.shards.iter().max_by_key(|known| lock(known).all_runs().count());
            let Some(most) = most.filter(|known| taken > bytes && lock(known).all_runs().count() > 1) else {
                return Ok(());
            };
            lock(most).merge(&self.files.place, Kind::Asked, None)?;
        }
    }
}
