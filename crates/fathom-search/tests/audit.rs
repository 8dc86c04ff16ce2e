//! Certificates: what a finished run leaves is accepted, and nothing else is.
//!
//! Runs of random systems are made with the engine; then the set, the manifest or the claim is changed in every way that matters.

use std::collections::BTreeSet;
use std::time::Duration;

use fathom_disk::budget::Budget;
use fathom_disk::key::KeyWidth;
use fathom_disk::manifest::{Manifest, Named, RunDirectory};
use fathom_disk::run::{Run, RunConfig, RunWriter, Scan, Tag};
use fathom_disk::set::KeyStream;
use fathom_disk::storage::{FileKind, Volume};
use fathom_exec::interpreter::Interpreter;
use fathom_model::record::Checksum;
use fathom_model::system::TransitionSystem;
use fathom_model::values::PossibleValues;
use fathom_search::bodies::stages::run;
use fathom_search::engines::tier::{Options, Tier};
use fathom_search::proof::audit::{Audit, AuditError, Audited};
use fathom_search::task::watch::Condition;
use fathom_search::task::{Settings, Task, Tuning, Unobserved};
use oracle::bfs::{Explored, Limits, explore};
use oracle::program::random_program;
use oracle::random::Random;

const TAG: Tag = [7; 16];
type Keys = BTreeSet<Vec<u64>>;

fn settings(conditions: Vec<Condition>) -> Settings {
    Settings {
        threads: 1,
        conditions,
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: true,
        tuning: Tuning::default(),
    }
}

/// A finished run in memory.
fn finished(system: &dyn TransitionSystem, settings: &Settings, budget_bytes: usize, rests: bool) -> Volume {
    let (volume, budget) = (Volume::in_memory(64), Budget::new(budget_bytes));
    let options = Options { tag: TAG, commit_every: Duration::ZERO, ..Options::unlasting() };
    let (mut tier, _) = Tier::open(&volume, &budget, system.shape(), 1, options).expect("there is room");
    let outcome = run(Task::new(system, &budget, settings), &mut tier).expect("there is room");
    if rests {
        tier.put_to_rest(&outcome.boundary).expect("there is room");
        assert!(tier.disk_use().at_rest.is_some(), "it is at rest");
    }
    volume
}

fn audit(
    system: &dyn TransitionSystem,
    settings: &Settings,
    volume: &Volume,
    tag: Tag,
) -> Result<Audited, AuditError> {
    let (scratch, budget) = (Volume::in_memory(64), Budget::new(1 << 20));
    let (scratch, budget, observer) = (&scratch, &budget, &Unobserved);
    Audit { system, settings, volume, tag, scratch, budget, observer }.run()
}

/// Random programs with a few states or more, their judge, and a seed.
fn for_programs(seeds: u64, mut work: impl FnMut(&Interpreter, &Explored, &mut Random)) -> usize {
    let mut count = 0;
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let size = 1 + random.below(4);
        let program = random_program(&mut random, size);
        let system = Interpreter::new(program.clone(), &PossibleValues::of(&program));
        let Ok(judge) = explore(&system, Limits { states: 600, transitions: 6_000 }) else { continue };
        if judge.states.len() < 3 {
            continue;
        }
        eprintln!("seed {seed}: {} states", judge.states.len());
        work(&system, &judge, &mut random);
        count += 1;
    }
    count
}

#[test]
fn what_a_finished_run_leaves_is_accepted() {
    let compared = for_programs(150, |system, judge, random| {
        let settings = settings(Vec::new());
        let volume = finished(system, &settings, [64 << 10, 1 << 20][random.below(2)], random.below(2) == 0);
        let audited = audit(system, &settings, &volume, TAG).expect("it is a certificate");
        assert_eq!(audited.states, judge.states.len() as u64);
        assert_eq!(audited.transitions, judge.transitions() as u64);
        assert_eq!(audited.deadlocks, judge.deadlocks() as u64);
        assert_eq!(audited.checksum, judge.checksum());
    });
    assert!(compared > 50, "{compared} programs are few");
}

#[test]
fn a_claim_is_only_accepted_where_it_is_true() {
    let (mut held, mut violated) = (0, 0);
    for_programs(150, |system, judge, _| {
        let claims = [
            (Condition::Fault, judge.faults() == 0 && judge.first_label_fault().is_none()),
            (Condition::Deadlock { stuttering: false, except: None }, judge.deadlocks() == 0),
        ];
        for (condition, holds) in claims {
            let claim = settings(vec![condition]);
            let honest = audit(system, &claim, &finished(system, &claim, 1 << 20, true), TAG);
            // A run that knew nothing of the claim says nothing against it.
            let silent = settings(vec![Condition::Label { label: 63, value: true }]);
            let forged = audit(system, &claim, &finished(system, &silent, 1 << 20, false), TAG);
            if holds {
                held += 1;
                assert!(honest.is_ok() && forged.is_ok(), "{honest:?} {forged:?}");
            } else {
                violated += 1;
                assert!(matches!(honest, Err(AuditError::Violated)), "{honest:?}");
                assert!(matches!(forged, Err(AuditError::Condition { condition: 0, .. })), "{forged:?}");
            }
        }
    });
    assert!(held > 20 && violated > 20, "{held} held, {violated} did not");
}

#[test]
fn a_record_removed_added_or_changed_is_refused() {
    let tried = for_programs(120, |system, judge, random| {
        let settings = settings(Vec::new());
        let bits = system.shape().width_bits;
        let chosen = judge.states[random.below(judge.states.len())].record.clone();
        let flipped = {
            let mut record = chosen.clone();
            let words = record.len();
            let bit = random.below(bits as usize);
            record[words - 1 - bit / 64] ^= 1 << (bit % 64);
            record
        };
        let changes: [&dyn Fn(&mut Keys); 3] = [
            &|keys| assert!(keys.remove(&chosen)),
            &|keys| {
                let all = judge.number_of(&flipped).is_some();
                assert!(keys.insert(flipped.clone()) != all);
            },
            &|keys| {
                assert!(keys.remove(&chosen));
                keys.insert(flipped.clone());
            },
        ];
        for (number, change) in changes.iter().enumerate() {
            if number == 1 && judge.number_of(&flipped).is_some() {
                continue;
            }
            let volume = finished(system, &settings, 1 << 20, random.below(2) == 0);
            rewrite(&volume, bits, *change, |_| {});
            let refusal = audit(system, &settings, &volume, TAG);
            let right = matches!(
                refusal,
                Err(AuditError::Count { .. } | AuditError::Checksum { .. } | AuditError::NoState { .. })
            );
            assert!(right, "change {number}: {refusal:?}");
        }
    });
    assert!(tried > 40, "{tried} programs are few");
}

#[test]
fn a_forger_who_mends_every_number_is_refused_all_the_same() {
    let mut open = 0;
    for_programs(120, |system, judge, random| {
        let settings = settings(Vec::new());
        let chosen = judge.states[random.below(judge.states.len())].record.clone();
        let volume = finished(system, &settings, 1 << 20, random.below(2) == 0);
        let mut rest = Checksum::default();
        judge.states.iter().filter(|state| state.record != chosen).for_each(|state| rest.add(&state.record));
        let remove = |keys: &mut Keys| assert!(keys.remove(&chosen));
        rewrite(&volume, system.shape().width_bits, remove, |boundary| {
            set(boundary, EXPANDED, judge.states.len() as u64 - 1);
            boundary[CHECKSUM..CHECKSUM + 16].copy_from_slice(&rest.0.to_le_bytes());
        });
        // What else does not fit is mended until nothing does but the set itself.
        let refusal = loop {
            let (place, found) = match audit(system, &settings, &volume, TAG) {
                Err(AuditError::Count { what: "transitions", found, .. }) => (EXPANDED + 8, found),
                Err(AuditError::Count { what: "deadlocks", found, .. }) => (EXPANDED + 16, found),
                Err(AuditError::Count { what: "faults", found, .. }) => (EXPANDED + 24, found),
                other => break other,
            };
            rewrite(&volume, system.shape().width_bits, |_| {}, |boundary| set(boundary, place, found));
        };
        // Every state is initial or the target of a step; only one whose single parent is itself is not missed.
        let missed = judge.states.iter().any(|state| {
            state.record != chosen
                && state.steps.iter().any(|step| judge.states[step.target].record == chosen)
        });
        match refusal {
            Err(AuditError::Open { missing: 1, first }) => {
                assert_eq!(first, chosen);
                open += 1;
            }
            other => assert!(!missed, "{other:?}"),
        }
    });
    assert!(open > 40, "{open} sets were open");
}

#[test]
fn damaged_files_and_other_tags_are_refused() {
    let tried = for_programs(60, |system, _, random| {
        let settings = settings(Vec::new());
        let volume = finished(system, &settings, 1 << 20, random.below(2) == 0);
        let refused = |volume: &Volume, tag| audit(system, &settings, volume, tag);
        assert!(matches!(refused(&volume, [8; 16]), Err(AuditError::Damaged(_))));
        let names: Vec<String> = volume.list().expect("memory does not fail");
        let run = names
            .iter()
            .find(|name| name.starts_with("run") || name.starts_with("rest"))
            .expect("there is a run")
            .clone();
        for name in [run.as_str(), "manifest"] {
            let size = volume.open(name, FileKind::RUN).expect("it is there").size().expect("it has one");
            let place = random.below(size as usize) as u64;
            let file = volume.open(name, FileKind::RUN).expect("it is there");
            let mut byte = [0];
            file.read_exact(place, &mut byte).expect("it is there");
            file.write(place, &[byte[0] ^ (1 << random.below(8))]).expect("memory does not fail");
            let refusal = refused(&volume, TAG);
            assert!(refusal.is_err(), "byte {place} of {name}: {refusal:?}");
            file.write(place, &byte).expect("memory does not fail");
            assert!(refused(&volume, TAG).is_ok(), "the byte is back");
        }
        let file = volume.open(&run, FileKind::RUN).expect("it is there");
        let size = file.size().expect("it has one");
        file.resize(random.below(size as usize) as u64).expect("memory does not fail");
        assert!(matches!(refused(&volume, TAG), Err(AuditError::Damaged(_))));
        volume.remove(&run).expect("memory does not fail");
        assert!(matches!(refused(&volume, TAG), Err(AuditError::Damaged(_))));
    });
    assert!(tried > 20, "{tried} programs are few");
}

#[test]
fn a_run_that_has_not_finished_is_no_certificate() {
    for_programs(60, |system, _, _| {
        let early = Settings { max_depth: Some(0), ..settings(Vec::new()) };
        let volume = finished(system, &early, 1 << 20, false);
        let outcome = audit(system, &early, &volume, TAG);
        let complete = explore(system, Limits::states(1_000)).expect("it is small").depth() == Some(0);
        assert!(complete || matches!(outcome, Err(AuditError::Unfinished)), "{outcome:?}");
    });
}

/// Where the boundary of the layer loop has the number of states, and its checksum.
const EXPANDED: usize = 16;
const CHECKSUM: usize = EXPANDED + 6 * 8;

fn set(boundary: &mut [u8], place: usize, number: u64) {
    boundary[place..place + 8].copy_from_slice(&number.to_le_bytes());
}

/// Makes another commit in which all keys are in one run, with changes.
fn rewrite(volume: &Volume, bits: u32, change: impl Fn(&mut Keys), claim: impl Fn(&mut [u8])) {
    let (budget, width) = (Budget::new(1 << 24), KeyWidth::new(bits).expect("it is a width"));
    let mut directory = RunDirectory::open(volume, TAG).expect("it is a run");
    let manifest: Manifest = directory.committed().expect("it has a commit").clone();
    let mut keys = Keys::new();
    for file in manifest.files.iter().filter(|file| !file.grows) {
        let run = Run::open(volume, &budget, &file.name, width, TAG).expect("it is a run");
        let mut scan = Scan::new(&run, &budget, 4096).expect("there is room");
        while scan.advance().expect("it is whole") {
            keys.extend(scan.keys().chunks(width.words()).map(<[u64]>::to_vec));
        }
    }
    change(&mut keys);
    let name = format!("changed-{}", manifest.sequence);
    let config = RunConfig::tiny(width, TAG, 256);
    let mut writer = RunWriter::new(volume, &budget, &name, &config).expect("there is room");
    keys.iter().for_each(|key| writer.push(key).expect("there is room"));
    writer.finish(true).expect("there is room");
    let mut files = vec![Named { name, grows: false, note: vec![0; 8] }];
    let logs = manifest.files.iter().filter(|file| file.grows);
    files.extend(logs.map(|file| Named { name: file.name.clone(), grows: true, note: Vec::new() }));
    let mut cursor = manifest.cursor.clone();
    // Twelve numbers, the last of which is the length of the name behind them.
    let length = u64::from_le_bytes(cursor[88..96].try_into().expect("eight bytes")) as usize;
    claim(&mut cursor[96 + length..]);
    directory.commit(&cursor, &files).expect("there is room");
}
