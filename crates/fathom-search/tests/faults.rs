//! Operations of the device that fail, are done in part, are torn, or have a bit wrong, at every point of a search: it ends in an error that says so, or it finds what the judge finds.
//!
//! Half of the devices say that they are slow, so that what is read ahead and written behind is struck, too. The normal run strikes every few operations; `FATHOM_LONG=1` strikes at every
//! one of many more systems.

mod contract;

use std::collections::BTreeMap;
use std::time::Duration;

use contract::{TUNINGS, compare_counts, conditions, widest};
use fathom_disk::budget::Budget;
use fathom_disk::storage::{Fault, FaultyStorage, Volume};
use fathom_model::checked::Checked;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_search::bodies::stages::{go_on, run};
use fathom_search::engines::auto::{self, Disk};
use fathom_search::engines::ndfs;
use fathom_search::engines::stern_dill;
use fathom_search::engines::tier::{Options, Plan, Tier};
use fathom_search::error::SearchError;
use fathom_search::stores::disk_set::DiskSet;
use fathom_search::stores::visited::PerColour;
use fathom_search::task::{Ending, Outcome, Settings, Task, Unobserved};
use fathom_search::traces::path::Room;
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::{Form, formed_graph};
use oracle::random::Random;

const FAULTS: [Fault; 4] = [Fault::Fail, Fault::Short, Fault::Tear, Fault::Flip];

/// An engine with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Engine {
    Tier,
    TierByScan,
    /// In RAM, with a journal.
    Auto,
    SternDill,
    /// Depth-first, with both sets and the path on disk.
    Nested,
}

const ENGINES: [Engine; 5] =
    [Engine::Tier, Engine::TierByScan, Engine::Auto, Engine::SternDill, Engine::Nested];

/// What a search came to.
enum Found {
    Layers(Box<Outcome>),
    /// How many states there are, and whether some run is accepting.
    Nested(u64, bool),
}

struct Subject<'a> {
    system: &'a dyn TransitionSystem,
    judge: &'a Explored,
    engine: Engine,
    /// Data budget, and threads.
    memory: (usize, usize),
}

impl Subject<'_> {
    fn settings(&self) -> Settings {
        Settings {
            threads: self.memory.1,
            conditions: conditions(self.system.shape()),
            stop_at_first: false,
            findings_max: 1,
            max_depth: None,
            coverage: true,
            tuning: TUNINGS[0](),
        }
    }

    /// Begins, or goes on with what is committed.
    fn search(&self, storage: &FaultyStorage) -> Result<Found, SearchError> {
        let (shape, settings, (bytes, threads)) = (self.system.shape(), self.settings(), self.memory);
        let columns = Columns { labels: true, actions: true, ..Columns::NONE };
        let steps = 2 * threads * Steps::bytes_for(shape, columns, 3 * widest(self.judge));
        let budget = Budget::new(bytes.max(512 * shape.words() * 8) + steps);
        let volume = Volume::new(storage.clone());
        let plan = if self.engine == Engine::TierByScan { Plan::Scan } else { Plan::LookUp };
        let options = Options { tag: [3; 16], commit_every: Duration::ZERO, plan, ..Options::unlasting() };
        let outcome = match self.engine {
            Engine::Tier | Engine::TierByScan => {
                let (mut tier, boundary) = Tier::open(&volume, &budget, shape, threads, options)?;
                let outcome = match boundary {
                    Some(boundary) => go_on(Task::new(self.system, &budget, &settings), &mut tier, &boundary),
                    None => run(Task::new(self.system, &budget, &settings), &mut tier),
                }?;
                if outcome.ending == Ending::Complete {
                    tier.put_to_rest(&outcome.boundary)?;
                }
                outcome
            }
            Engine::Auto => {
                let disk = Disk { volume: &|| Ok(volume.clone()), lasts: true, options };
                auto::run(Task::new(self.system, &budget, &settings), &disk)?.1
            }
            Engine::SternDill => {
                let options = stern_dill::Options {
                    tag: [3; 16],
                    commit_every: Duration::ZERO,
                    ..stern_dill::Options::unlasting()
                };
                let place = (&volume, true);
                stern_dill::run(Task::new(self.system, &budget, &settings), place, options)?.1
            }
            Engine::Nested => return self.nested(&volume, &budget),
        };
        Ok(Found::Layers(Box::new(outcome)))
    }

    fn nested(&self, volume: &Volume, budget: &Budget) -> Result<Found, SearchError> {
        let shape = self.system.shape();
        let bytes = budget.limit() / 8;
        let set = |name| DiskSet::new(shape, volume, name, bytes, budget);
        let mut visited = PerColour([set("visited")?, set("red")?]);
        let settings =
            ndfs::Settings { stop_at_fault: false, max_depth: None, weak: false, stack: Some((volume, 512)) };
        let room = Room::in_memory(budget);
        let outcome = ndfs::run(self.system, &mut visited, &room, &settings, &Unobserved)?;
        Ok(Found::Nested(outcome.states, outcome.lasso.is_some()))
    }

    /// That what was found is right. A search that ended for want of memory has found nothing.
    fn assert_right(&self, found: &Found, undisturbed: &Found, about: &str) {
        match (found, undisturbed) {
            (Found::Layers(outcome), _) => {
                assert_eq!(outcome.ending, Ending::Complete, "{about}: {:?}", outcome.refusal);
                compare_counts(outcome, self.judge);
            }
            (Found::Nested(states, lasso), Found::Nested(expected, there)) => {
                assert_eq!((states, lasso), (expected, there), "{about}");
            }
            _ => unreachable!("the engine is the same"),
        }
    }

    /// Strikes at one operation, then lets the search go on. Says whether there was an error, and whether it was gone on with.
    fn strike(&self, operation: u64, fault: Fault, seed: u64, undisturbed: &Found) -> (bool, bool) {
        let about = format!("{:?}, seed {seed}, {fault:?} at operation {operation}", self.engine);
        let storage = FaultyStorage::new(64, seed ^ operation);
        let storage = if seed.is_multiple_of(2) { storage.delaying() } else { storage };
        storage.strike(operation, fault);
        match self.search(&storage) {
            Ok(found) => {
                self.assert_right(&found, undisturbed, &about);
                return (false, false);
            }
            Err(SearchError::Budget(refusal)) => panic!("{about}: {refusal}"),
            Err(_) => assert!(storage.struck(), "{about}"),
        }
        // A bit that was written wrong stays wrong; and what is not committed is no engine's to find in its way.
        if self.engine == Engine::Nested {
            return (true, false);
        }
        match self.search(&storage) {
            Ok(found) => self.assert_right(&found, undisturbed, &format!("{about}, gone on with")),
            Err(error) if fault == Fault::Flip => drop(error),
            Err(error) => panic!("{about}, gone on with: {error}"),
        }
        (true, true)
    }
}

#[test]
fn a_device_that_fails_lies_or_tears_never_makes_a_search_wrong() {
    let long = std::env::var_os("FATHOM_LONG").is_some();
    let (seeds, strikes) = if long { (60, 400) } else { (12, 24) };
    let mut errors: BTreeMap<Engine, [u64; 3]> = BTreeMap::new();
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let form = [Form::Sparse, Form::Torus, Form::DeBruijn, Form::TwoCycles][seed as usize % 4];
        let width_bits = *random.pick(&[12, 64, 100, 300]);
        let graph = formed_graph(&mut random, form, 150, width_bits);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let system = Checked(graph);
        for engine in ENGINES {
            if engine == Engine::Nested && system.shape().mark_count != 1 {
                continue;
            }
            let memory = (*random.pick(&[8 << 10, 48 << 10, 512 << 10]), 1 + random.below(2));
            let subject = Subject { system: &system, judge: &judge, engine, memory };
            let quiet = FaultyStorage::new(64, seed);
            let undisturbed = subject.search(&quiet).expect("nothing strikes");
            subject.assert_right(&undisturbed, &undisturbed, &format!("{engine:?}, seed {seed}"));
            let every = (quiet.operations() / strikes).max(1);
            let counts = errors.entry(engine).or_default();
            for operation in (random.below(every as usize) as u64..quiet.operations()).step_by(every as usize)
            {
                let fault = *random.pick(&FAULTS);
                let (error, gone_on) = subject.strike(operation, fault, seed, &undisturbed);
                counts[0] += 1;
                counts[1] += u64::from(error);
                counts[2] += u64::from(gone_on);
            }
        }
    }
    println!("strikes, errors, gone on with: {errors:?}");
    let [struck, failed, gone_on] =
        [0, 1, 2].map(|place| errors.values().map(|counts| counts[place]).sum::<u64>());
    assert!(struck > 500 && failed > struck / 4 && gone_on > 50, "{errors:?}");
    assert!(errors.len() == ENGINES.len(), "{errors:?}");
}
