//! Power loss at every operation of a search on disk, and again while it is taken up: what is found in the end is what the judge finds.
//!
//! The normal run strikes every few operations; `FATHOM_LONG=1` strikes at every one of many more systems.

mod contract;

use std::time::Duration;

use contract::{TUNINGS, compare_counts, conditions, expected_finding, widest};
use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::storage::{Fault, FaultyStorage, Volume};
use fathom_model::checked::Checked;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_search::bodies::stages::{StagePolicy, go_on, run};
use fathom_search::engines::auto::{self, Disk};
use fathom_search::engines::stern_dill::{self, Sizes, SternDill};
use fathom_search::engines::tier::{Options, Tier};
use fathom_search::error::SearchError;
use fathom_search::proof::audit::{Audit, AuditError};
use fathom_search::task::{Ending, Observer, Outcome, Settings, Task, Unobserved};
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::random_graph;
use oracle::random::Random;

/// Which system is searched, and what is right.
struct Subject<'a> {
    system: &'a dyn TransitionSystem,
    judge: &'a Explored,
    /// At the least budget throughout.
    least: bool,
    engine: Engine,
}

/// By what it is searched.
#[derive(Clone, Copy, Debug)]
enum Engine {
    Tier,
    /// In RAM where it fits.
    Auto,
    SternDill,
    /// What one has begun, another goes on with.
    Any,
}

impl Subject<'_> {
    fn settings(&self, threads: usize) -> Settings {
        Settings {
            threads,
            conditions: conditions(self.system.shape()),
            stop_at_first: false,
            findings_max: 1,
            max_depth: None,
            coverage: true,
            tuning: TUNINGS[0](),
        }
    }

    /// Begins or goes on, at a budget and a number of threads of its own.
    fn search(
        &self,
        storage: &FaultyStorage,
        random: &mut Random,
        observer: &dyn Observer,
    ) -> Result<Outcome, SearchError> {
        let threads = 1 + random.below(2);
        let shape = self.system.shape();
        let columns = Columns { labels: true, actions: true, ..Columns::NONE };
        let steps_bytes = threads * Steps::bytes_for(shape, columns, 3 * widest(self.judge));
        // Blocks of the log are as large as the first process made them, so the least budget is for those that began with it.
        let bytes = if self.least { 6 << 10 } else { [48 << 10, 64 << 10, 512 << 10][random.below(3)] };
        let bytes = bytes.max(256 * shape.words() * 8);
        let budget = Budget::new(bytes + steps_bytes);
        let steps = budget.charge("steps of one state", steps_bytes)?;
        let every = [Duration::ZERO, Duration::from_secs(100)][random.below(2)];
        let options = Options {
            tag: [3; 16],
            commit_every: every,
            keep_from: [0, 3, u64::MAX][random.below(3)],
            ..Options::unlasting()
        };
        let volume = Volume::new(storage.clone());
        let engine = match self.engine {
            Engine::Any => [Engine::Tier, Engine::Auto, Engine::SternDill][random.below(3)],
            engine => engine,
        };
        match engine {
            Engine::Tier | Engine::Any => {
                let (mut tier, boundary) = Tier::open(&volume, &budget, shape, threads, options)?;
                drop(steps);
                let outcome = self.take_up(&mut tier, boundary, &budget, threads, observer)?;
                if outcome.ending == Ending::Complete {
                    tier.put_to_rest(&outcome.boundary)?;
                }
                Ok(outcome)
            }
            Engine::Auto => {
                drop(steps);
                let disk = Disk { volume: &|| Ok(volume.clone()), lasts: true, options };
                Ok(auto::run(
                    Task::new(self.system, &budget, &self.settings(threads)).watched_by(observer),
                    &disk,
                )?
                .1)
            }
            Engine::SternDill => {
                let Options { tag, commit_every, keep_from, .. } = options;
                // Tables that are full in the middle of a layer, and all threads at every close.
                let few: fn(Sizes) -> Sizes = |sizes| Sizes { gathered_keys: 7, shared_keys_min: 0, ..sizes };
                let sizes = [None, Some(few)][random.below(2)];
                let options = stern_dill::Options { tag, commit_every, disk_limit: None, keep_from, sizes };
                let (mut policy, boundary) = SternDill::open(&volume, &budget, shape, threads, options)?;
                drop(steps);
                let outcome = self.take_up(&mut policy, boundary, &budget, threads, observer)?;
                if outcome.ending == Ending::Complete {
                    policy.put_to_rest(&outcome.boundary)?;
                }
                Ok(outcome)
            }
        }
    }

    fn take_up<P: StagePolicy>(
        &self,
        policy: &mut P,
        boundary: Option<Vec<u8>>,
        budget: &Budget,
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<Outcome, SearchError> {
        let settings = self.settings(threads);
        match boundary {
            Some(boundary) => {
                go_on(Task::new(self.system, budget, &settings).watched_by(observer), policy, &boundary)
            }
            None => run(Task::new(self.system, budget, &settings).watched_by(observer), policy),
        }
    }

    fn compare(&self, outcome: &Outcome) {
        assert_eq!(outcome.ending, Ending::Complete, "{:?}", outcome.refusal);
        compare_counts(outcome, self.judge);
        for (condition, finding) in self.settings(1).conditions.iter().zip(outcome.findings.firsts()) {
            let expected = expected_finding(*condition, self.judge).map(|(finding, _)| finding);
            assert_eq!(finding, expected.as_ref(), "{condition:?}");
        }
    }

    /// What is on disk in the end proves what the judge knows.
    fn audit(&self, storage: &FaultyStorage) {
        let (volume, scratch) = (Volume::new(storage.clone()), Volume::in_memory(64));
        let (volume, scratch, budget) = (&volume, &scratch, &Budget::new(1 << 20));
        let (system, settings, tag, observer) = (self.system, &self.settings(1), [3; 16], &Unobserved);
        let audited = Audit { system, settings, volume, tag, scratch, budget, observer }.run();
        match audited {
            Ok(audited) => assert_eq!(audited.checksum, self.judge.checksum()),
            // The run has found something: it proves nothing, and says so.
            Err(AuditError::Violated) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Loses power at operation `first`, and then now and then while going on, until the search ends; says how often.
    fn crash(&self, first: u64, seed: u64) -> u64 {
        let mut random = Random::new(seed ^ first << 20);
        let mut storage = FaultyStorage::new(64, seed);
        let mut strike = first;
        for crashes in 0.. {
            storage.strike(strike, Fault::Crash);
            match self.search(&storage, &mut random, &Unobserved) {
                Ok(outcome) => {
                    self.compare(&outcome);
                    // The power goes once more: what was said to last lasts.
                    self.audit(&storage.after_crash(seed));
                    return crashes;
                }
                Err(SearchError::Disk(DiskError::Storage(_))) if storage.struck() => {}
                Err(error) => panic!("operation {strike} after {crashes} crashes: {error}"),
            }
            storage = storage.after_crash(random.below(1 << 30) as u64);
            // Rarer and rarer, so that it ends.
            strike = random.below(200 << crashes.min(20)) as u64;
        }
        unreachable!("a search that is not struck ends")
    }
}

fn subject(seed: u64, states: usize, work: impl FnOnce(Subject<'_>)) {
    let graph = random_graph(&mut Random::new(seed), states);
    let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
    work(Subject {
        system: &Checked(graph),
        judge: &judge,
        least: seed.is_multiple_of(3),
        engine: [Engine::Tier, Engine::Auto, Engine::SternDill, Engine::Any][seed as usize % 4],
    });
}

#[test]
fn a_search_that_loses_power_is_taken_up_and_finds_the_same() {
    let long = std::env::var_os("FATHOM_LONG").is_some();
    let (seeds, every) = if long { (80, 1) } else { (32, 5) };
    let mut crashes = 0;
    for seed in 0..seeds {
        subject(seed, 40, |subject| {
            let storage = FaultyStorage::new(64, seed);
            let outcome = subject.search(&storage, &mut Random::new(seed), &Unobserved);
            subject.compare(&outcome.expect("nothing strikes"));
            let operations = storage.operations().min(4000);
            for first in (0..operations).step_by(every) {
                crashes += subject.crash(first, seed);
            }
        });
    }
    println!("{crashes} power losses");
    assert!(crashes > if long { 10_000 } else { 1_000 }, "{crashes} power losses are few");
}

/// Stops a search after some batches.
struct Impatient(std::sync::atomic::AtomicU64);

impl Observer for Impatient {
    fn stop(&self) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn a_search_that_is_stopped_again_and_again_finds_the_same() {
    for seed in 0..60 {
        subject(seed, 100, |subject| {
            let mut random = Random::new(seed);
            let storage = FaultyStorage::new(64, seed);
            for round in 0..10_000u64 {
                let patience = Impatient((random.below(20) as u64 + round / 4).into());
                let outcome =
                    subject.search(&storage, &mut random, &patience).expect("the machine does not fail");
                if outcome.ending == Ending::Complete {
                    subject.compare(&outcome);
                    return;
                }
                assert_eq!(outcome.ending, Ending::Stopped, "seed {seed}: {:?}", outcome.refusal);
            }
            panic!("seed {seed}: it never ends");
        });
    }
}

#[test]
fn a_full_disk_loses_nothing_and_the_search_goes_on_when_there_is_room() {
    let mut full = 0;
    for seed in 0..60 {
        subject(seed, 60, |subject| {
            let mut random = Random::new(seed);
            let storage = FaultyStorage::new(64, seed);
            for room in 0.. {
                storage.set_capacity(300 << room);
                match subject.search(&storage, &mut random, &Unobserved) {
                    Ok(outcome) => return subject.compare(&outcome),
                    Err(SearchError::Disk(error)) if error.is_full() => full += 1,
                    Err(error) => panic!("seed {seed}: {error}"),
                }
            }
        });
    }
    assert!(full > 30, "{full} full disks are few");
}
