//! How do the threads of a search close a layer on disk together?
//!
//! Each thread that finds a set of tools free takes shard after shard, with what there is to do for it. There are as many sets as the budget allows, so some threads may have nothing to do.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use super::lock;
use crate::error::SearchError;

/// The layer that is being closed: `W` is what there is to do for a shard, `T` what it is done with.
#[derive(Debug)]
pub(crate) struct Closing<W, T> {
    work: Vec<Mutex<W>>,
    next: AtomicUsize,
    states: AtomicU64,
    tools: Vec<Mutex<T>>,
}

impl<W, T> Default for Closing<W, T> {
    fn default() -> Closing<W, T> {
        Closing { work: Vec::new(), next: AtomicUsize::new(0), states: AtomicU64::new(0), tools: Vec::new() }
    }
}

impl<W, T> Closing<W, T> {
    /// Makes tools until there are so many sets.
    pub(crate) fn equip<E>(&mut self, sets: usize, mut make: impl FnMut() -> Result<T, E>) -> Result<(), E> {
        while self.tools.len() < sets {
            self.tools.push(Mutex::new(make()?));
        }
        Ok(())
    }

    /// The sets of tools there are.
    pub(crate) fn tools(&self) -> &[Mutex<T>] {
        &self.tools
    }

    /// Lets go of the tools.
    pub(crate) fn put_tools_away(&mut self) {
        self.tools = Vec::new();
    }

    /// There is so much to do, by shard.
    pub(crate) fn begin(&mut self, work: impl IntoIterator<Item = W>) {
        self.work = work.into_iter().map(Mutex::new).collect();
        self.next = AtomicUsize::new(0);
        self.states = AtomicU64::new(0);
    }

    /// Closes shards until there are no more, if there are tools. `close` says how many states of a shard were new.
    pub(crate) fn share(
        &self,
        mut close: impl FnMut(usize, &mut W, &mut T) -> Result<u64, SearchError>,
    ) -> Result<(), SearchError> {
        let free = self.tools.iter().find_map(|tools| match tools.try_lock() {
            Ok(tools) => Some(tools),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        let Some(mut tools) = free else { return Ok(()) };
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(work) = self.work.get(number) else { return Ok(()) };
            let states = close(number, &mut lock(work), &mut tools)?;
            self.states.fetch_add(states, Ordering::Relaxed);
        }
    }

    /// Gives what was handed over back, by shard, and says how many states were new.
    pub(crate) fn end(&mut self) -> (impl Iterator<Item = W>, u64) {
        let states = self.states.load(Ordering::Relaxed);
        let work = self.work.drain(..);
        (work.map(|work| work.into_inner().unwrap_or_else(PoisonError::into_inner)), states)
    }
}
