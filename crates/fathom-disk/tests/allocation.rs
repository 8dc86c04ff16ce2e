//! Does the accountant tell the truth? Its peak against that of an allocator that counts.
//!
//! It counts for the whole process, so nothing else may run there: the tests have no harness, whose threads allocate whenever they come to run, and go one after the other.

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.
#![allow(unsafe_code)] // A global allocator can only be implemented as unsafe; it hands everything to the system's.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use fathom_disk::budget::Budget;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig, RunWriter, Tag};
use fathom_disk::set::{KeyStream, Sorter, Tiers, write_all};
use fathom_disk::storage::{FileStorage, Volume};
use fathom_disk::value::{Join, ValueWidth, Values};
use support::Dice;

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

const TAG: Tag = *b"a tag of 16 byte";
/// Names, runs that are open and what reads them (of up to 64 at once, nearly 1 KiB each), requests of one batch, counters, the crew that works aside: what is not worth a charge.
const CONSTANT: usize = 36 << 10;

fn main() {
    support::without_harness(&[
        (
            "sorting_merging_and_looking_up_take_what_they_say",
            sorting_merging_and_looking_up_take_what_they_say,
        ),
        (
            "writing_with_every_configuration_takes_what_it_says",
            writing_with_every_configuration_takes_what_it_says,
        ),
        ("tiers_take_what_they_say", tiers_take_what_they_say),
        ("sorting_with_values_takes_what_it_says", sorting_with_values_takes_what_it_says),
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

fn sorting_merging_and_looking_up_take_what_they_say() {
    for (bits, bytes) in [(60, 256 << 10), (60, 2 << 20), (120, 1 << 20)] {
        let directory = tempfile::tempdir().unwrap();
        let volume = Volume::new(FileStorage::auto(directory.path()).unwrap());
        let width = KeyWidth::new(bits).unwrap();
        let budget = Budget::new(bytes);
        let (real, charged) = peaks(&budget, || {
            let mut dice = Dice::new(5);
            let mut sorter = Sorter::new(&volume, &budget, "sort", width, TAG, bytes * 3 / 4).unwrap();
            for _ in 0..200_000 {
                let mut key = [dice.next() >> 4, dice.next()];
                key[0] >>= (128 - bits).min(60) % 64;
                sorter.push(&key[..width.words()]).unwrap();
            }
            let sorted = sorter.finish().unwrap();
            let mut stream = sorted.stream().unwrap();
            while stream.advance().unwrap() {}
        });
        check(&format!("sorting {bits} bits in {bytes} bytes"), real, charged);
    }
}

fn sorting_with_values_takes_what_it_says() {
    for (bits, bytes) in [(40, 256 << 10), (60, 2 << 20), (120, 1 << 20)] {
        let directory = tempfile::tempdir().unwrap();
        let volume = Volume::new(FileStorage::auto(directory.path()).unwrap());
        let values = Values { width: ValueWidth::new(20).unwrap(), join: Join::Sum };
        let kinds = (KeyWidth::new(bits).unwrap(), values);
        let budget = Budget::new(bytes);
        let (real, charged) = peaks(&budget, || {
            let mut dice = Dice::new(5);
            let mut sorter = Sorter::joining(&volume, &budget, "sort", kinds, TAG, bytes * 3 / 4).unwrap();
            for _ in 0..200_000 {
                let key = [dice.below(1 << 20), dice.below(1 << 40)];
                sorter.push_with(&key[2 - kinds.0.words()..], &[dice.below(1000)]).unwrap();
            }
            let sorted = sorter.finish().unwrap();
            let mut stream = sorted.stream().unwrap();
            while stream.advance().unwrap() {}
        });
        check(&format!("sorting {bits} bits with values in {bytes} bytes"), real, charged);
    }
}

fn writing_with_every_configuration_takes_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let volume = Volume::new(FileStorage::auto(directory.path()).unwrap());
    let width = KeyWidth::new(50).unwrap();
    for (name, config) in [
        ("live", RunConfig::live(width, TAG)),
        ("rest", RunConfig::at_rest(width, TAG)),
        ("archived", RunConfig::archived(width, TAG)),
    ] {
        let budget = Budget::unlimited();
        let (real, charged) = peaks(&budget, || {
            let mut writer = RunWriter::new(&volume, &budget, name, &config).unwrap();
            for key in 0..300_000u64 {
                writer.push(&[key * key]).unwrap();
            }
            writer.finish(true).unwrap();
        });
        // The compressor's own memory does not come from this allocator: it is charged and not seen here.
        let hidden = if name == "live" { 0 } else { 256 << 10 };
        assert!(real <= charged + charged / 20 + CONSTANT, "{name}: {real} allocated, {charged} charged");
        assert!(
            charged <= real + real / 20 + CONSTANT + hidden,
            "{name}: {charged} charged, {real} allocated"
        );
    }
}

fn tiers_take_what_they_say() {
    let directory = tempfile::tempdir().unwrap();
    let volume = Volume::new(FileStorage::auto(directory.path()).unwrap());
    let width = KeyWidth::new(40).unwrap();
    let budget = Budget::new(3 << 20);
    let (real, charged) = peaks(&budget, || {
        let config = RunConfig::within(width, TAG, 512 << 10);
        let mut tiers = Tiers::default();
        let mut prober = Prober::new(&budget, width, ProbeConfig::within(512 << 10)).unwrap();
        for round in 0..20u64 {
            let mut writer = RunWriter::new(&volume, &budget, &format!("{round}"), &config).unwrap();
            for key in 0..10_000 {
                writer.push(&[key * 1000 + round]).unwrap();
            }
            writer.finish(true).unwrap();
            let mut run = Run::open(&volume, &budget, &format!("{round}"), width, TAG).unwrap();
            run.load_fences(&budget).unwrap();
            tiers.insert(0, run);
            while let Some(level) = tiers.due() {
                let name = format!("{level}-{round}");
                tiers.merge_level(&volume, &budget, level, &name, &config, 1 << 20, true).unwrap();
            }
            let sought = [5, 7000, 900_000 + round];
            let mut found = [false; 3];
            tiers.look_up(&mut prober, &sought, &mut found).unwrap();
        }
        let mut writer = RunWriter::new(&volume, &budget, "all", &config).unwrap();
        write_all(&mut tiers.scan(&budget, 1, 512 << 10).unwrap(), &mut writer).unwrap();
    });
    check("tiers", real, charged);
}
