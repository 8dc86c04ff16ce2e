//! Which names does a Murphi text declare, and where is each of them used?
//!
//! Fields belong to the type of what stands before the dot: types are followed by the trees of their declarations.

use std::collections::HashMap;

use fathom_model::span::Span;

use super::ast::{
    Alias, Block, Category, Declaration, Expression, ExpressionKind, Function, Item, Model, Name, Property,
    Quantifier, Rule, RuleKind, Selection, Statement, StatementKind, Type, TypeKind, Values,
};
use crate::names::{Definition, NameKind, Names, Scopes};

/// The names of a model, however much of it was understood.
pub(crate) fn names(model: &Model<'_>) -> Names {
    let mut walk = Walk { scopes: Scopes::new(), types: HashMap::new(), fields: HashMap::new(), depth: 0 };
    for item in &model.items {
        match item {
            Item::Declaration(declaration) => walk.declaration(declaration),
            Item::Function(function) => walk.function(function),
            Item::Rule(rule) => walk.rule(rule),
        }
    }
    walk.scopes.finish()
}

struct Walk<'t, 's> {
    scopes: Scopes,
    /// The types of definitions, and what names of types stand for.
    types: HashMap<usize, &'t Type<'s>>,
    /// The definitions of fields, by the place of their names.
    fields: HashMap<Span, usize>,
    /// How much is open around what is walked that has names of its own.
    depth: u32,
}

impl<'t, 's> Walk<'t, 's> {
    fn inside(&mut self, part: impl FnOnce(&mut Self)) {
        self.scopes.open();
        self.depth += 1;
        part(self);
        self.depth -= 1;
        self.scopes.close();
    }

    fn declaration(&mut self, declaration: &'t Declaration<'s>) {
        match declaration {
            Declaration::Constant(names, value) => {
                self.expression(value);
                self.declare(names, NameKind::Constant, value.span, None);
            }
            Declaration::Type(names, tree) => self.typed(names, NameKind::Type, tree),
            Declaration::Variable(names, tree) => {
                let kind = if self.depth == 0 { NameKind::Variable } else { NameKind::Local };
                self.typed(names, kind, tree);
            }
        }
    }

    /// Names of a type, or of something of that type; its own names are part of the first.
    fn typed(&mut self, names: &[Name<'s>], kind: NameKind, tree: &'t Type<'s>) {
        let first = self.declare(names, kind, tree.span, Some(tree));
        self.type_tree(tree, first);
    }

    /// Declares names; gives the number of the first.
    fn declare(
        &mut self,
        names: &[Name<'s>],
        kind: NameKind,
        end: Span,
        tree: Option<&'t Type<'s>>,
    ) -> Option<usize> {
        let mut first = None;
        for name in names {
            let number = self.scopes.declare(definition(*name, kind, end, None));
            self.types.extend(tree.map(|tree| (number, tree)));
            first = first.or(Some(number));
        }
        first
    }

    fn type_tree(&mut self, tree: &'t Type<'s>, part_of: Option<usize>) {
        match &tree.kind {
            TypeKind::Boolean => {}
            TypeKind::Named(name) => _ = self.refer(*name),
            TypeKind::Range(low, high) => {
                self.expression(low);
                self.expression(high);
            }
            TypeKind::Enum(values) => {
                for value in values {
                    self.scopes.declare(definition(*value, NameKind::Value, value.span, part_of));
                }
            }
            TypeKind::Scalarset(size) => self.expression(size),
            TypeKind::Union(members) => members.iter().for_each(|member| self.type_tree(member, part_of)),
            TypeKind::Record(fields) => {
                for (names, field_type) in fields {
                    for name in names {
                        let field = definition(*name, NameKind::Field, field_type.span, part_of);
                        let number = self.scopes.define(field);
                        self.fields.insert(name.span, number);
                    }
                    self.type_tree(field_type, part_of);
                }
            }
            TypeKind::Array(index, element) => {
                self.type_tree(index, part_of);
                self.type_tree(element, part_of);
            }
            TypeKind::Multiset(size, element) => {
                self.expression(size);
                self.type_tree(element, part_of);
            }
        }
    }

    fn function(&mut self, function: &'t Function<'s>) {
        // It may call itself.
        self.scopes.declare(definition(function.name, NameKind::Function, function.span, None));
        self.inside(|walk| {
            for parameter in &function.parameters {
                walk.typed(&parameter.names, NameKind::Local, &parameter.parameter_type);
            }
            function.result.iter().for_each(|result| walk.type_tree(result, None));
            function.declarations.iter().for_each(|declaration| walk.declaration(declaration));
            walk.statements(&function.body);
        });
    }

    fn rule(&mut self, rule: &'t Rule<'s>) {
        match &rule.kind {
            RuleKind::Simple(block) => self.block(block, rule.span, "rule"),
            RuleKind::Start(block) => self.block(block, rule.span, "startstate"),
            RuleKind::Property(property) => {
                let kind = match property.category {
                    Category::Assertion => "invariant",
                    Category::Assumption => "assume",
                    Category::Cover => "cover",
                    Category::Liveness => "liveness",
                };
                let name = property.message.clone().unwrap_or_else(|| kind.to_owned());
                self.unnamed(name, NameKind::Property, rule.span);
                self.property(property);
            }
            RuleKind::Ruleset(quantifiers, rules) => self.inside(|walk| {
                quantifiers.iter().for_each(|quantifier| walk.quantifier(quantifier));
                rules.iter().for_each(|rule| walk.rule(rule));
            }),
            RuleKind::Alias(aliases, rules) => self.inside(|walk| {
                aliases.iter().for_each(|alias| walk.alias(alias));
                rules.iter().for_each(|rule| walk.rule(rule));
            }),
            RuleKind::Choose(choices, rules) => self.inside(|walk| {
                for (name, set) in choices {
                    walk.expression(set);
                    walk.declare(&[*name], NameKind::Local, set.span, None);
                }
                rules.iter().for_each(|rule| walk.rule(rule));
            }),
        }
    }

    /// Something that is not named by a word.
    fn unnamed(&mut self, name: String, kind: NameKind, whole: Span) {
        let span = Span::new(whole.start, whole.start);
        self.scopes.define(Definition { name, kind, span, whole, part_of: None });
    }

    fn block(&mut self, block: &'t Block<'s>, whole: Span, word: &str) {
        self.unnamed(block.name.clone().unwrap_or_else(|| word.to_owned()), NameKind::Rule, whole);
        self.inside(|walk| {
            block.priority.iter().chain(&block.guard).for_each(|expression| walk.expression(expression));
            block.declarations.iter().for_each(|declaration| walk.declaration(declaration));
            walk.statements(&block.body);
        });
    }

    fn property(&mut self, property: &'t Property<'s>) {
        self.expression(&property.condition);
    }

    fn quantifier(&mut self, quantifier: &'t Quantifier<'s>) {
        let tree = match &quantifier.values {
            Values::Of(tree) => {
                self.type_tree(tree, None);
                Some(tree)
            }
            Values::Steps { from, to, by } => {
                [Some(from), Some(to), by.as_ref()]
                    .into_iter()
                    .flatten()
                    .for_each(|end| self.expression(end));
                None
            }
        };
        self.declare(&[quantifier.name], NameKind::Local, quantifier.span, tree);
    }

    fn alias(&mut self, alias: &'t Alias<'s>) {
        self.expression(&alias.value);
        let tree = self.type_of(&alias.value);
        self.declare(&[alias.name], NameKind::Local, alias.value.span, tree);
    }

    fn selection(&mut self, selection: &'t Selection<'s>) {
        self.expression(&selection.set);
        self.inside(|walk| {
            walk.declare(&[selection.name], NameKind::Local, selection.set.span, None);
            walk.expression(&selection.condition);
        });
    }

    fn statements(&mut self, statements: &'t [Statement<'s>]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &'t Statement<'s>) {
        match &statement.kind {
            StatementKind::Assign(left, right)
            | StatementKind::MultisetAdd(left, right)
            | StatementKind::MultisetRemove(left, right) => {
                self.expression(left);
                self.expression(right);
            }
            StatementKind::If(branches, otherwise) => {
                for (condition, body) in branches {
                    self.expression(condition);
                    self.statements(body);
                }
                self.statements(otherwise);
            }
            StatementKind::Switch(value, cases, otherwise) => {
                self.expression(value);
                for case in cases {
                    case.values.iter().for_each(|value| self.expression(value));
                    self.statements(&case.body);
                }
                self.statements(otherwise);
            }
            StatementKind::For(quantifier, body) => self.inside(|walk| {
                walk.quantifier(quantifier);
                walk.statements(body);
            }),
            StatementKind::While(condition, body) => {
                self.expression(condition);
                self.statements(body);
            }
            StatementKind::Alias(aliases, body) => self.inside(|walk| {
                aliases.iter().for_each(|alias| walk.alias(alias));
                walk.statements(body);
            }),
            StatementKind::Call(name, arguments) => {
                self.refer(*name);
                arguments.iter().for_each(|argument| self.expression(argument));
            }
            StatementKind::Clear(place) | StatementKind::Undefine(place) => self.expression(place),
            StatementKind::Error(_) => {}
            StatementKind::Property(property) => self.property(property),
            StatementKind::Put(value) | StatementKind::Return(value) => {
                value.iter().for_each(|value| self.expression(value));
            }
            StatementKind::MultisetRemoveWhere(selection) => self.selection(selection),
        }
    }

    fn expression(&mut self, expression: &'t Expression<'s>) {
        match &expression.kind {
            ExpressionKind::Number(_) | ExpressionKind::Boolean(_) | ExpressionKind::Undefined => {}
            ExpressionKind::Name(name) => _ = self.refer(*name),
            ExpressionKind::Field(record, field) => {
                self.expression(record);
                if let Some((span, _)) = self.type_of(record).and_then(|tree| self.field(tree, field.text))
                    && let Some(definition) = self.fields.get(&span)
                {
                    self.scopes.used(field.span, *definition);
                }
            }
            ExpressionKind::Element(array, index) => {
                self.expression(array);
                self.expression(index);
            }
            ExpressionKind::Call(name, arguments) => {
                self.refer(*name);
                arguments.iter().for_each(|argument| self.expression(argument));
            }
            ExpressionKind::Unary(_, operand) | ExpressionKind::IsUndefined(operand) => {
                self.expression(operand);
            }
            ExpressionKind::Binary(_, left, right) | ExpressionKind::Imply(left, right) => {
                self.expression(left);
                self.expression(right);
            }
            ExpressionKind::Chain(_, operands) => {
                operands.iter().for_each(|operand| self.expression(operand));
            }
            ExpressionKind::Conditional(parts) => parts.iter().for_each(|part| self.expression(part)),
            ExpressionKind::Quantified(_, quantifier, body) => self.inside(|walk| {
                walk.quantifier(quantifier);
                walk.expression(body);
            }),
            ExpressionKind::IsMember(value, tree) => {
                self.expression(value);
                self.type_tree(tree, None);
            }
            ExpressionKind::MultisetCount(selection) => self.selection(selection),
        }
    }

    fn refer(&mut self, name: Name<'s>) -> Option<usize> {
        self.scopes.refer(name.text, name.span)
    }

    /// The tree of the type of a place, as far as declarations tell it.
    fn type_of(&self, place: &'t Expression<'s>) -> Option<&'t Type<'s>> {
        match &place.kind {
            ExpressionKind::Name(name) => self.types.get(&self.scopes.lookup(name.text)?).copied(),
            ExpressionKind::Field(record, field) => {
                self.field(self.type_of(record)?, field.text).map(|(_, tree)| tree)
            }
            ExpressionKind::Element(array, _) => match &self.structure(self.type_of(array)?)?.kind {
                TypeKind::Array(_, element) | TypeKind::Multiset(_, element) => Some(element),
                _ => None,
            },
            _ => None,
        }
    }

    /// Where a field of a type is declared, and its type.
    fn field(&self, tree: &'t Type<'s>, name: &str) -> Option<(Span, &'t Type<'s>)> {
        let TypeKind::Record(fields) = &self.structure(tree)?.kind else { return None };
        fields.iter().find_map(|(names, tree)| {
            names.iter().find(|field| field.text == name).map(|field| (field.span, tree))
        })
    }

    /// A type that is not the name of another.
    fn structure(&self, mut tree: &'t Type<'s>) -> Option<&'t Type<'s>> {
        // Names that stand for one another in a circle are an error that others tell of.
        for _ in 0..NAMES_MAX {
            let TypeKind::Named(name) = &tree.kind else { return Some(tree) };
            tree = self.types.get(&self.scopes.lookup(name.text)?)?;
        }
        None
    }
}

/// How many names of types in a row are followed.
const NAMES_MAX: usize = 64;

fn definition(name: Name<'_>, kind: NameKind, end: Span, part_of: Option<usize>) -> Definition {
    Definition { name: name.text.to_owned(), kind, span: name.span, whole: name.span.to(end), part_of }
}
