//! Which tree do the words of a DVE text form?
//!
//! Recursive descent over the grammar; expressions are in [`super::expressions`]. Whoever meets a wrong word reports it and
//! returns [`Malformed`]; the nearest list (items of the model, items of a process, transitions) skips to a place where the next
//! element can begin and goes on, so one run reports several errors. Every loop passes at least one word per round, so
//! parsing is linear.

use fathom_model::span::Span;

use super::ast::{
    Assert, BaseType, Channel, Declaration, Direction, Effect, Expression, ExpressionKind, Initial, Model,
    Name, Process, StateList, Sync, System, Transition, Variable,
};
use super::lexer::{Token, TokenKind, lex};
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};

/// What was met is not what the grammar wants; it has been reported.
#[derive(Debug)]
pub(crate) struct Malformed;

pub(crate) type Parsed<T> = Result<T, Malformed>;

/// The tree of a whole model. If there were errors it holds what could be understood.
pub(crate) fn parse<'s>(text: &'s str, diagnostics: &mut Diagnostics) -> Model<'s> {
    Parser::new(text, diagnostics).model()
}

/// The tree of a text that is one expression; none if there was an error.
pub(crate) fn parse_expression<'s>(text: &'s str, diagnostics: &mut Diagnostics) -> Option<Expression<'s>> {
    let mut parser = Parser::new(text, diagnostics);
    let expression = parser.expression().ok()?;
    if parser.kind() != TokenKind::End {
        parser.unexpected("an operator or the end of the expression");
        return None;
    }
    Some(expression)
}

/// A place in the words of a text.
pub(crate) struct Parser<'s, 'd> {
    pub(crate) text: &'s str,
    tokens: Vec<Token>,
    at: usize,
    pub(crate) diagnostics: &'d mut Diagnostics,
    /// How many expressions are open around the current word.
    pub(crate) nesting: u32,
}

impl<'s, 'd> Parser<'s, 'd> {
    fn new(text: &'s str, diagnostics: &'d mut Diagnostics) -> Parser<'s, 'd> {
        let tokens = lex(text, diagnostics);
        Parser { text, tokens, at: 0, diagnostics, nesting: 0 }
    }

    /// The kind of the current word.
    pub(crate) fn kind(&self) -> TokenKind {
        self.tokens[self.at].kind
    }

    /// Where the current word stands.
    pub(crate) fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    fn next_kind(&self) -> TokenKind {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    /// Where the word before the current one stands.
    pub(crate) fn previous_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// Passes the current word (never the end) and says where it stands.
    pub(crate) fn advance(&mut self) -> Span {
        let span = self.span();
        if self.kind() != TokenKind::End {
            self.at += 1;
        }
        span
    }

    /// Passes the current word if it is of that kind.
    pub(crate) fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.advance();
        }
        found
    }

    pub(crate) fn word(&self, span: Span) -> &'s str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// The current word as a message names it.
    fn found(&self) -> String {
        match self.kind() {
            TokenKind::Identifier | TokenKind::Number => quoted(self.word(self.span())),
            kind => kind.text().to_owned(),
        }
    }

    /// Reports that something else was wanted at the current word.
    pub(crate) fn unexpected(&mut self, wanted: &str) -> Malformed {
        let found = self.found();
        let diagnostic = Diagnostic::error(format!("expected {wanted}, found {found}"));
        let diagnostic = diagnostic.at(self.span(), format!("expected {wanted}")).help_if(self.hint(wanted));
        self.diagnostics.push(diagnostic);
        Malformed
    }

    /// What a user may have meant by a word that does not belong.
    fn hint(&self, wanted: &str) -> Option<String> {
        let kind = self.kind();
        let hint = match kind {
            TokenKind::Assign => "a comparison is written `==`",
            TokenKind::Equal => "an assignment is written `=`",
            TokenKind::Arrow => "an implication is written `imply`",
            TokenKind::Bang => "negation is written `not`",
            _ if kind.is_keyword() && wanted.contains("name") => {
                return Some(format!("{} is a reserved word and cannot be a name", kind.text()));
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Passes a word of that kind, or reports that it is missing.
    pub(crate) fn expect(&mut self, kind: TokenKind) -> Parsed<Span> {
        if self.kind() == kind {
            return Ok(self.advance());
        }
        if kind != TokenKind::Semicolon || self.hint("").is_some() {
            return Err(self.unexpected(kind.text()));
        }
        // A forgotten semicolon is missed behind the last word, not at the next one, which may be lines away.
        let end = self.previous_span().end;
        let diagnostic = Diagnostic::error(format!("expected `;`, found {}", self.found()))
            .at(Span::new(end, end), "expected `;` here")
            .see(self.span(), "unexpected");
        self.diagnostics.push(diagnostic);
        Err(Malformed)
    }

    /// Passes a name.
    pub(crate) fn name(&mut self, wanted: &str) -> Parsed<Name<'s>> {
        if self.kind() != TokenKind::Identifier {
            return Err(self.unexpected(wanted));
        }
        let span = self.advance();
        Ok(Name { text: self.word(span), span })
    }

    /// `ID {, ID}`
    fn names(&mut self, wanted: &str) -> Parsed<Vec<Name<'s>>> {
        let mut names = vec![self.name(wanted)?];
        while self.eat(TokenKind::Comma) {
            names.push(self.name(wanted)?);
        }
        Ok(names)
    }

    fn model(&mut self) -> Model<'s> {
        let mut model = Model::default();
        while self.kind() != TokenKind::End {
            let before = self.at;
            if self.model_item(&mut model).is_err() {
                self.skip_to_item(before);
            }
        }
        if model.system.is_none() && self.diagnostics.error_count() == 0 {
            let diagnostic = Diagnostic::error("the model does not say how its processes are composed");
            let diagnostic = diagnostic.at(self.span(), "expected `system async;` or `system sync;`");
            self.diagnostics.push(diagnostic.help("end the model with `system async;`"));
        }
        model
    }

    fn model_item(&mut self, model: &mut Model<'s>) -> Parsed<()> {
        if model.system.is_some() {
            return Err(self.unexpected("nothing behind the `system` line"));
        }
        match self.kind() {
            TokenKind::Const | TokenKind::Byte | TokenKind::Int => {
                self.require_before_processes(model);
                let mut variables = Vec::new();
                let result = self.variables(&mut variables);
                model.declarations.extend(variables.into_iter().map(Declaration::Variable));
                result
            }
            TokenKind::Channel => {
                self.require_before_processes(model);
                self.channels(&mut model.declarations)
            }
            TokenKind::Process => {
                let process = self.process()?;
                model.processes.push(process);
                Ok(())
            }
            TokenKind::System => {
                model.system = Some(self.system()?);
                Ok(())
            }
            _ => self.foreign_item(),
        }
    }

    fn require_before_processes(&mut self, model: &Model<'s>) {
        if let Some(process) = model.processes.first() {
            let diagnostic =
                Diagnostic::error("variables and channels are declared before the first process");
            let diagnostic = diagnostic.at(self.span(), "").see(process.name.span, "the first process");
            self.diagnostics.push(diagnostic.help("move the declaration up"));
        }
    }

    /// What newer dialects have and this language has not, refused by name.
    fn foreign_item(&mut self) -> Parsed<()> {
        let span = self.span();
        let (what, help) = match (self.kind(), self.word(span)) {
            (TokenKind::Property, _) if self.next_kind() == TokenKind::Process => {
                self.advance();
                (
                    "a `property process` declaration is",
                    "declare a plain process X and end with `system async property X;`",
                )
            }
            (TokenKind::Property, _) => (
                "a `property` declaration is",
                "give the formula on the command line, or write a property process",
            ),
            (_, "input") => ("`input` is", "declare it `const` and set it with `--const NAME=VALUE`"),
            (_, "expression") => ("an `expression` declaration is", "write the expression where it is used"),
            (_, "for") => ("a `for` loop over declarations is", "write the instances out"),
            _ => return Err(self.unexpected("a declaration, `process` or `system`")),
        };
        let diagnostic = Diagnostic::error(format!("{what} not supported")).at(span, "").help(help);
        self.diagnostics.push(diagnostic);
        if self.kind() == TokenKind::Process { Ok(()) } else { Err(Malformed) }
    }

    /// Skips to where an item of the model can begin. At least one word is passed since `before`.
    fn skip_to_item(&mut self, before: usize) {
        let mut depth = 0;
        loop {
            let moved = self.at > before;
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Process | TokenKind::System if moved => return,
                TokenKind::Const | TokenKind::Byte | TokenKind::Int | TokenKind::Channel
                    if moved && depth == 0 =>
                {
                    return;
                }
                TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseBrace if depth > 1 => depth -= 1,
                TokenKind::CloseBrace => {
                    self.advance();
                    return;
                }
                TokenKind::Semicolon if depth == 0 => {
                    self.advance();
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }

    fn base_type(&mut self) -> Parsed<BaseType> {
        match self.kind() {
            TokenKind::Byte => {
                self.advance();
                Ok(BaseType::Byte)
            }
            TokenKind::Int => {
                self.advance();
                Ok(BaseType::Int)
            }
            _ => Err(self.unexpected("`byte` or `int`")),
        }
    }

    /// One declaration of variables; those before an error are kept.
    fn variables(&mut self, out: &mut Vec<Variable<'s>>) -> Parsed<()> {
        let constant = self.eat(TokenKind::Const);
        let base = self.base_type()?;
        loop {
            let name = self.name("a variable's name")?;
            let length = self.bracketed()?;
            let initial = if self.eat(TokenKind::Assign) { Some(self.initial()?) } else { None };
            out.push(Variable { constant, base, name, length, initial });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::Semicolon)?;
        Ok(())
    }

    /// `[ expr ]`, if it is there.
    pub(crate) fn bracketed(&mut self) -> Parsed<Option<Expression<'s>>> {
        if !self.eat(TokenKind::OpenBracket) {
            return Ok(None);
        }
        let expression = self.expression()?;
        self.expect(TokenKind::CloseBracket)?;
        Ok(Some(expression))
    }

    fn initial(&mut self) -> Parsed<Initial<'s>> {
        if self.kind() != TokenKind::OpenBrace {
            return Ok(Initial::One(self.expression()?));
        }
        let (values, span) = self.braced_expressions()?;
        Ok(Initial::Many(values, span))
    }

    /// `{ expr {, expr} }`
    fn braced_expressions(&mut self) -> Parsed<(Vec<Expression<'s>>, Span)> {
        let open = self.expect(TokenKind::OpenBrace)?;
        let mut values = vec![self.expression()?];
        while self.eat(TokenKind::Comma) {
            values.push(self.expression()?);
        }
        let close = self.expect(TokenKind::CloseBrace)?;
        Ok((values, open.to(close)))
    }

    fn channels(&mut self, out: &mut Vec<Declaration<'s>>) -> Parsed<()> {
        self.expect(TokenKind::Channel)?;
        let fields = if self.eat(TokenKind::OpenBrace) { Some(self.channel_fields()?) } else { None };
        loop {
            let name = self.name("a channel's name")?;
            let capacity = self.bracketed()?;
            out.push(Declaration::Channel(Channel { name, fields: fields.clone(), capacity }));
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::Semicolon)?;
        Ok(())
    }

    fn channel_fields(&mut self) -> Parsed<Vec<BaseType>> {
        let mut fields = vec![self.base_type()?];
        while self.eat(TokenKind::Comma) {
            fields.push(self.base_type()?);
        }
        self.expect(TokenKind::CloseBrace)?;
        Ok(fields)
    }

    fn system(&mut self) -> Parsed<System<'s>> {
        self.expect(TokenKind::System)?;
        let synchronous = match self.kind() {
            TokenKind::Async => {
                self.advance();
                None
            }
            TokenKind::Sync => Some(self.advance()),
            _ => return Err(self.unexpected("`async` or `sync`")),
        };
        let property = if self.eat(TokenKind::Property) {
            Some(self.name("the property process's name")?)
        } else {
            None
        };
        let system = System { synchronous, property };
        // The line is understood even without its semicolon: no follow-up errors.
        let _ = self.expect(TokenKind::Semicolon);
        Ok(system)
    }

    fn process(&mut self) -> Parsed<Process<'s>> {
        self.expect(TokenKind::Process)?;
        let name = self.name("a process's name")?;
        if self.kind() == TokenKind::OpenParenthesis {
            let diagnostic =
                Diagnostic::error("process parameters and instances are not supported").at(self.span(), "");
            self.diagnostics.push(diagnostic.help("write one process for each instance"));
            return Err(Malformed);
        }
        self.expect(TokenKind::OpenBrace)?;
        let mut process = Process {
            name,
            variables: Vec::new(),
            states: Vec::new(),
            initial: None,
            committed: None,
            accepting: None,
            asserts: Vec::new(),
            transitions: Vec::new(),
        };
        self.process_body(&mut process);
        Ok(process)
    }

    /// `{ transition }`, the part of a transition's text behind its states.
    fn transition_body(&mut self, from: Name<'s>, to: Name<'s>) -> Parsed<Transition<'s>> {
        self.expect(TokenKind::OpenBrace)?;
        let mut transition =
            Transition { from, to, guard: None, sync: None, effects: Vec::new(), span: from.span };
        if self.eat(TokenKind::Guard) {
            transition.guard = Some(self.expression()?);
            self.expect(TokenKind::Semicolon)?;
        }
        if self.eat(TokenKind::Sync) {
            transition.sync = Some(self.sync()?);
            self.expect(TokenKind::Semicolon)?;
        }
        if self.eat(TokenKind::Effect) {
            transition.effects = self.effects()?;
            self.expect(TokenKind::Semicolon)?;
        }
        if matches!(self.kind(), TokenKind::Guard | TokenKind::Sync | TokenKind::Effect) {
            let message = format!("{} is out of order or given twice", self.kind().text());
            let diagnostic = Diagnostic::error(message).at(self.span(), "not expected here");
            let help = "a transition has at most one `guard`, one `sync` and one `effect`, in this order";
            self.diagnostics.push(diagnostic.help(help));
            return Err(Malformed);
        }
        let close = self.expect(TokenKind::CloseBrace)?;
        transition.span = from.span.to(close);
        if from.span.start > to.span.start {
            transition.span = to.span.to(close);
        }
        Ok(transition)
    }

    fn sync(&mut self) -> Parsed<Sync<'s>> {
        let channel = self.name("a channel's name")?;
        if self.kind() == TokenKind::Arrow {
            let diagnostic = Diagnostic::error("channels of other processes are not supported");
            let diagnostic = diagnostic.at(channel.span.to(self.span()), "");
            self.diagnostics.push(diagnostic.help("declare the channel before the first process"));
            return Err(Malformed);
        }
        let direction = match self.kind() {
            TokenKind::Bang => Direction::Send,
            TokenKind::Question => Direction::Receive,
            _ => return Err(self.unexpected("`!` (send) or `?` (receive)")),
        };
        self.advance();
        let values = match self.kind() {
            TokenKind::Semicolon => Vec::new(),
            TokenKind::OpenBrace => self.braced_expressions()?.0,
            _ => vec![self.expression()?],
        };
        let span = channel.span.to(self.previous_span());
        Ok(Sync { channel, direction, values, span })
    }

    fn effects(&mut self) -> Parsed<Vec<Effect<'s>>> {
        let mut effects = Vec::new();
        loop {
            let name = self.name("a variable to assign to")?;
            let index = self.bracketed()?;
            let span = name.span.to(self.previous_span());
            let depth = 1 + index.as_ref().map_or(0, |index| index.depth);
            let kind = match index {
                Some(index) => ExpressionKind::Element(name, Box::new(index)),
                None => ExpressionKind::Name(name),
            };
            if matches!(self.kind(), TokenKind::Arrow | TokenKind::Dot) {
                let diagnostic =
                    Diagnostic::error("a process assigns only to its own variables and to global ones");
                self.diagnostics.push(diagnostic.at(name.span.to(self.span()), "belongs to another process"));
                return Err(Malformed);
            }
            self.expect(TokenKind::Assign)?;
            effects.push(Effect { target: Expression { kind, span, depth }, value: self.expression()? });
            if !self.eat(TokenKind::Comma) {
                return Ok(effects);
            }
        }
    }
}

/// The sections of a process, in the order they must come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Variables,
    States,
    Header,
    Asserts,
    Transitions,
}

/// The body of a process: its sections.
impl<'s> Parser<'s, '_> {
    fn process_body(&mut self, process: &mut Process<'s>) {
        let mut last = (Section::Variables, self.span());
        loop {
            let before = self.at;
            let section = match self.kind() {
                TokenKind::CloseBrace => {
                    self.advance();
                    return;
                }
                TokenKind::End | TokenKind::Process | TokenKind::System => {
                    let message = format!("process {} is never closed", quoted(process.name.text));
                    let diagnostic = Diagnostic::error(message).at(self.span(), "expected `}` before this");
                    self.diagnostics.push(diagnostic.see(process.name.span, "opened here"));
                    return;
                }
                TokenKind::Const | TokenKind::Byte | TokenKind::Int => Section::Variables,
                TokenKind::State => Section::States,
                TokenKind::Init | TokenKind::Commit | TokenKind::Accept => Section::Header,
                TokenKind::Assert => Section::Asserts,
                TokenKind::Trans => Section::Transitions,
                _ => last.0,
            };
            if section < last.0 {
                let message = format!("{} comes too late in the process", self.kind().text());
                let diagnostic =
                    Diagnostic::error(message).at(self.span(), "").see(last.1, "this must come after it");
                let help =
                    "the order is: variables, `state`, `init` with `commit` and `accept`, `assert`, `trans`";
                self.diagnostics.push(diagnostic.help(help));
            } else if section > last.0 {
                last = (section, self.span());
            }
            if self.section(process).is_err() {
                self.skip_in_process(before);
            }
        }
    }

    /// One section of a process.
    fn section(&mut self, process: &mut Process<'s>) -> Parsed<()> {
        let keyword = self.span();
        match self.kind() {
            TokenKind::Const | TokenKind::Byte | TokenKind::Int => {
                return self.variables(&mut process.variables);
            }
            TokenKind::State => {
                self.require_first(process.states.first().map(|state| state.span));
                self.advance();
                process.states.extend(self.names("a state's name")?);
            }
            TokenKind::Init => {
                self.require_first(process.initial.map(|state| state.span));
                self.advance();
                process.initial = Some(self.name("the initial state's name")?);
            }
            TokenKind::Commit => {
                self.require_first(process.committed.as_ref().map(|list| list.keyword));
                self.advance();
                process.committed = Some(StateList { keyword, states: self.names("a state's name")? });
            }
            TokenKind::Accept => {
                self.require_first(process.accepting.as_ref().map(|list| list.keyword));
                self.advance();
                self.acceptance_kind()?;
                process.accepting = Some(StateList { keyword, states: self.names("a state's name")? });
            }
            TokenKind::Assert => {
                self.require_first(process.asserts.first().map(|assert| assert.state.span));
                self.advance();
                self.asserts(&mut process.asserts)?;
            }
            TokenKind::Trans => {
                self.require_first(process.transitions.first().map(|transition| transition.span));
                self.advance();
                return self.transitions(&mut process.transitions);
            }
            TokenKind::Channel => {
                let diagnostic =
                    Diagnostic::error("channels inside a process are not supported").at(keyword, "");
                self.diagnostics.push(diagnostic.help("declare the channel before the first process"));
                return Err(Malformed);
            }
            _ => return Err(self.unexpected("a section of a process (`state`, `init`, `trans`, ...) or `}`")),
        }
        self.expect(TokenKind::Semicolon)?;
        Ok(())
    }

    /// Reports a section that was there before.
    fn require_first(&mut self, earlier: Option<Span>) {
        if let Some(earlier) = earlier {
            let message = format!("a process has only one {}", self.kind().text());
            let diagnostic =
                Diagnostic::error(message).at(self.span(), "given again").see(earlier, "given before");
            self.diagnostics.push(diagnostic);
        }
    }

    /// `buchi` may be said; the other kinds of acceptance are refused.
    fn acceptance_kind(&mut self) -> Parsed<()> {
        match self.kind() {
            TokenKind::Buchi => {
                self.advance();
                Ok(())
            }
            kind @ (TokenKind::GenBuchi | TokenKind::Streett | TokenKind::Rabin | TokenKind::Muller) => {
                let message = format!("acceptance of kind {} is not supported", kind.text());
                let diagnostic = Diagnostic::error(message).at(self.span(), "");
                let help = "only Büchi acceptance is: `accept` and a list of states";
                self.diagnostics.push(diagnostic.help(help));
                Err(Malformed)
            }
            _ => Ok(()),
        }
    }

    fn asserts(&mut self, out: &mut Vec<Assert<'s>>) -> Parsed<()> {
        loop {
            let state = self.name("a state's name")?;
            self.expect(TokenKind::Colon)?;
            out.push(Assert { state, condition: self.expression()? });
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    fn transitions(&mut self, out: &mut Vec<Transition<'s>>) -> Parsed<()> {
        let mut source = None;
        loop {
            let before = self.at;
            match self.transition(&mut source) {
                Ok(transition) => out.push(transition),
                Err(Malformed) => self.skip_transition(before)?,
            }
            let next_follows = self.kind() == TokenKind::Arrow
                || self.kind() == TokenKind::Identifier && self.next_kind() == TokenKind::Arrow;
            if self.eat(TokenKind::Comma) {
                continue;
            } else if next_follows {
                let end = self.previous_span().end;
                let diagnostic = Diagnostic::error("expected `,` between transitions");
                self.diagnostics.push(diagnostic.at(Span::new(end, end), "expected `,` here"));
            } else {
                self.expect(TokenKind::Semicolon)?;
                return Ok(());
            }
        }
    }

    fn transition(&mut self, source: &mut Option<Name<'s>>) -> Parsed<Transition<'s>> {
        let given = match self.kind() {
            TokenKind::Arrow => None,
            _ => Some(self.name("a transition (`from -> to { ... }`)")?),
        };
        let arrow = self.expect(TokenKind::Arrow)?;
        let to = self.name("the target state's name")?;
        *source = given.or(*source);
        let Some(from) = *source else {
            let diagnostic =
                Diagnostic::error("the first transition must name its source state").at(arrow, "");
            let help = "only a later transition may leave it out, and then has the source of the one before";
            self.diagnostics.push(diagnostic.help(help));
            return Err(Malformed);
        };
        let mut transition = self.transition_body(from, to)?;
        if given.is_none() {
            transition.span = arrow.to(self.previous_span());
        }
        Ok(transition)
    }

    /// Skips a malformed transition, to the `,` or `;` behind it; an error if the list ends without one.
    fn skip_transition(&mut self, before: usize) -> Parsed<()> {
        // The error may lie inside the braces of the transition: count those passed already.
        let passed = self.tokens[before..self.at].iter();
        let mut depth = passed.fold(0i64, |depth, token| match token.kind {
            TokenKind::OpenBrace => depth + 1,
            TokenKind::CloseBrace => depth - 1,
            _ => depth,
        });
        loop {
            match self.kind() {
                TokenKind::End
                | TokenKind::Process
                | TokenKind::System
                | TokenKind::Trans
                | TokenKind::State => {
                    return Err(Malformed);
                }
                TokenKind::Comma | TokenKind::Semicolon if depth <= 0 => return Ok(()),
                TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseBrace if depth <= 0 => return Err(Malformed),
                TokenKind::CloseBrace => depth -= 1,
                // Behind a transition's closing brace the next one may follow without its comma.
                TokenKind::Identifier
                    if depth == 0
                        && self.at > before
                        && self.next_kind() == TokenKind::Arrow
                        && self.tokens[self.at - 1].kind == TokenKind::CloseBrace =>
                {
                    return Ok(());
                }
                _ => {}
            }
            self.advance();
        }
    }

    /// Skips to where a section of a process can begin or the process ends; passes a word if nothing was since `before`.
    fn skip_in_process(&mut self, before: usize) {
        let mut depth = 0;
        loop {
            let moved = self.at > before;
            match self.kind() {
                TokenKind::End | TokenKind::Process | TokenKind::System => return,
                TokenKind::State
                | TokenKind::Init
                | TokenKind::Accept
                | TokenKind::Commit
                | TokenKind::Trans
                | TokenKind::Assert
                    if moved =>
                {
                    return;
                }
                TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseBrace if depth == 0 => return,
                TokenKind::CloseBrace => depth -= 1,
                TokenKind::Semicolon if depth == 0 => {
                    self.advance();
                    return;
                }
                _ => {}
            }
            self.advance();
        }
    }
}
