//! Where do candidates wait until their layer is closed?
//!
//! A thread has a buffer per shard. A full one is sorted and freed of equal keys; if that does not make much room, it goes to disk as a run. When the
//! layer is closed, all that was collected for a shard is one ascending stream.

use fathom_disk::budget::{Charge, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::hash::{for_caches, hash_leading_half};
use fathom_disk::run::{RunConfig, RunWriter, Scan};
use fathom_disk::set::sorter::CANDIDATES;
use fathom_disk::set::{KeyStream, Merge, SliceStream, Tiers, sort_unique};
use fathom_disk::window::Window;
use fathom_model::record::Records;

use super::place::Place;
use super::shares::Shares;

/// What one thread has collected.
#[derive(Debug)]
pub struct Candidates {
    shards: Vec<Collected>,
    latest: Latest,
    /// Which of a piece were not in the window.
    missed: Vec<u32>,
    config: RunConfig,
    spill_bytes: usize,
    runs_max: usize,
    _charge: Charge,
}

/// What one thread has collected for one shard.
#[derive(Debug)]
pub(super) struct Collected {
    keys: ChargedVec<u64>,
    /// Runs of sorted keys; the same key may be in several.
    runs: Tiers,
    /// Bytes that were written for them.
    pub(super) spilled: u64,
}

/// Candidates that are shown to the window at one time.
const PIECE_KEYS: usize = 256;
/// Runs of one size that are merged into one, at most: a layer of any size leaves a few dozen.
const SPILL_FAN: usize = 16;

impl Candidates {
    pub(super) fn new(place: &Place, shares: &Shares) -> Result<Candidates, DiskError> {
        let words = place.width.words();
        let buffer =
            || ChargedVec::with_capacity(&place.budget, "candidates", shares.candidate_keys.max(1) * words);
        let fan = (shares.candidate_runs_max / 2).clamp(2, SPILL_FAN);
        let shards = (0..shares.shards)
            .map(|_| Ok(Collected { keys: buffer()?, runs: Tiers::new(fan), spilled: 0 }))
            .collect::<Result<_, DiskError>>()?;
        let piece = PIECE_KEYS.min(shares.candidate_keys.max(1));
        Ok(Candidates {
            shards,
            latest: Latest::new(place, piece)?,
            _charge: place.budget.charge("candidates", piece * 4)?,
            missed: Vec::with_capacity(piece),
            config: RunConfig {
                kind: CANDIDATES,
                codecs: &[],
                ..RunConfig::within(place.width, place.tag, shares.spill_bytes)
            },
            spill_bytes: shares.spill_bytes,
            runs_max: shares.candidate_runs_max,
        })
    }

    /// Lets go of its buffers, which are empty; [`Candidates::reshare`] follows.
    pub(super) fn give_back(&mut self, place: &Place) -> Result<(), DiskError> {
        for collected in &mut self.shards {
            assert!(collected.count(place.width.words()) == 0, "a layer was closed");
            collected.keys = ChargedVec::with_capacity(&place.budget, "candidates", 0)?;
        }
        Ok(())
    }

    /// Takes other shares.
    pub(super) fn reshare(&mut self, place: &Place, shares: &Shares) -> Result<(), DiskError> {
        *self = Candidates::new(place, shares)?;
        Ok(())
    }

    /// Takes candidates, those aside that the window has met.
    pub(super) fn offer(
        &mut self,
        place: &Place,
        window: &Window,
        candidates: Records<'_>,
    ) -> Result<(), DiskError> {
        let words = place.width.words();
        for piece in candidates.words().chunks(self.missed.capacity() * words) {
            self.missed.clear();
            let others = self.latest.keep_others(words, piece);
            window.meet_batch(others, &mut self.missed);
            for index in 0..self.missed.len() {
                let key = &others[self.missed[index] as usize * words..][..words];
                let shard = shard_of(key, place.width.bits(), self.shards.len());
                let collected = &mut self.shards[shard];
                if collected.keys.len() == collected.keys.capacity() {
                    let _turn = place.turn_to_write();
                    collected.make_room(place, &self.config, self.spill_bytes, self.runs_max)?;
                }
                collected.keys.extend(key)?;
            }
        }
        Ok(())
    }

    /// Bytes of the keys that were collected, repeats counted.
    pub(super) fn bytes(&self, words: usize) -> u64 {
        self.shards.iter().map(|collected| collected.count(words) * words as u64 * 8).sum()
    }

    /// What was collected, shard by shard.
    pub(super) fn shards(&mut self) -> impl Iterator<Item = &mut Collected> {
        self.shards.iter_mut()
    }
}

/// The shard of a key: neighbours share it mostly, so gaps stay small.
#[inline]
pub(super) fn shard_of(key: &[u64], bits: u32, shards: usize) -> usize {
    if shards == 1 {
        return 0;
    }
    ((u128::from(for_caches(hash_leading_half(key, bits))) * shards as u128) >> 64) as usize
}

/// The very latest candidates of a thread, one for each value of a hash: a step aside from the window, in the nearest cache. Keys of one and two words only.
#[derive(Debug)]
struct Latest {
    keys: ChargedVec<u64>,
    /// Candidates of a piece that are not among them.
    others: ChargedVec<u64>,
}

impl Latest {
    /// For pieces of at most `piece` keys. Takes 32 KiB, or nothing if keys are wide or the budget is small.
    fn new(place: &Place, piece: usize) -> Result<Latest, DiskError> {
        let budget = &place.budget;
        let mut keys = ChargedVec::with_capacity(budget, "candidates", 0)?;
        let mut others = ChargedVec::with_capacity(budget, "candidates", 0)?;
        let words = place.width.words();
        if budget.limit() >= LATEST_BUDGET && words <= 2 {
            // Each place begins with a key that belongs elsewhere: zero, and in the place of zero another.
            keys.resize(LATEST_WORDS, 0)?;
            let elsewhere = (1..).find(|&key| latest_place(key) >= 2).expect("the hash is no constant");
            keys[words - 1] = elsewhere;
            others.resize(piece * words, 0)?;
        }
        Ok(Latest { keys, others })
    }

    /// The candidates that are not among the latest, which they become; in order.
    fn keep_others<'a>(&'a mut self, words: usize, candidates: &'a [u64]) -> &'a [u64] {
        let Latest { keys, others } = self;
        let mut kept = 0;
        match words {
            _ if keys.is_empty() => return candidates,
            1 => {
                for &key in candidates {
                    let place = &mut keys[latest_place(key)];
                    others[kept] = key;
                    kept += usize::from(*place != key);
                    *place = key;
                }
            }
            _ => {
                for pair in candidates.chunks_exact(2) {
                    let place = latest_place(pair[1] ^ pair[0].rotate_left(32)) & !1;
                    let latest = &mut keys[place..place + 2];
                    others[kept..kept + 2].copy_from_slice(pair);
                    kept += 2 * usize::from(latest[0] != pair[0] || latest[1] != pair[1]);
                    latest.copy_from_slice(pair);
                }
            }
        }
        &others[..kept]
    }
}

const LATEST_WORDS: usize = 4096;
/// With less memory than this the latest candidates are not worth their place.
const LATEST_BUDGET: usize = 4 << 20;

#[inline(always)]
fn latest_place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize
}

impl Collected {
    /// How many keys it holds; none if some went to disk.
    pub(super) fn in_memory(&self, words: usize) -> Option<usize> {
        self.runs.runs().next().is_none().then_some(self.keys.len() / words)
    }

    /// How many keys it holds, repeats counted.
    pub(super) fn count(&self, words: usize) -> u64 {
        self.runs.count() + (self.keys.len() / words) as u64
    }

    fn make_room(
        &mut self,
        place: &Place,
        config: &RunConfig,
        bytes: usize,
        runs_max: usize,
    ) -> Result<(), DiskError> {
        self.sort(place)?;
        let (used, room) = (self.keys.len(), self.keys.capacity());
        if used > room / 4 * 3 || used == room {
            self.spill(place, config)?;
            while let Some(level) = self.runs.due() {
                self.merge(place, config, level, bytes)?;
            }
            self.merge_down(place, config, bytes, runs_max)?;
        }
        Ok(())
    }

    fn sort(&mut self, place: &Place) -> Result<(), DiskError> {
        let kept = sort_unique(&place.budget, place.width.words(), &mut self.keys)?;
        self.keys.truncate(kept);
        Ok(())
    }

    /// Writes the sorted keys as a run.
    fn spill(&mut self, place: &Place, config: &RunConfig) -> Result<(), DiskError> {
        let name = place.fresh_name("candidates");
        let mut writer = RunWriter::new(&place.volume, &place.budget, &name, config)?;
        writer.push(&self.keys)?;
        self.spilled += writer.finish(false)?.bytes;
        self.runs.insert(0, place.open_run(&name)?);
        self.keys.clear();
        Ok(())
    }

    /// Merges until there are no more runs than can be read at once.
    fn merge_down(
        &mut self,
        place: &Place,
        config: &RunConfig,
        bytes: usize,
        runs_max: usize,
    ) -> Result<(), DiskError> {
        while self.runs.runs().count() > runs_max {
            let name = place.fresh_name("candidates");
            self.runs.merge_smallest(&place.volume, &place.budget, &name, config, bytes, false)?;
            self.runs.retired().iter().try_for_each(|name| place.volume.remove(name))?;
        }
        Ok(())
    }

    fn merge(
        &mut self,
        place: &Place,
        config: &RunConfig,
        level: usize,
        bytes: usize,
    ) -> Result<(), DiskError> {
        let name = place.fresh_name("candidates");
        self.runs.merge_level(&place.volume, &place.budget, level, &name, config, bytes, false)?;
        Ok(self.runs.retired().iter().try_for_each(|name| place.volume.remove(name))?)
    }

    /// Forgets everything; the room stays.
    fn clear(&mut self, place: &Place) -> Result<(), DiskError> {
        self.keys.clear();
        self.spilled = 0;
        let fan = self.runs.fan();
        let runs = std::mem::replace(&mut self.runs, Tiers::new(fan));
        runs.runs().try_for_each(|(_, run)| Ok(place.volume.remove(run.name())?))
    }
}

/// Gives all that was collected for a shard to `work` as one ascending stream without repeats, reading within `bytes` of memory; then
/// forgets it.
pub(super) fn with_stream<T>(
    place: &Place,
    collected: &mut [&mut Collected],
    bytes: usize,
    work: impl FnOnce(&mut dyn KeyStream) -> Result<T, DiskError>,
) -> Result<T, DiskError> {
    let words = place.width.words();
    for part in &mut *collected {
        part.sort(place)?;
    }
    let buffers: Vec<&[u64]> =
        collected.iter().map(|part| &*part.keys).filter(|keys| !keys.is_empty()).collect();
    let runs: Vec<_> = collected.iter().flat_map(|part| part.runs.runs().map(|(_, run)| run)).collect();
    let outcome = if runs.is_empty() && buffers.len() < 2 {
        work(&mut SliceStream::new(words, buffers.first().copied().unwrap_or(&[])))?
    } else {
        let share = bytes / (runs.len() + 1);
        let memory = buffers.iter().map(|keys| Source::Memory(SliceStream::new(words, keys)));
        let sources = runs
            .iter()
            .map(|run| Ok(Source::Run(Box::new(Scan::new(run, &place.budget, share)?))))
            .chain(memory.map(Ok))
            .collect::<Result<Vec<_>, DiskError>>()?;
        let chunk = (share / (words * 8)).clamp(1, 4096);
        work(&mut Merge::new(&place.budget, words, sources, chunk)?)?
    };
    collected.iter_mut().try_for_each(|part| part.clear(place))?;
    Ok(outcome)
}

/// A stream of candidates, from memory or from disk.
enum Source<'a> {
    Memory(SliceStream<'a>),
    Run(Box<Scan<'a>>),
}

impl KeyStream for Source<'_> {
    fn words(&self) -> usize {
        match self {
            Source::Memory(stream) => stream.words(),
            Source::Run(stream) => stream.words(),
        }
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        match self {
            Source::Memory(stream) => stream.advance(),
            Source::Run(stream) => stream.advance(),
        }
    }

    fn keys(&self) -> &[u64] {
        match self {
            Source::Memory(stream) => stream.keys(),
            Source::Run(stream) => stream.keys(),
        }
    }
}
