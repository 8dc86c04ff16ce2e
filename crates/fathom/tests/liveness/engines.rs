//! Every engine that looks for accepting runs, in one form.

use std::time::Duration;

use fathom_disk::budget::{Budget, BudgetError};
use fathom_disk::storage::Volume;
use fathom_ltl::automaton::Automaton;
use fathom_ltl::degeneralised::Degeneralised;
use fathom_ltl::product::{AutomatonNames, Product};
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_search::closed_set::{ALL_RECUR, KeptLayers, Reached, Recurs};
use fathom_search::engines::bitstate::Bitstate;
use fathom_search::engines::ndfs::{self, ExactSet, Settings};
use fathom_search::engines::ram::RamTable;
use fathom_search::engines::semi_owcty::{Outcome, Search};
use fathom_search::engines::tier::{Finished, Options, Plan, Tier};
use fathom_search::engines::{ddfs, semi_owcty};
use fathom_search::error::SearchError;
use fathom_search::lasso::Lasso;
use fathom_search::layer_loop::{self, Ending, Tuning, Unobserved};

/// An engine: gives a lasso of the system with several marks that it is given, if it finds one. It is told which states may recur.
pub(crate) type Engine = fn(&dyn TransitionSystem, Recurs<'_>) -> Option<Lasso>;

/// All of them; the last ones may miss, but on systems this small do not.
pub(crate) const ENGINES: [(&str, Engine); 10] = [
    ("ndfs", nested),
    ("semi-owcty", |system, recurs| fix_point(system, recurs, 8 << 20, 1)),
    ("semi-owcty in little memory with two threads", |system, recurs| {
        fix_point(system, recurs, little(system), 2)
    }),
    ("semi-owcty on disk", |system, recurs| fix_point_on_disk(system, recurs, 8 << 20, 2)),
    ("semi-owcty on disk in 64 KiB", |system, recurs| fix_point_on_disk(system, recurs, 64 << 10, 2)),
    ("semi-owcty on disk in the least memory", |system, recurs| fix_point_on_disk(system, recurs, LEAST, 1)),
    ("ddfs", |system, recurs| double(system, recurs, 8 << 20)),
    ("ddfs in little memory", |system, recurs| double(system, recurs, little(system))),
    ("ddfs on disk in 64 KiB", |system, recurs| double_on_disk(system, recurs, 64 << 10)),
    ("bitstate", bitstate),
];

/// The least data budget per word of a state that the semi-external engines work with, steps aside: with less, the buffers of the search on disk and those of a product, which
/// has two of everything, do not always have room to double.
const LEAST: usize = 16 << 10;

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
    let settings = Settings { stop_at_fault: false, max_depth: None, weak };
    let (mut visited, mut red) = (set(), set());
    let outcome = ndfs::run(system, &mut visited, &mut red, &budget, &settings, &Unobserved);
    let outcome = outcome.expect("the budget is unlimited");
    let expected = if outcome.lasso.is_some() { Ending::Found } else { Ending::Complete };
    assert_eq!(outcome.ending, expected);
    assert!(!weak || red.is_empty(), "no second search");
    outcome.lasso
}

/// Engines that rely on a weak automaton, on its product as it is.
pub(crate) const WEAK_ENGINES: [(&str, Engine); 2] = [
    ("ndfs", |system, _| nested_once(system, true)),
    ("semi-owcty", |system, recurs| passes(system, recurs, 8 << 20, 1, true)),
];

fn bitstate(system: &dyn TransitionSystem, _: Recurs<'_>) -> Option<Lasso> {
    with_one_mark(system, ALL_RECUR, &|system, _| {
        let budget = Budget::unlimited();
        let set = || Bitstate::new(&budget, 1 << 16).expect("the budget is unlimited");
        let settings = Settings { stop_at_fault: false, max_depth: None, weak: false };
        let (mut visited, mut red) = (set(), set());
        let outcome = ndfs::run(system, &mut visited, &mut red, &budget, &settings, &Unobserved);
        outcome.expect("the budget is unlimited").lasso
    })
}

/// Little memory: blocks of decoded records are the largest part of it, and grow with the width.
fn little(system: &dyn TransitionSystem) -> usize {
    (192 << 10) * (system.shape().words() + 1) / 2
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

/// Generated on disk, within a data budget. That is for what an engine keeps; the steps of one state must fit besides, whatever they are, and a product holds more steps than it
/// gives: how much they take is found by trying.
fn on_disk(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
    engine: SemiExternal,
) -> Option<Lasso> {
    let mut steps_bytes = threads * Steps::bytes_for(system.shape(), Columns::ALL, 16);
    loop {
        let budget = Budget::new(bytes * system.shape().words() + steps_bytes);
        match on_disk_within(system, recurs, &budget, steps_bytes, threads, engine) {
            Ok(lasso) => return lasso,
            Err(_) if steps_bytes < 1 << 20 => steps_bytes *= 2,
            Err(refusal) => panic!("{refusal}: {:#?}", budget.owners()),
        }
    }
}

fn on_disk_within(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    budget: &Budget,
    steps_bytes: usize,
    threads: usize,
    engine: SemiExternal,
) -> Result<Option<Lasso>, BudgetError> {
    let volume = Volume::in_memory(512);
    let steps = budget.charge("steps of one state", steps_bytes)?;
    let opened = Tier::open(&volume, budget, system.shape(), threads, OPTIONS);
    let (mut tier, _) = opened.expect("the budget suffices");
    drop(steps);
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

pub(crate) fn search<'a>(
    system: &'a dyn TransitionSystem,
    volume: &'a Volume,
    budget: &'a Budget,
) -> Search<'a> {
    Search { system, weak: false, recurs: ALL_RECUR, threads: 1, volume, budget, observer: &Unobserved }
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
    with_one_mark(system, recurs, &|system, recurs| {
        let budget = Budget::new(bytes);
        let (table, layers) = generated(system, &budget, 1);
        let volume = Volume::in_memory(512);
        let reached = KeptLayers::new(&table, layers, system.shape()).expect("it is not too wide");
        let search = Search { recurs, ..search(system, &volume, &budget) };
        ddfs::run(&search, &reached).expect("the budget suffices").lasso
    })
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
