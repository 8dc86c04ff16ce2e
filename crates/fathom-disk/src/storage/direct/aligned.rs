//! Where do bytes lie that the device may fetch by itself? In charged buffers aligned to the device's blocks.

use std::alloc::{self, Layout};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::budget::{Budget, BudgetError, Charge};

/// The alignment that suits direct I/O on all common devices.
const ALIGNMENT_DIRECT: usize = 4096;

/// A fixed number of bytes, zeroed at first, aligned for direct I/O if at least one block long, and charged.
#[derive(Debug)]
pub struct AlignedBuffer {
    start: NonNull<u8>,
    layout: Layout,
    charge: Charge,
}

impl AlignedBuffer {
    /// A buffer of exactly `bytes` bytes.
    pub fn new(budget: &Budget, owner: &'static str, bytes: usize) -> Result<Self, BudgetError> {
        let charge = budget.charge(owner, bytes)?;
        let alignment = if bytes < ALIGNMENT_DIRECT { 64 } else { ALIGNMENT_DIRECT };
        let layout =
            Layout::from_size_align(bytes.max(1), alignment).expect("a charged size fits the address space");
        // SAFETY: the layout's size is at least 1.
        let start = unsafe { alloc::alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| alloc::handle_alloc_error(layout));
        Ok(Self { start, layout, charge })
    }

    fn length(&self) -> usize {
        self.charge.bytes()
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` points to `layout.size() >= length` initialised bytes that this buffer owns alone.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length()) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length()) }
    }
}

impl Drop for AlignedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this very layout, and never freed before.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) }
    }
}

// SAFETY: the buffer owns its bytes; nothing in it is tied to a thread.
unsafe impl Send for AlignedBuffer {}
// SAFETY: shared references only read.
unsafe impl Sync for AlignedBuffer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_zeroed_and_charged() {
        let budget = Budget::new(10_000);
        for bytes in [0, 1, 64, 4096, 5000] {
            let mut buffer = AlignedBuffer::new(&budget, "buffer", bytes).unwrap();
            assert_eq!((buffer.len(), budget.used()), (bytes, bytes));
            assert!(buffer.iter().all(|&byte| byte == 0));
            assert_eq!(buffer.as_ptr() as usize % if bytes < 4096 { 64 } else { 4096 }, 0);
            buffer.fill(7);
        }
        assert_eq!(budget.used(), 0);
        assert!(AlignedBuffer::new(&budget, "buffer", 10_001).is_err());
    }
}
