//! Is a `cover` statement ever met with its condition true?
//!
//! A statement is no property of states, but whether some rule would meet it from a state is one. So it becomes a label: each rule that holds the statement, itself or in
//! what it calls, is run on a copy of the state, which is thrown away. Where the rule would end early (`assume`, `error`, `assert`), the copy does, too.

use std::collections::{HashMap, HashSet};

use fathom_model::expression::{Domain, Expression};
use fathom_model::program::{LabelKind, Statement};
use fathom_model::span::Span;

use super::actions::{Around, Found};
use super::ast::Category;
use super::calls;
use super::covering::Covering;
use super::layout::Region;
use super::lower::{Binding, Lowerer};
use super::simplify;
use super::tree::{self, Block, FunctionId, Property, StatementKind};
use super::types::Form;
use super::values::store;
use crate::diagnostic::Diagnostics;

impl<'t> Lowerer<'t> {
    /// A label for each `cover` statement in rules.
    pub(crate) fn cover_statements(
        &mut self,
        rules: &[Found<'t, &'t Block>],
        number: &mut usize,
        diagnostics: &mut Diagnostics,
    ) {
        let tree = self.tree;
        let mut all: Vec<(Span, &'t Property, Vec<usize>)> = Vec::new();
        let mut places: HashMap<Span, usize> = HashMap::new();
        for (rule, found) in rules.iter().enumerate() {
            if self.is_exhausted() || diagnostics.error_count() > 0 {
                return;
            }
            each_cover(tree, &found.what.body, &mut |span, property| {
                let place = *places.entry(span).or_insert(all.len());
                if place == all.len() {
                    all.push((span, property, Vec::new()));
                }
                let holders = &mut all[place].2;
                if holders.last() != Some(&rule) {
                    holders.push(rule);
                }
            });
        }
        for (span, property, holders) in all {
            if self.is_exhausted() || diagnostics.error_count() > 0 {
                return;
            }
            *number += 1;
            let name = property.message.clone().unwrap_or_else(|| format!("cover {number}"));
            let each = holders.iter().map(|rule| {
                let Found { around, what } = &rules[*rule];
                self.would_meet(around, what, span)
            });
            let expression = simplify::any(each.collect(), span);
            self.label(name, LabelKind::Cover, expression, span, diagnostics);
        }
    }

    /// Whether a rule, in any of its instances, would meet a statement with its condition true.
    fn would_meet(&mut self, around: &[Around<'t>], block: &'t Block, statement: Span) -> Expression {
        self.any_instance(around, block.span, &mut |lowerer| {
            lowerer.computation(statement, |lowerer, out| {
                let hit = lowerer.number("hit", Domain::new(0, 1), statement);
                out.push(store(hit, Expression::constant(0, statement), statement));
                let guard = lowerer.guard(around, block);
                let mut body = Vec::new();
                let (shadow, state) = lowerer.shadow(statement, &mut body);
                let run = lowerer.block(None, |lowerer, out| {
                    let (level, computations) = (lowerer.blocks, lowerer.computations);
                    let covering = Covering { statement, hit, level, computations };
                    let outer = lowerer.covering.replace(covering);
                    lowerer.state = shadow;
                    lowerer.bind_aliases_around(around, out);
                    lowerer.declare(&block.variables);
                    lowerer.statements(&block.body, out);
                    lowerer.state = state;
                    lowerer.covering = outer;
                });
                body.push(run);
                out.push(Statement::If { arms: vec![(guard, body)], otherwise: Vec::new() });
                Expression::read(hit, statement)
            })
        })
    }

    /// A copy of the state in temporaries, and the state itself.
    fn shadow(&mut self, span: Span, out: &mut Vec<Statement>) -> (Vec<Region>, Vec<Region>) {
        let state = self.state.clone();
        let mut shadow = Vec::new();
        for (region, global) in state.iter().zip(&self.tree.globals) {
            let copy = self.temporary(&global.name, region.type_id, span);
            self.copy(&copy, region, span, out);
            shadow.push(copy);
        }
        (shadow, state)
    }

    /// What becomes of a demand while a rule is run on a copy of the state.
    pub(crate) fn covered_statement(
        &mut self,
        covering: Covering,
        property: &'t Property,
        span: Span,
        out: &mut Vec<Statement>,
    ) {
        // What is computed on the side, as the right of `&`, cannot end the run, and has no `cover` that counts.
        if covering.computations != self.computations {
            return;
        }
        let is_meant = property.category == Category::Cover && covering.statement == span;
        if property.category == Category::Cover && !is_meant {
            return;
        }
        let condition = self.expression(&property.condition, out);
        let (condition, then) = match is_meant {
            true => (condition, store(covering.hit, Expression::constant(1, span), span)),
            false => (simplify::not(condition), Statement::Leave(self.blocks - covering.level)),
        };
        match simplify::known(&condition) {
            Some(0) => {}
            Some(_) => out.push(then),
            None => out.push(Statement::If { arms: vec![(condition, vec![then])], otherwise: Vec::new() }),
        }
    }

    /// Ends the run on a copy of the state, if that can be done from here.
    pub(crate) fn end_copy(&self, out: &mut Vec<Statement>) {
        if let Some(covering) = self.covering.filter(|it| it.computations == self.computations) {
            out.push(Statement::Leave(self.blocks - covering.level));
        }
    }

    /// Whether a condition holds of some instance of what is inside.
    fn any_instance(
        &mut self,
        around: &[Around<'t>],
        span: Span,
        condition: &mut dyn FnMut(&mut Self) -> Expression,
    ) -> Expression {
        if !self.spend() {
            return Expression::constant(0, span);
        }
        let Some((first, rest)) = around.split_first() else { return condition(self) };
        match first {
            Around::Aliases(_) => self.any_instance(rest, span, condition),
            Around::Names(quantifier) => self.quantified(false, quantifier, span, &mut |lowerer| {
                lowerer.any_instance(rest, span, condition)
            }),
            Around::Choice(local, set) => {
                let Form::Multiset(size, _) = *self.tree.types.form(set.type_id) else {
                    return Expression::constant(0, span);
                };
                let each = (0..i64::from(size)).map(|slot| {
                    self.with(*local, Binding::Constant(slot), |lowerer| {
                        lowerer.any_instance(rest, span, condition)
                    })
                });
                let each = each.collect();
                simplify::any(each, span)
            }
        }
    }
}

/// Visits the `cover` statements of a body and of what it calls. Calls may lead far: those still to be followed wait in a list.
fn each_cover<'t>(
    tree: &'t tree::Tree,
    body: &'t [tree::Statement],
    visit: &mut dyn FnMut(Span, &'t Property),
) {
    let mut called: HashSet<FunctionId> = HashSet::new();
    let mut waiting: Vec<FunctionId> = Vec::new();
    let mut next = Some(body);
    while let Some(body) = next.take() {
        covers_in(body, visit);
        let mut functions = Vec::new();
        for statement in body {
            calls::visit_statement(statement, &mut |call| functions.push(call.function));
        }
        // The first call is followed first.
        waiting.extend(functions.into_iter().rev());
        while let Some(function) = waiting.pop() {
            if called.insert(function) {
                next = Some(&tree.functions[function.index()].body);
                break;
            }
        }
    }
}

/// Visits the `cover` statements of a body itself.
fn covers_in<'t>(body: &'t [tree::Statement], visit: &mut dyn FnMut(Span, &'t Property)) {
    for statement in body {
        match &statement.kind {
            StatementKind::Property(property) if property.category == Category::Cover => {
                visit(statement.span, property);
            }
            _ => calls::bodies(statement).into_iter().for_each(|body| covers_in(body, visit)),
        }
    }
}
