//! What is wrong with a text, where, and what to write instead?
//!
//! A diagnostic is plain data: the caller decides how to show it. `render` is the small text form with a caret.

use std::fmt::Write as _;

/// A half-open range of bytes of a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The range `start..end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// The least range that holds both.
    pub fn to(self, other: Span) -> Self {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// One mistake in a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, lower case, without a full stop.
    pub message: String,
    /// Where; may lie at the end of the text.
    pub span: Span,
    /// What to do about it, when that is known.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A mistake at `span`.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Diagnostic { message: message.into(), span, help: None }
    }

    /// The same, with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The text form: message, `origin:line:column`, the line of `source`, carets below it, help. Any span is legal:
    /// one that lies outside the text, or inside a character, is moved to the nearest place that exists.
    pub fn render(&self, origin: &str, source: &str) -> String {
        let start = floor_boundary(source, self.span.start);
        let line_start = source[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |newline| start + newline);
        let end = floor_boundary(source, self.span.end).clamp(start, line_end.max(start));
        let line_number = source[..line_start].matches('\n').count() + 1;
        let column = source[line_start..start].chars().count() + 1;
        let margin = " ".repeat(line_number.to_string().len());
        let indent: String =
            source[line_start..start].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let carets = "^".repeat(source[start..end].chars().count().max(1));
        let mut text = format!("error: {}\n", self.message);
        let _ = writeln!(text, "{margin}--> {origin}:{line_number}:{column}");
        let _ = writeln!(text, "{margin} |");
        let _ = writeln!(text, "{line_number} | {}", source[line_start..line_end].trim_end_matches('\r'));
        let _ = writeln!(text, "{margin} | {indent}{carets}");
        if let Some(help) = &self.help {
            let _ = writeln!(text, "{margin} = help: {help}");
        }
        text
    }
}

fn floor_boundary(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caret_stands_below_the_place() {
        let shown =
            Diagnostic::new(Span::new(6, 8), "wrong").help("do it").render("f.ltl", "ab\nG (&& b)\nc");
        assert_eq!(shown, "error: wrong\n --> f.ltl:2:4\n  |\n2 | G (&& b)\n  |    ^^\n  = help: do it\n");
    }

    #[test]
    fn any_span_renders() {
        for text in ["", "a", "é\n\té", "\n\n"] {
            for start in 0..8 {
                for end in 0..8 {
                    assert!(Diagnostic::new(Span::new(start, end), "m").render("f", text).contains('^'));
                }
            }
        }
    }
}
