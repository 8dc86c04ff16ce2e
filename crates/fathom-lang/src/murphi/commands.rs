//! Which statements of a program do the statements of a model stand for?
//!
//! As in CMurphi, `x := y` copies `y` even if it is undefined, while every other use of an undefined value is a fault (rumur takes the assignment for
//! one, too). Records and arrays are copied with their undefined parts in both.

use fathom_model::expression::{BinaryOperator, Domain, Expression, ExpressionKind, FaultKind};
use fathom_model::program::{Assignment, Place, Statement};
use fathom_model::span::Span;

use super::ast::Category;
use super::layout::Region;
use super::lower::{Binding, Lowerer};
use super::simplify;
use super::tree::{self, LocalId, Property, StatementKind, Value, ValueKind};
use super::types::Form;
use super::values::store;

/// The most rounds of a loop that is written out.
const WRITTEN_OUT_MAX: usize = 8;

impl<'t> Lowerer<'t> {
    /// Gives the variables of a block temporaries.
    pub(crate) fn declare(&mut self, variables: &[LocalId]) {
        for local in variables {
            if self.is_exhausted() {
                return;
            }
            let variable = &self.tree.locals[local.index()];
            let region = self.temporary(&variable.name, variable.type_id, variable.span);
            self.bindings[local.index()] = Some(Binding::Region(region));
        }
    }

    /// Adds statements to a body. Nothing follows one that leaves it.
    pub(crate) fn statements(&mut self, statements: &'t [tree::Statement], out: &mut Vec<Statement>) {
        for statement in statements {
            if !self.spend() || matches!(out.last(), Some(Statement::Leave(_) | Statement::Fail { .. })) {
                return;
            }
            if self.deeper(|lowerer| lowerer.statement(statement, out)).is_none() {
                return;
            }
        }
    }

    fn statement(&mut self, statement: &'t tree::Statement, out: &mut Vec<Statement>) {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Assign(place, value) => {
                let target = self.region(place, out);
                self.assign(&target, value, span, out);
            }
            StatementKind::If(arms, otherwise) => self.if_statement(arms, otherwise, out),
            StatementKind::Switch(value, cases, otherwise) => self.switch(value, cases, otherwise, out),
            StatementKind::For(quantifier, body) => match self.known_values(quantifier) {
                Some(values) if values.len() <= WRITTEN_OUT_MAX => {
                    for code in values {
                        let binding = Binding::Constant(code);
                        self.with(quantifier.local, binding, |lowerer| lowerer.statements(body, out));
                    }
                }
                _ => self.repeat(quantifier, out, &mut |lowerer, out| lowerer.statements(body, out)),
            },
            StatementKind::While(condition, body) => {
                let condition = self.apart(condition);
                let mut round = Vec::new();
                self.statements(body, &mut round);
                out.push(Statement::While { condition, body: round, bound: self.loop_bound, span });
            }
            StatementKind::Alias(aliases, body) => {
                let outer: Vec<_> =
                    aliases.iter().map(|alias| self.bindings[alias.local.index()].clone()).collect();
                self.bind_aliases(aliases, out);
                self.statements(body, out);
                for (alias, binding) in aliases.iter().zip(outer) {
                    self.bindings[alias.local.index()] = binding;
                }
            }
            StatementKind::Call(call) => {
                let result = self.tree.functions[call.function.index()].result;
                let result = result.map(|type_id| self.temporary("result", type_id, span));
                self.inline(call, result, span, out);
            }
            StatementKind::Clear(place) => {
                let region = self.region(place, out);
                self.clear(&region, span, out);
            }
            StatementKind::Undefine(place) => {
                let region = self.region(place, out);
                self.undefine(&region, span, out);
            }
            StatementKind::Error(_) if self.covering.is_some() => self.end_copy(out),
            StatementKind::Error(message) => {
                out.push(Statement::Fail { kind: FaultKind::Failure, message: Some(message.clone()), span });
            }
            StatementKind::Property(property) => self.property_statement(property, span, out),
            StatementKind::Put(_) => {}
            StatementKind::Return(value) => self.return_statement(value.as_ref(), span, out),
            StatementKind::MultisetAdd(value, set) => {
                let set = self.region(set, out);
                self.multiset_add(value, &set, span, out);
            }
            StatementKind::MultisetRemove(slot, set) => {
                let region = self.region(set, out);
                let slot = self.expression(slot, out);
                self.multiset_remove(&region, slot, span, out);
            }
            StatementKind::MultisetRemoveWhere(local, set, condition) => {
                let region = self.region(set, out);
                self.multiset_remove_where(*local, &region, condition, span, out);
            }
        }
    }

    /// Stores a value in a place.
    pub(crate) fn assign(&mut self, target: &Region, value: &'t Value, span: Span, out: &mut Vec<Statement>) {
        if value.is_undefined() {
            return self.undefine(target, span, out);
        }
        if !self.tree.types.is_simple(target.type_id) {
            let source = self.aggregate(value, out);
            return self.copy(target, &source, span, out);
        }
        match &value.kind {
            ValueKind::Read(_) => {
                let code = self.expression(value, out);
                self.assign_read(target, code, span, out);
            }
            ValueKind::Convert(inner) if matches!(inner.kind, ValueKind::Read(_)) => {
                let code = self.expression(inner, out);
                let converted = self.convert(code.clone(), inner.type_id, value.type_id, span);
                let place = self.target(target, 0, span).0;
                let stored = Statement::Assign(vec![Assignment { place, value: converted, span }]);
                match self.undefined_test(&code) {
                    Some(test) => {
                        let mut undefined = Vec::new();
                        self.undefine(target, span, &mut undefined);
                        out.push(Statement::If { arms: vec![(test, undefined)], otherwise: vec![stored] });
                    }
                    None => out.push(stored),
                }
            }
            _ => {
                let value = self.expression(value, out);
                let place = self.target(target, 0, span).0;
                out.push(Statement::Assign(vec![Assignment { place, value, span }]));
            }
        }
    }

    /// Stores what is read from a place, even if that is nothing.
    fn assign_read(&mut self, target: &Region, code: Expression, span: Span, out: &mut Vec<Statement>) {
        let place = self.target(target, 0, span).0;
        let (variable, index) = match code.kind {
            ExpressionKind::Read(variable) => (variable, None),
            ExpressionKind::Element(variable, index) => (variable, Some(*index)),
            _ => {
                out.push(Statement::Assign(vec![Assignment { place, value: code, span }]));
                return;
            }
        };
        let from = Place { variable, index, span: code.span };
        let optional = [&place, &from].map(|it| self.program.variable(it.variable).optional);
        out.push(match optional {
            [true, true] => Statement::Copy { to: place, from, count: 1, span },
            _ => {
                let value = super::values::load(from, code.span);
                Statement::Assign(vec![Assignment { place, value, span }])
            }
        });
    }

    /// Whether what an expression reads is undefined; none if it never is.
    fn undefined_test(&self, code: &Expression) -> Option<Expression> {
        let (variable, index) = match &code.kind {
            ExpressionKind::Read(variable) => (*variable, None),
            ExpressionKind::Element(variable, index) => (*variable, Some((**index).clone())),
            _ => return None,
        };
        if !self.program.variable(variable).optional {
            return None;
        }
        let place = Box::new(Place { variable, index, span: code.span });
        Some(Expression { kind: ExpressionKind::IsUndefined(place), span: code.span })
    }

    pub(crate) fn copy(&mut self, target: &Region, source: &Region, span: Span, out: &mut Vec<Statement>) {
        for leaf in 0..target.leaves.len() {
            let ((to, count), (from, _)) = (self.target(target, leaf, span), self.target(source, leaf, span));
            self.spend();
            out.push(Statement::Copy { to, from, count, span });
        }
    }

    fn undefine(&mut self, region: &Region, span: Span, out: &mut Vec<Statement>) {
        for leaf in 0..region.leaves.len() {
            let (place, count) = self.target(region, leaf, span);
            // What says whether there is an element in a slot always has a value.
            let optional = self.program.variable(place.variable).optional;
            let value = (!optional).then(|| Expression::constant(0, span));
            self.spend();
            out.push(Statement::Fill { place, count, value, span });
        }
    }

    /// Every part gets its least value; multisets become empty.
    fn clear(&mut self, region: &Region, span: Span, out: &mut Vec<Statement>) {
        let leaves = super::layout::leaves(&self.tree.types, region.type_id);
        for (number, leaf) in leaves.iter().enumerate() {
            let (place, count) = self.target(region, number, span);
            let in_multiset = leaf.path.iter().any(|part| matches!(part, super::layout::Part::Slot(_)));
            let low = self.program.variable(place.variable).domain.low;
            let value = (!in_multiset || leaf.present).then(|| Expression::constant(low, span));
            out.push(Statement::Fill { place, count, value, span });
        }
    }

    fn if_statement(
        &mut self,
        arms: &'t [(Value, Vec<tree::Statement>)],
        otherwise: &'t [tree::Statement],
        out: &mut Vec<Statement>,
    ) {
        let arms = arms.iter().map(|(condition, body)| (condition, body.as_slice()));
        self.choice(arms, otherwise, out, |lowerer, condition, out| lowerer.expression(condition, out));
    }

    /// A choice between bodies: the first whose test holds, or the last. What a test needs beforehand is done only if those before it failed.
    fn choice<T>(
        &mut self,
        arms: impl Iterator<Item = (T, &'t [tree::Statement])>,
        otherwise: &'t [tree::Statement],
        out: &mut Vec<Statement>,
        mut test: impl FnMut(&mut Self, T, &mut Vec<Statement>) -> Expression,
    ) {
        let mut choice = Choice::default();
        let mut last = otherwise;
        for (condition, body) in arms {
            if self.is_exhausted() {
                return;
            }
            let mut before = Vec::new();
            let condition = test(self, condition, &mut before);
            choice.prepare(before);
            match simplify::known(&condition) {
                Some(0) => {}
                Some(_) => {
                    last = body;
                    break;
                }
                None => {
                    let mut then = Vec::new();
                    self.statements(body, &mut then);
                    choice.add(condition, then);
                }
            }
        }
        let mut other = Vec::new();
        self.statements(last, &mut other);
        if self.deepen(choice.levels.len()) {
            out.extend(choice.closed(other));
        }
    }

    fn switch(
        &mut self,
        value: &'t Value,
        cases: &'t [(Vec<Value>, Vec<tree::Statement>)],
        otherwise: &'t [tree::Statement],
        out: &mut Vec<Statement>,
    ) {
        let span = value.span;
        let mut subject = self.expression(value, out);
        if !matches!(subject.kind, ExpressionKind::Constant(_) | ExpressionKind::Read(_)) {
            let region = self.temporary("switch", value.type_id, span);
            out.push(store(region.leaves[0], subject, span));
            subject = Expression::read(region.leaves[0], span);
        }
        let cases = cases.iter().map(|(values, body)| (values, body.as_slice()));
        self.choice(cases, otherwise, out, |lowerer, values, _| {
            let tests = values.iter().map(|value| {
                let value = lowerer.apart(value);
                simplify::binary(BinaryOperator::Equal, subject.clone(), value, subject.span)
            });
            let tests = tests.collect();
            simplify::any(tests, subject.span)
        });
    }

    fn property_statement(&mut self, property: &'t Property, span: Span, out: &mut Vec<Statement>) {
        if let Some(covering) = self.covering {
            return self.covered_statement(covering, property, span, out);
        }
        match property.category {
            Category::Assertion => {
                let condition = self.expression(&property.condition, out);
                let message = Some(property.message.clone().unwrap_or_else(|| "assertion failed".to_owned()));
                let fail = vec![Statement::Fail { kind: FaultKind::Failure, message, span }];
                match simplify::known(&condition) {
                    Some(0) => out.extend(fail),
                    Some(_) => {}
                    None => out.push(Statement::If {
                        arms: vec![(simplify::not(condition), fail)],
                        otherwise: Vec::new(),
                    }),
                }
            }
            Category::Assumption => {
                let condition = self.expression(&property.condition, out);
                out.push(Statement::Assume(condition));
            }
            Category::Cover | Category::Liveness => {}
        }
    }

    fn return_statement(&mut self, value: Option<&'t Value>, span: Span, out: &mut Vec<Statement>) {
        let Some(exit) = self.exit.clone() else { return };
        if let (Some(value), Some(result)) = (value, &exit.result) {
            self.assign(result, value, span, out);
        }
        out.push(Statement::Leave(self.blocks - exit.level));
    }

    fn multiset_add(&mut self, value: &'t Value, set: &Region, span: Span, out: &mut Vec<Statement>) {
        let Form::Multiset(size, element) = *self.tree.types.form(set.type_id) else { return };
        let source = self.temporary("element", element, span);
        self.assign(&source, value, span, out);
        let set = self.settled(set.clone(), span, out);
        let counter = self.unscoped_number("slot", Domain::new(0, i64::from(size) - 1), span);
        self.fixed.insert(counter);
        let add = self.block(None, |lowerer, out| {
            let slot = Expression::read(counter, span);
            let present = lowerer.present(&set, slot.clone(), span);
            let free = simplify::not(super::values::load(present.clone(), span));
            let one = Expression::constant(1, span);
            let mut body = vec![Statement::Assign(vec![Assignment { place: present, value: one, span }])];
            let target = set.clone().element(&lowerer.tree.types, slot, span);
            lowerer.copy(&target, &source, span, &mut body);
            body.push(Statement::Leave(0));
            let round = vec![Statement::If { arms: vec![(free, body)], otherwise: Vec::new() }];
            out.push(Statement::For { counter, from: 0, to: i64::from(size) - 1, step: 1, body: round });
            let message = Some("the multiset is full".to_owned());
            out.push(Statement::Fail { kind: FaultKind::Failure, message, span });
        });
        out.push(add);
    }

    fn multiset_remove(&mut self, set: &Region, slot: Expression, span: Span, out: &mut Vec<Statement>) {
        let place = self.present(set, slot.clone(), span);
        out.push(Statement::Assign(vec![Assignment { place, value: Expression::constant(0, span), span }]));
        let element = set.clone().element(&self.tree.types, slot, span);
        self.undefine(&element, span, out);
    }

    fn multiset_remove_where(
        &mut self,
        local: LocalId,
        set: &Region,
        condition: &'t Value,
        span: Span,
        out: &mut Vec<Statement>,
    ) {
        let Form::Multiset(size, _) = *self.tree.types.form(set.type_id) else { return };
        let set = self.settled(set.clone(), span, out);
        let high = i64::from(size) - 1;
        let (counter, binding) = self.counter(local, Domain::new(0, high));
        let slot = Expression::read(counter, span);
        let present = self.is_present(&set, slot.clone(), span);
        let condition = self.with(local, binding, |lowerer| lowerer.apart(condition));
        let mut removal = Vec::new();
        self.multiset_remove(&set, slot, span, &mut removal);
        let arms = vec![(simplify::all(vec![present, condition], span), removal)];
        let body = vec![Statement::If { arms, otherwise: Vec::new() }];
        out.push(Statement::For { counter, from: 0, to: high, step: 1, body });
    }
}

/// A choice that is being made: tests one after the other, in levels where one needs statements of its own.
#[derive(Default)]
struct Choice {
    levels: Vec<Level>,
}

/// Statements, and the tests that need nothing else.
#[derive(Default)]
struct Level {
    before: Vec<Statement>,
    arms: Vec<(Expression, Vec<Statement>)>,
}

impl Choice {
    /// Statements are run before the next test.
    fn prepare(&mut self, before: Vec<Statement>) {
        match self.levels.last_mut() {
            Some(_) if before.is_empty() => {}
            Some(level) if level.arms.is_empty() => level.before.extend(before),
            _ => self.levels.push(Level { before, arms: Vec::new() }),
        }
    }

    fn add(&mut self, condition: Expression, then: Vec<Statement>) {
        if let Some(level) = self.levels.last_mut() {
            level.arms.push((condition, then));
        }
    }

    /// The statements of the whole choice. A choice that is all there is on the other side has its tests among these.
    fn closed(self, otherwise: Vec<Statement>) -> Vec<Statement> {
        self.levels.into_iter().rev().fold(otherwise, |mut other, Level { mut before, mut arms }| {
            if arms.is_empty() {
                // Nothing follows what ends the way.
                if !matches!(before.last(), Some(Statement::Leave(_) | Statement::Fail { .. })) {
                    before.append(&mut other);
                }
                return before;
            }
            if other.len() == 1
                && let Some(Statement::If { arms: more, otherwise }) =
                    other.pop_if(|it| matches!(it, Statement::If { .. }))
            {
                arms.extend(more);
                other = otherwise;
            }
            before.push(Statement::If { arms, otherwise: other });
            before
        })
    }
}

impl Value {
    /// Whether it is the word `undefined`.
    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self.kind, ValueKind::Undefined)
    }
}
