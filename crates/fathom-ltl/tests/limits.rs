//! Are usual formulas quick, and does one that explodes end in a message?

mod random;

use std::time::{Duration, Instant};

use fathom_ltl::atom::AtomTable;
use fathom_ltl::diagnostic::Span;
use fathom_ltl::formula::Formula;
use fathom_ltl::limits::{Limits, TranslateError};
use fathom_ltl::parser::{Definitions, HEIGHT_MAX, parse, parse_part};
use fathom_ltl::translate::translate;
use random::Random;

fn conjunction(parts: usize, part: impl Fn(usize) -> String) -> Formula {
    let text = (0..parts).map(part).collect::<Vec<_>>().join(" && ");
    parse(&text, &mut AtomTable::new()).expect("a formula")
}

#[test]
fn fairness_up_to_eight_stays_small() {
    for count in 1..=8 {
        let started = Instant::now();
        let both = translate(&conjunction(count, |i| format!("G F a{i}")), Limits::default()).unwrap();
        assert_eq!((both.generalised.states.len(), both.generalised.mark_count), (1, count as u32));
        assert_eq!(both.buchi.states.len(), count + 1);
        println!("fairness {count}: {:?}", started.elapsed());
    }
}

#[test]
fn twelve_operators_are_translated() {
    let started = Instant::now();
    let (mut slowest, mut states) = (Duration::ZERO, 0);
    for seed in 0..1_000u64 {
        let formula = Random::new(seed).formula(12, 4);
        let began = Instant::now();
        states += translate(&formula, Limits::default()).unwrap().buchi.states.len();
        slowest = slowest.max(began.elapsed());
    }
    println!("1000 formulas of 12 operators: {:?}, slowest {slowest:?}, {states} states", started.elapsed());
}

#[test]
fn what_explodes_is_stopped() {
    let streett = conjunction(12, |i| format!("(G F a{i} -> G F b{i})"));
    let small = conjunction(3, |i| format!("(G F a{i} -> G F b{i})"));
    let few = Limits { states_max: 3, ..Limits::default() };
    assert_eq!(translate(&small, few).unwrap_err(), TranslateError::States(3));
    for (limits, expected) in [
        (Limits { edges_max: 2000, ..Limits::default() }, TranslateError::Edges(2000)),
        (
            Limits { time: Some(Duration::from_millis(1)), ..Limits::default() },
            TranslateError::Time(Duration::from_millis(1)),
        ),
        (Limits { label_nodes_max: 100, ..Limits::default() }, TranslateError::Labels(100)),
    ] {
        assert_eq!(translate(&streett, limits).unwrap_err(), expected);
    }
    let chain = (0..63).fold("F a63".to_owned(), |inner, i| format!("F(a{i} && X {inner})"));
    let wide = conjunction(64, |i| format!("(a{i} U X X X a{})", (i + 1) % 64));
    let chain = parse(&chain, &mut AtomTable::new()).unwrap();
    for formula in [chain, wide] {
        let limits = Limits { time: Some(Duration::from_secs(2)), ..Limits::default() };
        if let Err(error) = translate(&formula, limits) {
            println!("stopped: {error}");
        }
    }
}

/// Rewriting comes before any automaton: it must look at the clock itself.
#[test]
fn rewriting_is_within_the_time_limit() {
    let time = Duration::from_millis(50);
    let limits = Limits { time: Some(time), ..Limits::default() };
    // Every `<->` doubles the normal form.
    let equivalences = (0..60).fold("F a60".to_owned(), |inner, i| format!("(F a{i} <-> {inner})"));
    // Every operand is compared with every other one.
    let operands: Vec<String> =
        (0..64 * 62).map(|i| format!("F (a{} && X a{})", i / 62, (i / 62 + 1 + i % 62) % 64)).collect();
    for text in [equivalences, operands.join(" && ")] {
        let formula = parse(&text, &mut AtomTable::new()).expect("a formula");
        assert_eq!(translate(&formula, limits).unwrap_err(), TranslateError::Time(time));
    }
}

/// Boolean equivalences have a short decision diagram, however deep they are.
#[test]
fn boolean_equivalences_do_not_double() {
    let parity = (0..60).fold("a60".to_owned(), |inner, i| format!("(a{i} <-> {inner})"));
    let parity = parse(&format!("({parity}) <-> ({parity})"), &mut AtomTable::new()).expect("a formula");
    assert_eq!(translate(&parity, Limits::default()).unwrap().buchi.states.len(), 1);
}

/// What threads have; the deepest formulas that are read do not need more.
#[test]
fn the_deepest_formulas_are_parsed_translated_and_shown_on_a_small_stack() {
    let small = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        let unary = ["!", "X ", "F ", "G ", "G F ", "F G ", "X F "];
        let binary = [" U ", " R ", " W ", " M ", " -> ", " <-> ", " && X ", " || G "];
        let left = |operator: &str| {
            (0..90).fold("a0".to_owned(), |inner, i| format!("({inner}){operator}a{}", i % 8))
        };
        let right = |operator: &str| (0..90).map(|i| format!("a{} {operator} (", i % 8)).collect::<String>();
        let mut texts: Vec<String> = unary.iter().map(|it| it.repeat(99) + "a0").collect();
        texts.extend(binary.iter().map(|it| left(it)));
        texts.extend(binary.iter().map(|it| right(it) + "a0" + &")".repeat(90)));
        for text in texts {
            let mut atoms = AtomTable::new();
            let formula = parse(&text, &mut atoms).expect("a formula");
            let shown = formula.display(atoms.names()).to_string();
            assert_eq!(parse(&shown, &mut atoms).expect("a formula"), formula);
            let limits = Limits { time: Some(Duration::from_millis(100)), ..Limits::default() };
            let _ = translate(&formula.negated(), limits);
        }
        // As deep as definitions make one.
        let mut definitions = Definitions::new();
        for level in 0..HEIGHT_MAX {
            let text = if level == 0 { "a".to_owned() } else { format!("X F d{}", level - 1) };
            let whole = Span::new(0, text.len());
            match parse_part(&text, whole, &definitions, &mut AtomTable::new()) {
                Ok(formula) => {
                    definitions.define(&format!("d{level}"), formula.clone());
                    let limits = Limits { time: Some(Duration::from_millis(20)), ..Limits::default() };
                    let _ = translate(&formula, limits);
                }
                Err(mistakes) => {
                    assert!(level * 2 >= HEIGHT_MAX - 2, "refused at level {level}");
                    assert!(mistakes[0].message.contains("inside one another"), "{mistakes:?}");
                    return;
                }
            }
        }
        panic!("never too deep");
    });
    small.expect("a thread").join().expect("no overflow");
}
