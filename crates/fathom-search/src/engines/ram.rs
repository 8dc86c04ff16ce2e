//! Policy of the layer loop: a candidate is compared with everything at once, in a compact exact table in RAM.
//!
//! ```text
//! candidates --by shard--> table --new ones--> fresh, per thread --sorted, merged, coded--> layer
//! ```
//! The table knows which states were seen and nothing else. Closed layers are kept in `crate::layers`: the one being expanded is decoded from there block by block, and
//! so are all of them when a path is looked for. Layers are sorted, so neighbours are alike and expand faster.
//!
//! Memory: what [`fathom_disk::table`] says per state, 1 to 2.5 bytes per state for the layers, and the records of one layer while it is made. All of it is charged.

use std::sync::atomic::{AtomicUsize, Ordering};

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::key::KeyWidth;
use fathom_disk::set::sort::sort_unique;
use fathom_disk::table::ShardedTable;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use crate::error::SearchError;
use crate::layer_loop::{ClosedLayer, LayerPolicy, OldestDuplicate};
use crate::layers::{LayerDecoder, LayerEncoder, Layers, take_piece};

/// The policy.
#[derive(Debug)]
pub struct RamTable {
    table: ShardedTable,
    budget: Budget,
    /// Records that a worker collects for one shard before it locks it.
    batch_records: usize,
    layers: Layers,
    /// The next block of the current layer to be handed out.
    cursor: AtomicUsize,
    /// Layers with fewer new states are sorted and coded by one thread.
    shared_close_min: usize,
}

/// What a thread holds.
#[derive(Debug)]
pub struct Worker {
    /// Candidates by shard.
    candidates: Vec<RecordBuffer>,
    /// Which candidates of a batch were new.
    new: Vec<u32>,
    /// The new ones: its part of the next layer.
    fresh: ChargedVec<u64>,
    encoder: LayerEncoder,
    encoded: ChargedVec<u8>,
    decoder: LayerDecoder,
    /// How many records of the decoded block were handed out.
    served: usize,
    _charge: fathom_disk::budget::Charge,
}

/// Shards of the table for more than one thread.
const SHARD_BITS: u32 = 4;
/// Candidates collected for a shard, at most.
const SHARD_BATCH_MAX: usize = 512;
/// From here on threads pay for closing a layer.
const SHARED_CLOSE_MIN: usize = 1 << 14;

impl RamTable {
    /// An empty table for records of that shape.
    pub fn new(shape: &Shape, budget: &Budget, threads: usize) -> Result<RamTable, SearchError> {
        let width = KeyWidth::new(shape.width_bits).ok_or(SearchError::TooWide { bits: shape.width_bits })?;
        let table = ShardedTable::new(width.bits(), if threads > 1 { SHARD_BITS } else { 0 }, budget)?;
        let each = table.shard_count() * width.words() * 8 + 4;
        let batch_records = (budget.free() / (16 * threads.max(1)) / each).clamp(1, SHARD_BATCH_MAX);
        let layers = Layers::new(budget, width)?;
        let (budget, cursor) = (budget.clone(), AtomicUsize::new(0));
        Ok(RamTable { table, budget, batch_records, layers, cursor, shared_close_min: SHARED_CLOSE_MIN })
    }

    /// The same, with layers of that many new states and more closed by all threads: another speed, the same results.
    pub fn closing_together_from(self, states: usize) -> RamTable {
        RamTable { shared_close_min: states.max(1), ..self }
    }

    /// Inserts keys of one shard and keeps the new ones.
    fn insert(
        &self,
        shard: usize,
        keys: &[u64],
        new: &mut Vec<u32>,
        fresh: &mut ChargedVec<u64>,
    ) -> Result<(), SearchError> {
        let words = self.layers.width().words();
        new.clear();
        self.table.lock(shard).insert_batch(keys, new).map_err(|full| full.reason)?;
        if fresh.len() + new.len() * words > fresh.capacity() {
            fresh.reserve((new.len() * words).max(fresh.len()))?;
        }
        for &index in &*new {
            fresh.extend(&keys[index as usize * words..][..words])?;
        }
        Ok(())
    }
}

impl LayerPolicy for RamTable {
    type Worker = Worker;

    fn worker(&self) -> Result<Worker, SearchError> {
        let (count, width, budget) = (self.table.shard_count(), self.layers.width(), &self.budget);
        let bytes = count * self.batch_records * width.words() * 8 + self.batch_records * 4;
        Ok(Worker {
            _charge: budget.charge("candidates", bytes)?,
            candidates: (0..count)
                .map(|_| RecordBuffer::with_capacity(width.words(), self.batch_records))
                .collect(),
            new: Vec::with_capacity(self.batch_records),
            fresh: ChargedVec::with_capacity(budget, "next layer", 0)?,
            encoder: LayerEncoder::new(budget, width)?,
            encoded: ChargedVec::with_capacity(budget, "next layer", 0)?,
            decoder: LayerDecoder::new(budget, width)?,
            served: 0,
        })
    }

    fn offer(&self, worker: &mut Worker, candidates: Records<'_>) -> Result<(), SearchError> {
        let Worker { candidates: buffers, new, fresh, .. } = worker;
        if let [_] = &**buffers {
            for part in candidates.words().chunks(self.batch_records * candidates.words_per_record()) {
                self.insert(0, part, new, fresh)?;
            }
            return Ok(());
        }
        for record in candidates.iter() {
            let shard = self.table.shard_of(record);
            let buffer = &mut buffers[shard];
            buffer.push(record);
            if buffer.len() == self.batch_records {
                self.insert(shard, buffer.view().words(), new, fresh)?;
                buffer.clear();
            }
        }
        Ok(())
    }

    fn flush(&self, worker: &mut Worker) -> Result<(), SearchError> {
        let Worker { candidates, new, fresh, .. } = worker;
        for (shard, buffer) in candidates.iter_mut().enumerate().filter(|(_, buffer)| !buffer.is_empty()) {
            self.insert(shard, buffer.view().words(), new, fresh)?;
            buffer.clear();
        }
        Ok(())
    }

    fn close_layer(&mut self, workers: &mut [Worker]) -> Result<ClosedLayer, SearchError> {
        let words = self.layers.width().words();
        let states = workers.iter().map(|worker| worker.fresh.len() / words).sum::<usize>();
        if workers.len() == 1 || states < self.shared_close_min {
            close_alone(&self.budget, words, workers)?;
        } else {
            close_together(&self.budget, words, workers)?;
        }
        self.layers.push(workers.iter().map(|worker| &*worker.encoded))?;
        for worker in workers {
            worker.encoded.clear();
            worker.fresh.clear();
            worker.served = usize::MAX;
        }
        self.cursor.store(0, Ordering::Relaxed);
        Ok(ClosedLayer { states: states as u64, oldest_duplicate: OldestDuplicate::Unknown })
    }

    fn next_batch(
        &self,
        worker: &mut Worker,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        batch.clear();
        if worker.served >= worker.decoder.records().len() {
            let block = self.cursor.fetch_add(1, Ordering::Relaxed);
            if block >= self.layers.current_blocks() {
                return Ok(());
            }
            self.layers.decode_current(block, &mut worker.decoder);
            worker.served = 0;
        }
        take_piece(&worker.decoder, &mut worker.served, records, batch);
        Ok(())
    }

    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        let mut decoder = LayerDecoder::new(&self.budget, self.layers.width())?;
        self.layers.visit(layer as usize, &mut decoder, visit);
        Ok(true)
    }
}

/// Sorts and codes a layer on one thread: everything goes to the first worker.
fn close_alone(budget: &Budget, words: usize, workers: &mut [Worker]) -> Result<(), SearchError> {
    let (first, others) = workers.split_first_mut().expect("there is at least one worker");
    for other in others {
        first.fresh.extend(&other.fresh)?;
    }
    sort_unique(budget, words, &mut first.fresh)?;
    Ok(first.encoder.encode(&first.fresh, &mut first.encoded)?)
}

/// Sorts and codes a layer on all threads: each sorts what it has, then each codes one range of the merged keys.
fn close_together(budget: &Budget, words: usize, workers: &mut [Worker]) -> Result<(), SearchError> {
    in_parallel(workers, &|worker: &mut Worker| {
        Ok(sort_unique(budget, words, &mut worker.fresh).map(|_| ())?)
    })?;
    let bounds = bounds(words, workers);
    let sorted: Vec<ChargedVec<u64>> = workers
        .iter_mut()
        .map(|worker| {
            Ok(std::mem::replace(&mut worker.fresh, ChargedVec::with_capacity(budget, "next layer", 0)?))
        })
        .collect::<Result<_, SearchError>>()?;
    let ranges: Vec<Vec<&[u64]>> = (0..workers.len())
        .map(|part| {
            sorted.iter().zip(&bounds).map(|(keys, bounds)| &keys[bounds[part]..bounds[part + 1]]).collect()
        })
        .collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter_mut()
            .zip(ranges)
            .map(|(worker, ranges)| scope.spawn(move || merge_and_encode(words, ranges, worker)))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("a thread that closes a layer does not panic"))
    })?;
    for (worker, mut keys) in workers.iter_mut().zip(sorted) {
        keys.clear();
        worker.fresh = keys;
    }
    Ok(())
}

fn in_parallel(
    workers: &mut [Worker],
    work: &(dyn Fn(&mut Worker) -> Result<(), SearchError> + Sync),
) -> Result<(), SearchError> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = workers.iter_mut().map(|worker| scope.spawn(move || work(worker))).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("a thread that closes a layer does not panic"))
    })
}

/// For each worker's sorted keys: where each of as many ranges of about equal size begins, in words. The ranges are cut at keys of the largest worker.
fn bounds(words: usize, workers: &[Worker]) -> Vec<Vec<usize>> {
    let largest =
        workers.iter().map(|worker| &*worker.fresh).max_by_key(|keys| keys.len()).expect("there are workers");
    let count = largest.len() / words;
    let cuts: Vec<&[u64]> =
        (1..workers.len()).map(|part| &largest[count * part / workers.len() * words..][..words]).collect();
    let position = |keys: &[u64], cut: &[u64]| {
        let (mut low, mut high) = (0, keys.len() / words);
        while low < high {
            let middle = (low + high) / 2;
            if keys[middle * words..][..words] < *cut { low = middle + 1 } else { high = middle }
        }
        low * words
    };
    workers
        .iter()
        .map(|worker| {
            let inner = cuts.iter().map(|cut| position(&worker.fresh, cut));
            std::iter::once(0).chain(inner).chain([worker.fresh.len()]).collect()
        })
        .collect()
}

/// Merges sorted, disjoint ranges and codes them, a block at a time.
fn merge_and_encode(words: usize, mut ranges: Vec<&[u64]>, worker: &mut Worker) -> Result<(), SearchError> {
    let Worker { encoder, encoded, candidates, .. } = worker;
    let block = candidates.first_mut().expect("there is at least one shard");
    ranges.retain(|range| !range.is_empty());
    while !ranges.is_empty() {
        let least =
            (0..ranges.len()).min_by_key(|range| &ranges[*range][..words]).expect("some range is not empty");
        let (key, rest) = ranges[least].split_at(words);
        block.push(key);
        ranges[least] = rest;
        if rest.is_empty() {
            ranges.swap_remove(least);
        }
        if block.len() == crate::layers::BLOCK_KEYS || ranges.is_empty() {
            encoder.encode(block.view().words(), encoded)?;
            block.clear();
        }
    }
    Ok(())
}
