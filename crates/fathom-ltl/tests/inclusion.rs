//! Do the two translators agree on every word, and is a damaged automaton found out?

mod random;

use fathom_ltl::automaton::Automaton;
use fathom_ltl::evaluate::holds;
use fathom_ltl::gpvw::tableau;
use fathom_ltl::inclusion::{Inclusion, common_word, included};
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
        assert_eq!(common, None, "seed {seed}: ours accepts a word of the negation");
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
