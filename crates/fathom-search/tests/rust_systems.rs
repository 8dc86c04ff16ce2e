//! Systems written in Rust, as the examples write them: engines find what the judge finds, and traces are replayed.

mod contract;

#[path = "../../fathom-check/examples/philosophers/table.rs"]
mod philosophers;
#[path = "../../fathom-check/examples/river/boat.rs"]
mod river;

use std::time::Duration;

use contract::{TUNINGS, check_against_judge, conditions};
use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::checked::Checked;
use fathom_model::shape::Shape;
use fathom_model::system::{Query, TransitionSystem};
use fathom_search::bodies::stages::{StagePolicy, run};
use fathom_search::engines::ram::RamTable;
use fathom_search::engines::tier::{Options, Plan, Tier};
use fathom_search::proof::replay::{Claim, replay};
use fathom_search::stores::Layered;
use fathom_search::task::watch::{Condition, Finding};
use fathom_search::task::{Ending, Outcome, Settings, Task, Tuning, Unobserved};
use fathom_search::traces::path::Room;
use fathom_search::traces::trace::path_to;
use oracle::bfs::{Limits, explore};
use philosophers::philosophers;
use river::river;

fn ram(shape: &Shape, budget: &Budget, threads: usize) -> RamTable {
    RamTable::new(shape, budget, threads).expect("the budget suffices")
}

fn tier(shape: &Shape, budget: &Budget, threads: usize) -> Tier {
    let options = Options {
        tag: [7; 16],
        plan: Plan::LookUp,
        commit_every: Duration::from_secs(3600),
        disk_limit: None,
        keep_from: 0,
        shares: None,
    };
    Tier::open(&Volume::in_memory(512), budget, shape, threads, options).expect("the budget suffices").0
}

fn settings(shape: &Shape) -> Settings {
    let (threads, tuning) = (2, Tuning::default());
    Settings {
        threads,
        conditions: conditions(shape),
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: true,
        tuning,
    }
}

#[test]
fn engines_agree_with_the_judge() {
    let systems: [(&str, Box<dyn TransitionSystem>); 4] = [
        ("river", Box::new(Checked(river()))),
        ("two philosophers", Box::new(Checked(philosophers(2)))),
        ("five philosophers", Box::new(Checked(philosophers(5)))),
        ("seven philosophers", Box::new(philosophers(7))),
    ];
    for (name, system) in &systems {
        let judge = explore(&**system, Limits::states(10_000)).expect("it is small");
        eprintln!("{name}: {} states, {} steps", judge.states.len(), judge.transitions());
        for threads in [1, 2] {
            for tuning in TUNINGS {
                check_against_judge(&**system, &judge, &ram, 1 << 30, threads, tuning());
                check_against_judge(&**system, &judge, &tier, 64 << 10, threads, tuning());
                check_against_judge(&**system, &judge, &tier, 4 << 10, threads, tuning());
            }
        }
    }
}

#[test]
fn the_way_across_is_replayed_and_told() {
    let (system, budget) = (river(), Budget::new(1 << 20));
    let mut table = ram(system.shape(), &budget, 1);
    let settings = Settings {
        conditions: vec![Condition::Label { label: 0, value: true }],
        stop_at_first: true,
        findings_max: 1,
        ..settings(system.shape())
    };
    let outcome = run(Task::new(&system, &budget, &settings), &mut table).expect("the budget suffices");
    let Some(Finding { layer: 7, record: Some(record), .. }) = outcome.findings.of(0).first() else {
        panic!("it takes seven crossings: {:?}", outcome.findings)
    };
    let room = Room::in_memory(&budget);
    let path = path_to(&system, &table, &room, &Unobserved, (7, record)).expect("the budget suffices");
    let path = path.expect("layers are kept");
    replay(&river(), &path, None, Claim::Label { label: 0, value: true }, &Unobserved).expect("it is a run");
    let (records, actions) =
        (path.records().expect("it is in memory"), path.actions().expect("it is in memory"));
    let first = system.describe(Query::Step { source: &records[0], action: actions[0] });
    assert_eq!(first.title, "take the goat");
    let words = system.describe(Query::Record(&records[1])).values;
    assert_eq!(words.iter().map(|(_, bank)| &**bank).collect::<Vec<_>>(), ["far", "near", "far", "near"]);
}

/// Everything reachable, with a data budget.
fn explored<P: StagePolicy + Layered>(
    system: &dyn TransitionSystem,
    make: fn(&Shape, &Budget, usize) -> P,
    budget_bytes: usize,
) -> Outcome {
    // The steps of a batch, for each thread, are no data.
    let budget = Budget::new(budget_bytes + (64 << 10));
    let steps = budget.charge("steps", 64 << 10).expect("there is as much");
    let mut policy = make(system.shape(), &budget, 2);
    drop(steps);
    let outcome =
        run(Task::new(system, &budget, &settings(system.shape())), &mut policy).expect("it suffices");
    assert_eq!(outcome.ending, Ending::Complete, "{:?}: {:#?}", outcome.refusal, budget.owners());
    outcome
}

/// How many states philosophers have: of a ring of `n`, all but those in which two neighbours have one fork.
fn states(philosophers: usize) -> u64 {
    (2..philosophers).fold((12, 42), |(one, two), _| (two, 3 * two + 2 * one)).0
}

#[test]
fn a_million_states_are_the_same_in_memory_and_on_disk() {
    // In the least memory a million states take a minute.
    let long = std::env::var_os("FATHOM_LONG").is_some();
    for (count, budget_bytes) in [(9, 64 << 10), (11, if long { 64 << 10 } else { 4 << 20 })] {
        let system = philosophers(count);
        let in_memory = explored(&system, ram, 1 << 30);
        assert_eq!(in_memory.expanded, states(count));
        assert!(count < 11 || in_memory.expanded > 1_000_000);
        let on_disk = explored(&system, tier, budget_bytes);
        assert_eq!(on_disk.checksum, in_memory.checksum);
        assert_eq!((on_disk.expanded, on_disk.transitions), (in_memory.expanded, in_memory.transitions));
        assert_eq!(on_disk.findings, in_memory.findings);
    }
}
