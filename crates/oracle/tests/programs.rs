//! Are the random programs worth trying, and does their meaning keep the promises of the seam?

use std::collections::BTreeSet;

use fathom_model::checked::Checked;
use fathom_model::expression::{Expression, ExpressionKind, FaultKind, Overflow};
use fathom_model::layout::{Declared, Layout};
use fathom_model::program::{Composition, Program, Role, Statement};
use fathom_model::verify::problems;
use oracle::bfs::{Explored, Limits, State, explore};
use oracle::graph::WIDTHS;
use oracle::meaning::Meaning;
use oracle::program::{random_program, random_program_of_width};
use oracle::random::Random;

const LIMITS: Limits = Limits { states: 3_000, transitions: 50_000 };
const SEEDS: u64 = 500;

fn program_of(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let size = 1 + random.below(4);
    random_program(&mut random, size)
}

fn explored(program: &Program) -> Option<Explored> {
    explore(&Meaning::new(program.clone()), LIMITS).ok()
}

#[test]
fn most_programs_can_be_explored_and_do_something() {
    let spaces: Vec<Explored> = (0..SEEDS).filter_map(|seed| explored(&program_of(seed))).collect();
    let mut sizes: Vec<usize> = spaces.iter().map(|explored| explored.states.len()).collect();
    sizes.sort_unstable();
    let tenths: Vec<usize> = (0..10).map(|tenth| sizes[sizes.len() * tenth / 10]).collect();
    eprintln!("{} of {SEEDS} are small enough; their states by tenths: {tenths:?}", sizes.len());
    assert!(sizes.len() as u64 > SEEDS * 2 / 3);
    assert!(sizes[0] == 0 && tenths[5] > 25 && tenths[9] > 200, "{tenths:?}");
    let bold = |state: &State| state.steps.iter().any(|step| step.movers.0.count_ones() > 1);
    let found = [
        ("several initial states", count(&spaces, |space| space.layers.first() > Some(&1))),
        ("a deadlock", count(&spaces, |space| space.deadlocks() > 0)),
        ("more than ten layers", count(&spaces, |space| space.depth() > Some(10))),
        ("steps far back", count(&spaces, |space| space.locality() > Some(3))),
        ("faults", count(&spaces, |space| space.step_faults() > 0)),
        ("no faults", count(&spaces, |space| space.faults() == 0)),
        ("labels that fault", count(&spaces, |space| space.first_label_fault().is_some())),
        ("steps of several movers", count(&spaces, |space| space.first(bold).is_some())),
    ];
    eprintln!("{found:?}");
    assert!(found.iter().all(|(_, count)| *count * 30 > spaces.len()), "each in one of thirty: {found:?}");
}

fn count(spaces: &[Explored], wanted: impl Fn(&Explored) -> bool) -> usize {
    spaces.iter().filter(|space| wanted(space)).count()
}

#[test]
fn every_kind_of_fault_occurs_in_steps_and_most_in_starts() {
    let (mut in_steps, mut in_starts) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..SEEDS {
        if let Some(explored) = explored(&program_of(seed)) {
            in_starts.extend(explored.start_faults.iter().map(|fault| fault.kind));
            in_steps.extend(explored.states.iter().flat_map(|state| &state.faults).map(|fault| fault.kind));
        }
    }
    assert_eq!(in_steps.len(), FaultKind::ALL.len(), "{in_steps:?}");
    assert!(in_starts.len() >= 3, "{in_starts:?}");
}

/// A name for the form of each expression, operators told apart.
fn forms_of(expression: &Expression, forms: &mut BTreeSet<String>) {
    forms.insert(match &expression.kind {
        ExpressionKind::Unary(operator, _) => format!("{operator:?}"),
        ExpressionKind::Binary(operator, ..) => format!("{operator:?}"),
        kind => format!("{kind:?}").split('(').next().unwrap_or_default().to_owned(),
    });
    expression.for_each_operand(&mut |operand| forms_of(operand, forms));
}

/// What must occur.
const EXPECTED: [&str; 29] = [
    "wrap false synchronous false",
    "wrap false synchronous true",
    "wrap true synchronous false",
    "wrap true synchronous true",
    "starts 0",
    "starts 1",
    "starts 2",
    "processes 0",
    "processes 1",
    "processes 5",
    "movers 0",
    "movers 1",
    "movers 2",
    "movers 3",
    "parallel true",
    "one value",
    "all values",
    "negative true",
    "negative false",
    "array true",
    "array false",
    "location true",
    "committed true",
    "property true",
    "parameters 1",
    "parameters 2",
    "temporary true optional true",
    "temporary true optional false",
    "temporary false optional true",
];

#[test]
fn every_form_of_program_occurs() {
    let (mut forms, mut statements) = (BTreeSet::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    for seed in 0..SEEDS {
        let program = program_of(seed);
        let wrap = program.overflow == Overflow::Wrap;
        let synchronous = program.composition == Composition::Synchronous;
        seen.insert(format!("wrap {wrap} synchronous {synchronous}"));
        seen.insert(format!("starts {}", program.starts.len().min(2)));
        seen.insert(format!("processes {}", program.processes.len().min(5)));
        for action in &program.actions {
            seen.insert(format!("movers {}", action.movers.len()));
            action.command.guard.iter().for_each(|guard| forms_of(guard, &mut forms));
            seen.insert(format!("parameters {}", action.arguments.len()));
            Statement::for_each(&action.command.body, &mut |statement| {
                let form = format!("{statement:?}");
                let end = form.find(|it: char| !it.is_alphanumeric()).unwrap_or(form.len());
                statements.insert(form[..end].to_owned());
                statement.for_each_expression(&mut |expression| forms_of(expression, &mut forms));
                if let Statement::Assign(assignments) = statement {
                    seen.insert(format!("parallel {}", assignments.len() > 1));
                }
            });
        }
        for variable in &program.variables {
            let location = matches!(variable.role, Role::Location(_));
            seen.insert(format!("location {location}"));
            match variable.domain.bits() {
                0 => seen.insert("one value".into()),
                64 => seen.insert("all values".into()),
                _ => seen.insert(format!("negative {}", variable.domain.low < 0)),
            };
            seen.insert(format!("array {}", variable.length.is_some()));
            let temporary = variable.role == Role::Temporary;
            seen.insert(format!("temporary {temporary} optional {}", variable.optional));
        }
        let committed = |program: &Program| {
            program.processes.iter().flat_map(|process| &process.locations).any(|location| location.committed)
        };
        seen.insert(format!("committed {}", committed(&program)));
        seen.insert(format!("property {}", program.property.is_some()));
    }
    // 16 binary and 3 unary operators, and Constant, Read, Element, IsUndefined, All, Any, Conditional, Convert, Checked, Compute.
    assert_eq!(forms.len(), 29, "{forms:?}");
    // Move, Assign, Copy, Fill, If, While, For, Block, Leave, Fail, Assume.
    assert_eq!(statements.len(), 11, "{statements:?}");
    for words in EXPECTED {
        assert!(seen.contains(words), "{words}: {seen:?}");
    }
}

#[test]
fn records_have_the_width_that_was_asked_for() {
    for width in WIDTHS {
        for seed in 0..20 {
            let program = random_program_of_width(&mut Random::new(seed), 3, width);
            assert_eq!(Layout::new(&program, &Declared).width_bits, width, "seed {seed}:\n{program}");
        }
    }
}

#[test]
fn a_seed_gives_one_program() {
    for seed in 0..50 {
        assert_eq!(program_of(seed).to_string(), program_of(seed).to_string(), "seed {seed}");
        assert_eq!(problems(&program_of(seed)), Vec::<String>::new(), "seed {seed}");
    }
    let texts: BTreeSet<String> = (0..50).map(|seed| program_of(seed).to_string()).collect();
    assert_eq!(texts.len(), 50, "other seeds give other programs");
}

#[test]
fn the_meaning_of_programs_keeps_the_promises_of_the_seam() {
    let few = Limits { states: 300, transitions: 5_000 };
    for seed in 0..300 {
        let program = program_of(seed);
        eprintln!("seed {seed}");
        let plain = explore(&Meaning::new(program.clone()), few).map(|explored| explored.checksum());
        let checked = explore(&Checked(Meaning::new(program)), few).map(|explored| explored.checksum());
        assert_eq!(plain, checked, "seed {seed}");
    }
}
