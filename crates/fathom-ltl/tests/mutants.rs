//! Is a damaged automaton found out, whatever the damage?
//!
//! Damage that can lose words (an edge deleted or narrowed, a mark dropped) must be caught by the inclusion check
//! whenever it does lose one; damage that can add words (an edge added or widened, a mark added) must be caught by the
//! direct semantics on the words that the inclusion check gives as a reason.

mod random;

use fathom_ltl::automaton::{Automaton, Cube, Edge, Guard, StateId};
use fathom_ltl::evaluate::holds;
use fathom_ltl::formula::Formula;
use fathom_ltl::gpvw::tableau;
use fathom_ltl::inclusion::{Inclusion, common_word, included};
use fathom_ltl::limits::Limits;
use fathom_ltl::translate::translate;
use fathom_ltl::word::Lasso;
use random::Random;

const PRODUCT_MAX: usize = 20_000;

/// Words of all shapes up to stem 2 and cycle 2 over two atoms, and random ones.
fn words(random: &mut Random) -> Vec<Lasso> {
    let mut words = Vec::new();
    for (stem, cycle) in [(0u32, 1u32), (1, 1), (0, 2), (1, 2), (2, 2)] {
        for code in 0..4u64.pow(stem + cycle) {
            let letters: Vec<u64> = (0..stem + cycle).map(|place| code >> (2 * place) & 3).collect();
            words.extend(Lasso::new(&letters[..stem as usize], &letters[stem as usize..]));
        }
    }
    words.extend((0..100).map(|_| random.word(2, 5, 5)));
    words
}

/// A state-based Büchi automaton with at least one edge, and its formula.
fn specimen(random: &mut Random) -> (Formula, Automaton) {
    loop {
        let operators = 2 + random.below(6);
        let formula = random.formula(operators, 2);
        let automaton = translate(&formula, Limits::default()).expect("within the limits").buchi;
        if automaton.edge_count() > 0 && automaton.states.len() <= 8 {
            return (formula, automaton);
        }
    }
}

fn pick(random: &mut Random, automaton: &Automaton) -> (usize, usize) {
    loop {
        let state = random.below(automaton.states.len());
        let edges = automaton.states[state].len();
        if edges > 0 {
            return (state, random.below(edges));
        }
    }
}

/// Deletes or narrows an edge, or makes a state non-accepting. The name says what was done.
fn lose(random: &mut Random, automaton: &mut Automaton) -> &'static str {
    let (state, edge) = pick(random, automaton);
    match random.below(4) {
        0 => {
            automaton.states[state].remove(edge);
            "edge deleted"
        }
        1 => {
            let cubes = &mut automaton.states[state][edge].guard.cubes;
            let cube = random.below(cubes.len());
            cubes.remove(cube);
            "cube deleted"
        }
        2 => {
            let cubes = &mut automaton.states[state][edge].guard.cubes;
            let cube = random.below(cubes.len());
            let bit = 1 << random.below(2);
            if (cubes[cube].positive | cubes[cube].negative) & bit == 0 {
                cubes[cube].positive |= bit;
            } else {
                cubes.remove(cube);
            }
            "edge narrowed"
        }
        _ => {
            for edge in &mut automaton.states[state] {
                edge.marks = 0;
            }
            "state made non-accepting"
        }
    }
}

/// Adds or widens an edge, or makes a state accepting.
fn add(random: &mut Random, automaton: &mut Automaton) -> &'static str {
    let (state, edge) = pick(random, automaton);
    match random.below(3) {
        0 => {
            let target = StateId(random.below(automaton.states.len()) as u32);
            let marks = automaton.states[state][0].marks;
            automaton.states[state].push(Edge { guard: Guard::always(), target, marks });
            "edge added"
        }
        1 => {
            let bit = 1u64 << random.below(2);
            for cube in &mut automaton.states[state][edge].guard.cubes {
                *cube = Cube { positive: cube.positive & !bit, negative: cube.negative & !bit };
            }
            "edge widened"
        }
        _ => {
            for edge in &mut automaton.states[state] {
                edge.marks = 1;
            }
            "state made accepting"
        }
    }
}

#[test]
fn no_lossy_mutant_is_accepted() {
    let (mut mutants, mut lossy, mut caught, mut harmless, mut beyond) = (0, 0, 0, 0, 0);
    for seed in 0..3_000u64 {
        let mut random = Random::new(seed);
        let (formula, mut automaton) = specimen(&mut random);
        let what = lose(&mut random, &mut automaton);
        let Some(judge) = tableau(&formula, 300) else { continue };
        mutants += 1;
        let lost =
            words(&mut random).into_iter().find(|word| holds(&formula, word) && !automaton.accepts(word));
        lossy += usize::from(lost.is_some());
        match included(&judge, &automaton, PRODUCT_MAX) {
            Inclusion::Yes => {
                harmless += 1;
                assert_eq!(lost, None, "seed {seed}: {what}, and nobody noticed");
            }
            Inclusion::No(word) => {
                caught += 1;
                assert!(holds(&formula, &word) && !automaton.accepts(&word), "seed {seed}: {what}: {word}");
            }
            Inclusion::BeyondBudget => beyond += 1,
        }
    }
    println!(
        "{mutants} mutants, {lossy} seen to lose a word; caught {caught}, harmless {harmless}, beyond {beyond}"
    );
    assert!(mutants >= 2_000 && lossy > 500 && caught >= lossy - beyond && beyond * 50 < mutants);
}

#[test]
fn mutants_that_accept_too_much_are_caught_by_the_semantics() {
    let (mut mutants, mut caught) = (0, 0);
    for seed in 0..2_500u64 {
        let mut random = Random::new(seed);
        let (formula, mut automaton) = specimen(&mut random);
        let what = add(&mut random, &mut automaton);
        let Some(against) = tableau(&formula.negated(), 300) else { continue };
        mutants += 1;
        let sampled =
            words(&mut random).into_iter().find(|word| automaton.accepts(word) && !holds(&formula, word));
        match common_word(&automaton, &against) {
            Some(word) => {
                caught += 1;
                assert!(automaton.accepts(&word) && !holds(&formula, &word), "seed {seed}: {what}: {word}");
            }
            None => assert_eq!(sampled, None, "seed {seed}: {what}"),
        }
    }
    println!("{mutants} mutants, {caught} accepted too much and were caught");
    assert!(mutants >= 2_000 && caught > 500);
}
