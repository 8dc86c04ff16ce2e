//! Does every storage keep the contract of the trait, and does the faulty one lie in the ways it promises?

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

mod support;

use std::collections::BTreeMap;
use std::io::ErrorKind;

use fathom_disk::budget::Budget;
use fathom_disk::storage::{
    AlignedBuffer, Extent, Fault, FaultyStorage, FileKind, FileStorage, Folder, Hold, Id, MemoryStorage,
    ReadRequest, Role, SpreadStorage, Storage, Transport, Volume,
};
use support::{Dice, volumes};

const KIND: FileKind = FileKind::new("test", Role::Bulk);

#[test]
fn names_are_created_once_renamed_over_listed_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        assert!(volume.list().unwrap().is_empty(), "{kind}");
        let first = volume.create("first", KIND).unwrap();
        assert_eq!(
            volume.create("first", KIND).unwrap_err().source.kind(),
            ErrorKind::AlreadyExists,
            "{kind}"
        );
        assert_eq!(volume.open("second", KIND).unwrap_err().source.kind(), ErrorKind::NotFound, "{kind}");
        first.write(0, b"first").unwrap();
        volume.create("second", KIND).unwrap().write(0, b"old").unwrap();
        volume.rename("first", "second").unwrap();
        volume.sync_directory().unwrap();
        assert_eq!(volume.list().unwrap(), ["second"], "{kind}");
        let mut bytes = [0; 5];
        volume.open("second", KIND).unwrap().read_exact(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"first", "{kind}");
        volume.remove("second").unwrap();
        assert_eq!(volume.remove("second").unwrap_err().source.kind(), ErrorKind::NotFound, "{kind}");
        // The handle outlives the name.
        first.read_exact(0, &mut bytes).unwrap();
    }
}

#[test]
fn the_lock_is_held_by_one() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        let held = volume.lock(Hold::Alone).unwrap();
        assert_eq!(volume.lock(Hold::Alone).unwrap_err().source.kind(), ErrorKind::WouldBlock, "{kind}");
        drop(held);
        volume.lock(Hold::Alone).unwrap();
    }
}

#[test]
fn random_writes_reads_and_cuts_agree_with_a_plain_vector() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        for seed in 0..20 {
            let mut dice = Dice::new(seed);
            let name = format!("file-{seed}");
            let file = volume.create(&name, KIND).unwrap();
            let mut model: Vec<u8> = Vec::new();
            for _ in 0..60 {
                let offset = dice.below(20_000) as usize;
                match dice.below(4) {
                    0 => {
                        let bytes = vec![dice.next() as u8; dice.below(9000) as usize];
                        file.write(offset as u64, &bytes).unwrap();
                        if !bytes.is_empty() {
                            model.resize(model.len().max(offset + bytes.len()), 0);
                            model[offset..offset + bytes.len()].copy_from_slice(&bytes);
                        }
                    }
                    1 => {
                        file.resize(offset as u64).unwrap();
                        model.resize(offset, 0);
                    }
                    _ => {
                        let mut bytes = vec![0; dice.below(9000) as usize];
                        let filled = file.read(offset as u64, &mut bytes).unwrap();
                        let expected =
                            &model[offset.min(model.len())..(offset + bytes.len()).min(model.len())];
                        assert_eq!(&bytes[..filled], expected, "{kind}, seed {seed}");
                    }
                }
                assert_eq!(file.size().unwrap(), model.len() as u64, "{kind}, seed {seed}");
            }
            file.sync().unwrap();
        }
    }
}

#[test]
fn batches_cross_files_ends_and_alignments() {
    let directory = tempfile::tempdir().unwrap();
    for (kind, volume) in volumes(directory.path()) {
        let mut dice = Dice::new(7);
        let contents: Vec<Vec<u8>> =
            (0..3).map(|_| (0..50_000).map(|_| dice.next() as u8).collect()).collect();
        let files: Vec<_> = contents
            .iter()
            .enumerate()
            .map(|(index, content)| {
                let file = volume.create(&format!("batch-{index}"), KIND).unwrap();
                file.write(0, content).unwrap();
                file
            })
            .collect();
        for round in 0..10 {
            let budget = Budget::unlimited();
            let count = 1 + dice.below(200) as usize;
            let mut buffers: Vec<_> =
                (0..count).map(|_| AlignedBuffer::new(&budget, "test", 8192).unwrap()).collect();
            let mut requests: Vec<_> = buffers
                .iter_mut()
                .map(|buffer| {
                    let aligned = dice.below(2) == 0;
                    let offset = if aligned { dice.below(13) * 4096 } else { dice.below(52_000) };
                    let into = if aligned { &mut buffer[..] } else { &mut buffer[3..1000] };
                    ReadRequest { file: &files[dice.below(3) as usize], offset, into, filled: 0 }
                })
                .collect();
            volume.read(&mut requests).unwrap();
            for request in &requests {
                let index: usize = request.file.name()["batch-".len()..].parse().unwrap();
                let content = &contents[index];
                let start = (request.offset as usize).min(content.len());
                let end = (start + request.into.len()).min(content.len());
                assert_eq!(&request.into[..request.filled], &content[start..end], "{kind}, round {round}");
            }
        }
    }
}

#[test]
fn a_file_storage_refuses_names_that_leave_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    let storage = FileStorage::with_transport(directory.path(), Transport::Buffered).unwrap();
    for name in ["", "../x", "a/b", ".hidden"] {
        assert_eq!(storage.create(name, Role::Bulk).unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
    }
}

#[test]
fn faults_strike_once_at_the_chosen_operation() {
    for fault in [Fault::Fail, Fault::Short, Fault::Tear, Fault::Full, Fault::Flip, Fault::Crash] {
        let storage = FaultyStorage::new(64, 5);
        let volume = Volume::new(storage.clone());
        let file = volume.create("file", KIND).unwrap();
        file.write(0, &[1; 1000]).unwrap();
        storage.strike(1, fault);
        file.write(0, &[2; 1000]).unwrap();
        assert!(!storage.struck());
        let outcome = file.write(1000, &[3; 1000]);
        assert!(storage.struck());
        assert_eq!(outcome.is_err(), fault != Fault::Flip, "{fault:?}");
        if fault == Fault::Crash {
            assert!(file.write(0, &[4]).is_err());
            continue;
        }
        let mut bytes = vec![0; 2000];
        let filled = file.read(0, &mut bytes).unwrap();
        assert_eq!(bytes[..1000], [2; 1000]);
        let written: u32 = bytes[1000..filled].iter().map(|byte| (byte ^ 3).count_ones()).sum();
        match fault {
            Fault::Fail | Fault::Full => assert_eq!(filled, 1000),
            Fault::Flip => assert_eq!((filled, written), (2000, 1)),
            _ => assert!(filled < 2000 || written > 0, "{fault:?}"),
        }
        if fault == Fault::Full {
            assert!(file.write(filled as u64, &[1]).unwrap_err().is_full());
            volume.remove("file").unwrap();
            file.write(filled as u64, &[1]).unwrap();
        }
    }
}

#[test]
fn a_crash_keeps_what_was_synced_and_any_part_of_the_rest() {
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..2000 {
        let storage = FaultyStorage::new(64, seed);
        let volume = Volume::new(storage.clone());
        let kept = volume.create("kept", KIND).unwrap();
        kept.write(0, &[1; 256]).unwrap();
        kept.sync().unwrap();
        volume.sync_directory().unwrap();
        kept.write(256, &[2; 256]).unwrap();
        volume.create("fresh", KIND).unwrap().write(0, &[3; 10]).unwrap();
        volume.rename("fresh", "named").unwrap();
        let after = Volume::new(storage.after_crash(seed));
        let names = after.list().unwrap().join(" ");
        let mut bytes = [0; 512];
        let filled = after.open("kept", KIND).unwrap().read(0, &mut bytes).unwrap();
        assert_eq!(bytes[..256], [1; 256], "seed {seed}");
        let tail = match filled {
            256 => "dropped",
            512 if bytes[256..] == [2; 256] => "whole",
            _ => "torn",
        };
        *outcomes.entry(format!("{names}: {tail}")).or_default() += 1;
    }
    // Every combination of names and tails must be possible, or the suites above it prove too little.
    assert_eq!(outcomes.len(), 9, "{outcomes:?}");
}

#[test]
fn a_marked_storage_sees_and_removes_only_what_carries_its_mark() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::open(directory.path()).unwrap();
    let mark = Id::draw().unwrap().mark();
    let theirs = ["file", "file.0123456789abcdef", ".hidden", ".direct-12", "file.lock", &format!(".{mark}")];
    for name in theirs {
        std::fs::write(directory.path().join(name), "theirs").unwrap();
    }
    std::os::unix::fs::symlink("file", directory.path().join(mark.on_disk("link"))).unwrap();
    std::fs::create_dir(directory.path().join(mark.on_disk("folder"))).unwrap();
    let storage = FileStorage::within(folder.clone(), Some(mark));
    assert_eq!(storage.list().unwrap(), [""; 0]);
    let file = storage.create("file", Role::Bulk).unwrap();
    storage.write(file, 0, b"ours").unwrap();
    storage.rename("file", "other").unwrap();
    assert_eq!(storage.list().unwrap(), ["other"]);
    assert!(directory.path().join(mark.on_disk("other")).exists());
    assert_eq!(storage.open("link").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(storage.create("link", Role::Bulk).unwrap_err().kind(), ErrorKind::AlreadyExists);
    let looking = FileStorage::read_only(folder, Some(mark));
    let file = looking.open("other").unwrap();
    let mut bytes = [0; 4];
    let mut extents = [Extent { file, offset: 0, into: &mut bytes, filled: 0 }];
    looking.read(&mut extents).unwrap();
    assert_eq!(&bytes, b"ours");
    assert!(looking.write(file, 0, b"none").is_err());
    assert!(looking.remove("other").is_err() && looking.rename("other", "new").is_err());
    assert!(looking.create("new", Role::Bulk).is_err());
    storage.remove("other").unwrap();
    for name in theirs {
        assert_eq!(std::fs::read(directory.path().join(name)).unwrap(), b"theirs", "{name}");
    }
}

#[test]
fn trying_what_works_leaves_no_name_behind() {
    let directory = tempfile::tempdir().unwrap();
    let before = std::fs::metadata(directory.path()).unwrap().modified().unwrap();
    FileStorage::auto(directory.path()).unwrap();
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    assert_eq!(
        std::fs::metadata(directory.path()).unwrap().modified().unwrap(),
        before,
        "not even for a moment"
    );
}

#[test]
fn a_folder_in_a_folder_is_no_link() {
    let directory = tempfile::tempdir().unwrap();
    let folder = Folder::create(&directory.path().join("a/b")).unwrap();
    std::os::unix::fs::symlink(directory.path(), directory.path().join("a/b/link")).unwrap();
    assert_eq!(folder.inner("link").unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(folder.make_inner("link").unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(folder.inner("none").unwrap_err().kind(), ErrorKind::NotFound);
    for name in ["..", ".", "a/b", ""] {
        assert_eq!(folder.inner(name).unwrap_err().kind(), ErrorKind::InvalidInput, "{name:?}");
    }
    let inner = folder.make_inner("inner").unwrap();
    assert!(folder.holds("inner", &inner).unwrap() && folder.make_fresh("inner").is_err());
    folder.remove_inner("inner").unwrap();
    assert!(!folder.holds("inner", &inner).unwrap());
    let lock = folder.lock(Hold::Alone).unwrap();
    assert_eq!(folder.lock(Hold::Shared).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(folder.holder().is_none_or(|process| process == std::process::id()));
    drop(lock);
    let _shared = (folder.lock(Hold::Shared).unwrap(), folder.lock(Hold::Shared).unwrap());
    assert_eq!(folder.lock(Hold::Alone).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_role_chooses_the_device_and_a_name_finds_it() {
    let devices = [MemoryStorage::new(64), MemoryStorage::new(64), MemoryStorage::new(64)];
    let spread = || {
        let [first, bulk, index] = devices.clone();
        Volume::new(SpreadStorage::new(first).with(&[Role::Bulk], bulk).with(&[Role::Index], index))
    };
    let volume = spread();
    // Names say nothing.
    for (name, role) in
        [("log", Role::Bulk), ("layers", Role::Index), ("run", Role::Log), ("bulk", Role::Stack)]
    {
        volume.create(name, FileKind::new("test", role)).unwrap().write(0, name.as_bytes()).unwrap();
    }
    let names = |device: &MemoryStorage| device.list().unwrap();
    assert_eq!(devices.each_ref().map(names), [vec!["bulk", "run"], vec!["log"], vec!["layers"]]);
    // A name is that of one file, on whichever device.
    for role in [Role::Bulk, Role::Index, Role::Stack, Role::Log] {
        let taken = volume.create("log", FileKind::new("test", role)).unwrap_err();
        assert_eq!(taken.source.kind(), ErrorKind::AlreadyExists, "{role:?}");
    }
    // Another process finds all of them, even one that would put them elsewhere.
    let [first, bulk, index] = devices.clone();
    let other =
        Volume::new(SpreadStorage::new(bulk).with(&[Role::Bulk, Role::Index], first).with(&[], index));
    for volume in [spread(), other] {
        assert_eq!(volume.list().unwrap(), ["bulk", "layers", "log", "run"]);
        for name in volume.list().unwrap() {
            let mut content = vec![0; name.len()];
            volume.open(&name, KIND).unwrap().read_exact(0, &mut content).unwrap();
            assert_eq!(content, name.as_bytes());
        }
    }
    volume.rename("layers", "renamed").unwrap();
    assert_eq!(names(&devices[2]), ["renamed"], "it stays where it is");
    assert_eq!(volume.rename("renamed", "log").unwrap_err().source.kind(), ErrorKind::CrossesDevices);
    volume.remove("renamed").unwrap();
    volume.remove("log").unwrap();
    assert_eq!(volume.list().unwrap(), ["bulk", "run"]);
    assert_eq!(volume.remove("log").unwrap_err().source.kind(), ErrorKind::NotFound);
    assert_eq!(volume.open("log", KIND).unwrap_err().source.kind(), ErrorKind::NotFound);
}
