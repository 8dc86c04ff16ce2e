//! Which keys have been seen, exactly, in as little RAM as that takes?
//!
//! [`Table`] is a lossless set of keys of one width that grows by itself; [`ShardedTable`] is the same for threads.
//!
//! * Up to [`DIRECT_BITS_MAX`] bits a key is stored as what its address leaves open (`direct.rs`, `region.rs`,
//!   `layout.rs`): about `(W - log2 N + 6) / 8 / 0.8` bytes of a `W`-bit key among `N`.
//! * Wider keys are cut in two, the halves numbered, and the pair of numbers stored (`split.rs`, `leaves.rs`): 3 to 5
//!   bytes where halves repeat, as they do in real models. Where they do not, [`Table::whole`] stores keys whole.
//! * Above 128 bits halves are cut again where they are many, at places that the keys tell (`tree.rs`, `dictionary.rs`, `plan.rs`).
//!
//! Insertion works on batches: first every key of a batch has its cache line asked for, then each is looked at. A
//! look-up reads one line of 64 bytes for keys of up to about 75 bits, two neighbouring ones for wider ones.

mod addressing;
mod cut;
mod dictionary;
mod direct;
mod layout;
mod leaves;
mod pairs;
mod patience;
mod plan;
mod recent;
mod region;
mod sharded;
mod split;
mod tree;

pub use addressing::Addressing;
pub use recent::{RECENT_BYTES, RecentKeys};
pub use sharded::ShardedTable;

use crate::budget::{Budget, BudgetError};
use direct::{DirectTable, Prefix};
use split::{RightLeaves, SplitTable};
use tree::{Due, SharedHalves, TreeTable};

const TABLE_OWNER: &str = "table";

/// Keys up to this width are stored whole unless told otherwise.
pub const DIRECT_BITS_MAX: u32 = 80;
/// Wider keys up to this width are cut in the middle, once.
const SPLIT_BITS_MAX: u32 = 128;

/// The budget refused what the next key needed. Keys before `done` of the batch were dealt with, the others were not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the table is full after {done} keys of the batch: {reason}")]
#[non_exhaustive]
pub struct TableFull {
    /// How many keys of the batch were looked up and inserted.
    pub done: usize,
    /// What was asked for and refused.
    #[source]
    pub reason: BudgetError,
}

/// Exact set of keys of one width. Memory: see the module; while it grows, one region (1/256 of a large table) more.
#[derive(Debug)]
pub struct Table {
    bits: u32,
    store: Store,
}

#[derive(Debug)]
enum Store {
    Direct(DirectTable),
    Split(Box<SplitTable>),
    /// A table of its own looks itself where its keys are best cut; those of a sharded one do that together.
    Tree(Box<TreeTable>, Option<Due>),
}

impl Table {
    /// An empty table for keys of `bits` bits, 1 or more; keys above [`DIRECT_BITS_MAX`] bits are cut.
    pub fn new(bits: u32, budget: &Budget) -> Result<Table, BudgetError> {
        match bits {
            ..=DIRECT_BITS_MAX => Table::whole(bits, budget),
            ..=SPLIT_BITS_MAX => Table::cut(bits, bits / 2, budget),
            _ => Table::tree(bits, budget),
        }
    }

    /// An empty table for keys of `bits` bits, 2 or more, that cuts them where their pieces repeat.
    pub fn tree(bits: u32, budget: &Budget) -> Result<Table, BudgetError> {
        let halves = SharedHalves::new(bits, budget)?;
        let tree = TreeTable::new(bits, halves, budget.free(), budget)?;
        Ok(Table { bits, store: Store::Tree(Box::new(tree), Some(Due::default())) })
    }

    /// An empty table that stores keys whole, whatever their width.
    pub fn whole(bits: u32, budget: &Budget) -> Result<Table, BudgetError> {
        let direct = DirectTable::new(bits, Prefix::default(), budget.free(), budget)?;
        Ok(Table { bits, store: Store::Direct(direct) })
    }

    /// An empty table that cuts keys above their lowest `right_bits` bits, which must leave bits on both sides.
    pub fn cut(bits: u32, right_bits: u32, budget: &Budget) -> Result<Table, BudgetError> {
        let right = RightLeaves::new(right_bits, budget)?;
        let split = SplitTable::new(bits, right_bits, right, budget.free(), budget)?;
        Ok(Table { bits, store: Store::Split(Box::new(split)) })
    }

    /// Makes room for so many keys at once where keys are stored whole, for who knows how many will come: growing would move most of them several times.
    pub fn reserve(&mut self, keys: usize) -> Result<(), BudgetError> {
        match &mut self.store {
            Store::Direct(table) => table.reserve(keys),
            Store::Split(_) | Store::Tree(..) => Ok(()),
        }
    }

    /// Width of the keys in bits.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Number of keys held.
    pub fn len(&self) -> usize {
        match &self.store {
            Store::Direct(table) => table.len(),
            Store::Split(table) => table.len(),
            Store::Tree(table, _) => table.len(),
        }
    }

    /// Whether it holds no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes charged to the budget.
    pub fn bytes(&self) -> usize {
        match &self.store {
            Store::Direct(table) => table.bytes(),
            Store::Split(table) => table.bytes(),
            Store::Tree(table, _) => table.bytes(),
        }
    }

    /// Inserts a batch of keys, one after another in `keys`, and pushes onto `new` the index within the batch of each key
    /// that was not there; of equal keys in one batch the first is the new one. When the budget refuses, what was done
    /// before stands, and the same call for the remaining keys may be made again. At most 2^32 keys a batch; 64 or more pay.
    pub fn insert_batch(&mut self, keys: &[u64], new: &mut Vec<u32>) -> Result<(), TableFull> {
        match &mut self.store {
            Store::Direct(table) => table.insert_batch(keys, new),
            Store::Split(table) => table.insert_batch(keys, new),
            Store::Tree(table, due) => insert_into_tree(table, due, keys, new),
        }
    }

    /// [`Table::insert_batch`] for keys in their addressed form, as [`Table::addressing`] and [`ShardedTable::addressing`] make it.
    pub fn insert_addressed(&mut self, keys: &[u64], new: &mut Vec<u32>) -> Result<(), TableFull> {
        match &mut self.store {
            Store::Direct(table) => table.insert_addressed(keys, new),
            Store::Split(table) => table.insert_batch(keys, new),
            Store::Tree(table, due) => insert_into_tree(table, due, keys, new),
        }
    }

    /// Makes a part of the table larger that will soon have to be, for who has nothing else to do: about a millisecond for large tables. False if there is none, or no
    /// memory for it now.
    pub fn grow_ahead(&mut self) -> bool {
        match &mut self.store {
            Store::Direct(table) => table.grow_ahead(),
            Store::Split(table) => table.grow_ahead(),
            Store::Tree(table, _) => table.grow_ahead(),
        }
    }

    /// How its keys are addressed.
    pub fn addressing(&self) -> Addressing {
        match &self.store {
            Store::Direct(table) => table.addressing(),
            Store::Split(_) | Store::Tree(..) => Addressing::new(self.bits, false, 0),
        }
    }

    /// Pushes onto `present` the index of each key of a batch that the table holds.
    pub fn contains_batch(&self, keys: &[u64], present: &mut Vec<u32>) {
        match &self.store {
            Store::Direct(table) => table.contains_batch(keys, present),
            Store::Split(table) => table.contains_batch(keys, present),
            Store::Tree(table, _) => table.contains_batch(keys, present),
        }
    }

    /// Calls `visit` with every key once, in no particular order.
    pub fn for_each(&self, visit: impl FnMut(&[u64])) {
        match &self.store {
            Store::Direct(table) => table.for_each(visit),
            Store::Split(table) => table.for_each(visit),
            Store::Tree(table, _) => table.for_each(visit),
        }
    }
}

/// Inserts a batch, and looks first whether keys would better be cut elsewhere.
fn insert_into_tree(
    table: &mut TreeTable,
    due: &mut Option<Due>,
    keys: &[u64],
    new: &mut Vec<u32>,
) -> Result<(), TableFull> {
    if let Some(due) = due {
        due.recut(&mut [table]);
    }
    table.insert_batch(keys, new)
}
