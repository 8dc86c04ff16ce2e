//! Who holds how much memory, and may it hold more?
//!
//! One accountant per run. Every buffer, table, filter and index asks here before it allocates and gives back when it
//! is dropped, so the sum of all charges never exceeds the limit. Nothing is allocated by the accountant itself
//! beyond one small entry per owner.
//!
//! Invariants: `used` is the sum of the live charges, and of the owners' `used`; `used <= limit`; a refused request
//! changes nothing.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The least data budget with which every structure of this crate works, in bytes.
pub const BUDGET_BYTES_MIN: usize = 4096;

/// A shared limit on bytes held; cloning gives another handle to the same account. Thread-safe.
#[derive(Clone, Debug)]
pub struct Budget {
    account: Arc<Mutex<Account>>,
    limit: usize,
}

/// A request that the budget could not meet: who asked for what, and what there was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{owner} asks for {asked} more bytes, but only {free} of the data budget of {limit} bytes are free")]
#[non_exhaustive]
pub struct BudgetError {
    /// The structure that asked.
    pub owner: &'static str,
    /// Bytes asked for, beyond what that charge already held.
    pub asked: usize,
    /// Bytes that were free.
    pub free: usize,
    /// The whole budget.
    pub limit: usize,
}

/// What one owner holds now and has held at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerUse {
    /// The name under which it charges.
    pub owner: &'static str,
    /// Bytes held now.
    pub used: usize,
    /// The most bytes held at any time.
    pub peak: usize,
}

/// Bytes taken from a budget; dropping it gives them back.
#[derive(Debug)]
pub struct Charge {
    budget: Budget,
    owner: &'static str,
    bytes: usize,
}

/// A vector whose capacity is charged. It grows only through [`ChargedVec::reserve`], which can refuse.
#[derive(Debug)]
pub struct ChargedVec<T> {
    items: Vec<T>,
    charge: Charge,
}

#[derive(Debug, Default)]
struct Account {
    used: usize,
    peak: usize,
    owners: Vec<OwnerUse>,
}

impl Budget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { account: Arc::default(), limit }
    }

    /// A budget that never refuses; it still counts.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    /// Takes `bytes` for `owner`, or says why not.
    pub fn charge(&self, owner: &'static str, bytes: usize) -> Result<Charge, BudgetError> {
        let mut charge = Charge { budget: self.clone(), owner, bytes: 0 };
        charge.resize(bytes)?;
        Ok(charge)
    }

    /// The same account, for what can be done without: what would leave less than `bytes` of it free is refused.
    pub fn leaving(&self, bytes: usize) -> Budget {
        Budget { account: Arc::clone(&self.account), limit: self.limit.saturating_sub(bytes) }
    }

    /// The whole budget, in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes held by all owners now.
    pub fn used(&self) -> usize {
        self.lock().used
    }

    /// Bytes that may still be taken.
    pub fn free(&self) -> usize {
        self.limit.saturating_sub(self.used())
    }

    /// The most bytes held at any one time.
    pub fn peak(&self) -> usize {
        self.lock().peak
    }

    /// What each owner holds and has held at most, in order of first appearance.
    pub fn owners(&self) -> Vec<OwnerUse> {
        self.lock().owners.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        // An account is consistent after every statement that can panic, so a poisoned one is still right.
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Charge {
    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The name it is held under.
    pub fn owner(&self) -> &'static str {
        self.owner
    }

    /// The budget it was taken from.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Holds exactly `bytes` from now on. Shrinking always succeeds; a refusal leaves the charge as it was.
    pub fn resize(&mut self, bytes: usize) -> Result<(), BudgetError> {
        let mut account = self.budget.lock();
        if bytes > self.bytes {
            let asked = bytes - self.bytes;
            let free = self.budget.limit.saturating_sub(account.used);
            if asked > free {
                return Err(BudgetError { owner: self.owner, asked, free, limit: self.budget.limit });
            }
            account.take(self.owner, asked);
        } else {
            account.give_back(self.owner, self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.lock().give_back(self.owner, self.bytes);
    }
}

impl Account {
    fn owner(&mut self, owner: &'static str) -> &mut OwnerUse {
        let found = self.owners.iter().position(|entry| entry.owner == owner);
        let index = found.unwrap_or_else(|| {
            self.owners.push(OwnerUse { owner, used: 0, peak: 0 });
            self.owners.len() - 1
        });
        &mut self.owners[index]
    }

    fn take(&mut self, owner: &'static str, bytes: usize) {
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        let entry = self.owner(owner);
        entry.used += bytes;
        entry.peak = entry.peak.max(entry.used);
    }

    fn give_back(&mut self, owner: &'static str, bytes: usize) {
        self.used -= bytes;
        self.owner(owner).used -= bytes;
    }
}

impl<T: Copy + Default> ChargedVec<T> {
    /// So many numbers that are 0. They come from the system untouched: what is never written is never resident.
    pub fn zeroed(budget: &Budget, owner: &'static str, length: usize) -> Result<Self, BudgetError> {
        let charge = budget.charge(owner, length.saturating_mul(size_of::<T>()))?;
        Ok(Self { items: vec![T::default(); length], charge })
    }

    /// Makes all items 0 again. Much memory is given back to the system for that, so that what stays 0 is not resident.
    pub fn zero(&mut self) {
        let length = self.items.len();
        if length * size_of::<T>() < ZEROED_BYTES_MIN {
            self.items.fill(T::default());
        } else {
            self.items = Vec::new();
            self.items = vec![T::default(); length];
        }
    }
}

/// From so many bytes on, fresh zeroes from the system cost less than written ones: the allocator maps them.
const ZEROED_BYTES_MIN: usize = 4 << 20;

impl<T> ChargedVec<T> {
    /// An empty vector with room for `capacity` items, charged to `owner`.
    pub fn with_capacity(budget: &Budget, owner: &'static str, capacity: usize) -> Result<Self, BudgetError> {
        let mut vector = Self { items: Vec::new(), charge: budget.charge(owner, 0)? };
        vector.reserve(capacity)?;
        Ok(vector)
    }

    /// Makes room for `additional` more items, exactly; while it grows, old and new room are both held and charged.
    pub fn reserve(&mut self, additional: usize) -> Result<(), BudgetError> {
        let needed = self.items.len() + additional;
        if needed <= self.items.capacity() {
            return Ok(());
        }
        let held = self.charge.bytes();
        self.charge.resize(held.saturating_add(needed.saturating_mul(size_of::<T>())))?;
        self.items.reserve_exact(additional);
        self.charge.resize(self.items.capacity() * size_of::<T>())
    }

    /// Appends an item if there is room; gives it back otherwise.
    pub fn push_within(&mut self, item: T) -> Result<(), T> {
        if self.items.len() == self.items.capacity() {
            return Err(item);
        }
        self.items.push(item);
        Ok(())
    }

    /// Appends an item, doubling the room when it is used up.
    pub fn push(&mut self, item: T) -> Result<(), BudgetError> {
        if self.items.len() == self.items.capacity() {
            self.reserve(self.items.len().max(4))?;
        }
        self.items.push(item);
        Ok(())
    }

    /// Appends copies of `items`, growing to exactly what is needed if there is no room.
    pub fn extend(&mut self, items: &[T]) -> Result<(), BudgetError>
    where
        T: Copy,
    {
        self.reserve(items.len())?;
        self.items.extend_from_slice(items);
        Ok(())
    }

    /// Makes the length `length`, filling with `value`.
    pub fn resize(&mut self, length: usize, value: T) -> Result<(), BudgetError>
    where
        T: Copy,
    {
        self.reserve(length.saturating_sub(self.items.len()))?;
        self.items.resize(length, value);
        Ok(())
    }

    /// Keeps the first `length` items; the room stays.
    pub fn truncate(&mut self, length: usize) {
        self.items.truncate(length);
    }

    /// Removes all items; the room stays.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Removes and returns the last item.
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop()
    }

    /// How many items there is room for.
    pub fn capacity(&self) -> usize {
        self.items.capacity()
    }
}

impl<T> Deref for ChargedVec<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for ChargedVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_who_asked_for_what_and_changes_nothing() {
        let budget = Budget::new(4096);
        let held = budget.charge("window", 4000).unwrap();
        let error = budget.charge("filter", 100).unwrap_err();
        assert_eq!(error, BudgetError { owner: "filter", asked: 100, free: 96, limit: 4096 });
        assert!(error.to_string().contains("filter asks for 100 more bytes, but only 96"));
        assert_eq!((budget.used(), budget.free()), (4000, 96));
        drop(held);
        assert_eq!((budget.used(), budget.peak()), (0, 4000));
    }

    #[test]
    fn charges_are_resized_in_place_and_peaks_are_kept_by_owner() {
        let budget = Budget::new(1000);
        let mut first = budget.charge("first", 300).unwrap();
        let second = budget.charge("second", 700).unwrap();
        assert!(first.resize(301).is_err());
        assert_eq!(first.bytes(), 300);
        drop(second);
        first.resize(900).unwrap();
        first.resize(10).unwrap();
        let uses = budget.owners();
        assert_eq!(uses[0], OwnerUse { owner: "first", used: 10, peak: 900 });
        assert_eq!(uses[1], OwnerUse { owner: "second", used: 0, peak: 700 });
        assert_eq!(budget.peak(), 1000);
    }

    #[test]
    fn a_growing_vector_charges_old_and_new_room_while_it_moves() {
        let budget = Budget::new(100);
        let mut vector = ChargedVec::with_capacity(&budget, "vector", 5).unwrap();
        for item in 0..5u64 {
            assert!(vector.push_within(item).is_ok());
        }
        assert_eq!(vector.push_within(5), Err(5));
        let error = vector.reserve(5).unwrap_err();
        assert_eq!((error.asked, error.free), (80, 60));
        vector.reserve(1).unwrap();
        assert_eq!((budget.used(), budget.peak()), (48, 88));
        assert_eq!(vector[..], [0, 1, 2, 3, 4]);
    }

    #[test]
    fn what_can_be_done_without_leaves_the_rest_free() {
        let budget = Budget::new(1000);
        let spare = budget.leaving(300);
        let held = spare.charge("luxury", 600).unwrap();
        assert_eq!((spare.free(), budget.free()), (100, 400));
        assert!(spare.charge("luxury", 101).is_err());
        let needed = budget.charge("need", 350).unwrap();
        assert_eq!((spare.free(), budget.free()), (0, 50));
        assert!(spare.charge("luxury", 1).is_err());
        drop((held, needed));
        assert_eq!((spare.used(), budget.used()), (0, 0));
        assert!(budget.leaving(2000).charge("luxury", 1).is_err());
    }

    #[test]
    fn threads_share_one_account() {
        let budget = Budget::new(8 * 100);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for size in 0..1000 {
                        let charge = budget.charge("thread", size % 100).unwrap();
                        assert_eq!(charge.bytes(), size % 100);
                    }
                });
            }
        });
        assert_eq!(budget.used(), 0);
        assert!(budget.peak() <= budget.limit());
    }
}
