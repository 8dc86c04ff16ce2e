//! A system written in Rust: does every engine find that a philosopher may starve, with and without fairness, as the judge does?

use fathom_ltl::atom::AtomTable;
use fathom_ltl::automaton::Automaton;
use fathom_ltl::formula::Formula;
use fathom_ltl::limits::Limits as TranslationLimits;
use fathom_ltl::parser::parse;
use fathom_ltl::translate::translate;
use fathom_model::acceptance::Acceptance;
use fathom_model::checked::Checked;
use fathom_model::system::TransitionSystem;
use oracle::bfs::{Limits, explore};
use oracle::tarjan::accepting_component;

use crate::engines::{ENGINES, product, projected};
use crate::formulas::judged;
use crate::philosophers::philosophers;
use crate::suite::violates;

/// A formula over the labels of the philosophers, and the automaton of its negation.
fn asked(text: &str, system: &dyn TransitionSystem) -> (Formula, Automaton) {
    let mut atoms = AtomTable::from_names(&system.shape().labels).expect("there are few labels");
    let formula = parse(text, &mut atoms).expect("it is a formula");
    let made = translate(&formula.negated(), TranslationLimits::default()).expect("it is small");
    (formula, Automaton { atom_count: 2, ..made.generalised })
}

#[test]
fn philosophers_starve_where_the_judge_says_so() {
    let system = philosophers(4);
    let explored = explore(&Checked(&system), Limits::states(1_000)).expect("it is small");
    let everybody: Vec<u32> = (0..4).collect();
    for (text, fair, violated) in [
        ("G (hungry -> F eating)", &everybody[..], true),
        ("G (hungry -> F eating)", &[], true),
        ("G F hungry", &[], true),
        // Who thinks can always get hungry, so who is treated fairly does.
        ("F hungry", &everybody, false),
        ("F hungry", &[], true),
        ("G (eating -> !hungry)", &[], false),
    ] {
        let (formula, automaton) = asked(text, &system);
        let product = Checked(product(&system, &automaton, fair));
        let whole = explore(&product, Limits::states(100_000)).expect("it is small");
        let expected = accepting_component(&whole, product.shape().mark_count).is_some();
        assert_eq!(expected, violated, "{text}, fair to {}", fair.len());
        assert!(!fair.is_empty() || judged(&explored, &formula) == Some(expected), "{text}");
        // The perfect hash of so many states does not fit the least memory, which is for systems of a few dozen.
        let fits = |name: &str| name.starts_with("ndfs") || !name.contains("least memory");
        for (name, engine) in ENGINES.iter().filter(|(name, _)| fits(name)) {
            let found = engine(&product, &|record| product.0.recurs(record));
            assert_eq!(found.is_some(), expected, "{text}, {name}");
            let Some(lasso) = found else { continue };
            let run = projected(&lasso, &system, |record| product.0.parts(record).0);
            assert_eq!(violates(&system, &formula, &run, product.0.stutter()), Ok(()), "{text}, {name}");
        }
    }
}
