//! How does a text become a formula?
//!
//! Recursive descent; from loose to tight: `<->`, `->`, `||`, `&&`, the binary temporal operators, the unary ones.
//! Implication, equivalence and the binary temporal operators associate to the right. An atom in place is a comparison
//! of arithmetic terms, `P.s`, an element or a name; `L=="T"` is BEEM's way to say that process L is in state T. A
//! parenthesis may open a formula or a term: what follows its other half decides.
//!
//! Bounded whatever the input: at most [`DEPTH_MAX`] operators are nested, [`HEIGHT_MAX`] with those of definitions, and at most [`NODES_MAX`] nodes come out.

use std::collections::HashMap;

use crate::atom::{AtomId, AtomLanguage, AtomText};
use crate::diagnostic::{Diagnostic, Mistakes, Span};
use crate::formula::Formula;
use crate::lexer::{self, Token, TokenKind};

/// How deep operators and parentheses may be nested.
pub const DEPTH_MAX: usize = 200;

/// How deep operators may be nested once definitions are put in.
pub const HEIGHT_MAX: usize = 400;

/// How many nodes a formula may have once its definitions are put in.
pub const NODES_MAX: usize = 20_000;

/// Names that stand for formulas: `#define` of `.ltl` files, `--atom NAME=E` of the command line.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    formulas: HashMap<String, Defined>,
}

/// What a name stands for.
#[derive(Clone, Debug)]
struct Defined {
    formula: Formula,
    /// How many nodes it has.
    size: usize,
    /// How many of them lie inside one another.
    height: usize,
}

impl Definitions {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets `name` stand for `formula`; says whether the name was free.
    pub fn define(&mut self, name: &str, formula: Formula) -> bool {
        let (size, height) = (formula.size(), formula.height());
        self.formulas.insert(name.to_owned(), Defined { formula, size, height }).is_none()
    }

    /// What `name` stands for.
    pub fn get(&self, name: &str) -> Option<&Formula> {
        self.formulas.get(name).map(|defined| &defined.formula)
    }
}

/// Parses a formula whose atoms belong to `language`.
///
/// # Errors
/// Every atom the language refuses, or the first mistake of syntax.
pub fn parse(source: &str, language: &mut dyn AtomLanguage) -> Result<Formula, Mistakes> {
    parse_part(source, Span::new(0, source.len()), &Definitions::new(), language)
}

/// Parses `source[range]`, where a defined name stands for its formula. Spans count from the beginning of `source`.
///
/// # Errors
/// As [`parse`].
pub fn parse_part(
    source: &str,
    range: Span,
    definitions: &Definitions,
    language: &mut dyn AtomLanguage,
) -> Result<Formula, Mistakes> {
    let tokens = lexer::tokens(source, range)?;
    let mut parser = Parser {
        tokens: &tokens,
        at: 0,
        end: range.end,
        definitions,
        language,
        depth: 0,
        nodes: 0,
        refused: Mistakes::default(),
    };
    let formula = parser.whole()?;
    if parser.refused.is_empty() { Ok(formula) } else { Err(parser.refused) }
}

/// Would this atom, unquoted, be read as the atom it is?
pub(crate) fn stands_in_place(text: &str) -> bool {
    single_atom(text).is_some_and(|atom| atom.text == text)
}

/// L and T, when the atom is written `L == "T"`.
pub(crate) fn as_process_state(text: &str) -> Option<(String, String)> {
    single_atom(text)?.equals
}

/// The atom, if the text is one written in place and nothing else.
fn single_atom(text: &str) -> Option<AtomText> {
    let mut seen = OnlyAtom(None);
    match parse(text, &mut seen) {
        Ok(Formula::Atom(_)) => seen.0,
        _ => None,
    }
}

/// A language with one atom, which remembers how it was written.
struct OnlyAtom(Option<AtomText>);

impl AtomLanguage for OnlyAtom {
    fn atom(&mut self, atom: &AtomText) -> Result<AtomId, Diagnostic> {
        self.0 = Some(atom.clone());
        AtomId::new(0).ok_or_else(|| Diagnostic::new(atom.span, "no atom"))
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    end: usize,
    definitions: &'a Definitions,
    language: &'a mut dyn AtomLanguage,
    depth: usize,
    /// How many nodes atoms and definitions have brought so far.
    nodes: usize,
    refused: Mistakes,
}

type Parsed<T = Formula> = Result<T, Diagnostic>;

impl Parser<'_> {
    fn whole(&mut self) -> Parsed {
        let formula = self.equivalence()?;
        if self.at < self.tokens.len() {
            return Err(self.unexpected("expected an operator or the end of the formula"));
        }
        if formula.size() > NODES_MAX { Err(self.too_large()) } else { Ok(formula) }
    }

    fn too_large(&self) -> Diagnostic {
        let message = format!("the formula has more than {NODES_MAX} nodes once its definitions are put in");
        Diagnostic::new(self.span_from(0), message)
    }

    /// Counts nodes before they are made.
    fn charge(&mut self, nodes: usize) -> Parsed<()> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > NODES_MAX { Err(self.too_large()) } else { Ok(()) }
    }

    /// Whether there is room for so many levels below the current one.
    fn check_height(&self, levels: usize) -> Parsed<()> {
        if self.depth.saturating_add(levels) <= HEIGHT_MAX {
            return Ok(());
        }
        let message =
            format!("more than {HEIGHT_MAX} operators inside one another once definitions are put in");
        Err(Diagnostic::new(self.here(), message).help("check its parts one by one"))
    }

    fn equivalence(&mut self) -> Parsed {
        let left = self.implication()?;
        if !self.take(&TokenKind::Iff) {
            return Ok(left);
        }
        let right = self.nested(Self::equivalence)?;
        Ok(Formula::Iff(Box::new(left), Box::new(right)))
    }

    fn implication(&mut self) -> Parsed {
        let left = self.disjunction()?;
        if !self.take(&TokenKind::Implies) {
            return Ok(left);
        }
        let right = self.nested(Self::implication)?;
        Ok(Formula::Implies(Box::new(left), Box::new(right)))
    }

    fn disjunction(&mut self) -> Parsed {
        self.chain(&TokenKind::Or, Self::conjunction, Formula::Or)
    }

    fn conjunction(&mut self) -> Parsed {
        self.chain(&TokenKind::And, Self::temporal, Formula::And)
    }

    fn chain(
        &mut self,
        operator: &TokenKind,
        operand: fn(&mut Self) -> Parsed,
        join: fn(Vec<Formula>) -> Formula,
    ) -> Parsed {
        let first = operand(self)?;
        if self.peek() != Some(operator) {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.take(operator) {
            operands.push(operand(self)?);
        }
        Ok(join(operands))
    }

    fn temporal(&mut self) -> Parsed {
        let left = self.unary()?;
        let join = match self.peek() {
            Some(TokenKind::Until) => Formula::Until,
            Some(TokenKind::Release) => Formula::Release,
            Some(TokenKind::WeakUntil) => Formula::WeakUntil,
            Some(TokenKind::StrongRelease) => Formula::StrongRelease,
            _ => return Ok(left),
        };
        self.at += 1;
        let right = self.nested(Self::temporal)?;
        Ok(join(Box::new(left), Box::new(right)))
    }

    fn unary(&mut self) -> Parsed {
        let join = match self.peek() {
            Some(TokenKind::Not) => Formula::Not,
            Some(TokenKind::Next) => Formula::Next,
            Some(TokenKind::Finally) => Formula::Finally,
            Some(TokenKind::Globally) => Formula::Globally,
            _ => return self.primary(),
        };
        self.at += 1;
        Ok(join(Box::new(self.nested(Self::unary)?)))
    }

    fn primary(&mut self) -> Parsed {
        match self.peek() {
            Some(TokenKind::True) => self.constant(Formula::True),
            Some(TokenKind::False) => self.constant(Formula::False),
            Some(TokenKind::Open) => self.parenthesised(),
            Some(TokenKind::Quoted(text)) => {
                let text = lexer::canonical_atom(text);
                let span = self.tokens[self.at].span;
                self.at += 1;
                Ok(self.resolve(&AtomText { text, equals: None, span }))
            }
            Some(TokenKind::Name(_)) => self.name(),
            Some(TokenKind::Integer(_) | TokenKind::Arithmetic("-")) => self.comparison(),
            _ => Err(self.unexpected("expected a formula")),
        }
    }

    fn constant(&mut self, formula: Formula) -> Parsed {
        self.at += 1;
        Ok(formula)
    }

    /// `( formula )`, unless an operator of terms follows: then it is the beginning of a comparison.
    fn parenthesised(&mut self) -> Parsed {
        let opened = self.tokens[self.at].span;
        let Some(close) = self.matching_close() else {
            return Err(Diagnostic::new(opened, "this parenthesis is not closed"));
        };
        let behind = self.tokens.get(close + 1).map(|token| &token.kind);
        if matches!(behind, Some(TokenKind::Compare(_) | TokenKind::Arithmetic(_))) {
            return self.comparison();
        }
        self.at += 1;
        let inner = self.nested(Self::equivalence)?;
        self.expect(&TokenKind::Close, "expected an operator or `)`")?;
        Ok(inner)
    }

    /// The token that closes the parenthesis at hand.
    fn matching_close(&self) -> Option<usize> {
        let mut level = 0usize;
        for (index, token) in self.tokens.iter().enumerate().skip(self.at) {
            match token.kind {
                TokenKind::Open => level += 1,
                TokenKind::Close if level == 1 => return Some(index),
                TokenKind::Close => level = level.saturating_sub(1),
                _ => {}
            }
        }
        None
    }

    /// A name: of a definition, of operators written together (`GF p`, or `GFp` with `p` defined), or of an atom.
    fn name(&mut self) -> Parsed {
        let Some(TokenKind::Name(name)) = self.peek() else { return self.comparison() };
        let alone = !matches!(
            self.tokens.get(self.at + 1).map(|token| &token.kind),
            Some(TokenKind::Dot | TokenKind::OpenBracket | TokenKind::Compare(_) | TokenKind::Arithmetic(_))
        );
        if !alone {
            return self.comparison();
        }
        if let Some(&Defined { ref formula, size, height }) = self.definitions.formulas.get(name) {
            self.charge(size)?;
            self.check_height(height)?;
            return self.constant(formula.clone());
        }
        let letters = name.len() - name.trim_start_matches(['G', 'F', 'X']).len();
        for operators in (1..=letters.min(name.len() - 1)).rev() {
            if let Some(&Defined { ref formula, size, height }) =
                self.definitions.formulas.get(&name[operators..])
            {
                let prefix = name[..operators].to_owned();
                self.charge(size + operators)?;
                self.check_height(height + operators)?;
                let wrapped = prefixed(&prefix, formula.clone());
                return self.constant(wrapped);
            }
        }
        if letters == name.len() && self.operand_follows() {
            let prefix = name.clone();
            self.charge(prefix.len())?;
            self.check_height(prefix.len())?;
            self.depth += prefix.len();
            self.at += 1;
            let operand = self.nested(Self::unary)?;
            self.depth -= prefix.len();
            return Ok(prefixed(&prefix, operand));
        }
        self.comparison()
    }

    fn operand_follows(&self) -> bool {
        use TokenKind as T;
        matches!(
            self.tokens.get(self.at + 1).map(|token| &token.kind),
            Some(
                T::Name(_)
                    | T::Integer(_)
                    | T::Quoted(_)
                    | T::Open
                    | T::Not
                    | T::Next
                    | T::Finally
                    | T::Globally
                    | T::True
                    | T::False
            )
        )
    }

    /// An atom in place: a term, or two with a comparison between them.
    fn comparison(&mut self) -> Parsed {
        let start = self.at;
        self.sum()?;
        let Some(TokenKind::Compare(operator)) = self.peek() else {
            return self.single_term(start);
        };
        let operator = *operator;
        let left = start..self.at;
        self.at += 1;
        if let Some(TokenKind::Quoted(value)) = self.peek() {
            let value = value.trim().to_owned();
            self.at += 1;
            return self.process_state(left, operator, value);
        }
        self.sum()?;
        if let Some(TokenKind::Compare(_)) = self.peek() {
            return Err(self.unexpected("comparisons do not chain"));
        }
        let text = lexer::spell(&self.tokens[start..self.at]);
        Ok(self.resolve(&AtomText { text, equals: None, span: self.span_from(start) }))
    }

    /// A term without a comparison is a proposition when it is a name, an element or `P.s`.
    fn single_term(&mut self, start: usize) -> Parsed {
        let tokens = &self.tokens[start..self.at];
        let span = self.span_from(start);
        if tokens.iter().all(|token| matches!(token.kind, TokenKind::Integer(_) | TokenKind::Arithmetic("-")))
        {
            return Err(Diagnostic::new(span, "a number is no proposition")
                .help("the constants are `true` and `false`"));
        }
        let mut level = 0i32;
        for token in tokens {
            match token.kind {
                TokenKind::OpenBracket | TokenKind::Open => level += 1,
                TokenKind::CloseBracket | TokenKind::Close => level -= 1,
                TokenKind::Arithmetic(_) if level == 0 => {
                    return Err(Diagnostic::new(span, "an arithmetic term is no proposition")
                        .help("compare it with something, or put it in double quotes"));
                }
                _ => {}
            }
        }
        Ok(self.resolve(&AtomText { text: lexer::spell(tokens), equals: None, span }))
    }

    /// `L == "T"`, and `L != "T"` as its negation.
    fn process_state(&mut self, left: std::ops::Range<usize>, operator: &str, value: String) -> Parsed {
        let span = self.span_from(left.start);
        if operator != "==" && operator != "!=" {
            return Err(Diagnostic::new(span, "a name in quotes can only be compared with `==` or `!=`"));
        }
        let left = lexer::spell(&self.tokens[left]);
        let text = format!("{left} == \"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
        let atom = self.resolve(&AtomText { text, equals: Some((left, value)), span });
        Ok(if operator == "==" { atom } else { Formula::Not(Box::new(atom)) })
    }

    fn sum(&mut self) -> Parsed<()> {
        self.factor()?;
        while let Some(TokenKind::Arithmetic(_)) = self.peek() {
            self.at += 1;
            self.factor()?;
        }
        Ok(())
    }

    fn factor(&mut self) -> Parsed<()> {
        match self.peek() {
            Some(TokenKind::Arithmetic("-")) => {
                self.at += 1;
                self.nested(Self::factor)
            }
            Some(TokenKind::Integer(_)) => {
                self.at += 1;
                Ok(())
            }
            Some(TokenKind::Open) => {
                self.at += 1;
                self.nested(Self::sum)?;
                self.expect(&TokenKind::Close, "expected `)`")
            }
            Some(TokenKind::Name(name)) => {
                if self.definitions.get(name).is_some() {
                    let message = format!("`{name}` is defined as a formula and cannot be part of a term");
                    return Err(Diagnostic::new(self.tokens[self.at].span, message));
                }
                self.at += 1;
                self.selectors()
            }
            _ => Err(self.unexpected("expected a term")),
        }
    }

    fn selectors(&mut self) -> Parsed<()> {
        loop {
            if self.take(&TokenKind::Dot) {
                match self.peek() {
                    Some(TokenKind::Name(_)) => self.at += 1,
                    _ => return Err(self.unexpected("expected the name of a state or a field")),
                }
            } else if self.take(&TokenKind::OpenBracket) {
                self.nested(Self::sum)?;
                self.expect(&TokenKind::CloseBracket, "expected `]`")?;
            } else {
                return Ok(());
            }
        }
    }

    /// Asks the language; a refused atom is noted and the parse goes on, so that all are reported at once. From as many as are shown on, no more are asked about.
    fn resolve(&mut self, atom: &AtomText) -> Formula {
        if self.refused.is_full() {
            self.refused.passed_over += 1;
            return Formula::False;
        }
        match self.language.atom(atom) {
            Ok(id) => Formula::Atom(id),
            Err(diagnostic) => {
                self.refused.push(diagnostic);
                Formula::False
            }
        }
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEPTH_MAX {
            let message = format!("more than {DEPTH_MAX} operators inside one another");
            return Err(Diagnostic::new(self.here(), message).help("name a part of it with `#define`"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn peek(&self) -> Option<&TokenKind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn take(&mut self, kind: &TokenKind) -> bool {
        let taken = self.peek() == Some(kind);
        self.at += usize::from(taken);
        taken
    }

    fn expect(&mut self, kind: &TokenKind, message: &str) -> Parsed<()> {
        if self.take(kind) { Ok(()) } else { Err(self.unexpected(message)) }
    }

    fn here(&self) -> Span {
        self.tokens.get(self.at).map_or(Span::new(self.end, self.end), |token| token.span)
    }

    fn span_from(&self, start: usize) -> Span {
        match (self.tokens.get(start), self.at.checked_sub(1).and_then(|last| self.tokens.get(last))) {
            (Some(first), Some(last)) => first.span.to(last.span),
            _ => self.here(),
        }
    }

    fn unexpected(&self, expected: &str) -> Diagnostic {
        let diagnostic = Diagnostic::new(self.here(), expected);
        match self.peek() {
            None => diagnostic.help("the text ends here"),
            Some(TokenKind::Name(_) | TokenKind::Integer(_)) => {
                diagnostic.help("an expression of the model's language can be given in double quotes")
            }
            Some(
                TokenKind::Until | TokenKind::Release | TokenKind::WeakUntil | TokenKind::StrongRelease,
            ) => diagnostic.help("the letters G F X U R V W M are operators; a variable of that name goes in double quotes"),
            Some(_) => diagnostic,
        }
    }
}

fn prefixed(operators: &str, formula: Formula) -> Formula {
    operators.chars().rev().fold(formula, |inner, operator| match operator {
        'G' => Formula::Globally(Box::new(inner)),
        'F' => Formula::Finally(Box::new(inner)),
        _ => Formula::Next(Box::new(inner)),
    })
}

#[cfg(test)]
mod tests;
