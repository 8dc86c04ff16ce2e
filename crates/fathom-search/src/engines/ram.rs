//! Policy of the layer loop: a candidate is compared with everything at once, in a compact exact table in RAM.
//!
//! ```text
//! candidates --not offered a moment ago--> by shard --> table --new ones--> fresh, per thread --sorted, merged, coded--> layer
//! ```
//! The table knows which states were seen and nothing else. Closed layers are kept in `crate::layers`: the one being expanded is decoded from there block by block, and
//! so are all of them when a path is looked for. Layers are sorted, so neighbours are alike and expand faster.
//!
//! Memory: what [`fathom_disk::table`] says per state, 1 to 2.5 bytes per state for the layers, and the records of one layer while it is made. All of it is charged.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use fathom_disk::budget::{BUDGET_BYTES_MIN, Budget, ChargedVec};
use fathom_disk::key::KeyWidth;
use fathom_disk::set::sort::sort_unique;
use fathom_disk::table::{DIRECT_BITS_MAX, RECENT_BYTES, RecentKeys, ShardedTable, Table};
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::routes::{Fullness, Routes, SHARDS_MAX};
use crate::error::SearchError;
use crate::layer_loop::{ClosedLayer, LayerPolicy, OldestDuplicate};
use crate::layers::{BLOCK_KEYS, LayerDecoder, LayerEncoder, Layers, take_piece};

/// The policy.
#[derive(Debug)]
pub struct RamTable {
    table: ShardedTable,
    budget: Budget,
    /// Records that are dealt with at once.
    batch_records: usize,
    /// Records that a worker collects for one shard before it locks it; 0 if there is only one.
    shard_records: usize,
    layers: Layers,
    /// The next block of the current layer to be handed out.
    cursor: AtomicUsize,
    /// Layers with fewer new states are sorted and coded by one thread.
    shared_close_min: usize,
}

/// What a thread holds. No two threads' share a cache line, nor a pair of lines that are fetched together.
#[derive(Debug)]
#[repr(align(128))]
pub struct Worker {
    recent: RecentKeys,
    /// Candidates of a batch that are not recent, addressed.
    kept: Vec<u64>,
    routes: Routes,
    /// Which candidates of a batch were new.
    new: Vec<u32>,
    /// The new ones: its part of the next layer.
    fresh: ChargedVec<u64>,
    /// How many words of them, from the front, are in order.
    sorted: usize,
    encoder: LayerEncoder,
    encoded: ChargedVec<u8>,
    decoder: LayerDecoder,
    /// How many records of the decoded block were handed out.
    served: usize,
    _charge: fathom_disk::budget::Charge,
}

/// Shards of the table for more than one thread.
const SHARD_BITS: u32 = SHARDS_MAX.ilog2();
/// Candidates that are dealt with at once, at most.
const BATCH_MAX: usize = 512;
/// Candidates of a shard that pay for its lock.
const SHARD_BATCH_MAX: usize = 256;
/// From here on threads pay for closing a layer.
const SHARED_CLOSE_MIN: usize = 1 << 13;

impl RamTable {
    /// An empty table for records of that shape.
    pub fn new(shape: &Shape, budget: &Budget, threads: usize) -> Result<RamTable, SearchError> {
        let width = KeyWidth::new(shape.width_bits).ok_or(SearchError::TooWide { bits: shape.width_bits })?;
        let table = ShardedTable::new(width.bits(), shard_bits(width.bits(), threads), budget)?;
        let layers = Layers::new(budget, width)?;
        let share = budget.free() / (16 * threads.max(1));
        let record_bytes = width.words() * 8;
        let batch_records = (share / (record_bytes + 4)).clamp(1, BATCH_MAX);
        let shard_records = if table.shard_count() == 1 {
            0
        } else {
            (share / (2 * table.shard_count() * record_bytes)).clamp(1, SHARD_BATCH_MAX)
        };
        let (budget, cursor) = (budget.clone(), AtomicUsize::new(0));
        let shared_close_min = SHARED_CLOSE_MIN;
        Ok(RamTable { table, budget, batch_records, shard_records, layers, cursor, shared_close_min })
    }

    /// The closed layers.
    pub(crate) fn layers(&self) -> &Layers {
        &self.layers
    }

    /// The closed layers, without the table: its memory is given back.
    pub(crate) fn into_layers(self) -> Layers {
        self.layers
    }

    /// The same, with layers of that many new states and more closed by all threads: another speed, the same results.
    pub fn closing_together_from(self, states: usize) -> RamTable {
        RamTable { shared_close_min: states.max(1), ..self }
    }

    /// Gives the memory of the table back once a search is over: from now on only the layers are known.
    pub fn forget_table(&mut self) -> Result<(), SearchError> {
        self.table = ShardedTable::new(self.layers.width().bits(), 0, &Budget::new(BUDGET_BYTES_MIN))?;
        Ok(())
    }

    /// Puts a worker's new states in order, if they are not.
    fn sort(&self, worker: &mut Worker) -> Result<(), SearchError> {
        if worker.sorted < worker.fresh.len() {
            sort_unique(&self.budget, self.layers.width().words(), &mut worker.fresh)?;
            worker.sorted = worker.fresh.len();
        }
        Ok(())
    }

    /// Sorts addressed candidates by shard, and inserts where enough of them came together.
    fn route(&self, worker: &mut Worker, kept: &[u64], words: usize) -> Result<(), SearchError> {
        let addressing = self.table.addressing();
        for key in kept.chunks_exact(words) {
            let shard = addressing.shard(key);
            let table = match worker.routes.push(shard, key) {
                Fullness::Room => continue,
                Fullness::Enough => self.table.try_lock(shard),
                Fullness::Full => Some(self.table.lock(shard)),
            };
            if let Some(mut table) = table {
                insert_shard(&mut table, worker, shard)?;
            }
        }
        Ok(())
    }
}

/// Into how many shards a table is cut, as a power of two. Keys that are cut are numbered by half in every shard anew, so of those there are no more than it
/// takes to keep threads apart.
fn shard_bits(bits: u32, threads: usize) -> u32 {
    match (threads, bits <= DIRECT_BITS_MAX) {
        (0 | 1, _) => 0,
        (_, true) => SHARD_BITS,
        (_, false) => (2 * threads).next_power_of_two().ilog2().min(SHARD_BITS),
    }
}

/// Inserts what a worker holds for a shard and keeps the new ones.
fn insert_shard(table: &mut Table, worker: &mut Worker, shard: usize) -> Result<(), SearchError> {
    let Worker { routes, new, fresh, .. } = worker;
    insert(table, routes.of(shard), new, fresh)?;
    routes.clear(shard);
    Ok(())
}

/// Inserts addressed keys and keeps the new ones, as they were before.
fn insert(
    table: &mut Table,
    addressed: &[u64],
    new: &mut Vec<u32>,
    fresh: &mut ChargedVec<u64>,
) -> Result<(), SearchError> {
    let addressing = table.addressing();
    let words = addressing.words();
    new.clear();
    table.insert_addressed(addressed, new).map_err(|full| full.reason)?;
    let begin = fresh.len();
    if begin + new.len() * words > fresh.capacity() {
        fresh.reserve((new.len() * words).max(begin))?;
    }
    fresh.resize(begin + new.len() * words, 0)?;
    for (&index, key) in new.iter().zip(fresh[begin..].chunks_exact_mut(words)) {
        addressing.key(&addressed[index as usize * words..][..words], key);
    }
    Ok(())
}

impl LayerPolicy for RamTable {
    type Worker = Worker;

    fn worker(&self) -> Result<Worker, SearchError> {
        let (count, width, budget) = (self.table.shard_count(), self.layers.width(), &self.budget);
        let words = width.words();
        let recent_bytes = RECENT_BYTES.min(budget.free() / 64);
        Ok(Worker {
            _charge: budget.charge("candidates", self.batch_records * (words * 8 + 4))?,
            recent: RecentKeys::new(self.table.addressing(), recent_bytes, budget)?,
            kept: Vec::with_capacity(self.batch_records * words),
            routes: Routes::new(budget, count, words, self.shard_records)?,
            new: Vec::with_capacity(self.batch_records),
            fresh: ChargedVec::with_capacity(budget, "next layer", 0)?,
            sorted: 0,
            encoder: LayerEncoder::new(budget, width)?,
            encoded: ChargedVec::with_capacity(budget, "next layer", 0)?,
            decoder: LayerDecoder::new(budget, width)?,
            served: 0,
        })
    }

    fn offer(&self, worker: &mut Worker, candidates: Records<'_>) -> Result<(), SearchError> {
        let words = candidates.words_per_record();
        for part in candidates.words().chunks(self.batch_records * words) {
            let mut kept = std::mem::take(&mut worker.kept);
            kept.clear();
            worker.recent.keep_others(part, &mut kept);
            let done = if self.shard_records == 0 {
                insert(&mut self.table.lock(0), &kept, &mut worker.new, &mut worker.fresh)
            } else {
                self.route(worker, &kept, words)
            };
            worker.kept = kept;
            done?;
        }
        Ok(())
    }

    fn flush(&self, worker: &mut Worker) -> Result<(), SearchError> {
        // First the shards that nobody is at, then those that one has to wait for.
        for wait in [false, true] {
            for shard in 0..self.table.shard_count() {
                if worker.routes.of(shard).is_empty() {
                    continue;
                }
                let table = if wait { Some(self.table.lock(shard)) } else { self.table.try_lock(shard) };
                if let Some(mut table) = table {
                    insert_shard(&mut table, worker, shard)?;
                }
            }
        }
        // Nothing more is to come from this thread, so it sorts what it found while others may still be at work.
        self.sort(worker)
    }

    fn close_layer(&mut self, workers: &mut [Worker]) -> Result<ClosedLayer, SearchError> {
        let words = self.layers.width().words();
        let states = workers.iter().map(|worker| worker.fresh.len() / words).sum::<usize>();
        workers.iter_mut().try_for_each(|worker| self.sort(worker))?;
        let parts = if states < self.shared_close_min { 1 } else { workers.len() };
        close(&self.budget, words, workers, parts)?;
        self.layers.push(workers.iter().map(|worker| &*worker.encoded))?;
        for worker in workers {
            worker.encoded.clear();
            worker.fresh.clear();
            worker.sorted = 0;
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

/// Codes a layer in so many parts, each a range of the merged keys of all workers and made by a thread.
fn close(budget: &Budget, words: usize, workers: &mut [Worker], parts: usize) -> Result<(), SearchError> {
    let bounds = bounds(words, workers, parts);
    let sorted: Vec<ChargedVec<u64>> = workers
        .iter_mut()
        .map(|worker| {
            Ok(std::mem::replace(&mut worker.fresh, ChargedVec::with_capacity(budget, "next layer", 0)?))
        })
        .collect::<Result<_, SearchError>>()?;
    let ranges = |part: usize| -> Vec<&[u64]> {
        let ranges = sorted.iter().zip(&bounds).map(|(keys, bounds)| &keys[bounds[part]..bounds[part + 1]]);
        ranges.filter(|range| !range.is_empty()).collect()
    };
    let (own, others) = workers.split_first_mut().expect("there is at least one worker");
    std::thread::scope(|scope| {
        let threads: Vec<_> = others
            .iter_mut()
            .zip(1..parts)
            .map(|(worker, part)| {
                let ranges = ranges(part);
                scope.spawn(move || merge_and_encode(words, ranges, worker))
            })
            .collect();
        let done = merge_and_encode(words, ranges(0), own);
        let join = |thread: ScopedJoinHandle<'_, Result<(), SearchError>>| {
            thread.join().expect("a thread that closes a layer does not panic")
        };
        threads.into_iter().map(join).fold(done, Result::and)
    })?;
    for (worker, mut keys) in workers.iter_mut().zip(sorted) {
        keys.clear();
        worker.fresh = keys;
    }
    Ok(())
}

/// For each worker's sorted keys: where each of so many ranges of about equal size begins, in words. The ranges are cut at keys of the largest worker.
fn bounds(words: usize, workers: &[Worker], parts: usize) -> Vec<Vec<usize>> {
    let largest =
        workers.iter().map(|worker| &*worker.fresh).max_by_key(|keys| keys.len()).expect("there are workers");
    let count = largest.len() / words;
    let cuts: Vec<&[u64]> =
        (1..parts).map(|part| &largest[count * part / parts * words..][..words]).collect();
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

/// Merges sorted, disjoint ranges, none of them empty, and codes them, a block at a time.
fn merge_and_encode(words: usize, mut ranges: Vec<&[u64]>, worker: &mut Worker) -> Result<(), SearchError> {
    let Worker { encoder, encoded, kept: block, .. } = worker;
    let block_words = block.capacity().min(BLOCK_KEYS * words) / words * words;
    block.clear();
    if let [only] = &*ranges {
        return Ok(encoder.encode(only, encoded)?);
    }
    while !ranges.is_empty() {
        let least =
            (0..ranges.len()).min_by_key(|range| &ranges[*range][..words]).expect("some range is not empty");
        let (key, rest) = ranges[least].split_at(words);
        block.extend_from_slice(key);
        ranges[least] = rest;
        if rest.is_empty() {
            ranges.swap_remove(least);
        }
        if block.len() == block_words || ranges.is_empty() {
            encoder.encode(block, encoded)?;
            block.clear();
        }
    }
    Ok(())
}
