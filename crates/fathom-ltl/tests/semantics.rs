//! Do the automata accept exactly the words of which the formula holds?

mod random;

use fathom_ltl::evaluate::holds;
use fathom_ltl::gpvw::tableau;
use fathom_ltl::limits::Limits;
use fathom_ltl::translate::translate;
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
