//! How is a perfect hash built from a sorted stream within a budget?

use super::directory::Directory;
use super::shard::{self, KEYS_MAX};
use super::{KIND, OWNER};
use crate::budget::{Budget, Charge, ChargedVec};
use crate::error::DiskError;
use crate::hash::hash_key;
use crate::storage::{File, Volume};

/// Takes strictly increasing keys and writes shards. RAM: `8 * words + 40` bytes for each key of one shard, and the directory.
/// I/O: every shard is written once, in order.
#[derive(Debug)]
pub struct PerfectHashBuilder {
    file: File,
    words: usize,
    keys_per_shard: usize,
    keys: ChargedVec<u64>,
    hashes: ChargedVec<u64>,
    directory: Directory,
    _working: Charge,
}

/// Bytes a key that placing a shard takes: order, members, buckets, slots, and the shard itself.
const WORKING_BYTES: usize = 32;

impl PerfectHashBuilder {
    /// A builder that writes the file `name`, in shards of at most `keys_per_shard` keys (1 to 65,536; as many as the budget
    /// allows is best).
    pub fn new(
        volume: &Volume,
        name: &str,
        words: usize,
        keys_per_shard: usize,
        budget: &Budget,
    ) -> Result<Self, DiskError> {
        let keys_per_shard = keys_per_shard.clamp(1, KEYS_MAX);
        Ok(PerfectHashBuilder {
            file: volume.create(name, KIND)?,
            words,
            keys_per_shard,
            keys: ChargedVec::with_capacity(budget, OWNER, keys_per_shard * words)?,
            hashes: ChargedVec::with_capacity(budget, OWNER, keys_per_shard)?,
            directory: Directory::new(words, budget)?,
            _working: budget.charge(OWNER, keys_per_shard * WORKING_BYTES + 512)?,
        })
    }

    /// The most keys per shard that a builder with `bytes` bytes to itself can have.
    pub fn keys_per_shard_within(bytes: usize, words: usize) -> usize {
        (bytes.saturating_sub(1024) / (8 * words + 8 + WORKING_BYTES)).clamp(1, KEYS_MAX)
    }

    /// Takes the next key, greater than all before.
    pub fn push(&mut self, key: &[u64]) -> Result<(), DiskError> {
        self.keys.extend(key)?;
        self.hashes.push(hash_key(key))?;
        if self.hashes.len() == self.keys_per_shard { self.close_shard() } else { Ok(()) }
    }

    /// Writes what is left and the directory, and syncs the file; its name lasts when the directory of the volume is synced.
    /// Gives the number of keys.
    pub fn finish(mut self) -> Result<u64, DiskError> {
        if !self.hashes.is_empty() {
            self.close_shard()?;
        }
        self.directory.write(&self.file)?;
        self.file.sync()?;
        Ok(self.directory.keys())
    }

    fn close_shard(&mut self) -> Result<(), DiskError> {
        let bytes = shard::build(&self.keys, &self.hashes, self.words)
            .expect("distinct hashes are placed by some seed");
        self.file.write(self.directory.shard_bytes() as u64, &bytes)?;
        self.directory.add(&self.keys[..self.words], self.hashes.len() as u64, bytes.len() as u64)?;
        self.keys.clear();
        self.hashes.clear();
        Ok(())
    }
}
