//! If the power goes while values are summed up in passes: does every committed pass count once?
//!
//! A run holds how often each key was sent. In each pass keys are sent, sorted with a count of one each, and merged with the run into the next one, which a commit names in place of it.

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::run::{Run, RunConfig, RunWriter, Scan, Tag};
use fathom_disk::set::{KeyStream, Merge, Sorter, write_all};
use fathom_disk::storage::{Fault, FaultyStorage, Volume};
use fathom_disk::value::{Join, ValueWidth, Values};

use std::collections::BTreeMap;

use crate::support::{Dice, long};
use crate::survived;

const TAG: Tag = *b"a tag of 16 byte";
const PASSES: u64 = 8;

fn kinds() -> (KeyWidth, Values) {
    let width = ValueWidth::new(30).unwrap();
    (KeyWidth::new(40).unwrap(), Values { width, join: Join::Sum })
}

/// What is sent in a pass, repeats included.
fn sent(seed: u64, pass: u64) -> Vec<u64> {
    let mut dice = Dice::new(seed * 100 + pass);
    (0..120).map(|_| dice.below(150) << 20).collect()
}

fn expected(seed: u64, passes: u64) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for key in (0..passes).flat_map(|pass| sent(seed, pass)) {
        *counts.entry(key).or_insert(0) += 1;
    }
    counts
}

/// Passes that are committed, and the run of the last.
fn committed(directory: &RunDirectory, budget: &Budget) -> Result<(u64, Option<Run>), DiskError> {
    let Some(manifest) = directory.committed() else { return Ok((0, None)) };
    let passes = u64::from_le_bytes(manifest.cursor[..].try_into().unwrap());
    let (width, values) = kinds();
    let name = &manifest.files[0].name;
    let run = Run::open_with_values(directory.volume(), budget, name, (width, values.width), TAG)?;
    Ok((passes, Some(run)))
}

fn work(volume: &Volume, seed: u64, acknowledged: &mut u64) -> Result<(), DiskError> {
    let budget = Budget::new(16 << 10);
    let (width, values) = kinds();
    let config = RunConfig::tiny(width, TAG, 64).with_values(values.width);
    let mut directory = RunDirectory::open(volume, TAG)?;
    let (mut pass, mut run) = committed(&directory, &budget)?;
    while pass < PASSES {
        let mut sorter = Sorter::joining(volume, &budget, &format!("sort-{pass}"), kinds(), TAG, 4096)?;
        let keys = sent(seed, pass);
        sorter.push_with(&keys, &vec![1; keys.len()])?;
        let sorted = sorter.finish()?;
        let name = format!("counts-{pass}.run");
        let mut writer = RunWriter::new(volume, &budget, &name, &config)?;
        let mut streams: Vec<Box<dyn KeyStream + '_>> = vec![sorted.stream()?];
        if let Some(run) = &run {
            streams.push(Box::new(Scan::new(run, &budget, 256)?));
        }
        write_all(&mut Merge::joining(&budget, 1, streams, 16, values)?, &mut writer)?;
        run = Some(writer.finish_run(true)?);
        sorted.remove()?;
        pass += 1;
        directory.commit(&pass.to_le_bytes(), &[Named { name, grows: false, note: vec![] }])?;
        *acknowledged = pass;
    }
    Ok(())
}

/// Checks what a process finds after a crash.
fn check(storage: &FaultyStorage, seed: u64, acknowledged: u64, about: &str) -> u64 {
    let (volume, budget) = (Volume::new(storage.clone()), Budget::unlimited());
    let directory = RunDirectory::open(&volume, TAG).unwrap_or_else(|error| panic!("{about}: {error}"));
    let (passes, run) = committed(&directory, &budget).unwrap_or_else(|error| panic!("{about}: {error}"));
    assert!(passes >= acknowledged, "{about}: {passes} passes found, {acknowledged} were committed");
    let mut counts = BTreeMap::new();
    if let Some(run) = &run {
        let mut scan = Scan::new(run, &budget, 256).unwrap();
        while scan.advance().unwrap_or_else(|error| panic!("{about}: {error}")) {
            counts.extend(scan.keys().iter().copied().zip(scan.values().iter().copied()));
        }
    }
    assert_eq!(counts, expected(seed, passes), "{about}: after {passes} passes");
    passes
}

#[test]
fn sums_survive_a_crash_at_every_operation() {
    let mut crashes = 0;
    for seed in 0..if long() { 40 } else { 2 } {
        let storage = FaultyStorage::new(64, seed);
        work(&Volume::new(storage.clone()), seed, &mut 0).unwrap();
        for first in 0..storage.operations() {
            let mut dice = Dice::new(seed ^ first.rotate_left(20));
            let (mut storage, mut strike) = (FaultyStorage::new(64, seed), first);
            let (mut acknowledged, mut struck) = (0, 0);
            loop {
                storage.strike(strike, Fault::Crash);
                let outcome = work(&Volume::new(storage.clone()), seed, &mut acknowledged);
                if outcome.is_ok() && !storage.struck() {
                    break;
                }
                struck += 1;
                let about = format!("seed {seed}, first strike {first}, crash {struck} at {strike}");
                storage = storage.after_crash(dice.next());
                acknowledged = check(&storage.after_crash(0), seed, acknowledged, &about);
                strike = if struck < 3 { dice.below(200) } else { 1 << 40 };
            }
            assert_eq!(check(&storage.after_crash(seed), seed, acknowledged, "at the end"), PASSES);
            crashes += struck;
        }
    }
    survived("sums in passes", crashes, 1000);
}
