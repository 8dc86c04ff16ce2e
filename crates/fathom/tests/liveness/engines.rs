//! Every engine that looks for accepting runs, in one form.

use fathom_disk::budget::Budget;
use fathom_ltl::automaton::Automaton;
use fathom_ltl::degeneralised::Degeneralised;
use fathom_ltl::product::{AutomatonNames, Product};
use fathom_model::system::TransitionSystem;
use fathom_search::engines::bitstate::Bitstate;
use fathom_search::engines::ndfs::{self, ExactSet, Settings};
use fathom_search::lasso::Lasso;
use fathom_search::layer_loop::{Ending, Unobserved};

/// An engine: gives a lasso of the system with several marks that it is given, if it finds one.
pub(crate) type Engine = fn(&dyn TransitionSystem) -> Option<Lasso>;

/// All of them; the last ones may miss, but on systems this small do not.
pub(crate) const ENGINES: [(&str, Engine); 2] = [("ndfs", nested), ("bitstate", bitstate)];

/// The product of a system with an automaton.
pub(crate) fn product<S: TransitionSystem>(system: S, automaton: &Automaton, fair: &[u32]) -> Product<S> {
    let names = AutomatonNames { automaton: "automaton".into(), states: Vec::new() };
    Product::new(system, automaton.clone(), names, fair).expect("few atoms and marks")
}

fn nested(system: &dyn TransitionSystem) -> Option<Lasso> {
    with_one_mark(system, &|system| {
        let budget = Budget::unlimited();
        let set = || ExactSet::new(system.shape().width_bits, &budget).expect("the budget is unlimited");
        let settings = Settings { stop_at_fault: false, max_depth: None };
        let (mut visited, mut red) = (set(), set());
        let outcome = ndfs::run(system, &mut visited, &mut red, &budget, &settings, &Unobserved);
        let outcome = outcome.expect("the budget is unlimited");
        let expected = if outcome.lasso.is_some() { Ending::Found } else { Ending::Complete };
        assert_eq!(outcome.ending, expected);
        outcome.lasso
    })
}

fn bitstate(system: &dyn TransitionSystem) -> Option<Lasso> {
    with_one_mark(system, &|system| {
        let budget = Budget::unlimited();
        let set = || Bitstate::new(&budget, 1 << 16).expect("the budget is unlimited");
        let settings = Settings { stop_at_fault: false, max_depth: None };
        let (mut visited, mut red) = (set(), set());
        let outcome = ndfs::run(system, &mut visited, &mut red, &budget, &settings, &Unobserved);
        outcome.expect("the budget is unlimited").lasso
    })
}

/// Depth-first searches know accepting states: marks are counted for them.
fn with_one_mark(
    system: &dyn TransitionSystem,
    search: &dyn Fn(&dyn TransitionSystem) -> Option<Lasso>,
) -> Option<Lasso> {
    let counted = Degeneralised::new(system);
    search(&counted).map(|lasso| lasso.project(|record| counted.part(record)))
}
