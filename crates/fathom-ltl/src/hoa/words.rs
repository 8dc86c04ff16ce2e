//! What are the words of a HOA file?

use crate::diagnostic::{Diagnostic, Span};

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    pub(super) kind: WordKind,
    pub(super) span: Span,
}

/// The kinds of words.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WordKind {
    /// `name:`, without the colon.
    Header(String),
    Name(String),
    /// `@name`, without the sign.
    Alias(String),
    Text(String),
    Number(usize),
    Symbol(char),
    Body,
    End,
    Abort,
}

/// The words up to the first `--END--`.
pub(super) fn split(source: &str) -> Result<Vec<Word>, Diagnostic> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        if rest.starts_with("/*") {
            at += comment(rest, at)?;
            continue;
        }
        let (kind, length) = word(rest, at)?;
        let last = kind == WordKind::End;
        words.push(Word { kind, span: Span::new(at, at + length) });
        at += length;
        if last {
            break;
        }
    }
    Ok(words)
}

/// The length of a comment; they nest.
fn comment(rest: &str, at: usize) -> Result<usize, Diagnostic> {
    let mut depth = 0usize;
    let mut offset = 0;
    while offset < rest.len() {
        let here = &rest.as_bytes()[offset..];
        if here.starts_with(b"/*") {
            depth += 1;
            offset += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            offset += 2;
            if depth == 0 {
                return Ok(offset);
            }
        } else {
            offset += 1;
        }
    }
    Err(Diagnostic::new(Span::new(at, at + 2), "this comment is not closed"))
}

fn word(rest: &str, at: usize) -> Result<(WordKind, usize), Diagnostic> {
    for (spelling, kind) in
        [("--BODY--", WordKind::Body), ("--END--", WordKind::End), ("--ABORT--", WordKind::Abort)]
    {
        if rest.starts_with(spelling) {
            return Ok((kind, spelling.len()));
        }
    }
    let first = rest.chars().next().unwrap_or(' ');
    let name_length = |text: &str| {
        text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(text.len())
    };
    match first {
        '!' | '&' | '|' | '(' | ')' | '[' | ']' | '{' | '}' => Ok((WordKind::Symbol(first), 1)),
        '"' => text(rest, at),
        '@' => {
            let length = name_length(&rest[1..]);
            Ok((WordKind::Alias(rest[1..=length].to_owned()), length + 1))
        }
        _ if first.is_ascii_digit() => {
            let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let number = rest[..length].parse();
            let too_large = || Diagnostic::new(Span::new(at, at + length), "this number is too large");
            Ok((WordKind::Number(number.map_err(|_| too_large())?), length))
        }
        _ if first.is_ascii_alphabetic() || first == '_' => {
            let length = name_length(rest);
            let name = rest[..length].to_owned();
            if rest[length..].starts_with(':') {
                return Ok((WordKind::Header(name), length + 1));
            }
            Ok((WordKind::Name(name), length))
        }
        _ => Err(Diagnostic::new(
            Span::new(at, at + first.len_utf8()),
            format!("`{first}` has no meaning here"),
        )),
    }
}

fn text(rest: &str, at: usize) -> Result<(WordKind, usize), Diagnostic> {
    let mut value = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((offset, character)) = characters.next() {
        match character {
            '"' => return Ok((WordKind::Text(value), offset + 1)),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    Err(Diagnostic::new(Span::new(at, at + 1), "this quote is not closed"))
}
