//! Every engine that looks for accepting runs, in one form.

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_ltl::automaton::Automaton;
use fathom_ltl::degeneralised::Degeneralised;
use fathom_ltl::product::{AutomatonNames, Product};
use fathom_model::system::TransitionSystem;
use fathom_search::engines::bitstate::Bitstate;
use fathom_search::engines::ndfs::{self, ExactSet, Settings};
use fathom_search::engines::ram::RamTable;
use fathom_search::engines::{ddfs, semi_owcty};
use fathom_search::lasso::Lasso;
use fathom_search::layer_loop::{self, Ending, Tuning, Unobserved};

/// An engine: gives a lasso of the system with several marks that it is given, if it finds one.
pub(crate) type Engine = fn(&dyn TransitionSystem) -> Option<Lasso>;

/// All of them; the last ones may miss, but on systems this small do not.
pub(crate) const ENGINES: [(&str, Engine); 6] = [
    ("ndfs", nested),
    ("semi-owcty", |system| fix_point(system, 8 << 20, 1)),
    ("semi-owcty in little memory with two threads", |system| fix_point(system, little(system), 2)),
    ("ddfs", |system| double(system, 8 << 20)),
    ("ddfs in little memory", |system| double(system, little(system))),
    ("bitstate", bitstate),
];

/// The product of a system with an automaton.
pub(crate) fn product<S: TransitionSystem>(system: S, automaton: &Automaton, fair: &[u32]) -> Product<S> {
    let names = AutomatonNames { automaton: "automaton".into(), states: Vec::new() };
    Product::new(system, automaton.clone(), names, fair).expect("few atoms and marks")
}

fn nested(system: &dyn TransitionSystem) -> Option<Lasso> {
    with_one_mark(system, &|system| nested_once(system, false))
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
pub(crate) const WEAK_ENGINES: [(&str, Engine); 2] =
    [("ndfs", |system| nested_once(system, true)), ("semi-owcty", |system| passes(system, 8 << 20, 1, true))];

fn bitstate(system: &dyn TransitionSystem) -> Option<Lasso> {
    with_one_mark(system, &|system| {
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

/// The fix-point on marks as they are, with a data budget.
pub(crate) fn fix_point(system: &dyn TransitionSystem, bytes: usize, threads: usize) -> Option<Lasso> {
    passes(system, bytes, threads, false)
}

fn passes(system: &dyn TransitionSystem, bytes: usize, threads: usize, weak: bool) -> Option<Lasso> {
    let budget = Budget::new(bytes);
    let (table, layers) = generated(system, &budget, threads);
    let volume = Volume::in_memory(512);
    let outcome = semi_owcty::run(system, &table, layers, weak, &volume, &budget, &Unobserved);
    let outcome = outcome.expect("the budget suffices");
    assert_eq!(outcome.lasso.is_some(), outcome.left > 0);
    assert_eq!(volume.list().expect("memory can be listed"), ["closed.numbers", "closed.run"]);
    outcome.lasso
}

pub(crate) fn double(system: &dyn TransitionSystem, bytes: usize) -> Option<Lasso> {
    with_one_mark(system, &|system| {
        let budget = Budget::new(bytes);
        let (table, layers) = generated(system, &budget, 1);
        let volume = Volume::in_memory(512);
        let outcome = ddfs::run(system, &table, layers, &volume, &budget, &Unobserved);
        outcome.expect("the budget suffices").lasso
    })
}

/// All states, breadth-first.
fn generated(system: &dyn TransitionSystem, budget: &Budget, threads: usize) -> (RamTable, u64) {
    let settings = layer_loop::Settings {
        threads,
        conditions: Vec::new(),
        stop_at_first: false,
        max_depth: None,
        coverage: false,
        tuning: Tuning { shared_layer_min: 1, ..Tuning::default() },
    };
    let mut table = RamTable::new(system.shape(), budget, threads).expect("the budget suffices");
    let generated = layer_loop::run(system, &mut table, budget, &settings, &Unobserved);
    let generated = generated.expect("the budget suffices");
    assert_eq!(generated.ending, Ending::Complete);
    table.forget_table().expect("an empty table is small");
    (table, generated.layers.len() as u64)
}

/// Depth-first searches know accepting states: marks are counted for them.
fn with_one_mark(
    system: &dyn TransitionSystem,
    search: &dyn Fn(&dyn TransitionSystem) -> Option<Lasso>,
) -> Option<Lasso> {
    let counted = Degeneralised::new(system);
    search(&counted).map(|lasso| lasso.project(|record| counted.part(record)))
}
