//! What do functions, rules and statements mean?
//!
//! Guards and properties must not change the state. A function is declared before its body is read, so it may call itself, but not one that
//! comes later.

use fathom_model::span::Span;

use super::ast::{self, Category, Item, RuleKind};
use super::resolve::{Checker, Owner, Symbol};
use super::tree::{
    Alias, Block, Function, FunctionId, Parameter, Place, Property, Rule, Statement, StatementKind, ValueKind,
};
use super::types::{Form, TypeId};
use crate::diagnostic::Diagnostic;

/// The priority of a rule that states none.
const PRIORITY: i64 = 50;

impl Checker<'_> {
    /// A function or procedure.
    pub(crate) fn function(&mut self, tree: &ast::Function<'_>) {
        let result = tree.result.as_ref().map(|result| self.variable_type(result));
        let id = FunctionId(self.tree.functions.len() as u32);
        self.declare(tree.name, Symbol::Function(id));
        self.tree.functions.push(Function {
            name: tree.name.text.to_owned(),
            parameters: Vec::new(),
            result,
            variables: Vec::new(),
            body: Vec::new(),
            writes_state: false,
            writes_parameters: false,
            span: tree.name.span,
        });
        self.body = super::resolve::Body { function: Some(id), result, ..Default::default() };
        self.scoped(|checker| {
            for parameter in &tree.parameters {
                let type_id = checker.variable_type(&parameter.parameter_type);
                for name in &parameter.names {
                    let by_reference = parameter.by_reference;
                    let owner = if by_reference { Owner::Caller } else { Owner::Block };
                    let local = checker.local(*name, type_id, by_reference, owner);
                    checker.tree.functions[id.index()].parameters.push(Parameter { local, by_reference });
                }
            }
            let (variables, body) = checker.scoped(|checker| {
                (checker.block_declarations(&tree.declarations), checker.statements(&tree.body))
            });
            let function = &mut checker.tree.functions[id.index()];
            function.variables = variables;
            function.body = body;
            function.writes_state = checker.body.writes_state;
            function.writes_parameters = checker.body.writes_parameters;
        });
        self.body = Default::default();
    }

    /// A rule; a ruleset of several names becomes rulesets of one.
    pub(crate) fn rule(&mut self, tree: &ast::Rule<'_>) -> Vec<Rule> {
        match &tree.kind {
            RuleKind::Simple(block) => vec![Rule::Simple(self.block(block, tree.span))],
            RuleKind::Start(block) => vec![Rule::Start(self.block(block, tree.span))],
            RuleKind::Property(property) => {
                let property = self.pure("a property", |checker| checker.property(property));
                vec![Rule::Property(property, tree.span)]
            }
            RuleKind::Ruleset(quantifiers, rules) => self.scoped(|checker| {
                let mut names = Vec::new();
                for quantifier in quantifiers {
                    let checked = checker.quantifier(quantifier);
                    checker.require_known(&checked);
                    names.push(checked);
                }
                let inner = checker.rules(rules);
                names
                    .into_iter()
                    .rev()
                    .fold(inner, |inner, quantifier| vec![Rule::Ruleset(quantifier, inner)])
            }),
            RuleKind::Alias(aliases, rules) => self.scoped(|checker| {
                let aliases = checker.pure("an alias around rules", |checker| checker.aliases(aliases));
                vec![Rule::Alias(aliases, checker.rules(rules))]
            }),
            RuleKind::Choose(choices, rules) => self.scoped(|checker| {
                let mut chosen = Vec::new();
                for (name, set) in choices {
                    let Some(set) = checker.multiset(set) else { continue };
                    let Form::Multiset(size, _) = *checker.tree.types.form(set.type_id) else { continue };
                    let slot = checker.tree.types.add(Form::Slot(size));
                    chosen.push((checker.local(*name, slot, false, Owner::Block), set));
                }
                let inner = checker.rules(rules);
                chosen
                    .into_iter()
                    .rev()
                    .fold(inner, |inner, (local, set)| vec![Rule::Choose(local, set, inner)])
            }),
        }
    }

    fn rules(&mut self, trees: &[ast::Rule<'_>]) -> Vec<Rule> {
        trees.iter().flat_map(|tree| self.rule(tree)).collect()
    }

    /// The values of a ruleset must be known.
    fn require_known(&mut self, quantifier: &super::tree::Quantifier) {
        if let super::tree::Values::Steps { from, to, by } = &quantifier.values {
            for value in [Some(from), Some(to), by.as_ref()].into_iter().flatten() {
                self.constant(value, "the range of a ruleset");
            }
        }
    }

    fn block(&mut self, tree: &ast::Block<'_>, span: Span) -> Block {
        self.scoped(|checker| {
            let priority = tree.priority.as_ref().map(|priority| checker.value(priority));
            let priority = priority.and_then(|value| checker.constant(&value, "a priority"));
            let guard = tree.guard.as_ref();
            let guard =
                guard.map(|guard| checker.pure("a guard", |checker| checker.condition(guard, "a guard")));
            let variables = checker.block_declarations(&tree.declarations);
            let body = checker.statements(&tree.body);
            Block {
                name: tree.name.clone(),
                priority: priority.unwrap_or(PRIORITY),
                guard,
                variables,
                body,
                span,
            }
        })
    }

    fn property(&mut self, tree: &ast::Property<'_>) -> Property {
        let what = match tree.category {
            Category::Assertion => "what is asserted",
            Category::Assumption => "what is assumed",
            Category::Cover => "what is to be covered",
            Category::Liveness => "what is to be reached",
        };
        let condition = self.condition(&tree.condition, what);
        Property { category: tree.category, message: tree.message.clone(), condition }
    }

    /// Statements.
    pub(crate) fn statements(&mut self, trees: &[ast::Statement<'_>]) -> Vec<Statement> {
        trees
            .iter()
            .filter_map(|tree| Some(Statement { kind: self.statement(tree)?, span: tree.span }))
            .collect()
    }

    /// A statement; none if it is wrong.
    fn statement(&mut self, tree: &ast::Statement<'_>) -> Option<StatementKind> {
        self.writing_call = None;
        use ast::StatementKind as Tree;
        Some(match &tree.kind {
            Tree::Assign(target, value) => return self.assignment(target, value),
            Tree::If(arms, otherwise) => self.if_statement(arms, otherwise),
            Tree::Switch(value, cases, otherwise) => self.switch(value, cases, otherwise),
            Tree::For(quantifier, body) => self.scoped(|checker| {
                let quantifier = checker.quantifier(quantifier);
                StatementKind::For(quantifier, checker.statements(body))
            }),
            Tree::While(condition, body) => {
                let condition =
                    self.conditional(|checker| checker.condition(condition, "the condition of `while`"));
                StatementKind::While(condition, self.statements(body))
            }
            Tree::Alias(aliases, body) => self.scoped(|checker| {
                let aliases = checker.aliases(aliases);
                StatementKind::Alias(aliases, checker.statements(body))
            }),
            Tree::Call(name, arguments) => StatementKind::Call(self.call(*name, arguments, tree.span)?),
            Tree::Clear(target) => {
                let place = self.target(target)?;
                self.check_clear(&place);
                StatementKind::Clear(place)
            }
            Tree::Undefine(target) => StatementKind::Undefine(self.target(target)?),
            Tree::Error(message) => StatementKind::Error(message.clone()),
            Tree::Property(property) => {
                if property.category == Category::Liveness {
                    let diagnostic = Diagnostic::error("`liveness` is not a statement").at(tree.span, "");
                    self.diagnostics.push(diagnostic.help("state it beside the rules"));
                }
                StatementKind::Property(self.property(property))
            }
            Tree::Put(value) => StatementKind::Put(value.as_ref().map(|value| self.value(value))),
            Tree::Return(value) => return self.return_statement(value.as_ref(), tree.span),
            Tree::MultisetAdd(value, set) => {
                let set = self.multiset_target(set)?;
                let Form::Multiset(_, element) = *self.tree.types.form(set.type_id) else { return None };
                let see = (set.span, "the elements of this are");
                StatementKind::MultisetAdd(self.assigned(value, element, "this element", see), set)
            }
            Tree::MultisetRemove(index, set) => {
                let index_value = self.value(index);
                let set = self.multiset_target(set)?;
                if !matches!(self.tree.types.form(index_value.type_id), Form::Slot(_) | Form::Unknown) {
                    let label = format!("this is {}", self.tree.types.describe(index_value.type_id));
                    self.error(index.span, "what is removed must be a name bound by `choose`", label);
                    return None;
                }
                StatementKind::MultisetRemove(index_value, set)
            }
            Tree::MultisetRemoveWhere(selection) => {
                let (local, set, condition) = self.selection(selection)?;
                self.note_write(&set);
                StatementKind::MultisetRemoveWhere(local, set, condition)
            }
        })
    }

    fn assignment(
        &mut self,
        target: &ast::Expression<'_>,
        value: &ast::Expression<'_>,
    ) -> Option<StatementKind> {
        let Some(place) = self.target(target) else {
            self.value(value);
            return None;
        };
        let value = self.assigned(value, place.type_id, "what is assigned", (target.span, "this is"));
        Some(StatementKind::Assign(place, value))
    }

    /// A place that is written.
    fn target(&mut self, tree: &ast::Expression<'_>) -> Option<Place> {
        let place = self.place(tree)?;
        if !place.writable {
            let diagnostic = Diagnostic::error("this cannot be assigned to").at(tree.span, "");
            let note = "parameters without `var`, quantified names and names for values can only be read";
            self.diagnostics.push(diagnostic.note(note));
            return None;
        }
        self.note_write(&place);
        Some(place)
    }

    fn multiset_target(&mut self, tree: &ast::Expression<'_>) -> Option<Place> {
        let place = self.multiset(tree)?;
        if !place.writable {
            self.error(tree.span, "this cannot be changed", "");
            return None;
        }
        self.note_write(&place);
        Some(place)
    }

    fn note_write(&mut self, place: &Place) {
        match self.owner(place) {
            Owner::State => self.body.writes_state = true,
            Owner::Caller => self.body.writes_parameters = true,
            Owner::Block => {}
        }
    }

    fn if_statement(
        &mut self,
        arms: &[(ast::Expression<'_>, Vec<ast::Statement<'_>>)],
        otherwise: &[ast::Statement<'_>],
    ) -> StatementKind {
        let arms = arms.iter().map(|(condition, body)| {
            let condition = self.condition(condition, "the condition of `if`");
            (condition, self.statements(body))
        });
        let arms = arms.collect();
        StatementKind::If(arms, self.statements(otherwise))
    }

    fn switch(
        &mut self,
        value: &ast::Expression<'_>,
        cases: &[ast::Case<'_>],
        otherwise: &[ast::Statement<'_>],
    ) -> StatementKind {
        let subject = self.value(value);
        if !self.tree.types.is_simple(subject.type_id) {
            let label = format!("this is {}", self.tree.types.describe(subject.type_id));
            self.error(value.span, "a `switch` is over a simple value", label);
        }
        let cases = cases.iter().map(|case| {
            let values = case.values.iter().map(|value| {
                self.conditional(|checker| {
                    checker.assigned(
                        value,
                        subject.type_id,
                        "this case",
                        (subject.span, "the `switch` is over"),
                    )
                })
            });
            let values = values.collect();
            (values, self.statements(&case.body))
        });
        let cases = cases.collect();
        StatementKind::Switch(subject, cases, self.statements(otherwise))
    }

    /// Names for places and values, declared in the current scope. What is known before the run stays so.
    fn aliases(&mut self, trees: &[ast::Alias<'_>]) -> Vec<Alias> {
        let mut aliases = Vec::new();
        for tree in trees {
            let value = self.value(&tree.value);
            if let Some(code) = super::fold::fold(&self.tree.types, &value) {
                self.declare(tree.name, Symbol::Constant(value.type_id, code));
                continue;
            }
            let (writable, owner) = match &value.kind {
                ValueKind::Read(place) => (place.writable, self.owner(place)),
                _ => (false, Owner::Block),
            };
            let local = self.local(tree.name, value.type_id, writable, owner);
            aliases.push(Alias { local, value });
        }
        aliases
    }

    fn return_statement(&mut self, value: Option<&ast::Expression<'_>>, span: Span) -> Option<StatementKind> {
        match (value, self.body.result) {
            (None, None) => Some(StatementKind::Return(None)),
            (Some(tree), Some(type_id)) => {
                let id = self.body.function.expect("only functions give values");
                let declared = self.tree.functions[id.index()].span;
                let value =
                    self.assigned(tree, type_id, "what is returned", (declared, "the function gives"));
                Some(StatementKind::Return(Some(value)))
            }
            (None, Some(_)) => {
                self.error(span, "a function returns a value", "none is given");
                None
            }
            (Some(tree), None) => {
                self.error(tree.span, "only functions return a value", "");
                None
            }
        }
    }

    /// `clear` needs a least value.
    fn check_clear(&mut self, place: &Place) {
        if let Some(culprit) = self.without_least(place.type_id) {
            let name = self.tree.types.describe(culprit);
            let diagnostic =
                Diagnostic::warning("`clear` chooses a value of a scalarset, which breaks its symmetry");
            let diagnostic = diagnostic.at(place.span, format!("part of this is {name}"));
            self.diagnostics.push(diagnostic.help("use `undefine`"));
        }
        self.tell_apart(place.type_id);
    }

    /// Notes the scalarsets of which a type's least value has a value.
    fn tell_apart(&mut self, type_id: TypeId) {
        match self.tree.types.form(type_id).clone() {
            Form::Scalarset(_) => self.tree.told_apart.push(type_id),
            Form::Union(members) => members.first().into_iter().for_each(|first| self.tell_apart(*first)),
            Form::Record(fields) => fields.iter().for_each(|(_, field)| self.tell_apart(*field)),
            Form::Array(_, element) => self.tell_apart(element),
            _ => {}
        }
    }

    /// A part of a type whose values have no order.
    fn without_least(&self, type_id: TypeId) -> Option<TypeId> {
        match self.tree.types.form(type_id) {
            Form::Scalarset(_) | Form::Union(_) => Some(type_id),
            Form::Record(fields) => fields.iter().find_map(|(_, field)| self.without_least(*field)),
            Form::Array(_, element) => self.without_least(*element),
            _ => None,
        }
    }
}

/// Whether a model has a start.
pub(crate) fn has_start(items: &[Item<'_>]) -> bool {
    fn holds_start(rule: &ast::Rule<'_>) -> bool {
        match &rule.kind {
            RuleKind::Start(_) => true,
            RuleKind::Ruleset(_, rules) | RuleKind::Alias(_, rules) | RuleKind::Choose(_, rules) => {
                rules.iter().any(holds_start)
            }
            _ => false,
        }
    }
    items.iter().any(|item| matches!(item, Item::Rule(rule) if holds_start(rule)))
}
