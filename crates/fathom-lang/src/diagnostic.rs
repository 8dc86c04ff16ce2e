//! What is wrong with a text, and how is the user told?
//!
//! A diagnostic is a sentence, the places it is about, and what to do. Diagnostics are collected, so that one run tells
//! several. What is kept and what is printed are both bounded, whatever the text: at most [`KEPT_MAX`] of each
//! severity are kept, [`SHOWN_MAX`] are printed, each text of one is cut at [`TEXT_BYTES_MAX`], and of a long line only a window around the place is shown.
//! What is not kept is not made either: see [`Diagnostics::error_with`].

use std::borrow::Cow;
use std::fmt::Write as _;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use fathom_model::span::Span;

use crate::source::{Position, SourceText};

/// How many diagnostics of each severity are kept; the rest is only counted.
pub const KEPT_MAX: usize = 256;
/// How many diagnostics are printed.
pub const SHOWN_MAX: usize = 50;
/// The longest message, label, note or help that is printed in full.
pub const TEXT_BYTES_MAX: usize = 1_000;
/// Places on one line that are further apart are shown apart.
const FAR_BYTES: u32 = 120;
/// Places that are further apart are shown apart, so that the text between them is not gone through.
const FAR_LINES: usize = 1_000;
/// Of longer lines only a window is handed to the renderer.
const LONG_BYTES: usize = 4_096;
/// How much of a long line is shown on each side of a place.
const WINDOW_BYTES: usize = 60;
/// The longest name that is quoted in full.
const QUOTED_BYTES_MAX: usize = 60;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The text has no meaning.
    Error,
    /// The text has a meaning, perhaps not the one intended.
    Warning,
}

/// A place a diagnostic is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is to be said about it; may be empty.
    pub text: String,
    /// Whether it is the place itself, or one that explains it.
    pub primary: bool,
}

/// One thing to tell the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where, the primary place first; none if it is not about the text (an option, say).
    pub labels: Vec<Label>,
    /// Facts that help to see why.
    pub notes: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
}

/// Diagnostics in the order they were found; bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Diagnostic {
    /// An error with that message.
    pub fn error(message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, message.into())
    }

    /// A warning with that message.
    pub fn warning(message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, message.into())
    }

    fn new(severity: Severity, message: String) -> Diagnostic {
        Diagnostic { severity, message, labels: Vec::new(), notes: Vec::new(), help: None }
    }

    /// Says where it is wrong.
    #[must_use]
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into(), primary: true });
        self
    }

    /// Points at another place that explains it.
    #[must_use]
    pub fn see(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into(), primary: false });
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }

    /// Says what to do, if there is something to say.
    #[must_use]
    pub fn help_if(mut self, text: Option<String>) -> Diagnostic {
        self.help = text.or(self.help);
        self
    }

    /// The first place it is about.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }

    /// The diagnostic as text for a terminal, as rustc writes its own; coloured with ANSI codes on request.
    /// `source` is the text the spans refer to.
    pub fn render(&self, source: &SourceText, coloured: bool) -> String {
        let renderer = if coloured { Renderer::styled() } else { Renderer::plain() };
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(cut(&self.message)));
        for labels in self.snippets(source) {
            match long_line(source, &labels) {
                Some(line) => {
                    let Position { line: number, column } = source.position(labels[0].span.start);
                    group = group.element(Origin::path(source.name()).line(number).char_column(column));
                    group = group.element(window(source, line, &labels));
                }
                None => group = group.element(snippet(source, &labels)),
            }
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(cut(note)));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(cut(help)));
        }
        renderer.render(&[group])
    }

    /// The labels, in groups that can be shown in one piece: those far apart on one line cannot.
    fn snippets(&self, source: &SourceText) -> Vec<Vec<&Label>> {
        let far = |left: &Label, right: &Label| {
            let (left, right) = (left.span.start, right.span.start);
            let lines = source.line_of(left).abs_diff(source.line_of(right));
            lines > FAR_LINES || lines == 0 && left.abs_diff(right) > FAR_BYTES
        };
        let mut groups: Vec<Vec<&Label>> = Vec::new();
        for label in &self.labels {
            match groups.iter_mut().find(|group| !group.iter().any(|other| far(label, other))) {
                Some(group) => group.push(label),
                None => groups.push(vec![label]),
            }
        }
        groups
    }
}

/// The line of the labels, if it is one that is too long to be handed to the renderer, which goes through all of it.
fn long_line(source: &SourceText, labels: &[&Label]) -> Option<usize> {
    let line = source.line_of(labels[0].span.start);
    let is_long = |label: &&&Label| {
        [label.span.start, label.span.end]
            .iter()
            .any(|at| source.line_range(source.line_of(*at)).len() > LONG_BYTES)
    };
    labels.iter().any(|label| is_long(&label)).then_some(line)
}

/// The part of a long line around the first label, with the labels that lie in it; a label that goes on behind it is cut.
fn window<'a>(source: &'a SourceText, line: usize, labels: &[&'a Label]) -> Snippet<'a, Annotation<'a>> {
    let (text, range) = (source.text(), source.line_range(line));
    let middle = (labels[0].span.start as usize).clamp(range.start, range.end);
    let start = floor_boundary(text, middle.saturating_sub(WINDOW_BYTES).max(range.start));
    let end = floor_boundary(text, (middle + WINDOW_BYTES).min(range.end));
    let inside = labels.iter().filter(|label| (start..=end).contains(&(label.span.start as usize)));
    let annotations: Vec<_> = inside
        .map(|label| {
            let place = |offset: u32| floor_boundary(text, (offset as usize).clamp(start, end)) - start;
            annotation(label, place(label.span.start)..place(label.span.end))
        })
        .collect();
    Snippet::source(&text[start..end]).line_start(line + 1).annotations(annotations)
}

/// A label at a place of an excerpt.
fn annotation(label: &Label, place: std::ops::Range<usize>) -> Annotation<'_> {
    let kind = if label.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    let annotation = kind.span(place);
    if label.text.is_empty() { annotation } else { annotation.label(cut(&label.text)) }
}

/// The lines from the first label to the last, with the labels; the renderer leaves out lines that say nothing and
/// cuts those that are wider than a terminal.
fn snippet<'a>(source: &'a SourceText, labels: &[&'a Label]) -> Snippet<'a, Annotation<'a>> {
    let text = source.text();
    let offsets = || labels.iter().flat_map(|label| [label.span.start, label.span.end]);
    let first_line = source.line_of(offsets().min().unwrap_or(0));
    let last_line = source.line_of(offsets().max().unwrap_or(0));
    let excerpt = source.line_range(first_line).start..source.line_range(last_line).end;
    // A span that does not fit the text is our mistake, but no reason to fail while telling the user of another.
    let translate = |offset: u32| floor_boundary(text, (offset as usize).min(excerpt.end)) - excerpt.start;
    let annotations =
        labels.iter().map(|label| annotation(label, translate(label.span.start)..translate(label.span.end)));
    let annotations: Vec<_> = annotations.collect();
    Snippet::source(&text[excerpt.clone()])
        .path(source.name())
        .line_start(first_line + 1)
        .annotations(annotations)
}

impl Diagnostics {
    /// Adds one; from [`KEPT_MAX`] of its severity on it is only counted.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= KEPT_MAX {
            self.items.push(diagnostic);
        }
    }

    /// Adds an error; from [`KEPT_MAX`] on it is only counted, and not even made.
    pub fn error_with(&mut self, error: impl FnOnce() -> Diagnostic) {
        if self.counts_errors_only() {
            self.count_error();
        } else {
            self.push(error());
        }
    }

    /// Whether another error would not be kept: then it needs not be made.
    pub(crate) fn counts_errors_only(&self) -> bool {
        self.errors >= KEPT_MAX
    }

    /// Counts an error that would not be kept.
    pub(crate) fn count_error(&mut self) {
        self.errors += 1;
    }

    /// The ones that were kept.
    pub fn items(&self) -> &[Diagnostic] {
        &self.items
    }

    /// How many errors there were, kept or not.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All of them as text, errors before warnings, by position, at most [`SHOWN_MAX`]; ends with a line end unless
    /// there are none. The output is bounded, whatever the text.
    pub fn render(&self, source: &SourceText, coloured: bool) -> String {
        let mut items: Vec<&Diagnostic> = self.items.iter().collect();
        items.sort_by_key(|item| (item.severity == Severity::Warning, item.span().unwrap_or_default()));
        let mut text = String::new();
        for (number, item) in items.iter().take(SHOWN_MAX).enumerate() {
            let gap = if number == 0 { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{}", item.render(source, coloured));
        }
        let shown = |severity| items.iter().take(SHOWN_MAX).filter(|item| item.severity == severity).count();
        let rest = [
            (self.errors - shown(Severity::Error), "error"),
            (self.warnings - shown(Severity::Warning), "warning"),
        ];
        let rest: Vec<String> = rest
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| format!("{count} more {noun}{}", if *count == 1 { "" } else { "s" }))
            .collect();
        if !rest.is_empty() {
            let _ = writeln!(text, "\n... and {}", rest.join(" and "));
        }
        text
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        let mut diagnostics = Diagnostics::default();
        diagnostics.push(diagnostic);
        diagnostics
    }
}

/// A name in backticks, cut if it is very long.
pub fn quoted(name: &str) -> String {
    format!("`{}`", shortened(name, QUOTED_BYTES_MAX))
}

/// A text of a diagnostic, cut if it is very long.
fn cut(text: &str) -> Cow<'_, str> {
    shortened(text, TEXT_BYTES_MAX)
}

/// The text, or its beginning and three dots.
fn shortened(text: &str, bytes_max: usize) -> Cow<'_, str> {
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}...", &text[..floor_boundary(text, bytes_max)]))
}

/// The greatest character boundary that is not behind `offset`.
fn floor_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_shows_its_places_notes_and_help() {
        let source = SourceText::new("m.dve", "byte x;\nbyte y, x;\n");
        let diagnostic = Diagnostic::error("the name `x` is declared twice")
            .at(Span::new(16, 17), "declared again here")
            .see(Span::new(5, 6), "first declared here")
            .note("names of variables, channels and processes share one scope")
            .help("rename one of them");
        let expected = "\
error: the name `x` is declared twice
 --> m.dve:2:9
  |
1 | byte x;
  |      - first declared here
2 | byte y, x;
  |         ^ declared again here
  |
  = note: names of variables, channels and processes share one scope
  = help: rename one of them";
        assert_eq!(diagnostic.render(&source, false), expected);
        assert!(diagnostic.render(&source, true).contains("\u{1b}["), "colour is escape codes");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place_and_keeps_its_column() {
        let text = format!("{}@{}", "\u{e4}".repeat(1_000_000), " x".repeat(1_000_000));
        let source = SourceText::new("m.dve", text);
        let shown =
            Diagnostic::error("odd").at(Span::new(2_000_000, 2_000_001), "here").render(&source, false);
        assert!(shown.len() < 1_000, "{} bytes", shown.len());
        assert!(shown.contains("m.dve:1:1000001"), "{shown}");
        assert!(shown.contains("\u{e4}@ x"), "{shown}");
        let all = Diagnostic::error("odd").at(Span::new(0, 4_000_000), "all of it").render(&source, false);
        assert!(all.len() < 2_000, "{} bytes", all.len());
        let far = Diagnostic::error("odd")
            .at(Span::new(0, 2), "here")
            .see(Span::new(3_000_000, 3_000_001), "there");
        assert!(far.render(&source, false).len() < 2_000);
    }

    #[test]
    fn many_are_sorted_capped_and_counted() {
        let source = SourceText::new("m.dve", "x\n".repeat(2_000));
        let mut diagnostics = Diagnostics::default();
        for line in (0..1_000).rev() {
            diagnostics
                .push(Diagnostic::warning(format!("w{line}")).at(Span::new(line * 2, line * 2 + 1), ""));
        }
        let text = diagnostics.render(&source, false);
        assert!(text.starts_with("warning: w744\n"), "{text}");
        assert!(text.ends_with("\n... and 950 more warnings\n"), "{text}");
        assert_eq!(diagnostics.error_count(), 0);
        diagnostics.push(Diagnostic::error("e").at(Span::new(9, 10), ""));
        assert!(diagnostics.render(&source, false).starts_with("error: e\n"), "warnings crowd out no error");
        for _ in 1..1_000_000 {
            diagnostics.error_with(|| Diagnostic::error("e").at(Span::new(9, 10), ""));
        }
        let text = diagnostics.render(&source, false);
        assert!(text.ends_with("\n... and 999950 more errors and 1000 more warnings\n"), "{text}");
        assert_eq!(text.matches("error: e\n").count(), SHOWN_MAX);
    }

    #[test]
    fn a_long_text_is_cut_and_what_lies_between_two_places_is_left_out() {
        let source = SourceText::new("m.dve", "x\n".repeat(1_000_000));
        let long = "y".repeat(1_000_000);
        let diagnostic = Diagnostic::error(&*long).at(Span::new(0, 1), &*long).note(&*long).help(&*long);
        let shown = diagnostic.see(Span::new(1_999_998, 1_999_999), &*long).render(&source, false);
        assert!(shown.len() < 6 * TEXT_BYTES_MAX, "{} bytes", shown.len());
        assert!(shown.contains("\n1000000 | x\n"), "{shown}");
    }

    #[test]
    fn a_span_outside_the_text_does_no_harm() {
        let source = SourceText::new("m.dve", "ab");
        for (start, end) in [(0, 0), (2, 2), (2, 9), (7, 9), (0, u32::MAX)] {
            Diagnostic::error("odd").at(Span::new(start, end), "here").render(&source, false);
        }
        Diagnostic::error("odd").at(Span::new(0, 0), "here").render(&SourceText::new("e", ""), false);
    }
}
