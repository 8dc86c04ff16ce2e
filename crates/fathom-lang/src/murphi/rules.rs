//! Which tree do the words of rules and statements form?
//!
//! A guard is told from statements by looking for `==>` before the first semicolon or `begin`. Statements are separated by
//! semicolons, of which there may be more than needed.

use fathom_model::span::Span;

use super::ast::{Alias, Block, Case, Category, Property, Rule, RuleKind, Statement, StatementKind};
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::cursor::{Malformed, Parsed};
use crate::diagnostic::{Diagnostic, quoted};

impl<'s> Parser<'s, '_> {
    /// Whether a rule begins here.
    pub(crate) fn at_rule(&self) -> bool {
        use TokenKind::{Alias, Choose, Rule, Ruleset, Startstate};
        matches!(self.kind(), Alias | Choose | Rule | Ruleset | Startstate) || self.category().is_some()
    }

    fn category(&self) -> Option<Category> {
        Some(match self.kind() {
            TokenKind::Assert | TokenKind::Invariant => Category::Assertion,
            TokenKind::Assume => Category::Assumption,
            TokenKind::Cover => Category::Cover,
            TokenKind::Liveness => Category::Liveness,
            _ => return None,
        })
    }

    /// A rule, a start, a property, or what holds them.
    pub(crate) fn rule(&mut self) -> Parsed<Rule<'s>> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = parser.rule_kind()?;
            Ok(Rule { kind, span: start.to(parser.previous_span()) })
        })
    }

    fn rule_kind(&mut self) -> Parsed<RuleKind<'s>> {
        if let Some(category) = self.category() {
            return Ok(RuleKind::Property(self.property(category)?));
        }
        let kind = self.kind();
        let opened = self.advance();
        match kind {
            TokenKind::Rule => Ok(RuleKind::Simple(self.block(true, &["endrule"], opened)?)),
            TokenKind::Startstate => Ok(RuleKind::Start(self.block(false, &["endstartstate"], opened)?)),
            TokenKind::Ruleset => {
                let mut quantifiers = vec![self.quantifier()?];
                while self.eat_semicolons() && self.kind() != TokenKind::Do {
                    quantifiers.push(self.quantifier()?);
                }
                Ok(RuleKind::Ruleset(quantifiers, self.rules(&["endruleset"], opened)?))
            }
            TokenKind::Alias => {
                let aliases = self.aliases()?;
                Ok(RuleKind::Alias(aliases, self.rules(&["endalias"], opened)?))
            }
            _ => {
                let mut choices = Vec::new();
                while self.kind() != TokenKind::Do {
                    let name = self.name("a name for the element")?;
                    self.expect(TokenKind::Colon)?;
                    choices.push((name, self.designator()?));
                    if !self.eat_semicolons() {
                        break;
                    }
                }
                Ok(RuleKind::Choose(choices, self.rules(&["endchoose"], opened)?))
            }
        }
    }

    /// `do rules end`
    fn rules(&mut self, words: &[&str], opened: Span) -> Parsed<Vec<Rule<'s>>> {
        self.expect(TokenKind::Do)?;
        let mut rules = Vec::new();
        loop {
            self.eat_semicolons();
            if self.at_rule() {
                rules.push(self.rule()?);
            } else if matches!(self.kind(), TokenKind::Function | TokenKind::Procedure) {
                return Err(self.refuse_function());
            } else {
                self.expect_end(words, opened)?;
                return Ok(rules);
            }
        }
    }

    fn refuse_function(&mut self) -> Malformed {
        let diagnostic = Diagnostic::error("a function cannot be declared here").at(self.span(), "");
        self.diagnostics.push(diagnostic.help("move it in front of the rules around it"));
        Malformed
    }

    /// `[priority] [name] [guard ==>] [declarations begin] statements end`
    fn block(&mut self, guarded: bool, words: &[&str], opened: Span) -> Parsed<Block<'s>> {
        let has_priority =
            guarded && self.kind() == TokenKind::Number && self.next_kind() == TokenKind::String;
        let priority = if has_priority { Some(self.primary()?) } else { None };
        let name = self.string();
        let guard = if guarded && self.guard_ahead() {
            let guard = self.expression()?;
            self.expect(TokenKind::Guards)?;
            Some(guard)
        } else {
            None
        };
        let declarations = self.sections()?;
        if declarations.is_empty() {
            self.eat(TokenKind::Begin);
        } else {
            self.expect(TokenKind::Begin)?;
        }
        let body = self.statements()?;
        self.expect_end(words, opened)?;
        Ok(Block { name, priority, guard, declarations, body })
    }

    fn guard_ahead(&self) -> bool {
        use TokenKind::{Begin, Guards, Invariant, Rule, Ruleset, Semicolon, Startstate, Stop};
        let stops = [Begin, Guards, Invariant, Rule, Ruleset, Semicolon, Startstate, Stop];
        self.kinds_ahead().find(|kind| stops.contains(kind)) == Some(Guards)
    }

    fn property(&mut self, category: Category) -> Parsed<Property<'s>> {
        self.advance();
        let before = self.string();
        let condition = self.expression()?;
        let message = if before.is_some() { before } else { self.string() };
        Ok(Property { category, message, condition })
    }

    /// `a: e; b: e`
    fn aliases(&mut self) -> Parsed<Vec<Alias<'s>>> {
        let mut aliases = Vec::new();
        while self.kind() != TokenKind::Do {
            let name = self.name("a name")?;
            self.expect(TokenKind::Colon)?;
            aliases.push(Alias { name, value: self.expression()? });
            self.eat_semicolons();
        }
        Ok(aliases)
    }

    /// Statements up to a word that none can begin with.
    pub(crate) fn statements(&mut self) -> Parsed<Vec<Statement<'s>>> {
        let mut statements = Vec::new();
        loop {
            let separated = self.eat_semicolons();
            use TokenKind::{Case, Else, Elsif, End, Stop};
            if matches!(self.kind(), Case | Else | Elsif | End | Stop) {
                return Ok(statements);
            }
            if !separated && !statements.is_empty() {
                return Err(self.missing_semicolon());
            }
            statements.push(self.statement()?);
        }
    }

    fn missing_semicolon(&mut self) -> Malformed {
        if self.kind() == TokenKind::Unknown {
            return Malformed;
        }
        // It is missed behind the last word, not at the next one, which may be lines away.
        let end = self.previous_span().end;
        let diagnostic = Diagnostic::error("expected `;` between statements").at(Span::new(end, end), "");
        self.diagnostics.push(diagnostic.see(self.span(), "the next statement"));
        Malformed
    }

    fn statement(&mut self) -> Parsed<Statement<'s>> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = parser.statement_kind()?;
            Ok(Statement { kind, span: start.to(parser.previous_span()) })
        })
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind<'s>> {
        if self.at_name() {
            return self.named_statement();
        }
        if let Some(category) = self.category() {
            return Ok(StatementKind::Property(self.property(category)?));
        }
        let opened = self.span();
        match self.kind() {
            TokenKind::If => self.if_statement(),
            TokenKind::Switch => self.switch_statement(),
            TokenKind::For => {
                self.advance();
                let quantifier = self.quantifier()?;
                Ok(StatementKind::For(quantifier, self.do_statements(&["endfor"], opened)?))
            }
            TokenKind::While => {
                self.advance();
                let condition = self.expression()?;
                Ok(StatementKind::While(condition, self.do_statements(&["endwhile"], opened)?))
            }
            TokenKind::Alias => {
                self.advance();
                let aliases = self.aliases()?;
                Ok(StatementKind::Alias(aliases, self.do_statements(&["endalias"], opened)?))
            }
            TokenKind::Clear => {
                self.advance();
                Ok(StatementKind::Clear(self.designator()?))
            }
            TokenKind::Undefine => {
                self.advance();
                Ok(StatementKind::Undefine(self.designator()?))
            }
            TokenKind::Error => {
                self.advance();
                self.string().map(StatementKind::Error).ok_or_else(|| self.unexpected("a string"))
            }
            TokenKind::Put => {
                self.advance();
                let text = self.string();
                Ok(StatementKind::Put(if text.is_some() { None } else { Some(self.expression()?) }))
            }
            TokenKind::Return => {
                self.advance();
                use TokenKind::{Case, Else, Elsif, End, Semicolon, Stop};
                let is_bare = matches!(self.kind(), Case | Else | Elsif | End | Semicolon | Stop);
                Ok(StatementKind::Return(if is_bare { None } else { Some(self.expression()?) }))
            }
            _ => Err(self.unexpected("a statement")),
        }
    }

    fn do_statements(&mut self, words: &[&str], opened: Span) -> Parsed<Vec<Statement<'s>>> {
        self.expect(TokenKind::Do)?;
        let body = self.statements()?;
        self.expect_end(words, opened)?;
        Ok(body)
    }

    /// An assignment or a call.
    fn named_statement(&mut self) -> Parsed<StatementKind<'s>> {
        if self.next_kind() == TokenKind::OpenParenthesis {
            return self.call_statement();
        }
        let target = self.designator()?;
        if !self.eat(TokenKind::Assign) {
            return Err(self.unexpected("`:=`"));
        }
        Ok(StatementKind::Assign(target, self.expression()?))
    }

    fn call_statement(&mut self) -> Parsed<StatementKind<'s>> {
        let name = self.name("a procedure's name")?;
        let is = |word: &str| name.text.eq_ignore_ascii_case(word);
        self.expect(TokenKind::OpenParenthesis)?;
        let statement = if is("multisetadd") || is("multisetremove") {
            let what = self.expression()?;
            self.expect(TokenKind::Comma)?;
            let set = self.designator()?;
            match is("multisetadd") {
                true => StatementKind::MultisetAdd(what, set),
                false => StatementKind::MultisetRemove(what, set),
            }
        } else if is("multisetremovepred") {
            StatementKind::MultisetRemoveWhere(self.selection()?)
        } else {
            StatementKind::Call(name, self.arguments()?)
        };
        self.expect(TokenKind::CloseParenthesis)?;
        if self.kind() == TokenKind::Assign {
            let message =
                format!("{} is called, and the result of a call cannot be assigned to", quoted(name.text));
            self.diagnostics.push(Diagnostic::error(message).at(self.span(), ""));
            return Err(Malformed);
        }
        Ok(statement)
    }

    fn if_statement(&mut self) -> Parsed<StatementKind<'s>> {
        let opened = self.span();
        let mut arms = Vec::new();
        while arms.is_empty() || self.kind() == TokenKind::Elsif {
            self.advance();
            let condition = self.expression()?;
            self.expect(TokenKind::Then)?;
            arms.push((condition, self.statements()?));
        }
        let otherwise = if self.eat(TokenKind::Else) { self.statements()? } else { Vec::new() };
        self.expect_end(&["endif"], opened)?;
        Ok(StatementKind::If(arms, otherwise))
    }

    fn switch_statement(&mut self) -> Parsed<StatementKind<'s>> {
        let opened = self.advance();
        let value = self.expression()?;
        let mut cases = Vec::new();
        while self.eat(TokenKind::Case) {
            let mut values = vec![self.expression()?];
            while self.eat(TokenKind::Comma) && self.kind() != TokenKind::Colon {
                values.push(self.expression()?);
            }
            self.expect(TokenKind::Colon)?;
            cases.push(Case { values, body: self.statements()? });
        }
        let otherwise = if self.eat(TokenKind::Else) { self.statements()? } else { Vec::new() };
        self.expect_end(&["endswitch"], opened)?;
        Ok(StatementKind::Switch(value, cases, otherwise))
    }
}
