//! What is wrong with a text, where, and what to write instead?
//!
//! A diagnostic is plain data: the caller decides how to show it. `render` is the small text form with a caret. What is kept and what is shown
//! are bounded, whatever the text.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::ops::Deref;

/// How many mistakes of a text are kept and shown.
pub const SHOWN_MAX: usize = 50;
/// The longest message or help that is shown in full.
const TEXT_BYTES_MAX: usize = 1_000;
/// The longest line that is shown in full.
const LINE_BYTES_MAX: usize = 500;
/// How much of a longer line is shown on each side of a place.
const WINDOW_BYTES: usize = 60;

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
    /// one that lies outside the text, or inside a character, is moved to the nearest place that exists. Of a long line a
    /// window around the place is shown, and long messages are cut.
    pub fn render(&self, origin: &str, source: &str) -> String {
        let start = floor_boundary(source, self.span.start);
        let line_start = source[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |newline| start + newline);
        let end = floor_boundary(source, self.span.end).clamp(start, line_end.max(start));
        let line_number = source[..line_start].matches('\n').count() + 1;
        let column = source[line_start..start].chars().count() + 1;
        let margin = " ".repeat(line_number.to_string().len());
        let (from, to) = match line_end - line_start {
            0..=LINE_BYTES_MAX => (line_start, line_end),
            _ => (
                floor_boundary(source, start.saturating_sub(WINDOW_BYTES).max(line_start)),
                floor_boundary(source, (start + WINDOW_BYTES).min(line_end)).max(start),
            ),
        };
        let (before, after) = (dots(from > line_start), dots(to < line_end));
        let indent: String =
            source[from..start].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let indent = format!("{}{indent}", " ".repeat(before.len()));
        let carets = "^".repeat(source[start..end.min(to)].chars().count().max(1));
        let mut text = format!("error: {}\n", cut(&self.message));
        let _ = writeln!(text, "{margin}--> {origin}:{line_number}:{column}");
        let _ = writeln!(text, "{margin} |");
        let line = source[from..to].trim_end_matches('\r');
        let _ = writeln!(text, "{line_number} | {before}{line}{after}");
        let _ = writeln!(text, "{margin} | {indent}{carets}");
        if let Some(help) = &self.help {
            let _ = writeln!(text, "{margin} = help: {}", cut(help));
        }
        text
    }
}

/// The mistakes of a text, in the order they were found; from [`SHOWN_MAX`] on they are only counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mistakes {
    items: Vec<Diagnostic>,
    count: usize,
    /// Atoms that were not looked at, since there were mistakes enough.
    pub(crate) passed_over: usize,
}

impl Mistakes {
    /// Adds one.
    pub(crate) fn push(&mut self, mistake: Diagnostic) {
        self.count += 1;
        if !self.is_full() {
            self.items.push(mistake);
        }
    }

    /// Adds those of a part of the text.
    pub(crate) fn extend(&mut self, more: Mistakes) {
        self.count += more.count;
        self.passed_over += more.passed_over;
        let room = SHOWN_MAX - self.items.len();
        self.items.extend(more.items.into_iter().take(room));
    }

    /// Whether no more are kept.
    pub(crate) fn is_full(&self) -> bool {
        self.items.len() >= SHOWN_MAX
    }

    /// All that were kept as text, and how many more there are.
    pub fn render(&self, origin: &str, source: &str) -> String {
        let mut text: String = self.items.iter().map(|mistake| mistake.render(origin, source)).collect();
        let many = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        if self.count > self.items.len() {
            let _ = writeln!(text, "... and {}", many(self.count - self.items.len(), "more error"));
        }
        if self.passed_over > 0 {
            let _ = writeln!(text, "... and {} that were not looked at", many(self.passed_over, "more atom"));
        }
        text
    }
}

/// The messages alone, for whoever has no text to point into.
impl fmt::Display for Mistakes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages: Vec<&str> = self.items.iter().map(|mistake| &*mistake.message).collect();
        formatter.write_str(&messages.join("; "))
    }
}

impl std::error::Error for Mistakes {}

impl From<Diagnostic> for Mistakes {
    fn from(mistake: Diagnostic) -> Mistakes {
        Mistakes { items: vec![mistake], count: 1, passed_over: 0 }
    }
}

impl Deref for Mistakes {
    type Target = [Diagnostic];

    fn deref(&self) -> &[Diagnostic] {
        &self.items
    }
}

fn dots(are_there: bool) -> &'static str {
    if are_there { "..." } else { "" }
}

/// A text of a diagnostic, cut if it is very long.
fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= TEXT_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}...", &text[..floor_boundary(text, TEXT_BYTES_MAX)]))
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
    fn a_long_line_is_cut_around_the_place_and_mistakes_beyond_the_most_are_counted() {
        let text = format!("{}@{}", "é".repeat(1_000_000), " x".repeat(1_000_000));
        let place = Span::new(2_000_000, 2_500_000);
        let shown =
            Diagnostic::new(place, "m".repeat(1_000_000)).help("h".repeat(1_000_000)).render("f", &text);
        assert!(shown.len() < 3_000, "{} bytes", shown.len());
        assert!(
            shown.contains("f:1:1000001") && shown.contains("éé@ x x") && shown.contains("x ..."),
            "{shown}"
        );
        let mut mistakes = Mistakes::default();
        (0..70).for_each(|_| mistakes.push(Diagnostic::new(place, "wrong")));
        mistakes.extend(Mistakes::from(Diagnostic::new(place, "wrong")));
        let shown = mistakes.render("f", &text);
        assert_eq!((mistakes.len(), shown.matches("wrong").count()), (SHOWN_MAX, SHOWN_MAX));
        assert!(shown.ends_with("... and 21 more errors\n"), "{shown}");
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
