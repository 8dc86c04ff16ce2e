//! How do the threads of a search close a layer on disk together?
//!
//! What was collected is handed over by shard; each thread that finds a set of [`Tools`] free takes shard after shard. There are as many sets as the budget allows, so some threads may
//! have nothing to do. A layer of few candidates is closed by the leader alone.

use std::sync::Mutex;
use std::sync::TryLockError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use fathom_disk::storage::Phase;

use super::known::Tools;
use super::{Plan, Tier, lock};
use crate::error::SearchError;
use crate::files::candidates::{Candidates, Collected, with_stream};

/// The layer that is being closed.
#[derive(Debug, Default)]
pub(super) struct Closing {
    /// What all threads have collected, by shard and by thread.
    work: Vec<Mutex<Vec<Collected>>>,
    next: AtomicUsize,
    states: AtomicU64,
    /// Kept from layer to layer, unless the budget is tiny.
    pub(super) tools: Vec<Mutex<Tools>>,
    /// Bytes of candidates on disk, and of all their keys.
    pub(super) spilled: u64,
    pub(super) collected: u64,
    /// Candidates before any were set aside.
    pub(super) offered: u64,
}

impl Tier {
    /// Takes over what was collected; says whether it is worth several threads.
    pub(super) fn begin_closing(&mut self, workers: &mut [&mut Candidates]) -> Result<bool, SearchError> {
        workers.iter_mut().try_for_each(|worker| worker.settle())?;
        while self.closing.tools.len() < self.shares.closers {
            self.closing.tools.push(Mutex::new(Tools::new(&self.place, &self.shares)?));
        }
        let words = self.place.width.words();
        let parts = || workers.iter().flat_map(|worker| worker.shards());
        self.closing.spilled = parts().map(Collected::spilled).sum();
        self.closing.collected = parts().map(|part| part.count(words) * words as u64 * 8).sum();
        self.closing.offered = workers.iter().map(|worker| worker.offered()).sum();
        let small = parts().all(|part| self.is_small(std::slice::from_ref(part)));
        let mut work: Vec<Vec<Collected>> = (0..self.shares.shards).map(|_| Vec::new()).collect();
        for worker in workers {
            worker.take_shards().zip(&mut work).for_each(|(part, parts)| parts.push(part));
        }
        self.closing.work = work.into_iter().map(Mutex::new).collect();
        self.closing.next = AtomicUsize::new(0);
        self.closing.states = AtomicU64::new(0);
        Ok(!small && self.closing.tools.len() > 1)
    }

    /// Closes shards until there are no more, if there are tools.
    pub(super) fn close_shards(&self) -> Result<(), SearchError> {
        let free = self.closing.tools.iter().find_map(|tools| match tools.try_lock() {
            Ok(tools) => Some(tools),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        let Some(mut tools) = free else { return Ok(()) };
        loop {
            let number = self.closing.next.fetch_add(1, Ordering::Relaxed);
            let Some(collected) = self.closing.work.get(number) else { return Ok(()) };
            let states = self.close_shard(number, &mut lock(collected), &mut tools)?;
            self.closing.states.fetch_add(states, Ordering::Relaxed);
        }
    }

    /// Gives the threads their buffers back; says how many states were new.
    pub(super) fn end_closing(&mut self, workers: &mut [&mut Candidates]) -> u64 {
        for parts in self.closing.work.drain(..) {
            let parts = parts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
            workers.iter_mut().zip(parts).for_each(|(worker, part)| worker.give_shard(part));
        }
        for tools in &self.closing.tools {
            self.cost.add(std::mem::take(&mut lock(tools).cost));
        }
        self.closing.states.load(Ordering::Relaxed)
    }

    /// Makes known what is new among the candidates of a shard.
    fn close_shard(
        &self,
        number: usize,
        collected: &mut [Collected],
        tools: &mut Tools,
    ) -> Result<u64, SearchError> {
        let _phase = Phase::enter("close");
        let began = Instant::now();
        let before = tools.cost;
        let mut known = lock(&self.shards[number]);
        let words = self.place.width.words();
        let candidates = collected.iter().map(|part| part.count(words)).sum();
        let size = (candidates, self.is_small(collected));
        let scan = self.options.plan == Plan::Scan;
        let absorbed = with_stream(&self.place, collected, self.shares.scan_bytes, |stream| {
            known.absorb(&self.place, tools, stream, size, scan, &mut |encoder, fresh| {
                encoder.encode(fresh, |keys, payload| self.layers().store.append(keys, payload))
            })
        })?;
        let states = absorbed.states;
        known.settle(&self.place, tools, absorbed)?;
        let spent = tools.cost;
        let named = (spent.filter - before.filter)
            + (spent.look_up - before.look_up)
            + (spent.write - before.write)
            + (spent.merge - before.merge);
        tools.cost.sort += began.elapsed().saturating_sub(named);
        Ok(states)
    }

    /// Whether so few candidates were collected that the table of small layers should take them.
    fn is_small(&self, collected: &[Collected]) -> bool {
        let words = self.place.width.words();
        let keys: Option<usize> = collected.iter().map(|part| part.in_memory(words)).sum();
        keys.is_some_and(|keys| keys * (2 * words * 8) * 2 <= self.shares.table_bytes)
    }
}
