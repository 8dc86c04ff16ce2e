//! Do the automata accept exactly the words of which the formula holds?

mod random;

use fathom_ltl::atom::AtomId;
use fathom_ltl::evaluate::holds;
use fathom_ltl::formula::Formula;
use fathom_ltl::gpvw::tableau;
use fathom_ltl::limits::Limits;
use fathom_ltl::translate::translate;
use fathom_ltl::word::Lasso;
use random::Random;

#[test]
fn random_formulas_agree_with_the_direct_semantics() {
    for seed in 0..20_000u64 {
        let mut random = Random::new(seed);
        let operators = 1 + random.below(12);
        let atoms = 1 + random.below(4);
        let formula = random.formula(operators, atoms);
        let shown = formula.display::<&str>(&[]).to_string();
        let yes =
            translate(&formula, Limits::default()).unwrap_or_else(|e| panic!("seed {seed}: {shown}: {e}"));
        let no = translate(&formula.negated(), Limits::default())
            .unwrap_or_else(|e| panic!("seed {seed}: {shown}: {e}"));
        let tableau = tableau(&formula, 300);
        for _ in 0..16 {
            let word = random.word(atoms, 5, 4);
            let expected = holds(&formula, &word);
            if let Some(tableau) = &tableau {
                assert_eq!(tableau.accepts(&word), expected, "seed {seed}: tableau of {shown} on {word}");
            }
            for (automaton, expected, name) in [
                (&yes.generalised, expected, "generalised"),
                (&yes.buchi, expected, "buchi"),
                (&no.generalised, !expected, "generalised of the negation"),
                (&no.buchi, !expected, "buchi of the negation"),
            ] {
                assert_eq!(automaton.accepts(&word), expected, "seed {seed}: {name} of {shown} on {word}");
            }
        }
    }
}

/// All formulas of exactly `operators` operators over two atoms, without `->` and `<->`.
fn all_formulas(operators: usize) -> Vec<Formula> {
    if operators == 0 {
        return (0..2).map(|atom| Formula::Atom(AtomId::new(atom).expect("two atoms"))).collect();
    }
    let mut formulas = Vec::new();
    for operand in all_formulas(operators - 1) {
        for unary in [Formula::Not, Formula::Next, Formula::Finally, Formula::Globally] {
            formulas.push(unary(Box::new(operand.clone())));
        }
    }
    for left in 0..operators {
        for a in all_formulas(left) {
            for b in all_formulas(operators - 1 - left) {
                let (a, b) = (Box::new(a.clone()), Box::new(b));
                formulas.push(Formula::And(vec![*a.clone(), *b.clone()]));
                formulas.push(Formula::Or(vec![*a.clone(), *b.clone()]));
                for binary in [Formula::Until, Formula::Release, Formula::WeakUntil, Formula::StrongRelease] {
                    formulas.push(binary(a.clone(), b.clone()));
                }
            }
        }
    }
    formulas
}

/// All words over two atoms with these lengths.
fn all_words(lengths: &[(u32, u32)]) -> Vec<Lasso> {
    let mut words = Vec::new();
    for &(stem, cycle) in lengths {
        for code in 0..4u64.pow(stem + cycle) {
            let letters: Vec<u64> = (0..stem + cycle).map(|place| code >> (2 * place) & 3).collect();
            words.extend(Lasso::new(&letters[..stem as usize], &letters[stem as usize..]));
        }
    }
    words
}

#[test]
fn all_small_formulas_on_all_small_words() {
    let words = all_words(&[(0, 1), (1, 1), (0, 2), (1, 2)]);
    let mut checked = 0;
    for operators in 0..=3 {
        for (index, formula) in all_formulas(operators).iter().enumerate() {
            let both = translate(formula, Limits::default()).unwrap();
            // Of three operators there are 31,000: every formula sees another tenth of the words.
            let step = if operators < 3 { 1 } else { 10 };
            for word in words.iter().skip(index % step).step_by(step) {
                let expected = holds(formula, word);
                let shown = formula.display::<&str>(&[]);
                assert_eq!(both.generalised.accepts(word), expected, "{shown} on {word}");
                assert_eq!(both.buchi.accepts(word), expected, "{shown} on {word}");
                checked += 1;
            }
        }
    }
    assert!(checked > 300_000, "{checked}");
}
