//! How does a batch ask for cache lines before it needs them?
//!
//! One function, [`prefetch`]. It is a hint: it never faults, changes nothing that a program can observe, and does nothing
//! on platforms without a stable intrinsic.

// The only intrinsic of the crate that takes a raw pointer; the pointer is never dereferenced by the program.
#![allow(unsafe_code)]

/// Asks for the cache line that holds `slice[index]`; an index outside the slice is harmless.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(index);
        // SAFETY: PREFETCHT0 never faults whatever the address, and SSE is part of every x86_64 target.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn any_index_is_harmless() {
        let words = [1u64, 2, 3];
        for index in [0, 2, 3, 1 << 20, usize::MAX / 8] {
            prefetch(&words, index);
        }
        prefetch::<u64>(&[], 7);
        assert_eq!(words, [1, 2, 3]);
    }
}
