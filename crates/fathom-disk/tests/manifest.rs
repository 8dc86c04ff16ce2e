//! Does a commit happen wholly or not at all, is garbage swept, and does the ballast save the last commit?

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

mod support;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::storage::{Fault, FaultyStorage, FileKind, Volume};
use support::volumes;

const TAG: [u8; 16] = *b"a tag of 16 byte";

fn add_file(volume: &Volume, name: &str, content: &[u8]) -> Result<(), DiskError> {
    let file = volume.create(name, FileKind::RUN)?;
    file.write(0, content)?;
    Ok(file.sync()?)
}

fn named(names: &[&str]) -> Vec<Named> {
    let named =
        |name: &&str| Named { name: (*name).to_owned(), grows: false, note: name.as_bytes().to_vec() };
    names.iter().map(named).collect()
}

#[test]
fn a_file_that_grows_may_be_longer_than_its_commit_says_but_not_shorter() {
    let volume = Volume::in_memory(64);
    let mut run = RunDirectory::open(&volume, TAG).unwrap();
    add_file(&volume, "log", b"twelve bytes").unwrap();
    run.commit(b"", &[Named { name: "log".to_owned(), grows: true, note: Vec::new() }]).unwrap();
    drop(run);
    for (bytes, fine) in [(12, true), (13, true), (11, false)] {
        volume.open("log", FileKind::RUN).unwrap().resize(bytes).unwrap();
        assert_eq!(RunDirectory::open(&volume, TAG).is_ok(), fine, "{bytes} bytes");
    }
}

#[test]
fn commits_are_found_again_and_garbage_is_swept_on_every_storage() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        assert!(!RunDirectory::exists(&volume).unwrap());
        add_file(&volume, "leftover", b"of a run that never committed").unwrap();
        let mut run = RunDirectory::open(&volume, TAG).unwrap();
        assert!(run.committed().is_none(), "{kind}");
        let error = RunDirectory::open(&volume, TAG).unwrap_err();
        assert!(error.to_string().contains("lock"), "{kind}: {error}");
        for name in ["one", "two", "three"] {
            add_file(&volume, name, name.as_bytes()).unwrap();
        }
        run.set_ballast(10_000).unwrap();
        assert_eq!(run.commit(b"first", &named(&["one", "two"])).unwrap().sequence, 1);
        run.commit(b"second", &named(&["two", "three"])).unwrap();
        add_file(&volume, "half-done", b"...").unwrap();
        drop(run);
        assert!(RunDirectory::exists(&volume).unwrap());
        let run = RunDirectory::open(&volume, TAG).unwrap();
        let manifest = run.committed().unwrap();
        assert_eq!((manifest.sequence, &manifest.cursor[..]), (2, &b"second"[..]), "{kind}");
        let files: Vec<_> =
            manifest.files.iter().map(|file| (&file.name[..], file.bytes, &file.note[..])).collect();
        assert_eq!(files, [("two", 3, &b"two"[..]), ("three", 5, &b"three"[..])], "{kind}");
        assert_eq!(volume.list().unwrap(), ["ballast", "manifest", "three", "two"], "{kind}");
    }
}

#[test]
fn foreign_missing_and_damaged_are_refused_with_a_reason() {
    let volume = Volume::in_memory(64);
    let mut run = RunDirectory::open(&volume, TAG).unwrap();
    add_file(&volume, "one", b"1").unwrap();
    run.commit(b"", &named(&["one"])).unwrap();
    drop(run);
    let error = RunDirectory::open(&volume, [0; 16]).unwrap_err();
    assert!(error.to_string().contains("another model"), "{error}");
    volume.open("one", FileKind::RUN).unwrap().resize(5).unwrap();
    assert!(RunDirectory::open(&volume, TAG).unwrap_err().to_string().contains("size"));
    volume.remove("one").unwrap();
    assert!(RunDirectory::open(&volume, TAG).unwrap_err().to_string().contains("one"));
    add_file(&volume, "one", b"1").unwrap();
    RunDirectory::open(&volume, TAG).unwrap();
    let manifest = volume.open("manifest", FileKind::MANIFEST).unwrap();
    for bit in 0..manifest.size().unwrap() * 8 {
        let mut byte = [0];
        manifest.read_exact(bit / 8, &mut byte).unwrap();
        manifest.write(bit / 8, &[byte[0] ^ 1 << (bit % 8)]).unwrap();
        assert!(RunDirectory::open(&volume, TAG).is_err(), "bit {bit}");
        manifest.write(bit / 8, &byte).unwrap();
    }
}

#[test]
fn a_failed_operation_leaves_the_old_commit_or_the_new_one() {
    for fault in [Fault::Fail, Fault::Tear, Fault::Short, Fault::Full] {
        for operation in 0.. {
            let storage = FaultyStorage::new(64, operation);
            let volume = Volume::new(storage.clone());
            let mut run = RunDirectory::open(&volume, TAG).unwrap();
            add_file(&volume, "one", b"1").unwrap();
            run.commit(b"old", &named(&["one"])).unwrap();
            storage.strike(operation, fault);
            let outcome = add_file(&volume, "two", b"22")
                .and_then(|()| run.commit(b"new", &named(&["two"])).map(|manifest| manifest.sequence));
            drop(run);
            let struck = storage.struck();
            // The fault may still be due when the directory is opened; then it is opened once more.
            let run = RunDirectory::open(&volume, TAG).or_else(|_| RunDirectory::open(&volume, TAG)).unwrap();
            let cursor = &run.committed().unwrap().cursor[..];
            assert!(cursor == b"new" || outcome.is_err() && cursor == b"old", "{fault:?} at {operation}");
            if !struck {
                break;
            }
        }
    }
}

#[test]
fn a_full_device_gives_up_its_ballast_for_the_last_commit() {
    let storage = FaultyStorage::new(64, 1);
    let volume = Volume::new(storage.clone());
    let mut run = RunDirectory::open(&volume, TAG).unwrap();
    run.set_ballast(4096).unwrap();
    add_file(&volume, "one", &[1; 1000]).unwrap();
    storage.set_capacity(4096 + 1000 + 10);
    assert!(add_file(&volume, "two", &[2; 1000]).unwrap_err().is_full());
    run.commit(b"saved", &named(&["one"])).unwrap();
    assert!(!volume.list().unwrap().contains(&"ballast".to_owned()));
    drop(run);
    assert_eq!(RunDirectory::open(&volume, TAG).unwrap().committed().unwrap().cursor, b"saved");
}

#[test]
fn a_directory_is_looked_at_by_many_and_changed_by_none_of_them() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        let mut run = RunDirectory::open(&volume, TAG).unwrap();
        add_file(&volume, "one", b"1").unwrap();
        run.commit(b"", &named(&["one"])).unwrap();
        add_file(&volume, "half-done", b"...").unwrap();
        assert!(RunDirectory::look_at(&volume, TAG).is_err(), "{kind}: it is held");
        drop(run);
        let names = volume.list().unwrap();
        let looks =
            [RunDirectory::look_at(&volume, TAG).unwrap(), RunDirectory::look_at(&volume, TAG).unwrap()];
        assert!(looks[1].committed().unwrap().names("one"), "{kind}");
        assert_eq!(volume.list().unwrap(), names, "{kind}: nothing is swept");
        assert!(RunDirectory::open(&volume, TAG).is_err(), "{kind}: it is looked at");
    }
}

#[test]
fn a_manifest_that_is_too_large_to_be_one_is_not_read() {
    let volume = Volume::in_memory(64);
    volume.create("manifest", FileKind::MANIFEST).unwrap().resize((64 << 20) + 1).unwrap();
    let error = RunDirectory::open(&volume, TAG).unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
    // Many small files that are not there.
    let mut bytes = b"FATHMAN1\x01\0\0\0".to_vec();
    bytes.extend_from_slice(&u32::MAX.to_le_bytes());
    bytes.resize(bytes.len() + 28, 0);
    bytes[24..40].copy_from_slice(&TAG);
    bytes.extend_from_slice(&xxhash_rust::xxh3::xxh3_64(&bytes).to_le_bytes());
    let volume = Volume::in_memory(64);
    add_file(&volume, "manifest", &bytes).unwrap();
    assert!(RunDirectory::open(&volume, TAG).unwrap_err().to_string().contains("makes no sense"));
}

#[test]
fn what_is_erased_counts_for_nothing_wherever_the_power_goes() {
    for operation in 0.. {
        let storage = FaultyStorage::new(64, operation);
        let volume = Volume::new(storage.clone());
        let mut run = RunDirectory::open(&volume, TAG).unwrap();
        for name in ["one", "two", "three"] {
            add_file(&volume, name, name.as_bytes()).unwrap();
        }
        run.commit(b"", &named(&["one", "two", "three"])).unwrap();
        drop(run);
        storage.strike(operation, Fault::Crash);
        let erased = RunDirectory::erase(&volume).is_ok();
        for seed in 0..50 {
            let after = Volume::new(storage.after_crash(seed));
            let run = RunDirectory::open(&after, TAG);
            let run = run.unwrap_or_else(|error| panic!("operation {operation}, seed {seed}: {error}"));
            assert!(!erased || run.committed().is_none(), "operation {operation}, seed {seed}");
        }
        if !storage.struck() {
            break;
        }
    }
}

#[test]
fn a_manifest_is_read_within_a_budget() {
    let volume = Volume::in_memory(64);
    let mut run = RunDirectory::open(&volume, TAG).unwrap();
    run.commit(&vec![7; 1 << 20], &[]).unwrap();
    drop(run);
    let little = Budget::new(1 << 20);
    for refused in [
        RunDirectory::open_within(&volume, TAG, &little).map(|_| ()),
        RunDirectory::look_at_within(&volume, TAG, &little).map(|_| ()),
    ] {
        assert!(matches!(refused, Err(DiskError::Budget(_))), "{refused:?}");
    }
    assert_eq!(little.peak(), 0, "nothing was taken");
    let enough = Budget::new(4 << 20);
    assert_eq!(
        RunDirectory::open_within(&volume, TAG, &enough).unwrap().committed().unwrap().cursor.len(),
        1 << 20
    );
    assert_eq!((enough.used(), enough.peak() > 2 << 20), (0, true));
}
