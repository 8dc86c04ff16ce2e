//! Which actions, starts and labels do the rules of a model give?
//!
//! Actions come in the order of the text; those of one rule by the values of the names around it, the outermost counted slowest. Of
//! enabled rules only those of the least priority number fire, so where priorities differ, a guard says that no rule with a
//! lower number is enabled.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use fathom_model::expression::{Domain, Expression, ExpressionKind};
use fathom_model::program::{
    Action, Chosen, Command, LABELS_MAX, Label, LabelKind, Place as Target, Start, Statement, VariableId,
};
use fathom_model::span::Span;

use super::ast::Category;
use super::layout::{self, Leaf, Part, Region};
use super::lower::{Binding, Lowerer};
use super::simplify;
use super::tree::{Alias, Block, LocalId, Place, Property, Quantifier, Rule};
use super::types::{Form, TypeId};
use crate::diagnostic::{Diagnostic, Diagnostics};

/// The most actions, and the most starts, a program may have.
const INSTANCES_MAX: usize = 1_000_000;

/// How many parts of a chosen element are told.
const PARTS_MAX: usize = 12;

/// Of elements with more parts than this none is told.
const LEAVES_MAX: u64 = 256;

/// The most labels of a model's own; a search may need one or two for itself.
const STATED_MAX: usize = LABELS_MAX - 2;

/// What is around a rule.
#[derive(Clone, Copy)]
pub(crate) enum Around<'t> {
    Names(&'t Quantifier),
    Aliases(&'t [Alias]),
    Choice(LocalId, &'t Place),
}

/// A rule with what is around it, the outermost first.
pub(crate) struct Found<'t, T> {
    pub(crate) around: Vec<Around<'t>>,
    pub(crate) what: T,
}

/// The rules of a model, by what they are.
#[derive(Default)]
struct Rules<'t> {
    simple: Vec<Found<'t, &'t Block>>,
    starts: Vec<Found<'t, &'t Block>>,
    properties: Vec<Found<'t, (&'t Property, Span)>>,
}

fn collect<'t>(rules: &'t [Rule], around: &mut Vec<Around<'t>>, out: &mut Rules<'t>) {
    for rule in rules {
        let (outer, inner) = match rule {
            Rule::Simple(block) => {
                out.simple.push(Found { around: around.clone(), what: block });
                continue;
            }
            Rule::Start(block) => {
                out.starts.push(Found { around: around.clone(), what: block });
                continue;
            }
            Rule::Property(property, span) => {
                out.properties.push(Found { around: around.clone(), what: (property, *span) });
                continue;
            }
            Rule::Ruleset(quantifier, inner) => (Around::Names(quantifier), inner),
            Rule::Alias(aliases, inner) => (Around::Aliases(aliases), inner),
            Rule::Choose(local, set, inner) => (Around::Choice(*local, set), inner),
        };
        around.push(outer);
        collect(inner, around, out);
        around.pop();
    }
}

impl<'t> Lowerer<'t> {
    /// Adds everything that the rules say to the program.
    pub(crate) fn rules(&mut self, diagnostics: &mut Diagnostics) {
        let mut rules = Rules::default();
        collect(&self.tree.rules, &mut Vec::new(), &mut rules);
        for Found { around, what: (property, _) } in &rules.properties {
            if property.category == Category::Assumption {
                let condition = self.property(around, &property.condition);
                self.assumptions.push(condition);
            }
        }
        for (number, start) in rules.starts.iter().enumerate() {
            if self.is_exhausted() || diagnostics.error_count() > 0 {
                return;
            }
            self.start(start, number, diagnostics);
        }
        self.actions(&rules.simple, diagnostics);
        let mut number = 0;
        self.labels(&rules.properties, &mut number, diagnostics);
        self.cover_statements(&rules.simple, &mut number, diagnostics);
    }

    fn start(
        &mut self,
        Found { around, what: block }: &Found<'t, &'t Block>,
        number: usize,
        diagnostics: &mut Diagnostics,
    ) {
        let command = self.command(around, block, None);
        let title = block.name.clone().unwrap_or_else(|| format!("start {}", number + 1));
        for arguments in self.instances(around, self.program.starts.len(), block.span, diagnostics) {
            let name = Some(self.title(&title, around, &arguments));
            self.program.starts.push(Start { name, command: command.clone(), arguments, span: block.span });
        }
    }

    fn actions(&mut self, rules: &[Found<'t, &'t Block>], diagnostics: &mut Diagnostics) {
        let least = rules.iter().map(|rule| rule.what.priority).min();
        for (number, Found { around, what: block }) in rules.iter().enumerate() {
            if self.is_exhausted() || diagnostics.error_count() > 0 {
                return;
            }
            let is_first = least == Some(block.priority);
            let before = (!is_first).then(|| self.enabled_before(rules, block.priority, diagnostics));
            let command = self.command(around, block, before);
            let title = block.name.clone().unwrap_or_else(|| format!("rule {}", number + 1));
            let rule = Some(self.rule_number(&title));
            for arguments in self.instances(around, self.program.actions.len(), block.span, diagnostics) {
                let name = Some(self.title(&title, around, &arguments));
                self.program.actions.push(Action {
                    name,
                    rule,
                    movers: Vec::new(),
                    command: command.clone(),
                    arguments,
                    exchange: None,
                    span: block.span,
                });
            }
        }
    }

    /// The number of the rule of that name.
    fn rule_number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.rule_numbers.get(name) {
            return *number;
        }
        let number = self.program.rules.len() as u32;
        self.program.rules.push(name.to_owned());
        self.rule_numbers.insert(name.to_owned(), number);
        number
    }

    /// Whether a rule of a lower priority number is enabled.
    fn enabled_before(
        &mut self,
        rules: &[Found<'t, &'t Block>],
        priority: i64,
        diagnostics: &mut Diagnostics,
    ) -> Expression {
        let mut guards = Vec::new();
        for Found { around, what: block } in rules.iter().filter(|rule| rule.what.priority < priority) {
            for arguments in self.instances(around, guards.len(), block.span, diagnostics) {
                if self.is_exhausted() {
                    return Expression::constant(0, block.span);
                }
                guards.push(self.bound(around, &arguments, |lowerer| lowerer.guard(around, block)));
            }
        }
        let span = guards.first().map_or(Span::default(), |guard| guard.span);
        simplify::any(guards, span)
    }

    /// Binds the names around a rule to values while a part of the work is done.
    fn bound<T>(&mut self, around: &[Around<'t>], arguments: &[i64], part: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.held(locals(around));
        for (local, value) in names(around).zip(arguments) {
            self.bindings[local.index()] = Some(Binding::Constant(*value));
        }
        let result = part(self);
        self.hold(outer);
        result
    }

    /// The command of all instances of a rule.
    fn command(
        &mut self,
        around: &[Around<'t>],
        block: &'t Block,
        enabled_before: Option<Expression>,
    ) -> Arc<Command> {
        let outer = self.held(locals(around).chain(block.variables.iter().copied()));
        let mut parameters: Vec<VariableId> = Vec::new();
        for local in names(around) {
            let Some(domain) = self.domain_of(around, local) else { continue };
            let variable = &self.tree.locals[local.index()];
            let id = self.unscoped_number(&variable.name, domain, variable.span);
            self.fixed.insert(id);
            let region = Region { leaves: vec![id].into(), index: None, type_id: variable.type_id };
            self.bindings[local.index()] = Some(Binding::Region(region));
            parameters.push(id);
        }
        let chooses = around.iter().any(|it| matches!(it, Around::Choice(..)));
        let guard = match block.guard.is_some() || chooses {
            true => self.guard(around, block),
            false => Expression::constant(1, block.span),
        };
        let guard = match enabled_before {
            Some(before) => simplify::all(vec![guard, simplify::not(before)], block.span),
            None => guard,
        };
        let guard = if simplify::known(&guard) == Some(1) { None } else { Some(guard) };
        let body = self.block(None, |lowerer, out| {
            lowerer.bind_aliases_around(around, out);
            lowerer.declare(&block.variables);
            lowerer.statements(&block.body, out);
        });
        let mut body = flattened(body);
        if self.spend_many(self.assumptions.len()) {
            body.extend(self.assumptions.iter().cloned().map(Statement::Assume));
        }
        let chosen = self.chosen(around);
        self.hold(outer);
        Arc::new(Command { parameters, guard, body, chosen })
    }

    /// What the names of choices stand for; nothing where the place of a multiset must be computed, or an alias is around it, which may be.
    fn chosen(&mut self, around: &[Around<'t>]) -> Vec<Chosen> {
        let last = around.iter().rposition(|it| matches!(it, Around::Choice(..)));
        let Some(last) = last.filter(|_| !self.is_exhausted()) else { return Vec::new() };
        if around[..last].iter().any(|it| matches!(it, Around::Aliases(_))) {
            return Vec::new();
        }
        let ((all, computed), temporaries) = self.scoped(|lowerer| {
            let (mut all, mut computed) = (Vec::new(), Vec::new());
            for it in &around[..=last] {
                if let Around::Choice(local, set) = it {
                    let region = lowerer.region(set, &mut computed);
                    let slot = lowerer.read_local(*local, set.span);
                    let element = region.element(&lowerer.tree.types, slot, set.span);
                    let name = lowerer.tree.locals[local.index()].name.clone();
                    all.push(Chosen { name, parts: lowerer.parts(&element, set.span) });
                }
            }
            (all, computed)
        });
        if computed.is_empty() && temporaries.is_empty() { all } else { Vec::new() }
    }

    /// The simple parts of an element, by their fields.
    fn parts(&mut self, element: &Region, span: Span) -> Vec<(String, Target)> {
        if self.tree.types.leaves(element.type_id) > LEAVES_MAX {
            return Vec::new();
        }
        let leaves = layout::leaves(&self.tree.types, element.type_id).into_iter().enumerate();
        let simple = leaves.filter(|(_, leaf)| leaf.length == 1 && !leaf.present).take(PARTS_MAX);
        let part = |(number, leaf): (usize, Leaf)| {
            let fields = leaf.path.iter().filter_map(|part| match part {
                Part::Field(name) => Some(name.as_str()),
                Part::Index(_) | Part::Slot(_) => None,
            });
            (fields.collect::<Vec<&str>>().join("."), self.target(element, number, span).0)
        };
        simple.map(part).collect()
    }

    pub(crate) fn bind_aliases_around(&mut self, around: &[Around<'t>], out: &mut Vec<Statement>) {
        for it in around {
            if let Around::Aliases(aliases) = it {
                self.bind_aliases(aliases, out);
            }
        }
    }

    /// The guard of a rule: of each choice that there is something to choose, then its own.
    pub(crate) fn guard(&mut self, around: &[Around<'t>], block: &'t Block) -> Expression {
        let Some((first, rest)) = around.split_first() else {
            let span = block.guard.as_ref().map_or(block.span, |guard| guard.span);
            return self.computation(span, |lowerer, out| match &block.guard {
                Some(guard) => lowerer.expression(guard, out),
                None => Expression::constant(1, span),
            });
        };
        match first {
            Around::Names(_) => self.guard(rest, block),
            Around::Aliases(aliases) => self.computation(block.span, |lowerer, out| {
                let outer = lowerer.held(aliases.iter().map(|alias| alias.local));
                lowerer.bind_aliases(aliases, out);
                let guard = lowerer.guard(rest, block);
                lowerer.hold(outer);
                guard
            }),
            Around::Choice(local, set) => self.computation(set.span, |lowerer, out| {
                let region = lowerer.region(set, out);
                let slot = lowerer.read_local(*local, set.span);
                let chosen = lowerer.is_present(&region, slot, set.span);
                let guard = lowerer.guard(rest, block);
                simplify::all(vec![chosen, guard], block.span)
            }),
        }
    }

    /// The values of the names around a rule, all combinations.
    fn instances(
        &mut self,
        around: &[Around<'t>],
        already: usize,
        span: Span,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Vec<i64>> {
        let mut instances = vec![Vec::new()];
        for it in around {
            let values = match it {
                Around::Names(quantifier) => self.known_values(quantifier).unwrap_or_default(),
                Around::Choice(local, _) => {
                    let domain = self.tree.types.domain(self.tree.locals[local.index()].type_id);
                    domain.map_or(Vec::new(), |domain| (domain.low..=domain.high).collect())
                }
                Around::Aliases(_) => continue,
            };
            if values.len().saturating_mul(instances.len()).saturating_add(already) > INSTANCES_MAX {
                let message = format!(
                    "too many rules: the rulesets around this have more than {INSTANCES_MAX} instances"
                );
                diagnostics.push(Diagnostic::error(message).at(span, ""));
                return Vec::new();
            }
            let extended = instances.iter().flat_map(|instance| {
                values.iter().map(move |value| {
                    let mut longer: Vec<i64> = instance.clone();
                    longer.push(*value);
                    longer
                })
            });
            instances = extended.collect();
        }
        instances
    }

    /// The name of an instance: `name, i: 2, j: red`.
    fn title(&mut self, title: &str, around: &[Around<'t>], arguments: &[i64]) -> String {
        if self.is_exhausted() {
            return String::new();
        }
        let mut text = title.to_owned();
        for (local, value) in names(around).zip(arguments) {
            let variable = &self.tree.locals[local.index()];
            text.push_str(&format!(
                ", {}: {}",
                variable.name,
                self.tree.types.word(variable.type_id, *value)
            ));
        }
        self.title_bytes += text.len();
        text
    }

    /// The values that a name around a rule takes.
    fn domain_of(&mut self, around: &[Around<'t>], local: LocalId) -> Option<Domain> {
        for it in around {
            if let Around::Names(quantifier) = it
                && quantifier.local == local
            {
                let values = self.known_values(quantifier)?;
                let (low, high) = (values.iter().min()?, values.iter().max()?);
                return Some(Domain::new(*low, *high));
            }
        }
        self.tree.types.domain(self.tree.locals[local.index()].type_id)
    }

    /// A condition for all values of the names around it.
    fn property(&mut self, around: &[Around<'t>], condition: &'t super::tree::Value) -> Expression {
        if !self.spend() {
            return Expression::constant(1, condition.span);
        }
        let Some((first, rest)) = around.split_first() else {
            return self.computation(condition.span, |lowerer, out| lowerer.expression(condition, out));
        };
        match first {
            Around::Names(quantifier) => self.quantified(true, quantifier, condition.span, &mut |lowerer| {
                lowerer.property(rest, condition)
            }),
            Around::Aliases(aliases) => self.computation(condition.span, |lowerer, out| {
                let outer = lowerer.held(aliases.iter().map(|alias| alias.local));
                lowerer.bind_aliases(aliases, out);
                let result = lowerer.property(rest, condition);
                lowerer.hold(outer);
                result
            }),
            Around::Choice(local, set) => self.computation(condition.span, |lowerer, out| {
                let region = lowerer.region(set, out);
                let Form::Multiset(size, _) = *lowerer.tree.types.form(set.type_id) else {
                    return Expression::constant(1, condition.span);
                };
                let each = (0..i64::from(size)).map(|slot| {
                    let chosen = lowerer.is_present(&region, Expression::constant(slot, set.span), set.span);
                    let inner = lowerer
                        .with(*local, Binding::Constant(slot), |lowerer| lowerer.property(rest, condition));
                    simplify::any(vec![simplify::not(chosen), inner], condition.span)
                });
                let each = each.collect();
                simplify::all(each, condition.span)
            }),
        }
    }

    /// Labels for what the model states. Invariants that there is no room for share the last label.
    fn labels(
        &mut self,
        properties: &[Found<'t, (&'t Property, Span)>],
        number: &mut usize,
        diagnostics: &mut Diagnostics,
    ) {
        for Found { around, what: (property, span) } in properties {
            if self.is_exhausted() || diagnostics.error_count() > 0 {
                return;
            }
            let (kind, word) = match property.category {
                Category::Assumption => continue,
                Category::Assertion => (LabelKind::Assertion, "invariant"),
                Category::Cover => (LabelKind::Cover, "cover"),
                Category::Liveness => (LabelKind::Liveness, "liveness"),
            };
            *number += 1;
            let name = property.message.clone().unwrap_or_else(|| format!("{word} {number}"));
            if kind == LabelKind::Assertion {
                let expression = self.property(around, &property.condition);
                self.label(name, kind, expression, *span, diagnostics);
                continue;
            }
            self.each_instance(around, property, (name, kind), *span, diagnostics);
        }
    }

    /// Labels for a property of which each instance is to be covered or reached by itself; where states that are alike are one, instances that
    /// are alike are one label.
    fn each_instance(
        &mut self,
        around: &[Around<'t>],
        property: &'t Property,
        (name, kind): (String, LabelKind),
        span: Span,
        diagnostics: &mut Diagnostics,
    ) {
        for (title, instances) in self.alike_instances(&name, around, span, diagnostics) {
            if self.is_exhausted() || diagnostics.error_count() > 0 {
                return;
            }
            if kind == LabelKind::Liveness && instances.len() > 1 {
                let message = "with symmetry, `liveness` cannot be asked of each value of a scalarset";
                let diagnostic = Diagnostic::error(message)
                    .at(span, format!("this is asked of {} values", instances.len()));
                diagnostics.push(diagnostic.help("give `--symmetry off`"));
                return;
            }
            let each = instances.iter().map(|arguments| {
                self.bound(around, arguments, |lowerer| {
                    lowerer.computation(span, |lowerer, out| {
                        lowerer.bind_aliases_around(around, out);
                        lowerer.expression(&property.condition, out)
                    })
                })
            });
            let expression = simplify::any(each.collect(), span);
            self.label(title, kind, expression, span, diagnostics);
        }
    }

    /// The instances of a rule, each with a name; those that are alike together, if that is wanted.
    fn alike_instances(
        &mut self,
        name: &str,
        around: &[Around<'t>],
        span: Span,
        diagnostics: &mut Diagnostics,
    ) -> Vec<(String, Vec<Vec<i64>>)> {
        let mut groups: Vec<(String, Vec<Vec<i64>>)> = Vec::new();
        let mut places: HashMap<Vec<i64>, usize> = HashMap::new();
        for arguments in self.instances(around, 0, span, diagnostics) {
            if groups.len() > STATED_MAX {
                // More than there is room for, however many there are.
                break;
            }
            let pattern = if self.symmetric { self.pattern(around, &arguments) } else { arguments.clone() };
            match places.entry(pattern) {
                Entry::Occupied(place) => groups[*place.get()].1.push(arguments),
                Entry::Vacant(place) => {
                    place.insert(groups.len());
                    groups.push((self.title(name, around, &arguments), vec![arguments]));
                }
            }
        }
        groups
    }

    /// What is left of arguments if only the equality of values of scalarsets and of slots counts.
    fn pattern(&self, around: &[Around<'t>], arguments: &[i64]) -> Vec<i64> {
        let types = &self.tree.types;
        let mut seen: Vec<(TypeId, i64)> = Vec::new();
        let each = names(around).zip(arguments).map(|(local, value)| {
            let (member, code) = types.member(self.tree.locals[local.index()].type_id, *value);
            if !matches!(types.form(member), Form::Scalarset(_) | Form::Slot(_)) {
                return (*value, None);
            }
            let known = seen.iter().position(|known| *known == (member, code));
            let number = known.unwrap_or_else(|| {
                seen.push((member, code));
                seen.len() - 1
            });
            (number as i64, Some(member))
        });
        each.flat_map(|(value, member)| [value, member.map_or(-1, |member| i64::from(member.0))]).collect()
    }

    pub(crate) fn label(
        &mut self,
        name: String,
        kind: LabelKind,
        expression: Expression,
        span: Span,
        diagnostics: &mut Diagnostics,
    ) {
        let labels = &mut self.program.labels;
        if labels.len() < STATED_MAX {
            labels.push(Label { name, kind, expression, span });
            return;
        }
        match labels.last_mut() {
            Some(last) if kind == LabelKind::Assertion && last.kind == kind => {
                last.name = "the remaining invariants".to_owned();
                join(&mut last.expression, expression);
            }
            _ => {
                let message = format!("more than {STATED_MAX} properties");
                diagnostics.push(Diagnostic::error(message).at(span, "the first that there is no room for"));
            }
        }
    }
}

/// All of the parts of a condition, and another one, side by side: so a long list does not lie one part inside the other.
fn join(condition: &mut Expression, more: Expression) {
    if simplify::known(&more) == Some(1) {
        return;
    }
    if let ExpressionKind::All(operands) = &mut condition.kind {
        operands.push(more);
        return;
    }
    let span = more.span;
    let first = std::mem::replace(condition, Expression::constant(1, span));
    *condition = simplify::all(vec![first, more], span);
}

/// The names that stand around a rule, those for places and values too.
fn locals(around: &[Around<'_>]) -> impl Iterator<Item = LocalId> {
    let aliases = around.iter().flat_map(|it| match it {
        Around::Aliases(aliases) => *aliases,
        Around::Names(_) | Around::Choice(..) => &[],
    });
    names(around).chain(aliases.map(|alias| alias.local))
}

/// The names around a rule that have a value in each instance.
fn names(around: &[Around<'_>]) -> impl Iterator<Item = LocalId> {
    around.iter().filter_map(|it| match it {
        Around::Names(quantifier) => Some(quantifier.local),
        Around::Choice(local, _) => Some(*local),
        Around::Aliases(_) => None,
    })
}

/// The statements of a block that needs not be one: without temporaries, and never left.
pub(crate) fn flattened(block: Statement) -> Vec<Statement> {
    let Statement::Block { locals, body } = block else { return vec![block] };
    let mut leaves = false;
    Statement::for_each(&body, &mut |statement| leaves |= matches!(statement, Statement::Leave(_)));
    if locals.is_empty() && !leaves { body } else { vec![Statement::Block { locals, body }] }
}
