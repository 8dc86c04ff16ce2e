//! Policy of the layer loop: new states gather in RAM, and all that is on disk is read past them when memory is full or the layer ends.
//!
//! Stern and Dill, "Using magnetic disk instead of main memory in the Murphi verifier" (CAV 1998), corrected: states are checked before they are expanded, so that
//! layers are exact. The states on disk are kept as sorted runs, so reading them through the table is a merge.
//!
//! Memory: the table takes what the budget leaves beside buffers. I/O: everything known is read once per layer, and once more whenever the table is full. Nothing is committed: a
//! run that ends early starts over. It is here to be compared with.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::{RunConfig, RunWriter, Tag};
use fathom_disk::set::{Difference, KeyStream, SliceStream, Tiers, sort_unique};
use fathom_disk::storage::Volume;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::engine::{Answer, Ask, Body, Engine, Files, Kept, Run, Threads};
use super::tier::{Breadth, Repeats, Shares, TINY_BYTES};
use crate::bodies::stages::{self, ClosedStage, OldestDuplicate, StagePolicy};
use crate::error::SearchError;
use crate::files::disk_use::DiskUse;
use crate::files::layer_store::{BlockEncoder, LayerCursor, LayerStore};
use crate::files::place::Place;
use crate::stores::Layered;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "stern-dill",
    help: "The same as Stern and Dill did it: all states on disk are read for every layer. To compare with",
    search: "breadth-first, exact",
    memory: "what --ram leaves, for any number",
    io: "all states once per layer",
    certificate: "none",
    origin: "Stern, Dill 1998: states gather in memory, all on disk are read past them; to compare with",
    threads: Threads::Many,
    files: Files::Always,
    resumes: false,
    revisits: false,
    body: Body::Stages,
    stores: &[],
    options: &[],
    run: Run::States(search),
};

fn search(ask: &Ask<'_>) -> Result<Answer, SearchError> {
    let volume = (ask.place.volume)()?;
    let mut policy =
        SternDill::new(&volume, ask.budget, ask.system.shape(), ask.settings.threads, ask.place.tag)?;
    let outcome = stages::run(ask.system, &mut policy, ask.budget, ask.settings, ask.observer)?;
    let used = Some(policy.disk_use());
    let kept = Kept::Layers(Box::new(policy));
    Ok(Answer { engine: ENGINE.name, outcome, kept, used, closing: None })
}

/// The policy.
#[derive(Debug)]
pub struct SternDill {
    place: Place,
    shares: Shares,
    /// Keys that the table holds before it is checked.
    gathered_keys: usize,
    state: Mutex<State>,
}

/// What threads share.
#[derive(Debug)]
struct State {
    /// New states, some of them known or repeated until they are checked.
    gathered: ChargedVec<u64>,
    known: Tiers,
    store: LayerStore,
    cursor: LayerCursor,
    states: u64,
}

impl SternDill {
    /// Nothing known yet.
    pub fn new(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        threads: usize,
        tag: Tag,
    ) -> Result<SternDill, SearchError> {
        let width = KeyWidth::new(shape.width_bits).ok_or(SearchError::TooWide { bits: shape.width_bits })?;
        let place = Place::new(volume, budget, width, tag, 0);
        let bytes = budget.free() / 8 * 7;
        let shares = Shares::of(bytes, threads.max(1), width, (Breadth::Narrow, Repeats::Many));
        let store = LayerStore::new(volume, "layers", shares.log_block_bytes, budget)?;
        let cursor = LayerCursor::new(width, budget)?;
        // Sorting wide keys takes an order beside them.
        let share = if bytes < TINY_BYTES { bytes / 8 } else { bytes / 2 };
        let gathered_keys = (share / (width.words() * 8 + 4)).max(2);
        let gathered = ChargedVec::with_capacity(budget, "gathered states", gathered_keys * width.words())?;
        let state = State { gathered, known: Tiers::new(shares.fan), store, cursor, states: 0 };
        Ok(SternDill { place, shares, gathered_keys, state: Mutex::new(state) })
    }

    /// What files hold.
    pub fn disk_use(&self) -> DiskUse {
        let state = self.state();
        let closed_set = state.known.runs().map(|(_, run)| run.bytes()).sum();
        let layers = state.store.disk_bytes();
        DiskUse { closed_set, at_rest: None, layers, peak: closed_set + layers }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes away what is known from what has gathered; the rest is known from now on, and part of the next layer.
    fn check(&self, state: &mut State) -> Result<(), DiskError> {
        let State { gathered, known, store, states, .. } = state;
        let (Place { volume, budget, width, tag, .. }, words) = (&self.place, self.place.width.words());
        let kept = sort_unique(budget, words, gathered)?;
        gathered.truncate(kept);
        let bytes = self.shares.close_bytes / 4;
        let config = RunConfig::within(*width, *tag, bytes);
        let name = self.place.fresh_name("run");
        let mut encoder = BlockEncoder::new(budget, *width, self.shares.log_block_keys)?;
        let fresh = {
            let older = known.scan(budget, words, bytes)?;
            let mut new = Difference::new(budget, SliceStream::new(words, gathered), older)?;
            let mut writer = None;
            while new.advance()? {
                let writer = match &mut writer {
                    Some(writer) => writer,
                    None => writer.insert(RunWriter::new(volume, budget, &name, &config)?),
                };
                writer.push(new.keys())?;
                encoder.encode(new.keys(), |keys, payload| store.append(keys, payload))?;
                *states += (new.keys().len() / words) as u64;
            }
            writer
        };
        gathered.clear();
        let Some(writer) = fresh else { return Ok(()) };
        writer.finish(false)?;
        known.insert(0, self.place.open_run(&name)?);
        while let Some(level) = known.due() {
            self.place.merge(known, Some(level), &config, bytes)?;
        }
        while known.runs().count() > self.shares.runs_max {
            self.place.merge(known, None, &config, bytes)?;
        }
        Ok(known.retired().iter().try_for_each(|name| volume.remove(name))?)
    }
}

impl StagePolicy for SternDill {
    type Worker = ();

    fn worker(&self) -> Result<(), SearchError> {
        Ok(())
    }

    fn offer(&self, _worker: &mut (), candidates: Records<'_>) -> Result<(), SearchError> {
        let words = self.place.width.words();
        let state = &mut *self.state();
        let mut rest = candidates.words();
        while !rest.is_empty() {
            let room = self.gathered_keys * words - state.gathered.len();
            let (now, later) = rest.split_at(rest.len().min(room));
            state.gathered.extend(now)?;
            rest = later;
            if state.gathered.len() == self.gathered_keys * words {
                let kept = sort_unique(&self.place.budget, words, &mut state.gathered)?;
                state.gathered.truncate(kept);
                if kept > self.gathered_keys * words / 4 * 3 || kept == self.gathered_keys * words {
                    self.check(state)?;
                }
            }
        }
        Ok(())
    }

    fn flush(&self, _worker: &mut ()) -> Result<(), SearchError> {
        Ok(())
    }

    fn prepare_close(&mut self, _workers: &mut [&mut ()]) -> Result<bool, SearchError> {
        Ok(false)
    }

    fn close_share(&self, _worker: &mut ()) -> Result<(), SearchError> {
        Ok(())
    }

    fn close_stage(&mut self, _workers: &mut [&mut ()]) -> Result<ClosedStage, SearchError> {
        let state = &mut *self.state();
        self.check(state)?;
        let states = std::mem::take(&mut state.states);
        if states > 0 {
            state.store.close()?;
            state.cursor.open(&state.store, state.store.layer_count() - 1)?;
        }
        Ok(ClosedStage { states, oldest_duplicate: OldestDuplicate::Unknown })
    }

    fn next_batch(
        &self,
        _worker: &mut (),
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        batch.clear();
        let State { store, cursor, .. } = &mut *self.state();
        Ok(cursor.take(store, records, batch)?)
    }
}

impl Layered for SternDill {
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        let state = self.state();
        Ok(state.store.visit(layer, &self.place, visit)?)
    }
}
