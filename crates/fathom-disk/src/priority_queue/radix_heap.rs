//! A priority queue for searches that never go back: an external radix heap.
//!
//! Priorities are split into digits. An item waits in the bucket of the highest digit in which its priority differs from
//! the current one, and of that digit's value. When the current priority is used up, the first bucket of the lowest
//! position is taken apart: its least priority becomes the current one and its items move to lower positions. So an item
//! moves at most once per digit, sequentially and without comparisons; only items of the current priority are sorted, by an
//! [`ArrayHeap`], which may itself spill.

use super::{ArrayHeap, PriorityQueue};
use crate::budget::Budget;
use crate::error::DiskError;
use crate::log::{Position, RecordLog};
use crate::storage::{FileKind, Role, Volume};
use std::collections::BTreeMap;

const KIND: FileKind = FileKind::new("radix heap", Role::Bulk);

/// Monotone priority queue. RAM: `bytes` for the current priority, one block for each bucket in use. I/O: each item moves at
/// most once per digit that differs.
#[derive(Debug)]
pub struct RadixHeap {
    volume: Volume,
    name: String,
    width: usize,
    block_bytes: usize,
    digit_bits: u32,
    current: u64,
    now: ArrayHeap,
    /// By position, then digit.
    buckets: BTreeMap<(u32, u64), Bucket>,
    files_made: u64,
    budget: Budget,
}

#[derive(Debug)]
struct Bucket {
    log: RecordLog,
    least: u64,
}

impl RadixHeap {
    /// An empty queue with digits of `digit_bits` bits (1 to 16; 8 suits a large budget, 1 or 2 a tiny one, since every bucket in
    /// use holds a block).
    pub fn new(
        volume: &Volume,
        name: &str,
        words: usize,
        block_bytes: usize,
        bytes: usize,
        digit_bits: u32,
        budget: &Budget,
    ) -> Result<RadixHeap, DiskError> {
        let now = ArrayHeap::new(volume, &format!("{name}.now"), words, block_bytes, bytes, budget)?;
        let digit_bits = digit_bits.clamp(1, 16);
        let (volume, name, budget) = (volume.clone(), name.to_owned(), budget.clone());
        let (width, buckets) = (words + 1, BTreeMap::new());
        Ok(RadixHeap {
            volume,
            name,
            width,
            block_bytes,
            digit_bits,
            current: 0,
            now,
            buckets,
            files_made: 0,
            budget,
        })
    }

    /// Puts an item of a later priority into its bucket.
    fn defer(&mut self, item: &[u64]) -> Result<(), DiskError> {
        let priority = item[0];
        let position = (priority ^ self.current).ilog2() / self.digit_bits;
        let digit = (priority >> (position * self.digit_bits)) & ((1 << self.digit_bits) - 1);
        if !self.buckets.contains_key(&(position, digit)) {
            let name = format!("{}.{}", self.name, self.files_made);
            self.files_made += 1;
            let log = RecordLog::new(&self.volume, &name, KIND, self.width, self.block_bytes, &self.budget)?;
            self.buckets.insert((position, digit), Bucket { log, least: u64::MAX });
        }
        let bucket = self.buckets.get_mut(&(position, digit)).expect("the bucket was made above");
        bucket.least = bucket.least.min(priority);
        bucket.log.append(item)
    }

    /// Makes the least waiting priority the current one; false if nothing waits.
    fn advance(&mut self) -> Result<bool, DiskError> {
        let Some((_, bucket)) = self.buckets.pop_first() else { return Ok(false) };
        self.current = bucket.least;
        let mut reader = bucket.log.reader(Position::default(), &self.budget)?;
        let mut item = vec![0; self.width];
        while reader.next(&bucket.log, &mut item)? {
            if item[0] == self.current {
                self.now.push(item[0], &item[1..])?;
            } else {
                self.defer(&item)?;
            }
        }
        bucket.log.remove()?;
        Ok(true)
    }
}

impl PriorityQueue for RadixHeap {
    /// Queues a record. A priority below the last one taken is a mistake of the caller.
    fn push(&mut self, priority: u64, record: &[u64]) -> Result<(), DiskError> {
        assert!(priority >= self.current, "a radix heap goes forward: {priority} is below {}", self.current);
        if priority == self.current {
            return self.now.push(priority, record);
        }
        let mut item = Vec::with_capacity(self.width);
        item.push(priority);
        item.extend_from_slice(record);
        self.defer(&item)
    }

    fn pop(&mut self, record: &mut [u64]) -> Result<Option<u64>, DiskError> {
        while self.now.is_empty() {
            if !self.advance()? {
                return Ok(None);
            }
        }
        self.now.pop(record)
    }

    fn is_empty(&self) -> bool {
        self.now.is_empty() && self.buckets.is_empty()
    }
}

impl Drop for RadixHeap {
    fn drop(&mut self) {
        while let Some((_, bucket)) = self.buckets.pop_first() {
            // A file that cannot be removed now is swept when the directory is opened next.
            let _ = bucket.log.remove();
        }
    }
}
