//! Which tree do the words of a process form?
//!
//! The sections of a process come in a fixed order; one that comes late is reported and read all the same.

use fathom_model::span::Span;

use super::ast::{
    Assert, Direction, Effect, Expression, ExpressionKind, Name, Process, StateList, Sync, Transition,
};
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::cursor::{Malformed, Parsed};
use crate::diagnostic::{Diagnostic, quoted};

/// The sections of a process, in the order they must come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Variables,
    States,
    Header,
    Asserts,
    Transitions,
}

impl<'s> Parser<'s, '_> {
    /// A process.
    pub(crate) fn process(&mut self) -> Parsed<Process<'s>> {
        let keyword = self.expect(TokenKind::Process)?;
        let name = self.name("a process's name")?;
        if matches!(self.kind(), TokenKind::OpenParenthesis | TokenKind::OpenBracket) {
            let diagnostic =
                Diagnostic::error("process parameters and instances are not supported").at(self.span(), "");
            self.diagnostics.push(
                diagnostic.help(format!("write one process for each instance: {0}_0, {0}_1, ...", name.text)),
            );
            self.skip_parameters()?;
        }
        self.expect(TokenKind::OpenBrace)?;
        let mut process = Process {
            name,
            span: keyword,
            variables: Vec::new(),
            states: Vec::new(),
            initial: None,
            committed: None,
            accepting: None,
            asserts: Vec::new(),
            transitions: Vec::new(),
        };
        self.process_body(&mut process);
        process.span = keyword.to(self.previous_span());
        Ok(process)
    }

    /// Passes the parameters of a process; an error unless its body follows.
    fn skip_parameters(&mut self) -> Parsed<()> {
        loop {
            match self.kind() {
                TokenKind::OpenBrace => return Ok(()),
                TokenKind::Semicolon | TokenKind::End | TokenKind::Process | TokenKind::System => {
                    return Err(Malformed);
                }
                _ => self.advance(),
            };
        }
    }

    /// The braces of a transition.
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
        self.expect(TokenKind::CloseBrace)?;
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
            let well_formed = match self.transition(&mut source) {
                Ok(transition) => {
                    out.push(transition);
                    true
                }
                Err(Malformed) => {
                    self.skip_transition(before)?;
                    false
                }
            };
            if self.eat(TokenKind::Comma) {
                continue;
            }
            let next_follows = self.kind() == TokenKind::Arrow
                || self.kind() == TokenKind::Identifier && self.next_kind() == TokenKind::Arrow;
            if !next_follows {
                self.expect(TokenKind::Semicolon)?;
                return Ok(());
            }
            if well_formed {
                let end = self.previous_span().end;
                let diagnostic = Diagnostic::error("expected `,` between transitions");
                self.diagnostics.push(diagnostic.at(Span::new(end, end), "expected `,` here"));
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
        let transition = self.transition_body(from, to)?;
        let start = given.map_or(arrow, |given| given.span);
        Ok(Transition { span: start.to(self.previous_span()), ..transition })
    }

    fn begins_transition(&self) -> bool {
        let kinds = [TokenKind::Identifier, TokenKind::Arrow, TokenKind::Identifier, TokenKind::OpenBrace];
        let words = self.kinds_ahead();
        words.take(kinds.len()).eq(kinds)
    }

    /// Skips a malformed transition, to the `,` or `;` behind it or to the next transition; an error if there is neither.
    fn skip_transition(&mut self, before: usize) -> Parsed<()> {
        // The error may lie inside the braces of the transition.
        let mut depth = self.open_braces(before);
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
                // `a -> b {` begins a transition wherever it stands: a brace or a comma before it was forgotten.
                TokenKind::Identifier if self.at > before && self.begins_transition() => return Ok(()),
                _ => {}
            }
            self.advance();
        }
    }

    /// Skips to where a section of a process can begin or the process ends; passes a word if nothing was since `before`.
    fn skip_in_process(&mut self, before: usize) {
        let mut depth = self.open_braces(before).max(0);
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
