//! What of a shard's runs stays in memory, and when is a filter worth more?
//!
//! Runs, filter and trie share one pot. Runs go in first, the smallest before the others. All runs are folded into a trie, if they fit in that, once going through them has cost more than making
//! it and asking it would have; runs that come after it are gone through again, until they have cost as much. It is let go when it costs more than it spares.
//! Without it, where layers are dense, but there are many keys per candidate, one filter is asked before all runs are gone
//! through: it has what the runs leave, or up to half of the pot while nearly all candidates are new. Where layers are not dense, something takes the place of runs once look-ups that it
//! would have spared have cost more than building it, and lets go of it when layers were dense for a while: a trie that grows, else that filter.

use fathom_disk::error::DiskError;
use fathom_disk::filter::Bloom;
use fathom_disk::run::{RunConfig, Scan};
use fathom_disk::set::KeyStream;

use super::super::run_shapes::run_configs;
use super::super::shares::Shares;
use super::Known;
use super::folded::Room;
use crate::files::place::Place;
use crate::files::search_files::InRuns;

/// Bits of filter per key, as long as there is room for more: one of a hundred that are not there is not denied. Not measured.
const FILTER_BITS: usize = 10;
/// By how much a filter grows, so that making it anew goes through all keys a few times in all. Not measured.
const FILTER_GROWTH: usize = 4;
/// Bits per key that the number of probes of a full-grown filter suits: those that rether.6 had at 16.3 MiB, with 3.9 CPU s in place of 5.6 without.
const FILTER_BITS_LAST: u64 = 7;
/// Bits per key below which a filter denies too little: more than a third is not denied. Not measured.
const FILTER_BITS_LEAST: u64 = 2;
/// A smaller one is not worth making. A guess.
const FILTER_BYTES_MIN: usize = 16 << 10;
/// Bits per key within which a trie is tried early: where it fails, it does so after a small part of the keys. resistance.1, which takes half a bit, took 2.84 CPU s in place of 4.8 with such trials.
const FOLDED_BITS: u64 = 1;
/// What a trial has at least. A guess.
const FOLDED_BYTES_MIN: usize = 64 << 10;
/// Header, fences and footer of a run that is held, by and large.
const HELD_BYTES_MORE: u64 = 4 << 10;

impl Known {
    /// Lets go of what memory it can; [`Known::reshare`] follows.
    pub(in super::super) fn give_back(&mut self, place: &Place) -> Result<(), DiskError> {
        if self.folded.is_growing() || place.width.words() > 2 {
            self.flush(place)?;
        }
        if self.folded.is_there() {
            // It was worth making: so it is again, as soon as there is room.
            self.measures.fold_soon();
            self.unfold(place)?;
        }
        self.drop_filter(place)?;
        self.runs.runs().try_for_each(|(_, run)| run.forget_in_memory())
    }

    /// Takes other shares.
    pub(in super::super) fn reshare(&mut self, place: &Place, shares: &Shares) -> Result<(), DiskError> {
        self.shares = *shares;
        [self.dense_config, self.sparse_config] = run_configs(place.width, place.tag, shares);
        self.measures.forget_look_ups();
        // The next small layers have room within another share.
        self.small_keys = 0;
        self.keep_in_memory(place)
    }

    /// Keeps runs in memory, the smallest first, as far as their share goes; of the others the fences, as far as that share goes.
    pub(super) fn keep_in_memory(&mut self, place: &Place) -> Result<(), DiskError> {
        // Nothing is looked up in those that were set aside.
        self.aside.runs().try_for_each(|(_, run)| run.forget_in_memory())?;
        if self.folded.is_growing() {
            self.kept_bytes = 0;
            return Ok(());
        }
        self.keep_within(
            place,
            self.shares.run_bytes.saturating_sub(self.filter.bytes() + self.folded.bytes()),
        )
    }

    /// Lets go of the trie: its runs are asked again.
    pub(super) fn unfold(&mut self, place: &Place) -> Result<(), DiskError> {
        if self.folded.is_there() {
            self.folded.let_go();
            self.runs.append(&mut self.aside);
            // It has no key of theirs.
            self.drop_filter(place)?;
        }
        Ok(())
    }

    /// How a run of at most about so many bytes is written: where it will stay in memory, it is held there. Where nobody else closes a shard, it may be for a while beside those that it is made of.
    pub(super) fn holding(&self, place: &Place, bytes: u64) -> RunConfig {
        let config = self.config();
        let others = self.filter.bytes() + self.folded.bytes();
        let pot = self.shares.run_bytes.saturating_sub(others) as u64;
        let free = place.budget.free().saturating_sub(self.shares.reserve_bytes + self.shares.merge_bytes());
        let room = match self.shares.closers {
            1 => pot.min(free as u64) / 2,
            _ => pot.saturating_sub(self.kept_bytes as u64) / 2,
        };
        let wanted = bytes.saturating_add(HELD_BYTES_MORE);
        // Beside a trie that grows nothing is looked up in runs: memory is for small layers.
        let fits = wanted <= room && !self.folded.is_growing();
        let hold_bytes = if fits { wanted as usize } else { 0 };
        RunConfig { hold_bytes, hold_leaves: self.shares.reserve_bytes, ..config.clone() }
    }

    fn keep_within(&mut self, place: &Place, mut room: usize) -> Result<(), DiskError> {
        let mut wanted = Vec::new();
        for (_, run) in self.runs.runs() {
            let bytes = usize::try_from(run.bytes()).unwrap_or(usize::MAX);
            if bytes > room {
                run.forget_in_memory()?;
            } else {
                room -= bytes;
                wanted.push(run);
            }
        }
        for run in wanted.iter().filter(|run| !run.is_kept_in_memory()) {
            match run.keep_in_memory(&place.spare) {
                Ok(()) | Err(DiskError::Budget(_)) => {}
                Err(error) => return Err(error),
            }
        }
        wanted.retain(|run| run.is_kept_in_memory());
        self.kept_bytes = wanted.iter().map(|run| run.bytes() as usize).sum();
        let mut room = self.shares.fence_bytes;
        self.runs.load_fences(&place.spare, |run| {
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
        table_bytes + if self.folded.is_growing() { run_bytes.saturating_sub(filter_bytes) } else { 0 }
    }

    /// Builds the filters that the layer just closed has shown to be worth it, and lets go of one that nobody asks.
    pub(super) fn tend_filters(&mut self, place: &Place) -> Result<(), DiskError> {
        if self.folded.is_growing() {
            return Ok(());
        }
        self.measures.note_sweep(self.runs.runs().map(|(_, run)| run), self.folded.is_there());
        let run_keys = self.run_keys();
        if self.runs.count() > 0 && self.measures.sweeps_paid_for_fold(&self.shares, run_keys) {
            // Many small layers would be many runs beside a trie that does not grow.
            if self.measures.small_layer && self.fold_to_grow(place, self.shares.filter_bytes)? {
                return Ok(());
            }
            if self.fold_for_good(place)? {
                return Ok(());
            }
        }
        if self.folded.is_there() {
            return self.tend_trie(place);
        }
        let asked = !self.measures.dense || self.measures.filter_first;
        if self.measures.note_use(asked) && self.filter.bytes() > 0 {
            self.drop_filter(place)?;
            self.keep_in_memory(place)?;
        }
        match (asked, self.measures.dense) {
            (false, _) => Ok(()),
            (true, true) => self.fit_filter(place),
            (true, false) => self.grow_filter(place),
        }
    }

    /// Lets go of a trie that is not worth asking; makes one that grows where layers are tiny.
    fn tend_trie(&mut self, place: &Place) -> Result<(), DiskError> {
        if !self.measures.dense {
            return self.grow_filter(place);
        }
        let in_vain = self.measures.trie_asked_in_vain(self.aside.count(), self.runs.count());
        if self.measures.note_use(!in_vain) {
            self.measures.use_again();
            self.unfold(place)?;
            self.keep_in_memory(place)?;
        }
        Ok(())
    }

    /// Gives the filter what the runs leave of the memory for both. It stays as it is while they fit beside it, until it denies too little or could be much larger: making it anew goes
    /// through all keys.
    fn fit_filter(&mut self, place: &Place) -> Result<(), DiskError> {
        let (keys, held) = (self.runs.count(), self.filter.bytes() as u64);
        let (least, most) = self.shares.filter_bits;
        let spare = (self.shares.run_bytes as u64).saturating_sub(self.disk_bytes());
        // Where nearly all candidates are new, and the runs do not fold, it spares more than some of the runs in memory do.
        let mostly_new = self.measures.mostly_new() && !self.may_fold(place);
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
        let keys = self.run_keys();
        if self.measures.look_ups_paid_for_fold(&self.shares, keys)
            && self.fold_to_grow(place, self.shares.filter_bytes)?
        {
            return Ok(());
        }
        if self.measures.look_ups_ask_for_fold(keys)
            && self.fold_to_grow(place, FOLDED_BYTES_MIN.max((keys * FOLDED_BITS / 8) as usize))?
        {
            return Ok(());
        }
        if !self.measures.look_ups_paid_for_filter(&self.shares, keys) || self.folded.is_there() {
            return Ok(());
        }
        self.measures.filter_considered();
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

    /// Folds all runs into a trie that grows, made within so many bytes; says whether they fit.
    fn fold_to_grow(&mut self, place: &Place, within: usize) -> Result<bool, DiskError> {
        let room = self.shares.filter_bytes;
        let within = within.min(room);
        let fits = self.fold(place, Room { made: within, making: within, growing: Some(room) })?;
        self.folded.grow(room);
        Ok(fits)
    }

    /// Folds all runs into a trie that stays as it is, in all of the memory for runs; says whether they fit.
    fn fold_for_good(&mut self, place: &Place) -> Result<bool, DiskError> {
        let made = self.shares.run_bytes;
        // Where nobody else closes a shard, what nobody holds finds equal nodes while it is made.
        let making = if self.shares.closers == 1 { made + made / 2 } else { made };
        self.fold(place, Room { made, making, growing: None })
    }

    /// Whether all runs may fit in their memory as a trie.
    fn may_fold(&self, place: &Place) -> bool {
        let room = Room { made: self.shares.run_bytes, making: self.shares.run_bytes, growing: None };
        place.width.words() <= 2 && self.folded.is_promising(self.run_keys(), room)
    }

    /// Folds all runs, in place of the filter and of some of the runs in memory; says whether they fit.
    fn fold(&mut self, place: &Place, room: Room) -> Result<bool, DiskError> {
        let keys = self.run_keys();
        if place.width.words() > 2 || !self.folded.is_promising(keys, room) {
            return Ok(false);
        }
        self.unfold(place)?;
        if room.made + self.filter.bytes() > self.shares.run_bytes {
            self.drop_filter(place)?;
        }
        let taken = room.made + self.filter.bytes();
        self.keep_within(place, self.shares.run_bytes.saturating_sub(taken))?;
        // What goes through the runs takes its blocks as it comes to them.
        let most = place.spare.free().saturating_sub(self.runs.scan_bytes() + self.shares.merge_bytes());
        let room = Room { making: room.making.min(most).max(room.made), ..room };
        let words = place.width.words();
        let fits = self
            .runs
            .scan(&place.spare, words, self.shares.merge_bytes())
            .and_then(|mut stream| self.folded.fold(place, &mut stream, keys, room));
        let fits = match fits {
            // Another thread has the memory now: a trie is a luxury.
            Err(DiskError::Budget(_)) => false,
            outcome => outcome?,
        };
        if fits {
            self.drop_filter(place)?;
            self.aside.append(&mut self.runs);
        }
        self.keep_in_memory(place)?;
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
        let Ok(mut filter) = Bloom::new(blocks, expected, &place.spare) else {
            return self.keep_in_memory(place);
        };
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
