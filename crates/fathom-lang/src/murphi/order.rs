//! Does a loop over a scalarset depend on the order in which it takes the values?
//!
//! Symmetry takes for granted that it does not: the values have no order. A loop is believed where two of its rounds can be exchanged for a reason that the text shows:
//!
//! - what a round changes, no other round reads or changes (`a[i] := ...` in a loop of `i`), or
//! - all rounds that change it make it the same (`found := true`), or
//! - they add to it, in a way that does not mind the order (`n := n + 1`, `multisetadd`).
//!
//! Of all other loops the user is told. Calls are looked into where they are made, so that it is known what their parameters stand for.

use std::collections::{HashMap, HashSet};

use fathom_model::expression::BinaryOperator;
use fathom_model::span::Span;

use super::exchange::{Access, Effect, Index, Path, PathRoot, agree, may_be_exchanged};
use super::fold::fold;
use super::tree::{
    Alias, Call, FunctionId, LocalId, Place, Quantifier, Root, Rule, Statement, StatementKind, Step, Tree,
    Value, ValueKind, Values,
};
use super::types::TypeId;
use crate::diagnostic::{Diagnostic, Diagnostics};

/// How many statements and values are looked at for one rule; what is beyond is not believed.
const STEPS_MAX: usize = 10_000;

/// Warns of every loop over a scalarset that may depend on the order of its values.
pub(crate) fn warn(tree: &Tree, diagnostics: &mut Diagnostics) {
    let mut walk = Walk::new(tree);
    tree.rules.iter().for_each(|rule| walk.rule(rule));
    walk.doubts.sort_by_key(|doubt| (doubt.span.start, doubt.span.end));
    walk.doubts.dedup_by_key(|doubt| doubt.span);
    for doubt in walk.doubts {
        let type_text = tree.types.describe(doubt.type_id);
        let message = "this loop may depend on the order of the values of a scalarset";
        let mut diagnostic = Diagnostic::warning(message).at(doubt.span, format!("over {type_text}"));
        for (span, text) in doubt.reasons {
            diagnostic = diagnostic.see(span, text);
        }
        let note = "symmetry reduction assumes that it does not; if it does, verdicts may be wrong";
        diagnostics.push(diagnostic.note(note).help("`--symmetry off` makes no such assumption"));
    }
}

/// A loop that is not believed, and why.
struct Doubt {
    span: Span,
    type_id: TypeId,
    reasons: Vec<(Span, String)>,
}

/// What a name stands for that is no variable.
#[derive(Clone, Debug)]
enum Meaning {
    /// A value that does not change while the name lives.
    Fixed,
    /// The value of another such name.
    Name(LocalId),
    Place(Path),
}

/// A loop that is being looked at.
struct Loop {
    local: LocalId,
    /// How many calls it is deep in, and what was there when it began.
    depth: usize,
    first_access: usize,
    first_name: usize,
    /// How rounds end it early.
    returns: Vec<(Effect, Span)>,
    /// Where a round may fail by a statement of its own.
    demands: Option<Span>,
    /// A call that cannot be followed.
    unknown: Option<Span>,
}

struct Walk<'t> {
    tree: &'t Tree,
    meanings: HashMap<LocalId, Meaning>,
    /// The names and variables that were declared on the way here.
    declared: Vec<LocalId>,
    accesses: Vec<Access>,
    loops: Vec<Loop>,
    calls: Vec<FunctionId>,
    steps: usize,
    doubts: Vec<Doubt>,
}

impl<'t> Walk<'t> {
    fn new(tree: &'t Tree) -> Walk<'t> {
        Walk {
            tree,
            meanings: HashMap::new(),
            declared: Vec::new(),
            accesses: Vec::new(),
            loops: Vec::new(),
            calls: Vec::new(),
            steps: 0,
            doubts: Vec::new(),
        }
    }

    fn rule(&mut self, rule: &'t Rule) {
        self.steps = 0;
        match rule {
            Rule::Simple(block) | Rule::Start(block) => {
                self.accesses.clear();
                block.guard.iter().for_each(|guard| self.value(guard));
                self.statements(&block.body);
            }
            Rule::Property(property, _) => self.value(&property.condition),
            Rule::Ruleset(quantifier, rules) => {
                self.quantifier(quantifier);
                rules.iter().for_each(|rule| self.rule(rule));
            }
            Rule::Alias(aliases, rules) => {
                self.aliases(aliases);
                rules.iter().for_each(|rule| self.rule(rule));
            }
            Rule::Choose(local, set, rules) => {
                self.read(set);
                self.declare(*local, Meaning::Fixed);
                rules.iter().for_each(|rule| self.rule(rule));
            }
        }
    }

    fn declare(&mut self, local: LocalId, meaning: Meaning) {
        self.declared.push(local);
        self.meanings.insert(local, meaning);
    }

    fn quantifier(&mut self, quantifier: &'t Quantifier) {
        if let Values::Steps { from, to, by } = &quantifier.values {
            [Some(from), Some(to), by.as_ref()].into_iter().flatten().for_each(|value| self.value(value));
        }
        self.declare(quantifier.local, Meaning::Fixed);
    }

    fn aliases(&mut self, aliases: &'t [Alias]) {
        for alias in aliases {
            let meaning = self.meaning(&alias.value);
            self.declare(alias.local, meaning);
        }
    }

    /// What a name stands for that is bound to a value: a place, if it is one.
    fn meaning(&mut self, value: &'t Value) -> Meaning {
        match &value.kind {
            ValueKind::Read(place) => {
                self.indices(place);
                if let Some(local) = self.fixed_name(value) {
                    return Meaning::Name(local);
                }
                self.path(place).map_or(Meaning::Fixed, Meaning::Place)
            }
            _ => {
                self.value(value);
                Meaning::Fixed
            }
        }
    }

    /// The name whose value this is, if nothing assigns to it.
    fn fixed_name(&self, value: &Value) -> Option<LocalId> {
        match &value.kind {
            ValueKind::Convert(operand) => self.fixed_name(operand),
            ValueKind::Read(Place { root: Root::Local(local), steps, .. }) if steps.is_empty() => {
                match self.meanings.get(local)? {
                    Meaning::Fixed => Some(*local),
                    Meaning::Name(other) => Some(*other),
                    Meaning::Place(_) => None,
                }
            }
            _ => None,
        }
    }

    /// Where a place is; none if it is part of a value that does not last.
    fn path(&self, place: &Place) -> Option<Path> {
        let mut path = match &place.root {
            Root::Global(global) => Path { root: PathRoot::Global(global.0), steps: Vec::new() },
            Root::Local(local) => match self.meanings.get(local) {
                Some(Meaning::Place(path)) => path.clone(),
                Some(Meaning::Fixed | Meaning::Name(_)) => return None,
                None => Path { root: PathRoot::Local(*local), steps: Vec::new() },
            },
            Root::Value(_) => return None,
        };
        path.steps.extend(place.steps.iter().map(|step| match step {
            Step::Field(number) => Index::Field(*number),
            Step::Element(index) => match (fold(&self.tree.types, index), self.fixed_name(index)) {
                (Some(code), _) => Index::Constant(code),
                (None, Some(local)) => Index::Name(local),
                (None, None) => Index::Other,
            },
        }));
        Some(path)
    }

    /// Looks at what leads to a place.
    fn indices(&mut self, place: &'t Place) {
        if let Root::Value(value) = &place.root {
            self.value(value);
        }
        for step in &place.steps {
            if let Step::Element(index) = step {
                self.value(index);
            }
        }
    }

    fn read(&mut self, place: &'t Place) {
        self.change(place, Effect::Read);
    }

    fn change(&mut self, place: &'t Place, effect: Effect) {
        self.indices(place);
        if let Some(path) = self.path(place).filter(|_| !self.loops.is_empty()) {
            self.accesses.push(Access { path, effect, span: place.span });
        }
    }

    fn statements(&mut self, statements: &'t [Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &'t Statement) {
        if self.is_tired(statement.span) {
            return;
        }
        match &statement.kind {
            StatementKind::Assign(place, value) => self.assign(place, value, statement.span),
            StatementKind::If(arms, otherwise) => {
                for (condition, body) in arms {
                    self.value(condition);
                    self.statements(body);
                }
                self.statements(otherwise);
            }
            StatementKind::Switch(subject, cases, otherwise) => {
                self.value(subject);
                for (values, body) in cases {
                    values.iter().for_each(|value| self.value(value));
                    self.statements(body);
                }
                self.statements(otherwise);
            }
            StatementKind::For(quantifier, body) => self.for_loop(quantifier, body),
            StatementKind::While(condition, body) => {
                self.value(condition);
                self.statements(body);
            }
            StatementKind::Alias(aliases, body) => {
                self.aliases(aliases);
                self.statements(body);
            }
            StatementKind::Call(call) => self.call(call, statement.span),
            StatementKind::Clear(place) => self.change(place, Effect::Least),
            StatementKind::Undefine(place) => self.change(place, Effect::Undefined),
            StatementKind::Error(_) => self.demand(statement.span),
            StatementKind::Property(property) => {
                self.value(&property.condition);
                self.demand(statement.span);
            }
            StatementKind::Put(value) => value.iter().for_each(|value| self.value(value)),
            StatementKind::Return(value) => self.leave(value.as_ref(), statement.span),
            StatementKind::MultisetAdd(value, set) => {
                self.value(value);
                self.change(set, Effect::Joined);
            }
            StatementKind::MultisetRemove(index, set) => {
                self.value(index);
                self.change(set, Effect::Other);
            }
            StatementKind::MultisetRemoveWhere(local, set, condition) => {
                self.change(set, Effect::Filtered);
                self.selected(*local, set, condition);
            }
        }
    }

    /// Looks at a condition on one element of a multiset; that it reads this element is no news.
    fn selected(&mut self, local: LocalId, set: &'t Place, condition: &'t Value) {
        self.declare(local, Meaning::Fixed);
        let first = self.accesses.len();
        self.value(condition);
        if let Some(mut element) = self.path(set) {
            element.steps.push(Index::Name(local));
            let is_own = |access: &Access| access.effect == Effect::Read && access.path.begins_with(&element);
            let kept: Vec<Access> = self.accesses.drain(first..).filter(|access| !is_own(access)).collect();
            self.accesses.extend(kept);
        }
    }

    fn assign(&mut self, place: &'t Place, value: &'t Value, span: Span) {
        let target = self.path(place).filter(Path::is_certain);
        if let Some((effect, operand)) = target.and_then(|path| self.accumulation(&path, value)) {
            self.value(operand);
            self.change(place, effect);
            return;
        }
        self.value(value);
        let effect = self.given(value, span);
        self.change(place, effect);
    }

    /// The effect of assigning a value.
    fn given(&self, value: &Value, span: Span) -> Effect {
        if let Some(code) = fold(&self.tree.types, value) {
            return Effect::Known(code);
        }
        let mut reads = Vec::new();
        match &value.kind {
            ValueKind::Undefined => Effect::Undefined,
            _ if self.is_plain(value, &mut reads) => Effect::Of(span, reads),
            _ => Effect::Other,
        }
    }

    /// Whether a value is what operators make of names and certain places, and of nothing else; notes them.
    fn is_plain(&self, value: &Value, reads: &mut Vec<Path>) -> bool {
        if let Some(local) = self.fixed_name(value) {
            reads.push(Path { root: PathRoot::Local(local), steps: Vec::new() });
            return true;
        }
        match &value.kind {
            ValueKind::Constant(_) => true,
            ValueKind::Read(place) | ValueKind::IsUndefined(place) => {
                let path = self.path(place).filter(Path::is_certain);
                path.map(|path| reads.push(path)).is_some()
            }
            ValueKind::Convert(operand) | ValueKind::Unary(_, operand) => self.is_plain(operand, reads),
            ValueKind::Binary(_, left, right) => self.is_plain(left, reads) && self.is_plain(right, reads),
            ValueKind::All(operands) | ValueKind::Any(operands) => {
                operands.iter().all(|operand| self.is_plain(operand, reads))
            }
            _ => false,
        }
    }

    /// If a value is that of the place with something added to it: how, and what.
    fn accumulation<'v>(&self, path: &Path, value: &'v Value) -> Option<(Effect, &'v Value)> {
        let is_own = |value: &Value| match &value.kind {
            ValueKind::Read(place) => self.path(place).as_ref() == Some(path),
            _ => false,
        };
        match &value.kind {
            ValueKind::Binary(BinaryOperator::Add, left, right) if is_own(left) && self.is_natural(right) => {
                Some((Effect::More, right))
            }
            ValueKind::Binary(BinaryOperator::Add, left, right) if is_own(right) && self.is_natural(left) => {
                Some((Effect::More, left))
            }
            ValueKind::Binary(BinaryOperator::Subtract, left, right)
                if is_own(left) && self.is_natural(right) =>
            {
                Some((Effect::Less, right))
            }
            // Only with the place last: else whether the other operand is looked at, and may fail, depends on it.
            ValueKind::All(operands) => match &operands[..] {
                [operand, last] if is_own(last) => Some((Effect::And, operand)),
                _ => None,
            },
            ValueKind::Any(operands) => match &operands[..] {
                [operand, last] if is_own(last) => Some((Effect::Or, operand)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a number is not negative: then sums leave their range in every order, or in none.
    fn is_natural(&self, value: &Value) -> bool {
        match fold(&self.tree.types, value) {
            Some(code) => code >= 0,
            None => self.tree.types.domain(value.type_id).is_some_and(|domain| domain.low >= 0),
        }
    }

    fn value(&mut self, value: &'t Value) {
        if self.is_tired(value.span) {
            return;
        }
        match &value.kind {
            ValueKind::Constant(_) | ValueKind::Undefined => {}
            ValueKind::Read(place) | ValueKind::IsUndefined(place) => self.read(place),
            ValueKind::Convert(operand) | ValueKind::Unary(_, operand) | ValueKind::IsMember(operand, _) => {
                self.value(operand);
            }
            ValueKind::Binary(_, left, right) | ValueKind::Same(left, right) => {
                self.value(left);
                self.value(right);
            }
            ValueKind::All(operands) | ValueKind::Any(operands) => {
                operands.iter().for_each(|operand| self.value(operand));
            }
            ValueKind::Conditional(operands) => operands.iter().for_each(|operand| self.value(operand)),
            ValueKind::Quantified(_, quantifier, condition) => {
                self.quantifier(quantifier);
                self.value(condition);
            }
            ValueKind::Call(call) => self.call(call, value.span),
            ValueKind::MultisetCount(local, set, condition) => {
                self.read(set);
                self.declare(*local, Meaning::Fixed);
                self.value(condition);
            }
        }
    }

    fn call(&mut self, call: &'t Call, span: Span) {
        let function = &self.tree.functions[call.function.index()];
        if self.calls.contains(&call.function) {
            self.give_up(span);
            self.doubt_all(&function.body);
            return;
        }
        let meanings: Vec<Meaning> = call
            .arguments
            .iter()
            .zip(&function.parameters)
            .map(|(argument, parameter)| {
                let meaning = self.meaning(argument);
                if parameter.by_reference || matches!(meaning, Meaning::Name(_)) {
                    return meaning;
                }
                // A copy: the place is read now, and not again.
                if matches!(meaning, Meaning::Place(_)) {
                    self.value(argument);
                }
                Meaning::Fixed
            })
            .collect();
        for (parameter, meaning) in function.parameters.iter().zip(meanings) {
            self.declare(parameter.local, meaning);
        }
        self.declared.extend(&function.variables);
        self.calls.push(call.function);
        self.statements(&function.body);
        self.calls.pop();
    }

    /// Notes that there is something in all current loops that is not looked into.
    fn give_up(&mut self, span: Span) {
        self.loops.iter_mut().for_each(|it| it.unknown = it.unknown.or(Some(span)));
    }

    fn is_tired(&mut self, span: Span) -> bool {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            self.give_up(span);
        }
        self.steps > STEPS_MAX
    }

    fn demand(&mut self, span: Span) {
        self.loops.iter_mut().for_each(|it| it.demands = it.demands.or(Some(span)));
    }

    /// A return ends the loops of the same call.
    fn leave(&mut self, value: Option<&'t Value>, span: Span) {
        value.iter().for_each(|value| self.value(value));
        let effect = value.map_or(Effect::Undefined, |value| self.given(value, span));
        let depth = self.calls.len();
        for it in self.loops.iter_mut().filter(|it| it.depth == depth) {
            it.returns.push((effect.clone(), span));
        }
    }

    fn for_loop(&mut self, quantifier: &'t Quantifier, body: &'t [Statement]) {
        let type_id = self.tree.locals[quantifier.local.index()].type_id;
        if !self.tree.types.is_alike(type_id) {
            self.quantifier(quantifier);
            self.statements(body);
            return;
        }
        self.loops.push(Loop {
            local: quantifier.local,
            depth: self.calls.len(),
            first_access: self.accesses.len(),
            first_name: self.declared.len(),
            returns: Vec::new(),
            demands: None,
            unknown: None,
        });
        self.quantifier(quantifier);
        self.statements(body);
        let own = self.loops.pop().expect("the loop that was begun");
        if let Some(reasons) = self.reasons(&own) {
            self.doubts.push(Doubt { span: quantifier.span, type_id, reasons });
        }
    }

    /// Why a loop is not believed; none if it is.
    fn reasons(&self, own: &Loop) -> Option<Vec<(Span, String)>> {
        if let Some(span) = own.unknown {
            return Some(vec![(span, "this cannot be followed".to_owned())]);
        }
        let inner: HashSet<LocalId> = self.declared[own.first_name..].iter().copied().collect();
        let lasts = |path: &Path| !matches!(path.root, PathRoot::Local(local) if inner.contains(&local));
        let lasting: Vec<&Access> =
            self.accesses[own.first_access..].iter().filter(|access| lasts(&access.path)).collect();
        let writes = || lasting.iter().copied().filter(|access| access.effect != Effect::Read);
        if let Some((first, span)) = own.returns.first() {
            let same = own.returns.iter().all(|(effect, _)| agree(effect, first, &inner));
            let why = match (same, writes().next(), own.demands) {
                (false, _, _) => "which value is returned is decided here".to_owned(),
                (true, None, None) => return None,
                _ => "how many rounds there are is decided here".to_owned(),
            };
            return Some(vec![(*span, why)]);
        }
        let pairs = writes().flat_map(|write| lasting.iter().map(move |other| (write, *other)));
        let wrong = |(write, other): &(&Access, &Access)| !may_be_exchanged(write, other, own.local, &inner);
        pairs.into_iter().find(wrong).map(|(write, other)| told(write, other))
    }

    /// Doubts all loops of a function that calls itself.
    fn doubt_all(&mut self, statements: &'t [Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::For(quantifier, body) => {
                    let type_id = self.tree.locals[quantifier.local.index()].type_id;
                    if self.tree.types.is_alike(type_id) {
                        let reasons = vec![(statement.span, "in a function that calls itself".to_owned())];
                        self.doubts.push(Doubt { span: quantifier.span, type_id, reasons });
                    }
                    self.doubt_all(body);
                }
                StatementKind::If(arms, otherwise) => {
                    arms.iter().for_each(|(_, body)| self.doubt_all(body));
                    self.doubt_all(otherwise);
                }
                StatementKind::Switch(_, cases, otherwise) => {
                    cases.iter().for_each(|(_, body)| self.doubt_all(body));
                    self.doubt_all(otherwise);
                }
                StatementKind::While(_, body) | StatementKind::Alias(_, body) => self.doubt_all(body),
                _ => {}
            }
        }
    }
}

fn told(write: &Access, other: &Access) -> Vec<(Span, String)> {
    match other.effect {
        Effect::Read => vec![
            (write.span, "one iteration changes this".to_owned()),
            (other.span, "another iteration may read this".to_owned()),
        ],
        _ if write.span == other.span => {
            vec![(write.span, "two iterations may change the same place, and the last one wins".to_owned())]
        }
        _ => vec![
            (write.span, "one iteration changes this".to_owned()),
            (other.span, "another iteration may change this, too".to_owned()),
        ],
    }
}
