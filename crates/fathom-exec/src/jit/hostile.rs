//! Can a model, or a record, make compiled code touch memory outside its buffers? Tests: every buffer is the middle of a larger one whose
//! margins must stay as they were, and records hold any bits at all, also codes that stand for no value.

use fathom_model::expression::{BinaryOperator, Domain, Expression, FaultKind, Overflow};
use fathom_model::layout::{Declared, Possible};
use fathom_model::program::{
    Action, Assignment, Command, Place, Program, Role, Start, Statement, Variable, VariableId,
};
use fathom_model::record::Records;
use fathom_model::span::Span;
use fathom_model::steps::{Fault, SourceEnd};
use fathom_model::values::PossibleValues;
use oracle::program::{random_program, random_program_of_width};
use oracle::random::Random;

use super::runtime::Output;
use super::{Bounds, Compiled};

const MARGIN: usize = 64;
const CANARY: u64 = 0xfeed_face_cafe_beef;

/// Expands garbage into buffers with margins and checks the margins.
fn attack(compiled: &Compiled, random: &mut Random, keep_padding: bool, name: &str) {
    let words = compiled.layout().words();
    let width = compiled.layout().width_bits;
    let padding = if width.is_multiple_of(64) { u64::MAX } else { u64::MAX >> (64 - width % 64) };
    let sources: Vec<u64> = (0..8 * words)
        .map(|word| {
            let bits =
                *random.pick(&[0, u64::MAX, random.clone().word(), random.clone().word().rotate_left(17)]);
            random.word();
            if keep_padding && word % words == 0 { bits & padding } else { bits }
        })
        .collect();
    for capacity in [0, 1, 2, 3, 7, 40] {
        let mut targets = vec![CANARY; MARGIN + capacity * words + MARGIN];
        let mut actions = vec![CANARY as u32; MARGIN + capacity.max(1) + MARGIN];
        let end = SourceEnd { step: CANARY as u32, fault: CANARY as u32 };
        let mut ends = vec![end; MARGIN + capacity + MARGIN];
        let fault = Fault { action: CANARY as u32, kind: FaultKind::Shift, span: Span::default() };
        let mut faults = vec![fault; MARGIN + capacity + MARGIN];
        let output = Output {
            targets: &mut targets[MARGIN..MARGIN + capacity * words],
            actions: &mut actions[MARGIN..MARGIN + capacity.max(1)],
            ends: &mut ends[MARGIN..MARGIN + capacity],
            faults: &mut faults[MARGIN..MARGIN + capacity],
        };
        let sources = Records::new(&sources, words);
        let Some(expanded) = compiled.code.expand(&compiled.interpreter, sources, output) else { return };
        let finished = expanded.finished;
        assert!(finished <= capacity, "{name}");
        let outside = |index: usize, length: usize| index < MARGIN || index >= MARGIN + length;
        let whole = |column: &[u64], length: usize| {
            (0..column.len()).all(|index| !outside(index, length) || column[index] == CANARY)
        };
        assert!(whole(&targets, capacity * words), "{name}: targets");
        let intact = |index: &usize| actions[*index] == CANARY as u32;
        assert!(
            (0..actions.len()).filter(|it| outside(*it, capacity.max(1))).all(|it| intact(&it)),
            "{name}: actions"
        );
        let intact = |index: usize| ends[index].step == end.step && ends[index].fault == end.fault;
        assert!((0..ends.len()).filter(|it| outside(*it, capacity)).all(intact), "{name}: ends");
        let intact = |index: usize| faults[index] == fault;
        assert!((0..faults.len()).filter(|it| outside(*it, capacity)).all(intact), "{name}: faults");
        let steps = if finished == 0 { 0 } else { ends[MARGIN + finished - 1].step as usize };
        for record in targets[MARGIN..][..steps * words].chunks_exact(words).filter(|_| keep_padding) {
            assert_eq!(record[0] & !padding, 0, "{name}: padding of {record:x?}");
        }
    }
}

fn attack_program(program: &Program, possible: &dyn Possible, seed: u64, name: &str) {
    let compiled = Compiled::new(program.clone(), possible).expect("this machine is supported");
    let compact = Compiled::compact(program.clone(), possible).expect("this machine is supported");
    let mut random = Random::new(seed);
    for _ in 0..4 {
        attack(&compiled, &mut random, true, name);
        attack(&compiled, &mut random, false, name);
        attack(&compact, &mut random, false, name);
    }
}

/// Code that leaves some actions to the interpreter: that writes whatever a variable's type allows, so the layout has to be as declared.
fn attack_in_part(program: &Program, seed: u64, name: &str) {
    let mut random = Random::new(seed);
    for kib in [32, 64, 128, 256] {
        let bounds = Bounds { bytes: (3 << 20) + (kib << 10), ..Bounds::default() };
        let Ok(compiled) = Compiled::within(&bounds, program.clone(), &Declared) else { continue };
        attack(&compiled, &mut random, true, name);
        attack(&compiled, &mut random, false, name);
    }
}

#[test]
fn garbage_in_the_records_of_random_programs_stays_in_them() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let program = random_program(&mut random, 3);
        attack_in_part(&program, seed, &format!("seed {seed}, in part"));
        attack_program(&program, &Declared, seed, &format!("seed {seed}"));
        attack_program(&program, &PossibleValues::of(&program), seed, &format!("seed {seed}, narrowed"));
    }
}

#[test]
fn garbage_in_the_widest_records_stays_in_them() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let program = random_program_of_width(&mut random, 4, 3_000 + 61 * seed as u32);
        attack_program(&program, &Declared, seed, &format!("wide, seed {seed}"));
    }
}

/// A program with every operation at its limits on variables whose codes can stand for values that they cannot have.
fn limits(length: u32, low: i64, high: i64, overflow: Overflow) -> Program {
    let span = Span::default();
    let variable = |name: &str, low: i64, high: i64, length: Option<u32>| Variable {
        name: name.into(),
        role: Role::Global,
        domain: Domain::new(low, high),
        length,
        optional: false,
        initial: vec![low; length.unwrap_or(1) as usize],
        span,
    };
    // The index cannot leave the array by its domain, so that no check is compiled.
    let index = variable("i", 0, i64::from(length) - 1, None);
    let variables = vec![
        index,
        variable("a", low, high, Some(length)),
        variable("d", -3, -1, None),
        variable("w", i64::MIN, i64::MAX, None),
        variable("b", 0, 8, Some(length)),
    ];
    let read = |number: u32| Expression::read(VariableId(number), span);
    let element = |array: u32, index: Expression| Expression::element(VariableId(array), index, span);
    let binary = Expression::binary;
    let values = [
        binary(BinaryOperator::Divide, read(3), read(2)),
        binary(BinaryOperator::Remainder, read(3), read(2)),
        binary(BinaryOperator::Divide, read(0), read(2)),
        binary(BinaryOperator::Remainder, read(2), read(2)),
        binary(BinaryOperator::ShiftLeft, read(3), read(0)),
        binary(BinaryOperator::ShiftRight, read(3), read(2)),
        binary(BinaryOperator::Multiply, read(3), read(3)),
        element(1, read(0)),
        element(1, element(4, read(0))),
        element(1, binary(BinaryOperator::Add, read(0), read(2))),
        element(1, read(3)),
    ];
    let assign = |array: u32, index: Expression, value: &Expression| {
        let place = Place { variable: VariableId(array), index: Some(index), span };
        Statement::Assign(vec![Assignment { place, value: value.clone(), span }])
    };
    let action = |value: &Expression| Action {
        name: None,
        rule: None,
        movers: Vec::new(),
        command: Command::new(
            None,
            vec![
                assign(1, read(0), value),
                assign(4, read(0), &element(1, read(0))),
                assign(1, element(4, read(0)), value),
            ],
        ),
        arguments: Vec::new(),
        exchange: None,
        span,
    };
    Program {
        actions: values.iter().map(action).collect(),
        variables,
        starts: vec![Start::default()],
        overflow,
        ..Program::default()
    }
}

#[test]
fn operations_at_their_limits_do_not_trap() {
    for overflow in [Overflow::Fault, Overflow::Wrap] {
        for length in [1, 2, 3, 5, 33, 100] {
            for (low, high) in [(0, 0), (0, 4), (-5, 7), (0, i64::MAX), (i64::MIN, i64::MAX), (i64::MIN, 5)] {
                let program = limits(length, low, high, overflow);
                attack_program(&program, &Declared, u64::from(length), &format!("{length} {low} {high}"));
            }
        }
    }
}

/// An analysis that is wrong: every variable has its initial values only, or a little more.
struct Wrong(i64);

impl Possible for Wrong {
    fn values(&self, program: &Program, variable: VariableId) -> Domain {
        let variable = program.variable(variable);
        let (low, high) =
            (*variable.initial.iter().min().expect("one"), *variable.initial.iter().max().expect("one"));
        Domain::new(low, high.saturating_add(self.0).min(variable.domain.high).max(high))
    }
}

#[test]
fn a_layout_that_is_too_narrow_spoils_values_and_nothing_else() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let program = random_program(&mut random, 3);
        for more in [0, 1, 4] {
            attack_program(&program, &Wrong(more), seed, &format!("seed {seed}, wrong by {more}"));
        }
    }
    for length in [3, 33] {
        attack_program(&limits(length, -5, 7, Overflow::Fault), &Wrong(1), 1, "limits, wrong");
    }
}
