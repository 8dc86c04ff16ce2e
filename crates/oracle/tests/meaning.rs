//! Is the meaning of programs what their definition says? Small programs with answers known by hand.

use fathom_model::expression::{
    BinaryOperator as B, Domain, Expression, ExpressionKind as E, FaultKind, Overflow,
};
use fathom_model::expression::{BinaryOperator, UnaryOperator};
use fathom_model::program::{
    Action, Assignment, Command, Composition, Label, LabelKind, Location, Mover, Place, Process, ProcessId,
    Program, Role, Start, Statement, Variable, VariableId,
};
use fathom_model::span::Span;
use fathom_model::steps::Labels;
use fathom_model::system::{Query, TransitionSystem};
use fathom_model::verify::problems;
use oracle::bfs::{Explored, Limits, explore};
use oracle::meaning::Meaning;

const NOWHERE: Span = Span { start: 0, end: 0 };

fn constant(value: i64) -> Expression {
    Expression::constant(value, NOWHERE)
}

fn read(variable: u32) -> Expression {
    Expression::read(VariableId(variable), NOWHERE)
}

fn make(kind: E) -> Expression {
    Expression { kind, span: NOWHERE }
}

fn binary(operator: BinaryOperator, left: i64, right: i64) -> Expression {
    Expression::binary(operator, constant(left), constant(right))
}

fn assignment(variable: u32, index: Option<Expression>, value: Expression) -> Assignment {
    let place = Place { variable: VariableId(variable), index, span: NOWHERE };
    Assignment { place, value, span: NOWHERE }
}

fn variable(name: &str, low: i64, high: i64, initial: &[i64]) -> Variable {
    Variable {
        name: name.into(),
        role: Role::Global,
        domain: Domain::new(low, high),
        length: if initial.len() == 1 { None } else { Some(initial.len() as u32) },
        optional: false,
        initial: initial.to_vec(),
        span: NOWHERE,
    }
}

/// Adds a process whose locations are committed or not.
fn add_process(program: &mut Program, committed: &[bool]) -> ProcessId {
    let process = ProcessId(program.processes.len() as u32);
    let number = program.variables.len() as u32;
    program.variables.push(Variable {
        role: Role::Location(process),
        ..variable(&format!("P{}", process.0), 0, committed.len() as i64 - 1, &[0])
    });
    let location = |committed: &bool| Location { name: "s".into(), committed: *committed, span: NOWHERE };
    program.processes.push(Process {
        name: format!("P{}", process.0),
        locations: committed.iter().map(location).collect(),
        variable: VariableId(number),
        span: NOWHERE,
    });
    process
}

fn action(movers: &[(u32, u32, u32)], guard: Option<Expression>, assigns: Vec<Assignment>) -> Action {
    let mover = |(process, from, to): &(u32, u32, u32)| Mover {
        process: ProcessId(*process),
        from: *from,
        to: *to,
        span: NOWHERE,
    };
    let movers: Vec<Mover> = movers.iter().map(mover).collect();
    let mut body: Vec<Statement> =
        movers.iter().map(|mover| Statement::Move { process: mover.process, to: mover.to }).collect();
    if !assigns.is_empty() {
        body.push(Statement::Assign(assigns));
    }
    let command = Command::new(guard, body);
    Action { name: None, rule: None, movers, command, arguments: Vec::new(), exchange: None, span: NOWHERE }
}

fn explored(program: &Program) -> Explored {
    assert_eq!(problems(program), Vec::<String>::new());
    explore(&Meaning::new(program.clone()), Limits::states(10_000)).expect("small")
}

/// What assigning the expression to a variable of all values gives. Variable 1 is an array of 10, 20, 30.
fn value(expression: &Expression, overflow: Overflow) -> Result<i64, FaultKind> {
    let program = Program {
        variables: vec![variable("x", i64::MIN, i64::MAX, &[0]), variable("a", 0, 30, &[10, 20, 30])],
        starts: vec![Start {
            command: Command::new(
                None,
                vec![Statement::Assign(vec![assignment(0, None, expression.clone())])],
            ),
            ..Start::default()
        }],
        overflow,
        ..Program::default()
    };
    let explored = explored(&program);
    match explored.start_faults.first() {
        Some(fault) => Err(fault.kind),
        None => Ok(Meaning::new(program).shape().components[0].value(&explored.states[0].record, 0)),
    }
}

#[test]
fn operators_give_their_values_and_faults() {
    use FaultKind::{Division, Overflow as Over, Shift};
    let (min, max) = (i64::MIN, i64::MAX);
    // Operator, operands, what it gives under the fault policy, and under the wrap policy.
    let table = [
        (B::Add, max, 1, Err(Over), Ok(min)),
        (B::Subtract, min, 1, Err(Over), Ok(max)),
        (B::Multiply, max, 2, Err(Over), Ok(-2)),
        (B::Divide, -7, 2, Ok(-3), Ok(-3)),
        (B::Divide, 7, 0, Err(Division), Err(Division)),
        (B::Divide, min, -1, Err(Over), Ok(min)),
        (B::Remainder, -7, 2, Ok(-1), Ok(-1)),
        (B::Remainder, 7, -2, Ok(1), Ok(1)),
        (B::Remainder, 7, 0, Err(Division), Err(Division)),
        (B::Remainder, min, -1, Ok(0), Ok(0)),
        (B::ShiftLeft, 3, 4, Ok(48), Ok(48)),
        (B::ShiftLeft, -1, 63, Ok(min), Ok(min)),
        (B::ShiftLeft, 1, 63, Err(Over), Ok(min)),
        (B::ShiftLeft, 3, 63, Err(Over), Ok(min)),
        (B::ShiftLeft, 1, 64, Err(Shift), Err(Shift)),
        (B::ShiftLeft, 1, -1, Err(Shift), Err(Shift)),
        (B::ShiftRight, -5, 1, Ok(-3), Ok(-3)),
        (B::ShiftRight, min, 63, Ok(-1), Ok(-1)),
        (B::ShiftRight, 1, 64, Err(Shift), Err(Shift)),
        (B::BitAnd, -4, 6, Ok(4), Ok(4)),
        (B::BitOr, -4, 3, Ok(-1), Ok(-1)),
        (B::BitXor, -1, 5, Ok(-6), Ok(-6)),
        (B::Equal, 3, 3, Ok(1), Ok(1)),
        (B::NotEqual, 3, 3, Ok(0), Ok(0)),
        (B::Less, -1, 0, Ok(1), Ok(1)),
        (B::LessEqual, 1, 0, Ok(0), Ok(0)),
        (B::Greater, max, min, Ok(1), Ok(1)),
        (B::GreaterEqual, 0, 0, Ok(1), Ok(1)),
    ];
    for (operator, left, right, fault, wrap) in table {
        let expression = binary(operator, left, right);
        assert_eq!(value(&expression, Overflow::Fault), fault, "{left} {} {right}", operator.symbol());
        assert_eq!(value(&expression, Overflow::Wrap), wrap, "{left} {} {right}", operator.symbol());
    }
    let unary = |operator, operand| Expression::unary(operator, constant(operand), NOWHERE);
    assert_eq!(value(&unary(UnaryOperator::Negate, min), Overflow::Fault), Err(Over));
    assert_eq!(value(&unary(UnaryOperator::Negate, 5), Overflow::Fault), Ok(-5));
    assert_eq!(value(&unary(UnaryOperator::Complement, 5), Overflow::Fault), Ok(-6));
    assert_eq!(value(&unary(UnaryOperator::Not, 5), Overflow::Fault), Ok(0));
}

#[test]
fn logic_ends_at_the_first_answer() {
    let broken = || binary(B::Divide, 1, 0);
    let cases = [
        (make(E::All(vec![])), Ok(1)),
        (make(E::Any(vec![])), Ok(0)),
        (make(E::All(vec![constant(7), constant(2)])), Ok(1)),
        (make(E::All(vec![constant(0), broken()])), Ok(0)),
        (make(E::All(vec![constant(1), broken()])), Err(FaultKind::Division)),
        (make(E::Any(vec![constant(9), broken()])), Ok(1)),
        (make(E::Any(vec![constant(0), broken()])), Err(FaultKind::Division)),
        (make(E::Conditional(Box::new([constant(2), constant(5), broken()]))), Ok(5)),
        (make(E::Conditional(Box::new([constant(0), broken(), constant(6)]))), Ok(6)),
        (make(E::Element(VariableId(1), Box::new(constant(2)))), Ok(30)),
        (make(E::Element(VariableId(1), Box::new(constant(3)))), Err(FaultKind::Index)),
        (make(E::Element(VariableId(1), Box::new(constant(-1)))), Err(FaultKind::Index)),
    ];
    for (expression, expected) in cases {
        assert_eq!(value(&expression, Overflow::Fault), expected, "{expression:?}");
    }
    let byte = make(E::Convert(Domain::new(0, 255), Box::new(constant(-1))));
    assert_eq!(value(&byte, Overflow::Fault), Err(FaultKind::Range));
    assert_eq!(value(&byte, Overflow::Wrap), Ok(255));
}

#[test]
fn parallel_assignments_read_the_state_before() {
    let swap = vec![assignment(0, None, read(1)), assignment(1, None, read(0))];
    let program = Program {
        variables: vec![variable("x", 0, 3, &[1]), variable("y", 0, 3, &[2])],
        actions: vec![action(&[], None, swap)],
        starts: vec![Start::default()],
        ..Program::default()
    };
    let explored = explored(&program);
    assert_eq!(explored.records_along(&[0, 1]), [[0b0110], [0b1001]]);
    assert_eq!((explored.states.len(), explored.transitions()), (2, 2));
    let values = Meaning::new(program).describe(Query::Record(&explored.states[1].record)).values;
    assert_eq!(values, [("x".to_owned(), "2".to_owned()), ("y".to_owned(), "1".to_owned())]);
}

#[test]
fn a_counter_wraps_or_faults_at_the_end_of_its_domain() {
    let more = Expression::binary(B::Add, read(0), constant(1));
    let mut program = Program {
        variables: vec![variable("x", -3, 6, &[-3])],
        actions: vec![action(&[], None, vec![assignment(0, None, more)])],
        starts: vec![Start::default()],
        ..Program::default()
    };
    let faulting = explored(&program);
    assert_eq!((faulting.states.len(), faulting.transitions(), faulting.faults()), (10, 9, 1));
    assert_eq!(faulting.deadlocks(), 0);
    program.overflow = Overflow::Wrap;
    let wrapping = explored(&program);
    assert_eq!((wrapping.states.len(), wrapping.transitions(), wrapping.faults()), (10, 10, 0));
}

#[test]
fn committed_processes_go_first_and_owners_order_the_steps() {
    let mut program = Program { starts: vec![Start::default()], ..Program::default() };
    add_process(&mut program, &[false, true]);
    add_process(&mut program, &[false, false]);
    program.actions = vec![
        action(&[], None, vec![]),
        action(&[(1, 0, 1)], None, vec![]),
        action(&[(0, 0, 1)], None, vec![]),
        action(&[(0, 1, 0)], None, vec![]),
        action(&[(0, 1, 0), (1, 0, 1)], None, vec![]),
    ];
    let explored = explored(&program);
    let actions =
        |state: usize| -> Vec<u32> { explored.states[state].steps.iter().map(|step| step.action).collect() };
    assert_eq!(actions(0), [2, 1, 0], "by owner, then those without movers");
    let committed = explored.number_of(&[0b10]).expect("reachable");
    assert_eq!(actions(committed), [3], "the other mover of action 4 is not committed");
    assert_eq!((explored.states[0].enabled.0, explored.states[committed].enabled.0), (0b11, 0b01));
}

#[test]
fn joint_steps_are_numbered_by_mixed_radix_and_write_once() {
    let mut program = Program {
        composition: Composition::Synchronous,
        starts: vec![Start::default()],
        ..Program::default()
    };
    add_process(&mut program, &[false, false]);
    add_process(&mut program, &[false]);
    program.variables.push(variable("x", 0, 3, &[0]));
    let broken = binary(B::Remainder, 1, 0);
    program.actions = vec![
        action(&[(1, 0, 0)], None, vec![assignment(2, None, constant(2))]),
        action(&[(0, 0, 1)], None, vec![]),
        action(&[(1, 0, 0)], Some(constant(0)), vec![]),
        action(&[(0, 0, 1)], None, vec![assignment(2, None, constant(1))]),
        action(&[(1, 0, 0)], Some(broken), vec![]),
    ];
    let explored = explored(&program);
    let steps: Vec<u32> = explored.states[0].steps.iter().map(|step| step.action).collect();
    let faults: Vec<(u32, FaultKind)> =
        explored.states[0].faults.iter().map(|fault| (fault.action, fault.kind)).collect();
    // Process 0 chooses among two, process 1 among three: action = 3 * first + second.
    assert_eq!(steps, [0]);
    assert_eq!(faults, [(2, FaultKind::Division), (3, FaultKind::DoubleWrite), (5, FaultKind::Division)]);
    assert_eq!(explored.states[1].record, [0b110], "both moved and x is 2");
    assert_eq!((explored.states.len(), explored.deadlocks()), (2, 1));
}

#[test]
fn a_faulting_label_sets_the_fault_bit_and_no_other_is_lost() {
    let label = |expression| Label { name: "l".into(), kind: LabelKind::Atom, expression, span: NOWHERE };
    let program = Program {
        variables: vec![variable("x", 0, 3, &[2])],
        starts: vec![Start::default()],
        labels: vec![label(read(0)), label(binary(B::Divide, 1, 0)), label(constant(0)), label(constant(-1))],
        ..Program::default()
    };
    assert_eq!(explored(&program).states[0].labels, Labels(0b1001 | Labels::FAULT.0));
}
