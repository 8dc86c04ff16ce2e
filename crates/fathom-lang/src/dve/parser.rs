//! Which tree do the words of a DVE text form?
//!
//! Recursive descent over the grammar; processes are in [`super::processes`], expressions in [`super::expressions`].
//! Whoever meets a wrong word reports it and returns [`Malformed`]; the nearest list (items of the model, sections of a
//! process, transitions) skips to a place where the next element can begin and goes on, so one run reports several errors.
//! Every loop passes at least one word per round, so parsing is linear.

use fathom_model::span::Span;

use super::ast::{BaseType, Channel, Declaration, Expression, Initial, Model, Name, System, Variable};
use super::lexer::{TokenKind, lex};
use crate::cursor::{Cursor, Kind, Malformed, Parsed};
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};

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
pub(crate) type Parser<'s, 'd> = Cursor<'s, 'd, TokenKind>;

impl Kind for TokenKind {
    const STOP: TokenKind = TokenKind::End;
}

impl<'s, 'd> Parser<'s, 'd> {
    fn new(text: &'s str, diagnostics: &'d mut Diagnostics) -> Parser<'s, 'd> {
        Cursor::at_first(text, lex(text, diagnostics), diagnostics)
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
        if self.kind() == TokenKind::Unknown {
            return Malformed;
        }
        if self.diagnostics.counts_errors_only() {
            self.diagnostics.count_error();
            return Malformed;
        }
        let diagnostic = Diagnostic::error(format!("expected {wanted}, found {}", self.found()));
        let diagnostic = diagnostic.at(self.span(), "").help_if(self.hint(wanted));
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
            TokenKind::Plus | TokenKind::Minus if wanted == TokenKind::Assign.text() => {
                "an assignment is written `x = x + 1`; there are no `+=` and `++`"
            }
            TokenKind::Identifier
                if matches!(self.word(self.span()), "bool" | "boolean" | "bit" | "short" | "mtype") =>
            {
                "variables are `byte` (0 to 255) or `int` (-32768 to 32767); of a truth value 0 is false, and 1 is true"
            }
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
        if kind != TokenKind::Semicolon || self.kind() == TokenKind::Unknown || self.hint("").is_some() {
            return Err(self.unexpected(kind.text()));
        }
        // A forgotten semicolon is missed behind the last word, not at the next one, which may be lines away.
        let end = self.previous_span().end;
        let diagnostic = Diagnostic::error(format!("expected `;`, found {}", self.found()))
            .at(Span::new(end, end), "expected `;` here");
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
    pub(crate) fn names(&mut self, wanted: &str) -> Parsed<Vec<Name<'s>>> {
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
        let is_empty = model.declarations.is_empty() && model.processes.is_empty();
        if model.system.is_none() && is_empty && self.diagnostics.error_count() == 0 {
            let diagnostic = Diagnostic::error("the model is empty").at(self.span(), "");
            self.diagnostics.push(diagnostic.help(
                "a model declares processes, as in `process P { state s; init s; }`, and ends with `system async;`",
            ));
        } else if model.system.is_none() && self.diagnostics.error_count() == 0 {
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
        if matches!(self.word(span), "for" | "expression") {
            self.skip_block();
            return Ok(());
        }
        if self.kind() == TokenKind::Process { Ok(()) } else { Err(Malformed) }
    }

    /// How many braces were opened and not closed since the word of that number.
    pub(crate) fn open_braces(&self, before: usize) -> i64 {
        let passed = self.tokens[before..self.at].iter();
        passed.fold(0, |depth, token| match token.kind {
            TokenKind::OpenBrace => depth + 1,
            TokenKind::CloseBrace => depth - 1,
            _ => depth,
        })
    }

    /// Passes everything up to the `}` that closes the next `{`.
    fn skip_block(&mut self) {
        let mut depth = 0;
        while self.kind() != TokenKind::End {
            match self.kind() {
                TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseBrace => depth -= 1,
                _ => {}
            }
            let closed = self.kind() == TokenKind::CloseBrace && depth <= 0;
            self.advance();
            if closed {
                return;
            }
        }
    }

    /// Skips to where an item of the model can begin. At least one word is passed since `before`.
    fn skip_to_item(&mut self, before: usize) {
        let mut depth = self.open_braces(before);
        // A declaration ends with a semicolon, anything else may end with a brace.
        let is_declaration = matches!(
            self.tokens[before].kind,
            TokenKind::Const | TokenKind::Byte | TokenKind::Int | TokenKind::Channel
        );
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
                TokenKind::CloseBrace if depth > 1 || is_declaration => depth -= 1,
                TokenKind::CloseBrace => {
                    self.advance();
                    return;
                }
                TokenKind::Semicolon if depth <= 0 => {
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
    pub(crate) fn variables(&mut self, out: &mut Vec<Variable<'s>>) -> Parsed<()> {
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
    pub(crate) fn braced_expressions(&mut self) -> Parsed<(Vec<Expression<'s>>, Span)> {
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
        let keyword = self.expect(TokenKind::System)?;
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
        let system = System { keyword, synchronous, property };
        // The line is understood even without its semicolon: no follow-up errors.
        let _ = self.expect(TokenKind::Semicolon);
        Ok(system)
    }
}
