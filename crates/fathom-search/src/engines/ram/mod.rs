//! Policy of the layer loop: a candidate is compared with everything at once, in a compact exact table in RAM.
//!
//! ```text
//! candidates --not offered a moment ago--> by shard --> owner's table --new ones--> fresh, per thread --sorted, merged, coded--> layer
//! ```
//! The table knows which states were seen and nothing else. Closed layers are kept in `crate::stores::layers`: the one being expanded is decoded from there block by block, and
//! so are all of them when a path is looked for. Layers are sorted, so neighbours are alike and expand faster.
//!
//! Memory: what [`fathom_disk::table`] says per state, 1 to 2.5 bytes per state for the layers, and the records of one layer while it is made. All of it is charged.

mod closing;
mod inboxes;
mod routes;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use fathom_disk::budget::{BUDGET_BYTES_MIN, Budget, ChargedVec};
use fathom_disk::key::KeyWidth;
use fathom_disk::set::sort::sort_unique;
use fathom_disk::table::{DIRECT_BITS_MAX, RECENT_BYTES, RecentKeys, ShardedTable, Table};
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::engine::{Answer, Ask, Body, Engine, Files, Kept, Run, Threads};
use crate::bodies::stages::{self, ClosedStage, OldestDuplicate, StagePolicy};
use crate::error::SearchError;
use crate::stores::Layered;
use crate::stores::layers::{LayerDecoder, LayerEncoder, Layers, take_piece};
use crate::task::Duplicates;
use closing::Closing;
use inboxes::Inboxes;
use routes::{Fullness, Routes, SHARDS_MAX};

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "ram",
    help: "Breadth-first in memory, exact",
    search: "breadth-first, exact",
    memory: "a few bytes",
    io: "none",
    certificate: "none",
    origin: "a compact table in memory, layers as gap code",
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
    let mut table = RamTable::new(ask.task.system.shape(), ask.task.budget, ask.task.settings.threads)?;
    let outcome = stages::run(ask.task, &mut table)?;
    Ok(Answer::in_memory(&ENGINE, outcome, Kept::Layers(Box::new(table))))
}

/// The policy.
#[derive(Debug)]
pub struct RamTable {
    table: ShardedTable,
    budget: Budget,
    /// Records that are dealt with at once.
    batch_records: usize,
    /// Records that a worker collects for one shard before it locks it, and deals with at once; 0 if there is only one shard.
    shard_records: usize,
    /// What threads leave for one another's shards.
    inboxes: Inboxes,
    layers: Layers,
    /// For each thread: the next block to be handed out of its part of the current layer.
    cursors: Vec<Cursor>,
    /// Workers made so far.
    hired: AtomicUsize,
    closing: Closing,
    /// Layers with fewer new states are coded by one thread.
    shared_close_min: usize,
    /// Candidates for closed layers that were known.
    duplicates: u64,
}

/// The next block of a part of a layer. No two share a cache line, nor a pair of lines that are fetched together.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cursor(AtomicUsize);

/// What a thread holds. No two threads' share a cache line, nor a pair of lines that are fetched together.
#[derive(Debug)]
#[repr(align(128))]
pub struct Worker {
    /// Candidates since the last layer was closed.
    offered: u64,
    recent: RecentKeys,
    /// Candidates of a batch that are not recent, addressed.
    kept: Vec<u64>,
    routes: Routes,
    /// Candidates that others left for a shard of this thread's.
    received: Vec<u64>,
    /// Whether others may leave some.
    is_here: bool,
    /// Which candidates of a batch were new.
    new: Vec<u32>,
    /// The new ones: its part of the next layer.
    fresh: ChargedVec<u64>,
    /// How many words of them, from the front, are in order.
    sorted: usize,
    encoder: LayerEncoder,
    /// Which part of a layer it begins with, and which shards it owns.
    number: usize,
    /// Blocks of the current layer that are this thread's.
    stretch: Range<usize>,
    decoder: LayerDecoder,
    /// How many records of the decoded block were handed out.
    served: usize,
    _charge: fathom_disk::budget::Charge,
}

/// Shards of the table for more than one thread.
const SHARD_BITS: u32 = SHARDS_MAX.ilog2();
/// Candidates that are dealt with at once, at most.
const BATCH_MAX: usize = 512;
/// Candidates of all shards that a thread holds back before it deals with them, and of one shard that pay for its lock.
const HELD_MAX: usize = 1024;
const SHARD_BATCH_MIN: usize = 128;
/// From here on threads pay for closing a layer.
const SHARED_CLOSE_MIN: usize = 1 << 12;
/// Ranges that a layer is coded in, for each thread: more than one, so that who is done first helps.
const RANGES_PER_THREAD: usize = 4;

/// The most blocks that a thread takes at once.
const STRETCH_MAX: usize = 16;
/// A thread takes this part of what is left.
const STRETCHES_LEFT: usize = 16;

impl RamTable {
    /// An empty table for records of that shape.
    pub fn new(shape: &Shape, budget: &Budget, threads: usize) -> Result<RamTable, SearchError> {
        let width = KeyWidth::new(shape.width_bits).ok_or(SearchError::TooWide { bits: shape.width_bits })?;
        let table = ShardedTable::new(width.bits(), shard_bits(width.bits(), threads), budget)?;
        let layers = Layers::new(budget, width, threads.max(1))?;
        let share = budget.free() / (16 * threads.max(1));
        let record_bytes = width.words() * 8;
        let batch_records = (share / (record_bytes + 4)).clamp(1, BATCH_MAX);
        let shard_records = if table.shard_count() == 1 {
            0
        } else {
            let (shards, words) = (table.shard_count(), width.words());
            let bytes = Routes::bytes_per_piece(shards, words) + Inboxes::bytes_per_piece(shards, words);
            (share / bytes).clamp(1, (HELD_MAX / shards).max(SHARD_BATCH_MIN))
        };
        let inboxes =
            Inboxes::new(budget, table.shard_count(), threads.max(1), width.words(), shard_records)?;
        Ok(RamTable {
            closing: Closing::new(width.words(), budget),
            cursors: (0..threads.max(1)).map(|_| Cursor::default()).collect(),
            hired: AtomicUsize::new(0),
            budget: budget.clone(),
            shared_close_min: SHARED_CLOSE_MIN,
            duplicates: 0,
            table,
            batch_records,
            shard_records,
            inboxes,
            layers,
        })
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

    /// The next blocks that nobody has taken, of the thread's own part of the current layer or, when that is done, of another's: many at first, since
    /// neighbours lead to the same states, and few at last, so that all threads are done at about the same time.
    fn take_stretch(&self, number: usize) -> Range<usize> {
        let count = self.cursors.len();
        for part in (0..count).map(|next| (number + next) % count) {
            let Range { start, end } = self.part(part);
            let cursor = &self.cursors[part].0;
            let left = (end - start).saturating_sub(cursor.load(Ordering::Relaxed));
            if left > 0 {
                let length = (left / STRETCHES_LEFT).clamp(1, STRETCH_MAX);
                let begin = start + cursor.fetch_add(length, Ordering::Relaxed);
                if begin < end {
                    return begin..(begin + length).min(end);
                }
            }
        }
        0..0
    }

    /// The blocks that a thread begins with. Threads far apart in a layer hardly ever come upon the same new states at the same time: each finds what it
    /// offered a moment ago, and the buckets of the table that it touched, in its own caches.
    fn part(&self, number: usize) -> Range<usize> {
        let (blocks, count) = (self.layers.current_blocks(), self.cursors.len());
        blocks * number / count..blocks * (number + 1) / count
    }

    /// Puts a worker's new states in order, if they are not.
    fn sort(&self, worker: &mut Worker) -> Result<(), SearchError> {
        if worker.sorted < worker.fresh.len() {
            sort_unique(&self.budget, self.layers.width().words(), &mut worker.fresh)?;
            worker.sorted = worker.fresh.len();
        }
        Ok(())
    }

    /// Sorts candidates by shard. Where enough of them came together they are inserted or, if another thread owns the shard, left for it.
    fn route(&self, worker: &mut Worker, candidates: &[u64]) -> Result<(), SearchError> {
        let Worker { recent, kept, routes, number, .. } = worker;
        let number = *number;
        routes.put(self.table.addressing(), recent.keep_others(candidates, kept));
        for shard in 0..self.table.shard_count() {
            let is_own = self.inboxes.owner(shard) == number;
            if is_own && self.inboxes.waits(shard) {
                self.insert_received(worker, shard)?;
            }
            let fullness = worker.routes.fullness(shard);
            if fullness != Fullness::Room && (is_own || !self.hand_over(worker, shard)) {
                self.insert_routed(worker, shard, is_own || fullness == Fullness::Full)?;
            }
        }
        Ok(())
    }

    /// Leaves what a worker holds for another's shard to that one, if it is there and has room.
    fn hand_over(&self, worker: &mut Worker, shard: usize) -> bool {
        let posted = self.inboxes.post(shard, worker.routes.of(shard));
        if posted {
            worker.routes.clear(shard);
        }
        posted
    }

    /// Inserts what a worker holds for a shard and keeps the new ones; if it is not to wait, only where nobody else is at that shard.
    fn insert_routed(&self, worker: &mut Worker, shard: usize, wait: bool) -> Result<(), SearchError> {
        let table = if wait { Some(self.table.lock(shard)) } else { self.table.try_lock(shard) };
        if let Some(mut table) = table {
            let Worker { routes, new, fresh, .. } = worker;
            insert(&mut table, routes.of(shard), new, fresh)?;
            routes.clear(shard);
        }
        Ok(())
    }

    /// Inserts what others left for a worker's own shard and keeps the new ones.
    fn insert_received(&self, worker: &mut Worker, shard: usize) -> Result<(), SearchError> {
        let Worker { received, new, fresh, .. } = worker;
        self.inboxes.collect(shard, received);
        insert(&mut self.table.lock(shard), received, new, fresh)
    }

    /// Deals with everything that a worker holds back, its own and others'. From now on nothing is left for it.
    fn deliver(&self, worker: &mut Worker) -> Result<(), SearchError> {
        let number = worker.number;
        self.inboxes.leave(number);
        worker.is_here = false;
        let shards = 0..self.table.shard_count();
        for shard in shards.clone().filter(|shard| self.inboxes.owner(*shard) == number) {
            self.insert_received(worker, shard)?;
            self.insert_routed(worker, shard, true)?;
        }
        // First what others take and the shards that nobody is at, then those that one has to wait for.
        for wait in [false, true] {
            for shard in shards.clone() {
                if !worker.routes.of(shard).is_empty() && !self.hand_over(worker, shard) {
                    self.insert_routed(worker, shard, wait)?;
                }
            }
        }
        Ok(())
    }

    /// Makes parts of a thread's own shards larger that soon have to be, as long as others are still at work: all parts of a table fill at the same pace, so most of them
    /// grow in the same few layers, and not as many in each shard.
    fn grow_meanwhile(&self, number: usize) {
        for shard in (0..self.table.shard_count()).filter(|shard| self.inboxes.owner(*shard) == number) {
            while self.inboxes.is_anybody_here()
                && self.table.try_lock(shard).is_some_and(|mut table| table.grow_ahead())
            {}
        }
    }
}

/// Into how many shards a table is cut, as a power of two. Where each thread can own as much with one shard each, that is best: the fewer there are, the more candidates
/// are dealt with at once. Shards of keys that are cut have a dictionary of their own beside the pairs, so of those there are never many more than threads.
fn shard_bits(bits: u32, threads: usize) -> u32 {
    match (threads, bits <= DIRECT_BITS_MAX) {
        (0 | 1, _) => 0,
        _ if threads.is_power_of_two() => threads.ilog2().min(SHARD_BITS),
        (_, true) => SHARD_BITS,
        (_, false) => (2 * threads).next_power_of_two().ilog2().min(SHARD_BITS),
    }
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

impl StagePolicy for RamTable {
    type Worker = Worker;

    fn worker(&self) -> Result<Worker, SearchError> {
        let (count, width, budget) = (self.table.shard_count(), self.layers.width(), &self.budget);
        let words = width.words();
        let recent_bytes = RECENT_BYTES.min(budget.free() / 64);
        // Words of what others leave for a shard, and candidates that are inserted at once.
        let room = self.inboxes.room();
        let together = self.batch_records.max(room / words);
        Ok(Worker {
            offered: 0,
            _charge: budget.charge("candidates", self.batch_records * words * 8 + room * 8 + together * 4)?,
            recent: RecentKeys::new(self.table.addressing(), recent_bytes, budget)?,
            kept: Vec::with_capacity(self.batch_records * words),
            routes: Routes::new(budget, count, words, self.shard_records)?,
            received: Vec::with_capacity(room),
            is_here: false,
            new: Vec::with_capacity(together),
            fresh: ChargedVec::with_capacity(budget, "next layer", 0)?,
            sorted: 0,
            encoder: LayerEncoder::new(budget, width)?,
            number: self.hired.fetch_add(1, Ordering::Relaxed) % self.cursors.len(),
            stretch: 0..0,
            decoder: LayerDecoder::new(budget, width)?,
            served: 0,
        })
    }

    fn offer(&self, worker: &mut Worker, candidates: Records<'_>) -> Result<(), SearchError> {
        let words = candidates.words_per_record();
        worker.offered += candidates.len() as u64;
        if self.shard_records > 0 {
            if !worker.is_here {
                self.inboxes.come(worker.number);
                worker.is_here = true;
            }
            let mut pieces = candidates.words().chunks(self.shard_records * words);
            return pieces.try_for_each(|piece| self.route(worker, piece));
        }
        let Worker { recent, kept, new, fresh, .. } = worker;
        for piece in candidates.words().chunks(self.batch_records * words) {
            let others = recent.keep_others(piece, kept);
            insert(&mut self.table.lock(0), others, new, fresh)?;
        }
        Ok(())
    }

    fn flush(&self, worker: &mut Worker) -> Result<(), SearchError> {
        if self.shard_records > 0 {
            self.deliver(worker)?;
        }
        // Nothing more is to come from this thread, so it sorts what it found while others may still be at work.
        self.sort(worker)?;
        self.grow_meanwhile(worker.number);
        Ok(())
    }

    fn prepare_close(&mut self, workers: &mut [&mut Worker]) -> Result<bool, SearchError> {
        let words = self.layers.width().words();
        let states = workers.iter().map(|worker| worker.fresh.len() / words).sum::<usize>();
        let together = workers.len() > 1 && states >= self.shared_close_min;
        let ranges = if together { workers.len() * RANGES_PER_THREAD } else { 1 };
        self.closing.begin(workers.iter_mut().map(|worker| &mut worker.fresh), ranges)?;
        Ok(together)
    }

    fn close_share(&self, worker: &mut Worker) -> Result<(), SearchError> {
        let Worker { number, encoder, kept, .. } = worker;
        self.closing.encode_ranges(&self.layers, *number, encoder, kept)
    }

    fn close_stage(&mut self, workers: &mut [&mut Worker]) -> Result<ClosedStage, SearchError> {
        let words = self.layers.width().words();
        self.closing.take_parts(|parts| self.layers.push(parts))?;
        let mut states = 0;
        for (worker, found) in workers.iter_mut().zip(self.closing.found()) {
            std::mem::swap(&mut worker.fresh, found);
            states += worker.fresh.len() / words;
            worker.fresh.clear();
            worker.sorted = 0;
            worker.stretch = 0..0;
            worker.served = usize::MAX;
        }
        let offered: u64 = workers.iter_mut().map(|worker| std::mem::take(&mut worker.offered)).sum();
        self.duplicates += offered - states as u64;
        self.cursors.iter().for_each(|cursor| cursor.0.store(0, Ordering::Relaxed));
        self.table.recut();
        Ok(ClosedStage { states: states as u64, oldest_duplicate: OldestDuplicate::Unknown })
    }

    fn duplicates(&self) -> Duplicates {
        Duplicates::noticed(self.duplicates, 0)
    }

    fn next_batch(
        &self,
        worker: &mut Worker,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        batch.clear();
        if worker.served >= worker.decoder.records().len() {
            if worker.stretch.is_empty() {
                worker.stretch = self.take_stretch(worker.number);
            }
            let Some(block) = worker.stretch.next() else { return Ok(()) };
            self.layers.decode_current(block, &mut worker.decoder);
            worker.served = 0;
        }
        take_piece(&worker.decoder, &mut worker.served, records, batch);
        Ok(())
    }
}

impl Layered for RamTable {
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        let mut decoder = LayerDecoder::new(&self.budget, self.layers.width())?;
        self.layers.visit(layer as usize, &mut decoder, visit);
        Ok(true)
    }
}
