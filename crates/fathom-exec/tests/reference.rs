//! Does the interpreter do what programs mean, and do values stay where the analysis says they are?

use fathom_exec::interpreter::Interpreter;
use fathom_model::checked::Checked;
use fathom_model::layout::{Declared, Layout, Possible};
use fathom_model::program::{Program, Role, VariableId};
use fathom_model::system::TransitionSystem;
use fathom_model::values::PossibleValues;
use oracle::bfs::{Explored, Limits, explore};
use oracle::meaning::Meaning;
use oracle::program::random_program;
use oracle::random::Random;

const LIMITS: Limits = Limits { states: 3_000, transitions: 50_000 };
const SEEDS: u64 = 600;

fn program_of(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let size = 1 + random.below(4);
    random_program(&mut random, size)
}

/// States by number, with everything the judge knows of them, and records as values.
fn facts(explored: &Explored, system: &dyn TransitionSystem) -> Vec<String> {
    let values = |record: &[u64]| -> Vec<i64> {
        let components = system.shape().components.iter();
        components.flat_map(|it| (0..it.elements()).map(|index| it.value(record, index))).collect()
    };
    let mut facts: Vec<String> = explored
        .states
        .iter()
        .map(|state| {
            let steps: Vec<_> = state
                .steps
                .iter()
                .map(|step| (values(&explored.states[step.target].record), step.action, step.movers))
                .collect();
            format!(
                "{:?} {:?} {:?} {:?} {steps:?}",
                values(&state.record),
                state.labels,
                state.enabled,
                state.faults
            )
        })
        .collect();
    facts.sort();
    facts.push(format!("{:?} {:?}", explored.start_faults, explored.layers));
    facts
}

#[test]
fn the_interpreter_does_what_programs_mean() {
    let mut compared = 0;
    for seed in 0..SEEDS {
        let program = program_of(seed);
        let meaning = Meaning::new(program.clone());
        let Ok(expected) = explore(&meaning, LIMITS) else { continue };
        for possible in [&Declared as &dyn Possible, &PossibleValues::of(&program)] {
            let system = Checked(Interpreter::new(program.clone(), possible));
            let found = explore(&system, LIMITS)
                .unwrap_or_else(|_| panic!("seed {seed}: too many states\n{program}"));
            assert_eq!(facts(&found, &system), facts(&expected, &meaning), "seed {seed}\n{program}");
        }
        compared += 1;
    }
    eprintln!("{compared} of {SEEDS} programs are small enough and were compared");
    assert!(compared > SEEDS * 2 / 3);
}

#[test]
fn no_run_leaves_the_values_that_were_inferred() {
    let mut narrowed = 0;
    for seed in SEEDS..2 * SEEDS {
        let program = program_of(seed);
        let meaning = Meaning::new(program.clone());
        let Ok(explored) = explore(&meaning, LIMITS) else { continue };
        let values = PossibleValues::of(&program);
        let variables = (0..program.variables.len() as u32).map(VariableId);
        let state = variables.filter(|it| program.variable(*it).role != Role::Temporary);
        for (variable, component) in state.zip(&meaning.shape().components) {
            let possible = values.values(&program, variable);
            assert!(component.domain.contains(possible.low) && component.domain.contains(possible.high));
            for state in &explored.states {
                for index in 0..component.elements() {
                    let value = component.value(&state.record, index);
                    assert!(possible.contains(value), "seed {seed}: {} = {value}\n{program}", component.name);
                }
            }
        }
        let [declared, inferred] =
            [&Declared as &dyn Possible, &values].map(|possible| Layout::new(&program, possible).width_bits);
        narrowed += u64::from(inferred < declared);
    }
    eprintln!("{narrowed} programs have narrower records than declared");
    assert!(narrowed > SEEDS / 4, "an analysis that narrows nothing proves nothing");
}
