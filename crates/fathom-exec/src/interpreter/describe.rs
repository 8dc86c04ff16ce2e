//! What are the words for a step, a fault, a state?

use fathom_model::expression::Expression;
use fathom_model::program::{Action, Composition, Exchange};
use fathom_model::span::Span;
use fathom_model::system::{Description, Message, Move, Query};

use super::explain::{self, Reason};
use super::{Interpreter, Trouble, synchronous};

/// What is said in place of a value that was not computed to its end.
const INTERRUPTED: &str = "(interrupted)";

/// Answers a query.
pub(super) fn describe(system: &Interpreter, what: Query<'_>) -> Description {
    match what {
        Query::Record(record) => Description {
            title: system.program.name.clone(),
            values: values(system, record),
            ..Description::default()
        },
        Query::Step { source, action } => step(system, source, action),
        Query::Start(number) => {
            let start = &system.program.starts[number as usize];
            let title = start.name.clone().unwrap_or_else(|| "start".into());
            Description { title, span: Some(start.span), ..Description::default() }
        }
        Query::Fault { source, fault } => {
            let step = step(system, source, fault.action);
            let trouble = Trouble { kind: fault.kind, span: fault.span };
            let Reason { detail, values } = explain::fault(system, source, fault);
            Description { title: words(system, trouble), span: Some(fault.span), detail, values, ..step }
        }
        Query::Label { record, label } => label_on(system, record, label),
    }
}

/// The model's own words, if it has any for this, else ours.
fn words(system: &Interpreter, Trouble { kind, span }: Trouble) -> String {
    system.messages.get(&(span, kind)).cloned().unwrap_or_else(|| kind.text().into())
}

fn values(system: &Interpreter, record: &[u64]) -> Vec<(String, String)> {
    let words = system.program.words.as_deref();
    let element = |number: usize, component: &fathom_model::shape::Component, index: u32| {
        let (name, text) = (component.element_name(index), component.text(record, index));
        let Some(words) = words else { return (name, text) };
        let place = words.places.get(number).and_then(|places| places.get(index as usize));
        let offset =
            text.parse::<i64>().ok().map(|value| value - system.program.variables[number].domain.low);
        let word = offset.and_then(|offset| words.values.get(number)?.get(usize::try_from(offset).ok()?));
        (place.cloned().unwrap_or(name), word.cloned().unwrap_or(text))
    };
    let components = system.shape.components.iter().enumerate();
    components
        .flat_map(|(number, component)| {
            (0..component.elements()).map(move |index| element(number, component, index))
        })
        .collect()
}

fn step(system: &Interpreter, source: &[u64], action: u32) -> Description {
    let members = match system.program.composition {
        Composition::Asynchronous => vec![action],
        Composition::Synchronous => synchronous::members(system, action),
    };
    let actions: Vec<&Action> =
        members.iter().map(|number| &system.program.actions[*number as usize]).collect();
    let moves: Vec<Move> = actions.iter().flat_map(|action| moves(system, action)).collect();
    let exchange =
        actions.iter().find_map(|action| action.exchange.as_ref()).map(|it| message(system, source, it));
    let name = actions.first().and_then(|action| action.name.clone());
    let title = name.unwrap_or_else(|| {
        let moves: Vec<String> =
            moves.iter().map(|it| format!("{}: {} -> {}", it.process, it.from, it.to)).collect();
        moves.join(", ")
    });
    let span = actions.first().map(|action| action.span);
    let values = actions.iter().flat_map(|action| explain::chosen(system, source, action)).collect();
    Description { title, span, moves, exchange, values, ..Description::default() }
}

fn moves(system: &Interpreter, action: &Action) -> Vec<Move> {
    let part = |mover: &fathom_model::program::Mover| {
        let process = system.program.process(mover.process);
        let name = |location: u32| process.locations[location as usize].name.clone();
        Move { process: process.name.clone(), from: name(mover.from), to: name(mover.to), span: mover.span }
    };
    action.movers.iter().map(part).collect()
}

fn message(system: &Interpreter, source: &[u64], exchange: &Exchange) -> Message {
    let mut values = Vec::new();
    system.unpack(source, &mut values);
    let mut text = |value: &Expression| match system.evaluate(value, &mut values) {
        Ok(value) => value.to_string(),
        Err(trouble) => trouble.map_or(INTERRUPTED.into(), |trouble| words(system, trouble)),
    };
    let name = |process: fathom_model::program::ProcessId| system.program.process(process).name.clone();
    Message {
        channel: exchange.channel.clone(),
        sender: exchange.sender.map(name),
        receiver: exchange.receiver.map(name),
        values: exchange.values.iter().map(&mut text).collect(),
    }
}

fn label_on(system: &Interpreter, record: &[u64], label: usize) -> Description {
    let mut values = Vec::new();
    system.unpack(record, &mut values);
    let label = &system.program.labels[label];
    let verdict = system.evaluate(&label.expression, &mut values);
    let why = |values: &mut [i64], fault| explain::condition(system, values, &label.expression, fault);
    let (text, span, reason): (String, Span, Reason) = match verdict {
        Ok(value) => {
            let text = if value != 0 { "true" } else { "false" };
            (text.into(), label.span, why(&mut values, None))
        }
        Err(Some(trouble)) => {
            let reason = why(&mut values, Some(trouble));
            (words(system, trouble), trouble.span, reason)
        }
        Err(None) => (INTERRUPTED.into(), label.span, Reason::default()),
    };
    let verdict = (label.name.clone(), text);
    Description {
        title: label.name.clone(),
        span: Some(span),
        values: std::iter::once(verdict).chain(reason.values).collect(),
        detail: reason.detail,
        ..Description::default()
    }
}
