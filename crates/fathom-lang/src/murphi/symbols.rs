//! What do a model's names mean outside its text, and how is a state told in the model's words?

use std::collections::HashMap;
use std::sync::Arc;

use fathom_model::expression::Expression;
use fathom_model::program::{Variable, Words};
use fathom_model::structure::{Indices, Part, Structure};

use super::ast;
use super::layout::{self, Region};
use super::lower::{StateName, lower_condition};
use super::resolve::{Checker, Scope, Symbol};
use super::tree::{Tree, Value};
use super::types::{Form, TypeId};
use crate::diagnostic::{Diagnostic, Diagnostics};

/// The names of a model.
#[derive(Clone, Debug)]
pub struct Symbols {
    pub(crate) tree: Tree,
    pub(crate) scope: Scope,
    pub(crate) state: Vec<Region>,
    pub(crate) names: Vec<StateName>,
    /// The variables of the program's state.
    pub(crate) variables: Vec<Variable>,
    /// Whether states that are alike are to be one.
    pub(crate) symmetric: bool,
}

impl Symbols {
    /// An element of a variable of the state as the model names it, as in `net[2].source`.
    fn place(&self, variable: usize, element: u32) -> Option<String> {
        let name = self.names.get(variable)?;
        let mut rest = u64::from(self.variables[variable].elements());
        let mut position = u64::from(element);
        let mut text = name.variable.clone();
        for part in &name.path {
            let size = match part {
                layout::Part::Field(field) => {
                    text.push('.');
                    text.push_str(field);
                    continue;
                }
                layout::Part::Index(index) => self.tree.types.size(*index),
                layout::Part::Slot(size) => u64::from(*size),
            };
            rest /= size.max(1);
            let number = position / rest.max(1);
            position %= rest.max(1);
            let word = match part {
                layout::Part::Index(index) => {
                    let low = self.tree.types.domain(*index).map_or(0, |domain| domain.low);
                    self.tree.types.word(*index, low + number as i64)
                }
                _ => number.to_string(),
            };
            text.push_str(&format!("[{word}]"));
        }
        if name.present {
            text.push_str(" present");
        }
        Some(text)
    }

    /// What the model calls the parts of its state.
    pub(crate) fn words(&self) -> Words {
        let mut words = Words::default();
        // Variables of one type have one list of words.
        let mut shared: HashMap<TypeId, Arc<[String]>> = HashMap::new();
        for (number, name) in self.names.iter().enumerate() {
            let variable = &self.variables[number];
            let places = (0..variable.elements()).filter_map(|element| self.place(number, element));
            words.places.push(places.collect());
            let types = &self.tree.types;
            let values = shared.entry(name.value).or_insert_with(|| match types.form(name.value) {
                Form::Range(_) => Arc::default(),
                _ => (variable.domain.low..=variable.domain.high)
                    .map(|code| types.word(name.value, code))
                    .collect(),
            });
            words.values.push(Arc::clone(values));
        }
        words
    }

    /// How the model's text nests the values of its states.
    pub(crate) fn structure(&self) -> Structure {
        let globals = self.tree.globals.iter().zip(&self.state);
        let variables = globals.map(|(global, region)| {
            let first = region.leaves.first().map_or(0, |leaf| leaf.0);
            (global.name.clone(), self.part(global.type_id, first))
        });
        Structure { variables: variables.collect() }
    }

    /// What a type is made of whose leaves are held by the variables from one on.
    fn part(&self, type_id: TypeId, first: u32) -> Part {
        let types = &self.tree.types;
        let after = |leaves: u64| first + leaves as u32;
        match types.form(type_id) {
            Form::Record(fields) => {
                let part = |(place, (name, field)): (usize, &(String, TypeId))| {
                    (name.clone(), self.part(*field, after(fields.leaves_before(place))))
                };
                Part::Record(fields.iter().enumerate().map(part).collect())
            }
            Form::Array(index, element) => {
                Part::Array(self.indices(*index), Box::new(self.part(*element, first)))
            }
            Form::Multiset(size, element) => Part::Multiset {
                size: *size,
                present: after(types.leaves(*element)),
                element: Box::new(self.part(*element, first)),
            },
            _ => Part::Value(first),
        }
    }

    fn indices(&self, index: TypeId) -> Indices {
        let types = &self.tree.types;
        match (types.form(index), types.domain(index)) {
            (Form::Range(domain), _) if domain.low == 0 => Indices::Upto(types.size(index) as u32),
            (_, Some(domain)) => {
                Indices::Named((domain.low..=domain.high).map(|code| types.word(index, code)).collect())
            }
            (_, None) => Indices::Upto(0),
        }
    }

    /// The names of the model, and those of the values of its scalarsets as traces call them (`process_1`), which its own text cannot name.
    fn outside_scope(&self) -> Scope {
        let mut scope = self.scope.clone();
        let types = self.scope.iter().filter_map(|(name, (symbol, span))| match symbol {
            Symbol::Type(type_id) => Some((name, *type_id, *span)),
            _ => None,
        });
        for (name, type_id, span) in types {
            let Form::Scalarset(size) = *self.tree.types.form(type_id) else { continue };
            for code in 0..i64::from(size) {
                let value = (Symbol::Constant(type_id, code), span);
                scope.entry(format!("{name}_{}", code + 1)).or_insert(value);
            }
        }
        scope
    }

    /// A condition over the state.
    pub(crate) fn condition(
        &self,
        tree: &ast::Expression<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Expression> {
        self.asked(tree, diagnostics, |checker| {
            checker.pure("a property", |checker| checker.condition(tree, "a property"))
        })
    }

    /// A number for the state.
    pub(crate) fn number(
        &self,
        tree: &ast::Expression<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Expression> {
        self.asked(tree, diagnostics, |checker| {
            checker.pure("a measure", |checker| checker.numeric(tree, "a measure"))
        })
    }

    fn asked(
        &self,
        tree: &ast::Expression<'_>,
        diagnostics: &mut Diagnostics,
        check: impl FnOnce(&mut Checker<'_>) -> Value,
    ) -> Option<Expression> {
        let mut checker = Checker::new(self.tree.clone(), self.outside_scope(), diagnostics);
        let condition = check(&mut checker);
        let (checked, named_values) = (checker.tree, checker.named_values);
        for (span, type_id) in named_values.iter().filter(|_| self.symmetric) {
            let name = checked.types.describe(*type_id);
            let diagnostic = Diagnostic::error(
                "this distinguishes symmetric states, which symmetry reduction treats as one",
            );
            let diagnostic = diagnostic.at(*span, format!("this is one value of {name}"));
            let help = "quantify over the scalarset (`forall`, `exists`), or give `--symmetry off`";
            diagnostics.push(diagnostic.help(help));
        }
        if diagnostics.error_count() > 0 {
            return None;
        }
        let lowered = lower_condition(&checked, self.symmetric, &self.state, &self.variables, &condition);
        if lowered.is_none() {
            let diagnostic =
                Diagnostic::error("calls and quantifiers over many values are not supported here");
            let help = "state it as an `invariant` in the model, and ask for it with `--property`";
            diagnostics.push(diagnostic.at(tree.span, "").help(help));
        }
        lowered
    }
}
