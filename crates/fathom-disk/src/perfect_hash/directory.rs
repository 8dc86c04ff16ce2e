//! In which shard is a key, and where in the file is that?
//!
//! One entry a shard: its first key, the number of keys before it, and its offset. Entries are words, one after another,
//! behind the shards; a footer of fixed length says where.

use super::OWNER;
use crate::budget::{Budget, BudgetError, ChargedVec};
use crate::error::DiskError;
use crate::hash::HASH_VERSION;
use crate::storage::File;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: u64 = u64::from_le_bytes(*b"FTHMMPHF");
const VERSION: u64 = 1;
const FOOTER_WORDS: usize = 8;
/// Words of an entry besides the first key.
const EXTRA_WORDS: usize = 2;

/// The table of shards. RAM: `words + 2` words a shard.
#[derive(Debug)]
pub(super) struct Directory {
    words: usize,
    entries: ChargedVec<u64>,
    keys: u64,
    shard_bytes: u64,
}

impl Directory {
    pub(super) fn new(words: usize, budget: &Budget) -> Result<Directory, BudgetError> {
        let entries = ChargedVec::with_capacity(budget, OWNER, 0)?;
        Ok(Directory { words, entries, keys: 0, shard_bytes: 0 })
    }

    /// Adds a shard of `keys` keys and `bytes` bytes, behind the others.
    pub(super) fn add(&mut self, first: &[u64], keys: u64, bytes: u64) -> Result<(), BudgetError> {
        for &word in first {
            self.entries.push(word)?;
        }
        self.entries.push(self.keys)?;
        self.entries.push(self.shard_bytes)?;
        self.keys += keys;
        self.shard_bytes += bytes;
        Ok(())
    }

    /// Writes the directory and the footer behind the shards.
    pub(super) fn write(&self, file: &File) -> Result<(), DiskError> {
        let mut bytes: Vec<u8> = Vec::with_capacity(4096);
        let mut offset = self.shard_bytes;
        let mut checksum = xxhash_rust::xxh3::Xxh3::new();
        let footer = [
            MAGIC,
            VERSION,
            u64::from(HASH_VERSION),
            self.words as u64,
            self.len() as u64,
            self.keys,
            self.shard_bytes,
        ];
        for words in self.entries.chunks(512).chain([&footer[..]]) {
            bytes.clear();
            words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
            checksum.update(&bytes);
            file.write(offset, &bytes)?;
            offset += bytes.len() as u64;
        }
        Ok(file.write(offset, &checksum.digest().to_le_bytes())?)
    }

    /// Reads and tests the directory of a file.
    pub(super) fn read(file: &File, words: usize, budget: &Budget) -> Result<Directory, DiskError> {
        let footer_bytes = (FOOTER_WORDS * 8) as u64;
        let size = file.size()?;
        let damaged = |what| DiskError::corrupt(file, size.saturating_sub(footer_bytes), what);
        let footer_at =
            size.checked_sub(footer_bytes).ok_or_else(|| damaged("too short for a perfect hash"))?;
        let mut footer = [0; FOOTER_WORDS * 8];
        file.read_exact(footer_at, &mut footer)?;
        let word = |i: usize| u64::from_le_bytes(footer[8 * i..8 * i + 8].try_into().expect("eight bytes"));
        if word(0) != MAGIC {
            return Err(damaged("not a perfect hash"));
        }
        if (word(1), word(2), word(3)) != (VERSION, u64::from(HASH_VERSION), words as u64) {
            let what = "a perfect hash of another version or key width; it must be built again".to_owned();
            return Err(DiskError::Mismatch { file: file.name().to_owned(), what });
        }
        let (shards, keys, shard_bytes) = (word(4), word(5), word(6));
        let entry_bytes = (words + EXTRA_WORDS) as u64 * 8;
        let fits = shards.checked_mul(entry_bytes).and_then(|entries| entries.checked_add(shard_bytes));
        if fits != Some(footer_at) {
            return Err(damaged("a directory that does not fit its file"));
        }
        let mut bytes =
            ChargedVec::with_capacity(budget, OWNER, (footer_at - shard_bytes) as usize + footer.len() - 8)?;
        bytes.resize((footer_at - shard_bytes) as usize, 0)?;
        file.read_exact(shard_bytes, &mut bytes)?;
        bytes.extend(&footer[..footer.len() - 8])?;
        if xxh3_64(&bytes) != word(7) {
            return Err(damaged("the checksum of the directory is wrong"));
        }
        let mut directory = Directory { words, keys, shard_bytes, ..Directory::new(words, budget)? };
        let count = shards as usize * (words + EXTRA_WORDS);
        directory.entries.reserve(count)?;
        for word in bytes.as_chunks::<8>().0.iter().take(count) {
            directory.entries.push(u64::from_le_bytes(*word))?;
        }
        Ok(directory)
    }

    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// How many shards there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len() / (self.words + EXTRA_WORDS)
    }

    pub(super) fn keys(&self) -> u64 {
        self.keys
    }

    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * 8
    }

    /// Bytes of all shards.
    pub(super) fn shard_bytes(&self) -> usize {
        self.shard_bytes as usize
    }

    /// Keys before a shard.
    #[inline(always)]
    pub(super) fn base(&self, shard: usize) -> u64 {
        self.entry(shard)[self.words]
    }

    /// Where a shard begins.
    #[inline(always)]
    pub(super) fn offset(&self, shard: usize) -> usize {
        self.entry(shard)[self.words + 1] as usize
    }

    /// The bytes of a shard.
    #[inline(always)]
    pub(super) fn range(&self, shard: usize) -> Range<usize> {
        let end = if shard + 1 < self.len() { self.offset(shard + 1) } else { self.shard_bytes() };
        self.offset(shard)..end
    }

    /// The last shard whose first key is at most `key`; the first one for keys below all. Whether a half is the right one is
    /// anybody's guess, so for keys of up to two words there is no branch on it.
    #[inline(always)]
    pub(super) fn shard_of(&self, key: &[u64]) -> usize {
        let (mut low, mut length) = (0, self.len());
        while length > 1 {
            let half = length / 2;
            low += half * usize::from(self.starts_at_most(low + half, key));
            length -= half;
        }
        low
    }

    /// Whether the first key of a shard is at most `key`.
    #[inline(always)]
    fn starts_at_most(&self, shard: usize, key: &[u64]) -> bool {
        let entry = self.entry(shard);
        let pair = |words: &[u64]| u128::from(words[0]) << 64 | u128::from(words[1]);
        match key {
            [only] => entry[0] <= *only,
            [_, _] => pair(entry) <= pair(key),
            _ => entry[..self.words] <= *key,
        }
    }

    #[inline(always)]
    fn entry(&self, shard: usize) -> &[u64] {
        let width = self.words + EXTRA_WORDS;
        &self.entries[shard * width..(shard + 1) * width]
    }
}
