//! How is text from a model, a path or a formula shown so that a terminal only ever shows it?
//!
//! A name may hold anything. Sent to a terminal as it is, an escape sequence moves the cursor and paints over a verdict, a carriage return hides the beginning of its line, and an
//! override of the writing direction makes a line read as another. So control characters and directional ones are shown as the escapes that stand for them, `\u{1b}` for one, at the doors
//! where text leaves for people. JSON has escapes of its own.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io;

/// A piece of a line, such as a name: shown on one line, whatever is in it.
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|letter| match is_hidden(letter) {
            true => write!(out, "{}", shown(letter)),
            false => out.write_char(letter),
        })
    }
}

impl Printable<'_> {
    /// The lines of a text, each as it is shown; tabs are spaces.
    pub fn lines(text: &str) -> String {
        let shown = |line: &str| Printable(&line.replace('\t', "    ")).to_string();
        text.lines().map(shown).collect::<Vec<_>>().join("\n")
    }
}

/// A text of several lines: line ends and tabs stay.
pub fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |_| 0)
}

/// A text of several lines with colours of our own: sequences that do nothing but colour stay, too.
pub fn coloured(text: &str) -> Cow<'_, str> {
    escaped(text, colour_bytes)
}

/// Writes a text of several lines that comes in pieces, none of which ends within a character: line ends and tabs stay.
pub struct Escaping<'a>(pub &'a mut dyn io::Write);

impl Escaping<'_> {
    /// Writes a text with colours of our own; what is not our own must be [`Printable`].
    pub fn write_coloured(&mut self, piece: &str) -> io::Result<()> {
        self.0.write_all(coloured(piece).as_bytes())
    }
}

impl io::Write for Escaping<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.0.write_all(text(&String::from_utf8_lossy(piece)).as_bytes())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A text with all escaped but line ends, tabs, and what `kept` measures at the beginning of what is left.
fn escaped(text: &str, kept: impl Fn(&str) -> usize) -> Cow<'_, str> {
    let harmless = |letter: char| letter == '\n' || letter == '\t' || !is_hidden(letter);
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let bytes = kept(rest);
        if bytes > 0 {
            out.push_str(&rest[..bytes]);
            rest = &rest[bytes..];
            continue;
        }
        match harmless(letter) {
            true => out.push(letter),
            false => out.push_str(&shown(letter)),
        }
        rest = &rest[letter.len_utf8()..];
    }
    Cow::Owned(out)
}

/// Whether a terminal does something else with a character than to show it where it stands.
fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn shown(letter: char) -> String {
    match letter {
        '\n' | '\r' | '\t' => letter.escape_debug().to_string(),
        _ => letter.escape_unicode().to_string(),
    }
}

/// The bytes of a sequence at the beginning of a text that sets a colour or weight, or resets them; 0 if there is none.
fn colour_bytes(text: &str) -> usize {
    let Some(sequence) = text.strip_prefix("\u{1b}[") else { return 0 };
    let Some(end) = sequence.find(|letter: char| !letter.is_ascii_digit() && letter != ';') else { return 0 };
    let parameters: Vec<&str> = sequence[..end].split(';').collect();
    let plain = |parameter: &&str| {
        matches!(parameter.parse(), Ok(0 | 1 | 4 | 22 | 24 | 30..=37 | 39 | 90..=97)) || parameter.is_empty()
    };
    let is_colour = match parameters[..] {
        ["38", "5", _] => true,
        _ => parameters.iter().all(plain),
    };
    if is_colour && sequence[end..].starts_with('m') { 2 + end + 1 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_in_its_place() {
        let hostile = "a\u{1b}[2Jb\rc\u{7}d\u{202e}e\u{2066}f\u{9b}g\u{7f}h\u{200f}";
        let expected = r"a\u{1b}[2Jb\rc\u{7}d\u{202e}e\u{2066}f\u{9b}g\u{7f}h\u{200f}";
        assert_eq!(Printable(hostile).to_string(), expected);
        assert_eq!(text(hostile), expected);
        assert_eq!(coloured(hostile), expected);
    }

    #[test]
    fn a_name_stays_on_its_line_and_a_text_keeps_its_lines() {
        assert_eq!(Printable("a\nholds\tb").to_string(), r"a\nholds\tb");
        assert_eq!(text("a\n\tb\r\n"), "a\n\tb\\r\n");
        assert!(matches!(text("äöü → plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn colours_stay_and_nothing_else_does() {
        let colours = "\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: \u{1b}[1;91mx\u{1b}[m";
        assert_eq!(coloured(colours), colours);
        for sequence in
            ["\u{1b}[8m", "\u{1b}[2K", "\u{1b}[", "\u{1b}[1", "\u{1b}]0;title\u{7}", "\u{1b}[48;5;1m"]
        {
            assert!(!coloured(sequence).contains('\u{1b}'), "{sequence:?}");
        }
    }
}
