//! Which names does a DVE text declare, and where is each of them used?

use std::collections::HashMap;

use fathom_model::span::Span;

use super::ast::{
    Declaration, Expression, ExpressionKind, Initial, Model, Name, Process, Transition, Variable,
};
use crate::names::{Definition, NameKind, Names, Scopes};

/// The names of a model, however much of it was understood.
pub(crate) fn names(model: &Model<'_>) -> Names {
    let mut walk = Walk { scopes: Scopes::new(), parts: HashMap::new() };
    for declaration in &model.declarations {
        match declaration {
            Declaration::Variable(variable) => _ = walk.variable(variable, None),
            Declaration::Channel(channel) => {
                let end = channel.capacity.as_ref().map_or(channel.name.span, |capacity| capacity.span);
                walk.scopes.declare(definition(channel.name, NameKind::Channel, end, None));
                channel.capacity.iter().for_each(|capacity| walk.expression(capacity));
            }
        }
    }
    // Processes may name one another, so all names come before any body.
    let numbers: Vec<usize> = model.processes.iter().map(|process| walk.declare(process)).collect();
    for (process, number) in model.processes.iter().zip(numbers) {
        walk.process(process, number);
    }
    if let Some(property) = model.system.as_ref().and_then(|system| system.property) {
        walk.refer(property);
    }
    walk.scopes.finish()
}

struct Walk<'s> {
    scopes: Scopes,
    /// The states and the variables of processes, by process, what they are, and name.
    parts: HashMap<(usize, NameKind, &'s str), usize>,
}

impl<'s> Walk<'s> {
    /// The name of a process, of its states and of its variables.
    fn declare(&mut self, process: &Process<'s>) -> usize {
        let number = self.scopes.declare(definition(process.name, NameKind::Process, process.span, None));
        for state in &process.states {
            let state_number =
                self.scopes.define(definition(*state, NameKind::State, state.span, Some(number)));
            self.parts.entry((number, NameKind::State, state.text)).or_insert(state_number);
        }
        // A scope that is filled again when the body is walked.
        self.scopes.open();
        for variable in &process.variables {
            let variable_number = self.variable(variable, Some(number));
            self.parts.entry((number, NameKind::Variable, variable.name.text)).or_insert(variable_number);
        }
        self.scopes.close();
        number
    }

    fn variable(&mut self, variable: &Variable<'s>, part_of: Option<usize>) -> usize {
        let kind = if variable.constant { NameKind::Constant } else { NameKind::Variable };
        let mut whole = variable.name.span;
        if let Some(length) = &variable.length {
            whole = whole.to(length.span);
            self.expression(length);
        }
        match &variable.initial {
            Some(Initial::One(value)) => {
                whole = whole.to(value.span);
                self.expression(value);
            }
            Some(Initial::Many(values, span)) => {
                whole = whole.to(*span);
                values.iter().for_each(|value| self.expression(value));
            }
            None => {}
        }
        self.scopes.declare(definition(variable.name, kind, whole, part_of))
    }

    fn process(&mut self, process: &Process<'s>, number: usize) {
        self.scopes.open();
        for variable in &process.variables {
            if let Some(variable_number) =
                self.parts.get(&(number, NameKind::Variable, variable.name.text)).copied()
            {
                self.scopes.bind(variable.name.text, variable_number);
            }
        }
        let lists = [&process.committed, &process.accepting];
        let listed = lists.into_iter().flatten().flat_map(|list| &list.states);
        for state in listed.chain(&process.initial) {
            self.state(*state, number);
        }
        for assert in &process.asserts {
            self.state(assert.state, number);
            self.expression(&assert.condition);
        }
        process.transitions.iter().for_each(|transition| self.transition(transition, number));
        self.scopes.close();
    }

    fn transition(&mut self, transition: &Transition<'s>, process: usize) {
        self.state(transition.from, process);
        self.state(transition.to, process);
        transition.guard.iter().for_each(|guard| self.expression(guard));
        if let Some(sync) = &transition.sync {
            self.refer(sync.channel);
            sync.values.iter().for_each(|value| self.expression(value));
        }
        for effect in &transition.effects {
            self.expression(&effect.target);
            self.expression(&effect.value);
        }
    }

    fn state(&mut self, state: Name<'s>, process: usize) {
        if let Some(number) = self.parts.get(&(process, NameKind::State, state.text)) {
            self.scopes.used(state.span, *number);
        }
    }

    fn refer(&mut self, name: Name<'s>) -> Option<usize> {
        self.scopes.refer(name.text, name.span)
    }

    /// A process and something of it.
    fn foreign(&mut self, [process, part]: &[Name<'s>; 2], kind: NameKind) {
        let Some(process) = self.refer(*process) else { return };
        if let Some(number) = self.parts.get(&(process, kind, part.text)) {
            self.scopes.used(part.span, *number);
        }
    }

    fn expression(&mut self, expression: &Expression<'s>) {
        match &expression.kind {
            ExpressionKind::Number(_) => {}
            ExpressionKind::Name(name) => _ = self.refer(*name),
            ExpressionKind::Element(name, index) => {
                self.refer(*name);
                self.expression(index);
            }
            ExpressionKind::InState(names) => self.foreign(names, NameKind::State),
            ExpressionKind::Foreign(names, index) => {
                self.foreign(names, NameKind::Variable);
                index.iter().for_each(|index| self.expression(index));
            }
            ExpressionKind::Unary(_, operand) => self.expression(operand),
            ExpressionKind::Binary(_, left, right) | ExpressionKind::Imply(left, right) => {
                self.expression(left);
                self.expression(right);
            }
            ExpressionKind::Logical(_, operands) => {
                operands.iter().for_each(|operand| self.expression(operand));
            }
        }
    }
}

fn definition(name: Name<'_>, kind: NameKind, whole: Span, part_of: Option<usize>) -> Definition {
    Definition { name: name.text.to_owned(), kind, span: name.span, whole: name.span.to(whole), part_of }
}
