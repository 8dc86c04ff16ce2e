//! Every engine that looks for accepting runs, in one form.

use std::time::Duration;

use fathom_disk::budget::{Budget, BudgetError};
use fathom_disk::storage::Volume;
use fathom_ltl::automaton::Automaton;
use fathom_ltl::degeneralised::Degeneralised;
use fathom_ltl::product::{AutomatonNames, Product};
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_search::closed_set::{ALL_RECUR, KeptLayers, Reached, Recurs};
use fathom_search::disk_set::DiskSet;
use fathom_search::engines::bitstate::Bitstate;
use fathom_search::engines::ndfs::{self, ExactSet, Settings};
use fathom_search::engines::ram::RamTable;
use fathom_search::engines::semi_owcty::{Outcome, Search};
use fathom_search::engines::tier::{Finished, Options, Plan, Tier};
use fathom_search::engines::{ddfs, semi_owcty};
use fathom_search::error::SearchError;
use fathom_search::lasso::Lasso;
use fathom_search::layer_loop::{self, Ending, Tuning, Unobserved};
use oracle::bfs::{Limits, explore};

/// An engine: gives a lasso of the system with several marks that it is given, if it finds one. It is told which states may recur.
pub(crate) type Engine = fn(&dyn TransitionSystem, Recurs<'_>) -> Option<Lasso>;

/// All of them; the last ones may miss, but on systems this small do not.
pub(crate) const ENGINES: [(&str, Engine); 16] = [
    ("ndfs", nested),
    ("semi-owcty", |system, recurs| fix_point(system, recurs, 8 << 20, 1)),
    ("semi-owcty with two threads", |system, recurs| fix_point(system, recurs, 8 << 20, 2)),
    ("semi-owcty on disk", |system, recurs| fix_point_on_disk(system, recurs, 8 << 20, 1)),
    ("semi-owcty on disk with two threads", |system, recurs| fix_point_on_disk(system, recurs, 8 << 20, 2)),
    ("semi-owcty on disk in 64 KiB", |system, recurs| fix_point_on_disk(system, recurs, 64 << 10, 1)),
    ("semi-owcty on disk in 64 KiB with two threads", |system, recurs| {
        fix_point_on_disk(system, recurs, 64 << 10, 2)
    }),
    ("semi-owcty on disk in the least memory", |system, recurs| fix_point_on_disk(system, recurs, LEAST, 1)),
    ("semi-owcty on disk in the least memory with two threads", |system, recurs| {
        fix_point_on_disk(system, recurs, LEAST, 2)
    }),
    ("ddfs", |system, recurs| double(system, recurs, 8 << 20)),
    ("ddfs on disk", |system, recurs| double_on_disk(system, recurs, 8 << 20)),
    ("ddfs on disk in 64 KiB", |system, recurs| double_on_disk(system, recurs, 64 << 10)),
    ("ddfs on disk in the least memory", |system, recurs| double_on_disk(system, recurs, LEAST)),
    ("ndfs with its path on disk", |system, _| {
        with_one_mark(system, ALL_RECUR, &|system, _| nested_with_path_on_disk(system, false))
    }),
    ("ndfs on disk", nested_on_disk),
    ("bitstate", bitstate),
];

/// The least data budget per word of a state that the semi-external engines work with, beside the steps of one state for each thread and what they keep of each state.
pub(crate) const LEAST: usize = 4 << 10;

/// The product of a system with an automaton.
pub(crate) fn product<S: TransitionSystem>(system: S, automaton: &Automaton, fair: &[u32]) -> Product<S> {
    let names = AutomatonNames { automaton: "automaton".into(), states: Vec::new() };
    Product::new(system, automaton.clone(), names, fair).expect("few atoms and marks")
}

fn nested(system: &dyn TransitionSystem, _: Recurs<'_>) -> Option<Lasso> {
    with_one_mark(system, ALL_RECUR, &|system, _| nested_once(system, false))
}

/// On a system with one acceptance set, of states.
fn nested_once(system: &dyn TransitionSystem, weak: bool) -> Option<Lasso> {
    let budget = Budget::unlimited();
    let set = || ExactSet::new(system.shape().width_bits, &budget).expect("the budget is unlimited");
    let settings = Settings { stop_at_fault: false, max_depth: None, weak, stack: None };
    let (mut visited, mut red) = (set(), set());
    let outcome = ndfs::run(system, &mut visited, &mut red, &budget, &settings, &Unobserved);
    let outcome = outcome.expect("the budget is unlimited");
    assert_eq!(outcome.ending, ending(&outcome));
    assert!(!weak || red.is_empty(), "no second search");
    outcome.lasso
}

/// How a nested search that came to its end has ended.
fn ending(outcome: &ndfs::Outcome) -> Ending {
    if outcome.lasso.is_some() { Ending::Found } else { Ending::Complete }
}

/// With the path on a volume, most of it.
fn nested_with_path_on_disk(system: &dyn TransitionSystem, weak: bool) -> Option<Lasso> {
    let (budget, volume) = (Budget::unlimited(), Volume::in_memory(64));
    let set = || ExactSet::new(system.shape().width_bits, &budget).expect("the budget is unlimited");
    let settings = Settings { stop_at_fault: false, max_depth: None, weak, stack: Some((&volume, 256)) };
    let outcome = ndfs::run(system, &mut set(), &mut set(), &budget, &settings, &Unobserved);
    let outcome = outcome.expect("the budget is unlimited");
    assert_eq!(outcome.ending, ending(&outcome));
    outcome.lasso
}

/// With both sets and the path on a volume.
fn nested_on_disk(system: &dyn TransitionSystem, _: Recurs<'_>) -> Option<Lasso> {
    with_one_mark(system, ALL_RECUR, &|system, _| {
        let (shape, volume) = (system.shape(), Volume::in_memory(64));
        let budget = Budget::new((128 << 10) * shape.words() + (64 << 10));
        let set = |name| DiskSet::new(shape, &volume, name, 0, &budget).expect("the budget suffices");
        let settings =
            Settings { stop_at_fault: false, max_depth: None, weak: false, stack: Some((&volume, 1024)) };
        let (mut visited, mut red) = (set("visited"), set("red"));
        let outcome = ndfs::run(system, &mut visited, &mut red, &budget, &settings, &Unobserved);
        let outcome = outcome.expect("the budget suffices");
        assert_eq!(outcome.ending, ending(&outcome));
        outcome.lasso
    })
}

/// Engines that rely on a weak automaton, on its product as it is.
pub(crate) const WEAK_ENGINES: [(&str, Engine); 4] = [
    ("ndfs", |system, _| nested_once(system, true)),
    ("ndfs with its path on disk", |system, _| nested_with_path_on_disk(system, true)),
    ("semi-owcty", |system, recurs| passes(system, recurs, 8 << 20, 1, true)),
    ("ddfs", |system, recurs| double_once(system, recurs, 8 << 20, true)),
];

fn bitstate(system: &dyn TransitionSystem, _: Recurs<'_>) -> Option<Lasso> {
    with_one_mark(system, ALL_RECUR, &|system, _| {
        let budget = Budget::unlimited();
        let set = || Bitstate::new(&budget, 1 << 16).expect("the budget is unlimited");
        let settings = Settings::default();
        let (mut visited, mut red) = (set(), set());
        let outcome = ndfs::run(system, &mut visited, &mut red, &budget, &settings, &Unobserved);
        outcome.expect("the budget is unlimited").lasso
    })
}

fn fix_point_on_disk(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
) -> Option<Lasso> {
    on_disk(system, recurs, bytes, threads, semi_owcty::run)
}

fn double_on_disk(system: &dyn TransitionSystem, recurs: Recurs<'_>, bytes: usize) -> Option<Lasso> {
    with_one_mark(system, recurs, &|system, recurs| on_disk(system, recurs, bytes, 1, ddfs::run))
}

const OPTIONS: Options = Options {
    tag: [7; 16],
    plan: Plan::LookUp,
    commit_every: Duration::from_secs(3600),
    disk_limit: None,
    keep_from: 0,
    shares: None,
};

/// All states on disk, in ample memory.
pub(crate) fn finished(system: &dyn TransitionSystem, budget: &Budget, threads: usize) -> Finished {
    let volume = Volume::in_memory(512);
    let (mut tier, _) =
        Tier::open(&volume, budget, system.shape(), threads, OPTIONS).expect("memory suffices");
    let generated = layer_loop::run(system, &mut tier, budget, &settings(threads), &Unobserved);
    assert_eq!(generated.expect("memory suffices").ending, Ending::Complete);
    tier.into_finished().expect("it has come to its end")
}

/// A semi-external engine.
type SemiExternal = fn(&Search<'_>, &dyn Reached) -> Result<Outcome, SearchError>;

/// What a search needs beside what it is given for its structures: for each thread the steps of one state, and for each state a few bytes.
fn beside(system: &dyn TransitionSystem, threads: usize) -> usize {
    let (capacity, states) = widest(system);
    // Buffers double: they have less than twice the room that is needed. Beside each step there is its number, and whether it is sent on.
    let steps = 2 * capacity * (Steps::bytes_for(system.shape(), Columns::ALL, 1) + STEP_BYTES);
    threads * steps + states * STATE_BYTES * system.shape().words()
}

/// What is held beside a step.
const STEP_BYTES: usize = 12;
/// What is held of a state at the least budget, where every shard of the perfect hash has a few states; per word.
const STATE_BYTES: usize = 32;

/// Room for the steps of any state, by doubling, and how many states there are. Wrappers need room for steps that they do not give.
fn widest(system: &dyn TransitionSystem) -> (usize, usize) {
    let explored = explore(system, Limits::states(1 << 20)).expect("the system is small");
    let mut steps = Steps::new(system.shape(), Columns::ALL, 1);
    system.initial(&mut steps);
    while steps.source_count() == 0 {
        steps.grow();
        system.initial(&mut steps);
    }
    for state in &explored.states {
        while system.expand(Records::new(&state.record, state.record.len()), &mut steps) == 0 {
            steps.grow();
        }
    }
    (steps.capacity(), explored.states.len())
}

/// Generated on disk, within a data budget per word, beside what is needed in any case.
fn on_disk(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
    engine: SemiExternal,
) -> Option<Lasso> {
    let budget = Budget::new(bytes * system.shape().words() + beside(system, threads));
    let found = on_disk_within(system, recurs, &budget, threads, engine);
    found.unwrap_or_else(|refusal| panic!("{refusal}: {:#?}", budget.owners()))
}

/// The same, within a budget that may not suffice.
fn on_disk_within(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    budget: &Budget,
    threads: usize,
    engine: SemiExternal,
) -> Result<Option<Lasso>, BudgetError> {
    let volume = Volume::in_memory(512);
    let kept = budget.charge("beside the engine", beside(system, threads))?;
    let (mut tier, _) = match Tier::open(&volume, budget, system.shape(), threads, OPTIONS) {
        Err(SearchError::Budget(refusal)) => return Err(refusal),
        other => other.expect("memory does not fail"),
    };
    drop(kept);
    let generated = layer_loop::run(system, &mut tier, budget, &settings(threads), &Unobserved);
    let generated = match generated {
        Err(SearchError::Budget(refusal)) => return Err(refusal),
        other => other.expect("memory does not fail"),
    };
    if let Some(refusal) = generated.refusal {
        return Err(refusal);
    }
    assert_eq!(generated.ending, Ending::Complete);
    let finished = tier.into_finished().expect("it has come to its end");
    let scratch = Volume::in_memory(512);
    let search = Search { threads, recurs, ..search(system, &scratch, budget) };
    match engine(&search, &finished) {
        Err(SearchError::Budget(refusal)) => Err(refusal),
        other => Ok(other.expect("memory does not fail").lasso),
    }
}

/// The least data budget per word, to 256 bytes, with which a semi-external engine comes to its end.
pub(crate) fn least(system: &dyn TransitionSystem, threads: usize, doubly: bool) -> usize {
    let engine: SemiExternal = if doubly { ddfs::run } else { semi_owcty::run };
    let (words, beside) = (system.shape().words(), beside(system, threads));
    let suffices = |bytes: usize| {
        let budget = Budget::new(bytes * words + beside);
        on_disk_within(system, ALL_RECUR, &budget, threads, engine).is_ok()
    };
    let (mut low, mut high) = (0, 64 << 10);
    while high - low > 256 {
        let middle = (low + high) / 2;
        if suffices(middle) { high = middle } else { low = middle }
    }
    high
}

pub(crate) fn search<'a>(
    system: &'a dyn TransitionSystem,
    volume: &'a Volume,
    budget: &'a Budget,
) -> Search<'a> {
    Search {
        system,
        weak: false,
        recurs: ALL_RECUR,
        threads: 1,
        volume,
        stack: None,
        budget,
        observer: &Unobserved,
        commit_every: Duration::from_secs(3600),
    }
}

/// The fix-point on marks as they are, with a data budget.
pub(crate) fn fix_point(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
) -> Option<Lasso> {
    passes(system, recurs, bytes, threads, false)
}

fn passes(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
    weak: bool,
) -> Option<Lasso> {
    let budget = Budget::new(bytes);
    let (table, layers) = generated(system, &budget, threads);
    let volume = Volume::in_memory(512);
    let reached = KeptLayers::new(&table, layers, system.shape()).expect("it is not too wide");
    let search = Search { weak, threads, recurs, ..search(system, &volume, &budget) };
    let outcome = semi_owcty::run(&search, &reached).expect("the budget suffices");
    assert_eq!(outcome.lasso.is_some(), outcome.left > 0);
    assert_eq!(volume.list().expect("memory can be listed"), ["closed.numbers", "closed.run"]);
    outcome.lasso
}

pub(crate) fn double(system: &dyn TransitionSystem, recurs: Recurs<'_>, bytes: usize) -> Option<Lasso> {
    with_one_mark(system, recurs, &|system, recurs| double_once(system, recurs, bytes, false))
}

/// On a system with one acceptance set, of states.
fn double_once(system: &dyn TransitionSystem, recurs: Recurs<'_>, bytes: usize, weak: bool) -> Option<Lasso> {
    let budget = Budget::new(bytes);
    let (table, layers) = generated(system, &budget, 1);
    let volume = Volume::in_memory(512);
    let reached = KeptLayers::new(&table, layers, system.shape()).expect("it is not too wide");
    let search = Search { weak, recurs, ..search(system, &volume, &budget) };
    ddfs::run(&search, &reached).expect("the budget suffices").lasso
}

/// All states, breadth-first.
fn generated(system: &dyn TransitionSystem, budget: &Budget, threads: usize) -> (RamTable, u64) {
    let mut table = RamTable::new(system.shape(), budget, threads).expect("the budget suffices");
    let generated = layer_loop::run(system, &mut table, budget, &settings(threads), &Unobserved);
    let generated = generated.expect("the budget suffices");
    assert_eq!(generated.ending, Ending::Complete);
    table.forget_table().expect("an empty table is small");
    (table, generated.layers.len() as u64)
}

fn settings(threads: usize) -> layer_loop::Settings {
    layer_loop::Settings {
        threads,
        conditions: Vec::new(),
        stop_at_first: false,
        max_depth: None,
        coverage: false,
        tuning: Tuning { shared_layer_min: 1, ..Tuning::default() },
    }
}

/// Depth-first searches know accepting states: marks are counted for them.
fn with_one_mark(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    search: &dyn Fn(&dyn TransitionSystem, Recurs<'_>) -> Option<Lasso>,
) -> Option<Lasso> {
    let counted = Degeneralised::new(system);
    search(&counted, &|record| recurs(&counted.part(record)))
        .map(|lasso| lasso.project(|record| counted.part(record)))
}
