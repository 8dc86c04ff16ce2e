//! Are words that are read letter by letter judged as those that are in memory?

mod random;

use std::convert::Infallible;

use fathom_ltl::evaluate;
use fathom_ltl::formula::Formula;
use fathom_ltl::limits::Limits;
use fathom_ltl::long_word::{self, LongWord};
use fathom_ltl::parser::parse;
use fathom_ltl::translate::translate;
use fathom_ltl::word::Lasso;
use random::Random;

/// The form of a word, and its letters one by one.
fn long(word: &Lasso) -> (LongWord, impl FnMut(u64) -> Result<u64, Infallible> + '_) {
    let form = LongWord { letters: word.letters().len() as u64, cycle_start: word.stem().len() as u64 };
    (form, |position| Ok(word.letters()[position as usize]))
}

fn holds(formula: &Formula, word: &Lasso) -> bool {
    let (form, mut letter_at) = long(word);
    let Ok(holds) = long_word::holds(formula, form, &mut letter_at);
    holds
}

#[test]
fn formulas_hold_of_the_same_words_letter_by_letter() {
    let mut true_ones = 0;
    for seed in 0..40_000u64 {
        let mut random = Random::new(seed);
        let operators = 1 + random.below(14);
        let atoms = 1 + random.below(4);
        let formula = random.formula(operators, atoms);
        for _ in 0..16 {
            let word = random.word(atoms, 7, 6);
            let expected = evaluate::holds(&formula, &word);
            true_ones += u64::from(expected);
            let shown = formula.display::<&str>(&[]).to_string();
            assert_eq!(holds(&formula, &word), expected, "seed {seed}: {shown} on {word}");
        }
    }
    assert!((100_000..540_000).contains(&true_ones), "{true_ones} of 640000 hold");
}

#[test]
fn automata_accept_the_same_words_letter_by_letter() {
    for seed in 0..3_000u64 {
        let mut random = Random::new(seed);
        let operators = 1 + random.below(9);
        let atoms = 1 + random.below(3);
        let formula = random.formula(operators, atoms);
        let Ok(both) = translate(&formula, Limits::default()) else { continue };
        for _ in 0..16 {
            let word = random.word(atoms, 6, 6);
            for automaton in [&both.generalised, &both.buchi] {
                let (form, mut letter_at) = long(&word);
                let Ok(accepted) = long_word::accepts(automaton, form, &mut letter_at);
                assert_eq!(accepted, automaton.accepts(&word), "seed {seed} on {word}");
            }
        }
    }
}

/// A walk from every position would take a million times a million steps.
#[test]
fn a_million_letters_are_judged_in_a_moment() {
    let mut atoms = fathom_ltl::atom::AtomTable::from_names(&["a", "b"]).unwrap();
    let form = LongWord { letters: 1_000_000, cycle_start: 500_000 };
    // `a` once, at the very end; `b` everywhere.
    let mut letter_at = |position| Ok::<u64, Infallible>(if position == 999_999 { 0b11 } else { 0b10 });
    for (text, expected) in [
        ("G F a", true),
        ("F G a", false),
        ("G(b && F(a && X !a))", true),
        ("b U a", true),
        ("G !a", false),
        ("(!a) W (a && X(!a U a))", true),
    ] {
        let formula = parse(text, &mut atoms).unwrap();
        assert_eq!(long_word::holds(&formula, form, &mut letter_at), Ok(expected), "{text}");
    }
}
