//! What are the words of a Murphi text?
//!
//! Keywords are the same in upper and lower case, names are not. Both `-- ...` and `/* ... */` are comments, which do not nest. Some
//! operators have a second form as one mathematical sign. One pass, linear in the text, no recursion. The last token is
//! always [`TokenKind::Stop`].

use fathom_model::span::Span;

use crate::cursor;
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};
use crate::source::{NAME_BYTES_MAX, STRING_BYTES_MAX, WORDS_MAX};

/// A word of the text.
pub(crate) type Token = cursor::Token<TokenKind>;

macro_rules! token_kinds {
    (words { $($word:ident $word_text:literal,)* } signs { $($sign:ident $sign_text:literal $($other:literal)*,)* }) => {
        /// The kinds of words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum TokenKind {
            $($word,)*
            $($sign,)*
            /// `end`, or any of its longer forms (`endif`, `endrule`, ...).
            End,
            Identifier,
            Number,
            /// A text in quotes, with its quotes.
            String,
            /// Characters that begin no word; reported already.
            Unknown,
            /// The end of the text.
            Stop,
        }

        /// The words that have a meaning of their own, in lower case; beside them there are the forms of `end`.
        pub const RESERVED: &[&str] = &[$($word_text,)*];

        impl TokenKind {
            /// The kind as a message names it.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(TokenKind::$word => concat!("`", $word_text, "`"),)*
                    $(TokenKind::$sign => concat!("`", $sign_text, "`"),)*
                    TokenKind::End => "`end`",
                    TokenKind::Identifier => "a name",
                    TokenKind::Number => "a number",
                    TokenKind::String => "a string",
                    TokenKind::Unknown => "an unknown word",
                    TokenKind::Stop => "the end of the text",
                }
            }

            /// Whether it is a reserved word.
            pub(crate) fn is_keyword(self) -> bool {
                matches!(self, TokenKind::End $(| TokenKind::$word)*)
            }

            /// The kind of a word in lower case.
            fn of_word(word: &str) -> TokenKind {
                match word {
                    $($word_text => TokenKind::$word,)*
                    _ if END_WORDS.contains(&word) => TokenKind::End,
                    _ => TokenKind::Identifier,
                }
            }
        }

        /// Signs, the longest first where one begins with another.
        const SIGNS: &[(&str, TokenKind)] = &[$(($sign_text, TokenKind::$sign), $(($other, TokenKind::$sign),)*)*];
    };
}

token_kinds! {
    words {
        Alias "alias", Array "array", Assert "assert", Assume "assume", Begin "begin", Boolean "boolean", By "by",
        Case "case", Choose "choose", Clear "clear", Const "const", Cover "cover", Do "do", Else "else",
        Elsif "elsif", Enum "enum", Error "error", Exists "exists", False "false", For "for", Forall "forall",
        Function "function", If "if", Invariant "invariant", Liveness "liveness", Multiset "multiset", Of "of",
        Procedure "procedure", Put "put", Real "real", Record "record", Return "return", Rule "rule",
        Ruleset "ruleset", Scalarset "scalarset", Startstate "startstate", Switch "switch", Then "then", To "to",
        True "true", Type "type", Undefine "undefine", Undefined "undefined", Union "union", Var "var",
        While "while",
    }
    signs {
        Guards "==>" "\u{21d2}", Equal "==" "=", Assign ":=" "\u{2254}", DotDot "..", GreaterEqual ">=" "\u{2265}",
        ShiftRight ">>", Implies "->" "\u{2192}", LessEqual "<=" "\u{2264}", ShiftLeft "<<", NotEqual "!=" "\u{2260}",
        And "&&", Or "||", Ampersand "&" "\u{2227}", Bar "|" "\u{2228}", Bang "!" "\u{ac}", Less "<", Greater ">",
        Plus "+", Minus "-" "\u{2212}", Star "*" "\u{d7}", Slash "/" "\u{f7}", Percent "%", Caret "^", Tilde "~",
        Question "?", Dot ".", Comma ",", Semicolon ";", Colon ":", OpenBrace "{", CloseBrace "}", OpenBracket "[",
        CloseBracket "]", OpenParenthesis "(", CloseParenthesis ")", ForallSign "\u{2200}", ExistsSign "\u{2203}",
    }
}

/// The words that may stand for `end`.
pub const END_WORDS: &[&str] = &[
    "end",
    "endalias",
    "endchoose",
    "endexists",
    "endfor",
    "endforall",
    "endfunction",
    "endif",
    "endprocedure",
    "endrecord",
    "endrule",
    "endruleset",
    "endstartstate",
    "endswitch",
    "endwhile",
];

impl TokenKind {
    /// Whether only one of the two dialects reserves the word, so that it can also be a name.
    pub(crate) fn is_soft(self) -> bool {
        use TokenKind::{Assume, By, Choose, Cover, Liveness, Multiset, Real, Union};
        matches!(self, Assume | By | Choose | Cover | Liveness | Multiset | Real | Union)
    }
}

/// The words of the text. Characters that begin no word are reported and stand as [`TokenKind::Unknown`].
pub(crate) fn lex(text: &str, diagnostics: &mut Diagnostics) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, diagnostics };
    // Real models have about one token for every five bytes.
    let mut tokens = Vec::with_capacity(text.len().min(WORDS_MAX) / 5 + 1);
    loop {
        lexer.skip_blank();
        let start = lexer.at;
        let kind = lexer.word();
        let span = lexer.span_from(start);
        if tokens.len() >= WORDS_MAX {
            lexer.diagnostics.push(cursor::too_many_words(span));
            tokens.push(Token { kind: TokenKind::Stop, span: Span::new(span.start, span.start) });
            return tokens;
        }
        tokens.push(Token { kind, span });
        if kind == TokenKind::Stop {
            return tokens;
        }
    }
}

struct Lexer<'s, 'd> {
    text: &'s str,
    at: usize,
    diagnostics: &'d mut Diagnostics,
}

impl<'s> Lexer<'s, '_> {
    fn span_from(&self, start: usize) -> Span {
        Span::new(start as u32, self.at as u32)
    }

    fn rest(&self) -> &'s str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes white space and comments.
    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            if rest.starts_with("--") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.skip_block_comment();
            } else if let Some(blank) =
                rest.chars().next().filter(|it| it.is_whitespace() || *it == '\u{feff}')
            {
                self.at += blank.len_utf8();
            } else {
                return;
            }
        }
    }

    fn skip_block_comment(&mut self) {
        match self.rest()[2..].find("*/") {
            Some(length) => self.at += length + 4,
            None => {
                let opened = Span::new(self.at as u32, self.at as u32 + 2);
                let diagnostic = Diagnostic::error("this comment is never closed").at(opened, "opened here");
                self.diagnostics.push(diagnostic.help("close it with `*/`"));
                self.at = self.text.len();
            }
        }
    }

    /// Passes the word at the current place.
    fn word(&mut self) -> TokenKind {
        match self.peek() {
            None => TokenKind::Stop,
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => self.name(),
            Some(b'0'..=b'9') => self.number(),
            Some(b'"') => self.string('"'),
            Some(_) if self.rest().starts_with('\u{201c}') => self.string('\u{201d}'),
            Some(_) => self.sign(),
        }
    }

    fn skip_name(&mut self) {
        while matches!(self.peek(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_')) {
            self.at += 1;
        }
    }

    fn name(&mut self) -> TokenKind {
        let start = self.at;
        self.skip_name();
        let word = &self.text[start..self.at];
        if word.len() > NAME_BYTES_MAX {
            self.diagnostics.push(cursor::long_name(word, self.span_from(start)));
            return TokenKind::Identifier;
        }
        TokenKind::of_word(&word.to_ascii_lowercase())
    }

    fn number(&mut self) -> TokenKind {
        let start = self.at;
        self.skip_name();
        let word = &self.text[start..self.at];
        let hexadecimal = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
        let is_number = match hexadecimal {
            Some(digits) => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
            None => word.bytes().all(|byte| byte.is_ascii_digit()),
        };
        let is_real = self.rest().starts_with('.') && !self.rest().starts_with("..");
        if is_real {
            self.at += 1;
            self.skip_name();
            let diagnostic =
                Diagnostic::error("real numbers are not supported").at(self.span_from(start), "");
            self.diagnostics.push(diagnostic.help("use an integer range"));
            return TokenKind::Unknown;
        }
        if is_number {
            return TokenKind::Number;
        }
        let diagnostic = Diagnostic::error(format!("{} is neither a number nor a name", quoted(word)));
        let diagnostic = diagnostic.at(self.span_from(start), "");
        self.diagnostics.push(diagnostic.help("a name must not begin with a digit"));
        TokenKind::Unknown
    }

    /// A string up to the closing quote; a plain one closes it in any case.
    fn string(&mut self, close: char) -> TokenKind {
        let start = self.at;
        let mut escaped = false;
        let mut characters = self.rest().char_indices();
        characters.next();
        for (offset, character) in characters {
            if !escaped && (character == close || character == '"') {
                self.at += offset + character.len_utf8();
                if self.at - start > STRING_BYTES_MAX {
                    let message = format!("this string is too long: more than {STRING_BYTES_MAX} bytes");
                    self.diagnostics.push(Diagnostic::error(message).at(self.span_from(start), ""));
                }
                return TokenKind::String;
            }
            escaped = !escaped && character == '\\';
        }
        self.at = self.text.len();
        let opened = Span::new(start as u32, start as u32 + 1);
        let opened = if close == '"' { opened } else { Span::new(start as u32, start as u32 + 3) };
        let diagnostic = Diagnostic::error("this string is never closed").at(opened, "opened here");
        self.diagnostics.push(diagnostic.help("close it with `\"`"));
        TokenKind::Unknown
    }

    fn sign(&mut self) -> TokenKind {
        let rest = self.rest();
        match sign_at(rest) {
            Some((sign, kind)) => {
                self.at += sign.len();
                match kind {
                    TokenKind::ForallSign => TokenKind::Forall,
                    TokenKind::ExistsSign => TokenKind::Exists,
                    kind => kind,
                }
            }
            None => {
                self.skip_unknown();
                TokenKind::Unknown
            }
        }
    }

    /// Passes a stretch of characters that begin no word, and reports it once.
    fn skip_unknown(&mut self) {
        let start = self.at;
        let begins_word = |rest: &str| {
            let first = rest.chars().next();
            first.is_none_or(|it| it.is_ascii_alphanumeric() || it == '_' || it == '"' || it.is_whitespace())
                || rest.starts_with('\u{201c}')
                || sign_at(rest).is_some()
        };
        loop {
            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            if begins_word(self.rest()) {
                break;
            }
        }
        let (text, span) = (&self.text[start..self.at], self.span_from(start));
        self.diagnostics.error_with(|| {
            let shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
            Diagnostic::error(format!("{} is not part of Murphi", quoted(&shown))).at(span, "")
        });
    }
}

/// By byte: whether a sign begins with it.
const BEGINS_SIGN: [bool; 256] = {
    let mut begins = [false; 256];
    let mut number = 0;
    while number < SIGNS.len() {
        begins[SIGNS[number].0.as_bytes()[0] as usize] = true;
        number += 1;
    }
    begins
};

/// The sign that a text begins with.
fn sign_at(rest: &str) -> Option<(&'static str, TokenKind)> {
    let first = rest.as_bytes().first().copied().filter(|first| BEGINS_SIGN[usize::from(*first)])?;
    // Texts are compared only where the first byte fits.
    let fits = |sign: &str| sign.as_bytes()[0] == first && rest.starts_with(sign);
    SIGNS.iter().copied().find(|(sign, _)| fits(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut diagnostics = Diagnostics::default();
        let tokens = lex(text, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        let end = tokens.last().unwrap();
        assert_eq!((end.kind, end.span.start as usize), (TokenKind::Stop, text.len()));
        tokens[..tokens.len() - 1].iter().map(|token| token.kind).collect()
    }

    fn first_error(text: &str) -> String {
        let mut diagnostics = Diagnostics::default();
        lex(text, &mut diagnostics);
        diagnostics.items()[0].message.clone()
    }

    #[test]
    fn words_need_no_white_space_between_them() {
        use TokenKind::{Assign, Bar, DotDot, Equal, Guards, Identifier, Implies, Number, Semicolon};
        assert_eq!(kinds("0..N"), [Number, DotDot, Identifier]);
        assert_eq!(kinds("a==>b:=c->d=e==f|g;"), {
            let i = Identifier;
            [i, Guards, i, Assign, i, Implies, i, Equal, i, Equal, i, Bar, i, Semicolon]
        });
        assert_eq!(kinds("\u{feff}0x1F 010"), [Number, Number]);
    }

    #[test]
    fn keywords_have_no_case_and_names_do() {
        use TokenKind::{Boolean, End, Identifier, Rule};
        assert_eq!(kinds("RuLe rule BOOLEAN Rules"), [Rule, Rule, Boolean, Identifier]);
        assert_eq!(kinds("end EndIf endrule endless"), [End, End, End, Identifier]);
    }

    #[test]
    fn signs_of_mathematics_stand_for_operators() {
        use TokenKind::{Ampersand, Bang, Bar, Exists, Forall, LessEqual, Minus, Star};
        assert_eq!(
            kinds("\u{2227}\u{2228}\u{ac}\u{2200}\u{2203}\u{2264}\u{2212}\u{d7}"),
            [Ampersand, Bar, Bang, Forall, Exists, LessEqual, Minus, Star]
        );
    }

    #[test]
    fn comments_and_strings() {
        use TokenKind::{Identifier, Rule, String};
        assert_eq!(kinds("a -- b */\nc /* -- d\n /* */ e"), [Identifier; 3]);
        assert_eq!(kinds("rule \"a -- \\\" b\" x"), [Rule, String, Identifier]);
        assert_eq!(kinds("rule \u{201c}foo\u{201d} x"), [Rule, String, Identifier]);
        assert_eq!(kinds("--"), []);
    }

    #[test]
    fn what_is_not_a_word_is_reported_once_per_stretch() {
        assert_eq!(first_error("a @@@ b"), "`@@@` is not part of Murphi");
        assert_eq!(first_error("a \0 b"), "`\\0` is not part of Murphi");
        assert_eq!(first_error("a /* b"), "this comment is never closed");
        assert_eq!(first_error("\"abc"), "this string is never closed");
        assert_eq!(first_error("0x"), "`0x` is neither a number nor a name");
        assert_eq!(first_error("1.5"), "real numbers are not supported");
        let mut diagnostics = Diagnostics::default();
        assert_eq!(lex(&"@ ".repeat(100_000), &mut diagnostics).len(), 100_001);
    }
}
