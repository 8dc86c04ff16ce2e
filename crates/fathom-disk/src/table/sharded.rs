//! How do threads share one exact set?
//!
//! [`ShardedTable`] is a list of independent tables, each behind a lock of its own. Which one a key belongs to is a
//! function of the key alone. Callers sort their keys by shard ([`Addressing::shard`]) and lock a shard once per batch, so that a
//! lock is taken about once per some hundred keys; who finds one taken can do something else first ([`ShardedTable::try_lock`]).
//!
//! Keys that are stored whole are sharded by their leading mixed bits, which the shard then need not store. Keys that are
//! cut are sharded by a hash of their leading half: where they are cut once, a left half is numbered in one shard only, and right halves are numbered for all shards together; where
//! halves are cut again, all pieces are numbered together.

use super::addressing::Addressing;
use super::direct::{DirectTable, Prefix};
use super::patience::patiently;
use super::split::{RightLeaves, SplitTable};
use super::tree::{Due, SharedHalves, TreeTable};
use super::{DIRECT_BITS_MAX, SPLIT_BITS_MAX, Store, Table};
use crate::budget::{Budget, BudgetError};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Exact set of keys, in shards with a lock each. Memory as [`Table`]'s.
#[derive(Debug)]
pub struct ShardedTable {
    addressing: Addressing,
    shards: Vec<Shard>,
    due: Due,
}

/// What shards number together.
enum Shared {
    Nothing,
    Right(RightLeaves),
    Halves(SharedHalves),
}

/// A part of the table. What describes one changes with every key; no two share a cache line, nor a pair of lines that are fetched together.
#[derive(Debug)]
#[repr(align(128))]
struct Shard(Mutex<Table>);

impl ShardedTable {
    /// An empty table of `2^shard_bits` shards (fewer if keys have fewer than `shard_bits + 1` bits) for keys of `bits` bits.
    pub fn new(bits: u32, shard_bits: u32, budget: &Budget) -> Result<ShardedTable, BudgetError> {
        let shard_bits = shard_bits.min(bits - 1).min(16);
        let share = budget.free() >> shard_bits;
        let whole = bits <= DIRECT_BITS_MAX;
        let shared = match bits {
            ..=DIRECT_BITS_MAX => Shared::Nothing,
            ..=SPLIT_BITS_MAX => Shared::Right(RightLeaves::new(bits / 2, budget)?),
            _ => Shared::Halves(SharedHalves::new(bits, budget)?),
        };
        let shards = (0..1u64 << shard_bits).map(|value| {
            let store = match &shared {
                Shared::Nothing => {
                    let prefix = Prefix { bits: shard_bits, value };
                    Store::Direct(DirectTable::new(bits, prefix, share, budget)?)
                }
                Shared::Right(right) => {
                    let split = SplitTable::new(bits, bits / 2, right.clone(), share, budget)?;
                    Store::Split(Box::new(split))
                }
                Shared::Halves(halves) => {
                    let tree = TreeTable::new(bits, halves.clone(), share, budget)?;
                    Store::Tree(Box::new(tree), None)
                }
            };
            Ok(Shard(Mutex::new(Table { bits, store })))
        });
        Ok(ShardedTable {
            addressing: Addressing::new(bits, whole, shard_bits),
            shards: shards.collect::<Result<_, BudgetError>>()?,
            due: Due::default(),
        })
    }

    /// How many shards there are: a power of two.
    pub fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// How its keys are addressed and which shard they belong to.
    pub fn addressing(&self) -> Addressing {
        self.addressing
    }

    /// Locks a shard. Only keys with this [`Addressing::shard`] may be inserted or looked for in it.
    pub fn lock(&self, shard: usize) -> MutexGuard<'_, Table> {
        // A table is whole after every call that can panic half-way only by an assertion of our own.
        let mutex = &self.shards[shard].0;
        patiently(|| mutex.try_lock(), || mutex.lock())
    }

    /// [`ShardedTable::lock`], unless another thread has it.
    pub fn try_lock(&self, shard: usize) -> Option<MutexGuard<'_, Table>> {
        match self.shards[shard].0.try_lock() {
            Ok(table) => Some(table),
            Err(TryLockError::Poisoned(table)) => Some(table.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Looks whether wide keys would better be cut elsewhere, by what they are like, if there are by now so many more of them; then all shards are rebuilt, a few times at most, where
    /// there is memory for both. For who has a moment: between two layers.
    pub fn recut(&mut self) {
        let tables =
            self.shards.iter_mut().map(|shard| shard.0.get_mut().unwrap_or_else(PoisonError::into_inner));
        let mut trees: Vec<&mut TreeTable> = tables
            .filter_map(|table| match &mut table.store {
                Store::Tree(tree, _) => Some(&mut **tree),
                Store::Direct(_) | Store::Split(_) => None,
            })
            .collect();
        self.due.recut(&mut trees);
    }

    /// Number of keys in all shards, each counted at a moment of its own.
    pub fn len(&self) -> usize {
        (0..self.shards.len()).map(|shard| self.lock(shard).len()).sum()
    }

    /// Whether no shard holds a key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
