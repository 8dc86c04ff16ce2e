//! Where in the words of a text is a parser?
//!
//! What recursive descent needs of any language: the current word, the next one, passing it. The end of the text is a word of its own, which is never passed.
//! The grammar of a language is written on a [`Cursor`] over its kinds of words.

use fathom_model::span::Span;

use crate::diagnostic::{Diagnostic, Diagnostics, quoted};
use crate::source::{NAME_BYTES_MAX, WORDS_MAX};

/// What was met is not what the grammar wants; it has been reported.
#[derive(Debug)]
pub(crate) struct Malformed;

pub(crate) type Parsed<T> = Result<T, Malformed>;

/// A word of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<K> {
    pub(crate) kind: K,
    pub(crate) span: Span,
}

/// A text has more words than are read; it is read up to there.
pub(crate) fn too_many_words(span: Span) -> Diagnostic {
    let message = format!("the model is too large: more than {WORDS_MAX} words");
    Diagnostic::error(message).at(span, "read up to here")
}

/// A name is longer than names are.
pub(crate) fn long_name(name: &str, span: Span) -> Diagnostic {
    let message = format!("the name {} is too long: {} bytes", quoted(name), name.len());
    Diagnostic::error(message).at(span, "").help(format!("a name has at most {NAME_BYTES_MAX} bytes"))
}

/// The kinds of words of a language.
pub(crate) trait Kind: Copy + PartialEq {
    /// The end of the text.
    const STOP: Self;
}

/// A place in the words of a text.
pub(crate) struct Cursor<'s, 'd, K> {
    text: &'s str,
    /// The last one is the end of the text.
    pub(crate) tokens: Vec<Token<K>>,
    /// The number of the current word.
    pub(crate) at: usize,
    pub(crate) diagnostics: &'d mut Diagnostics,
    /// How much is open around the current word that the language bounds.
    pub(crate) nesting: u32,
}

impl<'s, 'd, K: Kind> Cursor<'s, 'd, K> {
    /// At the first word.
    pub(crate) fn at_first(text: &'s str, tokens: Vec<Token<K>>, diagnostics: &'d mut Diagnostics) -> Self {
        Cursor { text, tokens, at: 0, diagnostics, nesting: 0 }
    }

    /// The kind of the current word.
    pub(crate) fn kind(&self) -> K {
        self.tokens[self.at].kind
    }

    /// Where the current word stands.
    pub(crate) fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The kind of the word behind the current one.
    pub(crate) fn next_kind(&self) -> K {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    /// The kinds of the current word and all behind it.
    pub(crate) fn kinds_ahead(&self) -> impl Iterator<Item = K> {
        self.tokens[self.at..].iter().map(|token| token.kind)
    }

    /// Where the word before the current one stands.
    pub(crate) fn previous_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// Passes the current word (never the end) and says where it stands.
    pub(crate) fn advance(&mut self) -> Span {
        let span = self.span();
        if self.kind() != K::STOP {
            self.at += 1;
        }
        span
    }

    /// Passes the current word if it is of that kind.
    pub(crate) fn eat(&mut self, kind: K) -> bool {
        let found = self.kind() == kind;
        if found {
            self.advance();
        }
        found
    }

    /// The text of a word.
    pub(crate) fn word(&self, span: Span) -> &'s str {
        &self.text[span.start as usize..span.end as usize]
    }
}
