//! Random programs: every operator, statement, width, policy, faults of every kind.

use fathom_model::layout::Declared;
use fathom_model::values::PossibleValues;
use oracle::program::random_program;
use oracle::random::Random;

use crate::agreement::{Seen, compare, compare_compact};

/// How many programs; ten times as many with `FATHOM_LONG`.
const PROGRAMS: u64 = 10_000;

#[test]
fn random_programs_take_the_same_steps() {
    let programs = if std::env::var_os("FATHOM_LONG").is_some() { 10 * PROGRAMS } else { PROGRAMS };
    let first = std::env::var("FATHOM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
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
