//! Which item in memory is the least? A binary heap of fixed-width items in one flat vector.

use crate::budget::{Budget, BudgetError, ChargedVec};

/// Least item first; items are compared word by word. Memory: the capacity given, charged once.
#[derive(Debug)]
pub(super) struct Heap {
    items: ChargedVec<u64>,
    width: usize,
    /// The item that looks for its place.
    held: ChargedVec<u64>,
}

impl Heap {
    pub(super) fn new(width: usize, capacity: usize, budget: &Budget) -> Result<Heap, BudgetError> {
        let items = ChargedVec::with_capacity(budget, "priority queue", width * capacity)?;
        let mut held = ChargedVec::with_capacity(budget, "priority queue", width)?;
        held.resize(width, 0)?;
        Ok(Heap { items, width, held })
    }

    pub(super) fn len(&self) -> usize {
        self.items.len() / self.width
    }

    pub(super) fn is_full(&self) -> bool {
        self.items.len() + self.width > self.items.capacity()
    }

    /// The least item.
    pub(super) fn least(&self) -> Option<&[u64]> {
        self.items.get(..self.width)
    }

    /// All items, in no particular order.
    pub(super) fn items_mut(&mut self) -> &mut [u64] {
        &mut self.items
    }

    /// Keeps the first items, which must be a heap: ascending ones are.
    pub(super) fn keep(&mut self, items: usize) {
        self.items.truncate(items * self.width);
    }

    /// Adds an item; the heap must not be full.
    pub(super) fn push(&mut self, priority: u64, record: &[u64]) -> Result<(), BudgetError> {
        let Heap { items, width, held } = self;
        let width = *width;
        held[0] = priority;
        held[1..].copy_from_slice(record);
        let mut hole = items.len() / width;
        items.extend(held)?;
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if items[parent * width..][..width] <= held[..] {
                break;
            }
            items.copy_within(parent * width..(parent + 1) * width, hole * width);
            hole = parent;
        }
        items[hole * width..][..width].copy_from_slice(held);
        Ok(())
    }

    /// Removes the least item; the heap must not be empty. The hole goes down to a leaf, and the last item up from there: it mostly belongs there.
    pub(super) fn remove_least(&mut self) {
        let Heap { items, width, held } = self;
        let width = *width;
        let last = items.len() / width - 1;
        held.copy_from_slice(&items[last * width..]);
        items.truncate(last * width);
        let mut hole = 0;
        loop {
            let (left, right) = (2 * hole + 1, 2 * hole + 2);
            if left >= last {
                break;
            }
            let less = right < last && items[right * width..][..width] < items[left * width..][..width];
            let child = if less { right } else { left };
            items.copy_within(child * width..(child + 1) * width, hole * width);
            hole = child;
        }
        while hole > 0 {
            let parent = (hole - 1) / 2;
            if items[parent * width..][..width] <= held[..] {
                break;
            }
            items.copy_within(parent * width..(parent + 1) * width, hole * width);
            hole = parent;
        }
        if last > 0 {
            items[hole * width..][..width].copy_from_slice(held);
        }
    }
}
