//! Which action does a transition, or a pair of transitions, become?
//!
//! Order inside a rendezvous: the values pass (both sides read the old state), the receiver moves and runs its effects, then
//! the sender. A buffer is worked on before the effects. In a synchronous system the effects of a transition are
//! one parallel assignment, since all right-hand sides read the old state.

use std::sync::Arc;

use fathom_model::expression::{BinaryOperator, Domain, Expression, ExpressionKind};
use fathom_model::program::{Action, Assignment, Command, Exchange, Mover, Place, Statement, VariableId};
use fathom_model::span::Span;

use super::fold;
use super::steps::{Message, Step};
use super::symbols::{Buffer, ChannelSymbol};

/// The action of one process: first the given assignments, in parallel, then move and effects.
pub(crate) fn plain(step: &Step, first: Vec<Assignment>, exchange: Option<Exchange>) -> Action {
    alone(step, step.guard.clone(), first, exchange)
}

/// As [`plain`], with another guard.
fn alone(
    step: &Step,
    guard: Option<Expression>,
    first: Vec<Assignment>,
    exchange: Option<Exchange>,
) -> Action {
    let mut body = Vec::with_capacity(2 + step.effects.len());
    if !first.is_empty() {
        body.push(Statement::Assign(first));
    }
    body.extend(move_and_effects(step));
    action(vec![step.mover], Command::new(guard, body), exchange)
}

/// The action of a send and a receive that happen together.
pub(crate) fn rendezvous(
    sender: &Step,
    receiver: &Step,
    channel: &ChannelSymbol,
    values: &[Expression],
) -> Action {
    let places = match receiver.sync.as_ref().map(|sync| &sync.message) {
        Some(Message::Received(places)) => &places[..],
        _ => &[],
    };
    let typed = |number: usize, value: &Expression| match channel.fields.as_ref().map(|fields| fields[number])
    {
        Some(field) => converted(field, value.clone()),
        None => value.clone(),
    };
    let passed = places.iter().zip(values).enumerate().map(|(number, (place, value))| {
        let span = place.span;
        Assignment { place: place.clone(), value: typed(number, value), span }
    });
    let passed: Vec<Assignment> = passed.collect();
    let mut body = Vec::with_capacity(3 + sender.effects.len() + receiver.effects.len());
    if !passed.is_empty() {
        body.push(Statement::Assign(passed));
    }
    body.extend(move_and_effects(receiver));
    body.extend(move_and_effects(sender));
    let guards: Vec<Expression> = [&sender.guard, &receiver.guard].into_iter().flatten().cloned().collect();
    let exchange = Exchange {
        channel: channel.name.clone(),
        sender: Some(sender.mover.process),
        receiver: Some(receiver.mover.process),
        values: values.to_vec(),
    };
    let movers = vec![sender.mover, receiver.mover];
    action(movers, Command::new(conjunction(guards), body), Some(exchange))
}

/// The action of a send to or a receive from a buffer.
pub(crate) fn buffered(step: &Step, channel: &ChannelSymbol, buffer: &Buffer, message: &Message) -> Action {
    let span = step.sync.as_ref().map_or(step.mover.span, |sync| sync.span);
    let ready = match message {
        Message::Sent(_) => (BinaryOperator::Less, i64::from(buffer.capacity)),
        Message::Received(_) => (BinaryOperator::Greater, 0),
    };
    let length = Expression::read(buffer.length, span);
    let ready = Expression::binary(ready.0, length, Expression::constant(ready.1, span));
    let process = Some(step.mover.process);
    let (assignments, sender, receiver, values) = match message {
        Message::Sent(values) => (append(buffer, values, span), process, None, values.clone()),
        Message::Received(places) => {
            let values = buffer.fields.iter().map(|&field| slot(field, 0, span)).collect();
            (take(buffer, places, span), None, process, values)
        }
    };
    let exchange = Exchange { channel: channel.name.clone(), sender, receiver, values };
    let guard = conjunction(std::iter::once(ready).chain(step.guard.clone()).collect());
    alone(step, guard, assignments, Some(exchange))
}

/// The action of one process in a synchronous system.
pub(crate) fn joint(step: &Step) -> Action {
    let mut body = vec![moved(step)];
    if !step.effects.is_empty() {
        body.push(Statement::Assign(step.effects.clone()));
    }
    action(vec![step.mover], Command::new(step.guard.clone(), body), None)
}

fn action(movers: Vec<Mover>, command: Arc<Command>, exchange: Option<Exchange>) -> Action {
    let span = movers[0].span;
    Action { name: None, rule: None, movers, command, arguments: Vec::new(), exchange, span }
}

fn moved(step: &Step) -> Statement {
    Statement::Move { process: step.mover.process, to: step.mover.to }
}

/// The move of a process, then its effects one after the other.
fn move_and_effects(step: &Step) -> impl Iterator<Item = Statement> + '_ {
    let effects = step.effects.iter().map(|effect| Statement::Assign(vec![effect.clone()]));
    std::iter::once(moved(step)).chain(effects)
}

/// The value as a message of that type carries it.
fn converted(field: Domain, value: Expression) -> Expression {
    let span = value.span;
    match fold::known(&value) {
        Some(known) if field.contains(known) => value,
        _ => Expression { kind: ExpressionKind::Convert(field, Box::new(value)), span },
    }
}

/// One guard that is true if all are; none if there are none.
fn conjunction(guards: Vec<Expression>) -> Option<Expression> {
    let span = guards.iter().map(|guard| guard.span).reduce(Span::to)?;
    Some(Expression::all(guards, span))
}

fn slot(field: VariableId, number: u32, span: Span) -> Expression {
    Expression::element(field, Expression::constant(i64::from(number), span), span)
}

fn assign(variable: VariableId, index: Option<Expression>, value: Expression) -> Assignment {
    let span = value.span;
    Assignment { place: Place { variable, index, span }, value, span }
}

/// The length of a buffer changed by one.
fn count(buffer: &Buffer, operator: BinaryOperator, span: Span) -> Assignment {
    let (length, one) = (Expression::read(buffer.length, span), Expression::constant(1, span));
    assign(buffer.length, None, Expression { span, ..Expression::binary(operator, length, one) })
}

/// The values go behind the last message. The buffer's variables have the types of the message, so
/// a value that does not fit is treated as in any assignment.
fn append(buffer: &Buffer, values: &[Expression], span: Span) -> Vec<Assignment> {
    let stored = buffer.fields.iter().zip(values);
    let stored = stored
        .map(|(&field, value)| assign(field, Some(Expression::read(buffer.length, span)), value.clone()));
    stored.chain([count(buffer, BinaryOperator::Add, span)]).collect()
}

/// The first message goes to its places, the others move up, and the freed slot is zeroed.
fn take(buffer: &Buffer, places: &[Place], span: Span) -> Vec<Assignment> {
    let received = buffer.fields.iter().zip(places);
    let received = received.map(|(&field, place)| Assignment {
        place: place.clone(),
        value: slot(field, 0, span),
        span: place.span,
    });
    let index = |number: u32| Some(Expression::constant(i64::from(number), span));
    let last = buffer.capacity - 1;
    let shifted = buffer.fields.iter().flat_map(|&field| {
        let up = (0..last).map(move |number| assign(field, index(number), slot(field, number + 1, span)));
        up.chain([assign(field, index(last), Expression::constant(0, span))])
    });
    received.chain(shifted).chain([count(buffer, BinaryOperator::Subtract, span)]).collect()
}
