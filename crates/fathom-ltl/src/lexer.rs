//! What are the words of a formula?
//!
//! Every spelling of an operator ends here: the parser sees one token per meaning. Tokens carry the bytes they came
//! from. Brackets may be escaped (`req\[0\]`), as BEEM's formulas have them.

use crate::diagnostic::{Diagnostic, Span};

/// The most words of a formula: far more than its nodes need.
const WORDS_MAX: usize = 500_000;

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// One kind per meaning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Name(String),
    Integer(String),
    Quoted(String),
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    Dot,
    Not,
    And,
    Or,
    Implies,
    Iff,
    Next,
    Finally,
    Globally,
    Until,
    Release,
    WeakUntil,
    StrongRelease,
    True,
    False,
    /// `==`, `!=`, `<`, `<=`, `>`, `>=`
    Compare(&'static str),
    /// `+`, `-`, `*`, `/`, `%`
    Arithmetic(&'static str),
}

/// Longest first, so that the first that fits is the right one.
const SYMBOLS: &[(&str, TokenKind)] = &[
    ("<->", TokenKind::Iff),
    ("->", TokenKind::Implies),
    ("&&", TokenKind::And),
    ("/\\", TokenKind::And),
    ("||", TokenKind::Or),
    ("\\/", TokenKind::Or),
    ("[]", TokenKind::Globally),
    ("<>", TokenKind::Finally),
    ("\\[", TokenKind::OpenBracket),
    ("\\]", TokenKind::CloseBracket),
    ("==", TokenKind::Compare("==")),
    ("!=", TokenKind::Compare("!=")),
    ("<=", TokenKind::Compare("<=")),
    (">=", TokenKind::Compare(">=")),
    ("<", TokenKind::Compare("<")),
    (">", TokenKind::Compare(">")),
    ("!", TokenKind::Not),
    ("~", TokenKind::Not),
    ("(", TokenKind::Open),
    (")", TokenKind::Close),
    ("[", TokenKind::OpenBracket),
    ("]", TokenKind::CloseBracket),
    (".", TokenKind::Dot),
    ("+", TokenKind::Arithmetic("+")),
    ("-", TokenKind::Arithmetic("-")),
    ("*", TokenKind::Arithmetic("*")),
    ("/", TokenKind::Arithmetic("/")),
    ("%", TokenKind::Arithmetic("%")),
];

/// The tokens of `source[range]`; their spans count from the beginning of `source`.
pub(crate) fn tokens(source: &str, range: Span) -> Result<Vec<Token>, Diagnostic> {
    let mut found: Vec<Token> = Vec::new();
    let mut at = range.start;
    while let Some(first) = source[at..range.end].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let after_dot = matches!(found.last(), Some(Token { kind: TokenKind::Dot, .. }));
        let (kind, length) = one_token(&source[at..range.end], at, after_dot)?;
        if found.len() == WORDS_MAX {
            let message = format!("the formula has more than {WORDS_MAX} words");
            return Err(Diagnostic::new(Span::new(at, at + length), message));
        }
        found.push(Token { kind, span: Span::new(at, at + length) });
        at += length;
    }
    Ok(found)
}

/// The text of an atom in canonical spacing; text that is not of our outline only has its white space made single.
pub(crate) fn canonical_atom(text: &str) -> String {
    match tokens(text, Span::new(0, text.len())) {
        Ok(tokens) if !tokens.is_empty() && tokens.iter().all(|token| token.kind.is_of_term()) => {
            spell(&tokens)
        }
        _ => text.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// Terms written one way: a space around operators, none elsewhere.
pub(crate) fn spell(tokens: &[Token]) -> String {
    let mut text = String::new();
    for (index, token) in tokens.iter().enumerate() {
        match &token.kind {
            TokenKind::Arithmetic("-") if is_sign(tokens, index) => text.push('-'),
            TokenKind::Compare(operator) | TokenKind::Arithmetic(operator) => {
                text.push(' ');
                text.push_str(operator);
                text.push(' ');
            }
            TokenKind::Name(name) | TokenKind::Integer(name) => text.push_str(name),
            TokenKind::Quoted(value) => {
                text.push('"');
                text.push_str(&value.replace('\\', "\\\\").replace('"', "\\\""));
                text.push('"');
            }
            TokenKind::Open => text.push('('),
            TokenKind::Close => text.push(')'),
            TokenKind::OpenBracket => text.push('['),
            TokenKind::CloseBracket => text.push(']'),
            TokenKind::Dot => text.push('.'),
            _ => {}
        }
    }
    text
}

fn is_sign(tokens: &[Token], index: usize) -> bool {
    index == 0
        || !matches!(
            tokens[index - 1].kind,
            TokenKind::Name(_) | TokenKind::Integer(_) | TokenKind::Close | TokenKind::CloseBracket
        )
}

impl TokenKind {
    /// May it occur inside an atom that is written in place?
    fn is_of_term(&self) -> bool {
        use TokenKind as T;
        matches!(
            self,
            T::Name(_)
                | T::Integer(_)
                | T::Quoted(_)
                | T::Open
                | T::Close
                | T::OpenBracket
                | T::CloseBracket
                | T::Dot
                | T::Compare(_)
                | T::Arithmetic(_)
        )
    }
}

fn one_token(rest: &str, at: usize, after_dot: bool) -> Result<(TokenKind, usize), Diagnostic> {
    let first = rest.chars().next().unwrap_or(' ');
    if first.is_ascii_alphabetic() || first == '_' {
        let length =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$').unwrap_or(rest.len());
        let word = &rest[..length];
        // Behind a dot stands the name of a state, whatever it is called.
        let kind = if after_dot { TokenKind::Name(word.to_owned()) } else { word_kind(word) };
        return Ok((kind, length));
    }
    if first.is_ascii_digit() {
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        return Ok((TokenKind::Integer(rest[..length].to_owned()), length));
    }
    if first == '"' {
        return quoted(rest, at);
    }
    match SYMBOLS.iter().find(|(spelling, _)| rest.starts_with(spelling)) {
        Some((spelling, kind)) => Ok((kind.clone(), spelling.len())),
        None => Err(unknown_symbol(rest, at)),
    }
}

fn word_kind(word: &str) -> TokenKind {
    match word {
        "G" => TokenKind::Globally,
        "F" => TokenKind::Finally,
        "X" => TokenKind::Next,
        "U" => TokenKind::Until,
        "R" | "V" => TokenKind::Release,
        "W" => TokenKind::WeakUntil,
        "M" => TokenKind::StrongRelease,
        "not" => TokenKind::Not,
        "and" => TokenKind::And,
        "or" => TokenKind::Or,
        "true" => TokenKind::True,
        "false" => TokenKind::False,
        _ => TokenKind::Name(word.to_owned()),
    }
}

fn quoted(rest: &str, at: usize) -> Result<(TokenKind, usize), Diagnostic> {
    let mut value = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((offset, character)) = characters.next() {
        match character {
            '"' if value.trim().is_empty() => {
                return Err(Diagnostic::new(Span::new(at, at + offset + 1), "empty atom"));
            }
            '"' => return Ok((TokenKind::Quoted(value), offset + 1)),
            '\\' => match characters.next() {
                Some((_, escaped @ ('"' | '\\' | '[' | ']'))) => value.push(escaped),
                Some((_, other)) => value.extend(['\\', other]),
                None => break,
            },
            '\n' => break,
            other => value.push(other),
        }
    }
    Err(Diagnostic::new(Span::new(at, at + 1), "this quote is not closed").help("close it on the same line"))
}

fn unknown_symbol(rest: &str, at: usize) -> Diagnostic {
    let first = rest.chars().next().unwrap_or(' ');
    let diagnostic =
        Diagnostic::new(Span::new(at, at + first.len_utf8()), format!("`{first}` has no meaning here"));
    match first {
        '&' => diagnostic.help("conjunction is `&&`; an expression with bit operators goes in double quotes"),
        '|' => diagnostic.help("disjunction is `||`; an expression with bit operators goes in double quotes"),
        '=' => diagnostic.help(
            "equality is `==`; an expression in the model's own language, as Murphi's `a = b`, goes in double quotes",
        ),
        '^' => diagnostic.help("an expression with bit operators goes in double quotes"),
        _ => diagnostic.help("an expression of the model's language can be given in double quotes"),
    }
}
