//! Does memory that is given back reach the machine?
//!
//! The allocator of glibc takes large blocks from the system one by one, but learns from what is freed: after a while blocks of megabytes come from its heap, and holes there
//! stay resident. A budget that holds for what is in use is then broken by what is not: 56 MB resident for 34 MB in use was seen.

/// From now on, blocks of 64 KiB and more come from the system one by one and go back to it when they are freed; and threads share two heaps.
pub fn give_large_blocks_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const M_MMAP_THRESHOLD: std::ffi::c_int = -3;
        const M_ARENA_MAX: std::ffi::c_int = -8;
        unsafe extern "C" {
            fn mallopt(parameter: std::ffi::c_int, value: std::ffi::c_int) -> std::ffi::c_int;
        }
        // SAFETY: mallopt takes two numbers and may be called at any time; it keeps no pointers. What it answers does not matter: without it only more
        // stays resident.
        unsafe {
            mallopt(M_MMAP_THRESHOLD, 64 << 10);
            mallopt(M_ARENA_MAX, 2);
        }
    }
}

/// Gives back the pages that nothing is in, now: what was taken in small pieces and freed stays in the heap, resident, until it is asked to.
pub fn give_free_pages_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(kept: usize) -> std::ffi::c_int;
        }
        // SAFETY: malloc_trim takes a number, may be called at any time by any thread, and touches no memory that is in use.
        unsafe {
            malloc_trim(0);
        }
    }
}
