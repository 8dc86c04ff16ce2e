//! Does the accountant tell the truth about tables, windows, filters, perfect hashes and queues? Without a harness, as in `allocation.rs`.

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.
#![allow(unsafe_code)] // A global allocator can only be implemented as unsafe; it hands everything to the system's.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use fathom_disk::budget::Budget;
use fathom_disk::filter::{Bloom, FuseSegmentsBuilder};
use fathom_disk::perfect_hash::{PerfectHash, PerfectHashBuilder};
use fathom_disk::priority_queue::{ArrayHeap, ArrayHeapConfig, PriorityQueue, RadixHeap};
use fathom_disk::storage::{FileStorage, Volume};
use fathom_disk::table::Table;
use fathom_disk::window::Window;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system's allocator; counting touches no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Lists of regions and segments, batches, names: what is not worth a charge.
const CONSTANT: usize = 24 << 10;

fn main() {
    support::without_harness(&[
        ("structures_take_what_they_say", structures_take_what_they_say),
        ("queues_take_what_they_say", queues_take_what_they_say),
    ]);
}

/// Runs `work` and returns the allocator's and the accountant's peaks beyond what was held before.
fn peaks(budget: &Budget, work: impl FnOnce()) -> (usize, usize) {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    work();
    (PEAK.load(Ordering::Relaxed) - before, budget.peak())
}

fn check(about: &str, real: usize, charged: usize) {
    eprintln!("{about}: allocated {real}, charged {charged}");
    assert!(real <= charged + charged / 20 + CONSTANT, "{about}: {real} allocated, {charged} charged");
    assert!(charged <= real + real / 20 + CONSTANT, "{about}: {charged} charged, {real} allocated");
}

fn structures_take_what_they_say() {
    for bits in [30, 60, 100, 300] {
        let words = usize::div_ceil(bits, 64);
        let budget = Budget::unlimited();
        let (real, charged) = peaks(&budget, || {
            let mut table = Table::new(bits as u32, &budget).unwrap();
            let mut new = Vec::with_capacity(1024);
            for batch in 0..200u64 {
                let keys: Vec<u64> =
                    (0..1000 * words as u64).map(|i| (batch * 1000 + i / words as u64) % (1 << 18)).collect();
                new.clear();
                table.insert_batch(&keys, &mut new).unwrap();
            }
        });
        check(&format!("table, {bits} bits"), real, charged);
        let budget = Budget::unlimited();
        let (real, charged) = peaks(&budget, || drop(Window::new(bits as u32, 50_000, &budget).unwrap()));
        check(&format!("window, {bits} bits"), real, charged);
    }
    let budget = Budget::unlimited();
    let (real, charged) = peaks(&budget, || drop(Bloom::new(10_000, 100, &budget).unwrap()));
    check("Bloom filter", real, charged);
    let budget = Budget::unlimited();
    let (real, charged) = peaks(&budget, || {
        let mut builder = FuseSegmentsBuilder::new(1, 4 << 20, &budget).unwrap();
        (0..200_000u64).for_each(|key| builder.push(&[key * 5]).unwrap());
        drop(builder.finish().unwrap());
    });
    check("fuse segments", real, charged);
    for words in [1, 2] {
        let directory = tempfile::tempdir().unwrap();
        let volume = Volume::new(FileStorage::auto(directory.path()).unwrap());
        let budget = Budget::unlimited();
        let (real, charged) = peaks(&budget, || {
            let mut builder = PerfectHashBuilder::new(&volume, "phf", words, 1 << 16, &budget).unwrap();
            (0..150_000u64).for_each(|key| builder.push(&vec![key; words]).unwrap());
            builder.finish().unwrap();
        });
        check(&format!("perfect hash of {words} words, built"), real, charged);
        let budget = Budget::unlimited();
        let (real, charged) =
            peaks(&budget, || drop(PerfectHash::open(&volume, "phf", words, &budget).unwrap()));
        check(&format!("perfect hash of {words} words, loaded"), real, charged);
    }
}

fn queues_take_what_they_say() {
    let bytes = 1 << 20;
    for words in [1, 2] {
        for radix in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let volume = Volume::new(FileStorage::auto(directory.path()).unwrap());
            let budget = Budget::unlimited();
            let config = ArrayHeapConfig::within(bytes, words);
            let (real, charged) = peaks(&budget, || {
                let mut queue: Box<dyn PriorityQueue> = match radix {
                    true => Box::new(RadixHeap::new(&volume, "queue", words, bytes, &budget).unwrap()),
                    false => Box::new(ArrayHeap::new(&volume, "queue", words, config, &budget).unwrap()),
                };
                fill_and_drain(&mut *queue, words);
            });
            let name = if radix { "radix heap" } else { "array heap" };
            check(&format!("{name} of {words} words"), real, charged);
            assert!(charged <= bytes + bytes / 4, "{name}: {charged} bytes where {bytes} were given");
        }
    }
}

/// Several times what fits, in buckets small and large.
fn fill_and_drain(queue: &mut dyn PriorityQueue, words: usize) {
    let mut state = 1u64;
    for _ in 0..2000 {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 40
        };
        let priorities: Vec<u64> = (0..100).map(|_| next() % 5000 * (next() % 2)).collect();
        let records: Vec<u64> = (0..100 * words).map(|_| next()).collect();
        queue.push(&priorities, &records).unwrap();
    }
    while queue.pop(&mut |_, _| Ok(())).unwrap().is_some() {}
}
