//! What are the words of a DVE text?
//!
//! Written by hand rather than generated: the comment rules of DVE (a `//` inside a block comment hides
//! the rest of its line, even a `*/`; a backslash at a line's end joins it to the next) are two short loops here.
//! One pass, linear in the text, no recursion. The last token is always [`TokenKind::End`].

use fathom_model::span::Span;

use crate::cursor;
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};
use crate::source::{NAME_BYTES_MAX, WORDS_MAX};

/// A word of the text.
pub(crate) type Token = cursor::Token<TokenKind>;

macro_rules! token_kinds {
    (words { $($word:ident $word_text:literal,)* } signs { $($sign:ident $sign_text:literal,)* }) => {
        /// The kinds of words. `&&` is `and`, `||` is `or`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum TokenKind {
            $($word,)*
            $($sign,)*
            Identifier,
            Number,
            /// Characters that begin no word; reported already.
            Unknown,
            End,
        }

        /// The words that cannot be names.
        pub const RESERVED: &[&str] = &[$($word_text,)*];

        impl TokenKind {
            /// The kind as a message names it.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(TokenKind::$word => concat!("`", $word_text, "`"),)*
                    $(TokenKind::$sign => concat!("`", $sign_text, "`"),)*
                    TokenKind::Identifier => "a name",
                    TokenKind::Number => "a number",
                    TokenKind::Unknown => "an unknown word",
                    TokenKind::End => "the end of the text",
                }
            }

            /// Whether it is a reserved word.
            pub(crate) fn is_keyword(self) -> bool {
                matches!(self, $(TokenKind::$word)|*)
            }

            fn of_word(word: &str) -> TokenKind {
                match word {
                    $($word_text => TokenKind::$word,)*
                    _ => TokenKind::Identifier,
                }
            }
        }
    };
}

token_kinds! {
    words {
        Guard "guard", Sync "sync", Async "async", Effect "effect", Process "process", State "state", Init "init",
        Accept "accept", Commit "commit", Trans "trans", System "system", True "true", False "false", And "and",
        Or "or", Not "not", Imply "imply", Int "int", Byte "byte", Const "const", Channel "channel",
        Property "property", Buchi "buchi", GenBuchi "genbuchi", Streett "streett", Rabin "rabin", Muller "muller",
        Assert "assert",
    }
    signs {
        Arrow "->", Equal "==", NotEqual "!=", LessEqual "<=", GreaterEqual ">=", ShiftLeft "<<", ShiftRight ">>",
        Assign "=", Less "<", Greater ">", Plus "+", Minus "-", Star "*", Slash "/", Percent "%", Ampersand "&",
        Bar "|", Caret "^", Tilde "~", Bang "!", Question "?", Dot ".", Comma ",", Semicolon ";", Colon ":",
        OpenBrace "{", CloseBrace "}", OpenBracket "[", CloseBracket "]", OpenParenthesis "(", CloseParenthesis ")",
    }
}

/// The words of the text. Characters that begin no word are reported and stand as [`TokenKind::Unknown`].
pub(crate) fn lex(text: &str, diagnostics: &mut Diagnostics) -> Vec<Token> {
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, diagnostics };
    // Real models have about one token for every four bytes.
    let mut tokens = Vec::with_capacity(text.len().min(WORDS_MAX) / 4 + 1);
    loop {
        lexer.skip_blank();
        let start = lexer.at;
        let kind = lexer.word();
        let span = lexer.span_from(start);
        if tokens.len() >= WORDS_MAX {
            lexer.diagnostics.push(cursor::too_many_words(span));
            tokens.push(Token { kind: TokenKind::End, span: Span::new(span.start, span.start) });
            return tokens;
        }
        tokens.push(Token { kind, span });
        if kind == TokenKind::End {
            return tokens;
        }
    }
}

struct Lexer<'s, 'd> {
    text: &'s str,
    bytes: &'s [u8],
    at: usize,
    diagnostics: &'d mut Diagnostics,
}

impl Lexer<'_, '_> {
    fn span_from(&self, start: usize) -> Span {
        Span::new(start as u32, self.at as u32)
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Passes white space and comments.
    fn skip_blank(&mut self) {
        loop {
            match self.rest() {
                [b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c, ..] => self.at += 1,
                [0xef, 0xbb, 0xbf, ..] if self.at == 0 => self.at += 3,
                [b'\\', b'\n', ..] => self.at += 2,
                [b'\\', b'\r', b'\n', ..] => self.at += 3,
                [b'/', b'/', ..] => self.skip_line_comment(),
                [b'/', b'*', ..] => self.skip_block_comment(),
                _ => return,
            }
        }
    }

    /// Passes everything to the end of the line, and the next line too if this one ends in a backslash.
    fn skip_line_comment(&mut self) {
        loop {
            match self.rest() {
                [] | [b'\n', ..] => return,
                [b'\\', b'\n', ..] => self.at += 2,
                [b'\\', b'\r', b'\n', ..] => self.at += 3,
                _ => self.at += 1,
            }
        }
    }

    fn skip_block_comment(&mut self) {
        let start = self.at;
        let mut hidden_end = None;
        self.at += 2;
        loop {
            match self.rest() {
                [] => break,
                [b'*', b'/', ..] => {
                    self.at += 2;
                    return;
                }
                [b'/', b'/', ..] => {
                    let from = self.at;
                    self.skip_line_comment();
                    let hidden = self.text[from..self.at].find("*/").map(|offset| from + offset);
                    hidden_end = hidden.or(hidden_end);
                }
                _ => self.at += 1,
            }
        }
        let opened = Span::new(start as u32, start as u32 + 2);
        let mut diagnostic = Diagnostic::error("this comment is never closed").at(opened, "opened here");
        if let Some(at) = hidden_end {
            diagnostic = diagnostic
                .see(Span::new(at as u32, at as u32 + 2), "this `*/` does not close it")
                .note("inside a block comment, `//` hides the rest of its line, also a `*/`");
        }
        self.diagnostics.push(diagnostic.help("close it with `*/`"));
    }

    /// Passes the word at the current place.
    fn word(&mut self) -> TokenKind {
        match self.peek() {
            None => TokenKind::End,
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => self.name(),
            Some(b'0'..=b'9') => self.number(),
            Some(_) => self.sign(),
        }
    }

    fn skip_name(&mut self) {
        while matches!(self.peek(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' | b'#')) {
            self.at += 1;
        }
    }

    fn name(&mut self) -> TokenKind {
        let start = self.at;
        self.skip_name();
        let word = &self.text[start..self.at];
        if word.len() > NAME_BYTES_MAX {
            self.diagnostics.push(cursor::long_name(word, self.span_from(start)));
        }
        TokenKind::of_word(word)
    }

    fn number(&mut self) -> TokenKind {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        let digits_end = self.at;
        self.skip_name();
        if self.at == digits_end {
            return TokenKind::Number;
        }
        let word = quoted(&self.text[start..self.at]);
        let diagnostic = Diagnostic::error(format!("{word} is neither a number nor a name"));
        let diagnostic = diagnostic.at(self.span_from(start), "numbers have decimal digits only");
        self.diagnostics.push(diagnostic.help("a name must not begin with a digit"));
        TokenKind::Unknown
    }

    fn sign(&mut self) -> TokenKind {
        let (kind, bytes) = match self.rest() {
            [first, second, ..] => match sign_of_two(*first, *second) {
                Some(kind) => (Some(kind), 2),
                None => (sign_of_one(*first), 1),
            },
            [first] => (sign_of_one(*first), 1),
            [] => (None, 0),
        };
        let Some(kind) = kind else {
            self.skip_unknown();
            return TokenKind::Unknown;
        };
        self.at += bytes;
        kind
    }

    /// Passes a stretch of characters that begin no word, or a string, and reports it once.
    fn skip_unknown(&mut self) {
        let start = self.at;
        self.at += 1;
        let help = match self.bytes[start] {
            quote @ (b'"' | b'\'') => {
                self.skip_string(quote);
                Some("DVE has no strings")
            }
            b'\\' => Some("a backslash is allowed only as the last character of a line"),
            _ => None,
        };
        let known =
            |byte: u8| byte.is_ascii_graphic() && !b"@#$`'\"\\".contains(&byte) || byte.is_ascii_whitespace();
        while self.peek().is_some_and(|byte| !known(byte)) {
            self.at += 1;
        }
        let (text, span) = (&self.text[start..self.at], self.span_from(start));
        self.diagnostics.error_with(|| {
            let word = quoted(&printable(text));
            let diagnostic = Diagnostic::error(format!("{word} is not part of DVE")).at(span, "");
            diagnostic.help_if(help.map(str::to_owned))
        });
    }

    /// Passes the rest of a string, if it ends on its line.
    fn skip_string(&mut self, quote: u8) {
        let end = self.rest().iter().position(|&byte| byte == quote || byte == b'\n');
        if let Some(end) = end.filter(|&end| self.rest()[end] == quote) {
            self.at += end + 1;
        }
    }
}

/// The text with control characters as escapes, cut to what a message can show.
fn printable(text: &str) -> String {
    let shown = text.chars().take(80).map(|character| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    });
    shown.collect()
}

fn sign_of_two(first: u8, second: u8) -> Option<TokenKind> {
    Some(match (first, second) {
        (b'-', b'>') => TokenKind::Arrow,
        (b'=', b'=') => TokenKind::Equal,
        (b'!', b'=') => TokenKind::NotEqual,
        (b'<', b'=') => TokenKind::LessEqual,
        (b'>', b'=') => TokenKind::GreaterEqual,
        (b'<', b'<') => TokenKind::ShiftLeft,
        (b'>', b'>') => TokenKind::ShiftRight,
        (b'&', b'&') => TokenKind::And,
        (b'|', b'|') => TokenKind::Or,
        _ => return None,
    })
}

fn sign_of_one(sign: u8) -> Option<TokenKind> {
    Some(match sign {
        b'=' => TokenKind::Assign,
        b'<' => TokenKind::Less,
        b'>' => TokenKind::Greater,
        b'+' => TokenKind::Plus,
        b'-' => TokenKind::Minus,
        b'*' => TokenKind::Star,
        b'/' => TokenKind::Slash,
        b'%' => TokenKind::Percent,
        b'&' => TokenKind::Ampersand,
        b'|' => TokenKind::Bar,
        b'^' => TokenKind::Caret,
        b'~' => TokenKind::Tilde,
        b'!' => TokenKind::Bang,
        b'?' => TokenKind::Question,
        b'.' => TokenKind::Dot,
        b',' => TokenKind::Comma,
        b';' => TokenKind::Semicolon,
        b':' => TokenKind::Colon,
        b'{' => TokenKind::OpenBrace,
        b'}' => TokenKind::CloseBrace,
        b'[' => TokenKind::OpenBracket,
        b']' => TokenKind::CloseBracket,
        b'(' => TokenKind::OpenParenthesis,
        b')' => TokenKind::CloseParenthesis,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut diagnostics = Diagnostics::default();
        let tokens = lex(text, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let end = tokens.last().unwrap();
        assert_eq!((end.kind, end.span.start as usize), (TokenKind::End, text.len()));
        let word = |token: &Token| text[token.span.start as usize..token.span.end as usize].to_owned();
        tokens[..tokens.len() - 1].iter().map(word).collect()
    }

    fn first_error(text: &str) -> String {
        let mut diagnostics = Diagnostics::default();
        lex(text, &mut diagnostics);
        diagnostics.items()[0].message.clone()
    }

    #[test]
    fn words_need_no_white_space_between_them() {
        assert_eq!(words("a->b{guard x<=3&&y>>1;}").join(" "), "a -> b { guard x <= 3 && y >> 1 ; }");
        assert_eq!(words("c?buf[n];d!{x$1,y#}").join(" "), "c ? buf [ n ] ; d ! { x$1 , y# }");
        assert_eq!(words("a|b||c&d&&e^~f%g").len(), 14);
        assert_eq!(words("\u{feff}x\r\ny").join(" "), "x y");
    }

    #[test]
    fn keywords_are_reserved_and_other_words_are_names() {
        let kinds: Vec<TokenKind> = lex("imply error wait and &&", &mut Diagnostics::default())
            .iter()
            .map(|token| token.kind)
            .collect();
        use TokenKind::{And, End, Identifier, Imply};
        assert_eq!(kinds, [Imply, Identifier, Identifier, And, And, End]);
    }

    #[test]
    fn comments_follow_the_rules_of_the_reference_implementation() {
        assert_eq!(words("a // b\nc").join(" "), "a c");
        assert_eq!(
            words("a // b \\\n c\nd").join(" "),
            "a d",
            "a backslash joins the next line to the comment"
        );
        assert_eq!(words("a \\\n b \\\r\n c").join(" "), "a b c");
        assert_eq!(words("a /* b\n c */ d").join(" "), "a d");
        assert_eq!(words("a /* /* b */ c").join(" "), "a c", "block comments do not nest");
        assert_eq!(words("a /* b // c */ d\n e */ f").join(" "), "a f", "`//` hides the `*/` on its line");
        assert_eq!(words("a /**/ b /***/ c /*/ d */ e").join(" "), "a b c e");
        assert_eq!(
            words("a // /* b\n c").join(" "),
            "a c",
            "a line comment hides the start of a block comment"
        );
        assert_eq!(words("").len(), 0);
        assert_eq!(words("//").len(), 0);
    }

    #[test]
    fn what_is_not_a_word_is_reported_once_per_stretch() {
        assert_eq!(first_error("a @@@ b"), "`@@@` is not part of DVE");
        assert_eq!(first_error("a \0 b"), "`\\u{0}` is not part of DVE");
        assert_eq!(first_error("a \u{e4}\u{f6} b"), "`\u{e4}\u{f6}` is not part of DVE");
        assert_eq!(first_error("a /* b"), "this comment is never closed");
        assert_eq!(first_error("\"F(a) b\" 'c"), "`\"F(a) b\"` is not part of DVE");
        assert_eq!(first_error("0x10"), "`0x10` is neither a number nor a name");
        let mut diagnostics = Diagnostics::default();
        assert_eq!(lex(&"@ ".repeat(100_000), &mut diagnostics).len(), 100_001);
        assert_eq!(diagnostics.error_count(), 100_000);
    }
}
