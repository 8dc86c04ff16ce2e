//! What the text of a model says of how far a goal is: never more than it is, and no step changes it by more than one. On our own models, with goals drawn at random.

#[allow(dead_code, reason = "this suite uses its part")]
mod expectations;

use fathom_check::model::assemble::{Model, ModelOptions};
use fathom_check::model::subject::Subject;
use fathom_model::expression::{BinaryOperator, Expression, ExpressionKind, VariableId};
use fathom_model::program::{Label, LabelKind, Program, Role};
use fathom_model::record::Records;
use fathom_model::span::Span;
use oracle::bfs::{Limits, explore};
use oracle::random::Random;

const STATES_MAX: u64 = 20_000;

/// Some variable compared with some value.
fn atom(program: &Program, random: &mut Random) -> Expression {
    let stored: Vec<usize> = (0..program.variables.len())
        .filter(|variable| program.variables[*variable].role != Role::Temporary)
        .collect();
    let number = stored[random.below(stored.len())];
    let (variable, id) = (&program.variables[number], VariableId(number as u32));
    let constant = |value| Expression::constant(value, Span::default());
    let read = match variable.length {
        Some(length) => {
            Expression::element(id, constant(random.below(length as usize) as i64), Span::default())
        }
        None => Expression::read(id, Span::default()),
    };
    let span = (variable.domain.high - variable.domain.low).clamp(0, 20) as usize;
    let value = constant(variable.domain.low + random.below(span + 1) as i64);
    let operators = [BinaryOperator::Equal, BinaryOperator::NotEqual, BinaryOperator::GreaterEqual];
    let operator = operators[random.below(8).saturating_sub(5)];
    Expression::binary(operator, read, value)
}

/// Two to four of them, in one of the ways in which conditions are put together.
fn goal(program: &Program, random: &mut Random) -> Expression {
    let atoms = (0..2 + random.below(3)).map(|_| atom(program, random)).collect();
    let kind = if random.below(4) > 0 { ExpressionKind::All(atoms) } else { ExpressionKind::Any(atoms) };
    let goal = Expression { kind, span: Span::default() };
    match random.below(3) {
        0 => {
            let kind = ExpressionKind::All(vec![goal, atom(program, random)]);
            Expression { kind, span: Span::default() }
        }
        _ => goal,
    }
}

#[test]
fn bounds_are_consistent_and_no_goal_is_nearer() {
    let mut random = Random::new(17);
    let (mut models, mut far, mut reached, mut in_rules) = (0, 0u64, 0, 0u64);
    for path in expectations::models() {
        if expectations::read(&path).states > STATES_MAX {
            continue;
        }
        let model = Model::read(&path, &ModelOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        models += 1;
        for _ in 0..8 {
            let (expression, truth) = (goal(model.program(), &mut random), random.below(5) > 0);
            let Some(distance) = model.distance(&[(&expression, truth)]) else { continue };
            let label =
                Label { name: "goal".into(), kind: LabelKind::Goal, expression, span: Span::default() };
            let judge =
                explore(&model.interpreter(vec![label]), Limits::states(usize::MAX)).expect("it is small");
            let mut bounds = Vec::new();
            for state in &judge.states {
                distance(Records::new(&state.record, state.record.len()), &mut bounds);
            }
            for (state, &bound) in judge.states.iter().zip(&bounds) {
                let is_goal = !state.labels.faulted() && state.labels.holds(0) == truth;
                assert!(!is_goal || bound == 0, "{}: a goal is {bound} steps away", path.display());
                reached += u64::from(is_goal);
                far += u64::from(bound > 1);
                in_rules += u64::from(bound > 1 && model.program().processes.is_empty());
                for step in &state.steps {
                    assert!(bound <= bounds[step.target] + 1, "{}: a step of {bound}", path.display());
                }
            }
        }
    }
    eprintln!(
        "{models} models, {reached} goals, {far} states farther than a step, {in_rules} of them of rules"
    );
    assert!(models > 40 && reached > 1000 && far > 10_000 && in_rules > 100);
}
