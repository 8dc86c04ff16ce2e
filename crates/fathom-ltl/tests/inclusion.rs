//! Do the two translators agree on every word, and is a damaged automaton found out?

mod random;

use fathom_ltl::automaton::{Automaton, Edge, Guard, Placement, StateId};
use fathom_ltl::evaluate::holds;
use fathom_ltl::gpvw::tableau;
use fathom_ltl::inclusion::{Common, Inclusion, common_word, included};
use fathom_ltl::limits::Limits;
use fathom_ltl::translate::translate;
use random::Random;

const PRODUCT_MAX: usize = 8000;
const TABLEAU_MAX: usize = 2000;

/// `FATHOM_FORMULAS` sets another number.
fn formulas_wanted() -> u64 {
    std::env::var("FATHOM_FORMULAS").ok().and_then(|count| count.parse().ok()).unwrap_or(20_000)
}

fn shares_no_word_wrongly(seed: u64, name: &str, small: &Automaton, large: &Automaton) -> bool {
    match included(small, large, PRODUCT_MAX) {
        Inclusion::Yes => true,
        Inclusion::BeyondBudget => false,
        Inclusion::No(word) => {
            let really = small.accepts(&word) && !large.accepts(&word);
            panic!("seed {seed}: {name}: not included, because of {word} (which is right: {really})");
        }
    }
}

#[test]
fn both_translators_agree_by_inclusion_both_ways() {
    let (mut decided, mut formulas) = (0, 0);
    for seed in 0..formulas_wanted() {
        let mut random = Random::new(seed);
        let (operators, atoms) = (1 + random.below(12), 1 + random.below(4));
        let formula = random.formula(operators, atoms);
        let ours = translate(&formula, Limits::default()).unwrap().buchi;
        formulas += 1;
        let Some(judge) = tableau(&formula, TABLEAU_MAX) else { continue };
        let forth = shares_no_word_wrongly(seed, "tableau in ours", &judge, &ours);
        // The other way, the complement of the tableau is the tableau of the negation.
        let Some(against) = tableau(&formula.negated(), TABLEAU_MAX) else { continue };
        let common = common_word(&ours, &against);
        assert_eq!(common, Common::None, "seed {seed}: ours accepts a word of the negation");
        decided += usize::from(forth);
    }
    println!("decided {decided} of {formulas}");
    assert!(decided * 100 >= formulas * 95, "decided {decided} of {formulas}");
}

#[test]
fn words_given_as_a_reason_are_right() {
    let mut found = 0;
    for seed in 0..2_000u64 {
        let mut random = Random::new(seed);
        let (first, second) = (random.formula(4, 2), random.formula(4, 2));
        let a = translate(&first, Limits::default()).unwrap();
        let b = translate(&second, Limits::default()).unwrap();
        for (large, name) in [(&b.buchi, "buchi"), (&b.generalised, "generalised")] {
            if let Inclusion::No(word) = included(&a.generalised, large, PRODUCT_MAX) {
                assert!(holds(&first, &word) && !holds(&second, &word), "seed {seed}: {name}: {word}");
                found += 1;
            }
        }
    }
    assert!(found > 1000, "{found}");
}

/// One state that meets all of its marks at every step.
fn all_words(mark_count: u32) -> Automaton {
    let marks = u64::MAX >> (64 - mark_count);
    let edge = Edge { guard: Guard::always(), target: StateId(0), marks };
    let states = vec![vec![edge]];
    Automaton { atom_count: 0, mark_count, initial: StateId(0), states, placement: Placement::State }
}

#[test]
fn what_cannot_be_known_is_not_answered() {
    assert!(matches!(common_word(&all_words(32), &all_words(32)), Common::Word(_)));
    assert_eq!(common_word(&all_words(32), &all_words(33)), Common::TooManyMarks);
    assert_eq!(included(&all_words(63), &all_words(1), 100), Inclusion::Yes);
    assert_eq!(included(&all_words(64), &all_words(1), 100), Inclusion::BeyondBudget);
}

/// Every state leads to every other one: the complement has more rankings than anyone can list.
#[test]
fn rankings_are_within_the_budget() {
    let edges = |state: u32| {
        let edge = move |target| Edge { guard: Guard::always(), target, marks: u64::from(state == 0) };
        (0..30).map(StateId).map(edge).collect::<Vec<_>>()
    };
    let states = (0..30).map(edges).collect();
    let larger =
        Automaton { atom_count: 1, mark_count: 1, initial: StateId(0), states, placement: Placement::State };
    assert_eq!(included(&all_words(1), &larger, PRODUCT_MAX), Inclusion::BeyondBudget);
}
