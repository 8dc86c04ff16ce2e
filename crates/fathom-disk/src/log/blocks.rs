//! How does a block of records get to a file and back, whole or not at all?
//!
//! Blocks have one size per file and carry a link (whose meaning is the caller's), the number of their records, and XXH3 over
//! all that and their own number, so that a torn, stale or misplaced block is noticed.

use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::sabotage::is_chosen;
use crate::storage::{File, FileKind, Volume};
use xxhash_rust::xxh3::Xxh3;

const LINK_AT: usize = 0;
const COUNT_AT: usize = 8;
const HEADER_BYTES: usize = 16;
const CHECKSUM_BYTES: usize = 8;

/// A file of blocks; it is created when its first block is written.
#[derive(Debug)]
pub(crate) struct BlockFile {
    volume: Volume,
    name: String,
    kind: FileKind,
    file: Option<File>,
    block_bytes: usize,
    record_bytes: usize,
}

/// Records on their way to or from a file: one block's worth.
#[derive(Debug)]
pub(crate) struct Block {
    bytes: ChargedVec<u8>,
    record_bytes: usize,
    count: usize,
}

impl BlockFile {
    /// A file of blocks of about `block_bytes` for records of `words` words: at least one record fits.
    pub(crate) fn new(
        volume: &Volume,
        name: &str,
        kind: FileKind,
        words: usize,
        block_bytes: usize,
    ) -> BlockFile {
        let record_bytes = words * 8;
        let block_bytes = block_bytes.max(HEADER_BYTES + record_bytes + CHECKSUM_BYTES);
        BlockFile {
            volume: volume.clone(),
            name: name.to_owned(),
            kind,
            file: None,
            block_bytes,
            record_bytes,
        }
    }

    /// Takes up the file that an earlier run wrote, of which `blocks` blocks count. If none does, a file of this name is
    /// of after the mark, and goes.
    pub(crate) fn resume(&mut self, blocks: u64) -> Result<(), DiskError> {
        if blocks > 0 {
            self.file = Some(self.volume.open(&self.name, self.kind)?);
        } else if self.volume.list()?.contains(&self.name) {
            self.volume.remove(&self.name)?;
        }
        Ok(())
    }

    /// The file's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes per block.
    pub(crate) fn block_bytes(&self) -> u64 {
        self.block_bytes as u64
    }

    /// An empty block for this file.
    pub(crate) fn block(&self, budget: &Budget) -> Result<Block, DiskError> {
        let mut bytes = ChargedVec::with_capacity(budget, self.kind.name(), self.block_bytes)?;
        bytes.resize(self.block_bytes, 0)?;
        Ok(Block { bytes, record_bytes: self.record_bytes, count: 0 })
    }

    /// Writes block number `index`. One operation.
    pub(crate) fn write(&mut self, index: u64, link: u64, block: &mut Block) -> Result<(), DiskError> {
        block.bytes[LINK_AT..COUNT_AT].copy_from_slice(&link.to_le_bytes());
        block.bytes[COUNT_AT..HEADER_BYTES].copy_from_slice(&(block.count as u64).to_le_bytes());
        let used = HEADER_BYTES + block.count * self.record_bytes;
        let checksum_at = self.block_bytes - CHECKSUM_BYTES;
        block.bytes[used..checksum_at].fill(0);
        let checksum = checksum(index, &block.bytes[..checksum_at]);
        block.bytes[checksum_at..].copy_from_slice(&checksum);
        if self.file.is_none() {
            self.file = Some(self.volume.create(&self.name, self.kind)?);
        }
        let file = self.file.as_ref().expect("the file was created above");
        Ok(file.write(index * self.block_bytes as u64, &block.bytes)?)
    }

    /// Reads block number `index` and gives its link. One operation.
    pub(crate) fn read(&self, index: u64, block: &mut Block) -> Result<u64, DiskError> {
        let offset = index * self.block_bytes as u64;
        let Some(file) = &self.file else {
            let what = "a block is asked for, but none was ever written".to_owned();
            return Err(DiskError::Mismatch { file: self.name.clone(), what });
        };
        file.read_exact(offset, &mut block.bytes)?;
        let checksum_at = self.block_bytes - CHECKSUM_BYTES;
        if checksum(index, &block.bytes[..checksum_at]) != block.bytes[checksum_at..] {
            return Err(DiskError::corrupt(file, offset, "the checksum of a block is wrong"));
        }
        let word = |at: usize| u64::from_le_bytes(block.bytes[at..at + 8].try_into().expect("eight bytes"));
        let count = word(COUNT_AT) as usize;
        if count > block.capacity() {
            return Err(DiskError::corrupt(file, offset, "a block claims more records than fit"));
        }
        let link = word(LINK_AT);
        block.count = count;
        Ok(link)
    }

    /// Makes all blocks written so far, and the file's name, last.
    pub(crate) fn sync(&self) -> Result<(), DiskError> {
        if let Some(file) = &self.file {
            // Each of the two is left out in a sabotage build, which the power loss tests must notice.
            if !is_chosen("fsync-log") {
                file.sync()?;
            }
            if !is_chosen("fsync-log-name") {
                self.volume.sync_directory()?;
            }
        }
        Ok(())
    }

    /// Removes the file, if there is one.
    pub(crate) fn remove(&mut self) -> Result<(), DiskError> {
        if self.file.take().is_some() {
            self.volume.remove(&self.name)?;
        }
        Ok(())
    }
}

impl Block {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn capacity(&self) -> usize {
        (self.bytes.len() - HEADER_BYTES - CHECKSUM_BYTES) / self.record_bytes
    }

    pub(crate) fn is_full(&self) -> bool {
        self.count == self.capacity()
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    /// Appends a record; the block must not be full.
    pub(crate) fn push(&mut self, record: &[u64]) {
        self.push_all(record, 1);
    }

    /// Appends `count` records, which lie one behind the other; the block has room for them.
    pub(crate) fn push_all(&mut self, records: &[u64], count: usize) {
        let at = HEADER_BYTES + self.count * self.record_bytes;
        let place = &mut self.bytes[at..at + count * self.record_bytes];
        for (bytes, word) in place.as_chunks_mut::<8>().0.iter_mut().zip(records) {
            *bytes = word.to_le_bytes();
        }
        self.count += count;
    }

    /// Copies record number `index` into `record`.
    pub(crate) fn get(&self, index: usize, record: &mut [u64]) {
        self.get_all(index, 1, record);
    }

    /// Copies `count` records from number `index` on, one behind the other.
    pub(crate) fn get_all(&self, index: usize, count: usize, records: &mut [u64]) {
        let at = HEADER_BYTES + index * self.record_bytes;
        let place = &self.bytes[at..at + count * self.record_bytes];
        for (bytes, word) in place.as_chunks::<8>().0.iter().zip(records) {
            *word = u64::from_le_bytes(*bytes);
        }
    }

    /// Removes the last record into `record`; false if there is none.
    pub(crate) fn pop(&mut self, record: &mut [u64]) -> bool {
        if self.count == 0 {
            return false;
        }
        self.count -= 1;
        self.get(self.count, record);
        true
    }
}

fn checksum(index: u64, bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let mut hash = Xxh3::new();
    hash.update(&index.to_le_bytes());
    hash.update(bytes);
    hash.digest().to_le_bytes()
}
