//! Random programs: every operator, statement, width, policy, faults of every kind.

use fathom_model::layout::Declared;
use fathom_model::values::PossibleValues;
use oracle::program::random_program;
use oracle::random::Random;

use crate::agreement::{Seen, Within, compare, compare_compact, compare_within};

/// How many programs; ten times as many with `FATHOM_LONG`.
const PROGRAMS: u64 = 10_000;

/// From which seed on.
fn first_seed() -> u64 {
    std::env::var("FATHOM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

#[test]
fn random_programs_take_the_same_steps() {
    let programs = if std::env::var_os("FATHOM_LONG").is_some() { 10 * PROGRAMS } else { PROGRAMS };
    let first = first_seed();
    let mut seen = Seen::default();
    for seed in first..first + programs {
        let mut random = Random::new(seed);
        let size = 1 + random.below(4);
        let program = random_program(&mut random, size);
        let name = format!("seed {seed}");
        let states = if seed % 100 == 0 { 2_000 } else { 60 };
        let values = PossibleValues::of(&program);
        seen.add(match seed % 4 {
            0 => compare(&program, &Declared, states, &name),
            1 => compare_compact(&program, &values, states, &name),
            2 => compare_compact(&program, &Declared, states, &name),
            _ => compare(&program, &values, states, &name),
        });
    }
    eprintln!("{programs} programs from seed {first}: {seen:?}");
    assert!(seen.faults > programs as usize && seen.refusals > programs as usize, "{seen:?}");
}

#[test]
fn random_programs_that_are_compiled_in_part_take_the_same_steps() {
    let programs = if std::env::var_os("FATHOM_LONG").is_some() { PROGRAMS } else { PROGRAMS / 10 };
    let first = first_seed();
    let (mut seen, mut within) = (Seen::default(), Within::default());
    for seed in first..first + programs {
        let mut random = Random::new(seed);
        let size = 2 + random.below(4);
        let program = random_program(&mut random, size);
        // What the code generator takes by itself, and room for some ten to thousand instructions.
        let bytes = (3 << 20) + ((16 << random.below(6)) << 10);
        let name = format!("seed {seed}, {bytes} bytes");
        let values = PossibleValues::of(&program);
        seen.add(match seed % 2 {
            0 => compare_within(&program, &Declared, bytes, &name, &mut within),
            _ => compare_within(&program, &values, bytes, &name, &mut within),
        });
    }
    eprintln!("{programs} programs from seed {first}: {within:?}, {seen:?}");
    assert!(within.mixed > programs as usize / 10 && within.hollow > 0 && within.whole > 0, "{within:?}");
    assert!(seen.faults > 100 && seen.refusals > 100, "{seen:?}");
}
