//! Do statements mean what their definition says? Cases worked out by hand: what a start makes of the variables, or how it fails.

use std::sync::Arc;

use fathom_model::expression::{
    BinaryOperator as B, Domain, Expression, ExpressionKind as E, FaultKind, Overflow,
};
use fathom_model::program::{
    Action, Assignment, Command, Place, Program, Role, Start, Statement as S, Variable, VariableId,
};
use fathom_model::span::Span;
use fathom_model::system::TransitionSystem;
use fathom_model::verify::problems;
use oracle::bfs::{Limits, explore};
use oracle::meaning::Meaning;

const HERE: Span = Span { start: 0, end: 0 };
/// Of the state: `x: 0..9 = 0`, `o: 1..3 = undefined`, `a[4]: 0..2 = 0, undefined, 2, 1`.
const X: VariableId = VariableId(0);
const O: VariableId = VariableId(1);
const A: VariableId = VariableId(2);
/// Temporaries: `t: -5..5 = 2`, `i: 0..9 = 0`, `u[3]: 0..2 = undefined, 1, undefined`.
const T: VariableId = VariableId(3);
const I: VariableId = VariableId(4);
const U: VariableId = VariableId(5);
const UNDEFINED: i64 = -1;

fn variable(name: &str, role: Role, domain: [i64; 2], optional: bool, initial: &[i64]) -> Variable {
    Variable {
        name: name.into(),
        role,
        domain: Domain::new(domain[0], domain[1]),
        length: if initial.len() == 1 { None } else { Some(initial.len() as u32) },
        optional,
        initial: initial.to_vec(),
        span: HERE,
    }
}

fn program(body: Vec<S>) -> Program {
    Program {
        variables: vec![
            variable("x", Role::Global, [0, 9], false, &[0]),
            variable("o", Role::Global, [1, 3], true, &[0]),
            variable("a", Role::Global, [0, 2], true, &[0, UNDEFINED, 2, 1]),
            variable("t", Role::Temporary, [-5, 5], false, &[2]),
            variable("i", Role::Temporary, [0, 9], false, &[0]),
            variable("u", Role::Temporary, [0, 2], true, &[UNDEFINED, 1, UNDEFINED]),
        ],
        starts: vec![Start { command: Command::new(None, body), ..Start::default() }],
        ..Program::default()
    }
}

/// The values of `x`, `o` (0 if undefined) and `a` that a body leads to; none if it is assumed away.
fn outcome(body: Vec<S>) -> Result<Option<Vec<i64>>, FaultKind> {
    let program = program(body);
    assert_eq!(problems(&program), Vec::<String>::new());
    let meaning = Meaning::new(program);
    let explored = explore(&meaning, Limits::states(2)).expect("one start, no action");
    if let Some(fault) = explored.start_faults.first() {
        return Err(fault.kind);
    }
    let Some(state) = explored.states.first() else { return Ok(None) };
    let parts = meaning.shape().components.iter();
    Ok(Some(parts.flat_map(|part| (0..part.elements()).map(|at| part.value(&state.record, at))).collect()))
}

fn constant(value: i64) -> Expression {
    Expression::constant(value, HERE)
}

fn read(variable: VariableId) -> Expression {
    Expression::read(variable, HERE)
}

fn place(variable: VariableId, index: Option<i64>) -> Place {
    Place { variable, index: index.map(constant), span: HERE }
}

fn set(variable: VariableId, index: Option<i64>, value: Expression) -> S {
    S::Assign(vec![Assignment { place: place(variable, index), value, span: HERE }])
}

/// `x := x + value`
fn add(value: i64) -> S {
    set(X, None, Expression::binary(B::Add, read(X), constant(value)))
}

fn copy(to: Place, from: Place, count: u32) -> S {
    S::Copy { to, from, count, span: HERE }
}

fn block(locals: &[VariableId], body: Vec<S>) -> S {
    S::Block { locals: locals.to_vec(), body }
}

fn undefined(variable: VariableId, index: Option<i64>) -> Expression {
    Expression { kind: E::IsUndefined(Box::new(place(variable, index))), span: HERE }
}

/// What the state is with `x` and with what nothing else changed.
fn x(value: i64) -> Result<Option<Vec<i64>>, FaultKind> {
    Ok(Some(vec![value, 0, 0, UNDEFINED, 2, 1]))
}

#[test]
fn undefined_values_are_copied_and_asked_for_but_not_read() {
    assert_eq!(outcome(vec![]), x(0));
    assert_eq!(outcome(vec![set(X, None, read(O))]), Err(FaultKind::Undefined));
    let element = |at| Expression::element(A, constant(at), HERE);
    assert_eq!(outcome(vec![set(X, None, element(1))]), Err(FaultKind::Undefined));
    assert_eq!(outcome(vec![set(X, None, element(2))]), x(2));
    assert_eq!(outcome(vec![set(X, None, undefined(O, None))]), x(1));
    assert_eq!(outcome(vec![set(X, None, undefined(A, Some(2)))]), x(0));
    assert_eq!(outcome(vec![set(X, None, undefined(A, Some(4)))]), Err(FaultKind::Index));
    // Undefined has another number in each variable.
    assert_eq!(outcome(vec![copy(place(O, None), place(A, Some(2)), 1)]), Ok(Some(vec![0, 2, 0, -1, 2, 1])));
    assert_eq!(outcome(vec![copy(place(A, Some(3)), place(O, None), 1)]), Ok(Some(vec![0, 0, 0, -1, 2, -1])));
    assert_eq!(outcome(vec![copy(place(O, None), place(A, Some(0)), 1)]), Err(FaultKind::Range));
    assert_eq!(outcome(vec![copy(place(X, None), place(O, None), 1)]), Err(FaultKind::Undefined));
}

#[test]
fn copies_read_all_before_they_store_and_need_all_to_be_there() {
    let shift = |to, from, count| vec![copy(place(A, Some(to)), place(A, Some(from)), count)];
    assert_eq!(outcome(shift(1, 0, 3)), Ok(Some(vec![0, 0, 0, 0, -1, 2])));
    assert_eq!(outcome(shift(0, 1, 3)), Ok(Some(vec![0, 0, -1, 2, 1, 1])));
    assert_eq!(outcome(shift(2, 0, 3)), Err(FaultKind::Index));
    assert_eq!(outcome(shift(0, -1, 1)), Err(FaultKind::Index));
    let fill = |at, count, value: Option<i64>| {
        let value = value.map(constant);
        vec![S::Fill { place: place(A, Some(at)), count, value, span: HERE }]
    };
    assert_eq!(outcome(fill(1, 3, Some(2))), Ok(Some(vec![0, 0, 0, 2, 2, 2])));
    assert_eq!(outcome(fill(0, 4, None)), Ok(Some(vec![0, 0, -1, -1, -1, -1])));
    assert_eq!(outcome(fill(2, 3, None)), Err(FaultKind::Index));
    assert_eq!(outcome(fill(0, 1, Some(3))), Err(FaultKind::Range));
}

#[test]
fn the_first_true_arm_is_taken_and_no_later_condition_is_evaluated() {
    let choose = |first: Expression, second: Expression| {
        let arms = vec![(first, vec![add(1)]), (second, vec![add(2)])];
        vec![S::If { arms, otherwise: vec![add(4)] }]
    };
    assert_eq!(outcome(choose(constant(7), read(O))), x(1));
    assert_eq!(outcome(choose(constant(0), constant(-1))), x(2));
    assert_eq!(outcome(choose(constant(0), constant(0))), x(4));
    assert_eq!(outcome(choose(constant(0), read(O))), Err(FaultKind::Undefined));
}

#[test]
fn loops_end_at_their_condition_or_fault_at_their_bound() {
    let below = |limit| Expression::binary(B::Less, read(X), constant(limit));
    let repeat =
        |limit, bound| vec![S::While { condition: below(limit), body: vec![add(1)], bound, span: HERE }];
    assert_eq!(outcome(repeat(5, 5)), x(5));
    assert_eq!(outcome(repeat(5, 4)), Err(FaultKind::Bound));
    assert_eq!(outcome(repeat(0, 0)), x(0));
    assert_eq!(outcome(repeat(10, 100)), Err(FaultKind::Range), "x has no value 10");
    let count = |from, to, step| {
        let sum = set(X, None, Expression::binary(B::Add, read(X), read(I)));
        vec![S::For { counter: I, from, to, step, body: vec![sum] }]
    };
    assert_eq!(outcome(count(1, 3, 1)), x(6));
    assert_eq!(outcome(count(0, 8, 4)), Err(FaultKind::Range));
    assert_eq!(outcome(count(1, 4, 2)), x(4));
    assert_eq!(outcome(count(3, 1, -1)), x(6));
    assert_eq!(outcome(count(3, 1, 1)), x(0));
    assert_eq!(outcome(count(2, 2, i64::MIN)), x(2));
}

#[test]
fn blocks_give_temporaries_their_initial_values_and_are_left() {
    let bump = set(T, None, Expression::binary(B::Add, read(T), constant(1)));
    let once = block(&[T], vec![bump, set(X, None, Expression::binary(B::Add, read(X), read(T)))]);
    assert_eq!(outcome(vec![once.clone(), once]), x(6), "2 + 1, twice");
    let left =
        |depth| vec![block(&[], vec![block(&[], vec![add(1), S::Leave(depth), add(9)]), add(2)]), add(4)];
    assert_eq!(outcome(left(0)), x(7));
    assert_eq!(outcome(left(1)), x(5));
    let found = vec![block(
        &[],
        vec![S::For {
            counter: I,
            from: 0,
            to: 9,
            step: 1,
            body: vec![
                add(1),
                S::If {
                    arms: vec![(Expression::binary(B::Equal, read(I), constant(3)), vec![S::Leave(0)])],
                    otherwise: vec![],
                },
            ],
        }],
    )];
    assert_eq!(outcome(found), x(4), "rounds 0 to 3");
    let array = block(&[U], vec![copy(place(A, Some(1)), place(U, Some(0)), 3)]);
    assert_eq!(outcome(vec![array]), Ok(Some(vec![0, 0, 0, -1, 1, -1])));
}

#[test]
fn computations_have_a_value_and_leave_nothing_behind() {
    let square = Expression::binary(B::Multiply, read(T), read(T));
    let compute = Expression::compute(vec![T], vec![set(T, None, constant(3))], square, HERE);
    assert_eq!(outcome(vec![set(X, None, compute.clone())]), x(9));
    let outer = Expression::binary(B::Subtract, compute, constant(1));
    assert_eq!(outcome(vec![block(&[], vec![set(X, None, outer)])]), x(8));
    let failing = Expression::compute(
        vec![],
        vec![S::Fail { kind: FaultKind::Recursion, message: None, span: HERE }],
        constant(1),
        HERE,
    );
    assert_eq!(outcome(vec![set(X, None, failing)]), Err(FaultKind::Recursion));
}

#[test]
fn what_is_assumed_away_is_neither_a_state_nor_a_fault() {
    let assume = |value| S::Assume(constant(value));
    assert_eq!(outcome(vec![add(1), assume(0), add(100)]), Ok(None));
    assert_eq!(outcome(vec![add(1), assume(-1)]), x(1));
    assert_eq!(outcome(vec![add(100), assume(0)]), Err(FaultKind::Range), "the fault comes first");
    let inside = Expression::compute(vec![], vec![assume(0)], constant(1), HERE);
    assert_eq!(outcome(vec![set(X, None, inside)]), Ok(None));
}

#[test]
fn checked_values_fault_whatever_the_overflow_policy() {
    let body =
        vec![set(X, None, Expression::checked(Domain::new(0, 2), FaultKind::Index, constant(3), HERE))];
    let wrapping = Program { overflow: Overflow::Wrap, ..program(body) };
    let explored = explore(&Meaning::new(wrapping), Limits::states(2)).unwrap();
    assert_eq!(explored.start_faults[0].kind, FaultKind::Index);
}

#[test]
fn instances_share_a_command_and_differ_in_their_arguments() {
    let guard = Expression::binary(B::Less, read(X), read(I));
    let body = vec![set(X, None, read(I))];
    let command = Arc::new(Command { parameters: vec![I], guard: Some(guard), body, ..Command::default() });
    let action = |argument| Action {
        name: None,
        rule: None,
        movers: Vec::new(),
        command: Arc::clone(&command),
        arguments: vec![argument],
        exchange: None,
        span: HERE,
    };
    let mut program = program(vec![]);
    program.actions = vec![action(3), action(7), action(0)];
    assert_eq!(problems(&program), Vec::<String>::new());
    let explored = explore(&Meaning::new(program), Limits::states(10)).unwrap();
    let taken: Vec<Vec<u32>> =
        explored.states.iter().map(|state| state.steps.iter().map(|step| step.action).collect()).collect();
    assert_eq!(taken, [vec![0, 1], vec![1], vec![]], "from 0, from 3, from 7");
}
