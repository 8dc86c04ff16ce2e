//! Which number below N belongs to this key of a set of N?
//!
//! A minimal perfect hash: every key of the set has a number of its own, 0 to N - 1, at 2.85 bits a key. It is built from
//! a sorted stream, a shard of up to 65,536 consecutive keys at a time, so building needs RAM for one shard only; a shard is
//! found by its first key. A key that is not in the set gets some number too: only ask for members.
//!
//! * [`PerfectHash`]: all shards in RAM; threads share it.
//! * [`CachedPerfectHash`]: shards on disk, as many in RAM as it is given slots, one at least.
//!
//! Format on disk: `docs/src/format-structures.md`.

mod build;
mod directory;
mod shard;

pub use build::PerfectHashBuilder;

use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::hash::hash_key;
use crate::intrinsics::prefetch;
use crate::storage::{File, FileKind, Role, Volume};
use directory::Directory;

const OWNER: &str = "perfect hash";
const KIND: FileKind = FileKind::new("perfect hash", Role::Index);
const BATCH: usize = 64;

/// Minimal perfect hash in RAM: about 2.85 bits a key. A query reads two cache lines.
#[derive(Debug)]
pub struct PerfectHash {
    directory: Directory,
    shards: ChargedVec<u8>,
}

/// Minimal perfect hash on disk, with a few shards in RAM. A query of a shard that is not there reads it: 23 KB for 65,536 keys.
#[derive(Debug)]
pub struct CachedPerfectHash {
    directory: Directory,
    file: File,
    /// Shard `s` may be in slot `s % slots`.
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    shard: Option<usize>,
    bytes: ChargedVec<u8>,
}

impl PerfectHash {
    /// Loads the whole function from the file `name`, every checksum tested.
    pub fn open(
        volume: &Volume,
        name: &str,
        words: usize,
        budget: &Budget,
    ) -> Result<PerfectHash, DiskError> {
        let file = volume.open(name, KIND)?;
        let directory = Directory::read(&file, words, budget)?;
        let mut shards = ChargedVec::with_capacity(budget, OWNER, directory.shard_bytes())?;
        shards.resize(directory.shard_bytes(), 0)?;
        file.read_exact(0, &mut shards)?;
        for shard in 0..directory.len() {
            shard::check(&file, directory.offset(shard) as u64, &shards[directory.range(shard)])?;
        }
        Ok(PerfectHash { directory, shards })
    }

    /// How many keys there are.
    pub fn len(&self) -> u64 {
        self.directory.keys()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes charged.
    pub fn bytes(&self) -> usize {
        self.shards.capacity() + self.directory.bytes()
    }

    /// The number of a key of the set.
    pub fn index(&self, key: &[u64]) -> u64 {
        let shard = self.directory.shard_of(key);
        self.directory.base(shard)
            + shard::index(&self.shards[self.directory.range(shard)], key, hash_key(key))
    }

    /// The numbers of many keys, into `numbers`, with their cache lines asked for ahead.
    pub fn index_batch(&self, keys: &[u64], numbers: &mut Vec<u64>) {
        let words = self.directory.words();
        let mut places = [(0usize, 0u64); BATCH];
        for chunk in keys.chunks(BATCH * words) {
            for (key, place) in chunk.chunks_exact(words).zip(&mut places) {
                *place = (self.directory.shard_of(key), hash_key(key));
                let range = self.directory.range(place.0);
                prefetch(&self.shards, range.start + shard::pilot_offset(&self.shards[range], place.1));
            }
            for (key, &(shard, hash)) in chunk.chunks_exact(words).zip(&places) {
                let bytes = &self.shards[self.directory.range(shard)];
                numbers.push(self.directory.base(shard) + shard::index(bytes, key, hash));
            }
        }
    }
}

impl CachedPerfectHash {
    /// Opens the file `name` with room for `slots` shards in RAM, at least one.
    pub fn open(
        volume: &Volume,
        name: &str,
        words: usize,
        slots: usize,
        budget: &Budget,
    ) -> Result<Self, DiskError> {
        let file = volume.open(name, KIND)?;
        let directory = Directory::read(&file, words, budget)?;
        let longest = (0..directory.len()).map(|shard| directory.range(shard).len()).max().unwrap_or(0);
        let slots = slots.clamp(1, directory.len().max(1));
        let slot = |_| Ok(Slot { shard: None, bytes: ChargedVec::with_capacity(budget, OWNER, longest)? });
        let slots = (0..slots).map(slot).collect::<Result<_, DiskError>>()?;
        Ok(CachedPerfectHash { directory, file, slots })
    }

    /// How many keys there are.
    pub fn len(&self) -> u64 {
        self.directory.keys()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes charged.
    pub fn bytes(&self) -> usize {
        self.slots.iter().map(|slot| slot.bytes.capacity()).sum::<usize>() + self.directory.bytes()
    }

    /// The number of a key of the set. Reads its shard unless that is in RAM.
    pub fn index(&mut self, key: &[u64]) -> Result<u64, DiskError> {
        let shard = self.directory.shard_of(key);
        let slots = self.slots.len();
        let slot = &mut self.slots[shard % slots];
        if slot.shard != Some(shard) {
            slot.shard = None;
            slot.bytes.resize(self.directory.range(shard).len(), 0)?;
            slot.bytes.truncate(self.directory.range(shard).len());
            let offset = self.directory.offset(shard) as u64;
            self.file.read_exact(offset, &mut slot.bytes)?;
            shard::check(&self.file, offset, &slot.bytes)?;
            slot.shard = Some(shard);
        }
        Ok(self.directory.base(shard) + shard::index(&slot.bytes, key, hash_key(key)))
    }
}
