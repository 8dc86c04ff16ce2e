//! A binary heap of fixed-width items in one flat vector.

use crate::budget::{Budget, BudgetError, ChargedVec};

/// Least item first; items are compared word by word. Memory: the capacity given, charged once.
#[derive(Debug)]
pub(super) struct Heap {
    items: ChargedVec<u64>,
    width: usize,
    capacity: usize,
}

impl Heap {
    pub(super) fn new(width: usize, capacity: usize, budget: &Budget) -> Result<Heap, BudgetError> {
        let items = ChargedVec::with_capacity(budget, "priority queue", width * capacity)?;
        Ok(Heap { items, width, capacity })
    }

    pub(super) fn len(&self) -> usize {
        self.items.len() / self.width
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == self.capacity
    }

    /// The least item.
    pub(super) fn least(&self) -> Option<&[u64]> {
        self.items.get(..self.width)
    }

    /// Adds an item; the heap must not be full.
    pub(super) fn push(&mut self, item: &[u64]) -> Result<(), BudgetError> {
        self.items.extend(item)?;
        let mut child = self.len() - 1;
        while child > 0 {
            let parent = (child - 1) / 2;
            if self.item(parent) <= self.item(child) {
                break;
            }
            self.swap(parent, child);
            child = parent;
        }
        Ok(())
    }

    /// Removes the least item; the heap must not be empty.
    pub(super) fn remove_least(&mut self) {
        let last = self.len() - 1;
        self.swap(0, last);
        self.items.truncate(last * self.width);
        let mut parent = 0;
        loop {
            let mut least = parent;
            for child in [2 * parent + 1, 2 * parent + 2] {
                if child < last && self.item(child) < self.item(least) {
                    least = child;
                }
            }
            if least == parent {
                return;
            }
            self.swap(parent, least);
            parent = least;
        }
    }

    fn item(&self, index: usize) -> &[u64] {
        &self.items[index * self.width..(index + 1) * self.width]
    }

    fn swap(&mut self, first: usize, second: usize) {
        for word in 0..self.width {
            self.items.swap(first * self.width + word, second * self.width + word);
        }
    }
}
