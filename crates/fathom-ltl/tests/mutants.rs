//! Is a damaged automaton found out, whatever the damage?
//!
//! Damage that can lose words (an edge deleted or narrowed, a mark dropped from an edge, a state made non-accepting) must
//! be caught by the inclusion check whenever it does lose one; damage that can add words (an edge added or widened, a
//! mark added) must be caught by the direct semantics on the words that the inclusion check gives as a reason. Both are
//! done to both forms of the automaton: accepting states, and marks on edges.

mod random;

use fathom_ltl::automaton::{Automaton, Cube, Edge, Guard, StateId};
use fathom_ltl::evaluate::holds;
use fathom_ltl::formula::Formula;
use fathom_ltl::gpvw::tableau;
use fathom_ltl::inclusion::{Common, Inclusion, common_word, included};
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

/// Which of the two automata of a formula is damaged.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Accepting states.
    States,
    /// Marks on edges, at least one; every other specimen is sure to have several.
    Edges,
}

/// An automaton with at least one edge, and its formula.
fn specimen(random: &mut Random, form: Form) -> (Formula, Automaton) {
    let several = form == Form::Edges && random.below(2) == 0;
    loop {
        let operators = 2 + random.below(6);
        let mut formula = random.formula(operators, 2);
        if several {
            let often = Formula::Finally(Box::new(random.formula(1, 2)));
            formula = Formula::And(vec![formula, Formula::Globally(Box::new(often))]);
        }
        let both = translate(&formula, Limits::default()).expect("within the limits");
        let (automaton, least_marks) = match form {
            Form::States => (both.buchi, 1),
            Form::Edges => (both.generalised, 1 + u32::from(several)),
        };
        if automaton.edge_count() > 0 && automaton.states.len() <= 8 && automaton.mark_count >= least_marks {
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

/// One of the marks of an edge, if it has any.
fn a_mark(random: &mut Random, marks: u64) -> u64 {
    let set: Vec<u32> = (0..64).filter(|mark| marks >> mark & 1 == 1).collect();
    if set.is_empty() { 0 } else { 1 << set[random.below(set.len())] }
}

/// Deletes or narrows an edge, drops a mark of an edge, or makes a state non-accepting. The name says what was done.
fn lose(random: &mut Random, automaton: &mut Automaton, form: Form) -> &'static str {
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
        _ if form == Form::States => {
            for edge in &mut automaton.states[state] {
                edge.marks = 0;
            }
            "state made non-accepting"
        }
        _ => {
            let edge = &mut automaton.states[state][edge];
            edge.marks &= !a_mark(random, edge.marks);
            "mark dropped"
        }
    }
}

/// Adds or widens an edge, gives an edge all marks, or makes a state accepting.
fn add(random: &mut Random, automaton: &mut Automaton, form: Form) -> &'static str {
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
        _ if form == Form::States => {
            for edge in &mut automaton.states[state] {
                edge.marks = 1;
            }
            "state made accepting"
        }
        _ => {
            automaton.states[state][edge].marks = automaton.all_marks();
            "marks added"
        }
    }
}

/// What became of mutants that may have lost words.
#[derive(Debug, Default)]
struct Losses {
    mutants: usize,
    /// Some sampled word of the formula is not accepted.
    seen: usize,
    caught: usize,
    harmless: usize,
    beyond: usize,
}

fn lossy_mutants(form: Form, seeds: u64) -> Losses {
    let mut losses = Losses::default();
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let (formula, mut automaton) = specimen(&mut random, form);
        let what = lose(&mut random, &mut automaton, form);
        let Some(judge) = tableau(&formula, 300) else { continue };
        losses.mutants += 1;
        let lost =
            words(&mut random).into_iter().find(|word| holds(&formula, word) && !automaton.accepts(word));
        losses.seen += usize::from(lost.is_some());
        match included(&judge, &automaton, PRODUCT_MAX) {
            Inclusion::Yes => {
                losses.harmless += 1;
                assert_eq!(lost, None, "{form:?}, seed {seed}: {what}, and nobody noticed");
            }
            Inclusion::No(word) => {
                losses.caught += 1;
                let right = holds(&formula, &word) && !automaton.accepts(&word);
                assert!(right, "{form:?}, seed {seed}: {what}: {word}");
            }
            Inclusion::BeyondBudget => losses.beyond += 1,
        }
    }
    println!("{form:?}: {losses:?}");
    losses
}

#[test]
fn no_lossy_mutant_is_accepted() {
    for form in [Form::States, Form::Edges] {
        let losses = lossy_mutants(form, 2_200);
        assert!(losses.mutants >= 2_000 && losses.seen > 500, "{form:?}: {losses:?}");
        assert!(losses.caught + losses.beyond >= losses.seen, "{form:?}: {losses:?}");
        assert!(losses.beyond * 50 < losses.mutants, "{form:?}: {losses:?}");
    }
}

fn greedy_mutants(form: Form, seeds: u64) -> (usize, usize) {
    let (mut mutants, mut caught) = (0, 0);
    for seed in 0..seeds {
        let mut random = Random::new(seed);
        let (formula, mut automaton) = specimen(&mut random, form);
        let what = add(&mut random, &mut automaton, form);
        let Some(against) = tableau(&formula.negated(), 300) else { continue };
        mutants += 1;
        let sampled =
            words(&mut random).into_iter().find(|word| automaton.accepts(word) && !holds(&formula, word));
        match common_word(&automaton, &against) {
            Common::Word(word) => {
                caught += 1;
                let right = automaton.accepts(&word) && !holds(&formula, &word);
                assert!(right, "{form:?}, seed {seed}: {what}: {word}");
            }
            Common::None => assert_eq!(sampled, None, "{form:?}, seed {seed}: {what}"),
            Common::TooManyMarks => panic!("{form:?}, seed {seed}: {what}: too many marks"),
        }
    }
    println!("{form:?}: {mutants} mutants, {caught} accepted too much and were caught");
    (mutants, caught)
}

#[test]
fn mutants_that_accept_too_much_are_caught_by_the_semantics() {
    for form in [Form::States, Form::Edges] {
        let (mutants, caught) = greedy_mutants(form, 2_200);
        assert!(mutants >= 2_000 && caught > 500, "{form:?}: {mutants} mutants, {caught} caught");
    }
}
