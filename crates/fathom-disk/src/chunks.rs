//! How are many pieces of bytes kept in one file, and found by number?
//!
//! Each piece, a *chunk*, is written once, in any order, and carries XXH3 over its bytes and its number; behind the last is a directory of where each begins and how long it is. A chunk that was
//! never written is empty. The file is whole when it is finished, and never changes.
//!
//! Memory: 16 bytes per chunk, charged. I/O: one operation per chunk, written or read. Format on disk: `docs/src/format-structures.md`.

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::storage::{File, FileKind, Volume};

/// Writes chunks.
#[derive(Debug)]
pub struct ChunkWriter {
    file: File,
    /// Offset and length of each.
    directory: ChargedVec<[u64; 2]>,
    end: u64,
}

/// Chunks that were written. Threads share it.
#[derive(Debug)]
pub struct Chunks {
    file: File,
    directory: ChargedVec<[u64; 2]>,
    end: u64,
}

const OWNER: &str = "chunks";
const MAGIC: u64 = u64::from_le_bytes(*b"FTHMCHNK");
const VERSION: u64 = 1;
const CHECKSUM_BYTES: usize = 8;
/// Magic, version, chunks, bytes of chunks, checksum.
const FOOTER_BYTES: usize = 40;
/// Entries of the directory that are written or read at once.
const ENTRIES: usize = 256;
const ENTRY_BYTES: usize = 16;

impl ChunkWriter {
    /// An empty file for so many chunks.
    pub fn new(
        volume: &Volume,
        name: &str,
        kind: FileKind,
        chunks: usize,
        budget: &Budget,
    ) -> Result<ChunkWriter, DiskError> {
        let mut directory = ChargedVec::with_capacity(budget, OWNER, chunks)?;
        directory.resize(chunks, [0; 2])?;
        Ok(ChunkWriter { file: volume.create(name, kind)?, directory, end: 0 })
    }

    /// Writes a chunk that was not written before. Its checksum is appended to the bytes.
    pub fn write(&mut self, chunk: usize, bytes: &mut Vec<u8>) -> Result<(), DiskError> {
        debug_assert!(self.directory[chunk][1] == 0, "a chunk is written once");
        bytes.extend_from_slice(&xxh3_64_with_seed(bytes, chunk as u64).to_le_bytes());
        self.file.write(self.end, bytes)?;
        self.directory[chunk] = [self.end, bytes.len() as u64];
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// Writes the directory and syncs the file: it is whole. Its name lasts when the directory of the volume is synced.
    pub fn finish(self) -> Result<Chunks, DiskError> {
        let ChunkWriter { file, directory, end } = self;
        let mut checksum = Xxh3::new();
        let mut offset = end;
        for entries in directory.chunks(ENTRIES) {
            let bytes: Vec<u8> = entries.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
            checksum.update(&bytes);
            file.write(offset, &bytes)?;
            offset += bytes.len() as u64;
        }
        let words = [MAGIC, VERSION, directory.len() as u64, end];
        let mut footer: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        checksum.update(&footer);
        footer.extend_from_slice(&checksum.digest().to_le_bytes());
        file.write(offset, &footer)?;
        file.sync()?;
        Ok(Chunks { file, directory, end })
    }
}

impl Chunks {
    /// The chunks in a file that was finished.
    pub fn open(volume: &Volume, name: &str, kind: FileKind, budget: &Budget) -> Result<Chunks, DiskError> {
        let file = volume.open(name, kind)?;
        let size = file.size()?;
        let damaged = |what| DiskError::corrupt(&file, size.saturating_sub(FOOTER_BYTES as u64), what);
        let footer_at =
            size.checked_sub(FOOTER_BYTES as u64).ok_or_else(|| damaged("too short for chunks"))?;
        let mut footer = [0; FOOTER_BYTES];
        file.read_exact(footer_at, &mut footer)?;
        let (words, _) = footer.as_chunks::<8>();
        let [magic, version, chunks, end, expected] = [0, 1, 2, 3, 4].map(|at| u64::from_le_bytes(words[at]));
        let begin = chunks.checked_mul(ENTRY_BYTES as u64).and_then(|bytes| footer_at.checked_sub(bytes));
        if magic != MAGIC || version != VERSION || begin != Some(end) {
            return Err(damaged("the footer is not one of chunks"));
        }
        let mut directory = ChargedVec::with_capacity(budget, OWNER, chunks as usize)?;
        let mut checksum = Xxh3::new();
        let mut bytes = vec![0; ENTRIES * ENTRY_BYTES];
        let mut offset = end;
        while offset < footer_at {
            let length = (footer_at - offset).min(bytes.len() as u64) as usize;
            file.read_exact(offset, &mut bytes[..length])?;
            checksum.update(&bytes[..length]);
            for entry in bytes[..length].as_chunks::<8>().0.as_chunks::<2>().0 {
                directory.push(entry.map(u64::from_le_bytes))?;
            }
            offset += length as u64;
        }
        checksum.update(&footer[..FOOTER_BYTES - CHECKSUM_BYTES]);
        let inside = |[offset, length]: &[u64; 2]| {
            offset.checked_add(*length).is_some_and(|behind| behind <= end)
                && (*length == 0 || *length >= CHECKSUM_BYTES as u64)
        };
        if checksum.digest() != expected || !directory.iter().all(inside) {
            return Err(damaged("the checksum of the directory is wrong"));
        }
        Ok(Chunks { file, directory, end })
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        self.file.name()
    }

    /// How many chunks there are, empty ones included.
    pub fn len(&self) -> usize {
        self.directory.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.directory.is_empty()
    }

    /// Bytes of all chunks.
    pub fn bytes(&self) -> u64 {
        self.end
    }

    /// Bytes of the longest.
    pub fn longest(&self) -> usize {
        self.directory.iter().map(|[_, length]| *length as usize).max().unwrap_or(0)
    }

    /// Reads a chunk into `bytes`, in place of what is there.
    pub fn read(&self, chunk: usize, bytes: &mut Vec<u8>) -> Result<(), DiskError> {
        let [offset, length] = self.directory[chunk];
        bytes.clear();
        if length == 0 {
            return Ok(());
        }
        bytes.resize(length as usize, 0);
        self.file.read_exact(offset, bytes)?;
        let checksum = bytes.split_off(bytes.len() - CHECKSUM_BYTES);
        if xxh3_64_with_seed(bytes, chunk as u64).to_le_bytes() != checksum[..] {
            return Err(DiskError::corrupt(&self.file, offset, "the checksum of a chunk is wrong"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Role;

    const KIND: FileKind = FileKind::new("test", Role::Bulk);

    fn written(volume: &Volume, chunks: &[Vec<u8>]) {
        let mut writer =
            ChunkWriter::new(volume, "chunks", KIND, chunks.len(), &Budget::unlimited()).unwrap();
        // In any order, and the empty ones not at all.
        for chunk in (0..chunks.len()).rev().filter(|chunk| !chunks[*chunk].is_empty()) {
            writer.write(chunk, &mut chunks[chunk].clone()).unwrap();
        }
        writer.finish().unwrap();
    }

    #[test]
    fn chunks_come_back_and_damage_is_noticed() {
        for count in [0usize, 1, 2, 300, 700] {
            let volume = Volume::in_memory(64);
            let chunks: Vec<Vec<u8>> = (0..count)
                .map(|chunk| (0..chunk * 37 % 100).map(|at| (at * chunk) as u8).collect())
                .collect();
            written(&volume, &chunks);
            let budget = Budget::unlimited();
            let open = || Chunks::open(&volume, "chunks", KIND, &budget);
            let read = |bytes: &mut Vec<u8>| -> Result<(), DiskError> {
                let there = open()?;
                for (number, chunk) in chunks.iter().enumerate() {
                    there.read(number, bytes)?;
                    assert_eq!(bytes, chunk);
                }
                Ok(())
            };
            read(&mut Vec::new()).unwrap();
            assert_eq!(open().unwrap().len(), count);
            assert_eq!(budget.used(), 0);
            let file = volume.open("chunks", KIND).unwrap();
            let size = file.size().unwrap();
            for offset in (0..size).step_by(1 + size as usize / 200) {
                let mut byte = [0];
                file.read_exact(offset, &mut byte).unwrap();
                file.write(offset, &[byte[0] ^ 4]).unwrap();
                assert!(read(&mut Vec::new()).is_err(), "{count} chunks, byte {offset}");
                file.write(offset, &byte).unwrap();
            }
            read(&mut Vec::new()).unwrap();
        }
    }
}
