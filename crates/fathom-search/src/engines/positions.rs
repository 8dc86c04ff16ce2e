//! Policy of the layer loop: every record is kept as it is, at a position that tells its layer. It knows how far back steps lead (the locality), which
//! [`super::ram`] does not, for three times the memory.
//!
//! The table is cut into shards by a hash of the record. A shard keeps its records in the order they were found, so a layer is a range of them,
//! and an index of 8-byte slots (half hash, half position) that is at most two thirds full. Threads collect candidates by shard and lock a
//! shard for a whole batch.
//!
//! Memory: 8 bytes per word of the record and 12 to 24 bytes of index per state, charged before it is taken.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_disk::budget::{Budget, Charge};
use fathom_disk::hash::hash_key;
use fathom_disk::intrinsics::prefetch;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::engine::{Answer, Ask, Body, Engine, Files, Kept, Run, Threads};
use crate::bodies::stages::{self, ClosedStage, OldestDuplicate, StagePolicy};
use crate::error::SearchError;
use crate::stores::Layered;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "positions",
    help: "Breadth-first in memory, exact: a larger table, which also measures the locality",
    search: "breadth-first, exact",
    memory: "the record, 12 to 24 bytes",
    io: "none",
    certificate: "none",
    origin: "every record in memory in the order found; measures the locality",
    threads: Threads::Many,
    files: Files::None,
    resumes: false,
    revisits: false,
    body: Body::Stages,
    layers: true,
    stores: &[],
    options: &[],
    run: Run::States(search),
};

fn search(ask: &Ask<'_>) -> Result<Answer, SearchError> {
    let mut table = PositionTable::new(ask.task.system.shape(), ask.task.budget, ask.task.settings.threads)?;
    let outcome = stages::run(ask.task, &mut table)?;
    Ok(Answer::in_memory(&ENGINE, outcome, Kept::Layers(Box::new(table))))
}

/// The policy.
#[derive(Debug)]
pub struct PositionTable {
    shards: Vec<Mutex<Shard>>,
    words: usize,
    budget: Budget,
    /// Records that a worker collects for one shard before it locks it.
    batch_records: usize,
    /// The states handed out in each shard; all cursors together make the order in which shards are drained.
    cursors: Vec<AtomicU32>,
}

/// Candidates of one thread, by shard.
#[derive(Debug)]
pub struct Candidates {
    buffers: Vec<RecordBuffer>,
    hashes: Vec<u64>,
    _charge: Charge,
}

/// A part of the table.
#[derive(Debug)]
struct Shard {
    records: Arena,
    /// `hash's upper half | position + 1`; 0 is free.
    slots: Vec<u64>,
    charge: Charge,
    /// Just behind each closed layer among the records.
    ends: Vec<u32>,
    /// The earliest position that a duplicate was found at since the last layer was closed.
    oldest: u32,
}

/// Records in the order they were found, in blocks that never move.
#[derive(Debug)]
struct Arena {
    words: usize,
    blocks: Vec<Vec<u64>>,
    len: u32,
}

/// Shards of the table for more than one thread.
const SHARDS: usize = 32;
/// Records in a block of an arena.
const BLOCK_RECORDS: usize = 256;
/// The part of a slot that holds the upper half of the hash.
const TAG: u64 = 0xffff_ffff_0000_0000;
/// Slots of a fresh index.
const SLOTS_MIN: usize = 16;
/// Candidates collected for a shard, at most.
const SHARD_BATCH_MAX: usize = 256;
/// A shard numbers its records in 32 bits, and a slot holds the number plus one.
const SHARD_RECORDS_MAX: u32 = u32::MAX - 1;

impl PositionTable {
    /// An empty table for records of that shape.
    pub fn new(shape: &Shape, budget: &Budget, threads: usize) -> Result<PositionTable, SearchError> {
        let count = if threads > 1 { SHARDS } else { 1 };
        let words = shape.words();
        let shards = (0..count).map(|_| Ok(Mutex::new(Shard::new(words, budget.charge("state table", 0)?))));
        let batch_records =
            (budget.free() / (16 * threads.max(1) * count) / (words * 8)).clamp(1, SHARD_BATCH_MAX);
        Ok(PositionTable {
            shards: shards.collect::<Result<_, SearchError>>()?,
            words,
            budget: budget.clone(),
            batch_records,
            cursors: (0..count).map(|_| AtomicU32::new(0)).collect(),
        })
    }

    fn shard(&self, index: usize) -> MutexGuard<'_, Shard> {
        // A shard is consistent between insertions, so what a panicking thread leaves is still right.
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shard_of(&self, record: &[u64]) -> usize {
        // The top bits: an index is addressed by the low ones.
        hash_key(record).rotate_left(SHARDS.ilog2()) as usize % self.shards.len()
    }
}

impl StagePolicy for PositionTable {
    type Worker = Candidates;

    fn worker(&self) -> Result<Candidates, SearchError> {
        let count = self.shards.len();
        let bytes = count * self.batch_records * self.words * 8 + self.batch_records * 8;
        Ok(Candidates {
            _charge: self.budget.charge("candidates", bytes)?,
            buffers: (0..count)
                .map(|_| RecordBuffer::with_capacity(self.words, self.batch_records))
                .collect(),
            hashes: Vec::with_capacity(self.batch_records),
        })
    }

    fn offer(&self, worker: &mut Candidates, candidates: Records<'_>) -> Result<(), SearchError> {
        if self.shards.len() == 1 {
            let mut shard = self.shard(0);
            let mut rest = candidates;
            while !rest.is_empty() {
                let part = rest.take(rest.len().min(self.batch_records));
                shard.insert_all(part, &mut worker.hashes)?;
                rest = rest.skip(part.len());
            }
            return Ok(());
        }
        for record in candidates.iter() {
            let number = self.shard_of(record);
            let buffer = &mut worker.buffers[number];
            buffer.push(record);
            if buffer.len() == self.batch_records {
                self.shard(number).insert_all(buffer.view(), &mut worker.hashes)?;
                buffer.clear();
            }
        }
        Ok(())
    }

    fn flush(&self, worker: &mut Candidates) -> Result<(), SearchError> {
        for (number, buffer) in worker.buffers.iter_mut().enumerate().filter(|(_, buffer)| !buffer.is_empty())
        {
            self.shard(number).insert_all(buffer.view(), &mut worker.hashes)?;
            buffer.clear();
        }
        Ok(())
    }

    fn prepare_close(&mut self, _workers: &mut [&mut Candidates]) -> Result<bool, SearchError> {
        Ok(false)
    }

    fn close_share(&self, _worker: &mut Candidates) -> Result<(), SearchError> {
        Ok(())
    }

    fn close_stage(&mut self, _workers: &mut [&mut Candidates]) -> Result<ClosedStage, SearchError> {
        let mut states = 0;
        let mut oldest = OldestDuplicate::None;
        for (number, cursor) in self.cursors.iter().enumerate() {
            let mut shard = self.shard(number);
            if let Some(layer) = shard.take_oldest_layer() {
                oldest = match oldest {
                    OldestDuplicate::Layer(other) => OldestDuplicate::Layer(other.min(layer)),
                    _ => OldestDuplicate::Layer(layer),
                };
            }
            let layer = shard.close_layer()?;
            cursor.store(layer.start, Ordering::Relaxed);
            states += layer.len() as u64;
        }
        Ok(ClosedStage { states, oldest_duplicate: oldest })
    }

    fn next_batch(
        &self,
        _worker: &mut Candidates,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        batch.clear();
        for (number, cursor) in self.cursors.iter().enumerate() {
            let shard = self.shard(number);
            let begin = cursor.load(Ordering::Relaxed);
            let end = shard.closed().min(begin + (records - batch.len()) as u32);
            (begin..end).for_each(|position| batch.push(shard.records.get(position)));
            cursor.store(end, Ordering::Relaxed);
            if batch.len() == records {
                break;
            }
        }
        Ok(())
    }
}

impl Layered for PositionTable {
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        for number in 0..self.shards.len() {
            let shard = self.shard(number);
            for position in shard.layer(layer as usize) {
                visit(Records::new(shard.records.get(position), self.words));
            }
        }
        Ok(true)
    }
}

impl Shard {
    fn new(words: usize, charge: Charge) -> Shard {
        let records = Arena { words, blocks: Vec::new(), len: 0 };
        Shard { records, slots: Vec::new(), charge, ends: Vec::new(), oldest: u32::MAX }
    }

    /// Inserts records that are not there yet; `hashes` is room to work in.
    fn insert_all(&mut self, records: Records<'_>, hashes: &mut Vec<u64>) -> Result<(), SearchError> {
        self.reserve(records.len())?;
        let mask = self.slots.len() - 1;
        hashes.clear();
        for record in records.iter() {
            let hash = hash_key(record);
            prefetch(&self.slots, hash as usize & mask);
            hashes.push(hash);
        }
        for (record, &hash) in records.iter().zip(&*hashes) {
            self.insert(record, hash)?;
        }
        Ok(())
    }

    fn insert(&mut self, record: &[u64], hash: u64) -> Result<(), SearchError> {
        let mask = self.slots.len() - 1;
        let tag = hash & TAG;
        let mut place = hash as usize & mask;
        loop {
            let slot = self.slots[place];
            if slot == 0 {
                self.slots[place] = tag | u64::from(self.records.push(record, &mut self.charge)? + 1);
                return Ok(());
            }
            let position = slot as u32 - 1;
            if slot & TAG == tag && self.records.get(position) == record {
                self.oldest = self.oldest.min(position);
                return Ok(());
            }
            place = (place + 1) & mask;
        }
    }

    /// Makes sure that so many insertions leave the index at most two thirds full.
    fn reserve(&mut self, insertions: usize) -> Result<(), SearchError> {
        let wanted = (self.records.len as usize + insertions) * 3 / 2 + 1;
        if wanted <= self.slots.len() {
            return Ok(());
        }
        let count = wanted.next_power_of_two().max(SLOTS_MIN);
        self.charge.resize(self.charge.bytes() + count * 8)?;
        let mut slots = vec![0u64; count];
        for position in 0..self.records.len {
            let hash = hash_key(self.records.get(position));
            let mut place = hash as usize & (count - 1);
            while slots[place] != 0 {
                place = (place + 1) & (count - 1);
            }
            slots[place] = hash & TAG | u64::from(position + 1);
        }
        let old = std::mem::replace(&mut self.slots, slots);
        self.charge.resize(self.charge.bytes() - old.len() * 8)?;
        Ok(())
    }

    /// Just behind the last closed layer.
    fn closed(&self) -> u32 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The positions of a closed layer.
    fn layer(&self, layer: usize) -> Range<u32> {
        let begin = if layer == 0 { 0 } else { self.ends[layer - 1] };
        begin..self.ends[layer]
    }

    /// Closes the layer of everything inserted since the last one was closed.
    fn close_layer(&mut self) -> Result<Range<u32>, SearchError> {
        if self.ends.len() == self.ends.capacity() {
            let more = self.ends.len().max(16);
            self.charge.resize(self.charge.bytes() + more * size_of::<u32>())?;
            self.ends.reserve_exact(more);
        }
        self.ends.push(self.records.len);
        Ok(self.layer(self.ends.len() - 1))
    }

    /// The earliest closed layer in which a duplicate was found since the last call.
    fn take_oldest_layer(&mut self) -> Option<u64> {
        let oldest = std::mem::replace(&mut self.oldest, u32::MAX);
        let layer = self.ends.partition_point(|end| *end <= oldest);
        (layer < self.ends.len()).then_some(layer as u64)
    }
}

impl Arena {
    fn get(&self, position: u32) -> &[u64] {
        let position = position as usize;
        &self.blocks[position / BLOCK_RECORDS][position % BLOCK_RECORDS * self.words..][..self.words]
    }

    /// Appends a record and says its position.
    fn push(&mut self, record: &[u64], charge: &mut Charge) -> Result<u32, SearchError> {
        let position = self.len;
        if position == SHARD_RECORDS_MAX {
            return Err(SearchError::ShardFull { limit: u64::from(SHARD_RECORDS_MAX) });
        }
        if (position as usize).is_multiple_of(BLOCK_RECORDS) {
            let words = BLOCK_RECORDS * self.words;
            charge.resize(charge.bytes() + words * 8 + size_of::<Vec<u64>>())?;
            self.blocks.push(Vec::with_capacity(words));
        }
        let block = self.blocks.last_mut().expect("a block was begun for this position");
        block.extend_from_slice(record);
        self.len += 1;
        Ok(position)
    }
}
