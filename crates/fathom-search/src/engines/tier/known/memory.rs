//! What of a shard's runs stays in memory, and when is a filter worth more?
//!
//! Runs and filters share one pot. Runs go in first, the smallest before the others. Where layers are dense, but there are many keys per candidate, one filter is asked before all runs are gone
//! through: it has what the runs leave, or up to half of the pot while nearly all candidates are new. Where layers are not dense, something takes the place of runs once look-ups that it
//! would have spared have cost more than building it, and lets go of it when layers were dense for a while: all runs folded into a trie if they fit in that, else that filter.

use fathom_disk::error::DiskError;
use fathom_disk::filter::Bloom;
use fathom_disk::run::Scan;
use fathom_disk::set::KeyStream;

use super::super::place::Place;
use super::super::shares::Shares;
use super::{Known, run_configs};

/// A filter that was not asked for so many layers is let go.
const FILTER_IDLE_LAYERS: u32 = 16;
/// Bits of filter per key, as long as there is room for more.
const FILTER_BITS: usize = 10;
/// By how much a filter grows.
const FILTER_GROWTH: usize = 4;
/// Bits per key that the number of probes of a full-grown filter suits.
const FILTER_BITS_LAST: u64 = 7;
/// Bits per key below which a filter denies too little.
const FILTER_BITS_LEAST: u64 = 2;
const FILTER_BYTES_MIN: usize = 16 << 10;
/// Folding is tried when one candidate was looked up for so many keys: as many more will come if the search goes on for as long as it has, and each is worth a few keys folded.
const FOLDED_KEYS: u64 = 4;
/// Bits per key within which it is tried then: where it fails, it fails early.
const FOLDED_BITS: u64 = 1;
const FOLDED_BYTES_MIN: usize = 64 << 10;

impl Known {
    /// Lets go of what memory it can; [`Known::reshare`] follows.
    pub(in super::super) fn give_back(&mut self, place: &Place) -> Result<(), DiskError> {
        if self.folded.is_there() {
            self.flush(place)?;
        }
        self.folded.let_go();
        self.drop_filter(place)?;
        self.runs.runs().for_each(|(_, run)| run.forget_in_memory());
        Ok(())
    }

    /// Takes other shares.
    pub(in super::super) fn reshare(&mut self, place: &Place, shares: &Shares) -> Result<(), DiskError> {
        self.shares = *shares;
        [self.dense_config, self.sparse_config] = run_configs(place, shares);
        (self.regret, self.lasting_regret, self.looked_up) = (0, 0, 0);
        // The next small layers have room within another share.
        self.small_keys = 0;
        self.keep_in_memory(place)
    }

    /// Keeps runs in memory, the smallest first, as far as their share goes; of the others the fences, as far as that share goes.
    pub(super) fn keep_in_memory(&mut self, place: &Place) -> Result<(), DiskError> {
        if self.folded.is_there() {
            // Nothing is looked up in them.
            self.runs.runs().for_each(|(_, run)| run.forget_in_memory());
            return Ok(());
        }
        self.keep_within(place, self.shares.run_bytes.saturating_sub(self.filter.bytes()))
    }

    fn keep_within(&mut self, place: &Place, mut room: usize) -> Result<(), DiskError> {
        let mut wanted = Vec::new();
        for (_, run) in self.runs.runs() {
            let bytes = usize::try_from(run.bytes()).unwrap_or(usize::MAX);
            if bytes > room {
                run.forget_in_memory();
            } else {
                room -= bytes;
                wanted.push(run);
            }
        }
        for run in wanted.into_iter().filter(|run| !run.is_kept_in_memory()) {
            run.keep_in_memory(&place.budget)?;
        }
        let mut room = self.shares.fence_bytes;
        self.runs.load_fences(&place.budget, |run| {
            let fences = run.blocks() as usize * (place.width.words() * 8 + 16);
            let wanted = !run.is_kept_in_memory() && fences <= room;
            if wanted {
                room -= fences;
            }
            wanted
        })
    }

    /// What small layers may take: where runs are folded, also what the trie leaves of the runs' memory.
    pub(super) fn small_bytes(&self) -> usize {
        let Shares { table_bytes, run_bytes, filter_bytes, .. } = self.shares;
        table_bytes + if self.folded.is_there() { run_bytes.saturating_sub(filter_bytes) } else { 0 }
    }

    /// Builds the filters that the layer just closed has shown to be worth it, and lets go of one that nobody asks.
    pub(super) fn tend_filters(&mut self, place: &Place) -> Result<(), DiskError> {
        if self.folded.is_there() {
            return Ok(());
        }
        if self.dense && !self.far {
            self.idle += 1;
            if self.idle == FILTER_IDLE_LAYERS && self.filter.bytes() > 0 {
                self.drop_filter(place)?;
                self.keep_in_memory(place)?;
            }
            return Ok(());
        }
        self.idle = 0;
        if self.dense { self.fit_filter(place) } else { self.grow_filter(place) }
    }

    /// Gives the filter what the runs leave of the memory for both. It stays as it is while they fit beside it, until it denies too little or could be much larger: making it anew goes
    /// through all keys.
    fn fit_filter(&mut self, place: &Place) -> Result<(), DiskError> {
        let (keys, held) = (self.runs.count(), self.filter.bytes() as u64);
        let (least, most) = self.shares.filter_bits;
        let spare = (self.shares.run_bytes as u64).saturating_sub(self.disk_bytes());
        // Where nearly all candidates are new it spares more than some of the runs in memory do.
        let mostly_new = self.met <= self.sought / 4;
        let room = if mostly_new { spare.max(self.shares.run_bytes as u64 / 2) } else { spare };
        let most_bytes = room.min(self.shares.filter_bytes as u64);
        let crowded = keys > self.filter_keys && most_bytes >= held + held / 2;
        if held > 0 && held <= room && held * 8 >= keys * least && !crowded {
            return Ok(());
        }
        let expected = keys * 2;
        // Runs that grow need not drive it out at once.
        let bytes = most_bytes.min(room - room / 8).min(expected * most / 8);
        if bytes * 8 >= (keys + keys / 4) * least {
            return self.rebuild_filter(place, bytes as usize, expected);
        }
        if held > 0 {
            self.drop_filter(place)?;
            self.keep_in_memory(place)?;
        }
        Ok(())
    }

    fn drop_filter(&mut self, place: &Place) -> Result<(), DiskError> {
        self.filter = Bloom::new(0, 0, &place.budget)?;
        Ok(())
    }

    /// Makes the filter before all runs larger, from their keys, once look-ups that it should have spared have cost more than that.
    fn grow_filter(&mut self, place: &Place) -> Result<(), DiskError> {
        let keys = self.runs.count();
        let (for_filter, for_trie) = self.shares.regret_per_key;
        if self.lasting_regret >= keys * for_trie {
            (self.lasting_regret, self.looked_up) = (0, 0);
            if self.fold(place, self.shares.filter_bytes)? {
                return Ok(());
            }
        }
        if self.looked_up >= keys / FOLDED_KEYS {
            self.looked_up = 0;
            if self.fold(place, FOLDED_BYTES_MIN.max((keys * FOLDED_BITS / 8) as usize))? {
                return Ok(());
            }
        }
        if self.regret < keys * for_filter {
            return Ok(());
        }
        self.regret = 0;
        let wanted = keys as usize * FILTER_BITS / 8 * FILTER_GROWTH;
        let bytes = wanted.max(FILTER_BYTES_MIN).min(self.filter_bytes_max());
        if bytes < self.filter.bytes() * 5 / 4 || bytes == 0 {
            return Ok(());
        }
        let expected = if bytes >= self.shares.filter_bytes {
            bytes as u64 * 8 / FILTER_BITS_LAST
        } else {
            keys * FILTER_GROWTH as u64
        };
        self.rebuild_filter(place, bytes, expected)
    }

    /// Folds all runs, in place of the filters and of some of the runs in memory; says whether they fit within so many bytes.
    fn fold(&mut self, place: &Place, within: usize) -> Result<bool, DiskError> {
        let room = self.shares.filter_bytes;
        let within = within.min(room);
        let keys = self.runs.count();
        if place.width.words() > 2 || !self.folded.is_promising(keys, within) {
            return Ok(false);
        }
        if within + self.filter.bytes() > self.shares.run_bytes {
            self.drop_filter(place)?;
        }
        let taken = within + self.filter.bytes();
        self.keep_within(place, self.shares.run_bytes.saturating_sub(taken))?;
        let words = place.width.words();
        let fits = self
            .runs
            .scan(&place.budget, words, self.shares.scan_bytes)
            .and_then(|mut stream| self.folded.fold(place, &mut stream, keys, (within, room)));
        let fits = match fits {
            // Another thread has the memory now: a trie is a luxury.
            Err(DiskError::Budget(_)) => false,
            outcome => outcome?,
        };
        if fits {
            self.drop_filter(place)?;
        }
        self.keep_in_memory(place)?;
        self.folded.grow(room);
        Ok(fits)
    }

    /// What a filter may take: not what the runs take in memory, if both can be there.
    fn filter_bytes_max(&self) -> usize {
        let spare = (self.shares.run_bytes as u64).saturating_sub(self.disk_bytes());
        let enough = self.runs.count() * FILTER_BITS_LEAST / 8;
        let most = if spare >= enough { spare as usize } else { usize::MAX };
        self.shares.filter_bytes.min(most)
    }

    /// A filter of about `bytes` with every key of every run, for so many keys, in place of some of the runs in memory.
    fn rebuild_filter(&mut self, place: &Place, bytes: usize, expected: u64) -> Result<(), DiskError> {
        self.drop_filter(place)?;
        self.keep_within(place, self.shares.run_bytes.saturating_sub(bytes))?;
        let blocks = (bytes / 64).saturating_sub(1);
        let mut filter = Bloom::new(blocks, expected, &place.budget)?;
        let buffer = self.shares.scan_bytes;
        for (_, run) in self.runs.runs() {
            let mut scan = Scan::new(run, &place.budget, buffer)?;
            while scan.advance()? {
                filter.insert_batch(scan.keys(), place.width.words());
            }
        }
        (self.filter, self.filter_keys) = (filter, expected);
        Ok(())
    }

    /// Gives the memory of filters and of kept runs back: nothing is looked up any more.
    pub(in super::super) fn forget_memory(&mut self, place: &Place) -> Result<(), DiskError> {
        (self.shares.run_bytes, self.shares.fence_bytes) = (0, 0);
        self.give_back(place)
    }
}
