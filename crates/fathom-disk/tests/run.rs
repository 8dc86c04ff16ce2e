//! Does a run give back its keys, find those that are there and only those, and notice every change to its bytes?

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

mod support;

use fathom_disk::budget::Budget;
use fathom_disk::codec::Codec;
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::sweep::{Sweep, retain_unmarked};
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig, RunWriter, Scan, Tag};
use fathom_disk::set::{KeyStream, collect};
use fathom_disk::storage::{Fault, FaultyStorage, FileKind, Volume};
use support::{Dice, Model, flat, random_set, volumes};

const TAG: Tag = *b"a tag of 16 byte";

fn write(
    volume: &Volume,
    budget: &Budget,
    name: &str,
    config: &RunConfig,
    keys: &[u64],
) -> Result<(), DiskError> {
    let mut writer = RunWriter::new(volume, budget, name, config)?;
    writer.push(keys)?;
    writer.finish(true).map(drop)
}

fn read(volume: &Volume, budget: &Budget, name: &str, width: KeyWidth) -> Result<Vec<u64>, DiskError> {
    let run = Run::open(volume, budget, name, width, TAG)?;
    let mut scan = Scan::new(&run, budget, 64)?;
    let mut keys = Vec::new();
    while scan.advance()? {
        keys.extend_from_slice(scan.keys());
    }
    Ok(keys)
}

/// Looks up all keys of the set and as many others.
fn check_look_up(runs: &[&Run], set: &Model, width: u32, prober: &mut Prober, dice: &mut Dice, about: &str) {
    let mut sought = set.clone();
    for key in set {
        sought.insert(dice.key(width));
        let mut near = key.clone();
        let last = near.len() - 1;
        near[last] ^= 1;
        sought.insert(near);
    }
    let mut found = vec![false; sought.len()];
    prober.look_up(runs, &flat(&sought), &mut found).unwrap();
    for (key, found) in sought.iter().zip(found) {
        assert_eq!(found, set.contains(key), "{about}: key {key:x?}");
    }
    for run in runs {
        check_sweep(run, &sought, &Budget::unlimited(), dice, about);
    }
}

/// Goes through one run beside the keys, in pieces of any size, some of them left out, from disk and from memory.
fn check_sweep(run: &Run, sought: &Model, budget: &Budget, dice: &mut Dice, about: &str) {
    let words = run.width().words();
    let keys = flat(sought);
    let mut in_run = std::collections::BTreeSet::new();
    let mut scan = Scan::new(run, &Budget::unlimited(), 64).unwrap();
    while scan.advance().unwrap() {
        in_run.extend(scan.keys().chunks(words).map(<[u64]>::to_vec));
    }
    for kept in [false, true] {
        if kept {
            run.keep_in_memory(&Budget::unlimited()).unwrap();
        }
        let buffer = [1, 64, 4096, 64 << 10][dice.below(4) as usize];
        let mut sweep = Sweep::new(run, budget, buffer).unwrap();
        let (mut from, count) = (0, sought.len());
        while from < count {
            let longest = 1 + dice.below(400);
            let to = (from + 1 + dice.below(longest) as usize).min(count);
            let mut piece = keys[from * words..to * words].to_vec();
            let mut found = vec![false; to - from];
            sweep.mark(&piece, &mut found).unwrap();
            for (key, &found) in piece.chunks(words).zip(&found) {
                assert_eq!(
                    found,
                    in_run.contains(key),
                    "{about}, buffer {buffer}, kept {kept}: key {key:x?}"
                );
            }
            let expected: Vec<u64> =
                piece.chunks(words).filter(|&key| !in_run.contains(key)).flatten().copied().collect();
            let left = retain_unmarked(words, &mut piece, &mut found);
            assert_eq!(piece[..left], expected, "{about}");
            assert!(!found.contains(&true), "marks are cleared");
            // The next piece may begin further on.
            from = to + if dice.below(4) == 0 { dice.below(1000) as usize } else { 0 };
        }
        drop(sweep);
        run.forget_in_memory().unwrap();
    }
}

#[test]
fn keys_come_back_on_every_storage_width_and_budget() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        for (number, bits) in [1, 5, 17, 63, 64, 65, 127, 128, 129, 200, 1000].into_iter().enumerate() {
            let width = KeyWidth::new(bits).unwrap();
            for (index, count) in [0, 1, 2, 40, 700].into_iter().enumerate() {
                let seed = (number * 10 + index) as u64;
                let mut dice = Dice::new(seed);
                let set = random_set(&mut dice, bits, count);
                let name = format!("run-{bits}-{count}");
                // 4 KiB where keys are of ordinary width; a key of 1000 bits takes 128 bytes wherever it goes.
                let (bytes, block) = if bits <= 200 { (4096, 64) } else { (32 << 10, 512) };
                let config = RunConfig::tiny(width, TAG, block);
                let budget = Budget::new(bytes);
                let about = format!("{kind}, {bits} bits, {count} keys, seed {seed}");
                write(&volume, &budget, &name, &config, &flat(&set)).unwrap();
                assert_eq!(budget.used(), 0, "{about}");
                assert_eq!(read(&volume, &budget, &name, width).unwrap(), flat(&set), "{about}");
                let mut run = Run::open(&volume, &budget, &name, width, TAG).unwrap();
                assert_eq!(run.count(), set.len() as u64, "{about}");
                assert_eq!(run.first(), set.first().map(Vec::as_slice), "{about}");
                assert_eq!(run.last(), set.last().map(Vec::as_slice), "{about}");
                let mut prober = Prober::new(&budget, width, ProbeConfig::within(bytes / 3)).unwrap();
                check_look_up(&[&run], &set, bits, &mut prober, &mut dice, &about);
                run.load_fences(&budget).unwrap();
                check_look_up(&[&run], &set, bits, &mut prober, &mut dice, &about);
            }
        }
    }
}

/// A run that fits in what it may hold is in memory alone, until it is synced or forgotten there; one that does not is on the device from the moment that shows.
#[test]
fn a_run_that_is_held_is_written_when_it_must_be() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        for (number, bits) in [40, 64, 100, 200].into_iter().enumerate() {
            let width = KeyWidth::new(bits).unwrap();
            let mut dice = Dice::new(number as u64);
            let set = random_set(&mut dice, bits, 3000);
            let (for_prober, budget) = (Budget::unlimited(), Budget::new(1 << 20));
            for hold_bytes in [1, 100, 5000, 12_000, 400 << 10] {
                let name = format!("held-{bits}-{hold_bytes}");
                let about = format!("{kind}, {bits} bits, held within {hold_bytes} bytes");
                let config = RunConfig { hold_bytes, ..RunConfig::tiny(width, TAG, 512) };
                let on_device = || volume.open(&name, FileKind::RUN).unwrap().size().unwrap();
                let mut writer = RunWriter::new(&volume, &budget, &name, &config).unwrap();
                writer.push(&flat(&set)).unwrap();
                let run = writer.finish_run(false).unwrap();
                let held = hold_bytes as u64 >= run.bytes();
                assert_eq!(run.is_kept_in_memory(), held, "{about}");
                assert_eq!(on_device(), if held { 0 } else { run.bytes() }, "{about}");
                let mut prober = Prober::new(&for_prober, width, ProbeConfig::within(4096)).unwrap();
                check_look_up(&[&run], &set, bits, &mut prober, &mut dice, &about);
                if dice.below(2) == 0 {
                    run.sync().unwrap();
                } else {
                    run.forget_in_memory().unwrap();
                    assert!(!run.is_kept_in_memory(), "{about}");
                }
                assert_eq!(on_device(), run.bytes(), "{about}");
                assert_eq!(read(&volume, &budget, &name, width).unwrap(), flat(&set), "{about}");
                run.forget_in_memory().unwrap();
                drop(run);
                assert_eq!(budget.used(), 0, "{about}");
            }
        }
    }
}

#[test]
fn every_codec_and_shape_gives_the_same_keys() {
    let budget = Budget::unlimited();
    let volume = Volume::in_memory(4096);
    let codecs: [&'static [Codec]; 8] = [
        &[Codec::Gap],
        &[Codec::GapZstd],
        &[Codec::ColumnsLz4],
        &[Codec::ColumnsZstd],
        &[Codec::TokenLz4],
        &[Codec::TokenZstd],
        &[Codec::Gap, Codec::TokenLz4],
        &Codec::ALL,
    ];
    for (seed, bits) in [12, 40, 64, 100, 300].into_iter().enumerate() {
        let width = KeyWidth::new(bits).unwrap();
        let mut dice = Dice::new(seed as u64);
        let set = random_set(&mut dice, bits, 5000);
        for (number, codecs) in codecs.into_iter().enumerate() {
            for (keys_per_block, fences_per_page) in [(1, 2), (7, 3), (256, 256), (4096, 16)] {
                let name = format!("{bits}-{number}-{keys_per_block}");
                let config =
                    RunConfig { keys_per_block, fences_per_page, codecs, ..RunConfig::live(width, TAG) };
                write(&volume, &budget, &name, &config, &flat(&set)).unwrap();
                let about = format!("{bits} bits, {codecs:?}, {keys_per_block} keys a block");
                assert!(read(&volume, &budget, &name, width).unwrap() == flat(&set), "{about}");
                let run = Run::open(&volume, &budget, &name, width, TAG).unwrap();
                let mut prober = Prober::new(&budget, width, ProbeConfig::default()).unwrap();
                check_look_up(&[&run], &set, bits, &mut prober, &mut dice, &about);
            }
        }
    }
}

#[test]
fn look_ups_over_many_runs_join_reads_and_agree_with_the_model() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        let budget = Budget::unlimited();
        let width = KeyWidth::new(48).unwrap();
        let mut dice = Dice::new(11);
        let all = random_set(&mut dice, 48, 20_000);
        let mut parts = vec![Model::new(); 5];
        for key in &all {
            parts[dice.below(5) as usize].insert(key.clone());
        }
        for (index, part) in parts.iter().enumerate() {
            let name = format!("part-{index}");
            let config = RunConfig { keys_per_block: 128, ..RunConfig::live(width, TAG) };
            write(&volume, &budget, &name, &config, &flat(part)).unwrap();
        }
        let runs: Vec<Run> = (0..5)
            .map(|part| Run::open(&volume, &budget, &format!("part-{part}"), width, TAG).unwrap())
            .collect();
        let runs: Vec<&Run> = runs.iter().collect();
        for few_keys in [0, usize::MAX] {
            let config = ProbeConfig { few_keys, tasks_max: 1 << 17, ..ProbeConfig::default() };
            let mut prober = Prober::new(&budget, width, config).unwrap();
            check_look_up(&runs, &all, 48, &mut prober, &mut dice, &kind);
            let counts = prober.counts();
            assert!(counts.extents < counts.blocks / 4, "{kind}: neighbours are joined, {counts:?}");
        }
    }
}

/// Blocks of many groups, in which few keys, many and all are sought, by going through them and by looking them up.
#[test]
fn few_keys_in_large_blocks_are_found_as_many_are() {
    for bits in [30, 64, 65, 90, 200] {
        let mut dice = Dice::new(u64::from(bits));
        let (volume, budget) = (Volume::in_memory(64), Budget::unlimited());
        let width = KeyWidth::new(bits).unwrap();
        let mut set = random_set(&mut dice, bits, 9000);
        // Neighbours too: groups whose keys have the same first word.
        for key in random_set(&mut dice, bits, 12) {
            for step in 0..700 {
                let mut near = key.clone();
                let last = near.len() - 1;
                near[last] ^= step;
                set.insert(near);
            }
        }
        set.retain(|key| width.fits(key));
        let codecs = &[Codec::TokenLz4];
        let config = RunConfig { keys_per_block: 4096, codecs, ..RunConfig::live(width, TAG) };
        write(&volume, &budget, "run", &config, &flat(&set)).unwrap();
        let run = Run::open(&volume, &budget, "run", width, TAG).unwrap();
        assert!(run.group_keys_max() <= 1024 && run.count() > 4096, "blocks have groups");
        let mut prober = Prober::new(&budget, width, ProbeConfig::default()).unwrap();
        for every in [1, 3, 50, 2000] {
            let mut sought: Model = set
                .iter()
                .enumerate()
                .filter(|(index, _)| index % every == 0)
                .map(|(_, key)| key.clone())
                .collect();
            sought.extend(random_set(&mut dice, bits, 200 / every + 1));
            let (keys, expected) = (flat(&sought), sought.iter().map(|key| set.contains(key)));
            let expected: Vec<bool> = expected.collect();
            let mut found = vec![false; expected.len()];
            prober.look_up(&[&run], &keys, &mut found).unwrap();
            assert!(found == expected, "{bits} bits, every {every}, looked up");
            for piece in [1, 10, 1000, 100_000] {
                let mut sweep = Sweep::new(&run, &budget, 4096).unwrap();
                let mut found = vec![false; expected.len()];
                let words = width.words();
                for (keys, found) in keys.chunks(piece * words).zip(found.chunks_mut(piece)) {
                    sweep.mark(keys, found).unwrap();
                }
                assert!(found == expected, "{bits} bits, every {every}, gone through in pieces of {piece}");
            }
        }
        let mut few = Prober::new(&budget, width, ProbeConfig::default()).unwrap();
        let one: Vec<u64> = set.iter().nth(set.len() / 2).unwrap().clone();
        few.look_up(&[&run], &one, &mut [false]).unwrap();
        assert!(few.counts().keys <= 1024, "one group is decoded for one key: {:?}", few.counts());
    }
}

#[test]
fn every_flipped_bit_of_a_small_run_is_noticed() {
    for (bits, codecs) in [(20, &[Codec::Gap][..]), (70, &[Codec::Gap]), (20, &[Codec::TokenZstd])] {
        let budget = Budget::unlimited();
        let volume = Volume::in_memory(64);
        let width = KeyWidth::new(bits).unwrap();
        let set = random_set(&mut Dice::new(4), bits, 60);
        let codecs: &'static [Codec] = codecs.to_vec().leak();
        let config = RunConfig { codecs, ..RunConfig::tiny(width, TAG, 64) };
        write(&volume, &budget, "run", &config, &flat(&set)).unwrap();
        let file = volume.open("run", FileKind::RUN).unwrap();
        let size = file.size().unwrap();
        for bit in 0..size * 8 {
            let mut byte = [0];
            file.read_exact(bit / 8, &mut byte).unwrap();
            file.write(bit / 8, &[byte[0] ^ 1 << (bit % 8)]).unwrap();
            let outcome = read(&volume, &budget, "run", width);
            let pages_too = outcome.and_then(|_| look_into_every_page(&volume, &budget, width, &set));
            assert!(pages_too.is_err(), "bit {bit} of {size} bytes, {bits} bits, {codecs:?}");
            file.write(bit / 8, &byte).unwrap();
        }
        assert!(read(&volume, &budget, "run", width).is_ok());
    }
}

/// A scan checks the frames of fences too; a look-up must not be less careful.
fn look_into_every_page(
    volume: &Volume,
    budget: &Budget,
    width: KeyWidth,
    set: &Model,
) -> Result<(), DiskError> {
    let run = Run::open(volume, budget, "run", width, TAG)?;
    let mut prober = Prober::new(budget, width, ProbeConfig::within(4096))?;
    prober.look_up(&[&run], &flat(set), &mut vec![false; set.len()])
}

#[test]
fn look_ups_alone_notice_every_flipped_bit_of_blocks_and_pages() {
    let budget = Budget::unlimited();
    let volume = Volume::in_memory(64);
    let width = KeyWidth::new(20).unwrap();
    let set = random_set(&mut Dice::new(4), 20, 60);
    write(&volume, &budget, "run", &RunConfig::tiny(width, TAG, 64), &flat(&set)).unwrap();
    let file = volume.open("run", FileKind::RUN).unwrap();
    for bit in 0..file.size().unwrap() * 8 {
        let mut byte = [0];
        file.read_exact(bit / 8, &mut byte).unwrap();
        file.write(bit / 8, &[byte[0] ^ 1 << (bit % 8)]).unwrap();
        assert!(look_into_every_page(&volume, &budget, width, &set).is_err(), "bit {bit}");
        file.write(bit / 8, &byte).unwrap();
    }
}

#[test]
fn truncated_and_foreign_runs_are_refused_with_a_reason() {
    let budget = Budget::unlimited();
    let volume = Volume::in_memory(64);
    let width = KeyWidth::new(20).unwrap();
    let set = random_set(&mut Dice::new(4), 20, 60);
    write(&volume, &budget, "run", &RunConfig::tiny(width, TAG, 64), &flat(&set)).unwrap();
    let other = Run::open(&volume, &budget, "run", KeyWidth::new(21).unwrap(), TAG).unwrap_err();
    assert!(other.to_string().contains("keys of 20 bits, expected 21"), "{other}");
    let other = Run::open(&volume, &budget, "run", width, [0; 16]).unwrap_err();
    assert!(other.to_string().contains("another model"), "{other}");
    let file = volume.open("run", FileKind::RUN).unwrap();
    for size in (0..file.size().unwrap()).rev() {
        file.resize(size).unwrap();
        assert!(read(&volume, &budget, "run", width).is_err(), "cut to {size}");
    }
}

#[test]
fn a_fault_at_any_operation_is_an_error_or_harmless() {
    let width = KeyWidth::new(33).unwrap();
    let set = random_set(&mut Dice::new(9), 33, 300);
    let config = RunConfig::tiny(width, TAG, 64);
    let budget = Budget::new(16 << 10);
    for fault in [Fault::Fail, Fault::Short, Fault::Tear, Fault::Full, Fault::Flip] {
        for operation in 0.. {
            let storage = FaultyStorage::new(64, operation);
            let volume = Volume::new(storage.clone());
            storage.strike(operation, fault);
            let outcome = write(&volume, &budget, "run", &config, &flat(&set))
                .and_then(|()| read(&volume, &budget, "run", width))
                .and_then(|keys| look_into_every_page(&volume, &budget, width, &set).map(|()| keys));
            if let Ok(keys) = outcome {
                assert_eq!(keys, flat(&set), "{fault:?} at operation {operation}");
            } else {
                assert!(storage.struck());
            }
            assert_eq!(budget.used(), 0, "{fault:?} at operation {operation}");
            if !storage.struck() {
                break;
            }
        }
    }
}

#[test]
fn too_small_a_budget_is_refused_by_name() {
    let volume = Volume::in_memory(64);
    let width = KeyWidth::new(64).unwrap();
    let error = RunWriter::new(&volume, &Budget::new(4096), "run", &RunConfig::live(width, TAG)).unwrap_err();
    assert!(matches!(&error, DiskError::Budget(refused) if refused.owner.starts_with("run")), "{error}");
    let budget = Budget::unlimited();
    let set = random_set(&mut Dice::new(1), 64, 100);
    write(&volume, &budget, "other", &RunConfig::live(width, TAG), &flat(&set)).unwrap();
    let run = Run::open(&volume, &budget, "other", width, TAG).unwrap();
    let mut scan = Scan::new(&run, &budget, 4096).unwrap();
    assert_eq!(collect(&mut scan, &budget, "all").unwrap()[..], flat(&set));
}
