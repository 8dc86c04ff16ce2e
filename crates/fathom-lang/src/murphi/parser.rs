//! Which tree do the words of a model form: its sections, declarations, types and functions?
//!
//! Recursive descent. Sections come in any order. After an error the parser goes on at the next rule, function or section, so that
//! one run tells several errors. Semicolons between declarations and rules may be left out or repeated.

use fathom_model::span::Span;

use super::ast::{
    DEPTH_MAX, Declaration, Expression, ExpressionKind, Function, Item, Model, Name, Parameter, Type,
    TypeKind,
};
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
    if parser.kind() != TokenKind::Stop {
        parser.unexpected("an operator or the end of the expression");
        return None;
    }
    (parser.diagnostics.error_count() == 0).then_some(expression)
}

/// A place in the words of a text.
pub(crate) type Parser<'s, 'd> = Cursor<'s, 'd, TokenKind>;

impl Kind for TokenKind {
    const STOP: TokenKind = TokenKind::Stop;
}

impl<'s, 'd> Parser<'s, 'd> {
    fn new(text: &'s str, diagnostics: &'d mut Diagnostics) -> Parser<'s, 'd> {
        Cursor::at_first(text, lex(text, diagnostics), diagnostics)
    }

    /// Passes any number of semicolons; says whether there was one.
    pub(crate) fn eat_semicolons(&mut self) -> bool {
        let found = self.kind() == TokenKind::Semicolon;
        while self.eat(TokenKind::Semicolon) {}
        found
    }

    /// The current word as a message names it.
    fn found(&self) -> String {
        match self.kind() {
            kind @ (TokenKind::String | TokenKind::Unknown | TokenKind::Stop) => kind.text().to_owned(),
            _ => quoted(self.word(self.span())),
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
        let help = match self.kind() {
            TokenKind::Equal if wanted.contains(":=") => Some("an assignment is written `:=`".to_owned()),
            TokenKind::Equal | TokenKind::Assign if wanted == TokenKind::Colon.text() => Some(
                "declarations have a colon: `const N : 3;` for constants, `var x : 0..N;` for variables"
                    .to_owned(),
            ),
            TokenKind::Assign => Some("a comparison is written `=`".to_owned()),
            TokenKind::Semicolon if wanted == TokenKind::Do.text() => Some(
                "a quantifier has one name: write `forall a: t do forall b: u do ... end end`, and the same with `exists`"
                    .to_owned(),
            ),
            kind if kind.is_keyword() && wanted.contains("name") => {
                Some(format!("{} is a reserved word and cannot be a name", quoted(self.word(self.span()))))
            }
            _ => None,
        };
        self.diagnostics.push(diagnostic.at(self.span(), "").help_if(help));
        Malformed
    }

    /// Passes a word of that kind, or reports that it is missing.
    pub(crate) fn expect(&mut self, kind: TokenKind) -> Parsed<Span> {
        if self.kind() == kind {
            return Ok(self.advance());
        }
        Err(self.unexpected(kind.text()))
    }

    /// Passes the `end` of something that began at `opened`; the long forms are `words`.
    pub(crate) fn expect_end(&mut self, words: &[&str], opened: Span) -> Parsed<Span> {
        let span = self.span();
        let opener = quoted(self.word(opened));
        if self.kind() != TokenKind::End {
            if self.kind() == TokenKind::Unknown {
                return Err(Malformed);
            }
            let message = format!("expected {} or `end`, found {}", quoted(words[0]), self.found());
            let diagnostic = Diagnostic::error(message).at(span, "");
            self.diagnostics.push(diagnostic.see(opened, format!("this {opener} is still open")));
            return Err(Malformed);
        }
        let word = self.word(span).to_ascii_lowercase();
        if word != "end" && !words.contains(&&*word) {
            let message = format!("{} closes {opener}", quoted(self.word(span)));
            let diagnostic =
                Diagnostic::error(message).at(span, format!("expected {} or `end`", quoted(words[0])));
            self.diagnostics.push(diagnostic.see(opened, "opened here"));
        }
        Ok(self.advance())
    }

    /// Runs a part of the parser one level deeper, unless that is too deep.
    pub(crate) fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= DEPTH_MAX {
            return Err(self.too_deep(self.span()));
        }
        self.nesting += 1;
        let result = part(self);
        self.nesting -= 1;
        result
    }

    pub(crate) fn too_deep(&mut self, span: Span) -> Malformed {
        let message = format!("this is nested too deeply: more than {DEPTH_MAX} levels");
        let help = "chains of `&` and of `|` may be of any length; split the rest over functions";
        self.diagnostics.push(Diagnostic::error(message).at(span, "").help(help));
        Malformed
    }

    /// Whether a name stands here: also a word that only the other dialect reserves, where it is used like a name.
    pub(crate) fn at_name(&self) -> bool {
        use TokenKind::{
            Assign, CloseBracket, CloseParenthesis, Colon, Comma, Dot, Equal, NotEqual, OpenBracket,
        };
        let used_as_name = || {
            let next = self.next_kind();
            [Assign, CloseBracket, CloseParenthesis, Colon, Comma, Dot, Equal, NotEqual, OpenBracket]
                .contains(&next)
        };
        self.kind() == TokenKind::Identifier || self.kind().is_soft() && used_as_name()
    }

    /// Passes a name.
    pub(crate) fn name(&mut self, wanted: &str) -> Parsed<Name<'s>> {
        if self.kind() != TokenKind::Identifier && !self.kind().is_soft() {
            return Err(self.unexpected(wanted));
        }
        let span = self.advance();
        Ok(Name { text: self.word(span), span })
    }

    /// `ID {, ID} [,]`
    fn names(&mut self, wanted: &str) -> Parsed<Vec<Name<'s>>> {
        let mut names = vec![self.name(wanted)?];
        while self.eat(TokenKind::Comma) && self.at_name() {
            names.push(self.name(wanted)?);
        }
        Ok(names)
    }

    /// A string, if one stands here, without quotes and escapes.
    pub(crate) fn string(&mut self) -> Option<String> {
        if self.kind() != TokenKind::String {
            return None;
        }
        let span = self.advance();
        let mut characters = self.word(span).chars();
        characters.next();
        characters.next_back();
        let mut text = String::new();
        while let Some(character) = characters.next() {
            text.push(if character == '\\' { characters.next().unwrap_or(character) } else { character });
        }
        Some(text)
    }

    fn model(&mut self) -> Model<'s> {
        let mut model = Model::default();
        loop {
            self.eat_semicolons();
            if self.kind() == TokenKind::Stop {
                return model;
            }
            let before = self.at;
            if self.item(&mut model.items).is_err() {
                self.skip_to_item(before);
            }
        }
    }

    fn item(&mut self, items: &mut Vec<Item<'s>>) -> Parsed<()> {
        match self.kind() {
            TokenKind::Const | TokenKind::Type | TokenKind::Var => {
                let mut declarations = Vec::new();
                let result = self.section(&mut declarations);
                items.extend(declarations.into_iter().map(Item::Declaration));
                result
            }
            TokenKind::Function | TokenKind::Procedure => {
                let function = self.function()?;
                items.push(Item::Function(function));
                Ok(())
            }
            _ if self.at_rule() => {
                let rule = self.rule()?;
                items.push(Item::Rule(rule));
                Ok(())
            }
            // What an error left open is closed by it.
            TokenKind::End if self.diagnostics.error_count() > 0 => Err(Malformed),
            _ => Err(self.unexpected("a declaration, a function or a rule")),
        }
    }

    /// Skips to where an item can begin. At least one word is passed since `before`.
    fn skip_to_item(&mut self, before: usize) {
        use TokenKind::{Const, Function, Invariant, Procedure, Rule, Ruleset, Startstate, Stop, Type, Var};
        if self.at == before {
            self.advance();
        }
        let starts = [Const, Function, Invariant, Procedure, Rule, Ruleset, Startstate, Stop, Type, Var];
        while !starts.contains(&self.kind()) {
            self.advance();
        }
    }

    /// The sections of a block, in any number and order.
    pub(crate) fn sections(&mut self) -> Parsed<Vec<Declaration<'s>>> {
        let mut declarations = Vec::new();
        while matches!(self.kind(), TokenKind::Const | TokenKind::Type | TokenKind::Var) {
            self.section(&mut declarations)?;
        }
        Ok(declarations)
    }

    /// One section; the declarations before an error are kept.
    fn section(&mut self, out: &mut Vec<Declaration<'s>>) -> Parsed<()> {
        let section = self.kind();
        self.advance();
        self.eat_semicolons();
        if self.kind().is_keyword()
            && matches!(self.next_kind(), TokenKind::Colon | TokenKind::Comma)
            && !self.at_name()
        {
            return Err(self.unexpected("a name"));
        }
        while self.at_name() {
            let names = self.names("a name")?;
            self.expect(TokenKind::Colon)?;
            out.push(match section {
                TokenKind::Const => Declaration::Constant(names, self.expression()?),
                TokenKind::Type => Declaration::Type(names, self.type_tree()?),
                _ => Declaration::Variable(names, self.type_tree()?),
            });
            if !self.eat_semicolons() && self.kind() == TokenKind::Comma {
                return Err(self.unexpected("`;`"));
            }
        }
        Ok(())
    }

    /// A type.
    pub(crate) fn type_tree(&mut self) -> Parsed<Type<'s>> {
        self.nested(|parser| {
            let start = parser.span();
            let kind = parser.type_kind()?;
            Ok(Type { kind, span: start.to(parser.previous_span()) })
        })
    }

    fn type_kind(&mut self) -> Parsed<TypeKind<'s>> {
        let next = self.next_kind();
        match self.kind() {
            TokenKind::Boolean => {
                self.advance();
                Ok(TypeKind::Boolean)
            }
            TokenKind::Enum => {
                self.advance();
                self.expect(TokenKind::OpenBrace)?;
                let names = if self.kind() == TokenKind::CloseBrace {
                    Vec::new()
                } else {
                    self.names("a value's name")?
                };
                self.expect(TokenKind::CloseBrace)?;
                Ok(TypeKind::Enum(names))
            }
            TokenKind::Scalarset => {
                self.advance();
                self.expect(TokenKind::OpenParenthesis)?;
                let size = self.expression()?;
                self.expect(TokenKind::CloseParenthesis)?;
                Ok(TypeKind::Scalarset(Box::new(size)))
            }
            TokenKind::Union if next == TokenKind::OpenBrace => self.union_kind(),
            TokenKind::Record => self.record_kind(),
            TokenKind::Array => {
                self.advance();
                self.expect(TokenKind::OpenBracket)?;
                let index = self.type_tree()?;
                self.expect(TokenKind::CloseBracket)?;
                self.expect(TokenKind::Of)?;
                Ok(TypeKind::Array(Box::new(index), Box::new(self.type_tree()?)))
            }
            TokenKind::Multiset if next == TokenKind::OpenBracket => {
                self.advance();
                self.advance();
                let size = self.expression()?;
                self.expect(TokenKind::CloseBracket)?;
                self.expect(TokenKind::Of)?;
                Ok(TypeKind::Multiset(Box::new(size), Box::new(self.type_tree()?)))
            }
            TokenKind::Real if next == TokenKind::OpenParenthesis => {
                let diagnostic = Diagnostic::error("the type `real` is not supported").at(self.span(), "");
                self.diagnostics.push(diagnostic.help("use an integer range"));
                Err(Malformed)
            }
            _ => self.range_or_name(),
        }
    }

    fn union_kind(&mut self) -> Parsed<TypeKind<'s>> {
        self.advance();
        self.expect(TokenKind::OpenBrace)?;
        let mut members = vec![self.type_tree()?];
        while self.eat(TokenKind::Comma) && self.kind() != TokenKind::CloseBrace {
            members.push(self.type_tree()?);
        }
        self.expect(TokenKind::CloseBrace)?;
        Ok(TypeKind::Union(members))
    }

    fn record_kind(&mut self) -> Parsed<TypeKind<'s>> {
        let opened = self.advance();
        self.eat_semicolons();
        let mut fields = Vec::new();
        while self.at_name() {
            let names = self.names("a field's name")?;
            self.expect(TokenKind::Colon)?;
            fields.push((names, self.type_tree()?));
            self.eat_semicolons();
        }
        self.expect_end(&["endrecord"], opened)?;
        Ok(TypeKind::Record(fields))
    }

    fn range_or_name(&mut self) -> Parsed<TypeKind<'s>> {
        let low = self.expression()?;
        if self.eat(TokenKind::DotDot) {
            let high = self.expression()?;
            return Ok(TypeKind::Range(Box::new(low), Box::new(high)));
        }
        match low.kind {
            ExpressionKind::Name(name) => Ok(TypeKind::Named(name)),
            _ => Err(self.unexpected("`..` and the upper end of the range")),
        }
    }

    fn function(&mut self) -> Parsed<Function<'s>> {
        let opened = self.advance();
        let name = self.name("a function's name")?;
        let mut parameters = Vec::new();
        if self.eat(TokenKind::OpenParenthesis) {
            self.eat_semicolons();
            while self.kind() != TokenKind::CloseParenthesis {
                parameters.push(self.parameter()?);
                self.eat_semicolons();
            }
            self.expect(TokenKind::CloseParenthesis)?;
        }
        let result = if self.eat(TokenKind::Colon) { Some(self.type_tree()?) } else { None };
        self.eat_semicolons();
        let declarations = self.sections()?;
        self.eat(TokenKind::Begin);
        let body = self.statements()?;
        let end = self.expect_end(&["endfunction", "endprocedure"], opened)?;
        Ok(Function { name, span: opened.to(end), parameters, result, declarations, body })
    }

    fn parameter(&mut self) -> Parsed<Parameter<'s>> {
        let by_reference = self.eat(TokenKind::Var);
        let names = self.names("a parameter's name")?;
        self.expect(TokenKind::Colon)?;
        let parameter_type = self.type_tree()?;
        Ok(Parameter { by_reference, names, parameter_type })
    }
}
