//! What is the text of a model, and on which line is a byte of it?
//!
//! A source text is valid UTF-8 and short enough for 32-bit spans. Lines end at `\n`; a `\r` before it belongs to
//! the line end, not to the line.

use std::ops::Range;

use fathom_model::span::Span;

/// The longest text that is read: spans have 32 bits, and every stage holds the whole text.
pub const SOURCE_BYTES_MAX: usize = 64 << 20;
/// The most words that a text may have: trees grow with them, and the largest real models have some hundred thousand.
pub const WORDS_MAX: usize = 8_000_000;
/// The longest name: every element of an array of records repeats the names that lead to it.
pub const NAME_BYTES_MAX: usize = 1_000;

/// The longest string: names of rules stand in every trace and report.
pub const STRING_BYTES_MAX: usize = 10_000;

/// A named text with an index of its lines.
#[derive(Clone, Debug)]
pub struct SourceText {
    name: String,
    text: String,
    /// Offset of the first byte of every line; the first is 0.
    line_starts: Vec<u32>,
}

/// A place as a person counts: both numbers from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl SourceText {
    /// A text held in memory, called `name` in diagnostics.
    ///
    /// # Panics
    /// If the text is longer than [`SOURCE_BYTES_MAX`]; what a user hands over goes through [`SourceText::from_bytes`].
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> SourceText {
        let text = text.into();
        assert!(text.len() <= SOURCE_BYTES_MAX, "a source text is at most {SOURCE_BYTES_MAX} bytes long");
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at as u32 + 1);
        let line_starts = std::iter::once(0).chain(ends).collect();
        SourceText { name: name.into(), text, line_starts }
    }

    /// What the text is called in diagnostics.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The part of the text a span covers; a span that does not fit the text covers nothing.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// How many lines there are; a text that ends in `\n` has an empty last one.
    pub fn line_count(&self) -> usize {
        self.line_starts.len()
    }

    /// The line, counted from 0, that holds the byte.
    pub fn line_of(&self, offset: u32) -> usize {
        self.line_starts.partition_point(|&start| start <= offset).saturating_sub(1)
    }

    /// The bytes of a line counted from 0, without its line end.
    pub fn line_range(&self, line: usize) -> Range<usize> {
        let start = self.line_starts[line] as usize;
        let end = self.line_starts.get(line + 1).map_or(self.text.len(), |&next| next as usize - 1);
        match self.text[start..end].strip_suffix('\r') {
            Some(stripped) => start..start + stripped.len(),
            None => start..end,
        }
    }

    /// Line and column of a byte; an offset behind the end is taken as the end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = offset.min(self.text.len() as u32);
        let line = self.line_of(offset);
        let start = self.line_starts[line] as usize;
        let mut end = offset as usize;
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        Position { line: line + 1, column: 1 + self.text[start..end].chars().count() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_one_and_in_characters() {
        let source = SourceText::new("m", "ab\n\u{e4}c\r\n");
        assert_eq!(source.line_count(), 3);
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(2), Position { line: 1, column: 3 });
        assert_eq!(source.position(5), Position { line: 2, column: 2 });
        assert_eq!(source.position(4), Position { line: 2, column: 1 }, "inside a character is at its start");
        assert_eq!(source.position(99), Position { line: 3, column: 1 });
        assert_eq!(source.line_range(1), 3..6);
        assert_eq!(source.slice(Span::new(3, 5)), "\u{e4}");
        assert_eq!(source.slice(Span::new(4, 5)), "");
    }
}
