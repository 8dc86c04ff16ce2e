//! What does an expression mean where it stands?
//!
//! All values are integers, so the only types are scalar, array, channel and process; here names get their meaning and
//! each is checked to be used as what it is. Recursion is bounded by the depth of the tree, which the parser limits.

use fathom_model::expression::{BinaryOperator, Expression, ExpressionKind, UnaryOperator};
use fathom_model::program::Place;
use fathom_model::span::Span;

use super::ast::{self, Logical, Name};
use super::fold;
use super::symbols::{Meaning, ProcessSymbol, Symbol, Symbols};
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};
use crate::nearest::nearest;

/// How many times per text a similar name is looked for: each look-up costs as much as there are names.
const SUGGESTIONS_MAX: u32 = 64;

/// What was seen of the names so far.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// By number of the variable's symbol: whether anything reads or writes it.
    used: Vec<bool>,
    suggestions: u32,
}

impl Usage {
    fn mark(&mut self, symbol: usize) {
        if self.used.len() <= symbol {
            self.used.resize(symbol + 1, false);
        }
        self.used[symbol] = true;
    }

    pub(crate) fn is_used(&self, symbol: usize) -> bool {
        self.used.get(symbol).copied().unwrap_or(false)
    }

    fn may_suggest(&self) -> bool {
        self.suggestions < SUGGESTIONS_MAX
    }

    /// "did you mean", if a candidate is near.
    pub(crate) fn suggest<'c>(
        &mut self,
        name: &str,
        candidates: impl IntoIterator<Item = &'c str>,
    ) -> Option<String> {
        if !self.may_suggest() {
            return None;
        }
        self.suggestions += 1;
        nearest(name, candidates).map(|candidate| format!("did you mean {}?", quoted(candidate)))
    }

    /// The state of a process that a name is near to, or all of them.
    pub(crate) fn suggest_state(&mut self, name: &str, process: &ProcessSymbol) -> Option<String> {
        if !self.may_suggest() {
            return None;
        }
        self.suggest(name, process.states.keys().map(|state| &**state)).or_else(|| process.states_in_words())
    }
}

/// A scope to read expressions in.
pub(crate) struct Checker<'a> {
    symbols: &'a Symbols,
    /// The process whose locals are visible.
    process: Option<usize>,
    /// Whether `P->x` is allowed.
    foreign: bool,
    /// Whether the expression stands in the model's text, so that a message may point at a declaration.
    in_model: bool,
    pub(crate) usage: &'a mut Usage,
    pub(crate) diagnostics: &'a mut Diagnostics,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(
        symbols: &'a Symbols,
        process: Option<usize>,
        foreign: bool,
        usage: &'a mut Usage,
        diagnostics: &'a mut Diagnostics,
    ) -> Checker<'a> {
        Checker { symbols, process, foreign, in_model: true, usage, diagnostics }
    }

    /// The scope of an expression that comes from outside of the model's text.
    pub(crate) fn outside(
        symbols: &'a Symbols,
        usage: &'a mut Usage,
        diagnostics: &'a mut Diagnostics,
    ) -> Checker<'a> {
        Checker { symbols, process: None, foreign: true, in_model: false, usage, diagnostics }
    }

    /// Points at a declaration, if it is in the same text.
    fn see(&self, diagnostic: Diagnostic, declaration: Span, text: impl Into<String>) -> Diagnostic {
        if self.in_model { diagnostic.see(declaration, text) } else { diagnostic }
    }

    /// The meaning of an expression; none after an error.
    pub(crate) fn expression(&mut self, tree: &ast::Expression<'_>) -> Option<Expression> {
        let span = tree.span;
        match &tree.kind {
            ast::ExpressionKind::Number(value) => Some(Expression::constant(*value, span)),
            ast::ExpressionKind::Name(name) => {
                let symbol = self.variable(*name)?;
                self.scalar(symbol, *name, span)
            }
            ast::ExpressionKind::Element(name, index) => {
                let index = self.expression(index);
                let symbol = self.variable(*name)?;
                self.element(symbol, *name, index?, span)
            }
            ast::ExpressionKind::InState(names) => self.in_state(names[0], names[1], span),
            ast::ExpressionKind::Foreign(names, index) => {
                let [process, name] = &**names;
                let index = match index {
                    Some(index) => Some(self.expression(index)?),
                    None => None,
                };
                let symbol = self.foreign_variable(*process, *name)?;
                match index {
                    Some(index) => self.element(symbol, *name, index, span),
                    None => self.scalar(symbol, *name, span),
                }
            }
            ast::ExpressionKind::Unary(operator, operand) => {
                Some(fold::unary(*operator, self.expression(operand)?, span))
            }
            ast::ExpressionKind::Binary(operator, left, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                Some(self.binary(*operator, left?, right?, span))
            }
            ast::ExpressionKind::Logical(logical, operands) => {
                let operands: Vec<_> = operands.iter().map(|operand| self.expression(operand)).collect();
                Some(fold::logical(*logical, operands.into_iter().collect::<Option<_>>()?, span))
            }
            ast::ExpressionKind::Imply(left, right) => {
                let (left, right) = (self.expression(left), self.expression(right));
                let left = left?;
                let left_span = left.span;
                let left = fold::unary(UnaryOperator::Not, left, left_span);
                Some(fold::logical(Logical::Or, vec![left, right?], span))
            }
        }
    }

    /// A value that is known before the run; `what` names its purpose. None after an error.
    pub(crate) fn constant(&mut self, tree: &ast::Expression<'_>, what: &str) -> Option<i64> {
        let expression = self.expression(tree)?;
        if let Some(value) = fold::known(&expression) {
            return Some(value);
        }
        let diagnostic =
            match first_read(&expression) {
                Some(span) => Diagnostic::error(format!("{what} must be constant"))
                    .at(span, "this is known only in a run"),
                None => Diagnostic::error(format!("{what} cannot be computed"))
                    .at(tree.span, "this operation faults"),
            };
        self.diagnostics.push(diagnostic);
        None
    }

    /// Where a value goes; none after an error.
    pub(crate) fn place(&mut self, tree: &ast::Expression<'_>) -> Option<Place> {
        let (name, index) = match &tree.kind {
            ast::ExpressionKind::Name(name) => (*name, None),
            ast::ExpressionKind::Element(name, index) => (*name, Some(self.expression(index)?)),
            _ => {
                let diagnostic = Diagnostic::error("a value can be stored only in a variable");
                let diagnostic = diagnostic.at(tree.span, "not a variable or an element of an array");
                self.diagnostics.push(diagnostic);
                return None;
            }
        };
        let symbol = self.variable(name)?;
        let variable = &self.symbols.variables[symbol];
        if variable.constant {
            let message = format!("the constant {} cannot change", quoted(name.text));
            let diagnostic = Diagnostic::error(message).at(name.span, "assigned here");
            self.report(self.see(diagnostic, variable.span, "declared `const` here"));
            return None;
        }
        let span = tree.span;
        let read = match index {
            Some(index) => self.element(symbol, name, index, span)?,
            None => self.scalar(symbol, name, span)?,
        };
        match read.kind {
            ExpressionKind::Read(variable) => Some(Place { variable, index: None, span }),
            ExpressionKind::Element(variable, index) => Some(Place { variable, index: Some(*index), span }),
            _ => unreachable!("what is not a constant is a variable or an element"),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// The symbol of a variable or constant that is visible by its plain name.
    fn variable(&mut self, name: Name<'_>) -> Option<usize> {
        let symbols = self.symbols;
        let local = self.process.and_then(|process| symbols.processes[process].variables.get(name.text));
        if let Some(&symbol) = local {
            self.usage.mark(symbol);
            return Some(symbol);
        }
        match symbols.names.get(name.text) {
            Some(&Symbol::Variable(symbol)) => {
                self.usage.mark(symbol);
                Some(symbol)
            }
            Some(&Symbol::Channel(channel)) => {
                let diagnostic =
                    Diagnostic::error(format!("{} is a channel, not a variable", quoted(name.text)));
                let declaration = symbols.channels[channel].span;
                self.report(self.see(diagnostic.at(name.span, ""), declaration, "declared here"));
                None
            }
            Some(&Symbol::Process(process)) => {
                let diagnostic =
                    Diagnostic::error(format!("{} is a process, not a variable", quoted(name.text)));
                let declaration = symbols.processes[process].span;
                let diagnostic = self.see(diagnostic.at(name.span, ""), declaration, "declared here");
                let written = quoted(&format!("{}.s", name.text));
                self.report(diagnostic.help(format!("whether it is in state s is written {written}")));
                None
            }
            None => {
                self.unknown_variable(name);
                None
            }
        }
    }

    fn unknown_variable(&mut self, name: Name<'_>) {
        let symbols = self.symbols;
        let own = self.process.map(|process| &symbols.processes[process]);
        if own.is_some_and(|own| own.states.contains_key(name.text)) {
            let own = own.map_or("P", |own| &*own.name);
            let diagnostic = Diagnostic::error(format!("{} is a state, not a variable", quoted(name.text)));
            let help = format!(
                "whether the process is in it is written {}",
                quoted(&format!("{own}.{}", name.text))
            );
            self.report(diagnostic.at(name.span, "").help(help));
            return;
        }
        let owner = symbols.processes.iter().take_while(|_| self.usage.may_suggest());
        let owner = owner.into_iter().find(|process| process.variables.contains_key(name.text));
        let locals = own.into_iter().flat_map(|own| own.variables.keys());
        let globals = symbols.names.iter().filter(|(_, symbol)| matches!(symbol, Symbol::Variable(_)));
        let candidates = locals.chain(globals.map(|(name, _)| name)).map(|name| &**name);
        let help = self.usage.suggest(name.text, candidates);
        let diagnostic = Diagnostic::error(format!("unknown name {}", quoted(name.text)));
        let mut diagnostic = diagnostic.at(name.span, "no variable or constant of this name is visible here");
        if let Some(owner) = owner {
            diagnostic =
                diagnostic.note(format!("process {} has a variable of this name", quoted(&owner.name)));
            if self.foreign {
                diagnostic =
                    diagnostic.help(format!("write {}", quoted(&format!("{}->{}", owner.name, name.text))));
            }
        }
        self.report(diagnostic.help_if(help));
    }

    fn process(&mut self, name: Name<'_>) -> Option<usize> {
        let symbols = self.symbols;
        match symbols.names.get(name.text) {
            Some(&Symbol::Process(process)) => Some(process),
            Some(_) => {
                let diagnostic = Diagnostic::error(format!("{} is not a process", quoted(name.text)));
                self.report(diagnostic.at(name.span, "a process's name is needed here"));
                None
            }
            None => {
                let help =
                    self.usage.suggest(name.text, symbols.processes.iter().map(|process| &*process.name));
                let diagnostic = Diagnostic::error(format!("unknown process {}", quoted(name.text)));
                self.report(diagnostic.at(name.span, "no process has this name").help_if(help));
                None
            }
        }
    }

    /// `P.s`
    fn in_state(&mut self, name: Name<'_>, state: Name<'_>, span: Span) -> Option<Expression> {
        let process = &self.symbols.processes[self.process(name)?];
        let Some(&code) = process.states.get(state.text) else {
            let message = format!("process {} has no state {}", quoted(name.text), quoted(state.text));
            let help = match process.variables.contains_key(state.text) {
                true => Some(format!(
                    "its variable is written {}",
                    quoted(&format!("{}->{}", name.text, state.text))
                )),
                false => self.usage.suggest_state(state.text, process),
            };
            self.report(Diagnostic::error(message).at(state.span, "no such state").help_if(help));
            return None;
        };
        let Some(location) = process.location else {
            let message = format!("the state of the property process {} cannot be read", quoted(name.text));
            self.report(
                Diagnostic::error(message).at(span, "the property watches the system and is no part of it"),
            );
            return None;
        };
        let (location, code) =
            (Expression::read(location, span), Expression::constant(i64::from(code), span));
        Some(Expression::binary(BinaryOperator::Equal, location, code))
    }

    /// The symbol of `P->x`.
    fn foreign_variable(&mut self, name: Name<'_>, variable: Name<'_>) -> Option<usize> {
        if !self.foreign {
            let diagnostic = Diagnostic::error("a process cannot read the variables of another one");
            let diagnostic = diagnostic.at(name.span.to(variable.span), "only a property process may");
            self.report(
                diagnostic.help(format!("declare {} before the first process", quoted(variable.text))),
            );
            return None;
        }
        let process = &self.symbols.processes[self.process(name)?];
        if let Some(&symbol) = process.variables.get(variable.text) {
            self.usage.mark(symbol);
            return Some(symbol);
        }
        let message = format!("process {} has no variable {}", quoted(name.text), quoted(variable.text));
        let help = match process.states.contains_key(variable.text) {
            true => Some(format!(
                "whether it is in that state is written {}",
                quoted(&format!("{}.{}", name.text, variable.text))
            )),
            false => self.usage.suggest(variable.text, process.variables.keys().map(|name| &**name)),
        };
        self.report(Diagnostic::error(message).at(variable.span, "no such variable").help_if(help));
        None
    }

    fn scalar(&mut self, symbol: usize, name: Name<'_>, span: Span) -> Option<Expression> {
        let variable = &self.symbols.variables[symbol];
        match variable.meaning {
            Meaning::Constant(value) => Some(Expression::constant(value, span)),
            Meaning::Scalar(id) => Some(Expression::read(id, span)),
            Meaning::Array(..) => {
                let diagnostic =
                    Diagnostic::error(format!("{} is an array, not a single value", quoted(name.text)));
                let diagnostic = diagnostic.at(span, "an index is missing");
                let diagnostic = self.see(diagnostic, variable.span, "declared here");
                let written = quoted(&format!("{}[i]", name.text));
                self.report(diagnostic.help(format!("write {written} for one of its elements")));
                None
            }
        }
    }

    fn element(
        &mut self,
        symbol: usize,
        name: Name<'_>,
        index: Expression,
        span: Span,
    ) -> Option<Expression> {
        let variable = &self.symbols.variables[symbol];
        let Meaning::Array(id, length) = variable.meaning else {
            let diagnostic = Diagnostic::error(format!("{} is not an array", quoted(name.text)));
            let diagnostic = diagnostic.at(span, "it has no elements");
            self.report(self.see(diagnostic, variable.span, "declared here"));
            return None;
        };
        if let Some(value) = fold::known(&index).filter(|value| !(0..i64::from(length)).contains(value)) {
            let message =
                format!("{} has no element {value}: evaluating this always faults", quoted(name.text));
            let diagnostic = Diagnostic::warning(message).at(span, "");
            let elements = format!("its elements are 0 to {}", length - 1);
            self.report(self.see(diagnostic, variable.span, elements));
        }
        Some(Expression::element(id, index, span))
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        left: Expression,
        right: Expression,
        span: Span,
    ) -> Expression {
        if matches!(operator, BinaryOperator::Divide | BinaryOperator::Remainder)
            && fold::known(&right) == Some(0)
        {
            let diagnostic =
                Diagnostic::warning("division by zero: evaluating this always faults").at(right.span, "");
            self.diagnostics.push(diagnostic);
        }
        fold::binary(operator, left, right, span)
    }
}

/// Where the first variable of an expression is read.
fn first_read(expression: &Expression) -> Option<Span> {
    match expression.kind {
        ExpressionKind::Read(_) | ExpressionKind::Element(..) => Some(expression.span),
        _ => {
            let mut found = None;
            expression.for_each_operand(&mut |operand| found = found.or_else(|| first_read(operand)));
            found
        }
    }
}
