//! If the power goes at any operation, and again while resuming: is what was committed there, and nothing else?
//!
//! A small search runs on the faulty storage: layers are looked up, written, inserted into tiers, merged, at times
//! recompressed, and committed. It is struck at every operation in turn; what survives is resumed, struck again, and so on; in the end it must
//! have exactly the keys of a search that was never disturbed.

use fathom_disk::budget::Budget;
use fathom_disk::codec::Codec;
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig, RunWriter, Scan, Tag};
use fathom_disk::set::{KeyStream, Tiers, write_all};
use fathom_disk::storage::{Fault, FaultyStorage, Volume};

use crate::support::{Dice, Model, flat, long};
use crate::survived;

const TAG: Tag = *b"a tag of 16 byte";
const BITS: u32 = 12;
const ROUNDS: u64 = 12;

/// The keys that round `round` of search `seed` comes upon, known ones included.
fn candidates(seed: u64, round: u64) -> Model {
    let mut dice = Dice::new(seed * 1000 + round);
    let base = dice.below(3000);
    (0..25).map(|_| vec![base + dice.below(200)]).collect()
}

/// The keys after `rounds` rounds.
fn expected(seed: u64, rounds: u64) -> Model {
    (0..rounds).flat_map(|round| candidates(seed, round)).collect()
}

fn width() -> KeyWidth {
    KeyWidth::new(BITS).unwrap()
}

/// What is committed: rounds done (from the cursor) and keys (from the files).
fn committed_state(directory: &RunDirectory, budget: &Budget) -> Result<(u64, Tiers), DiskError> {
    let mut tiers = Tiers::new(3);
    let Some(manifest) = directory.committed() else { return Ok((0, tiers)) };
    for file in &manifest.files {
        let run = Run::open(directory.volume(), budget, &file.name, width(), TAG)?;
        tiers.insert(usize::from(file.note[0]), run);
    }
    Ok((u64::from_le_bytes(manifest.cursor[..].try_into().unwrap()), tiers))
}

fn keys_of(tiers: &Tiers, budget: &Budget) -> Result<Vec<u64>, DiskError> {
    let mut scan = tiers.scan(budget, 1, 4096)?;
    let mut keys = Vec::new();
    while scan.advance()? {
        keys.extend_from_slice(scan.keys());
    }
    Ok(keys)
}

/// Goes on from what is committed to the end; `acknowledged` is the number of rounds of the last commit that was reported done.
fn search(volume: &Volume, seed: u64, acknowledged: &mut u64) -> Result<(), DiskError> {
    let budget = Budget::new(64 << 10);
    let config = RunConfig::tiny(width(), TAG, 64);
    let mut directory = RunDirectory::open(volume, TAG)?;
    let (mut round, mut tiers) = committed_state(&directory, &budget)?;
    let sequence = directory.committed().map_or(0, |manifest| manifest.sequence);
    // Names are never used twice: one that a crash brings back must not be taken for another.
    let mut fresh = sequence * 100;
    let mut name = || {
        fresh += 1;
        format!("{fresh}.run")
    };
    while round < ROUNDS {
        add_layer(volume, &budget, &config, &mut tiers, &candidates(seed, round), &name())?;
        round += 1;
        while let Some(level) = tiers.due() {
            tiers.merge_level(volume, &budget, level, &name(), &config, 8192, true)?;
        }
        if round % 5 == 0 {
            recompress_oldest(volume, &budget, &mut tiers, &name())?;
        }
        if round % 2 == 0 || round == ROUNDS {
            let files: Vec<_> = tiers
                .runs()
                .map(|(level, run)| Named {
                    name: run.name().to_owned(),
                    grows: false,
                    note: vec![level as u8],
                })
                .collect();
            directory.commit(&round.to_le_bytes(), &files)?;
            *acknowledged = round;
            // Runs merged away before they were ever committed are garbage of ours.
            for name in tiers.retired() {
                let _ = volume.remove(&name);
            }
        }
    }
    Ok(())
}

fn add_layer(
    volume: &Volume,
    budget: &Budget,
    config: &RunConfig,
    tiers: &mut Tiers,
    candidates: &Model,
    name: &str,
) -> Result<(), DiskError> {
    let keys = flat(candidates);
    let mut found = vec![false; keys.len()];
    let mut prober = Prober::new(budget, width(), ProbeConfig::within(4096))?;
    tiers.look_up(&mut prober, &keys, &mut found)?;
    let mut writer = RunWriter::new(volume, budget, name, config)?;
    for (key, found) in keys.iter().zip(found) {
        if !found {
            writer.push(&[*key])?;
        }
    }
    writer.finish(true)?;
    tiers.insert(0, Run::open(volume, budget, name, width(), TAG)?);
    Ok(())
}

/// Rewrites the oldest run with another codec, as is done with the final set.
fn recompress_oldest(
    volume: &Volume,
    budget: &Budget,
    tiers: &mut Tiers,
    name: &str,
) -> Result<(), DiskError> {
    let config = RunConfig { codecs: &[Codec::ColumnsLz4], ..RunConfig::tiny(width(), TAG, 128) };
    let runs: Vec<(usize, &Run)> = tiers.runs().collect();
    let &(oldest_level, oldest) = runs.last().unwrap();
    let mut writer = RunWriter::new(volume, budget, name, &config)?;
    write_all(&mut Scan::new(oldest, budget, 256)?, &mut writer)?;
    writer.finish(true)?;
    let mut renewed = Tiers::new(3);
    for &(level, run) in runs[..runs.len() - 1].iter().rev() {
        renewed.insert(level, Run::open(volume, budget, run.name(), width(), TAG)?);
    }
    renewed.insert(oldest_level, Run::open(volume, budget, name, width(), TAG)?);
    *tiers = renewed;
    Ok(())
}

/// Checks what a process finds after a crash.
fn check(storage: &FaultyStorage, seed: u64, acknowledged: u64, about: &str) -> u64 {
    let volume = Volume::new(storage.clone());
    let budget = Budget::unlimited();
    let directory = RunDirectory::open(&volume, TAG).unwrap_or_else(|error| panic!("{about}: {error}"));
    let (rounds, tiers) =
        committed_state(&directory, &budget).unwrap_or_else(|error| panic!("{about}: {error}"));
    assert!(
        rounds >= acknowledged,
        "{about}: {rounds} rounds found, {acknowledged} were reported as committed"
    );
    let keys = keys_of(&tiers, &budget).unwrap_or_else(|error| panic!("{about}: {error}"));
    assert_eq!(keys, flat(&expected(seed, rounds)), "{about}: keys after {rounds} rounds");
    let mut known: Vec<String> = tiers.runs().map(|(_, run)| run.name().to_owned()).collect();
    known.extend(directory.committed().map(|_| "manifest".to_owned()));
    known.sort();
    assert_eq!(volume.list().unwrap(), known, "{about}: nothing else is left");
    rounds
}

/// Runs search `seed`, struck at operation `first` and then at random ones while resuming; counts the crashes.
fn crash_and_resume(seed: u64, first: u64) -> u64 {
    let mut dice = Dice::new(seed ^ first.rotate_left(20));
    let mut storage = FaultyStorage::new(64, seed);
    let mut strike = first;
    let mut acknowledged = 0;
    let mut crashes = 0;
    loop {
        storage.strike(strike, Fault::Crash);
        let outcome = search(&Volume::new(storage.clone()), seed, &mut acknowledged);
        if outcome.is_ok() && !storage.struck() {
            break;
        }
        crashes += 1;
        let about = format!("search {seed}, first strike {first}, crash {crashes} at operation {strike}");
        storage = storage.after_crash(dice.next());
        // The check opens, reads and sweeps; what it sweeps may come back, as after any crash.
        acknowledged = check(&storage.after_crash(0), seed, acknowledged, &about);
        strike = if crashes < 4 { dice.below(120) } else { 1 << 40 };
    }
    // One more crash after the end takes nothing back.
    assert_eq!(check(&storage.after_crash(seed), seed, acknowledged, "at the end"), ROUNDS);
    crashes
}

#[test]
fn what_was_committed_survives_a_crash_at_every_operation() {
    let searches = if long() { 200 } else { 6 };
    let mut crashes = 0;
    for seed in 0..searches {
        let storage = FaultyStorage::new(64, seed);
        search(&Volume::new(storage.clone()), seed, &mut 0).unwrap();
        for operation in 0..storage.operations() {
            crashes += crash_and_resume(seed, operation);
        }
    }
    survived("commit, merge and recompression", crashes, 10_000);
}
