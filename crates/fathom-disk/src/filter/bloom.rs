//! A Bloom filter that reads one cache line per query, and takes keys at any time.
//!
//! A hash names a block of 512 bits, and a product of it a few bits within. Overfilling raises the share of wrong
//! "maybe"s and nothing else: at 4, 8, 10 bits per key about 17, 2.5, 0.9 %. A filter without blocks says "maybe" to
//! everything, which is legal and tested.

use super::{Filter, Insertable, is_forgotten, stored};
use crate::budget::{Budget, BudgetError, Charge};
use crate::error::DiskError;
use crate::hash::{for_caches, hash_key};
use crate::intrinsics::prefetch;
use crate::storage::File;

const BLOOM_OWNER: &str = "bloom filter";
const BLOCK_BYTES: usize = 64;
const BATCH: usize = 64;
/// One bit would be best below two bits per key, and two are nearly as good there.
const PROBES_MIN: u32 = 2;
const PROBES_MAX: u32 = 7;
const KIND: u32 = 1;
const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;

/// Insertable filter in blocks of 512 bits. Memory: `blocks * 64` bytes, fixed.
#[derive(Debug)]
pub struct Bloom {
    bytes: Vec<u8>,
    /// Where the first whole cache line begins.
    start: usize,
    blocks: usize,
    probes: u32,
    len: u64,
    charge: Charge,
}

impl Bloom {
    /// An empty filter of `blocks` blocks, for about `keys_expected` keys (which only decides the number of bits set per key).
    pub fn new(blocks: usize, keys_expected: u64, budget: &Budget) -> Result<Bloom, BudgetError> {
        let bits_per_key = (blocks as u64 * 512).checked_div(keys_expected).unwrap_or(16).min(16) as u32;
        Bloom::with_probes(blocks, (bits_per_key * 5 / 8).clamp(PROBES_MIN, PROBES_MAX), budget)
    }

    fn with_probes(blocks: usize, probes: u32, budget: &Budget) -> Result<Bloom, BudgetError> {
        let size = if blocks == 0 { 0 } else { blocks * BLOCK_BYTES + BLOCK_BYTES };
        let charge = budget.charge(BLOOM_OWNER, size)?;
        let bytes = vec![0; size];
        let start = if blocks == 0 { 0 } else { bytes.as_ptr().align_offset(BLOCK_BYTES) % BLOCK_BYTES };
        Ok(Bloom { bytes, start, blocks, probes, len: 0, charge })
    }

    /// Keys inserted, repeats counted.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether no key was inserted.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Blocks of 512 bits.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Bytes charged.
    pub fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// Inserts the key with this hash.
    #[inline]
    pub fn insert(&mut self, hash: u64) {
        self.len += 1;
        if self.blocks == 0 {
            return;
        }
        let base = self.base(hash);
        let block = &mut self.bytes[base..base + BLOCK_BYTES];
        for bit in positions(hash, self.probes) {
            block[bit / 8] |= 1 << (bit % 8);
        }
    }

    /// Inserts keys of `words` words, with their lines asked for ahead.
    pub fn insert_batch(&mut self, keys: &[u64], words: usize) {
        let mut hashes = [0; BATCH];
        for chunk in keys.chunks(BATCH * words) {
            let count = self.fetch(chunk, words, &mut hashes);
            for &hash in &hashes[..count] {
                self.insert(hash);
            }
        }
    }

    /// Whether the key with this hash may have been inserted; "no" is certain.
    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        if self.blocks == 0 {
            return !is_forgotten(hash);
        }
        let base = self.base(hash);
        let block = &self.bytes[base..base + BLOCK_BYTES];
        let mut all = 1;
        for bit in positions(hash, self.probes) {
            all &= block[bit / 8] >> (bit % 8);
        }
        all & 1 == 1 && !is_forgotten(hash)
    }

    /// Pushes onto `maybe` the index of each key that may have been inserted.
    pub fn query_batch(&self, keys: &[u64], words: usize, maybe: &mut Vec<u32>) {
        for (batch, chunk) in keys.chunks(BATCH * words).enumerate() {
            let mut mask = self.query_mask(chunk, words);
            while mask != 0 {
                maybe.push((batch * BATCH) as u32 + mask.trailing_zeros());
                mask &= mask - 1;
            }
        }
    }

    /// A bit for each of up to 64 keys of `words` words that may have been inserted, the first key's lowest.
    fn query_mask(&self, keys: &[u64], words: usize) -> u64 {
        let mut hashes = [0; BATCH];
        let count = self.fetch(keys, words, &mut hashes);
        let bits = hashes[..count].iter().enumerate();
        bits.fold(0, |mask, (index, &hash)| mask | u64::from(self.may_contain(hash)) << index)
    }

    /// Writes the filter at `offset` of a file and gives the offset behind it.
    pub fn write(&self, file: &File, offset: u64) -> Result<u64, DiskError> {
        let payload = &self.bytes[self.start..self.start + self.blocks * BLOCK_BYTES];
        stored::write(file, offset, self.header(), payload)
    }

    /// Reads a filter that was written at `offset`, and gives the offset behind it.
    pub fn read(file: &File, offset: u64, budget: &Budget) -> Result<(Bloom, u64), DiskError> {
        let header = stored::read_header(file, offset, KIND)?;
        let [blocks, probes, len, ..] = header.parameters;
        if blocks.checked_mul(BLOCK_BYTES as u64) != Some(header.payload_bytes)
            || !(1..=u64::from(PROBES_MAX)).contains(&probes)
        {
            return Err(DiskError::corrupt(file, offset, "impossible parameters of a filter"));
        }
        let mut bloom = Bloom::with_probes(blocks as usize, probes as u32, budget)?;
        let end = bloom.start + header.payload_bytes as usize;
        let after = stored::read_payload(file, offset, header, &mut bloom.bytes[bloom.start..end])?;
        bloom.len = len;
        Ok((bloom, after))
    }

    fn header(&self) -> stored::Header {
        let payload_bytes = (self.blocks * BLOCK_BYTES) as u64;
        let parameters = [self.blocks as u64, u64::from(self.probes), self.len, 0, payload_bytes];
        stored::Header { kind: KIND, parameters, payload_bytes }
    }

    #[inline(always)]
    fn base(&self, hash: u64) -> usize {
        self.start + ((u128::from(hash) * self.blocks as u128) >> 64) as usize * BLOCK_BYTES
    }

    /// Hashes a batch and asks for its blocks; gives the number of keys.
    #[inline(always)]
    fn fetch(&self, chunk: &[u64], words: usize, hashes: &mut [u64; BATCH]) -> usize {
        for (key, hash) in chunk.chunks_exact(words).zip(hashes.iter_mut()) {
            *hash = for_caches(hash_key(key));
            prefetch(&self.bytes, self.base(*hash));
        }
        chunk.len() / words
    }
}

impl Filter for Bloom {
    fn may_contain_key(&self, key: &[u64]) -> bool {
        self.may_contain(for_caches(hash_key(key)))
    }

    fn query_batch(&self, keys: &[u64], words: usize, maybe: &mut Vec<u32>) {
        self.query_batch(keys, words, maybe);
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }
}

impl Insertable for Bloom {
    fn insert_batch(&mut self, keys: &[u64], words: usize) -> Result<(), BudgetError> {
        self.insert_batch(keys, words);
        Ok(())
    }
}

/// The bits of a block that a hash sets: nine bits each from a product, whose leading bits depend on the whole hash.
#[inline(always)]
fn positions(hash: u64, probes: u32) -> impl Iterator<Item = usize> {
    let product = hash.wrapping_mul(SPREAD);
    (0..probes).map(move |probe| (product >> (64 - 9 * (probe + 1))) as usize & 511)
}

/// Filters of doubling size: when the last has as many keys as it was made for, the next one begins. A query asks all.
#[derive(Debug)]
pub struct BloomChain {
    blooms: Vec<Bloom>,
    bits_per_key: u32,
    budget: Budget,
}

impl BloomChain {
    /// An empty chain with about `bits_per_key` bits for each key.
    pub fn new(bits_per_key: u32, budget: &Budget) -> BloomChain {
        BloomChain { blooms: Vec::new(), bits_per_key: bits_per_key.max(1), budget: budget.clone() }
    }

    /// Inserts the key with this hash. When the budget refuses the next filter, the last one takes it, at more wrong "maybe"s;
    /// only a chain that could never allocate refuses.
    pub fn insert(&mut self, hash: u64) -> Result<(), BudgetError> {
        let bits = u64::from(self.bits_per_key);
        let full = self.blooms.last().is_none_or(|last| last.len() * bits >= last.blocks() as u64 * 512);
        if full {
            let blocks = self.blooms.last().map_or(1, |last| 2 * last.blocks());
            match Bloom::new(blocks, blocks as u64 * 512 / bits, &self.budget) {
                Ok(bloom) => self.blooms.push(bloom),
                Err(refusal) if self.blooms.is_empty() => return Err(refusal),
                Err(_) => {}
            }
        }
        self.blooms.last_mut().expect("a chain that takes a key has a filter").insert(hash);
        Ok(())
    }

    /// Whether the key with this hash may have been inserted; "no" is certain.
    pub fn may_contain(&self, hash: u64) -> bool {
        self.blooms.iter().any(|bloom| bloom.may_contain(hash))
    }

    /// Bytes charged.
    pub fn bytes(&self) -> usize {
        self.blooms.iter().map(Bloom::bytes).sum()
    }
}

impl Filter for BloomChain {
    fn may_contain_key(&self, key: &[u64]) -> bool {
        self.may_contain(for_caches(hash_key(key)))
    }

    fn query_batch(&self, keys: &[u64], words: usize, maybe: &mut Vec<u32>) {
        let indexed = keys.chunks_exact(words).zip(0..);
        maybe.extend(indexed.filter(|(key, _)| self.may_contain_key(key)).map(|(_, index)| index));
    }

    fn bytes(&self) -> usize {
        self.bytes()
    }
}

impl Insertable for BloomChain {
    fn insert_batch(&mut self, keys: &[u64], words: usize) -> Result<(), BudgetError> {
        keys.chunks_exact(words).try_for_each(|key| self.insert(for_caches(hash_key(key))))
    }
}
