//! Which line and column is a byte, as editors count? Lines from 0; columns in bytes, or in the 16-bit units of UTF-16, as was agreed.

use fathom_lang::source::SourceText;
use fathom_model::span::Span;
use lsp_types::{Position, PositionEncodingKind, Range};

/// What columns count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16,
}

impl Encoding {
    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    fn width(self, letter: char) -> u32 {
        match self {
            Encoding::Utf8 => letter.len_utf8() as u32,
            Encoding::Utf16 => letter.len_utf16() as u32,
        }
    }

    /// A byte as an editor names it. One outside of the text, or inside of a letter, is the nearest before it.
    pub(super) fn position(self, source: &SourceText, offset: u32) -> Position {
        let text = source.text();
        let offset = (offset as usize).min(text.len());
        let line = source.line_of(offset as u32);
        let start = source.line_range(line).start;
        let letters =
            text[start..].char_indices().take_while(|(at, letter)| start + at + letter.len_utf8() <= offset);
        Position { line: line as u32, character: letters.map(|(_, letter)| self.width(letter)).sum() }
    }

    /// The byte that an editor names; behind the end of a line is its end.
    pub(super) fn offset(self, source: &SourceText, position: Position) -> u32 {
        let line = position.line as usize;
        if line >= source.line_count() {
            return source.text().len() as u32;
        }
        let range = source.line_range(line);
        let mut column = 0;
        for (at, letter) in source.text()[range.clone()].char_indices() {
            column += self.width(letter);
            if column > position.character {
                return (range.start + at) as u32;
            }
        }
        range.end as u32
    }

    pub(super) fn range(self, source: &SourceText, span: Span) -> Range {
        Range { start: self.position(source, span.start), end: self.position(source, span.end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_has_a_place_and_every_place_a_letter() {
        let text = "a\u{e4}b\r\n\u{1f980}c\n\n";
        let source = SourceText::new("m", text);
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for (offset, letter) in text.char_indices().filter(|(_, letter)| !"\r\n".contains(*letter)) {
                let position = encoding.position(&source, offset as u32);
                assert_eq!(encoding.offset(&source, position), offset as u32, "{letter:?} {encoding:?}");
            }
        }
        let position = |line, character| Position { line, character };
        assert_eq!(Encoding::Utf16.position(&source, 10), position(1, 2), "behind a letter of two units");
        assert_eq!(Encoding::Utf8.position(&source, 10), position(1, 4));
        assert_eq!(Encoding::Utf16.offset(&source, position(0, 99)), 4, "the end of the line");
        assert_eq!(Encoding::Utf16.offset(&source, position(9, 0)), text.len() as u32);
        assert_eq!(Encoding::Utf16.position(&source, u32::MAX), position(3, 0));
    }
}
